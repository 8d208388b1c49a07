"""How releases since 1.16 word what is wrong with a name."""

from __future__ import annotations

from collections.abc import Iterable

from kubecel.api_names import NAME_LENGTH, SUBDOMAIN_LENGTH

_SINCE_1_20 = (("a DNS-1123 subdomain must", "a lowercase RFC 1123 subdomain must"),)
_SINCE_1_36 = (
    *_SINCE_1_20,
    ("a qualified name must", "a valid label key must"),
    *((f"no more than {most} characters", f"no more than {most} bytes") for most in (NAME_LENGTH, SUBDOMAIN_LENGTH)),
)
"""(in 1.16, since)."""


def worded_1_20(text: str) -> str:
    """The text about a name as release 1.20 has it."""
    return _reworded(text, _SINCE_1_20)


def worded_1_36(text: str) -> str:
    """The text about a name as release 1.36 has it."""
    return _reworded(text, _SINCE_1_36)


def _reworded(text: str, table: Iterable[tuple[str, str]]) -> str:
    for old, new in table:
        text = text.replace(old, new)
    return text
