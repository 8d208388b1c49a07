"""How the time of a decision and the memory grow with the cluster.

    python benchmarks/scale.py --axis nodes --release 1.36 --plot growth.svg

Without options it measures all releases along all axes, in about six minutes of a machine that has nothing else to do.
Along each axis one count of the cluster grows: nodes, running pods, distinct classes of pods, services, apps with
affinity and spreading constraints. Every point is measured in a process of its own, in CPU time; all nodes are
scored. Ctrl-C ends it with what was measured by then. The exit status is 1 where time or memory grows worse than in
proportion, or a decision's time with the number of running pods; 2 where a point could not be measured, or there is
none; 130 after Ctrl-C.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import attrs
import click

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.child_process import MEBIBYTE, FailedError, measured_in_child
from benchmarks.scale_point import ClusterSize, measure_point
from kubescheduler.releases.names import RELEASE_NAMES

LINEAR = 1.0
FLAT = 0.0
NOISE = 0.15
"""Exponents that differ by less are equal: a busy machine's times vary by a fifth from one run to the next."""


@attrs.frozen
class Axis:
    """One count of a cluster, and the sizes that it is measured at while all others stay what they are."""

    name: str
    title: str
    """What the axis counts, under the plot."""
    sizes: tuple[int, ...]
    base: ClusterSize = attrs.field(factory=ClusterSize)
    """The cluster that it varies."""
    allowed: float = LINEAR
    """The exponent that a decision's time may grow by."""

    def world(self, size: int) -> ClusterSize:
        """The cluster of that size."""
        return attrs.evolve(self.base, **{self.name: size})


AXES = {
    axis.name: axis
    for axis in (
        Axis("nodes", "nodes", (500, 5_000, 15_000, 50_000)),
        Axis("running", "running pods", (0, 5_000, 50_000, 500_000), allowed=FLAT),
        Axis(
            "classes",
            "distinct classes of pods",
            (1, 10, 100, 300, 1_000, 100_000),
            ClusterSize(running=100_000),
        ),
        Axis("services", "services", (0, 1, 10, 100, 1_000, 5_000)),
        Axis("terms", "apps with affinity and spreading", (0, 1, 10, 100, 1_000, 5_000)),
    )
}


@attrs.frozen
class Point:
    """What was measured of one cluster. Times in CPU seconds, memory in bytes."""

    release: str
    axis: str
    size: int
    decision: float
    """Decide and assume, the median over groups of decisions."""
    node_event: float
    """A node is added, and the next pod decided."""
    building: float
    """All objects decoded and put into the cache."""
    memory: int
    """The process's resident memory at its highest."""


def exponent(before: tuple[float, float], after: tuple[float, float]) -> float | None:
    """The power of the size by which a value grows from one (size, value) to the next; None from size or value 0."""
    if before[0] <= 0 or before[1] <= 0 or after[1] <= 0:
        return None
    return math.log(after[1] / before[1]) / math.log(after[0] / before[0])


def exponents(points: Sequence[Point]) -> list[float | None]:
    """Of the decision's time, from every point's smaller neighbour to it; None for the first."""
    pairs = [(float(point.size), point.decision) for point in points]
    return [None, *(exponent(*pair) for pair in pairwise(pairs))][: len(points)]


@attrs.frozen
class Judgement:
    """Whether what was measured along an axis grows no faster than it may."""

    axis: Axis
    holds: bool
    text: str
    """A sentence."""


def judgement(axis: Axis, points: Sequence[Point]) -> Judgement:
    """Of a decision's time and of memory, by the sizes above 0 of one axis and release, the smallest first.

    What may grow in proportion must not cost more at the largest size than in proportion to any smaller one: a step up
    to a level that then stays is no such growth, and is named. A flat axis is judged from end to end, and memory is
    never flat.
    """
    known = [point for point in points if point.size]
    if len(known) < 2:
        return Judgement(axis, True, f"{axis.name}: too few sizes to tell")
    times, memory = _to_the_largest(known, lambda one: one.decision), _to_the_largest(known, lambda one: one.memory)
    grown, allowed = (times[0], "flat") if axis.allowed == FLAT else (max(times), "linear")
    holds = grown <= axis.allowed + NOISE and max(memory) <= LINEAR + NOISE
    word = "no worse than" if holds else "WORSE than"
    overall = f"exponent {times[0]:.2f} overall, at most {max(times):.2f} to the largest, memory {max(memory):.2f}"
    return Judgement(axis, holds, f"{axis.name}: {word} {allowed} ({overall}{_steps(known)})")


