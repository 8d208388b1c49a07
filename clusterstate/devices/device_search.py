"""Looking for devices for all requests of a pod's claims at once, among what one node sees.

Requests are tried in order, alternatives from the best, devices as pools list them; the first combination that meets
every constraint is taken. Upstream: 1.36 structured allocator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from clusterstate.devices.device_capacity import Consumed, consumed_capacity, fits_capacity
from clusterstate.devices.device_constraints import Constraint, all_take, constraints_of
from clusterstate.devices.device_features import EVERYTHING, DeviceFeatures
from clusterstate.devices.device_inventory import Inventory
from clusterstate.devices.device_pools import Piece, Pool
from clusterstate.devices.device_requests import DeviceError, Option, Want
from clusterstate.devices.device_use import CounterName, Counters, PoolUse, counters, counters_left
from clusterstate.objects.resource import Device, ResourceClaim

Name = TypeVar("Name", str, CounterName)

MOST_DEVICES = 32
"""Devices that one claim can be allocated."""

MOST_ALTERNATIVES = 8
"""Of one request: what the best alternative scores."""

INVALID_POOLS = "invalid resource pools were encountered"


class OutOfTimeError(Exception):
    """The search took longer than it may."""


class InvalidPoolsError(Exception):
    """There are not enough devices, but pools that might have more are invalid."""


class _TooManyDevices(Exception):
    """A claim would get more than ``MOST_DEVICES``: other devices do not help, other alternatives may."""


class Offer(msgspec.Struct, frozen=True, eq=False):
    """A device as one node sees it."""

    pool: Pool
    piece: Piece
    device: Device
    use: PoolUse
    here: bool
    """False for a device of a slice whose devices are placed one by one, and this one elsewhere."""

    @property
    def id(self) -> str:
        """As messages name it."""
        return f"{self.pool.id}/{self.device.name}"


class Pick(msgspec.Struct, frozen=True, eq=False):
    """A device chosen for a request."""

    want: Want
    option: Option
    rank: int
    """The place of the alternative among its request's."""
    offer: Offer
    consumed: Consumed | None = None
    """What is taken of a device that allows several allocations; None: it is taken whole."""


class Needed(msgspec.Struct, frozen=True, eq=False):
    """What is to be allocated: claims, and the requests of all of them in order."""

    claims: Sequence[ResourceClaim]
    wants: Sequence[Want]
    features: DeviceFeatures = EVERYTHING


