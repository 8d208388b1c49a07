"""Which nodes can go: as the Cluster Autoscaler's scale-down sees it, each node's pods moved by the scheduler itself.

A node is looked at if it is used no more than a threshold, nothing forbids it, and no pod on it blocks. Then it is
drained in a rehearsal; it goes if all its pods run elsewhere, nobody was evicted for them, and no pod that waited
before waits for it. One node after the other goes in the same rehearsal, which is made anew only after a node that
cannot. In the end all nodes that go are drained together, from the cluster as it is.

Upstream: kubernetes/autoscaler, cluster-autoscaler of 1.36.1: core/scaledown/eligibility/eligibility.go, simulator/
utilization/info.go, simulator/drainability/rules, core/scaledown/planner/planner.go, with the defaults of the flags
--skip-nodes-with-system-pods, --skip-nodes-with-local-storage and --skip-nodes-with-custom-controller-pods, all true,
and an hour for --blocking-system-pod-distruption-timeout.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import msgspec

from clusterstate.objects import ClusterObject, Node, Pod
from clusterstate.selectors.pod_owners import MIRROR, is_daemon_pod
from clusterstate.usage import CPU, MEMORY
from kubescheduler.core.results import Shown, ShownTable, counted
from kubescheduler.core.selection import TieBreak
from kubescheduler.engine.spec import Engine
from kubescheduler.planning.cluster_autoscaler import gpu_of
from kubescheduler.planning.departures import Fate, fate_of
from kubescheduler.planning.drain import DrainFlags, chosen, drained
from kubescheduler.planning.rehearsal import Moved, Rehearsal, after_waiting
from kubescheduler.simulation.workload import moment_of

THRESHOLD = 0.5
"""Upstream: the default of --scale-down-utilization-threshold."""
DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
REPLICATED = frozenset({"ReplicationController", "Job", "ReplicaSet", "StatefulSet"})
"""Kinds of controllers whose pods may move. Upstream: replicatedKind."""
SYSTEM = "kube-system"
SYSTEM_BLOCKS = 3600.0
"""Seconds for which a pod there without a budget blocks. Upstream: --blocking-system-pod-distruption-timeout."""
ON_COMPLETION = "on-completion"
"""What the annotation says of a pod that keeps its node from nothing and runs on there until it ends."""


class KeptNode(msgspec.Struct, frozen=True):
    """A node that cannot go, and why."""

    node: str
    used: float
    """The larger share of cpu and memory that pods ask for; of a node with GPUs the share of these."""
    reason: str
    """Upstream's name of it: of the node, or of what its pod blocks by."""
    text: str
    pod: str = ""
    """``namespace/name`` of the pod that blocks."""


class Freed(msgspec.Struct, frozen=True):
    """A node that can go."""

    node: str
    used: float


class Move(msgspec.Struct, frozen=True):
    """Where a pod of a node that goes runs then; ``now`` is the one that its controller makes in its place."""

    pod: str
    from_node: str
    now: str
    to_node: str

    def to_dict(self) -> dict[str, str]:
        """Plain data, for JSON."""
        return {"pod": self.pod, "from": self.from_node, "now": self.now, "to": self.to_node}


class Removals(Shown, msgspec.Struct, frozen=True, eq=False):
    """Which nodes can go, all of them together, and where their pods run then."""

    freed: tuple[Freed, ...]
    """In the order in which they are drained, all cordoned before."""
    kept: tuple[KeptNode, ...]
    moves: tuple[Move, ...]
    threshold: float
    notes: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """The answer in words, a paragraph each."""
        every = len(self.freed) + len(self.kept)
        if not every:
            return ["The cluster has no nodes."]
        if not self.freed:
            return ["The only node cannot go." if every == 1 else f"None of {every} nodes can go."]
        names = ", ".join(each.node for each in self.freed)
        pods = len(self.moves)
        moved = f"{counted(pods, 'pod')} {'moves' if pods == 1 else 'move'}, each to where the scheduler puts it."
        moved = moved if pods else "No pod moves."
        return [f"{len(self.freed)} of {every} nodes can go: {names}. {moved}"]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "canGo": msgspec.to_builtins(self.freed),
            "moves": [move.to_dict() for move in self.moves],
            "kept": msgspec.to_builtins(self.kept),
            "threshold": self.threshold,
            "text": self.sentences(),
            **({"notes": list(self.notes)} if self.notes else {}),
        }

    def table(self) -> ShownTable:
        """What is printed, and shown in a notebook: a line a node, then what moves."""
        rows = [(each.node, f"{each.used:.0%}", "can go", "") for each in self.freed]
        rows += [(each.node, f"{each.used:.0%}", each.reason, each.text) for each in self.kept]
        below = "; ".join(f"{move.pod} → {move.to_node}" for move in self.moves)
        return ShownTable(self.sentences()[0], ("node", "used", "", "why not"), rows, below)


