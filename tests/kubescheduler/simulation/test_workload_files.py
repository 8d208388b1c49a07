"""Workloads and clusters from files: pods, controllers, nodes, traces, and every fault in them."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterstate.errors import DecodeError
from clusterstate.objects import FrozenMap, Node, PriorityClass, ReplicaSet, Service, StatefulSet
from kubescheduler.api.cluster import Cluster
from kubescheduler.simulation.openb_trace import read_inputs_of
from kubescheduler.simulation.workload import Workload, as_new, renamed, seconds_of, timestamp
from kubescheduler.simulation.workload_files import workload_in
from tests.support.build import make_node, make_pod

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn-0,32000,262144,0,\nn-1,64000,1024,8,V100\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "a,1500,2048,0,0,,LS,Running,100,250,\n"
    "b,2000,1024,2,1000,V100|P100,BE,Pending,110,,110\n"
    "c,1500,2048,0,0,,LS,Failed,120,120,\n"
)


def workload_of(*documents: Any, cluster: Any = (), **options: Any) -> tuple[Workload, list[str]]:
    stdin = io.BytesIO(yaml.safe_dump_all(documents).encode())
    return workload_in(read_inputs_of(["-"], stdin), cluster, **options)


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def controller(kind: str, version: str = "apps/v1", annotations: Any = None, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}]}}
    selector = {"matchLabels": {"app": "web"}}
    metadata = {"name": "web", "annotations": annotations or {}}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": metadata,
        "spec": {"selector": selector, "template": template, **spec},
    }


def times(workload: Workload) -> dict[str, tuple[Any, ...]]:
    return {a.pod.metadata.name: (a.at, a.leaves_at, a.duration) for a in workload.arrivals}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("90s", 90), ("1h30m", 5400), ("2d", 172800), ("250ms", 0.25), ("0", 0)],
)
def test_durations(text: str, seconds: float) -> None:
    """Seconds, or parts with a unit."""
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "-1", "1w", "h", "1 h", "1h30", "nan", "1e3"])
def test_what_is_no_duration(text: str) -> None:
    """The message says what is."""
    with pytest.raises(ValueError, match="is no duration; write seconds, or parts such as 1h30m or 2d"):
        seconds_of(text)


def test_the_earliest_creation_is_the_start() -> None:
    """Annotations come before timestamps; a pod that says nothing comes at the start."""
    workload, _ = workload_of(
        pod("late", creationTimestamp="2024-01-01T00:01:00Z", deletionTimestamp="2024-01-01T00:02:00Z"),
        pod("first", creationTimestamp="2024-01-01T00:00:00Z", annotations={"kubescheduler/duration": "5m"}),
        pod("plain"),
        pod("said", creationTimestamp="2020-01-01T00:00:00Z", annotations={"kubescheduler/arrives-after": "10s"}),
    )
    assert times(workload) == {
        "late": (60.0, 120.0, None),
        "first": (0.0, None, 300.0),
        "plain": (0.0, None, None),
        "said": (10.0, None, None),
    }
    assert timestamp(workload.epoch, 90.5) == "2024-01-01T00:01:30.500000Z"


def test_pods_come_as_new() -> None:
    """Where and whether they ran before does not matter; the manifest says so too."""
    ran = pod("a", deletionTimestamp="2024-01-01T00:02:00Z", creationTimestamp="2024-01-01T00:00:00Z")
    ran["spec"]["nodeName"] = "gone"
    ran["status"] = {"phase": "Succeeded", "nominatedNodeName": "gone"}
    workload, _ = workload_of(ran)
    new = workload.arrivals[0].pod
    assert (new.node_name, new.phase, new.nominated_node_name, new.metadata.deletion_timestamp) == ("", "", "", None)
    assert new.manifest is not None
    assert "status" not in new.manifest
    assert "nodeName" not in new.manifest["spec"]
    assert as_new(make_pod("p", node="n")) == make_pod("p")


def test_a_deployment_becomes_pods_of_a_replica_set() -> None:
    """They are admitted as pods are, and times come from the controller or its template."""
    workload, _ = workload_of(controller("Deployment", replicas=3, annotations={"kubescheduler/duration": "10"}))
    assert times(workload) == {f"web-{i}": (0.0, None, 10.0) for i in range(3)}
    owner = workload.objects[0]
    assert isinstance(owner, ReplicaSet)
    first, second = (arrival.pod for arrival in workload.arrivals[:2])
    reference = first.metadata.owner_references[0]
    assert (reference.kind, reference.uid, reference.controller) == ("ReplicaSet", owner.metadata.uid, True)
    assert len({arrival.pod.metadata.uid for arrival in workload.arrivals}) == 3
    assert first.spec is second.spec
    assert len(first.spec.tolerations) == 2
    assert second.manifest is not None
    assert second.manifest["metadata"]["name"] == "web-1"


@pytest.mark.parametrize(
    ("document", "first", "later", "on"),
    [
        (controller("ReplicaSet", replicas=2), 2, 0, ""),
        (controller("ReplicationController", "v1"), 1, 0, ""),
        (controller("StatefulSet", replicas=3), 1, 2, "binding"),
        (controller("StatefulSet", replicas=3, podManagementPolicy="Parallel"), 3, 0, ""),
        (controller("Job", "batch/v1", completions=5, parallelism=2), 2, 3, "finish"),
        (controller("Job", "batch/v1", completions=1, parallelism=4), 1, 0, "finish"),
        (controller("Job", "batch/v1"), 1, 0, "finish"),
    ],
    ids=["replica set", "replication controller", "stateful set", "parallel", "job", "short job", "plain job"],
)
def test_how_many_pods_come_at_once(document: Any, first: int, later: int, on: str) -> None:
    """The others of a chain come one by one."""
    document["spec"].pop("selector")
    workload, _ = workload_of(document)
    assert [arrival.pod.metadata.name for arrival in workload.arrivals] == [f"web-{i}" for i in range(first)]
    chains = list(workload.chains.values())
    assert [(chain.on, len(chain.waiting)) for chain in chains] == ([(on, later)] if on else [])
    assert all((arrival.chain != "") == bool(on) for arrival in workload.arrivals)


def test_a_stateful_set_counts_from_its_ordinals_start() -> None:
    """Its pods have the numbers from there on, those that wait too."""
    workload, _ = workload_of(controller("StatefulSet", replicas=3, ordinals={"start": 5}))
    assert [pod.metadata.name for pod in workload.pods()] == ["web-5", "web-6", "web-7"]


CRON = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": controller("Job")["spec"]["template"]}}}
IDLE: dict[str, tuple[dict[str, Any], str]] = {
    "no replicas": (controller("Deployment", replicas=0), "Deployment default/web has 0 replicas"),
    "a suspended Job": (controller("Job", "batch/v1", suspend=True, completions=3), "Job default/web is suspended"),
    "no parallelism": (
        controller("Job", "batch/v1", parallelism=0, completions=3),
        "Job default/web has parallelism 0",
    ),
    "no completions": (controller("Job", "batch/v1", completions=0), "Job default/web has completions 0"),
    "a suspended CronJob": (
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "web"}, "spec": {**CRON, "suspend": True}},
        "CronJob default/web is suspended",
    ),
}


@pytest.mark.parametrize(("document", "why"), IDLE.values(), ids=IDLE)
def test_what_makes_no_pods_says_why(document: dict[str, Any], why: str) -> None:
    """Beside others in a note; alone as the reason why there is nothing to place."""
    if document["kind"] == "Job":
        document["spec"].pop("selector", None)
    workload, notes = workload_of(document, pod("a"))
    assert (list(times(workload)), notes) == (["a"], [f"{why}: it makes no pods"])
    with pytest.raises(DecodeError, match=re.escape(f"no pods in it ({why}: it makes no pods); give pods")):
        workload_of(document)


def test_other_objects_are_there_from_the_start() -> None:
    """Nodes join when they say so; kinds that scheduling does not read are noted."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1", "annotations": {"kubescheduler/arrives-after": "5", "kubescheduler/duration": "10"}},
    }
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    odd = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    workload, notes = workload_of(pod("a"), node, service, odd, controller("StatefulSet"))
    assert [(n.node.name, n.at, n.leaves_at) for n in workload.nodes] == [("n1", 5.0, 15.0)]
    assert [type(obj) for obj in workload.objects] == [Service, StatefulSet]
    assert notes == ['kind "ConfigMap" ignored (1 object): no scheduler reads it']


