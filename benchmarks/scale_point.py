"""Clusters of any size, and time and memory of decisions in one of them."""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Iterator
from itertools import chain
from typing import Any

import attrs

from benchmarks.child_process import peak_memory
from benchmarks.workloads import HOSTNAME, ZONE, Manifest, pod
from clusterstate.cache import ClusterCache
from clusterstate.manifests.decode import Decoder
from kubescheduler.engine.spec import EngineSpec, PodScheduler, no_notice

ZONES = ("zone-1", "zone-2", "zone-3")
NAMESPACE = "scale"
GROUP = 4
"""Running pods of every app whose pods have terms."""
APPS = 5_000
"""Apps that services select by."""
STEP = 1_009
"""How far apart in the order of apps two pods are of which one comes after the other; a prime, so that all come."""
IMAGES = json.dumps(
    [
        {
            "names": [f"registry.example.com/team/app-{at}@sha256:{at:064x}", f"registry.example.com/team/app-{at}:v1"],
            "sizeBytes": 10_000_000 + at,
        }
        for at in range(20)
    ]
)
"""The images that every node lists."""


@attrs.frozen
class ClusterSize:
    """How large a cluster is. Every node has room for 250 pods of the default size, and is in one of three zones."""

    nodes: int = 5_000
    running: int = 20_000
    """Running pods, pod k on node k mod nodes."""
    classes: int = 1
    """Distinct labels ``app`` and memory requests, of running and of measured pods."""
    services: int = 0
    """Service i selects by ``app: app-i``; with services, pods are of 5,000 apps, in an order that mixes them."""
    terms: int = 0
    """Apps whose pods prefer other nodes than each other's and spread over zones. Four pods of each run."""

    @property
    def kinds(self) -> int:
        """How many kinds of pods take turns; services may tell fewer of them apart."""
        return self.terms or (APPS if self.services else self.classes)


def node(index: int) -> Manifest:
    """Node ``index``: cpu 64, memory 256Gi, 250 pods, 20 images; no part of it is another node's."""
    name = node_name(index)
    room = {"cpu": "64", "memory": "256Gi", "pods": "250"}
    status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    status["images"] = json.loads(IMAGES)
    labels = {HOSTNAME: name, ZONE: ZONES[index % len(ZONES)]}
    return {"kind": "Node", "metadata": {"name": name, "uid": name, "labels": labels}, "spec": {}, "status": status}


def node_name(index: int) -> str:
    """The name of node ``index``."""
    return f"scale-{index:06d}"


def service(index: int) -> Manifest:
    """A service that selects the pods of one app."""
    name = f"app-{index}"
    metadata = {"name": name, "namespace": NAMESPACE, "uid": f"service-{index}"}
    return {"kind": "Service", "metadata": metadata, "spec": {"selector": {"app": name}}}


def running_pod(world: ClusterSize, index: int) -> Manifest:
    """Running pod ``index``, on its node."""
    name = f"running-{index}"
    terms = index < GROUP * world.terms
    made = _with_terms(name, index % world.terms) if terms else _plain(world, name, index)
    made["spec"]["nodeName"] = node_name(index % world.nodes)
    return made


def measured_pod(world: ClusterSize, index: int) -> Manifest:
    """Pod ``index`` of those that are decided: its apps take turns."""
    name = f"measured-{index}"
    return _with_terms(name, index % world.terms) if world.terms else _plain(world, name, index)


def objects(world: ClusterSize) -> Iterator[Manifest]:
    """Everything but pods."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": {}}}
    yield from map(node, range(world.nodes))
    yield from map(service, range(world.services))


def _plain(world: ClusterSize, name: str, index: int) -> Manifest:
    labels = {"app": f"app-{index * STEP % world.kinds}"}
    made = pod(name, NAMESPACE, labels=labels)
    if world.classes > 1:
        resources = {"cpu": "100m", "memory": str(500 * 1024**2 + index * STEP % world.classes)}
        made["spec"]["containers"][0]["resources"] = {"requests": resources, "limits": resources}
    return made


def _with_terms(name: str, app: int) -> Manifest:
    labels = {"app": f"app-{app}"}
    selector = {"matchLabels": labels}
    term = {"labelSelector": selector, "topologyKey": HOSTNAME}
    preferred = [{"weight": 1, "podAffinityTerm": term}]
    spread: dict[str, Any] = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": selector,
    }
    return pod(
        name,
        NAMESPACE,
        labels=labels,
        affinity={"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
        topologySpreadConstraints=[spread],
    )


CHUNK = 50
"""Decisions that are timed together."""
MOST_WARMING = 1_500
"""Before the first timed decision every kind of pod is decided once, or so many kinds: more than are remembered."""
NODE_EVENTS = 5


def measure_point(world: dict[str, int], release: str, seconds: float, most: int) -> dict[str, Any]:
    """The fields of a Point, but for those that name it. Decisions end after ``seconds`` or ``most`` pods."""
    cluster = ClusterSize(**world)
    started = time.process_time()
    scheduler = build(cluster, release)
    building = time.process_time() - started
    decision = statistics.median(decide_one_by_one(scheduler, cluster, seconds, most))
    event = statistics.median(after_node_events(scheduler, cluster))
    return {"decision": decision, "node_event": event, "building": building, "memory": peak_memory()}


def build(world: ClusterSize, release: str) -> PodScheduler:
    """A scheduler over the cluster; no object's manifest is kept."""
    engine = EngineSpec(release=release).engine(no_notice)
    decoder = Decoder()
    manifests = chain(objects(world), (running_pod(world, index) for index in range(world.running)))
    cache = ClusterCache.of(map(decoder.decode_object, manifests), engine.view)
    return engine.scheduler(cache)


def decide_one_by_one(scheduler: PodScheduler, world: ClusterSize, seconds: float, most: int) -> list[float]:
    """CPU seconds of a decision, decide and assume, in each group of them after the kinds of pods were decided once."""
    warming = max(CHUNK, min(world.kinds, MOST_WARMING))
    waiting = waiting_pods(world, warming + most)
    place(scheduler, waiting[:warming])
    found: list[float] = []
    for start in range(warming, len(waiting), CHUNK):
        before = time.process_time()
        place(scheduler, waiting[start : start + CHUNK])
        found.append((time.process_time() - before) / CHUNK)
        if sum(found) * CHUNK > seconds:
            break
    return found


def waiting_pods(world: ClusterSize, count: int) -> list[Any]:
    """Pods to decide; garbage of before is collected, and what is there is left out of later collections."""
    decoder = Decoder()
    waiting = [decoder.decode_object(measured_pod(world, index)) for index in range(count)]
    gc.collect()
    gc.freeze()
    return waiting


def place(scheduler: PodScheduler, pods: list[Any]) -> None:
    """Decides and assumes. Raises RuntimeError for a pod that fits nowhere."""
    for waiting in pods:
        host = scheduler.decide(waiting).host
        if host is None:
            raise RuntimeError(f"{waiting.key} fits nowhere: the cluster is too small for this measurement")
        scheduler.cache.assume_pod(waiting, host)


def after_node_events(scheduler: PodScheduler, world: ClusterSize) -> list[float]:
    """CPU seconds to add a node and to decide a pod next, each of a few times."""
    decoder, found = Decoder(), []
    for event in range(NODE_EVENTS):
        added = decoder.decode_object(node(world.nodes + event))
        waiting: Any = decoder.decode_object(measured_pod(world, event))
        started = time.process_time()
        scheduler.cache.add(added)
        scheduler.decide(waiting)
        found.append(time.process_time() - started)
    return found
