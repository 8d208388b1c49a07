"""What each predicate and priority does, in a few sentences for people who configure a scheduler.

``PREDICATES`` and ``PRIORITIES`` say it of 1.16, those ending in ``_1_4`` in what 1.4 differs.
"""

from __future__ import annotations

DISKS = "Counts the {0} disks of the pods on the node together with the pod's own, each disk once, inline or behind a \
claim. Fails where there would be more than the node's limit: allocatable `{1}`, otherwise {2}."

PREDICATES: dict[str, str] = {
    "CheckNodeCondition": """
Fails where condition Ready is not True, where NetworkUnavailable is not False, and on cordoned nodes; all that hold
are reported. Conditions that a node does not have are fine. It exists, mandatory, only with the feature gate off;
CheckNodeUnschedulable takes its place otherwise, and conditions then count as the taints that the node controller
makes of them.""",
    "CheckNodeUnschedulable": """
Fails on nodes with `spec.unschedulable`, unless the pod tolerates the taint `node.kubernetes.io/unschedulable` with
effect NoSchedule.""",
    "GeneralPredicates": """
PodFitsResources, HostName, PodFitsHostPorts and MatchNodeSelector, in this order. All four are always run, so a node
may report reasons of several of them.""",
    "HostName": """
A pod whose manifest names a node (`spec.nodeName`) fits only the node of that name. Hostname labels do not count.""",
    "PodFitsHostPorts": """
Fails where a pod on the node holds a host port that this pod wants: same protocol, same port, and the same host IP or
one of the two `0.0.0.0`. Init containers do not count.""",
    "PodFitsPorts": """
An old name of PodFitsHostPorts. 1.16 accepts it in a policy and never runs it.""",
    "MatchNodeSelector": """
Passes where all of `spec.nodeSelector` and at least one term of the required node affinity match. A term without
expressions matches nothing; a term that is invalid is passed over. The only field for `matchFields` is
`metadata.name`.""",
    "PodFitsResources": """
Fails where the node already runs as many pods as it allows, or where allocatable < requested + asked for. A pod asks
for the sum of its containers or for its largest init container, whichever is more. Once a pod asks for anything at
all, cpu, memory and ephemeral-storage are all tested, also those it does not ask for. Extended resources that an
extender manages with `ignoredByScheduler` are not tested.""",
    "NoDiskConflict": """
Fails where a pod on the node mounts the same disk: a GCE disk, RBD image or iSCSI target unless both mounts are
read-only, an EBS volume always. Only volumes written in the pods themselves count, not claims.""",
    "PodToleratesNodeTaints": """
Fails where a taint with effect NoSchedule or NoExecute is not tolerated. PreferNoSchedule is left to
TaintTolerationPriority.""",
    "CheckNodeLabelPresence": """
From a policy's `labelsPresence` argument. With `presence: true` every listed label must exist on the node, with
`presence: false` none may. Values do not matter.""",
    "CheckServiceAffinity": """
From a policy's `serviceAffinity` argument. The node must have the values that the pod's nodeSelector gives for the
listed labels; for labels that it leaves open, and if the pod has a service, the values of the node of one running
pod of the same namespace that carries all of this pod's labels.""",
    "MaxEBSVolumeCount": DISKS.format("EBS", "attachable-volumes-aws-ebs", "39, or 25 on Nitro instance types"),
    "MaxGCEPDVolumeCount": DISKS.format("GCE", "attachable-volumes-gce-pd", "16"),
    "MaxAzureDiskVolumeCount": DISKS.format("Azure", "attachable-volumes-azure-disk", "16"),
    "MaxCinderVolumeCount": DISKS.format("Cinder", "attachable-volumes-cinder", "256"),
    "MaxCSIVolumeCountPred": """
Counts the volumes of each CSI driver on the node together with the pod's own. Limits are those of the node's CSINode,
otherwise allocatable `attachable-volumes-csi-<driver>`; a driver without a limit is not counted.""",
    "CheckVolumeBinding": """
For pods with claims. Bound volumes must have a node affinity that picks the node. Claims that wait for their first
consumer must find a volume there, or a class that can provision one. A claim that is unbound and does not wait is an
error that ends the attempt: `pod has unbound immediate PersistentVolumeClaims`.""",
    "NoVolumeZoneConflict": """
The zone and region labels (`failure-domain.beta.kubernetes.io/…`) of the volumes behind the pod's claims must agree
with those of the node. A node without these labels passes.""",
    "CheckNodeMemoryPressure": """
Keeps best-effort pods (no cpu or memory request or limit anywhere) off nodes with condition MemoryPressure True.""",
    "CheckNodePIDPressure": "Fails where condition PIDPressure is True.",
    "CheckNodeDiskPressure": "Fails where condition DiskPressure is True.",
    "EvenPodsSpread": """
For each of the pod's `topologySpreadConstraints` with DoNotSchedule: pods that match in the node's domain, plus the
pod itself if it matches, minus those in the emptiest domain, may not exceed maxSkew. Only nodes count that carry all
topology keys and that the pod's node affinity picks. A node without the key fails.""",
    "MatchInterPodAffinity": """
Three steps, the first that fails is reported: required anti-affinity of running pods against this pod; the pod's own
required affinity, for which one and the same running pod must match all terms; its own required anti-affinity. If no
running pod matches the affinity terms and the pod matches them itself, it may be the first of its group anywhere.""",
}