def test_priority_classes_of_cluster_and_workload_count() -> None:
    """As admission takes them."""
    cluster = [PriorityClass(make_node("low").metadata, value=3)]
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    first, second = pod("a"), pod("b")
    first["spec"]["priorityClassName"], second["spec"]["priorityClassName"] = "low", "high"
    workload, _ = workload_of(first, second, high, cluster=cluster)
    assert [arrival.pod.priority for arrival in workload.arrivals] == [3, 9]


def test_pending_pods_of_the_cluster() -> None:
    """In queue order, at the start, if they are asked for."""
    cluster = [make_pod("waits"), make_pod("first", priority=3), make_pod("runs", node="n")]
    workload, _ = workload_of(pod("a"), cluster=cluster, pending=True)
    assert list(times(workload)) == ["first", "waits", "a"]


@pytest.mark.parametrize(
    ("documents", "problem"),
    [
        ([pod("a"), pod("a")], "Pod default/a: it is 2 times in the workload"),
        ([pod("runs")], "Pod default/runs: it already runs on n"),
        ([pod("a", uid="default/runs")], "Pod default/a: metadata.uid: it is that of Pod default/runs; remove it"),
        ([pod("a", annotations={"kubescheduler/duration": "soon"})], 'duration]: "soon" is no duration'),
        ([pod("a", creationTimestamp="once")], 'Pod default/a: metadata.creationTimestamp: "once" is no time'),
        ([controller("Deployment", replicas="two")], "Deployment web: spec.replicas: must be a whole number from 0 on"),
        ([controller("Deployment", template=None)], "Deployment web: spec.template: missing"),
        ([{**controller("Job", "batch/v1"), "metadata": {}}], "metadata.name: missing"),
        ([{**controller("Job", "batch/v1"), "metadata": {"name": ""}}], "metadata.name: missing"),
        (
            [{**controller("Deployment"), "metadata": {"name": False}}],
            "metadata.name: must be text, not false; put it in quotes",
        ),
        (
            [controller("ReplicaSet", selector={}, template={"spec": {"containers": 3}})],
            "Pod default/web-0: spec.contain",
        ),
        *(
            (
                [controller(kind, template={"spec": {}})],
                f"{kind} web: spec.template.metadata.labels: `selector` does not",
            )
            for kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")
        ),
        ([make_node("n").metadata.name], "must be a Kubernetes object"),
        ([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}], "no pods in it; give"),
        (
            [{**pod("a"), "kind": "pod"}],
            '(kind "pod" ignored (1 object): no scheduler reads it; did you mean Pod?); give',
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_faults(documents: list[Any], problem: str) -> None:
    """Each with the object and the path."""
    with pytest.raises(DecodeError) as caught:
        workload_of(*documents, cluster=[make_pod("runs", node="n")])
    assert [text for text in caught.value.problems if problem in text], caught.value.problems


def test_a_workload_without_defaulting_needs_uids() -> None:
    """Pods of controllers have them anyway."""
    with pytest.raises(DecodeError, match=r"Pod /a: metadata.uid: missing; give it one, or leave out --no-defaulting"):
        workload_of(pod("a"), defaulting=False)


# --- traces ------------------------------------------------------------------------------------


def test_nodes_of_a_trace(tmp_path: Path) -> None:
    """Zones by row; GPUs and their model where there are some."""
    (tmp_path / "nodes.csv").write_text(NODES)
    found = Cluster.read(tmp_path / "nodes.csv")
    first, second = found.objects
    assert isinstance(first, Node)
    assert isinstance(second, Node)
    assert first.allocatable["cpu"] == 32000
    assert first.metadata.labels["failure-domain.beta.kubernetes.io/zone"] == "zone-0"
    assert "gpu-model" not in first.metadata.labels
    assert (second.allocatable["nvidia.com/gpu"], second.metadata.labels["gpu-model"]) == (8000, "V100")


def test_pods_of_a_trace(tmp_path: Path) -> None:
    """Times count from the first creation; equal rows share a spec; each quality class is a service."""
    path = tmp_path / "pods.csv.gz"
    path.write_bytes(gzip.compress(PODS.encode()))
    workload, notes = workload_in(read_inputs_of([str(path)]), [])
    assert times(workload) == {"a": (0.0, 150.0, None), "b": (10.0, None, None), "c": (20.0, 20.0, None)}
    a, b, c = (arrival.pod for arrival in workload.arrivals)
    assert a.spec is c.spec
    assert (a.metadata.labels, b.metadata.labels) == (FrozenMap({"app": "ls"}), FrozenMap({"app": "be"}))
    assert b.spec.containers[0].requests["nvidia.com/gpu"] == 2000
    affinity = b.spec.affinity
    assert affinity.node_affinity.required is not None
    assert affinity.node_affinity.required[0].match_expressions[0].values == ("V100", "P100")
    assert [obj.metadata.name for obj in workload.objects] == ["be", "ls"]
    assert notes == []


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("name,cpu_milli\na,1\n", ["no column memory_mib, num_gpu"]),
        (PODS.replace("1500", "many"), ['line 2: cpu_milli: "many" is no whole number', 'line 4: cpu_milli: "many"']),
        (PODS.replace("110,,", "soon,,"), ['line 3: creation_time: "soon" is no number']),
        (PODS.replace("100,250", "100,50"), ["line 2: deletion_time: 50 is before creation_time"]),
        (PODS.replace("100,250", "-1,inf"), ['creation_time: "-1" is not a number', 'deletion_time: "inf" is not']),
        (PODS.replace("1500", "9" * 19), ["line 2: cpu_milli: ", "is more than"]),
        (PODS.replace("100,250", "100,1e12"), ['line 2: deletion_time: "1e12" is more than']),
        (PODS.replace("c,1500", "a,1500"), ["Pod default/a: it is 2 times in the workload"]),
        (PODS.replace("\na,", "\nA_,"), ['line 2: name: "A_" is no name']),
        (PODS.replace("\na,", "\nA.b,").replace("A.", "a."), []),
    ],
)
def test_faults_of_traces(tmp_path: Path, text: str, problems: list[str]) -> None:
    """All of them at once, with their lines."""
    (tmp_path / "pods.csv").write_text(text)
    if not problems:
        workload_in(read_inputs_of([str(tmp_path / "pods.csv")]), [])
        return
    with pytest.raises(DecodeError) as caught:
        workload_in(read_inputs_of([str(tmp_path / "pods.csv")]), [])
    for problem in problems:
        assert any(problem in text for text in caught.value.problems), caught.value.problems


