"""CheckNodeCondition and the pressure checks: what a node's status conditions forbid."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from clusterstate.nodecolumn import ABSENT
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

MEMORY_PRESSURE_1_4 = "NodeUnderMemoryPressure"
DISK_PRESSURE_1_4 = "NodeUnderDiskPressure"
INODE_PRESSURE_1_4 = "NodeUnderInodePressure"

Flag = Callable[[Node], bool | None]
"""True where a node has something, otherwise None."""


def _last_is_true(node: Node, kind: str) -> bool | None:
    """Whether the last condition of a type is True; Unknown, False and absent are None."""
    statuses = [condition.status for condition in node.conditions if condition.type == kind]
    return (bool(statuses) and statuses[-1] == "True") or None


def memory_pressure(node: Node) -> bool | None:
    """The last MemoryPressure condition is True."""
    return _last_is_true(node, "MemoryPressure")


def disk_pressure(node: Node) -> bool | None:
    """The last DiskPressure condition is True."""
    return _last_is_true(node, "DiskPressure")


def pid_pressure(node: Node) -> bool | None:
    """The last PIDPressure condition is True."""
    return _last_is_true(node, "PIDPressure")


def not_ready(node: Node) -> bool | None:
    """Some Ready condition is not True."""
    return any(c.type == "Ready" and c.status != "True" for c in node.conditions) or None


def network_unavailable(node: Node) -> bool | None:
    """Some NetworkUnavailable condition is not False."""
    return any(c.type == "NetworkUnavailable" and c.status != "False" for c in node.conditions) or None


def cordoned(node: Node) -> bool | None:
    """True for spec.unschedulable, otherwise None."""
    return node.unschedulable or None


def _where(snapshot: Snapshot, reasons: dict[str, Flag]) -> Verdict:
    return {reason: snapshot.property_codes(flag)[0] != ABSENT for reason, flag in reasons.items()}


def is_best_effort(pod: PodInfo) -> bool:
    """Whether the pod has no cpu or memory request or limit."""
    return pod.usage.best_effort


def check_node_memory_pressure(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Keeps best-effort pods off nodes short of memory. Upstream: 1.16 CheckNodeMemoryPressurePredicate."""
    return _where(snapshot, {MEMORY_PRESSURE: memory_pressure}) if is_best_effort(pod) else PASS


def check_node_disk_pressure(_: PodInfo, snapshot: Snapshot) -> Verdict:
    """Keeps pods off nodes short of disk. Upstream: 1.16 CheckNodeDiskPressurePredicate."""
    return _where(snapshot, {DISK_PRESSURE: disk_pressure})


def check_node_pid_pressure(_: PodInfo, snapshot: Snapshot) -> Verdict:
    """Keeps pods off nodes short of process ids. Upstream: 1.16 CheckNodePIDPressurePredicate."""
    return _where(snapshot, {PID_PRESSURE: pid_pressure})


def check_node_condition(_: PodInfo, snapshot: Snapshot) -> Verdict:
    """Not ready, without network, or cordoned: all that hold. Upstream: 1.16 CheckNodeConditionPredicate.

    Readiness is reported first whatever the order of the node's condition list.
    """
    return _where(snapshot, {NOT_READY: not_ready, NETWORK_UNAVAILABLE: network_unavailable, UNSCHEDULABLE: cordoned})


# --- 1.13 ----------------------------------------------------------------------------------

OUT_OF_DISK = "node(s) were out of disk space"


def out_of_disk(node: Node) -> bool | None:
    """Some OutOfDisk condition is not False."""
    return any(c.type == "OutOfDisk" and c.status != "False" for c in node.conditions) or None


def check_node_condition_1_13(_: PodInfo, snapshot: Snapshot) -> Verdict:
    """Out of disk counts too. Upstream: 1.13 CheckNodeConditionPredicate."""
    return _where(
        snapshot,
        {
            NOT_READY: not_ready,
            OUT_OF_DISK: out_of_disk,
            NETWORK_UNAVAILABLE: network_unavailable,
            UNSCHEDULABLE: cordoned,
        },
    )


# --- 1.4 -----------------------------------------------------------------------------------


def _any_is_true(node: Node, kind: str) -> bool | None:
    """Whether any condition of a type is True, otherwise None."""
    return any(c.type == kind and c.status == "True" for c in node.conditions) or None


def any_memory_pressure(node: Node) -> bool | None:
    """Some MemoryPressure condition is True."""
    return _any_is_true(node, "MemoryPressure")


def any_disk_pressure(node: Node) -> bool | None:
    """Some DiskPressure condition is True."""
    return _any_is_true(node, "DiskPressure")


def any_inode_pressure(node: Node) -> bool | None:
    """Some InodePressure condition is True."""
    return _any_is_true(node, "InodePressure")


