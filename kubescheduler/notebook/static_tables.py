"""Results as text, and as small HTML without scripts, links or fixed colours, which reads alike on light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubescheduler.core.results import ShownTable

LINE = "border-bottom:1px solid rgba(128,128,128,.35)"
CELL = "padding:.15em .8em .15em 0;vertical-align:top;"
NUMBER = CELL + "text-align:right;"
LEFT = CELL + "text-align:left;"
MARKED = "background:rgba(128,128,128,.18);font-weight:bold"


def html_page(title: str, *parts: str) -> str:
    """Parts under a title; ``title`` is text, the parts are HTML."""
    return f"<div><p><strong>{escape(title)}</strong></p>{''.join(parts)}</div>"


def html_text(text: str) -> str:
    """A paragraph; empty for no text. Line breaks are kept."""
    return f"<p>{escape(text).replace(chr(10), '<br>')}</p>" if text else ""


def html_table(
    header: Sequence[object], rows: Iterable[Sequence[object]], *, marked: int | None = None, caption: str = ""
) -> str:
    """A table of texts and numbers, every cell escaped; None is an empty cell. marked: the row that stands out."""
    head = "".join(f'<th style="{LEFT}{LINE}">{escape(str(name))}</th>' for name in header)
    body = "".join(
        f'<tr style="{MARKED if at == marked else ""}">{"".join(map(_cell, row))}</tr>' for at, row in enumerate(rows)
    )
    above = f'<caption style="text-align:left">{escape(caption)}</caption>' if caption else ""
    style = "border-collapse:collapse;background:transparent;color:inherit"
    return f'<table style="{style}">{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(value: object) -> str:
    style = NUMBER if isinstance(value, int | float) else LEFT
    return f'<td style="{style}">{"" if value is None else escape(str(value))}</td>'


# --- as text, and as either ------------------------------------------------------------------

WIDTH = 80
"""Columns of a line of text, unless one cell alone is wider."""
GAP = "  "


def table_text(shown: ShownTable) -> str:
    """Aligned columns, numbers to the right; the last column is broken where a line would be too long."""
    parts = [piece for line in shown.title.split("\n") for piece in wrap(line, WIDTH) or [""]]
    lines = [list(shown.header), *([_plain(value) for value in row] for row in shown.rows)] if shown.rows else []
    if lines:
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        left = sum(widths[:-1]) + len(GAP) * len(widths[:-1])
        numbers = [all(isinstance(row[at], int | float | None) for row in shown.rows) for at in range(len(widths))]
        for line in lines:
            first = [c.rjust(w) if n else c.ljust(w) for c, w, n in zip(line, widths, numbers, strict=True)]
            pieces = wrap(line[-1], max(WIDTH - left, 20), break_long_words=False) or [""]
            head = GAP.join(first[:-1]) + (GAP if first[:-1] else "")
            last = first[-1] if len(pieces) == 1 else pieces[0]
            parts.append((head + last).rstrip())
            parts += [" " * left + piece for piece in pieces[1:]]
    parts += wrap(shown.below, WIDTH)
    return "\n".join(parts)


def table_html(shown: ShownTable) -> str:
    """The same as a small static page."""
    table = html_table(shown.header, shown.rows, marked=shown.marked) if shown.rows else ""
    return html_page(shown.title, table, html_text(shown.below))


def _plain(value: object) -> str:
    return "" if value is None else str(value)
