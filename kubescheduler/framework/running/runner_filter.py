"""Filter and PostFilter, as plugins and the Handle run them: one node at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clusterstate.objects import Pod
from clusterstate.snapshot import PodChange, Snapshot
from kubescheduler.core.status import REJECTED_1_20, REJECTED_1_36, Status, is_success, merge
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.error_texts import filter_failed_1_20, filter_failed_1_36
from kubescheduler.framework.contract.plugin import filter_fault
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.deciding.adapters import ask_filter, ask_post_filter
from kubescheduler.framework.deciding.post_filter_plugins import Answer, Nominee, collect_1_20, collect_1_36
from kubescheduler.framework.running.profile_plugins import ProfilePlugins
from kubescheduler.framework.running.runner_prefilter import change_pod


def filter_error_1_20(plugin: str, pod: Pod, status: Status) -> Status:
    """A Filter plugin answered something that is neither Success nor a rejection."""
    return Status.failure(filter_failed_1_20(plugin, pod.metadata.name, status.message)).by(plugin)


def filter_error_1_36(plugin: str, pod: Pod, status: Status) -> Status:
    """The same in 1.36."""
    return Status.failure(filter_failed_1_36(plugin, pod.metadata.name, status.error_text)).by(plugin)


def filter_1_20(framework: ProfilePlugins, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
    """The first rejection, or all of them merged. Upstream: 1.20 RunFilterPlugins."""
    found: list[Status] = []
    for plugin in framework.at(Point.FILTER):
        status = _ask(framework, plugin, state, pod, there)
        if status is None or is_success(status):
            continue
        if status.code not in REJECTED_1_20:
            return filter_error_1_20(plugin.name, pod, status)
        found.append(status.by(plugin.name))
        if not framework.run_all_filters:
            break
    return merge(found)


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


# --- PostFilter --------------------------------------------------------------------------------


def post_filter_1_20(
    framework: ProfilePlugins, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
) -> tuple[Nominee, Status | None]:
    """See ``collect_1_20``."""
    return collect_1_20(_post_filters(framework, state, pod, statuses), state)


def post_filter_1_36(
    framework: ProfilePlugins, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
) -> tuple[Nominee, Status | None]:
    """See ``collect_1_36``."""
    return collect_1_36(_post_filters(framework, state, pod, statuses), state)


def _post_filters(
    framework: ProfilePlugins, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
) -> Iterator[Answer]:
    for plugin in framework.at(Point.POST_FILTER):
        ask = framework.watch.plugin
        status, nominee = ask("PostFilter", plugin.name, state, ask_post_filter, plugin, state, pod, statuses)
        yield plugin.name, nominee, status