def check_node_memory_pressure_1_4(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Keeps best-effort pods off nodes short of memory. Upstream: 1.4 CheckNodeMemoryPressurePredicate."""
    return _where(snapshot, {MEMORY_PRESSURE_1_4: any_memory_pressure}) if is_best_effort(pod) else PASS


def check_node_disk_pressure_1_4(_: PodInfo, snapshot: Snapshot) -> Verdict:
    """Keeps pods off nodes short of disk. Upstream: 1.4 CheckNodeDiskPressurePredicate."""
    return _where(snapshot, {DISK_PRESSURE_1_4: any_disk_pressure})


def check_node_inode_pressure(_: PodInfo, snapshot: Snapshot) -> Verdict:
    """Keeps pods off nodes short of inodes. Upstream: 1.4 CheckNodeInodePressurePredicate."""
    return _where(snapshot, {INODE_PRESSURE_1_4: any_inode_pressure})


# --- maps ----------------------------------------------------------------------------------


class _Wanted(msgspec.Struct, frozen=True):
    """What a reason asks of a node: its flag, and what that means."""

    flag: Flag
    what: str


WANTED = {
    NOT_READY: _Wanted(not_ready, "every Ready condition to be True"),
    NETWORK_UNAVAILABLE: _Wanted(network_unavailable, "every NetworkUnavailable condition to be False"),
    OUT_OF_DISK: _Wanted(out_of_disk, "every OutOfDisk condition to be False"),
    UNSCHEDULABLE: _Wanted(cordoned, "spec.unschedulable not to be set"),
    MEMORY_PRESSURE: _Wanted(memory_pressure, "the last MemoryPressure condition not to be True"),
    DISK_PRESSURE: _Wanted(disk_pressure, "the last DiskPressure condition not to be True"),
    PID_PRESSURE: _Wanted(pid_pressure, "the last PIDPressure condition not to be True"),
    MEMORY_PRESSURE_1_4: _Wanted(any_memory_pressure, "no MemoryPressure condition to be True"),
    DISK_PRESSURE_1_4: _Wanted(any_disk_pressure, "no DiskPressure condition to be True"),
    INODE_PRESSURE_1_4: _Wanted(any_inode_pressure, "no InodePressure condition to be True"),
}
"""Reason → what it is about."""


def explain_condition(_: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
    """The node's conditions beside what is asked of them."""
    wanted, node = WANTED[reason], node_of(snapshot)
    if node is None:
        return Unmet(())
    found = ", ".join(f"{c.type}={c.status}" for c in node.conditions if c.type in wanted.what) or "none"
    return Unmet((Need(wanted.what, found if wanted.flag is not cordoned else "it set", not wanted.flag(node)),))


def _of_node(
    name: str,
    check: Callable[[PodInfo, Snapshot], Verdict],
    applies: Callable[[PodInfo], bool] = applies_always,
) -> FitPredicate:
    return node_predicate(name, check, applies, explain_condition)


def make_check_node_condition(_: PredicateArgs) -> FitPredicate:
    """Fails where condition Ready is not True, where NetworkUnavailable is not False, and on cordoned nodes; all that
    hold are reported. Conditions that a node does not have are fine. It exists, mandatory, only with the feature gate
    TaintNodesByCondition off; CheckNodeUnschedulable takes its place otherwise, and conditions then count as the taints
    that the node controller makes of them.

    Upstream: 1.16 CheckNodeConditionPredicate.
    """
    return _of_node("CheckNodeCondition", check_node_condition)


def make_check_node_condition_1_13(_: PredicateArgs) -> FitPredicate:
    """Fails also where condition OutOfDisk is not False.

    Upstream: 1.13 CheckNodeConditionPredicate.
    """
    return _of_node("CheckNodeCondition", check_node_condition_1_13)


def make_check_node_memory_pressure(_: PredicateArgs) -> FitPredicate:
    """Keeps best-effort pods (no cpu or memory request or limit anywhere) off nodes with condition MemoryPressure True.

    Upstream: 1.16 CheckNodeMemoryPressurePredicate.
    """
    return _of_node("CheckNodeMemoryPressure", check_node_memory_pressure, is_best_effort)


def make_check_node_disk_pressure(_: PredicateArgs) -> FitPredicate:
    """Fails where condition DiskPressure is True.

    Upstream: 1.16 CheckNodeDiskPressurePredicate.
    """
    return _of_node("CheckNodeDiskPressure", check_node_disk_pressure)


def make_check_node_pid_pressure(_: PredicateArgs) -> FitPredicate:
    """Fails where condition PIDPressure is True.

    Upstream: 1.16 CheckNodePIDPressurePredicate.
    """
    return _of_node("CheckNodePIDPressure", check_node_pid_pressure)


def make_check_node_memory_pressure_1_4(_: PredicateArgs) -> FitPredicate:
    """Runs by default. Any condition of the type that is True counts, not only the last.

    Upstream: 1.4 CheckNodeMemoryPressurePredicate.
    """
    return _of_node("CheckNodeMemoryPressure", check_node_memory_pressure_1_4, is_best_effort)


def make_check_node_disk_pressure_1_4(_: PredicateArgs) -> FitPredicate:
    """Runs by default. Any condition of the type that is True counts, not only the last.

    Upstream: 1.4 CheckNodeDiskPressurePredicate.
    """
    return _of_node("CheckNodeDiskPressure", check_node_disk_pressure_1_4)


def make_check_node_inode_pressure(_: PredicateArgs) -> FitPredicate:
    """Fails where condition InodePressure is True. Only 1.4 has it.

    Upstream: 1.4 CheckNodeInodePressurePredicate.
    """
    return _of_node("CheckNodeInodePressure", check_node_inode_pressure)


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
