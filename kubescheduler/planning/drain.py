"""What happens when nodes are drained, as ``kubectl drain`` does it.

All nodes are cordoned first. Then one after the other they lose their pods: whatever budgets allow is evicted at once,
and the rest when pods run again elsewhere and the budgets are counted anew, until all are gone or nothing moves any
more. Upstream: kubectl/pkg/drain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from clusterstate.errors import InputError
from clusterstate.objects import Pod
from kubescheduler.planning.budgets import Budgets, EvictionRefusal, is_counted
from kubescheduler.planning.departures import Fate, fate_of, named
from kubescheduler.planning.rehearsal import Rehearsal

DAEMON_SETS = "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
LOCAL_STORAGE = "cannot delete Pods with local storage (use --delete-emptydir-data to override)"
NO_CONTROLLER = "cannot delete Pods that declare no controller (use --force to override)"
"""What kubectl says of pods for which a flag is missing."""

Selects = Callable[[Pod], bool]


def every(_: Pod) -> bool:
    """Every pod."""
    return True


class DrainFlags(msgspec.Struct, frozen=True):
    """The flags of ``kubectl drain``."""

    ignore_daemonsets: bool = False
    delete_emptydir_data: bool = False
    force: bool = False
    """Also pods of no controller, which are lost."""
    disable_eviction: bool = False
    """Pods are deleted, so that no budget protects them."""
    selects: Selects = every
    """The pods of --pod-selector; others stay."""
    has_local_storage: Selects = lambda _: False
    """Whether a pod has an emptyDir volume."""


class Stays(msgspec.Struct, frozen=True):
    """A pod that drain leaves where it is."""

    pod: Pod
    why: str


class Blocked(msgspec.Struct, frozen=True):
    """A pod whose eviction is refused however long one waits."""

    pod: Pod
    refusal: EvictionRefusal
    why: str
    """What keeps the budget from opening."""
    opens: str
    """The smallest change that would open it; empty where nobody knows one."""


class Chosen(msgspec.Struct, frozen=True):
    """What becomes of the pods of one node."""

    node: str
    leaving: tuple[Pod, ...]
    stays: tuple[Stays, ...]
    faults: Mapping[str, Sequence[str]]
    """What kubectl says where a flag is missing → ``namespace/name`` of the pods that need it."""


def chosen(rehearsal: Rehearsal, nodes: Iterable[str], flags: DrainFlags) -> list[Chosen]:
    """The pods that leave each node. Upstream: GetPodsForDeletion, makeFilters."""
    out: list[Chosen] = []
    for node in nodes:
        leaving: list[Pod] = []
        stays: list[Stays] = []
        faults: dict[str, list[str]] = {}
        for pod in sorted((*rehearsal.pods_on(node), *rehearsal.finished_on(node)), key=lambda pod: pod.key):
            if not flags.selects(pod):
                stays.append(Stays(pod, "not selected"))
            elif fault := _fault(pod, flags):
                faults.setdefault(fault, []).append(pod.key)
            elif fate_of(pod) in (Fate.DAEMON, Fate.STATIC):
                stays.append(Stays(pod, fate_of(pod).value))
            else:
                leaving.append(pod)
        out.append(Chosen(node, tuple(leaving), tuple(stays), faults))
    return out


def check_flags(nodes: Iterable[Chosen]) -> None:
    """Raises InputError with kubectl's words for every flag that is missing."""
    problems = [
        f"node {each.node}: {fault}: {', '.join(pods)}" for each in nodes for fault, pods in each.faults.items()
    ]
    if problems:
        raise InputError(problems)


def _fault(pod: Pod, flags: DrainFlags) -> str:
    """The flag that is missing for a pod, the first as kubectl's filters find it."""
    fate = fate_of(pod)
    if fate in (Fate.FINISHED, Fate.STATIC):
        return ""
    if fate is Fate.DAEMON:
        return "" if flags.ignore_daemonsets else DAEMON_SETS
    if not flags.delete_emptydir_data and flags.has_local_storage(pod):
        return LOCAL_STORAGE
    return NO_CONTROLLER if fate is Fate.BARE and not flags.force else ""


def drained(rehearsal: Rehearsal, nodes: Iterable[Chosen], flags: DrainFlags) -> list[Blocked]:
    """Drains nodes that are cordoned; the pods that do not leave however long one waits.

    kubectl would wait for these for ever: the nodes after theirs are drained all the same, then they are tried again.
    """
    left = [pod for node in nodes for pod in _emptied(rehearsal, node.leaving, flags)]
    left = _emptied(rehearsal, left, flags)
    return [_blocked(rehearsal.budgets, pod) for pod in left]


def _emptied(rehearsal: Rehearsal, pods: Sequence[Pod], flags: DrainFlags) -> list[Pod]:
    """Evicts pods as budgets allow it; those for which they never do."""
    left = list(pods)
    while left:
        allowed = [pod for pod in left if flags.disable_eviction or rehearsal.budgets.evict(pod) is None]
        if not allowed:
            break
        rehearsal.evict(allowed)
        rehearsal.settle()
        gone = {pod.metadata.uid for pod in allowed}
        left = [pod for pod in left if pod.metadata.uid not in gone]
    return left


def _blocked(budgets: Budgets, pod: Pod) -> Blocked:
    refusal = budgets.refusal(pod)
    assert refusal is not None, pod.key
    if len(refusal.budgets) > 1:
        return Blocked(pod, refusal, f"selected by {' and '.join(refusal.budgets)}", "select it by one of them alone")
    [key] = refusal.budgets
    health = budgets.health(key)
    if health.fault:
        return Blocked(pod, refusal, health.fault, budgets.opening(key))
    if not budgets.at_best(key):
        return Blocked(pod, refusal, "it allows no disruption even if all its pods are ready", budgets.opening(key))
    unready = [each.key for each in budgets.pods_of(key) if not is_counted(each)]
    text = f"{named(unready)} {'is' if len(unready) == 1 else 'are'} not ready" if unready else "pods are missing"
    return Blocked(pod, refusal, text, "")
