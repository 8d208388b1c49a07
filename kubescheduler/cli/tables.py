"""Tables as kubectl prints them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubescheduler.cli.terminal.screen import PLAIN, UNBROKEN, Screen, Toned, columns, tone_of, wrapped
from kubescheduler.sources.foreign_text import one_line

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
