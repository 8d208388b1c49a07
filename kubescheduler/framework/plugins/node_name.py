"""NodeName: a pod that names a node fits that node only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterstate.changes import Reads
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from predicates.node_identity import names_a_node, pod_fits_host, pod_fits_host_1_36
from predicates.types import FitPredicate, Verdict, always

NAME = "NodeName"


def _plugin(check: Callable[[PodInfo, Snapshot], Verdict]) -> ColumnPlugin:
    rule = FitPredicate(NAME, check, Reads.NODE, names_a_node, unresolvable=always)
    return ColumnPlugin(NAME, frozenset({Point.FILTER}), rule)


def node_name_1_20(_: Any, __: Handle) -> ColumnPlugin:
    return _plugin(pod_fits_host)


def node_name_1_36(_: Any, __: Handle) -> ColumnPlugin:
    return _plugin(pod_fits_host_1_36)
