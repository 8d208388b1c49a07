"""Comparison: what was found of all pods in all columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs
import msgspec

from kubescheduler.comparison.effects import Effects
from kubescheduler.comparison.outcomes import Cause, Contribution, DrawnRun, HostChange, Outcome, PodComparison

ALONE = "Pod/"
"""Before the name of a pod that nothing controls."""


class WorkloadChange(msgspec.Struct, frozen=True):
    """What becomes of a workload's pods in one new column."""

    moved: int
    """How many go elsewhere."""
    could_have_been: int
    """How many do not, as the old scheduler might have chosen their new node too."""
    unplaced: int
    """How many have no node."""
    causes: dict[Cause, int]
    """Cause → how many pods, the most frequent first; ``same`` is among them."""

    @property
    def cause(self) -> Cause:
        """The most frequent cause of the pods that differ, an error before all others; ``same`` if none differs."""
        if Cause.ERROR in self.causes:
            return Cause.ERROR
        return next((cause for cause in self.causes if cause is not Cause.SAME), Cause.SAME)


class WorkloadSummary(msgspec.Struct, frozen=True):
    """The compared pods of one workload."""

    namespace: str
    workload: str
    """``Kind/name``: ``Deployment/web``; ``Pod/web`` for a pod that nothing controls."""
    pods: int
    """How many of its pods are compared."""
    unplaced: int
    """How many have no node in the old column."""
    changes: tuple[WorkloadChange, ...]
    """Per new column."""

    @property
    def differs(self) -> bool:
        """Whether some pod is not the same in some new column."""
        return any(change.cause is not Cause.SAME for change in self.changes)

    @property
    def moved(self) -> int:
        """How many pods go elsewhere, in the new column with most of them."""
        return max((change.moved for change in self.changes), default=0)


def workload_summaries(pods: Iterable[PodComparison]) -> tuple[WorkloadSummary, ...]:
    """One for each workload, those first of which most pods go elsewhere, then most differ, then by name."""
    groups: dict[tuple[str, str], list[PodComparison]] = {}
    for pod in pods:
        groups.setdefault((pod.pod.rpartition("/")[0], pod.workload), []).append(pod)
    found = [_summary(namespace, workload, some) for (namespace, workload), some in groups.items()]
    return tuple(sorted(found, key=_place))


def by_controller(pods: Iterable[PodComparison]) -> tuple[WorkloadSummary, ...]:
    """For people: the workloads that differ, and last, without a name, one of all pods that nothing controls, if some
    of them differ. Nothing where no workload differs: rows by pod say the same.
    """
    every = list(pods)
    found = [one for one in workload_summaries(every) if one.differs and not one.workload.startswith(ALONE)]
    alone = [pod for pod in every if pod.workload.startswith(ALONE)]
    rest = [_summary("", "", alone)] if alone and any(pod.differs for pod in alone) else []
    return (*found, *rest) if found else ()


def _place(found: WorkloadSummary) -> tuple[int, int, bytes, bytes]:
    differing = max((found.pods - change.causes.get(Cause.SAME, 0) for change in found.changes), default=0)
    return -found.moved, -differing, found.namespace.encode(), found.workload.encode()


def _summary(namespace: str, workload: str, pods: list[PodComparison]) -> WorkloadSummary:
    changes = []
    for at in range(len(pods[0].changes)):
        counts = Counter(pod.changes[at].cause for pod in pods)
        changes.append(
            WorkloadChange(
                moved=sum(pod.changes[at].moved for pod in pods),
                could_have_been=counts[Cause.COULD_HAVE_BEEN],
                unplaced=sum(pod.outcomes[at + 1].host is None for pod in pods),
                causes=dict(counts.most_common()),
            )
        )
    unplaced = sum(pod.outcomes[0].host is None for pod in pods)
    return WorkloadSummary(namespace, workload, len(pods), unplaced, tuple(changes))


MOST_TIED = 10
"""How many tied nodes are listed, the first by name; the document also says how many there are."""


def workload_document(names: Sequence[str], found: WorkloadSummary) -> dict[str, Any]:
    """names: of the columns, the old one first."""
    return {
        "namespace": found.namespace,
        "workload": found.workload,
        "pods": found.pods,
        "unplacedBefore": found.unplaced,
        "changes": [
            {"column": name, **_workload_change(change)} for name, change in zip(names[1:], found.changes, strict=True)
        ],
    }


def _workload_change(change: WorkloadChange) -> dict[str, Any]:
    return {
        "moved": change.moved,
        "couldHaveBeen": change.could_have_been,
        "unplaced": change.unplaced,
        "cause": str(change.cause),
        "causes": {str(cause): count for cause, count in change.causes.items()},
    }


