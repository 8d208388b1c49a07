"""Family: one metric as a release defines it. Upstream: component-base/metrics."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


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
