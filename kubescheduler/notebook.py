"""Results in a notebook: as text and small HTML, and as columns for pandas and Arrow.

The HTML has no scripts, links or fixed colours, and reads alike on light and dark. Decisions, comparisons and
simulations follow what all pages are made of.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from clusterstate.errors import ConfigError, KubeSchedulerError
from kubescheduler.core.results import ShownTable

if TYPE_CHECKING:
    from kubescheduler.comparison.comparison import Comparison
    from kubescheduler.comparison.outcomes import HostChange
    from kubescheduler.comparison.release_steps import Timeline
    from kubescheduler.core.decision import Decision
    from kubescheduler.simulation.simulation_report import Report


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


MOST_NODES = 10
"""Scored nodes on a page, the best first."""
MOST_REASONS = 10
"""Reasons on a page, the most frequent first; of a decision, those that are shown with what they were made of."""
SHOWN_NODES, SHOWN_RULES, SHOWN_REASONS = 3, 8, 3
"""What has room in a decision's lines of text."""
MOST_NAMES = 3
"""Refused nodes that are named for one reason."""
MOST_PODS = 20
"""Pods on a comparison's page."""


# --- as columns ------------------------------------------------------------------------------

Columns = Mapping[str, Sequence[Any]]
"""Column → its values, all columns of one length; None is a missing value."""


def data_frame(columns: Columns, index: str) -> Any:
    """A pandas DataFrame with one of the columns as index. Raises ConfigError without pandas."""
    pandas = _package("pandas", "to_frame")
    made = {name: pandas.array(list(values), dtype=_dtype(values)) for name, values in columns.items()}
    return pandas.DataFrame(made).set_index(index)


def arrow_table(columns: Columns) -> Any:
    """A pyarrow Table. Raises ConfigError without pyarrow."""
    return _package("pyarrow", "to_arrow").table({name: list(values) for name, values in columns.items()})


def _dtype(values: Sequence[Any]) -> str:
    """The pandas type that keeps whole numbers whole where some are missing."""
    there = [value for value in values if value is not None]
    for kind, dtype in ((bool, "boolean"), (int, "Int64"), (float, "Float64")):
        if there and all(isinstance(value, kind) for value in there):
            return dtype
    return "object"


def _package(name: str, method: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{method} needs {name}, which is not installed: pip install 'kubescheduler[notebook]'"
        ) from error


# --- decisions -------------------------------------------------------------------------------


def decision_columns(decided: Decision) -> Columns:
    """Column → its value of every node: those that fit by total and name, then the refused ones by name."""
    totals, reasons = decided.total(), decided.reasons()
    fitting = sorted(decided.fits(), key=lambda name: (-totals.get(name, 0), name))
    nodes = [*fitting, *sorted(set(reasons) - set(fitting))]
    scores = {priority: decided.score(priority) for priority in decided.scores}
    return {
        "node": nodes,
        "fits": [name in set(fitting) for name in nodes],
        "chosen": [name == decided.host for name in nodes],
        "total": [totals.get(name) for name in nodes],
        **{priority: [values.get(name) for name in nodes] for priority, values in scores.items()},
        "reasons": ["; ".join(reasons.get(name, ())) or None for name in nodes],
    }


def decision_title(decided: Decision) -> str:
    """``default/web: worker-1 (5/7 nodes fit, release 1.36)``."""
    fit = f"{len(decided.fits())}/{decided.nodes_total} nodes fit" if decided.tried else "not tried"
    return f"{decided.pod.key.removeprefix('/')}: {decided.host or 'no node'} ({fit}, release {decided.release})"


