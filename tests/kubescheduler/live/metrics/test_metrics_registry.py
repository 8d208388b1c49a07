"""Instruments by name, what is shown of them, and beginning anew."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

from kubescheduler.live.metrics.metric_family import Family, Visibility, counter, gauge, histogram
from kubescheduler.live.metrics.metrics_registry import MetricsRegistry

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


def names(registry: MetricsRegistry) -> set[str]:
    return {family.name for family in parse(registry.text().decode())}


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
    assert names(registry) == shown


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
