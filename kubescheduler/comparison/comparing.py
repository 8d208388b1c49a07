"""Two or more configured schedulers on the same cluster and pods: who goes elsewhere, and why.

The comparison itself takes the first of equal nodes by name, so that it can be explained and repeated. Beside it come
whole runs in which all schedulers draw among equal totals as each release does, for how often a pod moves: 1.16 and
1.20 with equal chance, 1.36 by the root of its heap; 1.4 takes turns. In a run all draw by the same seed, so schedulers
that are the same never differ.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError, attempt_at, nearest
from clusterstate.objects import ClusterObject, Pod
from clusterstate.selectors.pod_owners import workloads_of
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.effects import effects
from kubescheduler.comparison.outcomes import (
    INDEPENDENT,
    LOOSE,
    MODES,
    SEQUENCE,
    TIES,
    Cause,
    DrawnRun,
    HostChange,
    MoveShare,
    PodComparison,
)
from kubescheduler.comparison.running_pods import taken_out, taken_out_notes
from kubescheduler.comparison.tracks import NOTHING_RUNS, Counted, Run, Track, no_progress, pods_to_compare, tried_rows
from kubescheduler.core.decision import Decision, failures
from kubescheduler.core.equal_runs import placed_in_order
from kubescheduler.engine.spec import Engine, EngineSpec, cache_for, no_notice
from kubescheduler.releases.names import place
from kubescheduler.sources.untrusted import exceeded, limit

FIRST, UPSTREAM = "first", "upstream"
TIE_BREAKS = (FIRST, UPSTREAM)
"""The first of equal nodes by name alone; or besides it runs that draw as the releases do."""
DEFAULT_SEEDS = 10
"""Runs where nobody says how many."""


def compare(  # noqa: PLR0913
    objects: Iterable[ClusterObject],
    pods: Sequence[Pod],
    old: EngineSpec,
    news: Sequence[EngineSpec],
    *,
    mode: str = INDEPENDENT,
    names: Sequence[str] | None = None,
    engines: Sequence[Engine] | None = None,
    preempt: bool = False,
    tie_break: str = FIRST,
    seeds: int | None = None,
    ties: str = LOOSE,
    evidence: bool = False,
    progress: Callable[[int, int], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> Comparison:
    """Decides every pod by every configuration, and explains each that goes elsewhere.

    A pod that runs, among the objects under its name or as it is given, is taken out of the cluster and decided anew;
    then it is put back, or, in a sequence, where it goes.
    names: of the columns, the old one first; by default the releases, made unique. engines: of the configurations, in
    the same order, if they are made already. preempt: a pod that fits nowhere takes the place of lower ones: in a
    sequence they leave at once and it is decided anew, else they are only named. tie_break: ``first`` by name;
    ``upstream``: besides that, so many runs as ``seeds`` (by default 10) in which all draw among equal totals as their
    releases do, for the share of runs in which each pod goes elsewhere. ties: ``strict``: a pod with the same node by
    name is the same only if the same nodes have the highest total; else ``loose``. evidence: also what the scores of
    pods that go elsewhere were made of, which takes about half as long as comparing them.
    progress: called with (done, total). notice: called with what may be unexpected about a configuration.
    Raises ConfigError with every fault of every configuration, InputError where there is no pod that one of them tries.
    """
    specs = [old, *news]
    columns = tuple(names or column_names(specs))
    titles = columns if names else column_titles(specs)
    problems = [*_faults(specs, mode, columns), *faults_of_ties(ties), *faults_of_seeds(tie_break, seeds)]
    if engines is None:
        engines = _engines(specs, columns, problems, notice or no_notice)
    if problems:
        raise ConfigError(problems)
    pods, left_out = pods_to_compare(pods, engines)
    asked = taken_out(objects, pods)
    cluster, pods, running = asked.objects, asked.pods, asked.running
    runs = 0 if tie_break == FIRST else seeds or DEFAULT_SEEDS
    count = Counted(progress or no_progress, len(pods) * (1 + runs))
    how: dict[str, Any] = {"sequence": mode == SEQUENCE, "preempts": preempt, "running": running}
    run = Run(cluster, engines, evidence=evidence, ties=ties, **how)
    compared = run.pods(pods, count.one_more)
    rows, held = tried_rows(compared, running)
    pods, compared = [pods[at] for at in rows], tuple(compared[at] for at in rows)
    owners = zip(compared, workloads_of(pods, cluster), strict=True)
    owned = tuple(attrs.evolve(found, workload=workload) for found, workload in owners)
    results, draws = drawn(Drawing(cluster, engines, **how), pods, owned, runs, count.one_more)
    others, there = asked.without, [pod.node_name for pod in running.values()]
    view = max(specs, key=lambda spec: place(spec.release)).release_view()
    return Comparison(
        names=columns,
        titles=titles,
        releases=tuple(spec.release for spec in specs),
        mode=mode,
        pods=results,
        effects=tuple(
            effects(others, pods, [hosts[at] for at in rows], evicted, view, leave=mode == SEQUENCE)
            for hosts, evicted in zip(run.hosts, run.evicted, strict=True)
        ),
        before=effects(others, list(running.values()), there, (), view, leave=False),
        notes=(
            *left_out,
            *held,
            *taken_out_notes(running),
            *extender_notes(columns, specs, engines),
            *drawn_notes(columns, draws, results),
            *notes_of_refusals(results),
        ),
        runs=draws,
    )


def notes_of_refusals(results: Iterable[PodComparison]) -> Iterable[str]:
    """What readers of the reasons do not see in them, each once."""
    return dict.fromkeys(note for pod in results for outcome in pod.outcomes for note in outcome.notes)


def _faults(specs: Sequence[EngineSpec], mode: str, columns: Sequence[str]) -> Iterator[str]:
    if len(specs) < 2:
        yield "there is nothing to compare with: give one new configuration or more"
    if mode not in MODES:
        yield f"mode {mode} is not known; known are {', '.join(MODES)}{nearest(str(mode), MODES)}"
    if len(set(columns)) != len(specs):
        yield f"{len(specs)} configurations need as many different names, found {', '.join(columns)}"


def faults_of_ties(ties: str) -> Iterator[str]:
    """What is wrong with a word for when ties are the same."""
    if ties not in TIES:
        yield f"ties: {ties!r} is not known; known are {', '.join(TIES)}{nearest(str(ties), TIES)}"


def extender_notes(names: Sequence[str], specs: Sequence[EngineSpec], engines: Sequence[Engine]) -> Iterator[str]:
    """What a reader has to know of the extenders of each column."""
    for name, spec, engine in zip(names, specs, engines, strict=True):
        if note := spec.extender_note(engine):
            yield f"{name}: {note}"


def _engines(
    specs: Sequence[EngineSpec], names: Sequence[str], problems: list[str], notice: Callable[[str], None]
) -> list[Engine]:
    pairs = zip(specs, names, strict=False)
    return [made for spec, name in pairs if (made := attempt_at(name, problems, spec.engine, notice))]


def column_names(specs: Sequence[EngineSpec]) -> tuple[str, ...]:
    """The releases, with whatever else the configurations differ by, and numbers where they do not."""
    names: list[str] = [spec.release for spec in specs]
    return column_titles(specs) if len(set(names)) < len(names) else tuple(names)


def column_titles(specs: Sequence[EngineSpec]) -> tuple[str, ...]:
    """The releases with what configures them, for people, and numbers where that does not tell them apart."""
    names = [" ".join((spec.release, *_said(spec))) for spec in specs]
    counts = Counter(names)
    seen: Counter[str] = Counter()
    for at, name in enumerate(names):
        seen[name] += 1
        if counts[name] > 1:
            names[at] = f"{name} #{seen[name]}"
    return tuple(names)


def _said(spec: EngineSpec) -> list[str]:
    return [*([spec.provider] if spec.provider else []), *(Path(file).name for file in spec.files.values())]


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


# --- runs that draw ------------------------------------------------------------------------


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
        for part in placed_in_order(track.scheduler.place_run, pods, track.run) if bulk else map(track.run, pods):
            if isinstance(part, Decision):
                yield DrawnAnswer(part.host, next(failures(part), ""))
            else:
                yield from map(DrawnAnswer, part.hosts)


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
