"""PreEnqueue and PreFilter: what plugins say of a pod before any node is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from algorithmprovider.pernode import NodeInfo, node_infos
from clusterstate.errors import ClusterStateError
from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from clusterstate.validation import go_quote
from kubescheduler.framework.adapters import ask_pre_filter, column_check, status_of
from kubescheduler.framework.points import Point
from kubescheduler.framework.state import CycleState
from kubescheduler.framework.status import REJECTED_1_20, Code, Status, is_success

if TYPE_CHECKING:
    from kubescheduler.framework.runtime import Framework

Names = frozenset[str]


@attrs.frozen
class PreFilterOutcome:
    """What all PreFilter plugins came to.

    status: None: nodes are to be looked at. nodes: the names that alone are, None: all. plugins: those that gave
    names, sorted.
    """

    status: Status | None = None
    nodes: Names | None = None
    plugins: tuple[str, ...] = ()


def pre_enqueue(framework: Framework, pod: Pod, first: str) -> Status | None:
    """The first refusal, with the plugin that gave it. ``first``: the plugin to ask before the others."""
    plugins = sorted(framework.at(Point.PRE_ENQUEUE), key=lambda plugin: plugin.name != first)
    for plugin in plugins:
        own: Any = plugin
        status, _ = framework.watch.plugin("PreEnqueue", plugin.name, None, status_of, own.pre_enqueue, pod)
        if status is not None and not is_success(status):
            return status.by(plugin.name)
    return None


def pre_filter_1_20(framework: Framework, state: CycleState, pod: Pod, snapshot: Snapshot) -> PreFilterOutcome:
    """The first answer that is no Success ends it. Upstream: 1.20 RunPreFilterPlugins."""
    for plugin in framework.at(Point.PRE_FILTER):
        status, _ = _ask(framework, plugin, state, pod, snapshot)
        if status is None or is_success(status):
            continue
        if status.code is Code.Skip and column_check(plugin) is not None:
            continue
        if status.code in REJECTED_1_20:
            return PreFilterOutcome(status.by(plugin.name))
        return PreFilterOutcome(failed("PreFilter", plugin.name, status))
    return PreFilterOutcome()


def pre_filter_1_36(framework: Framework, state: CycleState, pod: Pod, snapshot: Snapshot) -> PreFilterOutcome:
    """Names are intersected, and the last Unschedulable is told at the end. Upstream: 1.36 RunPreFilterPlugins."""
    rejected: Status | None = None
    nodes: Names | None = None
    givers: list[str] = []
    for plugin in framework.at(Point.PRE_FILTER):
        status, names = _ask(framework, plugin, state, pod, snapshot)
        code = Code.Success if status is None else status.code
        if code is Code.Skip:
            state.skip_filter.add(plugin.name)
        elif status is not None and code is Code.UnschedulableAndUnresolvable:
            return PreFilterOutcome(status.by(plugin.name))
        elif status is not None and code is Code.Unschedulable:
            rejected = status.by(plugin.name)
        elif status is not None and code is not Code.Success:
            return PreFilterOutcome(failed("PreFilter", plugin.name, status))
        elif names is not None:
            givers.append(plugin.name)
            nodes = names if nodes is None else nodes & names
            if not nodes:
                return PreFilterOutcome(contradiction(givers), nodes, tuple(sorted(givers)))
    return PreFilterOutcome(rejected, nodes, tuple(sorted(givers)))


def contradiction(givers: list[str]) -> Status:
    """No node has a name that every plugin gave."""
    if len(givers) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {givers[0]}")
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(givers))}] simultaneously")


def _ask(
    framework: Framework, plugin: Any, state: CycleState, pod: Pod, snapshot: Snapshot
) -> tuple[Status | None, Names | None]:
    return framework.watch.plugin("PreFilter", plugin.name, state, ask_pre_filter, plugin, state, pod, snapshot)


def failed(point: str, plugin: str, status: Status) -> Status:
    """The Error that a plugin's answer turns into."""
    return Status.failure(f"running {point} plugin {go_quote(plugin)}: {status.error_text}").by(plugin)


# --- AddPod and RemovePod ----------------------------------------------------------------------


def change_pod(
    framework: Framework, state: CycleState, pod: Pod, other: Pod, there: Snapshot, *, added: bool
) -> Status | None:
    """Tells the plugins' states of a pod that was thought onto or away from the one row of ``there``.

    Column rules need no telling: they see the changes of the snapshot.
    """
    point, method = ("AddPod", "add_pod") if added else ("RemovePod", "remove_pod")
    node_info: NodeInfo | None = None
    for plugin in framework.at(Point.PRE_FILTER):
        call = getattr(plugin, method, None)
        if call is None or plugin.name in state.skip_filter or column_check(plugin) is not None:
            continue
        node_info = node_info or only_node(there)
        label = f"PreFilterExtension{point}"
        status, _ = framework.watch.plugin(label, plugin.name, state, status_of, call, state, pod, other, node_info)
        if status is not None and not is_success(status):
            text = f"running {point} on PreFilter plugin {go_quote(plugin.name)}: {status.error_text}"
            return Status.failure(text).by(plugin.name)
    return None


def only_node(there: Snapshot) -> NodeInfo:
    """The node of a snapshot of one row. Raises ClusterStateError when it has no node object."""
    for _, node_info in node_infos(there):
        return node_info
    raise ClusterStateError(f"there is no node {there.names[0] if np.size(there.row_numbers) else ''}")
