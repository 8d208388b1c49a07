"""MatchInterPodAffinity of 1.16, then of 1.4."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithmprovider.algorithms import FIT_PREDICATES_1_4
from clusterstate.manifests.annotations_1_4 import AFFINITY_ANNOTATION
from clusterstate.objects import Affinity, LabelSelector, Pod, PodAffinity, PodAffinityTerm, Requirement
from clusterstate.snapshot import PodChange, Snapshot
from predicates.interpod import (
    AFFINITY_NOT_MATCH,
    AFFINITY_RULES,
    ANTI_AFFINITY_RULES,
    EXISTING_ANTI_AFFINITY,
    match_inter_pod_affinity,
)
from predicates.types import NodeError, PredicateArgs
from tests.support.build import Cluster, cluster_1_4, labels, make_node, make_pod, names_where
from tests.support.storage import by_text

BAD = LabelSelector(match_expressions=(Requirement("app", "Near", ("x",)),))


def term(key: str = "zone", /, namespaces: tuple[str, ...] | None = None, **pairs: str) -> PodAffinityTerm:
    return PodAffinityTerm(key, LabelSelector(labels(pairs)), namespaces)


def near(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(pod_affinity=PodAffinity(terms))


def far(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(pod_anti_affinity=PodAffinity(terms))


NODES = (
    make_node("a1", {"zone": "a", "host": "a1"}),
    make_node("a2", {"zone": "a", "host": "a2"}),
    make_node("b1", {"zone": "b", "host": "b1"}),
    make_node("none", {}),
)
X, Y = {"app": "x"}, {"app": "y"}


def reasons(cluster: Cluster, pod: Pod, snapshot: Snapshot | None = None) -> dict[str, list[str]]:
    """Failing node → its reasons in order."""
    snapshot = snapshot or cluster.snapshot
    out: dict[str, list[str]] = {}
    for reason, mask in match_inter_pod_affinity(cluster.info(pod), snapshot).items():
        for name in names_where(snapshot, mask):
            out.setdefault(name, []).append(reason)
    return out


def failing(reason: str, names: Iterable[str]) -> dict[str, list[str]]:
    return {name: [AFFINITY_NOT_MATCH, reason] for name in names}


@pytest.mark.parametrize(
    ("affinity", "where", "kept_out"),
    [
        pytest.param(far(term(app="x")), "gone", [], id="on-an-unknown-node"),
        pytest.param(far(term("", app="x")), "a1", [], id="empty-topology-key"),
        pytest.param(far(term("zone", (), app="x")), "a1", ["a1", "a2"], id="empty-namespaces-mean-its-own"),
        pytest.param(far(PodAffinityTerm("zone")), "a1", [], id="null-selector-picks-nothing"),
        pytest.param(far(PodAffinityTerm("zone", LabelSelector())), "a1", ["a1", "a2"], id="empty-selector-picks-all"),
    ],
)
def test_existing_anti_affinity(affinity: Affinity, where: str, kept_out: list[str]) -> None:
    """A running pod's required anti-affinity keeps out the pods it picks, in its topology."""
    cluster = Cluster(NODES, [make_pod("e", Y, node=where, affinity=affinity)])
    assert reasons(cluster, make_pod(label=X)) == failing(EXISTING_ANTI_AFFINITY, kept_out)


def test_an_empty_label_value_is_a_topology() -> None:
    """Nodes whose label is present but empty share a topology."""
    nodes = [make_node("e1", {"zone": ""}), make_node("e2", {"zone": ""}), make_node("none")]
    cluster = Cluster(nodes, [make_pod("e", X, node="e1")])
    assert list(reasons(cluster, make_pod(affinity=far(term(app="x"))))) == ["e1", "e2"]


# --- what if -------------------------------------------------------------------------------


def change(cluster: Cluster, pod: Pod, node: str, sign: int, *, nominated: bool = False) -> PodChange:
    return PodChange(cluster.columns.row_of[node], cluster.info(pod), sign, nominated)


