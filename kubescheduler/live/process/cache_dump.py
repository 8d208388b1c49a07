"""What SIGUSR2 writes to the log: whether the cache agrees with what informers know, then the cache and the queue.

Upstream: internal/cache/debugger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.columns import Columns
from clusterstate.objects import Pod
from kubescheduler.live.informers.stored_objects import StoredObjects
from kubescheduler.live.klog import LogLine, Severity, structured
from kubescheduler.live.live_scheduler import LiveScheduler

STEPS = 3
"""Verbosity of the lines that say that a comparison begins and ends."""
Names = list[str]


class DumpLines(msgspec.Struct, frozen=True, eq=False):
    """The lines of a release."""

    started: LogLine
    finished: LogLine
    mismatch: Callable[[str, Names, Names], LogLine | None]
    """Of (nodes or pods, those the cache misses, those it should not have); None: nothing is said."""
    nodes: Callable[[str], str]
    """Of the cache's text."""
    queue: Callable[[tuple[int, int, int], str], str]
    """Of (pods active, in back-off, unschedulable; the queue's text)."""


def dump_lines(lines: DumpLines, scheduler: LiveScheduler, stores: Mapping[str, StoredObjects]) -> Iterator[LogLine]:
    """All lines of one dump; called with the loop's lock held."""
    cache, queue = scheduler.parts.services.cache, scheduler.parts.queue
    yield lines.started
    for what, (missed, redundant) in compared(cache, queue.pending(), stores).items():
        line = lines.mismatch(what, missed, redundant)
        if line is not None:
            yield line
    yield lines.finished
    yield LogLine(Severity.INFO, lines.nodes("\n".join(node_texts(cache))))
    yield LogLine(Severity.INFO, lines.queue(queue.sizes, "\n".join(map(pod_text, queue.pending()))))


def compared(
    cache: ClusterCache, queued: Iterable[Pod], stores: Mapping[str, StoredObjects]
) -> dict[str, tuple[Names, Names]]:
    """``nodes`` and ``pods`` → (what the cache misses, what it has and should not); pods by uid.

    Pods that the cache assumes, and those of the queue, are not yet bound for the informers.
    """
    known_nodes = {stored.obj.metadata.name for stored in stores["Node"]}
    columns = cache.columns
    cached_nodes = {name for name, row in columns.row_of.items() if columns.nodes[row] is not None}
    bound = {pod.metadata.uid for pod in _bound(stores["Pod"])}
    known = bound | {stored.obj.metadata.uid for stored in stores["Pod"]}
    cached = {pod.metadata.uid for pod in cache.pods()}
    waiting = {pod.metadata.uid for pod in queued}
    return {
        "nodes": (sorted(known_nodes - cached_nodes), sorted(cached_nodes - known_nodes)),
        "pods": (sorted(bound - cached - waiting), sorted(cached - known)),
    }


def _bound(pods: StoredObjects) -> Iterator[Any]:
    return (stored.obj for stored in pods if getattr(stored.obj, "node_name", ""))


def node_texts(cache: ClusterCache) -> Iterator[str]:
    """A paragraph for each node, as upstream's printNodeInfo."""
    columns, nominated = cache.columns, cache.nominated()
    for name, row in sorted(columns.row_of.items()):
        pods = list(columns.pods[row].values())
        requested, allocatable = columns.requested.view[:, row], columns.allocatable.view[:, row]
        text = [
            f"Node name: {name}",
            f"Deleted: {str(columns.nodes[row] is None).lower()}",
            f"Requested Resources: {_amounts(columns, requested, 0)}",
            f"Allocatable Resources:{_amounts(columns, allocatable, columns.allowed_pods.view[row])}",
            f"Scheduled Pods(number: {len(pods)}):",
            *map(pod_text, pods),
        ]
        if waiting := nominated.get(name):
            text += [f"Nominated Pods(number: {len(waiting)}):", *map(pod_text, waiting)]
        yield "\n".join(text) + "\n"


def _amounts(columns: Columns, amounts: Any, pods: int) -> str:
    by_name = {name: int(amounts[index]) for name, index in columns.resources.items()}
    cpu, memory, storage, *_ = by_name.values()
    others = " ".join(f"{name}:{value}" for name, value in list(by_name.items())[3:] if value)
    return (
        f"&{{MilliCPU:{cpu} Memory:{memory} EphemeralStorage:{storage} AllowedPodNumber:{pods} "
        f"ScalarResources:map[{others}]}}"
    )


def pod_text(pod: Pod) -> str:
    """One pod, as upstream's printPod."""
    meta = pod.metadata
    nominated = pod.nominated_node_name or ""
    return (
        f"name: {meta.name}, namespace: {meta.namespace}, uid: {meta.uid}, phase: {pod.phase or 'Pending'}, "
        f"nominated node: {nominated}"
    )


# --- releases ------------------------------------------------------------------------------------------


def mismatch_1_16(what: str, missed: Names, redundant: Names) -> LogLine | None:
    """Said of 1.16 and 1.20."""
    if not missed and not redundant:
        return None
    shown = (" ".join(names) for names in (missed, redundant))
    text = "cache mismatch: missed {0}: [{1}]; redundant {0}: [{2}]".format(what, *shown)
    return LogLine(Severity.WARNING, text)


def mismatch_1_36(what: str, missed: Names, redundant: Names) -> LogLine | None:
    """Said of 1.36."""
    if not missed and not redundant:
        return None
    pairs = {f"missed{what.capitalize()}": missed, f"redundant{what.capitalize()}": redundant}
    return LogLine(Severity.INFO, structured("Cache mismatch", **pairs))


def queue_1_36(sizes: tuple[int, int, int], text: str) -> str:
    """Said of 1.36, with how many pods are where."""
    active, backoff, unschedulable = sizes
    summary = f"activeQ:{active}; backoffQ:{backoff}; unschedulablePods:{unschedulable}"
    return structured("Dump of scheduling queue", summary=summary, pods=text)
