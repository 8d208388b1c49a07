"""The reasons that plugins of 1.20 and 1.36 give, each with the code of its status; see ``test_docs`` for what holds
them to the program."""

from __future__ import annotations

import attrs

U = "Unschedulable"
UAU = "UnschedulableAndUnresolvable"
EITHER = f"{U} or {UAU}"
"""By node."""


@attrs.frozen
class Reason:
    """text: with ``<NAME>`` for what varies. point: where it is given. old, new: the code in 1.20 and in 1.36."""

    text: str
    point: str = "Filter"
    old: str | None = None
    new: str | None = None


def _both(text: str, code: str, point: str = "Filter") -> Reason:
    return Reason(text, point, code, code)


def _old(text: str, code: str, point: str = "Filter") -> Reason:
    return Reason(text, point, old=code)


def _new(text: str, code: str, point: str = "Filter") -> Reason:
    return Reason(text, point, new=code)


_LIMITS = (_old("node(s) exceed max volume count", U),)
_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"
_CLAIM, _PV, _CLASS = (
    f'{kind} "<NAME>" not found'
    for kind in ("persistentvolumeclaim", "persistentvolume", "storageclass.storage.k8s.io")
)


def _zone(text: str) -> Reason:
    """Each release looks at the claims at its own point."""
    return Reason(text, "Filter; 1.36: PreFilter", UAU, UAU)


REASONS: dict[str, tuple[Reason, ...]] = {
    "AzureDiskLimits": _LIMITS,
    "CinderLimits": _LIMITS,
    "DefaultPreemption": (
        _new("preemption: not eligible due to preemptionPolicy=Never.", U, "PostFilter"),
        _new("preemption: not eligible due to a terminating pod on the nominated node.", U, "PostFilter"),
        _new("preemption: 0/<N> nodes are available: <COUNTED>.", U, "PostFilter"),
        _new("waiting for the preemption for this pod to be finished", UAU, "PreEnqueue"),
    ),
    "DynamicResources": (
        _new('pod "<POD>": ResourceClaim not created yet', UAU, "PreEnqueue, PreFilter"),
        _new('could not find ResourceClaim "<NAME>"', UAU, "PreEnqueue, PreFilter"),
        _new('resourceclaim "<NAME>" is being deleted', UAU, "PreEnqueue, PreFilter"),
        _new("resourceclaim in use", UAU, "PreFilter"),
        _new("request <NAME>: device class <NAME> does not exist", UAU, "PreFilter"),
        _new("resourceclaim not available on the node", UAU),
        _new("cannot allocate all claims", UAU),
        _new("cannot fit resource", UAU),
        _new("no new claims to deallocate", U, "PostFilter"),
        _new("deallocation of ResourceClaim completed", U, "PostFilter"),
        _new("still not schedulable", U, "PostFilter"),
    ),
    "EBSLimits": _LIMITS,
    "GCEPDLimits": _LIMITS,
    "GangScheduling": (
        _new('waiting for pods\'s pod group "<NAME>" to appear in scheduling queue', UAU, "PreEnqueue"),
        _new("waiting for minCount pods from a gang to appear in scheduling queue", UAU, "PreEnqueue"),
        _new("waiting for minCount pods from a gang to be scheduled", "Wait", "Permit"),
    ),
    "InterPodAffinity": (
        _old("node(s) didn't match pod affinity/anti-affinity", EITHER),
        _both("node(s) didn't match pod affinity rules", UAU),
        _both("node(s) didn't match pod anti-affinity rules", U),
        _both("node(s) didn't satisfy existing pods anti-affinity rules", U),
        _both("parsing pod: <TERMS>", UAU, "PreFilter"),
    ),
    "NodeAffinity": (
        _old("node(s) didn't match Pod's node affinity", UAU),
        _new("node(s) didn't match Pod's node affinity/selector", UAU),
        _both("node(s) didn't match scheduler-enforced node affinity", UAU),
        _new("pod affinity terms conflict", UAU, "PreFilter"),
    ),
    "NodeDeclaredFeatures": (_new("node(s) didn't match Pod's required features", UAU),),
    "NodeLabel": (_old("node(s) didn't have the requested labels", UAU),),
    "NodeName": (
        _old("node(s) didn't match the requested hostname", UAU),
        _new("node(s) didn't match the requested node name", UAU),
    ),
    "NodePorts": (_both("node(s) didn't have free ports for the requested pod ports", U),),
    "NodeResourcesFit": (
        _both("Too many pods", U),
        Reason("Insufficient <RESOURCE>", "Filter", U, EITHER),
    ),
    "NodeUnschedulable": (_both("node(s) were unschedulable", UAU),),
    "NodeVolumeLimits": (
        _both("node(s) exceed max volume count", U),
        _new('looking up PVC <NAME>: persistentvolumeclaim "<NAME>" not found', UAU),
    ),
    "PodTopologySpread": (
        _both("node(s) didn't match pod topology spread constraints", U),
        _both(_LABEL, UAU),
    ),
    "SchedulingGates": (_new("waiting for scheduling gates: [<NAMES>]", UAU, "PreEnqueue"),),
    "ServiceAffinity": (_old("node(s) didn't match service affinity", U),),
    "TaintToleration": (
        _old("node(s) had taint {<KEY>: <VALUE>}, that the pod didn't tolerate", UAU),
        _new("node(s) had untolerated taint(s)", UAU),
    ),
    "VolumeBinding": (
        _both(_CLAIM, UAU, "PreFilter"),
        _both('persistentvolumeclaim "<NAME>" is being deleted', UAU, "PreFilter"),
        _both("pod has unbound immediate PersistentVolumeClaims", UAU, "PreFilter"),
        _old('persistentvolumeclaim "<NAME>" was not created for the pod', UAU, "PreFilter"),
        _new("PVC <NAME> was not created for pod <POD> (pod is not owner)", UAU, "PreFilter"),
        _new('waiting for ephemeral volume controller to create the persistentvolumeclaim "<NAME>"', UAU, "PreFilter"),
        _new('persistentvolumeclaim "<NAME>" bound to non-existent persistentvolume "<NAME>"', UAU, "PreFilter"),
        _old("node(s) had volume node affinity conflict", UAU),
        _new("node(s) didn't match PersistentVolume's node affinity", UAU),
        _both("node(s) didn't find available persistent volumes to bind", UAU),
        _both("node(s) did not have enough free storage", UAU),
        _old("pvc(s) bound to non-existent pv(s)", UAU),
        _new("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", UAU),
    ),
    "VolumeRestrictions": (
        _both("node(s) had no available disk", U),
        _new(
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
            "another pod",
            U,
        ),
        _new(_CLAIM, UAU, "PreFilter"),
    ),
    "VolumeZone": (
        _both("node(s) had no available volume zone", UAU),
        _zone("PersistentVolumeClaim had no name"),
        _zone("PersistentVolumeClaim had no pv name and storageClass name"),
        _zone("PersistentVolume had no name"),
        _zone('VolumeBindingMode not set for StorageClass "<NAME>"'),
        _zone(_CLAIM),
        _zone(_PV),
        _zone(_CLASS),
    ),
}
"""Plugin → its reasons; plugins that refuse nothing are left out."""
