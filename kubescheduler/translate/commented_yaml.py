"""Documents as YAML with a comment on every line that says where it comes from."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubescheduler.translate.translation_model import Note, Translation, WithOrigin

WIDEST = 60
"""Longest line that comments stand aligned behind."""
HEADER_WIDTH = 116

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Texts that YAML reads as something else."""

Lines = Iterator[tuple[str, str]]
"""Lines and their comments."""


def translation_yaml(translation: Translation, *, bare: bool = False) -> str:
    """The notes as a block of comments, then the document; bare: without any comment."""
    if bare:
        return "".join(f"{text}\n" for text, _ in _lines(translation.document.value, ""))
    return f"{_header(translation)}\n{commented_yaml(translation.document)}"


def commented_yaml(document: WithOrigin) -> str:
    """Block style; reading it gives the document without its origins."""
    lines = list(_lines(document.value, document.origin))
    column = min(max((len(text) for text, _ in lines), default=0), WIDEST)
    return "".join(f"{text.ljust(column)}  # {_comment(origin)}\n" for text, origin in lines)


# --- header --------------------------------------------------------------------------------


def _header(translation: Translation) -> str:
    what = f"{translation.source}, as release {translation.from_release} reads it, for release {translation.release}."
    lines = [f"# {_comment(what)}"]
    inexact = [note for note in translation.notes if note.kind.inexact]
    others = [note for note in translation.notes if not note.kind.inexact]
    for title, notes in (("Not carried over exactly:", inexact), ("To know:", others)):
        if notes:
            lines += ["#", f"# {title}", *(f"# {line}" for line in note_lines(notes))]
    return "\n".join(lines)


def note_lines(notes: Iterable[Note], width: int = HEADER_WIDTH) -> Iterator[str]:
    """Notes as a list of wrapped lines, what to do behind a ``>``."""
    for note in notes:
        yield from _wrapped(f"{note.kind.value}: {note.path}: {note.text}", "- ", "  ", width)
        if note.advice:
            yield from _wrapped(note.advice, "  > ", "    ", width)


def _wrapped(text: str, first: str, rest: str, width: int) -> list[str]:
    return textwrap.wrap(
        _comment(text),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


# --- lines ---------------------------------------------------------------------------------


def _lines(value: Any, origin: str) -> Lines:
    """The lines of a mapping or list that is not empty."""
    entries = value.items() if isinstance(value, Mapping) else ((None, item) for item in value)
    for key, item in entries:
        inner, source = (item.value, item.origin) if isinstance(item, WithOrigin) else (item, origin)
        if key is None:
            yield from _item(inner, source)
        elif not _nested(inner):
            yield f"{key}: {scalar(inner)}", source
        else:
            yield f"{key}:", source
            indent = "  " if isinstance(inner, Mapping) else ""
            yield from ((indent + text, comment) for text, comment in _lines(inner, source))


def _item(value: Any, origin: str) -> Lines:
    """An item of a list."""
    if not _nested(value):
        yield f"- {scalar(value)}", origin
        return
    for at, (text, comment) in enumerate(_lines(value, origin)):
        yield ("  " if at else "- ") + text, comment


def _nested(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple) and len(value) > 0


def scalar(value: Any) -> str:
    """A value on one line: a scalar, or an empty list or mapping."""
    match value:
        case str():
            return value if _PLAIN.fullmatch(value) and value.lower() not in _WORDS else _quoted(value)
        case Mapping():
            return "{}"
        case list() | tuple():
            return "[]"
    return json.dumps(value)


def _quoted(text: str) -> str:
    """In double quotes, with escapes for what cannot be seen."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in quoted)


def _comment(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)
