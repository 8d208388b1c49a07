"""What of a manifest is a name, an image or a value of a label, and what says nothing of whose cluster it is."""

from __future__ import annotations

KEPT_FIELDS = frozenset(
    {
        "apiVersion",
        "apiGroup",
        "kind",
        "phase",
        "type",
        "status",
        "reason",
        "operator",
        "effect",
        "key",
        "topologyKey",
        "whenUnsatisfiable",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "matchLabelKeys",
        "mismatchLabelKeys",
        "topologyKeys",
        "preemptionPolicy",
        "restartPolicy",
        "action",
        "protocol",
        "schedulerName",
        "volumeBindingMode",
        "volumeMode",
        "accessModes",
        "provisioner",
        "driver",
        "attacher",
        "expression",
        "allocationMode",
        "creationTimestamp",
        "deletionTimestamp",
        "startTime",
        "allocationTimestamp",
        "declaredFeatures",
        "matchAttribute",
        "distinctAttribute",
        "extendedResourceName",
        "bindingConditions",
        "bindingFailureConditions",
        "resource",
        "source",
        "maximumVolumeSize",
    }
)
"""Fields whose texts are the API's own words, times, drivers or keys of labels."""
KEPT_PARTS = frozenset({"attributes", "counters", "allocatable", "overhead", "allocatedResources", "consumedCapacity"})
"""Fields with amounts, or with what a device is; nothing in them is looked at."""
AMOUNTS = frozenset({"capacity", "requests", "limits"})
"""Fields with amounts where they are no lists."""
IMAGES = frozenset({"image", "names", "reference"})
"""Fields with the names of images."""
LABELS = frozenset({"labels", "matchLabels", "nodeSelector", "selector"})
"""Fields whose members are keys of labels with their values."""
NAMED_BY_KEY = frozenset({"disruptedPods"})
"""Fields whose members are names themselves."""
AS_WRITTEN = {"expression": "CEL expressions", "attributes": "devices' attributes"}
"""Field that devices are chosen by → what it is called; a text in it may be asked for in parts, so none is replaced."""
ADDRESSES = frozenset({"hostIP"})
"""Fields with an address of a host."""
KEPT_ADDRESSES = frozenset({"", "0.0.0.0", "127.0.0.1", "::", "::1"})
"""Addresses that every host has."""
FIRST_ADDRESS = "240.0.0.0"
"""Before the addresses that stand for others: nobody may have these, see RFC 1112."""
COMPARISONS = frozenset({"Gt", "Lt"})
"""Operators that compare numbers, which therefore stay."""
COMPARED = "operator"
DROPPED = frozenset({"parameters"})
"""Fields that nothing but a driver reads."""
DRIVERS = frozenset({"CSIDriver", "CSINode"})
"""Kinds in which names are those of drivers: of the object, and in the list of drivers."""

KEPT_LABELS = frozenset(
    {
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
    }
)
"""Labels of nodes whose values are everybody's; release 1.16 counts volumes by the type of the instance."""

KEPT_NAMES = frozenset(
    {
        "default",
        "kube-system",
        "kube-public",
        "kube-node-lease",
        "latest",
        "true",
        "false",
        "yes",
        "system-node-critical",
        "system-cluster-critical",
    }
)
"""Texts that are everybody's, the priority classes among them that every cluster has."""

NAMING_ANNOTATIONS = frozenset({"volume.beta.kubernetes.io/storage-class", "volume.kubernetes.io/selected-node"})
"""Annotations that scheduling reads, with a name in them."""
WRITTEN_ANNOTATIONS = frozenset(
    {
        "scheduler.alpha.kubernetes.io/affinity",
        "scheduler.alpha.kubernetes.io/tolerations",
        "scheduler.alpha.kubernetes.io/taints",
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "pod.alpha.kubernetes.io/init-containers",
        "pod.beta.kubernetes.io/init-containers",
    }
)
"""Annotations that scheduling reads, with JSON in them."""
PLAIN_ANNOTATIONS = frozenset(
    {
        "kubescheduler/arrives-after",
        "kubescheduler/duration",
        "kubernetes.io/config.mirror",
        "kubernetes.io/config.source",
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "resource.kubernetes.io/extended-resource-claim",
        "scheduler.alpha.kubernetes.io/critical-pod",
        "scheduler.alpha.kubernetes.io/name",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    }
)
"""Annotations that scheduling reads and that name nobody. All others are left out."""
