"""What commands print: tables as kubectl has them, fitted to the screen, and long lists as JSON or YAML."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from clusterstate.errors import listed
from kubescheduler.sources.untrusted import escaped, json_text, one_line
from kubescheduler.sources.yaml_stream import yaml_dumper

if TYPE_CHECKING:
    from kubescheduler.report.single_file import Section

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
    if not stream.isatty():
        return PLAIN
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(max(_width(stream.fileno(), os.environ.get("COLUMNS", "")), NARROWEST), colour)


def _width(descriptor: int, said: str) -> int:
    """As ``shutil.get_terminal_size``, of the given stream; 80 for a terminal that does not say."""
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


NONE = "<none>"
"""What stands in a cell that has nothing."""
ERROR = "<error>"
"""What stands where an answer would, of a pod whose attempt an error ended."""

GAP = 3
"""Blanks between two columns."""
INDENT = "    "
"""Before the lines of a cell that stands below its row."""
READABLE = 24
"""Columns; a cell that would get fewer stands below its row."""


def table(
    rows: Iterable[Sequence[str]],
    screen: Screen = PLAIN,
    *,
    gives_way: int | None = None,
    heads: int = 1,
    keys: int = 0,
) -> str:
    """Rows as kubectl aligns them: three spaces between columns, nothing after the last.

    gives_way: the column whose cells are wrapped where the screen is too narrow for all of it, in the column while
    that stays readable, otherwise below their rows. heads: how many of the rows are headings. keys: the first so many
    columns say what a row is about: where the others are too wide even so, each row is a paragraph below its keys.
    """
    lines = [tuple(map(_cell, row)) for row in rows]
    aligned = _aligned(lines, screen, heads)
    if screen.width is None or not lines or (gives_way is None and not keys):
        return "\n".join(aligned)
    widths = _widths(lines)
    room = screen.width - sum(widths) - GAP * (len(widths) - 1)
    if room >= 0:
        return "\n".join(aligned)
    if gives_way is not None and room + widths[gives_way] >= max(
        READABLE, _widest_word(lines, gives_way, screen.width)
    ):
        return "\n".join(_wrapped_inside(lines, screen, gives_way, room + widths[gives_way], heads))
    if gives_way is None or (keys and room + widths[gives_way] + GAP < 0):
        return "\n".join(_as_paragraphs(lines, screen, keys))
    return "\n".join(_wrapped_below(lines, screen, gives_way, heads))


def _cell(text: str) -> str:
    """What stands in a cell came from elsewhere: it cannot look like two, nor move the cursor."""
    tone = tone_of(text)
    return Toned(one_line(text), tone) if tone else one_line(text)


def _widest_word(lines: Sequence[Sequence[str]], column: int, width: int) -> int:
    """Of the words of a column those that fit below their rows: none of them is to be broken."""
    words = (columns(word) for line in lines for word in line[column].split(" "))
    return max((each for each in words if each <= width - len(INDENT)), default=0)


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(columns, column)) for column in zip(*lines, strict=True)]


def _aligned(lines: Sequence[Sequence[str]], screen: Screen, heads: int) -> Iterator[str]:
    widths = _widths(lines)
    for at, line in enumerate(lines):
        tones = ["head"] * len(line) if at < heads else [tone_of(cell) for cell in line]
        yield _joined(line, widths, tones, screen)


def _joined(line: Sequence[str], widths: Sequence[int], tones: Sequence[str], screen: Screen) -> str:
    """One line; blanks are not painted, and none stand at its end."""
    last = max((at for at, cell in enumerate(line) if cell), default=-1)
    out = ""
    for at, (cell, width, tone) in enumerate(zip(line[: last + 1], widths, tones, strict=False)):
        cell = cell.replace(UNBROKEN, " ")  # noqa: PLW2901
        out += screen.paint(cell.rstrip() if at == last else cell, tone)
        out += " " * (width - columns(cell) + GAP) if at < last else ""
    return out


def _wrapped_inside(
    lines: Sequence[Sequence[str]], screen: Screen, column: int, width: int, heads: int
) -> Iterator[str]:
    """The cells of the column in lines of their own width, the others beside the first of them."""
    broken = [wrapped(line[column], width) for line in lines]
    widths = _widths(lines)
    widths[column] = max(columns(piece) for pieces in broken for piece in pieces)
    for at, (line, pieces) in enumerate(zip(lines, broken, strict=True)):
        tones = ["head"] * len(line) if at < heads else [tone_of(cell) for cell in line]
        for number, piece in enumerate(pieces):
            shown = [piece if n == column else cell if number == 0 else "" for n, cell in enumerate(line)]
            yield _joined(shown, widths, tones, screen)


def _as_paragraphs(lines: Sequence[Sequence[str]], screen: Screen, keys: int) -> Iterator[str]:
    """The keys of each row, and below them its other cells, each behind its heading."""
    head, *rows = lines
    for row in rows:
        yield from (screen.paint(line, "head") for line in _gathered(row[:keys], screen, ""))
        said = [f"{name}: {cell}" if name else cell for name, cell in zip(head[keys:], row[keys:], strict=True) if cell]
        yield from _gathered(said, screen, INDENT)


def _gathered(parts: Iterable[str], screen: Screen, indent: str) -> Iterator[str]:
    """As many parts in a line as there is room for; one that needs more than a line is broken."""
    line = ""
    for part in filter(None, parts):
        joined = f"{line}{' ' * GAP}{part}" if line else indent + part
        if line and not screen.fits(joined):
            yield from _broken(line, screen, indent)
            joined = indent + part
        line = joined
    if line:
        yield from _broken(line, screen, indent)


def _broken(line: str, screen: Screen, indent: str) -> Iterator[str]:
    yield from [line] if screen.fits(line) else screen.filled(line.removeprefix(indent), indent).split("\n")


def _wrapped_below(lines: Sequence[Sequence[str]], screen: Screen, column: int, heads: int) -> Iterator[str]:
    """Every row first without the cell of the column, which follows below it."""
    rest = [tuple(cell for n, cell in enumerate(line) if n != column) for line in lines]
    firsts = list(_aligned(rest, screen, heads))
    narrow = screen.fits("\n".join(_aligned(rest, PLAIN, heads)))
    for at, (line, first) in enumerate(zip(lines, firsts, strict=True)):
        yield first if narrow else screen.filled("   ".join(cell for cell in rest[at] if cell))
        if line[column]:
            tone = "head" if at < heads else tone_of(line[column])
            yield from (screen.paint(piece, tone) for piece in screen.filled(line[column], INDENT).split("\n"))


def noted(notes: Iterable[str], screen: Screen) -> str:
    """A line for each note that is above a table; of a long list the first, and how many more there are."""
    return "".join(f"{screen.filled(f'! {note}')}\n" for note in listed(notes))


def section_text(section: Section, screen: Screen, *, titled: bool = False) -> str:
    """A section as text; empty for details, which are for pages alone. titled: whether its title stands above."""
    if section.detail:
        return ""
    shown = section.laid_out
    if section.rows and not shown:
        shown = table(section.rows, screen, gives_way=section.gives_way, keys=section.keys)
    if section.listed:
        said = ["- " + screen.filled(text, "  ").removeprefix("  ") for text in section.texts]
    else:
        said = [paragraph(text, screen) for text in section.texts]
    title = f"{section.title}\n" if titled and section.title else ""
    return "\n".join(part for part in (title, shown, *said) if part)


def paragraph(text: str, screen: Screen) -> str:
    """A text, each of its lines in as many as the screen needs."""
    return "\n".join(screen.filled(line) for line in text.split("\n"))


def rendered_answer(
    command: str,
    about: str,
    headline: str,
    sections: Iterable[Section],
    notes: Sequence[str],
    output: str,
    document: Callable[[], Mapping[str, Any]],
    *,
    titled: bool = False,
) -> Iterator[str]:
    """An answer in pieces; output: html, json, yaml, or any other for a table on standard output.

    about: by what was decided. headline: the answer in a sentence. document: makes what JSON and YAML have, instead of
    the sections and notes. titled: see ``section_text``.
    """
    if output in ("json", "yaml"):
        yield document_text(document(), output)
        return
    every = list(sections)
    if output == "html":
        from kubescheduler.report.single_file import answer_page

        yield answer_page(f"kubescheduler {command}", about, headline, every, notes)
        return
    screen = screen_of(sys.stdout)
    yield noted(notes, screen)
    parts = (section_text(section, screen, titled=titled) for section in every)
    yield "\n\n".join([screen.paint(paragraph(headline, screen), "head"), *filter(None, parts)]) + "\n"


def echo(pieces: Iterable[str]) -> None:
    """Prints an answer that comes in pieces."""
    import click

    for piece in pieces:
        click.echo(piece, nl=False)


def headed(kind: str, notes: Sequence[str], /, **said: Any) -> dict[str, Any]:
    """A document of a kind; where there are notes on all of it, it ends with them."""
    return {"kind": kind, **said, **({"notes": list(notes)} if notes else {})}


def list_document(head: Mapping[str, Any], items: Iterable[Any], output: str) -> Iterator[str]:
    """``head`` and under ``items`` a list, as text in pieces. output: json or yaml.

    An item is plain data, and may be or hold JSON as it is (``msgspec.Raw``). Nothing comes before the first item is
    there: an error that keeps it from being made leaves no beginning of an answer.
    """
    items = iter(items)
    begun = list(islice(items, 1))
    return (_json if output == "json" else _yaml)(head, chain(begun, items))


def _json(head: Mapping[str, Any], items: Iterable[Any]) -> Iterator[str]:
    yield _indented(head, 0).removesuffix("\n}") + ',\n  "items": ['
    separator = "\n    "
    for item in items:
        yield separator + _indented(item, 4)
        separator = ",\n    "
    yield "\n  ]\n}\n" if separator.startswith(",") else "]\n}\n"


def _indented(value: Any, by: int) -> str:
    return json_text(value, 2).replace("\n", "\n" + " " * by)


def _yaml(head: Mapping[str, Any], items: Iterable[Any]) -> Iterator[str]:
    dump = yaml_dumper()
    yield dump(head)
    first = True
    for item in items:
        plain = msgspec.json.decode(msgspec.json.encode(item))
        yield ("items:\n" if first else "") + dump([plain])
        first = False
    if first:
        yield "items: []\n"


def document_text(document: Any, output: str) -> str:
    """A document as json or yaml, its end included; records are shown as data."""
    if output == "json":
        return json_text(document, 2) + "\n"
    return yaml_dumper()(msgspec.json.decode(msgspec.json.encode(document)))
