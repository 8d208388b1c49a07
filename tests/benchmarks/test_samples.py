"""What child processes measure, on small clusters, and two checkouts that are measured in turn."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from benchmarks import samples, workloads
from benchmarks.child_process import HERE, FailedError, LackingError, measured_in_child
from benchmarks.samples import (
    HEAD,
    Headline,
    Measured,
    Measurement,
    Sample,
    alternate,
    row,
    sample_command,
    sample_scene,
    sample_size,
    sample_workload,
    save,
    saved,
)
from benchmarks.workloads import build, measured_pods, nominated_at_once


@pytest.mark.parametrize("more", [{}, {"bulk": True}, {"own_labels": True}], ids=["one by one", "bulk", "own labels"])
def test_a_workload(more: dict[str, Any]) -> None:
    """Time and memory of pods that all find a node."""
    found = sample_workload("SchedulingBasic", "1.36", 4, 30, init_pods=3, **more)[""]
    assert found["cpu"] > 0
    assert found["memory"] > 1 << 20


@pytest.mark.parametrize(
    ("name", "fits", "words"),
    [
        pytest.param("SchedulingPodAntiAffinity", True, "3 of 5 pods", id="some find none"),
        pytest.param("Unschedulable", True, "0 of 5 pods", id="none finds one"),
        pytest.param("SchedulingBasic", False, "5 of 5 pods", id="all find one and none should"),
    ],
)
def test_workloads_that_fail(name: str, fits: bool, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not as many pods find a node as should, there is no figure."""
    monkeypatch.setitem(workloads.WORKLOADS, name, attrs.evolve(workloads.WORKLOADS[name], fits=fits, most_a_node=9))
    with pytest.raises(RuntimeError, match=words):
        sample_workload(name, "1.36", 4, 5, init_pods=1)


@pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])
def test_nominated_at_once(release: str) -> None:
    """Each pod waits on a node of its own, whose victims have left."""
    workload = workloads.WORKLOADS["PreemptionBasic"]
    scheduler = build(workload, release, 12, 48)
    found = list(nominated_at_once(scheduler, measured_pods(workload, 9, prefix="early")))
    nodes = [node for _, node in found]
    assert len(set(nodes)) == len(nodes) == 9
    assert {node: len(pods) for node, pods in scheduler.cache.nominated().items()} == dict.fromkeys(nodes, 1)
    assert scheduler.cache.pod_count == 48 - 9 * 3


def test_preemptions_with_nominated_pods() -> None:
    """Nominated pods hold their nodes; the others are preempted on."""
    assert sample_workload("PreemptionBasic", "1.36", 9, 2, init_pods=36, nominated=6)[""]["cpu"] > 0


def test_a_command_and_its_failures() -> None:
    """The time of the whole process; a status other than 0 is an error, of an unknown option another."""
    assert sample_command(["--version"], repeat=2)[""]["cpu"] > 0
    with pytest.raises(LackingError, match="No such option"):
        sample_command(["--no-such-option"])
    with pytest.raises(RuntimeError, match="exit status 2"):
        sample_command(["schedule", "no-such-file.yaml", "--pod", "no-such-file.yaml"])


def test_a_command_that_reads_a_pipe() -> None:
    """Its standard input is the file."""
    example = HERE / "policy_examples"
    read = ["schedule", "-", "--pod", str(example / "pod.yaml")]
    assert sample_command(read, piped=str(example / "cluster.yaml"))[""]["memory"] > 1 << 20
    with pytest.raises(RuntimeError, match="exit status"):
        sample_command(read)


def test_a_large_cluster() -> None:
    """A large cluster, here a small one, both ways."""
    found = sample_size("1.16", 40, 10, pods=5, bulk_pods=20)
    assert {part: each["cpu"] > 0 for part, each in found.items()} == {"one by one": True, "in bulk": True}


def test_a_scene() -> None:
    """Each line is a part."""
    found = sample_scene("VolumeEvents", "1.36", 6, nodes=3, events=2)
    assert len(found) == 4
    assert 0 < found["claim changes, pod with a claim"]["cpu"] < 1


def test_a_checkout_that_lacks_a_module() -> None:
    """That is told from other failures."""

    def sample() -> dict[str, Any]:
        raise AssertionError

    sample.__module__ = "benchmarks.no_such_module"
    with pytest.raises(LackingError, match="no_such_module"):
        measured_in_child(sample, {})


def test_a_checkout_without_an_environment(tmp_path: Path) -> None:
    """Nothing is measured by the packages of another checkout."""
    with pytest.raises(FailedError, match="does not exist"):
        measured_in_child(sample_size, {"release": "1.16", "nodes": 3, "running": 3}, tmp_path)


def test_a_child_that_takes_too_long() -> None:
    """It is ended."""
    with pytest.raises(FailedError, match="not done after 0 s"):
        measured_in_child(sample_size, {"release": "1.16", "nodes": 3, "running": 3}, timeout=0.01)


def test_packages_of_another_checkout(tmp_path: Path) -> None:
    """What was measured by the packages of another checkout than the named one is an error."""
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nPYTHONPATH={HERE} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    with pytest.raises(FailedError, match="was imported from"):
        measured_in_child(sample_size, {"release": "1.16", "nodes": 3, "running": 3, "bulk_pods": 5}, tmp_path)


def test_importing_leaves_the_path_alone() -> None:
    """No module that a child process may import puts this checkout before the measured one."""
    paths = (path.relative_to(HERE).with_suffix("") for path in (HERE / "benchmarks").rglob("*.py"))
    modules = sorted(".".join(path.parts) for path in paths if path.stem != "__init__")
    assert {"benchmarks.run", "benchmarks.samples"} <= set(modules)
    code = f"""
import importlib, sys
before = list(sys.path)
for name in {modules!r}:
    importlib.import_module(name)
    assert sys.path == before, name
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("name", ["SchedulingBasic", "SchedulingPodAntiAffinity", "PreemptionNominated"])
def test_more_pods_than_fit_at_once(name: str) -> None:
    """A cluster that is full is begun anew, so that as many pods find a node as should."""
    initial = 24 if workloads.WORKLOADS[name].preempts else 3
    nominated = min(workloads.WORKLOADS[name].nominated, 2)
    assert sample_workload(name, "1.36", 6, 9, init_pods=initial, nominated=nominated)[""]["cpu"] > 0


OTHER = Path("other")
ONE = Measurement(sample_workload, {"pods": 30}, (Headline("t"),), {"pods": 3})

Answer = Callable[[dict[str, Any], Path], float]


def sample_of(cpu: float, wall: float = 1.0, memory: int = 1 << 20) -> Sample:
    """One sample."""
    return {"cpu": cpu, "wall": wall, "memory": memory}


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], None]:
    """Puts a function in place of the child process."""

    def put(made: Answer) -> None:
        def child(_: Any, arguments: dict[str, Any], checkout: Path, timeout: float) -> dict[str, Sample]:
            assert timeout > ONE.seconds
            return {"": sample_of(made(arguments, checkout))}

        monkeypatch.setattr(samples, "measured_in_child", child)

    return put


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
