"""The pods of nodes in order of importance, and which nodes are alike."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.errors import ClusterStateError, DecodeError
from clusterstate.hypothetical import (
    NOBODY,
    NOW,
    BeyondRowsError,
    ClassesOfRun,
    PodsByImportance,
    RowOverlay,
    by_importance,
    by_priority,
    started,
)
from clusterstate.objects import Affinity, ObjectMeta, Pod, PodAffinity
from clusterstate.pod_counts import Tally
from clusterstate.podinfo import PodInfo
from tests.support.build import cache_of, make_node, make_pod, resources


def pod(name: str, node: str = "a", priority: int = 0, start: int | None = None, cpu: int = 100) -> Pod:
    """start: seconds."""
    made = make_pod(name, node=node, priority=priority, requests=resources(cpu=cpu))
    return msgspec.structs.replace(made, start_time=None if start is None else f"1970-01-01T00:00:{start:02}Z")


def names(pods: Any) -> str:
    return "".join(p.metadata.name for p in pods)


def roster(cache: ClusterCache) -> PodsByImportance:
    return PodsByImportance(cache.columns).refresh()


@pytest.mark.parametrize(
    ("pods", "order"),
    [
        ([pod("x", priority=1), pod("y", priority=3), pod("z", priority=2)], "yzx"),
        ([pod("x", start=9), pod("y", start=3), pod("z", start=5)], "yzx"),
        ([pod("x", start=3), pod("y", start=3)], "xy"),
        ([pod("x"), pod("y"), pod("z", start=50)], "zyx"),
        ([pod("x", priority=-1, start=1), pod("y")], "yx"),
        ([], ""),
    ],
    ids=["priority", "start", "arrival", "no start", "below zero", "nobody"],
)
def test_importance(pods: list[Pod], order: str) -> None:
    """Priority first, then the earlier start; who does not say when it started comes last."""
    assert names(by_importance(pods)) == order


def test_up_to_1_13_starts_do_not_count() -> None:
    """Pods of one priority stay as they came."""
    pods = [make_pod("a", priority=1), make_pod("b", priority=2), make_pod("c", priority=1)]
    assert [pod.metadata.name for pod in by_priority(pods)] == ["b", "a", "c"]


def test_places_by_row() -> None:
    """The k-th most important pod of every node; rows with fewer pods have empty places."""
    cache = cache_of([make_node("a"), make_node("b"), pod("x", priority=2, start=3), pod("y"), pod("z", "b")])
    made = roster(cache)
    assert [names(there) for there in made.pods] == ["xy", "z"]
    assert made.priorities.tolist() == [[2, 0], [0, 0]]
    assert made.starts.tolist()[0] == [3.0, NOW]
    assert made.codes.tolist()[1] == [made.codes[1, 0], NOBODY]
    assert made.codes[1, 0] == made.codes[0, 1]
    assert made.infos[NOBODY] is None
    assert made.infos[made.codes[0, 0]] is cache.info(pod("x", priority=2))


ROOM = resources(cpu=1000, pods=5)
ALIKE = [make_node(name, {"zone": name}, allocatable=ROOM) for name in "abc"]


@pytest.mark.parametrize(
    ("more", "alike"),
    [
        ([], ["abc"]),
        ([pod("x"), pod("y", "b"), pod("z", "c")], ["abc"]),
        ([pod("x"), pod("y", "b")], ["ab", "c"]),
        ([pod("x"), pod("y", "b", cpu=200), pod("z", "c")], ["ac", "b"]),
        ([pod("x"), pod("y", "b", priority=1), pod("z", "c", start=5)], ["ac", "b"]),
        (
            [pod("x", cpu=1, start=1), pod("x2", start=2), pod("y", "b", cpu=1, start=2), pod("y2", "b", start=1)],
            ["a", "b", "c"],
        ),
        ([make_node("d", allocatable=ROOM), make_node("e", allocatable=resources(cpu=1000, pods=6))], ["abcd", "e"]),
        ([make_node("d", allocatable=resources(cpu=999, pods=5))], ["abc", "d"]),
    ],
    ids=[
        "empty",
        "equal pods",
        "fewer",
        "another class",
        "another priority",
        "another order",
        "fewer pods",
        "less cpu",
    ],
)
def test_alike(more: list[Any], alike: list[str]) -> None:
    """Equal pods in the same order, and equal amounts; labels and starts do not matter."""
    made = roster(cache_of([*ALIKE, *more]))
    groups: dict[int, str] = {}
    for row, of in enumerate(made.row_classes.tolist()):
        groups[of] = groups.get(of, "") + "abcde"[row]
    assert sorted(groups.values()) == alike


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.sampled_from([100, 200]), st.booleans()), max_size=9
    )
)
def test_law_of_refreshing(steps: list[tuple[str, int, int, bool]]) -> None:
    """What was brought up to date step by step is what is read at once."""
    cache = cache_of(ALIKE)
    made = roster(cache)
    for at, (node, priority, cpu, leaves) in enumerate(steps):
        cache.add_pod(pod(f"p{at}", node, priority, at, cpu))
        if leaves:
            cache.remove_pod(cache.pods()[0])
        made.refresh()
        fresh = roster(cache)
        assert [names(there) for there in made.pods] == [names(there) for there in fresh.pods]
        places = fresh.codes.shape[0]
        assert made.priorities[:places][made.codes[:places] > 0].tolist() == fresh.priorities[fresh.codes > 0].tolist()
        assert (made.codes[places:] == NOBODY).all()
        kinds = [tuple((row_classes == row).tolist()) for row_classes in (made.row_classes,) for row in row_classes]
        assert kinds == [tuple((fresh.row_classes == row).tolist()) for row in fresh.row_classes]


def test_amounts_and_tests_by_class() -> None:
    """What a pod of each class takes, and the places where a class passes a test, asked once of each that is there."""
    cache = cache_of([*ALIKE, pod("p", "a", cpu=100), pod("q", "b", cpu=300), pod("r", "b", cpu=100)])
    made, asked = roster(cache), []
    assert sorted(made.used(1)[0].tolist()) == [0, 100, 300]
    row = cache.columns.row_of["b"]

    def is_large(info: PodInfo) -> bool:
        asked.append(info)
        return info.usage.used["cpu"] > 200

    there = [name.metadata.name for name in made.pods[row]]
    assert made.select(np.array([row]), is_large)[:, 0].tolist() == [name == "q" for name in there]
    assert len(asked) == 2


@pytest.mark.parametrize("text", ["1e400", "", "yesterday", "2020-13-01T00:00:00Z"])
def test_a_start_that_is_no_time(text: str) -> None:
    """It is a fault of the pod, in words."""
    with pytest.raises(DecodeError, match=r"status\.startTime: must be a time"):
        started(Pod(ObjectMeta("p", "x"), start_time=text))


def test_a_pod_that_started_at_no_time_is_a_fault_until_it_has_left() -> None:
    """Each time, and the pods that came meanwhile are all there once it is gone."""
    cache = cache_of([*ALIKE, pod("x")])
    made = roster(cache)
    faulty = Pod(ObjectMeta("y", "x", "y"), node_name="a", start_time="yesterday")
    for one in (pod("w", "b"), faulty, pod("z", "c")):
        cache.add_pod(one)
    for _ in range(2):
        with pytest.raises(DecodeError, match="Pod x/y"):
            made.refresh()
    cache.remove_pod(faulty)
    made.refresh()
    assert [names(there) for there in made.pods] == ["x", "w", "z"]
    assert [int((made.codes[:, row] > NOBODY).sum()) for row in range(3)] == [1, 1, 1]


NODES = ("a", "b", "c")
PODS = st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(["web", "db"]), st.integers(0, 3)), max_size=6)


def made(name: str, node: str, app: str, cpu: int) -> Pod:
    """A pod; none has the priority of another, so that each has a place of its own."""
    return make_pod(name, {"app": app}, node=node, requests=resources(cpu=100 * cpu), priority=int(name[1:]))


def cluster(placed: list[Pod]) -> ClusterCache:
    """Nodes a, b and c with some pods."""
    return cache_of([*map(make_node, NODES), *placed])


def web(info: PodInfo) -> int:
    """1 for pods of web."""
    return int(info.labels.get("app") == "web")


@given(PODS, st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)))
def test_rows_without_some_pods(there: list[tuple[str, str, int]], gone: set[int], back: set[int]) -> None:
    """Amounts, the number of pods and counts by node; of those that are put back as well."""
    placed = [made(f"p{at}", *one) for at, one in enumerate(there)]
    cache = cluster(placed)
    roster = PodsByImportance(cache.columns).refresh()
    rows = np.array([2, 0, 1])
    found = RowOverlay(cache.snapshot(), rows, roster)
    for at, pod in enumerate(placed):
        row = cache.columns.row_of[pod.node_name]
        place, where = list(roster.pods[row]).index(pod), rows == row
        if at in gone:
            found.take_away(place, where)
        if at in gone & back:
            found.put_back(place, where)
    left = [pod for at, pod in enumerate(placed) if at not in gone - back]
    expected = cluster(left).snapshot().take(rows)
    assert found.requested.tolist() == expected.requested.tolist()
    assert found.nonzero.tolist() == expected.nonzero.tolist()
    assert found.pod_count.tolist() == expected.pod_count.tolist()
    assert (
        found.counts(found.tally("web", None, web)).tolist()
        == expected.counts(expected.tally("web", None, web)).tolist()
    )


def test_a_count_over_a_topology_is_refused() -> None:
    """Each row is known by itself."""
    cache = cluster([made("p1", "a", "web", 1)])
    found = RowOverlay(cache.snapshot(), np.array([0]), PodsByImportance(cache.columns).refresh())
    with pytest.raises(ClusterStateError, match="a topology cannot be counted"):
        found.counts(found.tally("zone", "zone", web))


CACHE = cache_of()


def info(name: str, **spec: object) -> PodInfo:
    return CACHE.info(make_pod("p", {"name": name}, **spec))  # type: ignore[arg-type]


def counting(*names: str) -> Tally:
    """A tally of the pods of some names."""
    return Tally(None, lambda one: int(one.labels["name"] in names))


def test_a_class_that_counts_alike_is_admitted() -> None:
    """As long as nothing was counted, any class is; then those that add the same to everything that was."""
    classes = ClassesOfRun([info("a"), info("b")])
    assert classes.admits(info("c"))
    assert classes.weight(counting("a", "b", "c")) == 1
    assert not classes.admits(info("d"))
    assert classes.admits(info("a"))
    assert classes.weight(counting("d")) == 0


def test_what_is_counted_for_the_first_time_counts_for_all() -> None:
    """A class that was admitted before, and adds something else, is found out."""
    classes = ClassesOfRun([info("a")])
    assert classes.admits(info("b"))
    with pytest.raises(BeyondRowsError, match="do not count alike"):
        classes.weight(counting("a"))


def test_pods_with_affinity_are_not_admitted() -> None:
    """They may matter to where others go."""
    classes = ClassesOfRun([info("a")])
    assert not classes.may_have_affinity
    assert not classes.admits(info("a", affinity=Affinity(pod_affinity=PodAffinity())))
