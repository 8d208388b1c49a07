"""What a pod needs devices for, and on which nodes it can have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
import numpy as np

from clusterstate.devices.device_inventory import Inventory, Pool, inventory
from clusterstate.devices.device_requests import EVERYTHING, DeviceError, DeviceFeatures, wants_of
from clusterstate.devices.device_search import InvalidPoolsError, Needed, OutOfTimeError, Pick, score, search
from clusterstate.devices.resource_claims import classes_by_resource, device_resources, extended_claim
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import PodSpec, ResourceClaim
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot

NO_SPEC = PodSpec()

Timer = Callable[[], Callable[[], bool]]
"""Starts a clock that says whether one node's time is over."""


def unlimited() -> Callable[[], bool]:
    """A clock that never runs out."""
    return lambda: False


class Demand(msgspec.Struct, frozen=True, eq=False):
    """What a pod needs devices for."""

    namespace: str
    claims: tuple[ResourceClaim, ...]
    """Those of the pod that have no allocation yet."""
    delegated: tuple[tuple[str, str], ...] = ()
    """(resource, DeviceClass) of what the pod asks for that a class provides, but a node may have of its own."""
    others: tuple[str, ...] = ()
    """Extended resources that no class provides."""
    spec: PodSpec = NO_SPEC
    """The pod's, for what its containers ask for."""
    allocated: tuple[ResourceClaim, ...] = ()
    """The claims of the pod that have an allocation."""
    features: DeviceFeatures = EVERYTHING

    @classmethod
    def of(
        cls,
        pod: PodInfo,
        claims: Iterable[ResourceClaim],
        snapshot: Snapshot,
        features: DeviceFeatures = EVERYTHING,
    ) -> Demand:
        """The demand of a pod with these claims."""
        asked = device_resources(pod) if features.extended else {}
        classes = classes_by_resource(snapshot) if asked else {}
        delegated = tuple((name, classes[name]) for name in asked if name in classes)
        others = tuple(name for name in asked if name not in classes) if delegated else ()
        all_claims = tuple(claims)
        return cls(
            pod.namespace,
            tuple(claim for claim in all_claims if claim.allocation is None),
            delegated,
            others,
            pod.spec,
            tuple(claim for claim in all_claims if claim.allocation is not None),
            features,
        )

    def native(self, snapshot: Snapshot) -> IntArray:
        """(n,) one bit per delegated resource: the node has it without devices."""
        bits = np.zeros(len(snapshot), np.int64)
        for at, (name, _) in enumerate(self.delegated):
            bits |= _has(snapshot, name).astype(np.int64) << at
        return bits

    def missing(self, snapshot: Snapshot) -> Mask:
        """(n,) bool: the node does not know a resource that no class provides."""
        out = np.zeros(len(snapshot), np.bool_)
        for name in self.others:
            out |= ~_knows(snapshot, name)
        return out

    def claims_on(self, native: int, pod_name: str = "") -> tuple[ResourceClaim, ...]:
        """What is to be allocated on a node with these ``native`` bits."""
        asked = {name: class_name for at, (name, class_name) in enumerate(self.delegated) if not native >> at & 1}
        return (*self.claims, extended_claim(self.namespace, pod_name, self.spec, asked)) if asked else self.claims

    def needed_on(self, native: int, snapshot: Snapshot, pod_name: str = "") -> Needed:
        """The same, ready to be searched for. Raises DeviceError."""
        claims = self.claims_on(native, pod_name)
        wants = (w for at, c in enumerate(claims) for w in wants_of(c, at, snapshot.objects, self.features))
        return Needed(claims, tuple(wants), self.features)


def _has(snapshot: Snapshot, name: str) -> Mask:
    index = snapshot.resource(name)
    if index is None:
        return np.zeros(len(snapshot), np.bool_)
    out: Mask = snapshot.allocatable[index] > 0
    return out


