"""Why one node was refused or fits, worked out when somebody asks, by the checks that decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.changes import LOCAL, ChangeLog, Reads, flags_of
from clusterstate.errors import InputError, StaleDecisionError
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.filter_results import FilterResults
from kubescheduler.core.nominated.nominated_judging import nominated_changes
from kubescheduler.core.shown_table import Shown, ShownTable
from predicates.types import FitPredicate, NodeError
from priorities.score_evidence import ScoreEvidence

CUSTOM_PAGE = "docs/how-to/write-your-own-rules.md"
EXTENDERS_PAGE = "docs/how-to/extenders.md"
PLUGINS_PAGE = "docs/reference/plugins.md"


class Reported(Protocol):
    """What is read off an extender's trace."""

    @property
    def name(self) -> str:
        """The extender's name."""
        ...

    @property
    def failed(self) -> Mapping[str, str] | None:
        """Node → why the extender's filter refused it; None when it was not asked."""
        ...


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

    def node(self, found: FilterResults, name: str, *, fits: bool, extenders: Sequence[Reported]) -> NodeExplanation:
        """Raises InputError for a node that was not there, StaleDecisionError once the cluster has changed in a way
        that a check which refused the node reads."""
        if name not in self._kept:
            row = self._cache.columns.row_of.get(name)
            if row is None or row >= len(found.names) or found.names[row] != name:
                raise InputError([f"node {name!r} is not one of the nodes that were decided about"])
            reported = found.reasons_at(row)
            refusals = (*self._refusals(found, row), *_without_a_check(found, row, extenders))
            self._kept[name] = NodeExplanation(name, fits, reported, refusals)
        return self._kept[name]

    def _refusals(self, found: FilterResults, row: int) -> Iterator[RefusalEvidence]:
        pod = self._info(found.pod)
        there = self._cache.snapshot().take(np.array([row]))
        for name, verdict in (*found.verdicts, *found.idle):
            for reason in (reason for reason, mask in verdict.items() if mask[row]):
                yield self._explained(found, name, reason, pod, there, row)
        reasons_there = found.with_nominated.get(row, ())
        if reasons_there:
            there = there.what_if(nominated_changes(found.pod, row, self._cache))
            for name, reasons in reasons_there:
                for reason in reasons:
                    explained = self._explained(found, name, reason, pod, there, row)
                    yield msgspec.structs.replace(explained, beside_nominated=True)

    def _info(self, pod: Pod) -> PodInfo:
        info = self._cache.info(pod)
        if pod.node_name:
            info = PodInfo(info.key, info.usage, info.used)
            info.node_name = pod.node_name
        return info

    def _explained(
        self, found: FilterResults, name: str, reason: str, pod: PodInfo, there: Snapshot, row: int
    ) -> RefusalEvidence:
        check = next((check for check in self._checks if check.name == name), None)
        if isinstance(reason, NodeError):
            text = reason.about(found.pod.key)
            return RefusalEvidence(name, f"{found.release} {name}", PLUGINS_PAGE, text, "", {"error": text}, True)
        if check is None or check.evidence is None:
            return RefusalEvidence(name, "", CUSTOM_PAGE, reason, "", {"reason": reason}, True)
        reads = check.footprint.reads_for(pod)
        if self._moment.passed(reads, row):
            raise _stale(found, row)
        facts = check.evidence.explain(pod, there, reason)
        if not facts.refuses:
            raise _stale(found, row)
        upstream = f"{found.release} {check.evidence.upstream}"
        return RefusalEvidence(name, upstream, check.evidence.page, reason, facts.text, facts.facts(), True)


def _stale(found: FilterResults, row: int) -> StaleDecisionError:
    return StaleDecisionError(
        f"the cluster has changed since the decision on pod {found.pod.key}: "
        f"decide again to explain node {found.names[row]}"
    )


def _without_a_check(found: FilterResults, row: int, extenders: Sequence[Reported]) -> Iterator[RefusalEvidence]:
    """What no Filter said: a PreFilter plugin, or an extender."""
    name = found.names[row]
    if found.absent is not None and found.listed[row] and not found.looked_at[row]:
        plugin = found.absent.plugin or ", ".join(found.pre_filter_plugins)
        page = f"{PLUGINS_PAGE}#{plugin.lower()}" if found.absent.plugin else PLUGINS_PAGE
        for reason in found.absent.all_reasons:
            facts = {"plugin": plugin, "code": found.absent.code.name, "message": reason}
            yield RefusalEvidence(plugin, f"{found.release} {plugin}", page, reason, "", facts, True)
    for trace in extenders:
        message = (trace.failed or {}).get(name)
        if message is not None:
            facts = {"extender": trace.name, "message": message}
            yield RefusalEvidence(trace.name, f"{found.release} extender", EXTENDERS_PAGE, message, "", facts, True)
