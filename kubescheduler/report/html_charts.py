"""The charts of the report, as SVG: one bar beside a text, bars per bin of a histogram, bars per zone.

Colours are classes of report.css, so that a chart follows the reader's dark or light. Each chart says its numbers in
words too, in its label or in the text beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

BINS = 10
WIDTH, HEIGHT, TOP, BOTTOM, SIDE = 340, 130, 18, 18, 6
ZONE_WIDTH, ZONE_HEIGHT = 12, 24
DIGIT, LABEL = 7.5, 15
"""Room for a digit above a bar, wide and high."""
FULL = 1.0 + 1e-9
"""Above it a node is more than full."""


def bar(value: float, highest: float, kind: str = "new") -> str:
    """A bar from the left, as long as the share of the highest. The number stands beside it."""
    width = 100 * value / highest if highest else 0.0
    return _stretched(f'<rect class="{kind}" width="{_n(width)}" height="10"/>')


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
