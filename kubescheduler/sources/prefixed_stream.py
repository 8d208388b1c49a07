"""A stream that some bytes were read of, with these before it again."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from io import BufferedIOBase


class PrefixedStream:
    """First the prefix, then what is left of the stream; for streams like standard input, which go forward only."""

    def __init__(self, prefix: bytes, stream: IO[bytes] | PrefixedStream) -> None:
        self._prefix = prefix
        self._stream = cast("BufferedIOBase | PrefixedStream", stream)

    def read(self, size: int) -> bytes:
        """So many bytes, fewer only at the end. Raises OSError."""
        if not self._prefix:
            return self._stream.read(size)
        taken, self._prefix = self._prefix[:size], self._prefix[size:]
        return taken if len(taken) == size else taken + self._stream.read(size - len(taken))

    def readinto(self, buffer: memoryview) -> int:
        """Fills the buffer, less of it only at the end; returns how many bytes of it. Raises OSError."""
        if not self._prefix:
            return self._stream.readinto(buffer)
        piece = self.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)
