"""Devices that have to get ready before a pod is bound, and claims for extended resources that an attempt left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import msgspec
import pytest

from clusterstate.devices.resource_claims import made_ready
from clusterstate.errors import SchedulingError
from clusterstate.objects import OwnerReference, ResourceClaim
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.cycle_state import Cancellation
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.dynamic_resources import DELETED, STATE, TIMED_OUT
from predicates.dynamic_resources import LEFT_OVER_CLAIM, NOT_AVAILABLE, DeviceRules, dynamic_resources
from predicates.types import GO_ON
from tests.support.build import labels, make_node, resources
from tests.support.deciders import deciding
from tests.support.devices import HELD, TODAY, WRITTEN, binding, make_claim, make_class, pod_with, world
from tests.support.manual_time import ManualTime

WAITING = binding(HELD, since=WRITTEN, node="a")
READY = binding(HELD, ("Ready", "True"), since=WRITTEN, node="a")
BROKEN = binding(HELD, ("Ready", "True"), ("Broken", "True"), node="a", details=(("", ""), ("Dead", 'no "power"')))
FAILED = 'claim c binding failed: reason=Dead, message="no \\"power\\""'
LONG_AGO = "2019-12-31T23:00:00Z"


class Driver(ManualTime):
    """A clock on which something happens at a moment."""

    def when(self, seconds: float, act: Callable[[], object]) -> None:
        self.then = seconds, act

    def sleep(self, cancellation: Cancellation, seconds: float) -> None:
        super().sleep(cancellation, seconds)
        at, act = getattr(self, "then", (float("inf"), None))
        if self.now() >= at and act is not None:
            act()


def pre_bound(claim: ResourceClaim, later: ResourceClaim | None = None, **given: Any) -> tuple[Status | None, float]:
    """(what PreBind says of a pod with a claim that becomes another after 12 seconds, when it says so)."""
    time = Driver()
    here, pod = world(claim, time=time, **given), pod_with("c")
    time.when(12, lambda: here.cache.add(attrs.evolve(later or here.claim(), reserved_for=here.claim().reserved_for)))
    here.plugin.reserve(here.state, pod, "a")
    return here.plugin.pre_bind(here.state, pod, "a"), time.now()


@pytest.mark.parametrize(
    ("claim", "later", "answer"),
    [
        (READY, None, (None, 0)),
        (HELD, None, (None, 0)),
        (WAITING, READY, (None, 15)),
        (WAITING, None, (Status.failure(TIMED_OUT), 600)),
    ],
    ids=["ready", "no conditions", "ready in time", "never ready"],
)
def test_pre_bind_waits(claim: ResourceClaim, later: ResourceClaim | None, answer: tuple[Status | None, float]) -> None:
    """It looks at once and then every five seconds, as long as bindingTimeout says."""
    assert pre_bound(claim, later) == answer


@pytest.mark.parametrize(
    ("claim", "later", "text"),
    [
        (BROKEN, None, FAILED),
        (WAITING, BROKEN, FAILED),
        (binding(HELD, since=LONG_AGO, node="a"), None, "claim c binding timeout"),
    ],
    ids=["broken", "broken later", "its time was over"],
)
def test_devices_that_do_not_get_ready(claim: ResourceClaim, later: ResourceClaim | None, text: str) -> None:
    """The attempt fails with the text of the device, or of the claim whose time began with its allocation."""
    with pytest.raises(SchedulingError) as caught:
        pre_bound(claim, later)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    "given",
    [{"client": False}, {"gates": {"DRADeviceBindingConditions": False}}],
    ids=["nobody makes them ready", "gate off"],
)
def test_nothing_is_waited_for(given: dict[str, Any]) -> None:
    """Without an API, or without the feature."""
    assert pre_bound(WAITING, **given) == (None, 0)


def test_simulated_drivers_make_devices_ready() -> None:
    """Once, and only those that have conditions."""
    ready = made_ready(WAITING)
    assert ready is not None
    assert ready.device_statuses == READY.device_statuses
    assert made_ready(ready) is None
    assert made_ready(HELD) is None


def test_a_kept_verdict_does_not_outlive_the_time_for_binding() -> None:
    """Ten minutes after its allocation a claim whose devices are not ready keeps the pod from every node."""
    now = [TODAY + 599]
    rule = dynamic_resources(DeviceRules(today=lambda: now[0]))
    plugin = ColumnPlugin("DynamicResources", frozenset({Point.PRE_FILTER, Point.FILTER}), rule)
    scheduler = deciding("1.36", plugin, cluster=[make_node("a"), make_node("b"), WAITING])
    assert scheduler.attempt(pod_with("c")).run().fits() == ["a"]
    now[0] += 2
    late = scheduler.attempt(pod_with("c")).run()
    assert late.reasons() == {"a": [NOT_AVAILABLE], "b": [NOT_AVAILABLE]}


# --- extended resources ------------------------------------------------------------------------

ASKING = pod_with(requests=resources(**{"example.com/gpu": 1}))


def left_over(uid: str, **fields: Any) -> ResourceClaim:
    """A claim for the extended resources of a pod, as PreBind writes it."""
    claim = make_claim("p-extended-resources", **fields)
    owner = OwnerReference("Pod", "p", uid, controller=True)
    note = labels({"resource.kubernetes.io/extended-resource-claim": "true"})
    return attrs.evolve(
        claim, metadata=msgspec.structs.replace(claim.metadata, owner_references=(owner,), annotations=note)
    )


def test_a_claim_that_an_earlier_attempt_left_is_deleted_first() -> None:
    """No node will do until then; afterwards the pod fits where there are devices."""
    here = world(left_over(ASKING.metadata.uid, allocation=HELD.allocation))
    verdict = here.plugin.check.check(here.cache.info(ASKING), here.cache.snapshot())
    assert {reason: mask.tolist() for reason, mask in verdict.items()} == {LEFT_OVER_CLAIM: [True, True]}
    here.state.write(STATE, GO_ON)
    statuses = {name: Status.unresolvable(LEFT_OVER_CLAIM) for name in ("a", "b")}
    assert here.plugin.post_filter(here.state, ASKING, statuses) == (None, Status.unschedulable(DELETED))
    assert not here.cache.objects.resource_claims
    verdict = here.plugin.check.check(here.cache.info(ASKING), here.cache.snapshot())
    assert verdict["cannot allocate all claims"].tolist() == [False, True]


@pytest.mark.parametrize(
    ("claim", "others"),
    [
        (left_over("of another pod"), ()),
        (make_claim("p-extended-resources", owner=ASKING.metadata.uid), ()),
        (left_over(ASKING.metadata.uid), (make_class("gpu"),)),
    ],
    ids=["of another pod", "an ordinary claim", "nothing provides the resource by now"],
)
def test_claims_that_were_not_left(claim: ResourceClaim, others: tuple[object, ...]) -> None:
    """They have no say."""
    here = world(claim, *others)
    verdict = here.plugin.check.check(here.cache.info(ASKING), here.cache.snapshot())
    assert LEFT_OVER_CLAIM not in verdict


def test_what_pre_bind_writes_is_found_again() -> None:
    """By its annotation and its owner."""
    here = world()
    here.plugin.reserve(here.state, ASKING, "a")
    here.plugin.pre_bind(here.state, ASKING, "a")
    assert LEFT_OVER_CLAIM in here.plugin.check.check(here.cache.info(ASKING), here.cache.snapshot())
