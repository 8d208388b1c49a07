"""Release 1.25: configurations of v1, and PodTopologySpread can be told more."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from clusterstate.images import ArrivedImageStates
from clusterstate.manifests.api_checks import DIFFERS_1_25, Differences, checks_of
from clusterstate.manifests.fields import Accepted
from clusterstate.pod_view_1_36 import COMPARISONS, gated_pod_key_1_36, pod_key_1_36
from clusterstate.podinfo import ReleaseView
from clusterstate.usage import account_1_20
from kubescheduler.config.config_schema import V1, V1BETA2, V1BETA3
from kubescheduler.config.format_1_36 import GONE, errors_1_25
from kubescheduler.config.gates import ALPHA, BETA_OFF, LOCKED
from kubescheduler.core.extender_calls import note_1_36
from kubescheduler.core.status import REJECTED_1_36
from kubescheduler.extender.wire import as_told
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.deciding.post_filter_plugins import collect_1_36
from kubescheduler.framework.deciding.score_plugins import HeapTie
from kubescheduler.framework.plugins import (
    default_preemption,
    inter_pod_affinity,
    node_resources_fit,
    nodes,
    pod_topology_spread,
    volume_binding,
    volume_limits,
)
from kubescheduler.framework.profile_map import PROFILES_1_36
from kubescheduler.releases import edits, v1_4, v1_20, v1_22, v1_24
from kubescheduler.releases.daemon_controllers import passing
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.release import ChangeKind
from predicates.node_identity import pod_match_node_selector_1_36
from predicates.taints import pod_tolerates_node_taints_1_36

RESTART_RULES = "ContainerRestartRules"


def accepted(gates: Mapping[str, bool], differs: Differences = DIFFERS_1_25) -> Accepted:
    """Tolerations compare, and containers have restart policies of their own, where gates say so, as soon as there are
    any. Upstream: 1.36 validateTolerations, validateContainers."""
    values = dict(v1_22.single_pod(gates))
    if COMPARISONS not in gates:
        values[v1_4.TOLERATION] = v1_4.BEFORE_SINGLE_POD[v1_4.TOLERATION]
    elif not gates[COMPARISONS]:
        values[v1_4.TOLERATION] = (v1_4.EQUALITY, f"comparing values takes the feature gate {COMPARISONS}")
    by_rules = gates.get(RESTART_RULES, differs.by_rules)
    return Accepted(values, checks_of(replace(differs, compares=gates.get(COMPARISONS, False), by_rules=by_rules)))


def cycle_as_later() -> dict[str, Any]:
    """What happens between choosing a node and binding to it."""
    from kubescheduler.cycle import cycle_rules, failures

    return {
        "assume_fault": cycle_rules.assume_fault_1_36,
        "passes_over": cycle_rules.passes_over_1_36,
        "undecided": failures.undecided_1_36,
        "chosen": failures.chosen_1_36,
        "extenders_bind": cycle_rules.extenders_bind_1_36,
        "fate": cycle_rules.fate_1_36,
    }


VIEW = replace(v1_20.VIEW, accounting=account_1_20, pod_key=pod_key_1_36)

LATER = dict.fromkeys(
    ("PodLevelResources", "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScaling"), False
)
"""Gates that change how pods are read, and that releases before them do not know."""


def view(gates: Mapping[str, bool]) -> ReleaseView:
    """How it reads objects under these feature gates."""
    return replace(VIEW, pod_key=gated_pod_key_1_36(gates, LATER))


POINTS = tuple(point for point in Point if point not in (Point.PLACEMENT_GENERATE, Point.PLACEMENT_SCORE))

AS_LATER = edits.together(
    edits.release_fields(
        view=view,
        daemons=replace(
            v1_24.RELEASE.daemons,
            runs_on=passing(partial(pod_match_node_selector_1_36, None), pod_tolerates_node_taints_1_36),
        ),
        accepted=accepted,
        reads_gates_at_start=True,
    ),
    edits.wire(refusal=as_told),
    edits.framework(profiles=PROFILES_1_36, upstream_tie=HeapTie),
    edits.queueing(
        present=(
            "Pod {} is already present in unschedulable queue",
            "Pod {} is already present in the active queue",
            "Pod {} is already present in the backoff queue",
        ),
        arrival="UnschedulablePodAdd",
    ),
    edits.cycling(cycle_as_later),
    edits.deciding(
        rejected=REJECTED_1_36,
        collect=collect_1_36,
        note=note_1_36,
        appends=False,
        empties=True,
    ),
    edits.component(points=POINTS),
    edits.plugins(
        nodes.NODE_NAME_1_36,
        nodes.NODE_PORTS_1_25,
        node_resources_fit.PLUGIN_1_25,
        nodes.NODE_UNSCHEDULABLE_1_36,
        volume_binding.PLUGIN_1_24,
        inter_pod_affinity.PLUGIN_1_25,
        default_preemption.PLUGIN_1_25,
    ),
)
"""Texts of the cycle and of the queue, ties and what extenders are asked: from here on as 1.36 has them, before as 1.20
does. They came one by one between 1.21 and 1.36, at steps that are not told apart here, so they are no change of this
release."""

CHANGES = (
    change(
        "v1",
        "Configurations are of v1, which refuses SelectorSpread; those of v1beta3 and v1beta2 are still read.",
        ChangeKind.CONFIGURATION,
        edits.component(
            native=V1,
            versions=(V1, V1BETA3, V1BETA2),
            later=frozenset(
                {
                    "delayCacheUntilActive",
                    "profiles.percentageOfNodesToScore",
                    "profiles.plugins.placementGenerate",
                    "profiles.plugins.placementScore",
                    "profiles.plugins.preEnqueue",
                }
            ),
            refused={V1: frozenset({"SelectorSpread"})},
            scheme="pkg/scheduler/apis/config/scheme/scheme.go:30",
            errors=errors_1_25,
            provider_problem=lambda _, __: None,
            construction_problems=lambda *_: (),
            gone=GONE,
        ),
        source="KEP-785",
    ),
    change(
        "images-counted-when-nodes-come",
        "ImageLocality is recorded with the number of nodes that had an image when a node came; up to 1.24 it is "
        "recorded with the number that have it when a pod is decided.",
        ChangeKind.SCORE,
        edits.viewing(images=ArrivedImageStates),
    ),
    change(
        "inline-in-tree-volumes-count",
        "In-tree volumes that pods name themselves count for the limits of the CSI drivers that stand in for them.",
        ChangeKind.FILTER,
        edits.plugins(volume_limits.NODE_VOLUME_LIMITS_1_25, *volume_limits.NON_CSI_LIMITS_1_24),
    ),
    change(
        "spread-constraints-can-be-told-more",
        "Gates turn matchLabelKeys and inclusion policies of spread constraints on; minDomains is beta, and off.",
        ChangeKind.GATE,
        edits.plugins(pod_topology_spread.PLUGIN_1_25),
        edits.gates(
            {
                "MatchLabelKeysInPodTopologySpread": ALPHA,
                "MinDomainsInPodTopologySpread": BETA_OFF,
                "NodeInclusionPolicyInPodTopologySpread": ALPHA,
            }
        ),
        edits.reads(
            topologySpreadConstraints__matchLabelKeys="MatchLabelKeysInPodTopologySpread",
            topologySpreadConstraints__nodeAffinityPolicy="NodeInclusionPolicyInPodTopologySpread",
            topologySpreadConstraints__nodeTaintsPolicy="NodeInclusionPolicyInPodTopologySpread",
        ),
        source="KEP-3094",
    ),
    change(
        "assumed-pods-stay",
        "A pod that was sent to its node counts there until it is confirmed; before, for 15 minutes at most.",
        ChangeKind.QUEUE,
        edits.cycling(expires=math.inf),
    ),
    change(
        "gates-of-1-25",
        "Migration of EBS, Azure and GCE volumes, ephemeral storage and budgets can no longer be turned off.",
        ChangeKind.GATE,
        edits.gates(
            {
                **dict.fromkeys(("CSIMigrationAWS", "CSIMigrationAzureDisk", "CSIMigrationGCE"), LOCKED),
                "CSIMigrationPortworx": BETA_OFF,
                "PodDisruptionConditions": ALPHA,
            },
            gone=(
                "CSIMigration",
                "CSIMigrationOpenStack",
                "LocalStorageCapacityIsolation",
                "PodDisruptionBudget",
            ),
            idle=("PodDisruptionConditions",),
        ),
    ),
)

RELEASE = after(
    AS_LATER(v1_24.RELEASE),
    "1.25",
    CHANGES,
    version="1.25.2",
    summary="v1, constraints of PodTopologySpread can be told more",
)
