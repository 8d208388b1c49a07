"""The picture of the growth."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from benchmarks.growing.growth import AXES, Point
from benchmarks.growing.growth_chart import ROWS, Scale, growth_chart
from kubescheduler.releases.names import RELEASE_NAMES

SVG = "{http://www.w3.org/2000/svg}"


def test_a_line_for_every_release_and_axis() -> None:
    """Each release has its line in each panel, with a dot for each size."""
    points = [
        Point(release, axis.name, size, 1e-4 * (1 + size), 0.0, 0.0, 10**8)
        for release in ("1.16", "1.36")
        for axis in AXES.values()
        for size in axis.sizes
    ]
    root = ET.fromstring(growth_chart(points))
    assert len(root.findall(f"{SVG}polyline")) == 2 * len(AXES) * len(ROWS)
    assert len(root.findall(f"{SVG}circle")) == len(points) * len(ROWS)


def test_lines_that_are_covered_are_wider() -> None:
    """So that releases which take equally long are all to be seen."""
    points = [Point(r, "nodes", size, 1e-4, 0.0, 0.0, 10**8) for r in RELEASE_NAMES for size in (500, 5_000)]
    drawn = ET.fromstring(growth_chart(points)).findall(f"{SVG}polyline")[: len(RELEASE_NAMES)]
    widths = [float(line.attrib["stroke-width"]) for line in drawn]
    assert all(wide > narrow + 1 for wide, narrow in pairwise(widths))
    assert len({line.attrib["class"] for line in drawn}) == len(RELEASE_NAMES)


def test_legible_on_light_and_dark() -> None:
    """The picture brings its own background, and both change together."""
    text = growth_chart([Point("1.36", "nodes", 500, 1e-4, 0.0, 0.0, 10**8)])
    assert "prefers-color-scheme: dark" in text
    assert 'class="back"' in text


@pytest.mark.parametrize(
    ("value", "expected"),
    [pytest.param(1, 0.0, id="lowest"), pytest.param(10, 50.0, id="middle"), pytest.param(0, 0.0, id="nothing")],
)
def test_scale(value: float, expected: float) -> None:
    """Equal ratios are equal distances; 0 stands where the lowest value does."""
    assert Scale(1, 100, 0, 100).at(value) == pytest.approx(expected)


def test_nothing_measured() -> None:
    """Without points there are empty panels."""
    assert not ET.fromstring(growth_chart([])).findall(f"{SVG}polyline")
