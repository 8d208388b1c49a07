"""Why nodes were refused, and what scores were made of: worked out when somebody asks, by the rules that decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.changes import LOCAL, ChangeLog, Reads, flags_of
from clusterstate.errors import InputError, StaleDecisionError
from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import wrap
from kubescheduler.core.decision_records import ExtenderTrace
from kubescheduler.core.filter_results import FilterResults
from kubescheduler.core.nominated import nominated_changes
from kubescheduler.core.results import Shown, ShownTable
from predicates.types import FitPredicate, NodeError
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


class Moment:
    """A position in a cluster's log of changes, to tell later what has changed since."""

    __slots__ = ("_log", "_position", "_versions")

    def __init__(self, log: ChangeLog) -> None:
        self._log = log
        self._position = log.position
        self._versions = tuple(log.versions.values())

    def passed(self, reads: Reads, row: int) -> bool:
        """Whether something in ``reads`` has changed since, of what is local to a row on that row."""
        now = dict(zip(self._log.versions, self._versions, strict=True))
        if any(now[flag] != self._log.versions[flag] for flag in flags_of(reads & ~LOCAL)):
            return True
        local, recent = (reads & LOCAL).value, self._log.since(self._position)
        if recent is None:
            return bool(local)
        return any(at == row and what & local for at, what in recent)

    def anything(self) -> bool:
        """Whether anything has changed since."""
        return self._versions != tuple(self._log.versions.values())


class Explainer:
    """Explains one decision while the cluster is what it was, as far as each check reads it."""

    __slots__ = ("_again", "_cache", "_checks", "_kept", "_moment", "_thorough")

    def __init__(self, cache: ClusterCache, checks: Sequence[FitPredicate], again: Callable[[], FilterResults]) -> None:
        """checks: those that decided. again: decides the same pod once more with every score."""
        self._cache = cache
        self._checks = checks
        self._again = again
        self._moment = Moment(cache.columns.log)
        self._kept: dict[str, NodeExplanation] = {}
        self._thorough: Any = None

    @property
    def cache(self) -> ClusterCache:
        """The cluster that was decided in."""
        return self._cache

    def thorough(self) -> Any:
        """The decision with the scores that the release leaves out. Raises StaleDecisionError."""
        if self._thorough is None:
            if self._moment.anything():
                raise StaleDecisionError("the cluster has changed since the decision: decide again to score its nodes")
            self._thorough = self._again()
        return self._thorough

    def node(
        self, results: FilterResults, name: str, *, fits: bool, extenders: Sequence[ExtenderTrace]
    ) -> NodeExplanation:
        """Raises InputError for a node that was not there, StaleDecisionError once the cluster has changed in a way
        that a check which refused the node reads."""
        if name not in self._kept:
            row = self._cache.columns.row_of.get(name)
            if row is None or row >= len(results.names) or results.names[row] != name:
                raise InputError([f"node {name!r} is not one of the nodes that were decided about"])
            reported = results.reasons_at(row)
            refusals = (*self._refusals(results, row), *_without_a_check(results, row, extenders))
            self._kept[name] = NodeExplanation(name, fits, reported, refusals)
        return self._kept[name]

    def _refusals(self, results: FilterResults, row: int) -> Iterator[RefusalEvidence]:
        pod = self._info(results.pod)
        there = self._cache.snapshot().take(np.array([row]))
        for name, verdict in (*results.verdicts, *results.idle):
            for reason in (reason for reason, mask in verdict.items() if mask[row]):
                yield self._explained(results, name, reason, pod, there, row)
        reasons_there = results.with_nominated.get(row, ())
        if reasons_there:
            there = there.what_if(nominated_changes(results.pod, row, self._cache))
            for name, reasons in reasons_there:
                for reason in reasons:
                    explained = self._explained(results, name, reason, pod, there, row)
                    yield msgspec.structs.replace(explained, beside_nominated=True)

    def _info(self, pod: Pod) -> PodInfo:
        info = self._cache.info(pod)
        if pod.node_name:
            info = PodInfo(info.key, info.usage, info.used)
            info.node_name = pod.node_name
        return info

    def _explained(
        self, results: FilterResults, name: str, reason: str, pod: PodInfo, there: Snapshot, row: int
    ) -> RefusalEvidence:
        check = next((check for check in self._checks if check.name == name), None)
        if isinstance(reason, NodeError):
            text = reason.about(results.pod.key)
            return RefusalEvidence(name, f"{results.release} {name}", PLUGINS_PAGE, text, "", {"error": text}, True)
        if check is None or check.evidence is None:
            return RefusalEvidence(name, "", CUSTOM_PAGE, reason, "", {"reason": reason}, True)
        reads = check.footprint.reads_for(pod)
        if self._moment.passed(reads, row):
            raise _stale(results, row)
        facts = check.evidence.explain(pod, there, reason)
        if not facts.refuses:
            raise _stale(results, row)
        upstream = f"{results.release} {check.evidence.upstream}"
        return RefusalEvidence(name, upstream, check.evidence.page, reason, facts.text, facts.facts(), True)


def _stale(results: FilterResults, row: int) -> StaleDecisionError:
    return StaleDecisionError(
        f"the cluster has changed since the decision on pod {results.pod.key}: "
        f"decide again to explain node {results.names[row]}"
    )


def _without_a_check(results: FilterResults, row: int, extenders: Sequence[ExtenderTrace]) -> Iterator[RefusalEvidence]:
    """What no Filter said: a PreFilter plugin, or an extender."""
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
