"""The growth as a picture: for each axis the time of a decision above, the memory below, on logarithmic scales.

It is an SVG file without scripts or fonts, dark where the reader's screen is. The line of a release is narrower than
those that it may cover, which show on either side of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape

import attrs

from benchmarks.child_process import MEBIBYTE
from benchmarks.growing.growth import AXES, Axis, Point

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
            yield from _line(places, _colour(number), _width(number, releases))


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


def _line(places: Sequence[tuple[float, float]], colour: str, width: float) -> Iterator[str]:
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
