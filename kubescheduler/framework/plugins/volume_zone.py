"""VolumeZone: the volumes behind a pod's claims are in the node's zone and region."""

from __future__ import annotations

from typing import Any

from clusterstate.changes import Reads
from clusterstate.volumes.claims import has_claims
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from predicates.types import FitPredicate, always
from predicates.volume_zone import volume_zone_1_20 as check_1_20
from predicates.volume_zone import volume_zone_1_36 as check_1_36
from predicates.volume_zone import volume_zone_pre_filter

NAME = "VolumeZone"
READS = Reads.NODE | Reads.STORAGE


def volume_zone_1_20(_: Any, __: Handle) -> ColumnPlugin:
    return ColumnPlugin(
        NAME, frozenset({Point.FILTER}), FitPredicate(NAME, check_1_20, READS, has_claims, unresolvable=always)
    )


def volume_zone_1_36(_: Any, __: Handle) -> ColumnPlugin:
    rule = FitPredicate(
        NAME,
        check_1_36,
        READS,
        has_claims,
        pre_filter=volume_zone_pre_filter,
        pre_reads=Reads.STORAGE,
        unresolvable=always,
    )
    return ColumnPlugin(NAME, frozenset({Point.PRE_FILTER, Point.FILTER}), rule)
