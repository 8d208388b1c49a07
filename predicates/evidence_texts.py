"""What claims, volumes, devices and affinity terms look like in evidence: every input that decided, by name."""

from __future__ import annotations

from collections.abc import Iterable

from clusterstate.objects import (
    LabelSelector,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    PodAffinityTerm,
)
from clusterstate.objects.resource import DeviceAsk, ResourceClaim
from clusterstate.selectors.node_selection import node_affinity_mask
from clusterstate.snapshot import Snapshot
from clusterstate.usage import MEMORY
from clusterstate.volumes.claim_matching import NOT_PROVISIONED, BindingRules, Delayed, volumes_of
from predicates.refusal_evidence import ONLY, Need, amount, few, requirement_text

MOST_DEVICES = 8
"""Devices of a node that are named."""


# --- selectors and terms -------------------------------------------------------------------


def terms_text(terms: Iterable[NodeSelectorTerm]) -> str:
    """Node selector terms, of which one has to hold: ``zone=a or zone=b, disk=ssd``."""
    texts = (", ".join(map(requirement_text, (*t.match_expressions, *t.match_fields))) or "nothing" for t in terms)
    return " or ".join(texts) or "nothing"


def selector_text(selector: LabelSelector | None) -> str:
    """A label selector: ``app=web, tier in (a, b)``."""
    if selector is None:
        return "no pod"
    pairs = [f"{key}={value}" for key, value in selector.match_labels.items()]
    return ", ".join([*pairs, *map(requirement_text, selector.match_expressions)]) or "any pod"


def affinity_term_text(term: PodAffinityTerm, namespace: str) -> str:
    """Which pods a term of a pod in ``namespace`` picks: ``app=web in default``."""
    return f"{selector_text(term.label_selector)} in {', '.join(term.namespaces or ()) or namespace}"


# --- claims and volumes --------------------------------------------------------------------


def bound_text(claim: PersistentVolumeClaim, snapshot: Snapshot) -> str:
    """What a bound claim asks of a node: that its volume can be used there."""
    volume = snapshot.objects.persistent_volumes.get(claim.volume_name)
    terms = None if volume is None else volume.node_affinity
    where = "" if terms is None else f" ({terms_text(terms)})"
    return f"the node of volume {claim.volume_name} of claim {claim.metadata.name}{where}"


def delayed_need(entry: Delayed, snapshot: Snapshot, rules: BindingRules, *, met: bool) -> Need:
    """What an unbound claim asks for, and the volumes of its class with what speaks for or against them."""
    claim, storage_class = entry
    name = storage_class.metadata.name
    asked = ", ".join((f"{amount(MEMORY, claim.storage // 1000)} of class {name}", *claim.access_modes))
    wanted = f"a volume for claim {claim.metadata.name} ({asked})"
    if met:
        return Need(wanted, "one", True)
    volumes = tuple(_volume_text(volume) for volume in volumes_of(rules, snapshot, name))
    made = "none can be made" if storage_class.provisioner in NOT_PROVISIONED else _made_text(entry)
    return Need(wanted, f"{'none of ' + few(volumes) if volumes else 'none'}; {made}", False)


def _volume_text(volume: PersistentVolume) -> str:
    given = volume.claim_ref
    held = "" if given is None else f" for {given.namespace}/{given.name}"
    where = "" if volume.node_affinity is None else f" at {terms_text(volume.node_affinity)}"
    return f"{volume.metadata.name} ({amount(MEMORY, volume.storage // 1000)}{held}{where})"


def _made_text(entry: Delayed) -> str:
    storage_class = entry[1]
    if not storage_class.allowed_topologies:
        return f"{storage_class.provisioner} cannot make one here"
    where = " or ".join(", ".join(map(requirement_text, term)) for term in storage_class.allowed_topologies)
    return f"{storage_class.provisioner} makes them at {where}"


# --- devices -------------------------------------------------------------------------------


def requests_text(claim: ResourceClaim) -> str:
    """What a claim asks for: ``r: 2 of gpu, s: 1 of nic or 1 of slow-nic``."""
    return ", ".join(
        f"{request.name}: {' or '.join(_ask_text(ask) for _, ask in request.alternatives())}"
        for request in claim.spec.requests
    )


def _ask_text(ask: DeviceAsk) -> str:
    return f"{'all' if ask.allocation_mode == 'All' else ask.count} of {ask.device_class_name}"


def devices_text(snapshot: Snapshot) -> str:
    """The devices that slices say are on a snapshot's one row, each with the claim that holds it."""
    objects = snapshot.objects
    claims = [(claim.metadata, claim.allocation) for claim in objects.resource_claims.values()]
    claims += [(pending.metadata, pending.allocation) for pending in objects.pending_allocations.values()]
    held = {
        (device.driver, device.pool, device.device): f"{meta.namespace}/{meta.name}"
        for meta, allocation in claims
        if allocation is not None
        for device in allocation.devices
    }
    name, found = snapshot.names[ONLY], []
    for piece in objects.resource_slices.values():
        place = piece.placement
        here = place.all_nodes or piece.per_device or place.node_name == name
        if not here and place.node_selector is not None:
            here = bool(node_affinity_mask(snapshot, place.node_selector)[ONLY])
        for device in piece.devices if here else ():
            key = piece.driver, piece.pool, device.name
            found.append("/".join(key) + (f" (held by {held[key]})" if key in held else ""))
    return few(tuple(found), MOST_DEVICES) or "no devices"
