"""Whole runs that draw among equal totals as each release itself does, one for every seed: how often a pod moves.

The comparison itself takes the first of equal nodes by name, so that it can be explained and repeated. Here all
schedulers draw: 1.16 and 1.20 with equal chance, 1.36 by the root of its heap; 1.4 takes turns. In a run all draw by
the same seed, so schedulers that are the same never differ.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import attrs
import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import nearest
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.comparison.cause_sentences import NO_VICTIMS, VictimChoice
from kubescheduler.comparison.causes import explained
from kubescheduler.comparison.contributions import Judgement
from kubescheduler.comparison.outcomes import Cause, DrawnRun, HostChange, MoveShare, Outcome, PodComparison
from kubescheduler.comparison.tracks import NOTHING_RUNS, Track
from kubescheduler.core.decision import Decision, failures
from kubescheduler.core.equal_runs import placed_in_order
from kubescheduler.engine.engine_contract import Engine, PodScheduler, cache_for
from kubescheduler.sources.limits import exceeded, limit

FIRST, UPSTREAM = "first", "upstream"
TIE_BREAKS = (FIRST, UPSTREAM)
"""The first of equal nodes by name alone; or besides it runs that draw as the releases do."""
DEFAULT_SEEDS = 10
"""Runs where nobody says how many."""


def faults_of_seeds(tie_break: str, seeds: int | None) -> Iterator[str]:
    """What is wrong with how ties are broken and how often; each in one sentence."""
    if tie_break not in TIE_BREAKS:
        known = f"{', '.join(TIE_BREAKS)}{nearest(tie_break, TIE_BREAKS)}"
        yield f"tie_break: {tie_break!r} is not known; known are {known}"
    elif seeds is not None and tie_break != UPSTREAM:
        yield f"seeds: {seeds} are given, but nothing is drawn; give the tie-break {UPSTREAM} too"
    elif seeds is not None and seeds < 1:
        yield f"seeds: {seeds} is no number of runs; give 1 or more"
    elif seeds is not None and seeds > limit("seeds"):
        yield f"seeds: {seeds} are {exceeded('seeds')}"


def runs_to_draw(tie_break: str, seeds: int | None) -> int:
    """How many runs; 0: none. What is given has no faults."""
    return 0 if tie_break == FIRST else seeds or DEFAULT_SEEDS


class DrawnAnswer(msgspec.Struct, frozen=True):
    """Where one scheduler puts a pod in one run."""

    host: str | None
    error: str = ""
    """Why it is no answer; empty for one."""


@attrs.define(eq=False)
class Drawing:
    """Schedulers, and what they decide in every run."""

    objects: Sequence[ClusterObject]
    engines: Sequence[Engine]
    sequence: bool
    preempts: bool
    running: Mapping[str, Pod] = NOTHING_RUNS
    _caches: list[ClusterCache] = attrs.field(factory=list)
    """By engine; kept for the next run unless a run changes them."""

    def answers(self, pods: Sequence[Pod], seed: int) -> Iterator[tuple[DrawnAnswer, ...]]:
        """By pod the answer of every scheduler. All draw by the same seed."""
        if self.sequence or not self._caches:
            self._caches = [cache_for(engine, self.objects) for engine in self.engines]
        tracks = [
            Track(
                engine.scheduler(cache, engine.upstream_tie(random.Random(seed))),
                self.preempts,
                self.sequence,
                running=self.running,
            )
            for engine, cache in zip(self.engines, self._caches, strict=True)
        ]
        yield from zip(*(self._answers(track, pods) for track in tracks), strict=True)

    def _answers(self, track: Track, pods: Sequence[Pod]) -> Iterator[DrawnAnswer]:
        """Of one scheduler on every pod; in a sequence pods that are alike are placed in bulk."""
        bulk = self.sequence and not self.running
        parts = placed_in_order(track.scheduler.place_run, pods, partial(self._decision, track)) if bulk else None
        for part in map(partial(self._decision, track), pods) if parts is None else parts:
            if isinstance(part, Decision):
                yield DrawnAnswer(part.host, next(failures(part), ""))
            else:
                yield from map(DrawnAnswer, part.hosts)

    def _decision(self, track: Track, pod: Pod) -> Decision:
        out = track.take_out(pod)
        decision = track.decide(pod).decision
        track.settle(pod, decision.host, was_out=out)
        return decision


@attrs.define(eq=False)
class DrawnCounts:
    """What runs came to, so far: by pod and new column how often the pod moves, and the first error."""

    moved: list[list[int]]
    errors: dict[tuple[int, int], str] = attrs.field(factory=dict)
    runs: list[DrawnRun] = attrs.field(factory=list)

    def add(self, seed: int, answers: Iterator[tuple[DrawnAnswer, ...]], done: Callable[[], None]) -> None:
        """One run. done: called after every pod."""
        totals = [0] * len(self.moved[0]) if self.moved else []
        for pod, (old, *news) in enumerate(answers):
            for column, new in enumerate(news):
                moves = old.host != new.host
                self.moved[pod][column] += moves
                totals[column] += moves
                for side, answer in (("old", old), ("new", new)):
                    if answer.error:
                        text = f"with seed {seed} the {side} scheduler {answer.error}"
                        self.errors.setdefault((pod, column), text)
            done()
        self.runs.append(DrawnRun(seed, tuple(totals)))

    def noted(self, at: int, pod: PodComparison) -> PodComparison:
        """The pod's comparison with the share of runs in which it moves; a run that gave no answer is an error."""
        changes = [self._noted((at, column), change) for column, change in enumerate(pod.changes)]
        return attrs.evolve(pod, changes=tuple(changes))

    def _noted(self, place: tuple[int, int], change: HostChange) -> HostChange:
        if change.cause is Cause.ERROR:
            return change
        if place in self.errors:
            return HostChange(Cause.ERROR, self.errors[place])
        return msgspec.structs.replace(change, moves=MoveShare(self.moved[place[0]][place[1]], len(self.runs)))


