"""ServiceAffinity: pods of a service stay on nodes alike in some labels, or spread over the values of others."""

from __future__ import annotations

import msgspec

from clusterstate.changes import LOCAL, Reads
from clusterstate.errors import ConfigError
from clusterstate.footprint import Footprint
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.framework.args.args_type import ArgsType
from kubescheduler.framework.args.document_schema import TEXT, Field, ListOf
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import UNSCHEDULABLE, InTreePlugin, PluginReason
from predicates.refusal_evidence import filter_evidence
from predicates.service_affinity import check_service_affinity_1_20, explain_peers_1_20
from predicates.types import FitPredicate, Verdict
from priorities.service_anti_affinity import anti_affinity_scores_1_20, service_evidence_1_20, service_pods_1_20
from priorities.types import PriorityConfig

NAME = "ServiceAffinity"
POINTS = frozenset({Point.PRE_FILTER, Point.FILTER, Point.SCORE})
READS = Reads.NODE | Reads.ALL_NODES | Reads.ALL_PODS | Reads.SERVICES
UNPREPARED = 'error reading "PreFilterServiceAffinity" from cycleState: not found'


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
        NAME,
        POINTS,
        FitPredicate(
            NAME, check, Footprint(READS), applies, evidence=filter_evidence(NAME, explain_peers_1_20(labels))
        ),
        PriorityConfig(
            NAME,
            service_pods_1_20,
            normalize,
            Footprint(LOCAL | Reads.SERVICES),
            evidence=service_evidence_1_20(preferred),
        ),
        filter_alone=UNPREPARED if labels else None,
    )


def service_affinity_1_22(args: ServiceAffinityArgs | None, handle: Handle) -> ColumnPlugin:
    """Needs args.

    Upstream: 1.22 ServiceAffinity. Raises ConfigError without args.
    """
    if args is None:
        raise ConfigError("want args to be of type ServiceAffinityArgs, got <nil>")
    return service_affinity_1_20(args, handle)


# --- args --------------------------------------------------------------------------------------


ARGS = ArgsType(
    ServiceAffinityArgs,
    (
        Field("affinityLabels", "affinity_labels", ListOf(TEXT)),
        Field("antiAffinityLabelsPreference", "anti_affinity_labels_preference", ListOf(TEXT)),
    ),
    "Labels that pods of a service share, and labels over whose values they spread.",
)


# --- what it is in each release ---------------------------------------------------------------

REASONS = (PluginReason("node(s) didn't match service affinity", UNSCHEDULABLE),)

PLUGIN_1_20 = InTreePlugin(NAME, POINTS, service_affinity_1_20, args=ARGS, reasons=REASONS)
PLUGIN_1_22 = InTreePlugin(NAME, POINTS, service_affinity_1_22, args=ARGS, reasons=REASONS)