T_AND_A = """
T is what the node's pods ask for, this pod included, and A is allocatable. A container that does not ask counts as
100 millicores and 200 MiB."""
SPREAD = """
Away from the pods of the same services, ReplicationControllers, ReplicaSets and StatefulSets. Pods of the namespace
that match all of their selectors are counted per node and per zone; with m the largest count among the nodes that fit:

    part = 10·((m - count) / m), 10 if m is 0
    score = part of the node·(1 - 2/3) + 2/3·part of its zone, truncated

A node without zone and region labels (`failure-domain.beta.kubernetes.io/…`) has its node part."""

PRIORITIES: dict[str, str] = {
    "BalancedResourceAllocation": f"""
10·(1 - |T_cpu/A_cpu - T_memory/A_memory|), truncated: best where cpu and memory would be used alike. 0 where one of
the two would be used up. With 1.16's feature gate BalanceAttachedNodeVolumes, where a Max…VolumeCount predicate counted
the pod's disks: 10·(1 - variance) of the shares of cpu, memory and attachable disks.{T_AND_A}""",
    "EqualPriority": "1 for every node (not 10).",
    "EvenPodsSpreadPriority": """
For the pod's `topologySpreadConstraints` with ScheduleAnyway: q is the number of matching pods in the node's domains,
added up over the constraints; total and low are the sum and the smallest of q over the nodes that fit and carry all
keys. The score is 10·(total - q)/(total - low), truncated; 10 if all are alike, 0 without the keys.""",
    "ImageLocalityPriority": """
Adds up, over the pod's containers, size of the image·(nodes that have it / all nodes). The sum is held between 23 MiB
and 1000 MiB and stretched to 0–10, truncated.""",
    "InterPodAffinityPriority": """
Each running pod adds to all nodes of its topology domain: +weight or -weight for this pod's preferred (anti-)affinity
terms that match it, the same for its own preferred terms that match this pod, and the hard pod affinity weight for
its own required affinity terms that match this pod. With lo = min(0, lowest sum) and hi = max(0, highest sum) the
score is 10·(sum - lo)/(hi - lo), truncated; 0 everywhere if hi = lo.""",
    "LeastRequestedPriority": f"""
The mean over cpu and memory of 10·(A - T)/A, in integers: best where most is free. A resource with A = 0 or T > A
counts 0.{T_AND_A}""",
    "MostRequestedPriority": f"""
The mean over cpu and memory of 10·T/A, in integers: best where least is free. A resource with A = 0 or T > A counts
0.{T_AND_A}""",
    "NodeAffinityPriority": """
The weights of the preferred node affinity terms that match the node, added up; then 10·sum / highest sum, in
integers. A term without matchExpressions matches nothing.""",
    "NodePreferAvoidPodsPriority": """
0 on nodes whose annotation `scheduler.alpha.kubernetes.io/preferAvoidPods` names the kind and uid of the pod's
controller (a ReplicationController or ReplicaSet), 10 elsewhere. With its weight it outvotes everything else.""",
    "RequestedToCapacityRatioPriority": """
A curve of utilisation (0–100 %) gives a score to each resource, the weighted mean of the scores above 0 is rounded,
halves up. The default curve falls from 10 at 0 % to 0 at 100 %, over cpu and memory alike; the argument
`requestedToCapacityRatioArguments` sets another.""",
    "ResourceLimitsPriority": """
1 where the pod's cpu limit or its memory limit is set and no more than allocatable, otherwise 0.""",
    "SelectorSpreadPriority": SPREAD,
    "ServiceSpreadingPriority": "In 1.16 exactly SelectorSpreadPriority under another name, controllers included.",
    "TaintTolerationPriority": """
With c the PreferNoSchedule taints of the node that the pod does not tolerate, and m the largest c among the nodes
that fit: 10 - 10·c/m, in integers; 10 everywhere if m is 0.""",
    "labelPreference": "10 where the label exists (`presence: true`) or is absent (`presence: false`), otherwise 0.",
    "requestedToCapacityRatioArguments": """
RequestedToCapacityRatioPriority with the curve `shape` and the weights `resources` (default: cpu 1, memory 1). Points
must rise in utilisation; between two of them the score is interpolated and truncated toward the earlier one.""",
    "serviceAntiAffinity": """
With k the pods of the pod's service on nodes that fit and c those of them on nodes with the same value of the label:
10·(k - c)/k, truncated; 10 if k is 0, and 0 on nodes without the label.""",
}

