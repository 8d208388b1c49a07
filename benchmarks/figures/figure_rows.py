"""Measured figures as rows of a table, and as lines of a file."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from pathlib import Path

import attrs

from benchmarks.child_process import MEBIBYTE
from benchmarks.figures.headline import Headline, Sample
from benchmarks.figures.samples import median_of
from benchmarks.figures.side_by_side import Measured

WIDTH = 54
HEAD = f"{'':{WIDTH}}{'before':>12}{'here':>12}{'ratio':>8}{'from–to':>14}{'wall':>12}{'MiB before':>12}{'MiB':>7}  aim"
NONE = "–"


def row(found: Measured, known: Mapping[str, Measured]) -> str:
    """The row of the table: medians, the ratio of pairs with its spread, wall time, peak memory, aim.

    All but the column of wall time is CPU time. known: what was measured by then, by title.
    """
    headline, ratios = found.headline, found.ratios()
    before = memory = ratio = spread = NONE if found.lacking else ""
    if ratios:
        before, memory = headline.shown(median_of(found.before, "cpu")), mebibytes(found.before)
        ratio, spread = f"{statistics.median(ratios):.2f}", f"{min(ratios):.2f}–{max(ratios):.2f}"
    here = headline.shown(median_of(found.here, "cpu"))
    wall = headline.shown(median_of(found.here, "wall")) if "wall" in found.here[0] else ""
    times = f"{before:>12}{here:>12}{ratio:>8}{spread:>14}{wall:>12}"
    return f"{headline.title:{WIDTH}}{times}{memory:>12}{mebibytes(found.here):>7}  {aim(found, known)}".rstrip()


def mebibytes(samples: list[Sample]) -> str:
    """The median of the peak memory, in MiB."""
    return f"{median_of(samples, 'memory') / MEBIBYTE:,.0f}"


def aim(found: Measured, known: Mapping[str, Measured]) -> str:
    """The aim; where it is a share of another figure that is known, also which share was measured."""
    other = known.get(found.headline.share_of)
    if other is None:
        return found.headline.aim
    share = median_of(other.here, "cpu") / median_of(found.here, "cpu")
    return f"{found.headline.aim} (is {share:.0%})"


def save(path: Path, found: Measured) -> None:
    """Appends the figure to a file, as a line of JSON, without its arguments: they name files of one machine."""
    kept = attrs.asdict(attrs.evolve(found, arguments={}))
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(kept, ensure_ascii=False) + "\n")


def saved(path: Path) -> dict[str, Measured]:
    """Title → figure, of a file that ``save`` wrote; of the same title the last line counts."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    found = [Measured(**{**line, "headline": Headline(**line["headline"])}) for line in lines]
    return {one.headline.title: one for one in found}
