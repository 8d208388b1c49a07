"""The part of the report on the cluster: its numbers, how full its nodes are, which gain pods, how services spread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape

from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.effects import Effects, ServiceSpread
from kubescheduler.report.html_charts import binned, diverging, histogram, zone_bars

FIRST_RESOURCES = ("cpu", "memory")
MOST_RESOURCES = 4
MOST_NODES = 12
MOST_SERVICES = 30
LONGEST_WORD = 24
"""Characters of a heading that stay in one line."""
MOST_ZONES = 12
"""Drawn and written out; of more only the skew is shown."""

Row = tuple[str, list[str]]
"""Heading, one text per column."""


def numbers(comparison: Comparison) -> str:
    """The table of the cluster's numbers: a row per measure, a column per configuration."""
    columns = [comparison.before, *comparison.effects]
    heads = ["as it runs" if runs_already(comparison) else "without the pods", *comparison.titles]
    rows = "".join(
        f'<tr><th scope="row">{escape(head)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for head, cells in _rows(columns, comparison)
    )
    top = "".join(map(head_cell, heads))
    return boxed("Numbers of the cluster", f'<thead><tr><th scope="col">Measure</th>{top}</tr></thead>', rows)


def runs_already(comparison: Comparison) -> bool:
    """Whether some of the pods run in the cluster."""
    return any(pod.runs_on is not None for pod in comparison.pods)


def _rows(columns: Sequence[Effects], comparison: Comparison) -> Iterator[Row]:
    def row(head: str, value: Callable[[Effects], str]) -> Row:
        return head, [value(column) for column in columns]

    placed = row("pods placed", lambda e: f"{e.placed:,}")
    unplaced = row("pods without a node", lambda e: f"{e.unplaced:,}")
    for head, (before, *cells) in (placed, unplaced):
        yield head, [before if runs_already(comparison) else "–", *cells]
    if any(e.evicted for e in columns):
        yield row("pods evicted", lambda e: f"{e.evicted:,}")
    yield row("nodes used", lambda e: f"{e.nodes_used:,} of {len(e.nodes):,}")
    yield row("pods on the fuller half of the nodes", lambda e: f"{e.fullest_half:.0%}")
    if any(e.daemons for e in columns):
        yield row("pods of DaemonSets and static pods, not counted above", lambda e: f"{e.daemons:,}")
    for resource in resources(comparison):
        found = [next((u for u in e.utilisation if u.resource == resource), None) for e in columns]
        for name, text in (
            ("mean", [f"{u.mean:.1%}" if u else "–" for u in found]),
            ("least to most", [f"{u.least:.0%} to {u.most:.0%}" if u else "–" for u in found]),
            ("deviation", [f"{u.deviation:.1%}" if u else "–" for u in found]),
        ):
            yield f"{resource}, {name}", text


def resources(comparison: Comparison) -> list[str]:
    """Cpu and memory first, then the others that some node has."""
    found = dict.fromkeys(u.resource for effects in comparison.effects for u in effects.utilisation)
    rest = [name for name in found if name not in FIRST_RESOURCES]
    return [*(name for name in FIRST_RESOURCES if name in found), *rest][:MOST_RESOURCES]


def histograms(comparison: Comparison) -> str:
    """Per resource one histogram of the nodes for each column, all of one scale."""
    parts = []
    for resource in resources(comparison):
        counts = [binned([n.used[resource] for n in e.nodes if resource in n.used]) for e in comparison.effects]
        highest = max((max(c) for c in counts), default=0)
        figures = []
        for at, (name, found) in enumerate(zip(comparison.titles, counts, strict=True)):
            mean = next((u.mean for u in comparison.effects[at].utilisation if u.resource == resource), None)
            chart = histogram(f"{resource} under {name}, nodes", found, highest, "new" if at else "old", mean)
            note = "" if mean is None else f" <span>mean {mean:.1%}</span>"
            figures.append(f"<figure><figcaption>{escape(name)}{note}</figcaption>{chart}</figure>")
        parts.append(f"<h4>{escape(resource)}</h4><div class='figures'>{''.join(figures)}</div>")
    return "".join(parts)


