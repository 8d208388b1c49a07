"""Where preemption would help and what it costs: candidates by kind, their costs, and three ways to find them."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

import attrs
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.hypothetical import PodsByImportance
from clusterstate.objects import Pod, PodDisruptionBudget, Toleration
from kubescheduler.core.preemption_choice import (
    NOWHERE,
    Candidates,
    Costs,
    KindCosts,
    NodeNames,
    PickStep,
    Victims,
    costs_of,
    costs_of_kinds,
    earliest_start,
    earliest_starts,
    listed,
    nodes_of_kinds,
    pick_1_16,
    pick_steps,
)
from kubescheduler.core.preemption_memory import KeptVictims
from kubescheduler.core.preemption_rules import PREEMPTION_1_16, PREEMPTION_1_20
from kubescheduler.core.preemption_trials import PreemptionAttempt
from kubescheduler.framework.deciding.compiled_profile import Compiled
from tests.support.build import make_node, make_pod
from tests.support.deciders import frame
from tests.support.laws import costly
from tests.support.preemption_worlds import find_candidates
from tests.support.rich_worlds import RELEASES, DrawnCluster, budgets, in_tree, incoming, worlds

# --- three ways --------------------------------------------------------------------------------


NOT_BY_DEFAULT = {"NodeLabel", "ServiceAffinity"}


def attempt_of(release: str, cache: ClusterCache, asking: Pod, **changes: Any) -> PreemptionAttempt:
    """Tries a pod by the Filter plugins of the default profile whose PreFilter has something to say of it."""
    made = in_tree(release)
    plugins = [p for name, p in made.items() if name not in NOT_BY_DEFAULT and getattr(p, "check", None) is not None]
    compiled = Compiled.of(frame(release, *plugins), (), 100)
    info, snapshot = cache.info(asking), cache.snapshot()
    rules = [
        msgspec.structs.replace(rule, footprint=msgspec.structs.replace(rule.footprint, **changes))
        for rule in compiled.algorithm.predicates
        if rule.pre_filter is None or not rule.pre_filter(info, snapshot).skip
    ]
    return PreemptionAttempt(asking, info, rules, cache, PodsByImportance(cache.columns).refresh())


def found(release: str, cache: ClusterCache, asking: Pod, *, alike: bool = False, **changes: Any) -> dict[str, Any]:
    """Node → (its victims, violations)."""
    attempt = attempt_of(release, cache, asking, **changes)
    with nullcontext() if alike else patch.object(KeptVictims, "_try_alike", lambda *given: given[3]):
        candidates = find_candidates(attempt, cache.snapshot().has_node, PREEMPTION_1_20)
    return {name: ([p.metadata.name for p in v.pods], v.violations) for name, v in candidates.items()}


def twins(world: DrawnCluster) -> DrawnCluster:
    """The same world with a copy of every node and of the pods there, so that some nodes are alike."""
    others = [
        msgspec.structs.replace(n, metadata=msgspec.structs.replace(n.metadata, name=f"m{n.name}")) for n in world.nodes
    ]
    copies = [
        msgspec.structs.replace(
            p, node_name=f"m{p.node_name}", metadata=msgspec.structs.replace(p.metadata, uid=f"m{p.metadata.uid}")
        )
        for p in world.pods
    ]
    return attrs.evolve(world, nodes=(*world.nodes, *others), pods=(*world.pods, *copies))


@pytest.mark.parametrize("release", RELEASES)
@costly
@given(
    world=worlds(most_nodes=3),
    protecting=budgets,
    asking=incoming,
    plain=st.sampled_from([True, True, False]),
    waiting=st.booleans(),
)
def test_alike_together_and_one_by_one(
    release: str, world: DrawnCluster, protecting: list[PodDisruptionBudget], asking: Pod, plain: bool, waiting: bool
) -> None:
    """Rows that stand for others, all rows in one go, and each row by itself come to the same victims."""
    if plain:
        tolerations = (Toleration("", "Exists"),)
        asking = make_pod("in", {"app": "web"}, containers=asking.spec.containers, tolerations=tolerations)
    asking = msgspec.structs.replace(asking, spec=msgspec.structs.replace(asking.spec, priority=8))
    world = attrs.evolve(twins(world), others=(*world.others, *protecting))
    cache = world.cache(release)
    if waiting:
        cache.nominate(make_pod("waiting", priority=9, containers=asking.spec.containers), "n0")
    together = found(release, cache, asking)
    if not any(b.disrupted_pods for b in protecting):
        assert found(release, cache, asking, alike=True) == together
    assert found(release, cache, asking, row_local=lambda pod, snapshot: False) == together


def test_nodes_that_are_alike_are_tried_once() -> None:
    """The candidates of a kind share their victims' places."""
    pods = [make_pod(f"p{at}", node=f"n{at}") for at in range(3)]
    cache = DrawnCluster(tuple(make_node(f"n{at}") for at in range(4)), tuple(pods), ()).cache("1.36")
    attempt = attempt_of("1.36", cache, make_pod("in", priority=5))
    candidates = find_candidates(attempt, np.ones(4, np.bool_), PREEMPTION_1_16)
    assert len(candidates.victims[0]) == 2
    assert candidates.costs.kinds.tolist() == [0, 0, 0, 1]


