"""Command lines of every command and option, with values that nobody means."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache
from random import Random

import click

from benchmarks.fuzzing.fuzz_cases import Case
from benchmarks.fuzzing.fuzz_documents import FIXED_FILES, RELEASE_NAMES
from kubescheduler.cli import COMMANDS

GOOD = {
    "schedule": (
        ("given.yaml", "--pod", "pod.yaml"),
        ("busy.yaml", "--pending", "--preempt", "--explain"),
        ("given.yaml", "--pod", "pod.yaml", "--release", "1.36", "--config", "config.yaml"),
        ("given.yaml", "--pod", "trace.csv", "--policy-config-file", "policy.json", "--extenders", "pass"),
    ),
    "simulate": (("given.yaml", "--workload", "workload.yaml"), ("busy.yaml", "--workload", "trace.csv", "-o", "csv")),
    "capacity": (("given.yaml", "--pod", "pod.yaml", "--limit", "9"),),
    "compare": (
        ("given.yaml", "--pods", "workload.yaml", "--new", "release=1.36"),
        ("busy.yaml", "--pending", "--old", "release=1.20", "--new", "release=1.36,config=config.yaml", "-o", "html"),
        ("busy.yaml", "--pods", "trace.csv", "--new", "policy=policy.json,extenders=pass", "--mode", "sequence"),
    ),
    "evaluate": ((), ("--release", "1.36")),
    "sweep": (
        ("busy.yaml", "--out", "rows.csv"),
        ("busy.yaml", "--grid", "grid.toml", "--seeds", "0..2", "--out", "rows.parquet"),
        ("folder", "--whole-folders", "--config-spec", "release=1.36", "--out", "rows.csv"),
    ),
    "migrate": (("policy.json",), ("config.yaml", "--to", "1.36", "-o", "table"), ("--algorithm-provider", "X")),
    "explain": (("PodFitsResources",), ("Insufficient", "cpu"), ("NodeResourcesFit",)),
    "registry": ((), ("--release", "1.36", "-o", "json"), ("--policy-config-file", "policy.json")),
    "completion": (("bash",), ("fish",)),
}
NUMBERS = (
    "0",
    "1",
    "-1",
    "101",
    "1e3",
    "0x10",
    "+5",
    "٣",
    "9" * 30,
    "9" * 5000,
    "1.5",
    "nan",
    "inf",
    "1_0",
    " 5 ",
    "-0",
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
    words = list(rng.choice(GOOD[name]))
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
