"""EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits of 1.20: nodes attach only so many disks of a type."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import numpy as np

from clusterstate.changes import BY_ROW, Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import Mask
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import AZURE_DISK, CINDER, EBS, GCE_PD, NO_PLUGINS, DiskType, csi_use, leads_to_claims
from clusterstate.volumes.volume_decision import bound_storage
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, UNSCHEDULABLE, InTreePlugin, PluginReason
from kubescheduler.framework.plugins.signed_fields import sign_volumes
from predicates.csi_volumes import asking_for_claims, is_unresolvable
from predicates.refusal_evidence import Need, Refusal, Unmet, filter_evidence
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

POINTS = frozenset({Point.FILTER})
POINTS_1_28 = POINTS | {Point.PRE_FILTER}
DISKS = tuple((f"{counted.name}Limits", counted.disk) for counted in COUNTED)
REASONS = (PluginReason("node(s) exceed max volume count", UNSCHEDULABLE),)
TEXT_1_20 = TEXT.replace("each disk once", "each once")


def _plugin(name: str, disk: DiskType, handle: Handle) -> ColumnPlugin:
    counting = COUNTING_1_20.under(handle.feature_gates)
    rule = counting_disks(name, disk, handle.max_pd_volumes, counting, filter_evidence)
    return ColumnPlugin(name, POINTS, rule)


def _record_1_20(counted: CountedType) -> InTreePlugin:
    name = f"{counted.name}Limits"

    def make(_: Any, handle: Handle) -> ColumnPlugin:
        return _plugin(name, counted.disk, handle)

    make.__doc__ = counted.docstring(TEXT_1_20, "1.20 {name}Limits.")
    return InTreePlugin(name, POINTS, make, reasons=REASONS)


# --- 1.23 and 1.24, whose feature gates CSIMigration… count -------------------------------------


def _asking(name: str, disk: DiskType) -> InTreePlugin:
    def make(_: Any, handle: Handle) -> ColumnPlugin:
        plugin = _plugin(name, disk, handle)
        assert plugin.check is not None
        return msgspec.structs.replace(plugin, check=asking_for_claims(plugin.check, partial(_may_count, disk)))

    make.__doc__ = f"""As in 1.20, but a claim of the pod that is missing refuses it.

    Upstream: 1.23 {name}.
    """
    return InTreePlugin(name, POINTS, make, reasons=REASONS)


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
    points: frozenset[Point] = POINTS
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
        return InTreePlugin(name, self.points, make, reasons=REASONS if self.missing_is_error else REASONS_1_30)

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


# --- what it is in each release ---------------------------------------------------------------

REASONS_1_30 = (PluginReason('looking up PVC <NAME>: persistentvolumeclaim "<NAME>" not found', UNRESOLVABLE), *REASONS)
_CINDER_ONLY = frozenset({CINDER.provisioner})
_WITHOUT_GCE = _CINDER_ONLY | {EBS.provisioner, AZURE_DISK.provisioner}

LIMITS_1_23 = tuple(_asking(name, disk) for name, disk in DISKS)
LIMITS_1_24 = InTreeRules("1.24").records()
LIMITS_1_26 = InTreeRules("1.26", _CINDER_ONLY).records()
LIMITS_1_27 = InTreeRules("1.27", _WITHOUT_GCE).records()
_RULES_1_28 = InTreeRules("1.28", _WITHOUT_GCE | {GCE_PD.provisioner}, points=POINTS_1_28)
LIMITS_1_28 = _RULES_1_28.records()
LIMITS_1_30 = msgspec.structs.replace(_RULES_1_28, release="1.30", missing_is_error=False).records()
"""EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits, as ``plugins(*LIMITS_1_30)``; 1.31 has no other."""

EBS_LIMITS_1_20, GCE_PD_LIMITS_1_20, AZURE_DISK_LIMITS_1_20, CINDER_LIMITS_1_20 = map(_record_1_20, COUNTED)
