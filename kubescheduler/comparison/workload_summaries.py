"""A comparison summed up by workload: of each controller's pods how many go elsewhere, and mainly why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from kubescheduler.comparison.outcomes import Cause, PodComparison

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
