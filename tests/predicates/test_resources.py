"""PodFitsResources, GeneralPredicates and NodeResourcesFit."""

from __future__ import annotations

from typing import Any

import pytest

from algorithmprovider.algorithms import FIT_PREDICATES
from clusterstate.objects import Container, ContainerPort, FrozenMap, Pod, ResourceList
from clusterstate.podinfo import ReleaseView
from clusterstate.snapshot import Snapshot
from kubescheduler.releases import v1_16, v1_20, v1_36
from predicates.resources import (
    NOTHING_IGNORED,
    RESOURCES,
    Ignored,
    beyond_allocatable_1_36,
    general_predicates,
    node_resources_fit_1_20,
    node_resources_fit_1_36,
    pod_fits_resources,
)
from predicates.types import PredicateArgs
from tests.support.build import Cluster, labels, make_node, make_pod, resources

GPU, NATIVE, HUGE = "example.com/gpu", "alpha.kubernetes.io/nvidia-gpu", "hugepages-2Mi"
ALL = ["cpu", "memory", "ephemeral-storage"]


def amounts(**fixed: int) -> Any:
    """A resource list that further names (in whole units) are added to."""

    def plus(more: dict[str, int] | None = None) -> ResourceList:
        return FrozenMap({**resources(**fixed), **{name: 1000 * value for name, value in (more or {}).items()}})

    return plus


def reasons(cluster: Cluster, pod: Any, snapshot: Snapshot | None = None, **args: Any) -> list[str]:
    """What is insufficient on the first row, in the order it is reported."""
    verdict = pod_fits_resources(cluster.info(pod), snapshot or cluster.snapshot, **args)
    return [reason.removeprefix("Insufficient ") for reason, mask in verdict.items() if mask[0]]


def on_node(allocatable: ResourceList, *running: ResourceList, view: ReleaseView = v1_16.VIEW) -> Cluster:
    pods = [make_pod(f"p{i}", node="n", requests=requests) for i, requests in enumerate(running)]
    return Cluster([make_node("n", allocatable=allocatable)], pods, view=view)


ROOM = amounts(cpu=1000, memory=1000, ephemeral_storage=1000, pods=10)
HALF = amounts(cpu=500, memory=500, ephemeral_storage=500)()
OVERCOMMITTED = amounts(cpu=2000, memory=2000, ephemeral_storage=2000)()

# allocatable, what runs, what the pod asks for, what is insufficient
CASES = {
    "fits-exactly": (ROOM(), [HALF], HALF, []),
    "cpu": (ROOM(), [HALF], resources(cpu=501), ["cpu"]),
    "memory": (ROOM(), [HALF], resources(memory=501), ["memory"]),
    "storage": (ROOM(), [HALF], resources(ephemeral_storage=501), ["ephemeral-storage"]),
    "all-are-reported-in-order": (ROOM(), [HALF], OVERCOMMITTED, ALL),
    "asks-nothing-of-an-overcommitted-node": (ROOM(), [OVERCOMMITTED], FrozenMap(), []),
    "written-zeros-are-nothing": (ROOM(), [OVERCOMMITTED], resources(cpu=0, memory=0, ephemeral_storage=0), []),
    "asks-a-little-of-an-overcommitted-node": (ROOM(), [OVERCOMMITTED], resources(cpu=1), ALL),
    "scalar-0-is-something": (ROOM(), [OVERCOMMITTED], FrozenMap({GPU: 0}), ALL),
    "native-scalar-0-too": (ROOM(), [OVERCOMMITTED], FrozenMap({NATIVE: 0}), ALL),
    "untracked-names-are-nothing": (ROOM(), [OVERCOMMITTED], FrozenMap({"foo": 9000, "storage": 9000}), []),
    "a-request-for-pods-is-nothing": (ROOM(), [OVERCOMMITTED], resources(pods=99), []),
    "no-room-for-a-pod": (amounts(cpu=1000, pods=1)(), [FrozenMap()], FrozenMap(), ["pods"]),
    "last-room-for-a-pod": (amounts(cpu=1000, pods=2)(), [FrozenMap()], FrozenMap(), []),
    "pods-not-allocatable": (resources(cpu=1000), [], FrozenMap(), ["pods"]),
    "pods-come-first": (FrozenMap(), [], resources(cpu=1), ["pods", "cpu"]),
    "scalar-fits": (ROOM({GPU: 2}), [amounts()({GPU: 1})], amounts()({GPU: 1}), []),
    "scalar-is-short": (ROOM({GPU: 2}), [amounts()({GPU: 2})], amounts()({GPU: 1}), [GPU]),
    "scalar-nobody-has": (ROOM(), [], amounts()({GPU: 1}), [GPU]),
    "scalar-0-nobody-has": (ROOM(), [], amounts()({GPU: 0}), []),
    "scalar-not-asked-for": (ROOM({GPU: 1}), [amounts()({GPU: 2})], resources(cpu=1), []),
    "hugepages": (ROOM({HUGE: 1}), [], amounts()({HUGE: 2}), [HUGE]),
    "attachable": (ROOM(), [], amounts()({"attachable-volumes-x": 1}), ["attachable-volumes-x"]),
    "cpu-before-scalars": (ROOM(), [], amounts(cpu=1001)({GPU: 1}), ["cpu", GPU]),
}


