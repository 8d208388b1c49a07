"""How far the pods of a node matter to a rule: to the nodes that share its value of some topology keys."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from operator import attrgetter
from typing import NamedTuple

from clusterstate.changes import ChangeLog
from clusterstate.counting.tally import DomainLog, Tally
from clusterstate.growable import NO_NUMBERS
from clusterstate.nodecolumn import ABSENT
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot


class ReadOf(NamedTuple):
    """What a rule reads of the sums of a running count."""

    log: Callable[[Tally], DomainLog]
    """The domains where that changes."""
    value: Callable[[int], int]
    """What it makes of one sum."""


def sign(number: int) -> int:
    """-1, 0 or 1."""
    return (number > 0) - (number < 0)


every_sign = ReadOf(attrgetter("turned"), sign)
"""Where they are above 0, and where they are below."""
every_sum = ReadOf(attrgetter("moved"), int)
"""All of them."""

SeenByRow = tuple[int | None, ...]
"""What a rule reads of each of its counts in the domain of a row; None: the row lacks the topology key."""

Besides = Callable[[Snapshot], Hashable]
"""What the answers about all rows follow from that a rule reads of its running counts."""


def nothing_besides(_: Snapshot) -> Hashable:
    """The answers about a row follow from the domains that it is in."""
    return None


class TopologyScope:
    """The running counts of domains that a rule's answers about rows follow from, and how far they were read.

    While nodes stay as they are, the answer about a row follows from what is read in its domains, and from ``besides``.
    """

    __slots__ = ("_answer", "_besides", "_counts", "_logs", "_positions", "_uses_version", "_value")

    def __init__(
        self,
        snapshot: Snapshot,
        tallies: Iterable[Tally],
        read: ReadOf,
        besides: Besides = nothing_besides,
    ) -> None:
        """As of now. tallies: by domains of a topology key; which these are may change with terms of running pods."""
        self._counts = [(tally, column) for tally in tallies if (column := tally.column) is not None]
        self._logs = [read.log(tally) for tally, _ in self._counts]
        self._value = read.value
        self._positions = [log.position for log in self._logs]
        self._besides = besides
        self._answer = besides(snapshot)
        self._uses_version = snapshot.uses_version

    def stands(self, snapshot: Snapshot) -> bool:
        """Whether the rule still reads these counts, as long as nodes stay as they are."""
        if self._uses_version != snapshot.uses_version:
            return False
        return not any([not tally.kept for tally, _ in self._counts])  # noqa: C419

    def follows(self, before: TopologyScope) -> bool:
        """Whether an earlier scope of the rule has the same counts; then this one goes on where that one was read."""
        if self._counts != before._counts:
            return False
        self._positions, self._answer = before._positions, before._answer
        return True

    def seen_by(self, row: int) -> SeenByRow:
        """Rows of the whole cluster for which that is equal have equal answers."""
        value = self._value
        found = [(tally.sums, column.codes.item(row)) for tally, column in self._counts]
        return tuple([None if code == ABSENT else value(sums.item(code)) for sums, code in found])

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
        for (_, column), log, position in zip(self._counts, self._logs, before, strict=True):
            codes = log.since(position)
            if codes is None:
                return None
            for code in dict.fromkeys(codes):
                rows = column.rows_with(code) if code != ABSENT else NO_NUMBERS
                if len(found) + len(rows) > most:
                    return None
                found.update(dict.fromkeys(rows.tolist()))
        return tuple(found)


Scope = Callable[[PodInfo, Snapshot], TopologyScope | None]
"""The scope of a rule for a pod; None: pods on any row may matter to any other."""


class ScopeReading:
    """A rule's scope as of the last time that the rule was asked; not found the first time, as most that is asked once
    about pods like one is never asked again."""

    __slots__ = ("_asked", "_flags", "_known", "_scope", "_version")

    def __init__(self, scope: Scope, flags: tuple[int, ...]) -> None:
        """flags: of Reads, what the rule reads besides pods."""
        self._scope = scope
        self._flags = flags
        self._asked = False
        self._known: TopologyScope | None = None
        self._version = -1

    def forget(self) -> None:
        """All rows have to be looked at the next time."""
        self._known = None

    def seen_by(self, row: int) -> SeenByRow:
        """See ``TopologyScope``, of a row that ``changed_rows`` named just now."""
        assert self._known is not None
        return self._known.seen_by(row)

    def changed_rows(self, pod: PodInfo, snapshot: Snapshot, log: ChangeLog, most: int) -> tuple[int, ...] | None:
        """The rows of the whole cluster of which answers may have changed since the last time; None: all rows, or more
        than ``most``."""
        known, before, self._version = self._known, self._version, log.version_of(self._flags)
        self._known = None  # until all is well: an interrupt may come
        if known is None or self._version != before:
            self._known = self._scope(pod, snapshot) if self._asked else None
            self._asked = True
            return None
        if not known.stands(snapshot):
            earlier, known = known, self._scope(pod, snapshot)
            if known is None or not known.follows(earlier):
                self._known = known
                return None
        rows = known.changed_rows(snapshot, most)
        self._known = known
        return rows
