"""Release 1.16: the last one with predicates and priorities only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clusterstate.manifests.admission import admission_1_16
from clusterstate.manifests.defaulting import default_manifest
from clusterstate.podinfo import ReleaseView
from clusterstate.usage import account_1_16_with_overhead
from clusterstate.volumes.csi_migration import MIGRATING_GATES
from kubescheduler.config.gates import ALPHA, BETA
from kubescheduler.config.policy_1_16 import parse_policy
from kubescheduler.core.preemption_rules import PREEMPTION_1_16
from kubescheduler.core.selection import ReservoirTie
from kubescheduler.releases import edits, v1_13, v1_15
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind
from kubescheduler.sources.cluster_input import Filling
from predicates.csi_volumes import CSI_VOLUMES
from predicates.volume_counts import VOLUME_COUNTS
from priorities.capacity_ratio import CAPACITY_RATIO, capacity_ratio_factory
from priorities.interpod import INTERPOD

if TYPE_CHECKING:
    from algorithmprovider.registry import Algorithms


def with_even_spreading(older: Algorithms) -> Algorithms:
    """EvenPodsSpread and EvenPodsSpreadPriority, which a feature gate adds."""
    from algorithmprovider.algorithms import ALGORITHMS

    gate = "EvenPodsSpread"
    return replace(older, ordering=ALGORITHMS.ordering, gated={**older.gated, gate: ALGORITHMS.gated[gate]})


VIEW = v1_13.VIEW
WIRE = v1_13.WIRE
queue = v1_13.queue


def view(gates: Mapping[str, bool]) -> ReleaseView:
    """How it reads objects under these feature gates."""
    return replace(VIEW, accounting=account_1_16_with_overhead) if gates["PodOverhead"] else VIEW


CHANGES = (
    change(
        "even-pods-spread-behind-a-gate",
        "With the feature gate EvenPodsSpread the predicate EvenPodsSpread and the priority EvenPodsSpreadPriority "
        "spread pods by their topologySpreadConstraints.",
        ChangeKind.GATE,
        edits.gates({"EvenPodsSpread": ALPHA}),
        edits.reads(topologySpreadConstraints="EvenPodsSpread"),
        edits.algorithms(with_even_spreading),
        edits.legacy(
            read_at_start=frozenset(),
            gated_predicates=v1_13.GATED_PREDICATES | {"EvenPodsSpread"},
            gated_priorities=v1_13.GATED_PRIORITIES | {"EvenPodsSpreadPriority"},
        ),
        source="KEP-895",
    ),
    change(
        "inter-pod-affinity-priority-sums-every-node",
        "InterPodAffinityPriority keeps a sum for every node: those without pods with affinity take part, and it does "
        "not crash where a term reaches one of them.",
        ChangeKind.SCORE,
        edits.priorities(INTERPOD),
    ),
    change(
        "csi-volume-limits-from-csinode",
        "MaxCSIVolumeCount takes limits from CSINode before those of the node, tells volumes of different drivers "
        "apart, and with the feature gates CSIMigration… counts in-tree volumes where a CSINode says that their plugin "
        "was handed over.",
        ChangeKind.FILTER,
        edits.predicates(CSI_VOLUMES),
        edits.gates(
            {"CSINodeInfo": BETA, **dict.fromkeys(("CSIMigration", *MIGRATING_GATES.values()), ALPHA)},
            idle=("CSINodeInfo",),
        ),
        source="KEP-625",
    ),
    change(
        "claims-count-as-disks-of-their-provisioner",
        "A claim without a known volume counts for a Max…VolumeCount predicate only if its StorageClass makes disks of "
        "that type.",
        ChangeKind.FILTER,
        edits.predicates(VOLUME_COUNTS),
    ),
    change(
        "requested-to-capacity-ratio-by-resources",
        "RequestedToCapacityRatio takes resources with weights, and rounds the weighted mean of the scores above 0.",
        ChangeKind.SCORE,
        edits.priorities(CAPACITY_RATIO),
        edits.arguments(capacity_ratio=capacity_ratio_factory),
        edits.legacy(parse=parse_policy),
        source="kubernetes #77688",
    ),
    change(
        "pod-overhead-behind-a-gate",
        "With the feature gate PodOverhead a pod asks for its overhead too.",
        ChangeKind.GATE,
        edits.gates({"PodOverhead": ALPHA}),
        edits.reads(overhead="PodOverhead"),
        edits.release_fields(view=view),
        source="KEP-688",
    ),
    change(
        "ties-are-drawn",
        "Among the nodes with the highest score one is drawn by chance; before, they took turns.",
        ChangeKind.ORDER,
        edits.behaviour(upstream_tie=ReservoirTie),
    ),
    change(
        "nomination-taken-back-without-asking",
        "Where preemption would help nowhere, the pod's nomination is taken back without looking whether it has one.",
        ChangeKind.PREEMPTION,
        edits.behaviour(preemption=PREEMPTION_1_16),
    ),
)


RELEASE = after(
    v1_15.RELEASE,
    "1.16",
    CHANGES,
    version="1.16.6",
    summary="limits of CSI volumes come from CSINode",
    filling=Filling(admission_1_16, default_manifest),
)
