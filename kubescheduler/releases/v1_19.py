"""Release 1.19: v1beta1 configurations, preemption as a plugin, scores by the size of topologies."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from clusterstate.pod_view_1_36 import pod_key_with_ephemeral_claims
from clusterstate.podinfo import ReleaseView
from clusterstate.usage import account_1_20, gated_accounting_1_19, tracked_without_local_storage
from kubescheduler.config.config_schema import V1BETA1
from kubescheduler.config.format_1_20 import finish_1_20
from kubescheduler.config.gates import ALPHA, BETA, BETA_OFF, LOCKED
from kubescheduler.config.policy_1_20_plugins import ALWAYS, DEFAULT_LISTS_1_20, PRIORITIES, all_defaults
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins import (
    default_preemption,
    inter_pod_affinity,
    node_resources_fit,
    nodes,
    pod_topology_spread,
    resource_scores,
    services,
    volume_binding,
)
from kubescheduler.releases import edits, v1_18
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind


def spreading_first(point: Point, names: tuple[str, ...]) -> tuple[str, ...]:
    """PodTopologySpread before InterPodAffinity, and before TaintToleration where they score."""
    spread, next_ = "PodTopologySpread", "TaintToleration" if "SCORE" in point.name else "InterPodAffinity"
    if spread not in names:
        return names
    others = tuple(name for name in names if name != spread)
    at = others.index(next_)
    return (*others[:at], spread, *others[at:])


def claims_before_filter(point: Point, names: tuple[str, ...]) -> tuple[str, ...]:
    """VolumeBinding is asked in PreFilter, too."""
    return (*names, "VolumeBinding") if point is Point.PRE_FILTER else names


POINTS, VIEW = v1_18.POINTS, replace(v1_18.RELEASE.default_view, accounting=account_1_20)
queue, cycle = v1_18.queue, v1_18.cycle


def view(gates: Mapping[str, bool]) -> ReleaseView:
    """How it reads objects under these feature gates."""
    local_storage = gates.get("LocalStorageCapacityIsolation", True)
    return replace(
        VIEW,
        accounting=gated_accounting_1_19(overhead=gates.get("PodOverhead", True), local_storage=local_storage),
        tracked=VIEW.tracked if local_storage else tracked_without_local_storage,
        pod_key=pod_key_with_ephemeral_claims if gates.get("GenericEphemeralVolume", False) else VIEW.pod_key,
    )


CHANGES = (
    change(
        "configurations-of-v1beta1",
        "Component configurations are v1beta1, with args of their own types that are read strictly; v1alpha1 and "
        "v1alpha2 are not read any more.",
        ChangeKind.CONFIGURATION,
        edits.component(
            native=V1BETA1,
            versions=(V1BETA1,),
            lifts={},
            refused={},
            reads_any_args=False,
            later=frozenset({"parallelism"}),
            finish=finish_1_20,
        ),
        edits.release_fields(process_defaults={"leaderElection": {"resourceLock": "endpointsleases"}}),
    ),
    change(
        "policy-beside-a-configuration",
        "Flags that name a policy or a provider count beside a component configuration; before, they were passed over, "
        "and --hard-pod-affinity-symmetric-weight was refused beside a policy.",
        ChangeKind.POLICY,
        edits.policies(beside_configuration=True),
    ),
    change(
        "selector-spread-has-its-name",
        "The plugin DefaultPodTopologySpread is called SelectorSpread.",
        ChangeKind.PLUGIN,
        edits.without_plugins("DefaultPodTopologySpread"),
        edits.plugins(services.SELECTOR_SPREAD_1_20),
        edits.gates({"DefaultPodTopologySpread": ALPHA}),
        edits.component(selector_spread=True),
    ),
    change(
        "no-resource-limits",
        "The plugin NodeResourceLimits, its priority ResourceLimitsPriority and its feature gate are gone.",
        ChangeKind.PLUGIN,
        edits.without_plugins("NodeResourceLimits"),
        edits.gates(gone=("ResourceLimitsPriorityFunction",)),
    ),
    change(
        "pod-topology-spread-weighs-by-size",
        "PodTopologySpread scores count·ln(size + 2) + maxSkew - 1 instead of the number of pods, with weight 2, and a "
        "node without the topology key is refused for good.",
        ChangeKind.SCORE,
        edits.gates({"EvenPodsSpread": LOCKED}),
        edits.plugins(pod_topology_spread.PLUGIN_1_19),
        edits.provider_lists(spreading_first),
    ),
    change(
        "init-containers-count-in-scores-and-on-nodes",
        "Init containers count in the requests of running pods and where nodes are scored.",
        ChangeKind.SCORE,
        edits.release_fields(view=view),
        edits.gates({"LocalStorageCapacityIsolation": BETA, "GenericEphemeralVolume": ALPHA}),
        edits.reads(**{"ephemeral volumes": "GenericEphemeralVolume"}),
    ),
    change(
        "resources-of-least-and-most-allocated",
        "NodeResourcesLeastAllocated and NodeResourcesMostAllocated have args with resources and weights, and "
        "NodeResourcesFit can ignore groups of resources.",
        ChangeKind.CONFIGURATION,
        edits.plugins(
            resource_scores.NODE_RESOURCES_LEAST_ALLOCATED_1_20,
            resource_scores.NODE_RESOURCES_MOST_ALLOCATED_1_19,
            node_resources_fit.PLUGIN_1_20,
            resource_scores.REQUESTED_TO_CAPACITY_RATIO_1_20,
        ),
    ),
    change(
        "image-locality-by-container",
        "ImageLocality gives 100 from 1000 MiB a container on; before, from 1000 MiB.",
        ChangeKind.SCORE,
        edits.plugins(nodes.IMAGE_LOCALITY_1_20),
    ),
    change(
        "inter-pod-affinity-looks-at-the-pod-first",
        "InterPodAffinity looks at the pod's own terms before those of running pods, and a node without a term's "
        "topology key is always refused.",
        ChangeKind.FILTER,
        edits.plugins(inter_pod_affinity.PLUGIN_1_19),
    ),
    change(
        "unbound-immediate-claims-refuse-nodes",
        "VolumeBinding finds claims that should be bound already before it looks at nodes, and refuses all of them; "
        "before, it was an error of the attempt.",
        ChangeKind.FILTER,
        edits.plugins(volume_binding.PLUGIN_1_19),
        edits.provider_lists(claims_before_filter),
        edits.gates({"CSIStorageCapacity": ALPHA, "CSIMigrationAzureDisk": BETA_OFF}),
    ),
    change(
        "default-preemption",
        "Preemption is the plugin DefaultPreemption; preemptionPolicy Never always counts, and a Policy preempts "
        "nothing.",
        ChangeKind.PREEMPTION,
        edits.plugins(default_preemption.PLUGIN_1_19),
        edits.gates(gone=("NonPreemptingPriority",)),
        edits.policies(
            always={point: plugin for point, plugin in ALWAYS.items() if point is not Point.POST_FILTER},
            defaults=DEFAULT_LISTS_1_20,
            without=all_defaults,
            score=PRIORITIES,
        ),
    ),
)

RELEASE = after(
    v1_18.RELEASE,
    "1.19",
    CHANGES,
    version="1.19.0-rc.4",
    summary="v1beta1, init containers of running pods count",
)
