"""The mutable cluster: its states, its texts, and that its columns stay what they would be from scratch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.errors import ClusterStateError
from clusterstate.objects import Affinity, LabelSelector, PodAffinity, PodAffinityTerm
from clusterstate.podinfo import PodInfo
from tests.support.build import cache_of, labels, make_node, make_pod, resources

ZONE = "zone"


def test_an_assumed_pod_is_confirmed_by_adding_it() -> None:
    """Adding an assumed pod makes it an added one, on the node it says."""
    cache = cache_of([make_node("a"), make_node("b")])
    placed = cache.assume_pod(make_pod(), "a")
    assert cache.is_assumed(placed)
    cache.add_pod(make_pod(node="b"))
    assert not cache.is_assumed(placed)
    assert [pod.node_name for pod in cache.pods()] == ["b"]


def test_a_placed_pod_is_found_by_its_identity() -> None:
    """Assumed or added, as it runs; nothing once it is gone."""
    cache = cache_of([make_node("a"), make_node("b")])
    placed = cache.assume_pod(make_pod(), "a")
    uid = placed.metadata.uid
    assert cache.placed(uid) is placed
    cache.add_pod(added := make_pod(node="b"))
    assert cache.placed(uid) is added
    cache.remove_pod(added)
    assert cache.placed(uid) is None


def test_classes_without_placed_pods_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first pod comes and after the last has left; so many of them, without those that have pods."""
    monkeypatch.setattr("clusterstate.columns.RECENT_CLASSES", 2)
    cache = cache_of([make_node("a")])
    pods = [make_pod(f"p{at}", priority=at) for at in range(3)]
    second, first = map(cache.info, pods[1::-1])
    placed = cache.assume_pod(pods[0], "a")
    third = cache.info(pods[2])
    assert (cache.info(pods[0]), cache.info(pods[1])) == (first, second)
    cache.forget_pod(placed)
    assert (cache.info(pods[0]), cache.info(pods[2])) == (first, third)
    assert cache.info(pods[1]) is not second


def test_the_class_of_a_pod_is_the_one_that_is_placed() -> None:
    """Also where the pod's class was asked for just before another record of the class was placed."""
    cache = cache_of([make_node("a")])
    pod, placed = make_pod("p"), make_pod("q", node="a")
    forgotten = cache.info(pod)
    first = PodInfo(forgotten.key, forgotten.usage, forgotten.used)
    cache.columns.put_pods([0], [placed], ["q"], [first])
    assert cache.info(pod) is first


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda c, p: c.assume_pod(p, "a"), "pod default/p is in the cache, so can't be assumed"),
        (lambda c, p: c.add_pod(p), "pod default/p was already in added state"),
        (lambda c, p: c.forget_pod(p), "pod default/p wasn't assumed so cannot be forgotten"),
        (
            lambda c, p: c.update_pod(make_pod("q")),
            "pod default/q is not added to scheduler cache, so cannot be updated",
        ),
        (
            lambda c, p: c.remove_pod(make_pod("q")),
            "pod default/q is not found in scheduler cache, so cannot be removed from it",
        ),
        (lambda c, p: c.remove_node("z"), "node z is not found"),
    ],
    ids=["assume twice", "add twice", "forget an added one", "update unknown", "remove unknown", "remove unknown node"],
)
def test_what_does_not_fit_the_state_is_refused_in_upstreams_words(act: Any, text: str) -> None:
    """Each refused operation says what upstream's cache says."""
    cache = cache_of([make_node("a"), make_pod(node="a")])
    with pytest.raises(ClusterStateError, match=f"^{text}$"):
        act(cache, make_pod(node="a"))


def test_pods_outlive_their_node_and_are_there_when_it_returns() -> None:
    """A removed node leaves its pods; the row is given back with the last of them."""
    cache = cache_of([make_node("a"), make_pod(node="a", requests=resources(cpu=100))])
    cache.remove_node("a")
    assert cache.columns.node_count == 0
    assert not cache.snapshot().has_node.any()
    cache.add(make_node("a"))
    assert cache.snapshot().requested[0].tolist() == [100]
    cache.remove_pod(make_pod(node="a"))
    cache.remove_node("a")
    assert "a" not in cache.columns.row_of


