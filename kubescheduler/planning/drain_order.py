"""In which order nodes can be drained so that budgets hold and every pod runs again before the next ones begin; and
what is said of drained nodes.

First it is looked for what makes every order impossible: a budget that never allows a disruption, a pod that fits on no
node that stays. Then orders are played, the next nodes as they were given, a step that fails being taken back; of few
nodes all orders, so that "there is none" is a proof. All nodes are cordoned from the start, as none of them is to get
pods that then have to leave again. Nodes that come back with another kubelet are cordoned one step at a time, as pods
may go to those that have been upgraded, and to those that are still to be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

import attrs
import msgspec

from clusterstate.changes import Reads
from clusterstate.objects import ClusterObject, EphemeralVolume, Pod
from kubescheduler.comparison.differences import CHECKS_OF_RULES
from kubescheduler.core.decision import Decision, gave_up
from kubescheduler.core.results import ShownTable, counted
from kubescheduler.planning.departures import Fate, fate_of, named
from kubescheduler.planning.drain import Blocked, Chosen, DrainFlags, KubeletUpgrade, Stays, blocked_by, chosen, drained
from kubescheduler.planning.rehearsal import EVICTED, HEADER, Displaced, Rehearsal, Violation, counts_text, needs_text
from kubescheduler.planning.shapes import Shape
from predicates.volume_binding import NODE_CONFLICT
from predicates.volume_zone import ZONE_CONFLICT

EXHAUSTIVE = 6
"""Nodes of which all orders are tried."""
MOST_STEPS = 3000
"""Steps that fail before the search ends."""
FAR_BACK = 20
"""Steps that can be taken back, one after another."""
MOST_REBUILT = 50_000
"""Pods in clusters that are made anew for steps that are taken back; then the search ends as well."""
FEW_FAILED = 10
"""Steps that may fail in any case."""

OTHERS_HELP = ("pod affinity", "topology spread", "service affinity")
ORDER_DEPENDENT = frozenset(check for rule in OTHERS_HELP for check in CHECKS_OF_RULES[rule])
"""Checks that may let a pod go to a node once others have gone there."""
BOUND_ELSEWHERE = frozenset({NODE_CONFLICT, ZONE_CONFLICT, "node(s) didn't match PersistentVolume's node affinity"})
"""Reasons that no pod which comes or goes changes: what a claim is bound to is of other nodes."""


class OrderOptions(msgspec.Struct, frozen=True):
    """What sort of order is looked for."""

    batch: int = 1
    """The most nodes at once."""
    shape: Shape | None = None
    """Of the nodes that come first."""
    surge: int = 0
    """How many of these come."""
    upgrade: KubeletUpgrade | None = None
    """With which kubelet nodes come back after their step; None: they do not come back."""


class Obstacle(msgspec.Struct, frozen=True):
    """What stands in the way."""

    pod: str
    """``namespace/name`` of a pod that it concerns, the first of several."""
    text: str
    opens: str = ""
    """The smallest change that would open the way; empty where nobody knows one."""
    budgets: tuple[str, ...] = ()
    others: int = 0
    """Further pods that it concerns."""

    def __str__(self) -> str:
        more = f" and {counted(self.others, 'more pod')}" if self.others else ""
        return f"{self.pod}{more}: {self.text}" + (f"; would open: {self.opens}" if self.opens else "")


class Order(msgspec.Struct, frozen=True):
    """Batches of nodes, each of which is drained when all pods of those before run again."""

    batches: tuple[tuple[str, ...], ...]
    """As far as one gets."""
    left: tuple[str, ...] = ()
    """The nodes for which there is no place in the order."""
    proven: bool = False
    """Whether no order has room for all: else it is only that none was found."""
    obstacles: tuple[Obstacle, ...] = ()
    """What stands in the way of the rest."""
    steps: int = 0
    """How many were played."""

    @property
    def complete(self) -> bool:
        """Whether every node has its place."""
        return not self.left

    def sentence(self, lost: Sequence[str] = ()) -> str:
        """The answer in words. lost: the pods that nobody makes anew."""
        if self.complete:
            every = "every pod that is made anew runs" if lost else "every pod runs"
            gone = f" Lost, as no controller makes them anew: {named(lost)}." if lost else ""
            return (
                f"An order in which every budget holds and {every} again: {counted(len(self.batches), 'step')}.{gone}"
            )
        if self.proven:
            return "There is no order in which every budget holds and every pod runs again."
        count = sum(map(len, self.batches))
        return (
            f"No order was found in {self.steps:,} steps, which does not prove that there is none: "
            f"at best {count:,} of {count + len(self.left):,} nodes can be drained."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "complete": self.complete,
            "provenImpossible": self.proven,
            "batches": [list(batch) for batch in self.batches],
            "left": list(self.left),
            "obstacles": [msgspec.to_builtins(each) for each in self.obstacles],
            "steps": self.steps,
        }


class Surge(msgspec.Struct, frozen=True):
    """Nodes that came before the first step."""

    shape: str
    nodes: tuple[str, ...]
    leave: Order | None = None
    """In which order they can go again at the end; None: there is no order of the others."""

    def sentence(self) -> str:
        """What is said of them."""
        one = len(self.nodes) == 1
        text = f"{counted(len(self.nodes), 'node')} {'comes' if one else 'come'} first: {', '.join(self.nodes)}"
        if self.leave is None:
            return text
        if self.leave.complete:
            return f"{text}; at the end {'it' if one else 'they'} can go again, with every budget held"
        found = "can go again" if self.leave.proven else "was found to go again"
        none = "it cannot go again" if one else f"not all of them {found}"
        return f"{text}; at the end {none}: {'; '.join(map(str, self.leave.obstacles))}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        leave = None if self.leave is None else self.leave.to_dict()
        can_go = None if self.leave is None else self.leave.complete
        return {"shape": self.shape, "nodes": list(self.nodes), "canGo": can_go, "leave": leave}


# --- what makes every order impossible --------------------------------------------------------


def obstacles(
    rehearsal: Rehearsal, nodes: Sequence[str], flags: DrainFlags, *, come_back: bool = False
) -> list[Obstacle]:
    """What no order gets around. rehearsal: of the cluster as it is, with the nodes cordoned; it stays as it is.

    come_back: the nodes are not cordoned, as each comes back after its step.
    """
    there = chosen(rehearsal, nodes, flags)
    if faults := _flags_missing(there):
        return faults
    leaving = [pod for node in there for pod in node.leaving]
    by_budget = [] if flags.disable_eviction else list(_closed(rehearsal, leaving))
    remade = [pod for pod in leaving if fate_of(pod) is Fate.REMADE]
    return _joined([*by_budget, *_without_room(rehearsal, remade, come_back=come_back)])


def _flags_missing(nodes: Iterable[Chosen]) -> list[Obstacle]:
    return [Obstacle(pods[0], fault, others=len(pods) - 1) for node in nodes for fault, pods in node.faults.items()]


def _closed(rehearsal: Rehearsal, leaving: Iterable[Pod]) -> Iterator[Obstacle]:
    """Pods whose budgets never allow that they are evicted."""
    budgets = rehearsal.budgets
    for pod in leaving:
        refusal = budgets.refusal(pod)
        if refusal is not None and (len(refusal.budgets) > 1 or not budgets.at_best(refusal.budgets[0])):
            yield _refused(blocked_by(budgets, pod, refusal))


def _without_room(rehearsal: Rehearsal, leaving: Sequence[Pod], *, come_back: bool) -> Iterator[Obstacle]:
    """Pods that fit on no other node even if they alone had to leave, for what no order changes.

    come_back: other nodes than a pod's own take it, as they have not been drained yet or have come back.

    Where pods that leave may preempt others, only what no pod that comes or goes changes is taken for a proof. Nothing
    is said of pods that may have other claims on another node.
    """
    leaving = [
        pod
        for pod in leaving
        if not pod.spec.resource_claims and not any(isinstance(volume, EphemeralVolume) for volume in pod.spec.volumes)
    ]
    alone = _without(rehearsal, leaving)
    scheduler = rehearsal.engine.scheduler(alone.cache)
    if scheduler.has_custom_plugins or not leaving:
        return
    lowest = min((pod.priority for pod in alone.cache.pods()), default=0)
    preempts = max(pod.priority for pod in leaving) > lowest
    alike: dict[object, dict[str, list[Pod]]] = {}
    for pod in leaving:
        fresh = msgspec.structs.replace(pod, node_name="", phase="", nominated_node_name="")
        by_node = alike.setdefault(alone.cache.info(fresh), {})
        by_node.setdefault(pod.node_name if come_back else "", []).append(fresh)
    for by_node in alike.values():
        [first, *_] = next(iter(by_node.values()))
        if come_back and len(scheduler.decide(first, thorough=True).feasible) > 1:
            continue
        for own, pods in by_node.items():
            _cordoned_alone(alone, own, on=True)
            decision = scheduler.decide(pods[0], preempt=True, thorough=True)
            if _never_fits(decision, alone.cordoned, preempts=preempts):
                text = (
                    f"it fits on no {'other node' if own else 'node that stays'}: {' '.join(decision.message.split())}"
                )
                hints = alone.hints(pods).get(pods[0].key, ())
                opens = " or ".join(hint.text_for_all for hint in hints)
                yield from (Obstacle(pod.key, text, opens) for pod in pods)
            _cordoned_alone(alone, own, on=False)


def _cordoned_alone(alone: Rehearsal, node: str, *, on: bool) -> None:
    """A pod's own node takes it back only when it has left; empty: all nodes that leave are cordoned already."""
    if node:
        alone.cordon([node], on=on)
        alone.settle()


