"""What was decided for pods of some classes, as of some decision: what may be brought up to date starts from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clusterstate.changes import ChangeLog
from clusterstate.growable import IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.answers import RowAnswers, ScoreState
from kubescheduler.core.class_states import ClassState
from kubescheduler.core.lazy_results import LateVerdicts, VolatileRules
from kubescheduler.core.scoring import reduced
from kubescheduler.core.total_tables import ScoreLines, Totalled, score_lines, scored_without, without_numbers
from predicates.types import Verdict


class BegunTotals:
    """The verdicts and scores that the classes have in common."""

    __slots__ = (
        "_far",
        "_fits",
        "_flags",
        "_listed",
        "_made_of",
        "_moving",
        "_names",
        "_pods_version",
        "_position",
        "_raws",
        "_reduced",
        "_rows",
        "_scored",
        "_weights",
        "_wholes",
        "feasible",
        "late",
        "ranks",
        "unresolvable",
        "verdicts",
        "version",
        "volatile",
    )

    def __init__(self, weights: Mapping[str, int]) -> None:
        """Nothing was decided yet. weights: of every rule."""
        self._weights = weights
        self._listed: Mask | None = None
        self._made_of: object = None
        self.volatile = VolatileRules()
        """The rules that are scored anew for every decision, as patching them keeps failing."""

    def begin(
        self,
        state: ClassState,
        snapshot: Snapshot,
        log: ChangeLog,
        scored: Totalled,
        listed: Mask,  # noqa: ARG002
        ranks: IntArray,
        wholes: Sequence[ScoreState],
    ) -> None:
        """As of now: state was brought up to date, and all rows that fit were scored. listed: (N,) the rows that were
        looked at. ranks: (N,) every row's place in the order of names. wholes: the rules that are scored anew for every
        decision."""
        self._scored = scored
        self._wholes = wholes
        self._listed = None
        self.ranks = ranks
        self._flags = state.steady_flags
        self.version = log.version_of(self._flags)
        self._pods_version = log.version_of(state.pod_flags)
        self._position = log.position
        self._sort_scores(state, snapshot)
        self._read_checks(state)

    def _read_checks(self, state: ClassState) -> None:
        """What the verdicts are now."""
        self.late: LateVerdicts | None = None
        """The verdicts instead of those, where they are put together when somebody asks for them."""
        self._fits, self.feasible = state.fits, state.feasible
        asked = [check for check in state.checks if not check.skipped]
        self.verdicts: tuple[tuple[str, Verdict], ...] = tuple([(c.predicate.name, c.verdict) for c in asked])
        self.unresolvable: dict[str, Mask] = {
            check.predicate.name: check.unresolvable for check in asked if check.unresolvable is not None
        }

    def _steady(self, log: ChangeLog) -> bool:
        """Whether nothing but pods has changed."""
        return log.nodes_until <= self._position and log.version_of(self._flags) == self.version

    def _shared_stand(self, info: PodInfo, snapshot: Snapshot) -> bool:
        """Whether the scores that are one number for all rows are so now that other rows fit."""
        view = None
        for score in self._reduced:
            before = self._scored.scores[score.config.name]
            if score.uniform is not None or not isinstance(before, int) or score in self._moving:
                continue
            view = view or snapshot.take(self.feasible)
            now = reduced(info, score, view, self.feasible)
            if not isinstance(now, int) or now != before:
                self.volatile.failed(score.config.name)
                return False
        return True

    def _sort_scores(self, state: ClassState, snapshot: Snapshot) -> None:
        """Which scores are asked row by row, and which stay."""
        scores = [state.scores[name] for name in self._scored.scores if name in state.scores]
        info = state.info
        scores = [s for s in scores if s not in self._wholes]
        scores = [s for s in scores if not s.config.footprint.is_unaffected_by_pods(info, snapshot)]
        self._raws = {score.config.name: score.raw for score in state.scores.values() if score not in self._wholes}
        self._far = [score for score in scores if score.of_pods_anywhere]
        self._reduced = [score for score in scores if score.config.reduce is not None]
        self._moving = [score for score in scores if score.of_own_pods and not score.of_pods_anywhere]
        self._names = [score.config.name for score in self._moving]
        checks = tuple([s for s in state.checks if s.of_own_pods and not s.skipped and s not in state.far_checks])
        made_of = checks, tuple(self._moving), self.version
        if made_of != self._made_of:
            self._made_of = made_of
            self._rows = RowAnswers(state.info, *made_of[:2])

    def _is_normalised(self, score: ScoreState) -> bool:
        """Whether a rule with normalised scores gives rows different ones."""
        return score in self._moving or not isinstance(self._scored.scores[score.config.name], int)

    def _lines(self, state: ClassState, fitted: IntArray, raws: Mapping[str, IntArray]) -> ScoreLines:
        """The numbers that were scored without the rules that are scored anew."""
        rules = {name: state.config for name, state in state.scores.items()}
        scored = scored_without(self._scored, {score.config.name for score in self._wholes}, self._weights)
        self._scored = without_numbers(self._scored)
        return score_lines(scored, rules, raws, self._names, self._weights, fitted, len(self.ranks))
