"""Decisions of ``Scheduler.run`` on pods that are placed in bulk say what deciding each pod by itself says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clusterstate.errors import DecodeError, StaleDecisionError
from kubescheduler.api import replayed_runs
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.scheduler import Scheduler
from kubescheduler.core.bulk.placing_in_order import placed_in_order
from kubescheduler.core.decision import Decision
from kubescheduler.core.deferred_decision import DeferredDecision
from tests.support.rich_worlds import DrawnCluster
from tests.support.runs_of_pods import ENGINES, TIES, Runs, line, one, runs, sized, small, state_of, whole

PARTS = 2
"""In how many calls the pods are given."""


def scheduler_of(given: Runs, engine: str, tie: str) -> Scheduler:
    """A scheduler of the world's cluster."""
    world, chosen = given.world, ENGINES[engine]
    cluster = Cluster(*world.others, *world.nodes, *world.pods, release=chosen.release, validate="ignore")
    return Scheduler.of_engine(chosen, cluster, TIES[tie]())


def run_in_parts(scheduler: Scheduler, given: Runs) -> list[Decision]:
    """The decisions on all pods, which come in several calls."""
    size = -(-len(given.pods) // PARTS)
    parts = [given.pods[at : at + size] for at in range(0, len(given.pods), size)]
    return [decision for part in parts for decision in scheduler.run(*part).values()]


def plenty() -> Runs:
    """Forty pods that are alike, and room for them."""
    return Runs(
        DrawnCluster((sized("n0", 4000), sized("n1", 9000)), (), ()), tuple(small(f"p{at}") for at in range(40))
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_read_later_is_what_was_decided(engine: str) -> None:
    """Whatever is read of a decision after the run, in any order, is as if each pod had been decided by itself.

    The law says something only where decisions of runs are read, which has to happen.
    """
    read_of_runs = 0

    @settings(max_examples=25)
    @given(given_runs=runs(), tie=st.sampled_from(list(TIES)), picks=st.lists(st.integers(0, 59), max_size=5))
    @example(plenty(), "by name", [31, 7])
    def law(given_runs: Runs, tie: str, picks: list[int]) -> None:
        nonlocal read_of_runs
        plain, bulk = scheduler_of(given_runs, engine, tie), scheduler_of(given_runs, engine, tie)
        found = run_in_parts(bulk, given_runs)
        of_runs = [at for at, decision in enumerate(found) if isinstance(decision, DeferredDecision)]
        places = of_runs or range(len(found))
        wanted = list(dict.fromkeys(places[pick % len(places)] for pick in picks))
        expected = {}
        for at, pod in enumerate(given_runs.pods):
            decision = plain.running.decide(pod, in_sequence=True)
            assert (found[at].host, found[at].message) == (decision.host, decision.message)
            if at in wanted:
                expected[at] = whole(decision)
            if decision.host is not None:
                plain.bind(decision)
        for at in wanted:
            assert whole(found[at]) == expected[at]
            read_of_runs += isinstance(found[at], DeferredDecision)
        assert state_of(bulk.running) == state_of(plain.running)
        assert bulk.cluster.objects == plain.cluster.objects
        assert line(one(bulk.running, small("later"))) == line(one(plain.running, small("later")))

    law()
    assert read_of_runs


@pytest.mark.parametrize("engine", ["1.4", "1.16", "1.20", "1.36"])
def test_pods_that_are_alike_go_in_bulk(engine: str) -> None:
    """All of them but the node is worked out later; hints are those of the scheduler, for which the pod is bound."""
    scheduler = scheduler_of(plenty(), engine, "by name")
    found = scheduler.run(*plenty().pods)
    assert {type(decision) for decision in found.values()} == {DeferredDecision}
    last = found["default/p39"]
    with pytest.raises(DecodeError, match="to which it was bound"):
        last.hints(last.host)
    assert attrs.evolve(last, hinter=None).total() == last.total() != found["default/p0"].total()


def test_what_was_added_on_the_way_is_there_again() -> None:
    """Objects that came with earlier pods, and pods that were bound one by one, count."""
    scheduler = scheduler_of(plenty(), "1.16", "by name")
    service = {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}}}
    scheduler.run(small("first", cpu=3000), service)
    scheduler.bind(scheduler.decide(small("second", cpu=1000)))
    found = scheduler.run(*plenty().pods)["default/p20"]
    assert found.total()[found.host or ""] == max(found.total().values())


def test_a_cache_that_somebody_else_changed() -> None:
    """Nobody knows the cluster as it was then, and the decision says so."""
    scheduler = scheduler_of(plenty(), "1.16", "by name")
    scheduler.running.cache.add_pod(small("other").on("n0"))
    found = scheduler.run(*plenty().pods)["default/p3"]
    assert found.host is not None
    with pytest.raises(StaleDecisionError, match="changed by something else than the scheduler"):
        found.total()


@pytest.mark.parametrize("engine", ["1.16", "1.36"])
def test_a_run_is_repeated_with_the_same_draws(engine: str) -> None:
    """Among equal nodes, also when the last decision is read first."""
    given = Runs(DrawnCluster(tuple(sized(f"n{at}", 8000) for at in range(9)), (), ()), plenty().pods)
    plain, found = scheduler_of(given, engine, "random"), scheduler_of(given, engine, "random").run(*given.pods)
    expected = [whole(one(plain.running, pod)) for pod in given.pods[:24]]
    for at in (20, 7, 23, 2):
        assert whole(found[f"default/p{at}"]) == expected[at]


def test_reading_that_was_interrupted_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was repeated of the run by then counts for nothing."""
    found, undisturbed = (scheduler_of(plenty(), "1.16", "by name").run(*plenty().pods) for _ in range(2))
    found["default/p5"].total()

    def interrupted(*given: Any) -> Iterator[object]:
        yield from placed_in_order(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(replayed_runs, "placed_in_order", interrupted)
        with pytest.raises(KeyboardInterrupt):
            found["default/p20"].total()
    assert whole(found["default/p20"]) == whole(undisturbed["default/p20"])
