"""Asking for a pod to be bound, outside the cycles: for commands that only decide and bind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubescheduler.core.status import is_success
from kubescheduler.cycle.cycles import ask_to_bind
from kubescheduler.cycle.failures import Stage
from kubescheduler.framework.contract.cycle_state import CycleState

if TYPE_CHECKING:
    from clusterstate.objects import Pod
    from kubescheduler.cycle.scheduler_loop import LoopParts


def refused_binding(parts: LoopParts, pod: Pod, node_name: str) -> str | None:
    """Has a pod bound by an extender or the Bind plugins; the release's text when it is refused, else None.

    Raises KeyError for a pod of another scheduler.
    """
    plugins = parts.plugins.of(pod)
    if plugins is None:
        raise KeyError(pod.spec.scheduler_name)
    status = ask_to_bind(parts.rules, parts.services, plugins, CycleState(), pod.on(node_name))
    if status is None or is_success(status):
        return None
    return parts.rules.chosen(Stage.BIND, pod, node_name, status).note
