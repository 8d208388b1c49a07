"""PreFilter: which nodes its plugins leave to look at; and how a release goes about an attempt by plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from clusterstate.changes import ChangeLog
from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import AttemptRules, NodeErrors, first_error_1_18
from kubescheduler.core.extender_calls import SnapshotRows
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.selection import ListWalk, NodeWalk
from kubescheduler.core.status import REJECTED_1_20, Code, Status
from kubescheduler.extender.answers import AnsweredRows, node_not_found
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.frame import Frame
from kubescheduler.framework.contract.runs import Names, PreFilterOutcome, failed, score_failed
from kubescheduler.framework.deciding.adapters import SKIP, ask_pre_filter, rejection
from kubescheduler.framework.deciding.compiled_profile import Compiled
from kubescheduler.framework.deciding.opportunistic_batch import OpportunisticBatch
from kubescheduler.framework.deciding.post_filter_plugins import Collect
from priorities.types import PriorityError

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


SCALE = 10
"""An extender scores 0–10, a plugin 0–100."""


def answered_rows(snapshot: Snapshot) -> AnsweredRows:
    """The rows of nodes and of those that extenders answer."""
    return AnsweredRows(snapshot, node_not_found)


def plugin_error(plugin: str, error: PriorityError, _: int) -> str:
    """The text for a Score plugin over columns that failed."""
    return score_failed(plugin, error)


def never_alone(_: Mapping[str, bool]) -> bool:
    """The nominated node is looked at with all others."""
    return False


def alone_if_preferred(feature_gates: Mapping[str, bool]) -> bool:
    """The nominated node is tried alone first with the gate PreferNominatedNode. Upstream: 1.21."""
    return feature_gates.get("PreferNominatedNode", False)


def always_alone(_: Mapping[str, bool]) -> bool:
    """The nominated node is tried alone first. Upstream: 1.24."""
    return True


class FrameworkDecisionRules(AttemptRules, frozen=True, kw_only=True):
    """How one release goes about an attempt by the plugins of a profile."""

    narrow: Callable[[Iterator[tuple[str, Answer]], CycleState], PreFilterOutcome]
    """What the PreFilter plugins' answers come to."""
    outside: Callable[[Sequence[str]], Status | None]
    """Of plugins that named nodes: the status of all others; None: they have none."""
    refusal_is_status: bool
    """Whether a PreFilter refusal is the status of every node; otherwise no node has one."""
    rejected: frozenset[Code]
    """The codes by which a Filter refuses a node."""
    pre_score_skips: frozenset[Code]
    """The codes by which PreScore says that a plugin gives no score."""
    collect: Collect
    """What the PostFilter plugins' answers come to."""
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
    filter_errors: Callable[[NodeErrors], str] = first_error_1_18
    score_error: Callable[[str, PriorityError, int], str] = plugin_error
    walk: Callable[[], NodeWalk] = ListWalk
    places: Callable[[Snapshot], SnapshotRows] = answered_rows
    names_are_nodes: bool = False
    """A name that PreFilter plugins give and no node has ends the attempt with an error."""
    keeps_raws: bool = True
    extender_scale: int = SCALE
