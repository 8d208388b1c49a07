"""The Filter of NodeResourcesFit in the framework releases."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import Container, FrozenMap, Pod, ResourceList
from clusterstate.snapshot import PodChange
from kubescheduler.releases import v1_20, v1_36
from predicates.resources import (
    NOTHING_IGNORED,
    Ignored,
    beyond_allocatable_1_36,
    node_resources_fit_1_20,
    node_resources_fit_1_36,
)
from tests.support.build import Cluster, make_node, make_pod, resources

GPU, OTHER, HUGE = "example.com/gpu", "other.com/gpu", "hugepages-2Mi"
ROOM = FrozenMap({**resources(cpu=2000, memory=2000, ephemeral_storage=2000, pods=3), GPU: 4000})
PODS, CPU, MEMORY, STORAGE = (
    "Too many pods",
    "Insufficient cpu",
    "Insufficient memory",
    "Insufficient ephemeral-storage",
)


def scalars(**fixed: int) -> Any:
    def plus(more: dict[str, int]) -> ResourceList:
        return FrozenMap({**resources(**fixed), **{name: 1000 * value for name, value in more.items()}})

    return plus


def cluster_of(allocatable: ResourceList, used: list[ResourceList], view: Any) -> Cluster:
    pods = [make_pod(f"p{i}", node="n", requests=requests) for i, requests in enumerate(used)]
    return Cluster([make_node("n", allocatable=allocatable)], pods, view=view)


def old(cluster: Cluster, pod: Pod, ignored: Ignored = NOTHING_IGNORED, snapshot: Any = None) -> list[str]:
    verdict = node_resources_fit_1_20(cluster.info(pod), snapshot or cluster.snapshot, ignored)
    return [reason for reason, mask in verdict.items() if mask[0]]


def new(cluster: Cluster, pod: Pod, snapshot: Any = None, **rest: Any) -> tuple[list[str], bool]:
    """The reasons, and whether the pod asks for more than there is at all."""
    info, seen = cluster.info(pod), snapshot or cluster.snapshot
    verdict = node_resources_fit_1_36(info, seen, **rest)
    return [r for r, mask in verdict.items() if mask[0]], bool(beyond_allocatable_1_36(info, seen, **rest)[0])


MUCH = resources(cpu=1500, memory=3000)
# what runs, what is asked for, the reasons of 1.20, those of 1.36, beyond help
CASES: dict[str, tuple[list[ResourceList], ResourceList, list[str], list[str], bool]] = {
    "fits": ([], resources(cpu=2000), [], [], False),
    "worked-example": ([resources(cpu=1500)], resources(cpu=800), [CPU], [CPU], False),
    "worked-example-beyond": ([resources(cpu=1500)], resources(cpu=2500), [CPU], [CPU], True),
    "overcommitted-otherwise": ([MUCH], resources(cpu=1), [MEMORY], [], False),
    "asks-nothing": ([MUCH], FrozenMap(), [], [], False),
    "scalar-0": ([MUCH], FrozenMap({GPU: 0}), [MEMORY], [], False),
    "in-order": (
        [],
        scalars(cpu=9000, memory=9000, ephemeral_storage=9000)({GPU: 9}),
        [CPU, MEMORY, STORAGE, f"Insufficient {GPU}"],
        [CPU, MEMORY, STORAGE, f"Insufficient {GPU}"],
        True,
    ),
    "one-of-two-beyond": (
        [resources(cpu=1500)],
        resources(cpu=800, memory=2001),
        [CPU, MEMORY],
        [CPU, MEMORY],
        True,
    ),
    "no-such-resource": ([], scalars()({OTHER: 1}), [f"Insufficient {OTHER}"], [f"Insufficient {OTHER}"], True),
    "scalar-taken": (
        [scalars()({GPU: 4})],
        scalars()({GPU: 1}),
        [f"Insufficient {GPU}"],
        [f"Insufficient {GPU}"],
        False,
    ),
}


@pytest.mark.parametrize(("used", "asked", "reasons_1_20", "reasons_1_36", "beyond"), CASES.values(), ids=CASES)
def test_resources(
    used: list[ResourceList], asked: ResourceList, reasons_1_20: list[str], reasons_1_36: list[str], beyond: bool
) -> None:
    """1.20 compares everything once anything is asked for, 1.36 only what is asked for."""
    pod = make_pod(requests=asked)
    assert old(cluster_of(ROOM, used, v1_20.VIEW), pod) == reasons_1_20
    assert new(cluster_of(ROOM, used, v1_36.VIEW), pod) == (reasons_1_36, beyond)


@pytest.mark.parametrize("allowed", [0, 2])
def test_too_many_pods_can_always_be_mended(allowed: int) -> None:
    """Even where none is allowed."""
    allocatable = resources(cpu=2000, pods=allowed)
    pods: list[FrozenMap[str, int]] = [FrozenMap()] * allowed
    assert old(cluster_of(allocatable, pods, v1_20.VIEW), make_pod()) == [PODS]
    assert new(cluster_of(allocatable, pods, v1_36.VIEW), make_pod()) == ([PODS], False)


IGNORED = {
    "name": (Ignored(frozenset({GPU})), True),
    "group": (Ignored(groups=frozenset({"example.com"})), True),
    "part-of-a-name": (Ignored(frozenset({"example.com"})), False),
    "name-as-group": (Ignored(groups=frozenset({GPU})), False),
    "other": (Ignored(frozenset({OTHER}), frozenset({"other.com"})), False),
}


@pytest.mark.parametrize(("ignored", "passes"), IGNORED.values(), ids=IGNORED)
def test_ignored_extended_resources(ignored: Ignored, passes: bool) -> None:
    """By full name, or by what stands before the slash."""
    pod = make_pod(requests=scalars()({GPU: 9}))
    expected = [] if passes else [f"Insufficient {GPU}"]
    assert old(cluster_of(ROOM, [], v1_20.VIEW), pod, ignored) == expected
    assert new(cluster_of(ROOM, [], v1_36.VIEW), pod, ignored=ignored) == (expected, not passes)


@pytest.mark.parametrize("name", [HUGE, "cpu", "kubernetes.io/thing"])
def test_only_extended_resources_can_be_ignored(name: str) -> None:
    """Not huge pages, not Kubernetes' own."""
    pod, ignored = make_pod(requests=scalars()({name: 9000})), Ignored(frozenset({name}), frozenset({"kubernetes.io"}))
    assert old(cluster_of(ROOM, [], v1_20.VIEW), pod, ignored) == [f"Insufficient {name}"]
    assert new(cluster_of(ROOM, [], v1_36.VIEW), pod, ignored=ignored)[0] == [f"Insufficient {name}"]


