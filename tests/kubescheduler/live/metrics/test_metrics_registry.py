"""Instruments by name, what is shown of them, and beginning anew."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families as parse

from kubescheduler.live.metrics.metrics_registry import (
    QUANTILES,
    WINDOW,
    Family,
    MetricsRegistry,
    Visibility,
    WindowedSeries,
    WindowedSummary,
    counter,
    exposition,
    gauge,
    go_number,
    histogram,
)

OLD = Family("old_total", "counter", "Old.", deprecated="1.19.0")
AGING = Family("aging_total", "counter", "Aging.", deprecated="1.20.0")
FAMILIES = (
    counter("plain_total", "Plain.", stability="STABLE"),
    counter("labelled_total", "Labelled.", "name"),
    gauge("level", "Level."),
    gauge("levels", "Levels.", "name"),
    histogram("size", "Size.", buckets=(1.0, 2.0)),
    OLD,
    AGING,
)


@pytest.mark.parametrize(
    ("visibility", "hidden", "shown"),
    [
        pytest.param(Visibility("v1.20.15"), ["old_total"], {"plain", "aging", "level", "size"}, id="by age"),
        pytest.param(
            Visibility("v1.20.15", shows_hidden=True), [], {"plain", "aging", "old", "level", "size"}, id="all"
        ),
        pytest.param(
            Visibility("v1.20.15", disabled=frozenset({"size"})),
            ["old_total"],
            {"plain", "aging", "level"},
            id="disabled",
        ),
    ],
)
def test_what_is_shown(visibility: Visibility, hidden: list[str], shown: set[str]) -> None:
    """A family that an earlier minor release deprecated is hidden, unless it is asked for."""
    registry = MetricsRegistry(FAMILIES, visibility)
    assert [family.name for family in registry.hidden] == hidden
    assert {family.name for family in parse(registry.text().decode())} == shown


def test_the_help_tells_stability_and_deprecation() -> None:
    """Both stand before the text."""
    text = MetricsRegistry(FAMILIES, Visibility("v1.20.15")).text().decode()
    assert "# HELP plain_total [STABLE] Plain.\n" in text
    assert "# HELP aging_total [ALPHA] (Deprecated since 1.20.0) Aging.\n" in text


def test_an_instrument_without_metric_does_nothing() -> None:
    """Code counts without asking whether the release has the metric."""
    registry = MetricsRegistry(FAMILIES, Visibility("v1.20.15"))
    for name in ("unheard_of", "old_total"):
        instrument = registry.instrument(name)
        instrument.inc()
        instrument.observe(1, ("x",))
        instrument.set_all([((), 3)])
        instrument.reset()
        assert not instrument.exported
    assert "old_total" not in registry.text().decode()


def test_reset_begins_anew() -> None:
    """Series with labels go, others are 0, and levels stay as they are."""
    registry = MetricsRegistry(FAMILIES, Visibility("v1.20.15"))
    registry.instrument("plain_total").inc()
    registry.instrument("labelled_total").inc(("a",))
    registry.instrument("level").set(7)
    registry.instrument("levels").set(7, ("a",))
    registry.instrument("size").observe(1.5)
    registry.reset()
    values = {s.name + str(s.labels): s.value for family in parse(registry.text().decode()) for s in family.samples}
    assert [values.pop(name) for name in ("level{}", "levels{'name': 'a'}")] == [7, 7]
    assert set(values.values()) == {0}
    assert not any(name.startswith("label") for name in values)
    registry.instrument("labelled_total").inc(("a",))
    assert 'labelled_total{name="a"} 1\n' in registry.text().decode()


def test_reset_of_some() -> None:
    """Only the metrics that are named begin anew."""
    registry = MetricsRegistry(FAMILIES, Visibility("v1.20.15"))
    for name in ("plain_total", "aging_total"):
        registry.instrument(name).inc()
    registry.reset("aging_total")
    text = registry.text().decode()
    assert "\nplain_total 1\n" in text
    assert "\naging_total 0\n" in text


def test_series_that_are_over_fall_to_0() -> None:
    """A gauge that is set as a whole keeps the series it had."""
    levels = MetricsRegistry(FAMILIES, Visibility("v1.20.15"))
    levels.instrument("levels").set_all([(("a",), 1), (("b",), 2)])
    levels.instrument("levels").set_all([(("b",), 3)])
    text = levels.text().decode()
    assert 'levels{name="a"} 0\nlevels{name="b"} 3\n' in text


def test_gauges_are_read_when_somebody_asks() -> None:
    """Refreshers run before anything is written."""
    registry = MetricsRegistry(FAMILIES, Visibility("v1.20.15"))
    registry.refresh_with(lambda: registry.instrument("level").set(5))
    assert "\nlevel 5\n" in registry.text().decode()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1.0, "1"),
        (0.1, "0.1"),
        (-2.5, "-2.5"),
        (100000, "100000"),
        (999999, "999999"),
        (1000000, "1e+06"),
        (1048576, "1.048576e+06"),
        (69226496, "6.9226496e+07"),
        (1795333607.49, "1.79533360749e+09"),
        (1.8446744073709552e19, "1.8446744073709552e+19"),
        (0.0001, "0.0001"),
        (1e-05, "1e-05"),
        (9.999999999999999e-06, "9.999999999999999e-06"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
    ],
)
def test_numbers_are_written_as_go_does(value: float, text: str) -> None:
    """Whole numbers have no point, large ones an exponent."""
    assert go_number(value) == text


@given(st.floats(allow_nan=False))
def test_numbers_keep_their_value(value: float) -> None:
    """What is written reads as the same number."""
    assert float(go_number(value)) == value


def test_the_order_is_that_of_go() -> None:
    """Families by name, series by labels, buckets before sum and count; nothing is said of when a series began."""
    registry = CollectorRegistry()
    sizes = Histogram("b_bytes", "Sizes.", ["verb"], buckets=[64, 2**20], registry=registry)
    for verb, size in (("POST", 100), ("GET", 64)):
        sizes.labels(verb).observe(size)
    Gauge("c", 'Says "a"\nand \\.', ["name"], registry=registry).labels('x"\n\\').set(1)
    Counter("a", "Without the usual end.", registry=registry).inc(2)
    assert exposition(registry, ["a"]).decode() == (
        "# HELP a Without the usual end.\n# TYPE a counter\na 2\n"
        "# HELP b_bytes Sizes.\n# TYPE b_bytes histogram\n"
        'b_bytes_bucket{verb="GET",le="64"} 1\n'
        'b_bytes_bucket{verb="GET",le="1.048576e+06"} 1\n'
        'b_bytes_bucket{verb="GET",le="+Inf"} 1\n'
        'b_bytes_sum{verb="GET"} 64\nb_bytes_count{verb="GET"} 1\n'
        'b_bytes_bucket{verb="POST",le="64"} 0\n'
        'b_bytes_bucket{verb="POST",le="1.048576e+06"} 1\n'
        'b_bytes_bucket{verb="POST",le="+Inf"} 1\n'
        'b_bytes_sum{verb="POST"} 100\nb_bytes_count{verb="POST"} 1\n'
        '# HELP c Says "a"\\nand \\\\.\n# TYPE c gauge\nc{name="x\\"\\n\\\\"} 1\n'
    )


def test_a_family_without_series_is_left_out() -> None:
    """A metric with labels is exported once one of its series exists."""
    registry = CollectorRegistry()
    waits = Histogram("wait_seconds", "Waits.", ["result"], registry=registry)
    assert exposition(registry) == b""
    waits.labels("Success").observe(1)
    assert [family.name for family in parse(exposition(registry).decode())] == ["wait_seconds"]


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
