"""Score: what every plugin gives the nodes that pass, before and after it is normalised, and the weighted sums."""

from __future__ import annotations

import msgspec
import numpy as np

from clusterstate.changes import ChangeLog
from clusterstate.errors import SchedulingError
from clusterstate.growable import NO_NUMBERS, IntArray
from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from clusterstate.usage import wrap
from kubescheduler.core.lazy_results import Scores
from kubescheduler.core.scoring import normalised, raw_and_reduced
from kubescheduler.core.status import Code, Status, is_success
from kubescheduler.framework.contract.custom_plugins import refuse_score
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.observer import Laps
from kubescheduler.framework.contract.runner_results import failed, out_of_range, score_failed
from kubescheduler.framework.deciding.adapters import ask_pre_score, normalize_rows, score_rows
from kubescheduler.framework.deciding.bare_nodes import EmptiedNodes
from kubescheduler.framework.deciding.class_state import PreScoreState, ProfileState
from kubescheduler.framework.deciding.compiled_profile import Compiled
from priorities.types import MAX_NODE_SCORE, PriorityError

EVERY_NODE = 1
"""What a node scores when nothing scores at all."""


class FrameworkScores(msgspec.Struct, eq=False):
    """See Decision for the fields."""

    totals: IntArray = NO_NUMBERS
    scores: dict[str, Scores] = msgspec.field(default_factory=dict)
    raws: dict[str, Scores] = msgspec.field(default_factory=dict)


class Scoring(msgspec.Struct, frozen=True, eq=False):
    """One attempt's PreScore and Score plugins over the nodes that pass."""

    pod: Pod
    state: ProfileState
    compiled: Compiled
    cycle: CycleState
    snapshot: Snapshot
    view: Snapshot
    """Over exactly the nodes that pass."""
    feasible: IntArray | None
    """The rows of the nodes that pass; None: all rows there are."""
    skips: frozenset[Code] = frozenset({Code.Skip})
    """The codes by which PreScore says that the plugin gives no score."""
    laps: Laps | None = None
    """What times the points; None where nothing is measured."""

    def run(self, log: ChangeLog) -> FrameworkScores:
        """Raises SchedulingError with the release's text when a plugin fails."""
        compiled = self.compiled
        if not compiled.scores and not compiled.algorithm.extenders:
            return FrameworkScores(np.full(len(self.view), EVERY_NODE, np.int64))
        if self.laps is not None:
            self.laps.end(then="PreScore")
        skipped = self._pre_score(log)
        if self.laps is not None:
            self.laps.end(then="Score")
        emptied = isinstance(self.view, EmptiedNodes)
        if not emptied:
            self.state.score(self.snapshot, log)
        scored = FrameworkScores()
        constant = 0
        totals: IntArray | None = None
        for name in compiled.scores:
            if name in skipped:
                continue
            raw, final = self._one(name, emptied=emptied)
            scored.raws[name], scored.scores[name] = raw, final
            weight = compiled.weights[name]
            if isinstance(final, int):
                constant += weight * final
            else:
                weighted = final if weight == 1 else np.int64(weight) * final
                totals = weighted if totals is None else totals + weighted
        if totals is None:
            totals = np.zeros(len(self.view), np.int64)
        scored.totals = totals + np.int64(wrap(constant))
        if self.laps is not None:
            self.laps.end()
        return scored

    def _pre_score(self, log: ChangeLog) -> set[str]:
        """The plugins that have nothing to score."""
        skipped: set[str] = set()
        for asked in self.state.pre_scores:
            if isinstance(asked, PreScoreState):
                if not self._goes_on(asked, log):
                    skipped.add(asked.name)
                continue
            status, _ = ask_pre_score(asked, self.cycle, self.pod, self.view)
            if status is None or is_success(status):
                continue
            if status.code not in self.skips:
                raise SchedulingError(failed("PreScore", asked.name, status).message)
            skipped.add(asked.name)
        self.cycle.skip_score |= skipped
        return skipped

    def _goes_on(self, asked: PreScoreState, log: ChangeLog) -> bool:
        try:
            return asked.ask(self.state.info, self.snapshot, log)
        except PriorityError as error:
            raise SchedulingError(failed("PreScore", asked.name, Status.failure(str(error))).message) from error

    def _one(self, name: str, *, emptied: bool) -> tuple[Scores, Scores]:
        if name in self.compiled.own_scores:
            return self._own(name)
        return self._emptied(name) if emptied else self._column(name)

    # --- one plugin ------------------------------------------------------------------------

    def _column(self, name: str) -> tuple[Scores, Scores]:
        """(raw, final) of a plugin over columns, from what is remembered."""
        constant = self.state.constants.get(name)
        if constant is not None:
            return constant, constant
        try:
            return raw_and_reduced(self.state.info, self.state.scores[name], self.view, self.feasible)
        except PriorityError as error:
            raise SchedulingError(score_failed(name, error)) from error

    def _emptied(self, name: str) -> tuple[Scores, Scores]:
        """The same, worked out anew over nodes that look empty."""
        constant = self.state.constants.get(name)
        if constant is not None:
            return constant, constant
        config = self.state.scores[name].config
        try:
            return normalised(config, self.state.info, self.view, config.map(self.state.info, self.view))
        except PriorityError as error:
            raise SchedulingError(score_failed(name, error)) from error

    def _own(self, name: str) -> tuple[IntArray, IntArray]:
        plugin = self.compiled.own_scores[name]
        raw = score_rows(plugin, self.cycle, self.pod, self.view)
        final = normalize_rows(plugin, self.cycle, self.pod, raw)
        for at, score in enumerate(final.tolist()):
            if not 0 <= score <= MAX_NODE_SCORE:
                refuse_score(plugin, self.pod.key, self.view.names[at], out_of_range(name, score))
                raise SchedulingError(out_of_range(name, score))
        return raw, final
