"""Regular expressions as Go's, by RE2: they never take longer than the text is long, times the pattern.

Upstream: Go's regexp/syntax. RE2 and Go read the same patterns, but for ``\\C`` and names that occur twice; what they
say of a wrong one differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from clusterstate.cel.cel_faults import ValueFault

_GO_WORDS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "unexpected )": "unexpected )",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
    "invalid character class range": "invalid character class range",
    "invalid escape sequence": "invalid escape sequence",
    "invalid UTF-8": "invalid UTF-8",
}
"""What RE2 calls a fault → what Go calls it."""

_WHOLE = ("missing )", "unexpected )")
"""Faults beside which Go prints the whole pattern."""

_NAMES = re.compile(r"\(\?P?<([A-Za-z0-9_]+)>")
_ANY_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")
_LONGEST = 10_000


def _fault(what: str, part: str) -> ValueFault:
    return ValueFault(f"error parsing regexp: {what}: `{part[:200]}`")


@lru_cache(maxsize=512)
def compile_pattern(pattern: str) -> Any:
    """RE2's pattern. Raises ValueFault in Go's words for what is none."""
    import re2  # type: ignore[import-untyped]

    if len(pattern) > _LONGEST:
        raise ValueFault("error parsing regexp: expression too large")
    if _ANY_BYTE.search(pattern):
        raise _fault("invalid escape sequence", "\\C")
    options = re2.Options()
    options.log_errors = False
    try:
        found = re2.compile(_encodable(pattern), options)
    except re2.error as error:
        raise _in_go_words(error.args[0], pattern) from None
    names = _NAMES.findall(pattern)
    for name in names:
        if names.count(name) > 1 and len(found.groupindex) < len(names):
            raise _fault("duplicate capture group name", name)
    return found


def _in_go_words(message: Any, pattern: str) -> ValueFault:
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    for said, go in _GO_WORDS.items():
        if text.startswith(said):
            part = pattern if said in _WHOLE else text[len(said) :].removeprefix(": ")
            return _fault(go, part)
    return ValueFault("error parsing regexp: expression too large")


def _encodable(text: str) -> str:
    """Text without halves of characters, which UTF-8 lacks."""
    return text.encode("utf-8", "replace").decode()


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern is somewhere in the text."""
    return compile_pattern(pattern).search(_encodable(text)) is not None


def find(text: str, pattern: str) -> str:
    """The first match; empty if there is none."""
    found = compile_pattern(pattern).search(_encodable(text))
    return found[0] if found is not None else ""


def find_all(text: str, pattern: str, most: int = -1) -> tuple[str, ...]:
    """At most so many matches that do not overlap; any number below 0."""
    found: list[str] = []
    for match in _all_matches(_encodable(text), pattern):
        if 0 <= most <= len(found):
            break
        found.append(match)
    return tuple(found)


def _all_matches(text: str, pattern: str) -> Iterator[str]:
    """As Go: an empty match right behind another does not count."""
    compiled = compile_pattern(pattern)
    at, last_end = 0, -1
    while at <= len(text):
        match = compiled.search(text, at)
        if match is None:
            return
        start, end = match.span()
        counts = end > at or start != last_end
        at = at + 1 if end == at else end
        last_end = end
        if counts:
            yield match[0]
