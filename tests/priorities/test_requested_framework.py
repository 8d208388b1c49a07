"""How much of a node is in use, as the framework releases score it."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import Container, FrozenMap, Pod, ResourceList
from clusterstate.podinfo import ReleaseView
from kubescheduler.releases import v1_20, v1_36
from priorities.capacity_ratio import capacity_ratio
from priorities.requested import balanced_resource_allocation
from priorities.requested_framework import (
    asks_for_any_1_36,
    balanced_allocation_1_36,
    least,
    mean_1_20,
    mean_1_36,
    most,
    requested_to_capacity_ratio_1_36,
)
from priorities.types import curve, scaled
from tests.support.build import Cluster, make_node, make_pod, resources

GPU = "example.com/gpu"
BOTH = (("cpu", 1), ("memory", 1))
RISING = curve(scaled(((0, 0), (100, 10))))
balanced_allocation_1_20 = partial(balanced_resource_allocation, best=100)
least_allocated_1_20, most_allocated_1_20 = partial(mean_1_20, least), partial(mean_1_20, most)
least_allocated_1_36, most_allocated_1_36 = partial(mean_1_36, least), partial(mean_1_36, most)


def amounts(**given_: int) -> ResourceList:
    """As ``resources``; gpu stands for a scalar resource."""
    gpu = given_.pop("gpu", None)
    return FrozenMap({**resources(**given_), **({} if gpu is None else {GPU: 1000 * gpu})})


def cluster(view: ReleaseView, allocatable: ResourceList, *running: ResourceList) -> Cluster:
    pods = [make_pod(f"r{i}", node="n", requests=requests) for i, requests in enumerate(running)]
    return Cluster([make_node("n", allocatable=allocatable)], pods, view=view)


def score(rule: Any, on: Cluster, pod: Pod | ResourceList, *first: Any) -> int:
    pod = pod if isinstance(pod, Pod) else make_pod(requests=pod)
    scores = rule(*first, on.info(pod), on.snapshot)
    assert scores.dtype == np.int64
    assert scores.shape == (1,)
    return int(scores[0])


ROOM = amounts(cpu=4000, memory=10_000, gpu=4)
USED = amounts(cpu=2000, memory=4000)
ASKED = amounts(cpu=1000, memory=1000)
# allocatable, asked for, resources, least 1.20, most 1.20, least 1.36, most 1.36
ALLOCATED: dict[str, tuple[ResourceList, ResourceList, tuple[tuple[str, int], ...], int, int, int, int]] = {
    "worked-example": (ROOM, ASKED, BOTH, 37, 62, 37, 62),
    "weights": (ROOM, ASKED, (("cpu", 3), ("memory", 1)), 31, 68, 31, 68),
    "one": (ROOM, ASKED, (("memory", 7),), 50, 50, 50, 50),
    "none-on-the-node": (amounts(cpu=4000), ASKED, BOTH, 12, 37, 25, 75),
    "too-much": (ROOM, amounts(cpu=3000, memory=1000), BOTH, 25, 75, 25, 75),
    "scalar-not-asked-for": (ROOM, ASKED, ((GPU, 1), ("cpu", 1)), 62, 37, 25, 75),
    "scalar-asked-for": (ROOM, amounts(cpu=1000, memory=1, gpu=1), ((GPU, 1), ("cpu", 1)), 50, 50, 50, 50),
    "no-such-resource": (ROOM, ASKED, (("pods", 1), ("cpu", 1)), 12, 37, 25, 75),
    "nothing-left-to-say": (amounts(), ASKED, BOTH, 0, 0, 0, 0),
    "storage-that-is-not-asked-for": (
        amounts(cpu=4000, ephemeral_storage=10),
        ASKED,
        (("ephemeral-storage", 1), ("cpu", 1)),
        62,
        37,
        62,
        37,
    ),
    "repeated-name": (ROOM, ASKED, (("cpu", 1), ("memory", 1), ("cpu", 3)), 31, 68, 30, 70),
}


@pytest.mark.parametrize(
    ("allocatable", "asked", "weights", "least_old", "most_old", "least_new", "most_new"),
    ALLOCATED.values(),
    ids=ALLOCATED,
)
def test_allocated(
    allocatable: ResourceList,
    asked: ResourceList,
    weights: tuple[tuple[str, int], ...],
    least_old: int,
    most_old: int,
    least_new: int,
    most_new: int,
) -> None:
    """In 1.36 what a node has none of, and scalar resources that the pod does not ask for, have no say."""
    old, new = cluster(v1_20.VIEW, allocatable, USED), cluster(v1_36.VIEW, allocatable, USED)
    assert score(least_allocated_1_20, old, asked, weights) == least_old
    assert score(most_allocated_1_20, old, asked, weights) == most_old
    assert score(least_allocated_1_36, new, asked, weights) == least_new
    assert score(most_allocated_1_36, new, asked, weights) == most_new


def test_cpu_overhead_is_scored_in_whole_cores_in_1_20_only() -> None:
    """500m and an overhead of 250m are scored as 501m."""
    pod = make_pod(requests=amounts(cpu=500, memory=0), overhead=amounts(cpu=250))
    weights = (("cpu", 1),)
    assert score(most_allocated_1_20, cluster(v1_20.VIEW, amounts(cpu=501)), pod, weights) == 100
    assert score(least_allocated_1_20, cluster(v1_20.VIEW, amounts(cpu=1002)), pod, weights) == 50
    assert score(least_allocated_1_36, cluster(v1_36.VIEW, amounts(cpu=1500)), pod, weights) == 50


def test_devices_stand_for_an_extended_resource() -> None:
    """On nodes that have none of it natively but see devices."""
    pod, weights = amounts(cpu=0, memory=0, gpu=1), ((GPU, 1),)

    def devices(_: Any, name: str) -> Any:
        return (np.array([8]), np.array([1])) if name == GPU else None

    bare, native = cluster(v1_36.VIEW, amounts(cpu=1)), cluster(v1_36.VIEW, amounts(cpu=1, gpu=2))
    seen = make_pod(requests=pod)
    assert least_allocated_1_36(weights, bare.info(seen), bare.snapshot, devices).tolist() == [75]
    assert most_allocated_1_36(weights, native.info(seen), native.snapshot, devices).tolist() == [50]
    assert score(most_allocated_1_36, bare, pod, weights) == 0


# allocatable, asked for, weights, 1.20, 1.36
RATIO: dict[str, tuple[ResourceList, ResourceList, tuple[tuple[str, int], ...], int, int]] = {
    "worked-example": (amounts(cpu=3), amounts(cpu=1, memory=0), (("cpu", 1),), 34, 33),
    "rounded-half-away": (amounts(cpu=3, memory=100), amounts(cpu=1, memory=33), BOTH, 34, 33),
    "none-on-the-node": (amounts(cpu=100), amounts(cpu=50, memory=0), BOTH, 75, 50),
    "too-much": (amounts(cpu=3), amounts(cpu=4, memory=0), (("cpu", 1),), 100, 100),
    "at-0-has-no-say": (amounts(cpu=100, memory=9), amounts(cpu=50, memory=0), BOTH, 50, 50),
    "scalar-not-asked-for": (amounts(cpu=2), amounts(cpu=1, memory=0), (("cpu", 1), (GPU, 1)), 75, 50),
    "nothing-left-to-say": (amounts(), amounts(cpu=1), (("memory", 1),), 100, 0),
    "weights": (amounts(cpu=2, memory=4), amounts(cpu=1, memory=1), (("cpu", 3), ("memory", 1)), 44, 44),
}


@pytest.mark.parametrize(("allocatable", "asked", "weights", "old", "new"), RATIO.values(), ids=RATIO)
def test_requested_to_capacity_ratio(
    allocatable: ResourceList, asked: ResourceList, weights: tuple[tuple[str, int], ...], old: int, new: int
) -> None:
    """1.20 rounds utilisation up, 1.36 down."""
    assert score(capacity_ratio, cluster(v1_20.VIEW, allocatable), asked, RISING, dict(weights)) == old
    assert score(requested_to_capacity_ratio_1_36, cluster(v1_36.VIEW, allocatable), asked, RISING, weights) == new


BALANCED_1_20 = {
    "worked-example": (amounts(cpu=4, memory=4), amounts(cpu=3, memory=2), 75),
    "float-truncation": (amounts(cpu=10, memory=10), amounts(cpu=6, memory=5), 90),
    "full": (amounts(cpu=4, memory=4), amounts(cpu=4, memory=2), 0),
    "none-on-the-node": (amounts(cpu=4), amounts(cpu=2, memory=0), 0),
    "alike": (amounts(cpu=8, memory=4), amounts(cpu=2, memory=1), 100),
}


@pytest.mark.parametrize(("allocatable", "asked", "expected"), BALANCED_1_20.values(), ids=BALANCED_1_20)
def test_balanced_1_20(allocatable: ResourceList, asked: ResourceList, expected: int) -> None:
    """Nothing is good about a node that is full."""
    assert score(balanced_allocation_1_20, cluster(v1_20.VIEW, allocatable), asked) == expected


CPU_AND_MEMORY = ("cpu", "memory")
THREE = (*CPU_AND_MEMORY, GPU)


def test_balanced_skips_pods_that_ask_for_nothing() -> None:
    """Of the resources that are looked at."""
    seen = cluster(v1_36.VIEW, ROOM)
    gpu, zero = seen.info(make_pod(requests=amounts(gpu=1))), seen.info(make_pod(requests=amounts(cpu=0)))
    assert not asks_for_any_1_36(CPU_AND_MEMORY, gpu, seen.snapshot)
    assert not asks_for_any_1_36(THREE, zero, seen.snapshot)
    assert asks_for_any_1_36(THREE, gpu, seen.snapshot)


NAMES = ("cpu", "memory", "ephemeral-storage", GPU)
SMALL = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 9), max_size=4).map(
    lambda given_: FrozenMap({name: value if name == "cpu" else 1000 * value for name, value in given_.items()})
)


def reference(allocatable: ResourceList, used: ResourceList, asked: ResourceList) -> int:
    """One node after the other, one resource after the other."""
    kept = [name for name in NAMES if allocatable.get(name) and (name != GPU or asked.get(name))]

    def balance(*lists: ResourceList) -> int:
        shares = [min(sum(one.get(n, 0) for one in lists) / allocatable[n], 1.0) for n in kept]
        deviation = 0.0
        if len(shares) == 2:
            deviation = abs((shares[0] - shares[1]) / 2)
        elif len(shares) > 2:
            mean = sum(shares) / len(shares)
            squares = 0.0
            for share in shares:
                squares += (share - mean) * (share - mean)
            deviation = math.sqrt(squares / len(shares))
        return int((1 - deviation) * 100)

    if not any(asked.get(name, 0) for name in NAMES):
        return 0
    return 50 + int((50 + balance(used, asked) - balance(used)) / 2)


@given(st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=4), SMALL)
def test_balanced_1_36_equals_its_definition(
    nodes: list[tuple[ResourceList, ResourceList]], asked: ResourceList
) -> None:
    """On several nodes at once, with whatever they have."""
    made = [make_node(f"n{i}", allocatable=allocatable) for i, (allocatable, _) in enumerate(nodes)]
    pods = [make_pod(f"r{i}", node=f"n{i}", requests=used) for i, (_, used) in enumerate(nodes)]
    seen = Cluster(made, pods, view=v1_36.VIEW)
    scores = balanced_allocation_1_36(NAMES, seen.info(make_pod(requests=asked)), seen.snapshot)
    assert scores.tolist() == [reference(allocatable, used, asked) for allocatable, used in nodes]


WEIGHTED = tuple((name, weight) for weight, name in enumerate(NAMES, 1))

RULES_1_36: dict[str, Any] = {
    "least": lambda *seen: least_allocated_1_36(WEIGHTED, *seen),
    "most": lambda *seen: most_allocated_1_36(WEIGHTED, *seen),
    "ratio": lambda *seen: requested_to_capacity_ratio_1_36(RISING, WEIGHTED, *seen),
    "balanced": lambda *seen: balanced_allocation_1_36(NAMES, *seen),
}
RULES_1_20: dict[str, Any] = {
    "least": lambda *seen: least_allocated_1_20(WEIGHTED, *seen),
    "most": lambda *seen: most_allocated_1_20(WEIGHTED, *seen),
    "ratio": lambda *seen: capacity_ratio(RISING, dict(WEIGHTED), *seen),
    "balanced": balanced_allocation_1_20,
}


@pytest.mark.parametrize("release", ["1.20", "1.36"])
@given(data=st.data())
def test_some_rows_score_as_among_all_and_within_the_range(release: str, data: st.DataObject) -> None:
    """Any subset of rows gives the same numbers, 0–100."""
    nodes = data.draw(st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=4))
    init = (Container(requests=data.draw(SMALL), restart_policy="Always"),)
    made = [make_node(f"n{i}", allocatable=allocatable) for i, (allocatable, _) in enumerate(nodes)]
    pods = [make_pod(f"r{i}", node=f"n{i}", requests=used, init_containers=init) for i, (_, used) in enumerate(nodes)]
    view, rules = (v1_20.VIEW, RULES_1_20) if release == "1.20" else (v1_36.VIEW, RULES_1_36)
    seen = Cluster(made, pods, view=view)
    info = seen.info(make_pod(requests=data.draw(SMALL)))
    rows = np.array(data.draw(st.lists(st.integers(0, len(nodes) - 1), unique=True)), np.int64)
    for rule in rules.values():
        whole = rule(info, seen.snapshot)
        assert ((whole >= 0) & (whole <= 100)).all()
        assert rule(info, seen.snapshot.take(rows)).tolist() == whole[rows].tolist()
