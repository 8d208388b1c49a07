"""What makes pods, what comes with them, and swapped arguments: in every command, in Python and in pytest."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kubescheduler as ks
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.testing.named_inputs import cluster_of
from kubescheduler.testing.placements import Placer
from tests.kubescheduler.cli.conftest import Run, pod

SELECTOR = {"matchLabels": {"app": "web"}}
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}, "annotations": {"kubescheduler/duration": "10"}},
    "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
}
TWO = {"replicas": 2, "selector": SELECTOR, "template": TEMPLATE}
JOB = {"completions": 3, "parallelism": 2, "template": TEMPLATE}
NUMBERED = ["web-0", "web-1"]

WORKLOADS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "Deployment": ("apps/v1", TWO, NUMBERED),
    "ReplicaSet": ("apps/v1", TWO, NUMBERED),
    "ReplicationController": ("v1", {**TWO, "selector": SELECTOR["matchLabels"]}, NUMBERED),
    "StatefulSet": ("apps/v1", {**TWO, "serviceName": "web"}, NUMBERED),
    "Job": ("batch/v1", JOB, NUMBERED),
    "DaemonSet": ("apps/v1", {"selector": SELECTOR, "template": TEMPLATE}, ["web-n1", "web-n2"]),
    "CronJob": ("batch/v1", {"schedule": "0 * * * *", "jobTemplate": {"spec": JOB}}, NUMBERED),
}
"""Kind → its version, its spec, and the names of the pods that it makes on two nodes at once."""
LATER = {"Job": ["web-2"], "CronJob": ["web-2"]}
"""Kind → the pods that come when others have finished."""


def workload(kind: str) -> dict[str, Any]:
    """A controller's manifest."""
    version, spec, _ = WORKLOADS[kind]
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "web"}, "spec": spec}


Places = dict[str, str | None]
"""Pod → its node."""


def scheduled(call: Run, cluster: str, *files: str) -> Places:
    found = call("schedule", cluster, *options("--pod", files), "-o", "json")
    return {each["pod"]["name"]: each["host"] for each in json.loads(found.out)["items"]}


def simulated(call: Run, cluster: str, *files: str) -> Places:
    found = call("simulate", cluster, *options("--workload", files), "-o", "json")
    return {each["name"]: each["node"] for each in json.loads(found.out)["pods"]}


def compared(call: Run, cluster: str, *files: str) -> Places:
    found = call("compare", cluster, *options("--pods", files), "--new", "release=1.36", "-o", "json")
    return by_name({each["pod"]: each["outcomes"][0]["host"] for each in json.loads(found.out)["pods"]})


def swept(call: Run, cluster: str, *files: str) -> Places:
    Path("rows.csv").unlink(missing_ok=True)
    call("sweep", cluster, *options("--pods", files), "--workers", "1", "--placements", "--out", "rows.csv")
    [row] = csv.DictReader(Path("rows.csv").read_text().splitlines())
    assert not row["error"], row
    return by_name(json.loads(row["placements"]))


def in_python(_: Run, cluster: str, *files: str) -> Places:
    found = ks.Scheduler(ks.Cluster.read(cluster)).run(*files)
    return by_name({name: each.host for name, each in found.items()})


def in_pytest(_: Run, cluster: str, *files: str) -> Places:
    return by_name(dict(Placer(EngineSpec(), cluster_of(cluster, [Path.cwd()])).place(*files)))


def by_name(found: Places) -> Places:
    """Without namespaces."""
    return {name.partition("/")[2]: node for name, node in found.items()}


def options(name: str, files: tuple[str, ...]) -> list[str]:
    return [word for file in files for word in (name, file)]


PLACING: dict[str, Callable[..., Places]] = {
    "schedule": scheduled,
    "simulate": simulated,
    "compare": compared,
    "sweep": swept,
    "python": in_python,
    "pytest": in_pytest,
}


@pytest.mark.filterwarnings("ignore:.*come as these finish")
@pytest.mark.parametrize("place", PLACING.values(), ids=PLACING)
@pytest.mark.parametrize("kind", WORKLOADS)
def test_every_kind_everywhere(kubescheduler: Run, kind: str, place: Callable[..., Places]) -> None:
    """Every command, Python and the pytest plugin place the pods that a controller makes."""
    Path("workload.json").write_text(json.dumps(workload(kind)))
    found = place(kubescheduler, "cluster.yaml", "workload.json")
    later = LATER.get(kind, []) if place is simulated else []
    assert sorted(name for name, node in found.items() if node) == [*WORKLOADS[kind][2], *later]


@pytest.mark.filterwarnings("ignore:.*come as these finish")
@pytest.mark.parametrize("kind", WORKLOADS)
def test_capacity_of_every_kind(kubescheduler: Run, kind: str) -> None:
    """One pod of a controller is asked about; of a DaemonSet, on how many nodes its pod has room."""
    Path("workload.json").write_text(json.dumps(workload(kind)))
    found = kubescheduler("capacity", "cluster.yaml", "--pod", "workload.json", "-o", "json")
    [item] = json.loads(found.out)["items"]
    asked, count = ("web", 2) if kind == "DaemonSet" else ("web-0", 6)
    assert (item["pod"]["name"], item["count"], item["limited"]) == (asked, count, False)
    room = ks.capacity(ks.Cluster.read("cluster.yaml"), "workload.json")
    assert (room.pod.metadata.name, room.count) == (asked, count)


