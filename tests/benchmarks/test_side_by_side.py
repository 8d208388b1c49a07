"""Two checkouts in turn: what is measured where, and what becomes of failures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from benchmarks import samples
from benchmarks.child_process import HERE, FailedError, LackingError
from benchmarks.samples import (
    HEAD,
    Headline,
    Measured,
    Measurement,
    Sample,
    alternate,
    row,
    sample_workload,
    save,
    saved,
)

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

        monkeypatch.setattr(samples, "measured_in_child", child)

    return put


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


def sample_of(cpu: float, wall: float = 1.0, memory: int = 1 << 20) -> Sample:
    """One sample."""
    return {"cpu": cpu, "wall": wall, "memory": memory}


def test_columns() -> None:
    """Medians of CPU time, the ratio and its spread, wall time, memory, aim."""
    found = Measured(
        Headline("t", unit="s", aim="2 s"),
        [sample_of(2.0, memory=3 << 20), sample_of(20.0, memory=5 << 20)],
        [sample_of(1.0, 6.0, 7 << 20), sample_of(5.0, 8.0, 9 << 20)],
    )
    words = row(found, {}).split()
    assert words == ["t", "11.00", "s", "3.00", "s", "3.00", "2.00–4.00", "7.00", "s", "4", "8", "2", "s"]
    assert len(row(found, {})) < len(HEAD) + 20


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param({"whole": Measured(Headline("whole"), [], [sample_of(0.4)])}, "80 % of it (is 80%)", id="known"),
        pytest.param({}, "80 % of it", id="not measured"),
    ],
)
def test_shares(known: dict[str, Measured], expected: str) -> None:
    """An aim that is a share of another figure says which share it is."""
    found = Measured(Headline("t", aim="80 % of it", share_of="whole"), [], [sample_of(0.5)])
    assert row(found, known).endswith(f"  {expected}")


def test_saved_and_read(tmp_path: Path) -> None:
    """Of a title that was saved twice the later counts. Paths of a machine are not kept."""
    path = tmp_path / "figures.jsonl"
    first = Measured(Headline("t"), [], [sample_of(1.0)])
    second = Measured(
        Headline("t", "part", "ms", "5 ms"), [sample_of(3.0)], [sample_of(2.0)], {"arguments": ["/a/path"]}, "it"
    )
    for found in (first, second):
        save(path, found)
    assert saved(path) == {"t": attrs.evolve(second, arguments={})}
    assert "/a/path" not in path.read_text()
