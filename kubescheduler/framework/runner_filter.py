"""Filter and PostFilter, as plugins and the Handle run them: one node at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from clusterstate.snapshot import PodChange, Snapshot
from clusterstate.validation import go_quote
from kubescheduler.framework.adapters import ask_filter
from kubescheduler.framework.points import Point
from kubescheduler.framework.runner_prefilter import change_pod
from kubescheduler.framework.state import CycleState
from kubescheduler.framework.status import REJECTED_1_20, REJECTED_1_36, Code, Status, is_success, merge

if TYPE_CHECKING:
    from kubescheduler.framework.runtime import Framework

Nominee = str | None
"""A node's name; empty: the pod is no longer nominated; None: nothing is said."""

ALL_SKIPPED = "All PostFilter plugins are skipped"


def filter_error_1_20(plugin: str, pod: Pod, status: Status) -> Status:
    """A Filter plugin answered something that is neither Success nor a rejection."""
    text = f"running {go_quote(plugin)} filter plugin for pod {go_quote(pod.metadata.name)}: {status.message}"
    return Status.failure(text).by(plugin)


def filter_error_1_36(plugin: str, pod: Pod, status: Status) -> Status:  # noqa: ARG001
    """The same in 1.36."""
    return Status.failure(f"running {go_quote(plugin)} filter plugin: {status.error_text}").by(plugin)


def filter_1_20(framework: Framework, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
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


def filter_1_36(framework: Framework, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
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


def _ask(framework: Framework, plugin: Any, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
    alone: str | None = getattr(plugin, "filter_alone", None)
    if alone is not None and plugin.name not in framework.names(Point.PRE_FILTER):
        return Status.failure(alone)
    status, _ = framework.watch.plugin("Filter", plugin.name, state, ask_filter, plugin, state, pod, there)
    return status


def filter_with_nominated(framework: Framework, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
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
        status = framework.run_filter(crowded, pod, beside)
        if status is not None:
            return status
    return framework.run_filter(state, pod, there)


# --- PostFilter --------------------------------------------------------------------------------


def post_filter_1_20(
    framework: Framework, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
) -> tuple[Nominee, Status | None]:
    """Upstream: 1.20 RunPostFilterPlugins."""
    found: list[Status] = []
    for plugin in framework.at(Point.POST_FILTER):
        status, nominee = _ask_post_filter(framework, plugin, state, pod, statuses)
        if status is None or is_success(status):
            return nominee, status
        if status.code not in REJECTED_1_20:
            return None, Status.failure(status.message).by(plugin.name)
        found.append(status.by(plugin.name))
    return None, merge(found)


def post_filter_1_36(
    framework: Framework, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
) -> tuple[Nominee, Status | None]:
    """Upstream: 1.36 RunPostFilterPlugins."""
    if state.skip_all_post_filter:
        return None, Status.unschedulable(ALL_SKIPPED)
    kept: Nominee = None
    reasons: list[str] = []
    rejector = ""
    for plugin in framework.at(Point.POST_FILTER):
        status, nominee = _ask_post_filter(framework, plugin, state, pod, statuses)
        if status is None or is_success(status):
            return nominee, status
        if status.code is Code.UnschedulableAndUnresolvable:
            return nominee, status.by(plugin.name)
        if status.code not in REJECTED_1_36:
            return None, Status.failure(status.error_text).by(plugin.name)
        kept = kept if nominee is None else nominee
        reasons += status.all_reasons
        rejector = rejector or plugin.name
    return kept, Status(Code.Unschedulable, tuple(reasons), plugin=rejector)


def _ask_post_filter(
    framework: Framework, plugin: Any, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
) -> tuple[Status | None, Nominee]:
    return framework.watch.plugin("PostFilter", plugin.name, state, _post_filter, plugin, state, pod, statuses)


def _post_filter(
    plugin: Any, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
) -> tuple[Status | None, Nominee]:
    try:
        nominee, status = plugin.post_filter(state, pod, statuses)
    except SchedulingError as error:
        return Status.failure(str(error)), None
    return status, nominee
