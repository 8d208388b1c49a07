"""Looking for devices for all requests of a pod's claims at once, among what one node sees.

Requests are tried in order, alternatives from the best, devices as pools list them; the first combination that meets
every constraint is taken. Release 1.36, structured parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import attrs

from clusterstate.devices.device_inventory import CounterName, DeviceId, Lot, Pool, counters
from clusterstate.devices.device_requests import Option, Want
from clusterstate.devices.device_values import attribute
from clusterstate.objects.resource import Device, DeviceAttribute, DeviceConstraint

MOST_DEVICES = 32
"""Devices that one claim can be allocated."""

MOST_ALTERNATIVES = 8
"""Of one request: what the best alternative scores."""


class OutOfTimeError(Exception):
    """The search took longer than it may."""


@attrs.frozen(eq=False)
class Offer:
    """A device as one node sees it."""

    lot: Lot
    device: Device

    @property
    def driver(self) -> str:
        """The driver of the device's pool."""
        return self.lot.pool.driver

    @property
    def id(self) -> DeviceId:
        """(driver, pool, device name), unique in the cluster."""
        return (self.driver, self.lot.pool.name, self.device.name)

    @property
    def in_use(self) -> bool:
        """Whether an allocation holds the device already."""
        return self.device.name in self.lot.taken


@attrs.frozen(eq=False)
class Pick:
    """A device chosen for a request."""

    want: Want
    option: Option
    rank: int
    """The index of the alternative among those of its request."""
    offer: Offer


@attrs.define(eq=False)
class DeviceSearch:
    """A search for devices for all requests of a pod."""

    wants: Sequence[Want]
    offers: tuple[Offer, ...]
    expired: Callable[[], bool]
    """Whether to give up, asked before every choice."""
    picks: list[Pick] = attrs.field(factory=list)
    """The devices chosen so far."""
    _used: set[DeviceId] = attrs.field(factory=set)
    _left: dict[Pool, dict[CounterName, int]] = attrs.field(factory=dict)
    _candidates: dict[Option, tuple[Offer, ...]] = attrs.field(factory=dict)

    def run(self) -> bool:
        """Whether all requests can be met; ``picks`` then says how. Raises DeviceError and OutOfTimeError."""
        return self._meet(0)

    def _meet(self, at: int) -> bool:
        """Whether the requests from ``at`` on can be met besides what is picked."""
        if at == len(self.wants):
            return True
        return any(self._try(at, rank, option) for rank, option in enumerate(self.wants[at].options))

    def _try(self, at: int, rank: int, option: Option) -> bool:
        candidates = self._of(option)
        count = len(candidates) if option.every else option.count
        if count < 1 or self._count(self.wants[at].claim) + count > MOST_DEVICES:
            return False
        if option.every and not self._all_there(option):
            return False
        return self._choose(at, rank, option, candidates, 0, count)

    def _choose(
        self, at: int, rank: int, option: Option, candidates: tuple[Offer, ...], start: int, missing: int
    ) -> bool:
        """Whether ``missing`` more devices from ``start`` on, and then all later requests, can be had."""
        if self.expired():
            raise OutOfTimeError
        if not missing:
            return self._meet(at + 1)
        for index in range(start, len(candidates) - missing + 1):
            pick = Pick(self.wants[at], option, rank, candidates[index])
            if self._take(pick):
                if self._choose(at, rank, option, candidates, index + 1, missing - 1):
                    return True
                self._give_back()
        return False

    # --- devices ---------------------------------------------------------------------------

    def _of(self, option: Option) -> tuple[Offer, ...]:
        """The devices that an alternative selects; without those in use unless it wants all there are."""
        found = self._candidates.get(option)
        if found is None:
            found = self._candidates[option] = tuple(self._select(option))
        return found

    def _select(self, option: Option) -> Iterator[Offer]:
        for offer in self.offers:
            if not offer.lot.pool.usable or not option.selects(offer.driver, offer.device):
                continue
            if option.every or ((option.admin_access or not offer.in_use) and option.tolerates(offer.device)):
                yield offer

    def _all_there(self, option: Option) -> bool:
        """Whether every pool that the node sees is complete, as a request for all devices needs."""
        return all(offer.lot.pool.usable for offer in self.offers) and all(
            option.tolerates(offer.device) for offer in self._of(option)
        )

    def _count(self, claim: int) -> int:
        return sum(pick.want.claim == claim for pick in self.picks)

    def _take(self, pick: Pick) -> bool:
        """Picks a device if nothing speaks against it."""
        offer = pick.offer
        if not pick.option.admin_access and (offer.in_use or offer.id in self._used):
            return False
        if not all(self._goes_with(constraint, pick) for constraint in pick.want.constraints):
            return False
        if not pick.option.admin_access:
            if not self._draw(offer):
                return False
            self._used.add(offer.id)
        self.picks.append(pick)
        return True

    def _give_back(self) -> None:
        pick = self.picks.pop()
        if not pick.option.admin_access:
            self._used.discard(pick.offer.id)
            left = self._counters(pick.offer)
            for name, amount in counters(pick.offer.device.consumes_counters).items():
                left[name] += amount

    # --- counters and constraints ----------------------------------------------------------

    def _counters(self, offer: Offer) -> dict[CounterName, int]:
        pool = offer.lot.pool
        found = self._left.get(pool)
        if found is None:
            found = self._left[pool] = dict(pool.left)
        return found

    def _draw(self, offer: Offer) -> bool:
        """Takes the device's counters out of its pool, if there are enough."""
        needed = counters(offer.device.consumes_counters)
        if not needed:
            return True
        left = self._counters(offer)
        if any(left.get(name, 0) < amount for name, amount in needed.items()):
            return False
        for name, amount in needed.items():
            left[name] -= amount
        return True

    def _goes_with(self, constraint: DeviceConstraint, pick: Pick) -> bool:
        if not pick.option.is_among(constraint.requests):
            return True
        for name, alike in ((constraint.match_attribute, True), (constraint.distinct_attribute, False)):
            if name is not None:
                value = _value(pick, name)
                if value is None or any((other == value) != alike for other in self._values(constraint, pick, name)):
                    return False
        return True

    def _values(self, constraint: DeviceConstraint, pick: Pick, name: str) -> Iterator[DeviceAttribute | None]:
        """The attribute of the devices already chosen under a constraint of the same claim."""
        for other in self.picks:
            if other.want.claim == pick.want.claim and other.option.is_among(constraint.requests):
                yield _value(other, name)


def _value(pick: Pick, name: str) -> DeviceAttribute | None:
    return attribute(pick.offer.driver, pick.offer.device, name)


def search(wants: Sequence[Want], lots: Sequence[Lot], expired: Callable[[], bool]) -> tuple[Pick, ...] | None:
    """The devices for all requests among ``lots``, None when there are not enough.

    Raises DeviceError for what cannot be worked out, OutOfTimeError once ``expired`` says so.
    """
    attempt = DeviceSearch(wants, tuple(Offer(lot, device) for lot in lots for device in lot.devices), expired)
    return tuple(attempt.picks) if attempt.run() else None


def score(picks: Sequence[Pick]) -> int:
    """8 less the place of the alternative chosen, summed over the requests that have alternatives."""
    ranks = {id(pick.want): pick.rank for pick in picks if pick.want.ranked}
    return sum(MOST_ALTERNATIVES - rank for rank in ranks.values())
