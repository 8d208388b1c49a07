"""Places in documents as dotted paths: ``spec.containers.0.image``, and patterns of them.

In a pattern ``*`` stands for one step and ``**`` for any number of them, none included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Path = tuple[str, ...]


def steps_of(pattern: str) -> Path:
    """A pattern's steps. A key that has dots itself stands in brackets: ``metadata.labels[example.com/tier]``."""
    out: list[str] = []
    for at, part in enumerate(pattern.replace("]", "[").split("[")):
        out += [part] if at % 2 else [step for step in part.split(".") if step]
    return tuple(out)


def leaves(document: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """(path, value) of every value that holds no others; empty mappings and lists count as absent, and so does null."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from leaves(value, (*path, str(key)))
    elif isinstance(document, list | tuple):
        for at, value in enumerate(document):
            yield from leaves(value, (*path, str(at)))
    elif document is not None:
        yield path, document


def within(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a path is a place of the pattern, or below one."""
    if not pattern:
        return True
    if pattern[0] == "**":
        return any(within(path[at:], pattern[1:]) for at in range(len(path) + 1))
    return bool(path) and pattern[0] in ("*", path[0]) and within(path[1:], pattern[1:])


def within_any(path: Sequence[str], patterns: Iterable[Sequence[str]]) -> bool:
    """Whether a path is a place of one of the patterns, or below one."""
    return any(within(path, pattern) for pattern in patterns)


def shown_path(path: Sequence[str]) -> str:
    """A path as messages show it: ``spec.containers[0].image``."""
    out = ""
    for step in path:
        if step.isdecimal() or not step.replace("-", "").replace("_", "").isalnum():
            out += f"[{step}]"
        else:
            out += f".{step}" if out else step
    return out
