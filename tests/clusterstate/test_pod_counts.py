"""Running counts that look only at the pod classes which they may concern."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.objects import (
    Affinity,
    Cinder,
    LabelSelector,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    WeightedPodAffinityTerm,
)
from clusterstate.pod_counts import LONGEST, MOST_TALLIES, DomainLog, Tally
from clusterstate.podinfo import PodInfo, any_of
from clusterstate.selectors.matching import Matcher, SelectorError, compile_label_selector
from clusterstate.selectors.pod_affinity import compile_term, parse_1_20, parse_1_36
from clusterstate.snapshot import PodChange
from predicates.interpod import EXISTING_ANTI_AFFINITY, match_inter_pod_affinity
from tests.support.build import Cluster, cache_of, labels, make_node, make_pod

ZONE = "zone"
KEYS, VALUES, NODES = ("app", "tier"), ("x", "y", ""), ("n1", "n2", "n3")
LABELS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
REQUIREMENTS = st.one_of(
    st.builds(
        Requirement,
        st.sampled_from(KEYS),
        st.sampled_from(("In", "NotIn")),
        st.lists(st.sampled_from(VALUES), max_size=2, unique=True).map(tuple),
    ),
    st.builds(Requirement, st.sampled_from(KEYS), st.sampled_from(("Exists", "DoesNotExist")), st.just(())),
)
SELECTORS = st.builds(LabelSelector, LABELS.map(labels), st.lists(REQUIREMENTS, max_size=2).map(tuple))
TERMS = st.builds(PodAffinityTerm, st.just(ZONE), st.none() | SELECTORS)
PODS = st.builds(
    lambda label, near, far, liked: (label, near, far, liked),
    LABELS,
    st.lists(TERMS, max_size=2),
    st.lists(TERMS, max_size=2),
    st.lists(TERMS, max_size=1),
)


def _pod(number: int, made: Any, node: str) -> Pod:
    label, near, far, liked = made
    affinity = Affinity(
        pod_affinity=PodAffinity(required=tuple(near)),
        pod_anti_affinity=PodAffinity(tuple(far), tuple(WeightedPodAffinityTerm(3, term) for term in liked)),
    )
    return make_pod(f"p{number}", label=label, node=node, affinity=affinity if near or far or liked else None)


def _picks(term: PodAffinityTerm, owner: PodInfo, pod: PodInfo) -> int:
    """How many of three releases' readings of a term of ``owner`` pick a pod."""
    found = int(compile_term(term, owner.namespace)(pod))
    for parse in (parse_1_20, parse_1_36):
        try:
            found += parse(term, owner.namespace).picks(pod)
        except SelectorError:
            continue
    return found


def _back(info: PodInfo, pod: PodInfo) -> int:
    """What the terms of a running class say about a pod."""
    liked = [weighted.term for weighted in (*info.preferred_affinity, *info.preferred_anti_affinity)]
    return sum(_picks(term, info, pod) for term in (*info.required_affinity, *info.required_anti_affinity, *liked))


def _matcher(selector: LabelSelector) -> Matcher | None:
    try:
        return compile_label_selector(selector)
    except SelectorError:
        return None


def _check(cache: ClusterCache, selectors: list[LabelSelector], asked: list[PodInfo]) -> None:
    """Every count with marks is the sum over all classes, one by one; pods that terms see alike share theirs."""
    snapshot, infos = cache.snapshot(), list(cache.columns.infos.values())
    matchers = [matcher for matcher in map(_matcher, selectors) if matcher is not None]
    rules: list[tuple[Any, Any, Any]] = [(m, lambda info, m=m: int(m(info.labels)), m.marks) for m in matchers]
    seen = [(pod, pod.as_picked(snapshot.term_keys)) for pod in asked]
    rules += [(picked.labels, lambda info, pod=pod: _back(info, pod), picked.by) for pod, picked in seen]
    rules.append(
        (tuple(matchers), lambda info: sum(m(info.labels) for m in matchers), any_of(*(m.marks for m in matchers)))
    )
    for key, weight, reach in rules:
        assert all(info.rows for info in cache.columns.counts.placed(reach))
        for topology in (None, ZONE):
            tally = snapshot.tally((key, topology), topology, weight, reach)
            assert int(tally.sums.sum()) == sum(weight(info) * sum(info.rows.values()) for info in infos)


