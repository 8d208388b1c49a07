"""A node attaches only so many volumes: NodeVolumeLimits counts those of CSI drivers; EBSLimits, GCEPDLimits,
AzureDiskLimits and CinderLimits count disks of a type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import numpy as np

from clusterstate.changes import BY_ROW, Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import (
    AZURE_DISK,
    CINDER,
    EBS,
    GCE_PD,
    NO_PLUGINS,
    DiskType,
    csi_use,
    has_claims,
    leads_to_claims,
    may_use_csi,
)
from clusterstate.volumes.csi_migration import migrating_plugins
from clusterstate.volumes.volume_decision import bound_storage
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import (
    UNRESOLVABLE,
    UNSCHEDULABLE,
    InTreePlugin,
    PluginReason,
    sign_volumes,
)
from kubescheduler.queue.queueing_hints import (
    ATTACHMENT,
    CSI_NODE,
    POD,
    PVC,
    Action,
    ClusterEvent,
    Registered,
    may_be_claimed,
)
from predicates.csi_volumes import (
    LIMITS_1_25,
    LIMITS_1_26,
    LIMITS_1_27,
    LIMITS_1_28,
    LIMITS_1_30,
    LIMITS_1_32,
    PORTWORX,
    CSINodeLimits,
    LimitRules,
    asking_for_claims,
    csi_limits_1_36,
    csi_limits_before_1_36,
    csi_limits_with_scaling,
    explain_limits,
    explain_limits_1_36,
    explain_limits_by,
    is_unresolvable,
    max_csi_volume_count,
)
from predicates.refusal_evidence import Explain, Need, Refusal, Unmet, filter_evidence
from predicates.types import FitPredicate, NodeError, Verdict
from predicates.volume_counts import (
    COUNTED,
    COUNTING_1_20,
    TEXT,
    CountedType,
    DiskCounting,
    counting_disks,
    explain_count,
    max_volume_count,
    may_use,
)

# --- NodeVolumeLimits ------------------------------------------------------------------------

NODE_VOLUME_LIMITS = "NodeVolumeLimits"
NODE_VOLUME_LIMITS_POINTS_1_20 = frozenset({Point.FILTER})
NODE_VOLUME_LIMITS_POINTS_1_36 = frozenset({Point.PRE_FILTER, Point.FILTER})
NODE_VOLUME_LIMITS_READS = BY_ROW | Reads.STORAGE
SCALING = "VolumeLimitScaling"
PORTWORX_GATE = "CSIMigrationPortworx"


def node_volume_limits_1_20(_: Any, handle: Handle) -> ColumnPlugin:
    """The node's allocatable `attachable-volumes-csi-…` is a limit, too. Claims that are missing, and volumes that no
    pod there uses, do not count.

    Upstream: 1.20 NodeVolumeLimits.
    """
    csi_nodes = CSINodeLimits()
    plugins = migrating_plugins(handle.feature_gates)

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return max_csi_volume_count(pod, snapshot, csi_nodes, plugins)

    evidence = filter_evidence(NODE_VOLUME_LIMITS, explain_limits(csi_nodes, plugins))
    return ColumnPlugin(
        NODE_VOLUME_LIMITS,
        NODE_VOLUME_LIMITS_POINTS_1_20,
        FitPredicate(
            NODE_VOLUME_LIMITS,
            check,
            Footprint(NODE_VOLUME_LIMITS_READS, pod_key=spec_alone, storage=bound_storage),
            has_claims,
            evidence=evidence,
        ),
    )


def node_volume_limits_1_23(_: Any, handle: Handle) -> ColumnPlugin:
    """As in 1.20, but a claim of the pod that is missing refuses it.

    Upstream: 1.23 NodeVolumeLimits.
    """
    plugin = node_volume_limits_1_20(None, handle)
    assert plugin.check is not None
    return msgspec.structs.replace(plugin, check=asking_for_claims(plugin.check, leads_to_claims))


def node_volume_limits_1_36(_: Any, handle: Handle) -> ColumnPlugin:
    """Counts CSI volumes per driver, each once. Fails where there would be more than the CSINode's `allocatable.count`.
    Volumes that are attached though no pod there uses them count, too, and in-tree volumes as those of their CSI
    drivers.

    Upstream: 1.36 NodeVolumeLimits. PreFilter skips pods without volumes that could count.
    """
    check = csi_limits_with_scaling if handle.feature_gates.get(SCALING, False) else csi_limits_1_36
    return _counting(check, explain_limits_1_36)


def node_volume_limits_1_32(_: Any, handle: Handle) -> ColumnPlugin:
    """As in 1.36, but Portworx volumes count where the CSINode says that their plugin has been handed over.

    Upstream: 1.32 NodeVolumeLimits.
    """
    scaling = handle.feature_gates.get(SCALING, False)
    return _by_rules(msgspec.structs.replace(LIMITS_1_32, scaling=scaling), handle)


def node_volume_limits_1_30(_: Any, handle: Handle) -> ColumnPlugin:
    """The node's allocatable `attachable-volumes-csi-…` limits drivers of which the CSINode says nothing. Volumes that
    no pod there uses do not count.

    Upstream: 1.30 NodeVolumeLimits.
    """
    return _by_rules(LIMITS_1_30, handle)


def node_volume_limits_1_28(_: Any, handle: Handle) -> ColumnPlugin:
    """As in 1.30, but a claim that is missing is an error.

    Upstream: 1.28 NodeVolumeLimits.
    """
    return _by_rules(LIMITS_1_28, handle)


def node_volume_limits_1_27(_: Any, handle: Handle) -> ColumnPlugin:
    """As in 1.28, but GCE disks count where the CSINode says that their plugin has been handed over.

    Upstream: 1.27 NodeVolumeLimits.
    """
    return _by_rules(LIMITS_1_27, handle)


def node_volume_limits_1_26(_: Any, handle: Handle) -> ColumnPlugin:
    """As in 1.27, and so for EBS and Azure disks.

    Upstream: 1.26 NodeVolumeLimits.
    """
    return _by_rules(LIMITS_1_26, handle)


def node_volume_limits_1_25(_: Any, handle: Handle) -> ColumnPlugin:
    """As in 1.26, and so for Cinder disks.

    Upstream: 1.25 NodeVolumeLimits, which crashes on inline disks where a node has no CSINode.
    """
    return _by_rules(LIMITS_1_25, handle)


def _by_rules(rules: LimitRules, handle: Handle) -> ColumnPlugin:
    if not handle.feature_gates.get(PORTWORX_GATE, False):
        rules = msgspec.structs.replace(rules, handed_over=rules.handed_over - {PORTWORX})
    return _counting(partial(csi_limits_before_1_36, rules), partial(explain_limits_by, rules))


def _counting(check: Callable[[PodInfo, Snapshot], Verdict], explain: Explain) -> ColumnPlugin:
    rule = FitPredicate(
        NODE_VOLUME_LIMITS,
        check,
        Footprint(NODE_VOLUME_LIMITS_READS, pod_key=spec_alone, storage=bound_storage),
        may_use_csi,
        unresolvable=is_unresolvable,
        evidence=filter_evidence(NODE_VOLUME_LIMITS, explain),
    )
    return ColumnPlugin(NODE_VOLUME_LIMITS, NODE_VOLUME_LIMITS_POINTS_1_36, rule, sign=sign_volumes)


def had_volumes(_: Pod, event: ClusterEvent) -> bool:
    """Whether the pod that left used volumes."""
    return bool(event.old.spec.volumes)


NODE_VOLUME_LIMITS_REASONS = (PluginReason("node(s) exceed max volume count", UNSCHEDULABLE),)
NODE_VOLUME_LIMITS_REASONS_1_36 = (
    PluginReason('looking up PVC <NAME>: persistentvolumeclaim "<NAME>" not found', UNRESOLVABLE),
    *NODE_VOLUME_LIMITS_REASONS,
)
NODE_VOLUME_LIMITS_EVENTS = (
    Registered(CSI_NODE, Action.ADD | Action.UPDATE),
    Registered(POD, Action.DELETE, had_volumes),
    Registered(PVC, Action.ADD, may_be_claimed),
    Registered(ATTACHMENT, Action.DELETE),
)

NODE_VOLUME_LIMITS_1_20 = InTreePlugin(
    NODE_VOLUME_LIMITS, NODE_VOLUME_LIMITS_POINTS_1_20, node_volume_limits_1_20, reasons=NODE_VOLUME_LIMITS_REASONS
)
NODE_VOLUME_LIMITS_1_23 = InTreePlugin(
    NODE_VOLUME_LIMITS, NODE_VOLUME_LIMITS_POINTS_1_20, node_volume_limits_1_23, reasons=NODE_VOLUME_LIMITS_REASONS
)
NODE_VOLUME_LIMITS_1_36 = InTreePlugin(
    NODE_VOLUME_LIMITS,
    NODE_VOLUME_LIMITS_POINTS_1_36,
    node_volume_limits_1_36,
    reasons=NODE_VOLUME_LIMITS_REASONS_1_36,
    events=NODE_VOLUME_LIMITS_EVENTS,
)
NODE_VOLUME_LIMITS_1_32 = msgspec.structs.replace(NODE_VOLUME_LIMITS_1_36, make=node_volume_limits_1_32)
NODE_VOLUME_LIMITS_1_30 = msgspec.structs.replace(NODE_VOLUME_LIMITS_1_36, make=node_volume_limits_1_30)
NODE_VOLUME_LIMITS_1_28 = msgspec.structs.replace(
    NODE_VOLUME_LIMITS_1_36, make=node_volume_limits_1_28, reasons=NODE_VOLUME_LIMITS_REASONS
)
NODE_VOLUME_LIMITS_1_27 = msgspec.structs.replace(
    NODE_VOLUME_LIMITS_1_28, make=node_volume_limits_1_27, points=NODE_VOLUME_LIMITS_POINTS_1_20
)
NODE_VOLUME_LIMITS_1_26 = msgspec.structs.replace(NODE_VOLUME_LIMITS_1_27, make=node_volume_limits_1_26)
NODE_VOLUME_LIMITS_1_25 = msgspec.structs.replace(NODE_VOLUME_LIMITS_1_26, make=node_volume_limits_1_25)


# --- disks of a type ---------------------------------------------------------------------------

NON_CSI_LIMITS_POINTS = frozenset({Point.FILTER})
NON_CSI_LIMITS_POINTS_1_28 = NON_CSI_LIMITS_POINTS | {Point.PRE_FILTER}
DISKS = tuple((f"{counted.name}Limits", counted.disk) for counted in COUNTED)
NON_CSI_LIMITS_REASONS = (PluginReason("node(s) exceed max volume count", UNSCHEDULABLE),)
NON_CSI_LIMITS_TEXT_1_20 = TEXT.replace("each disk once", "each once")


def _plugin(name: str, disk: DiskType, handle: Handle) -> ColumnPlugin:
    counting = COUNTING_1_20.under(handle.feature_gates)
    rule = counting_disks(name, disk, handle.max_pd_volumes, counting, filter_evidence)
    return ColumnPlugin(name, NON_CSI_LIMITS_POINTS, rule)


def _record_1_20(counted: CountedType) -> InTreePlugin:
    name = f"{counted.name}Limits"

    def make(_: Any, handle: Handle) -> ColumnPlugin:
        return _plugin(name, counted.disk, handle)

    make.__doc__ = counted.docstring(NON_CSI_LIMITS_TEXT_1_20, "1.20 {name}Limits.")
    return InTreePlugin(name, NON_CSI_LIMITS_POINTS, make, reasons=NON_CSI_LIMITS_REASONS)


# --- 1.23 and 1.24, whose feature gates CSIMigration… count -------------------------------------


def _asking(name: str, disk: DiskType) -> InTreePlugin:
    def make(_: Any, handle: Handle) -> ColumnPlugin:
        plugin = _plugin(name, disk, handle)
        assert plugin.check is not None
        return msgspec.structs.replace(plugin, check=asking_for_claims(plugin.check, partial(_may_count, disk)))

    make.__doc__ = f"""As in 1.20, but a claim of the pod that is missing refuses it.

    Upstream: 1.23 {name}.
    """
    return InTreePlugin(name, NON_CSI_LIMITS_POINTS, make, reasons=NON_CSI_LIMITS_REASONS)


# --- from 1.24 on ------------------------------------------------------------------------------

CSI_TEXT = """As in 1.20, but a claim of the pod that is missing {missing}, and nodes that have handed the plugin over
    to its CSI driver do not count its disks: {migrated}.

    Upstream: {release} {name}.
    """


class InTreeRules(msgspec.Struct, frozen=True):
    """What differs from 1.20 in one release."""

    release: str
    always: frozenset[str] = frozenset()
    """The plugins that every node with a CSINode has handed over; of the others its annotation decides."""
    missing_is_error: bool = True
    """A claim of the pod that is missing is an error, otherwise a reason."""
    points: frozenset[Point] = NON_CSI_LIMITS_POINTS
    """Where they take part."""

    def counting(self, disk: DiskType) -> DiskCounting:
        """How disks of a type are counted."""
        return msgspec.structs.replace(COUNTING_1_20, plugins=frozenset({disk.provisioner} - self.always))

    def refuse(self, disk: DiskType, limit: int | None, pod: PodInfo, snapshot: Snapshot) -> Verdict:
        """Fails everywhere where a claim is missing, otherwise where the disks would be too many."""
        problems = csi_use(pod, snapshot.objects, NO_PLUGINS).problems
        if problems:
            first = problems[0]
            text = first.text if first.missing and not self.missing_is_error else NodeError(first.text)
            return {text: np.ones(len(snapshot), np.bool_)}
        verdict = max_volume_count(pod, snapshot, disk, limit, self.counting(disk))
        if disk.provisioner not in self.always:
            return verdict
        counts = ~_with_csi_node(snapshot)
        return {reason: mask & counts for reason, mask in verdict.items()}

    def record(self, name: str, disk: DiskType) -> InTreePlugin:
        """The plugin that counts disks of a type."""

        def make(_: Any, handle: Handle) -> ColumnPlugin:
            limit = handle.max_pd_volumes
            rule = FitPredicate(
                name,
                partial(self.refuse, disk, limit),
                Footprint(BY_ROW | Reads.STORAGE, pod_key=spec_alone, storage=bound_storage),
                partial(_may_count, disk),
                unresolvable=is_unresolvable,
                evidence=filter_evidence(name, partial(self.explain, disk, limit)),
            )
            return ColumnPlugin(name, self.points, rule, sign=sign_volumes)

        make.__doc__ = CSI_TEXT.format(
            name=name,
            release=self.release,
            missing="is an error" if self.missing_is_error else "refuses it",
            migrated="any with a CSINode" if disk.provisioner in self.always else "the CSINode says so",
        )
        return InTreePlugin(
            name,
            self.points,
            make,
            reasons=NON_CSI_LIMITS_REASONS if self.missing_is_error else NON_CSI_LIMITS_REASONS_1_30,
        )

    def records(self) -> tuple[InTreePlugin, ...]:
        """EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits."""
        return tuple(self.record(name, disk) for name, disk in DISKS)

    def explain(self, disk: DiskType, limit: int | None, pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
        """How many disks there would be, or which claim is missing."""
        if is_unresolvable(reason):
            return Unmet((Need("claims that are there", reason, False),))
        return explain_count(disk, limit, self.counting(disk))(pod, snapshot, reason)


def _may_count(disk: DiskType, pod: PodInfo) -> bool:
    return leads_to_claims(pod) or may_use(disk, pod)


def _with_csi_node(snapshot: Snapshot) -> Mask:
    rows = [row for row in map(snapshot.row_of, snapshot.objects.csi_nodes) if row is not None]
    out: Mask = np.isin(snapshot.row_numbers, rows)
    return out


NON_CSI_LIMITS_REASONS_1_30 = (
    PluginReason('looking up PVC <NAME>: persistentvolumeclaim "<NAME>" not found', UNRESOLVABLE),
    *NON_CSI_LIMITS_REASONS,
)
_CINDER_ONLY = frozenset({CINDER.provisioner})
_WITHOUT_GCE = _CINDER_ONLY | {EBS.provisioner, AZURE_DISK.provisioner}

NON_CSI_LIMITS_1_23 = tuple(_asking(name, disk) for name, disk in DISKS)
NON_CSI_LIMITS_1_24 = InTreeRules("1.24").records()
NON_CSI_LIMITS_1_26 = InTreeRules("1.26", _CINDER_ONLY).records()
NON_CSI_LIMITS_1_27 = InTreeRules("1.27", _WITHOUT_GCE).records()
_NON_CSI_RULES_1_28 = InTreeRules("1.28", _WITHOUT_GCE | {GCE_PD.provisioner}, points=NON_CSI_LIMITS_POINTS_1_28)
NON_CSI_LIMITS_1_28 = _NON_CSI_RULES_1_28.records()
NON_CSI_LIMITS_1_30 = msgspec.structs.replace(_NON_CSI_RULES_1_28, release="1.30", missing_is_error=False).records()
"""EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits, as ``plugins(*NON_CSI_LIMITS_1_30)``; 1.31 has no other."""

EBS_LIMITS_1_20, GCE_PD_LIMITS_1_20, AZURE_DISK_LIMITS_1_20, CINDER_LIMITS_1_20 = map(_record_1_20, COUNTED)
