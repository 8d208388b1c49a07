"""How far the pods of a node matter to a rule: to the nodes that share its value of some topology keys."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from operator import attrgetter

from clusterstate.counting.tally import DomainLog, Tally
from clusterstate.growable import NO_NUMBERS
from clusterstate.nodecolumn import ABSENT
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot

ReadOf = Callable[[Tally], DomainLog]
"""What a rule reads of the sums of a running count, as the log of the domains where that changes."""

is_occupied: ReadOf = attrgetter("turned")
"""Where they are above 0."""
every_sum: ReadOf = attrgetter("moved")
"""All of them."""

Besides = Callable[[Snapshot], Hashable]
"""What the answers about all rows follow from that a rule reads of its running counts."""


def nothing_besides(_: Snapshot) -> Hashable:
    """The answers about a row follow from the domains that it is in."""
    return None


class TopologyScope:
    """The running counts of domains that a rule's answers about rows follow from, besides the rows' node objects, and
    how far they were read.

    While nodes stay as they are, the answers about a row differ only if what is read changed in one of its domains.
    """

    __slots__ = ("_answer", "_besides", "_logs", "_positions", "_tallies", "_uses_version")

    def __init__(
        self,
        snapshot: Snapshot,
        sides: Iterable[Mapping[str, Tally]],
        read: ReadOf,
        besides: Besides = nothing_besides,
    ) -> None:
        """As of now. sides: by topology key the counts, which are found anew when terms of running pods change."""
        self._tallies = [tally for tallies in sides for tally in tallies.values()]
        self._logs = [read(tally) for tally in self._tallies]
        self._positions = [log.position for log in self._logs]
        self._besides = besides
        self._answer = besides(snapshot)
        self._uses_version = snapshot.uses_version

    def stands(self, snapshot: Snapshot) -> bool:
        """Whether the rule still reads these counts, as long as nodes stay as they are."""
        if self._uses_version != snapshot.uses_version:
            return False
        return not any([not tally.kept for tally in self._tallies])  # noqa: C419

    def follows(self, before: TopologyScope) -> bool:
        """Whether an earlier scope of the rule has the same counts; then this one goes on where that one was read."""
        if self._tallies != before._tallies:
            return False
        self._positions, self._answer = before._positions, before._answer
        return True

    def changed_rows(self, snapshot: Snapshot, most: int) -> tuple[int, ...] | None:
        """The rows of the whole cluster of which answers may have changed since this was asked the last time; None: all
        rows, or more than ``most``."""
        before, now = self._positions, [log.position for log in self._logs]
        if before == now:
            return ()
        self._positions = now
        answer, self._answer = self._answer, self._besides(snapshot)
        if answer != self._answer:
            return None
        found: dict[int, None] = {}
        for tally, log, position in zip(self._tallies, self._logs, before, strict=True):
            codes = log.since(position)
            if codes is None or tally.column is None:
                return None
            for code in dict.fromkeys(codes):
                rows = tally.column.rows_with(code) if code != ABSENT else NO_NUMBERS
                if len(found) + len(rows) > most:
                    return None
                found.update(dict.fromkeys(rows.tolist()))
        return tuple(found)


Scope = Callable[[PodInfo, Snapshot], TopologyScope | None]
"""The scope of a rule for a pod; None: pods on any row may matter to any other."""
