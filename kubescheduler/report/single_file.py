"""What a command answers, part by part, and a page as one HTML file that needs nothing else, no network and no server.

A ``Section`` is shown as text on a terminal, or on a page; some that both a command and the lab have are here. ``page``
makes each page; a content security policy lets nothing but its own styles and scripts take part. Then follow what pages
of comparisons show of pods, as plain data for ``report_detail.js``, and the page of a command's answer: a headline,
tables in sections, details behind a press, without a script.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec

from kubescheduler.sources.untrusted import escaped, json_shown

if TYPE_CHECKING:
    from kubescheduler.comparison.outcomes import Contribution, HostChange, Outcome
    from kubescheduler.planning.drain_order import Drain
    from kubescheduler.planning.outage import Outage


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


DRAIN_STATUS = ("all pods that come back run again", "one fits nowhere, or a budget blocks")
OUTAGE_STATUS = ("everything runs again", "something does not")
"""What exit statuses 0 and 1 say, in the words of the commands' help."""


def drain_sections(answer: Drain) -> Iterator[Section]:
    """The order, if one was asked for, every pod, and what drain does not move."""
    from kubescheduler.planning.drain_order import STEPS
    from kubescheduler.planning.rehearsal import HEADER

    if steps := list(answer.steps()):
        yield Section("Order", [STEPS, *steps], gives_way=2, keys=2)
    if rows := list(answer.rows()):
        yield Section("Pods", [HEADER, *rows], gives_way=3, keys=3)
    if quiet := answer.quiet():
        yield Section("Besides", texts=quiet)


def outage_sections(found: Outage) -> Iterator[Section]:
    """Budgets and how full the others are, workloads that have fewer pods, and every pod."""
    from kubescheduler.planning.outage import WORKLOADS
    from kubescheduler.planning.rehearsal import HEADER

    if quiet := found.quiet():
        yield Section("In the end", texts=quiet)
    if workloads := found.workload_rows():
        yield Section("Workloads", [WORKLOADS, *workloads], gives_way=len(WORKLOADS) - 1, keys=1)
    if rows := list(found.rows()):
        yield Section("Pods", [HEADER, *rows], gives_way=3, keys=3)


UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Inside a JSON string the escape means the same; outside of strings none of them occurs."""

MARK = re.compile(r"\{\{ (\w+) \}\}")
FRAME = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{{ title }}</title>
<link rel="icon" href="data:,">
<style>{{ style }}</style>
</head>
<body>
{{ body }}{{ scripts }}
</body>
</html>
"""
"""Around what is a template's own."""


def page(template: str, styles: Sequence[str], scripts: Sequence[str], parts: Mapping[str, str]) -> str:
    """A whole document of files beside this one. template: what is in its body. parts: what stands in the template's
    places, as HTML; its styles, its scripts and the policy that lets nothing else take part are filled in here."""
    style, ran = "".join(map(_asset, styles)), [_asset(name) for name in scripts]
    filled = {
        **parts,
        "policy": _policy(style, ran),
        "style": style,
        "scripts": "".join(f"<script>{script}</script>" for script in ran),
    }
    whole = FRAME.replace("{{ body }}", _asset(template))
    return escaped(MARK.sub(lambda mark: filled[mark[1]], whole))


def embedded(data: Any) -> str:
    """As JSON that can stand in a ``<script type="application/json">`` whatever names it holds."""
    text = msgspec.json.encode(data).decode()
    for character, written in UNSAFE.items():
        text = text.replace(character, written)
    return json_shown(text)


def facts_list(facts: Iterable[tuple[str, str, str]]) -> str:
    """What most readers came for: each what it is, its number and a note."""
    cells = "".join(
        f"<div><dt>{name}</dt><dd><b>{number}</b> {escape(note)}</dd></div>" for name, number, note in facts
    )
    return f'<dl class="facts">{cells}</dl>'


def cards(label: str, heads: str, rows: str, kind: str = "") -> str:
    """A table whose rows are cards where the screen is narrow. heads, rows: cells of the first row, and the others."""
    return (
        f'<table class="cards{kind}" role="table" aria-label="{escape(label)}"><thead role="rowgroup"><tr role="row">'
        f'{heads}</tr></thead><tbody role="rowgroup">{rows}</tbody></table>'
    )


def _asset(name: str) -> str:
    """The text of a file beside this one."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, scripts: list[str]) -> str:
    """Names the styles and scripts of this page by their digests; everything else is refused, addresses too."""
    runs = " ".join(script_digest(script) for script in scripts) or "'none'"
    return (
        f"default-src 'none'; style-src {script_digest(style)}; script-src {runs}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def script_digest(text: str) -> str:
    """Of a script or a style, as a policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


MOST_NAMES = 10
"""Tied nodes and evicted pods that are named; of the others only the number is kept. Thousands of nodes may tie."""

MOST_EXACT = 2**53 - 1


def outcome_data(outcome: Outcome) -> dict[str, Any]:
    """Where a pod goes, as report_detail.js shows it."""
    return _filled(
        {
            "host": outcome.host,
            "total": _exact(outcome.total),
            "tied": _some(outcome.tied) if len(outcome.tied) > 1 else None,
            "fits": outcome.fits,
            "nodes": outcome.nodes,
            "message": outcome.message,
            "error": outcome.error,
            "evicts": _some(outcome.evicts),
            "evictsFrom": outcome.evicts_from,
        }
    )


def change_data(
    change: HostChange, terms: dict[tuple[str | None, str | None], int], texts: dict[str, int]
) -> dict[str, Any]:
    """Why it goes elsewhere, as report_detail.js shows it; terms and texts that are new get the next number."""
    fields = {
        "text": change.text,
        "terms": [_term(term, terms, texts) for term in change.contributions],
        "steps": [[step.cause, step.names, _exact(step.by), _exact(step.lead)] for step in change.steps],
        "moves": None if change.moves is None else [change.moves.moved, change.moves.runs],
        "reasons": {check: list(texts) for check, texts in (change.evidence or change.reasons).items()},
    }
    return {
        "cause": change.cause,
        **_filled(fields),
        **(
            {"old": _exact(change.old_difference), "new": _exact(change.new_difference)} if change.contributions else {}
        ),
    }


def _term(term: Contribution, terms: dict[tuple[str | None, str | None], int], texts: dict[str, int]) -> list[Any]:
    number = terms.setdefault((term.old_name, term.new_name), len(terms))
    amounts = (term.old, term.new, term.old_weight, term.new_weight)
    scores = [pair and tuple(map(_exact, pair)) for pair in (term.old_scores, term.new_scores)]
    evidence = [
        [[texts.setdefault(sentence, len(texts)) for sentence in pair] for pair in side]
        for side in (term.old_evidence, term.new_evidence)
    ]
    return [number, *map(_exact, amounts), *scores, *(evidence if any(evidence) else ())]


def _exact(value: int | None) -> int | str | None:
    """As text where a script's numbers would be rounded."""
    return value if value is None or abs(value) <= MOST_EXACT else str(value)


def _some(names: Iterable[str]) -> list[Any] | None:
    """[how many, the first of them]."""
    listed = list(names)
    return [len(listed), listed[:MOST_NAMES]] if listed else None


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in fields.items()
        if value is not None and value is not False and value not in ("", [], {})
    }


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
    table = cards(about, top, f"\n{body}") + more
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
