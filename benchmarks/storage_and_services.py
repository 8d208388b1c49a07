"""What volumes, services and labels of their own cost: CPU time and memory at 5,000 nodes.

    python benchmarks/storage_and_services.py --release 1.36 --scene VolumeEvents --json

VolumeEvents: every running pod has a claim bound to a CSI volume. A claim or volume changes, then a pod is decided,
one with a claim of its own or one without; milliseconds of the change and the decision together.
LocalVolumes: one local volume a node, of a class that waits for the first consumer. Each pod has a claim of its own;
with ``bound`` its claim and volume are bound to one another afterwards, as a controller does. Milliseconds a pod.
OwnLabelsServices: services that select by ``app``, and pods of as many apps in random order, each with a label that no
other has. Decisions a second, and how they come about when there are other numbers of services and apps.

Times are CPU time, the median of ``--repeat`` runs of equal length; memory is the process's largest so far.
"""

from __future__ import annotations

import gc
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import click

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import kubescheduler
from benchmarks.child_process import MEBIBYTE, peak_memory
from benchmarks.workloads import Manifest, node, node_name, one_by_one, pod
from clusterstate.manifests.decode import Decoder
from clusterstate.objects import Pod
from clusterstate.versions import DEFAULT_RELEASE
from kubescheduler.engine.engine_contract import PodScheduler
from kubescheduler.releases.names import RELEASE_NAMES

DRIVER, LOCAL_CLASS, CSI_CLASS, NAMESPACE = "csi.example.com", "local", "csi", "default"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
MOST_VOLUMES = 100
TIMED = 200
"""Decisions that are timed in one run of a scene of volumes."""


# --- objects -------------------------------------------------------------------------------


def storage_class(name: str, provisioner: str) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def csi_node(name: str) -> Manifest:
    driver = {"name": DRIVER, "nodeID": name, "allocatable": {"count": MOST_VOLUMES}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [driver]},
    }


def claim(name: str, class_name: str, volume: str = "", version: str = "1") -> Manifest:
    """Bound where a volume is named."""
    metadata: Manifest = {"name": name, "namespace": NAMESPACE, "uid": name, "resourceVersion": version}
    spec: Manifest = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": class_name,
    }
    if volume:
        metadata["annotations"] = BOUND
        spec["volumeName"] = volume
    status = {"phase": "Bound" if volume else "Pending"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, "status": status}


def volume(name: str, class_name: str, source: Manifest, claimed: str = "", version: str = "1") -> Manifest:
    """Bound where a claim is named."""
    spec: Manifest = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "storageClassName": class_name,
        **source,
    }
    if claimed:
        spec["claimRef"] = {"name": claimed, "namespace": NAMESPACE, "uid": claimed}
    metadata = {"name": name, "uid": name, "resourceVersion": version}
    status = {"phase": "Bound" if claimed else "Available"}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec, "status": status}


def csi_volume(name: str, claimed: str = "", version: str = "1") -> Manifest:
    return volume(name, CSI_CLASS, {"csi": {"driver": DRIVER, "volumeHandle": name}}, claimed, version)


def local_volume(name: str, host: str, claimed: str = "") -> Manifest:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}]}
    affinity = {"required": {"nodeSelectorTerms": [term]}}
    return volume(name, LOCAL_CLASS, {"local": {"path": "/mnt"}, "nodeAffinity": affinity}, claimed)


def claiming(name: str, claim_name: str) -> Manifest:
    return pod(name, NAMESPACE, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}])


def scheduler_of(objects: list[Manifest], release: str) -> PodScheduler:
    cluster = kubescheduler.Cluster(objects, release=release, defaulting=False)
    return kubescheduler.Scheduler(cluster).running


# --- measures ------------------------------------------------------------------------------


def cpu_seconds(work: Callable[[], Any]) -> float:
    """CPU time of some work, the garbage of before collected."""
    gc.collect()
    gc.freeze()
    started = time.process_time()
    work()
    spent = time.process_time() - started
    gc.unfreeze()
    return spent


@attrs.frozen
class Figure:
    """One line of the output."""

    scene: str
    what: str
    value: float
    unit: str

    @property
    def seconds(self) -> float:
        """CPU seconds of one operation."""
        return self.value / 1000 if self.unit == "ms" else 1 / self.value


@attrs.frozen
class Size:
    """How large a scene is."""

    nodes: int
    pods: int
    services: int
    apps: int
    repeat: int
    events: int = 20
    """Changes of volumes or claims that are timed together."""


# --- scenes --------------------------------------------------------------------------------


def volume_events(release: str, size: Size) -> Iterator[Figure]:
    objects = [storage_class(CSI_CLASS, DRIVER)]
    for index in range(size.nodes):
        objects += [node(index, ()), csi_node(node_name(index))]
    for index in range(size.pods + 1):
        objects += [csi_volume(f"pv-{index}", f"pvc-{index}"), claim(f"pvc-{index}", CSI_CLASS, f"pv-{index}")]
    scheduler = scheduler_of(objects, release)
    decoder = Decoder()
    for index in range(size.pods):
        running: Any = decoder.decode_object(claiming(f"running-{index}", f"pvc-{index}"))
        scheduler.cache.assume_pod(running, node_name(index % size.nodes))
    asked = {"with a claim": claiming("waiting", f"pvc-{size.pods}"), "without a claim": pod("waiting", NAMESPACE)}
    for text, manifest in asked.items():
        waiting: Any = decoder.decode_object(manifest)
        assert scheduler.decide(waiting).host is not None
        for kind in ("claim", "volume", "nothing"):
            events = list(_events(kind, decoder, size.events))

            def run(events: list[Any] = events, waiting: Pod = waiting) -> None:
                for event in events:
                    if event is not None:
                        scheduler.cache.add(event)
                    scheduler.decide(waiting)

            spent = statistics.median(cpu_seconds(run) for _ in range(size.repeat))
            yield Figure("VolumeEvents", f"{kind} changes, pod {text}", spent * 1000 / len(events), "ms")


