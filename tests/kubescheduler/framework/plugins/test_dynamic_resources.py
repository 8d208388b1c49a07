"""The DynamicResources plugin: where it takes part, what it writes down, devices that have to get ready."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import attrs
import msgspec
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.devices.resource_claims import made_ready
from clusterstate.errors import ConfigError, SchedulingError
from clusterstate.manifests.decode import decode_object
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import DeviceConfig, OwnerReference, PendingAllocation, Pod, ResourceClaim, Toleration
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import Cancellation
from kubescheduler.framework.contract.handle import Handle, Services
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.dynamic_resources import (
    DEALLOCATED,
    DELETED,
    NAME,
    STATE,
    TIMED_OUT,
    dynamic_resources_1_36,
    timer_of,
)
from kubescheduler.framework.plugins.node_affinity import NodeAffinityArgs
from kubescheduler.releases import v1_36
from predicates.dynamic_resources import LEFT_OVER_CLAIM, NOT_AVAILABLE, DeviceRules, dynamic_resources
from predicates.types import GO_ON, SKIP, PreFiltered
from tests.support.build import labels, make_node, resources
from tests.support.deciders import deciding
from tests.support.devices import (
    DRIVER,
    HELD,
    ON_A,
    READING,
    TODAY,
    UID,
    WRITTEN,
    Api,
    binding,
    exactly,
    make_claim,
    make_class,
    pod_with,
    users,
    world,
)
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


def test_from_reserve_to_pre_bind() -> None:
    """Reserve keeps the devices from others, PreBind writes them down with the pod that uses them."""
    here, pod = world(make_claim()), pod_with("c")
    assert here.plugin.reserve(here.state, pod, "a") is None
    (pending,) = here.cache.objects.pending_allocations.values()
    assert isinstance(pending, PendingAllocation)
    assert [(d.request, d.driver, d.pool, d.device) for d in pending.allocation.devices] == [("r", DRIVER, "a", "g")]
    assert pending.allocation.node_selector == ON_A
    assert here.claim().allocation is None
    other = here.cache.info(pod_with("c", name="q"))
    assert here.plugin.check.pre_filter is not None
    assert here.plugin.check.pre_filter(other, here.cache.snapshot()).reasons == (
        "resource claim default/c is in the process of being allocated",
    )
    assert here.plugin.pre_bind_pre_flight(here.state, pod, "a") is None
    assert here.plugin.pre_bind(here.state, pod, "a") is None
    assert here.claim().allocation == msgspec.structs.replace(pending.allocation, timestamp=WRITTEN)
    assert [entry.uid for entry in here.claim().reserved_for] == [UID]
    assert here.api.written == [here.claim()]
    assert not here.cache.objects.pending_allocations


@pytest.mark.parametrize("bound", [False, True], ids=["before PreBind", "after PreBind"])
def test_unreserve(bound: bool) -> None:
    """Nothing is reserved any more, however often it is called; what PreBind wrote stays allocated."""
    here, pod = world(make_claim()), pod_with("c")
    here.plugin.reserve(here.state, pod, "a")
    if bound:
        here.plugin.pre_bind(here.state, pod, "a")
    for _ in range(2):
        here.plugin.unreserve(here.state, pod, "a")
        assert here.claim().reserved_for == ()
        assert (here.claim().allocation is not None) is bound
        assert not here.cache.objects.pending_allocations


def test_a_claim_that_was_reserved_before_is_given_back_too() -> None:
    """Unreserve takes away what an earlier attempt wrote, and PreBind does not write it again."""
    here, pod = world(attrs.evolve(HELD, reserved_for=users(UID, "u"))), pod_with("c")
    here.plugin.reserve(here.state, pod, "a")
    here.plugin.pre_bind(here.state, pod, "a")
    assert here.api.written == []
    here.plugin.unreserve(here.state, pod, "a")
    assert here.claim().reserved_for == users("u")


def test_what_an_earlier_attempt_left_is_taken_away_when_it_is_in_the_way() -> None:
    """A claim that stays allocated on a node where the pod was not bound, and does not fit by now."""
    here, pod = world(make_claim()), pod_with("c")
    here.plugin.reserve(here.state, pod, "a")
    here.plugin.pre_bind(here.state, pod, "a")
    here.plugin.unreserve(here.state, pod, "a")
    verdict = here.plugin.check.check(here.cache.info(pod), here.cache.snapshot())
    assert verdict[NOT_AVAILABLE].tolist() == [False, True]
    here.state.write(STATE, GO_ON)
    statuses = {"a": Status.unschedulable("Insufficient cpu"), "b": Status.unresolvable(NOT_AVAILABLE)}
    assert here.plugin.post_filter(here.state, pod, statuses)[1] == Status.unschedulable(DEALLOCATED)
    assert here.claim() == make_claim()


def test_a_claim_that_has_its_devices() -> None:
    """It is reserved for one more pod, and keeps its devices when that pod goes away."""
    held = attrs.evolve(HELD, reserved_for=users("u"))
    here, pod = world(held), pod_with("c")
    here.plugin.reserve(here.state, pod, "a")
    here.plugin.pre_bind(here.state, pod, "a")
    assert [entry.uid for entry in here.claim().reserved_for] == ["u", UID]
    assert held.allocation is not None
    assert here.claim().allocation == msgspec.structs.replace(held.allocation, timestamp=WRITTEN)
    here.plugin.unreserve(here.state, pod, "a")
    assert here.claim() == attrs.evolve(held, allocation=msgspec.structs.replace(held.allocation, timestamp=WRITTEN))


def test_devices_that_another_pod_uses_by_now_stay() -> None:
    """Unreserve takes back the pod's share only."""
    here, pod = world(make_claim()), pod_with("c")
    here.plugin.reserve(here.state, pod, "a")
    here.plugin.pre_bind(here.state, pod, "a")
    here.cache.add(attrs.evolve(here.claim(), reserved_for=(*here.claim().reserved_for, *users("u"))))
    here.plugin.unreserve(here.state, pod, "a")
    assert here.claim().allocation is not None
    assert here.claim().reserved_for == users("u")