def _without(rehearsal: Rehearsal, leaving: Sequence[Pod]) -> Rehearsal:
    """The cluster without these pods and without those that wait, who might take the room."""
    gone = {pod.metadata.uid for pod in leaving}
    kept = [obj for obj in rehearsal.objects() if not (isinstance(obj, Pod) and not obj.node_name)]
    alone = Rehearsal(rehearsal.engine, [obj for obj in kept if obj.metadata.uid not in gone])
    alone.cordon(rehearsal.cordoned)
    alone.settle()
    return alone


def _never_fits(decision: Decision, cordoned: frozenset[str], *, preempts: bool) -> bool:
    if decision.host is not None or gave_up(decision) or not decision.tried:
        return False
    if decision.preemption is not None and decision.preemption.chosen:
        return False
    refused, static = decision.checks(), decision.checks_reading(Reads.NODE)
    for name in decision.names:
        if name not in cordoned:
            checks = refused.get(name, {})
            lasting = not BOUND_ELSEWHERE.isdisjoint(reason for reasons in checks.values() for reason in reasons)
            if not (lasting or (checks.keys() & static if preempts else checks.keys() - ORDER_DEPENDENT)):
                return False
    return True


def _joined(found: Iterable[Obstacle]) -> list[Obstacle]:
    """Those that say the same of several pods are one."""
    out: dict[tuple[str, str], Obstacle] = {}
    for each in found:
        first = out.get((each.text, each.opens))
        out[each.text, each.opens] = each if first is None else msgspec.structs.replace(first, others=first.others + 1)
    return list(out.values())


