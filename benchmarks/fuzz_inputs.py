"""Hostile input for every reader: what they read in earnest, mutated."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from kubescheduler.cli import run

ROOT = Path(__file__).resolve().parent.parent
VECTORS = ROOT / "tests" / "vectors"

ODD_VALUES: Sequence[Any] = (
    *(None, True, False, 0, -1, 2**31, 2**63, -(2**63) - 1, 10**40, 0.5, 1e308, -0.0, "", " ", "x" * 5000),
    *([], {}, [None], [[]], {"": None}, "1:30:00", "2020-02-30", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"),
    *(
        "\x1b[31mred",
        "a\nb",
        "a\x00b",
        "=HYPERLINK(1)",
        "\u202eabc",
        "1e400",
        "0x" + "f" * 999,
        "-1Gi",
        "1.5.5",
        "100m",
    ),
    *(
        "In",
        "Exists",
        "DoesNotExist",
        "Gt",
        "default-scheduler",
        "kubernetes.io/hostname",
        "a/b/c",
        "v1",
        "Pod",
        "List",
    ),
    *({"key": "a", "operator": "Gt", "values": ["x"]}, {"matchLabels": {"a": 5}}, "10.0.0.1", "http://[::1", "99999d"),
)
ODD_TEXTS: Sequence[bytes] = (
    *(b"!!int ''", b"!!bool foo", b"!!timestamp x", b"!!python/object:os.system {}", b"&a [*a]", b"*a", b"<<: *a\n"),
    *(b"[" * 2000, b"{" * 2000, b"- " * 2000, b'{"a":' * 2000, b"a.a." * 500, b"\x00", b"\xff\xfe", b"\xef\xbb\xbf"),
    *(b"9" * 5000, b"1e999", b"NaN", b"\r\n", b"\t", b"---\n", b"...\n", b"'''", b'"""', b"#", b"%YAML 9.9\n", b"? "),
    *(b"\x1f\x8b", b"[[a]]\n", b"a = 1979-05-27\n", b"= ", b"\xe2\x80\xae", b",,,,", b'"'),
)
MOST_BYTES = 30_000
"""Of a document that is mutated; longer ones make slow cases and no new ones."""


@attrs.frozen
class Reader:
    """One thing that is read, with what it reads in earnest, and the command that reads it."""

    name: str
    documents: Sequence[bytes]
    file: str
    """The name of the file that the command is given; ``-`` for standard input."""
    commands: Sequence[tuple[str, ...]]

    def case(self, rng: random.Random) -> tuple[bytes, tuple[str, ...]]:
        """A mutated document, and a command that reads it."""
        return mutated(rng, rng.choice(self.documents), self.file), rng.choice(self.commands)


@attrs.frozen
class Outcome:
    """What a case did."""

    status: int
    out: str
    err: str

    @property
    def fault(self) -> str | None:
        """How it breaks the law: exit 0, 1 or 2, a message with 2, and no traceback; None if it does not."""
        if self.status not in (0, 1, 2):
            return f"exit status {self.status}"
        both = self.out + self.err
        if "Traceback (most recent" in both or "a fault in kubescheduler" in both:
            return "traceback"
        if self.status == 2 and "error: " not in self.err and "Error: " not in self.err:
            return "status 2 without a message"
        return None


def execute(folder: Path, reader: Reader, data: bytes, command: Sequence[str]) -> Outcome:
    """Runs one case in this process, with ``folder`` as the current one."""
    if reader.file != "-":
        (folder / reader.file).write_bytes(data)
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(data if reader.file == "-" else b""))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(folder):
            status = run(list(command))
    finally:
        sys.stdin = before
    out.flush()
    return Outcome(status, out.buffer.getvalue().decode("utf-8", "replace"), err.getvalue())


# --- mutation ----------------------------------------------------------------------------------


def mutated(rng: random.Random, data: bytes, file: str) -> bytes:
    """A few changes: to the document's structure where it is JSON, to its bytes otherwise; packed for ``.gz``."""
    change = _structure if rng.random() < 0.75 else _bytes
    for _ in range(rng.randint(1, 3)):
        data = change(rng, data)
    if not file.endswith(".gz"):
        return data
    packed = gzip.compress(data, 1, mtime=0)
    return _bytes(rng, packed) if rng.random() < 0.3 else packed


def _structure(rng: random.Random, data: bytes) -> bytes:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return _token(rng, data)
    places = list(_places(document))
    if not places:
        return _bytes(rng, data)
    holder, key = rng.choice(places)
    match rng.randrange(5):
        case 0:
            del holder[key]
        case 1:
            holder[key] = rng.choice(places)[0]
        case 2 if isinstance(holder, dict):
            holder[str(rng.choice(ODD_VALUES))[:99]] = holder.pop(key)
        case _:
            holder[key] = rng.choice(ODD_VALUES)
    try:
        return json.dumps(document).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return data