def test_extended_resources_are_claimed() -> None:
    """The claim that stands for them exists from PreBind to Unreserve."""
    here, pod = world(), pod_with(requests=resources(**{"example.com/gpu": 2}))
    here.plugin.reserve(here.state, pod, "a")
    assert not here.cache.objects.resource_claims
    here.plugin.pre_bind(here.state, pod, "a")
    claim = here.claim("p-extended-resources-x7")
    (owner,) = claim.metadata.owner_references
    assert (owner.api_version, owner.kind, owner.uid, owner.controller) == ("v1", "Pod", UID, True)
    named = here.api.asked.pop()[1]["extendedResourceClaimStatus"]
    assert named["resourceClaimName"] == claim.metadata.name
    assert [mapping["resourceName"] for mapping in named["requestMappings"]] == ["example.com/gpu"]
    assert here.api.asked == [("create", "p-extended-resources"), ("update", claim.metadata.name)]
    assert [device.device for device in claim.allocation.devices] == ["g", "h"]
    other = here.cache.info(pod_with(name="q", requests=resources(**{"example.com/gpu": 1})))
    verdict = here.plugin.check.check(other, here.cache.snapshot())
    assert verdict["cannot allocate all claims"].all()
    here.plugin.unreserve(here.state, pod, "a")
    assert here.api.asked[-1] == ("delete", claim.metadata.name)
    assert not here.cache.objects.resource_claims
    assert here.cache.objects.deleted_claims == {claim.metadata.uid}


def test_extended_resources_whose_claim_cannot_be_deleted() -> None:
    """It stays, and events go on to tell of it."""
    here, pod = world(), pod_with(requests=resources(**{"example.com/gpu": 1}))
    here.plugin.reserve(here.state, pod, "a")
    here.plugin.pre_bind(here.state, pod, "a")
    here.api.fault = "no"
    here.plugin.unreserve(here.state, pod, "a")
    assert here.claim("p-extended-resources-x7").allocation is not None
    assert not here.cache.objects.deleted_claims


def test_a_claim_that_cannot_be_created() -> None:
    """The attempt fails with upstream's text, and nothing is left to delete."""
    here, pod = world(), pod_with(requests=resources(**{"example.com/gpu": 1}))
    here.plugin.reserve(here.state, pod, "a")
    here.api.fault = "no"
    with pytest.raises(SchedulingError, match=r"create claim for extended resources default/: no"):
        here.plugin.pre_bind(here.state, pod, "a")
    here.plugin.unreserve(here.state, pod, "a")
    assert not here.cache.objects.pending_allocations
    assert here.api.asked == []


