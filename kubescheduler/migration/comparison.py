"""Two or more configured schedulers on the same cluster and pods: who goes elsewhere, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from clusterstate.objects import ClusterObject, Pod
from kubescheduler.config.spec import EngineSpec
from kubescheduler.migration.effects import Effects, NodeUse, ServiceSpread, Utilisation
from kubescheduler.migration.outcomes import (
    INDEPENDENT,
    MEANINGS,
    MODES,
    SEQUENCE,
    Cause,
    Change,
    Comparison,
    Contribution,
    Outcome,
    PodComparison,
    Step,
)

__all__ = [
    "INDEPENDENT",
    "MEANINGS",
    "MODES",
    "SEQUENCE",
    "Cause",
    "Change",
    "Comparison",
    "Contribution",
    "Effects",
    "NodeUse",
    "Outcome",
    "PodComparison",
    "ServiceSpread",
    "Step",
    "Utilisation",
    "compare",
]

Progress = Callable[[int, int], None]
"""Told (done, total)."""


def compare(
    objects: Iterable[ClusterObject],
    pods: Sequence[Pod],
    old: EngineSpec,
    news: Sequence[EngineSpec],
    *,
    mode: str = INDEPENDENT,
    names: Sequence[str] | None = None,
    preempt: bool = False,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
) -> Comparison:
    """Decides every pod by every configuration, and explains each that goes elsewhere.

    names: of the columns, the old one first; by default the releases, told apart. preempt: a pod that fits nowhere
    takes the place of lower ones. Raises ConfigError with every fault of every configuration.
    """
    raise NotImplementedError
