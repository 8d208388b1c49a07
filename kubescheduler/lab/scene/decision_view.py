"""The verb ``decision``: the attempt step by step, its checks and scores by node, extenders, preemption and ties.

``decision`` at the end puts the parts together, which come before it in the order of an attempt.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
import numpy as np

from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.core.extender_calls import Extender, ExtenderTrace
from kubescheduler.core.preemption_choice import (
    CHEAPEST,
    LATEST_START,
    NO_VICTIM,
    PRIORITY_OFFSET,
    Preemption,
    Victims,
    earliest_start,
)
from kubescheduler.core.results import counted
from kubescheduler.core.selection import InTurnTie, RandomTie, ReservoirTie, RoundRobinTie
from kubescheduler.core.status import Code
from kubescheduler.engine.spec import Engine, PodScheduler
from kubescheduler.framework.deciding.score_plugins import HeapTie
from kubescheduler.lab.scene.decision_rows import CheckRows, ScoreRows, shown_decision
from kubescheduler.lab.scene.scene import Scene, Verb, part, verb
from kubescheduler.lab.scene.scene_state import Side

PASSED, STOPPED, SKIPPED, NONE = "passed", "stopped", "skipped", "none"
"""What became of a step: it let the pod on, it ended the attempt, it had nothing to do, it was not come to."""


class AttemptStep(msgspec.Struct, frozen=True):
    """One step."""

    id: str
    """What the page knows it by."""
    title: str
    """The release's name for it."""
    state: str
    """``passed``, ``stopped``, ``skipped`` or ``none``."""
    text: str
    """What happened, in one line."""


def steps(found: Decision, scheduler: PodScheduler) -> list[dict[str, Any]]:
    """Every step of the release in order."""
    every = _framework(found, scheduler) if found.coded else _legacy(found)
    return [msgspec.structs.asdict(step) for step in every]


# --- what a decision says of its own course ------------------------------------------------------


def passed_rows(found: Decision) -> int:
    """Nodes that no check refuses, also where an error ended the attempt afterwards."""
    if found.error is None:
        return len(found.feasible)
    codes = found.row_codes()
    return int((found.looked_at & (codes == Code.Success)).sum()) if found.verdicts else 0


def _passing(found: Decision) -> str:
    """Whether some node passes the checks; what was scored did."""
    return PASSED if passed_rows(found) or found.error_at == "score" else STOPPED


def _counted(found: Decision) -> str:
    if found.error is not None and not found.verdicts:
        return ""
    looked, fits = int(found.looked_at.sum()), passed_rows(found)
    return f"{fits} of {counted(looked, 'node')} fit{'s' * (fits == 1)}"


# --- releases with predicates and priorities -----------------------------------------------------

Outcome = tuple[str, str]
"""(state, text) of a step."""


def _legacy(found: Decision) -> Iterator[AttemptStep]:
    failed = found.error_at
    if not found.tried:
        yield AttemptStep("predicates", "Predicates", STOPPED, found.message)
    elif failed == "filter":
        yield AttemptStep("predicates", "Predicates", STOPPED, found.error or "")
    else:
        yield AttemptStep("predicates", "Predicates", _passing(found), _counted(found))
    yield AttemptStep("priorities", "Priorities", *_scoring(found, failed))
    yield AttemptStep("select", "Select", *_select(found))
    if found.preemption is not None or failed == "postFilter":
        yield AttemptStep("preemption", "Preemption", *_preempting(found))
    yield AttemptStep("bind", "Bind", *_bind(found))


def _scoring(found: Decision, failed: str) -> Outcome:
    if failed == "score":
        return STOPPED, found.error or ""
    if found.host is None:
        return NONE, ""
    if not len(found.totals):
        return SKIPPED, "one node fits; the release takes it unscored"
    return PASSED, f"{len(found.totals)} nodes scored by {len(found.scores)} rules"


def _select(found: Decision) -> Outcome:
    if found.host is None:
        return NONE, ""
    best = int((found.totals == found.totals.max()).sum()) if len(found.totals) else 1
    return PASSED, f"{found.host}, one of {best} nodes with the highest total" if best > 1 else found.host


