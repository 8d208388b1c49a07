"""Two checkouts measured in turn, on the same machine within the same minutes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks.child_process import HERE, FailedError, LackingError, measured_in_child
from benchmarks.figures.headline import Headline, Measurement, Sample

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
