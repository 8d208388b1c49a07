"""Finding: the nodes that one pod may go to, by PreFilter, Filter and extenders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from clusterstate.changes import ChangeLog
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.extender_calls import Extender, ExtenderTrace, FilterAnswer, filter_with_extenders
from kubescheduler.core.filter_results import FilterResults
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.status import REJECTED_1_20, Code, Status
from kubescheduler.extender.answers import AnsweredRows, node_not_found
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.frame import Frame
from kubescheduler.framework.contract.runs import Names, PreFilterOutcome, failed
from kubescheduler.framework.deciding.adapters import SKIP, ask_pre_filter, rejection
from kubescheduler.framework.deciding.compiled_profile import Compiled
from kubescheduler.framework.deciding.filter_plugins import ErrorText
from kubescheduler.framework.deciding.opportunistic_batch import OpportunisticBatch
from kubescheduler.framework.deciding.post_filter_plugins import Collect

Answer = tuple[Status | None, Names | None]
"""(status, None: Success; the node names that alone may be considered, None: all)."""


ALL_NODES = PreFilterOutcome()


def answers(
    pod: Pod, state: ClassState, compiled: Compiled, cycle: CycleState, snapshot: Snapshot, log: ChangeLog
) -> Iterator[tuple[str, Answer]]:
    """(plugin, its answer) one after the other, each asked when it is its turn; of those that have something to say."""
    for name in compiled.asked(state):
        own = compiled.own_pre_filters.get(name)
        if own is not None:
            yield name, ask_pre_filter(own, cycle, pod, snapshot)
            continue
        answer = state.ask(name, snapshot, log)
        status = SKIP if answer.skip else None
        if answer.reasons:
            unresolvable = compiled.algorithm.pre_filters[name].unresolvable
            status = rejection(answer.reasons, pod, any(map(unresolvable, answer.reasons)))
        yield name, (status, answer.nodes)


def narrow_1_20(given: Iterator[tuple[str, Answer]], cycle: CycleState) -> PreFilterOutcome:  # noqa: ARG001
    """The first answer that is no Success ends it. Upstream: 1.20 RunPreFilterPlugins."""
    for name, (status, _) in given:
        if status is None or status.code is Code.Success:
            continue
        rejected = status.code in REJECTED_1_20
        return PreFilterOutcome(status.by(name) if rejected else failed("PreFilter", name, status), last=name)
    return ALL_NODES


def narrow_1_24(given: Iterator[tuple[str, Answer]], cycle: CycleState) -> PreFilterOutcome:
    """The first refusal ends it; names that contradict each other are Unschedulable. Upstream: 1.24 to 1.29
    RunPreFilterPlugins.
    """

    def until_refused() -> Iterator[tuple[str, Answer]]:
        for name, (status, names) in given:
            yield name, (status, names)
            if status is not None and status.code is Code.Unschedulable:
                return

    outcome = narrow_1_36(until_refused(), cycle)
    if outcome.nodes is not None and not outcome.nodes and outcome.status is not None:
        mended = Status.unschedulable(outcome.status.message)
        return msgspec.structs.replace(outcome, status=mended)
    return outcome


def narrow_1_36(given: Iterator[tuple[str, Answer]], cycle: CycleState) -> PreFilterOutcome:
    """Names are intersected, and the last Unschedulable is reported at the end. Upstream: 1.36 RunPreFilterPlugins."""
    rejected: Status | None = None
    nodes: Names | None = None
    by: list[str] = []
    for name, (status, names) in given:
        code = Code.Success if status is None else status.code
        if code is Code.Skip:
            cycle.skip_filter.add(name)
        elif status is not None and code is Code.UnschedulableAndUnresolvable:
            return PreFilterOutcome(status.by(name), last=name)
        elif status is not None and code is Code.Unschedulable:
            rejected = status.by(name)
        elif status is not None and code is not Code.Success:
            return PreFilterOutcome(failed("PreFilter", name, status), last=name)
        elif names is not None:
            by.append(name)
            nodes = names if nodes is None else nodes & names
            if not nodes:
                return PreFilterOutcome(_contradiction(sorted(by)), nodes, tuple(sorted(by)), name)
    return PreFilterOutcome(rejected, nodes, tuple(sorted(by)))


def _contradiction(by: Sequence[str]) -> Status:
    """No node has a name that every plugin gave."""
    if len(by) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {by[0]}")
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(by)}] simultaneously")


def nothing_outside(_: Sequence[str]) -> None:
    """Nodes that the PreFilter plugins' names leave out have no status."""
    return


def outside_1_30(_: Sequence[str]) -> Status:
    """The status of nodes that the PreFilter plugins' names leave out."""
    return Status.unresolvable("node is filtered out by the prefilter result")


def outside_1_32(by: Sequence[str]) -> Status:
    """The status of nodes that the PreFilter plugins' names leave out."""
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(by)}]")


