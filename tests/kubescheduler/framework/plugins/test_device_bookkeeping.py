"""What the DynamicResources plugin writes down."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import attrs
import msgspec
import pytest

from clusterstate.errors import SchedulingError
from clusterstate.manifests.decode import decode_object
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import DeviceConfig, PendingAllocation, ResourceClaim, Toleration
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.plugins.dynamic_resources import DEALLOCATED, STATE
from predicates.dynamic_resources import NOT_AVAILABLE
from predicates.types import GO_ON
from tests.support.build import resources
from tests.support.devices import (
    DRIVER,
    HELD,
    ON_A,
    UID,
    WRITTEN,
    Api,
    exactly,
    make_claim,
    make_class,
    pod_with,
    users,
    world,
)


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
    assert claim.allocation is not None
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
    assert allocation is not None
    assert [device.tolerations for device in allocation.devices] == [tolerations, tolerations]
    assert decode_object(encode_object(here.claim())) == here.claim()
