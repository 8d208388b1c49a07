"""The metrics of one process: families as a release defines them, what counts in them, and the text Go writes.

Read ``Family`` first, then ``MetricsRegistry``. Upstream: component-base/metrics, client_golang.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter as Counts
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import Metric, Sample


class Family(msgspec.Struct, frozen=True):
    """A metric's name, type and labels, and how far a release stands by it."""

    name: str
    """As it is exported."""
    kind: str
    """``counter``, ``gauge``, ``histogram`` or ``summary``."""
    help: str
    """Without the prefix that tells the stability."""
    labels: tuple[str, ...] = ()
    """In the order in which values are given."""
    buckets: tuple[float, ...] = ()
    """The upper bounds of a histogram, +Inf apart."""
    stability: str = "ALPHA"
    """``ALPHA``, ``BETA`` or ``STABLE``; empty: the text has no prefix."""
    deprecated: str = ""
    """The release that deprecated it, as ``1.20.0``; empty: none did."""
    registered: bool = True
    """Whether the release exports it at all; one that makes series before it registers the metric never does."""

    @property
    def text(self) -> str:
        """What stands after HELP."""
        since = f"(Deprecated since {self.deprecated}) " if self.deprecated else ""
        return f"[{self.stability}] {since}{self.help}" if self.stability else self.help


def counter(name: str, text: str, *labels: str, stability: str = "ALPHA") -> Family:
    """What only grows."""
    return Family(name, "counter", text, labels, stability=stability)


def gauge(name: str, text: str, *labels: str, stability: str = "ALPHA") -> Family:
    """What goes up and down."""
    return Family(name, "gauge", text, labels, stability=stability)


def histogram(name: str, text: str, *labels: str, buckets: Sequence[float], stability: str = "ALPHA") -> Family:
    """What is counted by size."""
    return Family(name, "histogram", text, labels, tuple(buckets), stability)


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Upper bounds, each so many times the one before. Upstream: ExponentialBuckets, to the last bit."""
    bounds = [start]
    while len(bounds) < count:
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


def linear(start: float, width: float, count: int) -> tuple[float, ...]:
    """Upper bounds at the same distance. Upstream: LinearBuckets."""
    return tuple(start + width * step for step in range(count))


class Visibility(msgspec.Struct, frozen=True):
    """Which of a release's families a process shows."""

    version: str
    """The release, as ``v1.36.2``."""
    shows_hidden: bool = False
    """Whether families that are hidden by age are shown. Upstream: --show-hidden-metrics-for-version."""
    disabled: frozenset[str] = frozenset()
    """Names of families that are not shown. Upstream: --disabled-metrics."""

    def hides(self, family: Family) -> bool:
        """Whether a family is too old to be shown: it was deprecated by an earlier minor release."""
        return bool(family.deprecated) and _minor(family.deprecated) < _minor(self.version) and not self.shows_hidden

    def shows(self, family: Family) -> bool:
        """Whether a family is exported."""
        return family.registered and family.name not in self.disabled and not self.hides(family)


def _minor(version: str) -> tuple[int, int]:
    major, minor = version.removeprefix("v").split(".")[:2]
    return int(major), int(minor)


PARTS = ("_bucket", "_sum", "_count")
"""Of a histogram, in the order in which they are written."""
WITHIN = ("le", "quantile")
"""Labels that tell the samples of one series apart."""
PLAIN_DIGITS = 6
"""Longer numbers are written with an exponent."""


def exposition(registry: CollectorRegistry, counters: Iterable[str] = ()) -> bytes:
    """Everything in a registry that has a series. counters: names of counters, which need not end in ``_total``."""
    plain = {name for name in counters if not name.endswith("_total")}
    named = [
        (metric.name if metric.type != "counter" or metric.name in plain else f"{metric.name}_total", metric)
        for metric in registry.collect()
        if metric.samples
    ]
    named.sort(key=lambda one: (one[0], one[1].name))
    return "".join(line for name, metric in named for line in _lines(name, metric)).encode()


def _lines(name: str, metric: Metric) -> Iterator[str]:
    text = metric.documentation.replace("\\", "\\\\").replace("\n", "\\n")
    yield f"# HELP {name} {text}\n# TYPE {name} {metric.type}\n"
    samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
    for sample in sorted(samples, key=_place):
        written = name if metric.type == "counter" else sample.name
        yield f"{written}{_labels(sample.labels)} {go_number(sample.value)}\n"


def _place(sample: Sample) -> tuple[list[tuple[str, str]], int]:
    """Series by the values of their labels; a series' samples stay together."""
    labels = sorted((name, value) for name, value in sample.labels.items() if name not in WITHIN)
    return labels, next((at for at, part in enumerate(PARTS) if sample.name.endswith(part)), 0)


