"""JSON as clusters are given in: keys that a document sets twice, of which parsers keep the last and say nothing, and a
list of objects read piece by piece, so that what is decoded no longer needs the text that it was in.

Only what kubectl and API servers write is read so: objects that a server has stored, one behind another in ``items``.
From where the text is different in anything it is left to the reader of whole texts, which says what is wrong with it.

Nothing is guessed: each piece between two separators has to be one JSON value, and the rest of the text with one of
them in the list has to be a JSON document, so the whole is one, and its list has these objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, cast

import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.decode import Envelope, Item, Manifest, header_of, list_kind, opening_of, was_stored
from clusterstate.manifests.fields import NOTHING, step
from clusterstate.manifests.quick_reading import SettledPods, is_pod
from kubescheduler.sources.untrusted import limit

if TYPE_CHECKING:
    from io import BufferedIOBase


Path = tuple[str | int, ...]
"""The way from a document to a value: keys and list positions."""


class _Pairs(msgspec.Struct, frozen=True):
    """A JSON object with all its keys, repeated ones too."""

    pairs: Sequence[tuple[str, Any]]


def duplicate_keys(text: str | bytes, file_format: str) -> list[str]:
    """``path: set twice`` for every key that is, with the lines where those are known.

    Of YAML it is the first document that is looked at. The text is known to be valid JSON, YAML or TOML.
    """
    if file_format == "JSON":
        return _shown(((path, "") for path in _in_json(text)), "")
    if file_format == "YAML":
        return next(iter(yaml_duplicates(text, several=False)), [])
    return []  # TOML's parser refuses them


def json_duplicates(text: str | bytes, place: str) -> list[str]:
    """The same of a JSON value that is at ``place`` in its file."""
    return _shown(((path, "") for path in _in_json(text)), place)


def yaml_duplicates(text: str | bytes, *, several: bool) -> Iterator[list[str]]:
    """The same of each document of a YAML stream that is known to be valid, or of its first one."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for node in yaml.compose_all(text, Loader=loader):
        yield _shown(_in_node(node, (), set()), "")
        if not several:
            return


def _shown(found: Iterable[tuple[Path, str]], place: str) -> list[str]:
    return [f"{_path(path, place)}: set twice{where}" for path, where in found]


def _path(path: Path, place: str) -> str:
    shown = "".join(f"[{key}]" if isinstance(key, int) else step(key) for key in path)
    return place + shown if place else shown.removeprefix(".")


def _in_json(text: str | bytes) -> Iterator[Path]:
    """Every repeated key. Objects are looked into only when one of them repeats a key."""
    if _is_plain(text):
        return iter(())
    repeats: list[bool] = []

    def counted(pairs: list[tuple[str, Any]]) -> None:
        if len({key for key, _ in pairs}) < len(pairs):
            repeats.append(True)

    json.loads(text, object_pairs_hook=counted)
    return _in_pairs(json.loads(text, object_pairs_hook=_Pairs), ()) if repeats else iter(())


