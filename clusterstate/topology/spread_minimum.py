"""The smallest count of any domain while pods are hypothetically added and removed, as upstream tracks it."""

from __future__ import annotations

import numpy as np

from clusterstate.growable import IntArray

NO_PODS_ANYWHERE = (1 << 31) - 1
"""Upstream's count of the emptiest domain when there is no domain."""

NO_DOMAIN = -1


class Tracked:
    """Pods by domain with the two smallest counts remembered; the third smallest is not.

    size: how many domains there are. Upstream: 1.20 and 1.36 criticalPaths.
    """

    __slots__ = ("_base", "_changed", "_known", "_slots", "size")

    def __init__(self, base: IntArray, known: frozenset[int], slots: tuple[tuple[int, int], ...], size: int) -> None:
        self._base = base
        self._known = known
        self._slots = slots
        self._changed: dict[int, int] = {}
        self.size = size

    @classmethod
    def of(cls, totals: IntArray, domains: IntArray) -> Tracked:
        """totals: (D,) by domain code, kept. domains: the codes that count."""
        counts = totals[domains]
        slots = [(NO_PODS_ANYWHERE, NO_DOMAIN), (NO_PODS_ANYWHERE, NO_DOMAIN)]
        for at in range(min(2, len(domains))):
            least = int(counts.argmin())
            slots[at] = (int(counts[least]), int(domains[least]))
            counts[least] = np.iinfo(np.int64).max
        return cls(totals.copy(), frozenset(domains.tolist()), tuple(slots), len(domains))

    def copy(self) -> Tracked:
        """For one what-if; only one that has not been changed itself."""
        return Tracked(self._base, self._known, self._slots, self.size)

    @property
    def least(self) -> int:
        """The fewest pods of any domain."""
        return self._slots[0][0]

    def array(self) -> IntArray:
        """(D,) the counts, by domain code."""
        out = self._base.copy()
        for code, count in self._changed.items():
            out[code] = count
        return out

    def add(self, code: int, amount: int, *, create: bool) -> None:
        """Adds or removes pods of a domain; one that did not count before is left alone unless ``create``."""
        if code not in self._known and code not in self._changed:
            if not create:
                return
            self.size += 1
        count = self._changed.get(code, int(self._base[code])) + amount
        self._changed[code] = count
        first, second = self._slots
        if code in (first[1], second[1]):
            first, second = ((count, code), second) if code == first[1] else (first, (count, code))
            if first[0] > second[0]:
                first, second = second, first
        elif count < first[0]:
            first, second = (count, code), first
        elif count < second[0]:
            second = (count, code)
        self._slots = (first, second)
