"""A list of objects in JSON, read piece by piece: what is decoded no longer needs the text that it was in.

Only what kubectl and API servers write is read so: objects that a server has stored, one behind another in ``items``.
Whatever is different in anything is left to the reader that holds the whole text, and says what is wrong with it.

Nothing is guessed: each piece between two separators has to be one JSON value, and the rest of the text with one of
them in the list has to be a JSON document, so the whole is one, and its list has these objects.
"""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING

import msgspec

from clusterstate.manifests.documents import Envelope, Item, header_of, list_kind
from clusterstate.manifests.settled_pods import SettledPods
from kubescheduler.sources.limits import limit

if TYPE_CHECKING:
    from clusterstate.manifests.documents import Manifest
    from kubescheduler.sources.replayed import ReplayedStream

PIECE = 1 << 20
"""Bytes that are read at once: as many as stay in a processor's cache are searched and parsed faster."""

LONGEST = 1 << 26
"""Bytes of the longest object that is read so."""

_HEAD = re.compile(
    rb'\s*\{(?:\s*"(?:apiVersion|kind)":\s*"[\w./-]*",|\s*"metadata":\s*\{[^{}\[\]]*\},)*\s*"items":\s*\[(\s*)(?=\{)'
)
"""The beginning of a list, up to its first object; the group is what stands before each."""

_COMPACT = re.compile(rb'\{"(?:metadata": ?\{"name": ?"|apiVersion": ?"v1", ?"kind": ?")')
"""The beginning of an object that stands in one line with the others."""

_STORED = re.compile(rb'"resourceVersion"')
"""What an API server writes into every object."""


class OddTextError(Exception):
    """The text is not quite such as kubectl writes."""


def streamed_items(source: str, stream: IO[bytes] | ReplayedStream) -> list[Item] | None:
    """The objects of a list of stored objects; None where anything about the text is unusual.

    Running pods come as what decoding reads of them (``ReadPod``), without their text: nobody may want their manifests,
    or have the fields of stored objects judged. Raises OSError when the stream cannot be read.
    """
    try:
        return _Stream(source, stream).items()
    except (OddTextError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


class _Stream:
    """One pass over a list."""

    def __init__(self, source: str, stream: IO[bytes] | ReplayedStream) -> None:
        self._source = source
        self._stream = stream
        self._pods = SettledPods()
        self._left = limit("size")
        self._named = Envelope()
        self._relies_on_list = False
        self._found: list[Item] = []

    def items(self) -> list[Item]:
        """Every object, in order."""
        text = self._more()
        match = _HEAD.match(text)
        if match is None:
            raise OddTextError
        head, text = text[: match.end()], text[match.end() :]
        between = _separator(match[1], text)
        self._named = _envelope(head + b"]}")
        while more := self._more():
            text += more
            cut = text.rfind(between)
            if cut >= 0:
                self._note_all(text[: cut + between.index(b"}") + 1])
                text = text[cut + between.index(b"{") :]
            elif len(text) > LONGEST:
                raise OddTextError
        self._last(head, text)
        return self._found

    def _more(self) -> bytes:
        """The next piece; empty at the end. Raises OddTextError for a text that is too long."""
        piece = self._stream.read(PIECE)
        self._left -= len(piece)
        if self._left < 0:
            raise OddTextError
        return piece

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

    def _note_all(self, texts: bytes) -> None:
        """Adds objects with commas between them."""
        texts = b"[%b]" % texts
        pods = self._pods.read_all(texts)
        if pods is not None and all(pod.kind == "Pod" and pod.version for pod in pods):
            for pod in pods:
                self._found.append(Item(self._source, {}, self._place(), pod.kind, pod.version, read=pod))
            return
        for raw in msgspec.json.decode(texts, type=list[msgspec.Raw]):
            self._note(raw)

    def _note(self, text: msgspec.Raw) -> None:
        """Adds one object. Raises OddTextError for one that no server has stored."""
        kind, version = self._kind(text)
        pod = self._pods.read(text) if kind == "Pod" else None
        if pod is None and not _STORED.search(text):
            raise OddTextError
        content: Manifest | msgspec.Raw = text.copy() if pod is None else {}
        self._found.append(Item(self._source, content, self._place(), kind, version, read=pod))

    def _place(self) -> str:
        return f"items[{len(self._found)}]"

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