# --- the search -------------------------------------------------------------------------------


@attrs.define(eq=False)
class _Step:
    """A place in the order: the nodes that are left, what may come next, and the cluster before."""

    left: tuple[str, ...]
    candidates: Iterator[tuple[str, ...]]
    before: list[ClusterObject] | None
    """None: too far back."""
    taken: tuple[str, ...] = ()


class OrderSearch:
    """Searches one order. ``rehearsal`` is the cluster when the order that was found has been played."""

    def __init__(
        self,
        make: Callable[[list[ClusterObject]], Rehearsal],
        rehearsal: Rehearsal,
        nodes: Sequence[str],
        flags: DrainFlags,
        options: OrderOptions,
    ) -> None:
        """make: a rehearsal of a cluster, in which nodes are cordoned unless they come back. rehearsal: the first."""
        self._make = make
        self.rehearsal = rehearsal
        self._nodes, self._flags = tuple(nodes), flags
        self._batch, self._upgrade = options.batch, options.upgrade
        self._steps = self._failed = 0
        self.rebuilt = False
        """Whether a step was taken back, so that the rehearsal does not remember all moves."""
        self._best: tuple[tuple[str, ...], ...] = ()
        self._obstacles: list[Obstacle] = []

    def order(self) -> Order:
        """The order, or what is known of it."""
        impossible = obstacles(self.rehearsal, self._nodes, self._flags, come_back=self._upgrade is not None)
        if impossible:
            return Order((), self._nodes, proven=True, obstacles=tuple(impossible))
        stack = [self._place(self._nodes)]
        while stack:
            step = stack[-1]
            if not step.left:
                return Order(tuple(each.taken for each in stack[:-1]), steps=self._steps)
            if self._ended():
                break
            if not self._taken(step, stack):
                stack.pop()
                if not stack or not self._back_to(stack[-1]):
                    break
        left = tuple(node for node in self._nodes if not any(node in batch for batch in self._best))
        proven = not self._ended() and not stack and len(self._nodes) <= EXHAUSTIVE
        return Order(self._best, left, proven=proven, obstacles=tuple(_joined(self._obstacles)), steps=self._steps)

    def _taken(self, step: _Step, stack: list[_Step]) -> bool:
        """Plays the next candidate that holds, as the next step; False: there is none."""
        for candidate in step.candidates:
            self._steps += 1
            found = play_step(self.rehearsal, candidate, self._flags, self._upgrade)
            if not found:
                step.taken = candidate
                stack.append(self._place(tuple(node for node in step.left if node not in candidate)))
                if len(stack) > FAR_BACK:
                    stack[-1 - FAR_BACK].before = None
                so_far = tuple(each.taken for each in stack[:-1])
                if sum(map(len, so_far)) > sum(map(len, self._best)):
                    self._best, self._obstacles = so_far, []
                return True
            self._failed += 1
            if tuple(each.taken for each in stack[:-1]) == self._best:
                self._obstacles += found if self._obstacles else self._with_hints(found)
            self._back_to(step)
            if self._ended():
                break
        return False

    def _with_hints(self, found: list[Obstacle]) -> list[Obstacle]:
        """With what would make room for the first pod that fits nowhere and all that are alike, as things are."""
        homeless = [(moved.pod.key, moved.now) for moved in self.rehearsal.nowhere() if moved.now is not None]
        if not homeless:
            return found
        first, now = homeless[0]
        hints = self.rehearsal.hints((pod for _, pod in homeless), 1).get(now.key, ())
        opens = " or ".join(hint.text_for_all for hint in hints)
        return [msgspec.structs.replace(each, opens=opens) if each.pod == first else each for each in found]

    def _place(self, left: tuple[str, ...]) -> _Step:
        return _Step(left, self._candidates(left), self.rehearsal.objects())

    def _back_to(self, step: _Step) -> bool:
        """Whether the cluster is again as it was before a step's candidates were played."""
        if step.before is None:
            return False
        self.rehearsal = self._make(step.before)
        self.rebuilt = True
        return True

    def _ended(self) -> bool:
        rebuilt = self._failed * max(1, self.rehearsal.cache.pod_count)
        return self._failed >= MOST_STEPS or (rebuilt >= MOST_REBUILT and self._failed >= FEW_FAILED)

    def _candidates(self, left: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """What may come next: as many nodes as may be at once, the first ones; then fewer; then each alone."""
        if len(self._nodes) <= EXHAUSTIVE:
            for size in range(min(self._batch, len(left)), 0, -1):
                yield from combinations(left, size)
            return
        size = min(self._batch, len(left))
        while size > 1:
            yield left[:size]
            size //= 2
        yield from ((node,) for node in left)


def play_step(
    rehearsal: Rehearsal, batch: Sequence[str], flags: DrainFlags, upgrade: KubeletUpgrade | None
) -> list[Obstacle]:
    """Drains nodes, which come back if they get another kubelet; what stands in the way, with which they do not."""
    if upgrade is not None:
        rehearsal.cordon(batch)
        rehearsal.settle()
    there = chosen(rehearsal, batch, flags)
    found = _flags_missing(there) or _in_the_way(rehearsal, drained(rehearsal, there, flags))
    if upgrade is None or found:
        return found
    rehearsal.come_back(batch, upgrade.upgraded)
    rehearsal.settle()
    return _in_the_way(rehearsal, ())


def _in_the_way(rehearsal: Rehearsal, blocked: Iterable[Blocked]) -> list[Obstacle]:
    against = [Obstacle(each.pod, str(each), budgets=each.budgets) for each in rehearsal.violations]
    homeless = (
        Obstacle(moved.pod.key, f"it fits nowhere then: {' '.join(moved.message.split())}")
        for moved in rehearsal.nowhere()
    )
    return [*against, *homeless, *map(_refused, blocked)]


def _refused(each: Blocked) -> Obstacle:
    return Obstacle(each.pod.key, _blocked_text(each), each.opens, each.refusal.budgets)


STEPS = ("STEP", "NODES", "IN THE WAY")


class Drain(Displaced, frozen=True, eq=False, kw_only=True):
    """What became of the pods of drained nodes, and of those that had to make room for them."""

    nodes: tuple[str, ...]
    """In the order in which they were drained."""
    blocked: tuple[Blocked, ...] = ()
    """The pods that a budget keeps where they are."""
    stays: tuple[Stays, ...]
    """The pods that drain leaves alone."""
    violations: tuple[Violation, ...] = ()
    """What preemption evicted against a budget."""
    order: Order | None = None
    """In which order, if that was asked for."""
    surge: Surge | None = None
    """The nodes that come first."""
    upgrade: KubeletUpgrade | None = None
    """With which kubelet nodes come back."""

    @property
    def asked(self) -> tuple[str, ...]:
        """The nodes, those too for which there is no place in the order."""
        return self.nodes if self.order is None else (*self.nodes, *self.order.left)

    @property
    def fine(self) -> bool:
        """Whether every pod that comes back runs again, but for other schedulers', and no budget blocks."""
        return not (
            self.nowhere or self.undecided or self.blocked or (self.order is not None and not self.order.complete)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "nodes": list(self.nodes),
            "order": None if self.order is None else self.order.to_dict(),
            "surge": None if self.surge is None else self.surge.to_dict(),
            "kubernetesUpgrade": None if self.upgrade is None else self.upgrade.to_dict(),
            "counts": self.counts(),
            "lost": [moved.pod.key for moved in self.lost],
            "blocked": [
                {
                    "pod": each.pod.key,
                    "node": each.pod.node_name,
                    "code": each.refusal.code,
                    "message": str(each.refusal),
                    "budgets": list(each.refusal.budgets),
                    "why": each.why,
                    "opens": each.opens or None,
                }
                for each in self.blocked
            ],
            "stays": [{"pod": each.pod.key, "node": each.pod.node_name, "why": each.why} for each in self.stays],
            "violations": [msgspec.to_builtins(each) for each in self.violations],
            **self.pods_dict(),
        }

    def counts(self) -> dict[str, int]:
        """Pods that left, by what became of them, and those that did not."""
        preempted = sum(moved.left[0] != EVICTED for moved in self.moved)
        return {
            "evicted": len(self.moved) - preempted,
            "preempted": preempted,
            "running": sum(bool(moved.node) for moved in self.moved),
            "nowhere": len(self.nowhere),
            **({"foreign": len(self.foreign)} if self.foreign else {}),
            "lost": len(self.lost),
            "blocked": len(self.blocked),
            "stay": len(self.stays),
        }

    def table(self) -> ShownTable:
        """A row for every pod that left or is blocked; of an order a row for every step."""
        below = "; ".join((*self.quiet(), *self.notes))
        if self.order is not None:
            return ShownTable(self.summary(), STEPS, list(self.steps()), below)
        return ShownTable(self.summary(), HEADER, list(self.rows()), below)

    def summary(self) -> str:
        """How many nodes and pods, in a sentence."""
        said = counts_text({**self.counts(), "stay": 0}) or "no pod leaves"
        text = f"{counted(len(self.nodes), 'node')} drained: {said}"
        if self.order is None:
            return text
        sentence = self.order.sentence([moved.pod.key for moved in self.lost])
        if self.order.complete:
            return f"{sentence} {text}"
        return f"{sentence} As far as one gets: {text}" if self.nodes else sentence

    def quiet(self) -> list[str]:
        """What is said of pods that drain does not move, and of budgets, a sentence each."""
        counts = Counter(stays.why for stays in self.stays)
        texts = [] if self.surge is None else [self.surge.sentence()]
        texts += [f"{counted(count, 'pod')} left alone: {why}" for why, count in counts.items()]
        texts += map(str, self.violations)
        texts += (needs_text(key, health) for key, health in self.below.items())
        texts += self.waited()
        return texts

    def steps(self) -> Iterator[tuple[str, str, str]]:
        """(number, nodes, what stands in the way) of each step of an order, then of the nodes that have no place."""
        if self.order is None:
            return
        for at, batch in enumerate(self.order.batches, 1):
            yield str(at), ", ".join(batch), ""
        for obstacle in self.order.obstacles:
            yield "-", ", ".join(self.order.left), str(obstacle)

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """(pod, node before, pod and node now, why): blocked pods first, then those that fit nowhere, then the rest."""
        for each in self.blocked:
            opens = f"; would open: {each.opens}" if each.opens else ""
            yield each.pod.key, each.pod.node_name, "<blocked>", f"{_blocked_text(each)}{opens}"
        yield from self.moved_rows()


def _blocked_text(each: Blocked) -> str:
    key = each.refusal.budgets[0]
    said = (
        str(each.refusal)
        if each.refusal.code == 500
        else each.refusal.cause.replace(f"The disruption budget {key.partition('/')[2]}", f"budget {key}")
    )
    return f"{said}; {each.why}"
