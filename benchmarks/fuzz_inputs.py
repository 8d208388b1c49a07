"""What is fuzzed: command lines of every command with values that nobody means, and the input of every reader."""

from __future__ import annotations

import gzip
import importlib
import random
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import click
import yaml

from benchmarks.fuzz_cases import (
    Case,
    Reader,
    check_exercise,
    check_kubeconfig,
    check_placements,
    execute,
    plugin_case,
    rule_case,
)
from benchmarks.fuzz_documents import (
    ANSWERS,
    BUSY_FILE,
    CONFIG,
    CONFIG_MAP,
    CONFIGS,
    EXTENDER,
    FIXED_FILES,
    GRID,
    KUBECONFIGS,
    MANIFEST,
    MIRROR,
    NODES,
    PLACED,
    POD_FILE,
    PODS,
    POLICY,
    RELEASE_NAMES,
    SETTINGS,
    WORKLOAD,
    dumped,
    mutated,
    scenarios,
    section,
    to_yaml,
    toml_of,
    yaml_of,
)
from kubescheduler.cli import COMMANDS
from kubescheduler.releases.lookup import RELEASES

GOOD = {
    "schedule": (
        "given.yaml --pod pod.yaml",
        "busy.yaml --pending --preempt --explain",
        "given.yaml --pod pod.yaml --release 1.36 --config config.yaml",
        "given.yaml --pod trace.csv --policy-config-file policy.json --extenders pass",
    ),
    "simulate": ("given.yaml --workload workload.yaml", "busy.yaml --workload trace.csv -o csv"),
    "capacity": ("given.yaml --pod pod.yaml --limit 9",),
    "compare": (
        "given.yaml --pods workload.yaml --new release=1.36",
        "busy.yaml --pending --old release=1.20 --new release=1.36,config=config.yaml -o html",
        "busy.yaml --pods trace.csv --new policy=policy.json,extenders=pass --mode sequence",
    ),
    "evaluate": ("", "--release 1.36"),
    "sweep": (
        "busy.yaml --out rows.csv",
        "busy.yaml --grid grid.toml --seeds 0..2 --out rows.parquet",
        "folder --whole-folders --config-spec release=1.36 --out rows.csv",
    ),
    "migrate": ("policy.json", "config.yaml --to 1.36 -o table", "--algorithm-provider X"),
    "explain": ("PodFitsResources", "Insufficient cpu", "NodeResourcesFit"),
    "registry": ("", "--release 1.36 -o json", "--policy-config-file policy.json"),
    "completion": ("bash", "fish"),
}
NUMBERS = (
    *("0", "1", "-1", "101", "1e3", "0x10", "+5", "٣", "1.5", "nan", "inf", "1_0", " 5 ", "-0"),
    *("9" * 30, "9" * 5000),
)
TEXTS = (
    *("", " ", "-", "--", "---", "=", ",", ";", ":", "a=b", "=,=", "a,,b", "x" * 5000, "é", "\u202eabc", "\x1b[31m"),
    *("a\nb", "a\tb", "\udcff", "%s", "{}", "{0}", "*", "[", "[a", "**", "~", "$(x)", "--help=1", "-o=json", "@x"),
    *("release=1.36", "release=", "release=9", "policy=gone.json", "policy=", "polcy=x", "release=1.16,release=1.20"),
    *(
        "extenders=pass",
        "extenders=replay gone",
        "record ",
        "replay given.yaml",
        "record folder",
        "replay ",
        "pass pass",
    ),
    *("0..", "..", "0..-5", "5..1", "0..9999999999", "1..2..3", "0,1", "depth=9", "size=1", "pods=x", "pods=0"),
    *("A=true", "A=maybe", "AllAlpha=true", "=true", "os:system", "os:", ":x", "a=b:c", "..:x", "tcp://", "tcp://h"),
    *("tcp://h:99999", "default-scheduler", "NodeAffinity", "tie-break", "error", "DefaultProvider", "table", "json"),
)
FILES = (
    *FIXED_FILES,
    *("gone.yaml", "folder", "loop.yaml", "given.yaml/x", "gone/x.yaml", "/dev/null", "/dev/full", "x" * 300, "."),
    *("save.json", "save.yaml.gz", "save.txt", "rows.csv", "rows.parquet", "plot.svg", "plot.bmp", "*.yaml", "-"),
)


@cache
def _parameters(name: str) -> Sequence[click.Option]:
    command: click.Command = getattr(importlib.import_module(COMMANDS[name]), name)
    return [one for one in command.params if isinstance(one, click.Option)]


