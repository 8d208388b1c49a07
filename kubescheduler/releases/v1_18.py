"""Release 1.18: plugins in profiles for the first time, made of policies and providers too."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clusterstate.manifests.api_checks import CHECKS_1_20
from clusterstate.manifests.fields import Accepted
from clusterstate.node_order import zone_key_stable
from kubescheduler.config.component_format import ComponentFormat
from kubescheduler.config.config_schema import V1ALPHA1, V1ALPHA2
from kubescheduler.config.format_1_20 import (
    construction_problems_1_20,
    errors_1_20,
    finish_1_20,
    provider_problem_1_20,
    written_args_1_20,
    written_sets_1_20,
)
from kubescheduler.config.gates import ALL_ALPHA_AND_BETA, BETA, BETA_OFF, LOCKED
from kubescheduler.config.load_config import unknown_text_1_20
from kubescheduler.config.policy_1_16 import hard_weight_error
from kubescheduler.config.policy_1_20_plugins import (
    DEFAULT_LISTS_1_20,
    EVEN_SPREAD,
    PRIORITIES,
    SELECTOR_SPREAD,
    PolicyRules,
    hard_weight_error_1_20,
)
from kubescheduler.config.v1alpha1 import lifted_v1alpha1
from kubescheduler.core.selection import ReservoirTie
from kubescheduler.core.status import REJECTED_1_20, filter_failed_1_20
from kubescheduler.extender.wire import not_among_asked, only_200_lower_case
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.deciding.find_nodes import (
    FrameworkDecisionRules,
    narrow_1_20,
    never_alone,
    nothing_outside,
)
from kubescheduler.framework.deciding.opportunistic_batch import no_batching
from kubescheduler.framework.deciding.post_filter_plugins import collect_1_20
from kubescheduler.framework.plugins import (
    default_preemption,
    inter_pod_affinity,
    node_affinity,
    node_resources_balanced_allocation,
    node_resources_fit,
    nodes,
    pod_topology_spread,
    queue_and_bind,
    resource_scores,
    services,
    volume_binding,
    volume_filters,
    volume_limits,
)
from kubescheduler.framework.plugins.plugin_record import AUTOSCALER_PROVIDER, DEFAULT_PROVIDER, Providers, by_name
from kubescheduler.framework.profile_map import PROFILES_1_20
from kubescheduler.releases import edits, v1_4, v1_16
from kubescheduler.releases.daemon_controllers import passing
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.recorded_processes import flags_1_20, live_1_20
from kubescheduler.releases.release import ChangeKind, Edit, FrameworkRules, Release
from predicates.node_identity import pod_match_node_selector_1_20
from predicates.taints import pod_tolerates_node_taints_1_20

if TYPE_CHECKING:
    from kubescheduler.cycle.cycle_rules import ReleaseCycles
    from kubescheduler.queue.queue_policy import QueuePolicy


def accepted(_: Mapping[str, bool]) -> Accepted:
    """The same values as 1.16."""
    return Accepted(v1_4.BEFORE_SINGLE_POD, CHECKS_1_20)


def queue() -> QueuePolicy:
    """How pods wait to be tried."""
    from kubescheduler.queue.queue_policy import Backoffs

    return replace(
        v1_16.queue(),
        backoffs=Backoffs,
        present=(
            "pod: {} is already present in unschedulable queue",
            "pod: {} is already present in the active queue",
            "pod {} is already present in the backoff queue",
        ),
        arrival="PodAdd",
        rests_in_backoff=True,
    )


@cache
def cycle() -> ReleaseCycles:
    """What happens between choosing a node and binding to it."""
    from kubescheduler.cycle import cycle_rules, failures

    return cycle_rules.ReleaseCycles(
        assume_fault=cycle_rules.assume_fault_1_20,
        tries_deleted=False,
        passes_over=cycle_rules.passes_over_1_20,
        make_room=cycle_rules.room_by_plugin,
        make_room_later=cycle_rules.leave_room_to_plugins,
        undecided=failures.undecided_1_20,
        chosen=failures.chosen_1_20,
        pre_flight=cycle_rules.no_pre_flight,
        extenders_bind=cycle_rules.extenders_bind_1_20,
        assigned_note=cycle_rules.assigned_note,
        event_note=failures.cut,
        condition=failures.condition_with_message,
        nominated=failures.nominated_1_20,
        in_memory=cycle_rules.in_memory_1_20,
        fate=cycle_rules.fate_1_20,
        expires=120.0,
        expires_from_assume=False,
        failed_binding_is_event=False,
        activate_key=None,
    )


# --- its plugins, and which of them run by default --------------------------------------------

PLUGINS = by_name(
    services.SELECTOR_SPREAD_1_18,
    nodes.IMAGE_LOCALITY_1_18,
    nodes.TAINT_TOLERATION_1_20,
    nodes.NODE_NAME_1_20,
    nodes.NODE_PORTS_1_20,
    nodes.NODE_PREFER_AVOID_PODS_1_20,
    node_affinity.PLUGIN_1_18,
    pod_topology_spread.PLUGIN_1_18,
    nodes.NODE_UNSCHEDULABLE_1_20,
    node_resources_fit.PLUGIN_1_18,
    node_resources_balanced_allocation.PLUGIN_1_20,
    resource_scores.NODE_RESOURCES_MOST_ALLOCATED_1_18,
    resource_scores.NODE_RESOURCES_LEAST_ALLOCATED_1_18,
    resource_scores.NODE_RESOURCE_LIMITS_1_18,
    resource_scores.REQUESTED_TO_CAPACITY_RATIO_1_18,
    volume_binding.PLUGIN_1_18,
    volume_filters.VOLUME_RESTRICTIONS_1_20,
    volume_filters.VOLUME_ZONE_1_18,
    volume_limits.NODE_VOLUME_LIMITS_1_20,
    volume_limits.EBS_LIMITS_1_20,
    volume_limits.GCE_PD_LIMITS_1_20,
    volume_limits.AZURE_DISK_LIMITS_1_20,
    volume_limits.CINDER_LIMITS_1_20,
    inter_pod_affinity.PLUGIN_1_18,
    nodes.NODE_LABEL_1_20,
    services.SERVICE_AFFINITY_1_20,
    queue_and_bind.PRIORITY_SORT_1_20,
    queue_and_bind.DEFAULT_BINDER_1_20,
    default_preemption.PLUGIN_1_18,
)

POINTS = tuple(
    point for point in Point if point not in (Point.PRE_ENQUEUE, Point.PLACEMENT_GENERATE, Point.PLACEMENT_SCORE)
)


def provider(least_or_most: str) -> dict[Point, tuple[str, ...]]:
    """The plugins of a provider at each point, by which of the two scores of fullness it has."""
    return {
        Point.QUEUE_SORT: ("PrioritySort",),
        Point.PRE_FILTER: ("NodeResourcesFit", "NodePorts", "InterPodAffinity", "PodTopologySpread"),
        Point.FILTER: (
            "NodeUnschedulable",
            "NodeResourcesFit",
            "NodeName",
            "NodePorts",
            "NodeAffinity",
            "VolumeRestrictions",
            "TaintToleration",
            "EBSLimits",
            "GCEPDLimits",
            "NodeVolumeLimits",
            "AzureDiskLimits",
            "VolumeBinding",
            "VolumeZone",
            "InterPodAffinity",
            "PodTopologySpread",
        ),
        Point.POST_FILTER: ("DefaultPreemption",),
        Point.PRE_SCORE: (
            "InterPodAffinity",
            "DefaultPodTopologySpread",
            "TaintToleration",
            "PodTopologySpread",
            "NodeResourceLimits",
        ),
        Point.SCORE: (
            "NodeResourcesBalancedAllocation",
            "ImageLocality",
            "InterPodAffinity",
            least_or_most,
            "NodeAffinity",
            "NodePreferAvoidPods",
            "DefaultPodTopologySpread",
            "TaintToleration",
            "PodTopologySpread",
            "NodeResourceLimits",
        ),
        Point.RESERVE: ("VolumeBinding",),
        Point.PRE_BIND: ("VolumeBinding",),
        Point.BIND: ("DefaultBinder",),
    }


PROVIDERS: Providers = {
    DEFAULT_PROVIDER: provider("NodeResourcesLeastAllocated"),
    AUTOSCALER_PROVIDER: provider("NodeResourcesMostAllocated"),
}

# --- how it reads, decides and writes ---------------------------------------------------------

FORMAT = ComponentFormat(
    release="1.18",
    native=V1ALPHA2,
    versions=(V1ALPHA1,),
    lifts={V1ALPHA1: lifted_v1alpha1},
    reads_any_args=True,
    locks=("endpointsleases", "leases", "endpoints", "configmaps", "configmapsleases"),
    scheme="k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:30",
    registered=frozenset({("v1", "Policy")}),
    plugins=PLUGINS,
    points=POINTS,
    providers=PROVIDERS,
    unknown_text=unknown_text_1_20,
    errors=errors_1_20,
    finish=finish_1_20,
    provider_problem=provider_problem_1_20,
    construction_problems=construction_problems_1_20,
    written_sets=written_sets_1_20,
    written_args=written_args_1_20,
)

DECIDING = FrameworkDecisionRules(
    narrow=narrow_1_20,
    outside=nothing_outside,
    refusal_is_status=True,
    rejected=REJECTED_1_20,
    filter_error=filter_failed_1_20,
    pre_score_skips=frozenset(),
    collect=collect_1_20,
    nominated_first=never_alone,
    empties=False,
    one_is_enough=False,
    batching=no_batching,
    reports_post_filter=False,
)

DEFAULT_LISTS_1_18 = replace(DEFAULT_LISTS_1_20, priorities={**DEFAULT_LISTS_1_20.priorities, EVEN_SPREAD: 1})
PRIORITIES_1_18 = {
    **PRIORITIES,
    SELECTOR_SPREAD: "DefaultPodTopologySpread",
    "ResourceLimitsPriority": "NodeResourceLimits",
}


def without_gated(gates: Mapping[str, bool]) -> frozenset[str]:
    """The predicates and priorities that a policy without lists does not have under these feature gates."""
    return frozenset() if gates.get("EvenPodsSpread", True) else frozenset({"EvenPodsSpread", EVEN_SPREAD})


POLICIES = PolicyRules(
    release="1.18",
    merges=False,
    defaults=DEFAULT_LISTS_1_18,
    without=without_gated,
    score=PRIORITIES_1_18,
    spreads=lambda _: False,
    hard_weight_error=hard_weight_error,
    beside_configuration=False,
)

FRAMEWORK = FrameworkRules(
    profiles=PROFILES_1_20,
    deciding=DECIDING,
    cycle=cycle,
    queue=v1_16.queue,
    upstream_tie=ReservoirTie,
    component=FORMAT,
    policies=POLICIES,
)

# --- what it changed ----------------------------------------------------------------------------


def by_plugins(older: Release) -> Release:
    """Decides by plugins, no longer by predicates and priorities."""
    named = replace(POLICIES, release=older.name)
    rules = replace(FRAMEWORK, component=replace(FORMAT, release=older.name), policies=named)
    return replace(older, legacy=None, framework=rules, top_score=100, live=live_1_20, flags=flags_1_20)


def where_plugins_decide(edit: Edit) -> Edit:
    """An edit of the rules of plugins; nothing where predicates and priorities decide."""
    return lambda release: release if release.framework is None else edit(release)


CHANGES = (
    change(
        "even-pods-spread-by-default",
        "topologySpreadConstraints of pods count: the feature gate EvenPodsSpread is on.",
        ChangeKind.FILTER,
        edits.gates({"EvenPodsSpread": BETA}),
        source="KEP-895",
    ),
    change(
        "pod-overhead-by-default",
        "A pod asks for its overhead too: the feature gate PodOverhead is on.",
        ChangeKind.GATE,
        edits.gates({"PodOverhead": BETA}),
        source="KEP-688",
    ),
    change(
        "gates-of-1-18",
        "AttachVolumeLimit, BlockVolume, CSINodeInfo, PodPriority, StorageObjectInUseProtection and "
        "TaintNodesByCondition can no longer be turned off, PodDisruptionBudget can; CSIMigration is on, those of its "
        "drivers are off.",
        ChangeKind.GATE,
        edits.gates(
            {
                "CSIMigration": BETA,
                **dict.fromkeys(("CSIMigrationAWS", "CSIMigrationGCE", "CSIMigrationOpenStack"), BETA_OFF),
                "CSINodeInfo": LOCKED,
                "PodDisruptionBudget": BETA,
            },
            gone=(
                "AttachVolumeLimit",
                "BlockVolume",
                "PodPriority",
                "StorageObjectInUseProtection",
                "TaintNodesByCondition",
            ),
            stages=ALL_ALPHA_AND_BETA,
        ),
    ),
    change(
        "nodes-in-turn-by-zone-label-without-beta",
        "Where not all nodes are looked at, they come from zones in turn by their labels without beta, too.",
        ChangeKind.ORDER,
        edits.viewing(zone_key=zone_key_stable),
    ),
    change(
        "extenders-answer-with-nodes-they-were-sent",
        "An extender may answer with the nodes that it was sent alone; before, with any node there is.",
        ChangeKind.FILTER,
        edits.wire(status_fault=only_200_lower_case, unknown_node=not_among_asked, takes_only_asked=True),
    ),
    change(
        "leader-elected-by-endpoints-and-lease",
        "Where a configuration says nothing, the resource locks of the leader election are endpoints and a Lease, and "
        "profiling is on.",
        ChangeKind.CONFIGURATION,
        edits.release_fields(process_defaults={"leaderElection": {"resourceLock": "endpointsleases"}}),
    ),
    change(
        "plugins-in-profiles",
        "Plugins in profiles decide: scores run from 0 to 100, and a node has a status code and the reasons of the "
        "first plugin that refuses it, in their own words.",
        ChangeKind.PLUGIN,
        by_plugins,
        source="KEP-624",
    ),
    change(
        "configurations-of-v1alpha2",
        "Component configurations are v1alpha2, with profiles; v1alpha1 is read as one profile, and its plugins count.",
        ChangeKind.CONFIGURATION,
        edits.component(
            versions=(V1ALPHA2, V1ALPHA1),
            refused={V1ALPHA2: frozenset({default_preemption.NAME})},  # it is no plugin yet
        ),
        source="KEP-1451",
    ),
    change(
        "hard-weight-of-0",
        "--hard-pod-affinity-symmetric-weight may be 0; before, it was at least 1.",
        ChangeKind.POLICY,
        where_plugins_decide(edits.policies(hard_weight_error=hard_weight_error_1_20)),
    ),
    change(
        "back-off-by-attempts",
        "A pod that fits nowhere waits longer with each attempt that the queue counts; before, a table of pods said "
        "how long.",
        ChangeKind.QUEUE,
        where_plugins_decide(edits.framework(queue=queue)),
    ),
)

RELEASE = after(
    v1_16.RELEASE,
    "1.18",
    CHANGES,
    version="1.18.2",
    summary="profiles, v1alpha2, topology spread constraints count",
    daemons=replace(
        v1_16.RELEASE.daemons,
        runs_on=passing(partial(pod_match_node_selector_1_20, None), pod_tolerates_node_taints_1_20),
    ),
    accepted=accepted,
)
