"""What a predicate is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from clusterstate.changes import LOCAL, NOTHING, Reads
from clusterstate.growable import Mask
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.pod_traits import StorageTraits, Traits, spec_alone, whole_pod
from clusterstate.snapshot import Snapshot
from clusterstate.topology.pod_affinity_1_4 import FAILURE_DOMAINS
from clusterstate.topology.topology_scope import Scope
from predicates.refusal_evidence import CheckEvidence, Explain, predicate_evidence

Verdict = dict[str, Mask]
"""Reason → (n,) bool, the rows that fail for it; reasons in the order the release reports them.

A key that is a NodeError is no reason but an error: it gives up the whole attempt.
"""

PASS: Verdict = {}
"""Every row passes. Not to be written to."""
FURTHER = (~LOCAL).value
"""The flags of what is not on the row itself."""

POD = "{pod}"
"""Stands in the text of a NodeError for the pod's namespace/name, which a pod class does not have."""


class NodeError(str):
    """The text of an error that a predicate met on a node."""

    __slots__ = ()

    def about(self, pod: str) -> str:
        """The text with the pod's namespace/name in it."""
        return self.replace(POD, pod)


def never_by_usage(_: PodInfo) -> bool:
    """The verdict follows from more than amounts for every pod."""
    return False


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


class FitPredicate(msgspec.Struct, frozen=True):
    """One predicate, ready to run."""

    name: str
    check: Callable[[PodInfo, Snapshot], Verdict]
    """Pure function of the pod and the rows of a snapshot; a subset of rows gives the same verdict for those rows."""
    reads: Reads = LOCAL
    """What the verdict depends on; if only NODE and PODS, rows are judged again only when they change."""
    applies: Callable[[PodInfo], bool] = applies_always
    """False when the pod passes everywhere whatever the cluster is, so that ``check`` need not run."""
    alone: Callable[[PodInfo, Snapshot], bool] | None = None
    """Whether each row's verdict would follow from that row alone if pods left it; by default what ``reads`` says.
    Preemption then tries many rows at once."""
    narrow: Callable[[PodInfo], Reads] | None = None
    """What the verdict depends on for one pod, when that is less than ``reads``; see ``reads_for``."""
    pre_filter: Callable[[PodInfo, Snapshot], PreFiltered] | None = None
    """What is said of the pod before nodes are looked at. Framework releases only."""
    pre_reads: Reads = NOTHING
    """What ``pre_filter`` depends on besides the pod."""
    pre_scope: Scope | None = None
    """Which counts of pods anywhere ``pre_filter`` reads; None: pods on any row may matter, where ``pre_reads`` has
    pods anywhere."""
    unresolvable: Callable[[str], bool] = never
    """Whether taking pods away cannot mend a reason; its status is UnschedulableAndUnresolvable then."""
    beyond: Callable[[PodInfo, Snapshot], Mask] | None = None
    """(n,) bool, failing rows whose status is UnschedulableAndUnresolvable whatever the reason."""
    amounts: bool | Callable[[PodInfo], bool] = False
    """Whether of a node it reads nothing but what can be allocated there. Preemption then tries one of many rows that
    are alike."""
    moment: Callable[[PodInfo, Snapshot], int] | None = None
    """A number that changes when time alone changes the verdict; None: it follows from what is read."""
    by_usage: Callable[[PodInfo], bool] = never_by_usage
    """Whether rows with equal amounts have equal verdicts on a pod, ``beyond`` included: see ``Snapshot.amounts``."""
    turns: Callable[[PodInfo, Snapshot], float | None] | None = None
    """When time alone will have changed the verdict, in seconds since the epoch; None: it will not."""
    traits: Traits = whole_pod
    """What it reads of a pod besides its spec; pods for which that is equal share what is remembered of them."""
    storage: StorageTraits | None = None
    """What it reads of claims and volumes for a pod, when that is less than all of them."""
    scope: Scope | None = None
    """How far pods on a row matter to the verdicts on others; None: pods on any row may matter to all, where ``reads``
    has pods anywhere. Something else in ``reads`` may change all verdicts."""
    evidence: CheckEvidence | None = None
    """What the check can say about its reasons when somebody asks; None for a custom check."""

    def reads_for(self, pod: PodInfo) -> Reads:
        """What the verdict on one pod depends on."""
        return self.reads if self.narrow is None else self.narrow(pod)

    def by_row(self, pod: PodInfo, snapshot: Snapshot) -> bool:
        """Whether each row's verdict on this pod depends on that row only."""
        return not self.reads.value & FURTHER if self.alone is None else self.alone(pod, snapshot)

    def by_amounts(self, pod: PodInfo) -> bool:
        """Whether its verdict on this pod depends on a node's allocatable amounts and pods alone."""
        return self.amounts if isinstance(self.amounts, bool) else self.amounts(pod)


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
    return FitPredicate(name, check, Reads.NODE, applies, evidence=predicate_evidence(name, explain), traits=spec_alone)