PREDICATES_1_4: dict[str, str] = {
    "GeneralPredicates": "The parts as they are in 1.4; all four are always run.",
    "PodFitsResources": """
Cpu, memory and GPUs (`alpha.kubernetes.io/nvidia-gpu`) are all that is tested.""",
    "HostName": "",
    "MatchNodeSelector": """
Affinity is an annotation. One that cannot be read makes the predicate fail.""",
    "PodFitsHostPorts": "The port number decides, whatever IP and protocol are.",
    "PodFitsPorts": "PodFitsHostPorts under an old name; 1.4 runs it where a policy asks for it.",
    "NoDiskConflict": "iSCSI targets are not looked at.",
    "PodToleratesNodeTaints": """
Taints and tolerations are annotations. Every effect but PreferNoSchedule counts; a pod without any toleration stays
off nodes with any taint, PreferNoSchedule included. An annotation that cannot be read is an error.""",
    "MaxEBSVolumeCount": "The limit is `KUBE_MAX_PD_VOLS`, otherwise 39; allocatable is not asked.",
    "MaxGCEPDVolumeCount": "The limit is `KUBE_MAX_PD_VOLS`, otherwise 16; allocatable is not asked.",
    "NoVolumeZoneConflict": """
Zone and region labels are compared as they are, a label that the node lacks as an empty one.""",
    "CheckNodeMemoryPressure": "Runs by default. Any condition of the type that is True counts, not only the last.",
    "CheckNodeDiskPressure": "Runs by default. Any condition of the type that is True counts, not only the last.",
    "CheckNodeInodePressure": "Fails where condition InodePressure is True. Only 1.4 has it.",
    "MatchInterPodAffinity": """
Each required term is judged on its own, the rule for the first of a group too. An empty topologyKey stands for any of
`--failure-domains`; empty label values are no topology. Of a running pod with several anti-affinity terms, a match of
any one counts under the topology key of its last term.""",
    "CheckNodeLabelPresence": "Any name works.",
    "CheckServiceAffinity": "The peers are the pods that the pod's first service selects. Any name works.",
}

PRIORITIES_1_4: dict[str, str] = {
    "BalancedResourceAllocation": "10 - |…|·10, which rounds otherwise: for 0.9 and 0.1 it is 2, in 1.16 it is 1.",
    "EqualPriority": "",
    "ImageLocalityPriority": """
The sizes of the pod's images that the node has are added up, however many other nodes have them: 0 below 23 MiB, 10
from 1000 MiB on. Not in the default provider.""",
    "InterPodAffinityPriority": """
An empty topologyKey stands for any of `--failure-domains`; empty label values are no topology. A running pod on an
unknown node is an error if it counts.""",
    "LeastRequestedPriority": "",
    "MostRequestedPriority": "",
    "NodeAffinityPriority": "10·(sum / highest sum) in floating point, truncated.",
    "NodePreferAvoidPodsPriority": "",
    "SelectorSpreadPriority": """
StatefulSets are not asked; a pod counts if at least one selector matches. In single precision. Where no pod counts on
any node with a zone, nodes with a zone get -9223372036854775808.""",
    "ServiceSpreadingPriority": "Asks services only.",
    "TaintTolerationPriority": "(1 - c/m)·10 in floating point, truncated: counts 0, 1, 3 give 10, 6, 0.",
    "labelPreference": "",
    "serviceAntiAffinity": """
k counts the pods of the service anywhere, on nodes that do not fit too, and those that are being deleted. In single
precision.""",
}
