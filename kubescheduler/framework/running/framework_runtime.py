"""The framework of one profile: its plugins at their points, and how they are run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.contract.runner_results import PreFilterOutcome, ScoreOutcome
from kubescheduler.framework.deciding.adapters import column_check
from kubescheduler.framework.running import plugin_runners
from kubescheduler.framework.running.profile_plugins import ProfilePlugins
from predicates.types import FitPredicate


class Framework(ProfilePlugins, eq=False, dict=True, weakref=True):
    """Runs the plugins of one profile. Upstream: frameworkImpl.

    A status of None is Success. ``there`` is a snapshot of one row, ``feasible`` one of exactly the nodes that fit.
    Runners from Permit on are safe to use from any thread.
    """

    # --- before nodes are looked at --------------------------------------------------------

    def run_pre_enqueue(self, pod: Pod, first: str = "") -> Status | None:
        """Whether a pod may be tried at all. ``first``: the plugin that held it back the last time."""
        if not first and not self.watch.observer.measures and self._all_let_in(pod):
            return None
        return self.watch.status("PreEnqueue", plugin_runners.pre_enqueue, self, pod, first)

    def _all_let_in(self, pod: Pod) -> bool:
        """Whether nothing has to be said of a pod. In-tree plugins change nothing when they are asked; what keeps a pod
        back, or fails, is found out by ``pre_enqueue``."""
        try:
            for ask in self._gates:
                if ask(pod) is not None:
                    return False
        except SchedulingError:
            return False
        return True

    @cached_property
    def _gates(self) -> tuple[Callable[[Pod], Status | None], ...]:
        """What the PreEnqueue plugins answer."""
        return plugin_runners.gates(self)

    def run_pre_filter(self, state: CycleState, pod: Pod, snapshot: Snapshot) -> PreFilterOutcome:
        """The PreFilter plugins, and the nodes to which they restrict the search."""

        def run() -> tuple[Status | None, PreFilterOutcome]:
            outcome = self.reactions.pre_filter(self, state, pod, snapshot)
            return outcome.status, outcome

        return self.watch.point("PreFilter", run)[1]

    def run_add_pod(self, state: CycleState, pod: Pod, added: Pod, there: Snapshot) -> Status | None:
        """AddPod of the PreFilter plugins: a pod was hypothetically added to the row, and ``there`` has it already."""
        return plugin_runners.change_pod(self, state, pod, added, there, added=True)

    def run_remove_pod(self, state: CycleState, pod: Pod, removed: Pod, there: Snapshot) -> Status | None:
        """RemovePod of the PreFilter plugins: a pod was hypothetically removed; ``there`` is without it already."""
        return plugin_runners.change_pod(self, state, pod, removed, there, added=False)

    # --- nodes -----------------------------------------------------------------------------

    def filter_checks(self) -> tuple[FitPredicate, ...]:
        """What the Filter plugins that judge all nodes at once are made of, in the order they run."""
        return tuple(check for plugin in self.at(Point.FILTER) if (check := column_check(plugin)) is not None)

    def run_filter(self, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
        """The Filter plugins on one node; the first that refuses it ends it."""
        return self.watch.status("Filter", self.reactions.filter, self, state, pod, there)

    def run_filter_with_nominated(self, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
        """Filter that must pass beside the pods nominated to the node as well as without them."""
        return plugin_runners.filter_with_nominated(self, self.run_filter, state, pod, there)

    def run_pre_score(self, state: CycleState, pod: Pod, feasible: Snapshot) -> Status | None:
        """The PreScore plugins; the first that fails ends it."""
        return self.watch.status("PreScore", plugin_runners.pre_score, self, state, pod, feasible)

    def run_score(self, state: CycleState, pod: Pod, feasible: Snapshot) -> ScoreOutcome:
        """The Score plugins: scores before and after they are normalised, and the weighted totals."""

        def run() -> tuple[Status | None, ScoreOutcome]:
            outcome = plugin_runners.score(self, state, pod, feasible)
            return outcome.status, outcome

        return self.watch.point("Score", run)[1]

    # --- a node is chosen ------------------------------------------------------------------

    def run_reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """The Reserve plugins; the first that fails ends it."""
        return self.watch.status("Reserve", plugin_runners.reserve, self, state, pod, node_name)

    def run_unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """All Reserve plugins, the last one first."""
        self.watch.status("Unreserve", plugin_runners.unreserve, self, state, pod, node_name)

    def run_permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """A Wait status: the pod is among the waiting pods, and ``wait_on_permit`` waits for it."""
        return self.watch.status("Permit", plugin_runners.permit, self, state, pod, node_name)

    def wait_on_permit(self, pod: Pod) -> Status | None:
        """Waits until the pod, if it is held, is let go or rejected."""
        return plugin_runners.wait_on_permit(self, pod)

    # --- binding ---------------------------------------------------------------------------

    def run_pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Skip: no PreBind plugin will work (1.36)."""
        return self.watch.status("PreBindPreFlight", plugin_runners.pre_bind_pre_flight, self, state, pod, node_name)

    def binds_at_once(self, pod: Pod) -> bool:
        """Whether nothing but one request to the API can hold up the binding of a pod."""
        return plugin_runners.binds_at_once(self, pod)

    def is_idle_for(self, pod: Pod) -> bool:
        """Whether a pod that has its node is only to be bound: no plugin of Reserve, Permit, PreBind and PostBind has
        anything to do for it, and nobody measures them."""
        if self.watch.observer.measures:
            return False
        for leaves_alone in self._after_choice:  # noqa: SIM110
            if not leaves_alone(pod):
                return False
        return True

    @cached_property
    def _after_choice(self) -> tuple[Callable[[Pod], bool], ...]:
        """Of every plugin of these points, whether it leaves a pod alone."""
        return plugin_runners.after_choice(self)

    def run_pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """The PreBind plugins; the first that fails ends it."""
        return self.watch.status("PreBind", plugin_runners.pre_bind, self, state, pod, node_name)

    def run_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Skip: no Bind plugin bound the pod."""
        return self.watch.status("Bind", plugin_runners.bind, self, state, pod, node_name, since=state.binding_sent)

    def run_post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """The PostBind plugins, after the pod is bound."""
        self.watch.status("PostBind", plugin_runners.post_bind, self, state, pod, node_name)
