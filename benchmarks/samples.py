"""The figures that speed is judged by, and what is measured of them in a child process; two checkouts measured in turn,
on the same machine within the same minutes, as rows of a table.
"""

from __future__ import annotations

import compileall
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks.child_process import (
    HERE,
    KIBIBYTE,
    MEBIBYTE,
    PACKAGES,
    FailedError,
    LackingError,
    Stopwatch,
    measured_in_child,
    peak_memory,
)

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
    from benchmarks.workloads import SCENES

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


SLOWEST = 20.0
"""By how many times longer than expected a process may take before it is ended; it has a minute besides."""


@attrs.frozen
class Measured:
    """The samples of one figure, the checkouts in turn."""

    headline: Headline
    before: list[Sample]
    """Empty without a checkout to compare with, or where that one lacks what is measured."""
    here: list[Sample]
    arguments: dict[str, Any] = attrs.field(factory=dict)
    """What was measured here."""
    lacking: str = ""
    """What the checkout before lacks."""

    def ratios(self) -> list[float]:
        """By how many times less CPU time this checkout needs, of each pair of samples; empty without pairs."""
        return [old["cpu"] / new["cpu"] for old, new in zip(self.before, self.here, strict=False)]


def alternate(
    measurement: Measurement, before: Path | None, rounds: int, interrupted: Callable[[], object] = lambda: None
) -> Iterator[Measured]:
    """The figures of a measurement, ``rounds`` times each there and here in turn.

    Ctrl-C ends it with the rounds that are done, after a call of ``interrupted``. Raises FailedError where a sample
    cannot be had here, or, for another reason than that something is lacking, before.
    """
    there: list[dict[str, Sample]] = []
    here: list[dict[str, Sample]] = []
    lacking = ""
    try:
        if measurement.prepare is not None:
            measurement.prepare()
        for turn in range(rounds):
            if before is not None and not lacking and turn < measurement.rounds_of_before(rounds):
                asked = {**measurement.arguments, **measurement.fewer_before}
                try:
                    there.append(_one(measurement, asked, before))
                except LackingError as error:
                    lacking = str(error)
            here.append(_one(measurement, measurement.arguments, HERE))
    except KeyboardInterrupt:
        interrupted()
    except LackingError as error:
        raise FailedError(f"lacking here: {error}") from error
    if here:
        for headline in measurement.headlines:
            old, new = _part(there, headline), _part(here, headline)
            yield Measured(headline, old, new, measurement.arguments, lacking)


def _one(measurement: Measurement, arguments: dict[str, Any], checkout: Path) -> dict[str, Sample]:
    timeout = 60 + SLOWEST * measurement.seconds
    found: dict[str, Sample] = measured_in_child(measurement.sample, arguments, checkout, timeout)
    return found


def _part(found: Sequence[dict[str, Sample]], headline: Headline) -> list[Sample]:
    """The figure's samples. Raises FailedError where there is no such part."""
    try:
        return [parts[headline.part] for parts in found]
    except KeyError as error:
        raise FailedError(f"{headline.title}: nothing was measured of {error}") from error


WIDTH = 54
HEAD = f"{'':{WIDTH}}{'before':>12}{'here':>12}{'ratio':>8}{'from–to':>14}{'wall':>12}{'MiB before':>12}{'MiB':>7}  aim"
NONE = "–"


def row(found: Measured, known: Mapping[str, Measured]) -> str:
    """The row of the table: medians, the ratio of pairs with its spread, wall time, peak memory, aim.

    All but the column of wall time is CPU time. known: what was measured by then, by title.
    """
    headline, ratios = found.headline, found.ratios()
    before = memory = ratio = spread = NONE if found.lacking else ""
    if ratios:
        before, memory = headline.shown(median_of(found.before, "cpu")), mebibytes(found.before)
        ratio, spread = f"{statistics.median(ratios):.2f}", f"{min(ratios):.2f}–{max(ratios):.2f}"
    here = headline.shown(median_of(found.here, "cpu"))
    wall = headline.shown(median_of(found.here, "wall")) if "wall" in found.here[0] else ""
    times = f"{before:>12}{here:>12}{ratio:>8}{spread:>14}{wall:>12}"
    return f"{headline.title:{WIDTH}}{times}{memory:>12}{mebibytes(found.here):>7}  {aim(found, known)}".rstrip()


def mebibytes(samples: list[Sample]) -> str:
    """The median of the peak memory, in MiB."""
    return f"{median_of(samples, 'memory') / MEBIBYTE:,.0f}"


def aim(found: Measured, known: Mapping[str, Measured]) -> str:
    """The aim; where it is a share of another figure that is known, also which share was measured."""
    other = known.get(found.headline.share_of)
    if other is None:
        return found.headline.aim
    share = median_of(other.here, "cpu") / median_of(found.here, "cpu")
    return f"{found.headline.aim} (is {share:.0%})"


def save(path: Path, found: Measured) -> None:
    """Appends the figure to a file, as a line of JSON, without its arguments: they name files of one machine."""
    kept = attrs.asdict(attrs.evolve(found, arguments={}))
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(kept, ensure_ascii=False) + "\n")


def saved(path: Path) -> dict[str, Measured]:
    """Title → figure, of a file that ``save`` wrote; of the same title the last line counts."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    found = [Measured(**{**line, "headline": Headline(**line["headline"])}) for line in lines]
    return {one.headline.title: one for one in found}
