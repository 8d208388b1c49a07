"""DaemonSets: which nodes get a pod, what it is like, and who places it, in each release."""

from __future__ import annotations

import json
from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import DecodeError
from kubescheduler.releases.daemon_controllers import target_node, tolerant
from kubescheduler.releases.lookup import RELEASES
from tests.support.releases_tried import RELEASES_TRIED

NOT_IN_1_4 = [release for release in RELEASES_TRIED if release != "1.4"]
CORDON = "node.kubernetes.io/unschedulable"


def daemon_set(name: str = "agent", *, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A DaemonSet whose pods ask 1 cpu; spec: more of the pods' spec."""
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers, **spec}}
    metadata = {"name": name, "annotations": annotations or {}}
    version = "apps/v1"
    return {"apiVersion": version, "kind": "DaemonSet", "metadata": metadata, "spec": {"template": template}}


def required(*names: str) -> dict[str, Any]:
    """An affinity to nodes by their label ``name``."""
    expressions = [{"key": "name", "operator": "In", "values": list(names)}]
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def cluster(release: str) -> ks.Cluster:
    """Of nodes with and without room, taints and a cordon."""
    made = ks.Cluster(release=release).node("free", labels={"name": "free"})
    made = made.node("gpu", taints=["gpu=yes:NoSchedule"]).node("evicts", taints=["bad:NoExecute"])
    made = made.node("soft", taints=["rather:PreferNoSchedule"]).node("full", cpu="500m")
    return made.node("cordoned", unschedulable=True, taints=[f"{CORDON}:NoSchedule"])


NODES: dict[str, Any] = {
    "whatever-room-there-is": ({}, ["free", "soft", "full", "cordoned"]),
    "node-selector": ({"nodeSelector": {"name": "free"}}, ["free"]),
    "node-affinity": (required("free", "other"), ["free"]),
    "node-name": ({"nodeName": "full"}, ["full"]),
    "tolerates-everything": (
        {"tolerations": [{"operator": "Exists"}]},
        ["free", "gpu", "evicts", "soft", "full", "cordoned"],
    ),
    "no-node": ({"nodeSelector": {"name": "none"}}, []),
}


@pytest.mark.parametrize("release", NOT_IN_1_4)
@pytest.mark.parametrize(("spec", "nodes"), NODES.values(), ids=NODES)
def test_nodes(release: str, spec: dict[str, Any], nodes: list[str]) -> None:
    """The template's selector, affinity and tolerations count, with those for node problems; room does not."""
    assert [target_node(pod) for pod in cluster(release).pods_from(daemon_set(**spec))] == nodes


