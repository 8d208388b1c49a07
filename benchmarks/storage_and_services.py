"""Scenes with volumes, services and labels of their own, which ``run.py --figures`` measures.

VolumeEvents: every running pod has a claim bound to a CSI volume. A claim or volume changes, then a pod is decided,
one with a claim of its own or one without: the change and the decision together.
LocalVolumes: one local volume a node, of a class that waits for the first consumer. Each pod has a claim of its own;
with ``bound`` its claim and volume are bound to one another afterwards, as a controller does.
OwnLabelsServices: services that select by ``app``, and pods of as many apps in random order, each with a label that no
other has.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import kubescheduler
from benchmarks.workloads import Manifest, node, node_name, one_by_one, pod
from clusterstate.manifests.decode import Decoder
from clusterstate.objects import Pod
from kubescheduler.engine.engine_contract import PodScheduler

DRIVER, LOCAL_CLASS, CSI_CLASS, NAMESPACE = "csi.example.com", "local", "csi", "default"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
MOST_VOLUMES = 100
TIMED = 20
"""Pods of local volumes that are timed."""


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


Seconds = Iterator[tuple[str, float]]
"""(what was done, CPU seconds of one such operation)."""


# --- scenes --------------------------------------------------------------------------------


def volume_events(release: str, *, nodes: int, pods: int, events: int, **_: int) -> Seconds:
    objects = [storage_class(CSI_CLASS, DRIVER)]
    for index in range(nodes):
        objects += [node(index, ()), csi_node(node_name(index))]
    for index in range(pods + 1):
        objects += [csi_volume(f"pv-{index}", f"pvc-{index}"), claim(f"pvc-{index}", CSI_CLASS, f"pv-{index}")]
    scheduler = scheduler_of(objects, release)
    decoder = Decoder()
    for index in range(pods):
        running: Any = decoder.decode_object(claiming(f"running-{index}", f"pvc-{index}"))
        scheduler.cache.assume_pod(running, node_name(index % nodes))
    asked = {"with a claim": claiming("waiting", f"pvc-{pods}"), "without a claim": pod("waiting", NAMESPACE)}
    for text, manifest in asked.items():
        waiting: Any = decoder.decode_object(manifest)
        assert scheduler.decide(waiting).host is not None
        for kind in ("claim", "volume"):
            changes = list(_events(kind, decoder, events))

            def run(changes: list[Any] = changes, waiting: Pod = waiting) -> None:
                for change in changes:
                    scheduler.cache.add(change)
                    scheduler.decide(waiting)

            yield f"{kind} changes, pod {text}", cpu_seconds(run) / events


def _events(kind: str, decoder: Decoder, count: int) -> Iterator[Any]:
    """Changes of the volumes or claims of pods that run."""
    for index in range(count):
        made = csi_volume(f"pv-{index}", f"pvc-{index}", version=str(index))
        held = claim(f"pvc-{index}", CSI_CLASS, f"pv-{index}", version=str(index))
        yield decoder.decode_object(made if kind == "volume" else held)


def local_volumes(release: str, *, nodes: int, **_: int) -> Seconds:
    objects = [storage_class(LOCAL_CLASS, "kubernetes.io/no-provisioner")]
    for index in range(nodes):
        objects += [node(index, ()), local_volume(f"pv-{index}", node_name(index))]
    objects += [claim(f"pvc-{index}", LOCAL_CLASS) for index in range(TIMED)]
    decoder = Decoder()
    waiting: list[Any] = [decoder.decode_object(claiming(f"pod-{index}", f"pvc-{index}")) for index in range(TIMED)]
    for bound in (False, True):
        scheduler = scheduler_of(objects, release)
        scheduler.decide(waiting[0])
        spent = cpu_seconds(partial(_place, scheduler, waiting, bound, decoder))
        yield "placed, claim and volume bound" if bound else "placed", spent / TIMED


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


def own_labels_services(release: str, *, nodes: int, pods: int, services: int, **_: int) -> Seconds:
    objects = [node(index, ("zone1", "zone2", "zone3")) for index in range(nodes)]
    for index in range(services):
        metadata = {"name": f"app-{index}", "namespace": NAMESPACE}
        objects.append({"kind": "Service", "metadata": metadata, "spec": {"selector": {"app": f"app-{index}"}}})
    decoder = Decoder()
    draw = random.Random(0)
    apps = [index % services for index in range(pods)]
    draw.shuffle(apps)
    waiting: list[Any] = [
        decoder.decode_object(pod(f"pod-{i}", NAMESPACE, labels={"app": f"app-{app}", "pod-name": f"pod-{i}"}))
        for i, app in enumerate(apps)
    ]
    scheduler = scheduler_of(objects, release)
    yield f"{services} services, pods of {services} apps", cpu_seconds(partial(one_by_one, scheduler, waiting)) / pods


SCENES: dict[str, Callable[..., Seconds]] = {
    "VolumeEvents": volume_events,
    "LocalVolumes": local_volumes,
    "OwnLabelsServices": own_labels_services,
}
