"""What each plugin of 1.20 and 1.36 does, in a few sentences for people who configure a scheduler.

What is said without a release holds for every release that has the plugin.
"""

from __future__ import annotations

NORMALIZED = "Normalised: 100·raw / the highest raw, in integers"
LIMITS = """
Counts the {0} disks of the pods on the node together with the pod's own, each once, inline or behind a claim. Fails
where there would be more than the node's limit: allocatable `{1}`, otherwise {2}."""
GROUPS = "Only with feature gate TopologyAwareWorkloadScheduling; it is accepted and does nothing here."
ALLOCATED = """
The mean over the resources of {0}, weighted, in integers. T is what pods on the node ask for, this one included, and A
what the node has. A container that does not ask counts as 100 millicores and 200 MiB. A resource with A = 0 scores 0,
and its weight counts; one with T > A scores {1}."""

PLUGINS: dict[str, str] = {
    "AzureDiskLimits": LIMITS.format("Azure", "attachable-volumes-azure-disk", "16"),
    "CinderLimits": LIMITS.format("Cinder", "attachable-volumes-cinder", "256"),
    "DefaultBinder": "Writes the Binding. Without an API server the pod is placed in the cluster in memory.",
    "DefaultPreemption": """
When no node fits: looks for nodes where taking away pods of lower priority would make room, and nominates the one where
it hurts least: fewest violations of disruption budgets, then lowest highest priority of the victims, lowest sum of
priorities, fewest victims, latest start. Nodes whose status is UnschedulableAndUnresolvable are not tried; 1.36 tries
only nodes with code Unschedulable. 1.36 says why there is no candidate, in the pod's message; 1.20 says nothing. In
1.36 victims are taken away in the background, and PreEnqueue holds the pod back until then.""",
    "DynamicResources": """
For pods with ResourceClaims, or with an extended resource that a DeviceClass provides: the node must have the devices
that the claims were given, or can be given. Of a request with alternatives the better ones score higher: 8 less the
place of the one taken, added up. For all other pods it does nothing, but its PostFilter still has its say in the
message of a pod that fits nowhere. It ends PostFilter with the error `not found` when PreFilter stopped before it.""",
    "EBSLimits": LIMITS.format("EBS", "attachable-volumes-aws-ebs", "39, or 25 on Nitro instance types"),
    "GCEPDLimits": LIMITS.format("GCE", "attachable-volumes-gce-pd", "16"),
    "GangScheduling": """
Only with feature gate GangScheduling. Holds pods of a group in Permit until minCount of them have a node, at most five
minutes, and out of the queue until as many are there.""",
    "ImageLocality": """
Adds up size·(nodes that have it / all nodes) over the pod's images. The sum is held between 23 MiB and
1000 MiB per container and stretched to 0–100, truncated. 1.36 counts init containers and image volumes, too.""",
    "InterPodAffinity": """
Required: in each term's topology a running pod must match (affinity) or none may (anti-affinity), and none of the
running pods' own anti-affinity terms may match this pod. If no running pod anywhere matches the affinity terms and the
pod matches them itself, it may be the first of its group. Preferred: weights are added up over the running pods whose
labels match this pod's preferred terms, or whose own terms match this pod; their required affinity terms count with
hardPodAffinityWeight. The score is

    100·(sum - lowest) / (highest - lowest), truncated; 0 everywhere if they are equal

In 1.20 lowest is at most 0 and highest at least 0; in 1.36 they are those of the nodes that fit. 1.36 knows
namespaceSelector. 1.20 gives two reasons per node, the general one first.""",
    "NodeAffinity": f"""
All of `spec.nodeSelector` and at least one term of the required node affinity must match, and the args' added affinity
besides. Raw score: the weights of the preferred terms that match, added up. {NORMALIZED}. In 1.36 terms that name nodes
by `metadata.name` narrow the nodes before any Filter, and terms that contradict one another refuse the pod as a
whole.""",
    "NodeDeclaredFeatures": """
The node must declare the features that the pod needs: restarting all containers on an exit rule, or user namespaces
with host network. Says nothing of other pods.""",
    "NodeLabel": """
From args: labels that a node must have, or must not have, whatever their values. Score: 100·(preferences met) /
preferences.""",
    "NodeName": "A pod whose manifest names a node (`spec.nodeName`) fits only that node.",
    "NodePorts": """
Fails where a pod on the node holds a host port that this pod wants: same protocol, same port, and the same host IP or
one of the two `0.0.0.0`. 1.36 counts ports of restartable init containers, too.""",
    "NodePreferAvoidPods": """
0 on nodes whose annotation `scheduler.alpha.kubernetes.io/preferAvoidPods` names the kind and uid of the pod's
controller (a ReplicationController or ReplicaSet), 100 elsewhere. With its weight it outvotes everything else.""",
    "NodeResourcesBalancedAllocation": """
1.20: 100·(1 - |T_cpu/A_cpu - T_memory/A_memory|), truncated; 0 where one of the two would be used up. 1.36 compares
with and without the pod: with s the standard deviation of the used shares,

    S = (1 - s)·100, truncated
    score = 50 + (50 + S with the pod - S without it) / 2, in integers

from plain requests, without any default for containers that do not ask; nothing is scored for a pod that asks for none
of the resources.""",
    "NodeResourcesFit": """
Fails where the node already runs as many pods as it allows, or where what the pod asks for is not free: cpu, memory,
ephemeral storage, and every other resource it names. 1.20 tests cpu, memory and ephemeral storage once anything at all
is asked for, so an overcommitted node refuses pods that want nothing of what is short; 1.36 tests what is asked for.
1.36 answers UnschedulableAndUnresolvable where the pod asks for more than the node has at all, counts sidecars,
pod-level requests and resizes, and scores by `scoringStrategy`: LeastAllocated, MostAllocated or
RequestedToCapacityRatio. There a resource that the node does not have, and another than cpu and memory that the pod
does not ask for, are left out.""",
    "NodeResourcesLeastAllocated": ALLOCATED.format("100·(A - T)/A", "0"),
    "NodeResourcesMostAllocated": ALLOCATED.format("100·T/A", "100"),
    "NodeUnschedulable": """
Fails on nodes with `spec.unschedulable`, unless the pod tolerates the taint `node.kubernetes.io/unschedulable` with
effect NoSchedule.""",
    "NodeVolumeLimits": """
Counts CSI volumes per driver, each once. Fails where there would be more than the CSINode's `allocatable.count`. 1.20
also reads the node's allocatable `attachable-volumes-csi-…` and ignores claims that are missing. 1.36 also counts
volumes that are attached though no pod there uses them, and in-tree volumes as those of their CSI drivers.""",
    "PodGroupPodsCount": GROUPS,
    "PodTopologySpread": """
DoNotSchedule: pods that match in the node's domain, plus the pod itself if it matches, minus those in the emptiest
domain, may not exceed maxSkew. ScheduleAnyway: with size the number of domains and count the matching pods there,

    raw = Σ count·ln(size + 2) + (maxSkew - 1), truncated in 1.20, rounded in 1.36
    score = 100·(highest + lowest - raw) / highest

A pod without constraints gets those of the args: by default at most 3 apart over hosts and 5 over zones
(ScheduleAnyway), among the pods that its services and controllers select. In 1.20 these are all matching
ReplicationControllers, ReplicaSets and StatefulSets, in 1.36 only the controller that owns the pod. 1.36 knows
minDomains, matchLabelKeys and the inclusion policies. Two constraints with one key share their counts in 1.20.""",
    "PrioritySort": "Pods of higher priority first, of equal priority those that came into the queue earlier.",
    "RequestedToCapacityRatio": """
A curve of utilisation (0–100 %) gives 0–10 points to each resource; the weighted mean of those above 0, times ten, is
rounded, halves up. In 1.36 a strategy of NodeResourcesFit.""",
    "SchedulingGates": "A pod with `spec.schedulingGates` does not enter the queue.",
    "SelectorSpread": """
Away from the pods of the same services and controllers: 100·(most - count)/most on the node, and two thirds of the same
for its zone. Part of the profiles only when feature gate DefaultPodTopologySpread is off.""",
    "ServiceAffinity": """
From args: pods of a service stay on nodes with equal values of `affinityLabels`, those of the first pod of the service;
and spread over the values of `antiAffinityLabelsPreference`.""",
    "TaintToleration": """
Fails where a taint with effect NoSchedule or NoExecute is not tolerated. Raw score: the PreferNoSchedule taints that
the pod does not tolerate. Normalised and turned round: 100 - 100·raw / the highest raw.""",
    "TopologyPlacementGenerator": GROUPS,
    "VolumeBinding": """
For pods with claims. Bound volumes must have a node affinity that picks the node. Claims that wait for their first
consumer must find a volume there, or a class that can provision one. A claim that is unbound and does not wait refuses
the pod as a whole. Reserve keeps the volumes, PreBind writes them down and waits until they are bound. 1.36 looks at
CSIStorageCapacity.""",
    "VolumeRestrictions": """
Fails where a pod on the node mounts the same disk: a GCE disk, RBD image or iSCSI target unless both mounts are
read-only, an EBS volume always. Only volumes written in the pods themselves count. In 1.36 also everywhere, if a claim
with access mode ReadWriteOncePod is in use by another pod.""",
    "VolumeZone": """
The zone and region labels of the volumes behind the pod's claims must agree with those of the node. A node with none of
these labels passes. 1.20 looks at the claims on each node, 1.36 once for the pod; there a beta label of the volume is
also met by the node's label `topology.kubernetes.io/…`.""",
}

