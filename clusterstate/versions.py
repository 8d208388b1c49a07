"""Versions of Kubernetes as people write them."""

from __future__ import annotations

import re

DEFAULT_RELEASE = "1.16"
"""The release that decides when nobody names one: the last one with predicates and priorities only."""

_VERSION = re.compile(r"v?(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})(?:[-+_.].*)?", re.DOTALL)


def minor(text: object) -> str | None:
    """The minor release that a version is of (``v1.20.15-gke.1`` → ``1.20``); None for what is no version."""
    found = _VERSION.fullmatch(text.strip()) if isinstance(text, str) else None
    return f"{found[1]}.{found[2]}" if found else None


def is_since(name: str, other: str) -> bool:
    """Whether a release is another one or a later one."""
    return number(name) >= number(other)


def number(name: str) -> tuple[int, ...]:
    """By which releases are ordered: 1.4 comes before 1.16."""
    return tuple(map(int, name.split(".")))
