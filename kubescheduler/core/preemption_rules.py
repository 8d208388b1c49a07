"""How the releases preempt: who may, where it is tried, whom budgets protect, and which node is picked."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

import msgspec
import numpy as np

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.growable import IntArray, Mask
from clusterstate.hypothetical import PodsByImportance
from clusterstate.objects import Pod, PodDisruptionBudget
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.matching import SelectorError, compile_label_selector
from kubescheduler.core.preemption_choice import NodePick, pick_1_13, pick_1_16, pick_1_20, pick_1_36
from kubescheduler.core.status import Code

# --- whom disruption budgets protect --------------------------------------------------------------


def selector_of(budget: PodDisruptionBudget) -> Callable[[PodInfo], bool] | None:
    """Whether a budget is about a pod; None: its selector is absent, empty or invalid, and protects nothing."""
    if budget.selector is None:
        return None
    try:
        matcher = compile_label_selector(budget.selector)
    except SelectorError:
        return None
    if matcher.everything:
        return None
    return lambda info: bool(info.labels) and info.namespace == budget.metadata.namespace and matcher(info.labels)


def exhausted(objects: ClusterObjects, roster: PodsByImportance, rows: IntArray, victims: Mask) -> Mask:  # noqa: ARG001
    """(K, n) bool: some budget that allows no disruption selects the pod's class; every pod is judged alone."""
    budgets = [b for b in objects.pod_disruption_budgets.values() if b.disruptions_allowed <= 0]
    selectors = [selects for budget in budgets if (selects := selector_of(budget)) is not None]
    return roster.select(rows, lambda info: any(selects(info) for selects in selectors))


def violating(objects: ClusterObjects, roster: PodsByImportance, rows: IntArray, victims: Mask) -> Mask:
    """(K, n) bool: the pod would take more from some budget than is left of it.

    Pods are counted from the most important one, node by node, over all victims; a pod that a budget already counts
    as disrupted takes nothing. Upstream: 1.20 and 1.36 filterPodsWithPDBViolation.
    """
    out = np.zeros(victims.shape, np.bool_)
    if not victims.any():
        return out
    infos = [roster.infos[code] for code in np.unique(roster.codes[:, rows][victims]).tolist()]
    labels = {(info.namespace, label) for info in infos if info is not None for label in info.labels.items()}
    for budget in objects.pod_disruption_budgets.values():
        selects = selector_of(budget) if _may_select(budget, labels) else None
        if selects is None:
            continue
        taken = roster.select(rows, selects) & victims
        if taken.any():
            if budget.disrupted_pods:
                _spare(taken, budget.disrupted_pods, roster, rows)
            out |= taken & (taken.cumsum(axis=0) > budget.disruptions_allowed)
    return out


def unprotected(_: ClusterObjects, __: PodsByImportance, ___: IntArray, victims: Mask) -> Mask:
    """(K, n) bool, False everywhere: budgets are not read. Upstream: 1.20 with feature gate PodDisruptionBudget off."""
    return np.zeros(victims.shape, np.bool_)


def _may_select(budget: PodDisruptionBudget, labels: Container[tuple[str, tuple[str, str]]]) -> bool:
    """Whether each of the labels that the budget wants is there in its namespace, on one pod or another."""
    wanted = () if budget.selector is None else budget.selector.match_labels.items()
    return all((budget.metadata.namespace, label) in labels for label in wanted)


def _spare(taken: Mask, disrupted: tuple[str, ...], roster: PodsByImportance, rows: IntArray) -> None:
    """Takes the pods that are already disrupted out of the mask."""
    for place, at in zip(*(axis.tolist() for axis in np.nonzero(taken)), strict=True):
        if roster.pods[int(rows[at])][place].metadata.name in disrupted:
            taken[place, at] = False


# --- who may preempt, and where -------------------------------------------------------------------


def leaving_1_20(pod: Pod) -> bool:
    """Whether a pod is being deleted, for whatever reason."""
    return pod.metadata.deletion_timestamp is not None


def leaving_1_36(pod: Pod) -> bool:
    """It is being deleted because the scheduler preempted it."""
    first = next((c for c in pod.conditions if c.type == "DisruptionTarget"), None)
    mine = first is not None and first.status == "True" and first.reason == "PreemptionByScheduler"
    return pod.metadata.deletion_timestamp is not None and mine


