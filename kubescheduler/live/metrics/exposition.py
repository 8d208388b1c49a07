"""Metrics as text, in the order and with the numbers that Go writes. Upstream: text/plain; version=0.0.4.

The writer of prometheus_client does not serve: it lets every counter end in ``_total``, adds series ``_created`` unless
that is turned off for the whole process, and writes whole numbers with a point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric, Sample

PARTS = ("_bucket", "_sum", "_count")
"""Of a histogram, in the order in which they are written."""
WITHIN = ("le", "quantile")
"""Labels that tell the samples of one series apart."""
PLAIN_DIGITS = 6
"""Longer numbers are written with an exponent."""


def exposition(registry: CollectorRegistry, counters: Iterable[str] = ()) -> bytes:
    """Everything in a registry that has a series. counters: names of counters, which need not end in ``_total``."""
    plain = {name for name in counters if not name.endswith("_total")}
    named = sorted((_exported(metric, plain), metric) for metric in _collected(registry) if metric.samples)
    return "".join(line for name, metric in named for line in _lines(name, metric)).encode()


def _collected(registry: CollectorRegistry) -> list[Metric]:
    return [_Ordered.of(metric) for metric in registry.collect()]


class _Ordered(Metric):
    """A metric that can stand in a sorted list beside another of its name."""

    @classmethod
    def of(cls, metric: Metric) -> _Ordered:
        out = cls(metric.name, metric.documentation, metric.type)
        out.samples = metric.samples
        return out

    def __lt__(self, other: Metric) -> bool:
        return self.name < other.name


def _exported(metric: Metric, plain: set[str]) -> str:
    return metric.name if metric.type != "counter" or metric.name in plain else f"{metric.name}_total"


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
    named = sorted(labels.items(), key=lambda label: (label[0] in WITHIN, label[0]))
    return "{" + ",".join(f'{name}="{_escaped(_bound(name, value))}"' for name, value in named) + "}"


def _bound(name: str, value: str) -> str:
    return go_number(float(value)) if name == "le" else value


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
