"""A comparison as one HTML file that needs nothing else: no network, no server.

Numbers and charts are written here; the table of pods is made by the page's own script from the data in the page. A
content security policy lets nothing but these very styles and scripts take part.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from html import escape
from importlib.resources import files

from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.headline import headline
from kubescheduler.comparison.outcomes import INDEPENDENT, SEQUENCE, Cause
from kubescheduler.comparison.workload_summaries import by_controller
from kubescheduler.report.html_data import embedded, payload
from kubescheduler.report.html_effects import histograms, nodes_moved, numbers, services
from kubescheduler.report.html_summary import causes, glance
from kubescheduler.report.html_workloads import workloads
from kubescheduler.sources.foreign_text import escaped

TEMPLATE, STYLE, SCRIPTS = "report.html", "report.css", ("report_detail.js", "report_address.js", "report.js")
MARK = re.compile(r"\{\{ (\w+) \}\}")

MODES_TOLD = {
    INDEPENDENT: "Every pod was decided on its own, on the same cluster.",
    SEQUENCE: "The pods were decided one after another; each scheduler ran on from its own earlier choices.",
}


def render(comparison: Comparison, tolerated: Collection[Cause] = (), advice: Sequence[str] = ()) -> str:
    """The whole document. The same comparison gives the same text. tolerated: causes that are marked so. advice: what
    can be done now."""
    style, scripts = _asset(STYLE), [_asset(name) for name in SCRIPTS]
    parts = {
        "policy": _policy(style, scripts),
        "title": escape(_title(comparison)),
        "style": style,
        "heading": _heading(comparison),
        "chooser": _chooser(comparison),
        "glance": _per_column(comparison, glance),
        "causes": _per_column(comparison, partial(causes, tolerated=tolerated)),
        "now": _advice(advice),
        "now_link": '<a href="#now">What now</a> ' if advice else "",
        "workloads": workloads(comparison),
        "workloads_link": '<a href="#workloads">Workloads</a> ' if by_controller(comparison.pods) else "",
        "numbers": numbers(comparison),
        "histograms": histograms(comparison),
        "nodes": _per_column(comparison, nodes_moved),
        "services": services(comparison),
        "old": escape(comparison.titles[0]),
        "data": embedded(payload(comparison)),
        "scripts": "".join(f"<script>{script}</script>" for script in scripts),
    }
    return escaped(MARK.sub(lambda mark: parts[mark[1]], _asset(TEMPLATE)))


def _advice(lines: Sequence[str]) -> str:
    """A section with what can be done; empty where nothing differs."""
    if not lines:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<section aria-labelledby="now">\n<h2 id="now">What now</h2>\n<ul class="now">{items}</ul>\n</section>'


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, scripts: list[str]) -> str:
    """Names the styles and scripts of this page by their digests; everything else is refused, addresses too."""
    runs = " ".join(_digest(script) for script in scripts)
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {runs}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _title(comparison: Comparison) -> str:
    return f"{' → '.join(comparison.titles)}: {headline(comparison)}"


def _heading(comparison: Comparison) -> str:
    old, *new = (
        f"<b>{escape(name)}</b>" + (f" <small>release {escape(release)}</small>" if release not in name else "")
        for name, release in zip(comparison.titles, comparison.releases, strict=True)
    )
    notes = "".join(f'<p role="alert"><strong>{escape(note)}</strong></p>' for note in comparison.notes)
    return f"<h1>{old} → {', '.join(new)}</h1><p>{MODES_TOLD.get(comparison.mode, escape(comparison.mode))}</p>{notes}"


def _chooser(comparison: Comparison) -> str:
    """Which new column is looked at; nothing where there is one only."""
    if len(comparison.titles) <= 2:
        return ""
    choices = "".join(
        f'<label><input type="radio" name="column" value="{at}"{" checked" if at == 0 else ""}> {escape(name)}</label>'
        for at, name in enumerate(comparison.titles[1:])
    )
    old = escape(comparison.titles[0])
    return f'<fieldset id="chooser" class="chooser"><legend>Compare {old} with</legend>{choices}</fieldset>'


def _per_column(comparison: Comparison, part: Callable[[Comparison, int], str]) -> str:
    """The part for each new column; the script shows one at a time."""
    several = len(comparison.titles) > 2
    return "".join(
        f'<div data-column="{at}">{f"<h3>{escape(name)}</h3>" if several else ""}{part(comparison, at)}</div>'
        for at, name in enumerate(comparison.titles[1:])
    )