def decision_text(decided: Decision) -> str:
    """A decision in 15 lines of text: its best nodes beside one another, with each rule's score and weight below."""
    totals = decided.total()
    order = sorted(totals, key=lambda name: (name != decided.host, -totals[name], name))[:SHOWN_NODES]
    weights = decided.weights
    scores = {f"{name} ×{weights.get(name, 1)}": decided.score(name) for name in decided.scores}
    telling = {name: by_node for name, by_node in scores.items() if any(by_node.get(node) for node in order)}
    rows: list[list[object]] = [[name, *map(by_node.get, order)] for name, by_node in telling.items()]
    more = [f"and {len(rows) - SHOWN_RULES + 1} more rules"] if len(rows) > SHOWN_RULES else []
    rows = rows[: SHOWN_RULES - 1] if more else rows
    if order:
        rows.append(["total", *map(totals.get, order)])
    if len(totals) > len(order):
        more.append(f"{len(totals) - len(order)} more nodes that fit")
    title = decision_title(decided)
    table = ShownTable(title, ["", *order], rows, "; ".join(more)) if order else ShownTable(title)
    counts = Counter("; ".join(texts) for texts in decided.reasons().values())
    refused = [(count, text) for text, count in counts.most_common()]
    few = refused if len(refused) <= SHOWN_REASONS else [*refused[: SHOWN_REASONS - 1], (None, "and other reasons")]
    lines = [f"{count or ''} {'nodes' if count != 1 else 'node'}: {text}" if count else text for count, text in few]
    return "\n".join([table.text(), *(line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…" for line in lines)])


def decision_html(decided: Decision) -> str:
    """A small static page of a decision."""
    return html_page(decision_title(decided), html_text(decided.message.rstrip()), _scores(decided), _refusals(decided))


def _scores(decided: Decision) -> str:
    totals = decided.total()
    if not totals:
        return ""
    order = sorted(totals, key=lambda name: (-totals[name], name != decided.host, name))
    shown = order[:MOST_NODES]
    if decided.host is not None and decided.host not in shown:
        shown[-1] = decided.host
    scores = {priority: decided.score(priority) for priority in decided.scores}
    header = ["node", *(f"{name} ×{decided.weights.get(name, 1)}" for name in scores), "total"]
    rows = [[name, *(values.get(name) for values in scores.values()), totals[name]] for name in shown]
    more = f"and {len(order) - len(shown)} more nodes that fit" if len(order) > len(shown) else ""
    chosen = shown.index(decided.host) if decided.host in shown else None
    return html_table(header, rows, marked=chosen) + html_text(more)


def _refusals(decided: Decision) -> str:
    reasons = decided.reasons()
    if not reasons:
        return ""
    counts = Counter("; ".join(texts) for texts in reasons.values())
    rows: list[list[object]] = []
    for text, count in counts.most_common():
        names = sorted(name for name, texts in reasons.items() if "; ".join(texts) == text)
        named = ", ".join(names[:MOST_NAMES]) + (" …" if count > MOST_NAMES else "")
        rows.append([count, text, named, _evidence(decided, names[0]) if len(rows) < MOST_REASONS else ""])
    return html_table(["nodes", "refused because", "such as", "where the first"], rows)


def _evidence(decided: Decision, node: str) -> str:
    """What the reasons on a node were made of; empty when the cluster has changed since."""
    try:
        return "; ".join(refusal.text for refusal in decided.why(node).refusals if refusal.text)
    except KubeSchedulerError:
        return ""


# --- comparisons -----------------------------------------------------------------------------


def comparison_columns(compared: Comparison) -> Columns:
    """Column → its value of every pod, in the pods' order."""
    pods = compared.pods
    return {
        "pod": [pod.pod for pod in pods],
        "moved": [pod.moved for pod in pods],
        **{f"host {name}": [pod.outcomes[at].host for pod in pods] for at, name in enumerate(compared.names)},
        **{f"cause {name}": [str(pod.changes[at].cause) for pod in pods] for at, name in enumerate(compared.names[1:])},
        **{f"moves {name}": [_share(pod.changes[at]) for pod in pods] for at, name in enumerate(_drawn(compared))},
    }


def _drawn(compared: Comparison) -> Sequence[str]:
    """The new columns, if there were runs that draw among equal totals; else nothing."""
    draws = any(change.moves is not None for pod in compared.pods for change in pod.changes)
    return compared.names[1:] if draws else ()


def _share(change: HostChange) -> float | None:
    return None if change.moves is None else change.moves.share


def comparison_html(compared: Comparison) -> str:
    """A small static page of a comparison."""
    moved = [pod for pod in compared.pods if pod.differs]
    total, elsewhere = len(compared.pods), sum(pod.moved for pod in compared.pods)
    title = f"{elsewhere} of {total} {'pod goes' if total == 1 else 'pods go'} elsewhere"
    if besides := len(moved) - elsewhere:
        title += f", {besides} more {'differs' if besides == 1 else 'differ'} or could not be compared"
    title += f" ({' → '.join(compared.names)})"
    said = [html_text(note) for note in compared.notes]
    rows = [
        [pod.pod, *(outcome.host or "no node" for outcome in pod.outcomes), *_whys(pod.changes)]
        for pod in moved[:MOST_PODS]
    ]
    header = ["pod", *compared.names, "cause", "why"]
    more = f"and {len(moved) - MOST_PODS} more" if len(moved) > MOST_PODS else ""
    return html_page(title, *said, html_table(header, rows) if rows else "", html_text(more))


def _whys(changes: Sequence[HostChange]) -> list[str]:
    """The cause and the sentence of every new column."""
    causes = [str(change.cause) for change in changes]
    return [", ".join(causes), " ".join(change.text for change in changes)]


def timeline_html(found: Timeline) -> str:
    """A small static page of the steps between releases: a row for each workload that moves and release at whose step
    it does, and what the changes are that move pods."""
    from kubescheduler.comparison.release_steps import headline
    from kubescheduler.releases.lookup import changes_between

    said = [html_text(note) for note in found.notes]
    rows: list[list[object]] = []
    for (namespace, workload), pods in found.workloads().items():
        steps = Counter(
            (move.release, move.old or "no node", move.new or "no node", ", ".join(move.changes) or str(move.cause))
            for pod in pods
            for move in pod.moves
        )
        back = sum(pod.came_back for pod in pods)
        for (release, old, new, why), count in sorted(steps.items(), key=lambda item: _step_order(found, item)):
            rows.append([f"{namespace}/{workload}".removeprefix("/"), release, count, old, new, why, back or None])
    header = ["workload", "release", "pods", "from", "to", "by", "come back in the end"]
    more = f"and {len(rows) - MOST_PODS} more" if len(rows) > MOST_PODS else ""
    named = {(move.release, name) for pod in found.moved for move in pod.moves for name in move.changes}
    texts = [
        [change.name, release.name, change.text]
        for release, change in changes_between(found.releases[0], found.releases[-1])
        if (release.name, change.name) in named
    ]
    return html_page(
        headline(found),
        *said,
        html_table(header, rows[:MOST_PODS]) + html_text(more) if rows else "",
        html_table(["change", "release", "what is different"], texts) if texts else "",
    )


def _step_order(found: Timeline, step: tuple[tuple[str, str, str, str], int]) -> tuple[int, int, tuple[str, ...]]:
    """Oldest first, then those of most pods."""
    return found.releases.index(step[0][0]), -step[1], step[0]


# --- simulations -----------------------------------------------------------------------------


def simulation_columns(report: Report) -> Columns:
    """Column → its value of every pod, in the order of arrival."""
    pods = report.pods
    return {
        "pod": [record.pod.key for record in pods],
        "outcome": [record.standing for record in pods],
        "node": [record.node or None for record in pods],
        "arrived": [float(record.arrived) for record in pods],
        "placed": [None if record.placed is None else float(record.placed) for record in pods],
        "left": [None if record.left is None else float(record.left) for record in pods],
        "attempts": [record.attempts for record in pods],
    }


def simulation_html(report: Report) -> str:
    """A small static page of a simulation's report."""
    counts = report.counts()
    waits = report.waits()
    facts: list[list[object]] = [[name, count] for name, count in counts.items()]
    if waits:
        facts += [["waited, mean", f"{sum(waits) / len(waits):g} s"], ["waited, longest", f"{waits[-1]:g} s"]]
    levels = [(name, report.level(at)) for at, name in enumerate(report.resources)]
    used = [[name, *(f"{share:.1%}" for share in (each.mean, each.peak, each.last))] for name, each in levels]
    reasons = [[each.pods, each.reason] for each in report.reasons()[:MOST_REASONS]]
    title = f"{counts['placed']} of {counts['pods']} pods placed in {report.end:g} s (release {report.release})"
    return html_page(
        title,
        html_table(["", ""], facts),
        html_table(["resource", "mean", "peak", "end"], used) if used else "",
        html_table(["pods", "wait because"], reasons) if reasons else "",
    )
