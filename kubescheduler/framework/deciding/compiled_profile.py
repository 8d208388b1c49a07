"""A profile's plugins sorted by how they are run: over columns and remembered, or as they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

import msgspec
import numpy as np

from clusterstate.changes import PODS_ANYWHERE, ChangeLog, Reads, flags_of
from clusterstate.errors import SchedulingError
from clusterstate.footprint import Footprint, ScopeReading, spec_alone
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm, WeightedPriority
from kubescheduler.core.answers import CheckState
from kubescheduler.core.extender_calls import Extender
from kubescheduler.core.pod_classes import OF_PODS, ClassState, Sharing, unshared
from kubescheduler.framework.contract.observer import Observer
from kubescheduler.framework.contract.plugin import Plugin, filter_fault, score_fault
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.contract.runner_results import score_failed
from kubescheduler.framework.deciding.adapters import column_check, column_score
from predicates.types import GO_ON, FitPredicate, NodeError, PreFiltered, Verdict
from priorities.types import PriorityConfig, PriorityError, goes_on


class Frame(Protocol):
    """What a decision needs of a framework: its plugins in order, and the weights of those that score."""

    @property
    def release(self) -> str:
        """The release's name."""
        ...

    @property
    def profile_name(self) -> str:
        """The profile's ``schedulerName``."""
        ...

    @property
    def run_all_filters(self) -> bool:
        """Whether a node is checked by all Filter plugins, beyond the first that refuses it."""
        ...

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """Every gate of the release."""
        ...

    @property
    def observer(self) -> Observer:
        """Who counts."""
        ...

    @property
    def score_weights(self) -> Mapping[str, int]:
        """Score plugin → its weight."""
        ...

    def at(self, point: Point) -> tuple[Plugin, ...]:
        """The plugins of a point, in the order they run."""
        ...


class Compiled(msgspec.Struct, frozen=True, eq=False):
    """One profile, ready to decide. The custom plugins, in ``own_…``, are called anew in every attempt."""

    frame: Frame
    algorithm: Algorithm
    """The Filter and Score plugins that work over columns, and the extenders."""
    pre_filters: tuple[Plugin, ...]
    pre_checks: Mapping[str, FitPredicate]
    """PreFilter plugins over columns."""
    own_pre_filters: Mapping[str, Any]
    order: tuple[str, ...]
    """The name of every Filter plugin, in the order they run."""
    own_filters: Mapping[str, Any]
    pre_scores: tuple[Plugin, ...]
    scores: tuple[str, ...]
    own_scores: Mapping[str, Any]
    weights: Mapping[str, int]
    keeps: bool = False
    """Whether every plugin works over columns, and all nodes are scored, by nobody else; worked out from the others."""

    def __post_init__(self) -> None:
        custom = self.own_pre_filters or self.own_filters or self.own_scores
        columns = all(column_score(plugin) is not None for plugin in self.pre_scores)
        algorithm = self.algorithm
        every = algorithm.percentage_of_nodes_to_score >= 100 and not algorithm.extenders
        msgspec.structs.force_setattr(self, "keeps", every and columns and not custom and bool(self.scores))

    @property
    def rules(self) -> tuple[FitPredicate | PriorityConfig, ...]:
        """Every rule over columns, once for each point that asks it."""
        prepared = filter(None, map(column_score, self.pre_scores))
        scores = (priority.config for priority in self.algorithm.priorities)
        return (*self.algorithm.predicates, *self.pre_checks.values(), *scores, *prepared)

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
        )
        return cls(
            frame=frame,
            algorithm=algorithm,
            pre_filters=pre_filters,
            pre_checks={p.name: check for p in pre_filters if (check := column_check(p)) is not None},
            own_pre_filters={p.name: p for p in pre_filters if column_check(p) is None},
            order=tuple(p.name for p in filters),
            own_filters={p.name: p for p in filters if column_check(p) is None},
            pre_scores=pre_scores,
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


A = TypeVar("A")


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


class ProfileState(ClassState):
    """See ClassState. pre: plugin → its PreFilter, of those that have something to say about the pod class. asked: the
    PreFilter plugins that are asked, in order. pre_scores: the PreScore plugins that are asked, in order; custom
    ones as they are."""

    __slots__ = ("_pre_of_pods", "_pre_scores_of_pods", "asked", "by_name", "pre", "pre_scores", "skips")

    def __init__(self, info: PodInfo, compiled: Compiled, share: Sharing = unshared) -> None:
        super().__init__(info, compiled.algorithm, share)
        self.pre = {
            name: PreAnswer(check, info, check.pre_filter, GO_ON)
            for name, check in compiled.pre_checks.items()
            if check.pre_filter is not None and check.applies(info)
        }
        self.by_name: dict[str, CheckState] = {state.predicate.name: state for state in self.checks}
        self.pre_scores: list[PreAnswer[bool] | Plugin] = []
        for plugin in compiled.pre_scores:
            config = column_score(plugin)
            if config is None:
                self.pre_scores.append(plugin)
            elif config.pre_score is not goes_on:
                self.pre_scores.append(PreAnswer(config, info, config.pre_score, True))
        names = [plugin.name for plugin in compiled.pre_filters]
        self.asked = tuple(name for name in names if name in self.pre or name in compiled.own_pre_filters)
        self.skips: tuple[frozenset[str], frozenset[str]] = frozenset(), frozenset()
        pre_scores = [state for state in self.pre_scores if isinstance(state, PreAnswer)]
        asked: list[PreAnswer[Any]] = [*self.pre.values(), *pre_scores]
        flags = {flag for state in asked for flag in state.flags}
        self.steady_flags = tuple(sorted({*self.steady_flags, *flags} - OF_PODS))
        self.pod_flags = tuple(sorted({*self.pod_flags, *flags} & OF_PODS))
        self._pre_of_pods = [name for name, state in self.pre.items() if not OF_PODS.isdisjoint(state.flags)]
        self._pre_scores_of_pods = [state for state in pre_scores if not OF_PODS.isdisjoint(state.flags)]

    def pod_answers(self, snapshot: Snapshot, log: ChangeLog) -> tuple[object, ...]:
        """What those of PreFilter and PreScore that look at pods answer now."""
        pre = [self.ask(name, snapshot, log) for name in self._pre_of_pods]
        return (*pre, *[state.ask(self.info, snapshot, log) for state in self._pre_scores_of_pods])

    def score(self, snapshot: Snapshot, log: ChangeLog) -> None:
        """Raises SchedulingError with the release's text when a plugin fails."""
        try:
            super().score(snapshot, log)
        except PriorityError as error:
            failed = next(name for name, score in self.scores.items() if score.failed)
            raise SchedulingError(score_failed(failed, error)) from error

    def ask(self, name: str, snapshot: Snapshot, log: ChangeLog) -> PreFiltered:
        """What a plugin's PreFilter says; one that skips is not run in ``check``."""
        pre = self.pre.get(name)
        if pre is None:
            return GO_ON
        answer = pre.ask(self.info, snapshot, log)
        state = self.by_name.get(name)
        if state is not None:
            state.skipped = answer.skip
        return answer