def arguments_case(rng: Random) -> Case:
    """A good command line with one to four changes."""
    name = rng.choice(list(GOOD))
    words = rng.choice(GOOD[name]).split()
    for _ in range(rng.randint(1, 4)):
        match rng.randrange(6):
            case 0 if words:
                del words[rng.randrange(len(words))]
            case 1 if words:
                words[rng.randrange(len(words))] = _value(rng)
            case 2:
                words.insert(rng.randint(0, len(words)), _value(rng))
            case 3 if len(words) > 1:
                words.insert(rng.randrange(len(words)), words.pop(rng.randrange(len(words))))
            case _:
                words += _option(rng, name)
    before = rng.choice([[]] * 8 + [["--max", _value(rng)], ["--settings", _value(rng)]])
    return Case((*before, name, *words) if rng.random() < 0.98 else (*before, *words))


def _option(rng: Random, name: str) -> list[str]:
    option = rng.choice(_parameters(name) or _parameters("schedule"))
    spelling = rng.choice(option.opts)
    if option.is_flag:
        return [spelling]
    if option.name == "release" and rng.random() < 0.7:
        return [spelling, rng.choice(RELEASE_NAMES)]
    if isinstance(option.type, click.Choice) and rng.random() < 0.7:
        return [spelling, str(rng.choice(list(option.type.choices)))]
    return [spelling, _value(rng)] if rng.random() < 0.9 else [f"{spelling}={_value(rng)}"]


def _value(rng: Random) -> str:
    return rng.choice(rng.choice((NUMBERS, TEXTS, FILES)))


SHIPPED = Path(__file__).parents[1] / "kubescheduler" / "lab" / "exercises" / "shipped"
LEGACY = RELEASE_NAMES[:3]
ASKING = dumped({"kind": "Policy", "apiVersion": "v1", "extenders": [{**EXTENDER, "nodeCacheCapable": True}]})
RECORDING = "schedule given.yaml --pod pod.yaml --policy-config-file e.json --extenders"


def mutating(
    name: str,
    file: str,
    documents: Sequence[bytes],
    commands: Sequence[str],
    beside: Mapping[str, bytes] | None = None,
) -> Reader:
    """A reader of one document, which is mutated.

    file: what it is called; ``-``: it comes on standard input. beside: files that stay as they are.
    """

    def case(rng: random.Random) -> Case:
        data, command = mutated(rng, rng.choice(documents), file), shlex.split(rng.choice(commands))
        return Case(command, stdin=data) if file == "-" else Case(command, {file: data, **(beside or {})})

    return Reader(name, case)


@cache
def readers() -> tuple[Reader, ...]:
    """Every reader of the command line and of the pytest plugin."""
    lines = [line for release in RELEASE_NAMES for line in scenarios(release)]
    clusters = [dumped(section(line)) for line in lines]
    pods = [dumped({"kind": "Pod", **query["pod"]}) for line in lines for query in line["queries"][:2]]
    policies = [dumped(query["policy"]) for line in lines for query in line["queries"][:3] if query.get("policy")]
    return (
        *_of_clusters(clusters),
        *_of_pods(pods),
        *_of_policies([*policies, dumped(POLICY)]),
        *_of_runs(pods),
        *_of_sweeps(clusters),
        mutating("evaluate", "-", list(map(dumped, lines)), _all("evaluate")),
        Reader("answers of extenders", extender_case),
        Reader("kubeconfigs", kubeconfig_case),
        Reader("mirrors", mirror_case),
        Reader("exercises", exercise_case),
        mutating("recorded answers", "a.jsonl", [_recorded()], [f"{RECORDING} 'replay a.jsonl'"], {"e.json": ASKING}),
        Reader("custom plugins", plugin_case),
        Reader("custom predicates and priorities", rule_case),
        Reader("command lines", arguments_case),
        Reader("placements of pytest", placements_case),
    )


def _of_clusters(clusters: Sequence[bytes]) -> list[Reader]:
    few = [*map(to_yaml, clusters[:12]), WORKLOAD, BUSY_FILE.encode()]
    explained = "schedule c.json --pod pod.yaml --explain"
    run = "simulate c.json --workload pod.yaml --pending -o json --validate ignore"
    return [
        mutating("cluster.json", "c.json", clusters, _all(explained, f"{explained} --validate ignore")),
        mutating("cluster.yaml", "c.yaml", few, _all("schedule c.yaml --pending --save s.yaml")),
        mutating("cluster.gz", "c.json.gz", clusters, _all("schedule c.json.gz --pod pod.yaml --preempt")),
        mutating("cluster on standard input", "-", clusters, _all("schedule - --pending -o name")),
        mutating("cluster of a run", "c.json", clusters, _all(run, "capacity c.json --pod pod.yaml -o wide")),
    ]


