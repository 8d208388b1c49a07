"""What extenders answer: the first value of a body, its members in any case, and the shapes they must have."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from clusterstate.errors import SchedulingError

_ESCAPE = re.compile(
    rb"\\u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
"""An escape of JSON; the group is half a pair of surrogates without the other."""
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{}]', re.DOTALL)
_DEEP, _DEEPEST = 200, 10_000
"""Levels beyond which nothing is read, and which Go's decoder takes."""
T = TypeVar("T")
NULL = b"null"
MISSING = msgspec.Raw(NULL)
MAPPING = msgspec.json.Decoder(dict[str, msgspec.Raw] | None)
LIST = msgspec.json.Decoder(list[msgspec.Raw] | None)
TEXT = msgspec.json.Decoder(str | None)
INTEGER = msgspec.json.Decoder(int | None)
Score = tuple[str, int]
"""A host and its score, as answered: not weighted, not clamped, of any host."""
Victims = tuple[tuple[str, ...], int]
"""The uids of the pods that would go from a node, and how many of them violate a budget."""


class ExtenderError(SchedulingError):
    """An extender refused the call, could not be reached in time, or answered something unreadable."""


class CutShortError(ExtenderError):
    """A body broke off."""

    def __init__(self, text: str, body: bytes) -> None:
        super().__init__(text)
        self.body = body
        """What came before."""


class FilterReply(msgspec.Struct, frozen=True):
    """The members of a filter answer; None for a list that is absent or null."""

    names: tuple[str, ...] | None
    objects: tuple[msgspec.Raw, ...] | None
    failed: dict[str, str]
    error: str
    unresolvable: dict[str, str] = msgspec.field(default_factory=dict)


# --- bodies ----------------------------------------------------------------------------------


def only_value(body: bytes) -> msgspec.Raw:
    """The body as one JSON document; anything behind it is a fault. Upstream: 1.4."""
    if not body.strip(b" \t\r\n"):
        raise ExtenderError("unexpected end of JSON input")
    return _guarded(lambda: msgspec.json.decode(_utf8(body), type=msgspec.Raw), "the body")


def first_value(body: bytes) -> msgspec.Raw:
    """The first JSON value of a body; what follows is not looked at. Upstream: 1.16 and later."""
    if not body.strip(b" \t\r\n"):
        raise ExtenderError("EOF")
    body = _utf8(body)
    try:
        return msgspec.json.decode(body, type=msgspec.Raw)
    except RecursionError:
        return _guarded(lambda: _prefix(_without_depths(body).decode()), "the body")
    except msgspec.DecodeError:
        return _guarded(lambda: _prefix(body.decode()), "the body")


def _prefix(text: str) -> msgspec.Raw:
    text = text.lstrip(" \t\r\n")
    import json

    end = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode(text)[1]
    return msgspec.Raw(text[:end].encode())


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")


def _utf8(body: bytes) -> bytes:
    """The body with invalid UTF-8 and half surrogates replaced, as Go's decoder does."""
    body = body if body.isascii() else body.decode("utf-8", "replace").encode()
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], body) if b"\\ud" in body.lower() else body


def _without_depths(body: bytes) -> bytes:
    """The body with null for what lies deeper than anything that is read of an answer.

    Raises ExtenderError beyond what Go's decoder takes.
    """
    kept, depth, begin, text = bytearray(), 0, 0, body
    for token in _BRACKETS.finditer(text):
        bracket = token[0]
        if bracket in (b"[", b"{"):
            depth += 1
            if depth == _DEEP:
                kept += text[begin : token.start()] + b"null"
            if depth > _DEEPEST:
                raise ExtenderError("cannot read the extender's answer: the body: exceeded max depth")
        elif bracket in (b"]", b"}"):
            if depth == _DEEP:
                begin = token.end()
            depth -= 1
    return bytes(kept + text[begin:]) if depth < _DEEP else text


def _guarded(decode: Callable[[], T], what: str) -> T:
    """``decode()``, with every fault of the text turned into an ExtenderError."""
    try:
        return decode()
    except RecursionError as e:
        raise ExtenderError(f"cannot read the extender's answer: {what}: nested too deeply") from e
    except (msgspec.MsgspecError, ValueError) as e:
        raise ExtenderError(f"cannot read the extender's answer: {what}: {e}") from e


