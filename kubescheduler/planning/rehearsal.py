"""A cluster in which it is played what happens when nodes take no more pods, go, and pods have to leave theirs; and
what is said of such pods: where they are now, or why they are nowhere.

The scheduler's own queue and cycle place what comes back, on a virtual clock (``kubescheduler.simulation``), preemption
included; what that evicts comes back as well. A pod that leaves ends at once, and one that has a node runs at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import attrs
import msgspec

from clusterstate.cache import TERMINATED
from clusterstate.cluster_objects import KEPT
from clusterstate.objects import ClusterObject, Node, NodeCondition, Pod, PodCondition, Taint
from kubescheduler.comparison.tracks import left_out_notes
from kubescheduler.core.decision import Decision
from kubescheduler.core.results import Shown, counted
from kubescheduler.core.selection import TieBreak
from kubescheduler.engine.spec import Engine, cache_for
from kubescheduler.hinting.hint_search import HintSearch
from kubescheduler.hinting.proposals import CONFIGURATION, Hint
from kubescheduler.planning.departures import Budgets, Fate, Health, fate_of, is_counted, named, successor
from kubescheduler.releases.lookup import release_named
from kubescheduler.simulation.pod_claims import given_back, made_for
from kubescheduler.simulation.simulation import Simulation
from kubescheduler.simulation.simulation_report import PodRecord
from kubescheduler.simulation.timeline import Listen
from kubescheduler.simulation.workload import Arrival, NodeArrival, Workload, moment_of

READY = "Ready"
UNREACHABLE = tuple(Taint("node.kubernetes.io/unreachable", "", effect) for effect in ("NoSchedule", "NoExecute"))
"""The taints of a node that no longer answers."""

EVICTED, LOST_NODE = "evicted", "lost with its node"
"""Why a pod left its node, besides "preempted by namespace/name"."""


@attrs.define(eq=False)
class Moved:
    """A pod that had to leave its node, and what became of it."""

    pod: Pod
    """As it was before."""
    fate: Fate
    left: list[str]
    """Why it left, in order: a pod may have to leave again where it went."""
    now: Pod | None
    """The pod that there is now in its place; None: there is none."""
    record: PodRecord | None = None
    """What became of that."""

    @property
    def node(self) -> str:
        """Where it is now; empty: nowhere."""
        return "" if self.record is None or self.now is None else self.record.node

    @property
    def nowhere(self) -> bool:
        """Whether it was made anew, and no node takes it."""
        return self.now is not None and not self.node and not self.foreign

    @property
    def foreign(self) -> bool:
        """Whether it was made anew and is another scheduler's, so that nobody says where it goes."""
        return self.now is not None and self.record is not None and self.record.foreign

    @property
    def message(self) -> str:
        """Why it is nowhere or not tried, in the release's words; empty for any other."""
        return self.record.message if self.record is not None and (self.nowhere or self.foreign) else ""

    @property
    def decision(self) -> Decision | None:
        """The evidence: the last attempt's decision on a pod that is nowhere; None where it was not tried."""
        return self.record.decision if self.record is not None and self.nowhere else None


class Violation(msgspec.Struct, frozen=True):
    """A pod that preemption evicted although its budget allowed no disruption."""

    pod: str
    by: str
    budgets: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.by} preempts {self.pod} against {' and '.join(f'budget {key}' for key in self.budgets)}"


