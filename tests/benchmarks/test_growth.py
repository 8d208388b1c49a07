"""By which power of its size a cluster's decisions are said to grow."""

from __future__ import annotations

import pytest

from benchmarks.growth import AXES, Point, exponent, exponents, judgement


def points(axis: str, times: dict[int, float]) -> list[Point]:
    """Points of an axis: size → seconds."""
    return [Point("1.36", axis, size, seconds, 0.0, 0.0, 1) for size, seconds in times.items()]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param((10, 2.0), (1000, 2.0), 0.0, id="flat"),
        pytest.param((10, 2.0), (1000, 20.0), 0.5, id="by the root"),
        pytest.param((10, 2.0), (1000, 200.0), 1.0, id="in proportion"),
        pytest.param((10, 2.0), (100, 200.0), 2.0, id="by the square"),
        pytest.param((0, 2.0), (100, 200.0), None, id="from nothing"),
    ],
)
def test_exponent(before: tuple[float, float], after: tuple[float, float], expected: float | None) -> None:
    """The power of the size between two sizes."""
    assert exponent(before, after) == (None if expected is None else pytest.approx(expected))


def test_exponents_of_neighbours() -> None:
    """Every point is compared with the one before it; the first with none."""
    assert exponents(points("nodes", {1: 1.0, 10: 10.0, 100: 10.0})) == [None, pytest.approx(1.0), pytest.approx(0.0)]


@pytest.mark.parametrize(
    ("axis", "times", "words"),
    [
        pytest.param("nodes", {500: 1.0, 5000: 10.0, 50_000: 100.0}, "no worse than linear", id="linear nodes"),
        pytest.param("nodes", {500: 1.0, 5000: 1.0, 50_000: 100.0}, "WORSE than linear", id="a steep last step"),
        pytest.param("running", {0: 1.0, 1500: 1.0, 5000: 1.2, 500_000: 1.1}, "no worse than flat", id="noise"),
        pytest.param("running", {0: 1.0, 1500: 1.0, 5000: 2.0, 500_000: 10.0}, "WORSE than flat", id="growing pods"),
        pytest.param("terms", {0: 1.0}, "too few sizes", id="one point"),
        pytest.param("terms", {0: 1.0, 1: 3.0}, "too few sizes", id="one size above 0"),
    ],
)
def test_judgement(axis: str, times: dict[int, float], words: str) -> None:
    """Whether the growth is what the axis allows."""
    assert words in judgement(AXES[axis], points(axis, times))
