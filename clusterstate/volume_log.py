"""Which persistent volumes changed since a reader last looked, and in which order they came."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

MOST_REMEMBERED = 1 << 14


class VolumeLog(msgspec.Struct):
    """An append-only log of names; a position in it is what a reader remembers."""

    arrivals: dict[str, int] = msgspec.field(default_factory=dict)
    """Volume → a number that grows in the order in which the volumes came; replacing one keeps its number."""
    _start: int = 0
    _names: list[str] = msgspec.field(default_factory=list)
    _arrived: int = 0

    @property
    def position(self) -> int:
        """The position after the newest entry."""
        return self._start + len(self._names)

    def note(self, name: str, *, there: bool) -> None:
        """A volume was added or replaced, or (not there) removed."""
        if not there:
            self.arrivals.pop(name, None)
        elif name not in self.arrivals:
            self.arrivals[name] = self._arrived
            self._arrived += 1
        if len(self._names) >= MOST_REMEMBERED:
            half = MOST_REMEMBERED // 2
            del self._names[:half]
            self._start += half
        self._names.append(name)

    def since(self, position: int) -> Collection[str] | None:
        """The volumes that changed after ``position``, each once; None: too long ago."""
        return None if position < self._start else dict.fromkeys(self._names[position - self._start :])
