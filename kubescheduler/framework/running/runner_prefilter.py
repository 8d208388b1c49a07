"""PreEnqueue and PreFilter: what plugins say of a pod before any node is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from algorithmprovider.pernode import NodeInfo, node_infos
from clusterstate.errors import ClusterStateError, SchedulingError
from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from kubescheduler.core.status import Status, is_success
from kubescheduler.framework.contract.custom_answers import is_custom
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.error_texts import change_failed
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.contract.runner_results import PreFilterOutcome
from kubescheduler.framework.deciding.adapters import SKIP, ask_pre_filter, ask_status, column_check
from kubescheduler.framework.deciding.pre_filter_plugins import Answer, narrow_1_20, narrow_1_36
from kubescheduler.framework.running.profile_plugins import ProfilePlugins


def gates(framework: ProfilePlugins) -> tuple[Callable[[Pod], Status | None], ...]:
    """``pre_enqueue`` of every PreEnqueue plugin; nothing is known ahead of what custom ones answer."""
    plugins: Sequence[Any] = framework.at(Point.PRE_ENQUEUE)
    return tuple(_asks_again if is_custom(plugin) else plugin.pre_enqueue for plugin in plugins)


def _asks_again(_: Pod) -> Status | None:
    """A custom plugin is asked once, by ``pre_enqueue``."""
    return SKIP


def all_let_in(asked: Iterable[Callable[[Pod], Status | None]], pod: Pod) -> bool:
    """Whether all ``gates`` of a profile let a pod in, so that nothing has to be said of it. In-tree plugins change
    nothing when they are asked; what keeps a pod back, or fails, is found out by ``pre_enqueue``."""
    try:
        for ask in asked:
            if ask(pod) is not None:
                return False
    except SchedulingError:
        return False
    return True


def pre_enqueue(framework: ProfilePlugins, pod: Pod, first: str) -> Status | None:
    """The first refusal, with the plugin that gave it. ``first``: the plugin to ask before the others."""
    plugins: Iterable[Any] = framework.at(Point.PRE_ENQUEUE)
    if first:
        plugins = sorted(plugins, key=lambda plugin: plugin.name != first)
    for plugin in plugins:
        asked = (ask_status, plugin, "pre_enqueue", pod, "", pod)
        status, _ = framework.watch.plugin("PreEnqueue", plugin.name, None, *asked)
        if status is not None and not is_success(status):
            return status.by(plugin.name)
    return None


def pre_filter_1_20(framework: ProfilePlugins, state: CycleState, pod: Pod, snapshot: Snapshot) -> PreFilterOutcome:
    """See ``narrow_1_20``. A column rule that has nothing to say passes."""
    given = _answers(framework, state, pod, snapshot)
    return narrow_1_20(((name, (None if status is SKIP else status, names)) for name, (status, names) in given), state)


def pre_filter_1_36(framework: ProfilePlugins, state: CycleState, pod: Pod, snapshot: Snapshot) -> PreFilterOutcome:
    """See ``narrow_1_36``."""
    return narrow_1_36(_answers(framework, state, pod, snapshot), state)


def _answers(
    framework: ProfilePlugins, state: CycleState, pod: Pod, snapshot: Snapshot
) -> Iterator[tuple[str, Answer]]:
    for plugin in framework.at(Point.PRE_FILTER):
        ask = framework.watch.plugin
        yield plugin.name, ask("PreFilter", plugin.name, state, ask_pre_filter, plugin, state, pod, snapshot)


# --- AddPod and RemovePod ----------------------------------------------------------------------


def change_pod(
    framework: ProfilePlugins, state: CycleState, pod: Pod, other: Pod, there: Snapshot, *, added: bool
) -> Status | None:
    """AddPod or RemovePod of the plugins: a pod was hypothetically added to or removed from the one row of ``there``.

    Column rules need no telling: they see the changes of the snapshot.
    """
    point, method = ("AddPod", "add_pod") if added else ("RemovePod", "remove_pod")
    node_info: NodeInfo | None = None
    for plugin in framework.at(Point.PRE_FILTER):
        if not hasattr(plugin, method) or plugin.name in state.skip_filter or column_check(plugin) is not None:
            continue
        node_info = node_info or only_node(there)
        label = f"PreFilterExtension{point}"
        asked = (ask_status, plugin, method, pod, node_info.name, state, pod, other, node_info)
        status, _ = framework.watch.plugin(label, plugin.name, state, *asked)
        if status is not None and not is_success(status):
            return change_failed(point, plugin.name, status)
    return None


def only_node(there: Snapshot) -> NodeInfo:
    """The node of a snapshot of one row. Raises ClusterStateError when it has no node object."""
    for _, node_info in node_infos(there):
        return node_info
    raise ClusterStateError(f"there is no node {there.names[0] if np.size(there.row_numbers) else ''}")
