"""GangScheduling, and the plugins that are known by name only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clusterstate.cache import ClusterCache
from clusterstate.objects import ObjectMeta, Pod, PodGroup
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.handle import Handle, HeldPod, Services
from kubescheduler.framework.contract.plugin import points_of
from kubescheduler.framework.plugins.queue_and_bind import (
    GangScheduling,
    gang_scheduling_1_36,
    pod_group_pods_count_1_36,
    topology_placement_generator_1_36,
)
from kubescheduler.releases import v1_36
from tests.support.build import make_node, make_pod
from tests.support.manual_time import ManualTime

NO_GROUP = Status.unresolvable('waiting for pods\'s pod group "g" to appear in scheduling queue')
TOO_FEW = Status.unresolvable("waiting for minCount pods from a gang to appear in scheduling queue")
WAITING = (Status(Code.Wait, ("waiting for minCount pods from a gang to be scheduled",)), 300.0)
PASS = (None, 0.0)


def services(*objects: object) -> Services:
    return Services("1.36", ClusterCache.of([make_node("n"), *objects], v1_36.VIEW), time=ManualTime())


def plugin(given: Services) -> GangScheduling:
    return gang_scheduling_1_36(None, Handle(given, "p"))


def member(name: str, group: str = "g", node: str = "", namespace: str = "default") -> Pod:
    return make_pod(name, scheduling_group=group, node=node, namespace=namespace)


def group(min_count: int | None) -> PodGroup:
    return PodGroup(ObjectMeta("g", "default"), min_count)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("GangScheduling", gang_scheduling_1_36),
        ("TopologyPlacementGenerator", topology_placement_generator_1_36),
        ("PodGroupPodsCount", pod_group_pods_count_1_36),
    ],
)
def test_points(name: str, make: Callable[[Any, Any], Any]) -> None:
    """Their names and where they take part."""
    made = make(None, Handle(services(), "p"))
    assert made.name == name
    assert points_of(made) == v1_36.FRAMEWORK.points_by_plugin[name]


@pytest.mark.parametrize(
    ("pod", "objects", "expected"),
    [
        (make_pod("plain"), (), None),
        (member("a"), (), NO_GROUP),
        (member("a"), (PodGroup(ObjectMeta("g", "other"), 1),), NO_GROUP),
        (member("a"), (group(None),), None),
        (member("a"), (group(1),), None),
        (member("a"), (group(2),), TOO_FEW),
        (member("a"), (group(2), member("b", node="n")), None),
        (member("a"), (group(2), member("b", "other", node="n")), TOO_FEW),
        (member("a"), (group(2), member("b", node="n", namespace="other")), TOO_FEW),
    ],
)
def test_pre_enqueue(pod: Pod, objects: tuple[object, ...], expected: Status | None) -> None:
    """A pod stays out until its group is there and enough of its members are known."""
    assert plugin(services(*objects)).pre_enqueue(pod) == expected


def test_members_become_known_as_they_come() -> None:
    """Each counts once, whether it waits or is placed."""
    given = services(group(3))
    gang = plugin(given)
    assert [gang.pre_enqueue(member(name)) for name in ("a", "b", "b")] == [TOO_FEW] * 3
    given.cache.assume_pod(member("a"), "n")
    assert gang.pre_enqueue(member("b")) == TOO_FEW
    assert gang.pre_enqueue(member("c")) is None


def test_permit_holds_members_until_there_are_enough() -> None:
    """The last one lets all go; pods of others stay."""
    given = services(group(3))
    gang, state = plugin(given), CycleState()
    for name in ("a", "b"):
        pod = given.cache.assume_pod(member(name), "n")
        assert gang.permit(state, pod, "n") == WAITING
        given.waiting.add(HeldPod(pod, {"GangScheduling": 300.0}, given.time))
    stranger = given.cache.assume_pod(member("s", "other"), "n")
    given.waiting.add(HeldPod(stranger, {"GangScheduling": 300.0}, given.time))
    last = given.cache.assume_pod(member("c"), "n")
    assert gang.permit(state, last, "n") == PASS
    pending = {held.pod.metadata.name: held.pending_plugins() for held in given.waiting}
    assert pending == {"a": [], "b": [], "s": ["GangScheduling"]}


@pytest.mark.parametrize(
    ("pod", "objects"), [(make_pod(), ()), (member("a"), ()), (member("a"), (group(None),)), (member("a"), (group(1),))]
)
def test_permit_lets_others_go(pod: Pod, objects: tuple[object, ...]) -> None:
    """Pods without a gang, and gangs of one, do not wait."""
    assert plugin(services(*objects)).permit(CycleState(), pod, "n") == PASS