def pod_document(names: Sequence[str], pod: PodComparison) -> dict[str, Any]:
    """names: of the columns, the old one first."""
    return {
        "pod": pod.pod,
        "workload": pod.workload,
        "runsOn": pod.runs_on,
        "moved": pod.moved,
        "cause": str(pod.cause),
        "outcomes": [
            {"column": name, **outcome_document(outcome)} for name, outcome in zip(names, pod.outcomes, strict=True)
        ],
        "changes": [
            {"column": name, **change_document(change)} for name, change in zip(names[1:], pod.changes, strict=True)
        ],
    }


def outcome_document(outcome: Outcome) -> dict[str, Any]:
    """Where a pod goes in one column."""
    return {
        "host": outcome.host,
        "total": outcome.total,
        "ties": len(outcome.tied),
        "tied": list(outcome.tied[:MOST_TIED]),
        "fits": outcome.fits,
        "nodes": outcome.nodes,
        "message": outcome.message,
        "error": outcome.error,
        "tried": outcome.tried,
        "evicts": list(outcome.evicts),
        "evictsFrom": outcome.evicts_from,
    }


def change_document(change: HostChange) -> dict[str, Any]:
    """What changed for one pod."""
    return {
        "cause": str(change.cause),
        "text": change.text,
        "oldDifference": change.old_difference,
        "newDifference": change.new_difference,
        "asIfPassed": change.as_if_passed,
        "contributions": [
            {side: _contribution(part, side) for side in ("old", "new")} for part in change.contributions
        ],
        "steps": [
            {"cause": str(step.cause), "names": list(step.names), "by": step.by, "lead": step.lead}
            for step in change.steps
        ],
        "reasons": {check: list(texts) for check, texts in change.reasons.items()},
        "moves": None
        if change.moves is None
        else {**msgspec.structs.asdict(change.moves), "share": change.moves.share},
        "evidence": {check: list(sentences) for check, sentences in change.evidence.items()},
    }


def _contribution(part: Contribution, side: str) -> dict[str, Any]:
    """What one engine's priorities add; side: ``old`` or ``new``."""
    return {
        **{key: getattr(part, f"{side}_{key}") for key in ("name", "weight", "scores")},
        "difference": getattr(part, side),
        "evidence": getattr(part, f"{side}_evidence"),
    }


def effects_document(effects: Effects) -> dict[str, Any]:
    """Utilisations are shares of what is allocatable."""
    return {
        "placed": effects.placed,
        "unplaced": effects.unplaced,
        "evicted": effects.evicted,
        "daemons": effects.daemons,
        "nodesUsed": effects.nodes_used,
        "nodesEmpty": effects.nodes_empty,
        "fullestHalf": effects.fullest_half,
        "utilisation": [msgspec.structs.asdict(use) for use in effects.utilisation],
        "spread": [
            {
                "service": spread.service,
                "pods": spread.pods,
                "zones": dict(spread.zones),
                "zoneSkew": spread.zone_skew,
                "hosts": spread.hosts,
                "hostSkew": spread.host_skew,
            }
            for spread in effects.spread
        ],
        "nodes": [msgspec.structs.asdict(node) for node in effects.nodes],
    }


