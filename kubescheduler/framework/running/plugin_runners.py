"""How the plugins of a profile are run at each point, from PreEnqueue to PostBind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from algorithmprovider.pernode import NodeInfo, node_infos
from clusterstate.errors import ClusterStateError, SchedulingError
from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from clusterstate.snapshot import PodChange, Snapshot
from clusterstate.usage import wrap
from kubecel.api_names import go_quote
from kubescheduler.core.status import REJECTED_1_20, REJECTED_1_36, Code, Status, is_success, merge
from kubescheduler.framework.contract.custom_plugins import (
    custom_nothing,
    custom_permit,
    custom_pre_flight,
    is_custom,
    refuse_score,
)
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.handle import HeldPod
from kubescheduler.framework.contract.plugin import Plugin, PreFlight, filter_fault, score_fault
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.contract.runner_results import (
    PluginScores,
    PreFilterOutcome,
    ScoreOutcome,
    change_failed,
    failed,
    filter_failed_1_20,
    filter_failed_1_36,
    out_of_range,
    score_failed,
)
from kubescheduler.framework.deciding.adapters import (
    SKIP,
    ask_filter,
    ask_pre_filter,
    ask_pre_score,
    ask_status,
    column_check,
    normalize_rows,
    score_rows,
    status_of,
)
from kubescheduler.framework.deciding.find_nodes import Answer, narrow_1_20, narrow_1_36
from kubescheduler.framework.running.profile_plugins import ProfilePlugins
from priorities.types import MAX_NODE_SCORE


def gates(framework: ProfilePlugins) -> tuple[Callable[[Pod], Status | None], ...]:
    """``pre_enqueue`` of every PreEnqueue plugin; nothing is known ahead of what custom ones answer."""
    plugins: Sequence[Any] = framework.at(Point.PRE_ENQUEUE)
    return tuple(_asks_again if is_custom(plugin) else plugin.pre_enqueue for plugin in plugins)


def _asks_again(_: Pod) -> Status | None:
    """A custom plugin is asked once, by ``pre_enqueue``."""
    return SKIP


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


def filter_error_1_20(plugin: str, pod: Pod, status: Status) -> Status:
    """A Filter plugin answered something that is neither Success nor a rejection."""
    return Status.failure(filter_failed_1_20(plugin, pod.metadata.name, status.message)).by(plugin)


def filter_error_1_36(plugin: str, pod: Pod, status: Status) -> Status:
    """The same in 1.36."""
    return Status.failure(filter_failed_1_36(plugin, pod.metadata.name, status.error_text)).by(plugin)


def filter_1_20(framework: ProfilePlugins, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
    """The first rejection, or all of them merged. Upstream: 1.20 RunFilterPlugins."""
    statuses: list[Status] = []
    for plugin in framework.at(Point.FILTER):
        status = _ask(framework, plugin, state, pod, there)
        if status is None or is_success(status):
            continue
        if status.code not in REJECTED_1_20:
            return filter_error_1_20(plugin.name, pod, status)
        statuses.append(status.by(plugin.name))
        if not framework.run_all_filters:
            break
    return merge(statuses)


def filter_1_36(framework: ProfilePlugins, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
    """The first answer that is no Success. Upstream: 1.36 RunFilterPlugins."""
    for plugin in framework.at(Point.FILTER):
        if plugin.name in state.skip_filter:
            continue
        status = _ask(framework, plugin, state, pod, there)
        if status is not None and not is_success(status):
            if status.code not in REJECTED_1_36:
                return filter_error_1_36(plugin.name, pod, status)
            return status.by(plugin.name)
    return None


def _ask(framework: ProfilePlugins, plugin: Any, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
    fault = filter_fault(plugin, framework.names(Point.PRE_FILTER))
    if fault is not None:
        return Status.failure(fault)
    status, _ = framework.watch.plugin("Filter", plugin.name, state, ask_filter, plugin, state, pod, there)
    return status


RunFilter = Callable[[CycleState, Pod, Snapshot], Status | None]


def filter_with_nominated(
    framework: ProfilePlugins, run_filter: RunFilter, state: CycleState, pod: Pod, there: Snapshot
) -> Status | None:
    """Filter beside the pods nominated to the node that are at least as important, and, passing, without them.

    Upstream: RunFilterPluginsWithNominatedPods (1.20: PodPassesFiltersOnNode).
    """
    row = int(there.row_numbers[0])
    nominated = framework.handle.nominated(there.names[0])
    others = [p for p in nominated if p.priority >= pod.priority and p.metadata.uid != pod.metadata.uid]
    if others:
        crowded, beside = state.clone(), there
        for other in others:
            beside = beside.what_if([PodChange(row, beside.info(other), 1, nominated=True, pod=other)])
            status = change_pod(framework, crowded, pod, other, beside, added=True)
            if status is not None:
                return status
        status = run_filter(crowded, pod, beside)
        if status is not None:
            return status
    return run_filter(state, pod, there)


def pre_score(framework: ProfilePlugins, state: CycleState, pod: Pod, feasible: Snapshot) -> Status | None:
    """Where the release knows Skip, a plugin that answers it gives no score."""
    for plugin in framework.at(Point.PRE_SCORE):
        status, _ = framework.watch.plugin("PreScore", plugin.name, state, ask_pre_score, plugin, state, pod, feasible)
        if status is None or is_success(status):
            continue
        if status.code not in framework.reactions.pre_score_skips:
            return failed("PreScore", plugin.name, status)
        state.skip_score.add(plugin.name)
    return None


def score(framework: ProfilePlugins, state: CycleState, pod: Pod, feasible: Snapshot) -> ScoreOutcome:
    """Scores, normalises, checks the range and weighs."""
    plugins = [plugin for plugin in framework.at(Point.SCORE) if plugin.name not in state.skip_score]
    scores: dict[str, PluginScores] = {}
    try:
        raws = [_raw(framework, plugin, state, pod, feasible) for plugin in plugins]
        for plugin, raw in zip(plugins, raws, strict=True):
            scores[plugin.name] = _normalized(framework, plugin, state, pod, feasible, raw)
    except SchedulingError as error:
        return ScoreOutcome(Status.failure(str(error)))
    by_name = {plugin.name: plugin for plugin in plugins}
    totals = [0] * len(feasible)
    for name, given in scores.items():
        for at, value in enumerate(given.normalized.tolist()):
            if not 0 <= value <= MAX_NODE_SCORE:
                refuse_score(by_name[name], pod.key, feasible.names[at], out_of_range(name, value))
                return ScoreOutcome(Status.failure(out_of_range(name, value)).by(name))
            totals[at] += value * given.weight
    return ScoreOutcome(None, scores, np.array([wrap(total) for total in totals], np.int64))


def _raw(framework: ProfilePlugins, plugin: Plugin, state: CycleState, pod: Pod, feasible: Snapshot) -> IntArray:
    fault = score_fault(plugin, framework.names(Point.PRE_SCORE))
    if fault is not None:
        raise SchedulingError(score_failed(plugin.name, fault))
    return _watched(framework, "Score", plugin, state, score_rows, plugin, state, pod, feasible)


def _normalized(
    framework: ProfilePlugins, plugin: Plugin, state: CycleState, pod: Pod, feasible: Snapshot, raw: IntArray
) -> PluginScores:
    normalized = _watched(
        framework, "ScoreExtensionNormalize", plugin, state, normalize_rows, plugin, state, pod, raw, feasible
    )
    return PluginScores(raw, normalized, framework.score_weights[plugin.name])


def _watched(
    framework: ProfilePlugins, point: str, plugin: Plugin, state: CycleState, call: Callable[..., IntArray], *args: Any
) -> IntArray:
    status, scores = framework.watch.plugin(point, plugin.name, state, _caught, call, *args)
    if scores is None:
        raise SchedulingError("" if status is None else status.error_text)
    return scores


def _caught(call: Callable[..., IntArray], *args: Any) -> tuple[Status | None, IntArray | None]:
    try:
        return None, call(*args)
    except SchedulingError as error:
        return Status.failure(str(error)), None


ASKED_TO_WAIT = "one or more plugins asked to wait and no plugin rejected pod"


def refused(framework: ProfilePlugins, point: str, plugin: str, status: Status) -> Status:
    """What a plugin's answer that is no Success turns into, at points where 1.36 hands rejections on as they are."""
    if status.code in framework.reactions.handed_on:
        return status.by(plugin)
    return failed(point, plugin, status)


