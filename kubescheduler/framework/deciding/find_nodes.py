"""Finding: the nodes that one pod may go to, by PreFilter, Filter and extenders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.changes import ChangeLog
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.decision import Decision
from kubescheduler.core.decision_records import ExtenderTrace
from kubescheduler.core.extender_calls import Extender, FilterAnswer, filter_with_extenders
from kubescheduler.core.filter_results import FilterResults
from kubescheduler.core.filtering import Filtered
from kubescheduler.core.nominated import NominatedMemory
from kubescheduler.core.preemption import PreemptionMemory
from kubescheduler.core.selection import TieBreak
from kubescheduler.core.status import REJECTED_1_20, Code, Status
from kubescheduler.extender.answered_nodes import AnsweredRows, node_not_found
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.observer import Laps, Watch
from kubescheduler.framework.contract.plugin import SignedPod
from kubescheduler.framework.contract.runner_results import Names, PreFilterOutcome, failed
from kubescheduler.framework.deciding.adapters import SKIP, ask_pre_filter, rejection
from kubescheduler.framework.deciding.compiled_profile import Compiled, Frame, ProfileState
from kubescheduler.framework.deciding.filter_plugins import ErrorText, Filtering
from kubescheduler.framework.deciding.opportunistic_batch import OpportunisticBatch, Signature, Turn
from kubescheduler.framework.deciding.post_filter_plugins import Collect
from kubescheduler.framework.deciding.score_plugins import HeapTie

Answer = tuple[Status | None, Names | None]
"""(status, None: Success; the node names that alone may be considered, None: all)."""


ALL_NODES = PreFilterOutcome()


def answers(
    pod: Pod, state: ProfileState, compiled: Compiled, cycle: CycleState, snapshot: Snapshot, log: ChangeLog
) -> Iterator[tuple[str, Answer]]:
    """(plugin, its answer) one after the other, each asked when it is its turn; of those that have something to say."""
    for name in state.asked:
        own = compiled.own_pre_filters.get(name)
        if own is not None:
            yield name, ask_pre_filter(own, cycle, pod, snapshot)
            continue
        answer = state.ask(name, snapshot, log)
        status = SKIP if answer.skip else None
        if answer.reasons:
            unresolvable = compiled.pre_checks[name].unresolvable
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


class Host(Protocol):
    """What a decision needs of the scheduler it is made for; see FrameworkScheduler."""

    frame: Frame
    cache: ClusterCache
    tie_break: TieBreak
    compiled: Compiled
    rules: FrameworkDecisionRules
    preemption: PreemptionMemory
    nominated: NominatedMemory
    sampler: Sampler
    batch: OpportunisticBatch | None
    watch: Watch | None

    def state(self, info: PodInfo, snapshot: Snapshot) -> ProfileState:
        """What is kept for pods like one of this class."""
        ...

    def again(self, pod: Pod) -> Decision:
        """The pod decided once more, with every score."""
        ...


class Finding(msgspec.Struct, eq=False):
    """One pod's search under way."""

    host: Host
    pod: Pod
    cycle: CycleState
    thorough: bool
    turn: Turn | None = None
    """Which attempt of a scheduler's it is; None: a question on its own."""
    signature: Signature | None = None
    """What makes other pods the same to the profile; None: it has none, or nobody asked for it."""
    hint: str = ""
    """The next node of the ranking that was kept from the pod before; empty when there is none."""
    by_hint: bool = False
    """The pod passes on that node, and no other is looked at."""
    narrowed: PreFilterOutcome = ALL_NODES
    filtering: Filtering | None = None
    passed: Filtered | None = None
    filtered: LeftByExtenders | None = None
    traces: tuple[ExtenderTrace, ...] = ()
    judged: Mask | None = None
    """(N,) bool, the rows that Filter plugins are run on; None: all."""
    tried: int | None = None
    """The row of the nominated node that was tried alone and did not pass."""
    refused: Mapping[str, Status] = msgspec.field(default_factory=dict)
    """Node → what extenders said of the nominated node, tried alone."""
    only: bool = False
    """The nominated or hinted node passed, and no other is looked at."""
    laps: Laps | None = None
    """What times the points; None where nothing is measured."""

    def find(self, state: ProfileState, snapshot: Snapshot, listed: Mask) -> IntArray:
        """(n,) the rows that are left: ascending, or where the order matters in that of the node list or of the last
        extender's answer.

        Raises SchedulingError when a plugin or an extender fails. Upstream: findNodesThatFitPod.
        """
        host, rules = self.host, self.host.rules
        if state.asked:
            self._narrow(state, snapshot)
        if self.laps is not None:
            self.laps.end(self.narrowed.status, "" if self.narrowed.status is not None else "Filter")
        filtering = self.filtering = Filtering.of(
            self.pod, state, host.compiled, self.cycle, host.cache, rules.filter_error, rules.rejected, host.nominated
        )
        if self.narrowed.status is not None:
            return self._nowhere(filtering, state, snapshot, len(listed))
        self._ask_for_hint(filtering, snapshot, listed)
        first = self.pod.nominated_node_name or self.hint
        if first and not self.thorough and rules.nominated_first(host.frame.feature_gates):
            alone = self._alone_on(first, filtering, listed)
            if alone is not None:
                self.by_hint = first == self.hint and not self.pod.nominated_node_name
                return alone
        if self.narrowed.nodes is not None:
            self.judged = self._rows(self.narrowed.nodes, len(listed))
        passed = self.passed = filtering.run(self.judged, every=self.thorough)
        if self._samples or isinstance(host.tie_break, HeapTie):
            self._walk(passed)
        elif self.judged is not None and not self.thorough:
            host.sampler.advance(int((self.judged & listed).sum()), host.cache.columns.node_count)
        filtering.raise_error(passed, self.judged)
        if self.laps is not None:
            self.laps.end()
        return self._extend(passed.feasible, snapshot) if host.compiled.algorithm.extenders else passed.feasible

    def take_instead(self, rows: IntArray) -> IntArray:
        """These rows are left, whatever was found."""
        if self.passed is not None:
            self.passed.feasible, self.passed.everywhere = rows, False
        if self.filtered is not None:
            self.filtered = msgspec.structs.replace(self.filtered, feasible=rows)
        return rows

    def forget(self) -> None:
        """The attempt is given up: no row is left."""
        if self.passed is not None:
            self.passed.feasible = NO_ROWS
        self.filtered = None

    @property
    def feasible(self) -> IntArray:
        """(n,) int64: the rows that fit; empty before Filter plugins have run."""
        if self.filtered is not None:
            return self.filtered.feasible
        return NO_ROWS if self.passed is None else self.passed.feasible

    # --- PreFilter -------------------------------------------------------------------------

    def _narrow(self, state: ProfileState, snapshot: Snapshot) -> None:
        host = self.host
        given = answers(self.pod, state, host.compiled, self.cycle, snapshot, host.cache.columns.log)
        outcome = host.rules.narrow(given, self.cycle)
        if outcome.status is not None and outcome.status.code is Code.Error:
            raise SchedulingError(outcome.status.message)
        self.narrowed = outcome

    def _nowhere(self, filtering: Filtering, state: ProfileState, snapshot: Snapshot, rows: int) -> IntArray:
        """PreFilter rejected the pod; thorough: all the others say what each would alone."""
        self.judged = np.zeros(rows, np.bool_)
        if self.thorough:
            for name in state.pre:
                state.ask(name, snapshot, self.host.cache.columns.log)
            # Upstream runs no Filter plugin here: what one would say must not end the attempt with an error.
            self.passed = filtering.run(None, every=True, nominated=False)
            self.passed.feasible = NO_ROWS
        return NO_ROWS

    def _rows(self, names: frozenset[str], size: int) -> Mask:
        """The rows of some names, and the one that was tried already."""
        out = np.zeros(size, np.bool_)
        row_of = self.host.cache.columns.row_of
        out[[row_of[name] for name in names if name in row_of]] = True
        if self.tried is not None:
            out[self.tried] = True
        return out

    # --- Filter ----------------------------------------------------------------------------

    def _ask_for_hint(self, filtering: Filtering, snapshot: Snapshot, listed: Mask) -> None:
        """The node that a kept ranking has for the pod, if it may take one."""
        batch, row_of = self.host.batch, self.host.cache.columns.row_of
        if batch is None or self.turn is None or self.thorough:
            return

        def is_full(node: str) -> bool | None:
            row = row_of.get(node)
            return None if row is None or not listed[row] else filtering.refused_by_plugins(row)

        watch = self.host.watch
        started = 0.0 if watch is None else watch.now()
        self.signature = batch.signature(SignedPod(self.pod, filtering.state.info, snapshot))
        self.hint = batch.hint(self.turn, self.signature, is_full)
        if watch is not None:
            watch.hint_asked(self.hint, started)

    def _alone_on(self, node: str, filtering: Filtering, listed: Mask) -> IntArray | None:
        """A node's row, if the pod passes there; None if all nodes are to be looked at."""
        row = self.host.cache.columns.row_of.get(node)
        if row is None or not listed[row]:
            return None
        alone = np.zeros(len(listed), np.bool_)
        alone[row] = True
        try:
            passed = filtering.run(alone, every=False)
            filtering.raise_error(passed, alone)
            feasible = passed.feasible
            if not len(feasible):
                self.tried = row
            elif self.host.compiled.algorithm.extenders:
                feasible = self._extend(feasible, self.host.cache.snapshot())
        except SchedulingError:
            feasible = NO_ROWS
        if len(feasible):
            self.passed, self.judged, self.only = passed, alone, True
            return feasible
        if self.filtered is not None:
            self.refused, self.filtered = self.filtered.refused, None
        return None

    @property
    def _samples(self) -> bool:
        return self.host.compiled.algorithm.percentage_of_nodes_to_score < 100

    def _walk(self, passed: Filtered) -> None:
        """Puts the rows in the order of the node list, and ends where enough were met."""
        host = self.host
        total = host.cache.columns.node_count
        fits = np.zeros(len(passed.listed), np.bool_)
        fits[passed.feasible] = True
        order = host.cache.listed_rows()
        if self.judged is not None:
            order = order[self.judged[order]]
        passed.feasible, seen = host.sampler.sample(order, fits, self._wanted(total) if self._samples else total)
        passed.everywhere = False
        if self.tried is not None:
            seen[self.tried] = True
        passed.listed = seen if self.judged is None else seen | (passed.listed & ~self.judged)
        if self._samples or not self.thorough:
            host.sampler.advance(int(seen.sum()), total)

    def _wanted(self, total: int) -> int:
        """How many passing nodes are enough."""
        host, algorithm = self.host, self.host.compiled.algorithm
        scores = any(e.config.prioritize_verb for e in algorithm.extenders) or bool(host.compiled.scores)
        filters = any(e.config.filter_verb for e in algorithm.extenders)
        if host.rules.one_is_enough and not scores and not filters:
            return 1
        return host.rules.wanted(total, algorithm.percentage_of_nodes_to_score)

    # --- extenders -------------------------------------------------------------------------

    def _extend(self, feasible: IntArray, snapshot: Snapshot) -> IntArray:
        host = self.host
        extenders = host.compiled.algorithm.extenders
        self.filtered = ask_filters(self.pod, extenders, snapshot, feasible, host.rules.note)
        self.traces = self.filtered.traces
        return self.filtered.feasible
