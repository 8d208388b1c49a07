"""With which weights of a rule each node wins: exact, as totals are linear in each weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from clusterstate.growable import IntArray
from kubescheduler.core.decision import Decision

LARGEST_TOTAL = 2**63 - 1


class WinningRange(msgspec.Struct, frozen=True):
    """The whole numbers from ``low`` to ``high``: with any of them as its weight the node wins, with no other one."""

    rule: str
    """The rule whose weight is looked at, the others unchanged."""
    node: str
    """The node."""
    low: int | None
    """The smallest such weight; None when the node wins with none."""
    high: int | None
    """The largest one that was looked at."""
    now: int
    """The weight as it is."""
    most: int
    """The largest weight that was looked at: what the release takes, and no total exceeds 64 bits."""

    @property
    def wins_now(self) -> bool:
        """Whether the node wins as things are."""
        return self.low is not None and self.high is not None and self.low <= self.now <= self.high

    @property
    def text(self) -> str:
        """In words, as ``NodeResourcesFit ≥ 4 makes worker-3 win``."""
        if self.low is None or self.high is None:
            return f"no weight of {self.rule} makes {self.node} win"
        if self.low == 1 and self.high == self.most:
            return f"{self.node} wins with any weight of {self.rule}"
        if self.high == self.most:
            return f"{self.rule} ≥ {self.low} makes {self.node} win"
        if self.low == 1:
            return f"{self.rule} ≤ {self.high} makes {self.node} win"
        if self.low == self.high:
            return f"{self.rule} = {self.low} makes {self.node} win"
        return f"{self.rule} from {self.low} to {self.high} makes {self.node} win"

    def to_dict(self) -> dict[str, object]:
        """Plain data, for JSON. ``to`` is None where every larger weight does it too."""
        return {
            "rule": self.rule,
            "node": self.node,
            "from": self.low,
            "to": None if self.high == self.most else self.high,
            "now": self.now,
            "wins": self.wins_now,
            "text": self.text,
        }


def winning_ranges(
    decision: Decision, most: Mapping[str, int], nodes: Sequence[str] | None = None
) -> Iterator[WinningRange]:
    """By rule, each node's range of weights; the first name wins a tie.

    decision: a scored one (``Decision.thorough``). most: rule → the largest weight that the release takes. nodes: those
    that are asked about, None: those that win with some weight. A rule that is not in ``most`` is passed over.
    """
    names = [decision.names[row] for row in decision.feasible.tolist()]
    if not len(decision.totals):
        return
    order = np.argsort(np.array([name.encode() for name in names], dtype=object), kind="stable")
    places = np.empty(len(names), np.int64)
    places[order] = np.arange(len(names))
    for rule, now in decision.weights.items():
        if rule not in most:
            continue
        scores = np.zeros(len(names), np.int64) + decision.scores.get(rule, 0)
        rest = decision.totals - now * scores
        largest = min(most[rule], _safe_weight(scores, rest))
        found = dict(_envelope(scores, rest, places, largest))
        for name in nodes if nodes is not None else [names[at] for at in found]:
            low, high = found.get(names.index(name), (None, None)) if name in names else (None, None)
            yield WinningRange(rule, name, low, high, now, largest)


def _safe_weight(scores: IntArray, rest: IntArray) -> int:
    """The largest weight with which no total exceeds 64 bits."""
    room, highest = LARGEST_TOTAL - max(0, int(np.abs(rest).max())), int(np.abs(scores).max())
    return LARGEST_TOTAL if highest == 0 else max(1, room // highest)


def _envelope(scores: IntArray, rest: IntArray, places: IntArray, most: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """(node's position, (first, last weight with which it wins)), weights rising from 1 to ``most``.

    scores: (n,) what the weight multiplies. rest: (n,) the other parts of the totals. places: (n,) order of names.
    """
    weight = 1
    while weight <= most:
        at = _best(rest + weight * scores, places)
        until = min(most, _last(scores, rest, places, at, most))
        yield at, (weight, until)
        weight = until + 1


def _best(totals: IntArray, places: IntArray) -> int:
    tied = np.flatnonzero(totals == totals.max())
    return int(tied[places[tied].argmin()])


def _last(scores: IntArray, rest: IntArray, places: IntArray, at: int, most: int) -> int:
    """The last weight with which a node that wins wins still."""
    steeper = scores > scores[at]
    if not steeper.any():
        return most
    rise = (scores - scores[at])[steeper]
    lead = (rest[at] - rest)[steeper] - (places[steeper] < places[at])  # it loses as soon as rise * weight > lead
    return int((lead // rise).min())
