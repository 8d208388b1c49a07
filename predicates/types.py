"""What a predicate is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import IntArray, Mask
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.affinity_1_4 import FAILURE_DOMAINS
from clusterstate.snapshot import Snapshot
from predicates.refusal_evidence import CheckEvidence, Explain, filter_evidence, predicate_evidence

Verdict = dict[str, Mask]
"""Reason → (n,) bool, the rows that fail for it; reasons in the order the release reports them.

A key that is a NodeError is no reason but an error: it gives up the whole attempt.
"""

PASS: Verdict = {}
"""Every row passes. Not to be written to."""

POD = "{pod}"
"""Stands in the text of a NodeError for the pod's namespace/name, which a pod class does not have."""


class NodeError(str):
    """The text of an error that a predicate met on a node."""

    __slots__ = ()

    def about(self, pod: str) -> str:
        """The text with the pod's namespace/name in it."""
        return self.replace(POD, pod)


class StatusError(NodeError):
    """The same, where it is a status like any other: what a check says on its own is the bare text."""

    __slots__ = ()


class PreFiltered(msgspec.Struct, frozen=True):
    """What a rule says of a pod before any node is looked at (framework releases, PreFilter).

    skip: it has nothing to say about this pod; ``check`` is not run. reasons: the pod is refused as a whole; a
    NodeError gives up the attempt. nodes: the names that alone may be considered, None: all.
    """

    skip: bool = False
    reasons: tuple[str, ...] = ()
    nodes: frozenset[str] | None = None


GO_ON = PreFiltered()
SKIP = PreFiltered(skip=True)


def applies_always(_: PodInfo) -> bool:
    """The rule applies to every pod."""
    return True


def always(_: str) -> bool:
    """True for every reason."""
    return True


def never(_: str) -> bool:
    """False for every reason."""
    return False


AttachedVolumes = Callable[[PodInfo, Snapshot], IntArray | None]
"""(2, n) int64 by row: how many of a pod's volumes are new to the node, and how many more the node can attach; -1 and 0
where they do not count, None for a pod without volumes that count. Upstream: 1.16 TransientInfo."""


class FitPredicate(msgspec.Struct, frozen=True):
    """One predicate, ready to run."""

    name: str
    check: Callable[[PodInfo, Snapshot], Verdict]
    """Pure function of the pod and the rows of a snapshot; a subset of rows gives the same verdict for those rows."""
    footprint: Footprint = Footprint()
    """What the verdict depends on, ``beyond`` included."""
    applies: Callable[[PodInfo], bool] = applies_always
    """False when the pod passes everywhere whatever the cluster is, so that ``check`` need not run."""
    pre_filter: Callable[[PodInfo, Snapshot], PreFiltered] | None = None
    """What is said of the pod before nodes are looked at. Framework releases only."""
    unresolvable: Callable[[str], bool] = never
    """Whether taking pods away cannot mend a reason; its status is UnschedulableAndUnresolvable then."""
    beyond: Callable[[PodInfo, Snapshot], Mask] | None = None
    """(n,) bool, failing rows whose status is UnschedulableAndUnresolvable whatever the reason."""
    evidence: CheckEvidence | None = None
    """What the check can say about its reasons when somebody asks; None for a custom check."""
    attached: AttachedVolumes | None = None
    """What it leaves behind for priorities; None for one that counts no volumes."""


def attached_last(checks: Iterable[FitPredicate], pod: PodInfo, snapshot: Snapshot) -> IntArray | None:
    """What the last of the checks that counts the pod's volumes says of each row, checks in the order in which they
    run; see ``AttachedVolumes``."""
    out: IntArray | None = None
    for check in checks:
        counted = None if check.attached is None else check.attached(pod, snapshot)
        if counted is not None:
            out = counted if out is None else np.where(counted[0] < 0, out, counted)
    return out


class PredicateArgs(msgspec.Struct, frozen=True):
    """What a factory may look at besides the policy entry's own argument."""

    ignored_resources: frozenset[str] = frozenset()
    """Extended resources that an extender manages with ignoredByScheduler."""
    max_pd_volumes: int | None = None
    """The environment's KUBE_MAX_PD_VOLS; None when it is not a positive integer."""
    feature_gates: Mapping[str, bool] = msgspec.field(default_factory=dict)
    """Gate → whether it is on."""
    failure_domains: tuple[str, ...] = FAILURE_DOMAINS
    """The topology keys that an empty one stands for in 1.4."""


FitPredicateFactory = Callable[[PredicateArgs], FitPredicate]


def node_predicate(
    name: str,
    check: Callable[[PodInfo, Snapshot], Verdict],
    applies: Callable[[PodInfo], bool],
    explain: Explain,
) -> FitPredicate:
    """A predicate of 1.4 and 1.16 that reads the node alone, with its evidence."""
    return FitPredicate(
        name, check, Footprint(Reads.NODE, pod_key=spec_alone), applies, evidence=predicate_evidence(name, explain)
    )


def node_filter(
    name: str,
    check: Callable[[PodInfo, Snapshot], Verdict],
    applies: Callable[[PodInfo], bool],
    explain: Explain,
) -> FitPredicate:
    """A plugin's filter that reads the node alone, so that taking pods away mends nothing."""
    return FitPredicate(
        name,
        check,
        Footprint(Reads.NODE, pod_key=spec_alone),
        applies,
        unresolvable=always,
        evidence=filter_evidence(name, explain),
    )


def failing(verdict: Verdict) -> Mask | None:
    """(n,) bool, the rows that fail for any reason; None when none does."""
    out: Mask | None = None
    for mask in verdict.values():
        if np.count_nonzero(mask):
            out = mask if out is None else out | mask
    return out


def unresolvable(
    predicate: FitPredicate, pod: PodInfo, snapshot: Snapshot, verdict: Verdict, failing: Mask | None
) -> Mask | None:
    """(n,) bool, the failing rows that taking pods away cannot mend; None when there is none."""
    if failing is None:
        return None
    beyond = None if predicate.beyond is None else failing & predicate.beyond(pod, snapshot)
    if predicate.unresolvable is not never:
        for reason, mask in verdict.items():
            if not isinstance(reason, NodeError) and predicate.unresolvable(reason):
                beyond = mask if beyond is None else beyond | mask
    return beyond
