"""What a pod needs devices for, and on which nodes it can have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs
import numpy as np

from clusterstate.devices.device_inventory import inventory
from clusterstate.devices.device_requests import DeviceError, Want, wants
from clusterstate.devices.device_search import OutOfTimeError, Pick, score, search
from clusterstate.devices.extended_resources import classes_by_resource, device_resources, extended_claim
from clusterstate.growable import IntArray, Mask
from clusterstate.objects.resource import ResourceClaim
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot

Timer = Callable[[], Callable[[], bool]]
"""Starts a clock that says whether one node's time is over."""


def unlimited() -> Callable[[], bool]:
    """A timer that never runs out."""
    return lambda: False


@attrs.frozen(eq=False)
class Demand:
    """The devices that a pod asks for."""

    namespace: str
    claims: tuple[ResourceClaim, ...]
    """The pod's claims that have no allocation yet."""
    delegated: tuple[tuple[str, str, int], ...] = ()
    """(resource, DeviceClass, amount): extended resources that a class provides, unless the node has them itself."""
    others: tuple[str, ...] = ()
    """Extended resources that no class provides."""

    @classmethod
    def of(cls, pod: PodInfo, claims: Iterable[ResourceClaim], snapshot: Snapshot) -> Demand:
        """What a pod with these claims asks for in this cluster."""
        unallocated = tuple(claim for claim in claims if claim.allocation is None)
        asked = device_resources(pod)
        classes = classes_by_resource(snapshot) if asked else {}
        delegated = tuple((name, classes[name], amount) for name, amount in asked.items() if name in classes)
        others = tuple(name for name in asked if name not in classes) if delegated else ()
        return cls(pod.namespace, unallocated, delegated, others)

    def native(self, snapshot: Snapshot) -> IntArray:
        """(n,) one bit per delegated resource: the node has it without devices."""
        bits = np.zeros(len(snapshot), np.int64)
        for at, (name, _, _) in enumerate(self.delegated):
            bits |= _has(snapshot, name).astype(np.int64) << at
        return bits

    def missing(self, snapshot: Snapshot) -> Mask:
        """(n,) bool: the node lacks a resource that no class provides."""
        out = np.zeros(len(snapshot), np.bool_)
        for name in self.others:
            out |= ~_has(snapshot, name)
        return out

    def claims_on(self, native: int, pod_name: str = "") -> tuple[ResourceClaim, ...]:
        """What is to be allocated on a node with these ``native`` bits."""
        asked = {
            name: (class_name, amount)
            for at, (name, class_name, amount) in enumerate(self.delegated)
            if not native >> at & 1
        }
        return (*self.claims, extended_claim(self.namespace, pod_name, asked)) if asked else self.claims


def _has(snapshot: Snapshot, name: str) -> Mask:
    index = snapshot.resource(name)
    if index is None:
        return np.zeros(len(snapshot), np.bool_)
    out: Mask = snapshot.allocatable[index] > 0
    return out


@attrs.frozen(eq=False)
class Outcomes:
    """What looking for devices found, row by row."""

    fits: Mask
    """(n,) bool: the devices can be had."""
    late: Mask
    """(n,) bool: time ran out before that was known."""
    scores: IntArray
    """(n,) int64: the score of the allocation found."""
    errors: dict[str, Mask]
    """Text → (n,) bool: the rows on which looking failed with it."""


def outcomes(demand: Demand, snapshot: Snapshot, timer: Timer = unlimited) -> Outcomes:
    """Looks for devices once for all nodes that offer the same."""
    stock = inventory(snapshot)
    places = np.stack([stock.alike[stock.codes_of(snapshot)], demand.native(snapshot)])
    distinct, which = np.unique(places, axis=1, return_inverse=True)
    found = Outcomes(
        np.zeros(len(snapshot), np.bool_),
        np.zeros(len(snapshot), np.bool_),
        np.zeros(len(snapshot), np.int64),
        {},
    )
    needed: dict[int, tuple[Want, ...]] = {}
    for at, (group, native) in enumerate(distinct.T.tolist()):
        rows = which.reshape(-1) == at
        try:
            if native not in needed:
                needed[native] = wants(demand.claims_on(native), snapshot.objects)
            picks = search(needed[native], stock.groups[group], timer())
        except DeviceError as error:
            known = found.errors.get(str(error))
            found.errors[str(error)] = rows if known is None else known | rows
        except OutOfTimeError:
            found.late[rows] = True
        else:
            found.fits[rows] = picks is not None
            found.scores[rows] = score(picks or ())
    return found


def devices_on(
    demand: Demand, snapshot: Snapshot, row: int, pod_name: str
) -> tuple[tuple[ResourceClaim, ...], tuple[Pick, ...]] | None:
    """(what is to be allocated on one node, the devices for it); None when they cannot be had. Raises DeviceError."""
    here = snapshot.take(np.array([row]))
    claims = demand.claims_on(int(demand.native(here)[0]), pod_name)
    stock = inventory(snapshot)
    picks = search(wants(claims, snapshot.objects), stock.groups[int(stock.codes_of(here)[0])], unlimited())
    return None if picks is None else (claims, picks)