class _Search:
    """One search, node after node."""

    def __init__(
        self,
        engine: Engine,
        objects: Sequence[ClusterObject],
        tie_break: Callable[[], TieBreak],
        local_storage: Collection[str],
        threshold: float,
        now: float,
    ) -> None:
        self._now = now
        self._engine, self._objects, self._tie_break = engine, objects, tie_break
        self._local, self._threshold = local_storage, threshold
        self._flags = DrainFlags(
            ignore_daemonsets=True, delete_emptydir_data=True, force=True, selects=lambda pod: not _ends_there(pod)
        )
        self._there, self._preempted = after_waiting(self._rehearsal(objects), tie_break())
        if self._preempted:
            self._objects = self._there.objects()
        self._waiting = _unplaced(self._there)
        self._notes_before = self._notes(self._there)

    def run(self) -> Removals:
        """Empty nodes first, then the others in order."""
        nodes = [obj for obj in self._objects if isinstance(obj, Node)]
        used = {node.name: self._used(node.name) for node in nodes}
        nodes.sort(key=lambda node: any(self._moves_from(self._there, node.name)))
        freed: list[Freed] = []
        kept: list[KeptNode] = []
        for node in nodes:
            share = used[node.name]
            fault = self._eligible(node, share) or self._pods_block(node) or self._no_place(node)
            if fault is None:
                freed.append(Freed(node.name, share))
            else:
                kept.append(KeptNode(node.name, share, *fault))
        while freed:
            last = self._drained(self._rehearsal(self._objects), [each.node for each in freed])
            fault = self._hurts(last)
            if fault is None:
                moves = tuple(_move(moved) for moved in last.moved if moved.now is not None)
                return Removals(tuple(freed), tuple(kept), moves, self._threshold, self._notes(last))
            lost = freed.pop()
            text = f"not together with the nodes before it: {fault[0]}"
            kept.append(KeptNode(lost.node, lost.used, "NoPlaceToMovePods", text, fault[1]))
        return Removals((), tuple(kept), (), self._threshold, self._notes_before)

    def _notes(self, rehearsal: Rehearsal) -> tuple[str, ...]:
        some = "1 pod fits" if len(self._waiting) == 1 else f"{len(self._waiting)} pods fit"
        waiting = f"{some} nowhere with all nodes, and no node is kept for that" if self._waiting else ""
        lost = [moved.pod.key for moved in rehearsal.moved if moved.now is None and moved.fate is Fate.BARE]
        said = f"lost, as no controller makes them anew: {', '.join(lost)}" if lost else ""
        return tuple(filter(None, (*self._preempted, *rehearsal.budgets.notes, *rehearsal.left_out(), waiting, said)))

    # --- by themselves -------------------------------------------------------------------------------

    def _eligible(self, node: Node, used: float) -> tuple[str, str] | None:
        """Upstream: unremovableReasonAndNodeUtilization."""
        if node.metadata.annotations.get(DISABLED) == "true":
            return "ScaleDownDisabledAnnotation", f"it has the annotation {DISABLED}"
        if used > self._threshold:
            return "NotUnderutilized", f"{used:.0%} is asked for, more than {self._threshold:.0%}"
        return None

    def _used(self, name: str) -> float:
        """A resource that the node does not say counts as unused. Upstream: utilization.Calculate."""
        columns = self._there.cache.columns
        row = columns.row_of[name]
        node = columns.nodes[row]
        gpu = None if node is None else gpu_of(node)
        wanted = (CPU, MEMORY) if gpu is None else (gpu,)
        rows = [columns.resources[each] for each in wanted if each in columns.resources]
        shares = [
            float(columns.requested.data[at, row] / columns.allocatable.data[at, row])
            for at in rows
            if columns.allocatable.data[at, row] > 0
        ]
        return max(shares, default=0.0)

    # --- by their pods -------------------------------------------------------------------------------

    def _pods_block(self, node: Node) -> tuple[str, str, str] | None:
        """The first pod that blocks, by name. Upstream: GetPodsToMove, with the rules of drainability/rules."""
        for pod in self._there.pods_on(node.name):
            fault = self._blocks(pod)
            if fault is not None:
                return (*fault, pod.key)
        return None

    def _blocks(self, pod: Pod) -> tuple[str, str] | None:
        said = pod.metadata.annotations.get(SAFE_TO_EVICT)
        leaving = pod.metadata.deletion_timestamp is not None
        if MIRROR in pod.metadata.annotations or is_daemon_pod(pod) or said in ("true", ON_COMPLETION) or leaving:
            return None
        owner, budgets = pod.metadata.controller, self._there.budgets
        found = ("", "")
        if owner is None or owner.kind not in REPLICATED:
            found = "NotReplicated", f"{pod.key} is not replicated"
        elif pod.metadata.namespace == SYSTEM and not budgets.over(pod):
            if self._is_old(pod):
                return None
            text = "non-daemonset, non-mirrored, non-pdb-assigned kube-system pod present"
            found = "UnmovableKubeSystemPod", f"{text}: {pod.metadata.name}"
        elif said == "false":
            found = "NotSafeToEvictAnnotation", f"pod annotated as not safe to evict present: {pod.metadata.name}"
        elif pod.key in self._local:
            found = "LocalStorageRequested", f"pod with local storage present: {pod.metadata.name}"
        elif any(budgets.health(key).allowed < 1 for key in budgets.over(pod)):
            found = "NotEnoughPdb", f"not enough pod disruption budget to move {pod.key}"
        return found if found[0] else None

    def _is_old(self, pod: Pod) -> bool:
        """Whether it was made so long ago that it no longer blocks as one of kube-system. Upstream:
        isBspPassedDisruptionTimeout."""
        try:
            return self._now > moment_of(pod.metadata.creation_timestamp) + SYSTEM_BLOCKS
        except ValueError:
            return False

    @staticmethod
    def _moves_from(rehearsal: Rehearsal, name: str) -> Iterable[Pod]:
        """The pods of a node that come back elsewhere."""
        there = (pod for pod in rehearsal.pods_on(name) if not _ends_there(pod))
        return (pod for pod in there if fate_of(pod) in (Fate.REMADE, Fate.BARE))

    # --- by where these go ---------------------------------------------------------------------------

    def _no_place(self, node: Node) -> tuple[str, str, str] | None:
        """Why its pods do not run elsewhere; where they do, the node is gone from now on."""
        before = self._there.objects()
        fault = self._hurts(self._drained(self._there, [node.name]))
        if fault is not None:
            self._there = self._rehearsal(before)
            self._there.settle()
            return ("NoPlaceToMovePods", *fault)
        self._there.drop(node.name)
        self._there.settle()
        return None

    def _rehearsal(self, objects: Iterable[ClusterObject]) -> Rehearsal:
        return Rehearsal(self._engine, objects, self._tie_break())

    def _drained(self, rehearsal: Rehearsal, names: Sequence[str]) -> Rehearsal:
        """The cluster in which these nodes were drained besides; who moved before is none of those that did."""
        rehearsal.begin_anew()
        rehearsal.cordon(names)
        rehearsal.settle()
        self._blocked = drained(rehearsal, chosen(rehearsal, names, self._flags), self._flags)
        return rehearsal

    def _hurts(self, played: Rehearsal) -> tuple[str, str] | None:
        """(why not, the pod) where a pod has no node, stays, was evicted for another, or waits that did not."""
        for moved in played.moved:
            if moved.nowhere or moved.foreign:  # a budget is closed for that, if one is
                return moved.message, moved.pod.key
        for blocked in self._blocked:
            return f"{blocked.refusal}", blocked.pod.key
        for moved in played.moved:
            if any(why.startswith("preempted") for why in moved.left):
                return f"{moved.pod.key} would be {moved.left[-1]}", moved.pod.key
        for key in sorted(_unplaced(played) - self._waiting):
            return f"{key} waits, which would have a node otherwise", key
        return None


def _ends_there(pod: Pod) -> bool:
    return pod.metadata.annotations.get(SAFE_TO_EVICT) == ON_COMPLETION


def _unplaced(rehearsal: Rehearsal) -> frozenset[str]:
    """The pods that waited from the start and have no node, but for those that are not this scheduler's."""
    records = ((pod.key, rehearsal.record(pod)) for pod in rehearsal.waiting)
    return frozenset(key for key, record in records if record is None or not (record.node or record.foreign))


def _move(moved: Moved) -> Move:
    assert moved.now is not None
    return Move(moved.pod.key, moved.pod.node_name, moved.now.key, moved.node)


def removable_nodes(
    engine: Engine,
    objects: Iterable[ClusterObject],
    tie_break: Callable[[], TieBreak],
    *,
    now: float,
    local_storage: Collection[str] = (),
    threshold: float = THRESHOLD,
) -> Removals:
    """Which nodes can go. tie_break: makes the scheduler's of one run. now: seconds since 1970. local_storage:
    ``namespace/name`` of the pods whose volumes are lost with their node. threshold: nodes of which more than that
    share is asked for stay."""
    return _Search(engine, list(objects), tie_break, local_storage, threshold, now).run()