def drawn(
    drawing: Drawing, pods: Sequence[Pod], found: Sequence[PodComparison], runs: int, done: Callable[[], None]
) -> tuple[tuple[PodComparison, ...], tuple[DrawnRun, ...]]:
    """The pods' comparisons with shares of moves, and every run. done: called after every pod of every run."""
    if not runs:
        return tuple(found), ()
    counts = DrawnCounts([[0] * len(pod.changes) for pod in found])
    for seed in range(runs):
        counts.add(seed, drawing.answers(pods, seed), done)
    return tuple(counts.noted(at, pod) for at, pod in enumerate(found)), tuple(counts.runs)


def drawn_notes(names: Sequence[str], runs: Sequence[DrawnRun], pods: Sequence[PodComparison]) -> Iterator[str]:
    """By new column what the runs came to; nothing without runs. names: of the columns, the old one first."""
    if runs:
        yield from (f"{name}: {drawn_note(runs, pods, at)}" for at, name in enumerate(names[1:]))


def drawn_note(runs: Sequence[DrawnRun], pods: Sequence[PodComparison], column: int) -> str:
    """``in 10 runs with upstream's ties 3 to 9 (5.4 on average) of 20 pods go elsewhere, 2 in every run``."""
    moved = [run.moved[column] for run in runs]
    always = sum(moves.moved == moves.runs for pod in pods if (moves := pod.changes[column].moves) is not None)
    low, high = min(moved), max(moved)
    reach = f"{low:,}" if low == high else f"{low:,} to {high:,} ({sum(moved) / len(runs):.1f} on average)"
    many = "1 run" if len(runs) == 1 else f"{len(runs):,} runs"
    return f"in {many} with upstream's ties {reach} of {len(pods):,} pods go elsewhere, {always:,} in every run"


UNEXPLAINED = (
    "the configuration given for the real scheduler {does} here: it saw another cluster, looked at fewer nodes, or is "
    "configured otherwise"
)


Rooms = Mapping[str, Sequence[Pod]]
"""Node → whom a scheduler may evict there for a pod."""


class RealComparison(msgspec.Struct, frozen=True, eq=False):
    """A pod of the real scheduler, compared."""

    pod: PodComparison
    rooms: Rooms
    """Of this configuration: node → whom it may evict there for the pod; it takes any of these nodes."""