def _knows(snapshot: Snapshot, name: str) -> Mask:
    """(n,) bool: the node's allocatable names the resource, be it with 0."""
    out = _has(snapshot, name)
    rows = snapshot.row_numbers
    for at in np.flatnonzero(~out).tolist():
        node = snapshot.node(int(rows[at]))
        out[at] = node is not None and name in node.allocatable
    return out


class Outcomes(msgspec.Struct, frozen=True, eq=False):
    """Where devices can be had."""

    fits: Mask
    """(n,) bool."""
    late: Mask
    """(n,) bool, there was no time to find out."""
    scores: IntArray
    """(n,) int64, of the alternatives that are chosen."""
    invalid: Mask
    """(n,) bool, not enough devices, and some pool is invalid."""
    errors: dict[str, Mask]
    """Text → (n,) bool."""

    @classmethod
    def nothing(cls, size: int) -> Outcomes:
        """Of ``size`` rows that were not looked at yet."""
        fits, late, invalid = (np.zeros(size, np.bool_) for _ in range(3))
        return cls(fits, late, np.zeros(size, np.int64), invalid, {})


def outcomes(demand: Demand, snapshot: Snapshot, timer: Timer = unlimited) -> Outcomes:
    """Looks for devices once for all nodes that offer the same."""
    stock = inventory(snapshot, demand.features)
    groups = stock.layout.codes_of(snapshot)
    found = Outcomes.nothing(len(snapshot))
    native = demand.native(snapshot)
    places = np.stack([stock.alike[groups], native])
    distinct, which = np.unique(places, axis=1, return_inverse=True)
    needed: dict[int, Needed] = {}
    for at, (group, bits) in enumerate(distinct.T.tolist()):
        rows = which.reshape(-1) == at
        try:
            if bits not in needed:
                needed[bits] = demand.needed_on(bits, snapshot)
            _look(needed[bits], stock, stock.layout.pools[group], rows, found, timer)
        except DeviceError as error:
            if bits in needed:
                _one_by_one(needed[bits], stock, groups, rows, found, timer)
            else:
                _note(found, str(error), rows)
    return found


def _look(needed: Needed, stock: Inventory, pools: tuple[Pool, ...], rows: Mask, found: Outcomes, timer: Timer) -> None:
    """Notes of some rows what they offer. Raises DeviceError."""
    try:
        picks = search(needed, pools, stock, timer())
    except OutOfTimeError:
        found.late[rows] = True
    except InvalidPoolsError:
        found.invalid[rows] = True
    else:
        found.fits[rows] = picks is not None
        found.scores[rows] = score({id(pick.want): pick.rank for pick in picks or () if pick.want.ranked}.values())


def _one_by_one(needed: Needed, stock: Inventory, groups: IntArray, rows: Mask, found: Outcomes, timer: Timer) -> None:
    """Errors name pools and devices: every group of nodes has its own."""
    for group in np.unique(groups[rows]).tolist():
        mine = rows & (groups == group)
        try:
            _look(needed, stock, stock.layout.pools[group], mine, found, timer)
        except DeviceError as error:
            _note(found, str(error), mine)


def _note(found: Outcomes, text: str, rows: Mask) -> None:
    known = found.errors.get(text)
    found.errors[text] = rows if known is None else known | rows


def devices_on(
    demand: Demand, snapshot: Snapshot, row: int, pod_name: str
) -> tuple[tuple[ResourceClaim, ...], tuple[Pick, ...]] | None:
    """(what is to be allocated on one node, the devices for it); None when they cannot be had. Raises DeviceError."""
    here = snapshot.take(np.array([row]))
    needed = demand.needed_on(int(demand.native(here)[0]), snapshot, pod_name)
    stock = inventory(snapshot, demand.features)
    try:
        picks = search(needed, stock.layout.pools[int(stock.layout.codes_of(here)[0])], stock, unlimited())
    except InvalidPoolsError:
        return None
    return None if picks is None else (tuple(needed.claims), picks)