ARGS: dict[str, str] = {
    "DefaultPreemption": """
How many candidates are enough: the larger of the two numbers. kubescheduler tries every node; see
[deviations](../explanation/deviations.md).""",
    "DynamicResources": "How long one node may take to find devices, 0: as long as it takes; how long PreBind waits.",
    "InterPodAffinity": """
What a running pod's required affinity to the new pod counts, 0–100. With `ignorePreferredTermsOfExistingPods` nothing
is scored for pods without preferred terms of their own.""",
    "NodeAffinity": """
Node affinity that every pod of the profile has besides its own. Keys are those of `spec.affinity.nodeAffinity`.""",
    "NodeLabel": "Labels that must be there, that must not, and the same as preferences. None may be on both sides.",
    "NodeResourcesBalancedAllocation": "The resources to balance. Weights must be 1.",
    "NodeResourcesFit": """
Extended resources that are not tested, by name or by what stands before the `/`. In 1.36 `scoringStrategy` says what
is best: type LeastAllocated, MostAllocated or RequestedToCapacityRatio. Only the last has, and needs, a `shape`; its
points rise in utilisation, within 0–100, with scores 0–10. Weights are 1–100.""",
    "NodeResourcesLeastAllocated": "Weights are 1–100.",
    "NodeResourcesMostAllocated": "Weights are 1–100.",
    "PodTopologySpread": """
With defaultingType System pods without constraints get the built-in ones and `defaultConstraints` must be empty; with
List they get `defaultConstraints`, which have no selector. In 1.20 the type is List as soon as constraints are
given.""",
    "RequestedToCapacityRatio": """
Needs a `shape`. Points rise in utilisation, within 0–100, with scores 0–10; weights are at least 1.""",
    "ServiceAffinity": "Labels that pods of a service share, and labels over whose values they spread.",
    "VolumeBinding": """
How long PreBind waits for claims to be bound. `shape` needs feature gate StorageCapacityScoring. 1.20 refuses 0
seconds, too.""",
}