def test_nominated_pods_do_not_count_for_the_pods_own_terms() -> None:
    """A nominated pod keeps others out by its own anti-affinity, but is not seen by theirs."""
    cluster = Cluster(NODES)
    shy = make_pod("n", X, affinity=far(term(app="me")))
    for nominated, seen in ((True, []), (False, ["a1", "a2"])):
        snapshot = cluster.snapshot.what_if([change(cluster, make_pod("n", X), "a1", 1, nominated=nominated)])
        found = reasons(cluster, make_pod(affinity=far(term(app="x"))), snapshot)
        assert found == failing(ANTI_AFFINITY_RULES, seen)
        snapshot = cluster.snapshot.what_if([change(cluster, shy, "a1", 1, nominated=nominated)])
        found = reasons(cluster, make_pod(label={"app": "me"}), snapshot)
        assert found == failing(EXISTING_ANTI_AFFINITY, ["a1", "a2"])
    alone = cluster.snapshot.what_if([change(cluster, make_pod("n", X), "a1", 1, nominated=True)])
    assert reasons(cluster, make_pod(label=X, affinity=near(term(app="x"))), alone) == {}


def test_a_pod_put_back_counts_for_all_anti_affinity_terms() -> None:
    """A pod hypothetically removed and put back that one term picks counts in the topology of every term."""
    cluster = Cluster(NODES, [make_pod("e", X, node="a1")])
    pod = make_pod(affinity=far(term("host", app="x"), term("zone", app="y")))
    assert list(reasons(cluster, pod)) == ["a1"]
    away, back = (change(cluster, make_pod("e", X), "a1", sign) for sign in (-1, 1))
    assert list(reasons(cluster, pod, cluster.snapshot.what_if([away]))) == []
    assert list(reasons(cluster, pod, cluster.snapshot.what_if([away, back]))) == ["a1", "a2"]
    assert list(reasons(cluster, pod, cluster.snapshot.what_if([away, back, away]))) == []


# --- invalid selectors ---------------------------------------------------------------------


def test_an_invalid_selector_of_a_running_pod_is_an_error() -> None:
    """The attempt of every pod is given up, unless the running pod's node is unknown."""
    bad = far(PodAffinityTerm("zone", BAD))
    cluster = Cluster(NODES, [make_pod("e", node="a1", affinity=bad)])
    (error,) = match_inter_pod_affinity(cluster.info(make_pod()), cluster.snapshot)
    assert isinstance(error, NodeError)
    assert error.startswith("Failed to get all terms that match pod {pod}: ")
    lost = Cluster(NODES, [make_pod("e", node="gone", affinity=bad)])
    assert reasons(lost, make_pod()) == {}


def test_an_invalid_selector_of_the_pod() -> None:
    """In affinity it is an error once there are pods, in anti-affinity a plain failure."""
    affinity, anti = near(PodAffinityTerm("zone", BAD)), far(PodAffinityTerm("zone", BAD))
    empty, full = Cluster(NODES), Cluster(NODES, [make_pod("e", node="a1")])
    everywhere = [node.name for node in NODES]
    assert reasons(empty, make_pod(affinity=affinity)) == failing(AFFINITY_RULES, everywhere)
    assert reasons(empty, make_pod(affinity=anti)) == {}
    assert reasons(full, make_pod(affinity=anti)) == failing(ANTI_AFFINITY_RULES, everywhere)
    errors = reasons(full, make_pod(affinity=affinity))
    assert errors["b1"][0].startswith("Cannot schedule pod {pod} onto node b1, because of PodAffinity: ")


# --- laws ----------------------------------------------------------------------------------


def random_pod(pick: random.Random, name: str, node: str = "") -> Pod:
    def terms() -> tuple[PodAffinityTerm, ...]:
        keys = ("app", "tier")
        return tuple(
            term(
                pick.choice(("zone", "host")),
                pick.choice((None, ("other",), ("default", "other"))),
                **{pick.choice(keys): pick.choice("xy")},
            )
            for _ in range(pick.choice((0, 1, 1, 2)))
        )

    affinity = pick.choice(
        (None, near(*terms()), far(*terms()), Affinity(None, PodAffinity(terms()), PodAffinity(terms())))
    )
    pairs = {key: pick.choice("xy") for key in ("app", "tier") if pick.random() < 0.7}
    return make_pod(name, pairs, namespace=pick.choice(("default", "other")), node=node, affinity=affinity)


def random_cluster(pick: random.Random) -> Cluster:
    nodes = [
        make_node(f"n{i}", {key: pick.choice("abc") for key in ("zone", "host") if pick.random() < 0.8})
        for i in range(6)
    ]
    pods = [random_pod(pick, f"e{i}", f"n{pick.randrange(7)}") for i in range(pick.randrange(8))]
    return Cluster(nodes, pods)


