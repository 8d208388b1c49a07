"""A profile's plugins sorted by how they are run: over columns and remembered, or as they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm, WeightedPriority
from kubescheduler.core.extender_calls import Extender
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.framework.contract.frame import Frame
from kubescheduler.framework.contract.plugin import Plugin, filter_fault, score_fault
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.deciding.adapters import column_check, column_score
from predicates.types import FitPredicate, NodeError, Verdict
from priorities.types import PriorityConfig, PriorityError


class Compiled(msgspec.Struct, frozen=True, eq=False):
    """One profile, ready to decide. The custom plugins, in ``own_…``, are called anew in every attempt."""

    frame: Frame
    algorithm: Algorithm
    """The plugins that work over columns, and the extenders."""
    pre_filters: tuple[Plugin, ...]
    own_pre_filters: Mapping[str, Any]
    order: tuple[str, ...]
    """The name of every Filter plugin, in the order they run."""
    own_filters: Mapping[str, Any]
    pre_scores: tuple[Plugin, ...]
    own_pre_scores: Mapping[str, Any]
    scores: tuple[str, ...]
    own_scores: Mapping[str, Any]
    weights: Mapping[str, int]
    keeps: bool = False
    """Whether every plugin works over columns, and some score; worked out from the others."""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "keeps", not self.has_custom and bool(self.scores))

    @property
    def rules(self) -> tuple[FitPredicate | PriorityConfig, ...]:
        """Every rule over columns, once for each point that asks it."""
        algorithm = self.algorithm
        scores = (priority.config for priority in algorithm.priorities)
        return (*algorithm.predicates, *algorithm.pre_filters.values(), *scores, *algorithm.pre_scores)

    @property
    def has_custom(self) -> bool:
        """Whether a plugin is called as it comes."""
        return bool(self.own_pre_filters or self.own_filters or self.own_pre_scores or self.own_scores)

    def asked(self, state: ClassState) -> list[str]:
        """The PreFilter plugins that have something to say about a pod class, or are custom ones, in order."""
        return [p.name for p in self.pre_filters if p.name in state.pre or p.name in self.own_pre_filters]

    @classmethod
    def of(cls, frame: Frame, extenders: tuple[Extender, ...], percentage: int) -> Compiled:
        """From a framework. percentage: of nodes to score, 100: all."""
        pre_filters, filters = frame.at(Point.PRE_FILTER), frame.at(Point.FILTER)
        pre_scores, scores = frame.at(Point.PRE_SCORE), frame.at(Point.SCORE)
        asked = {plugin.name for plugin in pre_filters}
        prepared = {plugin.name for plugin in pre_scores}
        weights = {plugin.name: frame.score_weights[plugin.name] for plugin in scores}
        algorithm = Algorithm(
            release=frame.release,
            predicates=tuple(_filter(p, asked) for p in filters if column_check(p) is not None),
            priorities=tuple(
                WeightedPriority(_scoring(p, prepared), weights[p.name]) for p in scores if column_score(p) is not None
            ),
            extenders=extenders,
            always_check_all_predicates=frame.run_all_filters,
            percentage_of_nodes_to_score=percentage,
            pre_filters={p.name: check for p in pre_filters if (check := column_check(p)) is not None},
            pre_scores=tuple(filter(None, map(column_score, pre_scores))),
        )
        return cls(
            frame=frame,
            algorithm=algorithm,
            pre_filters=pre_filters,
            own_pre_filters={p.name: p for p in pre_filters if column_check(p) is None},
            order=tuple(p.name for p in filters),
            own_filters={p.name: p for p in filters if column_check(p) is None},
            pre_scores=pre_scores,
            own_pre_scores={p.name: p for p in pre_scores if column_score(p) is None},
            scores=tuple(p.name for p in scores),
            own_scores={p.name: p for p in scores if column_score(p) is None},
            weights=weights,
        )


def _filter(plugin: Any, asked: set[str]) -> FitPredicate:
    """The Filter; one that needs what its PreFilter would have prepared errs on every node without it."""
    check: FitPredicate = plugin.check
    text = filter_fault(plugin, asked)
    return check if text is None else FitPredicate(plugin.name, _erring(text), Footprint(Reads(0), pod_key=spec_alone))


def _erring(text: str) -> Callable[[PodInfo, Snapshot], Verdict]:
    def check(_: PodInfo, snapshot: Snapshot) -> Verdict:
        return {NodeError(text): np.ones(len(snapshot), np.bool_)}

    return check


def _scoring(plugin: Any, prepared: set[str]) -> PriorityConfig:
    """The Score; one that needs what its PreScore would have prepared fails without it."""
    scoring: PriorityConfig = plugin.scoring
    text = score_fault(plugin, prepared)
    if text is None:
        return scoring

    def fail(_: PodInfo, __: Snapshot) -> Any:
        raise PriorityError(text)

    return PriorityConfig(plugin.name, fail, footprint=Footprint(pod_key=spec_alone))
