"""What is measured in a child process: each returns CPU and wall seconds of one operation, and the peak memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks.child_process import KIBIBYTE, peak_memory

Sample = dict[str, Any]
"""cpu, wall: seconds of one operation; memory: bytes, the process's resident memory at its highest."""


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
) -> Sample:
    """Decisions of one workload; ``scheduled`` says how many pods found a node. nominated: see ``Workload``."""
    import attrs

    from benchmarks.workload_runs import in_bulk, measure, measured_pods, one_by_one
    from benchmarks.workloads import WORKLOADS

    workload = WORKLOADS[name]
    workload = workload if nominated is None else attrs.evolve(workload, nominated=nominated)
    initial = workload.begins_with(nodes) if init_pods is None else init_pods
    run = in_bulk if bulk else one_by_one
    waiting = measured_pods(workload, pods, own_labels=own_labels)
    watch, scheduled = measure(workload, release, nodes, initial, waiting, run)
    return {"cpu": watch.cpu / pods, "wall": watch.wall / pods, "memory": peak_memory(), "scheduled": scheduled}


def sample_size(release: str, nodes: int, running: int, *, bulk: bool = False) -> Sample:
    """Decisions in a large cluster."""
    from benchmarks.child_process import Stopwatch
    from benchmarks.scale_point import build, place, waiting_pods
    from benchmarks.scale_world import World
    from benchmarks.workload_runs import in_bulk

    world = World(nodes=nodes, running=running)
    scheduler, count = build(world, release), 5_000 if bulk else 500
    waiting, watch = waiting_pods(world, count + 50), Stopwatch()
    place(scheduler, waiting[:50])
    watch.start()
    (in_bulk if bulk else place)(scheduler, waiting[50:])
    watch.stop()
    return {"cpu": watch.cpu / count, "wall": watch.wall / count, "memory": peak_memory()}


def sample_scene(scene: str, what: str, release: str, pods: int, *, rate: bool = False) -> Sample:
    """One scene of ``storage_and_services``. what: how the wanted line begins; rate: it is of decisions a second."""
    from benchmarks.storage_and_services import SCENES, Size

    started = time.perf_counter()
    for found in SCENES[scene](release, Size(5_000, pods, 1_000, 1_000, 1)):
        if found.what.startswith(what):
            seconds = 1 / found.value if rate else found.value / 1000
            return {"cpu": seconds, "wall": time.perf_counter() - started, "memory": peak_memory()}
    raise ValueError(f"{scene}: nothing begins with {what}")


def sample_command(arguments: list[str]) -> Sample:
    """``kubescheduler`` with these arguments, from start to end, in a process of its own."""
    started = time.perf_counter()
    command = [sys.executable, "-P", "-m", "kubescheduler", *arguments]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit status {child.returncode}")
    wall = time.perf_counter() - started
    return {"cpu": used.ru_utime + used.ru_stime, "wall": wall, "memory": used.ru_maxrss * KIBIBYTE}


def median_of(samples: list[Sample], key: str) -> float:
    """The median of one value of some samples."""
    return float(statistics.median(sample[key] for sample in samples))
