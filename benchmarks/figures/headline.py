"""One figure that speed is judged by, and what one process measures of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

RATE, MILLISECONDS, SECONDS = "/s", "ms", "s"

Sample = dict[str, float]
"""cpu: seconds of one operation; wall, where it is known: the same; memory: bytes, the process's resident memory at its
highest."""


@attrs.frozen
class Headline:
    """One figure."""

    title: str
    part: str = ""
    """Which of the parts that a process measures."""
    unit: str = RATE
    """Operations a second, or how long one takes."""
    aim: str = ""
    share_of: str = ""
    """The title of another figure, of which the aim is a share."""

    def shown(self, seconds: float) -> str:
        """The figure, of the seconds of one operation."""
        match self.unit:
            case "/s":
                return f"{1 / seconds:,.0f}/s"
            case "ms":
                return f"{seconds * 1000:,.1f} ms"
            case _:
                return f"{seconds:,.2f} s"


@attrs.frozen
class Measurement:
    """What one process measures, one or several figures."""

    sample: Callable[..., dict[str, Sample]]
    """The samples by part; run in a child process with the arguments, which are JSON."""
    arguments: dict[str, Any]
    headlines: tuple[Headline, ...]
    fewer_before: dict[str, Any] = attrs.field(factory=dict)
    """Arguments that differ for the checkout before: counts so small that it, too, is done within seconds."""
    rounds_before: int | None = None
    """In how many rounds the checkout before is measured; None: in all."""
    seconds: float = 3.5
    """What one round of both checkouts takes, about, where nothing else runs."""
    prepare: Callable[[], None] | None = None
    """Called before the first round: makes the files that are read."""

    def rounds_of_before(self, rounds: int) -> int:
        """In how many of the rounds the checkout before is measured."""
        return rounds if self.rounds_before is None else min(rounds, self.rounds_before)

    def duration(self, rounds: int) -> float:
        """About how many seconds all rounds take."""
        whole = self.rounds_of_before(rounds)
        return self.seconds * (whole + (rounds - whole) / 2)
