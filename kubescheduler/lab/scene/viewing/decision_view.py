"""The verb ``decision``: one pod's decision, with some of the nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from clusterstate.growable import IntArray, Mask
from kubescheduler.core.decision import Decision
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verb_parameters import RowParameters, parameters
from kubescheduler.lab.scene.viewing.check_rows import CheckRows
from kubescheduler.lab.scene.viewing.decision_steps import steps
from kubescheduler.lab.scene.viewing.extender_view import extender_entries
from kubescheduler.lab.scene.viewing.preemption_view import preemption_entry
from kubescheduler.lab.scene.viewing.score_rows import ScoreRows
from kubescheduler.lab.scene.viewing.shown_decisions import shown_decision
from kubescheduler.lab.scene.viewing.ties_view import ties_entry


class DecisionParameters(RowParameters, frozen=True, kw_only=True):
    """Of ``decision``."""

    order: Literal["rank", "name"] = "rank"
    """By rank: those that fit by their totals, then the others by name."""
    all: bool = False
    """Every check's reasons, beyond those at which the release stops."""
    pod: str | None = None
    """``namespace/name``; by default the pod that is asked about."""


def decision(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Where the pod goes, and what every check and score says of some nodes."""
    want = parameters(DecisionParameters, asked)
    found = shown_decision(scene, want.side, want.pod)
    thorough = shown_decision(scene, want.side, want.pod, thorough=True) if want.all and not found.extenders else found
    scheduler = scene.decider(want.side, want.pod)
    scored = found.thorough()
    checks = CheckRows(found, thorough, scheduler, every=want.all)
    scores = ScoreRows(found, scored, scheduler)
    shown = _shown(found, want.find)
    rows = _ordered(shown, scores, ranks_of(found, scheduler.cache.columns.ranks), want.order)
    refusals, numbers = checks.of(rows[want.part]), scores.of(rows[want.part])
    return {
        "pod": found.pod.key,
        "release": found.release,
        "host": found.host,
        "message": found.message,
        "error": found.error,
        "tried": found.tried,
        "notes": list(found.notes),
        "nominated": found.nominated,
        "fits": len(found.feasible),
        "total": len(shown),
        "steps": steps(found, scheduler),
        "checks": checks.entries(),
        "rules": scores.entries(),
        "highest": scores.highest(),
        "scored": bool(len(found.totals)),
        "scoredText": _scored_text(found),
        "nodes": [{"name": found.names[row], **refusals[row], **numbers[row]} for row in rows[want.part].tolist()],
        "ties": ties_entry(scored, scene.engine(want.side), scene.side(want.side)),
        "preemption": preemption_entry(found, scene.engine(want.side)),
        "extenders": extender_entries(found, scheduler),
    }


def ranks_of(found: Decision, ranks: IntArray) -> IntArray:
    """(N,) each row's place by name; ranks: those of the cluster, which lacks nodes that an extender answered."""
    if len(ranks) == len(found.names):
        return ranks
    out = np.empty(len(found.names), np.int64)
    out[sorted(range(len(found.names)), key=lambda row: found.names[row].encode())] = np.arange(len(found.names))
    return out


def _shown(found: Decision, text: str) -> IntArray:
    """(n,) the rows of the nodes there are, of those whose name has the text."""
    there: Mask = np.zeros(len(found.names), np.bool_)
    there[: len(found.listed)] = found.listed if found.known is None else found.known
    there[found.feasible] = True
    rows = np.flatnonzero(there)
    if not text:
        return rows
    return rows[np.array([text in found.names[row] for row in rows.tolist()], np.bool_)] if len(rows) else rows


def _ordered(rows: IntArray, scores: ScoreRows, ranks: IntArray, order: str) -> IntArray:
    """(n,) the same rows: by name, or the best first."""
    if order == "name":
        return rows[ranks[rows].argsort()]
    return rows[np.lexsort((ranks[rows], scores.places[rows]))]


def _scored_text(found: Decision) -> str:
    if len(found.totals) or not len(found.feasible):
        return ""
    if found.from_kept_ranking:
        return "The node is the next of the ranking that was kept from the pod before; nothing was scored."
    return "One node fits, and the release takes it without scoring; these are the scores that it would have had."
