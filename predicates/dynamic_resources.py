"""DynamicResources: the node can use the devices that the pod's claims hold, and has those they still lack."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.devices.device_demand import Demand, Outcomes, Timer, outcomes, unlimited
from clusterstate.devices.device_inventory import Pool, inventory
from clusterstate.devices.device_requests import EVERYTHING, DeviceFeatures
from clusterstate.devices.device_search import INVALID_POOLS
from clusterstate.devices.resource_claims import (
    LEFT_OVER,
    ClaimError,
    OwnClaim,
    binding_end,
    classes_by_resource,
    device_resources,
    has_to_be_given_up,
    is_extended,
    is_ready_for_binding,
    is_usable_by,
    resolve_claims,
)
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import Mask
from clusterstate.objects import ResourceClaim, ResourceSlice
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.node_selection import node_affinity_mask
from clusterstate.snapshot import Snapshot
from predicates.refusal_evidence import (
    Need,
    Refusal,
    Unmet,
    devices_text,
    few,
    filter_evidence,
    requests_text,
    terms_text,
)
from predicates.types import GO_ON, PASS, SKIP, FitPredicate, NodeError, PreFiltered, Verdict, always

IN_USE = "resourceclaim in use"
NOT_AVAILABLE = "resourceclaim not available on the node"
CANNOT_ALLOCATE = "cannot allocate all claims"
CANNOT_FIT = "cannot fit resource"
LEFT_OVER_CLAIM = "cannot schedule extended resource claim"
"""An earlier attempt has left a claim for the pod's extended resources; PostFilter deletes it."""

BINDING_TIMEOUT = 600.0
"""Seconds that devices have to get ready for binding."""

READS = Reads.NODE | Reads.ALL_NODES | Reads.RESOURCES


def may_need_devices(pod: PodInfo) -> bool:
    """The pod has claims, or asks for something that a DeviceClass may provide."""
    return bool(pod.spec.resource_claims) or bool(device_resources(pod))


class DeviceRules(msgspec.Struct, frozen=True, eq=False):
    """What the rule takes from the plugin's args, the feature gates and the world."""

    features: DeviceFeatures = EVERYTHING
    timer: Timer = unlimited
    """Limits the time for one node."""
    binding_timeout: float = BINDING_TIMEOUT
    """Seconds that devices have to get ready for binding."""
    today: Callable[[], float] = time.time
    """Seconds since the epoch."""


DEFAULTS = DeviceRules()


def needs_devices(pod: PodInfo, snapshot: Snapshot, features: DeviceFeatures = EVERYTHING) -> bool:
    """The pod has claims, or asks for something that a DeviceClass provides."""
    return bool(pod.spec.resource_claims) or asks_for_devices(pod, snapshot, features)


def asks_for_devices(pod: PodInfo, snapshot: Snapshot, features: DeviceFeatures = EVERYTHING) -> bool:
    """The pod asks for an extended resource that a DeviceClass provides."""
    if not features.extended:
        return False
    classes = classes_by_resource(snapshot)
    return any(name in classes for name in device_resources(pod))


def claims_of(pod: PodInfo, snapshot: Snapshot, features: DeviceFeatures = EVERYTHING) -> tuple[ResourceClaim, ...]:
    """The pod's claims, and the one for its extended resources that an earlier attempt left, if it still asks for any.

    Raises ClaimError for a claim that cannot be used.
    """
    entries = pod.spec.resource_claims
    if any(entry.name == LEFT_OVER for entry in entries) and not asks_for_devices(pod, snapshot, features):
        entries = tuple(entry for entry in entries if entry.name != LEFT_OVER)
    return resolve_claims(pod.namespace, entries, snapshot.objects)


def _uid(pod: PodInfo) -> str:
    return next((entry.pod_uid for entry in pod.spec.resource_claims if isinstance(entry, OwnClaim)), "")


# --- before nodes are looked at ------------------------------------------------------------


def pre_filter(pod: PodInfo, snapshot: Snapshot, rules: DeviceRules = DEFAULTS) -> PreFiltered:
    """Refuses claims that are not there, in use or under way, and requests of missing classes. Upstream: 1.36."""
    if not needs_devices(pod, snapshot, rules.features):
        return SKIP
    try:
        claims = claims_of(pod, snapshot, rules.features)
    except ClaimError as error:
        return PreFiltered(reasons=(str(error),))
    uid = _uid(pod)
    reasons = (_refusal(claim, uid, snapshot.objects, rules.features) for claim in claims)
    refusal = next((reason for reason in reasons if reason is not None), None)
    return GO_ON if refusal is None else PreFiltered(reasons=(refusal,))


