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
        self._stream = cast("BufferedIOBase", stream)
        self._left = limit("size")
        self._bytes = bytearray(2 * PIECE + 1)
        self._begin = self._end = 1  # before the text there is room for a bracket
        self._comma = 0
        self._start = self._stream.tell() if self._stream.seekable() else None
        self._lines = self._column = 0
        self.dropped = 0
        """Bytes that ``drop`` took from the text."""

    @property
    def length(self) -> int:
        """Bytes of the text."""
        return self._end - self._begin

    def text(self) -> bytes:
        """A copy of it."""
        return bytes(memoryview(self._bytes)[self._begin : self._end])

    def skip(self, size: int) -> None:
        """Leaves out so many bytes at the beginning, before any are dropped."""
        self._begin += size
        if self._start is not None:
            self._start += size

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
        begin = self._bytes.index(b"{", self._comma)
        if self._start is None:
            self._count(self._bytes, self._begin, begin)
        self.dropped += begin - self._begin
        self._begin, self._comma = begin, 0

    def keep(self) -> None:
        """Leaves the text as it was, if it is cut into objects."""
        if self._comma:
            self._bytes[self._comma : self._comma + 1] = b","
            self._comma = 0

    def place(self) -> tuple[int, int]:
        """(ends of lines in what was dropped, bytes behind the last of them).

        A stream that can be read again is read for that, once; of any other it was counted when it was dropped. Raises
        OSError.
        """
        if self._start is not None:
            end, left = self._stream.tell(), self.dropped
            self._stream.seek(self._start)
            while left and (piece := self._stream.read(min(PIECE, left))):
                self._count(piece, 0, len(piece))
                left -= len(piece)
            self._stream.seek(end)
        return self._lines, self._column

    def _count(self, text: bytes | bytearray, begin: int, end: int) -> None:
        """Adds a part of a text to what ``place`` says."""
        import numpy as np

        lines = int(np.count_nonzero(np.frombuffer(text, np.uint8, end - begin, begin) == NEWLINE))
        self._lines += lines
        self._column = end - 1 - text.rfind(b"\n", begin, end) if lines else self._column + end - begin