def _events(kind: str, decoder: Decoder, count: int) -> Iterator[Any]:
    """Changes of the volumes or claims of pods that run."""
    for index in range(count):
        if kind == "nothing":
            yield None
        else:
            made = csi_volume(f"pv-{index}", f"pvc-{index}", version=str(index))
            held = claim(f"pvc-{index}", CSI_CLASS, f"pv-{index}", version=str(index))
            yield decoder.decode_object(made if kind == "volume" else held)


def local_volumes(release: str, size: Size) -> Iterator[Figure]:
    objects = [storage_class(LOCAL_CLASS, "kubernetes.io/no-provisioner")]
    for index in range(size.nodes):
        objects += [node(index, ()), local_volume(f"pv-{index}", node_name(index))]
    objects += [claim(f"pvc-{index}", LOCAL_CLASS) for index in range(TIMED * size.repeat)]
    decoder = Decoder()
    waiting: list[Any] = [
        decoder.decode_object(claiming(f"pod-{index}", f"pvc-{index}")) for index in range(TIMED * size.repeat)
    ]
    for bound in (False, True):
        scheduler = scheduler_of(objects, release)
        scheduler.decide(waiting[0])
        spent = []
        for turn in range(size.repeat):
            batch = waiting[turn * TIMED : (turn + 1) * TIMED][: 20 if size.repeat < 3 else TIMED]
            spent.append(cpu_seconds(partial(_place, scheduler, batch, bound, decoder)) / len(batch))
        what = "placed, claim and volume bound" if bound else "placed"
        yield Figure("LocalVolumes", what, statistics.median(spent) * 1000, "ms")


def _place(scheduler: PodScheduler, pods: list[Pod], bound: bool, decoder: Decoder) -> None:
    for waiting in pods:
        host = scheduler.decide(waiting).host
        if host is None:
            continue
        scheduler.cache.assume_pod(waiting, host)
        if bound:
            index, number = int(host.rsplit("-", 1)[1]), waiting.metadata.name.rsplit("-", 1)[1]
            for made in (
                local_volume(f"pv-{index}", host, f"pvc-{number}"),
                claim(f"pvc-{number}", LOCAL_CLASS, f"pv-{index}"),
            ):
                scheduler.cache.add(decoder.decode_object(made))


def own_labels_services(release: str, size: Size) -> Iterator[Figure]:
    objects = [node(index, ("zone1", "zone2", "zone3")) for index in range(size.nodes)]
    for index in range(size.services):
        metadata = {"name": f"app-{index}", "namespace": NAMESPACE}
        objects.append({"kind": "Service", "metadata": metadata, "spec": {"selector": {"app": f"app-{index}"}}})
    decoder = Decoder()
    draw = random.Random(0)
    apps = [index % size.apps for index in range(size.pods)]
    draw.shuffle(apps)
    waiting: list[Any] = [
        decoder.decode_object(pod(f"pod-{i}", NAMESPACE, labels={"app": f"app-{app}", "pod-name": f"pod-{i}"}))
        for i, app in enumerate(apps)
    ]
    scheduler = scheduler_of(objects, release)
    batches = [waiting[start :: size.repeat] for start in range(size.repeat)]
    rates = [len(batch) / cpu_seconds(partial(one_by_one, scheduler, batch)) for batch in batches]
    what = f"{size.services} services, pods of {size.apps} apps"
    yield Figure("OwnLabelsServices", what, statistics.median(rates), "decisions/s")


SCENES: dict[str, Callable[[str, Size], Iterator[Figure]]] = {
    "VolumeEvents": volume_events,
    "LocalVolumes": local_volumes,
    "OwnLabelsServices": own_labels_services,
}


@click.command(context_settings={"show_default": True})
@click.option("--release", "releases", type=click.Choice(RELEASE_NAMES), default=(DEFAULT_RELEASE,), multiple=True)
@click.option("--scene", "names", type=click.Choice(list(SCENES)), multiple=True, help="All when none is named.")
@click.option("--nodes", type=int, default=5000)
@click.option("--pods", type=int, default=20_000)
@click.option("--services", type=int, default=1000)
@click.option("--apps", type=int, default=1000)
@click.option("--repeat", type=int, default=5)
@click.option("--json", "as_json", is_flag=True, help="One JSON line a figure instead of a table.")
def main(
    releases: tuple[str, ...],
    names: tuple[str, ...],
    nodes: int,
    pods: int,
    services: int,
    apps: int,
    repeat: int,
    as_json: bool,
) -> None:
    """Print CPU time and memory of each scene."""
    size = Size(nodes, pods, services, apps, repeat)
    for release in releases:
        for name in names or SCENES:
            for figure in SCENES[name](release, size):
                row = {"release": release, **attrs.asdict(figure), "peak_mib": round(peak_memory() / MEBIBYTE)}
                text = f"{release:5}{figure.scene:18} {figure.what:46}{figure.value:10.2f} {figure.unit:12}"
                click.echo(json.dumps(row) if as_json else f"{text}{peak_memory() / MEBIBYTE:7.0f} MiB", nl=True)


if __name__ == "__main__":
    main()
