"""What is kept of the last decision on pods of one class, so that the next is decided by what has changed since.

Most rules' scores change on the rows alone where pods came or went; ``SharedTotals`` has what they come to. Rules whose
scores change on many rows at a time, as when the pods of a service are counted and the most that a node has is another
number, are scored anew for every decision and added to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.changes import ChangeLog
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.snapshot import Snapshot
from clusterstate.topology.row_groups import GroupedScores, RowScores
from kubescheduler.core.answers import Refreshes, ScoreState
from kubescheduler.core.lazy_results import LazyScores, Scores, WholeScores, one_for_all
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.scoring import Scored, raw_and_reduced
from kubescheduler.core.selection import TieBreak
from priorities.types import PriorityConfig

if TYPE_CHECKING:
    from kubescheduler.core.shared_totals import SharedTotals


class AwaitedTotals:
    """Stands for totals that some classes will share once there is a second pod of any of them."""


class ClassTotals:
    """What was decided for pods of one class: brought up to date by ``patch``, as long as it can."""

    __slots__ = (
        "_names",
        "_pod_answers",
        "_pods_version",
        "_raws",
        "_shared",
        "_version",
        "_volatile",
        "_weights",
        "_wholes",
    )

    def __init__(
        self,
        state: ClassState,
        snapshot: Snapshot,
        log: ChangeLog,
        scored: Scored,
        weights: Mapping[str, int],
        shared: SharedTotals,
        wholes: tuple[ScoreState, ...],
    ) -> None:
        """As of now; see ``kept_totals``. shared: what all rules come to but ``wholes``, which are scored anew each
        time."""
        self._shared = shared
        self._pod_answers = state.pod_answers(snapshot, log)
        self._version = log.version_of(state.steady_flags)
        self._pods_version = log.version_of(state.pod_flags)
        self._weights = weights
        self._names = tuple(scored.scores)
        self._raws = frozenset(scored.raws)
        self._volatile = shared.volatile.names
        self._wholes = [
            (score, None if score.config.prepare is None else score.config.prepare(state.info, snapshot))
            for score in wholes
        ]

    # --- a decision ------------------------------------------------------------------------

    def patch(
        self, state: ClassState, snapshot: Snapshot, log: ChangeLog, listed: Mask, ranks: IntArray
    ) -> LazyScores | None:
        """What every rule gives now, and the totals; None: it cannot be brought up to date."""
        shared = self._shared
        if self._version != shared.version or self._volatile is not shared.volatile.names:
            return None
        try:
            if not self._answers_stand(state, snapshot, log) or not shared.patch(state, snapshot, log, listed, ranks):
                return None
            whole = self._scored_anew(state, snapshot, log) if self._wholes else None
        except (SchedulingError, CustomCodeError):
            return None
        return shared.table.held(shared.feasible, whole)

    def choose(self, held: LazyScores, tie_break: TieBreak) -> int:
        """One of the rows with the highest total. held: what ``patch`` gave, just now."""
        table, feasible = self._shared.table, self._shared.feasible
        if held.whole is None:
            return table.choose(tie_break)
        held.keep_totals(table.totals(feasible))
        tied = np.flatnonzero(held.totals == held.totals.max())
        return tie_break.choose(feasible[tied], self._shared.ranks)

    def _answers_stand(self, state: ClassState, snapshot: Snapshot, log: ChangeLog) -> bool:
        """Whether rules say of the pod what they said of it at the last decision, before any node is looked at."""
        version = log.version_of(state.pod_flags)
        if (state.timed or version != self._pods_version) and state.pod_answers(snapshot, log) != self._pod_answers:
            return False
        self._pods_version = version
        return True

    def _scored_anew(self, state: ClassState, snapshot: Snapshot, log: ChangeLog) -> WholeScores:
        """What the rules give that are scored anew. Raises as rules do."""
        feasible = self._shared.feasible
        rows = None if len(feasible) == len(snapshot) else feasible
        view = snapshot if rows is None else snapshot.take(rows)
        raws: dict[str, Scores | GroupedScores] = {}
        finals: dict[str, Scores | GroupedScores] = {}
        refreshes = Refreshes(snapshot, log)
        for score, score_rows in self._wholes:
            name = score.config.name
            if score_rows is not None:
                raws[name], finals[name] = map(_one_if_alike, score_rows(view))
            else:
                score.refresh(state.info, refreshes)
                raws[name], finals[name] = raw_and_reduced(state.info, score, view, rows)
            if name not in self._raws:
                del raws[name]
        return WholeScores(self._names, finals, raws, self._weights)


def _one_if_alike(scores: RowScores) -> Scores | GroupedScores:
    """The scores, or the one number that they all are if they are laid out as one."""
    return scores if isinstance(scores, GroupedScores) else one_for_all(scores)


def kept_totals(
    state: ClassState,
    snapshot: Snapshot,
    log: ChangeLog,
    scored: Scored,
    weights: Mapping[str, int],
    listed: Mask,
    ranks: IntArray,
) -> ClassTotals | None:
    """What is kept of a decision that was made just now, with all rows that fit scored; None: nothing, as a custom rule
    has scored, or no pod came before that shares anything with this one, so that none may follow.

    weights: of every rule. listed: (N,) the rows that were looked at. ranks: (N,) every row's place in the order of
    names.
    """
    names = scored.scores
    if not all(name in state.scores or name in state.constants for name in names):
        return None
    scores = [state.scores[name] for name in names if name in state.scores]
    standing = [score for score in scores if score.config.footprint.is_unaffected_by_pods(state.info, snapshot)]
    following = [score for score in scores if score not in standing and _follows(score.config)]
    key = (
        *(state.steady_flags, state.pod_flags),
        tuple([(check, check.skipped) for check in state.checks]),
        *(tuple(standing), tuple(following)),
        tuple([(name, state.constants[name]) for name in names if name in state.constants]),
    )
    shared = state.shared_totals.get(key)
    if shared is None:
        state.shared = state.shared_totals[key] = AwaitedTotals()
        return None
    if isinstance(shared, AwaitedTotals):
        from kubescheduler.core.shared_totals import SharedTotals

        shared = state.shared_totals[key] = SharedTotals(weights)
    state.shared = shared
    patched = [*standing, *[score for score in following if score.config.name not in shared.volatile.names]]
    wholes = tuple([score for score in scores if score not in patched])
    if not shared.is_current(snapshot, log, listed, ranks):
        shared.begin(state, snapshot, log, scored, listed, ranks, wholes)
    return ClassTotals(state, snapshot, log, scored, weights, shared, wholes)


def _follows(config: PriorityConfig) -> bool:
    """Whether a rule's scores follow from its numbers alone."""
    return config.settle is None and (config.reduce is None or config.valuewise)