def _of_pods(pods: Sequence[bytes]) -> list[Reader]:
    few = [*map(to_yaml, pods[:40]), POD_FILE.encode()]
    given, capacity = "schedule busy.yaml --pod p.json", "capacity given.yaml --pod p.yaml"
    exported, saved = f"{given} -o simulator --validate ignore", f"{given} -o wide --preempt --save s.json"
    return [
        mutating("pod.json", "p.json", pods, _all(f"{given} --explain", f"{given} --explain --validate ignore")),
        mutating("pod.yaml", "p.yaml", few, _all(capacity, f"{capacity} --validate ignore -o json")),
        mutating("pod in other outputs", "p.json", pods, _all(exported, f"{saved} --validate ignore")),
    ]


def _of_policies(policies: Sequence[bytes]) -> list[Reader]:
    given = "schedule given.yaml --pod pod.yaml -o json"
    old = [f"{given} --release {release}" for release in LEGACY]
    of_policies = {"policy.json": policies, "policy.yaml": [yaml_of(POLICY)], "policy.toml": [toml_of(POLICY)]}
    maps = [dumped(CONFIG_MAP), yaml_of(CONFIG_MAP)]
    both = yaml_of(MANIFEST) + b"---\n" + yaml_of(CONFIG_MAP)
    documents = [*policies, *map(dumped, CONFIGS), *maps, dumped(MANIFEST), both]
    ways = ("", "-o table", "-o json", "--bare --to 1.20", "--from 1.20", "--from 1.4")
    migrate = [*ways, "--cluster busy.yaml -o table", "--keep-emphasis --with-new-filters"]
    configured = [f"{given} --release {release} --config k.yaml" for release in ("1.16", "1.20", "1.36", "1.36")]
    configured.append(f"{given} --release 1.36 --config k.yaml --write-config-to -")
    ran = [given, "sweep busy.yaml --out r.csv", "migrate policy.json", "registry"]
    return [
        *(
            mutating(name, name, found, [f"{one} --policy-config-file {name}" for one in old])
            for name, found in of_policies.items()
        ),
        mutating("ConfigMap", "m.yaml", maps, [f"{one} --policy-configmap m.yaml" for one in old]),
        mutating("migrate", "m.yaml", documents, [f"migrate m.yaml {more}" for more in migrate]),
        mutating("configuration", "k.yaml", [*map(dumped, CONFIGS), yaml_of(CONFIG)], configured),
        mutating("settings", "s.toml", [SETTINGS], [f"--settings s.toml {given}"]),
        mutating("settings of all", "kubescheduler.toml", [SETTINGS], ran),
    ]


def _of_runs(pods: Sequence[bytes]) -> list[Reader]:
    sides = "--old release=1.16 --new release=1.36"
    ways = ("", "-o html", "-o junit --validate ignore", "-o json --mode sequence --preempt")
    outputs = ("table", "csv", "timeline", "events", "simulator")
    placed = [f"compare busy.yaml --pods w.yaml {sides} {way}" for way in ways]
    placed += [f"simulate given.yaml --workload w.yaml --validate ignore -o {output}" for output in outputs]
    simulated, of_nodes = "simulate given.yaml --workload", "capacity n.csv --pod pod.yaml --limit 20"
    of_pods = "schedule given.yaml --pod t.csv --release 1.36"
    packed = [f"{simulated} t.csv.gz -o csv", f"compare given.yaml --pods t.csv.gz {sides}"]
    return [
        mutating("trace of nodes", "n.csv", [NODES], ["simulate n.csv --workload pod.yaml", of_nodes]),
        mutating("trace of pods", "t.csv", [PODS], [f"{simulated} t.csv", of_pods]),
        mutating("compressed trace", "t.csv.gz", [PODS], packed),
        mutating("workload", "w.yaml", [WORKLOAD, *map(to_yaml, pods[:10])], placed),
        mutating("workload.json", "w.yaml", pods[:40], placed),
    ]


def _of_sweeps(clusters: Sequence[bytes]) -> list[Reader]:
    old = b"case,snapshot,config,seed,pods,error\nabc,busy.yaml,release=1.16,,1,\n"
    rows = (old, _rows("--placements"), _rows())
    again = [f"sweep busy.yaml --out r.csv {more}" for more in ("", "--placements", "--retry-errors")]
    placing = [f"sweep c.json --out r.csv --placements --config-spec release={release}" for release in RELEASE_NAMES]
    placing += [f"{one} --validate ignore --seeds 0..1" for one in placing]
    return [
        mutating("grid", "g.toml", [GRID], ["sweep busy.yaml --grid g.toml --out r.csv"]),
        mutating("rows of a sweep", "r.csv", rows, again),
        mutating("journal of a sweep", "r.parquet.journal.csv", rows, ["sweep busy.yaml --out r.parquet"]),
        mutating("snapshot of a sweep", "c.json", clusters, placing),
    ]


