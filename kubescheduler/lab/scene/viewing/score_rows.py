"""What the rules that score give some nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterstate.growable import IntArray
from clusterstate.usage import wrap
from kubescheduler.core.decision import Decision
from kubescheduler.core.evidence import CUSTOM_PAGE
from kubescheduler.core.lazy_results import Scores
from kubescheduler.engine.engine_contract import PodScheduler
from priorities.score_evidence import ScoreEvidence

NOBODY: tuple[str, ...] = ()


class ScoreRows:
    """Scores and ranks of the nodes of one decision; numbers by row are made for those that are asked for.

    places: (N,) how many nodes have a higher total; of a node that does not fit, more than any that does.
    """

    def __init__(self, found: Decision, scored: Decision, scheduler: PodScheduler) -> None:
        """scored: the same decision with every score, also where one node fits."""
        self._found = found
        self._scored = scored
        self._scheduler = scheduler
        self._raws: dict[str, Scores] = {}
        size = len(found.names)
        self._at = np.full(size, -1, np.int64)
        self._at[scored.feasible] = np.arange(len(scored.feasible))
        self.places = np.full(size, size, np.int64)
        self.places[found.feasible] = 0
        totals = scored.totals
        if len(totals):
            self.places[scored.feasible] = len(totals) - np.searchsorted(np.sort(totals), totals, side="right")

    def of(self, rows: IntArray) -> dict[int, dict[str, Any]]:
        """Row → scores by rule, total, rank, and whether it is among the best or chosen."""
        return {row: self._of(row, int(self._at[row])) for row in rows.tolist()}

    def _of(self, row: int, at: int) -> dict[str, Any]:
        scored, name = self._scored, self._found.names[row]
        if at < 0 or not len(scored.totals):
            return {"scores": {}, "total": None, "rank": None, "best": False, "chosen": name == self._found.host}
        scores = {rule: self._numbers(rule, at) for rule in scored.scores}
        scores |= {one.rule: _of_evidence(one) for one in self._besides(name)}
        place = int(self.places[row])
        return {
            "scores": scores,
            "total": int(scored.totals[at]),
            "rank": place + 1,
            "best": place == 0,
            "chosen": name == self._found.host,
        }

    def _raw(self, rule: str) -> Scores:
        if rule not in self._raws:
            self._raws[rule] = self._scored.raw_scores(rule)
        return self._raws[rule]

    def _numbers(self, rule: str, at: int) -> dict[str, int]:
        scored = self._scored
        final, raw = _one(scored.scores[rule], at), _one(self._raw(rule), at)
        return {"raw": raw, "normalised": final, "product": wrap(scored.weights[rule] * final)}

    def _besides(self, name: str) -> tuple[ScoreEvidence, ...]:
        """What extenders give a node, or that every node counts 1 where no rule scores."""
        scored = self._scored
        if scored.scores and all(t.scores is None and t.prioritize_error is None for t in scored.extenders):
            return ()
        return scored.score_evidence(name, NOBODY)

    def entries(self) -> list[dict[str, Any]]:
        """Every rule that scores, with its weight, and what it makes of all nodes that fit: ``alike`` is the product
        that each of them gets, None where they differ; ``greatest`` the largest score of either sign."""
        scored = self._scored
        rules = {one.config.name: one.config.evidence for one in self._scheduler.algorithm.priorities}
        out: list[dict[str, Any]] = []
        for name in scored.scores:
            evidence = rules.get(name)
            out.append(
                {
                    "id": name,
                    "title": name,
                    "weight": scored.weights[name],
                    "page": CUSTOM_PAGE if evidence is None else evidence.page,
                    "upstream": "" if evidence is None else f"{scored.release} {evidence.upstream}",
                    "scale": scored.scale,
                    **self._spread(name),
                }
            )
        if len(scored.totals):
            out += [self._entry_of(one) for one in self._besides(scored.names[int(scored.feasible[0])])]
        return out

    def highest(self) -> int | None:
        """The largest total; None where nothing was scored."""
        return int(self._scored.totals.max()) if len(self._scored.totals) else None

    def _spread(self, rule: str) -> dict[str, Any]:
        final, weight = self._scored.scores[rule], self._scored.weights[rule]
        same = isinstance(final, int) or len(final) == 0 or int(final.min()) == int(final.max())
        return {
            "alike": wrap(weight * _one(final, 0)) if same and len(self._scored.totals) else None,
            "greatest": {"raw": _greatest(self._raw(rule)), "normalised": _greatest(final)},
        }

    def _entry_of(self, one: ScoreEvidence) -> dict[str, Any]:
        """Of what scores besides the rules; one: its evidence of the first node that fits."""
        answered = self._answered(one.rule)
        at = int(np.abs(answered).argmax())
        name = self._scored.names[int(self._scored.feasible[at])]
        most = next(other for other in self._besides(name) if other.rule == one.rule)
        return {
            "id": one.rule,
            "title": one.rule,
            "weight": one.weight,
            "page": one.page,
            "upstream": one.upstream,
            "scale": self._scored.scale,
            "alike": one.product if int(answered.min()) == int(answered.max()) else None,
            "greatest": {"raw": abs(most.raw), "normalised": abs(most.normalised)},
        }

    def _answered(self, extender: str) -> IntArray:
        """(n,) what an extender answered of each node that fits; 0 of every one where it is none."""
        scored = self._scored
        out = np.zeros(len(scored.feasible), np.int64)
        pairs = [pair for trace in scored.extenders if trace.name == extender for pair in trace.scores or ()]
        if pairs:
            places = {scored.names[row]: at for at, row in enumerate(scored.feasible.tolist())}
            known = [(places[node], score) for node, score in pairs if node in places]
            np.add.at(out, [at for at, _ in known], [score for _, score in known])
        return out


def _greatest(scores: Scores) -> int:
    """The largest amount of one rule's scores, of either sign."""
    if isinstance(scores, int):
        return abs(scores)
    return int(np.abs(scores).max()) if len(scores) else 0


def _one(scores: Scores, at: int) -> int:
    return scores if isinstance(scores, int) else int(scores[at])


def _of_evidence(one: ScoreEvidence) -> dict[str, int]:
    return {"raw": one.raw, "normalised": one.normalised, "product": one.product}
