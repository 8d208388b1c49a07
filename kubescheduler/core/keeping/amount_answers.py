"""What rules that follow from the amounts on a row come to together, by the code of the amounts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clusterstate.counting.amount_codes import AmountCodes
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.holding.usage_answers import RowVerdict, row_verdicts
from kubescheduler.core.verdicts import CheckState, ScoreState

FARTHEST = 1 << 59
"""What rules come to, and all others together, where it is less than this far from 0."""
REFUSED = -(1 << 61)
"""Stands for what the rules come to on a row that some check refuses, in sums too."""
UNKNOWN = -(1 << 63)
"""Stands for what was not asked yet."""
FIRST_CODES = 64
"""For so many there is room at first."""


class AmountAnswers:
    """Answers of some checks and scores for pods that are alike to them."""

    __slots__ = ("_checks", "_generation", "_scores", "_weights", "numbers", "refusals", "totals")

    def __init__(
        self, checks: Sequence[CheckState], scores: Sequence[ScoreState], weights: Sequence[int], codes: AmountCodes
    ) -> None:
        """weights: of each of the scores."""
        self._checks = checks
        self._scores = scores
        self._weights = weights
        self._generation = codes.generation
        self.totals: IntArray = np.full(FIRST_CODES, UNKNOWN, np.int64)
        """(C,) by code the weighted sum of the scores, or ``REFUSED``."""
        self.numbers: IntArray = np.zeros((len(scores), FIRST_CODES), np.int64)
        """(S, C) what each rule scores."""
        self.refusals: dict[int, tuple[RowVerdict, ...]] = {}
        """Code that is refused → what each check says."""

    def is_of(self, codes: AmountCodes) -> bool:
        """Whether codes still mean what they meant."""
        return self._generation == codes.generation

    def known(self, code: int) -> int:
        """What the rules come to, ``REFUSED``, or ``UNKNOWN``, which is less."""
        return self.totals.item(code) if code < len(self.totals) else UNKNOWN

    def of(self, now: IntArray, rows: IntArray, count: int, pod: PodInfo, snapshot: Snapshot) -> IntArray | None:
        """(k,) what the rules come to for codes of rows, (k,) each, of so many codes that there are; None: it is too
        far from 0. Raises as rules do."""
        if count > len(self.totals):
            self._make_room(count)
        found: IntArray = self.totals[now]
        if UNKNOWN in found:
            new = found == UNKNOWN
            if not self._ask(dict(zip(now[new].tolist(), rows[new].tolist(), strict=True)), pod, snapshot):
                return None
            found = self.totals[now]
        return found

    def _make_room(self, count: int) -> None:
        self.totals = np.concatenate((self.totals, np.full(count, UNKNOWN, np.int64)))
        self.numbers = np.concatenate((self.numbers, np.zeros((len(self._scores), count), np.int64)), axis=1)

    def _ask(self, row_with: dict[int, int], pod: PodInfo, snapshot: Snapshot) -> bool:
        """Asks about codes by a row that has each; whether all are near enough to 0."""
        there = snapshot.take(np.array(list(row_with.values()), np.int64))
        numbers = [score.config.map(pod, there).tolist() for score in self._scores]
        verdicts = [row_verdicts(check.predicate, pod, there) for check in self._checks]
        for at, code in enumerate(row_with):
            scores = [of_rule[at] for of_rule in numbers]
            total = sum([weight * score for weight, score in zip(self._weights, scores, strict=True)])
            if abs(total) >= FARTHEST:
                return False
            said = tuple([of_check[at] for of_check in verdicts])
            if any([reasons for reasons, _ in said]):  # noqa: C419
                self.refusals[code] = said
                total = REFUSED
            self.totals[code] = total
            self.numbers[:, code] = scores
        return True
