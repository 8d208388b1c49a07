"""What the log says of attempts, and what SIGUSR2 writes to it: whether the cache agrees with what informers know, then
the cache and the queue.

Read ``AttemptLog`` and ``dump_lines`` first; a release has its lines in ``AttemptLines`` and ``DumpLines``. Upstream:
internal/cache/debugger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.columns import Columns
from clusterstate.objects import Pod
from kubescheduler.core.decision import NO_NODES, Decision
from kubescheduler.cycle.bindings import Binding
from kubescheduler.cycle.failures import SCHEDULER_ERROR, FailureRecord
from kubescheduler.cycle.schedule_one import PodAttempt
from kubescheduler.live.klog import LogLine, LogWriter, Severity, structured
from kubescheduler.live.live_scheduler import LiveScheduler
from kubescheduler.live.stored_objects import StoredObjects

DETAILS, STEPS = 2, 3
"""Verbosity from which on every pod's outcome, and every step, is written."""


class AttemptLines(msgspec.Struct, frozen=True, eq=False):
    """The lines of a release."""

    tried: Callable[[Pod], str]
    """A pod is taken off the queue."""
    bound: Callable[[Pod, str, int, int], str]
    """Of (pod, node, nodes evaluated, nodes that fit): it is bound."""
    no_nodes: Callable[[Pod], str]
    """There are no nodes."""
    unfit: Callable[[Pod, str], str]
    """Of (pod, message): it fits nowhere."""
    failed: Callable[[Pod, str], str]
    """Of (pod, error): it is tried again."""


class AttemptLog(msgspec.Struct, frozen=True, eq=False):
    """Writes a line about each attempt that the verbosity asks for; errors always."""

    lines: AttemptLines
    log: LogWriter

    def __call__(self, attempt: PodAttempt) -> None:
        """An attempt was made; on the scheduler's thread."""
        if self.log.enabled(STEPS):
            self.log.info(self.lines.tried(attempt.pod), STEPS)
        if attempt.failure is not None:
            self._failed(attempt.pod, attempt.failure)
        elif attempt.binding is not None:
            attempt.binding.add_done_callback(partial(self._ended, attempt))

    def _ended(self, attempt: PodAttempt, binding: Binding) -> None:
        """A binding cycle that raised is reported elsewhere."""
        if binding.exception() is not None:
            return
        failure = binding.result()
        if failure is not None:
            self._failed(attempt.pod, failure)
        elif self.log.enabled(DETAILS) and attempt.decision is not None:
            evaluated, feasible = counts(attempt.decision)
            self.log.info(self.lines.bound(attempt.pod, attempt.node_name, evaluated, feasible), DETAILS)

    def _failed(self, pod: Pod, failure: FailureRecord) -> None:
        if failure.decision is not None and failure.decision.error == NO_NODES:
            self.log.info(self.lines.no_nodes(pod), DETAILS)
        elif failure.cause.reason == SCHEDULER_ERROR and not failure.cause.silent:
            self.log.error(self.lines.failed(pod, failure.message))
        elif self.log.enabled(DETAILS):
            self.log.info(self.lines.unfit(pod, failure.message), DETAILS)


def counts(decision: Decision) -> tuple[int, int]:
    """(nodes that were looked at, nodes that fit)."""
    return int(decision.looked_at.sum()), len(decision.feasible)


# --- 1.16 ----------------------------------------------------------------------------------------------


LINES_1_16 = AttemptLines(
    tried=lambda pod: f"Attempting to schedule pod: {pod.key}",
    bound=lambda pod, node, evaluated, feasible: (  # without the node's amounts, which 1.16 adds
        f'pod {pod.key} is bound successfully on node "{node}", {evaluated} nodes evaluated, '
        f"{feasible} nodes were found feasible."
    ),
    no_nodes=lambda pod: f"Unable to schedule {pod.key}: no nodes are registered to the cluster; waiting",
    unfit=lambda pod, text: f"Unable to schedule {pod.key}: no fit: {text}; waiting",
    failed=lambda pod, text: f"Error scheduling {pod.key}: {text}; retrying",
)


# --- 1.20 and 1.36 -------------------------------------------------------------------------------------


LINES_STRUCTURED = AttemptLines(
    tried=lambda pod: structured("Attempting to schedule pod", pod=pod.key),
    bound=lambda pod, node, evaluated, feasible: structured(
        "Successfully bound pod to node", pod=pod.key, node=node, evaluatedNodes=evaluated, feasibleNodes=feasible
    ),
    no_nodes=lambda pod: structured(
        "Unable to schedule pod; no nodes are registered to the cluster; waiting", pod=pod.key
    ),
    unfit=lambda pod, text: structured("Unable to schedule pod; no fit; waiting", pod=pod.key, err=text),
    failed=lambda pod, text: structured("Error scheduling pod; retrying", err=text, pod=pod.key),
)


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
    bound = {stored.obj.metadata.uid for stored in stores["Pod"] if getattr(stored.obj, "node_name", "")}
    known = bound | {stored.obj.metadata.uid for stored in stores["Pod"]}
    cached = {pod.metadata.uid for pod in cache.pods()}
    waiting = {pod.metadata.uid for pod in queued}
    return {
        "nodes": (sorted(known_nodes - cached_nodes), sorted(cached_nodes - known_nodes)),
        "pods": (sorted(bound - cached - waiting), sorted(cached - known)),
    }


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
