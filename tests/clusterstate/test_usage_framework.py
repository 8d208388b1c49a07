"""What pods ask for and what they take in the framework releases."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import Container, FrozenMap, PodSpec, RequestsInUse
from clusterstate.usage import (
    DEFAULT_MEMORY,
    PodUsage,
    account_1_16,
    account_1_20,
    account_1_36,
    amount,
    gated_accounting_1_20,
)
from tests.support.build import resources

GPU = "example.com/gpu"
HUGE = "hugepages-2Mi"


def containers(*requests: Any, always: bool = False) -> tuple[Container, ...]:
    return tuple(Container(requests=FrozenMap(one), restart_policy="Always" if always else None) for one in requests)


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
    "no-default-beside-a-container": (
        spec({"memory": 1000}, {}, whole={"cpu": 50}),
        (50, 1),
        (200, 200 * MEBI + 1),
    ),
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
