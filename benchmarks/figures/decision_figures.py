"""The figures of decisions: placing, preemption, services and volumes, large clusters."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures.headline import MILLISECONDS, Headline, Measurement
from benchmarks.figures.samples import sample_scene, sample_size, sample_workload
from benchmarks.workloads import WORKLOADS

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
        own = Headline(f"{title}, own labels", aim="80 % of Basic", share_of=title)
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
                found = Headline(f"{release} {name}", aim="6,000" if name in AFFINITY else "")
                yield Measurement(sample_workload, asked, (found,), {"pods": 1_000})


def preempting() -> Iterator[Measurement]:
    """Preemptions, alone and while 500 pods wait for their nodes."""
    for release in RELEASES:
        for name, pods, before in (("PreemptionBasic", 500, 150), ("PreemptionNominated", 200, 40)):
            asked = {"name": name, "release": release, "nodes": NODES, "pods": pods}
            headline = Headline(f"{release} {name}", aim="2,000")
            yield Measurement(sample_workload, asked, (headline,), {"pods": before}, seconds=6)


def objects_around() -> Iterator[Measurement]:
    """Services and volumes."""
    for release in ("1.16", "1.36"):
        own = {"scene": "OwnLabelsServices", "release": release, "pods": 20_000}
        title = f"{release} 1,000 services and apps, own labels"
        yield Measurement(
            sample_scene,
            own,
            (Headline(title, "1000 services, pods of 1000 apps", aim="5,000"),),
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
        ways = (("one by one", "2,000, 2 GB"), ("in bulk", "50,000, 2 GB"))
        headlines = tuple(Headline(f"{release} 50,000 nodes {part}", part, aim=aim) for part, aim in ways)
        before = {"pods": 200, "bulk_pods": 200}
        yield Measurement(sample_size, asked, headlines, before, seconds=26)
