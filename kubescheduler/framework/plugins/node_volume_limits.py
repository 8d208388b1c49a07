"""NodeVolumeLimits: a node attaches no more volumes of a CSI driver than it can."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from clusterstate.changes import BY_ROW, Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import has_claims, leads_to_claims, may_use_csi
from clusterstate.volumes.csi_migration import migrating_plugins
from clusterstate.volumes.volume_decision import bound_storage
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, UNSCHEDULABLE, InTreePlugin, PluginReason
from kubescheduler.framework.plugins.signed_fields import sign_volumes
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
from predicates.refusal_evidence import Explain, filter_evidence
from predicates.types import FitPredicate, Verdict

NAME = "NodeVolumeLimits"
POINTS_1_20 = frozenset({Point.FILTER})
POINTS_1_36 = frozenset({Point.PRE_FILTER, Point.FILTER})
READS = BY_ROW | Reads.STORAGE
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

    evidence = filter_evidence(NAME, explain_limits(csi_nodes, plugins))
    return ColumnPlugin(
        NAME,
        POINTS_1_20,
        FitPredicate(
            NAME, check, Footprint(READS, pod_key=spec_alone, storage=bound_storage), has_claims, evidence=evidence
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
        NAME,
        check,
        Footprint(READS, pod_key=spec_alone, storage=bound_storage),
        may_use_csi,
        unresolvable=is_unresolvable,
        evidence=filter_evidence(NAME, explain),
    )
    return ColumnPlugin(NAME, POINTS_1_36, rule, sign=sign_volumes)


# --- what it is in each release ---------------------------------------------------------------


def had_volumes(_: Pod, event: ClusterEvent) -> bool:
    """Whether the pod that left used volumes."""
    return bool(event.old.spec.volumes)


REASONS = (PluginReason("node(s) exceed max volume count", UNSCHEDULABLE),)
REASONS_1_36 = (PluginReason('looking up PVC <NAME>: persistentvolumeclaim "<NAME>" not found', UNRESOLVABLE), *REASONS)
EVENTS = (
    Registered(CSI_NODE, Action.ADD | Action.UPDATE),
    Registered(POD, Action.DELETE, had_volumes),
    Registered(PVC, Action.ADD, may_be_claimed),
    Registered(ATTACHMENT, Action.DELETE),
)

PLUGIN_1_20 = InTreePlugin(NAME, POINTS_1_20, node_volume_limits_1_20, reasons=REASONS)
PLUGIN_1_23 = InTreePlugin(NAME, POINTS_1_20, node_volume_limits_1_23, reasons=REASONS)
PLUGIN_1_36 = InTreePlugin(NAME, POINTS_1_36, node_volume_limits_1_36, reasons=REASONS_1_36, events=EVENTS)
PLUGIN_1_32 = msgspec.structs.replace(PLUGIN_1_36, make=node_volume_limits_1_32)
PLUGIN_1_30 = msgspec.structs.replace(PLUGIN_1_36, make=node_volume_limits_1_30)
PLUGIN_1_28 = msgspec.structs.replace(PLUGIN_1_36, make=node_volume_limits_1_28, reasons=REASONS)
PLUGIN_1_27 = msgspec.structs.replace(PLUGIN_1_28, make=node_volume_limits_1_27, points=POINTS_1_20)
PLUGIN_1_26 = msgspec.structs.replace(PLUGIN_1_27, make=node_volume_limits_1_26)
PLUGIN_1_25 = msgspec.structs.replace(PLUGIN_1_26, make=node_volume_limits_1_25)
