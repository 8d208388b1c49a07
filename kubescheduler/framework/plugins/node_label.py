"""NodeLabel: nodes must have, or must lack, some labels, and are the better the more preferences they meet."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from clusterstate.changes import Reads
from clusterstate.errors import ConfigError
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubecel.api_names import go_quote
from kubescheduler.framework.args.args_type import ArgsType
from kubescheduler.framework.args.document_schema import TEXT, Field, ListOf
from kubescheduler.framework.args.field_errors import FieldError, invalid, plain, refuse
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, InTreePlugin, PluginReason
from predicates.node_identity import check_node_labels, explain_labels
from predicates.types import Verdict, node_filter
from priorities.node_labels import node_label_preference, node_label_preference_evidence
from priorities.types import PriorityConfig

NAME = "NodeLabel"
POINTS = frozenset({Point.FILTER, Point.SCORE})


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
    """Needs args.

    Upstream: 1.22 NodeLabel. Raises ConfigError without args, and for labels that are to be both there and not there.
    """
    if args is None:
        raise ConfigError("want args to be of type NodeLabelArgs, got <nil>")
    return node_label_1_21(args, handle)


def node_label_1_21(args: NodeLabelArgs | None, _: Handle) -> ColumnPlugin:
    """Without preferences every node scores 0.

    Upstream: 1.21 NodeLabel. Raises ConfigError for labels that are to be both there and not there.
    """
    args = args or NodeLabelArgs()
    refuse(_errors_1_21(args))
    return _plugin(args)


def node_label_1_20(args: NodeLabelArgs | None, _: Handle) -> ColumnPlugin:
    """From args: labels that a node must have, or must not have, whatever their values. Score: 100·(preferences met) /
    preferences.

    Upstream: 1.20 NodeLabel. Raises ConfigError for a label that is to be both there and not there.
    """
    args = args or NodeLabelArgs()
    refuse(_errors(args))
    return _plugin(args)


def _plugin(args: NodeLabelArgs) -> ColumnPlugin:
    def check(_: PodInfo, snapshot: Snapshot) -> Verdict:
        return check_node_labels(args.present_labels, args.absent_labels, snapshot)

    def score(_: PodInfo, snapshot: Snapshot) -> IntArray:
        return node_label_preference(args.present_labels_preference, args.absent_labels_preference, snapshot)

    def applies(_: PodInfo) -> bool:
        return bool(args.present_labels or args.absent_labels)

    evidence = node_label_preference_evidence(args.present_labels_preference, args.absent_labels_preference)
    return ColumnPlugin(
        NAME,
        POINTS,
        node_filter(NAME, check, applies, explain_labels(args.present_labels, args.absent_labels)),
        PriorityConfig(NAME, score, footprint=Footprint(Reads.NODE, pod_key=spec_alone), evidence=evidence),
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


ARGS = ArgsType(
    NodeLabelArgs,
    (
        Field("presentLabels", "present_labels", ListOf(TEXT)),
        Field("absentLabels", "absent_labels", ListOf(TEXT)),
        Field("presentLabelsPreference", "present_labels_preference", ListOf(TEXT)),
        Field("absentLabelsPreference", "absent_labels_preference", ListOf(TEXT)),
    ),
    "Labels that must be there, that must not, and the same as preferences. None may be on both sides.",
    errors=_errors,
)


# --- what it is in each release ---------------------------------------------------------------

REASONS = (PluginReason("node(s) didn't have the requested labels", UNRESOLVABLE),)

ARGS_1_21 = msgspec.structs.replace(ARGS, errors=_errors_1_21)
PLUGIN_1_20 = InTreePlugin(NAME, POINTS, node_label_1_20, args=ARGS, reasons=REASONS)
PLUGIN_1_21 = InTreePlugin(NAME, POINTS, node_label_1_21, args=ARGS_1_21, reasons=REASONS)
PLUGIN_1_22 = InTreePlugin(NAME, POINTS, node_label_1_22, args=ARGS_1_21, reasons=REASONS)
