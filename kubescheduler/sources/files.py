"""From names on a command line to documents: files, folders, standard input, gzip."""

from __future__ import annotations

import io
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import attrs
import msgspec

from clusterstate.errors import DecodeError, InputError
from clusterstate.manifests.documents import split, split_json
from kubescheduler.sources.limits import exceeded, limit

if TYPE_CHECKING:
    from clusterstate.manifests.documents import Item

EXTENSIONS = (".json", ".yaml", ".yml")
COMPRESSED = ".gz"
STDIN = "-"
STDIN_NAME = "standard input"

_STORED = re.compile(b'"resourceVersion"')
"""What an API server writes into every object."""
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


def read_items(paths: Sequence[str], stdin: IO[bytes] | None) -> tuple[list[Item], list[str]]:
    """Every object of every path, in order, and every fault met on the way."""
    items: list[Item] = []
    problems: list[str] = []
    twice = {path for path in paths if paths.count(path) > 1}
    problems += [f"{path}: it is given more than once; leave out all but one" for path in sorted(twice)]
    for path in dict.fromkeys(paths):
        try:
            for source, data in _contents(path, stdin, problems):
                items += items_in(source, data, problems)
        except (OSError, EOFError, ValueError, zlib.error) as error:
            problems.append(_reason(path, error))
    return items, problems


def _contents(path: str, stdin: IO[bytes] | None, problems: list[str]) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of each file that a path stands for."""
    if path == STDIN:
        if stdin is None:
            problems.append(f"{STDIN}: there is no standard input to read; name a file or a folder")
        else:
            yield STDIN_NAME, read_bytes(stdin)
    elif os.path.isdir(path):
        names = list(_folder(path))
        if not names:
            problems.append(f"{path}: no manifests in this folder; it needs {', '.join(EXTENSIONS)} files")
        for name in names:
            yield from _file(name, problems)
    else:
        yield from _file(path, problems)


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


def _file(path: str, problems: list[str]) -> Iterator[tuple[str, bytes]]:
    try:
        data = read_file(path)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        problems.append(_reason(path, error))
        return
    yield path, data


def read_file(path: str | Path) -> bytes:
    """What is in a file, unpacked if it is gzip. Raises OSError, EOFError, zlib.error, or ValueError over the limit."""
    with open(path, "rb") as file:
        return read_bytes(file)


def read_bytes(stream: IO[bytes]) -> bytes:
    """The same of a stream; it is read no further than the limit goes."""
    most = limit("size")
    data = _at_most(stream, most + 1)
    if data.startswith(_GZIP):
        data = _unpacked(data, most)
    if len(data) > most:
        raise TooLongError(exceeded("size"))
    return data.removeprefix(_BOM)


def _at_most(stream: IO[bytes], most: int) -> bytes:
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


def _length(stream: IO[bytes]) -> int:
    """The bytes of a regular file, read at once then; 0 for a stream of unknown length."""
    try:
        return os.fstat(stream.fileno()).st_size
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


def _unpacked(data: bytes, most: int) -> bytes:
    """Unpacks gzip, one byte more than the limit at most, without holding the result twice."""
    import gzip

    out = io.BytesIO()
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
        while out.tell() <= most and (part := packed.read(min(1 << 20, most + 1 - out.tell()))):
            out.write(part)
    return out.getvalue()


def items_in(source: str, data: bytes, problems: list[str]) -> list[Item]:
    """Every object of a JSON or YAML text; what is wrong with it goes to ``problems``.

    source: its name in errors. An object's notes say which keys are set twice.
    """
    try:
        return _json_or_yaml(source, data)
    except DecodeError as error:
        problems += error.problems
        return []


def _json_or_yaml(source: str, data: bytes) -> list[Item]:
    """JSON when the name or the first character says so; a document that is no JSON may still be YAML."""
    if not data or data.isspace():
        raise DecodeError(f"{source}: no objects in it: it is empty")
    named_json = source.removesuffix(COMPRESSED).endswith(".json")
    if not named_json and data.lstrip()[:1] not in (b"{", b"["):
        return _yaml(source, data)
    try:
        return _with_notes(source, data, split_json(source, data))
    except DecodeError:
        if named_json:
            raise
        try:
            return _yaml(source, data)
        except DecodeError:
            pass
        raise


def _with_notes(source: str, data: bytes, items: list[Item]) -> list[Item]:
    """The objects of a JSON text with a note for every key that is set twice; a server's JSON repeats none."""
    if items and not isinstance(items[0].content, msgspec.Raw):
        return [_noted(source, items[0], data, ""), *items[1:]]
    return [
        _noted(source, item, item.content, item.place) if isinstance(item.content, msgspec.Raw) else item
        for item in items
    ]


def _noted(source: str, item: Item, text: bytes | msgspec.Raw, place: str) -> Item:
    """place: of the text in its file. The text of a server is searched where it is, without a copy."""
    if _STORED.search(text):
        return item
    from kubescheduler.sources.duplicate_keys import json_duplicates

    repeats = json_duplicates(bytes(text), place)
    return attrs.evolve(item, notes=_notes(source, repeats)) if repeats else item


def _notes(source: str, repeats: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{source}: {each}; the last one counts" for each in repeats)


def _yaml(source: str, data: bytes) -> list[Item]:
    from kubescheduler.sources.yaml_stream import parse_yaml

    notes: list[str] = []
    documents = parse_yaml(source, data, notes=notes)
    if not documents:
        raise DecodeError(f"{source}: no objects in it")
    several = len(documents) > 1
    items: list[Item] = []
    problems: list[str] = []
    for index, document in enumerate(documents):
        try:
            items += split(source, document, f"document {index + 1}" if several else "")
        except DecodeError as error:
            problems += error.problems
    if problems:
        raise DecodeError(problems)
    return [attrs.evolve(items[0], notes=tuple(notes)), *items[1:]] if notes and items else items
