"""Small HTML without scripts, links or fixed colours: it reads alike on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LINE = "border-bottom:1px solid rgba(128,128,128,.35)"
CELL = "padding:.15em .8em .15em 0;vertical-align:top;"
NUMBER = CELL + "text-align:right;"
LEFT = CELL + "text-align:left;"
MARKED = "background:rgba(128,128,128,.18);font-weight:bold"


def html_page(title: str, *parts: str) -> str:
    """Parts under a title; ``title`` is text, the parts are HTML."""
    return f"<div><p><strong>{_escaped(title)}</strong></p>{''.join(parts)}</div>"


def html_text(text: str) -> str:
    """A paragraph; empty for no text. Line breaks are kept."""
    return f"<p>{_escaped(text).replace(chr(10), '<br>')}</p>" if text else ""


def html_table(
    header: Sequence[object], rows: Iterable[Sequence[object]], *, marked: int | None = None, caption: str = ""
) -> str:
    """A table of texts and numbers, every cell escaped; None is an empty cell. marked: the row that stands out."""
    head = "".join(f'<th style="{LEFT}{LINE}">{_escaped(str(name))}</th>' for name in header)
    body = "".join(
        f'<tr style="{MARKED if at == marked else ""}">{"".join(map(_cell, row))}</tr>' for at, row in enumerate(rows)
    )
    above = f'<caption style="text-align:left">{_escaped(caption)}</caption>' if caption else ""
    style = "border-collapse:collapse;background:transparent;color:inherit"
    return f'<table style="{style}">{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(value: object) -> str:
    style = NUMBER if isinstance(value, int | float) else LEFT
    return f'<td style="{style}">{"" if value is None else _escaped(str(value))}</td>'


def _escaped(text: str) -> str:
    from html import escape

    return escape(text)
