"""Everything remembered of pods that no rule can tell apart: verdicts, scores, and the rows that fit."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, MutableMapping
from functools import partial
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

import msgspec
import numpy as np

from clusterstate.changes import PODS_ANYWHERE, ChangeLog, Reads, flags_of
from clusterstate.footprint import PodKey, ScopeReading, spec_alone
from clusterstate.growable import IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.answers import CheckState, Refreshes, Remembered, ScoreState, with_rows
from predicates.types import GO_ON, FitPredicate, PreFiltered
from priorities.types import PriorityConfig, goes_on

MEMORY = 1 << 28
"""Bytes that remembered rows may take, about."""
STATE_BYTES, CHECK_BYTES, SCORE_BYTES = 44, 2, 8
"""Bytes for each row, about: of a state with the totals that are kept, and of each rule that it alone remembers."""
FEWEST_STATES = 16
"""So many are remembered however large they are."""
MOST_PODS = 4096
"""Pod classes of which it is remembered what they are alike to."""

SELECTED = flags_of(Reads.SERVICES)
OF_PODS = frozenset(flags_of(Reads.PODS | PODS_ANYWHERE))
"""What changes with pods that come and go."""

A = TypeVar("A")
Rule = FitPredicate | PriorityConfig


Sharing = Callable[[Rule, Callable[[], Any]], Any]
"""Finds what is remembered of one rule for pods that are alike to it, or has it made."""


def unshared(_: Rule, make: Callable[[], Any]) -> Any:
    """Everything is made anew."""
    return make()


class PreAnswer(Generic[A]):
    """What a plugin's PreFilter answers about a pod class, or its PreScore, whether it has anything to score; asked
    again when something it reads has changed."""

    __slots__ = ("_ask", "_reading", "_version", "answer", "flags", "name")

    def __init__(
        self, rule: FitPredicate | PriorityConfig, info: PodInfo, ask: Callable[[PodInfo, Snapshot], A], answer: A
    ) -> None:
        """ask: the rule, which follows from the pod, and from what is not one row. answer: until it was asked."""
        reads, scope = rule.footprint.pre_reads_for(info), rule.footprint.pre_scope
        self.name = rule.name
        self.flags = flags_of(reads)
        self.answer = answer
        self._ask = ask
        self._reading = None if scope is None else ScopeReading(scope, flags_of(reads & ~PODS_ANYWHERE))
        self._version = -1

    def ask(self, pod: PodInfo, snapshot: Snapshot, log: ChangeLog) -> A:
        """The answer for pods of the class now. Raises as the plugin does."""
        version = log.version_of(self.flags)
        if version != self._version:
            before, self._version = self._version, -1
            same = self._reading is not None and self._reading.changed_rows(pod, snapshot, log, 0) == ()
            if not same or before == -1:
                self.answer = self._ask(pod, snapshot)
            self._version = version
        return self.answer


class ClassState:
    """Everything remembered for pods that are alike to every rule of an algorithm.

    info: the class of the pod that is being decided; any of them gives the same answers.
    feasible: (n,) int64, the rows that no verdict refuses, ascending, as of the last ``check``.
    fits: (N,) bool, the same rows.
    everywhere: these are all rows.
    kept: what is kept of the last decision, if that can be brought up to date; see ClassTotals. shared: what of it
        other classes may share. shared_totals: the same by what the classes that share it have in common.
    judgements: what is kept of nodes with the pods that are nominated there; see nominated.py.
    far_checks: the checks that follow from pods anywhere, or from the time.
    timed: time alone may change a check.
    pre: PreFilter plugin → what it answers, of those that have something to say about the class. pre_scores: the same
        of PreScore plugins. skips: the Filter and the Score plugins that these answers leave out, when totals are kept.
    pod_flags: what the rules read besides single rows that any pod may change. steady_flags: what else they read.
    """

    def __init__(self, info: PodInfo, algorithm: Algorithm, share: Sharing = unshared) -> None:
        self.info = info
        self.checks: list[CheckState] = [
            share(p, partial(CheckState, p, info)) for p in algorithm.predicates if p.applies(info)
        ]
        self.by_name = {state.predicate.name: state for state in self.checks}
        self.constants: dict[str, int] = {}
        self.scores: dict[str, ScoreState] = {}
        self.feasible: IntArray = np.zeros(0, np.int64)
        self.fits: Mask = np.zeros(0, np.bool_)
        self.everywhere = False
        self.kept: Any = None
        self.judgements: Any = None
        self.shared: Any = None
        self.shared_totals: MutableMapping[Hashable, Any] = WeakValueDictionary()
        self._from: list[Mask] = []
        self._refreshes: Refreshes | None = None
        self._checked = self._scored = self._size = -1
        self._settled = False
        for priority in algorithm.priorities:
            constant = priority.config.constant(info)
            if constant is None:
                state = share(priority.config, partial(ScoreState, priority.config, info))
                self.scores[priority.config.name] = state
            else:
                self.constants[priority.config.name] = constant
        self._moving_checks = [
            s
            for s in self.checks
            if not s.of_nodes or s.predicate.footprint.moment is not None or _asks_before(s, info)
        ]
        self._moving_scores = [s for s in self.scores.values() if not s.of_nodes]
        self.far_checks = [
            s for s in self._moving_checks if s.of_pods_anywhere or s.predicate.footprint.moment is not None
        ]
        self.timed = any(state.predicate.footprint.moment is not None for state in self.checks)
        self.pre = {
            name: PreAnswer(check, info, check.pre_filter, GO_ON)
            for name, check in algorithm.pre_filters.items()
            if check.pre_filter is not None and check.applies(info)
        }
        self.pre_scores = {
            config.name: PreAnswer(config, info, config.pre_score, True)
            for config in algorithm.pre_scores
            if config.pre_score is not goes_on
        }
        self.skips: tuple[frozenset[str], frozenset[str]] = frozenset(), frozenset()
        asked: list[PreAnswer[Any]] = [*self.pre.values(), *self.pre_scores.values()]
        self._pre_of_pods = [state for state in asked if not OF_PODS.isdisjoint(state.flags)]
        flags = {flag for state in (*self.checks, *self.scores.values()) for flag in state.far}
        flags.update(flag for state in asked for flag in state.flags)
        self.steady_flags = tuple(sorted(flags - OF_PODS))
        self.pod_flags = tuple(sorted(flags & OF_PODS))

    def ask(self, name: str, snapshot: Snapshot, log: ChangeLog) -> PreFiltered:
        """What a plugin's PreFilter says; one that skips is not run in ``check``."""
        pre = self.pre.get(name)
        if pre is None:
            return GO_ON
        answer = pre.ask(self.info, snapshot, log)
        check = self.by_name.get(name)
        if check is not None:
            check.skipped = answer.skip
        return answer

    def pod_answers(self, snapshot: Snapshot, log: ChangeLog) -> list[object]:
        """What those of PreFilter and PreScore that look at pods answer now."""
        return [
            self.ask(state.name, snapshot, log)
            if self.pre.get(state.name) is state
            else state.ask(self.info, snapshot, log)
            for state in self._pre_of_pods
        ]

    def is_current(self, log: ChangeLog) -> bool:
        """Whether nothing that is bound to a row has changed since the last ``check``."""
        return self._checked == log.position

    def check(self, snapshot: Snapshot, log: ChangeLog, listed: Mask) -> None:
        """Brings every verdict up to date, and with them the rows of ``listed`` that fit."""
        refreshes = self._refreshes = Refreshes(snapshot, log)
        every = self._size != len(snapshot) or refreshes.since(self._checked).nodes_changed
        known = _same(self._masks(listed), self._from)
        looked_at: dict[int, None] | None = {}
        for state in self.checks if every else self._moving_checks:
            if state.skipped:
                state.forget()
            elif (rows := state.refresh(self.info, refreshes)) is None or looked_at is None:
                looked_at = None
            elif rows:
                looked_at.update(dict.fromkeys(rows))
        self._size = len(snapshot)
        self._checked = log.position
        masks = self._masks(listed)
        if not _same(masks, self._from):
            self._fit(masks, looked_at if known else None)
            self._from = masks

    def _masks(self, listed: Mask) -> list[Mask]:
        """What the rows that fit follow from: the rows of the list, and those that the checks refuse."""
        return [listed, *(s.failing for s in self.checks if s.failing is not None and not s.skipped)]

    def _fit(self, masks: list[Mask], rows: Collection[int] | None) -> None:
        """Works out the rows that fit. rows: others fit or do not fit as before; None: all may be different."""
        listed = masks[0]
        if rows is None:
            self.fits = listed if len(masks) == 1 else listed & ~np.logical_or.reduce(masks[1:])
        else:
            now = [bool(listed[row]) and not any([mask[row] for mask in masks[1:]]) for row in rows]  # noqa: C419
            fits = with_rows(self.fits, tuple(rows), now, len(listed))
            if fits is None or fits is self.fits:
                return
            self.fits = fits
        self.feasible = self.fits.nonzero()[0]
        self.everywhere = len(self.feasible) == len(listed)

    def score(self, snapshot: Snapshot, log: ChangeLog) -> None:
        """Brings every priority's numbers up to date, in the same cluster as ``check`` just before."""
        refreshes = self._refreshes or Refreshes(snapshot, log)
        self._refreshes = None
        every = not self._settled or refreshes.since(self._scored).nodes_changed
        self._settled = False
        for state in self.scores.values() if every else self._moving_scores:
            state.refresh(self.info, refreshes)
        self._scored = log.position
        self._settled = True


