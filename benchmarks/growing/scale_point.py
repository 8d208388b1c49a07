"""One point of the growth: a cluster is built, and pods are decided and assumed one after another."""

from __future__ import annotations

import gc
import statistics
import time
from itertools import chain
from typing import Any

from benchmarks.child_process import peak_memory
from benchmarks.growing.scale_world import ClusterSize, measured_pod, node, objects, running_pod
from clusterstate.cache import ClusterCache
from clusterstate.manifests.decode import Decoder
from kubescheduler.engine.engine_contract import PodScheduler
from kubescheduler.engine.spec import EngineSpec, no_notice

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
    for pod in pods:
        host = scheduler.decide(pod).host
        if host is None:
            raise RuntimeError(f"{pod.key} fits nowhere: the cluster is too small for this measurement")
        scheduler.cache.assume_pod(pod, host)


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
