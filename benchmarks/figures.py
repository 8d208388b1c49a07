"""Every figure that speed is judged by: decisions, then commands; and a course that measures one after another."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import attrs

from benchmarks.child_process import HERE, FailedError
from benchmarks.reading import listed_manifests, written_cluster
from benchmarks.samples import (
    MILLISECONDS,
    SECONDS,
    Headline,
    Measured,
    Measurement,
    alternate,
    sample_command,
    sample_scene,
    sample_size,
    sample_workload,
)
from benchmarks.workloads import WORKLOADS, node, pod

NODES = 5_000
AFFINITY = tuple(name for name in WORKLOADS if "Affinity" in name or "Spreading" in name)
OTHERS = ("Unschedulable", "MixedSchedulingBasePod")
RELEASES = ("1.16", "1.20", "1.36")
"""Those that most figures are asked of; 1.4 knows neither spreading nor preemption."""


def placing() -> Iterator[Measurement]:
    """Pods of one class, one by one and in bulk, and pods with labels of their own."""
    for release, aim in (("1.4", ""), ("1.16", "12,000"), ("1.20", "10,000"), ("1.36", "10,000")):
        title = f"{release} Basic"
        asked = {"name": "SchedulingBasic", "release": release, "nodes": NODES, "pods": 3_000}
        yield Measurement(sample_workload, asked, (Headline(title, aim=aim),), {"pods": 2_000})
        own = Headline(f"{title}, own labels", aim="75 % of Basic", share_of=title)
        yield Measurement(sample_workload, {**asked, "own_labels": True}, (own,), {"pods": 2_000})
        bulk = Headline(f"{title} in bulk", aim="100,000")
        many = {**asked, "pods": 30_000, "bulk": True}
        yield Measurement(sample_workload, many, (bulk,), {"pods": 2_000})


def workloads() -> Iterator[Measurement]:
    """Upstream's workloads: affinity and spreading, which have an aim, and the others."""
    for release in RELEASES:
        for name in (*AFFINITY, *OTHERS):
            if WORKLOADS[name].runs_on(release):
                asked = {"name": name, "release": release, "nodes": NODES, "pods": 1_500}
                found = Headline(f"{release} {name}", aim="5,000" if name in AFFINITY else "")
                yield Measurement(sample_workload, asked, (found,), {"pods": 1_000})


def preempting() -> Iterator[Measurement]:
    """Preemptions, alone and while 500 pods wait for their nodes."""
    for release in RELEASES:
        for name, pods, before in (("PreemptionBasic", 500, 150), ("PreemptionNominated", 200, 40)):
            asked = {"name": name, "release": release, "nodes": NODES, "pods": pods}
            headline = Headline(f"{release} {name}", aim="1,500" if name == "PreemptionNominated" else "2,000")
            yield Measurement(sample_workload, asked, (headline,), {"pods": before}, seconds=6)


def objects_around() -> Iterator[Measurement]:
    """Services and volumes."""
    for release in ("1.16", "1.36"):
        own = {"scene": "OwnLabelsServices", "release": release, "pods": 20_000}
        title = f"{release} 1,000 services and apps, own labels"
        yield Measurement(
            sample_scene,
            own,
            (Headline(title, "1000 services, pods of 1000 apps", aim="2,500"),),
            {"pods": 4_000},
            seconds=14,
        )
        events = {"scene": "VolumeEvents", "release": release, "pods": 20_000}
        of_events = [
            Headline(f"{release} a {kind} changes, then a pod {text}", f"{kind} changes, pod {text}", MILLISECONDS)
            for kind in ("claim", "volume")
            for text in ("with a claim", "without a claim")
        ]
        yield Measurement(sample_scene, events, tuple(of_events), {"events": 4}, seconds=18)
        local = {"scene": "LocalVolumes", "release": release, "pods": 200}
        of_local = [
            Headline(f"{release} a pod of 5,000 local volumes, {text}", part, MILLISECONDS, "5 ms")
            for text, part in (("placed", "placed"), ("placed and bound", "placed, claim and volume bound"))
        ]
        yield Measurement(sample_scene, local, tuple(of_local), seconds=6)


def large() -> Iterator[Measurement]:
    """50,000 nodes and 150,000 running pods."""
    for release in ("1.16", "1.36"):
        asked = {"release": release, "nodes": 50_000, "running": 150_000}
        ways = (("one by one", "5,000, 2 GB"), ("in bulk", "50,000, 2 GB"))
        headlines = tuple(Headline(f"{release} 50,000 nodes {part}", part, aim=aim) for part, aim in ways)
        before = {"pods": 200, "bulk_pods": 200}
        yield Measurement(sample_size, asked, headlines, before, seconds=26)


LISTED_NODES, LISTED_PODS, YAML_NODES = 5_000, 50_000, 1_000


class CommandFiles:
    """The files that commands read, each made when it is asked for first.

    folder: they are made there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pod = folder / "pod.json"
        self.cluster = folder / "cluster.json"
        """5,000 nodes and 50,000 pods as kubectl prints them, 420 MB."""
        self.empty = folder / "nodes.json"
        """5,000 nodes without pods."""
        self.yaml = folder / "nodes.yaml"
        """1,000 nodes as kubectl prints them."""
        self.json = folder / "same-nodes.json"
        """The same."""
        self._made = cache(self._make)

    def making(self, *paths: Path) -> Callable[[], None]:
        """What makes these files and the pod's."""
        return partial(self._all, (self.pod, *paths))

    def _all(self, paths: tuple[Path, ...]) -> None:
        for path in paths:
            self._made(path)

    def _make(self, path: Path) -> None:
        with path.open("w", encoding="utf-8") as file:
            if path == self.cluster:
                written_cluster(file, LISTED_NODES, LISTED_PODS)
            elif path == self.pod:
                json.dump({"apiVersion": "v1", **pod("waiting", "default")}, file)
            elif path == self.empty:
                json.dump(_listed({"apiVersion": "v1", **node(index, ())} for index in range(LISTED_NODES)), file)
            elif path == self.json:
                json.dump(_listed(listed_manifests(YAML_NODES, 0)), file)
            else:
                _write_yaml(file)


