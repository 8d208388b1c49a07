"""DefaultPreemption: makes room for a pod that fits nowhere by taking lower ones away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from clusterstate.objects import Pod
from kubescheduler.core.preemption import CandidateSampling, Search, preempt
from kubescheduler.core.preemption_choice import Preemption
from kubescheduler.core.preemption_rules import (
    PREEMPTION_1_18,
    PREEMPTION_1_20,
    PREEMPTION_1_22,
    PREEMPTION_1_24,
    PREEMPTION_1_25,
    PREEMPTION_1_27,
    PREEMPTION_1_31,
    PREEMPTION_1_36,
    PreemptionRules,
    unprotected,
)
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.deciding.post_filter_plugins import (
    Evict,
    Evictions,
    evict_1_20,
    evict_1_22,
    evict_1_26,
    evict_1_27,
    evict_1_29,
)
from kubescheduler.framework.document_schema import INT32, PERCENT, ArgsType, FieldError, fields, invalid, plain
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, UNSCHEDULABLE, InTreePlugin, PluginReason
from kubescheduler.queue.queueing_hints import POD, Action, ClusterEvent, Registered

NAME = "DefaultPreemption"
POINTS_1_20 = frozenset({Point.POST_FILTER})
POINTS_1_36 = POINTS_1_20 | {Point.PRE_ENQUEUE}
BUDGETS_GATE = "PodDisruptionBudget"
ASYNC_GATE = "SchedulerAsyncPreemption"
BUSY = "waiting for the preemption for this pod to be finished"


class DefaultPreemptionArgs(msgspec.Struct, frozen=True):
    """How many candidates are enough: the larger of the two numbers."""

    min_candidate_nodes_percentage: int = 10
    """Of all nodes."""
    min_candidate_nodes_absolute: int = 100
    """Nodes."""


EVERY_NODE = DefaultPreemptionArgs(100)


class DefaultPreemption(msgspec.Struct, frozen=True, eq=False):
    """PostFilter over columns: ``search`` says what would be done and changes nothing, ``evict`` does it.

    Upstream: 1.20 DefaultPreemption.
    """

    args: DefaultPreemptionArgs
    """How many candidates are enough, where nodes are sampled; otherwise every node is tried."""
    rules: PreemptionRules
    handle: Handle
    evicted: Evict = evict_1_20
    """How victims are taken away."""
    points: frozenset[Point] = POINTS_1_20
    name: str = NAME

    def search(self, search: Search) -> tuple[Preemption, Status]:
        """Raises SchedulingError when an extender that is not ignorable fails."""
        args, rng = self.args, self.handle.rng
        percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
        sampling = CandidateSampling(percentage, absolute, rng.randrange) if search.samples else None
        return preempt(search, self.rules, sampling)

    def evict(self, pod: Pod, preemption: Preemption) -> Status | None:
        """Takes the victims of the chosen node away for the pod."""
        return self.evicted(self.handle, pod, preemption)


class AsyncPreemption(DefaultPreemption, frozen=True, eq=False, kw_only=True):
    """Takes victims away in the background, and holds the pod back until then. Upstream: 1.36 DefaultPreemption."""

    points: frozenset[Point] = POINTS_1_36
    evictions: Evictions
    in_background: bool

    def evict(self, pod: Pod, preemption: Preemption) -> Status | None:
        """Takes the victims away, in the background with feature gate SchedulerAsyncPreemption."""
        return self.evictions.evict(pod, preemption) if self.in_background else super().evict(pod, preemption)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Holds the pod back until the last of its victims is gone, or going."""
        last = self.evictions.last.get(pod.metadata.uid)
        if last is None or (last and self._is_gone(last)):
            return None
        return Status.unresolvable(BUSY)

    def _is_gone(self, uid: str) -> bool:
        there = self.handle.cache.placed(uid)
        return there is None or there.metadata.deletion_timestamp is not None


def default_preemption_1_20(args: DefaultPreemptionArgs | None, handle: Handle) -> DefaultPreemption:
    """All nodes are tried but those whose status is UnschedulableAndUnresolvable. Nothing is said where there is no
    candidate. Victims are taken away at once. With feature gate PodDisruptionBudget off no budget is read.

    Upstream: 1.20 DefaultPreemption.
    """
    return _reading_budgets(PREEMPTION_1_20, evict_1_20, args, handle)