def _asks_before(check: CheckState, info: PodInfo) -> bool:
    """Whether it depends on what may change whether the check is skipped."""
    return check.predicate.pre_filter is not None and bool(check.predicate.footprint.pre_reads_for(info))


def _same(masks: list[Mask], others: list[Mask]) -> bool:
    """Whether these are the same arrays."""
    return len(masks) == len(others) and all(map(operator.is_, masks, others))


Make = Callable[[PodInfo, Sharing], ClassState]
"""Makes the state of a pod class that is new."""


class EqualSpec(msgspec.Struct, frozen=True, eq=False):
    """Stands for namespace, spec, named node and being deleted of some pods; found again by what they are."""


class Memory:
    """What is remembered of pods, those least recently decided forgotten first.

    Pods that no rule can tell apart share one state; pods that one rule cannot tell apart share what is remembered of
    that rule. So labels that nothing selects by make no difference.
    """

    def __init__(self, rules: Iterable[Rule], make: Make) -> None:
        """rules: everything that a state asks."""
        self._make = make
        self._pod_keys: tuple[PodKey, ...] = tuple(
            dict.fromkeys(key for rule in rules if (key := rule.footprint.pod_key) is not spec_alone)
        )
        self._states: OrderedDict[Hashable, ClassState] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}
        self._size = self._made = 0
        self._key_of: dict[PodInfo, tuple[Hashable, ...]] = {}
        self._moment: Hashable = None
        self._equal_specs: OrderedDict[Hashable, EqualSpec] = OrderedDict()
        self._shared: WeakValueDictionary[Hashable, Remembered] = WeakValueDictionary()
        self._shared_totals: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()

    def state(self, info: PodInfo, snapshot: Snapshot, log: ChangeLog) -> Any:
        """What is remembered of pods like this one; made when it is new. The oldest are forgotten."""
        moment = (log.version_of(SELECTED), snapshot.term_keys)
        if moment != self._moment or len(self._key_of) > MOST_PODS:
            self._key_of.clear()
            self._moment = moment
        key = self._key_of.get(info)
        if key is None:  # equal for pods that no rule can tell apart
            key = self._key_of[info] = (self._equal_spec(info), *[of(info, snapshot) for of in self._pod_keys])
        state = self._states.get(key)
        if state is None:
            self._made = 0
            read = dict(zip(self._pod_keys, key[1:], strict=True))
            state = self._states[key] = self._make(info, partial(self._share, self._equal_spec(info), read))
            state.shared_totals = self._shared_totals
            self._hold(key, len(snapshot) * (STATE_BYTES + self._made))
        else:
            self._states.move_to_end(key)
            state.info = info
        return state

    def _hold(self, key: Hashable, size: int) -> None:
        """Notes how many bytes a new state may take, and forgets the oldest where they are too many."""
        self._sizes[key] = size
        self._size += size
        while self._size > MEMORY and len(self._states) > FEWEST_STATES:
            oldest, _ = self._states.popitem(last=False)
            self._size -= self._sizes.pop(oldest)

    def _equal_spec(self, info: PodInfo) -> EqualSpec:
        key = (info.spec, info.namespace, info.node_name, info.terminating)
        equal = self._equal_specs.get(key)
        if equal is None:
            equal = self._equal_specs[key] = EqualSpec()
            if len(self._equal_specs) > MOST_PODS:
                self._equal_specs.popitem(last=False)
        return equal

    def _share(self, spec: EqualSpec, read: Mapping[PodKey, Hashable], rule: Rule, make: Callable[[], Any]) -> Any:
        """What is remembered of a rule. read: what rules read of the pod besides its spec."""
        key = (id(rule), spec, read.get(rule.footprint.pod_key))
        shared = self._shared.get(key)
        if shared is None:
            shared = self._shared[key] = make()
            self._made += SCORE_BYTES if isinstance(rule, PriorityConfig) else CHECK_BYTES
        return shared
