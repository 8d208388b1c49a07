"""Reserve, Unreserve and Permit: a node is chosen, and plugins claim what the pod needs there or hold it back."""

from __future__ import annotations

from typing import Any

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubecel.api_names import go_quote
from kubescheduler.core.status import Code, Status, is_success
from kubescheduler.framework.contract.custom_answers import custom_nothing, custom_permit
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.error_texts import failed
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.deciding.adapters import ask_status, status_of
from kubescheduler.framework.running.profile_plugins import ProfilePlugins
from kubescheduler.framework.running.waiting_pods import HeldPod

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
