"""A list of objects in JSON, read piece by piece: what is decoded no longer needs the text that it was in.

Only what kubectl and API servers write is read so: objects that a server has stored, one behind another in ``items``.
Whatever is different in anything is left to the reader that holds the whole text, and says what is wrong with it.

Nothing is guessed: each piece between two separators has to be one JSON value, and the rest of the text with one of
them in the list has to be a JSON document, so the whole is one, and its list has these objects.
"""

from __future__ import annotations

import re
from io import BufferedIOBase
from typing import TYPE_CHECKING

import msgspec

from clusterstate.manifests.documents import Envelope, Item, header_of, list_kind, opening_of, was_stored
from clusterstate.manifests.fields import NOTHING
from clusterstate.manifests.settled_pods import SettledPods, is_pod
from kubescheduler.sources.limits import limit
from kubescheduler.sources.replayed import ReplayedStream

if TYPE_CHECKING:
    from clusterstate.manifests.documents import Manifest

PIECE = 1 << 19
"""Bytes that are read at once: as many as stay in a processor's cache are searched and parsed faster."""

LONGEST = 1 << 26
"""Bytes of the longest object that is read so."""

_HEAD = re.compile(
    rb'\s*\{(?:\s*"(?:apiVersion|kind)":\s*"[\w./-]*",|\s*"metadata":\s*\{[^{}\[\]]*\},)*\s*"items":\s*\[(\s*)(?=\{)'
)
"""The beginning of a list, up to its first object; the group is what stands before each."""

_COMPACT = re.compile(rb'\{"(?:metadata": ?\{"name": ?"|apiVersion": ?"v1", ?"kind": ?")')
"""The beginning of an object that stands in one line with the others."""


Rereadable = BufferedIOBase | ReplayedStream
"""What can be read again from its beginning where its text is unusual."""


class OddTextError(Exception):
    """The text is not quite such as kubectl writes."""


def streamed_items(source: str, stream: Rereadable) -> list[Item] | None:
    """The objects of a list of stored objects; None where anything about the text is unusual.

    Running pods come as what decoding reads of them (``ReadPod``), without their text: nobody may want their manifests,
    or have the fields of stored objects judged. Raises OSError when the stream cannot be read.
    """
    try:
        return _Stream(source, stream).items()
    except (OddTextError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


class _Window:
    """The part of a text that is looked at, in memory that is used again and again."""

    def __init__(self, stream: Rereadable) -> None:
        self._stream = stream
        self._left = limit("size")
        self._bytes = bytearray(2 * PIECE + 1)
        self._begin = self._end = 1  # before the text there is room for a bracket

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
        """Adds the next piece; False at the end. Raises OddTextError for a text that is too long."""
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
        """Takes all objects but the last from the text, as a JSON list; None when there is no end of one.

        between: what stands between two. The list is there until the next call of any method.
        """
        cut = self._bytes.rfind(between, self._begin, self._end)
        if cut < 0:
            return None
        first, comma = self._begin, cut + between.index(b",")
        self._bytes[first - 1], self._bytes[comma] = b"[]"
        self._begin = cut + between.index(b"{")
        return memoryview(self._bytes)[first - 1 : comma + 1]


class _Stream:
    """One pass over a list."""

    def __init__(self, source: str, stream: Rereadable) -> None:
        self._source = source
        self._window = _Window(stream)
        self._pods = SettledPods()
        self._named = Envelope()
        self._relies_on_list = False
        self._found: list[Item] = []

    def items(self) -> list[Item]:
        """Every object, in order."""
        window = self._window
        window.more()
        match = _HEAD.match(window.text())
        if match is None:
            raise OddTextError
        head = match[0]
        window.skip(len(head))
        between = _separator(match[1], window.text())
        self._named = _envelope(head + b"]}")
        while window.more():
            texts = window.objects(between)
            if texts is not None:
                self._note_all(texts)
            elif window.length > LONGEST:
                raise OddTextError
        self._last(head, window.text())
        return self._found

    def _last(self, head: bytes, text: bytes) -> None:
        """Notes the last objects and checks what stands around all of them."""
        envelope = _envelope(head + text)
        last = envelope.items or []
        if not last or not text.startswith(bytes(last[0])) or list_kind(envelope.kind) is None:
            raise OddTextError
        for raw in last:
            self._note(raw)
        named = self._named
        if self._relies_on_list and (named.kind, named.apiVersion) != (envelope.kind, envelope.apiVersion):
            raise OddTextError

    def _note_all(self, texts: memoryview) -> None:
        """Adds the objects of a JSON list."""
        first = opening_of(texts[1:])
        pods = self._pods.read_all(texts) if first is None or first.kind == "Pod" else None
        if pods is None:
            for raw in msgspec.json.decode(texts, type=list[msgspec.Raw]):
                self._note(raw)
            return
        source, nothing = self._source, NOTHING
        self._found += [
            Item(source, nothing, f"items[{number}]", pod.kind, pod.version, (), pod)
            for number, pod in enumerate(pods, len(self._found))
        ]

    def _note(self, text: msgspec.Raw) -> None:
        """Adds one object. Raises OddTextError for one that no server has stored."""
        kind, version = self._kind(text)
        pod = self._pods.read(text) if is_pod(kind, version) else None
        if pod is None and not was_stored(text):
            raise OddTextError
        content: Manifest | msgspec.Raw = text.copy() if pod is None else NOTHING
        self._found.append(Item(self._source, content, f"items[{len(self._found)}]", kind, version, read=pod))

    def _kind(self, text: msgspec.Raw) -> tuple[str, str]:
        """Kind and version of an object, its own or those that its list says."""
        header = header_of(text)
        kind, version = header.kind, header.apiVersion
        of = list_kind(self._named.kind)
        if kind is None and version is None and of and isinstance(self._named.apiVersion, str):
            self._relies_on_list = True
            return of, self._named.apiVersion
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
