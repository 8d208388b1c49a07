"""InterPodAffinity's filter of 1.20 and 1.36."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.changes import Reads
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
from clusterstate.snapshot import PodChange, Snapshot
from predicates.interpod_framework import (
    AFFINITY_NOT_MATCH,
    AFFINITY_RULES,
    ANTI_AFFINITY_RULES,
    EXISTING_ANTI_AFFINITY,
    predicate_1_20,
    predicate_1_36,
)
from predicates.types import GO_ON, SKIP
from tests.support.build import Cluster, labels, make_node, make_pod
from tests.support.references.reference_rules import AFFINITY, ANTI, EXISTING, InterpodReference
from tests.support.rich_worlds import VIEWS, ReleaseCluster, affinities, incoming_with_affinity, nodes, running

RULES: dict[str, Any] = {"1.20": predicate_1_20(), "1.36": predicate_1_36()}
RELEASES = list(RULES)
STEPS = {AFFINITY_RULES: AFFINITY, ANTI_AFFINITY_RULES: ANTI, EXISTING_ANTI_AFFINITY: EXISTING}

X = {"app": "x"}
HAS_X = LabelSelector(labels(X))
BAD = LabelSelector(match_expressions=(Requirement("app", "Near", ("x",)),))
TEAM = LabelSelector(labels({"team": "t"}))
ZONES = [make_node(zone, {"zone": zone}) for zone in "ab"] + [make_node("c")]
NAMESPACES = [Namespace(ObjectMeta("ours")), Namespace(ObjectMeta("theirs", labels=labels({"team": "t"})))]


def outcomes(release: str, info: PodInfo, snapshot: Snapshot) -> list[str | None]:
    """Row by row which step fails; 1.20 names the general reason with each."""
    verdict = dict(RULES[release].check(info, snapshot))
    out: list[str | None] = [None] * len(snapshot)
    general = verdict.pop(AFFINITY_NOT_MATCH, None)
    for reason, mask in verdict.items():
        for at in np.flatnonzero(mask):
            assert out[at] is None
            out[at] = STEPS[reason]
    if release == "1.20" and verdict:
        assert general.tolist() == [step is not None for step in out]
    else:
        assert general is None
    return out


def term(key: str = "zone", selector: LabelSelector | None = HAS_X, **more: Any) -> PodAffinityTerm:
    return PodAffinityTerm(key, selector, **more)


def away(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(pod_anti_affinity=PodAffinity(terms))


def wanting(affinity: Affinity | None, label: dict[str, str] | None = None) -> Pod:
    return make_pod("in", label or {}, namespace="ours", affinity=affinity)


def running_on_a(namespace: str = "ours", affinity: Affinity | None = None) -> Pod:
    return make_pod("p", X, namespace=namespace, node="a", affinity=affinity)


CASES: dict[str, Any] = {
    "unparsable": (wanting(None, X), [running_on_a(affinity=away(term(selector=BAD)))], [None] * 3),
    "unparsable-drops-its-group": (wanting(None, X), [running_on_a(affinity=away(term(), term("b", BAD)))], [None] * 3),
}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("pod", "there", "expected"), CASES.values(), ids=CASES)
def test_cases(release: str, pod: Pod, there: list[Pod], expected: list[str | None]) -> None:
    """Nodes a and b in zones of their own, c in none."""
    cluster = Cluster(ZONES, there, NAMESPACES, VIEWS[release])
    assert outcomes(release, cluster.info(pod), cluster.snapshot) == expected


def test_a_namespace_that_gets_its_label_later_counts() -> None:
    """What namespaces a term looks into is settled anew when one changes."""
    pod = wanting(away(term(namespace_selector=TEAM)))
    cluster = Cluster(ZONES, [running_on_a("new")], NAMESPACES, VIEWS["1.36"])
    assert outcomes("1.36", cluster.info(pod), cluster.snapshot)[0] is None
    assert RULES["1.36"].footprint.narrow(cluster.info(pod)) & Reads.NAMESPACES
    cluster.columns.log.whole(cluster.objects.put(Namespace(ObjectMeta("new", labels=labels({"team": "t"})))))
    assert outcomes("1.36", cluster.info(pod), cluster.snapshot)[0] == ANTI


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.20", 'preferredAffinityTerms: "Near" is not a valid label selector operator'),
        (
            "1.36",
            '[requiredAntiAffinityTerms: "Near" is not a valid label selector operator, '
            'preferredAffinityTerms: "Near" is not a valid label selector operator]',
        ),
    ],
)
def test_invalid_selectors_refuse_the_pod(release: str, text: str) -> None:
    """1.20 tells the last failing group, 1.36 all of them; taking pods away cannot help."""
    liked = PodAffinity(preferred=(WeightedPodAffinityTerm(1, term(selector=BAD)),))
    pod = wanting(Affinity(pod_affinity=liked, pod_anti_affinity=PodAffinity((term(selector=BAD),))))
    cluster = Cluster(ZONES, view=VIEWS[release])
    rule = RULES[release]
    (reason,) = rule.pre_filter(cluster.info(pod), cluster.snapshot).reasons
    assert reason == f"parsing pod: {text}"
    assert rule.unresolvable(reason)
    rule.check(cluster.info(pod), cluster.snapshot)


CASES_SKIP: dict[str, Any] = {
    "nothing": ([], wanting(None, X), True),
    "kept-out": ([running_on_a(affinity=away(term()))], wanting(None, X), False),
    "another-pod-is-kept-out": ([running_on_a(affinity=away(term()))], wanting(None), True),
    "the-node-lacks-the-key": ([running_on_a(affinity=away(term("b")))], wanting(None, X), True),
    "own-affinity": ([], wanting(Affinity(pod_affinity=PodAffinity((term(),)))), False),
    "own-anti-affinity": ([], wanting(away(term())), False),
    "own-preferences": (
        [],
        wanting(Affinity(pod_affinity=PodAffinity(preferred=(WeightedPodAffinityTerm(1, term()),)))),
        True,
    ),
}


@pytest.mark.parametrize(("there", "pod", "skips"), CASES_SKIP.values(), ids=CASES_SKIP)
def test_skip(there: list[Pod], pod: Pod, skips: bool) -> None:
    """1.36 skips without required terms on either side; 1.20 never does."""
    for release in RELEASES:
        cluster = Cluster(ZONES, there, view=VIEWS[release])
        expected = SKIP if skips and release == "1.36" else GO_ON
        assert RULES[release].pre_filter(cluster.info(pod), cluster.snapshot) == expected
        free = not pod.spec.affinity or (pod.spec.affinity.pod_affinity and not pod.spec.affinity.pod_affinity.required)
        assert RULES[release].footprint.is_row_local(cluster.info(pod), cluster.snapshot) == bool(skips and free)


# --- laws ----------------------------------------------------------------------------------

OTHERS = (Namespace(ObjectMeta("a", labels=labels({"team": "t"}))),)
KNOWN = {"a": {"team": "t"}}


@st.composite
def worlds(draw: st.DrawFn) -> ReleaseCluster:
    there = draw(nodes())
    return ReleaseCluster.of(draw(st.sampled_from(RELEASES)), there, draw(running(len(there), "p", affinities)), OTHERS)


@given(worlds(), incoming_with_affinity(), st.data())
def test_law_the_written_rule(world: ReleaseCluster, pod: Pod, data: st.DataObject) -> None:
    """All rows, some rows, and pods hypothetically added and removed: as the rule says pod by pod."""
    cluster = world.cluster()
    reference = InterpodReference(world.nodes, world.pods, world.release, KNOWN)
    info, snapshot = cluster.info(pod), cluster.snapshot
    expected = reference.verdicts(pod)
    assert outcomes(world.release, info, snapshot) == expected
    rows = data.draw(st.lists(st.integers(0, len(world.nodes) - 1), unique=True, min_size=1))
    assert outcomes(world.release, info, snapshot.take(np.array(rows))) == [expected[row] for row in rows]
    there = [(at, p, -1) for at, pods in enumerate(world.pods) for p in pods if data.draw(st.booleans())]
    more = [(world.at(p), p, 1) for p in data.draw(running(len(world.nodes), "m", affinities))]
    changes = [*there, *more]
    changed = snapshot.what_if([PodChange(at, cluster.info(p), sign) for at, p, sign in changes])
    expected = reference.verdicts(pod, changes)
    assert outcomes(world.release, info, changed) == expected
    assert outcomes(world.release, info, changed.take(np.array(rows))) == [expected[row] for row in rows]


@given(worlds(), incoming_with_affinity())
def test_law_skip(world: ReleaseCluster, pod: Pod) -> None:
    """1.36 skips exactly when X is empty and the pod requires nothing, and then no row fails."""
    cluster = world.cluster()
    info = cluster.info(pod)
    answer = RULES[world.release].pre_filter(info, cluster.snapshot)
    empty = not InterpodReference(world.nodes, world.pods, world.release, KNOWN).any_existing(pod)
    free = empty and not info.required_affinity and not info.required_anti_affinity
    assert answer == (SKIP if free and world.release == "1.36" else GO_ON)
    if answer.skip:
        assert not any(outcomes(world.release, info, cluster.snapshot))
