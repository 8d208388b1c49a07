"""Documents to damage, and how: what the readers read in earnest, the shortest scenarios of each theme, mutations."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).resolve().parents[1] / "tests" / "vectors"
MOST_BYTES = 30_000
"""Of a document that is mutated; longer ones make slow cases and no new ones."""

RELEASE_NAMES = ("1.4", "1.16", "1.20", "1.36")

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

_ENTRY = {
    "current-context": "x",
    "clusters": [{"name": "c", "cluster": {"server": "https://h:6443", "certificate-authority-data": "YQ=="}}],
    "users": [{"name": "u", "user": {"token": "t", "client-certificate-data": "YQ==", "client-key": "pod.yaml"}}],
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
}
_EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "say", "args": ["a"], "provideClusterInfo": True}
KUBECONFIGS: Sequence[bytes] = (
    json.dumps(_ENTRY).encode(),
    json.dumps({**_ENTRY, "users": [{"name": "u", "user": {"exec": _EXEC}}]}).encode(),
    b"clusters:\n- name: c\n  cluster: &a {server: h}\ncontexts: []\nusers: [{name: u, user: *a}]\n",
)

_NODE_SEEN = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}}
_POD_SEEN = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default", "uid": "u"},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
}
MIRROR: Sequence[Any] = (
    {"apiVersion": "kubescheduler/v1", "kind": "Mirror", "started": "2026-01-02T03:04:05.678Z"},
    {"time": 0.1, "type": "ADDED", "object": _NODE_SEEN},
    {"time": 0.2, "type": "SYNCED"},
    {"time": 1.5, "type": "ADDED", "object": _POD_SEEN},
    {"time": 2.5, "type": "MODIFIED", "object": {**_POD_SEEN, "spec": {**_POD_SEEN["spec"], "nodeName": "n"}}},  # type: ignore[dict-item]
    {"time": 9.0, "type": "DELETED", "object": _POD_SEEN},
)

PLACED = """\
# Where the pods go.
pods:
- {pod: default/web, host: n1, total: 20, tied: [n1, n2]}
- {pod: default/gone, host: null, message: 0/2 nodes are available}
"""
MANIFEST = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "kube-scheduler", "namespace": "kube-system"},
    "spec": {
        "selector": {"matchLabels": {"component": "kube-scheduler"}},
        "template": {
            "metadata": {"labels": {"component": "kube-scheduler"}},
            "spec": {
                "containers": [
                    {
                        "name": "kube-scheduler",
                        "image": "k8s.gcr.io/kube-scheduler:v1.16.15",
                        "command": [
                            "kube-scheduler",
                            "--policy-configmap=scheduler-policy",
                            "--port=10251",
                            "--feature-gates=EvenPodsSpread=true",
                            "--lock-object-name=x",
                            "--v=5",
                        ],
                        "volumeMounts": [{"name": "config", "mountPath": "/etc/k8s"}],
                    }
                ],
                "volumes": [{"name": "config", "configMap": {"name": "scheduler-policy"}}],
            },
        },
    },
}
CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "scheduler-policy", "namespace": "kube-system"},
    "data": {"policy.cfg": json.dumps(POLICY)},
}
V1ALPHA1 = {
    "apiVersion": "kubescheduler.config.k8s.io/v1alpha1",
    "kind": "KubeSchedulerConfiguration",
    "algorithmSource": {"policy": {"file": {"path": "policy.json"}}},
    "hardPodAffinitySymmetricWeight": 5,
    "percentageOfNodesToScore": 30,
    "leaderElection": {"lockObjectName": "x", "leaseDuration": "15s"},
    "plugins": {"score": {"enabled": [{"name": "X", "weight": 1}]}},
}
CONFIGS = (
    *(CONFIG, OLD_CONFIG, V1ALPHA1),
    *({**OLD_CONFIG, "apiVersion": f"kubescheduler.config.k8s.io/{one}"} for one in ("v1alpha2", "v1beta2", "v1beta3")),
)
MINE = {**CONFIG, "extenders": [], "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Mine"}]}}}]}
MY_POLICY = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [{"name": "Mine"}],
    "priorities": [{"name": "Mine", "weight": 2}],
}
EXTENDER = {
    "urlPrefix": "http://u:secret@127.0.0.1:9/x",
    "filterVerb": "filter",
    "prioritizeVerb": "prioritize",
    "preemptVerb": "preempt",
    "bindVerb": "bind",
    "weight": 3,
    "nodeCacheCapable": False,
    "httpTimeout": 1_000_000_000,
}
ANSWERS = (
    {"nodes": {"metadata": {}, "items": [{"metadata": {"name": "n1"}}]}, "failedNodes": {"n2": "no"}, "error": ""},
    {"nodenames": ["n1", "n2"], "failedNodes": {}, "failedAndUnresolvableNodes": {"n2": "never"}, "error": ""},
    [{"host": "n1", "score": 5}, {"host": "n2", "score": 10}],
    {"nodeNameToMetaVictims": {"n1": {"pods": [{"uid": "u"}], "numPDBViolations": 1}}},
    {"nodeNameToVictims": {"n1": {"pods": [{"metadata": {"name": "low", "uid": "u"}}]}}},
    {"error": "95% full"},
)
BUSY_FILE = (
    CLUSTER_FILE
    + """\
---
apiVersion: v1
kind: Pod
metadata: {name: low, uid: u, labels: {app: web}}
spec: {nodeName: n1, priority: 1, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: wants, uid: w}
spec: {priority: 9, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}}
"""
)
FIXED_FILES = {
    "given.yaml": CLUSTER_FILE,
    "pod.yaml": POD_FILE,
    "busy.yaml": BUSY_FILE,
    "workload.yaml": WORKLOAD.decode(),
    "policy.json": json.dumps(POLICY),
    "config.yaml": json.dumps(MINE | {"profiles": CONFIG["profiles"]}),
    "trace.csv": PODS.decode(),
    "grid.toml": GRID.decode(),
}
"""What the commands need besides the hostile files, by name."""


def scenarios(release: str) -> list[dict[str, Any]]:
    """The shortest scenarios of each theme."""
    out = []
    for file in sorted((VECTORS / release).glob("*.jsonl.gz")):
        texts = sorted(gzip.decompress(file.read_bytes()).splitlines(), key=len)
        documents = [json.loads(text) for text in texts[:2] if len(text) < MOST_BYTES]
        out += [found for document in documents if (found := document.get("scenario", document)).get("queries")]
    return out


def section(line: Mapping[str, Any]) -> Any:
    return {"nodes": [], **(line.get("cluster") or {})}


def dumped(document: Any) -> bytes:
    return json.dumps(document).encode()


def to_yaml(data: bytes) -> bytes:
    return yaml_of(json.loads(data))


def yaml_of(document: Any) -> bytes:
    import yaml

    text: str = yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False)
    return text.encode()


def toml_of(document: Any) -> bytes:
    import toml

    return toml.dumps(document).encode()


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