def picks(t: PodAffinityTerm, owner: Pod, other: Pod) -> bool:
    wanted = t.label_selector.match_labels.items()
    return other.metadata.namespace in (t.namespaces or (owner.metadata.namespace,)) and (
        wanted <= other.metadata.labels.items()
    )


def pairs_of(terms: Iterable[PodAffinityTerm], on: dict[str, str]) -> set[tuple[str, str]]:
    return {(t.topology_key, on[t.topology_key]) for t in terms if t.topology_key in on}


def told_plainly(cluster: Cluster, pod: Pod) -> dict[str, list[str]]:
    """The rule as the specification tells it, pod by pod and node by node."""
    info = cluster.info(pod)
    x, f, g = set(), set(), set()
    nodes = {node.name: node.metadata.labels for node in cluster.columns.nodes if node}
    for running in (pod for pods in cluster.columns.pods for pod in pods.values()):
        if running.node_name in nodes:
            on, other = nodes[running.node_name], cluster.info(running)
            x |= pairs_of([t for t in other.required_anti_affinity if picks(t, running, pod)], on)
            if all(picks(t, pod, running) for t in info.required_affinity):
                f |= pairs_of(info.required_affinity, on)
            g |= pairs_of([t for t in info.required_anti_affinity if picks(t, pod, running)], on)
    first = not f and all(picks(t, pod, pod) for t in info.required_affinity)
    out = {}
    for name, on in nodes.items():
        if x & set(on.items()):
            out[name] = [AFFINITY_NOT_MATCH, EXISTING_ANTI_AFFINITY]
        elif not first and not all((t.topology_key, on.get(t.topology_key)) in f for t in info.required_affinity):
            out[name] = [AFFINITY_NOT_MATCH, AFFINITY_RULES]
        elif pairs_of(info.required_anti_affinity, on) & g:
            out[name] = [AFFINITY_NOT_MATCH, ANTI_AFFINITY_RULES]
    return out


@given(pick=st.randoms(use_true_random=True))
def test_it_is_the_rule_told_plainly(pick: random.Random) -> None:
    """On random clusters the columns say what the specification says pod by pod."""
    cluster = random_cluster(pick)
    for i in range(4):
        pod = random_pod(pick, f"p{i}")
        found = reasons(cluster, pod)
        found.pop("n6", None)
        assert found == told_plainly(cluster, pod)


@given(pick=st.randoms(use_true_random=True))
def test_some_rows_get_what_all_rows_get(pick: random.Random) -> None:
    """A subset of the rows, in any order, is judged as within all rows, with changes too."""
    cluster = random_cluster(pick)
    change_on = PodChange(pick.randrange(6), cluster.info(random_pod(pick, "c")), 1, pick.random() < 0.5)
    info = cluster.info(random_pod(pick, "p"))
    rows = np.array(pick.sample(range(6), 3))
    for snapshot in (cluster.snapshot, cluster.snapshot.what_if([change_on])):
        whole = match_inter_pod_affinity(info, snapshot)
        part = match_inter_pod_affinity(info, snapshot.take(rows))
        none = np.zeros(len(snapshot), np.bool_)
        for reason in whole.keys() | part.keys():
            assert (whole.get(reason, none)[rows] == part.get(reason, none[rows])).all()


@given(pick=st.randoms(use_true_random=True))
def test_thinking_a_pod_on_is_placing_it(pick: random.Random) -> None:
    """A bound pod hypothetically added counts as if placed, as long as the pod has at most one anti-affinity term."""
    cluster = random_cluster(pick)
    added = random_pod(pick, "c", "n2")
    info = cluster.info(random_pod(pick, "p"))
    if len(info.required_anti_affinity) > 1:
        return
    thought = match_inter_pod_affinity(info, cluster.snapshot.what_if([PodChange(2, cluster.info(added), 1)]))
    cluster.columns.put_pod(2, added, "c")
    placed = match_inter_pod_affinity(info, cluster.snapshot)
    none = np.zeros(len(cluster.snapshot), np.bool_)
    for reason in thought.keys() | placed.keys():
        assert (thought.get(reason, none) == placed.get(reason, none)).all()


WEB, OTHER = LabelSelector(labels({"app": "web"})), LabelSelector(labels({"app": "other"}))
INVALID = LabelSelector(match_expressions=(Requirement("app", "Bad"),))
ZONE, HOST = "failure-domain.beta.kubernetes.io/zone", "kubernetes.io/hostname"
NODES_1_4 = [
    make_node("na", {ZONE: "z1", HOST: "na"}),
    make_node("nb", {ZONE: "z1", HOST: "nb"}),
    make_node("nc", {ZONE: "z2", HOST: "nc"}),
    make_node("nd", {ZONE: ""}),
]
EVERYWHERE = ["na", "nb", "nc", "nd"]


