"""The one output of a scheduling attempt; everything that is shown, compared or bound is read off it.

``Decision`` is the last class; ``Explainer`` works out what costs more, when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, ClassVar

import attrs
import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.changes import LOCAL, Reads, flags_of
from clusterstate.errors import InputError, StaleDecisionError, nearest
from clusterstate.growable import NO_NUMBERS, IntArray
from clusterstate.objects import FrozenMap, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.evidence import (
    CUSTOM_PAGE,
    PLUGINS_PAGE,
    NodeExplanation,
    RawAndFinal,
    RefusalEvidence,
    custom_evidence,
    extender_evidence,
    nothing_scores,
    refusals_without_check,
    rule_evidence,
    unstated_notes,
    worked_out,
)
from kubescheduler.core.extender_calls import ExtenderTrace, SeenNodes
from kubescheduler.core.filter_and_score import Scored, ScoreTable
from kubescheduler.core.filter_results import FilterResults, fit_error_1_16
from kubescheduler.core.nominated import nominated_changes
from kubescheduler.core.pod_classes import Scores
from kubescheduler.core.preemption_choice import Preemption, nominee_of
from kubescheduler.core.results import CopiedAsItself, in_turn
from kubescheduler.core.totals import LazyScores
from predicates.types import NodeError
from priorities.score_evidence import ScoreEvidence
from priorities.types import PriorityConfig

NO_NODES = "no nodes available to schedule pods"
"""What every release says of a cluster without nodes."""
LEGACY_SCALE, FRAMEWORK_SCALE = 10, 100
"""The highest score that one priority or plugin gives a node."""


def kept_ranking_note(pod: str, host: str) -> str:
    """Says that a host is from a kept ranking."""
    return f"{pod}: {host} is the next node of the ranking kept from the pod before, which looks the same; not scored"


CHANGED = "the cluster has changed since this decision was made: ask before the pod is bound, or decide again"


class ScoreSource(msgspec.Struct, frozen=True, eq=False):
    """How the nodes were scored."""

    pod: PodInfo
    """As it was scored."""
    view: Callable[[], Snapshot]
    """The cluster over all rows, as rules saw it while nodes were scored."""
    extender_scale: int = 1
    """What extenders' scores are multiplied by, besides their weight."""
    rows: IntArray | None = None
    """(n,) the rows of ``view`` that were scored for the feasible nodes; None: their own."""
    views: Mapping[str, SeenNodes] = FrozenMap()
    """Rule → the feasible nodes as it read them, where that is not as ``view`` has them."""


