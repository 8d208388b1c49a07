"""Every figure that speed is judged by, measured one after another."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import attrs

from benchmarks.child_process import FailedError
from benchmarks.figures.command_figures import commands
from benchmarks.figures.decision_figures import large, objects_around, placing, preempting, workloads
from benchmarks.figures.headline import Headline, Measurement
from benchmarks.figures.side_by_side import Measured, alternate

SETS: tuple[Callable[[], Iterator[Measurement]], ...] = (placing, workloads, objects_around, large, preempting)
"""Those that need no files."""


def all_figures(folder: Path, openb: tuple[Path, Path] | None, only: Sequence[str] = ()) -> list[Measurement]:
    """All measurements; with ``only``, those of which a title holds one of the texts, with no more than such figures.

    folder: for the files that commands read; they are made before the measurement that needs them.
    """
    found = [*(measurement for make in SETS for measurement in make()), *commands(folder, openb)]
    chosen = [attrs.evolve(one, headlines=_named(one, only)) for one in found]
    return [one for one in chosen if one.headlines]


def _named(measurement: Measurement, only: Sequence[str]) -> tuple[Headline, ...]:
    return tuple(one for one in measurement.headlines if not only or any(text in one.title for text in only))


@attrs.define
class Course:
    """Measures one after another, and says how far it is.

    say: a line of progress. minutes: no measurement is begun after so many.
    """

    measurements: Sequence[Measurement]
    before: Path | None
    rounds: int
    minutes: float
    say: Callable[[str], object]
    failed: list[str] = attrs.field(factory=list)
    """Why figures could not be measured."""
    interrupted: bool = False

    def expected(self, start: int = 0) -> float:
        """About how many seconds the measurements from ``start`` on take where nothing else runs."""
        share = 1.0 if self.before is not None else 0.5
        return share * sum(one.duration(self.rounds) for one in self.measurements[start:])

    def results(self) -> Iterator[Measured]:
        """Every figure as soon as it is measured; ends early with Ctrl-C or when the time is over."""
        begun = time.monotonic()
        for at, one in enumerate(self.measurements):
            spent = time.monotonic() - begun
            titles = ", ".join(headline.title for headline in one.headlines)
            if self.interrupted:
                return
            if spent > self.minutes * 60:
                self.failed.append(f"{titles}: no time left")
                continue
            slower = spent / (self.expected() - self.expected(at)) if at else 1.0
            left = math.ceil(self.expected(at) * max(slower, 0.5) / 60)
            self.say(f"{at + 1} of {len(self.measurements)}, about {left} min left: {titles}")
            try:
                yield from alternate(one, self.before, self.rounds, self._interrupt)
            except FailedError as error:
                self.failed.append(f"{titles}: {str(error).splitlines()[-1]}")

    def _interrupt(self) -> None:
        self.interrupted = True
