"""What a rule reads, so that its answers can be kept until something of that changes.

Predicates and priorities have one ``Footprint`` each, at the end of this file; whoever keeps answers asks it, and rules
need not know how they are kept. Before it stands what a rule may read of a pod besides its spec (pods that agree in
that are one to the rule), and how far the pods of a node matter to it: to the nodes that share its value of some
topology keys.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from operator import attrgetter

import msgspec

from clusterstate.changes import LOCAL, ChangeLog, Reads
from clusterstate.growable import ABSENT, NO_NUMBERS
from clusterstate.objects import TopologySpreadConstraint
from clusterstate.pod_counts import DomainLog, Tally
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot

PodKey = Callable[[PodInfo, Snapshot], Hashable]
"""Equal for pods that the rule cannot tell apart, as services, controllers and terms of pod affinity are now."""


StorageKey = Callable[[PodInfo, Snapshot], object]
"""Equal while claims and volumes that the rule reads for the pod are; see ``storage_traits``."""


def whole_pod(pod: PodInfo, _: Snapshot) -> Hashable:
    """Everything: only pods of one class are alike."""
    return pod


def spec_alone(_: PodInfo, __: Snapshot) -> Hashable:
    """Nothing but the spec."""
    return None


def affinity_labels(pod: PodInfo, snapshot: Snapshot) -> Hashable:
    """The labels that terms of pod affinity ask for, those of running pods and the pod's own."""
    keys = snapshot.term_keys
    if not pod.term_keys <= keys:
        keys |= pod.term_keys
    return pod.as_picked(keys).labels if keys else None


def spread_labels(pod: PodInfo, _: Snapshot) -> Hashable:
    """The labels that the pod's own spread constraints ask for."""
    constraints = pod.spec.topology_spread_constraints
    if not constraints:
        return None
    keys = {key for constraint in constraints for key in constraint_labels(constraint)}
    return tuple((key, value) for key, value in pod.labels.items() if key in keys)


def constraint_labels(constraint: TopologySpreadConstraint) -> Iterable[str]:
    """The keys of the labels that a constraint reads in the pod that has it."""
    yield from constraint.match_label_keys
    selector = constraint.label_selector
    if selector is not None:
        yield from selector.match_labels
        for requirement in selector.match_expressions:
            yield requirement.key


ReadOf = Callable[[Tally], DomainLog]
"""Of a running count: the domains where what a rule reads of its sums changes."""

every_sign: ReadOf = attrgetter("turned")
"""Where they are above 0, and where they are below."""
every_sum: ReadOf = attrgetter("moved")
"""All of them."""

Besides = Callable[[Snapshot], Hashable]
"""What the answers about all rows follow from that a rule reads of its running counts."""


def nothing_besides(_: Snapshot) -> Hashable:
    """The answers about a row follow from the domains that it is in."""
    return None


class TopologyScope:
    """The running counts of domains that a rule's answers about rows follow from, and how far they were read.

    While nodes stay as they are, the answer about a row follows from what is read in its domains, and from ``besides``.
    """

    __slots__ = ("_answer", "_besides", "_counts", "_logs", "_positions", "_uses_version")

    def __init__(
        self,
        snapshot: Snapshot,
        tallies: Iterable[Tally],
        read: ReadOf,
        besides: Besides = nothing_besides,
    ) -> None:
        """As of now. tallies: by domains of a topology key; which these are may change with terms of running pods."""
        self._counts = [(tally, column) for tally in tallies if (column := tally.column) is not None]
        self._logs = [read(tally) for tally, _ in self._counts]
        self._positions = [log.position for log in self._logs]
        self._besides = besides
        self._answer = besides(snapshot)
        self._uses_version = snapshot.uses_version

    def stands(self, snapshot: Snapshot) -> bool:
        """Whether the rule still reads these counts, as long as nodes stay as they are."""
        if self._uses_version != snapshot.uses_version:
            return False
        return not any([not tally.kept for tally, _ in self._counts])  # noqa: C419

    def follows(self, before: TopologyScope) -> bool:
        """Whether an earlier scope of the rule has the same counts; then this one goes on where that one was read."""
        if self._counts != before._counts:
            return False
        self._positions, self._answer = before._positions, before._answer
        return True

    def changed_rows(self, snapshot: Snapshot, most: int) -> tuple[int, ...] | None:
        """The rows of the whole cluster of which answers may have changed since this was asked the last time; None: all
        rows, or more than ``most``."""
        before, now = self._positions, [log.position for log in self._logs]
        if before == now:
            return ()
        self._positions = now
        answer, self._answer = self._answer, self._besides(snapshot)
        if answer != self._answer:
            return None
        found: dict[int, None] = {}
        for (_, column), log, position in zip(self._counts, self._logs, before, strict=True):
            codes = log.since(position)
            if codes is None:
                return None
            for code in dict.fromkeys(codes):
                rows = column.rows_with(code) if code != ABSENT else NO_NUMBERS
                if len(found) + len(rows) > most:
                    return None
                found.update(dict.fromkeys(rows.tolist()))
        return tuple(found)


