"""Trying a pod on nodes without some of the pods there: which rows are tried how."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from clusterstate.changes import LOCAL, Reads
from clusterstate.errors import SchedulingError
from clusterstate.footprint import Footprint
from clusterstate.hypothetical import PodsByImportance
from clusterstate.objects import Affinity, LabelSelector, PodAffinity, PodAffinityTerm
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.preemption_trials import BatchTrial, PreemptionAttempt, RowTrial, reads_pods, trials
from predicates.types import FitPredicate, NodeError, Verdict
from tests.support.build import cache_of, make_node, make_pod, resources


def room(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """One pod on a node at most."""
    return {"crowded": snapshot.pod_count >= 1}


def named(*names: str, reason: str = "named") -> Any:
    """Refuses nodes by name."""

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return {reason: np.array([name in names for name in snapshot.names], np.bool_)}

    return check


ROOM = FitPredicate("Room", room, Footprint(equal_for_equal_usage=True))
NOT_A = FitPredicate("NotA", named("a"), Footprint(Reads.NODE))
FAR = FitPredicate("Far", named("b", reason="far"), Footprint(LOCAL | Reads.ALL_PODS))
NODES = [make_node(name) for name in "abcd"]
PODS = [make_pod(f"p-{name}", node=name) for name in "abc"]
POD = make_pod("in", priority=5)


def attempt(*predicates: FitPredicate, cluster: Any = (*NODES, *PODS)) -> PreemptionAttempt:
    cache = cache_of(cluster)
    return PreemptionAttempt(POD, cache.info(POD), predicates, cache, PodsByImportance(cache.columns).refresh())


ALL = np.arange(4)
BESIDE_OTHERS = Affinity(None, PodAffinity((PodAffinityTerm("zone", LabelSelector()),)))


def kinds(tried: PreemptionAttempt) -> list[tuple[str, list[int]]]:
    """(kind of trial, the rows) of every part."""
    return [(type(trial).__name__, rows.tolist()) for rows, trial in trials(tried, ALL)]


def test_rules_that_look_at_one_row_are_tried_together() -> None:
    """Whether they look at pods or not."""
    assert kinds(attempt(ROOM, NOT_A)) == [("BatchTrial", [0, 1, 2, 3])]


def test_rules_that_look_further_are_tried_row_by_row() -> None:
    """Unless they say that for this pod they do not."""
    assert kinds(attempt(ROOM, FAR)) == [("RowTrial", [0, 1, 2, 3])]
    near = msgspec.structs.replace(FAR.footprint, row_local=lambda pod, snapshot: True)
    assert kinds(attempt(ROOM, msgspec.structs.replace(FAR, footprint=near)))[0][0] == "BatchTrial"


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"priority": 9}, "RowTrial"),
        ({"priority": 4}, "BatchTrial"),
        ({"priority": 9, "affinity": BESIDE_OTHERS}, "RowTrial"),
    ],
    ids=["important", "lower", "with terms of affinity"],
)
def test_nodes_with_nominated_pods_are_tried_apart(fields: Any, kind: str) -> None:
    """With those that are important enough and without them; row by row where other rows may look at them."""
    tried = attempt(ROOM, NOT_A)
    tried.cache.nominate(make_pod("waiting", **fields), "b")
    tried.cache.nominate(make_pod("other"), "ghost")
    assert kinds(tried) == [("BatchTrial", [0, 2, 3]), (kind, [1])]


WHERE = np.ones(4, np.bool_)


@pytest.mark.parametrize("kind", [BatchTrial, RowTrial])
def test_pods_are_taken_away_and_put_back(kind: Any) -> None:
    """By their place, on the rows that are told."""
    trial = kind(attempt(ROOM, NOT_A), ALL)
    assert trial.fits(WHERE).tolist() == [False, False, False, True]
    trial.take_away(0, np.array([True, True, False, False]))
    assert trial.fits(WHERE).tolist() == [False, True, False, True]
    trial.put_back(0, np.array([False, True, False, False]))
    assert trial.fits(WHERE).tolist() == [False, False, False, True]


@pytest.mark.parametrize("kind", [BatchTrial, RowTrial])
def test_refusals_are_counted(kind: Any) -> None:
    """By the first rule that refuses a row; rows that fit have none."""
    trial = kind(attempt(NOT_A, ROOM), ALL)
    assert trial.refusals() == {"named": 1, "crowded": 2}
    trial.take_away(0, np.array([True, True, True, False]))
    assert trial.refusals() == {"named": 1}


@pytest.mark.parametrize("kind", [BatchTrial, RowTrial])
def test_where_a_rule_errs_the_pod_does_not_fit(kind: Any) -> None:
    """Whatever the error."""
    broken = FitPredicate("Broken", named("d", reason=NodeError("broken")))
    trial = kind(attempt(broken), ALL)
    assert trial.fits(WHERE).tolist() == [True, True, True, False]
    if kind is RowTrial:
        with pytest.raises(SchedulingError, match="broken"):
            trial.refusals()


def test_a_row_has_to_do_beside_nominated_pods_and_without() -> None:
    """Those that are at least as important count."""
    nodes = [make_node(name, allocatable=resources(cpu=1000, pods=2)) for name in "abcd"]
    two = FitPredicate("Two", lambda pod, snapshot: {"crowded": snapshot.pod_count >= 2})
    tried = attempt(two, cluster=(*nodes, *PODS))
    tried.cache.nominate(make_pod("equal", priority=5), "a")
    tried.cache.nominate(make_pod("lower", priority=4), "b")
    trial = RowTrial(tried, ALL)
    assert trial.fits(WHERE).tolist() == [False, True, True, True]
    assert trial.refusals() == {"crowded": 1}
    trial.take_away(0, np.array([True, False, False, False]))
    assert trial.fits(WHERE).tolist() == [True, True, True, True]
    trial.put_back(0, np.array([True, False, False, False]))
    assert trial.fits(WHERE).tolist() == [False, True, True, True]


def test_nominated_pods_are_no_company() -> None:
    """A rule that asks for pods on a node is not met by those that have yet to come."""
    company = FitPredicate("Company", lambda pod, snapshot: {"lonely": snapshot.pod_count < 1})
    tried = attempt(company)
    tried.cache.nominate(make_pod("equal", priority=5), "d")
    trial = RowTrial(tried, ALL)
    assert trial.fits(WHERE).tolist() == [True, True, True, False]
    assert trial.refusals() == {"lonely": 1}


def test_errors_beside_nominated_pods() -> None:
    """The pod does not fit there; where refusals are counted the first row's error is raised."""
    broken = [FitPredicate(f"Broken {at}", named(at, reason=NodeError(f"broken {at}"))) for at in "dc"]
    tried = attempt(*broken)
    tried.cache.nominate(make_pod("equal", priority=5), "a")
    trial = RowTrial(tried, ALL)
    assert trial.fits(WHERE).tolist() == [True, True, False, False]
    with pytest.raises(SchedulingError, match="broken c"):
        trial.refusals()


def test_only_the_rows_asked_about_are_tried() -> None:
    """One row at a time costs."""
    assert RowTrial(attempt(NOT_A), ALL).fits(np.array([True, True, False, False])).tolist() == [
        False,
        True,
        False,
        False,
    ]


def test_who_reads_pods() -> None:
    """Only what the rule says of itself counts, and of the pod where it says less for it."""
    info = cache_of().info(POD)
    narrow = msgspec.structs.replace(
        ROOM, footprint=msgspec.structs.replace(ROOM.footprint, narrow=lambda pod: Reads.NODE)
    )
    assert [reads_pods(rule, info) for rule in (ROOM, NOT_A, FAR, narrow)] == [True, False, True, False]
