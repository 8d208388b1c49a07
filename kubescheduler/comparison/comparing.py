"""Two or more configured schedulers on the same cluster and pods: who goes elsewhere, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from clusterstate.errors import ConfigError, InputError, nearest
from clusterstate.objects import ClusterObject, Pod
from clusterstate.workloads import workloads_of
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.drawn_runs import FIRST, Drawing, drawn, drawn_notes, faults_of_seeds, runs_to_draw
from kubescheduler.comparison.effects import Effects, NodeUse, ServiceSpread, Utilisation, effects
from kubescheduler.comparison.outcomes import (
    INDEPENDENT,
    LOOSE,
    MEANINGS,
    MODES,
    SEQUENCE,
    TIES,
    Cause,
    Contribution,
    HostChange,
    Outcome,
    PodComparison,
    Step,
)
from kubescheduler.comparison.running_pods import taken_out, taken_out_notes
from kubescheduler.comparison.tracks import Counted, Run, no_progress
from kubescheduler.engine.engine_contract import Engine
from kubescheduler.engine.spec import EngineSpec, no_notice
from kubescheduler.releases.names import place

__all__ = [
    "INDEPENDENT",
    "MEANINGS",
    "MODES",
    "SEQUENCE",
    "Cause",
    "Comparison",
    "Contribution",
    "Effects",
    "HostChange",
    "NodeUse",
    "Outcome",
    "PodComparison",
    "ServiceSpread",
    "Step",
    "Utilisation",
    "column_names",
    "compare",
]


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
    Raises ConfigError with every fault of every configuration.
    """
    specs = [old, *news]
    columns = tuple(names or column_names(specs))
    titles = columns if names else column_titles(specs)
    problems = [*_faults(specs, mode, columns), *faults_of_ties(ties), *faults_of_seeds(tie_break, seeds)]
    if engines is None:
        engines = _engines(specs, columns, problems, notice or no_notice)
    if problems:
        raise ConfigError(problems)
    asked = taken_out(objects, pods)
    cluster, pods, running = asked.objects, asked.pods, asked.running
    runs = runs_to_draw(tie_break, seeds)
    count = Counted(progress or no_progress, len(pods) * (1 + runs))
    how: dict[str, Any] = {"sequence": mode == SEQUENCE, "preempts": preempt, "running": running}
    run = Run(cluster, engines, evidence=evidence, ties=ties, **how)
    compared = run.pods(pods, count.one_more)
    owned = tuple(map(_owned, compared, workloads_of(pods, cluster)))
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
            effects(others, pods, hosts, evicted, view, leave=mode == SEQUENCE)
            for hosts, evicted in zip(run.hosts, run.evicted, strict=True)
        ),
        before=effects(others, list(running.values()), there, (), view, leave=False),
        notes=(
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


def _owned(found: PodComparison, workload: str) -> PodComparison:
    return attrs.evolve(found, workload=workload)


def extender_notes(names: Sequence[str], specs: Sequence[EngineSpec], engines: Sequence[Engine]) -> Iterator[str]:
    """What a reader has to know of the extenders of each column."""
    for name, spec, engine in zip(names, specs, engines, strict=True):
        if note := spec.extender_note(engine):
            yield f"{name}: {note}"


def _engines(
    specs: Sequence[EngineSpec], names: Sequence[str], problems: list[str], notice: Callable[[str], None]
) -> list[Engine]:
    engines: list[Engine] = []
    for spec, name in zip(specs, names, strict=False):
        try:
            engines.append(spec.engine(notice))
        except InputError as error:
            problems += (f"{name}: {problem}" for problem in error.problems)
    return engines


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
    files = (spec.policy_file, spec.policy_configmap, spec.config_file)
    return [spec.provider or "", *(Path(file).name for file in files if file)][0 if spec.provider else 1 :]
