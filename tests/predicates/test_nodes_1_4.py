"""The predicates of release 1.4 that look at a node itself: identity, taints, conditions, labels, services."""

from __future__ import annotations

from typing import Any

import pytest

from algorithmprovider.algorithms_1_4 import FIT_PREDICATES as FIT_PREDICATES_1_4
from clusterstate.manifests.annotations_1_4 import AFFINITY_ANNOTATION, TAINTS_ANNOTATION, TOLERATIONS_ANNOTATION
from clusterstate.objects import (
    Affinity,
    Node,
    NodeAffinity,
    NodeCondition,
    NodeSelectorTerm,
    ObjectMeta,
    Pod,
    Requirement,
    Service,
    Taint,
    Toleration,
)
from predicates.node_identity import label_presence_factory_1_4
from predicates.service_affinity import service_affinity_factory_1_4
from predicates.types import FitPredicate, PredicateArgs
from tests.support.build import Cluster, cluster_1_4, labels, make_node, make_pod, resources
from tests.support.storage import by_text


def rule(name: str) -> FitPredicate:
    return FIT_PREDICATES_1_4[name](PredicateArgs())


def said(predicate: FitPredicate, pod: Pod, cluster: Cluster) -> dict[str, list[str]]:
    info = cluster.info(pod)
    info.node_name = pod.node_name
    return by_text(cluster.snapshot, predicate.check(info, cluster.snapshot))


# --- HostName, MatchNodeSelector -----------------------------------------------------------


def test_a_pod_that_names_a_node() -> None:
    """It fits there alone."""
    cluster = cluster_1_4([make_node("a"), make_node("b")])
    assert said(rule("HostName"), make_pod(node="a"), cluster) == {"HostName": ["b"]}
    assert said(rule("HostName"), make_pod(), cluster) == {}


def requires(*terms: tuple[Requirement, ...]) -> Affinity:
    return Affinity(NodeAffinity(tuple(NodeSelectorTerm(term) for term in terms)))


SSD, BAD = Requirement("disk", "In", ("ssd",)), Requirement("disk", "Bad")
NAMED = Requirement("metadata.name", "In", ("ssd",))


NODE_SELECTORS: dict[str, Any] = {
    "selector": ({"node_selector": labels({"disk": "ssd"})}, ["hdd", "none"]),
    "an-invalid-pair-matches-everything": ({"node_selector": labels({"disk": "-bad-"})}, []),
    "affinity": ({"affinity": requires((SSD,))}, ["hdd", "none"]),
    "no-term-no-node": ({"affinity": requires()}, ["ssd", "hdd", "none"]),
    "empty-term-no-node": ({"affinity": requires(())}, ["ssd", "hdd", "none"]),
    "an-earlier-match-has-won": ({"affinity": requires((SSD,), (BAD,))}, ["hdd", "none"]),
    "later-terms-are-not-tried": ({"affinity": requires((BAD,), (SSD,))}, ["ssd", "hdd", "none"]),
    "a-set-of-one": ({"affinity": requires((Requirement("n", "Gt", ("5", "5")),))}, ["hdd", "none"]),
    "fields-are-unknown": (
        {"affinity": Affinity(NodeAffinity((NodeSelectorTerm((), (Requirement("metadata.name", "In", ("ssd",)),)),)))},
        ["ssd", "hdd", "none"],
    ),
    "malformed-fails": ({"annotations": {AFFINITY_ANNOTATION: "{"}}, ["ssd", "hdd", "none"]),
    "nothing-asked": ({}, []),
}


@pytest.mark.parametrize(("fields", "refused"), NODE_SELECTORS.values(), ids=NODE_SELECTORS)
def test_node_selectors(fields: dict[str, Any], refused: list[str]) -> None:
    """nodeSelector and required node affinity; the part GeneralPredicates has of it says the same."""
    nodes = [make_node("ssd", {"disk": "ssd", "n": "7"}), make_node("hdd", {"disk": "hdd"}), make_node("none")]
    cluster, pod = cluster_1_4(nodes), make_pod(**fields)
    wanted = {"MatchNodeSelector": refused} if refused else {}
    assert said(rule("MatchNodeSelector"), pod, cluster) == wanted
    assert said(rule("GeneralPredicates"), pod, cluster) == wanted
    assert rule("MatchNodeSelector").applies(cluster.info(pod)) == bool(fields)


# --- taints --------------------------------------------------------------------------------


def tainted(*taints: Taint) -> Node:
    return make_node("n", taints=taints)


HARD, SOFT = Taint("k", "v", "NoSchedule"), Taint("k", "v", "PreferNoSchedule")


@pytest.mark.parametrize(
    ("taints", "tolerations", "fits"),
    [
        pytest.param((), (), True, id="no-taints"),
        pytest.param((SOFT,), (), False, id="without-tolerations-any-taint-keeps-out"),
        pytest.param((SOFT,), (Toleration("other"),), True, id="soft-taints-do-not-matter-to-others"),
        pytest.param((HARD,), (Toleration("k", "Equal", "v"),), True, id="equal"),
        pytest.param((HARD,), (Toleration("k", "", "v"),), True, id="no-operator-is-equal"),
        pytest.param((HARD,), (Toleration("k", "Exists"),), True, id="exists"),
        pytest.param((HARD,), (Toleration("k", "Exists", "w"),), True, id="exists-whatever-the-value"),
        pytest.param((HARD,), (Toleration("k", "Equal", "w"),), False, id="another-value"),
        pytest.param((HARD,), (Toleration("k", "Other", "v"),), False, id="an-unknown-operator"),
        pytest.param((HARD,), (Toleration("", "Exists"),), False, id="an-empty-key-is-no-wildcard"),
        pytest.param((Taint("", "v", "NoSchedule"),), (Toleration("", "Exists"),), True, id="but-equals-an-empty-key"),
        pytest.param((HARD,), (Toleration("k", "Exists", effect="NoExecute"),), False, id="another-effect"),
        pytest.param((Taint("k", "v", "NoExecute"),), (Toleration("x"),), False, id="no-execute-counts"),
        pytest.param((Taint("k", "v", "Odd"),), (Toleration("x"),), False, id="unknown-effects-count"),
    ],
)
def test_taints(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], fits: bool) -> None:
    """Keys have to be equal, and a pod without tolerations stays off every taint."""
    found = said(rule("PodToleratesNodeTaints"), make_pod(tolerations=tolerations), cluster_1_4([tainted(*taints)]))
    assert found == ({} if fits else {"PodToleratesNodeTaints": ["n"]})


