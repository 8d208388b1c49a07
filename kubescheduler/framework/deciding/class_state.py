"""What is remembered for one pod class under one profile: verdicts, scores and what PreFilter plugins answered."""

from __future__ import annotations

from clusterstate.changes import PODS_ANYWHERE, ChangeLog, flags_of
from clusterstate.errors import SchedulingError
from clusterstate.footprint import Footprint
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.topology.topology_scope import ScopeReading
from kubescheduler.core.answers import CheckState
from kubescheduler.core.class_states import OF_PODS, ClassState, Sharing, unshared
from kubescheduler.framework.contract.plugin import Plugin
from kubescheduler.framework.contract.runner_results import score_failed
from kubescheduler.framework.deciding.adapters import column_score
from kubescheduler.framework.deciding.compiled_profile import Compiled
from predicates.types import GO_ON, FitPredicate, PreFiltered
from priorities.types import PriorityConfig, PriorityError, goes_on


class PreAnswer:
    """When an answer about a pod class was found that follows from the pod, and from what is not one row."""

    __slots__ = ("_reading", "_version", "flags")

    def __init__(self, footprint: Footprint, info: PodInfo) -> None:
        """footprint: of the rule that answers."""
        reads, scope = footprint.pre_reads_for(info), footprint.pre_scope
        self.flags = flags_of(reads)
        self._reading = None if scope is None else ScopeReading(scope, flags_of(reads & ~PODS_ANYWHERE))
        self._version = -1

    def stands(self, pod: PodInfo, snapshot: Snapshot, log: ChangeLog) -> bool:
        """Whether the answer is still the same; if not, it is unknown until ``found``."""
        version = log.version_of(self.flags)
        if version == self._version:
            return True
        before, self._version = self._version, -1
        if self._reading is not None and self._reading.changed_rows(pod, snapshot, log, 0) == () and before != -1:
            self._version = version
        return self._version != -1

    def found(self, log: ChangeLog) -> None:
        """It was found anew."""
        self._version = log.version_of(self.flags)


class PreState(PreAnswer):
    """One plugin's PreFilter answer about one pod class, asked again when something it reads has changed."""

    __slots__ = ("answer", "check")

    def __init__(self, check: FitPredicate, info: PodInfo) -> None:
        super().__init__(check.footprint, info)
        self.check = check
        self.answer: PreFiltered = GO_ON

    def ask(self, pod: PodInfo, snapshot: Snapshot, log: ChangeLog) -> PreFiltered:
        """PreFilter's answer for pods of the class, worked out anew when what it reads has changed."""
        if not self.stands(pod, snapshot, log):
            assert self.check.pre_filter is not None
            self.answer = self.check.pre_filter(pod, snapshot)
            self.found(log)
        return self.answer


class PreScoreState(PreAnswer):
    """Whether one plugin has anything to score for one pod class, asked again when something it reads has changed."""

    __slots__ = ("_ask", "answer", "name")

    def __init__(self, config: PriorityConfig, info: PodInfo) -> None:
        super().__init__(config.footprint, info)
        self.name = config.name
        self._ask = config.pre_score
        self.answer = True

    def ask(self, pod: PodInfo, snapshot: Snapshot, log: ChangeLog) -> bool:
        """Raises PriorityError."""
        if not self.stands(pod, snapshot, log):
            self.answer = self._ask(pod, snapshot)
            self.found(log)
        return self.answer


class ProfileState(ClassState):
    """See ClassState. pre: plugin → its PreFilter, of those that have something to say about the pod class. asked: the
    PreFilter plugins that are asked, in order. pre_scores: the PreScore plugins that are asked, in order; custom
    ones as they are."""

    __slots__ = ("_pre_of_pods", "_pre_scores_of_pods", "asked", "by_name", "pre", "pre_scores", "skips")

    def __init__(self, info: PodInfo, compiled: Compiled, share: Sharing = unshared) -> None:
        super().__init__(info, compiled.algorithm, share)
        self.pre = {
            name: PreState(check, info)
            for name, check in compiled.pre_checks.items()
            if check.pre_filter is not None and check.applies(info)
        }
        self.by_name: dict[str, CheckState] = {state.predicate.name: state for state in self.checks}
        self.pre_scores: list[PreScoreState | Plugin] = []
        for plugin in compiled.pre_scores:
            config = column_score(plugin)
            if config is None:
                self.pre_scores.append(plugin)
            elif config.pre_score is not goes_on:
                self.pre_scores.append(PreScoreState(config, info))
        names = [plugin.name for plugin in compiled.pre_filters]
        self.asked = tuple(name for name in names if name in self.pre or name in compiled.own_pre_filters)
        self.skips: tuple[frozenset[str], frozenset[str]] = frozenset(), frozenset()
        asked = [
            state for state in (*self.pre.values(), *self.pre_scores) if isinstance(state, PreState | PreScoreState)
        ]
        flags = {flag for state in asked for flag in state.flags}
        self.steady_flags = tuple(sorted({*self.steady_flags, *flags} - OF_PODS))
        self.pod_flags = tuple(sorted({*self.pod_flags, *flags} & OF_PODS))
        self._pre_of_pods = [name for name, state in self.pre.items() if not OF_PODS.isdisjoint(state.flags)]
        self._pre_scores_of_pods = [
            state
            for state in self.pre_scores
            if isinstance(state, PreScoreState) and not OF_PODS.isdisjoint(state.flags)
        ]

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
