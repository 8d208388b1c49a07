"""From names on a command line, or from texts, to the objects in them: files, folders, standard input; JSON or YAML.

First what is in a file or a stream, unpacked, up to the limit, and why it cannot be read; files are written whole or
not at all.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import msgspec

from clusterstate.errors import DecodeError, InputError
from clusterstate.manifests.decode import Item, split, split_json, was_stored
from kubescheduler.sources.json_stream import PrefixedStream, streamed_items
from kubescheduler.sources.untrusted import TooLongError, check_values, exceeded, limit

UNREADABLE = (OSError, EOFError, ValueError, zlib.error)
"""What reading raises."""

_GZIP = b"\x1f\x8b"
_PIECE = 1 << 24
"""Bytes that are read at once."""
_KEPT = 1 << 29
"""Bytes that are unpacked before it is looked whether there is an end within the limit."""
_BOM = b"\xef\xbb\xbf"


Readable = IO[bytes] | PrefixedStream


def why_unreadable(error: Exception) -> str:
    """What to say of a file or stream after its name. error: one of UNREADABLE."""
    if isinstance(error, TooLongError):
        return str(error)
    if isinstance(error, FileNotFoundError):
        return "no such file or folder; check the path, or use - for standard input"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    if isinstance(error, ValueError):
        return "this is no name of a file"
    return f"cannot be unpacked: {error}"


def read_file(path: str | Path, *, whole: bool = True) -> bytes:
    """What is in a file, unpacked if it is gzip. Raises OSError, EOFError, zlib.error, or ValueError over the limit.

    whole: that the end of a packed file is missing is an error; else what comes before it is read.
    """
    with open(path, "rb") as file:
        return read_bytes(file, whole=whole)


def read_bytes(stream: Readable, *, whole: bool = True, left_out: int = 0) -> bytes:
    """The same of a stream; it is read no further than the limit goes.

    left_out: bytes that count towards the limit although they are not in the stream.
    """
    most = limit("size") - left_out
    if _length(stream) > most:
        raise TooLongError(exceeded("size"))
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


def text_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines of a stream, each with its end. Raises TooLongError for one without an end, or that is no text."""
    most = limit("size") // 8  # what is read of a line takes several times its size
    while line := stream.readline(_PIECE):
        if not line.endswith(b"\n") and len(line) == _PIECE:
            if b"\0" in line:
                raise TooLongError("this is no text: it has NUL characters")
            line += stream.readline(most)
            if len(line) > most:
                raise TooLongError(
                    f"a line of more than {most:,} bytes; to allow more: kubescheduler --max size=NUMBER …"
                )
        yield line


def _length(stream: Readable) -> int:
    """The bytes of a regular file, read at once then; 0 for a stream of unknown length."""
    try:
        return 0 if isinstance(stream, PrefixedStream) else os.fstat(stream.fileno()).st_size
    except (OSError, ValueError, AttributeError):
        return 0


def _unpacked(data: bytes, most: int, *, whole: bool) -> bytes:
    """Unpacks gzip, without holding the result twice. Raises TooLongError before much more than _KEPT is held."""
    import gzip

    out = io.BytesIO()
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed, suppress(*([] if whole else [EOFError])):
        while part := packed.read1(1 << 20):
            out.write(part)
            if out.tell() > most or (out.tell() - len(part) <= _KEPT < out.tell() and _goes_beyond(data, most)):
                raise TooLongError(exceeded("size"))
    return out.getvalue()


def _goes_beyond(data: bytes, most: int) -> bool:
    """Whether gzip holds more bytes than that; none are kept."""
    import gzip

    size = 0
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed, suppress(EOFError, OSError, zlib.error):
        while size <= most and (part := packed.read1(1 << 20)):
            size += len(part)
    return size > most


PART = ".part"
"""Goes behind the name of a file that is being written; with the process's number before it."""


