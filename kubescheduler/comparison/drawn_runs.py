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

from clusterstate.cache import ClusterCache
from clusterstate.errors import nearest
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.comparison.outcomes import Cause, DrawnRun, HostChange, MoveShare, PodComparison
from kubescheduler.comparison.tracks import NOTHING_RUNS, Track
from kubescheduler.core.decision import Decision, failures
from kubescheduler.core.placing_in_order import placed_in_order
from kubescheduler.engine.engine_contract import Engine, cache_for
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
        parts = placed_in_order(track.scheduler, pods, partial(self._decision, track)) if bulk else None
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
