"""What of a document a release does not read: unknown keys, keys set twice, documents behind the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kubescheduler.config.config_text import ParsedDocument
from kubescheduler.config.go_decoding import show_path

if TYPE_CHECKING:
    from kubescheduler.config.go_decoding import Path, UnknownKey


def unknown_problem(key: UnknownKey) -> str:
    """The message for an unknown key, with the known key that is meant, if one is near."""
    hint = _meant(key)
    return f"{show_path(key.path)}: unknown key{hint or '; known are ' + ', '.join(key.known)}"


def ignored_notes(unknown: Iterable[UnknownKey], release: str) -> Iterator[str]:
    """What is said of keys that a release ignores, the same key in several entries once."""
    alike: dict[Path, list[UnknownKey]] = {}
    for key in unknown:
        alike.setdefault(tuple("" if isinstance(step, int) else step for step in key.path), []).append(key)
    for first, *more in alike.values():
        also = f" (and in {len(more)} other entries)" if len(more) > 1 else " (and in another entry)" if more else ""
        yield f"{show_path(first.path)}: unknown key{also}: release {release} ignores it{_meant(first)}"


def text_notes(document: Mapping[str, Any], release: str) -> tuple[str, ...]:
    """What is said of a document's text: of keys that it sets twice, and of documents behind it."""
    return (*(f"{place}; release {release} reads the last" for place in set_twice(document)), *behind_notes(document))


def text_problems(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The same as faults."""
    return (*twice_problems(document), *(f"{note}; keep one of them" for note in behind_notes(document)))


def twice_problems(document: Mapping[str, Any]) -> tuple[str, ...]:
    """A fault for each key that the document's text repeats."""
    return tuple(f"{place}; keep one of them" for place in set_twice(document))


def behind_notes(document: Mapping[str, Any]) -> tuple[str, ...]:
    """What is said of documents behind the one that is read. Upstream: the decoder of every release stops there."""
    behind = document.documents_behind() if isinstance(document, ParsedDocument) else ""
    if not behind:
        return ()
    return (f"only the first document is read: {behind} {'are' if behind.endswith('documents') else 'is'} ignored",)


def set_twice(document: Mapping[str, Any]) -> tuple[str, ...]:
    """``path: set twice`` for each key that the document's text repeats, with lines where they are known."""
    return document.set_twice() if isinstance(document, ParsedDocument) else ()


def _meant(key: UnknownKey) -> str:
    from clusterstate.errors import nearest

    name = str(key.path[-1])
    exact = next((known for known in key.known if known.casefold() == name.casefold()), None)
    return f"; did you mean {exact}?" if exact else nearest(name, key.known)
