"""What pods ask for and take, as release 1.4 counts."""

from __future__ import annotations

import pytest

from clusterstate.objects import Container, FrozenMap, PodSpec, ResourceList
from clusterstate.usage import NVIDIA_GPU, PodUsage, account_1_4, tracked_1_4
from tests.support.build import resources

GPUS = FrozenMap({NVIDIA_GPU: 2000})


def usage(*containers: ResourceList, init: tuple[ResourceList, ...] = ()) -> PodUsage:
    return account_1_4(
        PodSpec(tuple(Container(requests=r) for r in containers), tuple(Container(requests=r) for r in init))
    )


@pytest.mark.parametrize(
    ("name", "tracked"),
    [("cpu", True), ("memory", True), (NVIDIA_GPU, True), ("ephemeral-storage", False), ("example.com/gpu", False)],
)
def test_what_account_is_kept_of(name: str, tracked: bool) -> None:
    """cpu, memory and GPUs; no other scalar resource."""
    assert tracked_1_4(name) == tracked


def test_init_containers_count_for_cpu_and_memory_only() -> None:
    """The largest of them against the sum of the others; never for GPUs, never while the pod runs."""
    found = usage(resources(cpu=100, memory=5), resources(cpu=200), init=(resources(cpu=250, memory=9), GPUS))
    assert found.request == {"cpu": 300, "memory": 9}
    assert found.used == {"cpu": 300, "memory": 5}
    assert usage(GPUS, GPUS).request == {NVIDIA_GPU: 4}


def test_only_ordinary_containers_make_a_pod_more_than_best_effort() -> None:
    """1.16 looks at init containers too."""
    assert usage(FrozenMap(), init=(resources(cpu=1),)).best_effort
    assert not usage(resources(cpu=1)).best_effort


def test_nonzero_requests_have_defaults() -> None:
    """100m and 200 MiB for what is not asked for, 0 for what is written as 0."""
    assert usage(FrozenMap(), resources(cpu=0, memory=0)).nonzero == (100, 209715200)
