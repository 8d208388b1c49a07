"""What a command answered as one HTML file: a headline, tables in sections, details behind a press.

It needs nothing else: no network, no server, and no script. All that names come from elsewhere is escaped here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from kubescheduler.report.sections import Section
from kubescheduler.report.single_file import page

MOST_ROWS = 2000
"""Rows of a table that are shown; a browser is slow with more."""
NUMBER = frozenset("0123456789.,%+-− ()")
DETAILS = "Details"
LONGEST_WORD = 32
"""Characters of a word that stay in one line where there is room."""
WIDE = 8
"""Columns of a table that scrolls where it has no room."""
_HUMP = re.compile("(?<=[a-z])(?=[A-Z])")
"""Where the name of a rule can be broken."""


def answer_page(command: str, about: str, headline: str, sections: Sequence[Section], notes: Iterable[str]) -> str:
    """The whole document. The same answer gives the same text.

    command: whose answer it is. about: by what was decided. headline: the answer in a sentence.
    """
    titles = [section.title for section in sections if section.title and not section.detail]
    titles += [DETAILS] * any(section.detail for section in sections)
    links = "".join(f'<a href="#part-{at}">{escape(title)}</a> ' for at, title in enumerate(titles))
    parts = {
        "title": escape(f"{command}: {headline}"),
        "about": escape(f"{command}, {about}"),
        "headline": escape(headline),
        "notes": "".join(f'<p role="note" class="note">{escape(note)}</p>' for note in notes),
        "nav": f'<nav aria-label="Sections">{links}</nav>' if len(titles) > 1 else "",
        "sections": "\n".join(_parts(sections)),
    }
    return page("answer.html", ("report.css", "answer.css"), (), parts)


def _parts(sections: Sequence[Section]) -> Iterator[str]:
    """What is shown at once first, each title with the address that the links above name."""
    number, about = 0, ""
    for section in (each for each in sections if not each.detail):
        if section.title:
            yield f'<h2 id="part-{number}">{escape(section.title)}</h2>'
            number, about = number + 1, section.title
        yield from _inside(section, about)
    details = [each for each in sections if each.detail]
    if details:
        yield f'<h2 id="part-{number}">{DETAILS}</h2>'
    for section in details:
        inside = "".join(_inside(section, section.title))
        yield f'<details class="fold"><summary>{escape(section.title)}</summary>{inside}</details>'


def _inside(section: Section, about: str) -> Iterator[str]:
    if section.rows:
        yield _table(section, about)
    if section.texts and section.listed:
        yield f"<ul>{''.join(f'<li>{_lines(text)}</li>' for text in section.texts)}</ul>"
    else:
        yield from map(_paragraph, section.texts)
    if section.code:
        yield f'<pre tabindex="0" aria-label="{escape(about)}">{escape(section.code)}</pre>'


def _table(section: Section, about: str) -> str:
    """A row is a card where the screen is narrow, each cell behind its heading."""
    heads, *rows = section.rows
    names = [head.capitalize() if head.isupper() else head for head in heads]
    shown = rows[:MOST_ROWS]
    numbers = [all(row[at] and NUMBER.issuperset(row[at]) for row in shown) for at in range(len(heads))]
    kinds = [_kind(rows, at, number) for at, number in enumerate(numbers)]
    top = "".join(
        f'<th scope="col" role="columnheader"{kind}>{_HUMP.sub("<wbr>", escape(name))}</th>'
        if name
        else f'<td role="cell"{kind}></td>'
        for name, kind in zip(names, kinds, strict=True)
    )
    body = "".join(f'<tr role="row">{"".join(_cells(row, names, kinds))}</tr>\n' for row in shown)
    more = f"<p>{len(rows) - MOST_ROWS:,} more rows are not shown; -o json has all.</p>" * (len(rows) > MOST_ROWS)
    table = (
        f'<table class="cards" role="table" aria-label="{escape(about)}"><thead role="rowgroup"><tr role="row">{top}'
        f'</tr></thead><tbody role="rowgroup">\n{body}</tbody></table>{more}'
    )
    if len(heads) < WIDE:
        return table
    return f'<div class="box" role="region" aria-label="{escape(about)}, columns" tabindex="0">{table}</div>'


def _kind(rows: Sequence[Sequence[str]], at: int, number: bool) -> str:
    """The classes of a column's cells."""
    whole = all(len(word) <= LONGEST_WORD for row in rows for word in (row[at].split() if at else [row[at]]))
    names = " ".join(["number"] * number + ["whole"] * whole)
    return f' class="{names}"' if names else ""


def _cells(row: Sequence[str], names: Sequence[str], kinds: Sequence[str]) -> Iterator[str]:
    """The first says what the row is about; of the others those that say something have their heading beside them."""
    for at, (text, name, kind) in enumerate(zip(row, names, kinds, strict=True)):
        if at == 0:
            yield f'<th scope="row" role="rowheader"{kind}>{escape(text)}</th>'
        else:
            label = f' data-label="{escape(name)}"' if name and text else ""
            yield f'<td role="cell"{kind}{label}>{_lines(text)}</td>'


def _paragraph(text: str) -> str:
    if text.startswith("! "):
        return f'<p role="note" class="note">{_lines(text.removeprefix("! "))}</p>'
    return f"<p>{_lines(text)}</p>"


def _lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")
