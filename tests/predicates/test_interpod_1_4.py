"""MatchInterPodAffinity of release 1.4: its examples, its flaws and its errors."""

from __future__ import annotations

import pytest

from algorithmprovider.algorithms_1_4 import FIT_PREDICATES as FIT_PREDICATES_1_4
from clusterstate.manifests.annotations_1_4 import AFFINITY_ANNOTATION
from clusterstate.objects import Affinity, LabelSelector, Pod, PodAffinity, PodAffinityTerm, Requirement
from predicates.interpod import match_inter_pod_affinity_1_4
from predicates.types import PredicateArgs
from tests.support.build import Cluster, cluster_1_4, labels, make_node, make_pod
from tests.support.storage import by_text

WEB, OTHER = LabelSelector(labels({"app": "web"})), LabelSelector(labels({"app": "other"}))
INVALID = LabelSelector(match_expressions=(Requirement("app", "Bad"),))
ZONE, HOST = "failure-domain.beta.kubernetes.io/zone", "kubernetes.io/hostname"
NODES = [
    make_node("na", {ZONE: "z1", HOST: "na"}),
    make_node("nb", {ZONE: "z1", HOST: "nb"}),
    make_node("nc", {ZONE: "z2", HOST: "nc"}),
    make_node("nd", {ZONE: ""}),
]
EVERYWHERE = ["na", "nb", "nc", "nd"]


def term(key: str, selector: LabelSelector = WEB, *namespaces: str) -> PodAffinityTerm:
    return PodAffinityTerm(key, selector, namespaces or None)


