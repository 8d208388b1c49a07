"""By services and controllers: SelectorSpread keeps their pods apart, ServiceAffinity keeps those of a service on nodes
alike in some labels or spreads them over the values of others.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from clusterstate.changes import LOCAL, Reads
from clusterstate.errors import ConfigError
from clusterstate.footprint import Footprint
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.pod_owners import default_selector_1_20, default_selector_1_36
from clusterstate.snapshot import Snapshot
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.document_schema import TEXT, ArgsType, ListOf, fields
from kubescheduler.framework.plugins.plugin_record import UNSCHEDULABLE, InTreePlugin, PluginReason
from predicates.refusal_evidence import filter_evidence
from predicates.service_affinity import check_service_affinity_1_20, explain_peers_1_20
from predicates.types import FitPredicate, Verdict
from priorities.selector_spread import (
    FindSelector,
    is_unselected_1_20,
    matching_pods_1_20,
    not_spread,
    selector_spread_evidence_1_20,
    spread_scores_1_20,
)
from priorities.service_anti_affinity import anti_affinity_scores_1_20, service_evidence_1_20, service_pods_1_20
from priorities.types import PriorityConfig

# --- SelectorSpread --------------------------------------------------------------------------

SELECTOR_SPREAD = "SelectorSpread"
SELECTOR_SPREAD_POINTS = frozenset({Point.PRE_SCORE, Point.SCORE})
SELECTOR_SPREAD_UNPREPARED = 'error reading "PreScoreSelectorSpread" from cycleState: not found'


def selector_spread_1_20(_: Any, __: Handle) -> ColumnPlugin:
    """Away from the pods of the same services and controllers: 100·(most - count)/most on the node, and two thirds of
    the same for its zone. Part of the profiles only when feature gate DefaultPodTopologySpread is off.

    Upstream: 1.20 SelectorSpread.
    """
    return _plugin(default_selector_1_20)


def selector_spread_1_22(_: Any, __: Handle) -> ColumnPlugin:
    """As in 1.21, but of controllers only the pod's own counts.

    Upstream: 1.22 SelectorSpread.
    """
    return _plugin(default_selector_1_36)


def selector_spread_1_23(_: Any, __: Handle) -> ColumnPlugin:
    """As in 1.22; the error where PreScore has not run is worded otherwise.

    Upstream: 1.23 SelectorSpread.
    """
    return msgspec.structs.replace(
        _plugin(default_selector_1_36), score_alone=SELECTOR_SPREAD_UNPREPARED.removeprefix("error ")
    )


def _plugin(find: FindSelector) -> ColumnPlugin:
    unselected = partial(is_unselected_1_20, find=find)
    scoring = PriorityConfig(
        SELECTOR_SPREAD,
        partial(matching_pods_1_20, find=find),
        spread_scores_1_20,
        Footprint(LOCAL | Reads.SERVICES, pod_key=find, unaffected_by_pods=unselected),
        constant=not_spread,
        evidence=selector_spread_evidence_1_20(find),
    )
    return ColumnPlugin(
        SELECTOR_SPREAD, SELECTOR_SPREAD_POINTS, scoring=scoring, score_alone=SELECTOR_SPREAD_UNPREPARED
    )


OLD_NAME = "DefaultPodTopologySpread"


def default_pod_topology_spread_1_18(_: Any, __: Handle) -> ColumnPlugin:
    """SelectorSpread under its first name. Pods count that all selectors match.

    Upstream: 1.18 DefaultPodTopologySpread.
    """
    made = selector_spread_1_20(None, __)
    assert made.scoring is not None
    scoring = msgspec.structs.replace(made.scoring, name=OLD_NAME)
    return ColumnPlugin(
        OLD_NAME,
        SELECTOR_SPREAD_POINTS,
        scoring=scoring,
        score_alone=f'error reading "PreScore{OLD_NAME}" from cycleState: not found',
    )


SELECTOR_SPREAD_1_18 = InTreePlugin(
    OLD_NAME, SELECTOR_SPREAD_POINTS, default_pod_topology_spread_1_18, default_weight=1
)
SELECTOR_SPREAD_1_20 = InTreePlugin(SELECTOR_SPREAD, SELECTOR_SPREAD_POINTS, selector_spread_1_20, default_weight=1)
SELECTOR_SPREAD_1_22 = InTreePlugin(SELECTOR_SPREAD, SELECTOR_SPREAD_POINTS, selector_spread_1_22, default_weight=1)
SELECTOR_SPREAD_1_23 = InTreePlugin(SELECTOR_SPREAD, SELECTOR_SPREAD_POINTS, selector_spread_1_23, default_weight=1)


# --- ServiceAffinity -------------------------------------------------------------------------

SERVICE_AFFINITY = "ServiceAffinity"
SERVICE_AFFINITY_POINTS = frozenset({Point.PRE_FILTER, Point.FILTER, Point.SCORE})
SERVICE_AFFINITY_READS = Reads.NODE | Reads.ALL_NODES | Reads.ALL_PODS | Reads.SERVICES
SERVICE_AFFINITY_UNPREPARED = 'error reading "PreFilterServiceAffinity" from cycleState: not found'


class ServiceAffinityArgs(msgspec.Struct, frozen=True):
    """1.20: keys of node labels."""

    affinity_labels: tuple[str, ...] = ()
    """The pods of a service are on nodes with equal values of these."""
    anti_affinity_labels_preference: tuple[str, ...] = ()
    """The pods of a service spread over the values of these."""


def service_affinity_1_20(args: ServiceAffinityArgs | None, _: Handle) -> ColumnPlugin:
    """From args: pods of a service stay on nodes with equal values of `affinityLabels`, those of the first pod of the
    service; and spread over the values of `antiAffinityLabelsPreference`.

    Upstream: 1.20 ServiceAffinity.
    """
    args = args or ServiceAffinityArgs()
    labels, preferred = args.affinity_labels, args.anti_affinity_labels_preference

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return check_service_affinity_1_20(labels, pod, snapshot)

    def applies(_: PodInfo) -> bool:
        return bool(labels)

    def normalize(_: PodInfo, snapshot: Snapshot, counts: IntArray) -> IntArray:
        return anti_affinity_scores_1_20(preferred, snapshot, counts)

    return ColumnPlugin(
        SERVICE_AFFINITY,
        SERVICE_AFFINITY_POINTS,
        FitPredicate(
            SERVICE_AFFINITY,
            check,
            Footprint(SERVICE_AFFINITY_READS),
            applies,
            evidence=filter_evidence(SERVICE_AFFINITY, explain_peers_1_20(labels)),
        ),
        PriorityConfig(
            SERVICE_AFFINITY,
            service_pods_1_20,
            normalize,
            Footprint(LOCAL | Reads.SERVICES),
            evidence=service_evidence_1_20(preferred),
        ),
        filter_alone=SERVICE_AFFINITY_UNPREPARED if labels else None,
    )


def service_affinity_1_22(args: ServiceAffinityArgs | None, handle: Handle) -> ColumnPlugin:
    """As in 1.21, but it needs args.

    Upstream: 1.22 ServiceAffinity. Raises ConfigError without args.
    """
    if args is None:
        raise ConfigError("want args to be of type ServiceAffinityArgs, got <nil>")
    return service_affinity_1_20(args, handle)


# --- args --------------------------------------------------------------------------------------


SERVICE_AFFINITY_ARGS = ArgsType(
    ServiceAffinityArgs,
    fields(affinity_labels=ListOf(TEXT), anti_affinity_labels_preference=ListOf(TEXT)),
    "Labels that pods of a service share, and labels over whose values they spread.",
)


SERVICE_AFFINITY_REASONS = (PluginReason("node(s) didn't match service affinity", UNSCHEDULABLE),)

SERVICE_AFFINITY_1_20 = InTreePlugin(
    SERVICE_AFFINITY,
    SERVICE_AFFINITY_POINTS,
    service_affinity_1_20,
    args=SERVICE_AFFINITY_ARGS,
    reasons=SERVICE_AFFINITY_REASONS,
)
SERVICE_AFFINITY_1_22 = InTreePlugin(
    SERVICE_AFFINITY,
    SERVICE_AFFINITY_POINTS,
    service_affinity_1_22,
    args=SERVICE_AFFINITY_ARGS,
    reasons=SERVICE_AFFINITY_REASONS,
)
