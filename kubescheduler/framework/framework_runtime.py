"""The framework of one profile: its plugins, and how they are run at each point from PreEnqueue to PostBind.

What the releases do differently there is in ``RunnerReactions``, at the end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec
import numpy as np

from algorithmprovider.pernode import NodeInfo, node_infos
from clusterstate.errors import ClusterStateError, SchedulingError
from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from clusterstate.snapshot import PodChange, Snapshot
from clusterstate.usage import wrap
from kubecel.api_names import go_quote
from kubescheduler.core.status import (
    REJECTED_1_20,
    REJECTED_1_36,
    Code,
    Status,
    filter_failed_1_20,
    filter_failed_1_36,
    is_success,
    merge,
)
from kubescheduler.framework.contract.custom_plugins import (
    custom_nothing,
    custom_permit,
    custom_pre_flight,
    is_custom,
    refuse_score,
)
from kubescheduler.framework.contract.cycle_state import CycleState, Timekeeper
from kubescheduler.framework.contract.frame import CyclePlugins, Frame
from kubescheduler.framework.contract.handle import HeldPod, WaitingPods
from kubescheduler.framework.contract.plugin import Plugin, PreFlight, filter_fault, score_fault
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.contract.runs import (
    PluginScores,
    PreFilterOutcome,
    ScoreOutcome,
    change_failed,
    failed,
    out_of_range,
    score_failed,
)
from kubescheduler.framework.deciding.adapters import (
    SKIP,
    ask_filter,
    ask_pre_filter,
    ask_pre_score,
    ask_status,
    binding_by,
    column_check,
    normalize_rows,
    score_rows,
    status_of,
)
from kubescheduler.framework.deciding.find_nodes import Answer, narrow_1_20, narrow_1_36
from predicates.types import FitPredicate
from priorities.types import MAX_NODE_SCORE

Given = ParamSpec("Given")
Outcome = TypeVar("Outcome")
Runner = Callable[Concatenate["Framework", Given], Outcome]


def timed(point: str) -> Callable[[Runner[Given, Outcome]], Runner[Given, Outcome]]:
    """Has measured how long all plugins of a point take, where anybody measures."""

    def decorate(run: Runner[Given, Outcome]) -> Runner[Given, Outcome]:
        @wraps(run)
        def measured(self: Framework, /, *args: Given.args, **named: Given.kwargs) -> Outcome:
            watch = self.watch
            if not watch.observer.measures:
                return run(self, *args, **named)
            started = watch.clock()
            outcome: Any = run(self, *args, **named)
            watch.point(point, outcome if isinstance(outcome, Status | None) else outcome.status, started)
            return outcome  # type: ignore[no-any-return]

        return measured

    return decorate


class Framework(Frame, CyclePlugins, eq=False, dict=True, weakref=True):
    """Runs the plugins of one profile. Upstream: frameworkImpl.

    A status of None is Success. ``there`` is a snapshot of one row, ``feasible`` one of exactly the nodes that fit.
    Runners from Permit on are safe to use from any thread.
    """

    reactions: RunnerReactions
    waiting: WaitingPods
    time: Timekeeper

    @property
    def rejected(self) -> frozenset[Code]:
        return self.reactions.rejected

    @property
    def post_filters(self) -> tuple[Any, ...]:
        return self.at(Point.POST_FILTER)

    @cached_property
    def _names(self) -> dict[Point, frozenset[str]]:
        return {point: frozenset(plugin.name for plugin in self.at(point)) for point in Point}

    # --- before nodes are looked at --------------------------------------------------------

    def run_pre_enqueue(self, pod: Pod, first: str = "") -> Status | None:
        """Whether a pod may be tried at all: the first refusal, with the plugin that gave it. ``first``: the plugin
        that held it back the last time, which is asked before the others."""
        if not first and not self.watch.observer.measures and self._all_let_in(pod):
            return None
        return self._pre_enqueue(pod, first)

    def _all_let_in(self, pod: Pod) -> bool:
        """Whether nothing has to be said of a pod. In-tree plugins change nothing when they are asked; what keeps a pod
        back, or fails, is found out by ``_pre_enqueue``."""
        try:
            for ask in self._gates:
                if ask(pod) is not None:
                    return False
        except SchedulingError:
            return False
        return True

    @cached_property
    def _gates(self) -> tuple[Callable[[Pod], Status | None], ...]:
        """``pre_enqueue`` of every PreEnqueue plugin; nothing is known ahead of what custom ones answer."""
        return tuple(_asks_again if is_custom(one) else one.pre_enqueue for one in self.at(Point.PRE_ENQUEUE))

    @timed("PreEnqueue")
    def _pre_enqueue(self, pod: Pod, first: str) -> Status | None:
        plugins: Iterable[Any] = self.at(Point.PRE_ENQUEUE)
        if first:
            plugins = sorted(plugins, key=lambda plugin: plugin.name != first)
        for plugin in plugins:
            status, _ = self.watch.plugin(
                "PreEnqueue", plugin.name, None, ask_status, plugin, "pre_enqueue", pod, "", pod
            )
            if status is not None and not is_success(status):
                return status.by(plugin.name)
        return None

    @timed("PreFilter")
    def run_pre_filter(self, state: CycleState, pod: Pod, snapshot: Snapshot) -> PreFilterOutcome:
        """The PreFilter plugins, and the nodes to which they restrict the search."""
        return self.reactions.pre_filter(self._pre_filter_answers(state, pod, snapshot), state)

    def _pre_filter_answers(self, state: CycleState, pod: Pod, snapshot: Snapshot) -> Iterator[tuple[str, Answer]]:
        for plugin in self.at(Point.PRE_FILTER):
            asked = (ask_pre_filter, plugin, state, pod, snapshot)
            yield plugin.name, self.watch.plugin("PreFilter", plugin.name, state, *asked)

    def run_add_pod(self, state: CycleState, pod: Pod, added: Pod, there: Snapshot) -> Status | None:
        """AddPod of the PreFilter plugins: a pod was hypothetically added to the row, and ``there`` has it already."""
        return self._change_pod(state, pod, added, there, added=True)

    def run_remove_pod(self, state: CycleState, pod: Pod, removed: Pod, there: Snapshot) -> Status | None:
        """RemovePod of the PreFilter plugins: a pod was hypothetically removed; ``there`` is without it already."""
        return self._change_pod(state, pod, removed, there, added=False)

    def _change_pod(self, state: CycleState, pod: Pod, other: Pod, there: Snapshot, *, added: bool) -> Status | None:
        """Column rules need no telling: they see the changes of the snapshot."""
        point, method = ("AddPod", "add_pod") if added else ("RemovePod", "remove_pod")
        node_info: NodeInfo | None = None
        for plugin in self.at(Point.PRE_FILTER):
            if not hasattr(plugin, method) or plugin.name in state.skip_filter or column_check(plugin) is not None:
                continue
            node_info = node_info or only_node(there)
            asked = (ask_status, plugin, method, pod, node_info.name, state, pod, other, node_info)
            status, _ = self.watch.plugin(f"PreFilterExtension{point}", plugin.name, state, *asked)
            if status is not None and not is_success(status):
                return change_failed(point, plugin.name, status)
        return None

    # --- nodes -----------------------------------------------------------------------------

    def filter_checks(self) -> tuple[FitPredicate, ...]:
        """What the Filter plugins that judge all nodes at once are made of, in the order they run."""
        return tuple(check for plugin in self.at(Point.FILTER) if (check := column_check(plugin)) is not None)

    @timed("Filter")
    def run_filter(self, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
        """The Filter plugins on one node; the first that refuses it ends it."""
        return self.reactions.filter(self, state, pod, there)

    def ask_filter(self, plugin: Any, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
        """What one Filter plugin says of a node."""
        fault = filter_fault(plugin, self._names[Point.PRE_FILTER])
        if fault is not None:
            return Status.failure(fault)
        return self.watch.plugin("Filter", plugin.name, state, ask_filter, plugin, state, pod, there)[0]

    def run_filter_with_nominated(self, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
        """Filter beside the pods nominated to the node that are at least as important, and, passing, without them.

        Upstream: RunFilterPluginsWithNominatedPods (1.20: PodPassesFiltersOnNode).
        """
        row = int(there.row_numbers[0])
        nominated = self.handle.nominated(there.names[0])
        others = [p for p in nominated if p.priority >= pod.priority and p.metadata.uid != pod.metadata.uid]
        if others:
            crowded, beside = state.clone(), there
            for other in others:
                beside = beside.what_if([PodChange(row, beside.info(other), 1, nominated=True, pod=other)])
                status = self.run_add_pod(crowded, pod, other, beside)
                if status is not None:
                    return status
            status = self.run_filter(crowded, pod, beside)
            if status is not None:
                return status
        return self.run_filter(state, pod, there)

    @timed("PreScore")
    def run_pre_score(self, state: CycleState, pod: Pod, feasible: Snapshot) -> Status | None:
        """The PreScore plugins; the first that fails ends it. Where the release knows Skip, a plugin that answers it
        gives no score."""
        for plugin in self.at(Point.PRE_SCORE):
            status, _ = self.watch.plugin("PreScore", plugin.name, state, ask_pre_score, plugin, state, pod, feasible)
            if status is None or is_success(status):
                continue
            if status.code not in self.reactions.pre_score_skips:
                return failed("PreScore", plugin.name, status)
            state.skip_score.add(plugin.name)
        return None

    @timed("Score")
    def run_score(self, state: CycleState, pod: Pod, feasible: Snapshot) -> ScoreOutcome:
        """The Score plugins: scores before and after they are normalised, and the weighted totals."""
        plugins = [plugin for plugin in self.at(Point.SCORE) if plugin.name not in state.skip_score]
        scores: dict[str, PluginScores] = {}
        try:
            raws = [self._raw(plugin, state, pod, feasible) for plugin in plugins]
            for plugin, raw in zip(plugins, raws, strict=True):
                asked = (normalize_rows, plugin, state, pod, raw, feasible)
                normalized = self._numbers("ScoreExtensionNormalize", plugin, state, *asked)
                scores[plugin.name] = PluginScores(raw, normalized, self.score_weights[plugin.name])
        except SchedulingError as error:
            return ScoreOutcome(Status.failure(str(error)))
        totals = [0] * len(feasible)
        for plugin, given in zip(plugins, scores.values(), strict=True):
            for at, value in enumerate(given.normalized.tolist()):
                if not 0 <= value <= MAX_NODE_SCORE:
                    text = out_of_range(plugin.name, value)
                    refuse_score(plugin, pod.key, feasible.names[at], text)
                    return ScoreOutcome(Status.failure(text).by(plugin.name))
                totals[at] += value * given.weight
        return ScoreOutcome(None, scores, np.array([wrap(total) for total in totals], np.int64))

    def _raw(self, plugin: Plugin, state: CycleState, pod: Pod, feasible: Snapshot) -> IntArray:
        fault = score_fault(plugin, self._names[Point.PRE_SCORE])
        if fault is not None:
            raise SchedulingError(score_failed(plugin.name, fault))
        return self._numbers("Score", plugin, state, score_rows, plugin, state, pod, feasible)

    def _numbers(
        self, point: str, plugin: Plugin, state: CycleState, call: Callable[..., IntArray], *args: Any
    ) -> IntArray:
        status, numbers = self.watch.plugin(point, plugin.name, state, _caught, call, *args)
        if numbers is None:
            raise SchedulingError("" if status is None else status.error_text)
        return numbers

    # --- a node is chosen ------------------------------------------------------------------

    def _refused(self, point: str, plugin: str, status: Status) -> Status:
        """What an answer that is no Success turns into, at points where 1.36 hands rejections on as they are."""
        return status.by(plugin) if status.code in self.reactions.handed_on else failed(point, plugin, status)

    @timed("Reserve")
    def run_reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        for plugin in self.at(Point.RESERVE):
            asked = (ask_status, plugin, "reserve", pod, node_name, state, pod, node_name)
            status, _ = self.watch.plugin("Reserve", plugin.name, state, *asked)
            if status is not None and not is_success(status):
                return self._refused("Reserve", plugin.name, status)
        return None

    @timed("Unreserve")
    def run_unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """All Reserve plugins, the last one first."""
        for plugin in reversed(self.at(Point.RESERVE)):
            if hasattr(plugin, "unreserve"):
                told = (status_of, custom_nothing, plugin, "unreserve", pod.key, node_name, state, pod, node_name)
                self.watch.plugin("Unreserve", plugin.name, state, *told)

    @timed("Permit")
    def run_permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        timeouts: dict[str, float] = {}
        last = Status(Code.Wait)
        for plugin in self.at(Point.PERMIT):
            status, seconds = self.watch.plugin("Permit", plugin.name, state, _permit, plugin, state, pod, node_name)
            if status is None or is_success(status):
                continue
            if status.code in self.reactions.rejected:
                return self.reactions.permit_rejected(plugin.name, pod, status)
            if status.code is not Code.Wait:
                return failed("Permit", plugin.name, status)
            timeouts[plugin.name] = seconds
            last = status.by(plugin.name)
        if not timeouts:
            return None
        self.waiting.add(HeldPod(pod, timeouts, self.time))
        return self.reactions.permit_waits(pod, last)

    def held(self, pod: Pod) -> HeldPod | None:
        return self.waiting.of(pod)

    def wait_on_permit(self, pod: Pod) -> Status | None:
        held = self.waiting.of(pod)
        if held is None:
            return None
        started = self.time.now()
        try:
            status = held.wait()
        finally:
            self.waiting.remove(pod)
        self.watch.observer.permit_waited(status.code.name, self.time.now() - started)
        if is_success(status):
            return None
        if status.code in self.reactions.rejected:
            return self.reactions.wait_rejected(pod, status)
        return Status.failure(f"waiting on permit for pod: {status.error_text}").by(status.plugin)

    # --- binding ---------------------------------------------------------------------------

    def binds_at_once(self, pod: Pod) -> bool:
        plugins = (*self.at(Point.PRE_BIND), *self.at(Point.BIND)[:1], *self.at(Point.POST_BIND))
        return all(getattr(plugin, "binds_at_once", _never)(pod) for plugin in plugins)

    @timed("PreBindPreFlight")
    def run_pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Skip: no PreBind plugin will work. Upstream: 1.36 RunPreBindPreFlights."""
        overall: Status | None = SKIP
        for plugin in self.at(Point.PRE_BIND):
            asked = (_pre_flight, plugin, state, pod, node_name)
            status, parallel = self.watch.plugin("PreBindPreFlight", plugin.name, state, *asked)
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

    @timed("PreBind")
    def run_pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        for group in groups(self.at(Point.PRE_BIND), state):
            run = self._pre_bind if len(group) == 1 else self._together
            status = run(group, state, pod, node_name)
            if status is not None:
                return status
        return None

    def _pre_bind(self, group: Sequence[Any], state: CycleState, pod: Pod, node_name: str) -> Status | None:
        (plugin,) = group
        asked = (ask_status, plugin, "pre_bind", pod, node_name, state, pod, node_name)
        status, _ = self.watch.plugin("PreBind", plugin.name, state, *asked)
        return None if status is None or is_success(status) else self._refused("PreBind", plugin.name, status)

    def _together(self, group: Sequence[Any], state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Runs a group at once; the first failure cancels the others, and is the result."""
        first: list[Status] = []
        lock = threading.Lock()
        whole = state.cancellation
        state.cancellation = whole.child()

        def run(plugin: Plugin) -> None:
            status = self._pre_bind((plugin,), state, pod, node_name)
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

    @cached_property
    def _binders(self) -> tuple[tuple[Plugin, Callable[[CycleState, Pod, str], tuple[Status | None, None]]], ...]:
        """The Bind plugins in the order they run, each with how it is asked to bind a pod to a node."""
        return tuple((plugin, binding_by(plugin)) for plugin in self.at(Point.BIND))

    def run_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        started = self.watch.now() if state.binding_sent is None else state.binding_sent
        status: Status | None = SKIP
        for plugin, ask in self._binders:
            asked = (ask, state, pod, node_name)
            status, _ = self.watch.plugin("Bind", plugin.name, state, *asked, since=state.binding_sent)
            if status is None or is_success(status):
                status = None
                break
            if status.code is not Code.Skip:
                status = self._refused("Bind", plugin.name, status)
                break
        if self.watch.observer.measures:
            self.watch.point("Bind", status, started)
        return status

    @timed("PostBind")
    def run_post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        for plugin in self.at(Point.POST_BIND):
            told = (status_of, custom_nothing, plugin, "post_bind", pod.key, node_name, state, pod, node_name)
            self.watch.plugin("PostBind", plugin.name, state, *told)


# --- one plugin, or one node -------------------------------------------------------------------


def _asks_again(_: Pod) -> Status | None:
    """A custom PreEnqueue plugin is asked once, when all are."""
    return SKIP


def _never(_: Pod) -> bool:
    """A plugin that does not say may take its time."""
    return False


def only_node(there: Snapshot) -> NodeInfo:
    """The node of a snapshot of one row. Raises ClusterStateError when it has no node object."""
    for _, node_info in node_infos(there):
        return node_info
    raise ClusterStateError(f"there is no node {there.names[0] if np.size(there.row_numbers) else ''}")


def _caught(call: Callable[..., IntArray], *args: Any) -> tuple[Status | None, IntArray | None]:
    try:
        return None, call(*args)
    except SchedulingError as error:
        return Status.failure(str(error)), None


def _permit(plugin: Any, state: CycleState, pod: Pod, node_name: str) -> tuple[Status | None, float]:
    try:
        return custom_permit(plugin, pod.key, node_name, state, pod, node_name)
    except SchedulingError as error:
        return Status.failure(str(error)), 0.0


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


# --- what the releases do differently ----------------------------------------------------------


class RunnerReactions(msgspec.Struct, frozen=True, eq=False):
    """How one release's runner reacts to what plugins answer."""

    rejected: frozenset[Code]
    """The codes that refuse a pod or node."""
    handed_on: frozenset[Code]
    """Of the rejecting codes, what Reserve, PreBind and Bind hand on as it is; all else becomes an Error there."""
    pre_score_skips: frozenset[Code]
    """Codes by which a PreScore plugin says that it gives no score."""
    pre_filter: Callable[[Iterator[tuple[str, Answer]], CycleState], PreFilterOutcome]
    """What the PreFilter plugins' answers come to."""
    filter: Callable[[Framework, CycleState, Pod, Snapshot], Status | None]
    permit_rejected: Callable[[str, Pod, Status], Status]
    """Of (plugin, pod, status): what is reported of a pod that a Permit plugin rejects."""
    permit_waits: Callable[[Pod, Status], Status]
    """Of (pod, the last Wait): what is reported of a pod that is held."""
    wait_rejected: Callable[[Pod, Status], Status]
    """Of (pod, status): what is reported of a pod that is rejected while it is held."""


def pre_filter_1_20(given: Iterator[tuple[str, Answer]], state: CycleState) -> PreFilterOutcome:
    """See ``narrow_1_20``. A column rule that has nothing to say passes."""
    return narrow_1_20(((name, (None if status is SKIP else status, names)) for name, (status, names) in given), state)


def filter_1_20(framework: Framework, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
    """The first rejection, or all of them merged. Upstream: 1.20 RunFilterPlugins."""
    statuses: list[Status] = []
    for plugin in framework.at(Point.FILTER):
        status = framework.ask_filter(plugin, state, pod, there)
        if status is None or is_success(status):
            continue
        if status.code not in REJECTED_1_20:
            text = filter_failed_1_20(plugin.name, pod.metadata.name, status.message)
            return Status.failure(text).by(plugin.name)
        statuses.append(status.by(plugin.name))
        if not framework.run_all_filters:
            break
    return merge(statuses)


def filter_1_36(framework: Framework, state: CycleState, pod: Pod, there: Snapshot) -> Status | None:
    """The first answer that is no Success. Upstream: 1.36 RunFilterPlugins."""
    for plugin in framework.at(Point.FILTER):
        if plugin.name in state.skip_filter:
            continue
        status = framework.ask_filter(plugin, state, pod, there)
        if status is not None and not is_success(status):
            if status.code not in REJECTED_1_36:
                status = Status.failure(filter_failed_1_36(plugin.name, pod.metadata.name, status.error_text))
            return status.by(plugin.name)
    return None


def permit_rejected_1_20(plugin: str, pod: Pod, status: Status) -> Status:
    """What 1.20 reports of a pod that a Permit plugin rejects."""
    text = f"rejected pod {go_quote(pod.metadata.name)} by permit plugin {go_quote(plugin)}: {status.message}"
    return Status(status.code, (text,), plugin=plugin)


def permit_rejected_1_36(plugin: str, _: Pod, status: Status) -> Status:
    """What 1.36 reports of it: the plugin's own status."""
    return status.by(plugin)


ASKED_TO_WAIT = "one or more plugins asked to wait and no plugin rejected pod"


def permit_waits_1_20(pod: Pod, _: Status) -> Status:
    """What 1.20 reports of a pod that Permit plugins hold."""
    return Status(Code.Wait, (f"{ASKED_TO_WAIT} {go_quote(pod.metadata.name)}",))


def permit_waits_1_36(_: Pod, last: Status) -> Status:
    """What 1.36 reports of it: the reasons of the last plugin too."""
    return Status(Code.Wait, (*last.reasons, ASKED_TO_WAIT), last.error, last.plugin)


def wait_rejected_1_20(pod: Pod, status: Status) -> Status:
    """What 1.20 reports of a pod that was rejected while it was held."""
    text = f"pod {go_quote(pod.metadata.name)} rejected while waiting on permit: {status.message}"
    return Status(status.code, (text,), plugin=status.plugin)


def wait_rejected_1_36(_: Pod, status: Status) -> Status:
    """What 1.36 reports of it: the status as it is."""
    return status


REACTIONS_1_20 = RunnerReactions(
    rejected=REJECTED_1_20,
    handed_on=frozenset(),
    pre_score_skips=frozenset(),
    pre_filter=pre_filter_1_20,
    filter=filter_1_20,
    permit_rejected=permit_rejected_1_20,
    permit_waits=permit_waits_1_20,
    wait_rejected=wait_rejected_1_20,
)

REACTIONS_1_36 = RunnerReactions(
    rejected=REJECTED_1_36,
    handed_on=REJECTED_1_36,
    pre_score_skips=frozenset({Code.Skip}),
    pre_filter=narrow_1_36,
    filter=filter_1_36,
    permit_rejected=permit_rejected_1_36,
    permit_waits=permit_waits_1_36,
    wait_rejected=wait_rejected_1_36,
)