def _places(value: Any) -> Any:
    """(holder, key) of every value below one."""
    stack = [value]
    while stack:
        holder = stack.pop()
        pairs = holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ()
        for key, item in pairs:
            yield holder, key
            stack.append(item)


def _token(rng: random.Random, data: bytes) -> bytes:
    """Another value in the place of what stands behind a separator in one line."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    for separator in rng.sample([b": ", b" = ", b",", b"- "], 4):
        before, found, _ = lines[at].rpartition(separator)
        if found:
            lines[at] = (
                before + found + rng.choice([rng.choice(ODD_TEXTS), json.dumps(rng.choice(ODD_VALUES)).encode()])
            )
            break
    return b"\n".join(lines)


def _bytes(rng: random.Random, data: bytes) -> bytes:
    at, end = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    changes: Mapping[str, Callable[[], bytes]] = {
        "cut": lambda: data[:at],
        "without": lambda: data[:at] + data[min(end, at + 40) :],
        "twice": lambda: data[:end] + data[at:],
        "into": lambda: data[:at] + rng.choice(ODD_TEXTS) + data[at:],
        "flip": lambda: data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :],
        "behind": lambda: data + b"\n" + rng.choice(ODD_TEXTS),
    }
    return rng.choice(list(changes.values()))()


# --- readers -----------------------------------------------------------------------------------

NODES = b"sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,2,P100\nn2,96000,786432,0,\n"
PODS = (
    b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time,scheduled_time\n"
    b"a,1500,1024,0,0,,LS,0,100,1\nb,100,10,1,500,V100|P100,BE,10,,11\n"
)
SETTINGS = b'release = "1.16"\n\n[schedule]\noutput = "wide"\nseed = 5\npod = ["pod.yaml"]\n'
GRID = b'base = "release=1.16"\n\n[weights]\nLeastRequestedPriority = [1, 2]\nNodeAffinityPriority = 0\n'
WORKLOAD = b"""\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {kubescheduler/arrives-after: 1h30m, kubescheduler/duration: 2d}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, resources: {requests: {cpu: 100m, memory: 1Gi}}, ports: [{hostPort: 80}]}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, creationTimestamp: "2020-01-31T12:00:00Z"}
spec: {completions: 3, parallelism: 2, template: {spec: {containers: [{name: c}]}}}
"""
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "percentageOfNodesToScore": 50,
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {
                "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit", "weight": 5}]},
                "multiPoint": {"enabled": [{"name": "ImageLocality", "weight": 2}]},
            },
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "ignoredResources": ["example.com/x"],
                        "scoringStrategy": {
                            "type": "RequestedToCapacityRatio",
                            "resources": [{"name": "cpu", "weight": 2}],
                            "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}]},
                        },
                    },
                },
                {
                    "name": "PodTopologySpread",
                    "args": {
                        "defaultingType": "List",
                        "defaultConstraints": [
                            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
                        ],
                    },
                },
                {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 5}},
            ],
        }
    ],
    "extenders": [{"urlPrefix": "http://u:p@127.0.0.1:1", "filterVerb": "f", "ignorable": True, "httpTimeout": "10ms"}],
}
OLD_CONFIG = {
    **CONFIG,
    "apiVersion": "kubescheduler.config.k8s.io/v1beta1",
    "profiles": [{"plugins": {"score": {"enabled": [{"name": "NodeLabel", "weight": 3}]}}}],
}
POLICY = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [
        {"name": "PodFitsResources"},
        {"name": "Zones", "argument": {"serviceAffinity": {"labels": ["zone"]}}},
        {"name": "Labels", "argument": {"labelsPresence": {"labels": ["retiring"], "presence": False}}},
    ],
    "priorities": [
        {"name": "LeastRequestedPriority", "weight": 1},
        {"name": "Rack", "weight": 2, "argument": {"serviceAntiAffinity": {"label": "rack"}}},
        {
            "name": "Shape",
            "weight": 1,
            "argument": {
                "requestedToCapacityRatioArguments": {
                    "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
                    "resources": [{"name": "cpu", "weight": 1}],
                }
            },
        },
    ],
    "extenders": [{"urlPrefix": "http://127.0.0.1:1", "filterVerb": "f", "weight": 1, "ignorable": True}],
    "hardPodAffinitySymmetricWeight": 10,
}
CLUSTER_FILE = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1, zone: a}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {kubernetes.io/hostname: n2, zone: b}}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "110"}}
"""
POD_FILE = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c}]}\n"
RELEASE_NAMES = ("1.4", "1.16", "1.20", "1.36")


def prepare(folder: Path) -> None:
    """What the commands need besides the mutated file."""
    (folder / "given.yaml").write_text(CLUSTER_FILE)
    (folder / "pod.yaml").write_text(POD_FILE)