def wanted_1_36(nodes: int, percentage: int) -> int:
    """As ``nodes_to_find``, without a limit on the percentage. Upstream: 1.36 numFeasibleNodesToFind."""
    if nodes < 100:
        return nodes
    if percentage <= 0:
        percentage = max(5, 50 - nodes // 125)
    return max(100, nodes * percentage // 100)


class Sampler(msgspec.Struct):
    """Where the next attempt begins to look."""

    next_start: int = 0

    def sample(self, order: IntArray, fits: Mask, wanted: int) -> tuple[IntArray, Mask]:
        """((k,) rows that pass, in the order they were met, (N,) bool the rows looked at).

        order: (n,) the rows in the order of the node list, of which ``next_start`` is the first to be looked at.
        """
        seen = np.zeros(len(fits), np.bool_)
        if not len(order):
            return np.zeros(0, np.int64), seen
        start = self.next_start % len(order)
        rows = np.concatenate((order[start:], order[:start]))
        passing = np.flatnonzero(fits[rows])
        end = len(rows) if len(passing) < wanted else int(passing[wanted - 1]) + 1
        seen[rows[:end]] = True
        return rows[passing[:wanted]], seen

    def advance(self, seen: int, nodes: int) -> None:
        """After an attempt in which so many of the nodes passed or got a status."""
        self.next_start = (self.next_start + seen) % max(nodes, 1)


SCALE = 10
"""An extender scores 0–10, a plugin 0–100."""

Refused = dict[str, Status]
Note = Callable[[Refused, FilterAnswer], None]
"""Writes what an answer says of failed nodes into the statuses."""


def note_1_20(refused: Refused, answer: FilterAnswer) -> None:
    """A message is added to the status that a node has."""
    for name, message in answer.failed.items():
        before = refused.get(name)
        reasons = (message,) if before is None else (*before.reasons, message)
        refused[name] = Status(Code.Unschedulable if before is None else before.code, reasons)


def note_1_36(refused: Refused, answer: FilterAnswer) -> None:
    """The last word counts, and what cannot be mended goes before what just failed."""
    for name, message in answer.failed.items():
        refused[name] = Status.unschedulable(message)
    for name, message in answer.unresolvable.items():
        refused[name] = Status.unresolvable(message)


class LeftByExtenders(msgspec.Struct, frozen=True, eq=False):
    """What extenders' filters leave of the nodes."""

    feasible: IntArray
    """(n,) the rows that are left, in the order of the last answer."""
    emptied: bool
    """Whether an answer came as node objects."""
    refused: Mapping[str, Status]
    """Node → status."""
    traces: tuple[ExtenderTrace, ...]
    """What each extender said."""
    answered: AnsweredRows
    """The answered nodes that are not, or not so, in the cluster."""


def ask_filters(
    pod: Pod, extenders: Sequence[Extender], snapshot: Snapshot, feasible: IntArray, note: Note
) -> LeftByExtenders:
    """What every interested extender's filter leaves, and says of the nodes that it refuses.

    Raises SchedulingError when one that is not ignorable fails. Upstream: findNodesThatPassExtenders.
    """
    refused: Refused = {}
    as_objects: list[bool] = []

    def hear(answer: FilterAnswer) -> None:
        note(refused, answer)
        as_objects.append(answer.as_objects)

    answered = AnsweredRows(snapshot, node_not_found)
    left, traces = filter_with_extenders(pod, extenders, answered, feasible, hear)
    return LeftByExtenders(left, any(as_objects), refused, traces, answered)


def never_alone(_: Mapping[str, bool]) -> bool:
    """The nominated node is looked at with all others."""
    return False


def alone_if_preferred(feature_gates: Mapping[str, bool]) -> bool:
    """The nominated node is tried alone first with the gate PreferNominatedNode. Upstream: 1.21."""
    return feature_gates.get("PreferNominatedNode", False)


def always_alone(_: Mapping[str, bool]) -> bool:
    """The nominated node is tried alone first. Upstream: 1.24."""
    return True


class FrameworkDecisionRules(msgspec.Struct, frozen=True):
    """How one release decides, apart from plugins."""

    narrow: Callable[[Iterator[tuple[str, Answer]], CycleState], PreFilterOutcome]
    """What the PreFilter plugins' answers come to."""
    outside: Callable[[Sequence[str]], Status | None]
    """Of plugins that named nodes: the status of all others; None: they have none."""
    refusal_is_status: bool
    """Whether a PreFilter refusal is the status of every node; otherwise no node has one."""
    rejected: frozenset[Code]
    """The codes by which a Filter refuses a node."""
    filter_error: ErrorText
    """The text of a Filter error."""
    pre_score_skips: frozenset[Code]
    """The codes by which PreScore says that a plugin gives no score."""
    collect: Collect
    """What the PostFilter plugins' answers come to."""
    note: Note
    """What an extender's filter does to statuses."""
    appends: bool
    """The statuses of an extender's filter are added to those of plugins; otherwise they replace them."""
    fit_error: Callable[[FilterResults], str]
    """The text when no node fits."""
    wanted: Callable[[int, int], int]
    """How many passing nodes are enough, of (nodes, percentage)."""
    nominated_first: Callable[[Mapping[str, bool]], bool]
    """Of the feature gates: whether a nominated node is tried alone before the others."""
    empties: bool
    """Nodes that a filter answers as objects are scored as if they were empty."""
    one_is_enough: bool
    """One passing node is enough when nothing scores."""
    batching: Callable[[Frame, bool], OpportunisticBatch | None]
    """What a profile keeps from one attempt for the next, of (framework, with extenders); None: nothing."""
    reports_post_filter: bool
    """The message ends in what the PostFilter plugins said, so they are always run."""
    waits: Callable[[PodInfo, ClusterObjects], str | None] | None = None
    """Why a pod cannot be scheduled at all yet, before any plugin is asked; None: it always can."""


NO_ROWS: IntArray = np.zeros(0, np.int64)