def _refusal(claim: ResourceClaim, uid: str, objects: ClusterObjects, features: DeviceFeatures) -> str | None:
    if claim.allocation is not None:
        return None if is_usable_by(claim, uid) else IN_USE
    if (claim.metadata.namespace, claim.metadata.name) in objects.pending_allocations:
        return f"resource claim {claim.key} is in the process of being allocated"
    for request in claim.spec.requests:
        if request.first_available and not features.prioritized_list:
            text = "has subrequests, but the DRAPrioritizedList feature is disabled"
            return f"resource claim {claim.key}, request {request.name}: {text}"
        for name, ask in request.alternatives():
            if ask.device_class_name not in objects.device_classes:
                return f"request {name}: device class {ask.device_class_name} does not exist"
    return None


# --- node by node --------------------------------------------------------------------------


def unavailable_on(claim: ResourceClaim, snapshot: Snapshot, rules: DeviceRules = DEFAULTS) -> Mask:
    """(n,) bool: the rows that cannot use what is allocated to a claim."""
    if claim.allocation is None:
        return np.zeros(len(snapshot), np.bool_)
    if rules.features.binding and has_to_be_given_up(claim, rules.today(), rules.binding_timeout):
        return np.ones(len(snapshot), np.bool_)
    terms = claim.allocation.node_selector
    return np.zeros(len(snapshot), np.bool_) if terms is None else ~node_affinity_mask(snapshot, terms)


def check_devices(pod: PodInfo, snapshot: Snapshot, rules: DeviceRules = DEFAULTS) -> Verdict:
    """Fails where devices for the claims without any cannot be had, or an allocated claim cannot be used.

    Of several obstacles the first counts: an unknown resource, the search for devices, what is allocated already.
    Upstream: 1.36 DynamicResources Filter.
    """
    if not needs_devices(pod, snapshot, rules.features):
        return PASS
    try:
        claims = claims_of(pod, snapshot, rules.features)
    except ClaimError as error:
        return {str(error): np.ones(len(snapshot), np.bool_)}
    if any(is_extended(claim) and claim.spec.requests for claim in claims):
        return {LEFT_OVER_CLAIM: np.ones(len(snapshot), np.bool_)}
    demand = Demand.of(pod, claims, snapshot, rules.features)
    missing = demand.missing(snapshot)
    verdict: Verdict = {CANNOT_FIT: missing}
    left = ~missing
    if demand.claims or demand.delegated:
        outcome = outcomes(demand, snapshot, rules.timer)
        for reason, rows in _obstacles(outcome, snapshot):
            verdict[reason] = rows & left
        left &= outcome.fits
    unavailable = np.zeros(len(snapshot), np.bool_)
    for claim in demand.allocated:
        unavailable |= unavailable_on(claim, snapshot, rules)
    verdict[NOT_AVAILABLE] = unavailable & left
    return verdict


def _obstacles(outcome: Outcomes, snapshot: Snapshot) -> Iterator[tuple[str, Mask]]:
    """What keeps rows from devices; each row has at most one."""
    wrong = outcome.late | outcome.invalid
    for text, rows in outcome.errors.items():
        wrong = wrong | rows
        yield NodeError(text), rows
    names = snapshot.names
    for at in np.flatnonzero(outcome.late).tolist():
        text = f"node {names[at]}: timed out trying to allocate devices"
        yield NodeError(text), np.arange(len(snapshot)) == at
    yield INVALID_POOLS, outcome.invalid
    yield CANNOT_ALLOCATE, ~outcome.fits & ~wrong


