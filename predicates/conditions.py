"""CheckNodeCondition and the pressure checks: what a node's status conditions forbid."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from clusterstate.growable import ABSENT
from clusterstate.objects import Node
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from predicates.refusal_evidence import Need, Refusal, Unmet, node_of
from predicates.types import (
    PASS,
    FitPredicate,
    FitPredicateFactory,
    PredicateArgs,
    Verdict,
    applies_always,
    node_predicate,
)

NOT_READY = "node(s) were not ready"
NETWORK_UNAVAILABLE = "node(s) had unavailable network"
UNSCHEDULABLE = "node(s) were unschedulable"
MEMORY_PRESSURE = "node(s) had memory pressure"
DISK_PRESSURE = "node(s) had disk pressure"
PID_PRESSURE = "node(s) had pid pressure"

OUT_OF_DISK = "node(s) were out of disk space"

MEMORY_PRESSURE_1_4 = "NodeUnderMemoryPressure"
DISK_PRESSURE_1_4 = "NodeUnderDiskPressure"
INODE_PRESSURE_1_4 = "NodeUnderInodePressure"


class _Wanted(msgspec.Struct, frozen=True):
    """What a reason asks of a node."""

    lacks: Callable[[Node], bool | None]
    """True where a node does not have it, otherwise None."""
    what: str


def _every(kind: str, status: str) -> _Wanted:
    def lacks(node: Node) -> bool | None:
        return any(c.type == kind and c.status != status for c in node.conditions) or None

    return _Wanted(lacks, f"every {kind} condition to be {status}")


def _last_not_true(kind: str) -> _Wanted:
    def lacks(node: Node) -> bool | None:
        statuses = [condition.status for condition in node.conditions if condition.type == kind]
        return (bool(statuses) and statuses[-1] == "True") or None

    return _Wanted(lacks, f"the last {kind} condition not to be True")


def _none_true(kind: str) -> _Wanted:
    def lacks(node: Node) -> bool | None:
        return any(c.type == kind and c.status == "True" for c in node.conditions) or None

    return _Wanted(lacks, f"no {kind} condition to be True")


WANTED = {
    NOT_READY: _every("Ready", "True"),
    NETWORK_UNAVAILABLE: _every("NetworkUnavailable", "False"),
    OUT_OF_DISK: _every("OutOfDisk", "False"),
    UNSCHEDULABLE: _Wanted(lambda node: node.unschedulable or None, "spec.unschedulable not to be set"),
    MEMORY_PRESSURE: _last_not_true("MemoryPressure"),
    DISK_PRESSURE: _last_not_true("DiskPressure"),
    PID_PRESSURE: _last_not_true("PIDPressure"),
    MEMORY_PRESSURE_1_4: _none_true("MemoryPressure"),
    DISK_PRESSURE_1_4: _none_true("DiskPressure"),
    INODE_PRESSURE_1_4: _none_true("InodePressure"),
}
"""Reason → what it is about."""


def explain_condition(_: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
    """The node's conditions beside what is asked of them."""
    wanted, node = WANTED[reason], node_of(snapshot)
    if node is None:
        return Unmet(())
    there = ", ".join(f"{c.type}={c.status}" for c in node.conditions if c.type in wanted.what) or "none"
    return Unmet((Need(wanted.what, "it set" if reason == UNSCHEDULABLE else there, not wanted.lacks(node)),))


def is_best_effort(pod: PodInfo) -> bool:
    """Whether the pod has no cpu or memory request or limit."""
    return pod.usage.best_effort


def _wanting(name: str, *reasons: str, applies: Callable[[PodInfo], bool] = applies_always) -> FitPredicate:
    """Fails where a node lacks what the reasons want; all that hold are reported, in this order whatever that of the
    node's list is. applies: to which pods."""

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        if not applies(pod):
            return PASS
        return {reason: snapshot.property_codes(WANTED[reason].lacks)[0] != ABSENT for reason in reasons}

    return node_predicate(name, check, applies, explain_condition)


