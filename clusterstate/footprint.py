"""What a rule reads, so that its answers can be kept until something of that changes.

Predicates and priorities have one each; whoever keeps answers asks it, and rules need not know how they are kept.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from clusterstate.changes import LOCAL, Reads
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.pod_keys import PodKey, StorageKey, whole_pod
from clusterstate.snapshot import Snapshot
from clusterstate.topology.topology_scope import Scope


class Footprint(msgspec.Struct, frozen=True):
    """What the answers of one rule about rows depend on; by default the row itself and everything about the pod."""

    reads: Reads = LOCAL
    """What answers depend on; if only NODE and PODS, rows are looked at again only when they change."""
    narrow: Callable[[PodInfo], Reads] | None = None
    """The same for one pod, where that is less than ``reads``."""
    pod_key: PodKey = whole_pod
    """What is read of a pod besides its spec; pods for which that is equal share what is remembered of them."""
    equal_for_equal_usage: bool | Callable[[PodInfo], bool] = False
    """Whether rows with equal amounts have equal answers about a pod: see ``Snapshot.amounts``."""
    row_local: Callable[[PodInfo, Snapshot], bool] | None = None
    """Whether each row's answer about a pod would follow from that row alone if pods came to it or left it; None: what
    ``reads`` says. Preemption then tries many rows at once. May raise what the rule raises."""
    scope: Scope | None = None
    """How far pods on a row matter to the answers about others; None: pods on any row may matter to all, where
    ``reads`` has pods anywhere. Something else in ``reads`` may change all answers."""
    storage: StorageKey | None = None
    """What is read of claims and volumes for a pod, when that is less than all of them."""
    moment: Callable[[PodInfo, Snapshot], int] | None = None
    """A number that changes when time alone changes answers; None: they follow from what is read."""
    turns: Callable[[PodInfo, Snapshot], float | None] | None = None
    """When time alone will have changed an answer, in seconds since the epoch; None: it will not."""
    unaffected_by_pods: Callable[[PodInfo, Snapshot], bool] | None = None
    """Whether scores stay what they are, raw ones and others, whatever pods come and go and whichever rows are
    feasible, until something besides pods in ``reads`` changes; None: they do not."""
    pre_reads: Reads | None = None
    """What is read before any node is looked at (framework releases, PreFilter and PreScore); None: what ``reads`` has
    that is not one row."""
    pre_scope: Scope | None = None
    """Which counts of pods anywhere are read then; None: pods on any row may matter, where ``pre_reads`` has pods
    anywhere."""

    def reads_for(self, pod: PodInfo) -> Reads:
        """What answers about one pod depend on."""
        return self.reads if self.narrow is None else self.narrow(pod)

    def pre_reads_for(self, pod: PodInfo) -> Reads:
        """What the answer about one pod depends on that is given before any node is looked at."""
        return self.reads_for(pod) & ~LOCAL if self.pre_reads is None else self.pre_reads

    def follows_from_usage(self, pod: PodInfo) -> bool:
        """Whether rows with equal amounts have equal answers about this pod."""
        given = self.equal_for_equal_usage
        return given if isinstance(given, bool) else given(pod)

    def follows_from_pods(self, pod: PodInfo) -> bool:
        """Whether rows with equal pods and equal allocatable amounts have equal answers about this pod."""
        return self.follows_from_usage(pod) or self.reads_for(pod) == Reads.PODS

    def is_row_local(self, pod: PodInfo, snapshot: Snapshot) -> bool:
        """Whether each row's answer about this pod follows from that row alone."""
        return not self.reads & ~LOCAL if self.row_local is None else self.row_local(pod, snapshot)

    def ignores_pods_elsewhere(self, pod: PodInfo, snapshot: Snapshot) -> bool:
        """Whether each row's answer about this pod depends on no pods but those of that row."""
        if self.row_local is not None:
            return self.row_local(pod, snapshot) or not self.reads_for(pod) & Reads.ALL_PODS
        return not self.reads_for(pod) & Reads.ALL_PODS

    def is_unaffected_by_pods(self, pod: PodInfo, snapshot: Snapshot) -> bool:
        """Whether scores of this pod stay what they are whatever pods come and go."""
        return self.unaffected_by_pods is not None and self.unaffected_by_pods(pod, snapshot)
