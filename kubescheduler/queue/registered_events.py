"""What plugins of 1.21 to 1.31 register as events after which a pod that they rejected may fit.

Events matter as such there, without a look at the objects; since 1.32 each plugin's own record says more. A plugin that
is not listed registers nothing, so every event counts.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubescheduler.queue.queueing_hints import (
    CSI_CAPACITY,
    CSI_DRIVER,
    CSI_NODE,
    NODE,
    POD,
    PV,
    PVC,
    STORAGE_CLASS,
    Action,
    Registered,
)

Events = Mapping[str, tuple[Registered, ...]]
"""Plugin → what it registers."""

NEW_OR_CHANGED = Action.ADD | Action.UPDATE
NEW_NODE = Registered(NODE, Action.ADD)
POD_LEFT = Registered(POD, Action.DELETE)
NODE_OR_LABELS = Registered(NODE, Action.ADD | Action.NODE_LABEL)
NODE_OR_TAINTS = Registered(NODE, Action.ADD | Action.NODE_TAINT)
NODE_OR_AMOUNTS = Registered(NODE, Action.ADD | Action.NODE_ALLOCATABLE)
ANY_NODE = Registered(NODE, NEW_OR_CHANGED)
"""A new node, or any update of one."""

EVENTS_1_21: Events = {"NodeResourcesFit": (POD_LEFT, NODE_OR_AMOUNTS)}

_DISKS = dict.fromkeys(("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"), (NEW_NODE, POD_LEFT))
EVENTS_1_22: Events = {
    **_DISKS,
    "InterPodAffinity": (Registered(POD, Action.ALL), NODE_OR_LABELS),
    "NodeAffinity": (NODE_OR_LABELS,),
    "NodeLabel": (NODE_OR_LABELS,),
    "NodeName": (NEW_NODE,),
    "NodePorts": (POD_LEFT, NEW_NODE),
    "NodeResourcesFit": (POD_LEFT, NODE_OR_AMOUNTS),
    "NodeUnschedulable": (NODE_OR_TAINTS,),
    "NodeVolumeLimits": (Registered(CSI_NODE, Action.ADD), POD_LEFT),
    "PodTopologySpread": (
        Registered(POD, Action.ALL),
        Registered(NODE, Action.ADD | Action.DELETE | Action.NODE_LABEL),
    ),
    "TaintToleration": (NODE_OR_TAINTS,),
    "VolumeBinding": (
        *(Registered(kind, NEW_OR_CHANGED) for kind in (STORAGE_CLASS, PVC, PV, NODE, CSI_NODE)),
        *(Registered(kind, NEW_OR_CHANGED) for kind in (CSI_DRIVER, CSI_CAPACITY)),
    ),
    "VolumeRestrictions": (POD_LEFT, NEW_NODE, Registered(PVC, NEW_OR_CHANGED)),
    "VolumeZone": (
        Registered(STORAGE_CLASS, Action.ADD),
        NODE_OR_LABELS,
        Registered(PVC, Action.ADD),
        Registered(PV, NEW_OR_CHANGED),
    ),
}

EVENTS_1_23: Events = {
    **EVENTS_1_22,
    "VolumeBinding": (
        *(Registered(kind, NEW_OR_CHANGED) for kind in (STORAGE_CLASS, PVC, PV, CSI_NODE, CSI_DRIVER, CSI_CAPACITY)),
        NODE_OR_LABELS,
    ),
}

EVENTS_1_24: Events = {
    **EVENTS_1_23,
    "NodeAffinity": (ANY_NODE,),
    "NodeName": (ANY_NODE,),
    "NodePorts": (POD_LEFT, ANY_NODE),
    "NodeResourcesFit": (POD_LEFT, ANY_NODE),
    "TaintToleration": (ANY_NODE,),
}
