"""PodFitsResources."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import Container, FrozenMap, ResourceList
from clusterstate.snapshot import PodChange, Snapshot
from predicates.resources import RESOURCES, pod_fits_resources
from predicates.types import PredicateArgs
from tests.support.build import Cluster, make_node, make_pod, resources

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


def on_node(allocatable: ResourceList, *running: ResourceList) -> Cluster:
    pods = [make_pod(f"p{i}", node="n", requests=requests) for i, requests in enumerate(running)]
    return Cluster([make_node("n", allocatable=allocatable)], pods)


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


# requests of containers, of init containers, what is insufficient on a node with 1000 of each and one GPU
INIT = {
    "largest-init-container-counts": ([resources(cpu=1)], [resources(cpu=1001), resources(cpu=5)], ["cpu"]),
    "init-containers-are-not-summed": ([resources(cpu=900)], [resources(cpu=900), resources(cpu=900)], []),
    "containers-are-summed": ([resources(cpu=600), resources(cpu=600)], [resources(cpu=700)], ["cpu"]),
    "per-resource": ([resources(cpu=1001)], [resources(memory=1001)], ["cpu", "memory"]),
    "scalar": ([resources(cpu=1)], [amounts()({GPU: 2})], [GPU]),
}


@pytest.mark.parametrize(("containers", "init", "insufficient"), INIT.values(), ids=INIT)
def test_init_containers_raise_the_request(
    containers: list[ResourceList], init: list[ResourceList], insufficient: list[str]
) -> None:
    """The pod needs the larger of its containers together and any init container."""
    pod = make_pod(
        containers=tuple(Container(requests=requests) for requests in containers),
        init_containers=tuple(Container(requests=requests) for requests in init),
    )
    assert reasons(on_node(ROOM({GPU: 1})), pod) == insufficient


def test_a_scalar_0_of_an_init_container_is_nothing() -> None:
    """It makes no entry, so that the pod still asks for nothing at all."""
    pod = make_pod(init_containers=(Container(requests=FrozenMap({GPU: 0})),))
    assert reasons(on_node(ROOM(), OVERCOMMITTED), pod) == []


def test_running_init_containers_take_nothing() -> None:
    """A node counts ordinary containers only."""
    running = make_pod("p", node="n", init_containers=(Container(requests=HALF), Container(requests=HALF)))
    cluster = Cluster([make_node("n", allocatable=ROOM())], [running])
    assert reasons(cluster, make_pod(requests=resources(cpu=1000))) == []


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


def test_pods_thought_on_and_away_count() -> None:
    """Their requests and their number."""
    cluster = on_node(amounts(cpu=1000, pods=1)(), resources(cpu=800))
    pod, other = make_pod(requests=resources(cpu=300)), cluster.info(make_pod(requests=resources(cpu=800)))
    away = cluster.snapshot.what_if([PodChange(0, other, -1)])
    assert reasons(cluster, pod) == ["pods", "cpu"]
    assert reasons(cluster, pod, away) == []
    assert reasons(cluster, pod, away.what_if([PodChange(0, other, 1)])) == ["pods", "cpu"]