def reserve(framework: ProfilePlugins, state: CycleState, pod: Pod, node_name: str) -> Status | None:
    """The first answer that is no Success ends it."""
    for plugin in framework.at(Point.RESERVE):
        asked = (ask_status, plugin, "reserve", pod, node_name, state, pod, node_name)
        status, _ = framework.watch.plugin("Reserve", plugin.name, state, *asked)
        if status is not None and not is_success(status):
            return refused(framework, "Reserve", plugin.name, status)
    return None


def unreserve(framework: ProfilePlugins, state: CycleState, pod: Pod, node_name: str) -> None:
    """All Reserve plugins, the last one first."""
    for plugin in reversed(framework.at(Point.RESERVE)):
        if hasattr(plugin, "unreserve"):
            told = (status_of, custom_nothing, plugin, "unreserve", pod.key, node_name, state, pod, node_name)
            framework.watch.plugin("Unreserve", plugin.name, state, *told)


# --- Permit ------------------------------------------------------------------------------------


def permit(framework: ProfilePlugins, state: CycleState, pod: Pod, node_name: str) -> Status | None:
    """Wait when some plugin holds the pod: it is among the waiting pods then."""
    timeouts: dict[str, float] = {}
    last = Status(Code.Wait)
    for plugin in framework.at(Point.PERMIT):
        status, seconds = framework.watch.plugin("Permit", plugin.name, state, _permit, plugin, state, pod, node_name)
        if status is None or is_success(status):
            continue
        if status.code in framework.reactions.rejected:
            return framework.reactions.permit_rejected(plugin.name, pod, status)
        if status.code is not Code.Wait:
            return failed("Permit", plugin.name, status)
        timeouts[plugin.name] = seconds
        last = status.by(plugin.name)
    if not timeouts:
        return None
    framework.waiting.add(HeldPod(pod, timeouts, framework.time))
    return framework.reactions.permit_waits(pod, last)


