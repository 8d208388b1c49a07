"""Engines that decide the same pods, each on the same cluster or on what its own choices have made of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import overload

import attrs
import msgspec
import numpy as np

from clusterstate.errors import InputError
from clusterstate.growable import IntArray
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.comparison.causes import VictimChoice, explained, ties_sentence, with_score_sentences
from kubescheduler.comparison.differences import Judgement
from kubescheduler.comparison.outcomes import LOOSE, STRICT, Cause, HostChange, Outcome, PodComparison
from kubescheduler.comparison.running_pods import Absences
from kubescheduler.core.decision import Decision, went_on_without
from kubescheduler.engine.spec import Engine, PodScheduler, cache_for, place


class TiedNames(Sequence[str]):
    """Names by rows; equal to a tuple of them."""

    __slots__ = ("_names", "_rows")

    def __init__(self, names: Sequence[str], rows: IntArray) -> None:
        """names: row → node name. rows: (k,) in the order of the names."""
        self._names = names
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...

    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        if isinstance(at, slice):
            return tuple([self._names[row] for row in self._rows[at].tolist()])
        return self._names[int(self._rows[at])]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TiedNames | tuple) and self[:] == other[:]

    def __hash__(self) -> int:
        return hash(self[:])

    def __repr__(self) -> str:
        return repr(self[:])


LATEST = 8
"""Rows of so many pods are looked through for such as a pod has too."""


class TiedRows:
    """Gives the rows of one pod after the other, those of a pod just before, with or without the first, in the same
    memory."""

    def __init__(self) -> None:
        self._latest: deque[IntArray] = deque(maxlen=LATEST)

    def kept(self, rows: IntArray) -> IntArray:
        """The same rows. rows: (k,), which nobody changes."""
        for before in self._latest:
            if 0 <= len(before) - len(rows) <= 1 and bool((before[len(before) - len(rows) :] == rows).all()):
                rows = before[len(before) - len(rows) :]
                break
        self._latest.appendleft(rows)
        return rows


Progress = Callable[[int, int], None]
"""Called with (done, total)."""


@attrs.define
class Counted:
    """Reports progress one by one."""

    progress: Progress
    total: int
    done: int = 0

    def __attrs_post_init__(self) -> None:
        self.progress(0, self.total)

    def one_more(self) -> None:
        """Called after each of ``total``."""
        self.done += 1
        self.progress(self.done, self.total)


NOTHING_RUNS: Mapping[str, Pod] = {}


def no_progress(_: int, __: int) -> None:
    """Reports nothing."""


def _counted(keys: Sequence[str]) -> str:
    return keys[0] if len(keys) == 1 else f"{len(keys):,} pods, {keys[0]} among them"


def pods_to_compare(pods: Sequence[Pod], engines: Sequence[Engine]) -> tuple[list[Pod], tuple[str, ...]]:
    """The pods without those that are other schedulers' for every engine, and a note on these.

    Raises InputError where none is left: that nothing differs would be no answer.
    """
    why = [(pod.key, [engine.foreign(pod) for engine in engines]) for pod in pods]
    texts = [(key, found[-1] if all(found) else "") for key, found in why]
    return [pod for pod, (_, text) in zip(pods, texts, strict=True) if not text], _left_out(texts)


def tried_rows(found: Sequence[PodComparison], running: Collection[str] = ()) -> tuple[list[int], tuple[str, ...]]:
    """The rows of the pods that some scheduler tried, as gates do not hold them back everywhere, and a note on the
    others. running: ``namespace/name`` of pods that are there in any case.

    Raises InputError where none was tried.
    """
    held = [not any(outcome.tried for outcome in each.outcomes) for each in found]
    gone = [no and (all(held) or each.pod not in running) for each, no in zip(found, held, strict=True)]
    texts = [(each.pod, each.outcomes[-1].message if out else "") for each, out in zip(found, gone, strict=True)]
    return [at for at, out in enumerate(gone) if not out], _left_out(texts)


def _left_out(texts: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Notes on pods that are left out. texts: (namespace/name, why; empty: it is not). Raises InputError for all."""
    every = list(texts)
    notes = left_out_notes((key, text) for key, text in every if text)
    if all(text for _, text in every):
        raise InputError(["there is no pod to compare", *notes])
    return tuple(notes)


def left_out_notes(texts: Iterable[tuple[str, str]]) -> list[str]:
    """A note for each reason why pods are left out. texts: (namespace/name, why)."""
    others: dict[str, list[str]] = {}
    for key, text in texts:
        others.setdefault(text, []).append(key)
    return [f"left out: {_counted(keys)}, which no scheduler here tries: {text}" for text, keys in others.items()]


class TrackedDecision(msgspec.Struct, frozen=True, eq=False):
    """A decision, and whom preemption takes from which node; it may already have."""

    decision: Decision
    victims: tuple[Pod, ...] = ()
    node: str | None = None

    @property
    def room(self) -> VictimChoice:
        """What makes room for the pod."""
        return VictimChoice(self.node, frozenset(pod.key for pod in self.victims))


