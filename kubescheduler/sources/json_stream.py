"""A list of objects in JSON, read piece by piece: what is decoded no longer needs the text that it was in.

Only what kubectl and API servers write is read so: objects that a server has stored, one behind another in ``items``.
From where the text is different in anything it is left to the reader of whole texts, which says what is wrong with it.

Nothing is guessed: each piece between two separators has to be one JSON value, and the rest of the text with one of
them in the list has to be a JSON document, so the whole is one, and its list has these objects.
"""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING

import msgspec

from clusterstate.manifests.documents import Envelope, Item, header_of, list_kind, opening_of, was_stored
from clusterstate.manifests.fields import NOTHING
from clusterstate.manifests.pod_reading import SettledPods, is_pod
from kubescheduler.sources.listed_items import ListedItems, with_stand_ins
from kubescheduler.sources.text_window import OddTextError, TextWindow

if TYPE_CHECKING:
    from clusterstate.manifests.documents import Manifest
    from kubescheduler.sources.file_bytes import PrefixedStream

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