def near(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(pod_affinity=PodAffinity(terms))


def far(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(pod_anti_affinity=PodAffinity(terms))


def refused(pod: Pod, *running: Pod) -> list[str]:
    found = said(pod, cluster_1_4(NODES, running))
    assert set(found) <= {"MatchInterPodAffinity"}
    return found.get("MatchInterPodAffinity", [])


def said(pod: Pod, cluster: Cluster) -> dict[str, list[str]]:
    predicate = FIT_PREDICATES_1_4["MatchInterPodAffinity"](PredicateArgs())
    return by_text(cluster.snapshot, predicate.check(cluster.info(pod), cluster.snapshot))


def web(name: str, node: str = "", affinity: Affinity | None = None, namespace: str = "default") -> Pod:
    return make_pod(name, {"app": "web"}, node=node, affinity=affinity, namespace=namespace)


@pytest.mark.parametrize(
    ("terms", "kept_out"),
    [
        pytest.param((term(ZONE), term(HOST, OTHER)), ["na"], id="the-last-terms-key-counts"),
        pytest.param((term(HOST, OTHER), term(ZONE)), ["na", "nb"], id="swapped"),
        pytest.param((term(ZONE, OTHER), term(HOST, OTHER)), [], id="no-term-picks-it"),
        pytest.param((term(ZONE, OTHER), term(HOST)), ["na"], id="the-last-one-picks-it"),
        pytest.param((term(""),), ["na", "nb"], id="an-empty-key-is-any-failure-domain"),
        pytest.param((term("nope"),), [], id="nodes-without-the-key-share-nothing"),
    ],
)
def test_anti_affinity_of_running_pods(terms: tuple[PodAffinityTerm, ...], kept_out: list[str]) -> None:
    """Upstream's records all carry the key of the pod's last term."""
    assert refused(web("p"), make_pod("e", node="na", affinity=far(*terms))) == kept_out


def test_each_affinity_term_for_itself() -> None:
    """No single pod has to be picked by all of them; a term that picks nobody is met by the pod itself."""
    affinity = near(term(ZONE), term(ZONE, OTHER))
    others = [web("w", "na"), make_pod("o", {"app": "other"}, node="nb")]
    assert refused(make_pod("p", affinity=affinity), *others) == ["nc", "nd"]
    assert refused(web("p", affinity=affinity), web("w", "na")) == EVERYWHERE
    assert refused(web("p", affinity=near(term(ZONE), term(HOST))), web("w", "na")) == ["nb", "nc", "nd"]


def test_the_first_of_a_group() -> None:
    """It may go anywhere, once no pod at all is picked, wherever that runs."""
    first = web("p", affinity=near(term(ZONE)))
    assert refused(first) == []
    assert refused(first, web("w", "nd")) == EVERYWHERE
    assert refused(make_pod("p", affinity=near(term(ZONE)))) == EVERYWHERE


def test_an_empty_value_is_no_topology() -> None:
    """Two nodes whose label is empty share nothing; nor does a node with itself."""
    assert refused(make_pod("p", affinity=far(term(ZONE))), web("w", "nd")) == []
    assert refused(make_pod("p", affinity=far(term(ZONE))), web("w", "nc")) == ["nc"]


@pytest.mark.parametrize(
    ("namespaces", "picked"),
    [(None, ["na"]), ((), ["na", "nc"]), (("other",), ["nc"]), (("default", "other"), ["na", "nc"])],
    ids=["own", "empty-is-all", "listed", "both"],
)
def test_namespaces(namespaces: tuple[str, ...] | None, picked: list[str]) -> None:
    """An empty list is every namespace."""
    apart = far(PodAffinityTerm(HOST, WEB, namespaces))
    pods = [web("w", "na"), web("v", "nc", namespace="other")]
    assert refused(make_pod("p", affinity=apart), *pods) == picked


def test_failure_domains_are_a_setting() -> None:
    """An empty key stands for what the flag says."""
    cluster, pod = cluster_1_4(NODES, [web("w", "na")]), make_pod(affinity=far(term("")))
    for domains, wanted in (((HOST,), ["na"]), ((HOST, ZONE), ["na", "nb"])):
        verdict = match_inter_pod_affinity_1_4(cluster.info(pod), cluster.snapshot, domains)
        assert by_text(cluster.snapshot, verdict) == {"MatchInterPodAffinity": wanted}


@pytest.mark.parametrize(
    ("affinity", "running", "wanted"),
    [
        pytest.param(near(term(ZONE, INVALID)), [], EVERYWHERE, id="affinity-never-holds"),
        pytest.param(far(term(ZONE, INVALID)), [], [], id="anti-affinity-without-a-pod"),
        pytest.param(far(term(ZONE, INVALID)), [web("w", "na")], EVERYWHERE, id="anti-affinity-tried-on-a-pod"),
        pytest.param(far(term(ZONE, INVALID, "other")), [web("w", "na")], [], id="not-in-that-namespace"),
    ],
)
def test_invalid_selectors_of_its_own(affinity: Affinity, running: list[Pod], wanted: list[str]) -> None:
    """They fail, without an error."""
    assert refused(make_pod("p", affinity=affinity), *running) == wanted


def test_an_invalid_selector_of_a_running_pod_refuses_every_node() -> None:
    """If its namespaces reach the pod's."""
    assert refused(web("p"), make_pod("e", node="na", affinity=far(term(ZONE, INVALID)))) == EVERYWHERE
    assert refused(web("p"), make_pod("e", node="na", affinity=far(term(ZONE, INVALID, "other")))) == []
    assert refused(web("p"), make_pod("e", node="na", affinity=near(term(ZONE, INVALID)))) == []


def test_pods_on_nodes_that_are_not_there() -> None:
    """One of them with anti-affinity refuses every node; one the pod's anti-affinity picks too."""
    there = cluster_1_4(NODES, [web("w", "gone", affinity=far(term(ZONE, OTHER)))])
    assert said(make_pod(), there) == {"MatchInterPodAffinity": [*EVERYWHERE, "gone"]}
    plain = cluster_1_4(NODES, [web("w", "gone")])
    assert said(make_pod(), plain) == {}
    assert said(make_pod(affinity=far(term(ZONE))), plain) == {"MatchInterPodAffinity": [*EVERYWHERE, "gone"]}
    assert said(web("p", affinity=near(term(ZONE))), plain) == {"MatchInterPodAffinity": [*EVERYWHERE, "gone"]}


def test_affinity_that_cannot_be_read() -> None:
    """The pod's own is an error where no running pod keeps it out; a running pod's is none at all.

    Unless a pod runs where there is no node.
    """
    broken = {AFFINITY_ANNOTATION: "{"}
    keeper = make_pod("e", node="na", affinity=far(term(HOST)))
    found = said(make_pod(label={"app": "web"}, annotations=broken), cluster_1_4(NODES, [keeper]))
    assert found.pop("MatchInterPodAffinity") == ["na"]
    assert list(found.values()) == [["nb", "nc", "nd"]]
    unread = make_pod("e", node="na", annotations=broken)
    assert said(make_pod(), cluster_1_4(NODES, [unread])) == {}
    astray = cluster_1_4(NODES, [unread, web("w", "gone")])
    assert said(make_pod(), astray) == {"MatchInterPodAffinity": [*EVERYWHERE, "gone"]}