def _permit(plugin: Any, state: CycleState, pod: Pod, node_name: str) -> tuple[Status | None, float]:
    try:
        return custom_permit(plugin, pod.key, node_name, state, pod, node_name)
    except SchedulingError as error:
        return Status.failure(str(error)), 0.0


def permit_rejected_1_20(plugin: str, pod: Pod, status: Status) -> Status:
    """What 1.20 reports of a pod that a Permit plugin rejects."""
    text = f"rejected pod {go_quote(pod.metadata.name)} by permit plugin {go_quote(plugin)}: {status.message}"
    return Status(status.code, (text,), plugin=plugin)


def permit_rejected_1_36(plugin: str, pod: Pod, status: Status) -> Status:  # noqa: ARG001
    """What 1.36 reports of it: the plugin's own status."""
    return status.by(plugin)


def permit_waits_1_20(pod: Pod, last: Status) -> Status:  # noqa: ARG001
    """What 1.20 reports of a pod that Permit plugins hold."""
    return Status(Code.Wait, (f"{ASKED_TO_WAIT} {go_quote(pod.metadata.name)}",))


def permit_waits_1_36(pod: Pod, last: Status) -> Status:  # noqa: ARG001
    """What 1.36 reports of it: the reasons of the last plugin too."""
    return Status(Code.Wait, (*last.reasons, ASKED_TO_WAIT), last.error, last.plugin)


def wait_on_permit(framework: ProfilePlugins, pod: Pod) -> Status | None:
    """Waits until the pod, if it is held, is let go; None: it is."""
    held = framework.waiting.of(pod)
    if held is None:
        return None
    started = framework.time.now()
    try:
        status = held.wait()
    finally:
        framework.waiting.remove(pod)
    framework.watch.observer.permit_waited(status.code.name, framework.time.now() - started)
    if is_success(status):
        return None
    if status.code in framework.reactions.rejected:
        return framework.reactions.wait_rejected(pod, status)
    return Status.failure(f"waiting on permit for pod: {status.error_text}").by(status.plugin)


def wait_rejected_1_20(pod: Pod, status: Status) -> Status:
    """What 1.20 reports of a pod that was rejected while it was held."""
    text = f"pod {go_quote(pod.metadata.name)} rejected while waiting on permit: {status.message}"
    return Status(status.code, (text,), plugin=status.plugin)


def wait_rejected_1_36(pod: Pod, status: Status) -> Status:  # noqa: ARG001
    """What 1.36 reports of it: the status as it is."""
    return status


AFTER_CHOICE = (Point.RESERVE, Point.PERMIT, Point.PRE_BIND, Point.POST_BIND)
"""The points of a pod that has its node, but for Bind."""


def pre_bind_pre_flight(framework: ProfilePlugins, state: CycleState, pod: Pod, node_name: str) -> Status | None:
    """Skip when no PreBind plugin will work. Upstream: 1.36 RunPreBindPreFlights."""
    overall: Status | None = SKIP
    for plugin in framework.at(Point.PRE_BIND):
        status, parallel = framework.watch.plugin(
            "PreBindPreFlight", plugin.name, state, _pre_flight, plugin, state, pod, node_name
        )
        if parallel:
            state.parallel_pre_bind.add(plugin.name)
        if status is None or is_success(status):
            overall = None
        elif status.code is Code.Skip:
            state.skip_pre_bind.add(plugin.name)
        elif status.code is Code.Error:
            text = f"running PreBindPreFlight {go_quote(plugin.name)}: {status.error_text}"
            return Status.failure(text).by(plugin.name)
        else:
            return Status.failure(
                f"PreBindPreFlight {plugin.name} returned {go_quote(status.code.name)}, which is unsupported. "
                "It is supposed to return Success, Skip, or Error status"
            ).by(plugin.name)
    return overall


