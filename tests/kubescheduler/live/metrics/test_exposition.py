"""Metrics as text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families as parse

from kubescheduler.live.metrics.exposition import exposition, go_number


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
