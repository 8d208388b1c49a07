"""What keeps pods off a node: its taints, a cordon, its conditions."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from clusterstate.growable import ABSENT
from clusterstate.manifests.annotations_1_4 import taints_error, tolerations_error
from clusterstate.objects import Node, Taint, Toleration
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.affinity_1_4 import any_tolerates_1_4
from clusterstate.selectors.matching import any_tolerates
from clusterstate.snapshot import Snapshot
from predicates.refusal_evidence import Explain, Need, Refusal, Unmet, node_of
from predicates.types import (
    PASS,
    FitPredicate,
    FitPredicateFactory,
    NodeError,
    PredicateArgs,
    Verdict,
    applies_always,
    node_predicate,
)

NOT_READY = "node(s) were not ready"
NETWORK_UNAVAILABLE = "node(s) had unavailable network"
MEMORY_PRESSURE = "node(s) had memory pressure"
DISK_PRESSURE = "node(s) had disk pressure"
PID_PRESSURE = "node(s) had pid pressure"
UNSCHEDULABLE = "node(s) were unschedulable"
OUT_OF_DISK = "node(s) were out of disk space"

MEMORY_PRESSURE_1_4 = "NodeUnderMemoryPressure"
DISK_PRESSURE_1_4 = "NodeUnderDiskPressure"
INODE_PRESSURE_1_4 = "NodeUnderInodePressure"

NOT_TOLERATED = "node(s) had taints that the pod didn't tolerate"
NOT_TOLERATED_1_4 = "PodToleratesNodeTaints"
NOT_TOLERATED_1_36 = "node(s) had untolerated taint(s)"

UNSCHEDULABLE_TAINT = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""What a pod has to tolerate to be placed on a cordoned node."""

Taints = tuple[Taint, ...]


def hard_taints(node: Node) -> Taints | None:
    """The taints of effect NoSchedule or NoExecute; None without any."""
    return tuple(taint for taint in node.taints if taint.effect in ("NoSchedule", "NoExecute")) or None


def no_schedule_taints(node: Node) -> Taints | None:
    """The taints of effect NoSchedule; None without any."""
    return tuple(taint for taint in node.taints if taint.effect == "NoSchedule") or None


def no_execute_taints(node: Node) -> Taints | None:
    """The taints of effect NoExecute; None without any."""
    return tuple(taint for taint in node.taints if taint.effect == "NoExecute") or None


def cordoned(node: Node) -> bool | None:
    """True for spec.unschedulable, otherwise None."""
    return node.unschedulable or None


def may_be_tainted_out(pod: PodInfo) -> bool:
    """False for a pod with a toleration of every taint there can be."""
    return not any(t.operator == "Exists" and not t.key and not t.effect for t in pod.spec.tolerations)


def _untolerated(pod: PodInfo, snapshot: Snapshot, taints_of: Callable[[Node], Taints | None]) -> Verdict:
    tolerations = pod.spec.tolerations

    def fails(taints: Taints | None) -> bool:
        return not all(any_tolerates(tolerations, taint) for taint in taints or ())

    return {NOT_TOLERATED: snapshot.spread(taints_of, fails)}


