"""Requests of the page, from bytes to checked parameters, and answers back to bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from clusterstate.errors import InputError
from kubescheduler.sources.limits import exceeded, limit

_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"?')
_BRACKET = re.compile(rb"[][{}]")

MOST_EXACT = 2**53 - 1
"""JavaScript's numbers are exact up to here."""
LONG_NUMBER = re.compile(rb"[0-9]{16}")
"""What an answer with a number beyond that has in it."""


class PageRequest(msgspec.Struct, frozen=True):
    """What a page sent."""

    tab: str
    """Whose scene is asked; empty when one is opened."""
    slot: str | None
    """What the request is one of; None: it is never superseded."""
    serial: int
    """Its number in the slot."""
    asked: dict[str, Any]
    """The verb's own parameters."""


def read_request(body: bytes) -> PageRequest:
    """The body of a POST. Raises InputError with every fault."""
    _check_depth(body)
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise InputError("the request is no JSON") from None
    if not isinstance(found, dict):
        raise InputError("the request is no JSON object")
    tab, slot, serial = found.pop("tab", ""), found.pop("ask", None), found.pop("serial", 0)
    problems = []
    if not isinstance(tab, str):
        problems.append("tab: must be text")
    if slot is not None and not (isinstance(slot, str) and len(slot) <= 100):
        problems.append("ask: must be a short text")
    if not isinstance(serial, int) or isinstance(serial, bool) or serial < 0:
        problems.append("serial: must be a whole number")
    if problems:
        raise InputError(problems)
    return PageRequest(tab, slot, serial, found)


def _check_depth(body: bytes) -> None:
    """Raises InputError for lists and objects nested deeper than any file that is read may be."""
    depth, most = 0, limit("depth")
    for bracket in _BRACKET.findall(_TEXT.sub(b"", body)):
        depth += 1 if bracket in b"[{" else -1
        if depth > most:
            raise InputError(f"the request is nested too deeply: {exceeded('depth')}")


def answer_bytes(answer: Mapping[str, Any]) -> bytes:
    """An answer as JSON; records by their fields, numbers of numpy as numbers."""
    body = msgspec.json.encode(answer, enc_hook=_plain)
    return msgspec.json.encode(_exact(msgspec.json.decode(body))) if LONG_NUMBER.search(body) else body


def _exact(answer: Any) -> Any:
    """The same with whole numbers as text where a browser's numbers have no place for all their digits."""
    if isinstance(answer, dict):
        return {key: _exact(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [_exact(value) for value in answer]
    return str(answer) if type(answer) is int and abs(answer) > MOST_EXACT else answer


def _plain(value: Any) -> Any:
    """What msgspec does not know: numbers and arrays of numpy, and read-only mappings."""
    to_list: Callable[[], Any] | None = getattr(value, "tolist", None)
    if to_list is not None:
        return to_list()
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError
