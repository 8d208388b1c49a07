"""A run as plain data: what was in use, lanes, attempts, and the whole of it in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusterstate.usage import CPU, MEMORY, PODS
from kubescheduler.lab.running.recorded_run import HELD, LANES, RecordedRun, Stay
from kubescheduler.simulation.pod_records import RUNNING, WAITING
from kubescheduler.simulation.utilisation import UsageRecorder, share

MOST_SAMPLES = 2000
"""Moments of which the use is told; of more, evenly spaced ones."""
MOST_STAYS = 5000
"""Stays in one lane."""


def sampled(usage: UsageRecorder, end: float) -> dict[str, Any]:
    """``samples``: times, then by time the shares of cpu, memory and pods in use and the pods that wait."""
    rows = usage.samples
    step = -(-len(rows) // MOST_SAMPLES) or 1
    kept = [*rows[:-1:step], *rows[-1:]]
    at = [usage.resources.index(name) for name in (CPU, MEMORY, PODS)]
    columns = [[share(row.used[place], row.capacity[place]) for row in kept] for place in at]
    times = [row.time for row in kept]
    pending = [row.pending for row in kept]
    if times and times[-1] < end:
        times.append(end)
        columns = [[*column, column[-1]] for column in columns]
        pending.append(pending[-1])
    return {"samples": [times, *columns], "pending": pending, "samplesMore": len(rows) - len(kept)}


def lanes(stays: Sequence[Stay]) -> dict[str, Any]:
    """Lane → who was in it from when to when, and the attempts meanwhile."""
    names = (*LANES.values(), HELD)
    out: dict[str, Any] = {name: [] for name in names}
    for stay in sorted(stays, key=lambda stay: stay.start):
        if len(out[stay.lane]) < MOST_STAYS:
            row = {"pod": stay.pod, "from": stay.start, "to": stay.end, "attempts": stay.attempts}
            out[stay.lane].append(row)
    return {**out, "more": max(0, len(stays) - sum(map(len, out.values())))}


def tried_rows(run: RecordedRun) -> list[dict[str, Any]]:
    """Every attempt."""
    return [
        {
            "id": one.number,
            "t": one.time,
            "pod": one.pod,
            "result": "placed" if one.node else "preempts" if one.nominated else "failed",
            "node": one.node or one.nominated or None,
            "text": one.message.rstrip(),
        }
        for one in run.attempts
    ]


def run_text(run: RecordedRun, end: float) -> str:
    """The run in a sentence or two."""
    records = run.records
    waiting = sum(record.outcome == WAITING for record in records)
    running = sum(record.outcome == RUNNING for record in records)
    gone = len(records) - waiting - running
    parts = [
        f"{running} {'runs' if running == 1 else 'run'}",
        f"{waiting} {'waits' if waiting == 1 else 'wait'}",
        *([f"{gone} {'has' if gone == 1 else 'have'} gone"] if gone else []),
    ]
    tries, pods = len(run.attempts), len(records)
    text = (
        f"After {end:g} s and {tries} attempt{'s' * (tries != 1)}, of {pods} pod{'s' * (pods != 1)} {', '.join(parts)}"
    )
    return f"{text}; {run.ended}." if run.ended else f"{text}."