class RealChoices(msgspec.Struct, frozen=True, eq=False):
    """Compares over two caches that are the cluster right before the real scheduler's choice is seen."""

    model: PodScheduler
    """Decides as the real scheduler is said to."""
    ours: PodScheduler
    """The configuration that is tried."""
    preempts: bool = True
    """Whether it makes room for pods that fit nowhere."""

    def compared(self, pod: Pod, node: str | None, first: str | None, message: str = "") -> RealComparison:
        """A pod that the real scheduler bound to ``node``, or nowhere.

        first: where this configuration put it when it appeared; the same node then is the same, whatever has happened
        since. message: what the real scheduler said.
        """
        decision = self.ours.decide(pod, preempt=self.preempts)
        tied = _tied(decision)
        change = self._change(pod, node, decision, tied)
        if node is not None and first == node:
            decision, change = attrs.evolve(decision, host=node), HostChange(Cause.SAME)
        real = Outcome(host=node, nodes=decision.nodes_total, message=message)
        rooms = rooms_of(decision)
        room = choice_of(rooms)
        ours = Outcome(
            host=decision.host,
            tied=tied,
            total=int(decision.totals.max()) if tied and len(decision.totals) else None,
            fits=len(decision.feasible),
            nodes=decision.nodes_total,
            message=decision.message,
            notes=() if decision.host is not None else decision.notes,
            error=decision.error is not None and decision.tried,
            evicts=tuple(sorted(room.victims)),
            evicts_from=room.node,
        )
        return RealComparison(PodComparison(pod.key, (real, ours), (change,)), rooms)

    def _change(self, pod: Pod, node: str | None, decision: Decision, tied: tuple[str, ...]) -> HostChange:
        if decision.host == node:
            return HostChange(Cause.SAME)
        if node in tied:
            text = f"{node} is one of the {len(tied)} nodes with the highest total, of which a scheduler takes any"
            return HostChange(Cause.COULD_HAVE_BEEN, text)
        ours, model = Judgement(self.ours, decision), self.model.decide(pod)
        if model.error is None and (model.host == node or node in _tied(model)):
            return explained(Judgement(self.model, attrs.evolve(model, host=node)), ours)
        return self._unexplained(node, ours, model)

    def _unexplained(self, node: str | None, ours: Judgement, model: Decision) -> HostChange:
        """What this configuration says of the real scheduler's node, as nobody knows what that one says of it."""
        does = UNEXPLAINED.format(does="finds no node" if model.host is None else f"takes {model.host}")
        if node is None:
            return HostChange(Cause.EARLIER_CHOICES, f"the real scheduler found no node, and {does}")
        change = explained(Judgement(ours.scheduler, attrs.evolve(ours.decision, host=node)), ours)
        if change.cause in (Cause.ERROR, Cause.FILTERED_NOW, Cause.NOT_TRIED):
            return change
        ahead = f"{ours.decision.host} is ahead of {node} by {change.new_difference}, and {does}"
        return msgspec.structs.replace(change, cause=Cause.EARLIER_CHOICES, text=ahead, steps=())


def rooms_of(decision: Decision) -> Rooms:
    """The nodes that preemption may make room on, by name, each with whom it would evict; none for a pod that fits."""
    found = decision.preemption
    if decision.host is not None or found is None:
        return {}
    return {node: found.candidates[node].pods for node in found.chosen}


def choice_of(rooms: Rooms, node: str = "") -> VictimChoice:
    """What may be evicted on a node, if it is one of those that may be taken; else on the first of them."""
    taken = node if node in rooms else next(iter(rooms), None)
    return NO_VICTIMS if taken is None else VictimChoice(taken, frozenset(pod.key for pod in rooms[taken]))


def _tied(decision: Decision) -> tuple[str, ...]:
    """The nodes with the highest total, sorted by name; the chosen one where nothing was scored."""
    if decision.host is None or not len(decision.totals):
        return () if decision.host is None else (decision.host,)
    best = decision.feasible[np.flatnonzero(decision.totals == decision.totals.max())]
    return tuple(sorted((decision.names[row] for row in best.tolist()), key=str.encode))