class Explainer:
    """Explains one decision by the rules that made it, while the cluster is what it was, as far as they read it.

    One is made with every decision, so it is light.
    """

    __slots__ = (
        *("_again", "_algorithm", "_evidence", "_feasible", "_nodes", "_numbers", "_position", "_source"),
        *("_thorough", "_versions", "cache"),
    )

    def __init__(
        self,
        cache: ClusterCache,
        algorithm: Algorithm,
        again: Callable[[Pod], Decision],
        source: ScoreSource | None,
    ) -> None:
        """again: decides a pod once more with every score. source: None when nothing was scored."""
        log = cache.columns.log
        self.cache = cache
        self._algorithm = algorithm
        self._again = again
        self._source = source
        self._position, self._versions = log.position, tuple(log.versions.values())
        self._nodes: dict[str, NodeExplanation] = {}
        self._evidence: dict[str, tuple[ScoreEvidence, ...]] = {}
        self._numbers: dict[str, RawAndFinal] = {}
        self._feasible: Snapshot | None = None
        self._thorough: Decision | None = None

    def is_of(self, cache: ClusterCache) -> bool:
        """Whether the decision was made on that cluster as it is now."""
        return self.cache is cache and self._versions == tuple(cache.columns.log.versions.values())

    def thorough(self, pod: Pod) -> Decision:
        """The decision with the scores that the release leaves out. Raises StaleDecisionError."""
        if self._thorough is None:
            self._check_unchanged("the cluster has changed since the decision: decide again to score its nodes")
            self._thorough = self._again(pod)
        return self._thorough

    # --- why a node was refused --------------------------------------------------------------

    def node(self, decided: Decision, name: str, *, fits: bool) -> NodeExplanation:
        """Raises InputError for a node that was not there, StaleDecisionError once the cluster has changed in a way
        that a check which refused the node reads."""
        if name not in self._nodes:
            row = self.cache.columns.row_of.get(name)
            if row is None or row >= len(decided.names) or decided.names[row] != name:
                raise InputError([f"node {name!r} is not one of the nodes that were decided about"])
            refusals = (*self._refusals(decided, row), *refusals_without_check(decided, row, decided.extenders))
            self._nodes[name] = NodeExplanation(name, fits, decided.reasons_at(row), refusals)
        return self._nodes[name]

    def _refusals(self, decided: Decision, row: int) -> Iterator[RefusalEvidence]:
        pod = self.cache.info(decided.pod).naming(decided.pod.node_name)
        there = self.cache.snapshot().take(np.array([row]))
        for name, verdict in (*decided.verdicts, *decided.idle):
            for reason in (reason for reason, mask in verdict.items() if mask[row]):
                yield self._refusal(decided, name, reason, pod, there, row)
        reasons_there = decided.with_nominated.get(row, ())
        if reasons_there:
            there = there.what_if(nominated_changes(decided.pod, row, self.cache))
            for name, reasons in reasons_there:
                for reason in reasons:
                    refusal = self._refusal(decided, name, reason, pod, there, row)
                    yield msgspec.structs.replace(refusal, beside_nominated=True)

    def _refusal(
        self, decided: Decision, name: str, reason: str, pod: PodInfo, there: Snapshot, row: int
    ) -> RefusalEvidence:
        checks = (*self._algorithm.predicates, *self._algorithm.idle)
        check = next((check for check in checks if check.name == name), None)
        if isinstance(reason, NodeError):
            text = reason.about(decided.pod.key)
            return RefusalEvidence(name, f"{decided.release} {name}", PLUGINS_PAGE, text, "", {"error": text}, True)
        if check is None or check.evidence is None:
            return RefusalEvidence(name, "", CUSTOM_PAGE, reason, "", {"reason": reason}, True)
        facts = None
        if not self._has_changed(check.footprint.reads_for(pod), row):
            facts = check.evidence.explain(pod, there, reason)
        if facts is None or not facts.refuses:
            raise StaleDecisionError(
                f"the cluster has changed since the decision on pod {decided.pod.key}: "
                f"decide again to explain node {decided.names[row]}"
            )
        upstream = f"{decided.release} {check.evidence.upstream}"
        return RefusalEvidence(name, upstream, check.evidence.page, reason, facts.text, facts.facts(), True)

    def checks_reading(self, pod: Pod, most: Reads) -> frozenset[str]:
        """The release's own checks whose answers about the pod depend on no more than that."""
        info, checks = self.cache.info(pod), (*self._algorithm.predicates, *self._algorithm.idle)
        own = (check for check in checks if check.evidence is not None)
        return frozenset(check.name for check in own if not check.footprint.reads_for(info) & ~most)

    # --- what scores were made of ------------------------------------------------------------

    def evidence(self, decided: Decision, node: str, rules: Container[str] | None = None) -> tuple[ScoreEvidence, ...]:
        """What each score of a node was made of, rules first; empty for a node that was not scored.

        rules: those that are asked about, by name; None: all. Raises StaleDecisionError when it is asked for the first
        time after the cluster has changed.
        """
        explained = self._evidence.get(node)
        if explained is None and self._source is not None:
            explained = self._work_out(decided, self._source, node, rules)
            if rules is None:
                self._evidence[node] = explained
        return explained or ()

    def raw(self, decided: Decision, rule: str) -> Scores:
        """A rule's scores of the feasible nodes before they were normalised, or one for all; worked out now where the
        release does not keep them. Raises StaleDecisionError."""
        config, source = self._scoring(rule), self._source
        if rule in decided.raws:
            return decided.raws[rule]
        if config is None or source is None or config.reduce is None or config.constant(source.pod) is not None:
            return decided.scores[rule]
        self._check_unchanged(CHANGED)
        pod, view = source.views.get(rule, (source.pod, self._seen(decided, source)))
        return self._worked_out(config, pod, view)[0]

    def _work_out(
        self, decided: Decision, source: ScoreSource, node: str, rules: Container[str] | None
    ) -> tuple[ScoreEvidence, ...]:
        self._check_unchanged(CHANGED)
        row = source.view().row_of(node)
        places = [] if row is None else np.flatnonzero(decided.feasible == row).tolist()
        if not places or not len(decided.totals):
            return ()
        at = places[0]
        asked = [name for name in decided.scores if rules is None or name in rules]
        scores = [self._of_rule(decided, source, name, at) for name in asked]
        traces = (extender_evidence(t, decided.release, node, source.extender_scale) for t in decided.extenders)
        scores += [one for one in traces if one is not None]
        return tuple(scores) if scores or not decided.totals[at] else (nothing_scores(decided.release),)

    def _of_rule(self, decided: Decision, source: ScoreSource, name: str, at: int) -> ScoreEvidence:
        weight, config = decided.weights[name], self._scoring(name)
        if config is not None:
            pod, view = source.views.get(name, (source.pod, self._seen(decided, source)))
            return rule_evidence(config, decided.release, pod, view, at, weight, self._worked_out)
        raw, final = (
            given if isinstance(given, int) else int(given[at]) for given in (decided.raws[name], decided.scores[name])
        )
        return custom_evidence(name, raw, final, weight)

    def _scoring(self, rule: str) -> PriorityConfig | None:
        """The rule over columns that scored; None: a custom one."""
        return next((one.config for one in self._algorithm.priorities if one.config.name == rule), None)

    def _seen(self, decided: Decision, source: ScoreSource) -> Snapshot:
        """The feasible nodes as they were scored."""
        if self._feasible is None:
            self._feasible = source.view().only(decided.feasible if source.rows is None else source.rows)
        return self._feasible

    def _worked_out(self, config: PriorityConfig, pod: PodInfo, feasible: Snapshot) -> RawAndFinal:
        """A rule's numbers, once for all nodes that are asked about."""
        numbers = self._numbers.get(config.name)
        if numbers is None:
            numbers = self._numbers[config.name] = worked_out(config, pod, feasible)
        return numbers

    # --- whether the cluster is what it was --------------------------------------------------

    def _check_unchanged(self, text: str) -> None:
        """Raises StaleDecisionError."""
        if not self.is_of(self.cache):
            raise StaleDecisionError(text)

    def _has_changed(self, reads: Reads, row: int) -> bool:
        """Whether something in ``reads`` has changed since, of what is local to a row on that row."""
        log = self.cache.columns.log
        before = dict(zip(log.versions, self._versions, strict=True))
        if any(before[flag] != log.versions[flag] for flag in flags_of(reads & ~LOCAL)):
            return True
        local, recent = (reads & LOCAL).value, log.since(self._position)
        if recent is None:
            return bool(local)
        return any(at == row and what & local for at, what in recent)


