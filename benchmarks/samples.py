"""The figures that speed is judged by, and what is measured of them in a child process."""

from __future__ import annotations

import compileall
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from benchmarks.child_process import KIBIBYTE, PACKAGES, LackingError, Stopwatch, peak_memory

RATE, MILLISECONDS, SECONDS = "/s", "ms", "s"

Sample = dict[str, float]
"""cpu: seconds of one operation; wall, where it is known: the same; memory: bytes, the process's resident memory at its
highest."""


@attrs.frozen
class Headline:
    """One figure."""

    title: str
    part: str = ""
    """Which of the parts that a process measures."""
    unit: str = RATE
    """Operations a second, or how long one takes."""
    aim: str = ""
    share_of: str = ""
    """The title of another figure, of which the aim is a share."""

    def shown(self, seconds: float) -> str:
        """The figure, of the seconds of one operation."""
        match self.unit:
            case "/s":
                return f"{1 / seconds:,.0f}/s"
            case "ms":
                return f"{seconds * 1000:,.1f} ms"
            case _:
                return f"{seconds:,.2f} s"


@attrs.frozen
class Measurement:
    """What one process measures, one or several figures."""

    sample: Callable[..., dict[str, Sample]]
    """The samples by part; run in a child process with the arguments, which are JSON."""
    arguments: dict[str, Any]
    headlines: tuple[Headline, ...]
    fewer_before: dict[str, Any] = attrs.field(factory=dict)
    """Arguments that differ for the checkout before: counts so small that it, too, is done within seconds."""
    rounds_before: int | None = None
    """In how many rounds the checkout before is measured; None: in all."""
    seconds: float = 3.5
    """What one round of both checkouts takes, about, where nothing else runs."""
    prepare: Callable[[], None] | None = None
    """Called before the first round: makes the files that are read."""

    def rounds_of_before(self, rounds: int) -> int:
        """In how many of the rounds the checkout before is measured."""
        return rounds if self.rounds_before is None else min(rounds, self.rounds_before)

    def duration(self, rounds: int) -> float:
        """About how many seconds all rounds take."""
        whole = self.rounds_of_before(rounds)
        return self.seconds * (whole + (rounds - whole) / 2)


UNKNOWN = ("No such option", "No such command", "is not one of")
"""What a command writes when it does not have what was asked for."""


def sample_workload(
    name: str,
    release: str,
    nodes: int,
    pods: int,
    *,
    init_pods: int | None = None,
    bulk: bool = False,
    own_labels: bool = False,
    nominated: int | None = None,
) -> dict[str, Sample]:
    """Decisions of one workload. nominated: see ``Workload``.

    Raises RuntimeError where not as many pods found a node as the workload is made for.
    """
    import attrs

    from benchmarks.workloads import WORKLOADS, in_bulk, measure, measured_pods, one_by_one

    workload = WORKLOADS[name]
    workload = workload if nominated is None else attrs.evolve(workload, nominated=nominated)
    initial = workload.begins_with(nodes) if init_pods is None else init_pods
    run = in_bulk if bulk else one_by_one
    waiting = measured_pods(workload, pods, own_labels=own_labels)
    watch, scheduled = measure(workload, release, nodes, initial, waiting, run)
    if scheduled != (pods if workload.fits else 0):
        raise RuntimeError(f"{name}: {scheduled} of {pods} pods found a node")
    return {"": _sample(watch, pods)}


def sample_size(
    release: str, nodes: int, running: int, *, pods: int = 500, bulk_pods: int = 5_000
) -> dict[str, Sample]:
    """Decisions in a large cluster, "one by one" and "in bulk"."""
    from benchmarks.scale_point import ClusterSize, build, place, waiting_pods
    from benchmarks.workloads import in_bulk

    world, warming = ClusterSize(nodes=nodes, running=running), 50
    scheduler = build(world, release)
    waiting = waiting_pods(world, warming + pods + bulk_pods)
    place(scheduler, waiting[:warming])
    single, bulk = Stopwatch(), Stopwatch()
    single.start()
    place(scheduler, waiting[warming : warming + pods])
    single.stop()
    bulk.start()
    placed = in_bulk(scheduler, waiting[warming + pods :])
    bulk.stop()
    if placed != bulk_pods:
        raise RuntimeError(f"{placed} of {bulk_pods} pods found a node")
    return {"one by one": _sample(single, pods), "in bulk": _sample(bulk, bulk_pods)}


def sample_scene(
    scene: str, release: str, pods: int, *, nodes: int = 5_000, services: int = 1_000, events: int = 20
) -> dict[str, Sample]:
    """One scene of ``storage_and_services``; a part is what was done."""
    from benchmarks.storage_and_services import SCENES

    figures = SCENES[scene](release, nodes=nodes, pods=pods, services=services, events=events)
    return {what: {"cpu": seconds, "memory": peak_memory()} for what, seconds in figures}


def sample_command(arguments: list[str], *, piped: str | None = None, repeat: int = 1) -> dict[str, Sample]:
    """``kubescheduler`` with these arguments, from start to end, in processes of its own: the median of ``repeat``.

    piped: a file that ``cat`` writes to its standard input. Raises RuntimeError for an exit status other than 0,
    LackingError where that is because the checkout does not have such a command or option. Modules are compiled before,
    as where the package is installed.
    """
    for name in PACKAGES:
        compileall.compile_dir(Path(sys.path[0]) / name, quiet=2)
    samples = [_command_once(arguments, piped) for _ in range(repeat)]
    return {"": {key: median_of(samples, key) for key in samples[0]}}


def _command_once(arguments: list[str], piped: str | None) -> Sample:
    """Its CPU time and memory are those of the process, and of those that it waited for."""
    script = Path(sys.executable).with_name("kubescheduler")
    command = [str(script)] if script.exists() else [sys.executable, "-P", "-m", "kubescheduler"]
    environment = {**os.environ, "PYTHONPATH": sys.path[0]}
    feeder = None if piped is None else subprocess.Popen(["cat", piped], stdout=subprocess.PIPE)
    stdin = subprocess.DEVNULL if feeder is None else feeder.stdout
    started = time.perf_counter()
    with subprocess.Popen(
        [*command, *arguments],
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as child:
        if feeder is not None and feeder.stdout is not None:
            feeder.stdout.close()
        complaint = child.stderr.read() if child.stderr else ""
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    if feeder is not None:
        feeder.wait()
    if child.returncode:
        error = LackingError if any(text in complaint for text in UNKNOWN) else RuntimeError
        raise error(f"{' '.join(arguments)}: exit status {child.returncode}: {complaint.strip()[-300:]}")
    return {"cpu": used.ru_utime + used.ru_stime, "wall": wall, "memory": used.ru_maxrss * KIBIBYTE}


def _sample(watch: Stopwatch, count: int) -> Sample:
    """One operation of ``count``."""
    return {"cpu": watch.cpu / count, "wall": watch.wall / count, "memory": peak_memory()}


def median_of(samples: list[Sample], key: str) -> float:
    """The median of one value of some samples."""
    return float(statistics.median(sample[key] for sample in samples))
