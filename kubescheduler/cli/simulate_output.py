"""The report of a simulation as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kubescheduler.cli.output import NONE, PLAIN, Screen, headed, noted, table
from kubescheduler.sources.untrusted import csv_cell, json_text, one_line

if TYPE_CHECKING:
    from kubescheduler.simulation.simulation_report import Level, NodeUsage, PodRecord, Report

PODS = ("NAMESPACE", "POD", "ARRIVED", "PLACED", "LEFT", "NODE", "ATTEMPTS", "OUTCOME", "MESSAGE")
POD_FIELDS = ("namespace", "name", "arrived", "placed", "left", "node", "attempts", "outcome", "message")


def rendered_report(report: Report, output: str, notes: Sequence[str] = (), screen: Screen = PLAIN) -> Iterator[str]:
    """The report in pieces; output: table, wide, json, csv (a line a pod) or timeline (CSV, a line a moment).

    notes: on the whole; CSV has them in a column of their own, which is there only with notes. screen: what tables are
    shown on.
    """
    if output == "json":
        yield from _json(report, notes)
    elif output == "csv":
        yield from _csv(POD_FIELDS, (_pod_row(record) for record in report.pods), notes)
    elif output == "timeline":
        yield from _csv(*_timeline(report), notes)
    else:
        yield noted(notes, screen)
        yield "\n\n".join(_tables(report, screen, wide=output == "wide")) + "\n"


# --- tables ------------------------------------------------------------------------------------


def _tables(report: Report, screen: Screen, *, wide: bool) -> Iterator[str]:
    if wide:
        rows = (tuple(_cell(value) for value in _pod_row(record)) for record in report.pods)
        yield table([PODS, *rows], screen, gives_way=PODS.index("MESSAGE"), keys=2)
    yield table(((name.upper() + ":", str(count)) for name, count in _summary(report)), screen, heads=0)
    used = [("RESOURCE", "CAPACITY", "MEAN", "PEAK", "END")]
    for at, name in enumerate(report.resources):
        capacity = report.samples[-1].capacity[at]
        used.append((name, _amount(name, capacity), *_percents(report.level(at))))
    yield table(used, screen, keys=1)
    if wide:
        yield table(_node_rows(report), screen, keys=1)
    if reasons := report.reasons():
        waiting = ((str(r.pods), str(r.nodes), r.reason) for r in reasons)
        yield table([("PENDING PODS", "NODES", "REASON"), *waiting], screen, gives_way=2)
    if report.preemptions:
        rows = ((seconds(p.time), p.pod, p.node, ", ".join(p.victims) or NONE) for p in report.preemptions)
        yield table([("TIME", "POD", "NODE", "VICTIMS"), *rows], screen, gives_way=3, keys=2)


def _summary(report: Report) -> Iterator[tuple[str, object]]:
    yield from report.counts().items()
    waits = report.waits()
    if waits:
        yield "waited, mean", f"{seconds(sum(waits) / len(waits))} s"
        yield "waited, longest", f"{seconds(waits[-1])} s"
    yield "lasted", f"{seconds(report.end)} s"


def _node_rows(report: Report) -> Iterator[tuple[str, ...]]:
    shown = [at for at, name in enumerate(report.resources) if any(node.capacity[at] for node in report.nodes)]
    yield ("NODE", *(f"{report.resources[at].upper()} {what}" for at in shown for what in ("MEAN", "PEAK")))
    for node in report.nodes:
        levels = (report.node_level(node, at) for at in shown)
        yield (node.name, *(text for level in levels for text in _percents(level)[:2]))


def _percents(level: Level) -> tuple[str, str, str]:
    mean, peak, last = (f"{value:.1%}" for value in (level.mean, level.peak, level.last))
    return mean, peak, last


def _amount(resource: str, amount: int) -> str:
    """As kubectl writes it."""
    if resource == "cpu":
        return f"{amount / 1000:g}"
    if resource in ("memory", "ephemeral-storage"):
        return f"{amount / 2**30:g}Gi"
    return str(amount)


def seconds(value: float) -> str:
    """Without a fraction where there is none."""
    return f"{round(value, 3):.3f}".rstrip("0").rstrip(".")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return seconds(value)
    return NONE if value in (None, "") else str(value)


def _pod_row(record: PodRecord) -> tuple[object, ...]:
    metadata = record.pod.metadata
    times = (record.arrived, record.placed, record.left)
    return (metadata.namespace, metadata.name, *times, record.node, record.attempts, record.standing, record.message)


# --- CSV ---------------------------------------------------------------------------------------


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]], notes: Sequence[str]) -> Iterator[str]:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    said = ["; ".join(notes)] if notes else []
    writer.writerow([*head, *(["notes"] if notes else [])])
    for row in rows:
        writer.writerow([*map(_csv_value, row), *map(_csv_value, said)])
    yield out.getvalue()


def _csv_value(value: object) -> object:
    if isinstance(value, float):
        return seconds(value)
    return csv_cell(one_line(value)) if isinstance(value, str) else value


def _timeline(report: Report) -> tuple[Sequence[str], Iterator[Sequence[object]]]:
    names = report.resources
    head = ("time", "pending", *(f"{name} used" for name in names), *(f"{name} capacity" for name in names))
    return head, ((s.time, s.pending, *s.used, *s.capacity) for s in report.samples)


# --- JSON --------------------------------------------------------------------------------------


def _json(report: Report, notes: Sequence[str]) -> Iterator[str]:
    """One value a line where there are many."""
    head = {
        **headed("SimulationReport", notes),
        "release": report.release,
        "start": report.start,
        "end": report.end,
        "counts": report.counts(),
        "pending": [{"reason": r.reason, "pods": r.pods, "nodes": r.nodes} for r in report.reasons()],
        "resources": report.resources,
        "levels": {name: _level(report.level(at)) for at, name in enumerate(report.resources)},
    }
    lists: dict[str, Iterator[Any]] = {
        "preemptions": (
            {"time": p.time, "pod": p.pod, "node": p.node, "victims": p.victims} for p in report.preemptions
        ),
        "pods": (dict(zip(POD_FIELDS, _pod_row(record), strict=True)) for record in report.pods),
        "timeline": ((s.time, s.pending, s.used, s.capacity) for s in report.samples),
        "nodes": (_node(report, node) for node in report.nodes),
    }
    yield json_text(head, 2).removesuffix("\n}")
    for name, items in lists.items():
        lines = ",\n".join(f"    {json_text(item)}" for item in items)
        yield f',\n  "{name}": [\n{lines}\n  ]' if lines else f',\n  "{name}": []'
    yield "\n}\n"


def _node(report: Report, node: NodeUsage) -> dict[str, Any]:
    return {
        "name": node.name,
        "capacity": node.capacity,
        "levels": {name: _level(report.node_level(node, at)) for at, name in enumerate(report.resources)},
        "changes": node.changes,
    }


def _level(level: Level) -> dict[str, float]:
    return {"mean": round(level.mean, 6), "peak": round(level.peak, 6), "last": round(level.last, 6)}