def test_terminated_pods_are_not_seen() -> None:
    """Pods in phase Succeeded or Failed never reach the cache."""
    import msgspec

    done = msgspec.structs.replace(make_pod(node="a"), phase="Succeeded")
    assert cache_of([make_node("a"), done]).pods() == []


def test_a_nomination_ends_when_the_pod_is_placed() -> None:
    """Assuming a nominated pod takes its nomination back."""
    cache = cache_of([make_node("a"), make_pod(nominated="a")])
    assert [pod.key for pod in cache.nominated()["a"]] == ["default/p"]
    cache.assume_pod(make_pod(), "a")
    assert cache.nominated() == {}


def test_a_nomination_ends_when_the_pod_is_removed() -> None:
    """A pod that is bound while it waits for another node keeps its nomination until then."""
    cache = cache_of([make_node("a"), make_node("b"), make_pod(nominated="a")])
    cache.add_pod(make_pod(node="b"))
    assert list(cache.nominated()) == ["a"]
    cache.remove_pod(make_pod(node="b"))
    assert cache.nominated() == {}


def test_amounts_beyond_64_bits_go_round() -> None:
    """One by one as all at once, and back again."""
    large = [make_pod(f"p{i}", requests=resources(memory=1 << 62), node="a") for i in range(3)]
    cache, at_once = cache_of([make_node("a")]), cache_of([make_node("a"), *large])
    for pod in large:
        cache.add_pod(pod)
    for columns in (cache.columns, at_once.columns):
        assert columns.requested.view[:, 0].tolist() == [0, -(1 << 62), 0]
        assert columns.nonzero.view[1, 0] == -(1 << 62)
    for pod in large:
        cache.remove_pod(pod)
    assert not cache.columns.requested.view.any()
    assert not cache.columns.nonzero.view.any()


# --- incremental equals from scratch -----------------------------------------------------------

NODES = ("a", "b", "c")
TERM = PodAffinityTerm(ZONE, LabelSelector(labels({"app": "x"})))
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["assume", "confirm", "forget", "add", "update", "remove", "node", "gone", "nominate"]),
        st.integers(0, 5),
        st.sampled_from(NODES),
        st.sampled_from(["x", "y"]),
    ),
    max_size=40,
)


def _pod(number: int, app: str) -> Any:
    affinity = Affinity(pod_anti_affinity=PodAffinity((TERM,))) if number % 2 else None
    return make_pod(f"p{number}", {"app": app}, requests=resources(cpu=100 * number, memory=number), affinity=affinity)


def _apply(cache: ClusterCache, step: tuple[str, int, str, str]) -> None:
    """One step, where the state allows it."""
    what, number, node, app = step
    pod = _pod(number, app)
    placed = {p.metadata.uid: p for p in cache.pods()}
    here = placed.get(pod.metadata.uid)
    match what:
        case "assume" if here is None:
            cache.assume_pod(pod, node)
        case "confirm" if here is not None and cache.is_assumed(here):
            cache.add_pod(here)
        case "forget" if here is not None and cache.is_assumed(here):
            cache.forget_pod(here)
        case "add" if here is None:
            cache.add_pod(make_pod(f"p{number}", {"app": app}, node=node))
        case "update" if here is not None and not cache.is_assumed(here):
            cache.update_pod(_pod(number, app).on(node))
        case "remove" if here is not None and not cache.is_assumed(here):
            cache.remove_pod(here)
        case "node":
            cache.add(make_node(node, {ZONE: app}))
        case "gone" if cache.columns.nodes[cache.columns.row(node)] is not None:
            cache.remove_node(node)
        case "nominate":
            cache.nominate(pod, node)


def _apps(info: Any) -> int:
    return 1 if info.labels.get("app") == "x" else 0