def readers() -> list[Reader]:
    """Every reader of the command line. The scenarios are those of the vectors, one a theme and release."""
    lines = [line for release in RELEASE_NAMES for line in _scenarios(release)]
    clusters = [_dumped(_section(line)) for line in lines]
    pods = [_dumped({"kind": "Pod", **query["pod"]}) for line in lines for query in line["queries"][:2]]
    policies = [_dumped(query["policy"]) for line in lines for query in line["queries"][:3] if query.get("policy")]
    policies += [_dumped(POLICY)]
    map_ = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"policy.cfg": json.dumps(POLICY)}}
    given = ("given.yaml", "--pod", "pod.yaml", "-o", "json")
    old = [("schedule", *given, "--release", release) for release in RELEASE_NAMES[:3]]
    return [
        Reader("cluster.json", clusters, "c.json", _all(("schedule", "c.json", "--pod", "pod.yaml", "--explain"))),
        Reader(
            "cluster.yaml",
            [*map(_to_yaml, clusters[:12]), WORKLOAD],
            "c.yaml",
            _all(("schedule", "c.yaml", "--pending")),
        ),
        Reader("cluster.gz", clusters, "c.json.gz", _all(("schedule", "c.json.gz", "--pod", "pod.yaml", "--preempt"))),
        Reader("cluster on standard input", clusters, "-", _all(("schedule", "-", "--pending", "-o", "name"))),
        Reader("pod.json", pods, "p.json", _all(("schedule", "given.yaml", "--pod", "p.json", "--explain"))),
        Reader(
            "pod.yaml",
            [*map(_to_yaml, pods[:40]), POD_FILE.encode()],
            "p.yaml",
            _all(("capacity", "given.yaml", "--pod", "p.yaml")),
        ),
        Reader("policy.json", policies, "p.json", [(*one, "--policy-config-file", "p.json") for one in old]),
        Reader("policy.yaml", [_yaml(POLICY)], "p.yaml", [(*one, "--policy-config-file", "p.yaml") for one in old]),
        Reader("policy.toml", [_toml(POLICY)], "p.toml", [(*one, "--policy-config-file", "p.toml") for one in old]),
        Reader(
            "ConfigMap", [_dumped(map_), _yaml(map_)], "m.yaml", [(*one, "--policy-configmap", "m.yaml") for one in old]
        ),
        Reader("migrate", policies, "p.json", [("migrate", "p.json")]),
        Reader(
            "configuration",
            [_dumped(CONFIG), _dumped(OLD_CONFIG), _yaml(CONFIG)],
            "k.yaml",
            [("schedule", *given, "--release", release, "--config", "k.yaml") for release in ("1.20", "1.36", "1.36")],
        ),
        Reader("settings", [SETTINGS], "s.toml", [("--settings", "s.toml", "schedule", *given)]),
        Reader("trace of nodes", [NODES], "n.csv", [("simulate", "n.csv", "--workload", "pod.yaml")]),
        Reader("trace of pods", [PODS], "t.csv", [("simulate", "given.yaml", "--workload", "t.csv")]),
        Reader("compressed trace", [PODS], "t.csv.gz", [("simulate", "given.yaml", "--workload", "t.csv.gz")]),
        Reader(
            "workload",
            [WORKLOAD, *pods[:20]],
            "w.yaml",
            [
                ("simulate", "given.yaml", "--workload", "w.yaml"),
                ("compare", "given.yaml", "--pod", "w.yaml", "--old", "release=1.16", "--new", "release=1.36"),
            ],
        ),
        Reader("grid", [GRID], "g.toml", [("sweep", "absent*.json", "--grid", "g.toml", "--out", "r.csv")]),
        Reader("evaluate", list(map(_dumped, lines)), "-", _all(("evaluate",))),
    ]


def _all(command: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [(*command, "--release", release) for release in RELEASE_NAMES]


def _scenarios(release: str) -> list[dict[str, Any]]:
    """The shortest scenarios of each theme."""
    out = []
    for file in sorted((VECTORS / release).glob("*.jsonl.gz")):
        texts = sorted(gzip.decompress(file.read_bytes()).splitlines(), key=len)
        documents = [json.loads(text) for text in texts[:2] if len(text) < MOST_BYTES]
        out += [found for document in documents if (found := document.get("scenario", document)).get("queries")]
    return out


def _section(line: Mapping[str, Any]) -> Any:
    return {"nodes": [], **(line.get("cluster") or {})}


def _dumped(document: Any) -> bytes:
    return json.dumps(document).encode()


def _to_yaml(data: bytes) -> bytes:
    return _yaml(json.loads(data))


def _yaml(document: Any) -> bytes:
    import yaml

    text: str = yaml.safe_dump(document, sort_keys=False)
    return text.encode()


def _toml(document: Any) -> bytes:
    import toml

    return toml.dumps(document).encode()