def make_check_node_condition(_: PredicateArgs) -> FitPredicate:
    """Fails where condition Ready is not True, where NetworkUnavailable is not False, and on cordoned nodes; all that
    hold are reported. Conditions that a node does not have are fine. It exists, mandatory, only with the feature gate
    TaintNodesByCondition off; CheckNodeUnschedulable takes its place otherwise, and conditions then count as the taints
    that the node controller makes of them.

    Upstream: 1.16 CheckNodeConditionPredicate.
    """
    return _wanting("CheckNodeCondition", NOT_READY, NETWORK_UNAVAILABLE, UNSCHEDULABLE)


def make_check_node_condition_1_13(_: PredicateArgs) -> FitPredicate:
    """Fails also where condition OutOfDisk is not False.

    Upstream: 1.13 CheckNodeConditionPredicate.
    """
    return _wanting("CheckNodeCondition", NOT_READY, OUT_OF_DISK, NETWORK_UNAVAILABLE, UNSCHEDULABLE)


def make_check_node_memory_pressure(_: PredicateArgs) -> FitPredicate:
    """Keeps best-effort pods (no cpu or memory request or limit anywhere) off nodes with condition MemoryPressure True.

    Upstream: 1.16 CheckNodeMemoryPressurePredicate.
    """
    return _wanting("CheckNodeMemoryPressure", MEMORY_PRESSURE, applies=is_best_effort)


def make_check_node_disk_pressure(_: PredicateArgs) -> FitPredicate:
    """Fails where condition DiskPressure is True.

    Upstream: 1.16 CheckNodeDiskPressurePredicate.
    """
    return _wanting("CheckNodeDiskPressure", DISK_PRESSURE)


def make_check_node_pid_pressure(_: PredicateArgs) -> FitPredicate:
    """Fails where condition PIDPressure is True.

    Upstream: 1.16 CheckNodePIDPressurePredicate.
    """
    return _wanting("CheckNodePIDPressure", PID_PRESSURE)


def make_check_node_memory_pressure_1_4(_: PredicateArgs) -> FitPredicate:
    """Runs by default. Any condition of the type that is True counts, not only the last.

    Upstream: 1.4 CheckNodeMemoryPressurePredicate.
    """
    return _wanting("CheckNodeMemoryPressure", MEMORY_PRESSURE_1_4, applies=is_best_effort)


def make_check_node_disk_pressure_1_4(_: PredicateArgs) -> FitPredicate:
    """Runs by default. Any condition of the type that is True counts, not only the last.

    Upstream: 1.4 CheckNodeDiskPressurePredicate.
    """
    return _wanting("CheckNodeDiskPressure", DISK_PRESSURE_1_4)


def make_check_node_inode_pressure(_: PredicateArgs) -> FitPredicate:
    """Fails where condition InodePressure is True. Only 1.4 has it.

    Upstream: 1.4 CheckNodeInodePressurePredicate.
    """
    return _wanting("CheckNodeInodePressure", INODE_PRESSURE_1_4)


CONDITIONS: dict[str, FitPredicateFactory] = {
    "CheckNodeCondition": make_check_node_condition,
    "CheckNodeMemoryPressure": make_check_node_memory_pressure,
    "CheckNodeDiskPressure": make_check_node_disk_pressure,
    "CheckNodePIDPressure": make_check_node_pid_pressure,
}
CONDITIONS_1_13: dict[str, FitPredicateFactory] = {"CheckNodeCondition": make_check_node_condition_1_13}
CONDITIONS_1_4: dict[str, FitPredicateFactory] = {
    "CheckNodeMemoryPressure": make_check_node_memory_pressure_1_4,
    "CheckNodeDiskPressure": make_check_node_disk_pressure_1_4,
    "CheckNodeInodePressure": make_check_node_inode_pressure,
}