@attrs.frozen
class Comparison:
    """The outcome of a comparison."""

    names: tuple[str, ...]
    """The columns, the old one first."""
    releases: tuple[str, ...]
    """The release of each column."""
    mode: str
    pods: tuple[PodComparison, ...]
    effects: tuple[Effects, ...]
    """The cluster after the run, by column."""
    before: Effects
    """The cluster without the compared pods."""
    notes: tuple[str, ...] = ()
    """What a reader has to know of the answers, as that extenders were not asked."""
    runs: tuple[DrawnRun, ...] = ()
    """The runs that draw among equal totals as the releases do, one a seed; empty if none were asked for."""
    titles: tuple[str, ...] = attrs.field()
    """The columns for people, with what configures them: ``1.16 policy.json``; by default the names."""

    @titles.default
    def _named(self) -> tuple[str, ...]:
        return self.names

    @property
    def moved(self) -> tuple[PodComparison, ...]:
        """The pods that go elsewhere in some new column."""
        return tuple(pod for pod in self.pods if pod.moved)

    @property
    def differing(self) -> tuple[PodComparison, ...]:
        """The pods of which some new column is not the same; those that go elsewhere are among them."""
        return tuple(pod for pod in self.pods if pod.differs)

    @property
    def errors(self) -> tuple[PodComparison, ...]:
        """The pods that could not be compared with some new column."""
        return tuple(pod for pod in self.pods if pod.error)

    @property
    def same(self) -> bool:
        """Whether every pod was compared and nothing differs."""
        return not self.differing

    @property
    def summary(self) -> tuple[dict[Cause, int], ...]:
        """Per new column: cause → how many pods, the most frequent first; ``same`` is among them."""
        return tuple(
            dict(Counter(pod.changes[at].cause for pod in self.pods).most_common()) for at in range(len(self.names) - 1)
        )

    @property
    def workloads(self) -> tuple[WorkloadSummary, ...]:
        """The pods summed up by what controls them, those first of which most go elsewhere."""
        return workload_summaries(self.pods)

    def differs(self, tolerated: Iterable[Cause | str] = ()) -> bool:
        """Whether some pod has a cause that is not tolerated; an error is never tolerated."""
        passes = {*map(Cause, tolerated), Cause.SAME} - {Cause.ERROR}
        return any(cause not in passes for pod in self.pods for cause in pod.causes)

    def as_dict(self) -> dict[str, Any]:
        """As plain data, as ``-o json`` shows it."""
        columns = zip(self.names, self.releases, strict=True)
        return {
            "kind": "Comparison",
            "mode": self.mode,
            "notes": list(self.notes),
            "columns": [{"name": name, "release": release} for name, release in columns],
            "same": self.same,
            "compared": len(self.pods),
            "moved": len(self.moved),
            "differing": len(self.differing),
            "errors": len(self.errors),
            "summary": [
                {"column": name, "causes": {str(cause): count for cause, count in counts.items()}}
                for name, counts in zip(self.names[1:], self.summary, strict=True)
            ],
            "runs": [
                {"seed": run.seed, "moved": dict(zip(self.names[1:], run.moved, strict=True))} for run in self.runs
            ],
            "before": effects_document(self.before),
            "effects": [
                {"column": name, **effects_document(effects)}
                for name, effects in zip(self.names, self.effects, strict=True)
            ],
            "workloads": [workload_document(self.names, workload) for workload in self.workloads],
            "pods": [pod_document(self.names, pod) for pod in self.pods],
        }

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each pod: whether it moves, its host in each column, and by each new column
        the cause; with runs that draw among equal totals also the share of those in which it moves.

        Raises ConfigError without pandas.
        """
        from kubescheduler.notebook import comparison_columns, data_frame

        return data_frame(comparison_columns(self), "pod")

    def to_arrow(self) -> Any:
        """The rows of ``to_frame`` as a pyarrow Table. Raises ConfigError without pyarrow."""
        from kubescheduler.notebook import arrow_table, comparison_columns

        return arrow_table(comparison_columns(self))

    def _repr_html_(self) -> str:
        """A small static page: how many pods go elsewhere, which, and why."""
        from kubescheduler.notebook import comparison_html

        return comparison_html(self)


def headline(comparison: Comparison) -> str:
    """``2 of 9 pods go elsewhere, 1 is refused for different reasons``, without a full stop."""
    moved, count = len(comparison.moved), len(comparison.pods)
    if count and len(comparison.errors) == count:
        return f"none of {count:,} {'pod' if count == 1 else 'pods'} could be compared"
    first = (
        f"{moved:,} of {count:,} {'pod' if moved == count == 1 else 'pods'} {'goes' if moved == 1 else 'go'} elsewhere"
    )
    return ", ".join([first, *_besides(comparison)])


OTHER_NODES = "other equal best nodes now"
BESIDES = {
    Cause.COULD_HAVE_BEEN: ("could have been there before, but has {}", "could have been there before, but have {}"),
    Cause.DIFFERENT_TIES: ("stays by name, but has {}", "stay by name, but have {}"),
    Cause.DIFFERENT_REASONS: ("is refused for different reasons", "are refused for different reasons"),
    Cause.DIFFERENT_VICTIMS: ("evicts other pods", "evict other pods"),
}
"""Cause of pods that stay → what is said of one, of several."""


def _besides(comparison: Comparison) -> Iterator[str]:
    still = [pod.causes for pod in comparison.pods if not pod.moved and not pod.error]
    for cause, said in BESIDES.items():
        if count := sum(cause in causes for causes in still):
            yield f"{count:,} {said[count != 1].format(OTHER_NODES)}"
    nowhere = sum(not pod.differs and all(one.host is None for one in pod.outcomes) for pod in comparison.pods)
    if nowhere:
        yield f"{nowhere:,} {'fits' if nowhere == 1 else 'fit'} on no node either way"
    if errors := len(comparison.errors):
        yield f"{errors:,} could not be compared"