def _preempting(found: Decision) -> Outcome:
    if found.error_at == "postFilter":
        return STOPPED, found.error or ""
    if found.preemption is not None and found.preemption.chosen:
        node = found.nominated or found.preemption.chosen[0]
        victims = found.preemption.candidates.get(node)
        gone = 0 if victims is None else len(victims.pods)
        return PASSED, f"evicting {counted(gone, 'pod')} makes room on {node}"
    return STOPPED, found.post_filter_message or "evicting pods of lower priority makes room nowhere"


def _bind(found: Decision) -> Outcome:
    return (NONE, "") if found.host is None else (PASSED, f"the pod is bound to {found.host}")


# --- releases with plugins -----------------------------------------------------------------------


def _framework(found: Decision, scheduler: PodScheduler) -> Iterator[AttemptStep]:
    foreign = scheduler.foreign(found.pod)
    points = scheduler.points(found.pod)
    failed = found.error_at
    yield AttemptStep("gates", "PreEnqueue", *_gates(found, foreign, points.get("preEnqueue", ())))
    yield AttemptStep("queue", "Queue", STOPPED if foreign else PASSED if found.tried else NONE, foreign)
    yield AttemptStep("preFilter", "PreFilter", *_pre_filter(found, failed))
    yield AttemptStep("filter", "Filter", *_filter(found, failed))
    yield AttemptStep("postFilter", "PostFilter", *_post_filter(found))
    scored, text = _scoring(found, failed)
    yield AttemptStep("preScore", "PreScore", PASSED if scored == STOPPED else scored, "")
    yield AttemptStep("score", "Score", scored, text)
    yield AttemptStep("normalise", "Normalise", NONE if scored == STOPPED else scored, "")
    yield AttemptStep("select", "Select", *_select(found))
    for step, title in (("reserve", "Reserve"), ("permit", "Permit")):
        plugins = points.get(step, ())
        state = NONE if found.host is None else PASSED if plugins else SKIPPED
        yield AttemptStep(step, title, state, ", ".join(plugins))
    yield AttemptStep("bind", "Bind", *_bind(found))


def _gates(found: Decision, foreign: str, plugins: tuple[str, ...]) -> Outcome:
    if found.tried or foreign:
        return NONE if foreign else PASSED if plugins else SKIPPED, ", ".join(plugins)
    return STOPPED, found.message


def _pre_filter(found: Decision, failed: str) -> Outcome:
    if not found.tried:
        return NONE, ""
    if failed == "preFilter":
        return STOPPED, found.error or ""
    if found.pre_filter_rejection is not None:
        return STOPPED, found.pre_filter_message
    if found.absent is not None:
        names, left = ", ".join(found.pre_filter_plugins), int(found.looked_at.sum())
        return PASSED, f"{names} leaves {counted(left, 'node')} to look at"
    return PASSED, ""


def _filter(found: Decision, failed: str) -> Outcome:
    if not found.tried or failed == "preFilter" or found.pre_filter_rejection is not None:
        return NONE, ""
    if failed == "filter":
        return STOPPED, found.error or ""
    if found.from_kept_ranking:
        return PASSED, f"{found.host} was checked alone, as the next of a kept ranking"
    return _passing(found), _counted(found)


def _post_filter(found: Decision) -> Outcome:
    if found.host is not None or found.error_at in ("preFilter", "filter", "score") or not found.tried:
        return SKIPPED if found.host is not None else NONE, ""
    if found.preemption is None and found.error_at != "postFilter":
        return SKIPPED, found.post_filter_message
    return _preempting(found)


MOST_NODES = 500
"""Nodes of an answer that are named; more are counted."""


def extender_entries(found: Decision, scheduler: PodScheduler) -> list[dict[str, Any]]:
    """Every configured extender, in the order they are asked; without an answer where the attempt did not come to it or
    ended in its failure, which is the decision's error then."""
    traces = list(found.extenders)
    out = []
    for at, extender in enumerate(scheduler.algorithm.extenders):
        trace = traces[at] if at < len(traces) else None
        out.append({**_request(extender, found.pod), **extender_answer(trace)})
    return out


def _request(extender: Extender, pod: Pod) -> dict[str, Any]:
    config = extender.config
    verbs = {
        "filter": config.filter_verb,
        "prioritize": config.prioritize_verb,
        "preempt": config.preempt_verb,
        "bind": config.bind_verb,
    }
    return {
        "name": config.name,
        "weight": config.weight,
        "request": {
            "verbs": {name: verb for name, verb in verbs.items() if verb},
            "ignorable": config.ignorable,
            "interested": extender.is_interested(pod),
        },
    }


