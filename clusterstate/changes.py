"""Which rows changed since a reader last looked."""

from __future__ import annotations

import enum

import attrs


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
    STORAGE = 32
    """Volumes, claims, storage classes, CSI nodes and drivers."""
    NAMESPACES = 64
    """Namespace objects."""


LOCAL = Reads.NODE | Reads.PODS
LONGEST = 1 << 16


@attrs.define
class ChangeLog:
    """An append-only log of (row, what); a position in it is what a reader remembers.

    Old entries are forgotten: ``rows_since`` then answers None, and the reader looks at every row.
    """

    start: int = 0
    entries: list[tuple[int, int]] = attrs.field(factory=list)
    versions: dict[int, int] = attrs.field(factory=lambda: {flag.value: 0 for flag in Reads})

    @property
    def position(self) -> int:
        return self.start + len(self.entries)

    def row(self, row: int, what: Reads) -> None:
        """A row's node object or its pods changed."""
        if len(self.entries) >= LONGEST:
            half = LONGEST // 2
            del self.entries[:half]
            self.start += half
        self.entries.append((row, what))
        self.versions[Reads.ALL_NODES if what is Reads.NODE else Reads.ALL_PODS] += 1
        self.versions[int(what)] += 1

    def whole(self, what: Reads) -> None:
        """Something that is not bound to a row changed."""
        self.versions[int(what)] += 1

    def version(self, reads: Reads) -> int:
        """Changes whenever anything in ``reads`` does."""
        return sum(version for flag, version in self.versions.items() if flag & reads)

    def rows_since(self, position: int, reads: Reads) -> list[int] | None:
        """The distinct rows whose node (NODE) or pods (PODS) changed after ``position``; None: too long ago."""
        if position < self.start:
            return None
        if position == self.position:
            return []
        return list(dict.fromkeys(row for row, what in self.entries[position - self.start :] if what & reads))
