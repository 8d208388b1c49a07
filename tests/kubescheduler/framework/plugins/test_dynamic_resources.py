"""The DynamicResources plugin."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError
from clusterstate.objects import Pod, ResourceClaim
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.handle import Handle, Services
from kubescheduler.framework.plugins.dynamic_resources import NAME, STATE, dynamic_resources_1_36, timer_of
from kubescheduler.framework.plugins.node_affinity import NodeAffinityArgs
from kubescheduler.releases import v1_36
from predicates.dynamic_resources import NOT_AVAILABLE
from predicates.types import GO_ON, SKIP, PreFiltered
from tests.support.build import resources
from tests.support.devices import HELD, READING, UID, make_claim, pod_with, users, world
from tests.support.manual_time import ManualTime


def test_points() -> None:
    """Where the plugin takes part, and that it has what it takes."""
    plugin = world().plugin
    assert plugin.name == NAME
    assert plugin.points == v1_36.FRAMEWORK.points_by_plugin[NAME]


def test_args_of_another_plugin() -> None:
    """The text of the factory."""
    handle = Handle(Services("1.36", ClusterCache(READING)), "p")
    with pytest.raises(ConfigError, match=r"got args of type NodeAffinityArgs, want \*DynamicResourcesArgs"):
        dynamic_resources_1_36(NodeAffinityArgs(), handle)


@pytest.mark.parametrize(
    ("pod", "text"),
    [
        (pod_with(), None),
        (pod_with("c"), None),
        (pod_with("x"), 'could not find ResourceClaim "default/x"'),
        (pod_with(made={"t": ""}), 'pod "default/p": ResourceClaim not created yet'),
    ],
)
def test_pre_enqueue(pod: Pod, text: str | None) -> None:
    """A pod stays out of the queue until its claims are there."""
    expected = None if text is None else Status.unresolvable(text)
    assert world(make_claim()).plugin.pre_enqueue(pod) == expected


@pytest.mark.parametrize(("timeout", "late"), [(10_000_000_000, 11), (0, None), (1_000_000_000, 2)])
def test_filter_timeout(timeout: int, late: int | None) -> None:
    """The time for one node runs from when its search begins; 0 means that there is no limit."""
    time = ManualTime(100.0)
    expired = timer_of(time.now, timeout)()
    assert not expired()
    time.advance(late or 1e9)
    assert expired() is (late is not None)


# --- PostFilter ----------------------------------------------------------------------------

STUCK = Status.unschedulable("still not schedulable")
AWAY = {"b": Status.unresolvable(NOT_AVAILABLE)}
POST_FILTERS: dict[str, tuple[ResourceClaim, Pod, Any, dict[str, Status], Status]] = {
    "PreFilter was not reached": (HELD, pod_with("c"), None, AWAY, Status.failure("not found")),
    "PreFilter was not reached by a plain pod": (HELD, pod_with(), None, AWAY, Status.failure("not found")),
    "no claims": (HELD, pod_with(), SKIP, AWAY, Status.unschedulable("no new claims to deallocate")),
    "PreFilter refused": (
        HELD,
        pod_with("c"),
        PreFiltered(reasons=("x",)),
        {},
        Status.unschedulable("no new claims to deallocate"),
    ),
    "free": (HELD, pod_with("c"), GO_ON, AWAY, Status.unschedulable("deallocation of ResourceClaim completed")),
    "only this pod's": (
        attrs.evolve(HELD, reserved_for=users(UID)),
        pod_with("c"),
        GO_ON,
        AWAY,
        Status.unschedulable("deallocation of ResourceClaim completed"),
    ),
    "somebody else's": (attrs.evolve(HELD, reserved_for=users("u")), pod_with("c"), GO_ON, AWAY, STUCK),
    "not what is in the way": (HELD, pod_with("c"), GO_ON, {"b": Status.unresolvable("other")}, STUCK),
    "not allocated": (make_claim(), pod_with("c"), GO_ON, {"b": Status.unresolvable("x")}, STUCK),
    "extended resources": (HELD, pod_with(requests=resources(**{"example.com/gpu": 5})), GO_ON, {}, STUCK),
}


@pytest.mark.parametrize(
    ("claim", "pod", "answer", "statuses", "expected"), POST_FILTERS.values(), ids=POST_FILTERS.keys()
)
def test_post_filter(
    claim: ResourceClaim, pod: Pod, answer: Any, statuses: dict[str, Status], expected: Status
) -> None:
    """A claim that keeps the pod from nodes, and that nobody else uses, loses its devices."""
    here = world(claim)
    if answer is not None:
        here.state.write(STATE, answer)
    assert here.plugin.post_filter(here.state, pod, statuses) == (None, expected)
    freed = expected.message.startswith("deallocation")
    assert (here.claim().allocation is None) is (freed or claim.allocation is None)
    assert here.claim().reserved_for == (() if freed else claim.reserved_for)
    assert here.api.written == ([here.claim()] if freed else [])
