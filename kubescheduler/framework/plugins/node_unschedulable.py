"""NodeUnschedulable: cordoned nodes take only pods that tolerate that."""

from __future__ import annotations

from typing import Any

from clusterstate.changes import Reads
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from predicates.taints import check_node_unschedulable, minds_cordons
from predicates.types import FitPredicate, always

NAME = "NodeUnschedulable"


def node_unschedulable(_: Any, __: Handle) -> ColumnPlugin:
    """Of 1.20 and 1.36."""
    rule = FitPredicate(NAME, check_node_unschedulable, Reads.NODE, minds_cordons, unresolvable=always)
    return ColumnPlugin(NAME, frozenset({Point.FILTER}), rule)
