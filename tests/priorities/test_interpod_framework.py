"""InterPodAffinity's score of 1.20 and 1.36."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import (
    Affinity,
    LabelSelector,
    Namespace,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    WeightedPodAffinityTerm,
)
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.pod_affinity import TERMS_1_36
from clusterstate.snapshot import Snapshot
from priorities.interpod_framework import scoring_1_20, scoring_1_25, scoring_1_36
from priorities.types import PriorityConfig, PriorityError
from tests.support.build import Cluster, labels, make_node, make_pod
from tests.support.references.reference_rules import InterpodReference
from tests.support.rich_worlds import VIEWS, ReleaseCluster, affinities, incoming_with_affinity, nodes, running

RELEASES = list(VIEWS)
X = {"app": "x"}
HAS_X = LabelSelector(labels(X))
BAD = LabelSelector(match_expressions=(Requirement("app", "Near", ("x",)),))
ZONES = [make_node(zone, {"zone": zone}) for zone in "ab"]
Scores = list[int]


def config(release: str, hard_weight: int = 1, ignores_others: bool = False) -> PriorityConfig:
    if release == "1.20":
        return scoring_1_20(hard_weight)
    return scoring_1_36(hard_weight, ignores_others=ignores_others)


def scores(rule: PriorityConfig, info: PodInfo, snapshot: Snapshot) -> tuple[Scores, Scores] | None:
    """(raw, final), None when the rule skips."""
    if not rule.pre_score(info, snapshot.whole()):
        return None
    raw = rule.map(info, snapshot)
    assert rule.reduce is not None
    return raw.tolist(), rule.reduce(info, snapshot, raw).tolist()


def liking(weight: int, away: int = 0, selector: LabelSelector | None = HAS_X) -> Affinity:
    """Prefers, and if ``away`` is not 0 also avoids, pods of the same zone."""
    term = PodAffinityTerm("zone", selector)
    apart = PodAffinity(preferred=(WeightedPodAffinityTerm(away, term),)) if away else None
    return Affinity(
        pod_affinity=PodAffinity(preferred=(WeightedPodAffinityTerm(weight, term),)), pod_anti_affinity=apart
    )


def incoming(affinity: Affinity | None = None) -> Pod:
    return make_pod("in", X, affinity=affinity)


def test_ignoring_what_running_pods_prefer() -> None:
    """1.36 then skips pods without preferences, and counts everything for the others."""
    cluster = Cluster(ZONES, [make_pod("p", X, node="a", affinity=liking(3))], view=VIEWS["1.36"])
    rule = config("1.36", ignores_others=True)
    assert scores(rule, cluster.info(incoming()), cluster.snapshot) is None
    assert (scores(rule, cluster.info(incoming(liking(5))), cluster.snapshot) or ([],))[0] == [8, 0]


@pytest.mark.parametrize(("release", "text"), [("1.20", "parsing pod: "), ("1.36", "failed to parse pod: ")])
def test_an_invalid_selector_is_an_error(release: str, text: str) -> None:
    """Where PreFilter did not refuse the pod PreScore fails."""
    cluster = Cluster(ZONES, view=VIEWS[release])
    with pytest.raises(PriorityError) as caught:
        config(release).pre_score(cluster.info(incoming(liking(1, selector=BAD))), cluster.snapshot)
    assert str(caught.value) == f'{text}preferredAffinityTerms: "Near" is not a valid label selector operator'


# --- the law -------------------------------------------------------------------------------

OTHERS = (Namespace(ObjectMeta("a", labels=labels({"team": "t"}))),)


@st.composite
def worlds(draw: st.DrawFn) -> ReleaseCluster:
    there = draw(nodes())
    return ReleaseCluster.of(draw(st.sampled_from(RELEASES)), there, draw(running(len(there), "p", affinities)), OTHERS)


@given(worlds(), incoming_with_affinity(), st.sampled_from([0, 1, 20]), st.data())
def test_law_the_written_rule(world: ReleaseCluster, pod: Pod, hard_weight: int, data: st.DataObject) -> None:
    """Raw and final scores over any feasible nodes are those of the rule pod by pod, and so is skipping."""
    cluster = world.cluster()
    feasible = sorted(data.draw(st.sets(st.integers(0, len(world.nodes) - 1), min_size=1)))
    snapshot = cluster.snapshot.take(np.array(feasible))
    reference = InterpodReference(world.nodes, world.pods, world.release, {"a": {"team": "t"}})
    raw = reference.raw(pod, hard_weight, feasible)
    if raw is None and world.release == "1.20":
        raw = [0] * len(feasible)
    expected = None if raw is None else (raw, reference.normalized(raw))
    assert scores(config(world.release, hard_weight), cluster.info(pod), snapshot) == expected


@given(worlds(), incoming_with_affinity(), st.data())
def test_law_skipping_follows_the_pods(world: ReleaseCluster, pod: Pod, data: st.DataObject) -> None:
    """Whether it skips is told anew when pods with affinity come."""
    cluster = world.cluster()
    rule = config("1.36")
    rule.pre_score(cluster.info(pod), cluster.snapshot)
    for more in data.draw(running(len(world.nodes), "m", affinities)):
        cluster.columns.put_pod(world.at(more), more, more.metadata.uid)
    again = Cluster(world.nodes, [p for there in cluster.columns.pods for p in there.values()], OTHERS, VIEWS["1.36"])
    told = scores(rule, cluster.info(pod), cluster.snapshot)
    assert told == scores(rule, again.info(pod), again.snapshot)


@pytest.mark.parametrize(("ignores_others", "sums"), [(False, [3, 0]), (True, [0, 0])])
def test_nothing_is_skipped_before_1_28(ignores_others: bool, sums: list[int]) -> None:
    """A pod that no term concerns has 0, and so has one without preferences where others' are ignored."""
    rule = scoring_1_25(1, ignores_others=ignores_others, rules=TERMS_1_36)
    for pods, expected in (([], [0, 0]), ([make_pod("p", X, node="a", affinity=liking(3))], sums)):
        cluster = Cluster(ZONES, pods, view=VIEWS["1.36"])
        info = cluster.info(make_pod("in", X))
        assert rule.pre_score is not None
        assert rule.pre_score(info, cluster.snapshot)
        assert rule.map(info, cluster.snapshot).tolist()[:2] == expected
