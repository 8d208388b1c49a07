"""What the output is shown on: how wide it is, and whether it has colours."""

from __future__ import annotations

import unicodedata
from typing import TextIO

import msgspec

from kubescheduler.sources.foreign_text import escaped

TONES: dict[str, dict[str, str | bool]] = {
    "head": {"bold": True},
    "good": {"fg": "green"},
    "even": {"fg": "yellow"},
    "bad": {"fg": "red"},
    "quiet": {"dim": True},
}
"""Tone → how click styles it."""

UNBROKEN = "\xa0"
"""A blank at which no line is broken."""

NARROWEST = 20
"""Columns; a terminal that says it has fewer is written to as if it had so many."""


class Screen(msgspec.Struct, frozen=True):
    """Where text is shown."""

    width: int | None = None
    """Columns; None: a file or a pipe, where lines are as long as they need to be."""
    colour: bool = False
    """Whether tones are painted."""

    def paint(self, text: str, tone: str) -> str:
        """The text in a tone of ``TONES``; as it is for the empty tone, and where there are no colours."""
        if not (self.colour and tone and text):
            return text
        import click

        return click.style(text, **TONES[tone])  # type: ignore[arg-type]

    def fits(self, text: str) -> bool:
        """Whether no line is wider than the screen."""
        return self.width is None or all(columns(line) <= self.width for line in text.split("\n"))

    def filled(self, text: str, indent: str = "") -> str:
        """A paragraph in as many lines as it needs, each behind ``indent``."""
        text = escaped(text)
        if self.width is None:
            return indent + text
        return "\n".join(indent + line for line in wrapped(text, max(self.width - len(indent), 1)))


PLAIN = Screen()
"""No terminal."""


def screen_of(stream: TextIO) -> Screen:
    """What a stream is shown on. ``COLUMNS`` goes before the terminal's own width; ``NO_COLOR``, if it is not empty,
    and ``TERM=dumb`` leave colours out. Of what is no terminal nothing in the environment changes anything.
    """
    import os

    if not stream.isatty():
        return PLAIN
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(max(_width(stream.fileno(), os.environ.get("COLUMNS", "")), NARROWEST), colour)


def _width(descriptor: int, said: str) -> int:
    """As ``shutil.get_terminal_size``, of the given stream; 80 for a terminal that does not say."""
    import os

    if said.isdecimal() and int(said):
        return int(said)
    try:
        return os.get_terminal_size(descriptor).columns or 80
    except OSError:
        return 80


class Toned(str):
    """Text that is painted where there are colours."""

    tone: str

    def __new__(cls, text: str, tone: str) -> Toned:
        """tone: a key of ``TONES``, or empty."""
        made = super().__new__(cls, text)
        made.tone = tone
        return made


def tone_of(text: str) -> str:
    """The tone of a text; empty for what has none."""
    return text.tone if isinstance(text, Toned) else ""


def columns(text: str) -> int:
    """How many columns of a terminal a line takes: East Asian wide characters two, marks that combine none."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(character) for character in text)


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines of at most ``width`` columns, broken between words; only a wider word is broken inside."""
    lines: list[str] = []
    for word in filter(None, text.replace("\t", " ").split(" ")):
        if lines and columns(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines += _pieces(word, width)
    return [line.replace(UNBROKEN, " ") for line in lines] or [""]


def _pieces(word: str, width: int) -> list[str]:
    pieces = [""]
    for character in word:
        if pieces[-1] and columns(pieces[-1]) + _columns_of(character) > width:
            pieces.append("")
        pieces[-1] += character
    return pieces
