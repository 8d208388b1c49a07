"""Quantiles of the last hours."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from kubescheduler.live.metrics.windowed_summary import QUANTILES, WINDOW, WindowedSeries, WindowedSummary


class Hands:
    """A clock that stands."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200))
def test_quantiles_are_near_the_value_of_their_rank(values: list[float]) -> None:
    """Each is within a hundredth of the value that has its rank."""
    series = WindowedSeries(Hands())
    for value in values:
        series.observe(value)
    ranked = sorted(values)
    for quantile, found in zip(QUANTILES, series.quantiles(), strict=True):
        assert found == pytest.approx(ranked[math.ceil(quantile * len(values)) - 1], rel=0.011)
    assert (series.count, series.sum) == (len(values), pytest.approx(sum(values)))


def test_old_values_no_longer_count_for_quantiles() -> None:
    """After the window only the new values tell the quantiles; sum and count are those of all time."""
    clock = Hands()
    series = WindowedSeries(clock)
    series.observe(100.0)
    clock.now = WINDOW / 2
    series.observe(1.0)
    assert series.quantiles() == [1.0, 100.0, 100.0]
    clock.now = WINDOW + 1
    assert series.quantiles() == [1.0, 1.0, 1.0]
    clock.now = 2 * WINDOW
    assert all(map(math.isnan, series.quantiles()))
    assert (series.count, series.sum) == (2, 101.0)


def test_a_summary_has_a_series_for_each_label() -> None:
    """Quantiles, sum and count of each, until they are forgotten."""
    summary = WindowedSummary("steps", "Steps.", ["operation"], CollectorRegistry(), Hands())
    summary.labels("binding").observe(2.0)
    (metric,) = summary.collect()
    found: dict[str, Any] = {s.name + s.labels.get("quantile", ""): s.value for s in metric.samples}
    assert found == {"steps0.5": 2.0, "steps0.9": 2.0, "steps0.99": 2.0, "steps_sum": 2.0, "steps_count": 1}
    assert {s.labels["operation"] for s in metric.samples} == {"binding"}
    summary.clear()
    assert [metric.samples for metric in summary.collect()] == [[]]