def _labels(labels: Mapping[str, str]) -> str:
    """In the order of their names, the one that splits a series last."""
    if not labels:
        return ""
    written = {name: go_number(float(value)) if name == "le" else value for name, value in labels.items()}
    named = sorted(written.items(), key=lambda label: (label[0] in WITHIN, label[0]))
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in named) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def go_number(value: float) -> str:
    """A number as Go's FormatFloat(value, 'g', -1, 64) writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    digits, _, power = repr(float(value)).partition("e")
    if power:
        mantissa = digits.removesuffix(".0")
        return f"{mantissa}e{power}"
    whole, _, fraction = digits.partition(".")
    if len(whole.lstrip("-")) <= PLAIN_DIGITS:
        return whole if fraction == "0" else digits
    return _scientific(whole, "" if fraction == "0" else fraction)


def _scientific(whole: str, fraction: str) -> str:
    """Large numbers have one digit before the point."""
    sign, whole = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    rest = (whole[1:] + fraction).rstrip("0")
    return f"{sign}{whole[0]}{'.' if rest else ''}{rest}e+{len(whole) - 1:02d}"


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
    counts: Counts[int] = attrs.field(factory=Counts)
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
            counts, values = Counts[int](), Bins()
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


def _at(places: list[int], counts: Counts[int], values: Bins, rank: int) -> float:
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


LabelValues = tuple[str, ...]

KINDS: Mapping[str, Any] = {"counter": Counter, "gauge": Gauge, "histogram": Histogram, "summary": WindowedSummary}


class Instrument:
    """One metric, by the values of its labels. Any thread may count."""

    __slots__ = ("_metric", "_registry", "_series", "family")

    def __init__(self, family: Family | None, registry: CollectorRegistry) -> None:
        """family: None where the release has no such metric, or does not show it."""
        self.family = family
        self._registry = registry
        self._series: dict[LabelValues, Any] = {}
        self._metric: Any = None if family is None else self._made(family)

    def _made(self, family: Family) -> Any:
        options = {"buckets": family.buckets} if family.kind == "histogram" else {}
        return KINDS[family.kind](family.name, family.text, family.labels, registry=self._registry, **options)

    @property
    def exported(self) -> bool:
        """Whether anybody sees what is counted."""
        return self._metric is not None

    def inc(self, labels: LabelValues = (), by: float = 1) -> None:
        """Adds to a counter."""
        if self._metric is not None:
            (self._series.get(labels) or self._new(labels)).inc(by)

    def observe(self, value: float, labels: LabelValues = ()) -> None:
        """Counts a value in a histogram or a summary."""
        if self._metric is not None:
            (self._series.get(labels) or self._new(labels)).observe(value)

    def set(self, value: float, labels: LabelValues = ()) -> None:
        """Sets a gauge."""
        if self._metric is not None:
            (self._series.get(labels) or self._new(labels)).set(value)

    def set_all(self, values: Iterable[tuple[LabelValues, float]]) -> None:
        """Sets a gauge's series; those that are not named fall to 0."""
        if self._metric is None:
            return
        given = dict(values)
        for labels in self._series.keys() - given.keys():
            self.set(0, labels)
        for labels, value in given.items():
            self.set(value, labels)

    def reset(self) -> None:
        """Begins anew: series of labels go, and what has no labels is 0. Gauges stay as they are."""
        if self.family is None or self.family.kind == "gauge":
            return
        self._registry.unregister(self._metric)
        self._metric, self._series = self._made(self.family), {}

    def _new(self, labels: LabelValues) -> Any:
        series = self._metric.labels(*labels) if labels else self._metric
        self._series[labels] = series
        return series


class MetricsRegistry:
    """Makes instruments by name, and writes what they counted. Nothing is shared with other registries."""

    def __init__(self, families: Iterable[Family], visibility: Visibility) -> None:
        self._all = tuple(families)
        self._shown: Mapping[str, Family] = {f.name: f for f in self._all if visibility.shows(f)}
        self._visibility = visibility
        self._refreshers: list[Callable[[], None]] = []
        self.collectors = CollectorRegistry()
        """For collectors of what is not counted as it happens."""
        self._instruments = {name: Instrument(family, self.collectors) for name, family in self._shown.items()}

    def instrument(self, name: str) -> Instrument:
        """By the name of a metric; one that does nothing where the release has no such metric or does not show it."""
        return self._instruments.get(name) or Instrument(None, self.collectors)

    def refresh_with(self, refresh: Callable[[], None]) -> None:
        """Has gauges brought up to date before anything is written."""
        self._refreshers.append(refresh)

    def text(self) -> bytes:
        """All metrics, as Prometheus reads them."""
        for refresh in self._refreshers:
            refresh()
        return exposition(self.collectors, (name for name, family in self._shown.items() if family.kind == "counter"))

    def reset(self, *names: str) -> None:
        """Begins anew: of the metrics of these names, or of all."""
        for name, instrument in self._instruments.items():
            if not names or name in names:
                instrument.reset()

    @property
    def hidden(self) -> list[Family]:
        """The families that are too old to be shown."""
        return [family for family in self._all if self._visibility.hides(family)]

    @property
    def disabled(self) -> list[Family]:
        """The families that are not wanted."""
        return [family for family in self._all if family.name in self._visibility.disabled]

    @property
    def shown(self) -> list[Family]:
        """The families that are exported."""
        return list(self._shown.values())
