"""VolumeRestrictions: disks, and since 1.36 claims for one pod only, are not used twice."""

from __future__ import annotations

from typing import Any

from clusterstate.changes import Reads
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.points import Point
from predicates.disks import (
    CLAIMS_IN_USE,
    frees_claims_nowhere,
    no_disk_conflict,
    restrictions_apply,
    restrictions_read,
    uses_exclusive_disks,
    volume_restrictions,
    volume_restrictions_pre_filter,
)
from predicates.types import FitPredicate

NAME = "VolumeRestrictions"
UNPREPARED = 'cannot read "PreFilterVolumeRestrictions" from cycleState'


def is_missing_claim(reason: str) -> bool:
    """Taking pods away frees disks and claims, but brings no claim."""
    return reason.endswith(" not found")


def volume_restrictions_1_20(_: Any, __: Handle) -> ColumnPlugin:
    rule = FitPredicate(NAME, no_disk_conflict, Reads.PODS, uses_exclusive_disks)
    return ColumnPlugin(NAME, frozenset({Point.FILTER}), rule)


def volume_restrictions_1_36(_: Any, __: Handle) -> ColumnPlugin:
    rule = FitPredicate(
        NAME,
        volume_restrictions,
        Reads.PODS | CLAIMS_IN_USE,
        restrictions_apply,
        alone=frees_claims_nowhere,
        narrow=restrictions_read,
        pre_filter=volume_restrictions_pre_filter,
        pre_reads=CLAIMS_IN_USE,
        unresolvable=is_missing_claim,
    )
    return ColumnPlugin(NAME, frozenset({Point.PRE_FILTER, Point.FILTER}), rule, filter_alone=UNPREPARED)