@pytest.mark.parametrize(("allocatable", "running", "request_", "insufficient"), CASES.values(), ids=CASES)
def test_what_is_insufficient(
    allocatable: ResourceList, running: list[ResourceList], request_: ResourceList, insufficient: list[str]
) -> None:
    """Every resource that is short is reported, pods first."""
    assert reasons(on_node(allocatable, *running), make_pod(requests=request_)) == insufficient


IGNORED = {
    "extended": (GPU, frozenset({GPU}), []),
    "another": (GPU, frozenset({"example.com/fpga"}), [GPU]),
    "not-extended": (HUGE, frozenset({HUGE}), [HUGE]),
    "cpu-is-never-ignored": ("cpu", frozenset({"cpu"}), ["cpu"]),
}


@pytest.mark.parametrize(("name", "ignored", "insufficient"), IGNORED.values(), ids=IGNORED)
def test_only_extended_resources_can_be_ignored(name: str, ignored: frozenset[str], insufficient: list[str]) -> None:
    """Those that an extender manages, through the factory too."""
    cluster, pod = on_node(ROOM()), make_pod(requests=FrozenMap({name: 10_000_000}))
    assert reasons(cluster, pod, ignored=ignored) == insufficient
    predicate = RESOURCES["PodFitsResources"](PredicateArgs(ignored_resources=ignored))
    failing = [mask[0] for mask in predicate.check(cluster.info(pod), cluster.snapshot).values()]
    assert any(failing) == bool(insufficient)


def test_an_ignored_resource_is_still_something_asked_for() -> None:
    """A pod that asks only for it is tested on cpu, memory and ephemeral-storage."""
    pod = make_pod(requests=amounts()({GPU: 1}))
    assert reasons(on_node(ROOM(), OVERCOMMITTED), pod, ignored=frozenset({GPU})) == ALL


def test_all_four_report_in_order() -> None:
    """Nothing is short-circuited inside it."""
    used = make_pod("old", node="n", containers=(Container(ports=(ContainerPort(80),)),))
    cluster = Cluster([make_node("n", allocatable=resources(cpu=1, memory=1))], [used])
    demanding = Container(requests=resources(cpu=2, memory=2), ports=(ContainerPort(80),))
    pod = cluster.info(make_pod(containers=(demanding,), node_selector=labels({"disk": "ssd"})))
    pod.node_name = "elsewhere"
    verdict = general_predicates(pod, cluster.snapshot)
    assert [reason for reason, mask in verdict.items() if mask.all()] == [
        "Insufficient pods",
        "Insufficient cpu",
        "Insufficient memory",
        "node(s) didn't match the requested hostname",
        "node(s) didn't have free ports for the requested pod ports",
        "node(s) didn't match node selector",
    ]


def test_ignored_resources_are_passed_on() -> None:
    """An extended resource that an extender manages is not counted."""
    cluster = Cluster([make_node("n")])
    pod = cluster.info(make_pod(requests=FrozenMap({"example.com/widget": 1000})))
    make = FIT_PREDICATES["GeneralPredicates"]
    counted = make(PredicateArgs()).check(pod, cluster.snapshot)
    ignored = make(PredicateArgs(frozenset({"example.com/widget"}))).check(pod, cluster.snapshot)
    assert counted["Insufficient example.com/widget"].all()
    assert not any(mask.any() for mask in ignored.values())


@pytest.mark.parametrize("name", FIT_PREDICATES)
def test_every_predicate_carries_the_name_it_is_filed_under(name: str) -> None:
    """Reports and orderings go by that name."""
    assert FIT_PREDICATES[name](PredicateArgs()).name == name


OTHER = "other.com/gpu"
ROOM_1_20 = FrozenMap({**resources(cpu=2000, memory=2000, ephemeral_storage=2000, pods=3), GPU: 4000})
PODS, CPU, MEMORY, STORAGE = (
    "Too many pods",
    "Insufficient cpu",
    "Insufficient memory",
    "Insufficient ephemeral-storage",
)


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
CASES_1_20: dict[str, tuple[list[ResourceList], ResourceList, list[str], list[str], bool]] = {
    "fits": ([], resources(cpu=2000), [], [], False),
    "worked-example": ([resources(cpu=1500)], resources(cpu=800), [CPU], [CPU], False),
    "worked-example-beyond": ([resources(cpu=1500)], resources(cpu=2500), [CPU], [CPU], True),
    "overcommitted-otherwise": ([MUCH], resources(cpu=1), [MEMORY], [], False),
    "asks-nothing": ([MUCH], FrozenMap(), [], [], False),
    "scalar-0": ([MUCH], FrozenMap({GPU: 0}), [MEMORY], [], False),
    "in-order": (
        [],
        amounts(cpu=9000, memory=9000, ephemeral_storage=9000)({GPU: 9}),
        [CPU, MEMORY, STORAGE, f"Insufficient {GPU}"],
        [CPU, MEMORY, STORAGE, f"Insufficient {GPU}"],
        True,
    ),
    "one-of-two-beyond": ([resources(cpu=1500)], resources(cpu=800, memory=2001), [CPU, MEMORY], [CPU, MEMORY], True),
    "no-such-resource": ([], amounts()({OTHER: 1}), [f"Insufficient {OTHER}"], [f"Insufficient {OTHER}"], True),
    "scalar-taken": (
        [amounts()({GPU: 4})],
        amounts()({GPU: 1}),
        [f"Insufficient {GPU}"],
        [f"Insufficient {GPU}"],
        False,
    ),
}


