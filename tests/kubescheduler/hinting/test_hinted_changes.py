"""Hints that change what decides, and nodes: against every such change made by hand and decided by fresh engines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kubescheduler as ks
from clusterstate.errors import InputError
from clusterstate.manifests.annotations_1_4 import AFFINITY_ANNOTATION
from clusterstate.objects import Node
from kubescheduler.hinting.hint_search import winning_weight
from kubescheduler.hinting.proposals import Hint, PodHints, manifests_of
from tests.support.hint_worlds import HARD, HintWorld, hint_worlds
from tests.support.laws import costly
from tests.support.releases_tried import RELEASES_TRIED

SMALL = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 50), st.booleans()), min_size=1, max_size=5)


@given(nodes=SMALL, weight=st.integers(1, 30))
def test_the_nearest_weight_that_wins(nodes: list[tuple[int, int, bool]], weight: int) -> None:
    """Against trying every weight to 300, beyond which nothing changes with such scores."""
    scores, rest = np.array([n[0] for n in nodes]), np.array([n[1] for n in nodes])
    ahead = np.array([int(n[2]) for n in nodes])

    def wins(candidate: int) -> bool:
        totals = candidate * scores + rest
        return all(totals[0] - totals[at] >= ahead[at] for at in range(1, len(nodes)))

    found = winning_weight(scores, rest, ahead, 0, weight)
    winning = [candidate for candidate in range(1, 301) if wins(candidate)]
    assert (found is None) == (not winning)
    if found is not None:
        assert wins(found)
        assert abs(found - weight) == min(abs(candidate - weight) for candidate in winning)


POLICY: dict[str, Any] = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [{"name": "PodFitsResources"}],
    "priorities": [{"name": "LeastRequestedPriority", "weight": 1}, {"name": "MostRequestedPriority", "weight": 1}],
}


def test_a_weight_is_exact() -> None:
    """By a Policy with the weight of the hint the pod goes to the node, with one less it does not."""
    cluster = ks.Cluster().node("a", cpu=10, memory="10Gi").node("b", cpu=10, memory="10Gi")
    cluster = cluster.pod("on-b", node="b", cpu=6, memory="6Gi")
    policy = {**POLICY, "priorities": [{**POLICY["priorities"][0], "weight": 3}, POLICY["priorities"][1]]}
    pod = ks.pod("web", cpu=1, memory="1Gi")
    hint = next(h for h in ks.hints(cluster, pod, "b", policy=policy) if h.changes[0].name == "MostRequestedPriority")
    weight = int(hint.text.split()[2])

    def host(weight: int) -> str | None:
        weighed = [policy["priorities"][0], {"name": "MostRequestedPriority", "weight": weight}]
        return ks.Scheduler(cluster, policy={**policy, "priorities": weighed}).decide(pod).host

    assert (host(weight), host(weight - 1)) == ("b", "a")


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_a_plugin_is_weighed_otherwise(release: str) -> None:
    """By a configuration with the weight of the hint the pod goes to the node."""
    preferred = [{"weight": 1, "preference": {"matchExpressions": [{"key": "d", "operator": "Exists"}]}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    cluster = ks.Cluster(release=release).node("a", cpu=8).node("b", cpu=4, labels={"d": "x"})
    for at in range(3):
        cluster = cluster.pod(f"p{at}", node="b", cpu=1, memory="2Gi")
    pod = ks.pod("web", cpu="500m", memory="100Mi", spec={"affinity": affinity})
    found = ks.hints(cluster, pod, "a" if ks.Scheduler(cluster).decide(pod).host == "b" else "b", top=None)
    assert "weight" in {change.kind for hint in found for change in hint.changes}


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_check_that_is_switched_off(release: str) -> None:
    """The text names it; mandatory predicates are not among them."""
    cluster = ks.Cluster(release=release).node("a", cpu=1)
    texts = [hint.text for hint in ks.hints(cluster, ks.pod("web", cpu=2))]
    name = {"1.4": "predicate GeneralPredicates", "1.16": "predicate GeneralPredicates"}
    assert any(name.get(release, "Filter plugin NodeResourcesFit") in text for text in texts)


def test_mandatory_predicates_stay() -> None:
    """A Policy cannot leave them out."""
    cluster = ks.Cluster().node("a", taints=["x:NoSchedule"])
    with_taints = {**POLICY, "predicates": [{"name": "PodFitsResources"}, {"name": "PodToleratesNodeTaints"}]}
    gates = {"TaintNodesByCondition": True}
    found = ks.hints(cluster, ks.pod("web"), policy=with_taints, gates=gates, top=None)
    assert "leave out the predicate PodToleratesNodeTaints" not in [hint.text for hint in found]


def written(cluster: ks.Cluster, found: PodHints, text: str) -> list[dict[str, Any]]:
    """What the hint with these words writes."""
    hint = next(hint for hint in found if hint.text == text)
    return manifests_of(hint, found.pod, {node.name: node for node in cluster.nodes})


def test_what_scheduling_does_not_read_stays() -> None:
    """Only the request differs from the manifest that was given."""
    container: dict[str, Any] = {"name": "c", "image": "i", "env": [{"name": "A", "value": "b"}], "command": ["x"]}
    container |= {"resources": {"requests": {"cpu": "3", "memory": "1Gi"}, "limits": {"cpu": "4"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [container]}}
    cluster = ks.Cluster().node("a", cpu=2)
    (out,) = written(cluster, ks.hints(cluster, pod), "ask for 2 cpu instead of 3")
    (after,) = out["spec"]["containers"]
    assert after == {**container, "resources": {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "4"}}}
    assert "uid" not in out["metadata"]


def test_a_request_that_must_be_the_limit_takes_the_limit_along() -> None:
    """An API server takes no extended resource whose request is below its limit."""
    gpus = {"requests": {"cpu": "1", "example.com/gpu": "2"}, "limits": {"cpu": "2", "example.com/gpu": "2"}}
    cluster = ks.Cluster().node("a", resources={"example.com/gpu": 1})
    found = ks.hints(cluster, ks.pod("web", spec={"containers": [{"name": "c", "resources": gpus}]}))
    (out,) = written(cluster, found, "ask for 1 example.com/gpu instead of 2")
    both = {"requests": {"cpu": "1", "example.com/gpu": "1"}, "limits": {"cpu": "2", "example.com/gpu": "1"}}
    assert out["spec"]["containers"][0]["resources"] == both
    assert ks.Scheduler(cluster).decide(out).host == "a"


def test_a_host_port_goes_and_its_container_port_stays() -> None:
    """The other port is as it was."""
    ports = [{"containerPort": 80, "hostPort": 80, "name": "web"}, {"containerPort": 81}]
    spec = {"containers": [{"name": "c", "ports": ports}]}
    cluster = ks.Cluster().node("a").pod("there", node="a", spec=spec)
    found = ks.hints(cluster, ks.pod("web", spec=spec))
    (out,) = written(cluster, found, "drop the host port 80/TCP of container c")
    assert [port.get("hostPort") for port in out["spec"]["containers"][0]["ports"]] == [None, None]
    assert out["spec"]["containers"][0]["ports"][0]["name"] == "web"


def test_a_priority_takes_the_place_of_the_class() -> None:
    """A class of another value beside it would be refused."""
    low = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "low"}, "value": 1}
    cluster = ks.Cluster(low).node("a", cpu=1).pod("there", node="a", cpu=1, priority=5)
    found = ks.hints(cluster, ks.pod("web", cpu=1, priority_class="low"))
    (out,) = written(cluster, found, "give it priority 6 instead of 1")
    assert (out["spec"]["priority"], "priorityClassName" in out["spec"]) == (6, False)


def test_the_annotations_of_1_4_go_with_what_they_say() -> None:
    """The affinity of the annotation is dropped, and the pod then fits."""
    terms = [{"matchExpressions": [{"key": "d", "operator": "Exists"}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    cluster = ks.Cluster(release="1.4").node("a")
    found = ks.hints(cluster, ks.pod("web", annotations={AFFINITY_ANNOTATION: json.dumps(affinity)}))
    (out,) = written(cluster, found, "drop the required node affinity")
    assert AFFINITY_ANNOTATION not in out["metadata"].get("annotations", {})
    assert ks.Scheduler(cluster).decide(out).host == "a"


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_node_without_its_taint(release: str) -> None:
    """Its other fields are as they were, in 1.4 the annotation goes."""
    cluster = ks.Cluster(release=release).node("a", taints=["x:NoSchedule"], labels={"l": "m"})
    (out,) = written(cluster, ks.hints(cluster, ks.pod("web")), "remove the taint x:NoSchedule from a")
    assert out["metadata"]["labels"]["l"] == "m"
    assert ks.Scheduler(ks.Cluster(out, release=release)).decide(ks.pod("web")).host == "a"


def test_an_eviction_has_no_manifest() -> None:
    """That is said."""
    cluster = ks.Cluster().node("a", cpu=1).pod("there", node="a", cpu=1)
    with pytest.raises(ks.errors.InputError, match="evict default/there from a: this changes no manifest"):
        written(cluster, ks.hints(cluster, ks.pod("web", cpu=1)), "evict default/there from a")


UNITS = {"cpu": 1, "memory": 1000}
"""Resource → thousandths in the unit it is counted in."""


def fits(cluster: ks.Cluster, world: HintWorld, node: str) -> bool:
    """Whether the pod fits a node by a fresh engine."""
    return node in ks.Scheduler(cluster).decide(dict(world.pod)).fits()


def changes_that_work(world: HintWorld, release: str) -> Iterator[str]:
    """The words of every change of a node, other than of its size, by which the pod fits there."""
    cluster = world.cluster(release)
    for node in cluster.nodes:
        for taint in node.taints:
            text = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
            without = cluster.without_taint(node.name, f"{taint.key}:{taint.effect}")
            if taint.effect in HARD and fits(without, world, node.name):
                yield f"remove the taint {text} from {node.name}"
        if node.unschedulable and fits(cluster.uncordoned(node.name), world, node.name):
            yield f"uncordon {node.name}"
        for key, value in wanted(world).items():
            there = node.metadata.labels.get(key)
            if there != value and fits(cluster.with_label(node.name, key, value), world, node.name):
                was = "" if there is None else f" instead of {there!r}"
                yield f"label {node.name} {key}={value}{was}"


def wanted(world: HintWorld) -> dict[str, str]:
    """The labels with which the pod's selector, and its affinity if it has one, are met."""
    out = dict(world.pod["spec"].get("nodeSelector", {}))
    affinity = world.pod["spec"].get("affinity", {}).get("nodeAffinity")
    if affinity:
        (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        out = {"disk": term["matchExpressions"][0]["values"][0], "rack": "", **out}
    return out


def of_kinds(found: PodHints, *kinds: str) -> list[Hint]:
    """The hints of one change of some kinds."""
    return [hint for hint in found if len(hint.changes) == 1 and hint.changes[0].kind in kinds]


def spread(hint: Hint) -> Iterator[str]:
    """Its words, for every node on which it does the same."""
    (change,) = hint.changes
    yield from (change.text.replace(change.name, node) for node in (change.name, *change.alike))


@pytest.mark.parametrize("release", RELEASES_TRIED)
@costly
@given(world=hint_worlds(alternatives=False))
def test_brute_force_finds_the_same_changes_of_nodes(release: str, world: HintWorld) -> None:
    """Taints, cordons and labels, on each of the nodes that are said to be alike."""
    found = ks.hints(world.cluster(release), world.pod, top=None)
    listed = {text for hint in of_kinds(found, "taint", "cordon", "label") for text in spread(hint)}
    assert found.reached or listed == set(changes_that_work(world, release))


def resized(cluster: ks.Cluster, node: Node, resource: str, more: int) -> ks.Cluster:
    """With more of a resource on a node, counted in its unit."""
    amount = node.allocatable[resource] // UNITS[resource] + more
    text = f"{amount}m" if resource == "cpu" else str(amount)
    return cluster.resized(node.name, **{resource: text})


def increase(hint: Hint, cluster: ks.Cluster, resource: str) -> int:
    """By how much a hint of the kind size makes its node larger."""
    (change,) = hint.changes
    node = next(node for node in cluster.nodes if node.name == change.name)
    assert change.node is not None
    return (change.node(node).allocatable[resource] - node.allocatable[resource]) // UNITS[resource]


@pytest.mark.parametrize("release", RELEASES_TRIED)
@costly
@given(world=hint_worlds())
def test_no_smaller_node_size_works(release: str, world: HintWorld) -> None:
    """One unit less fits no node; where no size is listed, a very large one does not fit either."""
    cluster = world.cluster(release)
    found = ks.hints(cluster, world.pod, top=None, pairs=False)
    for resource in UNITS:
        sizes = [hint for hint in of_kinds(found, "size") if resource in hint.text]
        least = min((increase(hint, cluster, resource) for hint in sizes), default=1 << 40)
        for hint in sizes:
            more = increase(hint, cluster, resource)
            names = (hint.changes[0].name, *hint.alike)
            nodes = [node for node in cluster.nodes if node.name in names]
            assert all(fits(resized(cluster, node, resource, more), world, node.name) for node in nodes)
        for node in cluster.nodes if not found.reached else ():
            assert not fits(resized(cluster, node, resource, least - 1), world, node.name)


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_one_more_node_like_the_smallest_that_does(release: str) -> None:
    """It is empty, and the pod goes there."""
    cluster = ks.Cluster(release=release).node("big", cpu=8).node("small", cpu=2).node("tiny", cpu=1)
    for node in ("big", "small", "tiny"):
        cluster = cluster.pod(f"on-{node}", node=node, cpu={"big": 8, "small": 2, "tiny": 1}[node])
    (hint,) = of_kinds(ks.hints(cluster, ks.pod("web", cpu=2)), "node")
    assert (hint.text, hint.host) == ("add one more node like small", "small-1")


def test_a_cordon_and_its_taint_are_one_change() -> None:
    """The taint goes with the cordon, as its controller takes it away."""
    cluster = ks.Cluster(release="1.36").node(
        "a", unschedulable=True, taints=["node.kubernetes.io/unschedulable:NoSchedule"]
    )
    assert "uncordon a" in [hint.text for hint in ks.hints(cluster, ks.pod("web"))]


CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast"},
    "provisioner": "ebs.csi.aws.com",
    "volumeBindingMode": "WaitForFirstConsumer",
}
CLAIMING = ks.pod("db", spec={"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]})


def near(**selector: Any) -> dict[str, Any]:
    """A pod that has to be near others."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    return ks.pod("web", spec={"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_claim_that_is_missing(release: str) -> None:
    """To create it is the first hint, also where a release gives the attempt up without it."""
    cluster = ks.Cluster(release=release).node("a", zone="eu-1")
    found = ks.hints(cluster, CLAIMING)
    assert found.errors == ()
    assert (found[0].text, found[0].host) == ("create the PersistentVolumeClaim default/data, bound to a volume", "a")


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_claim_whose_binding_is_not_complete(release: str) -> None:
    """One that is written by hand lacks the annotation; the cluster is as it was afterwards."""
    core = {"apiVersion": "v1"}
    claim = {"metadata": {"name": "data"}, "spec": {"volumeName": "pv", "accessModes": ["ReadWriteOnce"]}}
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}
    volume = {**core, "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": spec}
    cluster = ks.Cluster(release=release).node("a").add([{**core, "kind": "PersistentVolumeClaim", **claim}, volume])
    scheduler = ks.Scheduler(cluster)
    if scheduler.decide(CLAIMING).host is None:  # 1.4 does not look at the annotation
        [hint, *_] = scheduler.hints(CLAIMING)
        assert hint.text == (
            "complete the binding of the PersistentVolumeClaim default/data: the annotation "
            "pv.kubernetes.io/bind-completed is missing"
        )
        assert hint.host == "a"
        assert scheduler.decide(CLAIMING).host is None
        [changed] = manifests_of(hint, cluster.pods_from(CLAIMING)[0], {})
        assert changed["metadata"]["annotations"] == {"pv.kubernetes.io/bind-completed": "yes"}


@pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])
def test_a_claim_of_a_class(release: str) -> None:
    """Where a class makes volumes for the pod's node, the claim is one of it, which can be written."""
    cluster = ks.Cluster(release=release).node("a").add(CLASS)
    hint = ks.hints(cluster, CLAIMING)[0]
    assert hint.text == "create the PersistentVolumeClaim default/data of the StorageClass fast"
    [claim] = manifests_of(hint, cluster.pods_from(CLAIMING)[0], {})
    assert ks.Scheduler(cluster.add(claim)).decide(CLAIMING).host == "a"


@pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])
def test_a_storage_class_that_is_missing(release: str) -> None:
    """The claim is there, and nothing else is missing; what makes the volumes is for others to know."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "fast"}
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": spec}
    cluster = ks.Cluster(release=release).node("a").add(claim)
    hint = ks.hints(cluster, CLAIMING)[0]
    assert (hint.text, hint.host) == ("create the StorageClass fast, with WaitForFirstConsumer", "a")
    assert ks.Scheduler(cluster.add(CLASS)).decide(CLAIMING).host == "a"
    with pytest.raises(InputError, match="changes no manifest"):
        manifests_of(hint, cluster.pods_from(CLAIMING)[0], {})


DEVICES = [
    {
        "kind": "ResourceSlice",
        "apiVersion": "resource.k8s.io/v1",
        "metadata": {"name": "slice"},
        "spec": {
            "driver": "gpus",
            "nodeName": "a",
            "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "first"}],
        },
    },
    {"kind": "DeviceClass", "apiVersion": "resource.k8s.io/v1", "metadata": {"name": "gpu"}, "spec": {}},
]


ASKED = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}


def asking(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": "resource.k8s.io/v1", "metadata": {"name": "one"}, "spec": spec}


@pytest.mark.parametrize(
    ("there", "entry", "text"),
    [
        pytest.param(
            DEVICES,
            {"resourceClaimTemplateName": "one"},
            "create the ResourceClaimTemplate default/one for a device of the DeviceClass gpu",
            id="template",
        ),
        pytest.param(
            DEVICES,
            {"resourceClaimName": "mine"},
            "create the ResourceClaim default/mine for a device of the DeviceClass gpu",
            id="claim",
        ),
        pytest.param(
            [DEVICES[0], asking("ResourceClaim", ASKED)],
            {"resourceClaimName": "one"},
            "create the DeviceClass gpu, for any device",
            id="class",
        ),
        pytest.param(
            [DEVICES[0], asking("ResourceClaimTemplate", {"spec": ASKED})],
            {"resourceClaimTemplateName": "one"},
            "create the DeviceClass gpu, for any device",
            id="class of a template",
        ),
    ],
)
def test_what_is_missing_for_devices(there: list[Any], entry: dict[str, str], text: str) -> None:
    """Where the pod waits for nothing else."""
    cluster = ks.Cluster(release="1.36").node("a").node("b")
    cluster = cluster.add(there)
    pod = ks.pod("train", spec={"resourceClaims": [{"name": "gpu", **entry}]})
    found = ks.hints(cluster, pod)
    assert (found[0].text, found[0].host) == (text, "a")
    assert ks.Scheduler(cluster).decide(pod).host is None


@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.parametrize(
    ("selector", "shown"),
    [
        pytest.param({"matchLabels": {"app": "cache"}}, "app=cache", id="labels"),
        pytest.param({"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}]}, "app=x", id="in"),
    ],
)
def test_a_pod_that_is_missing(release: str, selector: dict[str, Any], shown: str) -> None:
    """The hint names labels that the term picks, and a node on which the pod then fits."""
    cluster = ks.Cluster(release=release).node("a", unschedulable=True).node("b")
    hint = next(each for each in ks.hints(cluster, near(**selector)) if each.changes[0].kind == "pod")
    assert (hint.text, hint.host) == (f"run a pod with {shown} on b", "b")
    [pod] = manifests_of(hint, cluster.pods_from(near(**selector))[0], {})
    assert ks.Scheduler(cluster.add(pod)).decide(near(**selector)).host == "b"


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_node_that_is_large_enough(release: str) -> None:
    """It is like the node that has to grow least, and as large as the pod; a node as there is comes before it."""
    cluster = ks.Cluster(release=release).node("a", cpu=2, memory="4Gi")
    found = ks.hints(cluster, ks.pod("big", cpu=16, memory="64Gi"), top=None)
    texts = [hint.text for hint in found]
    assert "add one more node like a, but with 16 cpu and 64Gi memory" in texts
    assert texts[0].startswith("add one more node like a")
    full = cluster.pod("x", node="a", cpu=2)
    assert "add one more node like a" in [hint.text for hint in ks.hints(full, ks.pod("y", cpu=1))]


@pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])
def test_uncordoning_comes_before_tolerating_a_cordon(release: str) -> None:
    """Somebody wants no pods on a cordoned node, so it is smaller to ask than to pass over it."""
    taints = ["node.kubernetes.io/unschedulable:NoSchedule"]
    cluster = ks.Cluster(release=release).node("a", unschedulable=True, taints=taints)
    texts = [hint.text for hint in ks.hints(cluster, ks.pod("p"))]
    asked = [text for text in texts if not text.startswith("add one more node")]
    assert asked[:2] == ["uncordon a", "tolerate node.kubernetes.io/unschedulable:NoSchedule"]


@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_one_more_node_like_a_cordoned_one(release: str) -> None:
    """It is not cordoned itself; a node that is open is the model before one that is not, also if it is larger."""
    taints = ["node.kubernetes.io/unschedulable:NoSchedule"]
    cluster = ks.Cluster(release=release).node("a", cpu=2, unschedulable=True, taints=taints)
    full = cluster.pod("x", node="a", cpu=2)
    texts = [hint.text for hint in ks.hints(full, ks.pod("y", cpu=1), top=None)]
    assert "add one more node like a" in texts
    both = full.node("b", cpu=4).pod("z", node="b", cpu=4)
    texts = [hint.text for hint in ks.hints(both, ks.pod("y", cpu=1), top=None)]
    assert "add one more node like b" in texts
