"""Verdicts brought up to date row by row: the same as judging every row anew."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.changes import Reads
from clusterstate.growable import Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import PodChange, Snapshot
from kubescheduler.core.nominated.nominated_judging import judge_rows, judge_with_added
from kubescheduler.core.verdicts import CheckState, Refreshes
from kubescheduler.engine.engine_contract import cache_for
from kubescheduler.engine.spec import EngineSpec
from predicates.types import FitPredicate, NodeError, Verdict
from tests.support.build import make_node, make_pod, resources

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
@settings(max_examples=40)
@given(given_steps=steps)
def test_rows_with_equal_amounts_are_judged_alike(release: str, given_steps: list[Any]) -> None:
    """Few rows at a time, by what was said of others; masks handed out before stay as they were."""
    world = Changing(release)
    (predicate,) = world.fitting()
    info = world.cache.info(ASKING)
    kept = CheckState(predicate, info)
    late: list[tuple[Mask, Mask]] = []
    assert kept.by_usage is not None
    for step in [[], *given_steps]:
        for change in step:
            world.run(*change)
        snapshot, log = world.cache.snapshot(), world.cache.columns.log
        kept.refresh(info, Refreshes(snapshot, log))
        fresh = CheckState(predicate, info)
        fresh.refresh(info, Refreshes(snapshot, log))
        assert said(kept) == said(fresh)
        assert (kept.failing is None) == (fresh.failing is None)
        assert [kept.row_verdict(row) for row in range(NODES)] == [fresh.row_verdict(row) for row in range(NODES)]
        handed = [kept.failing, kept.unresolvable, *kept.verdict.values()]
        late += [(mask, mask.copy()) for mask in handed if mask is not None]
    assert all((mask == before).all() for mask, before in late)


@RELEASES
@settings(max_examples=25)
@given(given_steps=steps, waiting=st.dictionaries(rows, st.lists(amounts, min_size=1, max_size=2), max_size=20))
def test_few_rows_beside_pods_are_judged_as_many(release: str, given_steps: list[Any], waiting: dict[int, Any]) -> None:
    """By amounts and by what is remembered of rules that look at no pods, or by running every rule."""
    world = Changing(release)
    for change in (change for step in given_steps for change in step):
        world.run(*change)
    snapshot, log, info = world.cache.snapshot(), world.cache.columns.log, world.cache.info(ASKING)
    rules = [FitPredicate("Even", even, unresolvable=lambda reason: reason == "even"), *world.fitting()]
    checks = [CheckState(msgspec.structs.replace(rules[0], reads=Reads.NODE), info), CheckState(rules[1], info)]
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
        assert judge_with_added(info, snapshot, beside, checks, every) == expected


def even(_: PodInfo, snapshot: Snapshot) -> Verdict:
    """Refuses even rows, beyond help, and errs on every sixth."""
    numbers = snapshot.row_numbers
    return {NodeError("sixth"): numbers % 6 == 0, "even": numbers % 2 == 0}
