"""What a command answers, part by part: shown as text on a terminal, or as a page."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Section(msgspec.Struct, frozen=True):
    """A table, and what is said below it; either may be missing."""

    title: str = ""
    """What it is about; empty: it goes on with what the one before is about."""
    rows: Sequence[Sequence[str]] = ()
    """The headings first."""
    texts: Sequence[str] = ()
    """A paragraph each."""
    gives_way: int | None = None
    """The column that is wrapped where a terminal is narrow, as ``table`` takes it."""
    keys: int = 0
    """The first so many columns say what a row is about."""
    listed: bool = False
    """Whether the texts are points of a list."""
    laid_out: str = ""
    """What a terminal has in place of the rows."""
    detail: bool = False
    """Whether it stands on a page alone, closed at first."""
    code: str = ""
    """A file's text, on a page."""
