"""A stream that can be read a second time, as standard input cannot."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from io import BufferedIOBase

IN_MEMORY = 1 << 22
"""Bytes that are kept in memory; the rest goes to a temporary file, or to memory where there can be none."""


class ReplayedStream:
    """What is read of a stream can be read again, once, from its beginning; to read that again, replay the replay."""

    def __init__(self, stream: IO[bytes] | ReplayedStream) -> None:
        self._stream = cast("BufferedIOBase | ReplayedStream", stream)
        self._kept: list[bytes | int] = []  # a piece, or its length in the file
        self._size = 0
        self._file: IO[bytes] | None = None
        self._again: list[bytes | int] | None = None
        self._rest = b""

    def read(self, size: int) -> bytes:
        """So many bytes, fewer only at the end. Raises OSError."""
        if self._again is None:
            piece = self._stream.read(size)
            self._keep(piece)
            return piece
        if not self._again and not self._rest:
            return self._stream.read(size)
        out = bytearray(self._rest)
        self._rest = b""
        while len(out) < size and (piece := self._next()):
            out += piece
        if len(out) < size:
            out += self._stream.read(size - len(out))
        self._rest = bytes(out[size:])
        return bytes(out[:size])

    def readinto(self, buffer: memoryview) -> int:
        """Fills the buffer, less of it only at the end; how many bytes of it. Raises OSError."""
        if self._again is None:
            size = self._stream.readinto(buffer)
            self._keep(buffer[:size])
            return size
        piece = self.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def rewind(self) -> ReplayedStream:
        """The same from the beginning, the first time only: from now on nothing is kept."""
        assert self._again is None, "this was read again already; make a ReplayedStream of it to read it once more"
        if self._file is not None:
            self._file.seek(0)
        self._again = self._kept[::-1]
        return self

    def close(self) -> None:
        """Lets go of what was kept."""
        self._kept, self._again = [], []
        if self._file is not None:
            self._file.close()

    def _next(self) -> bytes:
        if not self._again:
            return b""
        kept = self._again.pop()
        if isinstance(kept, bytes):
            return kept
        assert self._file is not None
        return self._file.read(kept)

    def _keep(self, piece: bytes | memoryview) -> None:
        if self._size + len(piece) <= IN_MEMORY or not self._written(piece):
            self._kept.append(bytes(piece))
        else:
            self._kept.append(len(piece))
        self._size += len(piece)

    def _written(self, piece: bytes | memoryview) -> bool:
        """Whether a piece is in the file now; without one, or when it is full, it stays in memory."""
        import tempfile

        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
            place = self._file.tell()
            if self._file.write(piece) == len(piece):
                return True
            self._file.seek(place)
        except OSError:
            return False
        return False