def nodes_moved(comparison: Comparison, column: int) -> str:
    """The nodes that gain or lose most pods in one new column."""
    old = {node.name: node.pods for node in comparison.effects[0].nodes}
    new = {node.name: node.pods for node in comparison.effects[column + 1].nodes}
    names = [*old, *(name for name in new if name not in old)]
    deltas = [(new.get(name, 0) - old.get(name, 0), name) for name in names]
    changed = sorted(((d, name) for d, name in deltas if d), key=lambda pair: (-abs(pair[0]), pair[1]))
    if not changed:
        return "<p>Every node has as many pods as before.</p>"
    reach = abs(changed[0][0])
    items = "".join(
        f'<li class="line"><span class="name">{escape(name)}</span>{diverging(delta, reach)}'
        f'<span class="amount">{old.get(name, 0)} → {new.get(name, 0)} ({signed(delta)})</span></li>'
        for delta, name in changed[:MOST_NODES]
    )
    more = _more(len(changed) - MOST_NODES, "more node changes", "more nodes change")
    return f'<ul class="bars">{items}</ul>{more}'


def services(comparison: Comparison) -> str:
    """The services that some column spreads otherwise, those first whose skew changes most; closed at first, as there
    may be many."""
    found = [{s.service: s for s in effects.spread} for effects in comparison.effects]
    names = list(dict.fromkeys(name for column in found for name in column))
    rows = [(name, [column.get(name) for column in found]) for name in names]
    differ = sorted(
        (row for row in rows if len({_shape(s) for s in row[1]}) > 1), key=lambda row: (-_change(row[1]), row[0])
    )
    same = _more(len(rows) - len(differ), "service spreads as before", "services spread as before")
    if not differ:
        return f"<h3>Spread of services</h3>{same or '<p>The cluster has no services with pods.</p>'}"
    top = "".join(head_cell(name) for name in comparison.titles)
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(_cells(spreads))}</tr>'
        for name, spreads in differ[:MOST_SERVICES]
    )
    more = _more(len(differ) - MOST_SERVICES, "more service differs", "more services differ")
    head = f'<thead><tr><th scope="col">Service</th>{top}</tr></thead>'
    number = f"{len(differ):,} {'service is' if len(differ) == 1 else 'services are'} spread differently"
    return (
        f"<details><summary><h3>Spread of services</h3> {number}</summary>"
        '<p class="hint">Pods per zone, and the skew: most minus least over the zones.</p>'
        f"{boxed('Spread of services', head, body)}{more}</details>{same}"
    )


def _cells(spreads: Sequence[ServiceSpread | None]) -> Iterator[str]:
    highest = max((max(s.zones.values(), default=0) for s in spreads if s), default=0)
    for at, spread in enumerate(spreads):
        if spread is None:
            yield "<td>–</td>"
            continue
        skew = f"zone skew {spread.zone_skew}, on {spread.hosts} {'node' if spread.hosts == 1 else 'nodes'}"
        if not spread.zones or len(spread.zones) > MOST_ZONES:
            yield f"<td>{skew}</td>"
            continue
        told = " · ".join(f"<span>{escape(zone) or '(none)'}&nbsp;{pods}</span>" for zone, pods in spread.zones.items())
        yield f"<td>{zone_bars(spread.zones, highest, 'new' if at else 'old')} {told}<br>{skew}</td>"


def _shape(spread: ServiceSpread | None) -> object:
    return spread and (tuple(spread.zones.items()), spread.hosts, spread.host_skew)


def _change(spreads: Iterable[ServiceSpread | None]) -> int:
    skews = [spread.zone_skew for spread in spreads if spread]
    return max(skews) - min(skews)


def head_cell(text: str) -> str:
    """The heading of a column. It breaks between words, and inside of one only where that is very long."""
    long = any(len(word) > LONGEST_WORD for word in text.split())
    return f'<th scope="col"{" class=long" if long else ""}>{escape(text)}</th>'


def boxed(caption: str, head: str, body: str) -> str:
    """A table that scrolls inside its own box where the screen is narrow."""
    table = f"<table>{head}<tbody>{body}</tbody></table>"
    return f'<div class="box" role="region" aria-label="{caption}" tabindex="0">{table}</div>'


def _more(count: int, one: str, several: str) -> str:
    return f"<p>{count:,} {one if count == 1 else several}.</p>" if count > 0 else ""


def signed(value: int) -> str:
    """With a real minus sign."""
    return f"+{value:,}" if value > 0 else f"{value:,}".replace("-", "−")