@pytest.mark.parametrize(
    ("used", "asked", "reasons_1_20", "reasons_1_36", "beyond"), CASES_1_20.values(), ids=CASES_1_20
)
def test_resources(
    used: list[ResourceList], asked: ResourceList, reasons_1_20: list[str], reasons_1_36: list[str], beyond: bool
) -> None:
    """1.20 compares everything once anything is asked for, 1.36 only what is asked for."""
    pod = make_pod(requests=asked)
    assert old(on_node(ROOM_1_20, *used, view=v1_20.VIEW), pod) == reasons_1_20
    assert new(on_node(ROOM_1_20, *used, view=v1_36.VIEW), pod) == (reasons_1_36, beyond)


@pytest.mark.parametrize("allowed", [0, 2])
def test_too_many_pods_can_always_be_mended(allowed: int) -> None:
    """Even where none is allowed."""
    allocatable = resources(cpu=2000, pods=allowed)
    pods: list[FrozenMap[str, int]] = [FrozenMap()] * allowed
    assert old(on_node(allocatable, *pods, view=v1_20.VIEW), make_pod()) == [PODS]
    assert new(on_node(allocatable, *pods, view=v1_36.VIEW), make_pod()) == ([PODS], False)


IGNORED_1_20 = {
    "name": (Ignored(frozenset({GPU})), True),
    "group": (Ignored(groups=frozenset({"example.com"})), True),
    "part-of-a-name": (Ignored(frozenset({"example.com"})), False),
    "name-as-group": (Ignored(groups=frozenset({GPU})), False),
    "other": (Ignored(frozenset({OTHER}), frozenset({"other.com"})), False),
}


@pytest.mark.parametrize(("ignored", "passes"), IGNORED_1_20.values(), ids=IGNORED_1_20)
def test_ignored_extended_resources(ignored: Ignored, passes: bool) -> None:
    """By full name, or by what stands before the slash."""
    pod = make_pod(requests=amounts()({GPU: 9}))
    expected = [] if passes else [f"Insufficient {GPU}"]
    assert old(on_node(ROOM_1_20, view=v1_20.VIEW), pod, ignored) == expected
    assert new(on_node(ROOM_1_20, view=v1_36.VIEW), pod, ignored=ignored) == (expected, not passes)


@pytest.mark.parametrize("name", [HUGE, "cpu", "kubernetes.io/thing"])
def test_only_extended_resources_can_be_ignored_by_the_plugin(name: str) -> None:
    """Not huge pages, not Kubernetes' own."""
    pod, ignored = make_pod(requests=amounts()({name: 9000})), Ignored(frozenset({name}), frozenset({"kubernetes.io"}))
    assert old(on_node(ROOM_1_20, view=v1_20.VIEW), pod, ignored) == [f"Insufficient {name}"]
    assert new(on_node(ROOM_1_20, view=v1_36.VIEW), pod, ignored=ignored)[0] == [f"Insufficient {name}"]


@pytest.mark.parametrize(("native", "reasons"), [(0, []), (1, [f"Insufficient {GPU}"])])
def test_what_a_device_class_provides_is_left_to_it(native: int, reasons: list[str]) -> None:
    """On nodes that have none of it natively."""
    cluster = on_node(amounts(pods=9)({GPU: native}), view=v1_36.VIEW)
    pod = make_pod(requests=amounts()({GPU: 2}))
    assert new(cluster, pod, backed=lambda _, name: name == GPU) == (reasons, bool(reasons))


def test_init_containers_and_overhead_stay_on_the_node_in_1_20() -> None:
    """Unlike in 1.16."""
    init = (Container(requests=resources(cpu=1500)),)
    running = make_pod("r", node="n", init_containers=init, overhead=resources(cpu=100))
    cluster = Cluster([make_node("n", allocatable=ROOM_1_20)], [running], view=v1_20.VIEW)
    assert old(cluster, make_pod(requests=resources(cpu=400))) == []
    assert old(cluster, make_pod(requests=resources(cpu=401))) == [CPU]