def _pre_flight(plugin: Any, state: CycleState, pod: Pod, node_name: str) -> tuple[Status | None, bool]:
    """(status, whether it may run beside others); a plugin that does not say will work, alone."""
    if not hasattr(plugin, "pre_bind_pre_flight"):
        return None, False
    try:
        if not is_custom(plugin):
            answer = plugin.pre_bind_pre_flight(state, pod, node_name)
            return (answer.status, answer.allow_parallel) if isinstance(answer, PreFlight) else (answer, False)
        return custom_pre_flight(plugin, pod.key, node_name, state, pod, node_name)
    except SchedulingError as error:
        return Status.failure(str(error)), False


def pre_bind(framework: ProfilePlugins, state: CycleState, pod: Pod, node_name: str) -> Status | None:
    """Group after group; the first failure ends it."""
    for group in groups(framework.at(Point.PRE_BIND), state):
        if len(group) == 1:
            status = _pre_bind(framework, group[0], state, pod, node_name)
        else:
            status = _together(framework, group, state, pod, node_name)
        if status is not None:
            return status
    return None


def groups(plugins: Sequence[Plugin], state: CycleState) -> list[list[Plugin]]:
    """Neighbours that allow it run together; those that skip are left out, but still part their neighbours."""
    out: list[list[Plugin]] = []
    together = False
    for plugin in plugins:
        parallel, skips = plugin.name in state.parallel_pre_bind, plugin.name in state.skip_pre_bind
        if not skips and parallel and together:
            out[-1].append(plugin)
        elif not skips:
            out.append([plugin])
        together = parallel and (together or not skips)
    return out


def _pre_bind(framework: ProfilePlugins, plugin: Any, state: CycleState, pod: Pod, node_name: str) -> Status | None:
    asked = (ask_status, plugin, "pre_bind", pod, node_name, state, pod, node_name)
    status, _ = framework.watch.plugin("PreBind", plugin.name, state, *asked)
    return None if status is None or is_success(status) else refused(framework, "PreBind", plugin.name, status)


def _together(
    framework: ProfilePlugins, group: Sequence[Plugin], state: CycleState, pod: Pod, node_name: str
) -> Status | None:
    """Runs a group at once; the first failure cancels the others, and is the result."""
    first: list[Status] = []
    lock = threading.Lock()
    whole = state.cancellation
    state.cancellation = whole.child()

    def run(plugin: Plugin) -> None:
        status = _pre_bind(framework, plugin, state, pod, node_name)
        if status is not None:
            with lock:
                first.append(status)
            state.cancellation.cancel(status.error_text)

    from concurrent.futures import ThreadPoolExecutor

    try:
        with ThreadPoolExecutor(len(group)) as pool:
            for done in [pool.submit(run, plugin) for plugin in group]:
                done.result()
    finally:
        state.cancellation = whole
    return first[0] if first else None


def binds_at_once(framework: ProfilePlugins, pod: Pod) -> bool:
    """Whether every plugin of a binding cycle says that nothing but one request to the API can hold up the pod."""
    plugins = (*framework.at(Point.PRE_BIND), *framework.at(Point.BIND)[:1], *framework.at(Point.POST_BIND))
    asked: list[Callable[[Pod], bool]] = [getattr(plugin, "binds_at_once", never) for plugin in plugins]
    return all(ask(pod) for ask in asked)


def never(_: Pod) -> bool:
    """A plugin that does not say may take its time."""
    return False


def after_choice(framework: ProfilePlugins) -> tuple[Callable[[Pod], bool], ...]:
    """Of every plugin of Reserve, Permit, PreBind and PostBind, whether it leaves a pod alone.

    An in-tree plugin that never holds up a binding has nothing to do at these points; a custom one may always have.
    """
    plugins = {plugin.name: plugin for point in AFTER_CHOICE for plugin in framework.at(point)}
    return tuple(never if is_custom(plugin) else getattr(plugin, "binds_at_once", never) for plugin in plugins.values())


def bind(framework: ProfilePlugins, state: CycleState, pod: Pod, node_name: str) -> Status | None:
    """The first plugin that does not skip binds; Skip when all do."""
    last: Status | None = SKIP
    for plugin, ask in framework.binders:
        last, _ = framework.watch.plugin(
            "Bind", plugin.name, state, ask, state, pod, node_name, since=state.binding_sent
        )
        if last is None or is_success(last):
            return None
        if last.code is not Code.Skip:
            return refused(framework, "Bind", plugin.name, last)
    return last


def post_bind(framework: ProfilePlugins, state: CycleState, pod: Pod, node_name: str) -> None:
    """Runs every PostBind plugin; none can fail."""
    for plugin in framework.at(Point.POST_BIND):
        told = (status_of, custom_nothing, plugin, "post_bind", pod.key, node_name, state, pod, node_name)
        framework.watch.plugin("PostBind", plugin.name, state, *told)
