"""The tables and the picture of how fast decisions are, from what the benchmarks measured last.

``docs/measured`` holds it: ``python -m benchmarks.publish`` measures it anew.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path

from benchmarks.child_process import MEBIBYTE
from benchmarks.figures import NODES
from benchmarks.samples import NONE, Measured, aim, mebibytes, median_of, saved
from benchmarks.scale import AXES, Axis, Point, exponent, growth_chart, saved_points
from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).parents[2]
FIGURES, GROWTH, UPSTREAM, CHART = (
    ROOT / "docs" / name
    for name in (
        "measured/figures.jsonl",
        "measured/growth.jsonl",
        "measured/kube_scheduler.csv",
        "explanation/images/growth.svg",
    )
)
MOST_IMPORTANT = {
    "1.16 Basic": "1.16 SchedulingBasic, 5,000 nodes, one by one",
    "1.36 Basic in bulk": "1.36 SchedulingBasic, 5,000 nodes, pods alike in bulk",
    "1.36 SchedulingPodAffinity": "1.36 SchedulingPodAffinity, 5,000 nodes",
    "1.36 PreemptionNominated": "1.36 preemption, 5,000 nodes, 500 pods nominated",
    "1.36 50,000 nodes one by one": "1.36 plain pods, 50,000 nodes, 150,000 running",
}
"""Title of a figure → what the README calls it."""
BASIC = " Basic"
"""How the title ends of a figure of SchedulingBasic, one by one."""
IN_BULK = " in bulk"
"""What comes after the title of the same workload one by one."""
Row = Sequence[str]


def speed_tables() -> dict[str, str]:
    """Name → Markdown."""
    found = saved(FIGURES)
    return {
        "speed in five rows": _most_important(found),
        "speed of workloads": _workloads(found),
        "speed of everything else": _others(found),
        "growth": _growth(saved_points(GROWTH)),
    }


def chart() -> str:
    """The picture of the growth, an SVG document."""
    return growth_chart(saved_points(GROWTH))


# --- figures -----------------------------------------------------------------------------------------------------


def _most_important(found: Mapping[str, Measured]) -> str:
    upstream = _upstream()
    rows = [
        (
            text,
            _speed(found[title]),
            mebibytes(found[title].here),
            upstream.get(title.removesuffix(IN_BULK), (NONE, ""))[0],
        )
        for title, text in MOST_IMPORTANT.items()
    ]
    heads = ("what is decided", "kubescheduler", "MiB", "kube-scheduler")
    return _table(heads, rows, "-rrr") + _rounds([found[title] for title in MOST_IMPORTANT])


def _workloads(found: Mapping[str, Measured]) -> str:
    """Upstream's workloads, beside kube-scheduler's own algorithm."""
    rows = []
    for title, kube_scheduler in _upstream().items():
        one = found[title]
        release, name = title.split(" ", 1)
        workload = "SchedulingBasic" if name == BASIC.strip() else name
        running = f"{WORKLOADS[workload].begins_with(NODES):,}"
        rows.append((release, workload, running, _speed(one), mebibytes(one.here), *kube_scheduler))
    heads = ("release", "workload", "running pods", "kubescheduler", "MiB", "kube-scheduler, all nodes", "sampled")
    whole = _table(heads, rows, "--rrrrr")
    return whole + _rounds([found[title] for title in _upstream()])


def _others(found: Mapping[str, Measured]) -> str:
    shown = [one for title, one in found.items() if title not in _upstream()]
    rows = [(one.headline.title, _speed(one), mebibytes(one.here), aim(one, found)) for one in shown]
    return _table(("figure", "measured", "MiB", "aim"), rows, "-rrr") + _rounds(shown)


def _rounds(found: Sequence[Measured]) -> str:
    """A sentence: how often it was measured."""
    counts = sorted({len(one.here) for one in found})
    if counts == [1]:
        return "\n\nCPU time and peak memory of the process, in one round."
    much = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    return f"\n\nCPU time and peak memory of the process: the median of {much} rounds."


def _speed(found: Measured) -> str:
    """The median, to two or three digits: machines differ by more."""
    seconds = median_of(found.here, "cpu")
    if found.headline.unit != "/s":
        return found.headline.shown(seconds)
    return f"{float(f'{1 / seconds:.2g}' if seconds > 0.01 else f'{1 / seconds:.3g}'):,.0f}/s"


def _upstream() -> dict[str, tuple[str, str]]:
    """Title of a figure → pods per second of kube-scheduler's own algorithm: all nodes scored, and sampled."""
    with UPSTREAM.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        f"{row['release']} {row['workload'].replace('SchedulingBasic', BASIC.strip())}": (
            row["all"],
            row["sampled"] or NONE,
        )
        for row in rows
    }


# --- growth ------------------------------------------------------------------------------------------------------


def _growth(points: Sequence[Point]) -> str:
    rows = []
    for axis, release in product(AXES.values(), dict.fromkeys(point.release for point in points)):
        mine = [point for point in points if (point.release, point.axis) == (release, axis.name)]
        rows += [_grown(axis, mine)] if len(mine) > 1 else []
    heads = ("what grows", "from", "to", "release", "a decision, µs", "exponent", "steepest step", "MiB")
    return _table(heads, rows, "-rr-rrrr")


def _grown(axis: Axis, points: Sequence[Point]) -> Row:
    first, last = points[0], points[-1]
    start = next(point for point in points if point.size)
    overall = exponent((start.size, start.decision), (last.size, last.decision)) or 0.0
    ratio, old, new = max((new.decision / old.decision, old.size, new.size) for old, new in pairwise(points))
    times = f"{first.decision * 1e6:,.0f} → {last.decision * 1e6:,.0f}"
    memory = f"{first.memory / MEBIBYTE:,.0f} → {last.memory / MEBIBYTE:,.0f}"
    step = f"× {ratio:.1f}, {old:,} → {new:,}"
    return axis.title, f"{first.size:,}", f"{last.size:,}", first.release, times, f"{overall:.2f}", step, memory


def _table(heads: Row, rows: Sequence[Row], sides: str) -> str:
    """sides: ``r`` where a column is set to the right."""
    rule = "|".join("---:" if side == "r" else "---" for side in sides)
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])
