"""Two checkouts in turn: what is measured where, and what becomes of failures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from benchmarks.child_process import HERE, FailedError, LackingError
from benchmarks.figures import side_by_side
from benchmarks.figures.headline import Headline, Measurement, Sample
from benchmarks.figures.samples import sample_workload
from benchmarks.figures.side_by_side import Measured, alternate

OTHER = Path("other")
ONE = Measurement(sample_workload, {"pods": 30}, (Headline("t"),), {"pods": 3})

Answer = Callable[[dict[str, Any], Path], float]


def sample(cpu: float) -> Sample:
    """One sample."""
    return {"cpu": cpu, "wall": 1.0, "memory": 1 << 20}


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], None]:
    """Puts a function in place of the child process."""

    def put(made: Answer) -> None:
        def child(_: Any, arguments: dict[str, Any], checkout: Path, timeout: float) -> dict[str, Sample]:
            assert timeout > ONE.seconds
            return {"": sample(made(arguments, checkout))}

        monkeypatch.setattr(side_by_side, "measured_in_child", child)

    return put


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        pytest.param("/s", "400/s", id="rate"),
        pytest.param("ms", "2.5 ms", id="milliseconds"),
        pytest.param("s", "0.00 s", id="seconds"),
    ],
)
def test_shown(unit: str, expected: str) -> None:
    """A figure is shown in its unit."""
    assert Headline("t", unit=unit).shown(0.0025) == expected


def test_the_ratio_is_of_neighbours_in_time() -> None:
    """Each sample is compared with the one measured just before it, so that a machine's slow minute counts for both."""
    found = Measured(Headline("t"), [sample(2.0), sample(20.0)], [sample(1.0), sample(5.0)])
    assert found.ratios() == [2.0, 4.0]


def test_in_turn(answer: Callable[[Answer], None]) -> None:
    """There, with its smaller counts, here, there, here."""
    asked: list[tuple[int, Path]] = []

    def made(arguments: dict[str, Any], checkout: Path) -> float:
        asked.append((arguments["pods"], checkout))
        return 1.0

    answer(made)
    [found] = alternate(ONE, OTHER, 2)
    assert asked == [(3, OTHER), (30, HERE)] * 2
    assert (len(found.before), len(found.here), found.arguments) == (2, 2, {"pods": 30})


def test_fewer_rounds_before(answer: Callable[[Answer], None]) -> None:
    """A checkout that takes long is measured in the first rounds only, and the duration counts that."""
    answer(lambda arguments, checkout: 1.0)
    measurement = attrs.evolve(ONE, rounds_before=2, seconds=10.0)
    [found] = alternate(measurement, OTHER, 5)
    assert (len(found.before), len(found.here)) == (2, 5)
    assert measurement.duration(5) == 35.0
    assert measurement.duration(1) == 10.0


def test_what_only_the_other_lacks(answer: Callable[[Answer], None]) -> None:
    """It is asked once; this checkout is measured all the same. What this one lacks is a failure."""
    asked: list[Path] = []
    lacking = {OTHER}

    def made(_: dict[str, Any], checkout: Path) -> float:
        asked.append(checkout)
        if checkout in lacking:
            raise LackingError("No such option")
        return 1.0

    answer(made)
    [found] = alternate(ONE, OTHER, 2)
    assert (asked, found.before, found.lacking) == ([OTHER, HERE, HERE], [], "No such option")
    lacking.add(HERE)
    with pytest.raises(FailedError, match="lacking here: No such option"):
        list(alternate(ONE, OTHER, 2))


@pytest.mark.parametrize("faulty", [OTHER, HERE], ids=["before", "here"])
def test_failures(answer: Callable[[Answer], None], faulty: Path) -> None:
    """A sample that fails is an error, in either checkout, and no figure."""

    def made(_: dict[str, Any], checkout: Path) -> float:
        if checkout == faulty:
            raise FailedError("no")
        return 1.0

    answer(made)
    with pytest.raises(FailedError, match="no"):
        list(alternate(ONE, OTHER, 2))


def test_a_part_that_is_not_there(answer: Callable[[Answer], None]) -> None:
    """A figure of which nothing was measured is an error."""
    answer(lambda arguments, checkout: 1.0)
    with pytest.raises(FailedError, match="t: nothing was measured of 'x'"):
        list(alternate(attrs.evolve(ONE, headlines=(Headline("t", "x"),)), None, 1))


def test_interrupted(answer: Callable[[Answer], None]) -> None:
    """Ctrl-C leaves the rounds that are done, or nothing where there is none."""
    times: list[int] = []

    def made(arguments: dict[str, Any], checkout: Path) -> float:
        if len(times) == 2:
            raise KeyboardInterrupt
        times.append(1)
        return 1.0

    answer(made)
    calls: list[str] = []
    [found] = alternate(ONE, None, 5, lambda: calls.append("interrupted"))
    assert (len(found.here), calls) == (2, ["interrupted"])
    assert list(alternate(ONE, None, 5)) == []
