"""Hints that change what decides: checks that are switched off, weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kubescheduler as ks
from kubescheduler.hinting.engine_proposals import winning_weight
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
