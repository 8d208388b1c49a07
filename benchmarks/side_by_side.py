"""Two checkouts measured in turn, on the same machine within the same minutes."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs

from benchmarks.child_process import HERE, FailedError, measured_in_child
from benchmarks.headlines import Headline
from benchmarks.samples import Sample, median_of

MEBIBYTE = 1 << 20
HEAD = f"{'':46}{'before':>12}{'here':>12}{'ratio':>8}{'from–to':>14}{'wall':>12}{'MiB before':>12}{'MiB':>7}  aim"


@attrs.frozen
class Measured:
    """The samples of one figure, the checkouts in turn."""

    headline: Headline
    before: list[Sample]
    """Empty without a checkout to compare with."""
    here: list[Sample]

    def ratios(self) -> list[float]:
        """By how many times less CPU time this checkout needs, of each pair of samples; empty without pairs."""
        return [old["cpu"] / new["cpu"] for old, new in zip(self.before, self.here, strict=False)]

    def line(self) -> str:
        """The row of the table: medians, the ratio of pairs with its spread, wall time, peak memory, aim."""
        shown, ratios = self.headline.shown, self.ratios()
        before = memory = ratio = spread = ""
        if ratios:
            before = shown(median_of(self.before, "cpu"))
            memory = f"{median_of(self.before, 'memory') / MEBIBYTE:.0f}"
            ratio, spread = f"{statistics.median(ratios):.2f}", f"{min(ratios):.2f}–{max(ratios):.2f}"
        here, wall = shown(median_of(self.here, "cpu")), shown(median_of(self.here, "wall"))
        sizes = f"{memory:>12}{median_of(self.here, 'memory') / MEBIBYTE:7.0f}"
        times = f"{before:>12}{here:>12}{ratio:>8}{spread:>14}{wall:>12}"
        return f"{self.headline.title:46}{times}{sizes}  {self.headline.aim}"


def alternate(headlines: Iterable[Headline], before: Path | None, rounds: int) -> Iterator[Measured | FailedError]:
    """Every figure, ``rounds`` times each there and here in turn; a failure in place of what could not be measured."""
    for headline in headlines:
        found = Measured(headline, [], [])
        try:
            for _ in range(rounds):
                if before is not None:
                    found.before.append(measured_in_child(headline.sample, headline.arguments, before))
                found.here.append(measured_in_child(headline.sample, headline.arguments, HERE))
        except FailedError as error:
            yield FailedError(f"{headline.title}: {str(error).splitlines()[-1]}")
        else:
            yield found
