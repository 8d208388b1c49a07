"""Two checkouts measured in turn, on the same machine within the same minutes, as rows of a table."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks.child_process import HERE, MEBIBYTE, FailedError, LackingError, measured_in_child
from benchmarks.samples import Headline, Measurement, Sample, median_of

SLOWEST = 20.0
"""By how many times longer than expected a process may take before it is ended; it has a minute besides."""


@attrs.frozen
class Measured:
    """The samples of one figure, the checkouts in turn."""

    headline: Headline
    before: list[Sample]
    """Empty without a checkout to compare with, or where that one lacks what is measured."""
    here: list[Sample]
    arguments: dict[str, Any] = attrs.field(factory=dict)
    """What was measured here."""
    lacking: str = ""
    """What the checkout before lacks."""

    def ratios(self) -> list[float]:
        """By how many times less CPU time this checkout needs, of each pair of samples; empty without pairs."""
        return [old["cpu"] / new["cpu"] for old, new in zip(self.before, self.here, strict=False)]


def alternate(
    measurement: Measurement, before: Path | None, rounds: int, interrupted: Callable[[], object] = lambda: None
) -> Iterator[Measured]:
    """The figures of a measurement, ``rounds`` times each there and here in turn.

    Ctrl-C ends it with the rounds that are done, after a call of ``interrupted``. Raises FailedError where a sample
    cannot be had here, or, for another reason than that something is lacking, before.
    """
    there: list[dict[str, Sample]] = []
    here: list[dict[str, Sample]] = []
    lacking = ""
    try:
        if measurement.prepare is not None:
            measurement.prepare()
        for turn in range(rounds):
            if before is not None and not lacking and turn < measurement.rounds_of_before(rounds):
                asked = {**measurement.arguments, **measurement.fewer_before}
                try:
                    there.append(_one(measurement, asked, before))
                except LackingError as error:
                    lacking = str(error)
            here.append(_one(measurement, measurement.arguments, HERE))
    except KeyboardInterrupt:
        interrupted()
    except LackingError as error:
        raise FailedError(f"lacking here: {error}") from error
    if here:
        for headline in measurement.headlines:
            old, new = _part(there, headline), _part(here, headline)
            yield Measured(headline, old, new, measurement.arguments, lacking)


def _one(measurement: Measurement, arguments: dict[str, Any], checkout: Path) -> dict[str, Sample]:
    timeout = 60 + SLOWEST * measurement.seconds
    found: dict[str, Sample] = measured_in_child(measurement.sample, arguments, checkout, timeout)
    return found


def _part(found: Sequence[dict[str, Sample]], headline: Headline) -> list[Sample]:
    """The figure's samples. Raises FailedError where there is no such part."""
    try:
        return [parts[headline.part] for parts in found]
    except KeyError as error:
        raise FailedError(f"{headline.title}: nothing was measured of {error}") from error


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
