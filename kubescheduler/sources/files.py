"""From names on a command line to documents: files, folders, standard input, gzip."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from clusterstate.errors import InputError
from kubescheduler.sources.json_stream import streamed_items
from kubescheduler.sources.limits import exceeded, limit
from kubescheduler.sources.manifest_texts import COMPRESSED, items_in
from kubescheduler.sources.replayed import ReplayedStream

if TYPE_CHECKING:
    from clusterstate.manifests.documents import Item

EXTENSIONS = (".json", ".yaml", ".yml")
STDIN = "-"
STDIN_NAME = "standard input"

Readable = IO[bytes] | ReplayedStream

_GZIP = b"\x1f\x8b"
_PIECE = 1 << 24
"""Bytes that are read at once."""
_BOM = b"\xef\xbb\xbf"


def is_special(path: str | Path) -> bool:
    """Whether there is a pipe, a device or a socket; it cannot be read twice, and perhaps has no end."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def check_place(option: str, target: Path) -> None:
    """Raises InputError when no file can be written there. option: as it was given, for the text."""
    if target.is_dir():
        raise InputError(f"{option}: this is a folder; name a file in it")
    if not target.parent.is_dir():
        raise InputError(f"{option}: there is no folder {target.parent}; make it first")


def read_items(paths: Sequence[str], stdin: Readable | None, *, sparse: bool = False) -> tuple[list[Item], list[str]]:
    """Every object of every path, in order, and every fault met on the way.

    sparse: running pods that a server has stored may come without what decoding does not read.
    """
    items: list[Item] = []
    problems: list[str] = []
    twice = {path for path in paths if paths.count(path) > 1}
    problems += [f"{path}: it is given more than once; leave out all but one" for path in sorted(twice)]
    for path in dict.fromkeys(paths):
        try:
            for source, data in _contents(path, stdin, problems, sparse=sparse):
                items += data if isinstance(data, list) else items_in(source, data, problems)
        except (OSError, EOFError, ValueError, zlib.error) as error:
            problems.append(_reason(STDIN_NAME if path == STDIN else path, error))
    return items, problems


def _contents(
    path: str, stdin: Readable | None, problems: list[str], *, sparse: bool
) -> Iterator[tuple[str, bytes | list[Item]]]:
    """(name, bytes) of each file that a path stands for; in place of the bytes its objects, where these are read so."""
    if path == STDIN:
        if stdin is None:
            problems.append(f"{STDIN}: there is no standard input to read; name a file or a folder")
        else:
            yield STDIN_NAME, _of_standard_input(stdin, sparse=sparse)
    elif os.path.isdir(path):
        names = list(_folder(path))
        if not names:
            problems.append(f"{path}: no manifests in this folder; it needs {', '.join(EXTENSIONS)} files")
        for name in names:
            yield from _file(name, problems, sparse=sparse)
    else:
        yield from _file(path, problems, sparse=sparse)


def _folder(path: str) -> Iterator[str]:
    """The manifests below a folder, sorted; hidden files and folders are passed over."""
    found = []
    for folder, below, names in os.walk(path):
        below[:] = [name for name in below if not name.startswith(".")]
        for name in names:
            plain = name.removesuffix(COMPRESSED)
            if plain.endswith(EXTENSIONS) and not name.startswith("."):
                found.append(os.path.join(folder, name))
    return iter(sorted(found))


def _of_standard_input(stdin: Readable, *, sparse: bool) -> bytes | list[Item]:
    if not sparse:
        return read_bytes(stdin)
    replayed = ReplayedStream(stdin)
    try:
        found = streamed_items(STDIN_NAME, replayed)
        return read_bytes(replayed.rewind()) if found is None else found
    finally:
        replayed.close()


def _file(path: str, problems: list[str], *, sparse: bool) -> Iterator[tuple[str, bytes | list[Item]]]:
    try:
        data = (_streamed(path) if sparse else None) or read_file(path)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        problems.append(_reason(path, error))
        return
    yield path, data


def _streamed(path: str) -> list[Item] | None:
    """The objects of a file that can be read twice, if it holds a list of stored ones."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return streamed_items(path, file)


def read_file(path: str | Path, *, whole: bool = True) -> bytes:
    """What is in a file, unpacked if it is gzip. Raises OSError, EOFError, zlib.error, or ValueError over the limit.

    whole: that the end of a packed file is missing is an error; else what comes before it is read.
    """
    with open(path, "rb") as file:
        return read_bytes(file, whole=whole)


def read_bytes(stream: Readable, *, whole: bool = True) -> bytes:
    """The same of a stream; it is read no further than the limit goes."""
    most = limit("size")
    data = _at_most(stream, most + 1)
    if data.startswith(_GZIP):
        data = _unpacked(data, most, whole=whole)
    if len(data) > most:
        raise TooLongError(exceeded("size"))
    return data.removeprefix(_BOM)


def _at_most(stream: Readable, most: int) -> bytes:
    """So many bytes of a stream or fewer, with memory for those there are, not for those there might be.

    Raises TooLongError for what is long and no text.
    """
    piece = min(most, max(_PIECE, _length(stream) + 1))
    first = stream.read(piece)
    if len(first) < min(most, _PIECE):
        return first
    if b"\0" in first[:_PIECE] and not first.startswith(_GZIP):  # as from a device without an end
        raise TooLongError("this is no text: it has NUL characters")
    if len(first) < piece:
        return first
    out = io.BytesIO(first)
    out.seek(0, io.SEEK_END)
    while out.tell() < most and (part := stream.read(min(_PIECE, most - out.tell()))):
        out.write(part)
    return out.getvalue()


def _length(stream: Readable) -> int:
    """The bytes of a regular file, read at once then; 0 for a stream of unknown length."""
    try:
        return 0 if isinstance(stream, ReplayedStream) else os.fstat(stream.fileno()).st_size
    except (OSError, ValueError, AttributeError):
        return 0


class TooLongError(ValueError):
    """A file is longer than the limit, or has no end."""


def _reason(path: str, error: Exception) -> str:
    if isinstance(error, TooLongError):
        return f"{path}: {error}"
    if isinstance(error, ValueError):
        return f"{path}: this is no name of a file"
    if isinstance(error, FileNotFoundError):
        return f"{path}: no such file or folder; check the path, or use - for standard input"
    if isinstance(error, OSError) and error.strerror:
        return f"{path}: cannot be read: {error.strerror}"
    return f"{path}: cannot be unpacked: {error}"


def _unpacked(data: bytes, most: int, *, whole: bool) -> bytes:
    """Unpacks gzip, one byte more than the limit at most, without holding the result twice."""
    import gzip

    out = io.BytesIO()
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed, suppress(*([] if whole else [EOFError])):
        while out.tell() <= most and (part := packed.read1(min(1 << 20, most + 1 - out.tell()))):
            out.write(part)
    return out.getvalue()
