"""Everything remembered of pods that no rule can tell apart: verdicts, scores, and the rows that fit.

``CheckState`` and ``ScoreState`` have one rule's verdict or number on all rows, brought up to date for dirty rows: its
footprint says which these are. A ``ClassState`` has those of all rules, and ``Memory`` finds it for a pod. Arrays are
never written to once they were handed out: bringing them up to date makes new ones.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping, Sequence
from functools import lru_cache, partial
from typing import Any, Generic, TypeAlias, TypeVar
from weakref import WeakValueDictionary

import msgspec
import numpy as np

from clusterstate.changes import BY_ROW, PODS_ANYWHERE, ChangeLog, Reads, flags_of
from clusterstate.footprint import Footprint, PodKey, ScopeReading, spec_alone
from clusterstate.growable import IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm
from predicates.types import GO_ON, FitPredicate, NodeError, PreFiltered, Verdict, failing, unresolvable
from priorities.types import PriorityConfig, goes_on

RowVerdict = tuple[tuple[str, ...], bool]
"""(the reasons for which a row fails, whether taking pods away cannot mend it)."""
PASSES: RowVerdict = (), False
FIRST_ROW: IntArray = np.zeros(1, np.int64)


def row_verdicts(predicate: FitPredicate, pod: PodInfo, there: Snapshot) -> list[RowVerdict]:
    """What a predicate says of each row of a snapshot, (n,)."""
    verdict = predicate.check(pod, there)
    refused = failing(verdict)
    if refused is None:
        return [PASSES] * len(there)
    beyond = unresolvable(predicate, pod, there, verdict, refused)
    hopeless = [False] * len(there) if beyond is None else beyond.tolist()
    fails = [(reason, mask.tolist()) for reason, mask in verdict.items()]
    return [(tuple([reason for reason, here in fails if here[at]]), hopeless[at]) for at in range(len(there))]


def with_rows(mask: Mask | None, rows: Sequence[int], values: Sequence[bool], size: int) -> Mask | None:
    """The mask, (size,) bool, with the values of single rows; itself where they had these already. None: no row is
    set."""
    out = mask
    for row, now in zip(rows, values, strict=True):
        if (out is not None and out.item(row)) is not now:
            if out is None:
                out = np.zeros(size, np.bool_)
            elif out is mask:
                out = out.copy()
            out[row] = now
    return out


NODE = Reads.NODE.value
CLAIMS = Reads.CLAIMS.value

PATCH_SHARE = 8
"""Rows are patched while there are fewer changes than 1/8 of all rows, or just one."""


Part = tuple[IntArray, Snapshot]
"""Rows, and the snapshot over just them."""


class Refresh:
    """The rows that changed since a group of results was last brought up to date, by what changed on them."""

    __slots__ = ("_parts", "_recent", "log", "since", "snapshot")

    def __init__(self, snapshot: Snapshot, log: ChangeLog, position: int) -> None:
        self.snapshot = snapshot
        self.log = log
        self.since = position
        self._recent = log.since(position)
        self._parts: dict[tuple[int, ...], Part] = {}

    @property
    def nodes_changed(self) -> bool:
        """Whether some node object changed."""
        return self.log.nodes_until > self.since

    def rows(self, local: int) -> tuple[int, ...] | None:
        """The distinct rows of which something in ``local`` changed, flags of BY_ROW; None: all, or too many."""
        recent = self._recent
        if recent is None or (len(recent) > 1 and len(recent) * PATCH_SHARE > len(self.snapshot)):
            return None
        if len(recent) == 1:
            row, what = recent[0]
            return (row,) if what & local else ()
        return tuple(dict.fromkeys([row for row, what in recent if what & local]))

    def part(self, rows: tuple[int, ...]) -> Part:
        """The snapshot over some rows; rules that ask for the same rows share it."""
        part = self._parts.get(rows)
        if part is None:
            at = np.array(rows, np.int64)
            part = self._parts[rows] = at, self.snapshot.take(at)
        return part


class Refreshes:
    """What changed since any of some positions of the log, looked up once for each."""

    __slots__ = ("_by_position", "log", "snapshot")

    def __init__(self, snapshot: Snapshot, log: ChangeLog) -> None:
        self.snapshot = snapshot
        self.log = log
        self._by_position: dict[int, Refresh] = {}

    def since(self, position: int) -> Refresh:
        """The rows that changed after a position."""
        refresh = self._by_position.get(position)
        if refresh is None:
            refresh = self._by_position[position] = Refresh(self.snapshot, self.log, position)
        return refresh


class _Reading(msgspec.Struct, frozen=True):
    """What a rule reads, as flags of Reads."""

    far: tuple[int, ...]
    """Besides the row."""
    besides: tuple[int, ...]
    """Of these, what is not pods."""
    local: int
    """Of the row, added up."""
    of_pods_anywhere: bool
    """It follows from more pods than those on the row itself."""
    of_own_pods: bool
    """It follows from the pods on the row itself."""


@lru_cache
def _reading(reads: Reads) -> _Reading:
    """Found once for each combination."""
    far = reads & ~BY_ROW
    return _Reading(
        flags_of(far),
        flags_of(far & ~PODS_ANYWHERE),
        (reads & BY_ROW).value,
        bool(reads & PODS_ANYWHERE),
        bool(reads & (Reads.PODS | Reads.PODS_VOLUMES)),
    )


class Remembered:
    """When one rule's results were worked out.

    position: that of the log then. of_pods_anywhere, of_own_pods: see what it reads.
    """

    def __init__(self, footprint: Footprint, info: PodInfo) -> None:
        """footprint: the rule's."""
        reads, scope = footprint.reads_for(info), footprint.scope
        self._storage = footprint.storage if reads & Reads.CLAIMS else None
        reading = _reading(reads if self._storage is None else reads & ~Reads.CLAIMS)
        self._far, self._local = reading.far, reading.local
        self.of_pods_anywhere, self.of_own_pods = reading.of_pods_anywhere, reading.of_own_pods
        self._scoped = None if scope is None or not reading.of_pods_anywhere else ScopeReading(scope, reading.besides)
        self._claims = -1
        self._led_to: object = None
        self._version = -1
        self._size = -1
        self.position = -1

    @property
    def of_nodes(self) -> bool:
        """It follows from the row's node object alone."""
        return not self._far and self._local == NODE and self._storage is None

    @property
    def far(self) -> tuple[int, ...]:
        """What it reads besides the row, as flags."""
        return self._far if self._storage is None else (*self._far, CLAIMS)

    def may_have_changed(self, log: ChangeLog) -> bool:
        """Whether something besides rows has changed that it reads, claims apart, or it reads the pods of rows too."""
        return self.of_own_pods or self._version != (log.version_of(self._far) if self._far else 0)

    def forget(self) -> None:
        """The next time every row is looked at."""
        self._size = -1

    def stale(self, pod: PodInfo, refresh: Refresh) -> tuple[int, ...] | None:
        """The rows to look at again, none when nothing changed; None: every row."""
        if self._storage is not None and self._claims != refresh.log.versions[CLAIMS]:
            self._claims = refresh.log.versions[CLAIMS]
            led_to = self._storage(pod, refresh.snapshot)
            if led_to != self._led_to:
                self._led_to = led_to
                self.forget()
        version = refresh.log.version_of(self._far) if self._far else 0
        size = len(refresh.snapshot)
        if self._size != size or self._version != version:
            rows = self._within(pod, refresh)
            self._version, self._size = version, size
            return rows
        return refresh.rows(self._local) if self._local else ()

    def _within(self, pod: PodInfo, refresh: Refresh) -> tuple[int, ...] | None:
        """The rows to look at again as pods have come and gone; None: every row."""
        scoped, size = self._scoped, len(refresh.snapshot)
        if scoped is None:
            return None
        if self._size != size:
            scoped.forget()
        near = scoped.changed_rows(pod, refresh.snapshot, refresh.log, size // PATCH_SHARE)
        rows = refresh.rows(self._local) if self._local else ()
        return None if near is None or rows is None else tuple(dict.fromkeys((*rows, *near)))


class CheckState(Remembered):
    """One predicate's verdict on all rows for pods that are alike to it.

    failing: (N,) bool, any reason or error; None when no row fails. erring: some row has an error.
    unresolvable: (N,) bool, the failing rows that taking pods away cannot mend, None when there is none.
    skipped: the rule has nothing to say this time.
    """

    def __init__(self, predicate: FitPredicate, info: PodInfo) -> None:
        super().__init__(predicate.footprint, info)
        self.predicate = predicate
        self.verdict: Verdict = {}
        self.failing: Mask | None = None
        self.unresolvable: Mask | None = None
        self.erring = False
        self.skipped = False
        self._moment = 0

    def refresh(self, pod: PodInfo, refreshes: Refreshes) -> None:
        """Brings the verdict up to date for the rows that changed, or for all when time has changed it."""
        try:
            self._refresh(pod, refreshes.since(self.position))
        except BaseException:
            self.forget()
            raise
        self.position = refreshes.log.position

    def _refresh(self, pod: PodInfo, refresh: Refresh) -> None:
        footprint = self.predicate.footprint
        if footprint.moment is not None:
            moment = footprint.moment(pod, refresh.snapshot)
            if moment != self._moment:
                self._moment = moment
                self.forget()
        rows = self.stale(pod, refresh)
        if rows and not self._patch(rows, row_verdicts(self.predicate, pod, refresh.part(rows)[1])):
            rows = None
        if rows is None:
            self.verdict = self.predicate.check(pod, refresh.snapshot)
            self.failing = failing(self.verdict)
            self.unresolvable = unresolvable(self.predicate, pod, refresh.snapshot, self.verdict, self.failing)
            self.erring = any(isinstance(reason, NodeError) and mask.any() for reason, mask in self.verdict.items())

    def _patch(self, rows: tuple[int, ...], said: list[RowVerdict]) -> bool:
        """Puts in what is said of some rows, unless one of them fails for a reason that no row failed for; whether it
        did."""
        given = {reason for reasons, _ in said for reason in reasons}
        if self.erring or not given <= self.verdict.keys() or any(isinstance(reason, NodeError) for reason in given):
            return False
        verdict = self.verdict
        for reason, mask in verdict.items():
            patched = with_rows(mask, rows, [reason in reasons for reasons, _ in said], self._size)
            if patched is not None and patched is not mask:
                self.verdict = {**self.verdict, reason: patched}
        if verdict is not self.verdict:
            refused = with_rows(self.failing, rows, [bool(reasons) for reasons, _ in said], self._size)
            self.failing = refused if given or (refused is not None and refused.any()) else None
        self.unresolvable = with_rows(self.unresolvable, rows, [beyond for _, beyond in said], self._size)
        return True


Scores: TypeAlias = IntArray | int
"""One priority's score of every feasible node, in the order of ``Decision.feasible``; an int stands for all."""


def one_for_all(scores: IntArray) -> Scores:
    """Scores, or the one number that they all are if they are laid out as one."""
    return int(scores[0]) if len(scores) and scores.strides[0] == 0 else scores


RawAndReduced = tuple[Scores, Scores]
"""A rule's scores of the rows that fit before they were normalised, and after."""


class ScoreState(Remembered):
    """One priority's mapped numbers on all rows for pods that are alike to it.

    raw: (N,) int64. uniform: the one number that every row has, None when they differ or it does not help.
    failed: the last time ended in an error.
    """

    def __init__(self, config: PriorityConfig, info: PodInfo) -> None:
        super().__init__(config.footprint, info)
        self.config = config
        self.raw: IntArray = np.zeros(0, np.int64)
        self.uniform: int | None = None
        self.reduced: dict[int, int] = {}
        self.failed = False

    def refresh(self, pod: PodInfo, refreshes: Refreshes) -> None:
        """Brings the scores up to date for the rows that changed."""
        refresh = refreshes.since(self.position)
        try:
            rows = self.stale(pod, refresh)
            self.position = refreshes.log.position
            if rows == ():
                return
            self.failed = False
            if not self._map(pod, refresh, rows):
                return
            self.uniform = None
            if (self.config.valuewise or self.config.reduce is None) and len(self.raw) and same_everywhere(self.raw):
                self.uniform = int(self.raw[0])
        except BaseException:
            self.failed = True
            self.forget()
            raise

    def of_feasible(self, info: PodInfo, view: Snapshot, feasible: IntArray | None) -> RawAndReduced:
        """The scores of the feasible rows (None: all). view: over exactly those rows. Raises PriorityError."""
        uniform, reduce = self.uniform, self.config.reduce
        if uniform is None or self.config.settle is not None:
            return normalised(self.config, info, view, self.raw if feasible is None else self.raw[feasible])
        if reduce is None:
            return uniform, uniform
        value = self.reduced.get(uniform)
        if value is None:
            one = view.take(FIRST_ROW if view.rows is None else view.rows[:1])
            value = self.reduced[uniform] = int(reduce(info, one, np.array([uniform], np.int64))[0])
        return uniform, value

    def _map(self, pod: PodInfo, refresh: Refresh, rows: tuple[int, ...] | None) -> bool:
        """Brings ``raw`` up to date; whether it changed."""
        if rows is None:
            self.raw = self.config.map(pod, refresh.snapshot)
            return True
        at, part = refresh.part(rows)
        now = self.config.map(pod, part)
        if (self.raw[at] == now).all():
            return False
        self.raw = self.raw.copy()
        self.raw[at] = now
        return True


def normalised(config: PriorityConfig, info: PodInfo, view: Snapshot, mapped: IntArray) -> RawAndReduced:
    """Scores before and after they are normalised. mapped: (n,) what ``map`` gave for exactly the rows of the view."""
    raw, final = config.raw_and_final(info, view, mapped)
    shared = one_for_all(raw)
    return shared, shared if final is raw else one_for_all(final)


def same_everywhere(numbers: IntArray) -> bool:
    """Whether one or more numbers are all equal; mostly told from a few of them."""
    if numbers.strides[0] == 0:
        return True
    first = numbers[0]
    return bool(numbers[-1] == first and numbers[len(numbers) // 2] == first and (numbers == first).all())


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

Said = TypeVar("Said")
Rule = FitPredicate | PriorityConfig


Sharing = Callable[[Rule, Callable[[], Any]], Any]
"""Finds what is remembered of one rule for pods that are alike to it, or has it made."""


def unshared(_: Rule, make: Callable[[], Any]) -> Any:
    """Everything is made anew."""
    return make()


class PreAnswer(Generic[Said]):
    """What a plugin's PreFilter answers about a pod class, or its PreScore, whether it has anything to score; asked
    again when something it reads has changed."""

    __slots__ = ("_ask", "_version", "answer", "flags", "name")

    def __init__(
        self, rule: FitPredicate | PriorityConfig, info: PodInfo, ask: Callable[[PodInfo, Snapshot], Said], answer: Said
    ) -> None:
        """ask: the rule, which follows from the pod, and from what is not one row. answer: until it was asked."""
        self.name = rule.name
        self.flags = flags_of(rule.footprint.pre_reads_for(info))
        self.answer = answer
        self._ask = ask
        self._version = -1

    def ask(self, pod: PodInfo, snapshot: Snapshot, log: ChangeLog) -> Said:
        """The answer for pods of the class now. Raises as the plugin does."""
        version = log.version_of(self.flags)
        if version != self._version:
            self._version = -1
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
        for state in self.checks if every else self._moving_checks:
            if state.skipped:
                state.forget()
            else:
                state.refresh(self.info, refreshes)
        self._size = len(snapshot)
        self._checked = log.position
        masks = [listed, *(s.failing for s in self.checks if s.failing is not None and not s.skipped)]
        if len(masks) != len(self._from) or not all(map(operator.is_, masks, self._from)):
            self.fits = listed if len(masks) == 1 else listed & ~np.logical_or.reduce(masks[1:])
            self.feasible = self.fits.nonzero()[0]
            self.everywhere = len(self.feasible) == len(listed)
            self._from = masks

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


Make = Callable[[PodInfo, Sharing], ClassState]
"""Makes the state of a pod class that is new."""


def _what_every_rule_may_read(info: PodInfo) -> Hashable:
    return info.spec, info.namespace, info.node_name, info.terminating


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
        self._shared: WeakValueDictionary[Hashable, Remembered] = WeakValueDictionary()
        self._shared_totals: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()

    def state(self, info: PodInfo, snapshot: Snapshot, log: ChangeLog) -> ClassState:
        """What is remembered of pods like this one; made when it is new. The oldest are forgotten."""
        moment = (log.version_of(SELECTED), snapshot.term_keys)
        if moment != self._moment or len(self._key_of) > MOST_PODS:
            self._key_of.clear()
            self._moment = moment
        key = self._key_of.get(info)
        if key is None:  # equal for pods that no rule can tell apart
            key = self._key_of[info] = (_what_every_rule_may_read(info), *[of(info, snapshot) for of in self._pod_keys])
        state = self._states.get(key)
        if state is None:
            self._made = 0
            read = dict(zip(self._pod_keys, key[1:], strict=True))
            state = self._states[key] = self._make(info, partial(self._share, key[0], read))
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

    def _share(self, spec: Hashable, read: Mapping[PodKey, Hashable], rule: Rule, make: Callable[[], Any]) -> Any:
        """What is remembered of a rule. spec: what every rule may read of the pod. read: what some read besides."""
        key = (id(rule), spec, read.get(rule.footprint.pod_key))
        shared = self._shared.get(key)
        if shared is None:
            shared = self._shared[key] = make()
            self._made += SCORE_BYTES if isinstance(rule, PriorityConfig) else CHECK_BYTES
        return shared
