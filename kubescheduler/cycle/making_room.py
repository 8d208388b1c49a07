"""Preemption carried out by the cycles: by a PostFilter plugin, or by the scheduler itself in 1.16."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from clusterstate.errors import SchedulingError
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME
from kubescheduler.framework.deciding.eviction import clear_nominations, evict_1_16
from kubescheduler.framework.deciding.post_filter_plugins import searches
from kubescheduler.framework.running.framework_services import FrameworkHandle

if TYPE_CHECKING:
    from clusterstate.objects import Pod
    from kubescheduler.core.decision import Decision
    from kubescheduler.cycle.cycle_plugins import CyclePlugins
    from kubescheduler.framework.running.framework_services import Services
    from kubescheduler.queue.scheduling_queue import SchedulingQueue


def room_by_plugin(plugins: CyclePlugins, pod: Pod, decision: Decision) -> Decision:
    """The PostFilter plugin that found the victims evicts them; without its preemption when that fails at once."""
    found = decision.preemption
    if found is None or not found.chosen:
        return decision
    for plugin in plugins.post_filters:
        evict: Any = plugin.evict if searches(plugin) else None
        fault = None if evict is None else evict(pod, found)
        if fault is not None:
            given_up: dict[str, Any] = {"preemption": None, "nominated": None}
            return attrs.evolve(decision, **given_up)
    return decision


def leave_room_to_plugins(services: Services, queue: SchedulingQueue, pod: Pod, decision: Decision) -> None:
    """It is done by then."""


def no_room(plugins: CyclePlugins, pod: Pod, decision: Decision) -> Decision:  # noqa: ARG001
    """There are no PostFilter plugins."""
    return decision


def room_1_16(services: Services, queue: SchedulingQueue, pod: Pod, decision: Decision) -> None:
    """Nominates the pod, evicts its victims and takes lower nominations back; the first write that fails ends it.

    Upstream: 1.16 preempt.
    """
    found, client = decision.preemption, services.client
    if found is None or client is None:
        return
    handle = FrameworkHandle(services, DEFAULT_SCHEDULER_NAME)
    try:
        if found.chosen:
            queue.nominate(pod, found.chosen[0])
            client.patch_pod_status(pod, {"nominatedNodeName": found.chosen[0]})
            evict_1_16(handle, pod, found)
        clear_nominations(handle, found.cleared)
    except SchedulingError as error:
        services.observer.trouble(f"preempting for {pod.key}: {error}")
