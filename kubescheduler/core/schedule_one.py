"""One attempt to place a pod, read from top to bottom, for all releases: nodes are filtered and scored, one is chosen.

``Attempt.decide`` is the whole of it. ``GenericScheduler`` makes attempts of predicates and priorities, the framework's
scheduler makes them of the plugins of a profile: a legacy algorithm is a profile with few points. Each says below what
a step is for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.decision import NO_NODES, Decision
from kubescheduler.core.evidence import ScoreSource
from kubescheduler.core.filtering import Filtered
from kubescheduler.core.lazy_results import LazyScores
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.scoring import Scored
from kubescheduler.core.selection import TieBreak
from kubescheduler.core.totals import kept_totals


class Attempt(msgspec.Struct, eq=False):
    """One pod's decision under way."""

    pod: Pod
    cache: ClusterCache
    algorithm: Algorithm
    tie_break: TieBreak
    weights: Mapping[str, int]
    """Rule → its weight."""
    thorough: bool = False
    """Score also when just one node fits, and judge by every rule there is."""
    instead: IntArray | None = None
    """(n,) the rows to score in place of those that pass; None: these."""
    scored: Scored = msgspec.field(default_factory=Scored)
    held: LazyScores | None = None
    """The scores instead of ``scored``, where they were patched."""
    source: ScoreSource | None = None
    reached: str = ""
    """The point that it has come to."""

    def decide(self) -> Decision:
        """The whole attempt. Never raises for what a release reports: see ``Decision.message``."""
        cache = self.cache
        names, listed = cache.columns.published
        host = error = None
        try:
            info = self.ready()
            snapshot = cache.snapshot()
            state = self.state(info, snapshot)
            if (row := self._patched(state, snapshot, listed)) is not None:
                self.chosen_by_totals(names[row])
                return self.outcome(names, listed, names[row], None)
            feasible = self.find(state, snapshot, listed)
            names = self.named(names)
            if self.scores(feasible):
                self.reached = "score"
                self.score(state, snapshot, feasible)
                host = names[self.select(feasible, self.scored.totals, names)]
            elif len(feasible):
                host = names[int(feasible[0])]
            self.chosen(host, feasible, names)
        except SchedulingError as e:
            error, host = self.given_up(e), None
            self.scored, self.source = Scored(), None
        except CustomCodeError as e:
            e.at = self.reached
            raise
        return self.outcome(names, listed, host, error)

    # --- the steps ---------------------------------------------------------------------------

    def ready(self) -> PodInfo:
        """The pod's class, once it is known that it can be scheduled at all. Raises SchedulingError."""
        if not self.cache.columns.listed_count:
            raise SchedulingError(NO_NODES)
        return self.cache.info(self.pod).naming(self.pod.node_name)

    def state(self, info: PodInfo, snapshot: Snapshot) -> Any:
        """What is remembered for pods of this class."""
        raise NotImplementedError

    def _patched(self, state: ClassState, snapshot: Snapshot, listed: Mask) -> int | None:
        """The row chosen by what is kept of the last decision on a pod of the class; None: that cannot be brought up
        to date."""
        kept, state.kept = state.kept, None
        if kept is None or not self.keeps():
            return None
        columns = self.cache.columns
        self.held = kept.patch(state, snapshot, columns.log, listed, columns.ranks)
        if self.held is None:
            return None
        state.kept = kept
        self.reached = "score"
        self.source = self.source_of(state)
        self.found_by_totals(state, listed)
        row: int = kept.choose(self.held, self.tie_break)
        return row

    def keeps(self) -> bool:
        """Whether the totals may be kept from the pod before, and for the next one."""
        raise NotImplementedError

    def found_by_totals(self, state: Any, listed: Mask) -> None:
        """The nodes that fit are those that are kept for the class."""

    def chosen_by_totals(self, host: str) -> None:
        """A node was chosen by what is kept."""

    def find(self, state: Any, snapshot: Snapshot, listed: Mask) -> IntArray:
        """(n,) the rows that every rule and every extender leaves, the pods that are nominated to nodes counted.

        Raises SchedulingError when one fails.
        """
        raise NotImplementedError

    def named(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Row → name, of all rows that may be left."""
        return names

    def scores(self, feasible: IntArray) -> bool:
        """Whether the nodes that are left are scored: releases return a single one unscored."""
        return len(feasible) > (0 if self.thorough else 1)

    def score(self, state: Any, snapshot: Snapshot, feasible: IntArray) -> None:
        """Fills in ``scored`` and ``source``, extenders' scores in the totals. Raises SchedulingError."""
        raise NotImplementedError

    def source_of(self, state: ClassState) -> ScoreSource:
        """What the scores are made of."""
        return ScoreSource(state.info, self.cache.snapshot, self.algorithm.priorities, self.cache.columns.log)

    def keep_totals(self, state: ClassState, snapshot: Snapshot) -> None:
        """Keeps the totals for the next pod of the class."""
        columns = self.cache.columns
        listed, ranks = columns.published[1], columns.ranks
        state.kept = kept_totals(state, snapshot, columns.log, self.scored, self.weights, listed, ranks)

    def select(self, feasible: IntArray, totals: IntArray, names: tuple[str, ...]) -> int:  # noqa: ARG002
        """The row with the highest total. totals: (n,) of the feasible rows."""
        first = int(totals.argmax())
        tied = np.flatnonzero(totals == totals[first])
        return self.tie_break.choose(feasible[tied], self.cache.columns.ranks)

    def chosen(self, host: str | None, feasible: IntArray, names: tuple[str, ...]) -> None:
        """A node was chosen, or none was left."""

    def given_up(self, error: SchedulingError) -> str:
        """The text that the release reports of an error; no row is left."""
        return str(error)

    def outcome(self, names: tuple[str, ...], listed: Mask, host: str | None, error: str | None) -> Decision:
        """What all this comes to."""
        raise NotImplementedError

    def decision(
        self, names: tuple[str, ...], filtered: Filtered, host: str | None, error: str | None, **more: Any
    ) -> Decision:
        """A decision of what is the same for all releases, and more."""
        columns, algorithm = self.cache.columns, self.algorithm
        return Decision(
            pod=self.pod,
            release=algorithm.release,
            names=names,
            listed=filtered.listed,
            nodes_total=columns.node_count,
            with_nominated=filtered.with_nominated,
            every_reason=algorithm.always_check_all_predicates,
            totals=self.scored.totals,
            scores=self.scored.scores,
            held=self.held,
            weights=self.weights,
            score_source=self.source,
            host=host,
            error=error,
            error_at="" if error is None else self.reached,
            known=columns.known,
            **more,
        )
