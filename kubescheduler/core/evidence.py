"""Why nodes were refused, and what scores were made of: worked out when somebody asks, by the rules that decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import wrap
from kubescheduler.core.extender_calls import ExtenderTrace
from kubescheduler.core.filter_results import FilterResults
from kubescheduler.core.results import Shown, ShownTable
from priorities.score_evidence import ScoreEvidence
from priorities.types import PriorityConfig, PriorityError

EXTENDERS_PAGE = "docs/how-to/extenders.md"
NOTHING_SCORES_PAGE = "docs/reference/policy.md#what-they-mean"
CUSTOM_PAGE = "docs/how-to/write-your-own-rules.md"
UNKNOWN: dict[str, Any] = {"unknown": "a custom rule; what it looked at is not known"}


RawAndFinal = tuple[IntArray, IntArray]
"""((n,) raw scores, (n,) the same normalised) of the feasible rows."""


def worked_out(config: PriorityConfig, pod: PodInfo, feasible: Snapshot) -> RawAndFinal:
    """What a priority, or a plugin over columns, gives the feasible rows. Raises PriorityError as scoring does."""
    return config.raw_and_final(pod, feasible, config.map(pod, feasible))


def rule_evidence(
    config: PriorityConfig,
    release: str,
    pod: PodInfo,
    feasible: Snapshot,
    at: int,
    weight: int,
    numbers: Callable[[PriorityConfig, PodInfo, Snapshot], RawAndFinal] = worked_out,
) -> ScoreEvidence:
    """Of a priority, or of a plugin over columns. at: the node's position in ``feasible``.

    numbers: ``worked_out``, which may remember its answers. Raises PriorityError as scoring does.
    """
    constant = config.constant(pod)
    try:
        raw, final = numbers(config, pod, feasible)
    except PriorityError:
        if constant is None:
            raise
        return _constant_evidence(config, release, constant, weight)
    normalised = int(final[at]) if constant is None else constant
    rule = config.evidence
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


def _constant_evidence(config: PriorityConfig, release: str, constant: int, weight: int) -> ScoreEvidence:
    """Of a rule that would fail on the nodes, but never gets to them for this pod."""
    evidence = custom_evidence(config.name, constant, constant, weight)
    if config.evidence is None:
        return evidence
    upstream, inputs = f"{release} {config.evidence.upstream}", {"decided by": "the pod alone"}
    return msgspec.structs.replace(
        evidence, upstream=upstream, page=config.evidence.page, inputs=inputs, formula=str(constant)
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


def nothing_scores(release: str) -> ScoreEvidence:
    """Every node counts 1 where no rule scores at all."""
    inputs = {"rules that score": "none"}
    return ScoreEvidence("no rule", f"{release} PrioritizeNodes", NOTHING_SCORES_PAGE, inputs, "1", 1, None, 1, 1, 1)


# --- why a node was refused or fits -------------------------------------------------------------

PLUGINS_PAGE = "docs/reference/plugins.md"


class RefusalEvidence(msgspec.Struct, frozen=True):
    """One reason for which a node was refused, and what it was made of."""

    rule: str
    """The registered key of the predicate or plugin, or the extender's address."""
    upstream: str
    """The release and its name for the rule: ``1.16 PodFitsResources``; empty for a custom rule."""
    page: str
    """Where docs/ describe the rule: ``docs/reference/predicates.md#podfitsresources``."""
    reason: str
    """The release's own text."""
    text: str
    """The facts in one line: ``asks 5, 3 of 4 free``; empty where no more than the reason is known."""
    facts: Mapping[str, Any]
    """The facts as plain data."""
    refuses: bool
    """Whether the facts alone refuse the node."""
    beside_nominated: bool = False
    """Whether the node is refused only with the pods that are nominated there."""

    @property
    def sentence(self) -> str:
        """``Insufficient cpu: asks 5, 3 of 4 free``."""
        return f"{self.reason}: {self.text}" if self.text else self.reason

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return msgspec.structs.asdict(self)


