"""Two or more configured schedulers on the same cluster and pods: who goes elsewhere, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import attrs

from algorithmprovider.registry import nearest
from clusterstate.errors import ConfigError, InputError
from clusterstate.objects import ClusterObject, Pod
from clusterstate.release_names import RELEASE_NAMES
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.effects import Effects, NodeUse, ServiceSpread, Utilisation, effects
from kubescheduler.comparison.outcomes import (
    INDEPENDENT,
    MEANINGS,
    MODES,
    SEQUENCE,
    Cause,
    Contribution,
    HostChange,
    Outcome,
    PodComparison,
    Step,
)
from kubescheduler.comparison.pod_controllers import workloads_of
from kubescheduler.comparison.tracks import Run
from kubescheduler.engine.engines import Engine
from kubescheduler.engine.spec import EngineSpec, no_notice

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
    progress: Callable[[int, int], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> Comparison:
    """Decides every pod by every configuration, and explains each that goes elsewhere.

    names: of the columns, the old one first; by default the releases, made unique. engines: of the configurations, in
    the same order, if they are made already. preempt: a pod that fits nowhere
    takes the place of lower ones: in a sequence they leave at once and it is decided anew, else they are only named.
    progress: called with (done, total). notice: called with what may be unexpected about a configuration.
    Raises ConfigError with every fault of every configuration.
    """
    specs = [old, *news]
    problems: list[str] = []
    if not news:
        problems.append("there is nothing to compare with: give one new configuration or more")
    if mode not in MODES:
        problems.append(f"mode {mode} is not known; known are {', '.join(MODES)}{nearest(mode, MODES)}")
    columns = tuple(names or column_names(specs))
    if len(set(columns)) != len(specs):
        problems.append(f"{len(specs)} configurations need as many different names, found {', '.join(columns)}")
    if engines is None:
        engines = _engines(specs, columns, problems, notice or no_notice)
    if problems:
        raise ConfigError(problems)
    cluster = list(objects)
    run = Run(cluster, specs, engines, sequence=mode == SEQUENCE, preempts=preempt)
    owners = workloads_of(pods, cluster)
    results = tuple(
        attrs.evolve(found, workload=owner) for found, owner in zip(run.pods(pods, progress), owners, strict=True)
    )
    view = max(specs, key=lambda spec: RELEASE_NAMES.index(spec.release)).release_view()
    return Comparison(
        names=columns,
        releases=tuple(spec.release for spec in specs),
        mode=mode,
        pods=results,
        effects=tuple(
            effects(cluster, pods, hosts, evicted, view, leave=mode == SEQUENCE)
            for hosts, evicted in zip(run.hosts, run.evicted, strict=True)
        ),
        before=effects(cluster, (), (), (), view, leave=False),
        notes=tuple(
            f"{name}: {note}"
            for name, spec, engine in zip(columns, specs, engines, strict=True)
            if (note := spec.extender_note(engine))
        ),
    )


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
    if len(set(names)) < len(names):
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
