"""Allocations: what is written into a claim once its devices are chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from uuid import NAMESPACE_OID, uuid5

import msgspec

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.devices.device_search import Offer, Pick
from clusterstate.objects import FrozenMap, NodeSelectorTerm, Requirement
from clusterstate.objects.resource import (
    AllocatedDevice,
    Allocation,
    DeviceConfig,
    DeviceRequest,
    Placement,
    ResourceClaim,
)
from clusterstate.selectors.node_selection import NAME_FIELD

FROM_CLASS, FROM_CLAIM = "FromClass", "FromClaim"


def allocations(
    claims: Sequence[ResourceClaim], picks: Iterable[Pick], node_name: str, objects: ClusterObjects
) -> Iterator[tuple[ResourceClaim, Allocation]]:
    """What each of ``claims`` gets of the devices chosen on a node."""
    chosen = tuple(picks)
    for index, claim in enumerate(claims):
        mine = [pick for pick in chosen if pick.want.claim == index]
        yield (
            claim,
            Allocation(
                devices=tuple(_result(pick, f"{claim.metadata.uid or claim.key}/{at}") for at, pick in enumerate(mine)),
                config=tuple(_configs(claim, mine, objects)),
                node_selector=_node_selector([pick.offer for pick in mine], node_name),
            ),
        )


def _result(pick: Pick, place: str) -> AllocatedDevice:
    """place: of the result among all there are; a share's id follows from it."""
    offer = pick.offer
    return AllocatedDevice(
        request=pick.option.name,
        driver=offer.pool.driver,
        pool=offer.pool.name,
        device=offer.device.name,
        admin_access=pick.option.admin_access,
        binding_conditions=offer.device.binding_conditions,
        binding_failure_conditions=offer.device.binding_failure_conditions,
        share_id=None if pick.consumed is None else str(uuid5(NAMESPACE_OID, f"{place}/{offer.id}")),
        consumed_capacity=FrozenMap(pick.consumed or {}),
        tolerations=pick.option.tolerations,
    )


def _configs(claim: ResourceClaim, picks: Sequence[Pick], objects: ClusterObjects) -> Iterator[DeviceConfig]:
    """The configuration of the classes, then the claim's own."""
    options = {pick.option.name: pick.option for pick in picks}
    for request in claim.spec.requests:
        for name, class_name in _classes(request):
            device_class = objects.device_classes.get(class_name)
            if name in options and device_class is not None:
                for config in device_class.config:
                    yield msgspec.structs.replace(config, requests=(name,), source=FROM_CLASS)
    for config in claim.spec.config:
        if not config.requests or any(option.is_among(config.requests) for option in options.values()):
            yield msgspec.structs.replace(config, source=FROM_CLAIM)


def _classes(request: DeviceRequest) -> Iterator[tuple[str, str]]:
    return ((name, ask.device_class_name) for name, ask in request.alternatives())


def _node_selector(offers: Iterable[Offer], node_name: str) -> tuple[NodeSelectorTerm, ...] | None:
    """Where devices can be used: on their node, or wherever all the places that see them overlap."""
    places: dict[Placement, None] = {}
    for offer in offers:
        piece = offer.piece.slice
        place = offer.device.placement if piece.per_device else piece.placement
        if place.node_name or offer.device.binds_to_node:
            return (NodeSelectorTerm(match_fields=(Requirement(NAME_FIELD, "In", (node_name,)),)),)
        places[place] = None
    terms = [term for place in places for term in place.node_selector or ()]
    if not terms:
        return None
    expressions = dict.fromkeys(expression for term in terms for expression in term.match_expressions)
    fields = dict.fromkeys(field for term in terms for field in term.match_fields)
    return (NodeSelectorTerm(tuple(expressions), tuple(fields)),)