def potential_1_20(nodes: Mask, codes: Mapping[Code, Mask]) -> Mask:
    """Every node whose status, if it has one, can be mended. Upstream: 1.20 nodesWherePreemptionMightHelp."""
    hopeless = codes.get(Code.UnschedulableAndUnresolvable)
    return nodes if hopeless is None else nodes & ~hopeless


def potential_1_36(nodes: Mask, codes: Mapping[Code, Mask]) -> Mask:
    """The nodes with status Unschedulable. Upstream: 1.36 nodesWherePreemptionMightHelp."""
    return nodes & codes.get(Code.Unschedulable, False)


def itself(pod: Pod) -> tuple[Pod, ...]:
    """The pod's own, whether it has one or not. Upstream: 1.16 Preempt."""
    return (pod,)


def itself_if_nominated(pod: Pod) -> tuple[Pod, ...]:
    """The pod's own, if it has one."""
    return (pod,) if pod.nominated_node_name else ()


# --- all of it ------------------------------------------------------------------------------------


class PreemptionRules(msgspec.Struct, frozen=True):
    """How one release preempts."""

    leaving: Callable[[Pod], bool]
    """Whether a pod that is being deleted is one that makes room for the nominated pod."""
    silent: Code
    """The code of a node without a status."""
    potential: Callable[[Mask, Mapping[Code, Mask]], Mask]
    """Of ((N,) bool the nodes, code → (N,) bool those whose status has it): (N,) bool, where preemption may help."""
    pick: NodePick
    """The candidates that may be chosen."""
    needs_victims: bool
    """A node that needs no victims is an error."""
    by_importance: bool
    """Victims are listed by importance; otherwise those whom budgets protect come first."""
    explains: bool
    """The release says why there is no candidate."""
    fruitless_clears: bool
    """A pod loses its own nomination when no node that was tried is a candidate, not only when none was tried."""
    cleared: Callable[[Pod], tuple[Pod, ...]] = itself_if_nominated
    """Whose nominations are taken back where taking pods away would help nowhere."""
    honours_policy: bool = True
    """A pod with preemptionPolicy Never preempts nothing."""
    retries_hopeless: bool = True
    """Pods that leave the nominated node do not count once nothing can help there."""
    violating: Callable[[ClusterObjects, PodsByImportance, IntArray, Mask], Mask] = violating
    """Of (objects, roster, (n,) rows, (K, n) bool victims): (K, n) bool, whom disruption budgets protect."""
    keeps_nomination: bool = True
    """Nothing is said of the nomination of a pod that may not preempt, or of which extenders leave no candidate."""
    lower_only: bool = True
    """A node without lower pods is no candidate."""
    knows_nodes: bool = True
    """A node that an extender answers without victims is an error where the cluster does not have it."""


PREEMPTION_1_20 = PreemptionRules(
    leaving_1_20,
    Code.Success,
    potential_1_20,
    pick_1_20,
    needs_victims=False,
    by_importance=False,
    explains=False,
    fruitless_clears=False,
)

PREEMPTION_1_22 = msgspec.structs.replace(PREEMPTION_1_20, pick=pick_1_36, needs_victims=True)
PREEMPTION_1_24 = msgspec.structs.replace(PREEMPTION_1_22, explains=True)

PREEMPTION_1_18 = msgspec.structs.replace(PREEMPTION_1_20, pick=pick_1_16, honours_policy=False, retries_hopeless=False)

PREEMPTION_1_36 = PreemptionRules(
    leaving_1_36,
    Code.UnschedulableAndUnresolvable,
    potential_1_36,
    pick_1_36,
    needs_victims=True,
    by_importance=True,
    explains=True,
    fruitless_clears=True,
)

PREEMPTION_1_31 = msgspec.structs.replace(PREEMPTION_1_36, by_importance=False)
PREEMPTION_1_27 = msgspec.structs.replace(PREEMPTION_1_31, silent=Code.Success, potential=potential_1_20)
"""Nodes without a status are tried."""
PREEMPTION_1_25 = msgspec.structs.replace(PREEMPTION_1_27, leaving=leaving_1_20)

PREEMPTION_1_16 = msgspec.structs.replace(
    PREEMPTION_1_18,
    cleared=itself,
    violating=exhausted,
    keeps_nomination=False,
    lower_only=False,
    knows_nodes=False,
)
PREEMPTION_1_15 = msgspec.structs.replace(PREEMPTION_1_16, cleared=itself_if_nominated)
PREEMPTION_1_13 = msgspec.structs.replace(PREEMPTION_1_15, pick=pick_1_13)