def extender_answer(trace: ExtenderTrace | None) -> dict[str, Any]:
    """What an extender answered, or nothing of everything where it was not asked; of long answers the beginning."""
    if trace is None:
        return {"refused": None, "refusedTotal": 0, "scores": None, "scoresTotal": 0, "error": None}
    refused, scores = trace.failed, trace.scores
    if refused is not None:
        refused = {**refused, **(trace.unresolvable or {})}
    return {
        "refused": None if refused is None else dict(list(refused.items())[:MOST_NODES]),
        "refusedTotal": len(refused or ()),
        "scores": None if scores is None else [{"node": node, "score": score} for node, score in scores[:MOST_NODES]],
        "scoresTotal": len(scores or ()),
        "error": trace.filter_error or trace.prioritize_error,
    }


MOST_CANDIDATES = 60
"""Candidates, and nodes that a rule leaves, that are named; more are counted."""


def preemption_entry(decision: Decision, engine: Engine) -> dict[str, Any] | None:
    """What preemption would do; None where it was not needed, or the release has none."""
    found = decision.preemption
    if found is None:
        return None
    names = list(dict.fromkeys((*found.chosen[:MOST_CANDIDATES], *sorted(found.candidates, key=str.encode))))
    return {
        "text": preemption_text(decision, found),
        "candidates": [_candidate(name, found) for name in names[:MOST_CANDIDATES]],
        "candidatesTotal": len(names),
        "rules": [*_rules(found)],
        "tie": f"release {engine.release} may pick any of {len(found.chosen)}; here the first by name"
        if len(found.chosen) > 1
        else "",
    }


COMPARED: Mapping[str, Callable[[Victims], str]] = {
    NO_VICTIM: lambda victims: f"{len(victims.pods):,} victims",
    CHEAPEST[0]: lambda victims: f"{victims.violations:,}",
    CHEAPEST[1]: lambda victims: f"{victims.pods[0].priority:,}" if victims.pods else "no victim",
    CHEAPEST[2]: lambda victims: f"{sum(pod.priority + PRIORITY_OFFSET for pod in victims.pods):,}",
    CHEAPEST[3]: lambda victims: f"{len(victims.pods):,}",
    LATEST_START: lambda victims: _moment(earliest_start(victims.pods)),
}
"""Rule → the number of a candidate that it compares. Upstream adds 2³¹ to each priority before it sums them."""


def _rules(found: Preemption) -> Iterator[dict[str, Any]]:
    """The rules by which a node is picked, with what each compared of the nodes that those before it had left."""
    compared: Sequence[str] = sorted(found.candidates, key=str.encode)
    for step in found.pick():
        yield {
            "text": step.rule,
            "compared": [
                {"node": node, "number": COMPARED[step.rule](found.candidates[node]), "left": node in step.left}
                for node in compared[:MOST_CANDIDATES]
            ],
            "left": list(step.left[:MOST_CANDIDATES]),
            "leftTotal": len(step.left),
            "decided": step.decided,
        }
        compared = step.left


def _moment(seconds: float) -> str:
    """A start as text; infinite where there is none."""
    if math.isinf(seconds):
        return "no start"
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def preemption_text(decision: Decision, found: Preemption) -> str:
    """In a line: on which node who would go, or why nobody does."""
    if found.chosen:
        node = found.chosen[0]
        gone = [pod.key for pod in found.candidates[node].pods]
        who = ", ".join(gone[:3]) + (f" and {len(gone) - 3} more" if len(gone) > 3 else "") or "nobody"
        return f"Evicting {who} makes room on {node}, to which the pod is nominated"
    if decision.post_filter_message:
        return decision.post_filter_message
    if found.keeps_nomination:
        return "The pod may not preempt now"
    return "Evicting pods of lower priority makes room on no node"


def _candidate(name: str, found: Preemption) -> dict[str, Any]:
    victims = found.candidates[name]
    return {
        "node": name,
        "victims": [_victim(victims, at) for at in range(len(victims.pods))],
        "chosen": name in found.chosen,
    }


def _victim(victims: Victims, at: int) -> dict[str, Any]:
    pod = victims.pods[at]
    return {
        "key": pod.key,
        "priority": pod.priority,
        "pdbViolated": at < victims.violations,
    }