@attrs.define(eq=False)
class Track:
    """An engine over its own copy of the cluster."""

    scheduler: PodScheduler
    preempts: bool
    moves: bool
    """Whether pods are placed, and victims leave, as the engine decides."""
    evicted: list[Pod] = attrs.field(factory=list)
    """The pods that made room."""
    preemptions: int = 0
    """How many pods took the place of others."""
    running: Mapping[str, Pod] = NOTHING_RUNS
    """``namespace/name`` → the pod as it runs, of those that are to be taken out before they are decided on."""
    rows: TiedRows = attrs.field(factory=TiedRows, init=False)
    absences: Absences = attrs.field(init=False)

    @absences.default
    def _absences(self) -> Absences:
        return Absences(self.scheduler.cache, self.running)

    @classmethod
    def of(
        cls,
        engine: Engine,
        objects: Iterable[ClusterObject],
        *,
        preempts: bool,
        moves: bool,
        running: Mapping[str, Pod] = NOTHING_RUNS,
    ) -> Track:
        """A track over a cluster of these objects, read as the engine's release reads them."""
        scheduler = engine.scheduler(cache_for(engine, objects))
        return cls(scheduler, preempts, moves, running=running)

    def take_out(self, pod: Pod) -> bool:
        """Takes the pod out if it runs; whether it did."""
        return self.absences.begin(pod)

    def settle(self, pod: Pod, host: str | None, *, was_out: bool) -> None:
        """After the decision: places the pod if its cluster moves, else puts back one that was taken out."""
        if self.moves:
            self.place(pod, host)
        elif was_out:
            self.absences.end(pod)

    def decide(self, pod: Pod) -> TrackedDecision:
        """A decision. A pod that preempts takes the place of the victims at once, if its cluster moves."""
        found = self._found(pod)
        if self.moves and found.node is not None:
            self.preemptions += 1
            self.evict(found.victims)
            return msgspec.structs.replace(found, decision=self._next(pod, preempt=False))
        return found

    def run(self, pod: Pod) -> Decision:
        """Decides on a pod as the next one, and leaves it where it then is."""
        out = self.take_out(pod)
        decision = self.decide(pod).decision
        self.settle(pod, decision.host, was_out=out)
        return decision

    def _found(self, pod: Pod) -> TrackedDecision:
        decision = self._next(pod, preempt=self.preempts)
        if decision.host is not None or decision.preemption is None or not decision.preemption.chosen:
            return TrackedDecision(decision)
        node = decision.preemption.chosen[0]
        return TrackedDecision(decision, decision.preemption.candidates[node].pods, node)

    def decided(self, pod: Pod, *, preempt: bool) -> Decision:
        """A decision that changes nothing."""
        return self.scheduler.decide(pod, preempt=preempt)

    def _next(self, pod: Pod, *, preempt: bool) -> Decision:
        """A decision on the next of the pods that are placed one after the other, if they are."""
        return self.scheduler.decide(pod, preempt=preempt, in_sequence=self.moves)

    def evict(self, victims: Iterable[Pod]) -> None:
        """Takes pods away."""
        cache = self.scheduler.cache
        for victim in victims:
            self.evicted.append(victim)
            if cache.is_assumed(victim):
                cache.forget_pod(victim)
            else:
                cache.remove_pod(victim)

    def place(self, pod: Pod, host: str | None) -> None:
        """Puts a pod on its host, if it has one; the next decision sees it there."""
        if host is not None:
            place(self.scheduler, pod, host)


class Lane(msgspec.Struct, frozen=True, eq=False):
    """A new engine's track; in a sequence also the old engine's on the new one's cluster."""

    track: Track
    shadow: Track | None = None