# --- what comes with pods ----------------------------------------------------------------------

SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}}}
CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "late",
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
LATE = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "late"},
    "provisioner": "example.com/disks",
    "volumeBindingMode": "WaitForFirstConsumer",
}
LARGE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n3", "labels": {"kubernetes.io/hostname": "n3", "size": "large"}},
    "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110"}},
}
VOLUME = ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"

BESIDE: dict[str, tuple[list[dict[str, Any]], str]] = {
    "PriorityClass": ([CLASS], pod("web", spec=", priorityClassName: high")),
    "PersistentVolumeClaim": ([CLAIM, LATE], pod("web", spec=VOLUME)),
    "Node": ([LARGE], pod("web", spec=", nodeSelector: {size: large}")),
}
"""Kind → objects without which the pod has no node, and the pod."""


@pytest.mark.parametrize("place", PLACING.values(), ids=PLACING)
@pytest.mark.parametrize("kind", BESIDE)
def test_what_comes_with_pods(kubescheduler: Run, kind: str, place: Callable[..., Places]) -> None:
    """Other objects of the files with pods join the cluster, in every command alike, whatever the file."""
    objects, asked = BESIDE[kind]
    Path("beside.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    Path("asked.yaml").write_text(asked)
    found = place(kubescheduler, "cluster.yaml", "beside.json", "asked.yaml")
    assert [name for name, node in found.items() if node] == ["web"]


@pytest.mark.parametrize("place", PLACING.values(), ids=PLACING)
def test_a_service_of_the_pod_file_spreads(kubescheduler: Run, place: Callable[..., Places]) -> None:
    """Without the service the pod goes to the roomier node, with it to the one without another of its pods."""
    labels = ", labels: {app: web}"
    nodes = Path("cluster.yaml").read_text().replace('cpu: "2", memory: 4Gi', 'cpu: "4", memory: 8Gi')
    small = pod("web-1", "1m", metadata=labels, spec=", nodeName: n1")
    large = pod("large", "1", spec=", nodeName: n2")
    Path("shop.yaml").write_text(nodes + small + large)
    asked = pod("web-2", "1m", metadata=labels)
    Path("asked.yaml").write_text(asked)
    assert place(kubescheduler, "shop.yaml", "asked.yaml")["web-2"] == "n1"
    Path("asked.yaml").write_text(f"{json.dumps(SERVICE)}\n{asked}")
    assert place(kubescheduler, "shop.yaml", "asked.yaml")["web-2"] == "n2"


def test_what_comes_with_pods_is_saved(kubescheduler: Run) -> None:
    """The saved cluster has what the pod file added, as it was written."""
    Path("asked.yaml").write_text(f"{json.dumps({**SERVICE, 'spec': {'selector': {}, 'ports': [{'port': 80}]}})}\n")
    kubescheduler("schedule", "cluster.yaml", "--pod", "asked.yaml", "--pod", "pod.yaml", "--save", "after.json")
    items = {each["kind"]: each for each in json.loads(Path("after.json").read_text())["items"]}
    assert set(items) == {"Node", "Service", "Pod"}
    assert items["Service"]["spec"]["ports"] == [{"port": 80}]


# --- arguments that are swapped ------------------------------------------------------------------

COMMANDS = {
    "schedule": ("--pod",),
    "simulate": ("--workload",),
    "compare": ("--new", "release=1.36", "--pods"),
    "capacity": ("--pod",),
    "sweep": ("--out", "rows.csv", "--workers", "1", "--pods"),
}
POLICY = '{"kind": "Policy", "apiVersion": "v1", "predicates": [], "priorities": []}'
CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("cluster", "pods", "said"),
    [
        pytest.param("pod.yaml", "cluster.yaml", "are the two swapped?", id="cluster-and-pods"),
        pytest.param("cluster.yaml", "nodes.yaml", "no pods in it", id="nodes-for-pods"),
        pytest.param(
            "policy.json", "pod.yaml", "policy.json: this is a Policy, and no cluster", id="policy-for-cluster"
        ),
        pytest.param("config.yaml", "pod.yaml", "give it with --config", id="configuration-for-cluster"),
        pytest.param("cluster.yaml", "policy.json", "no pods in it", id="policy-for-pods"),
    ],
)
def test_swapped_arguments(kubescheduler: Run, command: str, cluster: str, pods: str, said: str) -> None:
    """Every command notices files that stand in each other's place, and exits with 2."""
    Path("nodes.yaml").write_text(Path("cluster.yaml").read_text())
    Path("policy.json").write_text(POLICY)
    Path("config.yaml").write_text(CONFIG)
    outcome = kubescheduler(command, cluster, *COMMANDS[command], pods)
    assert (outcome.status, said in outcome.err) == (2, True), outcome.err


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "sweep"])
def test_a_cluster_without_nodes_is_noted(kubescheduler: Run, command: str) -> None:
    """The answer is upstream's, and a note says what is missing."""
    Path("empty.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    outcome = kubescheduler(command, "empty.yaml", *COMMANDS[command], "pod.yaml")
    assert "note: the cluster has no nodes" in outcome.err