def _is_plain(text: str | bytes) -> bool:
    """Whether a text is the very one, but for blanks, that is written of its values: then no key is in it twice."""
    try:
        return msgspec.json.encode(msgspec.json.decode(text)) == msgspec.json.format(_bytes(text), indent=-1)
    except (ValueError, OverflowError, RecursionError):
        return False


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _in_pairs(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, item in value.pairs:
            if key in seen:
                yield (*path, key)
            seen.add(key)
            yield from _in_pairs(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _in_pairs(item, (*path, at))


def _in_node(node: Any, path: Path, seen: set[int]) -> Iterator[tuple[Path, str]]:
    """Every repeated key, in a value that several aliases refer to once."""
    import yaml

    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, item in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in lines and key.tag != "tag:yaml.org,2002:merge":
                where = f"lines {lines[name]} and {line}" if line != lines[name] else f"line {line}"
                yield (*path, name), f", in {where}"
            lines[name] = line
            yield from _in_node(item, (*path, name), seen)
    elif isinstance(node, yaml.SequenceNode):
        for at, item in enumerate(node.value):
            yield from _in_node(item, (*path, at), seen)


PIECE = 1 << 19
"""Bytes that are read at once: as many as stay in a processor's cache are searched and parsed faster."""

NEWLINE = 10


class OddTextError(Exception):
    """The text is not quite such as kubectl writes."""


class PrefixedStream:
    """A stream with some bytes before it: those that were read of it, as standard input goes forward only."""

    def __init__(self, prefix: bytes, stream: IO[bytes] | PrefixedStream) -> None:
        self._prefix = prefix
        self._stream = cast("BufferedIOBase | PrefixedStream", stream)

    def seekable(self) -> bool:
        """That it cannot be read again."""
        return False

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


STAND_IN = b'{"resourceVersion":0}'
"""Stands in a text for an object that was read: as short as one that a server has stored can be."""

_READ_STAND_INS = (msgspec.Raw(STAND_IN), msgspec.json.decode(STAND_IN))
"""What a reader makes of it."""


class ListedItems(msgspec.Struct, frozen=True):
    """What was read of a stream piece by piece."""

    items: list[Item]
    """The objects, in order."""
    rest: bytes | None = None
    """None when these are all, and the stream is at its end. Else the text up to where the stream is, with stand-ins in
    place of ``items``."""
    shorter: int = 0
    """Bytes by which ``rest`` is shorter than what was read."""
    given: tuple[str, str] | None = None
    """Kind and version that the list gave to objects that do not have their own; None when all have."""

    def restored(self, read: list[Item]) -> list[Item]:
        """The objects of the whole text. read: those of ``rest`` and what follows it in the stream.

        Raises DecodeError when the list says at its end that its objects are of another kind.
        """
        count = len(self.items)
        if count > len(read) or any(item.content not in _READ_STAND_INS for item in read[:count]):
            return read  # the text is faulty, or has a second list in place of the first
        if self.given is not None and (read[0].kind, read[0].api_version) != self.given:
            raise DecodeError(f"{read[0].source}: the list says twice of which kind it is, and differently")
        return [*map(_in_place_of, read, self.items), *read[count:]]


def _in_place_of(stand_in: Item, item: Item) -> Item:
    return msgspec.structs.replace(item, place=stand_in.place, notes=stand_in.notes)


def with_stand_ins(items: list[Item], head: bytes, window: TextWindow, given: tuple[str, str] | None) -> ListedItems:
    """``items`` and the text of which they were dropped. head: what stood before them."""
    before = (STAND_IN + b",") * len(items)
    lines, column = window.place()
    before += b"\n" * lines + b" " * column if lines else b" " * (column - len(before))
    return ListedItems(items, head + before + window.text(), window.dropped - len(before), given)


LONGEST = 1 << 26
"""Bytes of the longest object that is read so."""

_HEAD = re.compile(
    rb'\s*\{(?:\s*"(?:apiVersion|kind)":\s*"[\w./-]*",|\s*"metadata":\s*\{[^{}\[\]]*\},)*\s*"items":\s*\[(\s*)(?=\{)'
)
"""The beginning of a list, up to its first object; the group is what stands before each."""

_COMPACT = re.compile(rb'\{"(?:metadata": ?\{"name": ?"|apiVersion": ?"v1", ?"kind": ?")')
"""The beginning of an object that stands in one line with the others."""

FAULTS = (OddTextError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What is raised where a text is unusual."""


def streamed_items(source: str, stream: IO[bytes] | PrefixedStream) -> ListedItems:
    """The objects of a list of stored objects, up to where anything about the text is unusual.

    Running pods come as what decoding reads of them (``ReadPod``), without their text: nobody may want their manifests,
    or have the fields of stored objects judged. Raises OSError when the stream cannot be read.
    """
    return _Stream(source, TextWindow(stream)).read()


class _Stream:
    """One pass over a list."""

    def __init__(self, source: str, window: TextWindow) -> None:
        self._source = source
        self._window = window
        self._pods = SettledPods()
        self._head = b""
        self._named = Envelope()
        self._given: tuple[str, str] | None = None
        self._found: list[Item] = []

    def read(self) -> ListedItems:
        """Every object, in order, or those before the text becomes unusual."""
        window = self._window
        try:
            window.more()
            between = self._begin()
            while window.more():
                texts = window.objects(between)
                if texts is not None:
                    self._found += self._items(texts)
                    window.drop()
                elif window.length > LONGEST:
                    raise OddTextError
            self._found += self._last_items()
        except FAULTS:
            window.keep()
            return with_stand_ins(self._found, self._head, window, self._given)
        return ListedItems(self._found)

    def _begin(self) -> bytes:
        """Takes the head of the list from the text; returns what stands between two objects."""
        match = _HEAD.match(self._window.text())
        if match is None:
            raise OddTextError
        self._head = match[0]
        self._window.skip(len(match[0]))
        self._named = _envelope(match[0] + b"]}")
        return _separator(match[1], self._window.text())

    def _last_items(self) -> list[Item]:
        """The last objects, with what stands around all of them checked."""
        text = self._window.text()
        envelope = _envelope(self._head + text)
        last = envelope.items or []
        of = list_kind(envelope.kind)
        if not last or not text.startswith(bytes(last[0])) or of is None:
            raise OddTextError
        found = [self._item(raw, number) for number, raw in enumerate(last, len(self._found))]
        if self._given is not None and (of, envelope.apiVersion) != self._given:
            raise OddTextError
        return found

    def _items(self, texts: memoryview) -> list[Item]:
        """The objects of a JSON list, which follow those there are."""
        first, number = opening_of(texts[1:]), len(self._found)
        pods = self._pods.read_all(texts) if first is None or first.kind == "Pod" else None
        if pods is None:
            raw_items = msgspec.json.decode(texts, type=list[msgspec.Raw])
            return [self._item(raw, place) for place, raw in enumerate(raw_items, number)]
        source, nothing = self._source, NOTHING
        return [
            Item(source, nothing, f"items[{place}]", pod.kind, pod.version, (), pod)
            for place, pod in enumerate(pods, number)
        ]

    def _item(self, text: msgspec.Raw, place: int) -> Item:
        """One object. Raises OddTextError for one that no server has stored."""
        kind, version = self._kind(text)
        pod = self._pods.read(text) if is_pod(kind, version) else None
        if pod is None and not was_stored(text):
            raise OddTextError
        content: Manifest | msgspec.Raw = text.copy() if pod is None else NOTHING
        return Item(self._source, content, f"items[{place}]", kind, version, read=pod)

    def _kind(self, text: msgspec.Raw) -> tuple[str, str]:
        """Kind and version of an object, its own or those that its list says."""
        header = header_of(text)
        kind, version = header.kind, header.apiVersion
        of = list_kind(self._named.kind)
        if kind is None and version is None and of and isinstance(self._named.apiVersion, str):
            self._given = of, self._named.apiVersion
            return self._given
        if not isinstance(kind, str) or not isinstance(version, str) or list_kind(kind) is not None:
            raise OddTextError
        return kind, version


def _envelope(text: bytes) -> Envelope:
    return msgspec.json.decode(text, type=Envelope)


def _separator(before: bytes, text: bytes) -> bytes:
    """What stands between two objects: the end of one, and as much of the other as the ends of its parts do not have.

    Within an object that is written on many lines, each line is further to the right.
    """
    if b"\n" in before:
        return b"%b},%b{" % (before, before)
    compact = _COMPACT.match(text)
    if compact is None:
        raise OddTextError
    return (b"}, " if b" " in compact[0] else b"},") + compact[0]
