"""What a node itself says: NodeName, NodeUnschedulable, TaintToleration, NodeLabel, NodePreferAvoidPods, NodePorts,
NodeDeclaredFeatures and ImageLocality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from clusterstate.changes import Reads
from clusterstate.errors import ConfigError
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubecel.api_names import go_quote
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.document_schema import TEXT, ArgsType, FieldError, ListOf, fields, invalid, plain, refuse
from kubescheduler.framework.plugins.plugin_record import (
    UNRESOLVABLE,
    UNSCHEDULABLE,
    InTreePlugin,
    PluginReason,
    sign_features,
    sign_host_ports,
    sign_images,
    sign_node_name,
    sign_tolerations,
)
from kubescheduler.queue.queueing_hints import NODE, OWN_TOLERATIONS, POD, Action, ClusterEvent, Registered
from predicates.node_identity import (
    check_declared_features,
    check_declared_features_1_35,
    check_node_labels,
    explain_features,
    explain_host,
    explain_labels,
    names_a_node,
    needs_features,
    pod_fits_host,
    pod_fits_host_1_36,
)
from predicates.ports import (
    explain_ports,
    host_ports,
    host_ports_1_36,
    pod_fits_host_ports,
    pod_fits_host_ports_1_36,
    wants_host_ports,
    wants_host_ports_1_36,
    wants_none,
    wants_none_1_36,
)
from predicates.refusal_evidence import filter_evidence
from predicates.taints import (
    check_node_unschedulable,
    explain_cordon,
    explain_taints,
    may_be_tainted_out,
    minds_cordons,
    pod_tolerates_node_taints_1_20,
    pod_tolerates_node_taints_1_24,
    pod_tolerates_node_taints_1_36,
)
from predicates.types import FitPredicate, Verdict, node_filter
from priorities import image_locality as rule
from priorities.avoided_nodes import (
    PREFER_AVOID_1_20_EVIDENCE,
    TOLERATION_EVIDENCE,
    avoided_for,
    avoided_nowhere_1_20,
    intolerable_taints,
    prefer_avoid_pods_1_20,
)
from priorities.node_labels import node_label_preference, node_label_preference_evidence
from priorities.score_evidence import RuleEvidence
from priorities.types import Map, PriorityConfig, default_normalize_reversed, node_priority

# --- NodeName --------------------------------------------------------------------------------

NODE_NAME = "NodeName"
NODE_NAME_POINTS = frozenset({Point.FILTER})


def _node_name(check: Callable[[PodInfo, Snapshot], Verdict]) -> ColumnPlugin:
    return ColumnPlugin(
        NODE_NAME, NODE_NAME_POINTS, node_filter(NODE_NAME, check, names_a_node, explain_host), sign=sign_node_name
    )


def node_name_1_20(_: Any, __: Handle) -> ColumnPlugin:
    """The reason is worded differently.

    Upstream: 1.20 NodeName.
    """
    return _node_name(pod_fits_host)


def node_name_1_36(_: Any, __: Handle) -> ColumnPlugin:
    """A pod whose manifest names a node (`spec.nodeName`) fits only that node.

    Upstream: 1.36 NodeName.
    """
    return _node_name(pod_fits_host_1_36)


NODE_NAME_REASONS_1_20 = (PluginReason("node(s) didn't match the requested hostname", UNRESOLVABLE),)
NODE_NAME_REASONS_1_36 = (PluginReason("node(s) didn't match the requested node name", UNRESOLVABLE),)
NODE_NAME_EVENTS = (Registered(NODE, Action.ADD),)

NODE_NAME_1_20 = InTreePlugin(NODE_NAME, NODE_NAME_POINTS, node_name_1_20, reasons=NODE_NAME_REASONS_1_20)
NODE_NAME_1_21 = InTreePlugin(NODE_NAME, NODE_NAME_POINTS, node_name_1_36, reasons=NODE_NAME_REASONS_1_36)
NODE_NAME_1_36 = InTreePlugin(
    NODE_NAME, NODE_NAME_POINTS, node_name_1_36, reasons=NODE_NAME_REASONS_1_36, events=NODE_NAME_EVENTS
)


# --- NodeUnschedulable -----------------------------------------------------------------------

NODE_UNSCHEDULABLE = "NodeUnschedulable"
NODE_UNSCHEDULABLE_POINTS = frozenset({Point.FILTER})


def node_unschedulable(_: Any, __: Handle) -> ColumnPlugin:
    """Fails on nodes with `spec.unschedulable`, unless the pod tolerates the taint `node.kubernetes.io/unschedulable`
    with effect NoSchedule.

    Upstream: 1.20 and 1.36 NodeUnschedulable.
    """
    rule = node_filter(NODE_UNSCHEDULABLE, check_node_unschedulable, minds_cordons, explain_cordon)
    return ColumnPlugin(NODE_UNSCHEDULABLE, NODE_UNSCHEDULABLE_POINTS, rule, sign=sign_tolerations)


def is_schedulable(_: Pod, event: ClusterEvent) -> bool:
    """Whether the node of the event takes pods."""
    return not event.new.unschedulable


NODE_UNSCHEDULABLE_REASONS = (PluginReason("node(s) were unschedulable", UNRESOLVABLE),)
NODE_UNSCHEDULABLE_EVENTS = (Registered(NODE, Action.ADD | Action.NODE_TAINT, is_schedulable), OWN_TOLERATIONS)

NODE_UNSCHEDULABLE_1_20 = InTreePlugin(
    NODE_UNSCHEDULABLE, NODE_UNSCHEDULABLE_POINTS, node_unschedulable, reasons=NODE_UNSCHEDULABLE_REASONS
)
NODE_UNSCHEDULABLE_1_36 = InTreePlugin(
    NODE_UNSCHEDULABLE,
    NODE_UNSCHEDULABLE_POINTS,
    node_unschedulable,
    reasons=NODE_UNSCHEDULABLE_REASONS,
    events=NODE_UNSCHEDULABLE_EVENTS,
)


# --- TaintToleration -------------------------------------------------------------------------

TAINT_TOLERATION = "TaintToleration"
TAINT_TOLERATION_POINTS = frozenset({Point.FILTER, Point.PRE_SCORE, Point.SCORE})
TAINT_TOLERATION_UNPREPARED_1_20 = 'error reading "PreScoreTaintToleration" from cycleState: not found'
TAINT_TOLERATION_UNPREPARED_1_36 = 'failed to read "PreScoreTaintToleration" from cycleState: not found'


def _taint_toleration(check: Callable[[PodInfo, Snapshot], Verdict], unprepared: str) -> ColumnPlugin:
    return ColumnPlugin(
        TAINT_TOLERATION,
        TAINT_TOLERATION_POINTS,
        node_filter(TAINT_TOLERATION, check, may_be_tainted_out, explain_taints),
        node_priority(TAINT_TOLERATION, intolerable_taints, default_normalize_reversed, TOLERATION_EVIDENCE),
        sign=sign_tolerations,
        score_alone=unprepared,
    )


def taint_toleration_1_20(_: Any, __: Handle) -> ColumnPlugin:
    """The reason names the first taint that is not tolerated.

    Upstream: 1.20 TaintToleration.
    """
    return _taint_toleration(pod_tolerates_node_taints_1_20, TAINT_TOLERATION_UNPREPARED_1_20)


def taint_toleration_1_24(_: Any, __: Handle) -> ColumnPlugin:
    """The reason names the first taint that is not tolerated, in other words than before.

    Upstream: 1.24 TaintToleration.
    """
    return _taint_toleration(pod_tolerates_node_taints_1_24, TAINT_TOLERATION_UNPREPARED_1_36)


def taint_toleration_1_36(_: Any, __: Handle) -> ColumnPlugin:
    """Fails where a taint with effect NoSchedule or NoExecute is not tolerated. Raw score: the PreferNoSchedule taints
    that the pod does not tolerate. Normalised and turned round: 100 - 100·raw / the highest raw.

    Upstream: 1.36 TaintToleration.
    """
    return _taint_toleration(pod_tolerates_node_taints_1_36, TAINT_TOLERATION_UNPREPARED_1_36)


TAINT_TOLERATION_REASONS_1_20 = (
    PluginReason("node(s) had taint {<KEY>: <VALUE>}, that the pod didn't tolerate", UNRESOLVABLE),
)
TAINT_TOLERATION_REASONS_1_24 = (PluginReason("node(s) had untolerated taint {<KEY>: <VALUE>}", UNRESOLVABLE),)
TAINT_TOLERATION_REASONS_1_36 = (PluginReason("node(s) had untolerated taint(s)", UNRESOLVABLE),)
TAINT_TOLERATION_EVENTS = (Registered(NODE, Action.ADD | Action.NODE_TAINT), OWN_TOLERATIONS)

TAINT_TOLERATION_1_20 = InTreePlugin(
    TAINT_TOLERATION,
    TAINT_TOLERATION_POINTS,
    taint_toleration_1_20,
    reasons=TAINT_TOLERATION_REASONS_1_20,
    default_weight=1,
)
TAINT_TOLERATION_1_24 = InTreePlugin(
    TAINT_TOLERATION,
    TAINT_TOLERATION_POINTS,
    taint_toleration_1_24,
    reasons=TAINT_TOLERATION_REASONS_1_24,
    default_weight=3,
    events=TAINT_TOLERATION_EVENTS,
)
TAINT_TOLERATION_1_36 = InTreePlugin(
    TAINT_TOLERATION,
    TAINT_TOLERATION_POINTS,
    taint_toleration_1_36,
    reasons=TAINT_TOLERATION_REASONS_1_36,
    default_weight=3,
    events=TAINT_TOLERATION_EVENTS,
)


# --- NodeLabel -------------------------------------------------------------------------------

NODE_LABEL = "NodeLabel"
NODE_LABEL_POINTS = frozenset({Point.FILTER, Point.SCORE})


class NodeLabelArgs(msgspec.Struct, frozen=True):
    """1.20: keys of labels."""

    present_labels: tuple[str, ...] = ()
    """A node must have them."""
    absent_labels: tuple[str, ...] = ()
    """A node must not have them."""
    present_labels_preference: tuple[str, ...] = ()
    """A node is better that has them."""
    absent_labels_preference: tuple[str, ...] = ()
    """A node is better that does not have them."""


def node_label_1_22(args: NodeLabelArgs | None, handle: Handle) -> ColumnPlugin:
    """As in 1.21, but it needs args.

    Upstream: 1.22 NodeLabel. Raises ConfigError without args, and for labels that are to be both there and not there.
    """
    if args is None:
        raise ConfigError("want args to be of type NodeLabelArgs, got <nil>")
    return node_label_1_21(args, handle)


def node_label_1_21(args: NodeLabelArgs | None, _: Handle) -> ColumnPlugin:
    """As in 1.20, but without preferences every node scores 0.

    Upstream: 1.21 NodeLabel. Raises ConfigError for labels that are to be both there and not there.
    """
    args = args or NodeLabelArgs()
    refuse(_errors_1_21(args))
    return _node_label(args)


def node_label_1_20(args: NodeLabelArgs | None, _: Handle) -> ColumnPlugin:
    """From args: labels that a node must have, or must not have, whatever their values. Score: 100·(preferences met) /
    preferences.

    Upstream: 1.20 NodeLabel. Raises ConfigError for a label that is to be both there and not there.
    """
    args = args or NodeLabelArgs()
    refuse(_errors(args))
    return _node_label(args)


def _node_label(args: NodeLabelArgs) -> ColumnPlugin:
    def check(_: PodInfo, snapshot: Snapshot) -> Verdict:
        return check_node_labels(args.present_labels, args.absent_labels, snapshot)

    def score(_: PodInfo, snapshot: Snapshot) -> IntArray:
        return node_label_preference(args.present_labels_preference, args.absent_labels_preference, snapshot)

    def applies(_: PodInfo) -> bool:
        return bool(args.present_labels or args.absent_labels)

    evidence = node_label_preference_evidence(args.present_labels_preference, args.absent_labels_preference)
    return ColumnPlugin(
        NODE_LABEL,
        NODE_LABEL_POINTS,
        node_filter(NODE_LABEL, check, applies, explain_labels(args.present_labels, args.absent_labels)),
        PriorityConfig(NODE_LABEL, score, footprint=Footprint(Reads.NODE, pod_key=spec_alone), evidence=evidence),
    )


# --- args --------------------------------------------------------------------------------------


def _errors(args: NodeLabelArgs) -> Iterator[FieldError]:
    """The first label that is on both sides."""
    pairs = (
        (args.present_labels, args.absent_labels),
        (args.present_labels_preference, args.absent_labels_preference),
    )
    for present, absent in pairs:
        both = next((label for label in absent if label in present), None)
        if both is not None:
            lists = f"the present([{' '.join(present)}]) and absent([{' '.join(absent)}]) label list"
            yield plain(f"detecting at least one label (e.g., {go_quote(both)}) that exist in both {lists}")
            return


def _errors_1_21(args: NodeLabelArgs) -> Iterator[FieldError]:
    """Every label that is on both sides. Upstream: 1.21 ValidateNodeLabelArgs."""
    lists = (
        ("Labels", args.present_labels, args.absent_labels),
        ("LabelsPreference", args.present_labels_preference, args.absent_labels_preference),
    )
    for kind, present, absent in lists:
        where = {label: at for at, label in enumerate(absent)}
        for at, label in enumerate(present):
            if label in where:
                yield invalid(f"present{kind}[{at}]", label, f"conflict with absent{kind}[{where[label]}]")


NODE_LABEL_ARGS = ArgsType(
    NodeLabelArgs,
    fields(
        present_labels=ListOf(TEXT),
        absent_labels=ListOf(TEXT),
        present_labels_preference=ListOf(TEXT),
        absent_labels_preference=ListOf(TEXT),
    ),
    "Labels that must be there, that must not, and the same as preferences. None may be on both sides.",
    errors=_errors,
)


NODE_LABEL_REASONS = (PluginReason("node(s) didn't have the requested labels", UNRESOLVABLE),)

NODE_LABEL_ARGS_1_21 = msgspec.structs.replace(NODE_LABEL_ARGS, errors=_errors_1_21)
NODE_LABEL_1_20 = InTreePlugin(
    NODE_LABEL, NODE_LABEL_POINTS, node_label_1_20, args=NODE_LABEL_ARGS, reasons=NODE_LABEL_REASONS
)
NODE_LABEL_1_21 = InTreePlugin(
    NODE_LABEL, NODE_LABEL_POINTS, node_label_1_21, args=NODE_LABEL_ARGS_1_21, reasons=NODE_LABEL_REASONS
)
NODE_LABEL_1_22 = InTreePlugin(
    NODE_LABEL, NODE_LABEL_POINTS, node_label_1_22, args=NODE_LABEL_ARGS_1_21, reasons=NODE_LABEL_REASONS
)


# --- NodePreferAvoidPods ---------------------------------------------------------------------

NODE_PREFER_AVOID_PODS = "NodePreferAvoidPods"
NODE_PREFER_AVOID_PODS_POINTS = frozenset({Point.SCORE})


def node_prefer_avoid_pods_1_20(_: Any, __: Handle) -> ColumnPlugin:
    """0 on nodes whose annotation `scheduler.alpha.kubernetes.io/preferAvoidPods` names the kind and uid of the pod's
    controller (a ReplicationController or ReplicaSet), 100 elsewhere. With its weight it outvotes everything else.

    Upstream: 1.20 NodePreferAvoidPods.
    """
    scoring = PriorityConfig(
        NODE_PREFER_AVOID_PODS,
        prefer_avoid_pods_1_20,
        footprint=Footprint(Reads.NODE, pod_key=avoided_for),
        constant=avoided_nowhere_1_20,
        evidence=PREFER_AVOID_1_20_EVIDENCE,
    )
    return ColumnPlugin(NODE_PREFER_AVOID_PODS, NODE_PREFER_AVOID_PODS_POINTS, scoring=scoring)


NODE_PREFER_AVOID_PODS_1_20 = InTreePlugin(
    NODE_PREFER_AVOID_PODS, NODE_PREFER_AVOID_PODS_POINTS, node_prefer_avoid_pods_1_20, default_weight=10_000
)


# --- NodePorts -------------------------------------------------------------------------------

NODE_PORTS = "NodePorts"
NODE_PORTS_POINTS = frozenset({Point.PRE_FILTER, Point.FILTER})
NODE_PORTS_UNPREPARED_1_20 = 'error reading "PreFilterNodePorts" from cycleState: not found'
NODE_PORTS_UNPREPARED_1_36 = 'reading "PreFilterNodePorts" from cycleState: not found'


def node_ports_1_20(_: Any, __: Handle) -> ColumnPlugin:
    """Ports of init containers do not count.

    Upstream: 1.20 NodePorts.
    """
    return _of_containers(NODE_PORTS_UNPREPARED_1_20)


def node_ports_1_25(_: Any, __: Handle) -> ColumnPlugin:
    """Ports of init containers do not count, sidecars or not.

    Upstream: 1.25 NodePorts.
    """
    return _of_containers(NODE_PORTS_UNPREPARED_1_36)


def _of_containers(unprepared: str) -> ColumnPlugin:
    rule = FitPredicate(
        NODE_PORTS,
        pod_fits_host_ports,
        Footprint(Reads.PODS, pod_key=spec_alone, row_local=wants_none),
        wants_host_ports,
        evidence=filter_evidence(NODE_PORTS, explain_ports(host_ports)),
    )
    return ColumnPlugin(NODE_PORTS, NODE_PORTS_POINTS, rule, filter_alone=unprepared, sign=sign_host_ports)


def node_ports_1_36(_: Any, __: Handle) -> ColumnPlugin:
    """Fails where a pod on the node holds a host port that this pod wants: same protocol, same port, and the same host
    IP or one of the two `0.0.0.0`. Ports of restartable init containers count, too.

    Upstream: 1.36 NodePorts.
    """
    rule = FitPredicate(
        NODE_PORTS,
        pod_fits_host_ports_1_36,
        Footprint(Reads.PODS, pod_key=spec_alone, row_local=wants_none_1_36),
        wants_host_ports_1_36,
        evidence=filter_evidence(NODE_PORTS, explain_ports(host_ports_1_36)),
    )
    return ColumnPlugin(
        NODE_PORTS, NODE_PORTS_POINTS, rule, filter_alone=NODE_PORTS_UNPREPARED_1_36, sign=sign_host_ports
    )


def had_ports(_: Pod, event: ClusterEvent) -> bool:
    """Whether the pod that left held a host port."""
    return any(port.host_port for container in event.old.spec.containers for port in container.ports)


NODE_PORTS_REASONS = (PluginReason("node(s) didn't have free ports for the requested pod ports", UNSCHEDULABLE),)
NODE_PORTS_EVENTS = (Registered(POD, Action.DELETE, had_ports), Registered(NODE, Action.ADD))

NODE_PORTS_1_20 = InTreePlugin(NODE_PORTS, NODE_PORTS_POINTS, node_ports_1_20, reasons=NODE_PORTS_REASONS)
NODE_PORTS_1_36 = InTreePlugin(
    NODE_PORTS, NODE_PORTS_POINTS, node_ports_1_36, reasons=NODE_PORTS_REASONS, events=NODE_PORTS_EVENTS
)
NODE_PORTS_1_25 = InTreePlugin(
    NODE_PORTS, NODE_PORTS_POINTS, node_ports_1_25, reasons=NODE_PORTS_REASONS, events=NODE_PORTS_EVENTS
)


# --- NodeDeclaredFeatures --------------------------------------------------------------------

NODE_DECLARED_FEATURES = "NodeDeclaredFeatures"
NODE_DECLARED_FEATURES_POINTS = frozenset({Point.PRE_FILTER, Point.FILTER})
NODE_DECLARED_FEATURES_GATE = "NodeDeclaredFeatures"
NODE_DECLARED_FEATURES_UNPREPARED = 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'


def _needs_nothing(_: PodInfo) -> bool:
    return False


def node_declared_features_1_36(_: Any, handle: Handle) -> ColumnPlugin:
    """The node must declare the features that the pod needs: restarting all containers on an exit rule, or user
    namespaces with host network. Says nothing of other pods.

    Upstream: 1.36 NodeDeclaredFeatures. With its gate off it passes every pod everywhere.
    """
    return _node_declared_features(check_declared_features, handle)


def node_declared_features_1_35(_: Any, handle: Handle) -> ColumnPlugin:
    """The reason names the features that the node lacks.

    Upstream: 1.35 NodeDeclaredFeatures, whose gate is off by default.
    """
    return _node_declared_features(check_declared_features_1_35, handle)


def _node_declared_features(check: Callable[[PodInfo, Snapshot], Verdict], handle: Handle) -> ColumnPlugin:
    enabled = handle.feature_gates.get(NODE_DECLARED_FEATURES_GATE, True)
    rule = node_filter(NODE_DECLARED_FEATURES, check, needs_features if enabled else _needs_nothing, explain_features)
    return ColumnPlugin(
        NODE_DECLARED_FEATURES,
        NODE_DECLARED_FEATURES_POINTS,
        rule,
        filter_alone=NODE_DECLARED_FEATURES_UNPREPARED if enabled else None,
        sign=sign_features,
    )


NODE_DECLARED_FEATURES_REASONS = (PluginReason("node(s) didn't match Pod's required features", UNRESOLVABLE),)
NODE_DECLARED_FEATURES_EVENTS = (Registered(NODE, Action.ADD | Action.NODE_DECLARED_FEATURE),)

NODE_DECLARED_FEATURES_REASONS_1_35 = (
    PluginReason("node declared features check failed - unsatisfied requirements: <NAMES>", UNRESOLVABLE),
)
NODE_DECLARED_FEATURES_1_35 = InTreePlugin(
    NODE_DECLARED_FEATURES,
    NODE_DECLARED_FEATURES_POINTS,
    node_declared_features_1_35,
    reasons=NODE_DECLARED_FEATURES_REASONS_1_35,
    gate=NODE_DECLARED_FEATURES_GATE,
    gate_default=False,
    events=NODE_DECLARED_FEATURES_EVENTS,
)
NODE_DECLARED_FEATURES_1_36 = InTreePlugin(
    NODE_DECLARED_FEATURES,
    NODE_DECLARED_FEATURES_POINTS,
    node_declared_features_1_36,
    reasons=NODE_DECLARED_FEATURES_REASONS,
    gate=NODE_DECLARED_FEATURES_GATE,
    events=NODE_DECLARED_FEATURES_EVENTS,
)


# --- ImageLocality ---------------------------------------------------------------------------

IMAGE_LOCALITY = "ImageLocality"
IMAGE_LOCALITY_POINTS = frozenset({Point.SCORE})
IMAGE_LOCALITY_READS = Reads.NODE | Reads.ALL_NODES


def image_locality_1_18(_: Any, __: Handle) -> ColumnPlugin:
    """The score is 100 from 1000 MiB on, however many containers the pod has.

    Upstream: 1.18 ImageLocality.
    """
    return _image_locality(rule.image_locality_1_18, rule.no_container, rule.IMAGE_LOCALITY_1_18_EVIDENCE)


def image_locality_1_20(_: Any, __: Handle) -> ColumnPlugin:
    """Images of init containers do not count, and there are no image volumes.

    Upstream: 1.20 ImageLocality.
    """
    return _image_locality(rule.image_locality_1_20, rule.no_container, rule.IMAGE_LOCALITY_1_20_EVIDENCE)


def image_locality_1_30(_: Any, __: Handle) -> ColumnPlugin:
    """Image volumes do not count.

    Upstream: 1.30 ImageLocality.
    """
    return _image_locality(rule.image_locality_1_30, rule.no_image_1_30, rule.IMAGE_LOCALITY_1_30_EVIDENCE)


def image_locality_1_36(_: Any, __: Handle) -> ColumnPlugin:
    """Adds up size·(nodes that have it / all nodes) over the pod's images, those of init containers and image volumes
    included. The sum is held between 23 MiB and 1000 MiB per container and stretched to 0–100, truncated.

    Upstream: 1.36 ImageLocality.
    """
    return _image_locality(rule.image_locality_1_36, rule.no_image, rule.IMAGE_LOCALITY_1_36_EVIDENCE)


def _image_locality(score: Map, constant: Callable[[PodInfo], int | None], evidence: RuleEvidence) -> ColumnPlugin:
    footprint = Footprint(IMAGE_LOCALITY_READS, pod_key=spec_alone)
    scoring = PriorityConfig(IMAGE_LOCALITY, score, footprint=footprint, constant=constant, evidence=evidence)
    return ColumnPlugin(IMAGE_LOCALITY, IMAGE_LOCALITY_POINTS, scoring=scoring, sign=sign_images)


IMAGE_LOCALITY_1_18 = InTreePlugin(IMAGE_LOCALITY, IMAGE_LOCALITY_POINTS, image_locality_1_18, default_weight=1)
IMAGE_LOCALITY_1_20 = InTreePlugin(IMAGE_LOCALITY, IMAGE_LOCALITY_POINTS, image_locality_1_20, default_weight=1)
IMAGE_LOCALITY_1_30 = InTreePlugin(IMAGE_LOCALITY, IMAGE_LOCALITY_POINTS, image_locality_1_30, default_weight=1)
IMAGE_LOCALITY_1_36 = InTreePlugin(IMAGE_LOCALITY, IMAGE_LOCALITY_POINTS, image_locality_1_36, default_weight=1)
