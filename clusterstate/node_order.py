"""The orders of nodes: by name, and in turn by zone as nodes are listed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable

import numpy as np

from clusterstate.growable import IntArray
from clusterstate.objects import Node

REGION = "failure-domain.beta.kubernetes.io/region"
ZONE = "failure-domain.beta.kubernetes.io/zone"
STABLE_REGION = "topology.kubernetes.io/region"
STABLE_ZONE = "topology.kubernetes.io/zone"


def zone_key(node: Node) -> str | None:
    """Region and zone together; None when both are absent or empty. Upstream: 1.16 utilnode.GetZoneKey."""
    labels = node.metadata.labels
    region, zone = labels.get(REGION, ""), labels.get(ZONE, "")
    return f"{region}:\x00:{zone}" if region or zone else None


def zone_key_stable(node: Node) -> str | None:
    """The same, with the stable labels where a beta one is absent or empty. Upstream: 1.20 GetZoneKey."""
    labels = node.metadata.labels
    region = labels.get(REGION) or labels.get(STABLE_REGION, "")
    zone = labels.get(ZONE) or labels.get(STABLE_ZONE, "")
    return f"{region}:\x00:{zone}" if region or zone else None


class NodeTree:
    """Upstream: 1.16 NodeTree. The iterator goes on where the last scheduling attempt stopped."""

    def __init__(self, zone_key: Callable[[Node], str | None] = zone_key) -> None:
        self._zone_key = zone_key
        self._zones: dict[str, dict[str, None]] = {}
        self._lists: dict[str, list[str]] = {}
        """The names of zones that were asked for one by one since they changed."""
        self._zone_of: dict[str, str] = {}
        self._next_zone = 0
        self._positions: dict[str, int] = {}
        self.version = 0
        """Changes with the nodes and their order."""

    def __len__(self) -> int:
        return len(self._zone_of)

    def put(self, node: Node) -> None:
        """Adds a node; one whose zone changed moves to the end of its new zone."""
        zone = self._zone_key(node) or ""
        if self._zone_of.get(node.name) == zone:
            return
        self.remove(node.name)
        self.version += 1
        self._zones.setdefault(zone, {})[node.name] = None
        self._lists.pop(zone, None)
        self._zone_of[node.name] = zone

    def remove(self, name: str) -> None:
        """Takes a node out of its zone; nothing happens if it is not there."""
        zone = self._zone_of.pop(name, None)
        if zone is None:
            return
        self.version += 1
        del self._zones[zone][name]
        self._lists.pop(zone, None)
        if not self._zones[zone]:
            del self._zones[zone]
            self._positions.pop(zone, None)

    def relist(self, nodes: Iterable[Node]) -> None:
        """Puts the nodes into the order that they have where they are added to an empty tree one after the other; a
        pass over them begins anew."""
        self.version += 1
        self._zones, self._zone_of, self._positions, self._next_zone = {}, {}, {}, 0
        for node in nodes:
            self.put(node)

    def listed(self) -> list[str]:
        """All nodes: the first of every zone, then the second of every zone, and so on. Upstream: 1.20 nodeTree."""
        columns = [list(names) for names in self._zones.values()]
        longest = max(map(len, columns), default=0)
        return [names[at] for at in range(longest) for names in columns if at < len(names)]

    def next(self) -> str:
        """The next node; after a full pass every zone begins anew."""
        zones = list(self._zones)
        exhausted: set[str] = set()
        while True:
            if self._next_zone >= len(zones):
                self._next_zone = 0
            zone = zones[self._next_zone]
            self._next_zone += 1
            position = self._positions.get(zone, 0)
            if position < len(self._zones[zone]):
                self._positions[zone] = position + 1
                return self._list(zone)[position]
            exhausted.add(zone)
            if len(exhausted) == len(zones):
                self._positions.clear()
                self._next_zone = 0
                exhausted.clear()

    def _list(self, zone: str) -> list[str]:
        found = self._lists.get(zone)
        if found is None:
            found = self._lists[zone] = list(self._zones[zone])
        return found


NAMELESS = -1
"""The place of a row without a name."""
MOST_MOVES = 64
"""Names that are put in their places one by one sooner than all are sorted anew."""


class NameOrder:
    """Row → its place among all names in bytewise order, which for texts is the order of their characters."""

    __slots__ = ("_moves", "_ranks", "_row_of", "_rows", "_sorted")

    def __init__(self) -> None:
        self._row_of: dict[str, int] = {}
        self._sorted: list[str] = []
        self._ranks: IntArray = np.zeros(0, np.int64)
        self._rows: tuple[IntArray, IntArray] | None = None
        """(the ranks that they follow from, the rows by name)."""
        self._moves: list[tuple[int, str, bool]] = []
        """(row, name, whether it came) since ``ranks`` were worked out."""

    def put(self, row: int, name: str) -> None:
        """A row has a name from now on; no other row has it."""
        self._row_of[name] = row
        self._moves.append((row, name, True))

    def drop(self, row: int, name: str) -> None:
        """A row has its name no longer."""
        del self._row_of[name]
        self._moves.append((row, name, False))

    def ranks(self, size: int) -> IntArray:
        """(size,) int64 each row's place, NAMELESS where there is no name; never written to once it was handed out."""
        if not self._moves and len(self._ranks) == size:
            return self._ranks
        ranks = np.full(size, NAMELESS, np.int64)
        if len(self._moves) > MOST_MOVES:
            self._sorted = sorted(self._row_of)
            ranks[[self._row_of[name] for name in self._sorted]] = np.arange(len(self._sorted))
        else:
            ranks[: len(self._ranks)] = self._ranks
            for row, name, came in self._moves:
                self._move(ranks, row, name, came=came)
        self._moves.clear()
        self._ranks = ranks
        return ranks

    def rows(self, size: int) -> IntArray:
        """(n,) int64 the rows that have a name, sorted by it. size: as for ``ranks``."""
        ranks = self.ranks(size)
        if self._rows is None or self._rows[0] is not ranks:
            self._rows = ranks, ranks.argsort()[np.count_nonzero(ranks == NAMELESS) :]
        return self._rows[1]

    def _move(self, ranks: IntArray, row: int, name: str, *, came: bool) -> None:
        place = bisect_left(self._sorted, name)
        if came:
            self._sorted.insert(place, name)
            ranks[ranks >= place] += 1
            ranks[row] = place
        else:
            del self._sorted[place]
            ranks[row] = NAMELESS
            ranks[ranks > place] -= 1