class Rehearsal:
    """One cluster under one scheduler. What is asked for happens in ``settle``, until nothing does any more."""

    def __init__(
        self,
        engine: Engine,
        objects: Iterable[ClusterObject],
        tie_break: TieBreak | None = None,
        *,
        listen: Listen | None = None,
    ) -> None:
        """The pods that wait in the cluster take part from the start. listen: told of everything that happens."""
        every = list(objects)
        self.engine = engine
        self.cache = cache_for(engine, every)
        queue = release_named(engine.release).queue_order(every)
        self.waiting = [msgspec.structs.replace(pod, phase="") for pod in queue]
        self.moved: list[Moved] = []
        pods = [obj for obj in every if isinstance(obj, Pod)]
        self._pods = {pod.key: pod for pod in (*pods, *self.waiting)}
        self._finished = [pod for pod in pods if pod.phase in TERMINATED]
        self._followed: dict[str, Moved] = {}
        self._homeless = dict.fromkeys(pod.key for pod in self.waiting)
        self._seen = 0
        self.violations: list[Violation] = []
        """What preemption evicted against a budget."""
        self.cordoned: frozenset[str] = frozenset()
        """The nodes that were asked to take no more pods."""
        self.budgets = Budgets(self.cache.objects, self._pods.values())
        arrivals = tuple(Arrival(pod) for pod in self.waiting)
        scheduler = engine.scheduler(self.cache, tie_break)
        workload = Workload(arrivals, epoch=_latest(pods))
        self._run = Simulation(scheduler, workload, preempt=True, listen=listen, gives_back=False)
        self._count_budgets()

    # --- what there is -----------------------------------------------------------------------

    def node(self, name: str) -> Node | None:
        """The node as it is now; None: there is none."""
        return self.cache.node(name)

    def pods_on(self, name: str) -> list[Pod]:
        """The pods on a node that have not finished, by namespace and name."""
        row = self.cache.columns.row_of.get(name)
        return [] if row is None else sorted(self.cache.columns.pods[row].values(), key=lambda pod: pod.key)

    def pod(self, key: str) -> Pod | None:
        """The pod of that ``namespace/name`` as it is now, running or waiting; None: there is none."""
        return self._pods.get(key)

    def finished_on(self, name: str) -> list[Pod]:
        """The pods on a node that have finished."""
        return [pod for pod in self._finished if pod.node_name == name]

    def objects(self) -> list[ClusterObject]:
        """The cluster as it is now."""
        nodes = (node for node in self.cache.columns.nodes if node is not None)
        others = (obj for table, _ in KEPT.values() for obj in getattr(self.cache.objects, table).values())
        return [*others, *nodes, *self._pods.values()]

    def nowhere(self) -> list[Moved]:
        """The pods that had to leave and have no node now, but for those of other schedulers."""
        there = (self._followed.get(key) for key in self._homeless)
        return [moved for moved in there if moved is not None and not moved.foreign]

    def left_out(self) -> list[str]:
        """What is to be said of the pods that waited from the start and are other schedulers'."""
        records = ((pod.key, self.record(pod)) for pod in self.waiting)
        return left_out_notes((key, record.message) for key, record in records if record is not None and record.foreign)

    def record(self, pod: Pod) -> PodRecord | None:
        """What became of a pod that came, also of one that waited from the start."""
        return self._run.record(pod.key)

    # --- what happens ------------------------------------------------------------------------

    def cordon(self, names: Collection[str], *, on: bool = True) -> None:
        """Nodes take no more pods; on=False: they do again."""
        there = [node for name in names if (node := self.node(name)) is not None]
        self.cordoned = (self.cordoned | {node.name for node in there}) if on else (self.cordoned - {*names})
        nodes = [node for node in there if node.unschedulable != on]
        self._run.expect(nodes=[NodeArrival(_cordoned(node, on), self._run.now) for node in nodes])

    def come_back(self, names: Collection[str], changed: Callable[[Node], Node]) -> None:
        """Nodes that were cordoned take pods again, as ``changed`` makes them."""
        there = [node for name in names if (node := self.node(name)) is not None]
        self.cordoned -= {*names}
        self._run.expect(nodes=[NodeArrival(changed(_cordoned(node, False)), self._run.now) for node in there])

    def disconnect(self, names: Collection[str], *, uncordon: Collection[str] = ()) -> None:
        """Nodes no longer answer: their objects are tainted, and their pods are no longer ready. Who is evicted, and
        when, is the caller's. uncordon: those that were cordoned until now for the rehearsal's sake. Upstream: node
        lifecycle controller."""
        there = [node for name in names if (node := self.node(name)) is not None]
        self.cordoned |= {node.name for node in there}
        gone = [_cordoned(node, False) if node.name in uncordon else node for node in there]
        self._run.expect(nodes=[NodeArrival(_disconnected(node), self._run.now) for node in gone])
        for pod in (pod for node in there for pod in self.pods_on(node.name)):
            others = tuple(each for each in pod.conditions if each.type != READY)
            self.budgets.came(msgspec.structs.replace(pod, conditions=(*others, PodCondition(READY, "False"))))

    def evict(self, pods: Iterable[Pod], why: str = EVICTED) -> None:
        """Pods end, and what their controllers make in their place comes. Pods of DaemonSets come back as well."""
        leaving = []
        for pod in pods:
            if pod.phase in TERMINATED:
                self._pods.pop(pod.key, None)
                self._finished.remove(pod)
                self.budgets.went(pod)
            else:
                leaving.append(pod)
        self._run.expect_end(self._run.now, leaving)
        for pod in leaving:
            self._follow(pod, why, comes_back=fate_of(pod) in (Fate.REMADE, Fate.DAEMON))

    def remove(
        self, names: Iterable[str], why: str = LOST_NODE, *, after: Callable[[Pod], float] = lambda _: 0.0
    ) -> None:
        """Nodes go at once, with all pods on them; what is made in their place comes ``after`` so many seconds.

        A pod that comes later than others finds what they left free; those of one moment come by namespace and name,
        as controllers make theirs together. Pods of DaemonSets and static ones do not come.
        """
        nodes = [node for name in names if (node := self.node(name)) is not None]
        leaving = sorted((pod for node in nodes for pod in self.pods_on(node.name)), key=lambda pod: pod.key)
        self._run.expect_end(self._run.now, nodes=nodes)
        for pod in leaving:
            self._follow(pod, why, comes_back=fate_of(pod) is Fate.REMADE, after=after(pod))

    def drop(self, name: str) -> None:
        """A node goes at once, and with it what is left on it, which nobody makes anew."""
        node = self.node(name)
        assert node is not None
        self.evict(self.finished_on(name))
        self._run.expect_end(self._run.now, nodes=[node])
        for pod in self.pods_on(name):
            self._follow(pod, LOST_NODE, comes_back=False)

    def begin_anew(self) -> None:
        """From here on moves are told, as if the cluster had been so from the start."""
        self.moved, self._followed = [], {}

    def settle(self) -> None:
        """Everything happens, and every pod that came is tried, until nothing changes any more.

        What preemption evicts comes back, and the budgets are counted anew.
        """
        self._run.advance()
        while len(self._run.preemptions) > self._seen:
            self._look_after_all()
            victims: dict[str, str] = {}
            for found in self._run.preemptions[self._seen :]:
                self._seen += 1
                for key in found.victims:
                    victims.setdefault(key, found.pod)  # others may need its room as well, before it is gone
            for key, by in victims.items():
                self._preempted(key, by)
            self._run.advance()
        self._look_after_all()
        self._count_budgets()

    def _look_after_all(self) -> None:
        """Pods without a node may have one now."""
        for key in list(self._homeless):
            record = self._run.record(key)
            if (moved := self._followed.get(key)) is not None:
                moved.record = record
            if record is not None and record.node:
                del self._homeless[key]
                self._pods[key] = record.pod
                self.budgets.came(record.pod)

    def _count_budgets(self) -> None:
        """The scheduler sees what budgets allow, as the disruption controller writes it."""
        for budget in self.budgets.statuses():
            if (old := self.cache.objects.current(budget)) != budget:
                self._run.report_change(old, budget)

    def _preempted(self, key: str, by: str) -> None:
        pod = self._pods[key]
        closed = [each for each in self.budgets.over(pod) if not self.budgets.health(each).allowed]
        if closed and is_counted(pod):
            self.violations.append(Violation(key, by, tuple(closed)))
        self._follow(pod, f"preempted by {by}", comes_back=fate_of(pod) in (Fate.REMADE, Fate.DAEMON))

    def _follow(self, pod: Pod, why: str, *, comes_back: bool, after: float = 0.0) -> None:
        """Notes that a pod leaves, and has the next one come if there is one."""
        moved = self._followed.pop(pod.key, None)
        if moved is None:
            moved = Moved(pod, fate_of(pod), [], None)
            self.moved.append(moved)
        moved.left.append(why)
        moved.now = None
        made: list[ClusterObject] = []
        if comes_back:
            moved.now, made = made_for(pod, successor(pod, self._pods), self.cache.objects)
        for before, now in list(given_back(pod, self.cache.objects)):
            self._run.report_change(before, now)
        for claim in made:
            self._run.report_change(None, claim)
        self._pods.pop(pod.key, None)
        self._homeless.pop(pod.key, None)
        self.budgets.went(pod)
        if moved.now is not None:
            self._pods[moved.now.key] = moved.now
            self._homeless[moved.now.key] = None
            self._followed[moved.now.key] = moved
            self.budgets.came(moved.now)
            self._run.expect([Arrival(moved.now, self._run.now + after)])

    # --- hints -------------------------------------------------------------------------------

    def hints(self, pods: Iterable[Pod], most: int = 20) -> dict[str, tuple[Hint, ...]]:
        """``namespace/name`` → the smallest change that would make the pod fit as things are now, and one more node if
        that would as well; of those that have some. No hint leads to a node that was cordoned here, and none changes
        the scheduler: a pod that it let away from its volume would not start there.

        most: so many kinds of pods are asked about; pods that no rule can tell apart are of one kind.
        """
        alike: dict[object, list[Pod]] = {}
        for pod in pods:
            alike.setdefault(self.cache.info(pod), []).append(pod)
        search = HintSearch(self.engine, cache_for(self.engine, self.objects())) if alike else None
        out: dict[str, tuple[Hint, ...]] = {}
        for kind in islice(alike.values(), most):
            assert search is not None
            found = self._leading_elsewhere(search, kind, pairs=False) or self._leading_elsewhere(
                search, kind, pairs=True
            )
            more = [hint for hint in found[1:] if hint.changes[0].added is not None]
            out |= {pod.key: (*found[:1], *more[:1]) for pod in kind if found}
        return out

    def _leading_elsewhere(self, search: HintSearch, kind: list[Pod], *, pairs: bool) -> list[Hint]:
        hints = search.hints(kind[0], others=kind[1:], pairs=pairs)
        there = (hint for hint in hints if hint.host not in self.cordoned)
        return [hint for hint in there if all(change.target != CONFIGURATION for change in hint.changes)]