MOST_TIED = 100
"""Tied nodes that are named."""

CHOICES: Mapping[type, str] = {
    InTurnTie: "takes them in turn, one further with each pod it schedules",
    RoundRobinTie: "takes them in turn, by descending name, one further with each pod it schedules",
    ReservoirTie: "draws one of them, each with equal chance",
    HeapTie: "takes the one at the root of the heap that it ranks nodes in, which follows from the order in which "
    "it came to them",
    RandomTie: "draws one of them, each with equal chance",
}
"""How a release chooses among equal totals."""


def ties_entry(scored: Decision, engine: Engine, side: Side) -> dict[str, Any] | None:
    """The nodes that tie; None where one is alone at the top, or nothing was scored."""
    if not len(scored.totals) or int((scored.totals == scored.totals.max()).sum()) < 2:
        return None
    best = scored.best()
    return {"nodes": best[:MOST_TIED], "total": len(best), "text": _text(scored, engine, side, len(best))}


def _text(scored: Decision, engine: Engine, side: Side, count: int) -> str:
    total = int(scored.totals.max())
    upstream = f"kube-scheduler {scored.release} {CHOICES[type(engine.upstream_tie(random.Random(0)))]}"
    here = {
        "first": f"here the first by name is taken, so that the answer repeats; {upstream}",
        "random": f"here any of them is drawn; {upstream}",
        "upstream": upstream,
    }[side.tie_break]
    return f"{count} nodes have the highest total, {total}: {here}."


@verb
def decision(
    scene: Scene,
    side: str = "a",
    from_: int = 0,
    to: int = 60,
    find: str = "",
    order: Literal["rank", "name"] = "rank",
    all: bool = False,  # noqa: A002 - as the page calls it
    pod: str | None = None,
) -> dict[str, Any]:
    """Where the pod goes, and what every check and score says of some nodes.

    from_, to, find: see ``part``. order: by rank, those that fit by their totals, then the others by name; or all by
    name. all: every check's reasons, beyond those at which the release stops. pod: ``namespace/name``; by default the
    pod that is asked about.

    fits, nodesTotal: of all nodes; total, fitting: how many there are, and fit, of those whose names have ``find``.
    """
    found = shown_decision(scene, side, pod)
    thorough = shown_decision(scene, side, pod, thorough=True) if all and not found.extenders else found
    scheduler = scene.decider(side, pod)
    scored = found.thorough()
    checks = CheckRows(found, thorough, scheduler, every=all)
    scores = ScoreRows(found, scored)
    there = _there(found)
    shown = there[np.array([find in found.names[row] for row in there.tolist()], np.bool_)] if find else there
    ordered = _ordered(shown, scores, ranks_of(found, scheduler.cache.columns.ranks), order)
    rows = ordered[part(from_, to)]
    refusals, numbers = checks.of(rows), scores.of(rows)
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
        "nodesTotal": len(there),
        "total": len(shown),
        "fitting": int(np.isin(shown, found.feasible).sum()),
        "steps": steps(found, scheduler),
        "checks": checks.entries(),
        "rules": scores.entries(),
        "highest": scores.highest(),
        "scored": bool(len(found.totals)),
        "scoredText": _scored_text(found),
        "nodes": [{"name": found.names[row], **refusals[row], **numbers[row]} for row in rows.tolist()],
        "ties": ties_entry(scored, scene.engine(side), scene.side(side)),
        "preemption": preemption_entry(found, scene.engine(side)),
        "extenders": extender_entries(found, scheduler),
    }


def ranks_of(found: Decision, ranks: IntArray) -> IntArray:
    """(N,) each row's place by name; ranks: those of the cluster, which lacks nodes that an extender answered."""
    if len(ranks) == len(found.names):
        return ranks
    out = np.empty(len(found.names), np.int64)
    out[sorted(range(len(found.names)), key=lambda row: found.names[row].encode())] = np.arange(len(found.names))
    return out


def _there(found: Decision) -> IntArray:
    """(n,) the rows of the nodes there are."""
    there: Mask = np.zeros(len(found.names), np.bool_)
    there[: len(found.listed)] = found.listed if found.known is None else found.known
    there[found.feasible] = True
    return np.flatnonzero(there)


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


VIEWS: Mapping[str, Verb] = {"decision": decision}