class Run:
    """All pods through all engines.

    results: what was found, in the pods' order. hosts: per column the host of every pod. evicted: per column the pods
    that had to leave.
    """

    def __init__(
        self,
        objects: Sequence[ClusterObject],
        engines: Sequence[Engine],
        *,
        sequence: bool,
        preempts: bool,
        evidence: bool = False,
        running: Mapping[str, Pod] = NOTHING_RUNS,
        ties: str = LOOSE,
        explains: bool = True,
    ) -> None:
        """evidence: also what the scores of pods that go elsewhere were made of. running: see ``Track``. ties: one of
        ``TIES``. explains: otherwise pods are decided, and no change is found."""

        def track(at: int) -> Track:
            return Track.of(engines[at], objects, preempts=preempts, moves=sequence, running=running)

        self._old = track(0)
        self._lanes = [Lane(track(at), track(0) if sequence else None) for at in range(1, len(engines))]
        self._apart = [False] * len(self._lanes)
        self._sequence = sequence
        self._evidence = evidence
        self._strict = ties == STRICT
        self._explains = explains
        self.hosts: list[list[str | None]] = [[] for _ in engines]
        self.evicted: list[list[Pod]] = [[] for _ in engines]

    def pods(self, pods: Sequence[Pod], done: Callable[[], None]) -> tuple[PodComparison, ...]:
        """Decides and explains every pod. done: called after each."""
        results = []
        for pod in pods:
            results.append(self._pod(pod))
            done()
        return tuple(results)

    def _pod(self, pod: Pod) -> PodComparison:
        shadows = [lane.shadow for lane in self._lanes if lane.shadow is not None]
        out = [track.take_out(pod) for track in (*self._tracks(), *shadows)]
        founds = [self._old.decide(pod), *(lane.track.decide(pod) for lane in self._lanes)]
        news = founds[1:] if self._explains else ()
        changes = [self._change(pod, at, founds[0], found) for at, found in enumerate(news)]
        outcomes = []
        for at, (track, found) in enumerate(zip(self._tracks(), founds, strict=True)):
            host = found.decision.host
            outcomes.append(self._outcome(track, found))
            self.hosts[at].append(host)
            if self._sequence and pod.key in track.running and not out[at]:  # it was evicted, and comes back now
                self.evicted[at] = [victim for victim in self.evicted[at] if victim.key != pod.key]
            self.evicted[at] += found.victims
            track.settle(pod, host, was_out=out[at])
        for shadow, found in zip(shadows, founds[1:], strict=False):
            shadow.settle(pod, found.decision.host, was_out=True)
        runs = self._old.running.get(pod.key)
        changes = [self._by_ties(change, outcomes[0], new) for change, new in zip(changes, outcomes[1:], strict=False)]
        return PodComparison(pod.key, tuple(outcomes), tuple(changes), runs_on=None if runs is None else runs.node_name)

    def _by_ties(self, change: HostChange, old: Outcome, new: Outcome) -> HostChange:
        """The change with what the nodes that tie say about it."""
        if change.cause is Cause.COULD_HAVE_BEEN and [*old.tied] == [*new.tied]:
            return HostChange(Cause.SAME)
        if not self._strict or change.cause is not Cause.SAME or new.host is None or [*old.tied] == [*new.tied]:
            return change
        return HostChange(Cause.DIFFERENT_TIES, ties_sentence(old.tied, new.tied))

    def _tracks(self) -> list[Track]:
        return [self._old, *(lane.track for lane in self._lanes)]

    def _change(self, pod: Pod, at: int, before: TrackedDecision, after: TrackedDecision) -> HostChange:
        lane = self._lanes[at]
        old, new = Judgement(self._old.scheduler, before.decision), Judgement(lane.track.scheduler, after.decision)
        change = self._explained(pod, at, before, after, old, new)
        return with_score_sentences(change, old, new) if self._evidence else change

    def _explained(
        self, pod: Pod, at: int, before: TrackedDecision, after: TrackedDecision, old: Judgement, new: Judgement
    ) -> HostChange:
        lane = self._lanes[at]
        room = before.room, after.room
        if lane.shadow is None:
            return explained(old, new, room=room)
        lane.shadow.evict(after.victims)
        victims = [{pod.key for pod in found.victims} for found in (before, after)]
        self._apart[at] |= victims[0] != victims[1]
        moved = before.decision.host != after.decision.host
        shadow = None
        if self._apart[at] and (moved or after.decision.host is None):
            shadow = Judgement(lane.shadow.scheduler, lane.shadow.decided(pod, preempt=False))
        self._apart[at] |= moved
        return explained(old, new, shadow, room)

    def _outcome(self, track: Track, found: TrackedDecision) -> Outcome:
        decision = found.decision
        totals, feasible, host = decision.totals, decision.feasible, decision.host
        total: int | None = None
        names: Sequence[str] = () if host is None else (host,)
        if host is not None and len(totals):
            best = int(totals.max())
            row = decision.names.index(host)
            total = int(totals[np.flatnonzero(feasible == row)[0]])
            if total == best:
                names = self._names(track, decision, feasible[totals == best])
        notes = decision.notes if host is None or decision.from_kept_ranking else ()
        evicts = tuple(pod.key for pod in found.victims)
        notes = (*notes, *went_on_without(decision, True))
        return Outcome.of(decision, tied=names, total=total, notes=notes, evicts=evicts, evicts_from=found.node)

    def _names(self, track: Track, decision: Decision, rows: IntArray) -> Sequence[str]:
        """Sorted names; many pods have the same ties, of which the rows are kept once."""
        if int(rows.max()) >= len(track.scheduler.cache.columns):
            return tuple(sorted((decision.names[row] for row in rows.tolist()), key=str.encode))
        ranks = track.scheduler.cache.columns.ranks
        return TiedNames(decision.names, track.rows.kept(rows[ranks[rows].argsort()]))
