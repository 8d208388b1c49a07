"""A descheduler's preview: the fewest moves of running pods that empty nodes, or let a pending pod in.

A move is what one who moves pods by hand does: the pod's node is cordoned, the pod evicted, if its budgets allow that
now, what its controller makes in its place is placed by the scheduler, and the node is uncordoned. It counts if that
pod runs elsewhere and nobody was evicted for it. Nodes that are to be empty are cordoned before the first move and stay
so. Every plan is played from the cluster as it is; the scheduler says where pods go, so that nothing but playing tells.

The search is A*: plans by the moves that they take at least, which are those made and the pods that are left on nodes
to be emptied. So the first that does has the fewest, and what is not played in time is a lower bound. Before it, plans
that look good are played, for an answer where there are too many.

Upstream: kubernetes-sigs/descheduler of 1.36, pkg/framework/plugins/defaultevictor: which pods are moved by default.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

import msgspec

from clusterstate.errors import InputError, nearest
from clusterstate.objects import ClusterObject, Node, Pod
from clusterstate.podinfo import pod_key
from clusterstate.usage import CPU
from kubescheduler.core.results import Shown, ShownTable, counted
from kubescheduler.core.selection import TieBreak
from kubescheduler.engine.spec import Engine
from kubescheduler.planning.departures import Fate, fate_of, is_counted
from kubescheduler.planning.rehearsal import Rehearsal
from kubescheduler.planning.removable_nodes import Move

EVICT = "descheduler.alpha.kubernetes.io/evict"
"""The annotation of a pod that is moved although it is critical or has local storage."""
CRITICAL = 2_000_000_000
"""Upstream: SystemCriticalPriority."""
TRIES = 200
"""Plans that are played, by default."""
DEEPEST = 5
"""Pods of one node that are moved together to let a pod in, in plans that are played first."""

Keys = tuple[str, ...]
"""``namespace/name`` of pods, one move each."""


class StaysFull(msgspec.Struct, frozen=True):
    """A node that no moves empty, and the pod that stays."""

    node: str
    pod: str
    why: str


class Rebalanced(Shown, msgspec.Struct, frozen=True, eq=False):
    """The fewest moves, or that there are none."""

    wanted: str
    """What for, as said after "to": ``empty 2 nodes``, ``let default/big in``."""
    moves: tuple[Move, ...] | None
    """In order; None: no plan was found."""
    empty: tuple[str, ...]
    """The nodes that are empty at the end, but for pods of DaemonSets and static ones."""
    node: str
    """Where the pod that is let in runs then."""
    proven: bool
    """Whether no fewer moves do, or none at all: every plan of fewer was played, or has too few."""
    at_least: int
    """Moves that it takes whatever they are."""
    runs: int
    """Plans that were played."""
    full: tuple[StaysFull, ...] = ()
    notes: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """The answer in words, a paragraph each."""
        played, were = counted(self.runs, "plan"), "was" if self.runs == 1 else "were"
        least = f"it takes at least {counted(self.at_least, 'move')}"
        if self.moves is None:
            if not self.runs:
                return [f"No moves {self.wanted}: too many nodes have a pod that is not moved."]
            if self.proven:
                return [f"No moves {self.wanted}, made one after the other: every plan was played."]
            return [f"No moves were found that {self.wanted}: {played} {were} played, {least}."]
        where = f"it goes to {self.node}" if self.node else ", ".join(self.empty)
        if not self.moves:
            return [f"No pod has to move to {self.wanted}: {where}."]
        first = f"Make {counted(len(self.moves), 'move')} to {self.wanted}: {where}."
        if self.proven:
            return [first, f"Proven fewest: no plan of fewer moves does; {played} {were} played."]
        return [first, f"Best found, not proven fewest: {played} {were} played; {least}."]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "moves": None if self.moves is None else [move.to_dict() for move in self.moves],
            **({"node": self.node} if self.node else {"empty": list(self.empty)}),
            "proven": self.proven,
            "atLeast": self.at_least,
            "runs": self.runs,
            "text": self.sentences(),
            "full": msgspec.to_builtins(self.full),
            **({"notes": list(self.notes)} if self.notes else {}),
        }

    def table(self) -> ShownTable:
        """What is printed, and shown in a notebook: a line a move."""
        first, *rest = self.sentences()
        rows = [(each.pod, each.from_node, each.to_node, each.now) for each in self.moves or ()]
        return ShownTable(first, ("pod", "from", "to", "as") if rows else (), rows, " ".join(rest))


class _Played(msgspec.Struct, frozen=True, eq=False):
    """A plan up to some move, all of which hold."""

    moves: tuple[Move, ...]
    least: int
    """Moves that are missing at least; 0: it does what is wanted."""
    node: str
    state: Hashable
    """What later moves depend on."""
    next: tuple[tuple[str, str], ...]
    """(pod, its node) of the next moves there may be; of pods alike on a node one."""
    finished: tuple[Move, ...] | None
    """The plan with the pods that are left on nodes to be emptied, if that holds too."""


class _Search:
    """One search."""

    def __init__(
        self,
        engine: Engine,
        objects: Sequence[ClusterObject],
        tie_break: Callable[[], TieBreak],
        wanted: int | str,
        local_storage: Collection[str],
        tries: int,
    ) -> None:
        self._engine, self._objects, self._tie_break = engine, objects, tie_break
        self._local, self._tries, self._runs = local_storage, tries, 0
        self._known: dict[tuple[Keys, Keys], _Played | None] = {}
        self._nodes = [obj.name for obj in objects if isinstance(obj, Node)]
        self._number = wanted if isinstance(wanted, int) else 0
        if self._number > len(self._nodes):
            raise InputError([f"the cluster has {counted(len(self._nodes), 'node')}: {self._number} cannot be empty"])
        self._pod = wanted if isinstance(wanted, str) else ""
        stage = Rehearsal(engine, objects, tie_break())
        self._full = list(self._full_nodes(stage))
        self._on = {name: sum(map(_is_to_leave, stage.pods_on(name))) for name in self._nodes}
        waiting = f"nodes that are to be empty are closed to pods that wait ({len(stage.waiting)})"
        self._notes = (*stage.budgets.notes, *((waiting,) if self._number and stage.waiting else ()))
        self._good = self._good_plans(stage) if self._pod else []

    def run(self) -> Rebalanced:
        """Plans that look good, then all by the moves that they take at least."""
        best: tuple[Keys, _Played] | None = None
        for away, keys in self._first():
            if self._runs >= max(1, self._tries // 2):
                break
            played = self._play(away, keys)
            done = None if played is None else self._done(played)
            if done is not None:
                best = away, done
                break
        return self._all(best)

    def _done(self, played: _Played) -> _Played | None:
        """The plan that does what is wanted."""
        if played.finished is not None:
            return msgspec.structs.replace(played, moves=played.finished)
        return None if played.least else played

    def _all(self, best: tuple[Keys, _Played] | None) -> Rebalanced:
        """Every plan that may take fewer moves than the best, those that take the fewest at least first."""
        order = count()
        heap: list[tuple[int, int, int, Keys, Keys]] = []
        sets = self._sets()
        waiting = next(sets, None)
        seen: set[Hashable] = set()
        ranks = {node: rank for rank, node in enumerate(dict.fromkeys(node for node, _ in self._good))}
        while True:
            while waiting is not None and (not heap or waiting[0] <= heap[0][0]):
                heapq.heappush(heap, (waiting[0], 0, next(order), waiting[1], ()))
                waiting = next(sets, None)
            if not heap or (best is not None and heap[0][0] >= len(best[1].moves)):
                return self._result(best, True, len(best[1].moves) if best is not None else 0)
            least, _, _, away, keys = heapq.heappop(heap)
            if self._runs >= self._tries and (away, keys) not in self._known:
                return self._result(best, False, least)
            played = self._play(away, keys)
            if played is None or played.state in seen:
                continue
            if self._number and len(keys) + played.least > least:
                heapq.heappush(heap, (len(keys) + played.least, -len(keys), next(order), away, keys))
                continue
            done = self._done(played)
            if done is not None:
                return self._result((away, done), True, least)
            seen.add(played.state)
            for pod, node in played.next:
                more = len(keys) + 1 + (played.least - (node in away) if self._number else 0)
                rank = 0 if node in away else 1 + ranks.get(node, len(ranks))
                heapq.heappush(heap, (more, rank - len(keys), next(order), away, (*keys, pod)))

    def _result(self, best: tuple[Keys, _Played] | None, proven: bool, at_least: int) -> Rebalanced:
        away, played = best if best is not None else ((), None)
        wanted = f"let {self._pod} in"
        if not self._pod:
            wanted = f"empty {counted(self._number, 'node')}"
        moves = None if played is None else played.moves
        node = "" if played is None else played.node
        full = tuple(self._full) if self._number else ()
        return Rebalanced(wanted, moves, away, node, proven, at_least, self._runs, full, self._notes)

    # --- what to begin with --------------------------------------------------------------------------

    def _first(self) -> Iterator[tuple[Keys, Keys]]:
        """Plans that look good: nodes with few pods, or nodes with few pods that are in the way."""
        if self._number:
            yield from ((away, ()) for _, away in self._sets())
        else:
            yield (), ()
            yield from (((), keys) for _, keys in self._good)

    def _sets(self) -> Iterator[tuple[int, Keys]]:
        """(moves at least, nodes to be emptied), the fewest first. To let a pod in none is emptied."""
        if not self._number:
            yield 0, ()
            return
        full = {each.node for each in self._full}
        names = sorted((name for name in self._nodes if name not in full), key=lambda name: self._on[name])
        start = tuple(range(self._number))
        heap, seen = [(self._moves_of(names, start), start)] if len(names) >= self._number else [], {start}
        while heap:
            least, chosen = heapq.heappop(heap)
            yield least, tuple(names[at] for at in chosen)
            for place, at in enumerate(chosen):
                following = (*chosen[:place], at + 1, *chosen[place + 1 :])
                limit = chosen[place + 1] if place + 1 < len(chosen) else len(names)
                if at + 1 < limit and following not in seen:
                    seen.add(following)
                    heapq.heappush(heap, (self._moves_of(names, following), following))

    def _moves_of(self, names: Sequence[str], chosen: Iterable[int]) -> int:
        return sum(self._on[names[at]] for at in chosen)

    def _full_nodes(self, stage: Rehearsal) -> Iterator[StaysFull]:
        for name in self._nodes:
            for pod in stage.pods_on(name):
                why = self._protected(pod)
                if why and _is_to_leave(pod):
                    yield StaysFull(name, pod.key, why)
                    break

    def _good_plans(self, stage: Rehearsal) -> list[tuple[str, Keys]]:
        """(node, its largest pods) where the pod would fit if they were not there, the fewest first. What is taken from
        all nodes at once may say too much or too little: these plans are only played first. A note says why it fits
        nowhere with all of them gone. Raises InputError for one of another scheduler."""
        pods = [pod for pod in stage.waiting if pod.key == self._pod]
        if not pods:
            known = [pod.key for pod in stage.waiting]
            raise InputError([f"pod {self._pod}: it does not wait for a node{nearest(self._pod, known)}"])
        if foreign := self._engine.foreign(pods[0]):
            raise InputError([f"no decision on {self._pod}: {foreign}"])
        cache, scheduler = stage.cache, self._engine.scheduler(stage.cache)
        movable = {name: _largest_first(stage, self._movable(stage, name)) for name in self._nodes}
        found: dict[str, Keys] = {}
        for number in range(1, DEEPEST + 1):
            for there in movable.values():
                if len(there) >= number:
                    cache.remove(there[number - 1])
            for name in scheduler.decide(pods[0]).fits():
                found.setdefault(name, tuple(pod.key for pod in movable[name][:number]))
        for pod in (pod for there in movable.values() for pod in there[DEEPEST:]):
            cache.remove(pod)
        alone = scheduler.decide(pods[0])
        if not found and not alone.fits():
            text = " ".join(alone.message.split())
            why = "fits nowhere even without all pods that may be moved" if alone.tried else "is not tried"
            self._notes += (f"{self._pod} {why}: {text}",)
        return sorted(found.items(), key=lambda item: len(item[1]))

    # --- which pods move -------------------------------------------------------------------------------

    def _movable(self, stage: Rehearsal, name: str) -> list[Pod]:
        return [pod for pod in stage.pods_on(name) if _is_to_leave(pod) and not self._protected(pod)]

    def _protected(self, pod: Pod) -> str:
        """Why a pod is not moved; empty where it is. Upstream: DefaultEvictor.Filter."""
        if fate_of(pod) is Fate.BARE:
            return "no controller makes it anew"
        if EVICT in pod.metadata.annotations:
            return ""
        if pod.priority >= CRITICAL:
            return "it has system critical priority"
        return "it has local storage" if pod.key in self._local else ""

    # --- playing ---------------------------------------------------------------------------------------

    def _play(self, away: Keys, keys: Keys) -> _Played | None:
        """A plan, from the cluster as it is; None: one of its moves does not hold. Played once."""
        if (away, keys) not in self._known:
            self._runs += 1
            self._known[away, keys] = self._played(away, keys)
        return self._known[away, keys]

    def _played(self, away: Keys, keys: Keys) -> _Played | None:
        stage = Rehearsal(self._engine, self._objects, self._tie_break())
        stage.cordon(away)
        stage.settle()
        moves = _moved(stage, keys)
        if moves is None:
            return None
        state = (away, self._state(stage))
        left = [pod for name in away for pod in stage.pods_on(name) if _is_to_leave(pod)]
        node = next(
            (record.node for pod in stage.waiting if pod.key == self._pod and (record := stage.record(pod))), ""
        )
        following = tuple(self._next(stage, away))
        least = len(left) if self._number else int(not node)
        finished = None
        if left:
            rest = _moved(stage, [pod.key for pod in _largest_first(stage, left)])
            finished = None if rest is None else (*moves, *rest)
        return _Played(moves, least, node, state, following, finished)

    def _next(self, stage: Rehearsal, away: Keys) -> Iterator[tuple[str, str]]:
        for name in dict.fromkeys((*away, *self._nodes)):
            kinds: dict[Hashable, str] = {}
            for pod in self._movable(stage, name):
                kinds.setdefault((pod_key(pod), is_counted(pod)), pod.key)
            yield from ((key, name) for key in kinds.values())

    @staticmethod
    def _state(stage: Rehearsal) -> Hashable:
        """Where pods are, as a difference to the beginning: pods that no rule can tell apart are one."""
        there: Counter[Hashable] = Counter()
        for moved in stage.moved:
            there[pod_key(moved.pod), is_counted(moved.pod), moved.pod.node_name] -= 1
            there[pod_key(moved.pod), True, moved.node] += 1
        for pod in stage.waiting:
            record = stage.record(pod)
            there[pod.key, True, record.node if record is not None else ""] += 1
        return frozenset((key, number) for key, number in there.items() if number)


def _is_to_leave(pod: Pod) -> bool:
    """Whether a node with the pod is not empty."""
    return fate_of(pod) in (Fate.REMADE, Fate.BARE) and pod.metadata.deletion_timestamp is None


def _largest_first(stage: Rehearsal, pods: Iterable[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: -stage.cache.info(pod).usage.request.get(CPU, 0))


def _moved(stage: Rehearsal, keys: Iterable[str]) -> tuple[Move, ...] | None:
    """One pod after the other; None where one does not hold."""
    moves: list[Move] = []
    for key in keys:
        move = _move(stage, key)
        if move is None:
            return None
        moves.append(move)
    return tuple(moves)


def _move(stage: Rehearsal, key: str) -> Move | None:
    pod = stage.pod(key)
    if pod is None or not pod.node_name or stage.budgets.evict(pod) is not None:
        return None
    node = stage.node(pod.node_name)
    alone = [] if node is None or node.unschedulable else [node.name]
    stage.cordon(alone)
    before = [(moved, len(moved.left)) for moved in stage.moved]
    stage.settle()
    stage.evict([pod])
    stage.settle()
    stage.cordon(alone, on=False)
    stage.settle()
    again = [moved for moved, times in before if len(moved.left) > times]
    changed = [*again, *stage.moved[len(before) :]]
    if len(changed) != 1 or changed[0].now is None or changed[0].node in ("", pod.node_name):
        return None
    return Move(key, pod.node_name, changed[0].now.key, changed[0].node)


def fewest_moves(
    engine: Engine,
    objects: Iterable[ClusterObject],
    wanted: int | str,
    tie_break: Callable[[], TieBreak],
    *,
    local_storage: Collection[str] = (),
    tries: int = TRIES,
    repeatable: bool = True,
) -> Rebalanced:
    """The fewest moves. wanted: so many nodes to be empty, or ``namespace/name`` of a pending pod to let in.

    tie_break: makes the scheduler's of one run. local_storage: ``namespace/name`` of the pods with some. tries: so many
    plans are played. repeatable: whether one run is like the other; otherwise nothing is proven. Raises InputError
    where the pod does not wait.
    """
    found = _Search(engine, list(objects), tie_break, wanted, local_storage, tries).run()
    return found if repeatable else msgspec.structs.replace(found, proven=False)
