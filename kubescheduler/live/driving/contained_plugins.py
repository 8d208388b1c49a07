"""Plugins of a user's own that raise: in a process that goes on, that is an error of one attempt, which is tried again.

Upstream a plugin that panics ends kube-scheduler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import msgspec

from algorithmprovider.custom_code import exception_text
from clusterstate.errors import KubeSchedulerError
from clusterstate.objects import Pod
from kubescheduler.core.decision import FRAMEWORK_SCALE, Decision
from kubescheduler.core.status import Code, Status
from kubescheduler.cycle.cycle_plugins import CyclePlugins, PluginsByPod
from kubescheduler.cycle.schedule_one import LoopParts
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.running.waiting_pods import HeldPod
from kubescheduler.releases.lookup import release_named

Report = Callable[[str, BaseException], None]
"""Is called with what was under way, and what was raised."""


def contained(parts: LoopParts, report: Report) -> LoopParts:
    """The same parts of a loop, in which no exception of a plugin or of the algorithm gets out of an attempt."""

    def decide(plugins: CyclePlugins, pod: Pod, state: CycleState) -> Decision:
        inner = plugins.plugins if isinstance(plugins, ContainedPlugins) else plugins
        try:
            return parts.decide(inner, pod, state)
        except Exception as error:  # whatever a stranger's code raises
            report(f"scheduling pod {pod.key}", error)
            return given_up(parts, pod, raised_text(error))

    return msgspec.structs.replace(parts, plugins=ContainedProfiles(parts.plugins, report), decide=decide)


def given_up(parts: LoopParts, pod: Pod, text: str) -> Decision:
    """The decision on a pod whose attempt was given up by an error."""
    release, columns = parts.services.release, parts.services.cache.columns
    names, listed = columns.published
    decision = Decision(pod, release, names, listed, columns.node_count, error=text)
    if release_named(release).framework is None:
        return decision
    return attrs.evolve(decision, coded=True, scale=FRAMEWORK_SCALE)


def raised_text(error: BaseException) -> str:
    """An exception as the condition of a pod shows it."""
    return str(error) if isinstance(error, KubeSchedulerError) else exception_text(error)


class ContainedProfiles(msgspec.Struct, frozen=True, eq=False):
    """The profiles of a scheduler, none of whose plugins raises."""

    profiles: PluginsByPod
    report: Report

    def of(self, pod: Pod) -> ContainedPlugins | None:
        """What a pod's attempt runs; None: it is another scheduler's pod."""
        plugins = self.profiles.of(pod)
        return None if plugins is None else ContainedPlugins(plugins, self.report)


class ContainedPlugins(msgspec.Struct, frozen=True, eq=False):
    """The plugins of one profile; what they raise becomes an error status. See CyclePlugins."""

    plugins: CyclePlugins
    report: Report

    @property
    def profile_name(self) -> str:
        """The ``schedulerName`` of the pods it is for."""
        return self.plugins.profile_name

    @property
    def rejected(self) -> frozenset[Code]:
        """The codes that refuse a pod."""
        return self.plugins.rejected

    @property
    def post_filters(self) -> tuple[Any, ...]:
        """The PostFilter plugins."""
        return self.plugins.post_filters

    def held(self, pod: Pod) -> HeldPod | None:
        """The waiting pod, while Permit plugins hold it."""
        return self.plugins.held(pod)

    def run_reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """The Reserve plugins."""
        return self._status(pod, self.plugins.run_reserve, state, pod, node_name)

    def run_unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Takes back what Reserve plugins did."""
        self._status(pod, self.plugins.run_unreserve, state, pod, node_name)

    def run_permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """The Permit plugins."""
        return self._status(pod, self.plugins.run_permit, state, pod, node_name)

    def wait_on_permit(self, pod: Pod) -> Status | None:
        """Waits until a held pod is let go or rejected."""
        return self._status(pod, self.plugins.wait_on_permit, pod)

    def run_pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Whether PreBind plugins have work to do."""
        return self._status(pod, self.plugins.run_pre_bind_pre_flight, state, pod, node_name)

    def binds_at_once(self, pod: Pod) -> bool:
        """Whether nothing but one request to the API can hold up the binding of a pod; a plugin that raises may."""
        try:
            return self.plugins.binds_at_once(pod)
        except Exception as error:  # whatever a stranger's code raises
            self.report(f"binding pod {pod.key}", error)
            return False

    def is_idle_for(self, pod: Pod) -> bool:
        """Whether a pod that has its node is only to be bound; no custom plugin is asked."""
        return self.plugins.is_idle_for(pod)

    def run_pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """The PreBind plugins."""
        return self._status(pod, self.plugins.run_pre_bind, state, pod, node_name)

    def run_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Binds."""
        return self._status(pod, self.plugins.run_bind, state, pod, node_name)

    def run_post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """The PostBind plugins."""
        self._status(pod, self.plugins.run_post_bind, state, pod, node_name)

    def _status(self, pod: Pod, run: Callable[..., Status | None], *arguments: Any) -> Status | None:
        try:
            return run(*arguments)
        except Exception as error:  # whatever a stranger's code raises
            point = getattr(run, "__name__", "plugins").removeprefix("run_")
            self.report(f"running {point} plugins for pod {pod.key}", error)
            return Status.failure(raised_text(error))