@contextmanager
def whole_file(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write to; it takes the place of ``path`` when the block ends well, and is gone when it does not.

    A link stays one, and what it leads to is replaced. Raises OSError when it cannot be written, or is no regular file.
    """
    try:
        target = Path(path).resolve()
    except RuntimeError as error:  # a link that leads to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error
    mode = _mode(target)
    part = target.with_name(f"{target.name[:200]}.{os.getpid()}{PART}")
    try:
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else 0o600)
        with open(handle, "wb") as file:
            if mode is not None:
                os.fchmod(handle, mode)
            yield file
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: str | Path, text: str) -> None:
    """Writes a text as ``whole_file`` does; to a device or a pipe it goes as it is. Raises OSError."""
    if Path(path).exists() and not Path(path).is_file():
        Path(path).write_text(text, encoding="utf-8", newline="")
        return
    with whole_file(path) as file:
        file.write(text.encode("utf-8", "replace"))


def _mode(target: Path) -> int | None:
    """The permissions of what is there; None where nothing is."""
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError(0, "it is no regular file")
    return stat.S_IMODE(found.st_mode)


COMPRESSED = ".gz"

MANY = 1000
"""Objects in YAML that take long enough to say that JSON is faster."""


def items_in(source: str, data: bytes, problems: list[str]) -> list[Item]:
    """Every object of a JSON or YAML text; what is wrong with it goes to ``problems``.

    source: its name in errors. An object's notes say which keys are set twice.
    """
    try:
        return _json_or_yaml(source, data, problems)
    except DecodeError as error:
        problems += error.problems
        return []


def _json_or_yaml(source: str, data: bytes, faults: list[str]) -> list[Item]:
    """JSON when the name or the first character says so; a document that is no JSON may still be YAML.

    faults: see ``split``.
    """
    try:
        check_values(data)
    except TooLongError as error:
        raise DecodeError(f"{source}: {error}") from None
    if not data or data.isspace():
        raise DecodeError(f"{source}: no objects in it: it is empty")
    named_json = source.removesuffix(COMPRESSED).endswith(".json")
    if not named_json and data.lstrip()[:1] not in (b"{", b"["):
        return _yaml(source, data, faults)
    try:
        return _with_notes(source, data, split_json(source, data, faults))
    except DecodeError:
        if named_json:
            raise
        try:
            return _yaml(source, data, faults)
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
    if was_stored(text):
        return item
    from kubescheduler.sources.json_stream import json_duplicates

    repeats = json_duplicates(bytes(text), place)
    return msgspec.structs.replace(item, notes=_notes(source, repeats)) if repeats else item


def _notes(source: str, repeats: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{source}: {each}; the last one counts" for each in repeats)


def _yaml(source: str, data: bytes, faults: list[str]) -> list[Item]:
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
            items += split(source, document, problems, f"document {index + 1}" if several else "")
        except DecodeError as error:
            problems += error.problems
    if problems and not items:
        raise DecodeError(problems)
    faults += problems
    if len(items) >= MANY:
        notes.append(
            f"{source}: {len(items)} objects in YAML; JSON, as of kubectl get -o json, is read ten times faster"
        )
    return [msgspec.structs.replace(items[0], notes=tuple(notes)), *items[1:]] if notes and items else items


EXTENSIONS = (".json", ".yaml", ".yml")
STDIN = "-"
STDIN_NAME = "standard input"


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
        if path == STDIN:
            items += _of_standard_input(stdin, problems, sparse=sparse)
        else:
            for name in _named(path, problems):
                items += _of_file(name, problems, sparse=sparse)
    return items, problems


def _named(path: str, problems: list[str]) -> list[str]:
    """The files that a path stands for."""
    if not os.path.isdir(path):
        return [path]
    names = _folder(path)
    if not names:
        problems.append(f"{path}: no manifests in this folder; it needs {', '.join(EXTENSIONS)} files")
    return names


def _folder(path: str) -> list[str]:
    """The manifests below a folder, sorted; hidden files and folders are passed over."""
    found = []
    for folder, below, names in os.walk(path):
        below[:] = [name for name in below if not name.startswith(".")]
        for name in names:
            plain = name.removesuffix(COMPRESSED)
            if plain.endswith(EXTENSIONS) and not name.startswith("."):
                found.append(os.path.join(folder, name))
    return sorted(found)


def _of_standard_input(stdin: Readable | None, problems: list[str], *, sparse: bool) -> list[Item]:
    if stdin is None:
        problems.append(f"{STDIN}: there is no standard input to read; name a file or a folder")
        return []
    return _of_stream(STDIN_NAME, stdin, problems, sparse=sparse)


def _of_file(path: str, problems: list[str], *, sparse: bool) -> list[Item]:
    try:
        with open(path, "rb") as file:
            return _of_stream(path, file, problems, sparse=sparse)
    except (OSError, ValueError) as error:
        problems.append(f"{path}: {why_unreadable(error)}")
        return []


def _of_stream(source: str, stream: Readable, problems: list[str], *, sparse: bool) -> list[Item]:
    """The objects of a stream; nothing where it has a fault."""
    try:
        if not sparse:
            return items_in(source, read_bytes(stream), problems)
        listed = streamed_items(source, stream)
        if listed.rest is None:
            return listed.items
        text = read_bytes(PrefixedStream(listed.rest, stream), left_out=listed.shorter)
        return listed.restored(items_in(source, text, problems))
    except DecodeError as error:
        problems += error.problems
    except UNREADABLE as error:
        problems.append(f"{source}: {why_unreadable(error)}")
    return []
