"""Extenders: what each is configured to be asked, and what it answered."""

from __future__ import annotations

from typing import Any

from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.core.decision_records import ExtenderTrace
from kubescheduler.core.extender_calls import Extender
from kubescheduler.engine.engine_contract import PodScheduler

MOST_NODES = 500
"""Nodes of an answer that are named; more are counted."""


def extender_entries(found: Decision, scheduler: PodScheduler) -> list[dict[str, Any]]:
    """Every configured extender, in the order they are asked; without an answer where the attempt did not come to it or
    ended in its failure, which is the decision's error then."""
    traces = list(found.extenders)
    out = []
    for at, extender in enumerate(scheduler.algorithm.extenders):
        trace = traces[at] if at < len(traces) else None
        out.append({**_request(extender, found.pod), **_answer(trace)})
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


def _answer(trace: ExtenderTrace | None) -> dict[str, Any]:
    if trace is None:
        return {"answered": False, "failed": None, "unresolvable": None, "scores": None, "error": None}
    scores = trace.scores
    return {
        "answered": trace.failed is not None or scores is not None,
        "failed": None if trace.failed is None else dict(list(trace.failed.items())[:MOST_NODES]),
        "unresolvable": None if trace.unresolvable is None else dict(list(trace.unresolvable.items())[:MOST_NODES]),
        "scores": None if scores is None else [{"node": node, "score": score} for node, score in scores[:MOST_NODES]],
        "error": trace.filter_error or trace.prioritize_error,
    }
