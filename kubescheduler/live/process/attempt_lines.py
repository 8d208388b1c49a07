"""What the log says of attempts: pods that were bound, that fit nowhere, that met an error."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from clusterstate.objects import Pod
from kubescheduler.core.decision import NO_NODES, Decision
from kubescheduler.cycle.bindings import Binding
from kubescheduler.cycle.failures import SCHEDULER_ERROR, FailureRecord
from kubescheduler.cycle.schedule_one import PodAttempt
from kubescheduler.live.klog import LogWriter, structured

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

    def listener(self) -> Callable[[PodAttempt], None]:
        """What a LiveScheduler is to call with each attempt, on its thread."""
        return self._listen

    def _listen(self, attempt: PodAttempt) -> None:
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


def bound_1_16(pod: Pod, node: str, evaluated: int, feasible: int) -> str:
    """Without the node's amounts, which 1.16 adds."""
    return (
        f'pod {pod.key} is bound successfully on node "{node}", {evaluated} nodes evaluated, '
        f"{feasible} nodes were found feasible."
    )


LINES_1_16 = AttemptLines(
    tried=lambda pod: f"Attempting to schedule pod: {pod.key}",
    bound=bound_1_16,
    no_nodes=lambda pod: f"Unable to schedule {pod.key}: no nodes are registered to the cluster; waiting",
    unfit=lambda pod, text: f"Unable to schedule {pod.key}: no fit: {text}; waiting",
    failed=lambda pod, text: f"Error scheduling {pod.key}: {text}; retrying",
)


# --- 1.20 and 1.36 -------------------------------------------------------------------------------------


def bound_structured(pod: Pod, node: str, evaluated: int, feasible: int) -> str:
    """With keys and values."""
    message = "Successfully bound pod to node"
    return structured(message, pod=pod.key, node=node, evaluatedNodes=evaluated, feasibleNodes=feasible)


def no_nodes_structured(pod: Pod) -> str:
    """With keys and values."""
    return structured("Unable to schedule pod; no nodes are registered to the cluster; waiting", pod=pod.key)


LINES_STRUCTURED = AttemptLines(
    tried=lambda pod: structured("Attempting to schedule pod", pod=pod.key),
    bound=bound_structured,
    no_nodes=no_nodes_structured,
    unfit=lambda pod, text: structured("Unable to schedule pod; no fit; waiting", pod=pod.key, err=text),
    failed=lambda pod, text: structured("Error scheduling pod; retrying", err=text, pod=pod.key),
)