def explain_devices(rules: DeviceRules, pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
    """By claim whether the node can use what it holds, or has the devices that it lacks."""
    try:
        claims = claims_of(pod, snapshot, rules.features)
    except ClaimError:
        return Unmet((Need("claims that can be used", reason, False),))
    if reason == LEFT_OVER_CLAIM:
        left = (claim.key for claim in claims if is_extended(claim) and claim.spec.requests)
        return Unmet(tuple(Need("no claim of an earlier attempt", key, False) for key in left))
    demand = Demand.of(pod, claims, snapshot, rules.features)
    if reason == NOT_AVAILABLE:
        return Unmet(tuple(_held_need(claim, snapshot, rules) for claim in demand.allocated))
    if reason == CANNOT_FIT:
        missing = {
            name: bool(msgspec.structs.replace(demand, others=(name,)).missing(snapshot)[0]) for name in demand.others
        }
        return Unmet(tuple(Need(name, "none" if lacks else "some", not lacks) for name, lacks in missing.items()))
    if reason == INVALID_POOLS:
        invalid = bool(outcomes(demand, snapshot, rules.timer).invalid[0])
        return Unmet((Need("resource pools that are valid", "others" if invalid else "them", not invalid),))
    return Unmet(tuple(_device_needs(demand, snapshot, rules)))


def _held_need(claim: ResourceClaim, snapshot: Snapshot, rules: DeviceRules) -> Need:
    """Whether the node can use what a claim holds, which may be elsewhere or not get ready."""
    met = not bool(unavailable_on(claim, snapshot, rules)[0])
    assert claim.allocation is not None
    held = few(tuple(f"{d.driver}/{d.pool}/{d.device}" for d in claim.allocation.devices))
    terms = claim.allocation.node_selector
    where = "" if terms is None else f" at {terms_text(terms)}"
    over = rules.features.binding and has_to_be_given_up(claim, rules.today(), rules.binding_timeout)
    missing = "that they do not get ready" if over else "another node"
    return Need(f"what claim {claim.key} holds ({held}{where})", "it" if met else missing, met)


def _device_needs(demand: Demand, snapshot: Snapshot, rules: DeviceRules) -> Iterator[Need]:
    """By claim and by delegated resource whether its devices can be had alone, then whether all can be had together."""
    parts = {
        f"devices for claim {c.key} ({requests_text(c)})": msgspec.structs.replace(demand, claims=(c,), delegated=())
        for c in demand.claims
    }
    for name, device_class in demand.delegated:
        alone = msgspec.structs.replace(demand, claims=(), delegated=((name, device_class),))
        parts[f"devices for {name} of {device_class}"] = alone
    parts["devices for all of them"] = demand
    missing = f"too few of {devices_text(snapshot)}{_incomplete_text(snapshot, rules.features)}"
    for wanted, part in parts.items():
        fits = bool(outcomes(part, snapshot, rules.timer).fits[0])
        yield Need(wanted, "them" if fits else missing, fits)


def _incomplete_text(snapshot: Snapshot, features: DeviceFeatures) -> str:
    """Which pools on a snapshot's one row give no devices as slices of them are missing; empty where there are none."""
    layout = inventory(snapshot, features).layout
    pools = [pool for pool in layout.pools[int(layout.codes_of(snapshot)[0])] if pool.incomplete]
    said = (f"pool {pool.id} gives none: {_slices_text(pool, layout.slices)}" for pool in pools)
    return f" ({', '.join(said)})" if pools else ""


def _slices_text(pool: Pool, slices: Iterable[ResourceSlice]) -> str:
    mine = [piece for piece in slices if (piece.driver, piece.pool) == (pool.driver, pool.name)]
    newest = max(mine, key=lambda piece: piece.generation)
    there = sum(piece.generation == newest.generation for piece in mine)
    missing = newest.slice_count - there
    return f"{missing} of the {newest.slice_count} slices of generation {newest.generation} missing"


def claims_given_up(pod: PodInfo, snapshot: Snapshot, rules: DeviceRules) -> int:
    """How many of the pod's claims have to be given up by now, which time alone may change."""
    if not pod.spec.resource_claims or not rules.features.binding:
        return 0
    try:
        claims = claims_of(pod, snapshot, rules.features)
    except ClaimError:
        return 0
    return sum(has_to_be_given_up(claim, rules.today(), rules.binding_timeout) for claim in claims)


def binding_ends(pod: PodInfo, snapshot: Snapshot, rules: DeviceRules) -> float | None:
    """When the first of the pod's claims whose devices are not ready has to be given up, in seconds since the epoch;
    None: time gives none up any more."""
    if not pod.spec.resource_claims or not rules.features.binding:
        return None
    try:
        claims = claims_of(pod, snapshot, rules.features)
    except ClaimError:
        return None
    ends = (binding_end(claim, rules.binding_timeout) for claim in claims if is_ready_for_binding(claim) is False)
    return min((end for end in ends if end is not None and end >= rules.today()), default=None)


def _row_by_row(_: PodInfo, __: Snapshot) -> bool:
    """Devices stay with the claims when pods leave."""
    return True


def dynamic_resources(rules: DeviceRules = DEFAULTS) -> FitPredicate:
    """The rule as args and gates want it."""
    return FitPredicate(
        "DynamicResources",
        partial(check_devices, rules=rules),
        Footprint(
            READS,
            pod_key=spec_alone,
            row_local=_row_by_row,
            moment=partial(claims_given_up, rules=rules),
            turns=partial(binding_ends, rules=rules),
            pre_reads=Reads.RESOURCES,
        ),
        applies=may_need_devices,
        pre_filter=partial(pre_filter, rules=rules),
        unresolvable=always,
        evidence=filter_evidence("DynamicResources", partial(explain_devices, rules)),
    )