def _to_the_largest(points: Sequence[Point], value: Callable[[Point], float]) -> list[float]:
    """The exponent from each point to the last, for all but the last."""
    pairs = [(float(point.size), value(point)) for point in points]
    return [exponent(pair, pairs[-1]) or 0.0 for pair in pairs[:-1]]


def _steps(points: Sequence[Point]) -> str:
    """Where a decision's time goes up faster than in proportion from one size to the next."""
    found = [
        f"; × {new.decision / old.decision:.1f} from {old.size:,} to {new.size:,}"
        for (old, new), power in zip(pairwise(points), exponents(points)[1:], strict=True)
        if power is not None and power > LINEAR + NOISE
    ]
    return "".join(found)


def saved_points(path: Path) -> list[Point]:
    """The points of a file of JSON lines, as ``--save`` writes it, the oldest release first; of the same point the last
    line counts."""
    found = [Point(**json.loads(line)) for line in path.read_text().splitlines()]
    last = {(RELEASE_NAMES.index(point.release), point.axis, point.size): point for point in found}
    return [last[key] for key in sorted(last)]


WIDTH, PANEL, HEIGHT, GAP, LEFT, TOP, MARGIN = 1000, 154, 150, 26, 76, 62, 64
STYLE = """
svg { font: 11px sans-serif; --back: #fff; --ink: #1f2328; --faint: #d0d7de; --one: #54aeff; --two: #cf222e;
  --three: #f2cc60; --four: #1f2328; }
@media (prefers-color-scheme: dark) { svg { --back: #0d1117; --ink: #e6edf3; --faint: #3d444d; --one: #1f6feb;
  --two: #ff7b72; --three: #bb8009; --four: #e6edf3; } }
.back { fill: var(--back); } text { fill: var(--ink); } .grid { stroke: var(--faint); fill: none; }
.line { fill: none; stroke: currentColor; } .linear { stroke: var(--ink); stroke-dasharray: 2 4; opacity: .6; }
.one { color: var(--one); } .two { color: var(--two); }
.three { color: var(--three); } .four { color: var(--four); }
circle { fill: currentColor; }
"""
COLOURS = ("one", "two", "three", "four")
NARROWEST, NARROWER = 1.5, 2.0
"""The width of the line that is drawn last, and by how much each is narrower than the one before it."""
Value = Callable[[Point], float]


@attrs.frozen
class Scale:
    """A logarithmic scale from ``low`` to ``high``, laid over ``start`` to ``end`` of the picture."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a value is; 0 stands where the lowest does."""
        share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def decades(self) -> list[float]:
        """The powers of ten within the scale."""
        low, high = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        return [10.0**power for power in range(low, high + 1)]


@attrs.frozen
class Row:
    """One row of panels. ticks: value → its label."""

    title: str
    value: Value
    label: Callable[[float], str]


ROWS = (
    Row("a decision, µs", lambda point: point.decision * 1e6, lambda value: f"{value:,.0f}"),
    Row("peak memory, MiB", lambda point: point.memory / MEBIBYTE, lambda value: f"{value:,.0f}"),
)


def growth_chart(points: Sequence[Point]) -> str:
    """The document; of axes without points there is an empty panel."""
    releases = list(dict.fromkeys(point.release for point in points))
    height = TOP + len(ROWS) * (HEIGHT + MARGIN)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
        "<title>How the time of a decision and the memory grow with the cluster</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="back" width="{WIDTH}" height="{height}"/>',
        *_legend(releases),
    ]
    for at, row in enumerate(ROWS):
        top = TOP + at * (HEIGHT + MARGIN)
        parts += _row(row, points, releases, top)
    return "\n".join([*parts, "</svg>", ""])