def _listed(items: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def _write_yaml(file: Any) -> None:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    yaml.dump(_listed(listed_manifests(YAML_NODES, 0)), file, Dumper=dumper, sort_keys=False)


def commands(folder: Path, openb: tuple[Path, Path] | None) -> Iterator[Measurement]:
    """Every command; those that read openb's trace (its files of nodes and pods) only where it is given."""
    files, example = CommandFiles(folder), HERE / "policy_examples"
    yield _command("kubescheduler --help", ["--help"], "0.1 s", repeat=3)
    for release in ("1.16", "1.36"):
        shown = ["schedule", str(example / "cluster.yaml"), "--pod", str(example / "pod.yaml"), "--release", release]
        yield _command(f"{release} schedule, the example", shown, "0.3 s", repeat=3)
    for release in ("1.16", "1.36"):
        for piped in (None, str(files.cluster)):
            way = "a file" if piped is None else "a pipe"
            read = [str(files.cluster) if piped is None else "-", "--pod", str(files.pod), "--release", release]
            title = f"{release} schedule, 5,000 nodes, 50,000 pods, {way}"
            made = files.making(files.cluster)
            yield _command(title, ["schedule", *read], "2 s, 400 MB", seconds=9, prepare=made, piped=piped)
    for path in (files.yaml, files.json):
        shown = ["schedule", str(path), "--pod", str(files.pod)]
        title = f"schedule, 1,000 nodes of {path.suffix.removeprefix('.').upper()}"
        yield _command(title, shown, seconds=3, prepare=files.making(path))
    for release in ("1.16", "1.36"):
        shown = ["capacity", str(files.empty), "--pod", str(files.pod), "--release", release]
        made = files.making(files.empty)
        yield _command(f"{release} capacity of 5,000 nodes", shown, "2 s", seconds=24, prepare=made, rounds_before=2)
    for release in ("1.16", "1.36") if openb else ():
        nodes, pods = map(str, openb or ())
        shown = ["simulate", nodes, "--workload", pods, "--release", release]
        yield _command(f"{release} simulate, the openb trace", shown, "4 s", seconds=13)


def _command(
    title: str,
    arguments: list[str],
    aim: str = "",
    *,
    seconds: float = 2,
    prepare: Callable[[], None] | None = None,
    rounds_before: int | None = None,
    **more: Any,
) -> Measurement:
    """more: further arguments of ``sample_command``."""
    headline = Headline(title, unit=SECONDS, aim=aim)
    asked = {"arguments": arguments, **more}
    return Measurement(
        sample_command, asked, (headline,), rounds_before=rounds_before, seconds=seconds, prepare=prepare
    )


SETS: tuple[Callable[[], Iterator[Measurement]], ...] = (placing, workloads, objects_around, large, preempting)
"""Those that need no files."""


def all_figures(folder: Path, openb: tuple[Path, Path] | None, only: Sequence[str] = ()) -> list[Measurement]:
    """All measurements; with ``only``, those of which a title holds one of the texts, with no more than such figures.

    folder: for the files that commands read; they are made before the measurement that needs them.
    """
    found = [*(measurement for make in SETS for measurement in make()), *commands(folder, openb)]
    chosen = [attrs.evolve(one, headlines=_named(one, only)) for one in found]
    return [one for one in chosen if one.headlines]


def _named(measurement: Measurement, only: Sequence[str]) -> tuple[Headline, ...]:
    return tuple(one for one in measurement.headlines if not only or any(text in one.title for text in only))


@attrs.define
class Course:
    """Measures one after another, and says how far it is.

    say: a line of progress. minutes: no measurement is begun after so many.
    """

    measurements: Sequence[Measurement]
    before: Path | None
    rounds: int
    minutes: float
    say: Callable[[str], object]
    failed: list[str] = attrs.field(factory=list)
    """Why figures could not be measured."""
    interrupted: bool = False

    def expected(self, start: int = 0) -> float:
        """About how many seconds the measurements from ``start`` on take where nothing else runs."""
        share = 1.0 if self.before is not None else 0.5
        return share * sum(one.duration(self.rounds) for one in self.measurements[start:])

    def results(self) -> Iterator[Measured]:
        """Every figure as soon as it is measured; ends early with Ctrl-C or when the time is over."""
        begun = time.monotonic()
        for at, one in enumerate(self.measurements):
            spent = time.monotonic() - begun
            titles = ", ".join(headline.title for headline in one.headlines)
            if self.interrupted:
                return
            if spent > self.minutes * 60:
                self.failed.append(f"{titles}: no time left")
                continue
            slower = spent / (self.expected() - self.expected(at)) if at else 1.0
            left = math.ceil(self.expected(at) * max(slower, 0.5) / 60)
            self.say(f"{at + 1} of {len(self.measurements)}, about {left} min left: {titles}")
            try:
                yield from alternate(one, self.before, self.rounds, self._interrupt)
            except FailedError as error:
                self.failed.append(f"{titles}: {str(error).splitlines()[-1]}")

    def _interrupt(self) -> None:
        self.interrupted = True
