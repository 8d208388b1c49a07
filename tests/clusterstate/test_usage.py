"""What pods ask for and what they take."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import Container, FrozenMap, PodSpec, RequestsInUse, ResourceList
from clusterstate.usage import (
    DEFAULT_MEMORY,
    DEFAULT_MILLI_CPU,
    NVIDIA_GPU,
    PodUsage,
    account_1_4,
    account_1_16,
    account_1_16_with_overhead,
    account_1_20,
    account_1_27,
    account_1_36,
    amount,
    gated_accounting_1_20,
    is_extended_resource,
    is_native_resource,
    is_scalar_resource,
    nonzero_request,
    tracked_1_4,
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


GPUS = FrozenMap({NVIDIA_GPU: 2000})


def usage(*ordinary: ResourceList, init: tuple[ResourceList, ...] = ()) -> PodUsage:
    return account_1_4(PodSpec(containers(*ordinary), containers(*init)))


def test_init_containers_count_for_cpu_and_memory_only() -> None:
    """The largest of them against the sum of the others; never for GPUs, never while the pod runs."""
    found = usage(resources(cpu=100, memory=5), resources(cpu=200), init=(resources(cpu=250, memory=9), GPUS))
    assert found.request == {"cpu": 300, "memory": 9}
    assert found.used == {"cpu": 300, "memory": 5}
    assert usage(GPUS, GPUS).request == {NVIDIA_GPU: 4}
    assert usage(FrozenMap(), init=(resources(cpu=1),)).best_effort
    assert not usage(resources(cpu=1)).best_effort
    assert usage(FrozenMap(), resources(cpu=0, memory=0)).nonzero == (100, 209715200)


HUGE = "hugepages-2Mi"


def spec(*ordinary: Any, init: Any = (), overhead: Any = None, whole: Any = None) -> PodSpec:
    """Thousandths; ``init`` are requests, or containers as they are."""
    inits = tuple(c if isinstance(c, Container) else containers(c)[0] for c in init)
    return PodSpec(containers(*ordinary), inits, overhead=FrozenMap(overhead or {}), resources=FrozenMap(whole or {}))


def sidecar(**requests: int) -> Container:
    return Container(requests=FrozenMap(requests), restart_policy="Always")


# --- 1.20 ----------------------------------------------------------------------------------

AMOUNTS_1_20 = {
    "nothing": (spec({}), {}),
    "rounded-per-container": (spec({"memory": 100}, {"memory": 100}), {"memory": 2}),
    "init-raises": (spec({"cpu": 100}, init=[{"cpu": 300}, {"cpu": 200}]), {"cpu": 300}),
    "overhead-on-top": (spec({"cpu": 100}, init=[{"cpu": 300}], overhead={"cpu": 50}), {"cpu": 350}),
    "overhead-alone": (spec({}, overhead={GPU: 1000}), {GPU: 1}),
    "scalar-0": (spec({GPU: 0}), {GPU: 0}),
    "scalar-0-of-init-is-none": (spec({}, init=[{GPU: 0}]), {}),
    "sidecars-are-not-known": (spec({"cpu": 100}, init=[sidecar(cpu=50)]), {"cpu": 100}),
    "whole-pod-is-not-known": (spec({"cpu": 100}, whole={"cpu": 900}), {"cpu": 100}),
}


@pytest.mark.parametrize(("given_", "expected"), AMOUNTS_1_20.values(), ids=AMOUNTS_1_20)
def test_a_running_pod_takes_what_it_asked_for_in_1_20(given_: PodSpec, expected: dict[str, int]) -> None:
    """Init containers and overhead included."""
    usage = account_1_20(given_)
    assert dict(usage.request) == dict(usage.used) == expected


NONZERO_1_20 = {
    "silent": (spec({}, {}), (200, 2 * DEFAULT_MEMORY), (200, 2 * DEFAULT_MEMORY)),
    "init-is-silent-too": (spec({"cpu": 10, "memory": 1000}, init=[{}]), (100, DEFAULT_MEMORY), (100, DEFAULT_MEMORY)),
    "init-raises": (spec({"cpu": 10, "memory": 0}, init=[{"cpu": 30, "memory": 9000}]), (30, 9), (30, 9)),
    "quirk-of-cpu-overhead": (
        spec({"cpu": 500, "memory": 0}, overhead={"cpu": 250, "memory": 7000}),
        (750, 7),
        (501, 7),
    ),
    "two-cores-of-overhead": (spec({"cpu": 0, "memory": 0}, overhead={"cpu": 2000}), (2000, 0), (2, 0)),
}


@pytest.mark.parametrize(("given_", "nonzero", "scored"), NONZERO_1_20.values(), ids=NONZERO_1_20)
def test_what_scores_see_in_1_20(given_: PodSpec, nonzero: tuple[int, int], scored: tuple[int, int]) -> None:
    """On its node, and while its place is chosen: cpu overhead then counts in whole cores, as if millicores."""
    usage = account_1_20(given_)
    assert (usage.nonzero, usage.scored) == (nonzero, scored)


@pytest.mark.parametrize(
    ("overhead", "local_storage", "expected"),
    [
        pytest.param(True, True, {"cpu": 150, "ephemeral-storage": 4}, id="defaults"),
        pytest.param(False, True, {"cpu": 100, "ephemeral-storage": 3}, id="PodOverhead-off"),
        pytest.param(True, False, {"cpu": 150}, id="LocalStorageCapacityIsolation-off"),
        pytest.param(False, False, {"cpu": 100}, id="both-off"),
    ],
)
def test_gates_of_1_20(*, overhead: bool, local_storage: bool, expected: dict[str, int]) -> None:
    """One function for one pair of gates: a view is as another one that counts by the same."""
    account = gated_accounting_1_20(overhead=overhead, local_storage=local_storage)
    asked = {"cpu": 100, "ephemeral-storage": 2000}
    usage = account(spec(asked, init=[{"ephemeral-storage": 3000}], overhead={"cpu": 50, "ephemeral-storage": 1000}))
    assert dict(usage.request) == dict(usage.used) == dict(usage.scored_others) == expected
    assert usage.nonzero[0] == expected["cpu"]
    assert account is gated_accounting_1_20(overhead=overhead, local_storage=local_storage)
    assert (account is account_1_20) == (overhead and local_storage)


# --- 1.36 ----------------------------------------------------------------------------------

AMOUNTS_1_36 = {
    "nothing": (spec({}), {}),
    "rounded-once": (spec({"memory": 100}, {"memory": 100}), {"memory": 1}),
    "init-raises": (spec({"cpu": 100}, init=[{"cpu": 300}, {"cpu": 200}]), {"cpu": 300}),
    "sidecar-beside": (spec({"cpu": 100}, init=[sidecar(cpu=50)]), {"cpu": 150}),
    "sidecar-before-init": (spec({"cpu": 100}, init=[sidecar(cpu=50), {"cpu": 300}]), {"cpu": 350}),
    "sidecar-after-init": (spec({"cpu": 100}, init=[{"cpu": 300}, sidecar(cpu=50)]), {"cpu": 300}),
    "sidecars-add-up": (spec({"cpu": 1}, init=[sidecar(cpu=50), sidecar(cpu=60), {"cpu": 2}]), {"cpu": 112}),
    "scalar-0-of-init-counts": (spec({}, init=[{GPU: 0}]), {GPU: 0}),
    "whole-replaces": (spec({"cpu": 100, "memory": 5000}, whole={"cpu": 50}), {"cpu": 50, "memory": 5}),
    "whole-of-huge-pages": (spec({HUGE: 4000}, whole={HUGE: 2000}), {HUGE: 2}),
    "whole-of-others-is-nothing": (spec({GPU: 1000}, whole={GPU: 5000}), {GPU: 1}),
    "overhead-on-top-of-whole": (spec({"cpu": 9}, whole={"cpu": 50}, overhead={"cpu": 5}), {"cpu": 55}),
    "overhead-rounded-with-the-rest": (spec({"memory": 100}, overhead={"memory": 100}), {"memory": 1}),
    "dropped": (spec({"pods": 1000, "foo": 1000}), {}),
}


@pytest.mark.parametrize(("given_", "expected"), AMOUNTS_1_36.values(), ids=AMOUNTS_1_36)
def test_what_a_pod_asks_for_in_1_36(given_: PodSpec, expected: dict[str, int]) -> None:
    """A running pod takes the same while nothing is resized."""
    usage = account_1_36(given_)
    assert dict(usage.request) == dict(usage.used) == expected


def test_there_are_no_sidecars_before_1_28() -> None:
    """An init container that is always restarted counts like any other."""
    asked, plain = spec({"cpu": 200}, init=[sidecar(cpu=300)]), spec({"cpu": 200}, init=[{"cpu": 300}])
    assert account_1_27(asked) == account_1_36(plain) != account_1_36(asked)


MEBI = 1024 * 1024
NONZERO_1_36 = {
    "silent": (spec({}, {}), (200, 400 * MEBI), (200, 400 * MEBI)),
    "init-is-silent-too": (spec({"cpu": 10, "memory": 0}, init=[{}]), (100, 200 * MEBI), (100, 200 * MEBI)),
    "silent-sidecar": (
        spec({"cpu": 10, "memory": 0}, init=[Container(restart_policy="Always")]),
        (110, 200 * MEBI),
        (110, 200 * MEBI),
    ),
    "overhead-in-millicores": (spec({"cpu": 500, "memory": 0}, overhead={"cpu": 250}), (750, 0), (750, 0)),
    "whole-of-one": (spec({}, whole={"cpu": 50}), (50, 200 * MEBI), (100, 200 * MEBI)),
    "no-default-beside-a-container": (spec({"memory": 1000}, {}, whole={"cpu": 50}), (50, 1), (200, 200 * MEBI + 1)),
    "no-default-beside-overhead": (
        spec({}, whole={"cpu": 50}, overhead={"memory": 1000}),
        (50, 1),
        (100, 200 * MEBI + 1),
    ),
    "whole-of-huge-pages-only": (spec({}, whole={HUGE: 1000}), (100, 200 * MEBI), (100, 200 * MEBI)),
    "whole-of-others-is-nothing": (spec({"memory": 1}, {}, whole={GPU: 1000}), (200, 200 * MEBI + 1), None),
}


@pytest.mark.parametrize(("given_", "nonzero", "scored"), NONZERO_1_36.values(), ids=NONZERO_1_36)
def test_what_scores_see_in_1_36(given_: PodSpec, nonzero: tuple[int, int], scored: Any) -> None:
    """Once something is asked for the pod as a whole, nodes fill in only what is asked for nowhere in it; while its
    place is chosen the pod counts by its containers alone."""
    usage = account_1_36(given_)
    assert (usage.nonzero, usage.scored) == (nonzero, scored or nonzero)


def test_the_filter_sees_what_is_asked_for_and_nodes_what_is_in_use() -> None:
    """Of containers, sidecars and the pod as a whole; scores of NodeResourcesFit see what containers ask for."""
    asked = spec({"cpu": 100, "memory": 0}, init=[sidecar(cpu=10, memory=0)], whole={HUGE: 1000})
    in_use = RequestsInUse(
        (FrozenMap({"cpu": 300, "memory": 0}),), (FrozenMap({"cpu": 20, "memory": 0}),), FrozenMap({HUGE: 3000})
    )
    usage = account_1_36(PodSpec(asked.containers, asked.init_containers, resources=asked.resources, in_use=in_use))
    assert dict(usage.request) == {"cpu": 110, "memory": 0, HUGE: 1}
    assert dict(usage.used) == {"cpu": 320, "memory": 0, HUGE: 3}
    assert (usage.nonzero, usage.scored) == ((320, 0), (110, 0))
    assert dict(usage.scored_others) == {"cpu": 110, "memory": 0}


AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory", GPU, HUGE]), st.integers(0, 10**6), max_size=4)


@given(st.lists(AMOUNTS, max_size=3), st.lists(AMOUNTS, max_size=3))
def test_init_containers_that_end_need_no_more_than_the_largest(ordinary: Any, init: Any) -> None:
    """Whatever their order; both releases agree on whole amounts."""
    whole = [{name: value * 1000 for name, value in one.items()} for one in (*ordinary, *init)]
    ordinary, init = whole[: len(ordinary)], whole[len(ordinary) :]
    usage = account_1_36(spec(*ordinary, init=init))
    assert usage == account_1_36(spec(*ordinary, init=init[::-1]))
    assert {n: v for n, v in usage.request.items() if v} == {
        n: v for n, v in account_1_20(spec(*ordinary, init=init)).request.items() if v
    }
    for name, value in usage.request.items():
        needed = [sum(one.get(name, 0) for one in ordinary), *(one.get(name, 0) for one in init)]
        assert value == amount(name, max(needed))


@pytest.mark.parametrize("account", [account_1_16, account_1_20, account_1_36])
def test_amounts_beyond_64_bits_wrap(account: Any) -> None:
    """As integers of the releases do."""
    most = resources(memory=2**63 - 1)
    usage: PodUsage = account(PodSpec((Container(requests=most), Container(requests=most))))
    assert usage.used["memory"] == usage.nonzero[1] == -2


@pytest.mark.parametrize(
    ("name", "native", "extended", "scalar"),
    [
        ("storage", True, False, False),
        ("foo", True, False, False),
        ("example.com/gpu", False, True, True),
        ("nvidia.com/gpu", False, True, True),
        ("requests.example.com/gpu", False, False, False),
        ("example.com/", False, False, False),
        ("Example.com/gpu", False, False, False),
        (f"{'a' * 245}/b", False, False, False),
        (f"{'a' * 244}/b", False, True, True),
        ("alpha.kubernetes.io/nvidia-gpu", True, False, True),
        ("x.kubernetes.io/y", True, False, True),
        ("hugepages-2Mi", True, False, True),
        ("attachable-volumes-aws-ebs", True, False, True),
    ],
)
def test_resource_classes(name: str, native: bool, extended: bool, scalar: bool) -> None:
    """Each resource name falls into the classes of release 1.16, which accounts for the scalar ones; 1.4 for GPUs."""
    found = is_native_resource(name), is_extended_resource(name), is_scalar_resource(name)
    assert found == (native, extended, scalar)
    assert (tracked_1_16(name), tracked_1_4(name)) == (scalar, name == NVIDIA_GPU)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("cpu", True, True), ("memory", True, True), ("ephemeral-storage", False, True), ("pods", False, False)],
)
def test_fixed_resources_that_are_accounted_for(name: str, old: bool, new: bool) -> None:
    """Local storage came after 1.4; pods are counted by themselves."""
    assert (tracked_1_4(name), tracked_1_16(name)) == (old, new)
