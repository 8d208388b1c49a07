"""Verdicts brought up to date row by row: the same as judging every row anew."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, TopologyScope, every_sign
from clusterstate.growable import IntArray, Mask
from clusterstate.pod_counts import Tally
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import PodChange, Snapshot
from kubescheduler.core.answers import CheckState, Refreshes, ScoreState
from kubescheduler.core.nominated import judge_rows
from kubescheduler.engine.spec import EngineSpec, cache_for
from predicates.types import FitPredicate, NodeError, Verdict
from priorities.types import PriorityConfig
from tests.support.build import Cluster, make_node, make_pod, resources

NODES = 24
RELEASES = pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
FITTING = ("NodeResourcesFit", "GeneralPredicates", "PodFitsResources")
ASKING = make_pod("in", priority=5, requests=resources(cpu=2500, memory=1))

amounts = st.sampled_from([500, 2000, 4000])
rows = st.integers(0, NODES - 1)
steps = st.lists(
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), rows, amounts),
            st.tuples(st.just("remove"), st.integers(0, 40)),
            st.tuples(st.just("node"), rows, st.sampled_from([2000, 4000])),
        ),
        min_size=1,
        max_size=3,
    ),
    max_size=8,
)
"""What happens between one look and the next."""


class Changing:
    """Nodes, and pods that come and go."""

    def __init__(self, release: str) -> None:
        self.engine = EngineSpec.parse(f"release={release}").engine(lambda _: None)
        self.cache: ClusterCache = cache_for(self.engine, [self.node(at, 4000) for at in range(NODES)])
        self._made = 0

    @staticmethod
    def node(at: int, cpu: int) -> Any:
        return make_node(f"n{at}", allocatable=resources(cpu=cpu, memory=8 << 30, pods=3))

    def run(self, what: str, *given_parts: Any) -> None:
        if what == "add":
            at, cpu = given_parts
            self._made += 1
            self.cache.add_pod(make_pod(f"p{self._made}", node=f"n{at}", requests=resources(cpu=cpu)))
        elif what == "node":
            self.cache.add_node(self.node(*given_parts))
        elif there := self.cache.pods():
            self.cache.remove_pod(there[given_parts[0] % len(there)])

    def fitting(self) -> list[FitPredicate]:
        predicates = self.engine.scheduler(self.cache).algorithm.predicates
        return [predicate for predicate in predicates if predicate.name in FITTING]


def said(state: CheckState) -> dict[str, Any]:
    """What a state says of all rows; a mask that is left out says that no row is set."""
    nowhere = np.zeros(NODES, np.bool_)
    masks: dict[str, Mask | None] = {f"reason {reason}": mask for reason, mask in state.verdict.items()}
    masks |= {"failing": state.failing, "beyond": state.unresolvable}
    return {name: (nowhere if mask is None else mask).tolist() for name, mask in masks.items()}


@RELEASES
@given(given_steps=steps)
def test_rows_with_equal_amounts_are_judged_alike(release: str, given_steps: list[Any]) -> None:
    """Few rows at a time, by what was said of others; masks handed out before stay as they were."""
    world = Changing(release)
    (predicate,) = world.fitting()
    info = world.cache.info(ASKING)
    kept = CheckState(predicate, info)
    late: list[tuple[Mask, Mask]] = []
    for step in [[], *given_steps]:
        for change in step:
            world.run(*change)
        snapshot, log = world.cache.snapshot(), world.cache.columns.log
        kept.refresh(info, Refreshes(snapshot, log))
        fresh = CheckState(predicate, info)
        fresh.refresh(info, Refreshes(snapshot, log))
        assert said(kept) == said(fresh)
        assert (kept.failing is None) == (fresh.failing is None)
        handed = [kept.failing, kept.unresolvable, *kept.verdict.values()]
        late += [(mask, mask.copy()) for mask in handed if mask is not None]
    assert all((mask == before).all() for mask, before in late)


@RELEASES
@given(given_steps=steps, waiting=st.dictionaries(rows, st.lists(amounts, min_size=1, max_size=2), max_size=20))
def test_rows_beside_pods_are_judged_by_what_is_remembered(
    release: str, given_steps: list[Any], waiting: dict[int, Any]
) -> None:
    """Rules that look at no pods are not run again: the same as running every rule."""
    world = Changing(release)
    for change in (change for step in given_steps for change in step):
        world.run(*change)
    snapshot, log, info = world.cache.snapshot(), world.cache.columns.log, world.cache.info(ASKING)
    rules = [FitPredicate("Even", even, unresolvable=lambda reason: reason == "even"), *world.fitting()]
    checks = [
        CheckState(msgspec.structs.replace(rules[0], footprint=Footprint(Reads.NODE)), info),
        CheckState(rules[1], info),
    ]
    for check in checks:
        check.refresh(info, Refreshes(snapshot, log))
    beside = {
        row: [
            PodChange(row, world.cache.info(make_pod("w", requests=resources(cpu=cpu))), 1, nominated=True)
            for cpu in cpus
        ]
        for row, cpus in waiting.items()
    }
    added = [change for changes in beside.values() for change in changes]
    for every in (False, True):
        there = snapshot.take(np.array(list(beside), np.int64)).what_if(added)
        expected = judge_rows(info, there, [CheckState(rule, info) for rule in rules], every=every)
        assert judge_rows(info, there, checks, every=every) == expected


def even(_: PodInfo, snapshot: Snapshot) -> Verdict:
    """Refuses even rows, beyond help, and errs on every sixth."""
    numbers = snapshot.row_numbers
    return {NodeError("sixth"): numbers % 6 == 0, "even": numbers % 2 == 0}


class ByZone:
    """A rule of the pods of app a in a node's zone, of how many pods the node has, and of how often it has changed its
    mind; and what is remembered of it, as a check and as a score."""

    def __init__(self, reads: Reads) -> None:
        nodes = [make_node(f"n{at}", {"zone": f"z{at // 2}"}) for at in range(NODES)]
        self.cluster = Cluster(nodes)
        self.info = self.cluster.info(make_pod())
        self.minds = 0
        self.looked_at: list[int] = []
        self.check = FitPredicate("A", self.verdict, Footprint(reads, scope=self.scope))
        self.score = PriorityConfig("A", self.numbers, footprint=Footprint(reads, scope=self.scope))
        self.reads = reads
        self.kept = CheckState(self.check, self.info), ScoreState(self.score, self.info)

    def tally(self, snapshot: Snapshot) -> Tally:
        return snapshot.tally("a", "zone", lambda info: int(info.labels.get("app") == "a"))

    def scope(self, _: PodInfo, snapshot: Snapshot) -> TopologyScope:
        return TopologyScope(snapshot, [self.tally(snapshot)], every_sign)

    def numbers(self, _: PodInfo, snapshot: Snapshot) -> IntArray:
        self.looked_at.append(len(snapshot))
        near: IntArray = (snapshot.counts(self.tally(snapshot)) > 0).astype(np.int64)
        own = snapshot.pod_count if self.reads & Reads.PODS else 0
        return (near + own + self.minds) % 2

    def verdict(self, pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return {"no": self.numbers(pod, snapshot) == 1}

    def changes_its_mind(self) -> None:
        self.minds += 1
        self.cluster.columns.log.whole(Reads.NAMESPACES)

    def comes(self, row: int, app: str = "a") -> None:
        self.cluster.columns.put_pod(row, make_pod(f"p{row}", {"app": app}), f"p{row}")

    def goes(self, row: int) -> None:
        self.cluster.columns.take_pod(row, f"p{row}")

    def look(self) -> list[int]:
        """How many rows the check and the score were run on, which are compared with what they say of all."""
        self.looked_at = []
        snapshot, log = self.cluster.snapshot, self.cluster.columns.log
        for state in self.kept:
            state.refresh(self.info, Refreshes(snapshot, log))
        found = list(self.looked_at)
        check, score = self.kept
        numbers = self.numbers(self.info, snapshot).tolist()
        assert score.raw.tolist() == numbers
        assert said(check)["failing"] == [number == 1 for number in numbers]
        return found

    def known(self) -> ByZone:
        """The same, once it was looked at as a whole twice."""
        for row in (20, 22):
            self.comes(row)
            assert self.look() == [NODES] * 2
        return self


def test_rows_that_see_the_same_pods_are_checked_once_until_something_else_changes() -> None:
    """What a check said of single rows is forgotten once all are looked at; scores are asked for each."""
    world = ByZone(Reads.ALL_PODS | Reads.NAMESPACES).known()
    for step, row, rows in (
        (world.comes, 0, [1, 2]),
        (world.goes, 0, [1, 2]),
        (world.comes, 2, [2]),
        (world.goes, 2, [2]),
    ):
        step(row)
        assert world.look() == rows
    world.changes_its_mind()
    assert world.look() == [NODES] * 2
    for step in (world.comes, world.goes):
        step(0)
        assert world.look() == [1, 2]


def test_a_rule_that_reads_the_pods_of_a_row_and_of_its_domain() -> None:
    """A pod that does not count for the domain changes its own row; where many have come, every row is looked at."""
    world = ByZone(Reads.PODS | Reads.ALL_PODS).known()
    for row, app, rows in ((5, "b", 1), (8, "a", 2), (9, "a", 1)):
        world.comes(row, app)
        assert world.look() == [rows] * 2
    for row in range(10, 16):
        world.comes(row, "b")
    assert world.look() == [NODES] * 2


def test_everything_is_looked_at_again_after_an_error() -> None:
    """Also where domains are as they were."""
    world = ByZone(Reads.ALL_PODS).known()
    for state in world.kept:
        state.forget()
    world.comes(0, "b")
    assert world.look() == [NODES] * 2