def _read(decoder: msgspec.json.Decoder[T], raw: msgspec.Raw, what: str) -> T:
    return _guarded(lambda: decoder.decode(raw), what)


# --- shapes ----------------------------------------------------------------------------------


def _mapping(raw: msgspec.Raw, what: str) -> dict[str, msgspec.Raw]:
    """The members of an object, keys as written; null is an empty object."""
    return _read(MAPPING, raw, what) or {}


def _members(raw: msgspec.Raw, what: str) -> dict[str, msgspec.Raw]:
    """The members of an object by lower-case key."""
    return {key.lower(): value for key, value in _mapping(raw, what).items()}


def _text(raw: msgspec.Raw, what: str) -> str:
    """A string; null is an empty one."""
    return _read(TEXT, raw, what) or ""


def _messages(members: dict[str, msgspec.Raw], key: str) -> dict[str, str]:
    """Node → message under a key of an answer."""
    raw = members.get(key.lower(), MISSING)
    return {node: _text(message, key) for node, message in _mapping(raw, key).items()}


def _integer(raw: msgspec.Raw, what: str) -> int:
    """An integer of 64 bits; null is 0."""
    number = _read(INTEGER, raw, what) or 0
    if not -(2**63) <= number < 2**63:
        raise ExtenderError(f"cannot read the extender's answer: {what}: got {number}")
    return number


def read_filter(raw: msgspec.Raw, *, with_unresolvable: bool = False) -> FilterReply:
    """A filter answer; ``null`` is an empty one. ``with_unresolvable``: failedAndUnresolvableNodes is a member.

    Raises:
        ExtenderError: a member has the wrong type.
    """
    members = _members(raw, "filter")
    names = _read(LIST, members.get("nodenames", MISSING), "nodenames")
    nodes = members.get("nodes", MISSING)
    objects = None
    if bytes(nodes) != NULL:
        objects = tuple(_read(LIST, _members(nodes, "nodes").get("items", MISSING), "nodes.items") or ())
    return FilterReply(
        names=None if names is None else tuple(_text(name, "nodenames") for name in names),
        objects=objects,
        failed=_messages(members, "failedNodes"),
        error=read_error(raw, members),
        unresolvable=_messages(members, "failedAndUnresolvableNodes") if with_unresolvable else {},
    )


def read_error(raw: msgspec.Raw, members: dict[str, msgspec.Raw] | None = None) -> str:
    """The ``error`` member of an answer, empty when there is none."""
    members = _members(raw, "answer") if members is None else members
    return _text(members.get("error", MISSING), "error")


def node_name(node: msgspec.Raw) -> str:
    """metadata.name of an answered node object, empty when there is none."""
    metadata = _members(node, "nodes.items").get("metadata", MISSING)
    return _text(_members(metadata, "nodes.items.metadata").get("name", MISSING), "nodes.items.metadata.name")


def read_scores(raw: msgspec.Raw) -> list[Score]:
    """A prioritize answer, in its order; ``null`` is an empty one.

    Raises:
        ExtenderError: it is no list, or a score is no JSON integer of 64 bits.
    """
    return [_score(_members(item, "a score")) for item in _read(LIST, raw, "the scores, a list of {host, score}") or ()]


def _score(members: dict[str, msgspec.Raw]) -> Score:
    score = _integer(members.get("score", MISSING), "score, a 64-bit integer")
    return _text(members.get("host", MISSING), "host"), score


def read_victims(raw: msgspec.Raw) -> dict[str, Victims]:
    """A preempt answer, node → (uids, violations); ``null`` and anything unknown is an empty one.

    Raises:
        ExtenderError: a member has the wrong type.
    """
    nodes = _mapping(_members(raw, "preempt").get("nodenametometavictims", MISSING), "nodeNameToMetaVictims")
    return {name: _victims(_members(victims, "victims")) for name, victims in nodes.items()}


def _victims(members: dict[str, msgspec.Raw]) -> Victims:
    pods = _read(LIST, members.get("pods", MISSING), "pods") or ()
    uids = tuple(_text(_members(pod, "pods").get("uid", MISSING), "uid") for pod in pods)
    return uids, _integer(members.get("numpdbviolations", MISSING), "numPDBViolations, a 64-bit integer")
