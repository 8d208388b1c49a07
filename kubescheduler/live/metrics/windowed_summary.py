"""WindowedSummary: quantiles of what was observed in the last hours. Upstream: client_golang's Summary."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator

import attrs
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric

QUANTILES = (0.5, 0.9, 0.99)
"""Upstream: DefObjectives."""
WINDOW = 5 * 3600.0
"""Seconds after which a value no longer counts for the quantiles."""
AGES = 5
"""Parts of the window that are forgotten one after the other."""
STEP = math.log(1.01)
"""Values that differ by less than a hundredth count as one, the last of them."""

Bins = dict[int, float]


@attrs.define(eq=False)
class Age:
    """What was observed in one part of the window."""

    until: float
    counts: Counter[int] = attrs.field(factory=Counter)
    """By bin."""
    values: Bins = attrs.field(factory=dict)
    """Bin → the last value in it."""


class WindowedSeries:
    """One series: sum and count of all time, quantiles of the window."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._ages: deque[Age] = deque()
        self.count, self.sum = 0, 0.0

    def observe(self, value: float) -> None:
        """Counts a value of 0 or more."""
        place = -(10**6) if value <= 0 else math.floor(math.log(value) / STEP)
        with self._lock:
            self.count, self.sum = self.count + 1, self.sum + value
            age = self._age()
            age.counts[place] += 1
            age.values[place] = value

    def quantiles(self) -> list[float]:
        """One for each of QUANTILES; NaN when nothing was observed in the window."""
        with self._lock:
            self._age()
            counts, values = Counter[int](), Bins()
            for age in self._ages:
                counts.update(age.counts)
                values.update(age.values)
        places, total = sorted(counts), counts.total()
        return [_at(places, counts, values, math.ceil(quantile * total)) for quantile in QUANTILES]

    def _age(self) -> Age:
        """The part of the window that is under way; those that are over for long are forgotten."""
        now, part = self._clock(), WINDOW / AGES
        while self._ages and self._ages[0].until + WINDOW - part <= now:
            self._ages.popleft()
        if not self._ages or self._ages[-1].until <= now:
            self._ages.append(Age(now + part))
        return self._ages[-1]


def _at(places: list[int], counts: Counter[int], values: Bins, rank: int) -> float:
    """The value of a rank, counted from 1."""
    for place in places:
        rank -= counts[place]
        if rank <= 0:
            return values[place]
    return math.nan


class WindowedSummary:
    """A summary with labels, as a collector of a registry. clock: seconds."""

    def __init__(
        self,
        name: str,
        documentation: str,
        labelnames: Iterable[str],
        registry: CollectorRegistry,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._documentation, self._labelnames = name, documentation, tuple(labelnames)
        self._clock = clock
        self._series: dict[tuple[str, ...], WindowedSeries] = {}
        self._lock = threading.Lock()
        registry.register(self)

    def labels(self, *values: str) -> WindowedSeries:
        """The series of some labels."""
        with self._lock:
            return self._series.setdefault(values, WindowedSeries(self._clock))

    def clear(self) -> None:
        """Forgets all series."""
        with self._lock:
            self._series = {}

    def describe(self) -> Iterator[Metric]:
        """Its name."""
        yield Metric(self._name, self._documentation, "summary")

    def collect(self) -> Iterator[Metric]:
        """Quantiles, sum and count of each series."""
        metric = Metric(self._name, self._documentation, "summary")
        with self._lock:
            series = list(self._series.items())
        for values, one in series:
            labels = dict(zip(self._labelnames, values, strict=True))
            for quantile, value in zip(QUANTILES, one.quantiles(), strict=True):
                metric.add_sample(self._name, {**labels, "quantile": str(quantile)}, value)
            metric.add_sample(f"{self._name}_sum", labels, one.sum)
            metric.add_sample(f"{self._name}_count", labels, one.count)
        yield metric
