"""The fewest, or cheapest, new nodes with which everything runs, found by having the scheduler run with them.

Needs say what is too little whatever the scheduler does; between them and the first set of nodes that was seen to do,
sets are tried: all that are cheaper, in order of cost, where these are few enough, which proves the answer; else nodes
are taken away and exchanged as long as everything still runs. A scheduler is no packer: with one node more it may place
otherwise and need another, so that only sets that were tried count, each on its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product

import msgspec

from kubescheduler.planning.needs import LowerBound, Needs, NodeNeed, capped, common_price
from kubescheduler.planning.node_trials import Counts, NodeTrials, Played
from kubescheduler.planning.shapes import prices_of

MOST_STEPS = 50_000
"""Of the enumeration of cheaper sets; where it needs more, there are too many."""


class Found(msgspec.Struct, frozen=True, eq=False):
    """The best set that was found."""

    played: Played
    cost: Fraction
    bound: LowerBound
    """Of the needs of what runs."""
    proven: bool
    """Whether no cheaper set does: every one was tried, or the bound says so."""
    left: frozenset[str]
    """The pods that no number of nodes of any shape was seen to help, by namespace/name."""


class FewestNodes:
    """One search."""

    def __init__(self, trials: NodeTrials, needs: Needs) -> None:
        self._trials, self._needs = trials, needs
        self._prices, self._most = prices_of(trials.shapes), capped(trials.shapes)
        self._left: frozenset[str] = frozenset()

    def run(self) -> Found:
        """The search, within the trials there may be."""
        nothing = (0,) * len(self._prices)
        first = self._trials.play(nothing)
        self._left = frozenset(key for key, record in first.pending.items() if not record.attempts)
        best = self._grown(first)
        self._trials.begin()
        self._left &= best.pending.keys()
        needs = self._needs.all_but(self._left)
        best = self._shrunk(best, needs)
        for start in self._of_one_shape(needs):
            best = self._cheaper(best, self._shrunk(start, needs))
        bound = self._needs.bound(needs, self._most) or LowerBound(Fraction(0), "")
        while True:
            below = self._below(bound.cost, self.cost(best.counts), needs)
            if below is not None and len(below) <= self._trials.left:
                done = next((played for counts in below if self._does(played := self._trials.play(counts))), None)
                return Found(done or best, self.cost((done or best).counts), bound, True, self._left)
            exchanged = self._exchanged(best, needs)
            if exchanged is None:
                cost = self.cost(best.counts)
                return Found(best, cost, bound, cost == bound.cost, self._left)
            best = self._shrunk(exchanged, needs)

    def cost(self, counts: Counts) -> Fraction:
        """What nodes cost."""
        return sum((number * price for number, price in zip(counts, self._prices, strict=True)), Fraction(0))

    def _does(self, played: Played) -> bool:
        """Whether everything runs but what nothing helps."""
        return played.pending.keys() <= self._left

    def _cheaper(self, one: Played, other: Played) -> Played:
        return other if self.cost(other.counts) < self.cost(one.counts) else one

    # --- a first set ------------------------------------------------------------------------------------

    def _grown(self, played: Played) -> Played:
        """A set with which everything runs that nodes help, from one with which not everything does.

        What is added is doubled from time to time: the scheduler may spread pods over whatever there is.
        """
        times = 1
        while waiting := played.pending.keys() - self._left:
            hopeless = frozenset(key for key in waiting if not self._needs.of_kind(key).shapes)
            self._left |= hopeless
            if not waiting - hopeless:
                continue
            more = self._more(played, waiting - hopeless, times) or self._any_set(played)
            if more is None:
                self._left |= waiting
                break
            played, times = more, 2 * times
        return played

    def _more(self, played: Played, waiting: Iterable[str], times: int) -> Played | None:
        """With nodes more, so that more pods run; None: neither what these need does it, so many times or 16 times as
        many, nor any one node more, nor one of each shape, nor a quarter more nodes or twice as many."""
        counts = played.counts
        useful = {at for key in waiting for at in self._needs.of_kind(key).shapes}
        needed = self.cover(self._needs.only_of(waiting), counts)
        one_each = tuple(int(at in useful) for at in range(len(counts)))
        singles = [tuple(int(at == one) for at in range(len(counts))) for one in sorted(useful)]
        several = ([tuple(times * factor * each for each in needed)] for factor in (1, 4, 16))
        many = ([tuple(-(-number // part) for number in counts)] for part in (4, 1))
        for attempts in (*several, singles, [one_each], *many):
            tried = [self._trials.play(sums) for more in attempts if (sums := self._added(counts, more)) != counts]
            if tried:
                best = min(tried, key=lambda each: (-each.placed, self.cost(each.counts)))
                if best.placed > played.placed:
                    return best
        return None

    def _any_set(self, played: Played) -> Played | None:
        """Any set of up to three nodes more of each shape, also with fewer of some, with which more pods run: the first
        with which everything does. None: there is none, or there are too many to try."""
        limit = self.cost(played.counts) + 3 * sum(self._prices, Fraction(0))
        sets = self._below(Fraction(0), limit + 1, self._needs.all_but(self._left))
        best = played
        for counts in sets if sets is not None and len(sets) <= self._trials.left else ():
            tried = self._trials.play(counts)
            if self._does(tried):
                return tried
            best = tried if tried.placed > best.placed else best
        return None if best is played else best

    def _added(self, counts: Counts, more: Counts) -> Counts:
        sums = [one + other for one, other in zip(counts, more, strict=True)]
        return tuple(
            total if most is None else min(total, max(most, 0)) for total, most in zip(sums, self._most, strict=True)
        )

    def cover(self, needs: Sequence[NodeNeed], there: Counts = (), among: Iterable[int] | None = None) -> Counts:
        """Nodes that meet needs, as far as there may be so many beside those there are: the need that costs most first,
        by the shape that offers most of it for its price, and of such the one that offers most of the others."""
        size = len(self._prices)
        counts, usable = [0] * size, set(range(size) if among is None else among)
        room = [
            None if most is None else most - was for most, was in zip(self._most, there or (0,) * size, strict=True)
        ]
        while True:
            there_now = tuple(counts)
            open_ = [at for at in usable if (limit := room[at]) is None or counts[at] < limit]
            short = [need for need in needs if need.short(there_now) > 0 and any(need.each[at] for at in open_)]
            if not short:
                return there_now
            worst = max(short, key=lambda need: need.short(there_now) * self._rate(need, open_))
            offering = [at for at in open_ if worst.each[at]]
            best = min(
                offering, key=lambda at: (self._prices[at] / worst.each[at], -self._worth(at, short, there_now), at)
            )
            steps, limit = -(-worst.short(there_now) // worst.each[best]), room[best]
            counts[best] += steps if limit is None else min(steps, limit - counts[best])

    def _rate(self, need: NodeNeed, shapes: Iterable[int]) -> Fraction:
        """What a unit of a need costs at least."""
        return min(self._prices[at] / need.each[at] for at in shapes if need.each[at])

    def _worth(self, at: int, short: Sequence[NodeNeed], counts: Counts) -> Fraction:
        """What a node of a shape meets of the needs, in shares of what is missing, for its price."""
        shares = (
            Fraction(min(need.each[at], missing), missing) for need in short if (missing := need.short(counts)) > 0
        )
        return sum(shares, Fraction(0)) / self._prices[at]

    def _of_one_shape(self, needs: Sequence[NodeNeed]) -> Iterator[Played]:
        """Sets of a single shape with which everything runs; the number is doubled a few times until it does."""
        for at in range(len(self._prices)) if len(self._prices) > 1 else ():
            counts = self.cover(needs, among=[at])
            if not all(need.met_by(counts) for need in needs):
                continue
            for _ in range(3):
                if not self._trials.left:
                    return
                played = self._trials.play(counts)
                if self._does(played):
                    yield played
                    break
                counts = self._added(counts, tuple(-(-number // 4) for number in counts))

    # --- fewer -----------------------------------------------------------------------------------------------

    def _shrunk(self, best: Played, needs: Sequence[NodeNeed]) -> Played:
        """Nodes taken away, many at a time and then fewer, of the dearest shape first."""
        for at in sorted(range(len(self._prices)), key=lambda at: (-self._prices[at], at)):
            step = best.counts[at]
            while step:
                smaller = self._changed(best.counts, {at: -step})
                meets = smaller is not None and all(need.met_by(smaller) for need in needs)
                if smaller is not None and meets and self._trials.left:
                    played = self._trials.play(smaller)
                    if self._does(played):
                        best, step = played, min(step, smaller[at])
                        continue
                step //= 2
        return best

    def _exchanged(self, best: Played, needs: Sequence[NodeNeed]) -> Played | None:
        """A cheaper set with one or two nodes less of some shapes and one more of another; None: none was found."""
        size = range(len(self._prices))
        away = [{at: -1} for at in size] + [
            {one: -2} if one == other else {one: -1, other: -1} for one, other in product(size, size) if one <= other
        ]
        before = self.cost(best.counts)
        for less, more in product(away, size):
            counts = self._changed(best.counts, {**less, more: less.get(more, 0) + 1})
            if counts is None or self.cost(counts) >= before or not all(need.met_by(counts) for need in needs):
                continue
            if not self._trials.left:
                return None
            played = self._trials.play(counts)
            if self._does(played):
                return played
        return None

    def _changed(self, counts: Counts, by: dict[int, int]) -> Counts | None:
        """None where there cannot be so many."""
        out = tuple(number + by.get(at, 0) for at, number in enumerate(counts))
        limits = zip(out, self._most, strict=True)
        return out if all(number >= 0 and (most is None or number <= most) for number, most in limits) else None

    def _below(self, least: Fraction, cost: Fraction, needs: Sequence[NodeNeed]) -> list[Counts] | None:
        """Every set that costs at least ``least`` and less than ``cost`` and meets the needs, the cheapest first; None:
        there are too many to look at."""
        step = common_price(self._prices)
        prices = [int(price / step) for price in self._prices]
        low, high = int(least / step), int(cost / step) - 1
        best = [[_best_of(need, prices, at) for at in range(len(prices) + 1)] for need in needs]
        found: list[Counts] = []
        stack: list[tuple[Counts, int, tuple[int, ...]]] = [((), 0, tuple(need.amount for need in needs))]
        for _ in range(MOST_STEPS):
            if not stack:
                return sorted(found, key=lambda counts: (self.cost(counts), [-number for number in counts]))
            begun, spent, short = stack.pop()
            at, left = len(begun), high - spent
            rates = (of_need[at] for of_need in best)
            if any(missing * price > each * left for missing, (each, price) in zip(short, rates, strict=True)):
                continue
            if at == len(prices):
                found += [begun] if spent >= low else []
                continue
            limit = self._most[at]
            each_here = [need.each[at] for need in needs]
            for number in range(1 + (left // prices[at] if limit is None else min(left // prices[at], limit))):
                missing = tuple(was - number * each for was, each in zip(short, each_here, strict=True))
                stack.append(((*begun, number), spent + number * prices[at], missing))
        return None


def _best_of(need: NodeNeed, prices: Sequence[int], begin: int) -> tuple[int, int]:
    """(what a node offers, its price) of the shape from ``begin`` on that offers most for its price; (0, 1): none."""
    rates = [(each, price) for each, price in zip(need.each[begin:], prices[begin:], strict=True)]
    return max(rates, key=lambda rate: Fraction(*rate), default=(0, 1))