def _legend(releases: Sequence[str]) -> Iterator[str]:
    for index, release in enumerate(releases):
        x = LEFT + 90 * index
        yield f'<path class="line {_colour(index)}" stroke-width="{_width(index, releases)}" d="M{x} 22h24"/>'
        yield f'<text x="{x + 30}" y="26">{escape(release)}</text>'
    x = LEFT + 90 * len(releases)
    yield f'<path class="linear" d="M{x} 22h24"/><text x="{x + 30}" y="26">proportional to the size</text>'


def _row(row: Row, points: Sequence[Point], releases: Sequence[str], top: float) -> Iterator[str]:
    values = [row.value(point) for point in points] or [1.0]
    low, high = 10.0 ** math.floor(math.log10(min(values))), 10.0 ** math.ceil(math.log10(max(values)) + 1e-9)
    up = Scale(low, high, top + HEIGHT, top)
    yield f'<text x="{LEFT}" y="{top - 10}" font-weight="bold">{escape(row.title)}</text>'
    for tick in up.decades():
        yield f'<text x="{LEFT - 6}" y="{_n(up.at(tick) + 4)}" text-anchor="end">{row.label(tick)}</text>'
    for index, axis in enumerate(AXES.values()):
        left = LEFT + index * (PANEL + GAP)
        sizes = [size for size in axis.sizes if size]
        across = Scale(sizes[0] / (3.0 if 0 in axis.sizes else 1.0), sizes[-1], left, left + PANEL)
        yield from _frame(axis, across, up)
        for number, release in enumerate(releases):
            mine = [point for point in points if (point.release, point.axis) == (release, axis.name)]
            places = [(across.at(p.size), up.at(row.value(p))) for p in sorted(mine, key=lambda point: point.size)]
            yield from _drawn_line(places, _colour(number), _width(number, releases))


def _frame(axis: Axis, across: Scale, up: Scale) -> Iterator[str]:
    """Grid, labels of the sizes, and a dotted line as steep as what grows in proportion."""
    for tick in up.decades():
        yield f'<path class="grid" d="M{_n(across.start)} {_n(up.at(tick))}H{_n(across.end)}"/>'
    for tick in across.decades():
        x = _n(across.at(tick))
        yield f'<path class="grid" d="M{x} {_n(up.start)}V{_n(up.end)}"/>'
        yield f'<text x="{x}" y="{_n(up.start + 14)}" text-anchor="middle">{_short(tick)}</text>'
    if 0 in axis.sizes and across.decades()[0] > across.low:
        yield f'<text x="{_n(across.start)}" y="{_n(up.start + 14)}" text-anchor="middle">0</text>'
    middle = (across.start + across.end) / 2
    yield f'<text x="{_n(middle)}" y="{_n(up.start + 30)}" text-anchor="middle">{escape(axis.title)}</text>'
    top = min(up.high, up.low * across.high / across.low)
    steep = f"{_n(across.at(across.low * top / up.low))} {_n(up.at(top))}"
    yield f'<path class="linear" d="M{_n(across.start)} {_n(up.start)}L{steep}"/>'


def _drawn_line(places: Sequence[tuple[float, float]], colour: str, width: float) -> Iterator[str]:
    if not places:
        return
    path = " ".join(f"{_n(x)},{_n(y)}" for x, y in places)
    yield f'<polyline class="line {colour}" stroke-width="{width}" points="{path}"/>'
    for x, y in places:
        yield f'<circle class="{colour}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(width / 2 + 1)}"/>'


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _width(number: int, releases: Sequence[str]) -> float:
    return NARROWEST + NARROWER * (len(releases) - 1 - number)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _short(value: float) -> str:
    """100000 → 100k."""
    return f"{value / 1000:.0f}k" if value >= 1000 else f"{value:.0f}"


QUICK_SIZE = 20_000
"""With ``--quick``, larger sizes are left out."""
MOST_DECISIONS = 3_000
"""Of a point; decisions that take long end after ``--seconds``."""


