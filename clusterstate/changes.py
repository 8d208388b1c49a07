"""Which rows changed since a reader last looked, and tables of what is remembered until then."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Generic, TypeVar


class Reads(enum.IntFlag):
    """What a verdict or score depends on. Only NODE and PODS: it is local to each row."""

    NODE = 1
    """The row's own node object."""
    PODS = 2
    """The pods on the row's own node."""
    ALL_NODES = 4
    """Any node: its labels, or that it exists."""
    ALL_PODS = 8
    """Pods anywhere."""
    SERVICES = 16
    """Services and controllers."""
    CLAIMS = 32
    """Volumes and claims."""
    NAMESPACES = 64
    """Namespace objects."""
    AFFINITY_PODS = 128
    """Pods anywhere that may matter to the affinity of others: they have terms, or affinity that cannot be read, or
    their node is not known."""
    RESOURCES = 256
    """Resource claims, slices and device classes, and pod groups."""
    STORAGE_CLASSES = 512
    """Storage classes, what they can still provision, and CSI drivers."""
    CSI_NODES = 1024
    """CSI nodes."""
    ATTACHMENTS = 2048
    """Volume attachments, and the volumes that they name."""
    PODS_VOLUMES = 4096
    """What the claims of the pods on the row's own node lead to."""
    STORAGE = CLAIMS | STORAGE_CLASSES | CSI_NODES | ATTACHMENTS
    """Everything about storage."""

    def __and__(self, other: int) -> Reads:
        return _combination(int.__and__(self, other))

    def __or__(self, other: int) -> Reads:
        return _combination(int.__or__(self, other))

    __bool__ = int.__bool__


@cache
def _combination(value: int) -> Reads:
    """Looked up: an enumeration takes several times as long to find its member."""
    return Reads(value)


LOCAL = Reads.NODE | Reads.PODS
PODS = Reads.PODS.value
"""``Reads.PODS`` as a number, which is combined and compared in a fraction of a member's time."""
BY_ROW = LOCAL | Reads.PODS_VOLUMES
"""What is noted with the row where it changed."""
PODS_ANYWHERE = Reads.ALL_PODS | Reads.AFFINITY_PODS
NOTHING, EVERYTHING = Reads(0), ~Reads(0)


K = TypeVar("K")
T = TypeVar("T")


class Log(Generic[T]):
    """An append-only log, of which a reader remembers a position; of the entries the older half is forgotten once there
    are ``longest``."""

    __slots__ = ("entries", "longest", "start")

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self.start = 0
        self.entries: list[T] = []

    @property
    def position(self) -> int:
        """The position after the newest entry."""
        return self.start + len(self.entries)

    def note(self, entry: T) -> None:
        """Adds one."""
        if len(self.entries) >= self.longest:
            self.drop_half()
        self.entries.append(entry)

    def drop_half(self) -> None:
        """Forgets the older half of a full log."""
        half = self.longest // 2
        del self.entries[:half]
        self.start += half

    def since(self, position: int) -> list[T] | None:
        """What was added after a position; None: it is too long ago."""
        return None if position < self.start else self.entries[position - self.start :]


REMEMBERED = 16_384


def remember(table: dict[K, T], key: K, value: T, most: int = 0) -> T:
    """The value, from here on in a table, which is emptied first when it has ``most`` entries; 0: REMEMBERED."""
    if len(table) >= (most or REMEMBERED):
        table.clear()
    table[key] = value
    return value


LONGEST = 1 << 16


class ChangeLog(Log[tuple[int, int]]):
    """The changes of rows: (row, the flag of BY_ROW that says what changed there).

    nodes_until: the position after the newest change of a node object. versions: how often each flag of Reads changed.
    """

    __slots__ = ("nodes_until", "versions")

    def __init__(self) -> None:
        super().__init__(LONGEST)
        self.nodes_until = 0
        self.versions = {flag.value: 0 for flag in Reads}

    def node(self, row: int) -> None:
        """A row's node object changed."""
        self._row(row, 1)
        self.versions[4] += 1
        self.nodes_until = self.position

    def pods(self, row: int) -> None:
        """The pods on a row changed."""
        self.note((row, 2))
        versions = self.versions
        versions[2] += 1
        versions[8] += 1

    def volumes(self, row: int) -> None:
        """What the claims of the pods on a row lead to changed."""
        self._row(row, Reads.PODS_VOLUMES.value)

    def _row(self, row: int, what: int) -> None:
        self.note((row, what))
        self.versions[what] += 1

    def pods_in_order(self, rows: Sequence[int]) -> None:
        """The pods on rows changed, one after the other: as ``pods`` of each."""
        entries, done = [(row, 2) for row in rows], 0
        while done < len(entries):
            if len(self.entries) >= self.longest:
                self.drop_half()
            now = entries[done : done + self.longest - len(self.entries)]
            self.entries += now
            done += len(now)
        self.versions[2] += done
        self.versions[8] += done

    def whole(self, what: Reads) -> None:
        """Something that is not bound to a row changed."""
        for flag in flags_of(what):
            self.versions[flag] += 1

    def version(self, reads: Reads) -> int:
        """Grows whenever anything in ``reads`` changes."""
        return self.version_of(flags_of(reads))

    def version_of(self, flags: tuple[int, ...]) -> int:
        """The same for flags that were taken apart before."""
        return sum(map(self.versions.__getitem__, flags))


@lru_cache
def flags_of(reads: Reads) -> tuple[int, ...]:
    """The single flags of a combination, as plain numbers."""
    return tuple(flag.value for flag in Reads if flag & reads)