def default_preemption_1_22(args: DefaultPreemptionArgs | None, handle: Handle) -> DefaultPreemption:
    """A node where no victim is needed is an error, and a victim that waits for Permit plugins is rejected instead of
    being deleted.

    Upstream: 1.22 DefaultPreemption.
    """
    return _reading_budgets(PREEMPTION_1_22, evict_1_22, args, handle)


def default_preemption_1_24(args: DefaultPreemptionArgs | None, handle: Handle) -> DefaultPreemption:
    """The pod's message says why there is no candidate.

    Upstream: 1.24 DefaultPreemption.
    """
    return _at_once(PREEMPTION_1_24, evict_1_22, args, handle)


def _reading_budgets(
    rules: PreemptionRules, evict: Evict, args: DefaultPreemptionArgs | None, handle: Handle
) -> DefaultPreemption:
    if not handle.feature_gates.get(BUDGETS_GATE, True):
        rules = msgspec.structs.replace(rules, violating=unprotected)
    return _at_once(rules, evict, args, handle)


def default_preemption_1_18(_: Any, handle: Handle) -> DefaultPreemption:
    """What the scheduler itself does before it is a plugin: every node is tried, and preemptionPolicy Never counts only
    with feature gate NonPreemptingPriority.

    Upstream: 1.18 genericScheduler.Preempt.
    """
    gates = handle.feature_gates
    rules = msgspec.structs.replace(PREEMPTION_1_18, honours_policy=gates.get("NonPreemptingPriority", False))
    if not gates.get(BUDGETS_GATE, True):
        rules = msgspec.structs.replace(rules, violating=unprotected)
    return DefaultPreemption(EVERY_NODE, rules, handle)


def default_preemption_1_19(_: Any, handle: Handle) -> DefaultPreemption:
    """Every node is tried.

    Upstream: 1.19 DefaultPreemption.
    """
    return default_preemption_1_20(EVERY_NODE, handle)


def default_preemption_1_36(args: DefaultPreemptionArgs | None, handle: Handle) -> AsyncPreemption:
    """When no node fits: looks for nodes where taking away pods of lower priority would make room, and nominates the
    one where it hurts least: fewest violations of disruption budgets, then lowest highest priority of the victims,
    lowest sum of priorities, fewest victims, latest start. Only nodes with code Unschedulable are tried. The pod's
    message says why there is no candidate. Victims are taken away in the background, and PreEnqueue holds the pod back
    until then; with feature gate SchedulerAsyncPreemption off they are taken away at once.

    Upstream: 1.36 DefaultPreemption.
    """
    return AsyncPreemption(
        args or DefaultPreemptionArgs(),
        PREEMPTION_1_36,
        handle,
        evict_1_29,
        evictions=Evictions(handle),
        in_background=handle.feature_gates.get(ASYNC_GATE, True),
    )


def default_preemption_1_31(args: DefaultPreemptionArgs | None, handle: Handle) -> DefaultPreemption:
    """Victims are taken away at once. Of those on a node they come first whom budgets protect, so that the first may
    not be the one with the highest priority.

    Upstream: 1.31 DefaultPreemption.
    """
    return _at_once(PREEMPTION_1_31, evict_1_29, args, handle)


def default_preemption_1_29(args: DefaultPreemptionArgs | None, handle: Handle) -> DefaultPreemption:
    """Nodes that were not looked at are tried, too.

    Upstream: 1.29 DefaultPreemption.
    """
    return _at_once(PREEMPTION_1_27, evict_1_29, args, handle)


def default_preemption_1_27(args: DefaultPreemptionArgs | None, handle: Handle) -> DefaultPreemption:
    """As in 1.29, but the event of a victim does not name the pod.

    Upstream: 1.27 DefaultPreemption.
    """
    return _at_once(PREEMPTION_1_27, evict_1_27, args, handle)


def default_preemption_1_26(args: DefaultPreemptionArgs | None, handle: Handle) -> DefaultPreemption:
    """As in 1.27, but any pod of lower priority that leaves the nominated node keeps the pod from preempting.

    Upstream: 1.26 DefaultPreemption.
    """
    return _at_once(PREEMPTION_1_25, evict_1_26, args, handle)


def default_preemption_1_25(args: DefaultPreemptionArgs | None, handle: Handle) -> DefaultPreemption:
    """As in 1.26, but victims get no condition that says why they end.

    Upstream: 1.25 DefaultPreemption.
    """
    return _at_once(PREEMPTION_1_25, evict_1_22, args, handle)


def _at_once(
    rules: PreemptionRules, evict: Evict, args: DefaultPreemptionArgs | None, handle: Handle
) -> DefaultPreemption:
    return DefaultPreemption(args or DefaultPreemptionArgs(), rules, handle, evict)