@pytest.mark.parametrize("release", NOT_IN_1_4)
def test_pods(release: str) -> None:
    """A pod requires its node in place of the template's terms, tolerates node problems, and is the DaemonSet's."""
    preferred = [{"weight": 1, "preference": {"matchExpressions": [{"key": "ssd", "operator": "Exists"}]}}]
    spec = required("free")
    spec["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    [pod] = cluster(release).pods_from(daemon_set(**spec))
    affinity = pod.spec.affinity
    assert affinity.node_affinity.required is not None
    [term] = affinity.node_affinity.required
    assert [(field.key, field.operator, field.values) for field in term.match_fields] == [
        ("metadata.name", "In", ("free",))
    ]
    assert term.match_expressions == ()
    assert len(affinity.node_affinity.preferred) == 1
    assert {
        (each.key.partition("/")[2], each.effect) for each in pod.spec.tolerations if each.operator == "Exists"
    } >= {
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    }
    [owner] = pod.metadata.owner_references
    assert (owner.kind, owner.name, owner.controller) == ("DaemonSet", "agent", True)
    assert (pod.metadata.name, pod.metadata.labels["app"]) == ("agent-free", "agent")


@pytest.mark.parametrize(("on_host", "more"), [(False, 0), (True, 1)], ids=["own-network", "host-network"])
def test_tolerations(on_host: bool, more: int) -> None:
    """On the node's network a pod also tolerates a missing one; a template's own toleration of the kind is replaced."""
    own = [
        {"key": CORDON, "operator": "Exists", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
        {"key": "gpu", "operator": "Exists"},
    ]
    made = tolerant({"hostNetwork": on_host, "tolerations": own})["tolerations"]
    assert len(made) == 1 + 6 + more
    assert [each["key"] for each in made].count(CORDON) == 1
    assert not any("tolerationSeconds" in each for each in made)
    assert any("network-unavailable" in each["key"] for each in made) == on_host


def test_1_4() -> None:
    """The controller places by GeneralPredicates: room counts, and taints and cordons do not; nobody decides."""
    there = cluster("1.4").add(
        {
            "kind": "Node",
            "metadata": {"name": "disk"},
            "status": {
                "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
                "conditions": [{"type": "OutOfDisk", "status": "True"}],
            },
        }
    )
    found = there.to_place(daemon_set())
    assert found.pods == []
    assert [(obj.metadata.name, getattr(obj, "node_name", "")) for obj in found.objects] == [
        (f"agent-{node}", node) for node in ("free", "gpu", "evicts", "soft", "cordoned")
    ]
    assert found.controllers == (
        "DaemonSet default/agent: a pod for 5 of 7 nodes, placed by its controller: "
        "up to release 1.11 no scheduler decides on them",
    )


def test_1_4_places_one_after_the_other() -> None:
    """The pods of one DaemonSet take the room of the next, and of the pods that the scheduler decides on."""
    there = ks.Cluster(release="1.4").node("a", cpu="2").node("b", cpu="1")
    found = there.to_place([daemon_set("one"), daemon_set("two")])
    assert [obj.metadata.name for obj in found.objects] == ["one-a", "one-b", "two-a"]
    runs = ks.Scheduler(there)
    decision = runs.run([daemon_set("one"), daemon_set("two"), ks.pod("web", cpu="1")])["default/web"]
    assert decision.host is None
    assert [pod.key for pod in runs.cluster.pods] == ["default/one-a", "default/one-b", "default/two-a"]


def test_nodes_that_have_one() -> None:
    """A node with a pod of the DaemonSet gets no second one, and a note says so."""
    there = ks.Cluster().node("a").node("b")
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "1", "controller": True}
    metadata = {"name": "agent-x7d2k", "ownerReferences": [owner]}
    there = there.add({"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "a", "containers": [{"name": "c"}]}})
    found = there.to_place(daemon_set())
    assert [pod.metadata.name for pod in found.pods] == ["agent-b"]
    assert found.controllers == ("DaemonSet default/agent: a pod for 1 of 2 nodes; 1 have one already",)


def test_a_comparison_with_1_4() -> None:
    """Where one of the schedulers is never asked about the pods, none is: they run, placed by the newest controller."""
    there = cluster("1.36")
    found = ks.compare(there, [daemon_set(), ks.pod("web", cpu="4")], old="release=1.4", new="release=1.36")
    assert [pod.pod for pod in found.pods] == ["default/web"]
    assert [outcome.host for outcome in found.pods[0].outcomes] == [None, None]
    assert len(ks.compare(there, daemon_set(), old="release=1.16", new="release=1.36").pods) == 4


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_nodes_that_join(release: str) -> None:
    """A node that joins gets its pod when it joins, by the scheduler or by 1.4's controller, without an attempt."""
    joins = {
        "kind": "Node",
        "metadata": {"name": "late", "annotations": {"kubescheduler/arrives-after": "60"}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }
    report = ks.simulate(ks.Cluster(release=release).node("early"), [daemon_set(), joins])
    assert [(pod.pod.key, pod.arrived, pod.placed, pod.node) for pod in report.pods] == [
        ("default/agent-early", 0.0, 0.0, "early"),
        ("default/agent-late", 60.0, 60.0, "late"),
    ]
    assert report.counts()["attempts"] == (0 if release == "1.4" else 2)


@pytest.mark.parametrize("release", NOT_IN_1_4)
def test_a_pending_pod_goes_with_its_node(release: str) -> None:
    """The controller deletes a pod that waits for a node that is gone; pods for other nodes wait on."""
    late = {
        "kind": "Node",
        "metadata": {
            "name": "late",
            "annotations": {"kubescheduler/arrives-after": "60", "kubescheduler/duration": "600"},
        },
        "status": {"allocatable": {"cpu": "500m", "memory": "8Gi", "pods": "10"}},
    }
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeSelector": {"no": "where"}}
    keeps = {"kind": "Pod", "metadata": {"name": "keeps"}, "spec": spec}
    report = ks.simulate(ks.Cluster(release=release).node("small", cpu="500m"), [daemon_set(), late, keeps])
    assert {pod.pod.key: (pod.outcome, pod.left) for pod in report.pods} == {
        "default/agent-small": ("pending", None),
        "default/agent-late": ("withdrawn", 660.0),
        "default/keeps": ("pending", None),
    }


def test_a_name_that_is_too_long() -> None:
    """A pod is then named by number, as an API server takes it."""
    node, name = "n" * 200, "a" * 60
    [pod] = ks.Cluster().node(node).pods_from(daemon_set(name))
    assert pod.metadata.name == f"{name}-0"


def test_faulty_templates() -> None:
    """The template's faults are told once, with the DaemonSet's file and the path, not for every node."""
    broken = daemon_set()
    broken["spec"]["template"]["spec"]["containers"] = [{"name": "c", "resources": {"requests": {"cpu": "much"}}}]
    with pytest.raises(DecodeError) as raised:
        cluster("1.16").pods_from(json.loads(json.dumps(broken)))
    assert len(raised.value.problems) == 1
    assert "requests" in raised.value.problems[0]


def test_controllers_do_not_change_what_they_are_given() -> None:
    """The template's spec stays as it was."""
    spec: dict[str, Any] = {"tolerations": [{"key": "a"}], **required("free")}
    before = json.dumps(spec)
    daemons = RELEASES["1.16"].daemons
    daemons.spec_for(daemons.template(spec), "n")
    assert json.dumps(spec) == before