def pod_tolerates_node_taints(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Some toleration covers each NoSchedule and NoExecute taint. Upstream: 1.16 PodToleratesNodeTaints."""
    return _untolerated(pod, snapshot, hard_taints)


def pod_tolerates_node_no_schedule_taints(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Some toleration covers each NoSchedule taint. Upstream: 1.22 to 1.31 preCheckForNode."""
    return _untolerated(pod, snapshot, no_schedule_taints)


def pod_tolerates_node_no_execute_taints(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Some toleration covers each NoExecute taint. Upstream: 1.16 PodToleratesNodeNoExecuteTaints."""
    return _untolerated(pod, snapshot, no_execute_taints)


def all_taints(node: Node) -> Taints | None:
    """Every taint; None without any."""
    return node.taints or None


def pod_tolerates_node_taints_1_4(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Some toleration covers each taint but those of effect PreferNoSchedule; a pod without any stays off all taints.

    An annotation that cannot be read is an error, the node's before the pod's. Upstream: 1.4 PodToleratesNodeTaints.
    """
    tolerations = pod.spec.tolerations
    codes, values = snapshot.property_codes(all_taints)
    errors = [taints_error(taints or ()) for taints in values]
    verdict: Verdict = {
        NodeError(text): codes == code for code, text in enumerate(errors) if text is not None and (codes == code).any()
    }
    if error := tolerations_error(pod.spec):
        unread = np.array([text is None for text in errors])[codes]
        return {**verdict, NodeError(error): unread | verdict.get(error, False)}

    def fails(taints: Taints | None) -> bool:
        if not taints or taints_error(taints) is not None:
            return False
        hard = [taint for taint in taints if taint.effect != "PreferNoSchedule"]
        return not tolerations or not all(any_tolerates_1_4(tolerations, taint) for taint in hard)

    return {NOT_TOLERATED_1_4: snapshot.spread(all_taints, fails), **verdict}


# --- 1.20 and 1.36 -------------------------------------------------------------------------


def not_tolerated_1_20(taint: Taint) -> str:
    """The reason of 1.18 to 1.23, which names the taint."""
    return f"node(s) had taint {{{taint.key}: {taint.value}}}, that the pod didn't tolerate"


def not_tolerated_1_24(taint: Taint) -> str:
    """The reason of 1.24 to 1.34, which names the taint."""
    return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"


def _first_untolerated(said: Callable[[Taint], str], pod: PodInfo, snapshot: Snapshot) -> Verdict:
    tolerations = pod.spec.tolerations
    reasons: dict[str, int] = {}

    def reason(taints: Taints | None) -> int:
        first = next((taint for taint in taints or () if not any_tolerates(tolerations, taint)), None)
        return -1 if first is None else reasons.setdefault(said(first), len(reasons))

    which = snapshot.spread(hard_taints, reason, np.int64)
    return {text: mask for text, number in reasons.items() if (mask := which == number).any()}


def pod_tolerates_node_taints_1_20(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same rule; the reason names the first taint that is not tolerated. Upstream: 1.20 TaintToleration."""
    return _first_untolerated(not_tolerated_1_20, pod, snapshot)


def pod_tolerates_node_taints_1_24(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same in other words. Upstream: 1.24 TaintToleration."""
    return _first_untolerated(not_tolerated_1_24, pod, snapshot)


def pod_tolerates_node_taints_1_36(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same rule. Upstream: 1.36 TaintToleration."""
    return {NOT_TOLERATED_1_36: pod_tolerates_node_taints(pod, snapshot)[NOT_TOLERATED]}


# --- cordons -------------------------------------------------------------------------------


def minds_cordons(pod: PodInfo) -> bool:
    """Whether the pod does not tolerate the taint of cordoned nodes."""
    return not any_tolerates(pod.spec.tolerations, UNSCHEDULABLE_TAINT)


def check_node_unschedulable(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails on cordoned nodes, unless the pod tolerates their taint. Upstream: 1.16 CheckNodeUnschedulablePredicate."""
    if not minds_cordons(pod):
        return PASS
    codes, _ = snapshot.property_codes(cordoned)
    return {UNSCHEDULABLE: codes != ABSENT}


# --- evidence ------------------------------------------------------------------------------

MOST_TOLERATIONS = 1
"""Of a pod's tolerations that are named."""

Tolerates = Callable[[tuple[Toleration, ...], Taint], bool]


def _explain_taints(taints_of: Callable[[Node], Taints | None], tolerates: Tolerates) -> Explain:
    """By taint whether it is tolerated."""

    def explain(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
        node, tolerations = node_of(snapshot), pod.spec.tolerations
        taints = (None if node is None else taints_of(node)) or ()
        return Unmet(tuple(_taint_need(taint, tolerations, tolerates) for taint in taints))

    return explain


def _taint_need(taint: Taint, tolerations: tuple[Toleration, ...], tolerates: Tolerates) -> Need:
    met = tolerates(tolerations, taint)
    return Need(f"a toleration of {taint_text(taint)}", _found(tolerations), met)


def _found(tolerations: tuple[Toleration, ...]) -> str:
    """``only tolerations of dedicated=batch:NoSchedule and 2 more``."""
    if not tolerations:
        return "none"
    said = ", ".join(map(toleration_text, tolerations[:MOST_TOLERATIONS]))
    more = len(tolerations) - MOST_TOLERATIONS
    return f"only tolerations of {said} and {more} more" if more > 0 else f"only a toleration of {said}"


def taint_text(taint: Taint) -> str:
    """``dedicated=gpu:NoSchedule``."""
    pair = f"{taint.key}={taint.value}" if taint.value else taint.key
    return f"{pair}:{taint.effect}"


def toleration_text(toleration: Toleration) -> str:
    """``dedicated=gpu:NoSchedule``, ``level Gt 10:NoSchedule``; what is left out means any."""
    key, operator = toleration.key or "any key", toleration.operator
    pair = f"{key} {operator} {toleration.value}" if operator in ("Gt", "Lt") else f"{key}={toleration.value}"
    pair = key if operator == "Exists" else pair
    return f"{pair}:{toleration.effect}" if toleration.effect else pair


def _tolerates_1_4(tolerations: tuple[Toleration, ...], taint: Taint) -> bool:
    """A pod without tolerations stays off every taint, one with some off those that keep pods out."""
    if tolerations and taint.effect == "PreferNoSchedule":
        return True
    return bool(tolerations) and any_tolerates_1_4(tolerations, taint)


explain_taints = _explain_taints(hard_taints, any_tolerates)
explain_no_execute_taints = _explain_taints(no_execute_taints, any_tolerates)
explain_taints_1_4 = _explain_taints(all_taints, _tolerates_1_4)


def explain_cordon(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
    """Whether the node is cordoned and the pod tolerates that."""
    node = node_of(snapshot)
    is_cordoned = node is not None and node.unschedulable
    there = "spec.unschedulable" if is_cordoned else "none"
    return Unmet((Need("a node that is not cordoned", there, not is_cordoned),), minds_cordons(pod))


def make_pod_tolerates_node_taints(_: PredicateArgs) -> FitPredicate:
    """Fails where a taint with effect NoSchedule or NoExecute is not tolerated. PreferNoSchedule is left to
    TaintTolerationPriority.

    Upstream: 1.16 PodToleratesNodeTaints.
    """
    return node_predicate("PodToleratesNodeTaints", pod_tolerates_node_taints, may_be_tainted_out, explain_taints)


def make_pod_tolerates_node_no_execute_taints(_: PredicateArgs) -> FitPredicate:
    """Fails where a taint with effect NoExecute is not tolerated. 1.16 has a place for it in the order of predicates,
    but does not register it: no policy can name it.

    Upstream: 1.16 PodToleratesNodeNoExecuteTaints.
    """
    return node_predicate(
        "PodToleratesNodeNoExecuteTaints",
        pod_tolerates_node_no_execute_taints,
        may_be_tainted_out,
        explain_no_execute_taints,
    )


def make_check_node_unschedulable(_: PredicateArgs) -> FitPredicate:
    """Fails on nodes with `spec.unschedulable`, unless the pod tolerates the taint `node.kubernetes.io/unschedulable`
    with effect NoSchedule.

    Upstream: 1.16 CheckNodeUnschedulablePredicate.
    """
    return node_predicate("CheckNodeUnschedulable", check_node_unschedulable, minds_cordons, explain_cordon)


def make_pod_tolerates_node_taints_1_4(_: PredicateArgs) -> FitPredicate:
    """Taints and tolerations are annotations. Every effect but PreferNoSchedule counts; a pod without any toleration
    stays off nodes with any taint, PreferNoSchedule included. An annotation that cannot be read is an error.

    Upstream: 1.4 PodToleratesNodeTaints.
    """
    return node_predicate("PodToleratesNodeTaints", pod_tolerates_node_taints_1_4, applies_always, explain_taints_1_4)


TAINTS: dict[str, FitPredicateFactory] = {
    "PodToleratesNodeTaints": make_pod_tolerates_node_taints,
    "PodToleratesNodeNoExecuteTaints": make_pod_tolerates_node_no_execute_taints,
    "CheckNodeUnschedulable": make_check_node_unschedulable,
}
TAINTS_1_4: dict[str, FitPredicateFactory] = {"PodToleratesNodeTaints": make_pod_tolerates_node_taints_1_4}


# --- conditions ------------------------------------------------------------------------------


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