def measured(
    releases: Sequence[str], axes: Iterable[Axis], seconds: float, rounds: int, *, quick: bool
) -> Iterator[Point]:
    """The points, one after another; of several rounds, the one with the fastest decisions. A cluster that is on
    several axes is measured once for a release."""
    known: dict[tuple[str, ClusterSize], dict[str, Any]] = {}
    for release, axis in product(releases, axes):
        for size in axis.sizes:
            if quick and size > QUICK_SIZE:
                continue
            world = axis.world(size)
            if (release, world) not in known:
                click.echo(f"{release} {axis.name} {size} …", err=True)
                asked = {"world": attrs.asdict(world), "release": release, "seconds": seconds, "most": MOST_DECISIONS}
                found = [measured_in_child(measure_point, asked) for _ in range(rounds)]
                known[release, world] = min(found, key=lambda one: one["decision"])
            yield Point(release=release, axis=axis.name, size=size, **known[release, world])


def table(points: Sequence[Point]) -> Iterator[str]:
    """The lines of the table, with a judgement under every axis."""
    heads = f"{'µs':>8}{'per s':>8}{'exponent':>10}{'node ms':>9}{'build s':>9}{'MiB':>7}"
    yield f"{'release':8}{'axis':10}{'size':>9}{heads}"
    for release in dict.fromkeys(point.release for point in points):
        for axis in AXES.values():
            mine = [point for point in points if (point.release, point.axis) == (release, axis.name)]
            if not mine:
                continue
            yield from map(_line, mine, exponents(mine))
            yield f"        {judgement(axis, mine).text}"


def judgements(points: Sequence[Point]) -> Iterator[Judgement]:
    """Of every release along every axis that was measured."""
    for release in dict.fromkeys(point.release for point in points):
        for axis in AXES.values():
            yield judgement(axis, [point for point in points if (point.release, point.axis) == (release, axis.name)])


def _line(point: Point, power: float | None) -> str:
    grown = "" if power is None else f"{power:.2f}"
    times = f"{point.decision * 1e6:8.0f}{1 / point.decision:8.0f}{grown:>10}{point.node_event * 1e3:9.1f}"
    return f"{point.release:8}{point.axis:10}{point.size:9,}{times}{point.building:9.1f}{point.memory / MEBIBYTE:7.0f}"


@click.command(context_settings={"show_default": True})
@click.option("--release", "releases", type=click.Choice(RELEASE_NAMES), multiple=True, default=RELEASE_NAMES)
@click.option("--axis", "names", type=click.Choice(list(AXES)), multiple=True, help="All when none is named.")
@click.option("--seconds", type=float, default=1.0, help="CPU time of the decisions of a point.")
@click.option("--rounds", type=int, default=1, help="Measure every point so often; the fastest counts.")
@click.option("--quick", is_flag=True, help=f"No sizes beyond {QUICK_SIZE:,}, and a quarter of the decisions.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the growth in this SVG file.")
@click.option("--save", type=click.Path(path_type=Path), help="Append every point to this file, as a line of JSON.")
@click.option("--saved", type=click.Path(exists=True, path_type=Path), help="Measure nothing: read such a file.")
def main(
    releases: tuple[str, ...],
    names: tuple[str, ...],
    seconds: float,
    rounds: int,
    quick: bool,
    plot: Path | None,
    save: Path | None,
    saved: Path | None,
) -> None:
    """Print how a decision's time and the memory grow, and whether they grow no faster than they may."""
    points = [] if saved is None else saved_points(saved)
    axes = [AXES[name] for name in names or AXES]
    status = 0
    try:
        seconds /= 4 if quick else 1
        for point in () if saved is not None else measured(releases, axes, seconds, rounds, quick=quick):
            points.append(point)
            if save is not None:
                with save.open("a") as file:
                    file.write(json.dumps(attrs.asdict(point)) + "\n")
    except FailedError as error:
        click.echo(f"not measured: {error}", err=True)
        status = 2
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        status = 130
    if not (points or status):
        click.echo("nothing measured", err=True)
        status = 2
    for line in table(points):
        click.echo(line)
    if plot is not None:
        plot.write_text(growth_chart(points))
        click.echo(f"drawn: {plot}", err=True)
    sys.exit(status or (0 if all(found.holds for found in judgements(points)) else 1))


if __name__ == "__main__":
    main()
