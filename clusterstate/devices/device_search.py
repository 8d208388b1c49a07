"""Looking for devices for all requests of a pod's claims at once, among what one node sees, and what is written then.

Requests are tried in order, alternatives from the best, devices as pools list them; the first combination that meets
every constraint is taken. Upstream: 1.36 structured allocator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar
from uuid import NAMESPACE_OID, uuid5

import msgspec

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.devices.device_inventory import (
    CounterName,
    Counters,
    Inventory,
    Piece,
    Pool,
    PoolUse,
    counters,
    counters_left,
)
from clusterstate.devices.device_requests import (
    EVERYTHING,
    Constraint,
    DeviceError,
    DeviceFeatures,
    Option,
    Want,
    all_take,
    constraints_of,
)
from clusterstate.objects import (
    AllocatedDevice,
    Allocation,
    Device,
    DeviceConfig,
    FrozenMap,
    NodeSelectorTerm,
    Placement,
    RequestPolicy,
    Requirement,
    ResourceClaim,
)
from clusterstate.quantity import whole_units
from clusterstate.selectors.node_selection import NAME_FIELD

Consumed = dict[str, int]
"""Capacity → thousandths."""


def consumed_capacity(requested: Mapping[str, int] | None, device: Device) -> Consumed:
    """What a request takes of every capacity of a device, in thousandths.

    An amount that is not requested is the policy's default, else all there is. Upstream: 1.36
    GetConsumedCapacityFromRequest.
    """
    asked = requested or {}
    return {
        name: _consumed(asked.get(name), total, device.policies.get(name)) for name, total in device.capacity.items()
    }


def fits_capacity(
    requested: Mapping[str, int] | None, device: Device, held: Mapping[str, int], under_way: Mapping[str, int]
) -> bool:
    """Whether a request can be added to what allocations (``held``) and this search (``under_way``) consume.

    False also for a capacity that the device lacks and for an amount that its policy forbids. Upstream: 1.36
    CmpRequestOverCapacity.
    """
    if requested is not None and not requested.keys() <= device.capacity.keys():
        return False
    for name, amount in consumed_capacity(requested, device).items():
        policy = device.policies.get(name)
        if policy is not None and _violates(amount, policy):
            return False
        if amount + held.get(name, 0) + under_way.get(name, 0) > device.capacity[name]:
            return False
    return True


def _consumed(asked: int | None, total: int, policy: RequestPolicy | None) -> int:
    if asked is None:
        return total if policy is None or policy.default is None else policy.default
    if policy is None:
        return asked
    if policy.minimum is not None:
        return _stepped(asked, policy.minimum, policy.step)
    return next((valid for valid in policy.valid_values if asked <= valid), asked)


def _stepped(asked: int, minimum: int, step: int | None) -> int:
    """Rounded up to the minimum and whole steps above it."""
    if asked < minimum:
        return minimum
    if step is None or not whole_units(step):
        return asked
    steps = -(-(whole_units(asked) - whole_units(minimum)) // whole_units(step))
    return 1000 * (whole_units(minimum) + whole_units(step) * steps)


def _violates(amount: int, policy: RequestPolicy) -> bool:
    if amount == policy.default:
        return False
    if (policy.minimum, policy.maximum, policy.step) != (None, None, None):
        if policy.maximum is not None and amount > policy.maximum:
            return True
        step = whole_units(policy.step or 0)
        return bool(step) and (whole_units(amount) - whole_units(policy.minimum or 0)) % step != 0
    return bool(policy.valid_values) and amount not in policy.valid_values


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
        try:
            return self._request(at)
        except _TooManyDevices:
            if not at or wants[at].claim == wants[at - 1].claim:
                raise
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
                _add(self._drawn[offer.pool], counters(offer.device.consumes_counters), -1)
            return
        shares = self._shares[offer]
        _add(shares, pick.consumed, -1)
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
            _add(drawn, needed, -1)
            return False
        return True


def _add(total: dict[Name, int], more: Mapping[Name, int], sign: int = 1) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + sign * amount


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
        for name, ask in request.alternatives():
            device_class = objects.device_classes.get(ask.device_class_name)
            if name in options and device_class is not None:
                for config in device_class.config:
                    yield msgspec.structs.replace(config, requests=(name,), source=FROM_CLASS)
    for config in claim.spec.config:
        if not config.requests or any(option.is_among(config.requests) for option in options.values()):
            yield msgspec.structs.replace(config, source=FROM_CLAIM)


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