def _terms(info: Any) -> int:
    return len(info.required_anti_affinity)


def _seen(cache: ClusterCache) -> dict[str, Any]:
    """Everything the columns say, by node name."""
    snapshot = cache.snapshot()
    by_node = snapshot.counts(snapshot.tally("apps", None, _apps))
    by_zone = snapshot.counts(snapshot.tally("terms", ZONE, _terms))
    return {
        name: (
            bool(snapshot.has_node[row]),
            snapshot.allocatable[:, row].tolist(),
            snapshot.requested[:, row].tolist(),
            snapshot.nonzero[:, row].tolist(),
            int(snapshot.pod_count[row]),
            int(by_node[row]),
            int(by_zone[row]),
        )
        for row, name in enumerate(snapshot.names)
        if name and (snapshot.has_node[row] or snapshot.pod_count[row])
    }


@given(STEPS)
def test_columns_after_any_steps_equal_columns_from_scratch(steps: list[tuple[str, int, str, str]]) -> None:
    """Counts asked for early and kept current are those that a fresh cache would count."""
    cache = cache_of()
    _seen(cache)
    for step in steps:
        _apply(cache, step)
    fresh = cache_of([node for node in cache.columns.nodes if node is not None])
    for pod in cache.pods():
        fresh.add_pod(pod)
    assert _seen(cache) == _seen(fresh)


def _orders(cache: ClusterCache) -> tuple[Any, ...]:
    """In what order the pods, the classes and their rows are found."""
    columns = cache.columns
    rows = [list(pods.values()) for pods in columns.pods]
    classes = [(info.key, list(info.rows.items())) for info in columns.infos.values()]
    in_order = [info.key for info in sorted(columns.infos.values(), key=lambda info: info.serial)]
    return cache.pods(), rows, classes, in_order


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(NODES), st.sampled_from(["x", "y"])), max_size=12),
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(NODES), st.sampled_from(["x", "y"])), max_size=12),
)
def test_confirming_a_pod_is_as_forgetting_and_adding_it(
    assumed: list[tuple[int, str, str]], seen: list[tuple[int, str, str]]
) -> None:
    """Columns and orders are the same, and the row counts as changed, on the same node or on another one, as it was
    assumed or with other labels."""
    nodes = [make_node(name, {ZONE: name}) for name in NODES[:2]]
    confirmed, anew = cache_of(nodes), cache_of(nodes)
    for number, node, app in assumed:
        pod = make_pod(f"p{number}", {"app": app}, requests=resources(cpu=1))
        for cache in (confirmed, anew):
            if pod not in cache:
                cache.assume_pod(pod, node)
    for number, node, app in seen:
        pod = make_pod(f"p{number}", {"app": app}, requests=resources(cpu=1), node=node)
        here = confirmed.placed(make_pod(f"p{number}").metadata.uid)
        if here is not None and confirmed.is_assumed(here):
            position = confirmed.columns.log.position
            confirmed.add_pod(pod)
            assert (confirmed.columns.row(node), 2) in (confirmed.columns.log.since(position) or [])
            anew.forget_pod(here)
            anew.add_pod(pod)
    assert _seen(confirmed) == _seen(anew)
    assert _orders(confirmed) == _orders(anew)


@given(STEPS)
def test_a_snapshot_of_some_rows_is_those_rows_of_the_whole(steps: list[tuple[str, int, str, str]]) -> None:
    """Taking rows commutes with every column."""
    cache = cache_of([make_node(name, {ZONE: name}) for name in NODES])
    for step in steps:
        _apply(cache, step)
    whole = cache.snapshot()
    rows = np.arange(len(whole))[::-2].copy()
    part = whole.take(rows)
    for column in ("allocatable", "requested", "nonzero", "pod_count", "allowed_pods", "has_node"):
        assert np.array_equal(getattr(part, column), getattr(whole, column)[..., rows]), column
    tally = whole.tally("terms", ZONE, _terms)
    assert np.array_equal(part.counts(tally), whole.counts(tally)[rows])
