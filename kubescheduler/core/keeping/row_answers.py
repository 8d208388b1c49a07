"""What the rules that look at one row alone say of single rows, remembered by the amounts there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clusterstate.counting.row_amounts import Amounts
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.verdicts import CheckState, ScoreState

MOST_ROWS = 1 << 14
"""Amounts of which the answers are remembered."""

Answers = tuple[bool, tuple[int, ...]]
"""(whether every check passes the row, the raw number of every score)."""


class RowAnswers:
    """Answers of some rules about single rows, for pods that are alike to them.

    checks, scores: that read nothing but a row's node, its pods, and what does not change with pods. Rules whose answer
    follows from the amounts on a row are run once for equal amounts, and all the others each time.
    """

    __slots__ = ("_by_usage", "_known", "_order", "_others", "by_usage", "checks")

    def __init__(self, pod: PodInfo, checks: tuple[CheckState, ...], scores: tuple[ScoreState, ...]) -> None:
        self.checks = checks
        plain_checks = [check for check in checks if check.predicate.footprint.follows_from_usage(pod)]
        plain_scores = [score for score in scores if score.config.footprint.follows_from_usage(pod)]
        self._by_usage = _Rules(plain_checks, plain_scores)
        self._others = _Rules(
            [check for check in checks if check not in plain_checks],
            [score for score in scores if score not in plain_scores],
        )
        found = [*plain_scores, *self._others.scores]
        order = [found.index(score) for score in scores]
        self._order = None if order == list(range(len(order))) else order
        self.by_usage = not self._others
        """Whether all answers follow from amounts; then those about equal amounts are the same object."""
        self._known: dict[Amounts, Answers] = {}

    def of(self, rows: Sequence[int], pod: PodInfo, snapshot: Snapshot, most: int) -> list[Answers] | None:
        """What they say of rows of the whole cluster, (k,); None: the rules would have to be run for more than ``most``
        of them. Raises as the rules do."""
        if not self.by_usage and len(rows) > most:
            return None
        known = self._known
        amounts = [snapshot.amounts(row) for row in rows]
        plain = [known.get(one) for one in amounts]
        if None in plain:
            if plain.count(None) > most:
                return None
            plain = self._asked(dict(zip(amounts, rows, strict=True)), amounts, pod, snapshot)
        if self.by_usage:
            return plain  # type: ignore[return-value]
        together = []
        for one, (passes, numbers) in zip(plain, self._others.ask(pod, snapshot, rows), strict=True):
            assert one is not None
            every = (*one[1], *numbers)
            if self._order is not None:
                every = tuple([every[at] for at in self._order])
            together.append((one[0] and passes, every))
        return together

    def _asked(
        self, row_with: dict[Amounts, int], amounts: Sequence[Amounts], pod: PodInfo, snapshot: Snapshot
    ) -> list[Answers | None]:
        """Of each of some amounts what the rules say of the row that has them, which are run for new amounts."""
        known = self._known
        if len(known) + len(row_with) > MOST_ROWS:
            known.clear()
        new = [one for one in row_with if one not in known]
        known.update(zip(new, self._by_usage.ask(pod, snapshot, [row_with[one] for one in new]), strict=True))
        return [known[one] for one in amounts]


class _Rules:
    """Some checks and scores."""

    __slots__ = ("checks", "scores")

    def __init__(self, checks: Sequence[CheckState], scores: Sequence[ScoreState]) -> None:
        self.checks = checks
        self.scores = scores

    def __bool__(self) -> bool:
        return bool(self.checks or self.scores)

    def ask(self, pod: PodInfo, snapshot: Snapshot, rows: Sequence[int]) -> list[Answers]:
        """What they say of rows now, (k,)."""
        there = snapshot.take(np.array(rows, np.int64))
        masks = [mask for check in self.checks for mask in check.predicate.check(pod, there).values()]
        refused = np.logical_or.reduce(masks).tolist() if masks else [False] * len(rows)
        numbers = [score.config.map(pod, there).tolist() for score in self.scores]
        every = zip(*numbers, strict=True) if numbers else [()] * len(rows)
        return [(not no, found) for no, found in zip(refused, every, strict=True)]