@attrs.frozen(eq=False, repr=False)
class Decision(CopiedAsItself, FilterResults):
    """Where one pod goes, and why; the same class for every release.

    What was refused is in the fields of FilterResults. A legacy release's priorities and a framework release's Score
    plugins are both called priorities here.
    """

    _KEEP_INSTEAD: ClassVar[str] = "keep decision.to_dict(), which is plain data"

    feasible: IntArray = NO_NUMBERS
    """(n,) int64: the rows that fit, in list order."""
    _scored: Scored | LazyScores = attrs.field(factory=Scored)
    """The totals, scores and raw scores."""
    weights: Mapping[str, int] = FrozenMap()
    """By priority."""
    scale: int = LEGACY_SCALE
    """The highest score that one priority gives a node."""
    extenders: tuple[ExtenderTrace, ...] = ()
    """What each extender answered, in the order of the calls."""
    host: str | None = None
    """The chosen node; None if there is none."""
    error: str | None = None
    """The text of an error that gave the attempt up, or why it was not made; None if nodes simply did not fit."""
    error_at: str = ""
    """Where an error ended the attempt: ``preFilter``, ``filter`` (with the predicates and extenders of legacy
    releases), ``score`` or ``postFilter``; ``preEnqueue`` where that keeps the pod from being tried; else empty."""
    from_kept_ranking: bool = False
    """The host is the next node of the ranking that was kept from the pod before, which has the same signature (1.36
    with OpportunisticBatching): it was checked alone, and nothing was scored."""
    tried: bool = True
    """False: no attempt was made, as the pod is another scheduler's or a PreEnqueue plugin holds it back."""
    preemption: Preemption | None = None
    """What preemption would do; None when it was not asked for or not needed."""
    nominated: str | None = attrs.field()
    """The node that the pod is to wait for; empty: for none; None: nothing is said."""
    fit_error: Callable[[FilterResults], str] = fit_error_1_16
    """The release's text for a pod that no node fits."""
    explainer: Explainer | None = None
    """What ``why`` asks; None for a decision that no scheduler made."""
    hinter: Callable[..., Any] | None = attrs.field(default=None, repr=False)
    """What ``hints`` asks; None for a decision that no ``kubescheduler.Scheduler`` made."""

    @nominated.default
    def _nominated(self) -> str | None:
        return None if self.preemption is None else nominee_of(self.preemption)

    @property
    def scheduled(self) -> bool:
        """Whether there is a host."""
        return self.host is not None

    @property
    def message(self) -> str:
        """The release's own words for why there is no host; empty when there is one."""
        if self.host is not None:
            return ""
        return self.error if self.error is not None else self.fit_message()

    @property
    @in_turn
    def notes(self) -> tuple[str, ...]:
        """What a reader of the reasons does not see in them: refusing nodes that do not say how much they have."""
        kept = (kept_ranking_note(self.pod.key, self.host),) if self.from_kept_ranking and self.host else ()
        return kept if self.explainer is None else (*kept, *unstated_notes(self.explainer.cache, self.reasons))

    def fit_message(self) -> str:
        """The release's text for a pod that no node fits."""
        return self.fit_error(self)

    @property
    def foreign(self) -> bool:
        """Whether it is a pod of another scheduler, at which nobody looked."""
        return not self.tried and not self.error_at

    def fits(self) -> list[str]:
        """The nodes that fit, sorted by name."""
        return sorted(self.names[row] for row in self.feasible.tolist())

    def best(self) -> list[str]:
        """The nodes with the highest total, sorted by name."""
        if not len(self.totals):
            return []
        return sorted(self.names[row] for row in self.feasible[self.totals == self.totals.max()].tolist())

    def total(self) -> dict[str, int]:
        """Node → weighted sum; empty when nothing was scored, as when just one node fits."""
        return self._by_name(self.totals) if len(self.totals) else {}

    @property
    @in_turn
    def totals(self) -> IntArray:
        """(n,) int64: the weighted sums of ``feasible``; empty when nothing was scored."""
        return self._scored.totals

    @property
    @in_turn
    def scores(self) -> ScoreTable:
        """By priority, the scores of ``feasible`` before the weight; ``scores.to_dict()`` has them by node."""
        return ScoreTable(self._scored.scores, self.names, self.feasible)

    @property
    @in_turn
    def raws(self) -> Mapping[str, Scores]:
        """By plugin, its scores before they were normalised; empty for legacy releases."""
        return self._scored.raws

    def score(self, priority: str) -> dict[str, int]:
        """Node → one priority's score before its weight. Raises InputError for one that scored nothing."""
        return self._by_name(self._named(self.scores, priority))

    def raw(self, priority: str) -> dict[str, int]:
        """Node → one plugin's score before it was normalised; in legacy releases what ``score`` says."""
        return self._by_name(self.raws[priority] if priority in self.raws else self._named(self.scores, priority))

    def _named(self, scores: ScoreTable, priority: str) -> Scores:
        """Raises InputError that names what was meant: another release has the rule under another name."""
        if priority in scores:
            return scores[priority]
        if not scores:
            few = {0: "no node fits", 1: "only one node fits"}.get(len(self.feasible), "no priority scores")
            raise InputError(f"{priority} has no scores in this decision: {few}")
        from priorities.score_evidence import counterparts

        others = counterparts(priority, scores)
        near = f"; did you mean {' or '.join(others)}?" if others else nearest(priority, scores)
        raise InputError(f"{priority} has no scores in this decision{near or '; there are ' + ', '.join(scores)}")

    @in_turn
    def raw_scores(self, priority: str) -> Scores:
        """One rule's scores of ``feasible`` before they were normalised; for legacy releases worked out now.

        Raises StaleDecisionError when the cluster has changed since.
        """
        if self.explainer is None:
            return self.raws[priority] if priority in self.raws else self.scores[priority]
        return self.explainer.raw(self, priority)

    @in_turn
    def score_evidence(self, node: str, rules: Container[str] | None = None) -> tuple[ScoreEvidence, ...]:
        """What each score of a node was made of, in the order of ``scores``, then what extenders gave it.

        Their products add up to the node's total. Empty for a node that was not scored. rules: the priorities that are
        asked about, beside the extenders; None: all. It is worked out when it is
        first asked for; raises StaleDecisionError when the cluster has changed before that, as by binding the pod.
        """
        return () if self.explainer is None else self.explainer.evidence(self, node, rules)

    @in_turn
    def why(self, node: str) -> NodeExplanation:
        """Every check's reasons for refusing a node, with what each was made of: worked out now, by the rules that
        decided, and remembered.

        Raises InputError for a node that was not decided about, StaleDecisionError when the cluster has changed since
        in a way that a check which refused the node reads.
        """
        if self.explainer is None:
            raise InputError("this decision was not made by a scheduler, so nobody can say why")
        fits = node in {self.names[row] for row in self.feasible.tolist()}
        evidence = self.explainer.node(self, node, fits=fits)
        return (
            msgspec.structs.replace(evidence, scores=self.score_evidence(node))
            if fits and len(self.totals)
            else evidence
        )

    def checks_reading(self, most: Reads) -> frozenset[str]:
        """The release's own checks whose answers about the pod depend on no more than that; none are known of a
        decision that no scheduler made."""
        return frozenset() if self.explainer is None else self.explainer.checks_reading(self.pod, most)

    def hints(self, node: str | None = None, *, top: int | None = 10, pairs: bool = True) -> Any:
        """What would make the pod fit, or go to a node, in the scheduler's cluster as it is now: PodHints.

        Raises InputError for a decision that no ``kubescheduler.Scheduler`` made, and as ``Scheduler.hints`` does.
        """
        if self.hinter is None:
            raise InputError("this decision was not made by a Scheduler, which alone knows what could be changed")
        return self.hinter(self.pod, node, top=top, pairs=pairs)

    def explained(self) -> Decision:
        """The same decision, with every refused node's ``why`` worked out before the cluster changes."""
        for node in self.refused_nodes():
            self.why(node)
        return self

    def refused_nodes(self) -> list[str]:
        """The nodes of which some check, extender or PreFilter plugin says a reason, sorted by name."""
        if self.explainer is None:
            return []
        known = {name for name, there in zip(self.names, self.listed.tolist(), strict=False) if there}
        if self.known is not None:
            known |= {self.names[row] for row in np.flatnonzero(self.known).tolist()}
        return sorted((self.reasons().keys() | self.checks().keys()) & known, key=str.encode)

    @in_turn
    def thorough(self) -> Decision:
        """The same pod decided once more with every score, also when just one node fits, which a release takes
        unscored. Itself where extenders took part, who are not asked again, and where the host is from a kept ranking,
        which scores of now have no part in. Raises StaleDecisionError when the cluster has changed since.
        """
        if self.explainer is None or self.extenders or len(self.totals) or not len(self.feasible):
            return self
        if self.from_kept_ranking:
            return self
        return self.explainer.thorough(self.pod)

    def _by_name(self, numbers: Scores) -> dict[str, int]:
        return self.scores.by_node(numbers)

    # How it is shown is imported when somebody looks: whoever only decides does without.

    def to_dict(self) -> dict[str, Any]:
        """The decision as plain data: the pod, host, message, and by node what fits, scores, totals and reasons."""
        return {
            "pod": self.pod.key.removeprefix("/"),
            "release": self.release,
            "host": self.host,
            "message": self.message,
            "fits": self.fits(),
            "scores": {name: self.score(name) for name in self.scores},
            "weights": dict(self.weights),
            "total": self.total(),
            "reasons": self.reasons(),
        }

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each node: whether it fits and is chosen, its total, its score by each
        priority before the weight, and the reasons of a refused one. Raises ConfigError without pandas."""
        from kubescheduler.notebook import data_frame, decision_columns

        return data_frame(decision_columns(self), "node")

    def to_arrow(self) -> Any:
        """The rows of ``to_frame`` as a pyarrow Table. Raises ConfigError without pyarrow."""
        from kubescheduler.notebook import arrow_table, decision_columns

        return arrow_table(decision_columns(self))

    def _repr_html_(self) -> str:
        """A small static page: the best nodes with their scores, and why the others were refused."""
        from kubescheduler.notebook import decision_html

        return decision_html(self)

    def __str__(self) -> str:
        """In 15 lines: where the pod goes, the best nodes with their scores, and why the others were refused."""
        from kubescheduler.notebook import decision_text

        return decision_text(self)

    def __repr__(self) -> str:
        """``<Decision default/web: worker-1 (5/7 nodes fit, release 1.36)>``."""
        from kubescheduler.notebook import decision_title

        return f"<Decision {decision_title(self)}>"


def undecided(decision: Decision | None) -> bool:
    """Whether nobody says where the pod would go: an error ended the attempt, or the pod is another scheduler's."""
    return gave_up(decision) or (decision is not None and decision.foreign)


def gave_up(decision: Decision | None) -> bool:
    """Whether an error ended the attempt, so that nobody knows where the pod would go.

    A cluster without nodes is an answer: the pod fits nowhere.
    """
    return decision is not None and decision.tried and decision.error not in (None, NO_NODES)


def failures(decision: Decision) -> Iterator[str]:
    """What a scheduler did instead of answering, as ``gave up: …``; nothing for a decision that is an answer.

    A release goes on without scores that an extender does not send. Where the pod would go with them is then unknown,
    unless the extender is ignorable: then the configuration says that pods may go without it.
    """
    if decision.error is not None and decision.tried:
        yield f"gave up: {decision.error}"
    yield from went_on_without(decision, False)


def went_on_without(decision: Decision, *ignorable: bool) -> Iterator[str]:
    """What extenders did not answer: those that are ignorable, or that are not, or both."""
    for trace in decision.extenders if decision.error is None else ():
        for error in (trace.filter_error, trace.prioritize_error):
            if error is not None and trace.ignorable in ignorable:
                yield f"went on without its extender: {error}"
