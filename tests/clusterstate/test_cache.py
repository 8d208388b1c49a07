"""The mutable cluster: its states, its texts, and that its columns stay what they would be from scratch."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache, NominatedPods
from clusterstate.errors import ClusterStateError
from clusterstate.objects import Affinity, ContainerImage, LabelSelector, Pod, PodAffinity, PodAffinityTerm
from clusterstate.podinfo import PodInfo
from kubescheduler.releases import v1_4, v1_16, v1_36
from tests.support.build import cache_of, labels, make_node, make_pod, resources
from tests.support.rich_worlds import DrawnCluster, worlds

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
        for each in (confirmed, anew):
            if pod not in each:
                each.assume_pod(pod, node)
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


PODS = {name: make_pod(name) for name in "pqrs"}


def anew(of: dict[str, tuple[str, Pod]]) -> dict[str, list[Pod]]:
    """Node → its pods, in order of nomination."""
    out: dict[str, list[Pod]] = {}
    for node, pod in of.values():
        out.setdefault(node, []).append(pod)
    return out


@given(st.lists(st.tuples(st.sampled_from("pqrs"), st.sampled_from(["", "a", "b", "c"])), max_size=12))
def test_law_of_keeping(steps: list[tuple[str, str]]) -> None:
    """Step by step is the same as at once, in the same order; every node that changed is reported."""
    record, of = NominatedPods(), dict[str, tuple[str, Pod]]()
    for name, node in steps:
        before, position = anew(of), record.changed.position
        of.pop(name, None)
        if node:
            of[name] = node, PODS[name]
            record.put(name, node, PODS[name])
        else:
            record.drop(name)
        now = anew(of)
        assert list(record.by_node().items()) == list(now.items())
        assert record.node_of(name) == (node or None)
        changed = {at for at in before.keys() | now.keys() if before.get(at) != now.get(at)}
        assert changed <= set(record.changed.since(position) or ())


VIEWS = (v1_4.VIEW, v1_16.VIEW, v1_36.VIEW)
NAMES = ("a", "b", "c")
IMAGES = ((), (ContainerImage(("a", "b"), 5),), (ContainerImage(("b", "b"), 7), ContainerImage(("c",), 2)))


def contents(cache: ClusterCache) -> dict[str, Any]:
    """Everything that a rule can read of a cache, in its order."""
    columns = cache.columns
    arrays = ("allocatable", "allocatable_set", "requested", "nonzero", "allowed_pods", "pod_count", "has_node")
    return {
        **{name: getattr(columns, name).view.tolist() for name in arrays},
        "resources": list(columns.resources),
        "nodes": (columns.node_count, columns.listed_count),
        "images": [column.tolist() for name in NAMES for column in columns.images.column(name, len(columns))],
        "names": list(columns.names),
        "pods": [list(there.items()) for there in columns.pods],
        "classes": [(key, info.rows, info.serial) for key, info in columns.infos.items()],
        "uses": columns.affinity_uses,
        "keys": columns.term_keys,
        "ranks": columns.ranks.tolist(),
        "listed": cache.tree.listed(),
        "placed": cache.pods(),
        "nominated": {name: list(pods) for name, pods in cache.nominated().items()},
    }


@given(worlds(most_pods=9), st.sampled_from(VIEWS), st.randoms())
def test_at_once_as_one_by_one(world: DrawnCluster, view: Any, random: Any) -> None:
    """Nodes, pods and all others may come in any order; some pods wait, are over, or run where no node is known, and a
    node may come twice. A node that comes later is counted alike.
    """
    more = [make_node("idle"), *random.choices(world.nodes, k=random.choice((0, 0, 1)))]
    nodes = [msgspec.structs.replace(node, images=random.choice(IMAGES)) for node in (*world.nodes, *more)]
    objects: list[Any] = [*nodes, *world.pods, *world.others]
    for pod in world.pods:
        ways: tuple[dict[str, Any], ...] = (
            {"phase": "Succeeded"},
            {"node_name": "", "nominated_node_name": "n0"},
            {"node_name": "gone"},
        )
        for changes in ways:
            name = f"{pod.metadata.name}-{len(objects)}"
            objects.append(
                msgspec.structs.replace(
                    pod, metadata=msgspec.structs.replace(pod.metadata, name=name, uid=name), **changes
                )
            )
    random.shuffle(objects)
    one_by_one = ClusterCache(view)
    for obj in objects:
        one_by_one.add(obj)
    one_by_one.columns.images.refresh()
    at_once = ClusterCache.of(objects, view)
    assert contents(at_once) == contents(one_by_one)
    for each in (at_once, one_by_one):
        each.add(msgspec.structs.replace(make_node("late"), images=IMAGES[-1]))
    assert contents(at_once) == contents(one_by_one)
    assert sorted(at_once.columns.images.copied()) == sorted(one_by_one.columns.images.copied())
    assert contents(at_once) == contents(one_by_one)


@pytest.mark.parametrize("replicas", [1, 3, 50], ids=["one", "few", "many"])
def test_amounts_past_64_bits_go_round(replicas: int) -> None:
    """As they do when pods are added one by one."""
    node, huge = make_node("a"), resources(cpu=0, memory=2**62)
    pods = [make_pod(f"p{at}", node="a", requests=huge) for at in range(replicas)]
    one_by_one = ClusterCache.of([node], v1_16.VIEW)
    for pod in pods:
        one_by_one.add(pod)
    assert contents(ClusterCache.of([node, *pods], v1_16.VIEW)) == contents(one_by_one)


@pytest.mark.parametrize(
    ("uids", "text"),
    [
        pytest.param(("a", "a"), "pod a was already in added state", id="twice"),
        pytest.param(("",), "Cannot get cache key for pod with empty UID", id="no uid"),
    ],
)
def test_pods_that_cannot_be_added(uids: tuple[str, ...], text: str) -> None:
    """The error is the one of adding the pod by itself."""
    pods = [make_pod("p", node="n") for _ in uids]
    named = [
        msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid=uid))
        for pod, uid in zip(pods, uids, strict=True)
    ]
    with pytest.raises(ClusterStateError, match=text):
        ClusterCache.of(named, v1_16.VIEW)


SEEN = ("nodes", "names", "pods", "placed", "requested", "nominated", "listed")


@given(worlds(), st.sampled_from(VIEWS))
def test_everything_makes_the_same_cache(world: DrawnCluster, view: Any) -> None:
    """Nodes, running and assumed pods, nominations and all other objects."""
    whole = ClusterCache.of([*world.nodes, *world.others, *world.pods], view)
    whole.assume_pod(make_pod("assumed"), world.nodes[0].name)
    whole.nominate(make_pod("waits", nominated="n0"), "n0")
    again = ClusterCache.of(whole.everything(), view)
    assert [contents(again)[key] for key in SEEN] == [contents(whole)[key] for key in SEEN]
    assert again.objects == whole.objects