class NodeExplanation(Shown, msgspec.Struct, frozen=True):
    """Why a decision found one node fitting or not."""

    node: str
    """Its name."""
    fits: bool
    """Whether the pod fits there."""
    reported: tuple[str, ...]
    """The reasons as the release reports them; none where the pod fits."""
    refusals: tuple[RefusalEvidence, ...]
    """Every check's reasons, also those that the release does not report as it stops at the first."""
    scores: tuple[ScoreEvidence, ...] = ()
    """What each score of the node was made of."""

    def table(self) -> ShownTable:
        """The checks that refuse the node, or its scores with how each was worked out."""
        title = f"{self.node}: {'fits' if self.fits else 'does not fit'}"
        if self.refusals:
            rows = [(one.rule, one.sentence) for one in self.refusals]
            return ShownTable(title, ("check", "reason"), rows)
        scored = [
            (one.rule, one.normalised, one.weight, one.product, one.normalisation or one.formula or "")
            for one in self.scores
        ]
        return ShownTable(title, ("rule", "score", "weight", "product", "worked out"), scored)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "node": self.node,
            "fits": self.fits,
            "reported": list(self.reported),
            "refusals": [refusal.to_dict() for refusal in self.refusals],
            "scores": [score.to_dict() for score in self.scores],
        }


def refusals_without_check(
    results: FilterResults, row: int, extenders: Sequence[ExtenderTrace]
) -> Iterator[RefusalEvidence]:
    """What no Filter said of a row: a PreFilter plugin, or an extender."""
    name = results.names[row]
    if results.absent is not None and results.listed[row] and not results.looked_at[row]:
        plugin = results.absent.plugin or ", ".join(results.pre_filter_plugins)
        page = f"{PLUGINS_PAGE}#{plugin.lower()}" if results.absent.plugin else PLUGINS_PAGE
        for reason in results.absent.all_reasons:
            facts = {"plugin": plugin, "code": results.absent.code.name, "message": reason}
            yield RefusalEvidence(plugin, f"{results.release} {plugin}", page, reason, "", facts, True)
    for trace in extenders:
        message = (trace.failed or {}).get(name)
        if message is not None:
            facts = {"extender": trace.name, "message": message}
            yield RefusalEvidence(trace.name, f"{results.release} extender", EXTENDERS_PAGE, message, "", facts, True)


# --- what reasons do not say ---------------------------------------------------------------------

UNSTATED = {
    "pods": ("Insufficient pods", "Too many pods"),
    "cpu": ("Insufficient cpu",),
    "memory": ("Insufficient memory",),
}
"""Resource → the reasons that releases give where there is too little of it."""
FEW_NODES = 3
"""Nodes that a note names."""


def unstated_notes(cache: ClusterCache, reasons: Callable[[], Mapping[str, Iterable[str]]]) -> Iterator[str]:
    """A note for each resource that refusing nodes do not have in their allocatable.

    reasons: by the node's name; they are asked for only when a node does not say an amount.
    """
    refusals: Mapping[str, Iterable[str]] | None = None
    for resource, texts in UNSTATED.items():
        without = list(_without(cache, resource))
        if without and refusals is None:
            refusals = reasons()
        nodes = [name for name in without if refusals and not set(texts).isdisjoint(refusals.get(name, ()))]
        if nodes:
            yield f"{_named(nodes)} no {resource} in status.allocatable, which counts as 0"


def _without(cache: ClusterCache, resource: str) -> Iterator[str]:
    """The nodes that do not say how much of a resource they have."""
    columns = cache.columns
    amounts = columns.allowed_pods.view if resource == "pods" else None
    if amounts is None and resource in columns.resources:
        amounts = columns.allocatable.data[columns.resources[resource], : len(columns.names)]
    for row in range(len(columns.names)) if amounts is None else np.flatnonzero(amounts == 0).tolist():
        node = columns.nodes[row]
        if node is not None and resource not in node.allocatable:
            yield node.name


def _named(nodes: Sequence[str]) -> str:
    if len(nodes) == 1:
        return f"node {nodes[0]} has"
    return f"{len(nodes)} nodes ({', '.join(nodes[:FEW_NODES])}{', …' if len(nodes) > FEW_NODES else ''}) have"