def test_malformed_taints_are_an_error_of_their_node() -> None:
    """And tolerations of all the others."""
    nodes = [make_node("bad", annotations={TAINTS_ANNOTATION: "{}"}), make_node("tainted", taints=(HARD,))]
    cluster = cluster_1_4(nodes)
    plain = said(rule("PodToleratesNodeTaints"), make_pod(), cluster)
    assert plain.pop("PodToleratesNodeTaints") == ["tainted"]
    assert list(plain.values()) == [["bad"]]
    broken = make_pod(annotations={TOLERATIONS_ANNOTATION: "{"})
    both = said(rule("PodToleratesNodeTaints"), broken, cluster)
    assert sorted(both.values()) == [["bad"], ["tainted"]]
    assert all(text.startswith("error: ") for text in both)


# --- conditions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("CheckNodeMemoryPressure", "MemoryPressure", "NodeUnderMemoryPressure"),
        ("CheckNodeDiskPressure", "DiskPressure", "NodeUnderDiskPressure"),
        ("CheckNodeInodePressure", "InodePressure", "NodeUnderInodePressure"),
    ],
)
def test_pressure(name: str, kind: str, reason: str) -> None:
    """True anywhere in the list counts, Unknown does not."""
    statuses = {"true": ("True",), "false": ("False",), "unknown": ("Unknown",), "first": ("True", "False")}
    nodes = [make_node(n, conditions=tuple(NodeCondition(kind, s) for s in all_of)) for n, all_of in statuses.items()]
    cluster = cluster_1_4(nodes)
    assert said(rule(name), make_pod(), cluster) == {reason: ["true", "first"]}
    asking = said(rule(name), make_pod(requests=resources(cpu=1)), cluster)
    assert asking == ({} if kind == "MemoryPressure" else {reason: ["true", "first"]})


# --- policy arguments ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "presence", "refused"),
    [
        (("a",), True, ["none"]),
        (("a",), False, ["empty", "full"]),
        (("a", "b"), True, ["none", "empty"]),
        ((), True, []),
    ],
    ids=["have", "lack", "all-of-them", "no-label"],
)
def test_label_presence(wanted: tuple[str, ...], presence: bool, refused: list[str]) -> None:
    """The reason is the built-in name, whatever the policy calls the predicate."""
    cluster = cluster_1_4([make_node("none"), make_node("empty", {"a": ""}), make_node("full", {"a": "1", "b": "2"})])
    predicate = label_presence_factory_1_4("Mine", wanted, presence)(PredicateArgs())
    assert said(predicate, make_pod(), cluster) == ({"CheckNodeLabelPresence": refused} if refused else {})


WEB = Service(ObjectMeta("web", "default"), labels({"app": "web"}))
ZONES = [make_node("a", {"zone": "z1", "rack": "r1"}), make_node("b", {"zone": "z1", "rack": "r2"}), make_node("c")]


SERVICE_AFFINITY: dict[str, Any] = {
    "as-its-peer": ({}, ["a"], [WEB], ["c"]),
    "no-service": ({}, ["a"], [], []),
    "no-peer": ({}, [], [WEB], []),
    "a-peer-without-the-label": ({}, ["c"], [WEB], []),
    "the-selector-counts": ({"node_selector": labels({"zone": "z9"})}, ["a"], [WEB], ["a", "b", "c"]),
    "peers-by-service-not-by-labels": ({"label": {"app": "web", "v": "2"}}, ["a"], [WEB], ["c"]),
}


@pytest.mark.parametrize(("fields", "peers", "services", "refused"), SERVICE_AFFINITY.values(), ids=SERVICE_AFFINITY)
def test_service_affinity(fields: Any, peers: list[str], services: list[Service], refused: list[str]) -> None:
    """Peers are the pods of the first service."""
    running = [make_pod(f"peer-{node}", {"app": "web"}, node=node) for node in peers]
    other = make_pod("elsewhere", {"app": "web"}, namespace="other", node="b")
    cluster = cluster_1_4(ZONES, [other, *running], services)
    predicate = service_affinity_factory_1_4("Mine", ("zone",))(PredicateArgs())
    pod = make_pod(**{"label": {"app": "web"}, **fields})
    assert said(predicate, pod, cluster) == ({"CheckServiceAffinity": refused} if refused else {})


def test_a_peer_on_a_node_that_is_not_there_is_an_error() -> None:
    """In the words of the release."""
    cluster = cluster_1_4(ZONES, [make_pod("peer", {"app": "web"}, node="gone")], [WEB])
    predicate = service_affinity_factory_1_4("Mine", ("zone",))(PredicateArgs())
    found = said(predicate, make_pod(label={"app": "web"}), cluster)
    assert list(found) == ["error: node 'gone' not found"]