def after_waiting(rehearsal: Rehearsal, tie_break: TieBreak | None) -> tuple[Rehearsal, list[str]]:
    """(a rehearsal in which the pods that wait have had their turn, what is to be said of that). rehearsal: of the
    cluster as it was. Whom such a pod preempts waits then, and is none of those that leave for another reason."""
    rehearsal.settle()
    gone = [moved.pod.key for moved in rehearsal.moved]
    if not gone:
        return rehearsal, []
    after = Rehearsal(rehearsal.engine, rehearsal.objects(), tie_break)
    after.settle()
    return after, [f"pods that wait take the place of others as things are, which is not counted: of {named(gone)}"]


def _cordoned(node: Node, on: bool) -> Node:
    manifest = node.manifest
    if manifest is not None:
        manifest = {**manifest, "spec": {**(manifest.get("spec") or {}), "unschedulable": on}}
    return msgspec.structs.replace(node, unschedulable=on, manifest=manifest)


def _disconnected(node: Node) -> Node:
    conditions = tuple(each for each in node.conditions if each.type != READY)
    manifest = node.manifest
    if manifest is not None:
        spec, status = dict(manifest.get("spec") or {}), dict(manifest.get("status") or {})
        taints = [{"key": taint.key, "effect": taint.effect} for taint in UNREACHABLE]
        spec["taints"] = [*(spec.get("taints") or ()), *taints]
        said = [each for each in status.get("conditions") or () if each.get("type") != READY]
        status["conditions"] = [*said, {"type": READY, "status": "Unknown"}]
        manifest = {**manifest, "spec": spec, "status": status}
    return msgspec.structs.replace(
        node,
        taints=(*node.taints, *UNREACHABLE),
        conditions=(*conditions, NodeCondition(READY, "Unknown")),
        manifest=manifest,
    )