# --- candidates and their costs ------------------------------------------------------------------

PODS = [make_pod(name, priority=priority) for name, priority in (("a", 5), ("b", 3), ("c", 1))]


STARTS = np.array([[10.0, 20.0, 5.0, 0], [11.0, 21.0, 6.0, 0], [12.0, 22.0, 7.0, 0]])
"""Of the rows n0, n1, n2 and n3."""


def candidates(victims: list[list[bool]], protected: list[list[bool]], **fields: Any) -> Candidates:
    """Nodes n1 and n0 of one kind, and n2 of another; both have the pods a, b and c. n3 is no candidate."""
    leaving, kept = np.array(victims).T, np.array(protected).T
    kinds, priorities = np.array([0, 0, 1, NOWHERE]), np.array([[5, 5], [3, 3], [1, 1]])
    important = fields.get("by_importance", False)
    given: dict[str, Any] = {
        "names": ("n0", "n1", "n2", "n3"),
        "row_of": {"n2": 0, "n0": 7, "n3": 3, "n9": 8},
        "costs": Costs(
            kinds,
            nodes_of_kinds(kinds, 2),
            costs_of_kinds(leaving, kept, priorities, by_importance=important),
            earliest_starts(leaving[:, kinds], STARTS),
        ),
        "victims": leaving,
        "protected": kept,
        "pods": [PODS] * 4,
    }
    return Candidates(**given | fields)


SOME = candidates([[True, False, True], [True, True, True]], [[False, True, False], [False, False, True]])


def test_candidates_are_a_mapping() -> None:
    """By node, in the order of the rows; victims are put together when they are asked for."""
    assert list(SOME) == ["n0", "n1", "n2"]
    assert len(SOME) == 3
    assert [p.metadata.name for p in SOME["n0"].pods] == ["a", "c"]
    for name in ("n3", "n9"):
        with pytest.raises(KeyError):
            SOME[name]


@pytest.mark.parametrize(("by_importance", "names"), [(False, "cab"), (True, "abc")])
def test_the_order_of_victims(by_importance: bool, names: str) -> None:
    """Those that a budget protects first, or all by importance; the count is the same."""
    victims = attrs.evolve(SOME, by_importance=by_importance)["n2"]
    assert "".join(p.metadata.name for p in victims.pods) == names
    assert victims.violations == 1


@pytest.mark.parametrize(
    ("starts", "protected", "names"),
    [
        (["2026-01-01T00:00:00Z"] * 3, [False, False, True], "cab"),
        (["2026-01-01T00:00:00Z"] * 3, [False, False, False], "abc"),
        ([None] * 3, [False, False, True], "bac"),
    ],
    ids=["started-together", "nobody-is-protected", "not-started"],
)
def test_victims_of_equal_importance(starts: list[str | None], protected: list[bool], names: str) -> None:
    """Those that a budget protects come first; without a start each takes itself for the earlier one."""
    pods = [
        msgspec.structs.replace(make_pod(name), start_time=start) for name, start in zip("abc", starts, strict=True)
    ]
    of_both = candidates([[True] * 3] * 2, [protected] * 2, pods=[pods] * 4, by_importance=True)
    assert "".join(pod.metadata.name for pod in of_both["n0"].pods) == names