class DeviceSearch(msgspec.Struct, eq=False):
    """One search on one node."""

    needed: Needed
    pools: Sequence[Pool]
    offers: tuple[Offer, ...]
    expired: Callable[[], bool]
    """Whether to give up, asked before every choice."""
    picks: list[Pick] = msgspec.field(default_factory=list)
    """What is chosen so far."""
    _counts: dict[Option, int] = msgspec.field(default_factory=dict)
    _every: dict[Option, tuple[Offer, ...]] = msgspec.field(default_factory=dict)
    _selected: dict[tuple[Option, Offer], bool] = msgspec.field(default_factory=dict)
    _left: dict[Pool, Counters] = msgspec.field(default_factory=dict)
    _drawn: dict[Pool, Counters] = msgspec.field(default_factory=dict)
    _holders: dict[Offer, set[int]] = msgspec.field(default_factory=dict)
    _shares: dict[Offer, Consumed] = msgspec.field(default_factory=dict)
    _constraints: list[tuple[Constraint, ...]] = msgspec.field(default_factory=list)
    _hopeless: dict[Option, list[int]] = msgspec.field(default_factory=dict)

    def run(self) -> bool:
        """Whether all requests can be met; ``picks`` then says how.

        Raises DeviceError, OutOfTimeError and InvalidPoolsError.
        """
        self._prepare()
        try:
            done = self._meet(0)
        except _TooManyDevices as error:
            raise DeviceError("allocation max size exceeded") from error
        if not done and any(pool.invalid for pool in self.pools):
            raise InvalidPoolsError
        return done

    # --- before the search -----------------------------------------------------------------

    def _prepare(self) -> None:
        """How many devices every alternative takes; the constraints of every claim."""
        for index, claim in enumerate(self.needed.claims):
            least = 0
            for want in self.needed.wants:
                if want.claim == index:
                    least += min(self._count(option) for option in want.options)
            if least > MOST_DEVICES:
                raise DeviceError(
                    f"claim {claim.key}: number of requested devices {least} exceeds the claim limit of {MOST_DEVICES}"
                )
            self._constraints.append(constraints_of(claim))

    def _count(self, option: Option) -> int:
        if option.every:
            self._every[option] = self._all_of(option)
        self._counts[option] = len(self._every[option]) if option.every else option.count
        return self._counts[option]

    def _all_of(self, option: Option) -> tuple[Offer, ...]:
        """The devices of a request for all there are. Raises DeviceError where a pool is not whole."""
        found: list[Offer] = []
        for pool in self.pools:
            for fault, text in ((pool.incomplete, "currently being updated"), (pool.invalid, "currently invalid")):
                if fault:
                    raise DeviceError(f"{option.where}: asks for all devices, but resource pool {pool.id} is {text}")
            for offer in self.offers:
                if offer.pool is pool and self._selects(option, offer) and self._has_capacity(option, offer):
                    found.append(offer)
        return tuple(found)

    # --- request by request ----------------------------------------------------------------

    def _meet(self, at: int) -> bool:
        """Whether the requests from ``at`` on can be met besides what is picked."""
        wants = self.needed.wants
        if at == len(wants):
            return True
        if not at or wants[at].claim == wants[at - 1].claim:
            return self._request(at)
        try:
            return self._request(at)
        except _TooManyDevices:
            return False

    def _request(self, at: int) -> bool:
        want = self.needed.wants[at]
        if not want.ranked:
            return self._choose(at, 0, 0, 0)
        too_many = True
        for rank in range(len(want.options)):
            try:
                if self._choose(at, rank, 0, 0):
                    return True
            except _TooManyDevices:
                continue
            too_many = False
        if too_many:
            raise _TooManyDevices
        return False

    def _choose(self, at: int, rank: int, number: int, start: int) -> bool:
        """Whether the devices from ``number`` on of a request, and then all later requests, can be had.

        start: the first offer that may be chosen.
        """
        if self.expired():
            raise OutOfTimeError
        want = self.needed.wants[at]
        option = want.options[rank]
        count = self._counts[option]
        if option.every and not count:
            return False
        if number >= count:
            return self._meet(at + 1)
        if sum(pick.want.claim == want.claim for pick in self.picks) + count - number > MOST_DEVICES:
            raise _TooManyDevices
        if option.every:
            return self._take_and_go_on(at, rank, number, 0, self._every[option][number], must=True)
        if self._is_hopeless(option, start, count - number):
            return False
        for index in range(start, len(self.offers)):
            offer = self.offers[index]
            if (
                self._is_free(option, offer, want.claim)
                and self._selects(option, offer)
                and self._has_capacity(option, offer)
                and self._take_and_go_on(at, rank, number, index + 1, offer, must=False)
            ):
                return True
        return False

    def _take_and_go_on(self, at: int, rank: int, number: int, start: int, offer: Offer, *, must: bool) -> bool:
        if not self._take(self.needed.wants[at], rank, offer, must=must):
            return False
        try:
            done = self._choose(at, rank, number + 1, start)
        except (_TooManyDevices, DeviceError):
            self._give_back()
            raise
        if not done:
            self._give_back()
        return done

    def _is_hopeless(self, option: Option, start: int, missing: int) -> bool:
        """Whether fewer selected devices are left than are missing; only once all are known, and none has counters."""
        suffix = self._hopeless.get(option)
        if suffix is None:
            known = [self._known(option, offer) for offer in self.offers]
            if None in known or any(offer.device.consumes_counters for offer in self.offers):
                return False
            suffix = [0]
            for will_do in reversed(known):
                suffix.append(suffix[-1] + bool(will_do))
            suffix = self._hopeless[option] = suffix[::-1]
        return suffix[start] < missing

    def _known(self, option: Option, offer: Offer) -> bool | None:
        """Whether a device may be chosen at all, as far as that is known yet."""
        if not option.admin_access and offer.device.name in offer.use.dedicated:
            return False
        return self._selected.get((option, offer))

    # --- devices ---------------------------------------------------------------------------

    def _is_free(self, option: Option, offer: Offer, claim: int) -> bool:
        """Administrators need a device that their own claim has not chosen yet, everybody else one nobody has."""
        holders = self._holders.get(offer, ())
        if option.admin_access:
            return claim not in holders
        return not holders and offer.device.name not in offer.use.dedicated

    def _selects(self, option: Option, offer: Offer) -> bool:
        """Whether the device will do, in use or not. Raises DeviceError."""
        if offer.device.binding_conditions and not self.needed.features.binding:
            return False
        found = self._selected.get((option, offer))
        if found is None:
            found = option.selects(offer.pool.driver, offer.device) and offer.here
            self._selected[option, offer] = found
        return found

    def _has_capacity(self, option: Option, offer: Offer) -> bool:
        if not self.needed.features.consumable:
            return True
        shares: Mapping[str, int] = self._shares.get(offer, {})
        return fits_capacity(option.capacity, offer.device, offer.use.shares(offer.device.name), shares)

    def _take(self, want: Want, rank: int, offer: Offer, *, must: bool) -> bool:
        """Picks a device if nothing speaks against it.

        must: raises DeviceError where a constraint does. Counters that were drawn stay drawn when a taint or a
        constraint then speaks against the device, and those of a shared device are never given back, as upstream.
        """
        option, device = want.options[rank], offer.device
        shared = self.needed.features.consumable and device.shareable
        if not (shared and option.admin_access) and not self._is_free(option, offer, want.claim):
            return False
        if device.consumes_counters and not self._may_draw(offer, shared=shared):
            return False
        if self.needed.features.taints and not option.tolerates(device):
            return False
        if not all_take(self._constraints[want.claim], option, offer.pool.driver, device):
            if must:
                text = f"cannot add device {offer.id} because a claim constraint would not be satisfied"
                raise DeviceError(f"{option.where}: {text}")
            return False
        if not shared:
            self._holders.setdefault(offer, set()).add(want.claim)
        if not self._has_capacity(option, offer):
            return False
        consumed = consumed_capacity(option.capacity, device) if shared else None
        if consumed is not None:
            _add(self._shares.setdefault(offer, {}), consumed)
        self.picks.append(Pick(want, option, rank, offer, consumed))
        return True

    def _give_back(self) -> None:
        pick = self.picks.pop()
        offer = pick.offer
        for constraint in self._constraints[pick.want.claim]:
            constraint.remove(pick.option)
        if pick.consumed is None:
            self._holders[offer].discard(pick.want.claim)
            if offer.device.consumes_counters:
                _subtract(self._drawn[offer.pool], counters(offer.device.consumes_counters))
            return
        shares = self._shares[offer]
        _subtract(shares, pick.consumed)
        if not any(shares.values()):
            del self._shares[offer]

    # --- counters --------------------------------------------------------------------------

    def _may_draw(self, offer: Offer, *, shared: bool) -> bool:
        """Takes the device's counters out of its pool if there are enough; a shared device takes them once."""
        if not self.needed.features.partitionable:
            return False
        if shared and (offer.device.name in offer.use.shared or offer in self._shares):
            return True
        pool = offer.pool
        if pool not in self._left:
            self._left[pool] = counters_left(pool.totals, pool.consumers, offer.use)
        drawn = self._drawn.setdefault(pool, {})
        needed = counters(offer.device.consumes_counters)
        _add(drawn, needed)
        if any(amount < drawn.get(name, 0) for name, amount in self._left[pool].items()):
            _subtract(drawn, needed)
            return False
        return True


def _add(total: dict[Name, int], more: Mapping[Name, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _subtract(total: dict[Name, int], less: Mapping[Name, int]) -> None:
    for name, amount in less.items():
        total[name] = total.get(name, 0) - amount


def search(
    needed: Needed, pools: Sequence[Pool], stock: Inventory, expired: Callable[[], bool]
) -> tuple[Pick, ...] | None:
    """The devices for all requests among ``pools``, None when there are not enough.

    Raises DeviceError for what cannot be worked out, OutOfTimeError once ``expired`` says so, InvalidPoolsError.
    """
    offers = tuple(
        Offer(pool, piece, device, stock.use_of(pool), here)
        for pool in pools
        for piece in pool.pieces
        for device, here in piece.devices()
    )
    attempt = DeviceSearch(needed, pools, offers, expired)
    return tuple(attempt.picks) if attempt.run() else None


def score(ranks: Iterable[int]) -> int:
    """8 less the place of the alternative chosen, summed over the requests that have alternatives."""
    return sum(MOST_ALTERNATIVES - rank for rank in ranks)
