"""PreBindPreFlight, PreBind, Bind and PostBind: the binding cycle's plugins."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubecel.api_names import go_quote
from kubescheduler.core.status import Code, Status, is_success
from kubescheduler.framework.contract.custom_answers import custom_nothing, custom_pre_flight, is_custom
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.plugin import Plugin, PreFlight
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.deciding.adapters import SKIP, ask_status, status_of
from kubescheduler.framework.running.profile_plugins import ProfilePlugins
from kubescheduler.framework.running.runner_reserve import refused

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