@cache
def _rows(*more: str) -> bytes:
    """What a sweep of one case writes."""
    with tempfile.TemporaryDirectory() as folder:
        execute(Path(folder), Case(("sweep", "busy.yaml", "--out", "r.csv", *more)))
        return (Path(folder) / "r.csv").read_bytes()


def extender_case(rng: random.Random) -> Case:
    """A good policy or configuration, and an extender with mutated answers."""
    release = rng.choice(RELEASE_NAMES)
    extender: dict[str, Any] = {**EXTENDER, "nodeCacheCapable": rng.random() < 0.5, "ignorable": rng.random() < 0.2}
    if RELEASES[release].reads_policies:
        config: Any = {"kind": "Policy", "apiVersion": "v1", "extenders": [extender]}
        option = "--policy-config-file"
    else:
        config = {**CONFIG, "extenders": [{**extender, "httpTimeout": "1s"}]}
        option = "--config"
    exchanges = [_exchange(rng) for _ in range(rng.randint(1, 6))]
    command = rng.choice(
        [
            "schedule busy.yaml --pending --preempt -o json",
            "schedule given.yaml --pod pod.yaml --explain",
            "schedule given.yaml --pod pod.yaml --bind",
            "simulate busy.yaml --pending --workload pod.yaml --preempt",
            "schedule busy.yaml --pending --extenders 'record r.jsonl'",
        ]
    )
    words = shlex.split(f"{command} --release {release} {option} e.json")
    return Case(words, {"e.json": dumped(config)}, exchanges=exchanges)


ODD_HEADERS = (
    *(b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: gzip\r\n", b"Location: /\r\n"),
    *(b"no colon\r\n", b": \r\n", b"X: a\r\n" * 300, b"X: " + b"x" * 50_000 + b"\r\n"),
)


def _exchange(rng: random.Random) -> bytes:
    """One answer: mostly good HTTP around a mutated document, sometimes broken HTTP."""
    body = dumped(rng.choice(ANSWERS))
    if rng.random() < 0.6:
        body = mutated(rng, body, "")
    if rng.random() < 0.1:
        body, gzipped = gzip.compress(body, 1, mtime=0), b"Content-Encoding: gzip\r\n"
    else:
        gzipped = b""
    length = rng.choice([len(body)] * 12 + [-5, "abc", 0, 10**30, len(body) + 5, len(body) - 5, ""])
    odd = (
        "500 Internal Server Error",
        "302 Found",
        "307 X",
        "103 Early",
        "204 No Content",
        "999 X",
        "100 Continue",
        "x",
    )
    status = rng.choice(["200 OK"] * 12 + [*odd])
    headers = rng.choice([b""] * 9 + [*ODD_HEADERS])
    answer = f"HTTP/1.1 {status}\r\nContent-Length: {length}\r\n".encode() + gzipped + headers + b"\r\n" + body
    return answer if rng.random() < 0.8 else mutated(rng, answer, "")


def kubeconfig_case(rng: random.Random) -> Case:
    """A kubeconfig, which is read and not used."""
    return Case(("k.yaml",), {"k.yaml": mutated(rng, rng.choice(KUBECONFIGS), "")}, entry=check_kubeconfig)


def exercise_case(rng: random.Random) -> Case:
    """The description of an exercise, with the files that belong to it."""
    folder = rng.choice(sorted(SHIPPED.glob("*/exercise.yaml"))).parent
    files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    given = files["exercise.yaml"]
    text = mutated(rng, given if rng.random() < 0.3 else dumped(yaml.safe_load(given)), "")
    return Case((".",), {**files, "exercise.yaml": text}, entry=check_exercise)


def mirror_case(rng: random.Random) -> Case:
    """A recorded day with one or two lines that are mutated."""
    lines = [dumped(line) for line in MIRROR]
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(lines))
        lines[at] = mutated(rng, lines[at], "")
    command = rng.choice(
        [("simulate", "--mirror", "m.jsonl"), ("compare", "--mirror", "m.jsonl", "--new", "release=1.36")]
    )
    return Case(command, {"m.jsonl": b"\n".join(lines)})


def placements_case(rng: random.Random) -> Case:
    """A record of the pytest plugin."""
    return Case(("r.yaml",), {"r.yaml": mutated(rng, PLACED.encode(), "")}, entry=check_placements)


def _recorded() -> bytes:
    """A file of recorded answers."""
    answers = [dumped(ANSWERS[1]), dumped(ANSWERS[2])]
    exchanges = [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(one), one) for one in answers]
    with tempfile.TemporaryDirectory() as folder:
        execute(Path(folder), Case((*RECORDING.split(), "record a.jsonl"), {"e.json": ASKING}, exchanges=exchanges))
        return (Path(folder) / "a.jsonl").read_bytes()


def _all(*commands: str) -> list[str]:
    """Each by every release."""
    return [f"{command} --release {release}" for command in commands for release in RELEASE_NAMES]
