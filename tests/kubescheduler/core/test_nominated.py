"""Which rows are looked at again, and whether rows can be looked at one by one."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.changes import LOCAL, Reads
from clusterstate.footprint import Footprint
from clusterstate.growable import IntArray
from clusterstate.objects import (
    Affinity,
    LabelSelector,
    ObjectMeta,
    PodAffinity,
    PodAffinityTerm,
    PodDisruptionBudget,
    PodResourceClaim,
)
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import PodChange, Snapshot
from kubescheduler.core.nominated import (
    KeptJudgements,
    NominatedRefusals,
    RowWatch,
    judge,
    stay_on_their_rows,
)
from kubescheduler.core.status import Code
from predicates.types import FitPredicate, NodeError, Verdict
from tests.support.build import cache_of, make_node, make_pod
from tests.support.storage import claiming

ROOM = FitPredicate("Room", lambda pod, snapshot: {})
FAR = FitPredicate("Far", lambda pod, snapshot: {}, Footprint(LOCAL | Reads.NAMESPACES))
POD = make_pod("in")


@pytest.mark.parametrize(
    ("waiting", "stays"),
    [
        (make_pod("plain"), True),
        (
            make_pod("apart", affinity=Affinity(None, None, PodAffinity((PodAffinityTerm("zone", LabelSelector()),)))),
            False,
        ),
        (claiming("claim"), False),
        (make_pod("devices", resource_claims=(PodResourceClaim("c", "c"),)), False),
    ],
    ids=["plain", "terms", "claims", "devices"],
)
def test_rows_by_themselves(waiting: Any, stays: bool) -> None:
    """Nobody who is added uses what pods elsewhere may use too, or keeps others out of a domain."""
    cache = cache_of([make_node("a")])
    plain = PodChange(0, cache.info(POD), 1, nominated=True, pod=POD)
    change = PodChange(0, cache.info(waiting), 1, nominated=True, pod=waiting)
    assert stay_on_their_rows([plain, change]) == stays


def test_what_changed() -> None:
    """Rows that changed or are waited for; everything when rules, what they read far away, or time moved on."""
    cache = cache_of([make_node(name) for name in "abc"])
    info, watch, now = cache.info(POD), RowWatch(cache), [1]
    timed = msgspec.structs.replace(
        FAR, footprint=msgspec.structs.replace(FAR.footprint, moment=lambda pod, snapshot: now[0])
    )

    def noticed(*given: Any) -> Any:
        found = watch.changed(info, *given)
        watch.noted()
        return found

    assert noticed([timed]) is None
    assert noticed([timed]) == set()
    cache.add_pod(make_pod("p", node="b"))
    cache.nominate(make_pod("q"), "c")
    cache.nominate(make_pod("r"), "ghost")
    assert watch.changed(info, [timed]) == {1, 2}, "it was not noted, and is given again"
    assert noticed([timed]) == {1, 2}
    cache.add(PodDisruptionBudget(ObjectMeta("b", "default"), LabelSelector(), 0))
    assert noticed([timed]) is None
    now[0] = 2
    assert noticed([timed]) is None
    assert noticed([ROOM]) is None
    assert noticed([ROOM], "more") is None
    assert noticed([ROOM], "more") == set()


MASKS = st.lists(st.booleans(), min_size=3, max_size=3)
RULES = st.lists(
    st.dictionaries(st.sampled_from(["r", "s", NodeError("{pod} broke")]), MASKS, max_size=2), min_size=1, max_size=3
)
WAITING = make_pod("in", priority=5)


def ruled(name: str, verdict: dict[str, list[bool]]) -> FitPredicate:
    def check(_: PodInfo, snapshot: Snapshot) -> Verdict:
        return {reason: np.array(mask)[snapshot.row_numbers] for reason, mask in verdict.items()}

    return FitPredicate(name, check, unresolvable=lambda reason: reason == "s")


@given(RULES, st.booleans())
def test_judging_many_rows_is_judging_each(given_rules: list[dict[str, list[bool]]], every: bool) -> None:
    """The same predicates with the same reasons, and the same error."""
    cache = cache_of([make_node(name) for name in "abc"])
    rules = [ruled(f"rule {at}", verdict) for at, verdict in enumerate(given_rules)]
    info, snapshot = cache.info(WAITING), cache.snapshot()
    for row, judgement in enumerate(judge(info, snapshot, rules, every=every)):
        alone = snapshot.take(np.array([row]))
        assert [judgement] == judge(info, alone, rules, every=every)
        if judgement.error is not None:
            continue
        hopeless = any("s" in reasons for _, reasons in judgement.found)
        worst = Code.UnschedulableAndUnresolvable if hopeless else Code.Unschedulable
        assert judgement.code == (worst if judgement.found else Code.Success)


class Counting:
    """One pod on a node at most; an error on the nodes named; notes the rows it is asked about."""

    def __init__(self, *broken: str) -> None:
        self.broken = broken
        self.asked: list[list[int]] = []
        self.rule = FitPredicate("Room", self.check)

    def check(self, _: PodInfo, snapshot: Snapshot) -> Verdict:
        rows: IntArray = snapshot.row_numbers
        self.asked.append(rows.tolist())
        error = np.array([name in self.broken for name in snapshot.names], np.bool_)
        return {NodeError("broken"): error, "crowded": snapshot.pod_count >= 1}


def waiting(*names: str) -> ClusterCache:
    """Nodes a, b and c, with a pod that waits for each of the named."""
    cache = cache_of([make_node(name) for name in "abc"])
    for name in names:
        cache.nominate(make_pod(f"waits-{name}", priority=5), name)
    return cache


def asked(
    kept: KeptJudgements, cache: ClusterCache, rule: Counting, rows: Any = None, name: str = "in"
) -> NominatedRefusals:
    pod = make_pod(name, priority=5)
    rows = np.ones(len(cache.columns), np.bool_) if rows is None else rows
    found = kept.judge(pod, cache.info(pod), [rule.rule], rows, every=False)
    assert found is not None
    return found


def test_rows_are_judged_again_when_they_change() -> None:
    """Pods that come, nominations, nodes that leave; and nothing else."""
    cache, rule = waiting("a", "c"), Counting()
    kept = KeptJudgements(cache)
    assert list(asked(kept, cache, rule).found) == [0, 2]
    asked(kept, cache, rule)
    assert rule.asked == [[0, 2]]
    cache.add_pod(make_pod("p", node="a"))
    cache.nominate(make_pod("waits-a", priority=4), "a")
    assert list(asked(kept, cache, rule).found) == [2]
    cache.nominate(make_pod("other", priority=7), "b")
    assert sorted(asked(kept, cache, rule).found) == [1, 2]
    cache.remove_node("c")
    assert list(asked(kept, cache, rule).found) == [1]
    assert rule.asked == [[0, 2], [1]]


def test_only_the_rows_that_are_looked_at_are_judged() -> None:
    """The others when somebody looks."""
    cache, rule = waiting("a", "c"), Counting()
    kept = KeptJudgements(cache)
    assert list(asked(kept, cache, rule, np.array([False, True, True])).found) == [2]
    assert sorted(asked(kept, cache, rule).found) == [0, 2]
    assert list(asked(kept, cache, rule, np.array([True, False, False])).found) == [0]
    assert rule.asked == [[2], [0]]


def test_a_pod_leaves_itself_out() -> None:
    """On the row that it is nominated to, whoever was asked about before."""
    cache, rule = waiting("a"), Counting()
    kept = KeptJudgements(cache)
    for name, rows in (("in", [0]), ("waits-a", []), ("in", [0])):
        assert list(asked(kept, cache, rule, name=name).found) == rows


def test_errors_in_order_of_nomination() -> None:
    """The first that is looked at counts."""
    cache, rule = waiting("c", "a"), Counting("a", "c")
    kept = KeptJudgements(cache)
    assert asked(kept, cache, rule).error == ("Room", NodeError("broken"))
    assert asked(kept, cache, rule, np.array([False, True, False])).error is None
    cache.nominate(make_pod("waits-a"), "")
    cache.nominate(make_pod("waits-c"), "")
    assert asked(kept, cache, rule).error is None


@pytest.mark.parametrize("looks_further", [True, False])
def test_rules_that_look_further_remember_nothing(looks_further: bool) -> None:
    """They judge row by row, in every attempt."""
    cache = waiting("a")
    rule = FitPredicate("Far", Counting().check, Footprint(row_local=lambda pod, snapshot: not looks_further))
    kept = KeptJudgements(cache)
    for _ in range(2):
        assert (
            kept.judge(WAITING, cache.info(WAITING), [rule], np.ones(len(cache.columns), np.bool_), every=False) is None
        ) == looks_further
