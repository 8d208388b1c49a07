"""What each rule's score of one node was made of, worked out when somebody asks."""

from __future__ import annotations

from typing import Any

from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import wrap
from kubescheduler.core.decision_records import ExtenderTrace
from priorities.score_evidence import ScoreEvidence
from priorities.types import PriorityConfig

EXTENDERS_PAGE = "docs/reference/policy.md#what-they-mean"
CUSTOM_PAGE = "docs/how-to/write-your-own-rules.md"
UNKNOWN: dict[str, Any] = {"unknown": "a custom rule; what it looked at is not known"}


def raw_scores(config: PriorityConfig, pod: PodInfo, feasible: Snapshot) -> IntArray:
    """(n,) the raw scores of exactly the feasible rows. Raises PriorityError."""
    raw = config.map(pod, feasible)
    return raw if config.settle is None else config.settle(pod, feasible, raw)


def rule_evidence(
    config: PriorityConfig, release: str, pod: PodInfo, feasible: Snapshot, at: int, weight: int
) -> ScoreEvidence:
    """Of a priority, or of a plugin over columns. at: the node's position in ``feasible``.

    Raises PriorityError as scoring does.
    """
    raw = raw_scores(config, pod, feasible)
    final = raw if config.reduce is None else config.reduce(pod, feasible, raw)
    rule, constant = config.evidence, config.constant(pod)
    normalised = int(final[at]) if constant is None else constant
    if rule is None:
        return custom_evidence(config.name, int(raw[at]), normalised, weight)
    calculation = rule.score(pod, feasible, at)
    normalisation = None if rule.normalise is None else rule.normalise(pod, feasible, raw, at)
    inputs = dict(calculation.inputs)
    if normalisation is not None and normalisation.inputs:
        inputs["normalised by"] = normalisation.inputs
    return ScoreEvidence(
        rule=config.name,
        upstream=f"{release} {rule.upstream}",
        page=rule.page,
        inputs=inputs,
        formula=calculation.formula,
        raw=int(raw[at]),
        normalisation=None if normalisation is None else normalisation.formula,
        normalised=normalised,
        weight=weight,
        product=wrap(weight * normalised),
    )


def custom_evidence(name: str, raw: int, normalised: int, weight: int) -> ScoreEvidence:
    """Of a rule that a user wrote: no more than what it answered."""
    product = wrap(weight * normalised)
    return ScoreEvidence(name, "", CUSTOM_PAGE, UNKNOWN, None, raw, None, normalised, weight, product)


def extender_evidence(trace: ExtenderTrace, release: str, node: str, scale: int) -> ScoreEvidence | None:
    """Of an extender, whose scores are multiplied by ``scale`` besides its weight; None when it was not asked."""
    if trace.scores is None and trace.prioritize_error is None:
        return None
    answered = [score for host, score in trace.scores or () if host == node]
    inputs: dict[str, Any] = {"answered": answered or "no score for this node"}
    if trace.prioritize_error is not None:
        inputs = {"error": trace.prioritize_error}
    raw = sum(answered)
    return ScoreEvidence(
        rule=trace.name,
        upstream=f"{release} PrioritizeNodes",
        page=EXTENDERS_PAGE,
        inputs=inputs,
        formula=" + ".join(map(str, answered)) or "0",
        raw=raw,
        normalisation=None if scale == 1 else f"{raw} * {scale}",
        normalised=raw * scale,
        weight=trace.weight,
        product=wrap(trace.weight * raw * scale),
    )