def term_1_4(key: str, selector: LabelSelector = WEB, *namespaces: str) -> PodAffinityTerm:
    return PodAffinityTerm(key, selector, namespaces or None)


def refused(pod: Pod, *running: Pod) -> list[str]:
    found = said(pod, cluster_1_4(NODES_1_4, running))
    assert set(found) <= {"MatchInterPodAffinity"}
    return found.get("MatchInterPodAffinity", [])


def said(pod: Pod, cluster: Cluster) -> dict[str, list[str]]:
    predicate = FIT_PREDICATES_1_4["MatchInterPodAffinity"](PredicateArgs())
    return by_text(cluster.snapshot, predicate.check(cluster.info(pod), cluster.snapshot))


def web(name: str, node: str = "", affinity: Affinity | None = None, namespace: str = "default") -> Pod:
    return make_pod(name, {"app": "web"}, node=node, affinity=affinity, namespace=namespace)


@pytest.mark.parametrize(
    ("affinity", "running", "wanted"),
    [
        pytest.param(near(term_1_4(ZONE, INVALID)), [], EVERYWHERE, id="affinity-never-holds"),
        pytest.param(far(term_1_4(ZONE, INVALID)), [], [], id="anti-affinity-without-a-pod"),
        pytest.param(far(term_1_4(ZONE, INVALID)), [web("w", "na")], EVERYWHERE, id="anti-affinity-tried-on-a-pod"),
        pytest.param(far(term_1_4(ZONE, INVALID, "other")), [web("w", "na")], [], id="not-in-that-namespace"),
    ],
)
def test_invalid_selectors_of_its_own(affinity: Affinity, running: list[Pod], wanted: list[str]) -> None:
    """They fail, without an error."""
    assert refused(make_pod("p", affinity=affinity), *running) == wanted


def test_an_invalid_selector_of_a_running_pod_refuses_every_node() -> None:
    """If its namespaces reach the pod's."""
    assert refused(web("p"), make_pod("e", node="na", affinity=far(term_1_4(ZONE, INVALID)))) == EVERYWHERE
    assert refused(web("p"), make_pod("e", node="na", affinity=far(term_1_4(ZONE, INVALID, "other")))) == []
    assert refused(web("p"), make_pod("e", node="na", affinity=near(term_1_4(ZONE, INVALID)))) == []


def test_pods_on_nodes_that_are_not_there() -> None:
    """One of them with anti-affinity refuses every node; one the pod's anti-affinity picks too."""
    there = cluster_1_4(NODES_1_4, [web("w", "gone", affinity=far(term_1_4(ZONE, OTHER)))])
    assert said(make_pod(), there) == {"MatchInterPodAffinity": [*EVERYWHERE, "gone"]}
    plain = cluster_1_4(NODES_1_4, [web("w", "gone")])
    assert said(make_pod(), plain) == {}
    assert said(make_pod(affinity=far(term_1_4(ZONE))), plain) == {"MatchInterPodAffinity": [*EVERYWHERE, "gone"]}
    assert said(web("p", affinity=near(term_1_4(ZONE))), plain) == {"MatchInterPodAffinity": [*EVERYWHERE, "gone"]}


def test_affinity_that_cannot_be_read() -> None:
    """The pod's own is an error where no running pod keeps it out; a running pod's is none at all.

    Unless a pod runs where there is no node.
    """
    broken = {AFFINITY_ANNOTATION: "{"}
    keeper = make_pod("e", node="na", affinity=far(term_1_4(HOST)))
    found = said(make_pod(label={"app": "web"}, annotations=broken), cluster_1_4(NODES_1_4, [keeper]))
    assert found.pop("MatchInterPodAffinity") == ["na"]
    assert list(found.values()) == [["nb", "nc", "nd"]]
    unread = make_pod("e", node="na", annotations=broken)
    assert said(make_pod(), cluster_1_4(NODES_1_4, [unread])) == {}
    astray = cluster_1_4(NODES_1_4, [unread, web("w", "gone")])
    assert said(make_pod(), astray) == {"MatchInterPodAffinity": [*EVERYWHERE, "gone"]}
