"""The figures that speed is judged by: what each measures, and its aim."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from benchmarks.samples import Sample, sample_command, sample_scene, sample_size, sample_workload
from benchmarks.scale_world import World, objects, running_pod
from benchmarks.workloads import WORKLOADS, pod

NODES_OF_FILES, PODS_OF_FILES = 5_000, 50_000
RATE, MILLISECONDS, SECONDS = "/s", "ms", "s"


@attrs.frozen
class Headline:
    """One figure."""

    title: str
    sample: Callable[..., Sample]
    arguments: dict[str, Any]
    unit: str = RATE
    """Operations a second, or how long one takes."""
    aim: str = ""

    def shown(self, seconds: float) -> str:
        """The figure, of the seconds of one operation."""
        match self.unit:
            case "/s":
                return f"{1 / seconds:,.0f}/s"
            case "ms":
                return f"{seconds * 1000:,.1f} ms"
            case _:
                return f"{seconds:,.2f} s"


AFFINITY = tuple(name for name in WORKLOADS if "Affinity" in name or "Spreading" in name)


def placing() -> Iterator[Headline]:
    """Pods of one class, one by one and in bulk; pods with labels of their own; affinity and spreading."""
    for release, aim in (("1.4", ""), ("1.16", "12,000"), ("1.20", "10,000"), ("1.36", "10,000")):
        asked = {"name": "SchedulingBasic", "release": release, "nodes": 5_000, "pods": 3_000}
        yield Headline(f"{release} Basic", sample_workload, asked, aim=aim)
        more = {**asked, "own_labels": True}
        yield Headline(f"{release} Basic, own labels", sample_workload, more, aim="80 % of Basic")
        yield Headline(
            f"{release} Basic in bulk", sample_workload, {**asked, "pods": 30_000, "bulk": True}, aim="100,000"
        )
    for release in ("1.16", "1.20", "1.36"):
        for name in AFFINITY:
            if WORKLOADS[name].runs_on(release):
                asked = {"name": name, "release": release, "nodes": 5_000, "pods": 1_500}
                yield Headline(f"{release} {name}", sample_workload, asked, aim="6,000")


def preempting() -> Iterator[Headline]:
    """Preemptions, alone and while 500 pods wait for their nodes."""
    for release in ("1.16", "1.20", "1.36"):
        for name, pods in (("PreemptionBasic", 500), ("PreemptionNominated", 100)):
            asked = {"name": name, "release": release, "nodes": 5_000, "pods": pods}
            yield Headline(f"{release} {name}", sample_workload, asked, aim="2,000")


def objects_around() -> Iterator[Headline]:
    """Services and volumes."""
    for release in ("1.16", "1.36"):
        own = {"scene": "OwnLabelsServices", "what": "", "release": release, "pods": 4_000, "rate": True}
        yield Headline(f"{release} 1,000 services and apps, own labels", sample_scene, own, aim="5,000")
        event = {"scene": "VolumeEvents", "what": "volume changes", "release": release, "pods": 20_000}
        yield Headline(f"{release} a volume changes, then a decision", sample_scene, event, MILLISECONDS)
        local = {"scene": "LocalVolumes", "what": "placed, claim and", "release": release, "pods": 200}
        yield Headline(f"{release} a pod with one of 5,000 local volumes", sample_scene, local, MILLISECONDS, "5 ms")


def large() -> Iterator[Headline]:
    """50,000 nodes and 150,000 running pods."""
    for release in ("1.16", "1.36"):
        asked = {"release": release, "nodes": 50_000, "running": 150_000}
        yield Headline(f"{release} 50,000 nodes", sample_size, asked, aim="2,000, 2 GB")
        yield Headline(f"{release} 50,000 nodes in bulk", sample_size, {**asked, "bulk": True}, aim="50,000, 2 GB")


def commands(folder: Path) -> Iterator[Headline]:
    """The command line, from start to end; the files that it reads are made in ``folder``."""
    large_file, empty_file, pod_file = folder / "cluster.json", folder / "nodes.json", folder / "pod.json"
    waiting = {"apiVersion": "v1", **pod("waiting", "default")}
    pod_file.write_text(json.dumps(waiting))
    for path, running in ((large_file, PODS_OF_FILES), (empty_file, 0)):
        world = World(nodes=NODES_OF_FILES, running=running)
        items = [*objects(world), *(running_pod(world, index) for index in range(running))]
        whole = [{"apiVersion": "v1", **item} for item in items]
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": whole}))
    example = Path(__file__).resolve().parent.parent / "policy_examples"
    in_words = partial(Headline, sample=sample_command, unit=SECONDS)
    yield in_words("kubescheduler --help", arguments={"arguments": ["--help"]}, aim="0.1 s")
    shown = ["schedule", str(example / "cluster.yaml"), "--pod", str(example / "pod.yaml")]
    yield in_words("schedule, the example", arguments={"arguments": shown}, aim="0.25 s")
    shown = ["schedule", str(large_file), "--pod", str(pod_file)]
    yield in_words("schedule, 5,000 nodes and 50,000 pods", arguments={"arguments": shown}, aim="2 s, 400 MB")
    shown = ["capacity", str(empty_file), "--pod", str(pod_file)]
    yield in_words("capacity of 5,000 nodes", arguments={"arguments": shown}, aim="2 s")


def traces(nodes: Path, pods: Path) -> Iterator[Headline]:
    """A trace from files of the openb data set."""
    shown = ["simulate", str(nodes), "--workload", str(pods)]
    yield Headline("simulate, the openb trace", sample_command, {"arguments": shown}, SECONDS, "2 s")


SETS: dict[str, Callable[[], Iterator[Headline]]] = {
    "placing": placing,
    "preempting": preempting,
    "around": objects_around,
    "large": large,
}
"""Those that need no files."""