def _latest(pods: Iterable[Pod]) -> float:
    """The latest moment that pods have, in seconds since 1970, for what comes after; 0 where none has one."""
    texts = {text for pod in pods for text in (pod.start_time, pod.metadata.creation_timestamp) if text}
    found = 0.0
    for text in texts:
        try:
            found = max(found, moment_of(text))
        except ValueError:
            continue
    return found


HEADER = ("POD", "FROM", "TO", "WHY")
VERBS = {
    "evicted": ("evicted", "evicted"),
    "preempted": ("preempted", "preempted"),
    "running": ("runs again", "run again"),
    "nowhere": ("fits nowhere", "fit nowhere"),
    "foreign": ("is not tried", "are not tried"),
    "lost": ("lost", "lost"),
    "blocked": ("blocked", "blocked"),
    "stay": ("stays with its node", "stay with their nodes"),
}
"""What became of pods → what is said of one, of several."""


class Displaced(Shown, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What became of pods that had to leave their nodes, and of those that had to make room for them."""

    moved: tuple[Moved, ...]
    """The pods that left a node, in order."""
    waiting: tuple[tuple[Pod, str], ...] = ()
    """The pods that waited before, each with its node now; empty: it waits still."""
    below: Mapping[str, Health] = msgspec.field(default_factory=dict)
    """``namespace/name`` of a budget → what it counts, of those with fewer healthy pods than they need at the end."""
    hints: Mapping[str, tuple[Hint, ...]] = msgspec.field(default_factory=dict)
    """``namespace/name`` of a pod that fits nowhere → the smallest change, and one more node, that would do."""
    notes: tuple[str, ...] = ()
    """What a reader has to know of the numbers."""

    @property
    def nowhere(self) -> list[Moved]:
        """The pods that were made anew and fit nowhere."""
        return [moved for moved in self.moved if moved.nowhere]

    @property
    def foreign(self) -> list[Moved]:
        """The pods that were made anew and are other schedulers'."""
        return [moved for moved in self.moved if moved.foreign]

    @property
    def undecided(self) -> list[Moved]:
        """The pods that keep the question from being answered: errors ended their attempts, or all that come back are
        other schedulers'."""
        back = [moved for moved in self.moved if moved.now is not None]
        if all(moved.foreign for moved in back):
            return back
        return [moved for moved in self.nowhere if moved.record is not None and moved.record.gave_up]

    @property
    def lost(self) -> list[Moved]:
        """The pods that nobody makes anew."""
        return [moved for moved in self.moved if moved.now is None and moved.fate is Fate.BARE]

    def evidence(self, pod: str) -> Decision | None:
        """The last decision on a pod that fits nowhere, by its ``namespace/name`` now or before."""
        for moved in self.moved:
            if moved.pod.key == pod or (moved.now is not None and moved.now.key == pod):
                return moved.decision
        return None

    def pods_dict(self) -> dict[str, Any]:
        """Plain data on the pods and budgets, for JSON."""
        return {
            "pods": [moved_dict(moved, self.hints) for moved in self.moved],
            "waiting": [{"pod": pod.key, "node": node or None} for pod, node in self.waiting],
            "belowBudget": budgets_dict(self.below),
            "notes": list(self.notes),
        }

    def waited(self) -> Iterator[str]:
        """A sentence on the pods that waited before, if there are any."""
        if self.waiting:
            placed = sum(bool(node) for _, node in self.waiting)
            yield f"{counted(len(self.waiting), 'pod')} waited before: {placed:,} got a node"

    def moved_rows(self) -> Iterator[tuple[str, str, str, str]]:
        """(pod, node before, pod and node now, why): those that fit nowhere, are not tried, are gone, the rest."""
        for moved in sorted(
            self.moved, key=lambda moved: (not moved.nowhere, not moved.foreign, moved.now is not None)
        ):
            yield moved.pod.key, moved.pod.node_name, moved_place(moved), moved_text(moved, self.hints)


def played(rehearsal: Rehearsal, moved: Iterable[Moved], *, hints: bool = True) -> dict[str, Any]:
    """The fields of ``Displaced`` but for the notes, as they are when everything has happened. moved: who is shown."""
    nowhere = [one.now for one in rehearsal.nowhere() if one.now is not None]
    again = {one.pod.key: one.node for one in rehearsal.moved}
    records = ((pod, rehearsal.record(pod)) for pod in rehearsal.waiting)
    waiting = [(pod, again.get(pod.key, record.node)) for pod, record in records if record is not None]
    return {
        "moved": tuple(moved),
        "waiting": tuple(waiting),
        "below": rehearsal.budgets.below(),
        "hints": rehearsal.hints(nowhere) if hints else {},
    }


def not_tried_notes(moved: Iterable[Moved]) -> list[str]:
    """What is to be said of the pods of other schedulers."""
    return left_out_notes((each.pod.key, each.message) for each in moved if each.foreign)


def moved_dict(moved: Moved, hints: Mapping[str, tuple[Hint, ...]]) -> dict[str, Any]:
    """Plain data on one pod that had to leave its node."""
    now = moved.now
    return {
        "pod": moved.pod.key,
        "from": moved.pod.node_name,
        "left": list(moved.left),
        "becomes": moved.fate.value,
        "now": None if now is None else now.key,
        "node": moved.node or None,
        "message": moved.message or None,
        "reasons": {} if moved.decision is None else moved.decision.reasons(),
        "hints": [hint.to_dict() for hint in (hints.get(now.key, ()) if now is not None else ())],
    }


def moved_place(moved: Moved) -> str:
    """The node, or what there is instead."""
    if moved.now is None:
        return "<lost>" if moved.fate is Fate.BARE else "<gone>"
    return "<not tried>" if moved.foreign else moved.node or "<nowhere>"


def moved_text(moved: Moved, hints: Mapping[str, tuple[Hint, ...]]) -> str:
    """Why it left, if it was not simply evicted; what came in its place, if it has another name; why it is nowhere."""
    parts = [why for why in moved.left if why not in (EVICTED, LOST_NODE)]
    if (times := moved.left.count(EVICTED)) > 1:
        parts.insert(0, f"evicted {times} times")
    if moved.now is None and moved.fate is Fate.BARE:
        parts.append("no controller makes it anew")
    if moved.now is not None and moved.now.key != moved.pod.key:
        parts.append(f"as {moved.now.metadata.name}")
    if moved.nowhere or moved.foreign:
        parts.append(" ".join(moved.message.split()))
        found = hints.get(moved.now.key, ()) if moved.now is not None else ()
        parts += [f"hint: {hint.text_for_all}" for hint in found]
    return "; ".join(parts)


def counts_text(counts: Mapping[str, int]) -> str:
    """``2 evicted, 1 runs again``; what there is none of is left out."""
    return ", ".join(f"{counts[name]:,} {VERBS[name][counts[name] > 1]}" for name in VERBS if counts.get(name))


def needs_text(key: str, health: Health) -> str:
    """What a budget needs, and what it has."""
    return f"budget {key}: it needs {counted(health.desired, 'healthy pod')} and has {health.healthy:,}"


def budgets_dict(found: Mapping[str, Health]) -> dict[str, Any]:
    """Plain data, for JSON."""
    return {key: {"healthy": health.healthy, "desired": health.desired} for key, health in found.items()}