def test_faults_of_clusters(tmp_path: Path) -> None:
    """Traces and manifests together, and a file that is not there."""
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "n.yaml").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n-0"}}))
    paths = [str(tmp_path / name) for name in ("n.yaml", "nodes.csv", "none.csv", "none.yaml")]
    with pytest.raises(DecodeError) as caught:
        Cluster.read(*paths)
    text = "\n".join(caught.value.problems)
    for problem in ("none.csv: no such file", "none.yaml: no such file"):
        assert problem in text
    with pytest.raises(DecodeError, match=r"Node n-0: metadata\.name: already in"):
        Cluster.read(*paths[:2])


def test_renamed_pods_are_other_pods() -> None:
    """Name and uid, in the manifest too."""
    pod = make_pod("a")
    assert renamed(pod, "b").metadata.name == "b"
    assert renamed(pod, "b").metadata.uid != renamed(pod, "c").metadata.uid


@pytest.mark.parametrize("data", [b"not gzip", gzip.compress(b"name,cpu_milli\n" * 99)[:-9]], ids=["no CSV", "cut off"])
def test_damaged_traces(tmp_path: Path, data: bytes) -> None:
    """A compressed trace that cannot be unpacked, or holds something else, is refused with its name."""
    (tmp_path / "pods.csv.gz").write_bytes(data)
    with pytest.raises(DecodeError, match=r"pods\.csv\.gz: (no column|cannot be unpacked)"):
        workload_in(read_inputs_of([str(tmp_path / "pods.csv.gz")]), [])


@pytest.mark.parametrize(
    ("metadata", "spec", "problem"),
    [
        ("", "replicas: 1000000", "Deployment web: 1,000,000 pods, with those before more than 200,000 pods"),
        (", annotations: {kubescheduler/arrives-after: 9999999999999d}", "", "is more than 100 years"),
        (", creationTimestamp: '0001-01-01T00:00:00'", "", "metadata.creationTimestamp: "),
        (", creationTimestamp: '9999-12-31T23:59:59Z'", "", "is more than a thousand years away"),
    ],
    ids=["replicas", "arrives-after", "year 1", "year 9999"],
)
def test_numbers_past_all_bounds(tmp_path: Path, metadata: str, spec: str, problem: str) -> None:
    """A million replicas, and times past the clock, are refused with file, object and key."""
    template = "{spec: {containers: [{name: c}]}}"
    (tmp_path / "d.yaml").write_text(
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web{metadata}}}\n"
        f"spec:\n  template: {template}\n  {spec}\n"
    )
    with pytest.raises(DecodeError) as caught:
        workload_in(read_inputs_of([str(tmp_path / "d.yaml")]), [])
    assert problem in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'd.yaml'}: ")