Scope = Callable[[PodInfo, Snapshot], TopologyScope | None]
"""The scope of a rule for a pod; None: pods on any row may matter to any other."""


class ScopeReading:
    """A rule's scope as of the last time that the rule was asked; not found the first time, as most that is asked once
    about pods like one is never asked again."""

    __slots__ = ("_asked", "_flags", "_known", "_scope", "_version")

    def __init__(self, scope: Scope, flags: tuple[int, ...]) -> None:
        """flags: of Reads, what the rule reads besides pods."""
        self._scope = scope
        self._flags = flags
        self._asked = False
        self._known: TopologyScope | None = None
        self._version = -1

    def forget(self) -> None:
        """All rows have to be looked at the next time."""
        self._known = None

    def changed_rows(self, pod: PodInfo, snapshot: Snapshot, log: ChangeLog, most: int) -> tuple[int, ...] | None:
        """The rows of the whole cluster of which answers may have changed since the last time; None: all rows, or more
        than ``most``."""
        known, before, self._version = self._known, self._version, log.version_of(self._flags)
        self._known = None  # until all is well: an interrupt may come
        if known is None or self._version != before:
            self._known = self._scope(pod, snapshot) if self._asked else None
            self._asked = True
            return None
        if not known.stands(snapshot):
            earlier, known = known, self._scope(pod, snapshot)
            if known is None or not known.follows(earlier):
                self._known = known
                return None
        rows = known.changed_rows(snapshot, most)
        self._known = known
        return rows


class Footprint(msgspec.Struct, frozen=True):
    """What the answers of one rule about rows depend on; by default the row itself and everything about the pod."""

    reads: Reads = LOCAL
    """What answers depend on; if only NODE and PODS, rows are looked at again only when they change."""
    narrow: Callable[[PodInfo], Reads] | None = None
    """The same for one pod, where that is less than ``reads``."""
    pod_key: PodKey = whole_pod
    """What is read of a pod besides its spec; pods for which that is equal share what is remembered of them."""
    equal_for_equal_usage: bool | Callable[[PodInfo], bool] = False
    """Whether rows with equal amounts have equal answers about a pod: see ``Snapshot.amounts``."""
    row_local: Callable[[PodInfo, Snapshot], bool] | None = None
    """Whether each row's answer about a pod would follow from that row alone if pods came to it or left it; None: what
    ``reads`` says. Preemption then tries many rows at once. May raise what the rule raises."""
    scope: Scope | None = None
    """How far pods on a row matter to the answers about others; None: pods on any row may matter to all, where
    ``reads`` has pods anywhere. Something else in ``reads`` may change all answers."""
    storage: StorageKey | None = None
    """What is read of claims and volumes for a pod, when that is less than all of them."""
    moment: Callable[[PodInfo, Snapshot], int] | None = None
    """A number that changes when time alone changes answers; None: they follow from what is read."""
    turns: Callable[[PodInfo, Snapshot], float | None] | None = None
    """When time alone will have changed an answer, in seconds since the epoch; None: it will not."""
    unaffected_by_pods: Callable[[PodInfo, Snapshot], bool] | None = None
    """Whether scores stay what they are, raw ones and others, whatever pods come and go and whichever rows are
    feasible, until something besides pods in ``reads`` changes; None: they do not."""
    pre_reads: Reads | None = None
    """What is read before any node is looked at (framework releases, PreFilter and PreScore); None: what ``reads`` has
    that is not one row."""

    def reads_for(self, pod: PodInfo) -> Reads:
        """What answers about one pod depend on."""
        return self.reads if self.narrow is None else self.narrow(pod)

    def pre_reads_for(self, pod: PodInfo) -> Reads:
        """What the answer about one pod depends on that is given before any node is looked at."""
        return self.reads_for(pod) & ~LOCAL if self.pre_reads is None else self.pre_reads

    def follows_from_usage(self, pod: PodInfo) -> bool:
        """Whether rows with equal amounts have equal answers about this pod."""
        given = self.equal_for_equal_usage
        return given if isinstance(given, bool) else given(pod)

    def follows_from_pods(self, pod: PodInfo) -> bool:
        """Whether rows with equal pods and equal allocatable amounts have equal answers about this pod."""
        return self.follows_from_usage(pod) or self.reads_for(pod) == Reads.PODS

    def is_row_local(self, pod: PodInfo, snapshot: Snapshot) -> bool:
        """Whether each row's answer about this pod follows from that row alone."""
        return not self.reads & ~LOCAL if self.row_local is None else self.row_local(pod, snapshot)

    def ignores_pods_elsewhere(self, pod: PodInfo, snapshot: Snapshot) -> bool:
        """Whether each row's answer about this pod depends on no pods but those of that row."""
        if self.row_local is not None:
            return self.row_local(pod, snapshot) or not self.reads_for(pod) & Reads.ALL_PODS
        return not self.reads_for(pod) & Reads.ALL_PODS

    def is_unaffected_by_pods(self, pod: PodInfo, snapshot: Snapshot) -> bool:
        """Whether scores of this pod stay what they are whatever pods come and go."""
        return self.unaffected_by_pods is not None and self.unaffected_by_pods(pod, snapshot)
