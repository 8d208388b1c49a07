"""What the rules that look at one row alone say of single rows, remembered by the amounts there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Amounts, Snapshot
from kubescheduler.core.verdicts import CheckState, ScoreState

MOST_ROWS = 1 << 14
"""Amounts of which the answers are remembered."""

Answers = tuple[bool, tuple[int, ...]]
"""(whether every check passes the row, the raw number of every score)."""


class RowAnswers:
    """Answers of some rules about single rows, for pods that are alike to them.

    checks, scores: that read nothing but a row's node and its pods. Rules whose answer follows from the amounts on a
    row are run once for equal amounts, and all the others each time.
    """

    __slots__ = ("_by_usage", "_known", "_order", "_others", "checks", "scores")

    def __init__(self, pod: PodInfo, checks: Sequence[CheckState], scores: Sequence[ScoreState]) -> None:
        self.checks = tuple(checks)
        self.scores = tuple(scores)
        plain_checks = [check for check in checks if not check.far and check.predicate.by_usage(pod)]
        plain_scores = [score for score in scores if not score.far and score.config.by_usage(pod)]
        self._by_usage = _Rules(plain_checks, plain_scores)
        self._others = _Rules(
            [check for check in checks if check not in plain_checks],
            [score for score in scores if score not in plain_scores],
        )
        found = [*plain_scores, *self._others.scores]
        order = [found.index(score) for score in scores]
        self._order = None if order == list(range(len(order))) else order
        self._known: dict[Amounts, Answers] = {}

    def of(self, row: int, pod: PodInfo, snapshot: Snapshot) -> Answers:
        """What they say of a row of the whole cluster. Raises as the rules do."""
        amounts = snapshot.amounts(row)
        plain = self._known.get(amounts)
        if plain is None:
            if len(self._known) >= MOST_ROWS:
                self._known.clear()
            plain = self._known[amounts] = self._by_usage.ask(pod, snapshot, row)
        if not self._others:
            return plain
        passes, numbers = self._others.ask(pod, snapshot, row)
        together = (*plain[1], *numbers)
        if self._order is not None:
            together = tuple([together[at] for at in self._order])
        return plain[0] and passes, together


class _Rules:
    """Some checks and scores."""

    __slots__ = ("checks", "scores")

    def __init__(self, checks: Sequence[CheckState], scores: Sequence[ScoreState]) -> None:
        self.checks = checks
        self.scores = scores

    def __bool__(self) -> bool:
        return bool(self.checks or self.scores)

    def ask(self, pod: PodInfo, snapshot: Snapshot, row: int) -> Answers:
        """What they say of a row now."""
        there = snapshot.take(np.array([row], np.int64))
        verdicts = [check.predicate.check(pod, there) for check in self.checks]
        passes = not any(mask[0] for verdict in verdicts for mask in verdict.values())
        return passes, tuple([int(score.config.map(pod, there)[0]) for score in self.scores])
