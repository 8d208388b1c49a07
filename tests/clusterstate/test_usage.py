"""What pods ask for and what they take."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import Container, FrozenMap, PodSpec
from clusterstate.usage import (
    DEFAULT_MEMORY,
    DEFAULT_MILLI_CPU,
    account_1_16,
    account_1_16_with_overhead,
    amount,
    nonzero_request,
    tracked_1_16,
)
from tests.support.build import resources

GPU = "example.com/gpu"

ROUNDED = {
    "millicores-as-they-are": ("cpu", 1500, 1500),
    "whole": ("memory", 1_024_000, 1024),
    "up": ("memory", 100, 1),
    "just-over": ("memory", 1001, 2),
    "nothing": ("memory", 0, 0),
    "negative-away-from-zero": ("memory", -1001, -2),
    "negative-whole": ("memory", -2000, -2),
    "scalar": (GPU, 1, 1),
}


@pytest.mark.parametrize(("name", "thousandths", "units"), ROUNDED.values(), ids=ROUNDED)
def test_amounts_are_rounded_away_from_zero(name: str, thousandths: int, units: int) -> None:
    """cpu counts in thousandths, everything else in whole units."""
    assert amount(name, thousandths) == units


TRACKED = {
    "cpu": True,
    "memory": True,
    "ephemeral-storage": True,
    "pods": False,
    "storage": False,
    "foo": False,
    "requests.example.com/gpu": False,
    GPU: True,
    "hugepages-1Gi": True,
    "attachable-volumes-aws-ebs": True,
    "alpha.kubernetes.io/nvidia-gpu": True,
}


@pytest.mark.parametrize(("name", "kept"), TRACKED.items(), ids=TRACKED)
def test_which_resources_are_accounted_for(name: str, kept: bool) -> None:
    """The three fixed ones and the scalar ones."""
    assert tracked_1_16(name) == kept


def containers(*requests: Any) -> tuple[Container, ...]:
    return tuple(Container(requests=FrozenMap(one)) for one in requests)


NONZERO = {
    "no-container": ((), (0, 0)),
    "silent": (({},), (DEFAULT_MILLI_CPU, DEFAULT_MEMORY)),
    "zeros-count": (({"cpu": 0, "memory": 0},), (0, 0)),
    "one-of-two": (({"cpu": 250},), (250, DEFAULT_MEMORY)),
    "rounded": (({"cpu": 1, "memory": 1},), (1, 1)),
    "summed": (({"cpu": 250}, {"memory": 5000}, {}), (450, 2 * DEFAULT_MEMORY + 5)),
}


@pytest.mark.parametrize(("requests", "expected"), NONZERO.values(), ids=NONZERO)
def test_silent_containers_count_with_defaults(requests: tuple[dict[str, int], ...], expected: tuple[int, int]) -> None:
    """100 millicores and 200 MiB each."""
    assert nonzero_request(containers(*requests)) == expected


# containers, init containers, request, used
REQUESTS = {
    "nothing": (({},), (), {}, {}),
    "summed": (({"cpu": 100, GPU: 1000}, {"cpu": 50}), (), {"cpu": 150, GPU: 1}, {"cpu": 150, GPU: 1}),
    "rounded-per-container": (({"memory": 100}, {"memory": 100}), (), {"memory": 2}, {"memory": 2}),
    "init-raises": (({"cpu": 100},), ({"cpu": 300}, {"cpu": 200}), {"cpu": 300}, {"cpu": 100}),
    "init-not-larger": (({"cpu": 100},), ({"cpu": 100},), {"cpu": 100}, {"cpu": 100}),
    "init-adds": (({},), ({GPU: 1000},), {GPU: 1}, {}),
    "scalar-0-is-an-entry": (({GPU: 0},), (), {GPU: 0}, {GPU: 0}),
    "scalar-0-of-init-is-none": (({},), ({GPU: 0},), {}, {}),
    "dropped": (({"pods": 9000, "foo": 9000, "storage": 9000},), ({"foo": 9000},), {}, {}),
}


@pytest.mark.parametrize(("ordinary", "init", "request_", "used"), REQUESTS.values(), ids=REQUESTS)
def test_request_and_use(ordinary: Any, init: Any, request_: dict[str, int], used: dict[str, int]) -> None:
    """Init containers raise what is asked for, never what is taken."""
    usage = account_1_16(PodSpec(containers(*ordinary), containers(*init)))
    assert dict(usage.request) == request_
    assert dict(usage.used) == used
    assert usage.nonzero == usage.scored == nonzero_request(containers(*ordinary))


def test_limits_are_the_larger_of_all_containers_and_any_init_container() -> None:
    """cpu and memory each on its own."""
    ordinary = (Container(limits=resources(cpu=100, memory=50)), Container(limits=resources(cpu=100)))
    init = (Container(limits=resources(cpu=150, memory=70)), Container(limits=resources(memory=60)))
    assert account_1_16(PodSpec(ordinary, init)).limits == (200, 70)
    assert account_1_16(PodSpec(ordinary)).limits == (200, 50)
    assert account_1_16(PodSpec()).limits == (0, 0)


BEST_EFFORT = {
    "nothing": (PodSpec((Container(),)), True),
    "no-container": (PodSpec(), True),
    "zeros": (PodSpec((Container(requests=resources(cpu=0), limits=resources(memory=0)),)), True),
    "other-resources": (PodSpec((Container(requests=FrozenMap({GPU: 1000})),)), True),
    "request": (PodSpec((Container(requests=resources(cpu=1)),)), False),
    "limit": (PodSpec((Container(limits=resources(memory=1)),)), False),
    "second-container": (PodSpec((Container(), Container(requests=resources(memory=1)))), False),
    "init-container": (PodSpec((Container(),), (Container(requests=resources(cpu=1)),)), False),
}


@pytest.mark.parametrize(("spec", "expected"), BEST_EFFORT.values(), ids=BEST_EFFORT)
def test_best_effort(spec: PodSpec, expected: bool) -> None:
    """No container, init containers included, says anything about cpu or memory."""
    assert account_1_16(spec).best_effort == expected


def test_overhead_counts_with_its_gate_only() -> None:
    """On top of request and use; the cpu overhead of a pod that is being placed counts in whole cores."""
    spec = PodSpec(
        containers({"cpu": 100, "memory": 1000}),
        containers({"cpu": 300}),
        overhead=FrozenMap({"cpu": 1500, "memory": 2000, GPU: 1000, "foo": 1000}),
    )
    off, on = account_1_16(spec), account_1_16_with_overhead(spec)
    assert dict(off.request) == {"cpu": 300, "memory": 1}
    assert dict(on.request) == {"cpu": 1800, "memory": 3, GPU: 1}
    assert dict(on.used) == {"cpu": 1600, "memory": 3, GPU: 1}
    assert (off.nonzero, on.nonzero) == ((100, 1), (1600, 3))
    assert (off.scored, on.scored) == ((100, 1), (102, 3))
    assert (on.limits, on.best_effort) == (off.limits, off.best_effort)
