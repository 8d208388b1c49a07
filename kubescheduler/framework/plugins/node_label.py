"""NodeLabel: nodes must have, or must lack, some labels, and are the better the more preferences they meet."""

from __future__ import annotations

from collections.abc import Sequence

from clusterstate.api_names import go_quote
from clusterstate.changes import Reads
from clusterstate.errors import ConfigError
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.framework.args.plugin_args import NodeLabelArgs
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.plugins.plugin_record import UNRESOLVABLE, InTreePlugin, PluginReason
from predicates.labels import check_node_labels
from predicates.types import FitPredicate, Verdict, always
from priorities.node_label import node_label_preference
from priorities.types import PriorityConfig

NAME = "NodeLabel"
POINTS = frozenset({Point.FILTER, Point.SCORE})


def node_label_1_20(args: NodeLabelArgs | None, _: Handle) -> ColumnPlugin:
    """Raises ConfigError for a label that is to be both there and not there."""
    args = args or NodeLabelArgs()
    _refuse_both(args.present_labels, args.absent_labels)
    _refuse_both(args.present_labels_preference, args.absent_labels_preference)

    def check(_: PodInfo, snapshot: Snapshot) -> Verdict:
        return check_node_labels(args.present_labels, args.absent_labels, snapshot)

    def score(_: PodInfo, snapshot: Snapshot) -> IntArray:
        return node_label_preference(args.present_labels_preference, args.absent_labels_preference, snapshot)

    def applies(_: PodInfo) -> bool:
        return bool(args.present_labels or args.absent_labels)

    return ColumnPlugin(
        NAME,
        POINTS,
        FitPredicate(NAME, check, Reads.NODE, applies, unresolvable=always),
        PriorityConfig(NAME, score, reads=Reads.NODE),
    )


def _refuse_both(present: Sequence[str], absent: Sequence[str]) -> None:
    both = next((label for label in absent if label in present), None)
    if both is not None:
        lists = f"the present([{' '.join(present)}]) and absent([{' '.join(absent)}]) label list"
        raise ConfigError(f"detecting at least one label (e.g., {go_quote(both)}) that exist in both {lists}")


# --- what it is in each release ---------------------------------------------------------------

DESCRIPTION = """
From args: labels that a node must have, or must not have, whatever their values. Score: 100·(preferences met) /
preferences."""
REASONS = (PluginReason("node(s) didn't have the requested labels", UNRESOLVABLE),)

PLUGIN_1_20 = InTreePlugin(NAME, POINTS, node_label_1_20, DESCRIPTION, reasons=REASONS)
