"""A comparison as one HTML file that needs nothing else: no network, no server.

Numbers and charts are written here; the table of pods is made by the page's own script from the data in the page. A
content security policy lets nothing but these very styles and scripts take part.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

from kubescheduler.comparison.comparison import ALONE, Comparison, WorkloadSummary, by_controller, headline
from kubescheduler.comparison.effects import Effects, ServiceSpread
from kubescheduler.comparison.outcomes import INDEPENDENT, SEQUENCE, Cause
from kubescheduler.report.single_file import cards, change_data, embedded, facts_list, outcome_data, page

BINS = 10
WIDTH, HEIGHT, TOP, BOTTOM, SIDE = 340, 130, 18, 18, 6
ZONE_WIDTH, ZONE_HEIGHT = 12, 24
DIGIT, LABEL = 7.5, 15
"""Room for a digit above a bar, wide and high."""
FULL = 1.0 + 1e-9
"""Above it a node is more than full."""


def bar(value: float, highest: float) -> str:
    """A bar from the left, as long as the share of the highest. The number stands beside it."""
    width = 100 * value / highest if highest else 0.0
    return _stretched(f'<rect class="new" width="{_n(width)}" height="10"/>')


def diverging(value: float, reach: float) -> str:
    """A bar from the middle: to the right above zero, to the left below. reach: the highest amount there is."""
    width = 50 * abs(value) / reach if reach else 0.0
    left = 50.0 if value >= 0 else 50 - width
    rect = f'<rect class="{"new" if value >= 0 else "old"}" x="{_n(left)}" width="{_n(width)}" height="10"/>'
    return _stretched(f'{rect}<path class="axis" d="M50 0V10"/>')


def _stretched(shapes: str) -> str:
    return f'<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{shapes}</svg>'


def binned(shares: Sequence[float]) -> list[int]:
    """How many are in each tenth of 0 to 1, and last how many are above 1."""
    counts = [0] * (BINS + 1)
    for share in shares:
        counts[BINS if share > FULL else min(int(share * BINS), BINS - 1)] += 1
    return counts


def bin_name(at: int) -> str:
    """``20–30%``; the last is ``over 100%``."""
    width = 100 // BINS
    return f"{at * width}–{(at + 1) * width}%" if at < BINS else "over 100%"


def histogram(label: str, counts: Sequence[int], highest: int, kind: str, mean: float | None = None) -> str:
    """Bars of nodes per bin, of one scale with its neighbours.

    counts: of ``binned``. highest: of all histograms of the same resource. mean: where a mark is drawn, 1.0 is full.
    """
    told = ", ".join(f"{count} at {bin_name(at)}" for at, count in enumerate(counts) if count) or "no nodes"
    step = (WIDTH - 2 * SIDE) / len(counts)
    floor = HEIGHT - BOTTOM
    parts = [
        f'<svg class="histogram" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(f"{label}: {told}")}">',
        f'<path class="axis" d="M{SIDE} {floor}H{WIDTH - SIDE}"/>',
    ]
    for at, count in enumerate(counts):
        left, height = SIDE + at * step, (floor - TOP) * count / max(highest, 1)
        if count:
            parts.append(
                f'<rect class="{kind}" x="{_n(left + 1)}" y="{_n(floor - height)}" width="{_n(step - 2)}" '
                f'height="{_n(height)}"><title>{bin_name(at)}: {count}</title></rect>'
                f'<text x="{_n(left + step / 2)}" y="{_n(floor - height - 3)}" text-anchor="middle">{count}</text>'
            )
    for at in (0, 5) if counts[BINS] else (0, 5, 10):
        anchor = "start" if at == 0 else "middle"
        parts.append(
            f'<text x="{_n(SIDE + at * step)}" y="{HEIGHT - 4}" text-anchor="{anchor}">{at * 100 // BINS}%</text>'
        )
    if counts[BINS]:
        parts.append(f'<text x="{WIDTH - SIDE}" y="{HEIGHT - 4}" text-anchor="end">over 100%</text>')
    if mean is not None:
        x = SIDE + min(mean, 1.0) * BINS * step
        line = "".join(f"M{_n(x)} {_n(top)}V{_n(bottom)}" for top, bottom in mean_line(counts, highest, x))
        parts.append(f'<path class="mean" d="{line}"><title>mean {mean:.0%}</title></path>')
    return "".join([*parts, "</svg>"])


def mean_line(counts: Sequence[int], highest: int, x: float) -> list[tuple[float, float]]:
    """The parts of an upright line at ``x``, (top, bottom) from above: it leaves the numbers above the bars alone."""
    step, floor = (WIDTH - 2 * SIDE) / len(counts), HEIGHT - BOTTOM
    gaps = []
    for at, count in enumerate(counts):
        reach = DIGIT * len(str(count)) / 2 + 2
        if count and abs(SIDE + (at + 0.5) * step - x) <= reach:
            bar_top = floor - (floor - TOP) * count / max(highest, 1)
            gaps.append((bar_top - LABEL, bar_top - 1))
    parts, top = [], float(TOP - LABEL)
    for start, end in sorted(gaps):
        if start > top:
            parts.append((top, start))
        top = max(top, end)
    return [*parts, (top, float(floor))]


def zone_bars(zones: Mapping[str, int], highest: int, kind: str) -> str:
    """One small bar per zone, in the order given. The numbers stand beside it."""
    width = max(1, len(zones)) * ZONE_WIDTH
    parts = [
        f'<rect class="{kind}" x="{at * ZONE_WIDTH + 1}" y="{_n(ZONE_HEIGHT * (1 - pods / max(highest, 1)))}" '
        f'width="{ZONE_WIDTH - 2}" height="{_n(ZONE_HEIGHT * pods / max(highest, 1))}"/>'
        for at, pods in enumerate(zones.values())
    ]
    parts.append(f'<path class="axis" d="M0 {ZONE_HEIGHT}H{width}"/>')
    size = f'viewBox="0 0 {width} {ZONE_HEIGHT + 1}" width="{width}" height="{ZONE_HEIGHT + 1}"'
    return f'<svg class="zones" {size} aria-hidden="true">{"".join(parts)}</svg>'


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def payload(comparison: Comparison) -> dict[str, Any]:
    """Plain data. What is empty is left out; a contribution is a list that begins with the number of its term, and ends
    with what its scores were made of, as numbers of ``texts``."""
    terms: dict[tuple[str | None, str | None], int] = {}
    texts: dict[str, int] = {}
    pods = [
        {
            "pod": pod.pod,
            "outcomes": [outcome_data(outcome) for outcome in pod.outcomes],
            "changes": [change_data(change, terms, texts) for change in pod.changes],
            **({} if pod.workload.startswith(ALONE) else {"workload": pod.workload}),
            **({} if pod.runs_on is None else {"runsOn": pod.runs_on}),
        }
        for pod in comparison.pods
    ]
    return {
        "names": comparison.titles,
        "meanings": {cause.value: cause.meaning for cause in Cause},
        "terms": list(terms),
        "texts": list(texts),
        "pods": pods,
    }


DAEMONS = ", by other than DaemonSet and static pods"


def glance(comparison: Comparison, column: int) -> str:
    """The numbers that most readers came for."""
    return facts_list(_facts(comparison, column))


def _facts(comparison: Comparison, column: int) -> Iterator[tuple[str, str, str]]:
    pods = comparison.pods
    moved = sum(pod.changes[column].moved for pod in pods)
    hosts = [(pod.outcomes[0].host, pod.outcomes[column + 1].host) for pod in pods]
    chance = sum(pod.changes[column].cause is Cause.COULD_HAVE_BEEN for pod in pods)
    refused = sum(pod.changes[column].cause is Cause.DIFFERENT_REASONS for pod in pods)
    evicting = sum(pod.changes[column].cause is Cause.DIFFERENT_VICTIMS for pod in pods)
    lost = sum(old is not None and new is None for old, new in hosts)
    placed = sum(old is None and new is not None for old, new in hosts)
    old, new = comparison.effects[0], comparison.effects[column + 1]
    yield "pods compared", f"{len(pods):,}", ""
    yield "go elsewhere", f"{moved:,}", f"of {len(pods):,}, {moved / len(pods):.0%}" if pods else ""
    yield (
        "without a node",
        f"{sum(host is None for host, _ in hosts):,} → {sum(host is None for _, host in hosts):,}",
        f"{lost:,} newly without, {placed:,} newly placed" if lost or placed else "",
    )
    if chance:
        yield "could have been", f"{chance:,}", "on one of the old scheduler's equal best"
    if ties := sum(pod.changes[column].cause is Cause.DIFFERENT_TIES for pod in pods):
        yield "other equal best", f"{ties:,}", "the same node by name"
    if refused:
        yield "refused otherwise", f"{refused:,}", "no node before and now, for different reasons"
    if evicting:
        yield "evict other pods", f"{evicting:,}", ""
    yield (
        "nodes used",
        f"{old.nodes_used:,} → {new.nodes_used:,}",
        f"of {len(new.nodes):,}{DAEMONS * bool(new.daemons)}",
    )
    if old.evicted or new.evicted:
        yield "pods evicted", f"{old.evicted:,} → {new.evicted:,}", ""
    if errors := sum(pod.changes[column].cause is Cause.ERROR for pod in pods):
        yield "not compared", f"{errors:,}", "an error ended an attempt"


def causes(comparison: Comparison, column: int, tolerated: Collection[Cause] = ()) -> str:
    """A button per cause with its bar, the most frequent first and ``same`` last."""
    counts = comparison.summary[column]
    moved = [(cause, count) for cause, count in counts.items() if cause is not Cause.SAME]
    same = [(Cause.SAME, counts[Cause.SAME])] if Cause.SAME in counts else []
    none = "" if moved else "<p>Every pod goes where it went.</p>"
    highest = max((count for _, count in moved), default=0)
    items = "".join(f"<li>{_button(cause, count, highest, cause in tolerated)}</li>" for cause, count in moved + same)
    return f'{none}<ul class="bars">{items}</ul>'


def _button(cause: Cause, count: int, highest: int, tolerated: bool) -> str:
    drawn = "" if cause is Cause.SAME else bar(count, highest)
    meaning = escape(cause.meaning) + " (tolerated)" * tolerated
    return (
        f'<button type="button" data-cause="{cause}" aria-pressed="false">'
        f'<span class="name"><b>{cause}</b> <span>{meaning}</span></span>{drawn}'
        f'<span class="amount">{count:,}</span></button>'
    )


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
        for head, cells in _number_rows(columns, comparison)
    )
    top = "".join(map(head_cell, heads))
    return boxed("Numbers of the cluster", f'<thead><tr><th scope="col">Measure</th>{top}</tr></thead>', rows)


def runs_already(comparison: Comparison) -> bool:
    """Whether some of the pods run in the cluster."""
    return any(pod.runs_on is not None for pod in comparison.pods)


def _number_rows(columns: Sequence[Effects], comparison: Comparison) -> Iterator[Row]:
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
        uses = [next((u for u in e.utilisation if u.resource == resource), None) for e in columns]
        for name, text in (
            ("mean", [f"{u.mean:.1%}" if u else "–" for u in uses]),
            ("least to most", [f"{u.least:.0%} to {u.most:.0%}" if u else "–" for u in uses]),
            ("deviation", [f"{u.deviation:.1%}" if u else "–" for u in uses]),
        ):
            yield f"{resource}, {name}", text


def resources(comparison: Comparison) -> list[str]:
    """Cpu and memory first, then the others that some node has."""
    names = dict.fromkeys(u.resource for effects in comparison.effects for u in effects.utilisation)
    rest = [name for name in names if name not in FIRST_RESOURCES]
    return [*(name for name in FIRST_RESOURCES if name in names), *rest][:MOST_RESOURCES]


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
        (row for row in rows if len({_shape(s) for s in row[1]}) > 1), key=lambda row: (-_gained(row[1]), row[0])
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


def _gained(spreads: Iterable[ServiceSpread | None]) -> int:
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


MOST_SHOWN = 10
"""Workloads that are shown at first; the others are a press away."""

HEADS = ("Workload", "Pods", "Go elsewhere", "Could have been", "Without a node", "Main cause")
ANYTHING = "pods of no workload"


def workloads(comparison: Comparison) -> str:
    """A section with a table for each new column; empty where no workload differs."""
    summaries = by_controller(comparison.pods)
    if not summaries:
        return ""
    tables = _per_column(comparison, lambda _, at: _table(summaries, at))
    return (
        '<section aria-labelledby="workloads">\n<h2 id="workloads">Workloads</h2>\n'
        f'<p class="hint screen">Choose a workload to see its pods.</p>\n{tables}\n</section>'
    )


def _table(found: tuple[WorkloadSummary, ...], column: int) -> str:
    """Of the workloads that differ in this column; those after the first ones are closed at first."""
    rows = [_workload_row(one, column) for one in found if one.changes[column].cause is not Cause.SAME]
    if not rows:
        return "<p>Every pod of a workload goes where it went.</p>"
    left = len(rows) - MOST_SHOWN
    if left <= 0:
        return _workload_table(rows)
    more = f"{left:,} more {'workload' if left == 1 else 'workloads'}"
    rest = f"<details><summary>{more}</summary>{_workload_table(rows[MOST_SHOWN:])}</details>"
    return _workload_table(rows[:MOST_SHOWN]) + rest


def _workload_table(rows: list[str]) -> str:
    """A table that is one card for each row where the screen is narrow."""
    heads = "".join(
        f'<th scope="col" role="columnheader"{" class=number" if head in HEADS[1:-1] else ""}>{head}</th>'
        for head in HEADS
    )
    return cards("Workloads", heads, "".join(rows), " workloads")


def _workload_row(found: WorkloadSummary, column: int) -> str:
    change = found.changes[column]
    unplaced = f"{found.unplaced:,}"
    if change.unplaced != found.unplaced:
        unplaced += f" → {change.unplaced:,}"
    share = f" ({change.causes[change.cause]:,})" if len(change.causes) > 1 else ""
    cells = (f"{found.pods:,}", f"{change.moved:,}", f"{change.could_have_been:,}", unplaced)
    numbers = "".join(
        f'<td role="cell" class="number" data-label="{head}">{cell}</td>'
        for head, cell in zip(HEADS[1:-1], cells, strict=True)
    )
    cause = f'<td role="cell" class="cause" data-label="{HEADS[-1]}">{change.cause}{share}</td>'
    return f'<tr role="row"><th scope="row" role="rowheader">{_name(found)}</th>{numbers}{cause}</tr>'


def _name(found: WorkloadSummary) -> str:
    """A button that leaves only its pods in the table below. In the data the pods of no workload have none."""
    name = f"{found.namespace}/{found.workload}" if found.workload else ""
    text = f"{escape(found.workload)} <small>{escape(found.namespace)}</small>" if name else ANYTHING
    return f'<button type="button" class="picks" data-workload="{escape(name)}" aria-pressed="false">{text}</button>'


TEMPLATE, STYLE, SCRIPTS = "report.html", "report.css", ("report_detail.js", "report_address.js", "report.js")

MODES_TOLD = {
    INDEPENDENT: "Every pod was decided on its own, on the same cluster.",
    SEQUENCE: "The pods were decided one after another; each scheduler ran on from its own earlier choices.",
}


def render(comparison: Comparison, tolerated: Collection[Cause] = (), advice: Sequence[str] = ()) -> str:
    """The whole document. The same comparison gives the same text. tolerated: causes that are marked so. advice: what
    can be done now."""
    parts = {
        "title": escape(f"{' → '.join(comparison.titles)}: {headline(comparison)}"),
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
    }
    return page(TEMPLATE, (STYLE,), SCRIPTS, parts)


def _advice(lines: Sequence[str]) -> str:
    """A section with what can be done; empty where nothing differs."""
    if not lines:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<section aria-labelledby="now">\n<h2 id="now">What now</h2>\n<ul class="now">{items}</ul>\n</section>'


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