# --- args --------------------------------------------------------------------------------------


def _errors_1_20(args: DefaultPreemptionArgs) -> Iterator[FieldError]:
    if args.min_candidate_nodes_percentage not in PERCENT:
        yield plain("minCandidateNodesPercentage is not in the range [0, 100]")
    elif args.min_candidate_nodes_absolute < 0:
        yield plain("minCandidateNodesAbsolute is not in the range [0, inf)")
    elif args.min_candidate_nodes_percentage == 0 == args.min_candidate_nodes_absolute:
        yield plain("both minCandidateNodesPercentage and minCandidateNodesAbsolute cannot be zero")


def _errors_1_36(args: DefaultPreemptionArgs) -> Iterator[FieldError]:
    percentage, absolute = "minCandidateNodesPercentage", "minCandidateNodesAbsolute"
    if args.min_candidate_nodes_percentage not in PERCENT:
        yield invalid(percentage, args.min_candidate_nodes_percentage, "not in valid range [0, 100]")
    if args.min_candidate_nodes_absolute < 0:
        yield invalid(absolute, args.min_candidate_nodes_absolute, "not in valid range [0, inf)")
    if args.min_candidate_nodes_percentage == 0 == args.min_candidate_nodes_absolute:
        yield invalid(percentage, 0, f"cannot be zero at the same time as {absolute}")
        yield invalid(absolute, 0, f"cannot be zero at the same time as {percentage}")


ARGS_1_20 = ArgsType(
    DefaultPreemptionArgs,
    fields(min_candidate_nodes_percentage=INT32, min_candidate_nodes_absolute=INT32),
    """
How many candidates are enough where nodes are sampled, as with a percentageOfNodesToScore below 100: the larger of the
two numbers. Otherwise kubescheduler tries every node; see [deviations](../explanation/deviations.md).""",
    errors=_errors_1_20,
)
ARGS_1_21 = msgspec.structs.replace(ARGS_1_20, errors=_errors_1_36)
ARGS_1_36 = msgspec.structs.replace(ARGS_1_20, errors=_errors_1_36, checked_with_config=True)


# --- what it is in each release ---------------------------------------------------------------


def never(_: Pod, __: ClusterEvent) -> bool:
    """A pod that leaves is of no use to preemption itself: it helps the plugins that refused the nodes."""
    return False


REASONS_1_36 = (
    PluginReason("preemption: not eligible due to preemptionPolicy=Never.", UNSCHEDULABLE, "PostFilter"),
    PluginReason(
        "preemption: not eligible due to a terminating pod on the nominated node.", UNSCHEDULABLE, "PostFilter"
    ),
    PluginReason("preemption: 0/<N> nodes are available: <COUNTED>.", UNSCHEDULABLE, "PostFilter"),
    PluginReason("waiting for the preemption for this pod to be finished", UNRESOLVABLE, "PreEnqueue"),
)
EVENTS = (Registered(POD, Action.DELETE, never),)

PLUGIN_1_18 = InTreePlugin(NAME, POINTS_1_20, default_preemption_1_18)
PLUGIN_1_19 = InTreePlugin(NAME, POINTS_1_20, default_preemption_1_19)
PLUGIN_1_20 = InTreePlugin(NAME, POINTS_1_20, default_preemption_1_20, args=ARGS_1_20)
PLUGIN_1_22 = InTreePlugin(NAME, POINTS_1_20, default_preemption_1_22, args=ARGS_1_36)
PLUGIN_1_24 = msgspec.structs.replace(PLUGIN_1_22, make=default_preemption_1_24, reasons=REASONS_1_36[:-1])
PLUGIN_1_36 = InTreePlugin(
    NAME, POINTS_1_36, default_preemption_1_36, args=ARGS_1_36, reasons=REASONS_1_36, events=EVENTS
)
PLUGIN_1_31 = InTreePlugin(
    NAME, POINTS_1_20, default_preemption_1_31, args=ARGS_1_36, reasons=REASONS_1_36[:-1], events=EVENTS
)
PLUGIN_1_29 = msgspec.structs.replace(PLUGIN_1_31, make=default_preemption_1_29)
PLUGIN_1_27 = msgspec.structs.replace(PLUGIN_1_31, make=default_preemption_1_27)
PLUGIN_1_26 = msgspec.structs.replace(PLUGIN_1_31, make=default_preemption_1_26)
PLUGIN_1_25 = msgspec.structs.replace(PLUGIN_1_31, make=default_preemption_1_25)