@given(
    st.lists(st.tuples(st.integers(0, 5), PODS, st.sampled_from(NODES)), min_size=1, max_size=8),
    st.lists(SELECTORS, max_size=3),
    st.lists(LABELS, min_size=1, max_size=2),
)
def test_counts_with_marks_are_those_over_all_classes(
    steps: list[tuple[int, Any, str]], selectors: list[LabelSelector], asked: list[dict[str, str]]
) -> None:
    """As pods come, and leave when their number comes again; asked for early or late."""
    cache = cache_of([make_node(name, {ZONE: name}) for name in NODES])
    infos = [cache.info(make_pod("asked", label=label)) for label in asked]
    _check(cache, selectors, infos)
    there: dict[int, Pod] = {}
    for number, made, node in steps:
        if number in there:
            cache.remove_pod(there.pop(number))
        else:
            there[number] = _pod(number, made, node)
            cache.add_pod(there[number])
        _check(cache, selectors, infos)
    _check(cache, [*selectors, LabelSelector()], infos)


def test_pods_that_no_term_tells_apart_share_a_count() -> None:
    """Labels that terms do not read make no counts of their own, until a pod comes whose term reads them."""
    cache = cache_of([make_node("n1", {ZONE: "z"}), make_node("n2", {ZONE: "y"})])

    def keeps_out(name: str, node: str, selector: dict[str, str]) -> None:
        term = PodAffinityTerm(ZONE, LabelSelector(labels(selector)))
        affinity = Affinity(pod_anti_affinity=PodAffinity(required=(term,)))
        cache.add_pod(make_pod(name, node=node, affinity=affinity))

    def refused(own: str) -> list[bool]:
        pod = cache.info(make_pod("asked", label={"app": "x", "own": own}))
        verdict = match_inter_pod_affinity(pod, cache.snapshot())
        return list(map(bool, verdict[EXISTING_ANTI_AFFINITY])) if verdict else []

    keeps_out("first", "n1", {"app": "x"})
    assert refused("1") == [True, False]
    kept = len(cache.columns.counts.by_key())
    assert refused("2") == [True, False]
    assert len(cache.columns.counts.by_key()) == kept
    keeps_out("second", "n2", {"own": "2"})
    assert refused("1") == [True, False]
    assert refused("2") == [True, True]


def test_of_counts_that_may_concern_any_class_fewer_are_kept() -> None:
    """Every new class is asked about each of them; counts that marks lead to stay."""
    cache = cache_of([make_node("n1")])
    snapshot = cache.snapshot()
    narrow = snapshot.tally("narrow", None, lambda _: 1, frozenset({("app", "x")}))
    wide = [snapshot.tally(at, None, lambda _: 1) for at in range(MOST_TALLIES + 1)]
    cache.add_pod(make_pod("p", label={"app": "x"}, node="n1"))
    assert int(narrow.sums.sum()) == 1
    assert sum(int(tally.sums.sum()) for tally in wide) == MOST_TALLIES // 2 + 1


def weight_1(_: PodInfo) -> int:
    """Every pod counts once."""
    return 1


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from((-2, -1, 1, 2))), max_size=12), st.integers(0, 12))
def test_the_logs_of_a_count_name_the_domains_that_changed(adds: list[tuple[int, int]], read: int) -> None:
    """The domains whose sum changed, and those where its sign did since a reader looked."""
    tally = Tally(None, weight_1)
    tally.build((), 4)
    for row, amount in adds[:read]:
        tally.add(row, amount)
    moved, turned, signs = tally.moved.position, tally.turned.position, []
    for row, amount in adds[read:]:
        before = int(tally.sums[row])
        tally.add(row, amount)
        signs += [row] if np.sign(before) != np.sign(before + amount) else []
    assert tally.moved.since(moved) == [row for row, _ in adds[read:]]
    assert tally.turned.since(turned) == signs


