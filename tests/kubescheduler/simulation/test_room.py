"""How many more fit."""

from __future__ import annotations

import pytest

from kubescheduler.core.attempt import GenericScheduler
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.legacy_engine import algorithm_for
from kubescheduler.simulation.room import room_for
from tests.support.build import cache_of, make_node, make_pod, resources


def scheduler() -> GenericScheduler:
    nodes = [make_node(f"n{cpus}", allocatable=resources(cpu=1000 * cpus, memory=8 << 30, pods=5)) for cpus in (2, 9)]
    cache = cache_of([*nodes, make_pod("there", node="n2", requests=resources(cpu=500))])
    return GenericScheduler(algorithm_for(EngineFlags(), None, None), cache)


def test_copies_are_placed_until_none_fits() -> None:
    """The reasons are those of the one that found no room; the cluster is as before."""
    engine, pod = scheduler(), make_pod("p", requests=resources(cpu=1000))
    before = engine.decide(pod).total()
    room = room_for(pod, engine)
    assert (room.count, room.placed) == (6, {"n9": 5, "n2": 1})
    assert room.by_node() == {"n2": (1, ["Insufficient cpu"]), "n9": (5, ["Insufficient pods"])}
    assert [p.metadata.name for p in engine.cache.pods()] == ["there"]
    assert engine.decide(pod).total() == before
    assert room_for(pod, engine).count == 6


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (4, 4), (6, 6), (7, 6)])
def test_a_limit(limit: int, count: int) -> None:
    """Reaching it says nothing of what would stop the next one."""
    room = room_for(make_pod("p", requests=resources(cpu=1000)), scheduler(), limit=limit)
    assert room.count == count
    assert (room.stopped is None) == (limit <= count)
    assert set(room.by_node()) <= {"n2", "n9"}


def test_nothing_is_left_behind_when_it_is_interrupted() -> None:
    """Ctrl-C in the middle."""

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    engine = scheduler()
    with pytest.raises(KeyboardInterrupt):
        room_for(make_pod("p"), engine, progress=interrupt)
    assert [p.metadata.name for p in engine.cache.pods()] == ["there"]
