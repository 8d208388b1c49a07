"""The part of a long text that is in memory while the text is read piece by piece."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, cast

from kubescheduler.sources.limits import limit

if TYPE_CHECKING:
    from io import BufferedIOBase

    from kubescheduler.sources.file_bytes import PrefixedStream

PIECE = 1 << 19
"""Bytes that are read at once: as many as stay in a processor's cache are searched and parsed faster."""

NEWLINE = 10


class OddTextError(Exception):
    """The text is not quite such as kubectl writes."""


class TextWindow:
    """What was read of a text and not yet dropped, in memory that is used again and again."""

    def __init__(self, stream: IO[bytes] | PrefixedStream) -> None:
        self._stream = cast("BufferedIOBase | PrefixedStream", stream)
        self._left = limit("size")
        self._bytes = bytearray(2 * PIECE + 1)
        self._begin = self._end = 1  # before the text there is room for a bracket
        self._comma = 0
        self.dropped = 0
        """Bytes that ``drop`` took from the text."""
        self.lines = 0
        """Ends of lines among these."""
        self.column = 0
        """Bytes among these behind the last end of a line."""

    @property
    def length(self) -> int:
        """Bytes of the text."""
        return self._end - self._begin

    def text(self) -> bytes:
        """A copy of it."""
        return bytes(memoryview(self._bytes)[self._begin : self._end])

    def skip(self, size: int) -> None:
        """Leaves out so many bytes at the beginning."""
        self._begin += size

    def more(self) -> bool:
        """Adds the next piece; False at the end. Raises OddTextError for a text that is too long, OSError."""
        with memoryview(self._bytes) as old:
            rest = self.length
            if 1 + rest + PIECE > len(old):
                self._bytes = bytearray(2 * len(old))
            with memoryview(self._bytes) as new:
                new[1 : 1 + rest] = old[self._begin : self._end]
                size = self._stream.readinto(new[1 + rest : 1 + rest + PIECE])
        self._begin, self._end = 1, 1 + rest + size
        self._left -= size
        if self._left < 0:
            raise OddTextError
        return size > 0

    def objects(self, between: bytes) -> memoryview | None:
        """All objects of the text but the last, as a JSON list; None when there is no end of one.

        between: what stands between two. The list is there until it is dropped or kept, before anything else.
        """
        cut = self._bytes.rfind(between, self._begin, self._end)
        if cut < 0:
            return None
        self._comma = cut + between.index(b",")
        self._bytes[self._begin - 1], self._bytes[self._comma] = b"[]"
        return memoryview(self._bytes)[self._begin - 1 : self._comma + 1]

    def drop(self) -> None:
        """Takes these objects from the text."""
        import numpy as np

        begin = self._bytes.index(b"{", self._comma)
        size = begin - self._begin
        lines = np.count_nonzero(np.frombuffer(self._bytes, np.uint8, size, self._begin) == NEWLINE)
        if lines:
            self.lines += int(lines)
            self.column = begin - 1 - self._bytes.rfind(b"\n", self._begin, begin)
        else:
            self.column += size
        self.dropped += size
        self._begin, self._comma = begin, 0

    def keep(self) -> None:
        """Leaves the text as it was, if it is cut into objects."""
        if self._comma:
            self._bytes[self._comma : self._comma + 1] = b","
            self._comma = 0