def test_only_some() -> None:
    """By row, in the order that is asked for."""
    some = SOME.only(np.array([2, 0]))
    assert list(some) == ["n2", "n0"]
    assert len(some) == 2
    assert some["n0"].pods == SOME["n0"].pods
    assert pick_1_16(some.costs).tolist() == [True, False, False, False]
    with pytest.raises(KeyError):
        some["n1"]


def test_costs() -> None:
    """Violations, the first victim's priority, sums, counts; a protected victim is the first."""
    costs = SOME.costs.of_kinds
    assert costs.violations.tolist() == [0, 1]
    assert costs.first.tolist() == [5, 1]
    assert costs.total.tolist() == [6 + 2 * 2**31, 9 + 3 * 2**31]
    assert costs.count.tolist() == [2, 3]
    assert SOME.costs.starts.tolist()[:3] == [10.0, 20.0, 5.0]
    important = candidates(
        [[True, False, True], [True] * 3], [[False, True, False], [False, False, True]], by_importance=True
    )
    assert important.costs.of_kinds.first.tolist() == [5, 5]


def test_without_victims() -> None:
    """They cost nothing, and 1.16 takes such nodes before all others."""
    free = candidates([[False] * 3, [True, False, False]], [[False] * 3] * 2)
    costs = free.costs
    assert (costs.of_kinds.count.tolist(), costs.of_kinds.total.tolist()) == ([0, 1], [0, 5 + 2**31])
    assert pick_1_16(costs).tolist() == [True, True, False, False]
    some, needless = free.without_needless()
    assert (list(some), needless) == (["n2"], ["n0", "n1"])
    assert SOME.without_needless() == (SOME, [])
    nobody, none = np.zeros((0, 2), np.bool_), np.zeros((0, 2), np.int64)
    assert costs_of_kinds(nobody, nobody, none, by_importance=False).count.tolist() == [0, 0]
    assert earliest_starts(nobody, np.zeros((0, 2))).tolist() == [np.inf, np.inf]


def costs(**columns: list[int]) -> Costs:
    """Of nodes that are kinds of their own; what is not given is equal."""
    size = len(next(iter(columns.values())))
    given = {name: np.array(columns.get(name, [0] * size)) for name in ("violations", "first", "total", "count")}
    starts = np.array(columns.get("start", [0] * size), np.float64)
    return Costs(np.arange(size), np.ones(size, np.int64), KindCosts(**given), starts)


@pytest.mark.parametrize(
    ("columns", "best"),
    [
        ({"violations": [1, 0, 0], "first": [0, 9, 8]}, [2]),
        ({"first": [2, 1, 1], "total": [0, 5, 4]}, [2]),
        ({"total": [3, 3, 4], "count": [2, 1, 0]}, [1]),
        ({"count": [1, 1, 2], "start": [1, 2, 9]}, [1]),
        ({"start": [1, 3, 3]}, [1, 2]),
        ({"violations": [0]}, [0]),
    ],
)
def test_one_criterion_after_the_other(columns: dict[str, list[int]], best: list[int]) -> None:
    """Each among those that are left; the latest start is the best."""
    given = costs(**columns)
    assert given.least(given.present()).nonzero()[0].tolist() == best


def test_kinds_without_nodes_do_not_count() -> None:
    """Only what some node belongs to is compared."""
    kinds = np.array([1, 2, 1, NOWHERE])
    starts = np.zeros(4)
    given = msgspec.structs.replace(costs(total=[1, 5, 7]), kinds=kinds, nodes=nodes_of_kinds(kinds, 3), starts=starts)
    assert given.present().tolist() == [1, 2]
    assert given.least(given.present()).tolist() == [True, False, True, False]
    assert given.nodes_of(given.present()).tolist() == [True, True, True, False]