def test_plain_pods_cost_nothing() -> None:
    """Nothing is reserved, and PreBind has nothing to do."""
    here, pod = world(), pod_with()
    assert here.plugin.reserve(here.state, pod, "a") is None
    assert here.plugin.pre_bind_pre_flight(here.state, pod, "a") == Status(Code.Skip)
    assert here.plugin.pre_bind(here.state, pod, "a") is None
    here.plugin.unreserve(here.state, pod, "a")
    assert here.plugin.scoring.constant(here.cache.info(pod)) == 0
    assert not here.plugin.check.applies(here.cache.info(pod))


def test_what_changed_since_filter() -> None:
    """Devices or claims that are gone by then end the attempt."""
    here = world(make_claim())
    assert here.plugin.reserve(here.state, pod_with("c"), "b") == Status.unresolvable("cannot allocate all claims")
    assert here.plugin.reserve(here.state, pod_with("x"), "a") == Status.unresolvable(
        'could not find ResourceClaim "default/x"'
    )
    here.plugin.reserve(here.state, pod_with("c"), "a")
    here.cache.remove(here.claim())
    with pytest.raises(SchedulingError, match=r'resourceclaim.resource.k8s.io "c" not found'):
        here.plugin.pre_bind(here.state, pod_with("c"), "a")


def test_the_api_refuses() -> None:
    """Its text is the error, and nothing is written down."""
    here, pod = world(make_claim()), pod_with("c")
    here.plugin.reserve(here.state, pod, "a")
    here.api.fault = "conflict"
    with pytest.raises(SchedulingError, match="conflict"):
        here.plugin.pre_bind(here.state, pod, "a")
    assert here.claim().allocation is None
    assert here.cache.objects.pending_allocations


def test_claims_in_full() -> None:
    """A claim that fills up before PreBind is in use."""
    here, pod = world(HELD), pod_with("c")
    here.plugin.reserve(here.state, pod, "a")
    here.cache.add(attrs.evolve(HELD, reserved_for=users(*(f"u{i}" for i in range(256)))))
    assert here.plugin.pre_bind(here.state, pod, "a") == Status.unresolvable("resourceclaim in use")


def test_configuration_goes_with_the_devices() -> None:
    """That of the class first, then the claim's own for the requests it is for."""
    claim = make_claim(
        "c",
        exactly("r", cls="tuned"),
        config=(DeviceConfig(DRIVER, '{"own":1}', ("r",)), DeviceConfig(DRIVER, "{}", ("other",))),
    )
    here = world(claim, make_class("tuned", config=(DeviceConfig(DRIVER, '{"mode":1}'),)))
    here.plugin.reserve(here.state, pod_with("c"), "a")
    (pending,) = here.cache.objects.pending_allocations.values()
    assert pending.allocation.config == (
        DeviceConfig(DRIVER, '{"mode":1}', ("r",), "FromClass"),
        DeviceConfig(DRIVER, '{"own":1}', ("r",), "FromClaim"),
    )


def test_a_claim_that_changed_after_the_write() -> None:
    """What an event said of a later version stays when the answer to the write is handled after it."""
    here, pod = world(make_claim(resource_version="1")), pod_with("c")
    here.plugin.reserve(here.state, pod, "a")
    later = attrs.evolve(HELD, reserved_for=users(UID, "u"), resource_version="5")
    update = here.api.update_claim

    def overtaken(claim: ResourceClaim, change: Callable[[ResourceClaim], ResourceClaim]) -> ResourceClaim:
        after = update(claim, change)
        here.cache.add(later)
        return attrs.evolve(after, resource_version="4")

    with mock.patch.object(Api, "update_claim", staticmethod(overtaken)):
        assert here.plugin.pre_bind(here.state, pod, "a") is None
    assert here.claim() == later


def test_an_allocation_keeps_the_tolerations_of_its_request() -> None:
    """They are written with each device that the request gets."""
    tolerations = (Toleration("k", "Exists"), Toleration("z", "Equal", "v", "NoExecute", 5))
    here, pod = world(make_claim("c", exactly("r", count=2, tolerations=tolerations))), pod_with("c")
    here.plugin.reserve(here.state, pod, "a")
    here.plugin.pre_bind(here.state, pod, "a")
    allocation = here.claim().allocation
    assert [device.tolerations for device in allocation.devices] == [tolerations, tolerations]
    assert decode_object(encode_object(here.claim())) == here.claim()