def test_a_log_forgets_what_is_long_ago_and_everything_when_it_is_told_to() -> None:
    """A reader who has been away too long learns that any domain may have changed."""
    log = DomainLog()
    for code in range(LONGEST + 1):
        log.note(code)
    assert log.since(LONGEST) == [LONGEST]
    assert log.since(LONGEST // 2) == list(range(LONGEST // 2, LONGEST + 1))
    assert log.since(LONGEST // 2 - 1) is None
    position = log.position
    log.forget()
    assert (log.since(position), log.since(log.position)) == (None, [])


ROWS = 3
IDS = st.frozensets(st.sampled_from("abcd"), max_size=3)
PLACED = st.lists(st.tuples(st.integers(0, ROWS - 1), IDS), max_size=6)


def ids_of(info: PodInfo) -> frozenset[str]:
    return frozenset(volume.volume_id for volume in info.spec.volumes if isinstance(volume, Cinder))


def using(row: int, ids: frozenset[str], name: str) -> Pod:
    return make_pod(name, node=f"n{row}", volumes=tuple(Cinder(i) for i in sorted(ids)))


@given(PLACED, PLACED, IDS, st.data())
def test_union_sizes_follow_pods_and_changes(
    placed: list[tuple[int, frozenset[str]]],
    later: list[tuple[int, frozenset[str]]],
    new: frozenset[str],
    data: st.DataObject,
) -> None:
    """Pods that come, go, or are hypothetically added or removed give what counting from scratch gives."""
    pods = [using(row, ids, f"p{i}") for i, (row, ids) in enumerate(placed)]
    cluster = Cluster([make_node(f"n{row}") for row in range(ROWS)], pods)
    cluster.snapshot.union_sizes("ids", ids_of, new, 0)
    gone = data.draw(st.sets(st.integers(0, len(placed) - 1))) if placed else set()
    for i in gone:
        cluster.columns.take_pod(placed[i][0], pods[i].metadata.uid)
    there = [entry for i, entry in enumerate(placed) if i not in gone]
    away = data.draw(st.sets(st.integers(0, len(there) - 1))) if there else set()
    changes = [PodChange(row, cluster.info(using(row, ids, "x")), 1) for row, ids in later]
    changes += [PodChange(there[i][0], cluster.info(using(*there[i], "x")), -1) for i in away]
    left = later + [entry for i, entry in enumerate(there) if i not in away]
    expected = [len(new.union(*(ids for at, ids in left if at == row))) for row in range(ROWS)]
    snapshot = cluster.snapshot.what_if(changes)
    assert snapshot.union_sizes("ids", ids_of, new, 0).tolist() == expected
    some = snapshot.take(np.array([2, 0]))
    assert some.union_sizes("ids", ids_of, new, 0).tolist() == [expected[2], expected[0]]


def test_another_version_is_counted_anew() -> None:
    """The ids of pods that stay may change with what they are read from."""
    cluster = Cluster([make_node("n0")], [using(0, frozenset("ab"), "p")])
    known = {"a", "b"}

    def ids(info: PodInfo) -> frozenset[str]:
        return ids_of(info) & known

    assert cluster.snapshot.union_sizes("ids", ids, frozenset("c"), 1).tolist() == [3]
    known.discard("a")
    assert cluster.snapshot.union_sizes("ids", ids, frozenset("c"), 1).tolist() == [3]
    assert cluster.snapshot.union_sizes("ids", ids, frozenset("c"), 2).tolist() == [2]