def test_victims_from_extenders() -> None:
    """Every node is a kind of its own, and the first pod of its list the first victim."""
    started = [msgspec.structs.replace(p, start_time=f"1970-01-01T00:00:0{at}Z") for at, p in enumerate(PODS)]
    given = {"n2": Victims((started[2], started[0]), 1), "n1": Victims((), 0)}
    made = costs_of(given)
    assert made.of_kinds.first.tolist() == [1, 0]
    assert made.of_kinds.total.tolist() == [6 + 2 * 2**31, 0]
    assert made.starts.tolist() == [0.0, np.inf]
    assert listed(given, pick_1_16(made)) == ["n1"]


def test_the_earliest_start_of_the_most_important() -> None:
    """Pods that do not say when they started count as started now, after all others."""
    pods = [
        msgspec.structs.replace(make_pod(n, priority=p), start_time=t)
        for n, p, t in (
            ("a", 5, "1970-01-01T00:00:09Z"),
            ("b", 5, "1970-01-01T00:00:07Z"),
            ("c", 1, "1970-01-01T00:00:01Z"),
        )
    ]
    assert earliest_start(pods) == 7.0
    assert earliest_start([make_pod()]) == np.inf
    assert earliest_start([]) == np.inf


def test_names_of_rows() -> None:
    """Sorted by rank; the first is found without the others."""
    names = NodeNames(("b", "c", "a", "d"), np.array([True, True, True, False]), np.array([2, 0, 1, 3]))
    assert (names[0], len(names)) == ("a", 3)
    assert names[1:] == ["b", "c"]
    assert names == ["a", "b", "c"]
    assert names != ["a"]
    assert hash(names) == hash(("a", "b", "c"))
    assert repr(names) == "('a', 'b', 'c')"
    empty = NodeNames(("b",), np.zeros(1, np.bool_), np.array([0]))
    assert list(empty) == []
    with pytest.raises(IndexError):
        empty[0]


@pytest.mark.parametrize("first", [0, 255, 256, 700], ids=str)
def test_the_first_of_many_names(first: int) -> None:
    """However far it is from the beginning; rows are listed from the last to the first."""
    size = 701
    nodes = np.arange(size) <= size - 1 - first
    names = NodeNames([f"n{size - 1 - row:03}" for row in range(size)], nodes, np.arange(size)[::-1])
    assert names[0] == f"n{first:03}"
    assert names[:1] == [names[0]]
    assert len(names) == size - first


STEPS = [
    ({"violations": [1, 0, 0], "first": [0, 9, 8]}, ["bc", "c", "c", "c", "c"], 1),
    ({"start": [1, 3, 3], "count": [1, 1, 1]}, ["abc", "abc", "abc", "abc", "bc"], 4),
    ({"violations": [0], "count": [1]}, ["a"] * 5, None),
]


@pytest.mark.parametrize(("columns", "left", "decided"), STEPS, ids=["first-victim", "start", "alone"])
def test_the_rules_say_which_of_them_decided(
    columns: dict[str, list[int]], left: list[str], decided: int | None
) -> None:
    """That is the last which left fewer nodes than there were; none where there was one candidate."""
    given = costs(**{"count": [1] * len(next(iter(columns.values()))), **columns})
    steps = pick_steps(pick_1_16, given, lambda nodes: itertools.compress("abc", nodes))
    assert ["".join(step.left) for step in steps] == left
    assert [at for at, step in enumerate(steps) if step.decided] == ([] if decided is None else [decided])
    assert "".join(steps[-1].left) == "".join("abc"[one] for one in pick_1_16(given).nonzero()[0])


def test_a_node_without_victims_decides_at_once() -> None:
    """As 1.16 looks at these before all others."""
    given = {"n2": Victims((PODS[0],), 0), "n1": Victims((), 0)}
    (step,) = pick_steps(pick_1_16, costs_of(given), lambda nodes: listed(given, nodes))
    assert step == PickStep("no pod has to go", ("n1",), decided=True)
