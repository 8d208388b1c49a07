"""What checks and scores say of the nodes of a decision, worked out for the rows that are shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
import numpy as np

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.growable import IntArray, Mask
from clusterstate.usage import wrap
from kubescheduler.core.decision import FRAMEWORK_SCALE, LEGACY_SCALE, Decision
from kubescheduler.core.pod_classes import Scores
from kubescheduler.core.status import Code
from kubescheduler.engine.spec import PodScheduler
from kubescheduler.lab.scene.scene import Scene
from predicates.types import NodeError
from priorities.score_evidence import ScoreEvidence


def shown_decision(scene: Scene, side: str, pod: str | None = None, *, thorough: bool = False) -> Decision:
    """``Scene.decision``; a rule of a user's own that raises, or answers what it must not, is the decision's error.

    Raises SceneFault.
    """
    try:
        return scene.decision(side, pod, thorough=thorough)
    except CustomCodeError as error:
        return _given_up(scene, side, scene.pod_key(pod), error)


def _given_up(scene: Scene, side: str, key: str, error: CustomCodeError) -> Decision:
    scheduler, pod = scene.decider(side, key), scene.cluster(side).find_pod(key)
    assert pod is not None
    names, listed = scheduler.cache.columns.published
    framework = scene.side(side).spec.record.framework is not None
    return Decision(
        pod,
        scene.side(side).release,
        names,
        listed,
        scheduler.cache.columns.node_count,
        coded=framework,
        scale=FRAMEWORK_SCALE if framework else LEGACY_SCALE,
        error=str(error),
        error_at=error.at or "filter",
    )


class CheckRows:
    """Refusals of the nodes of one decision, worked out for those that are asked for."""

    def __init__(self, found: Decision, thorough: Decision, scheduler: PodScheduler, *, every: bool) -> None:
        """thorough: where every check judged every node. every: its reasons are shown too."""
        self._found = found
        self._judged = thorough if every else found
        self._every = every
        self._scheduler = scheduler
        self._refuses = self._counted()

    def of(self, rows: IntArray) -> dict[int, dict[str, Any]]:
        """Row → whether the pod fits, the reasons by check, and the checks that the release reports.

        undecided: an error ended the attempt before anything was said of the node. leftOut: an extender's answer lacks
        the node, and gives no reason.
        """
        found = self._found
        fits = np.zeros(len(found.names), np.bool_)
        fits[found.feasible] = True
        reported = self._reported(rows)
        checks = only(self._judged, rows).checks() if self._every else {}
        codes = found.row_codes().tolist() if found.coded else []
        out: dict[int, dict[str, Any]] = {}
        for row in rows.tolist():
            name = found.names[row]
            said = reported.get(row, {})
            refused = {**checks.get(name, {}), **said}
            out[row] = {"fits": bool(fits[row]), "refused": refused, "reported": list(said)}
            if not said and not fits[row]:
                out[row]["undecided"] = found.error is not None
                out[row]["leftOut"] = self._left_out(row)
            if codes and row < len(codes) and not fits[row]:
                out[row]["code"] = Code(codes[row]).name
        return out

    def entries(self) -> list[dict[str, Any]]:
        """Every check in the order in which it runs, then what refuses nodes besides."""
        points = self._scheduler.points(self._found.pod)
        names = dict.fromkeys((*points.get("filter", ()), *self._refuses))
        return [{"id": name, "title": name, "refuses": self._refuses.get(name, 0)} for name in names]

    def _reported(self, rows: IntArray) -> dict[int, dict[str, list[str]]]:
        """Row → check → the reasons that the release reports."""
        found = self._found
        out: dict[int, dict[str, list[str]]] = {}
        for row, check, reasons, _ in only(found, rows).filter_failures():
            out.setdefault(row, {})[check] = [worded(reason, found.pod.key) for reason in reasons]
        outside = found.listed & ~found.looked_at
        if found.absent is not None:
            name = absent_name(found)
            for row in rows.tolist():
                if row < len(outside) and outside[row]:
                    out.setdefault(row, {})[name] = list(found.absent.all_reasons)
        for trace in found.extenders:
            said = {**(trace.failed or {}), **(trace.unresolvable or {})}
            for row in rows.tolist():
                if found.names[row] in said:
                    out.setdefault(row, {})[trace.name] = [said[found.names[row]]]
        return out

    def _left_out(self, row: int) -> bool:
        """Whether a node about which no check and no extender says anything passed the checks."""
        found = self._found
        filtered = any(trace.failed is not None for trace in found.extenders)
        return found.error is None and filtered and row < len(found.looked_at) and bool(found.looked_at[row])

    def _counted(self) -> dict[str, int]:
        """Check → how many nodes it refuses: as the release stops, or on its own."""
        found = self._judged
        left = found.looked_at.copy()
        out: dict[str, int] = {}
        for row, beside in found.with_nominated.items():
            if left[row]:
                left[row] = False
                for check in {check for check, _ in beside}:
                    out[check] = out.get(check, 0) + 1
        for check, verdict in (*found.verdicts, *found.idle):
            failed = np.logical_or.reduce(list(verdict.values()) or [np.zeros_like(left)]) & left
            out[check] = out.get(check, 0) + int(failed.sum())
            if not (self._every or found.every_reason):
                left &= ~failed
        if found.absent is not None:
            name = absent_name(found)
            out[name] = out.get(name, 0) + int((found.listed & ~found.looked_at).sum())
        for trace in found.extenders:
            out[trace.name] = len({**(trace.failed or {}), **(trace.unresolvable or {})})
        return out


def absent_name(found: Decision) -> str:
    """The PreFilter plugins that keep nodes from being looked at."""
    plugin = "" if found.absent is None else found.absent.plugin
    return plugin or ", ".join(found.pre_filter_plugins) or "PreFilter"


def only(found: Decision, rows: Iterable[int]) -> Decision:
    """The decision as if these nodes alone had been listed, so that nothing is worked out for others."""
    mask: Mask = np.zeros(len(found.listed), np.bool_)
    mask[[row for row in rows if row < len(mask)]] = True
    known = None if found.known is None else found.known & mask
    return attrs.evolve(found, listed=found.listed & mask, known=known)


def worded(reason: str, pod: str) -> str:
    """A reason, or an error as what it is."""
    return f"error: {reason.about(pod)}" if isinstance(reason, NodeError) else reason


NOBODY: tuple[str, ...] = ()


class ScoreRows:
    """Scores and ranks of the nodes of one decision; numbers by row are made for those that are asked for.

    places: (N,) how many nodes have a higher total; of a node that does not fit, more than any that does.
    """

    def __init__(self, found: Decision, scored: Decision) -> None:
        """scored: the same decision with every score, also where one node fits."""
        self._found = found
        self._scored = scored
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
        for one in self._besides(name):
            scores[one.rule] = {"raw": one.raw, "normalised": one.normalised, "product": one.product}
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
        out: list[dict[str, Any]] = [
            {"id": name, "title": name, "weight": scored.weights[name], "scale": scored.scale, **self._spread(name)}
            for name in scored.scores
        ]
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