@pytest.mark.parametrize(("native", "reasons"), [(0, []), (1, [f"Insufficient {GPU}"])])
def test_what_a_device_class_provides_is_left_to_it(native: int, reasons: list[str]) -> None:
    """On nodes that have none of it natively."""
    cluster = cluster_of(scalars(pods=9)({GPU: native}), [], v1_36.VIEW)
    pod = make_pod(requests=scalars()({GPU: 2}))
    assert new(cluster, pod, backed=lambda _, name: name == GPU) == (reasons, bool(reasons))


def test_init_containers_and_overhead_stay_on_the_node_in_1_20() -> None:
    """Unlike in 1.16."""
    init = (Container(requests=resources(cpu=1500)),)
    running = make_pod("r", node="n", init_containers=init, overhead=resources(cpu=100))
    cluster = Cluster([make_node("n", allocatable=ROOM)], [running], view=v1_20.VIEW)
    assert old(cluster, make_pod(requests=resources(cpu=400))) == []
    assert old(cluster, make_pod(requests=resources(cpu=401))) == [CPU]


@pytest.mark.parametrize("view", [v1_20.VIEW, v1_36.VIEW], ids=["1.20", "1.36"])
def test_pods_thought_onto_a_node_count(view: Any) -> None:
    """And those hypothetically removed do not."""
    cluster = cluster_of(ROOM, [resources(cpu=1500)], view)
    ask = old if view is v1_20.VIEW else lambda *args, **rest: new(*args, **rest)[0]
    pod, running = make_pod(requests=resources(cpu=800)), cluster.info(make_pod(requests=resources(cpu=1500)))
    without = cluster.snapshot.what_if([PodChange(0, running, -1)])
    both = without.what_if([PodChange(0, cluster.info(make_pod(requests=resources(cpu=1300))), 1)])
    assert ask(cluster, pod, snapshot=without) == []
    assert ask(cluster, pod, snapshot=both) == [CPU]
