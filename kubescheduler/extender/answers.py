"""What extenders answer: the first value of a body, its members in any case, and the shapes they must have."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import attrs
import msgspec

from clusterstate.errors import SchedulingError

T = TypeVar("T")
NULL = b"null"
MISSING = msgspec.Raw(NULL)
MAPPING = msgspec.json.Decoder(dict[str, msgspec.Raw] | None)
LIST = msgspec.json.Decoder(list[msgspec.Raw] | None)
TEXT = msgspec.json.Decoder(str | None)
INTEGER = msgspec.json.Decoder(int | None)
Score = tuple[str, int]
"""A host and its score, as answered: not weighted, not clamped, of any host."""


class ExtenderError(SchedulingError):
    """An extender refused the call, could not be reached in time, or answered something unreadable."""


@attrs.frozen
class FilterResult:
    """``nodes``: names in the answer's order, doubles kept. ``failed``: node → message (a node may be in both).

    ``objects`` are the answered nodes as JSON, one per name, when the answer came as node objects; else None.
    """

    nodes: tuple[str, ...]
    failed: dict[str, str] = attrs.Factory(dict)
    objects: tuple[msgspec.Raw, ...] | None = attrs.field(default=None, repr=False)


@attrs.frozen
class FilterAnswer:
    """The members of a filter answer; None for a list that is absent or null."""

    names: tuple[str, ...] | None
    objects: tuple[msgspec.Raw, ...] | None
    failed: dict[str, str]
    error: str


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
    except (msgspec.DecodeError, RecursionError):
        return _guarded(lambda: _prefix(body.decode()), "the body")


def _prefix(text: str) -> msgspec.Raw:
    text = text.lstrip(" \t\r\n")
    end = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode(text)[1]
    return msgspec.Raw(text[:end].encode())


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")


def _utf8(body: bytes) -> bytes:
    """The body with invalid UTF-8 replaced, as Go's decoder does."""
    return body if body.isascii() else body.decode("utf-8", "replace").encode()


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


def read_filter(raw: msgspec.Raw) -> FilterAnswer:
    """A filter answer; ``null`` is an empty one.

    Raises:
        ExtenderError: a member has the wrong type.
    """
    members = _members(raw, "filter")
    names = _read(LIST, members.get("nodenames", MISSING), "nodenames")
    nodes = members.get("nodes", MISSING)
    objects = None
    if bytes(nodes) != NULL:
        objects = tuple(_read(LIST, _members(nodes, "nodes").get("items", MISSING), "nodes.items") or ())
    failed = _mapping(members.get("failednodes", MISSING), "failedNodes")
    return FilterAnswer(
        names=None if names is None else tuple(_text(name, "nodenames") for name in names),
        objects=objects,
        failed={node: _text(message, "failedNodes") for node, message in failed.items()},
        error=read_error(raw, members),
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
    score = _read(INTEGER, members.get("score", MISSING), "score, a 64-bit integer")
    if score is not None and not -(2**63) <= score < 2**63:
        raise ExtenderError(f"cannot read the extender's answer: score, a 64-bit integer: got {score}")
    return _text(members.get("host", MISSING), "host"), score or 0


def read_victims(raw: msgspec.Raw) -> dict[str, tuple[str, ...]]:
    """A preempt answer, node → uids of the pods that would go; ``null`` and anything unknown is an empty one.

    Raises:
        ExtenderError: a member has the wrong type.
    """
    nodes = _mapping(_members(raw, "preempt").get("nodenametometavictims", MISSING), "nodeNameToMetaVictims")
    return {name: _uids(_members(victims, "victims").get("pods", MISSING)) for name, victims in nodes.items()}


def _uids(raw: msgspec.Raw) -> tuple[str, ...]:
    pods = _read(LIST, raw, "pods") or ()
    return tuple(_text(_members(pod, "pods").get("uid", MISSING), "uid") for pod in pods)
