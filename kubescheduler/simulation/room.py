"""How many more of a pod fit, one after another, and what stops the next one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress

import msgspec

from clusterstate.objects import ObjectMeta, Pod
from kubescheduler.core.decision import Decision, gave_up, undecided
from kubescheduler.core.equal_runs import MOST, PlacedRun, placed_in_order
from kubescheduler.core.results import Shown, ShownTable
from kubescheduler.engine.spec import Change, PodScheduler, place, take_back, undo
from kubescheduler.releases.daemon_controllers import target_node
from kubescheduler.simulation.pod_claims import made_for
from kubescheduler.simulation.pods_to_place import daemon_set_of
from kubescheduler.simulation.workload import renamed

Progress = Callable[[int], None]
"""Told how many have been placed."""
Observe = Callable[[Decision], None]
"""Told of every decision; not of pods that are placed in bulk, which are asked about no extender."""
FIRST_COPIES = 64
"""Copies of a pod that are made before it is known whether more are needed."""


def _unobserved(_: Decision) -> None:
    """Nobody is told."""


class Room(Shown, msgspec.Struct, frozen=True, eq=False):
    """How many more of ``pod`` fit."""

    pod: Pod
    placed: Mapping[str, int]
    """Node → how many of the pods went there."""
    stopped: Decision | None
    """The decision that found no room; None: ``limit`` was reached before, or each node of a DaemonSet has its pod."""
    refused: Mapping[str, Sequence[str]] | None = None
    """Of a DaemonSet: node → why its pod does not fit there, for the nodes where it does not. None: of other pods."""

    @property
    def count(self) -> int:
        """How many pods were placed."""
        return sum(self.placed.values())

    @property
    def limited(self) -> bool:
        """Whether more might fit: no pod was refused."""
        return self.stopped is None and self.refused is None

    @property
    def error(self) -> str | None:
        """What ended an attempt, so that nobody knows how many fit; None: the count is an answer."""
        return self.message if undecided(self.stopped) else None

    @property
    def message(self) -> str:
        """Why the next one does not fit, in the release's words; empty where it is not known."""
        return "" if self.stopped is None else self._of_pod(self.stopped.message)

    def _of_pod(self, text: str) -> str:
        """A text about a copy, by the name of the pod that was asked about."""
        name = "" if self.stopped is None else self.stopped.pod.metadata.name
        return re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", self.pod.metadata.name, text) if name else text

    @property
    def unlooked(self) -> str:
        """Why a node says nothing of the next one."""
        if self.refused is not None:
            return "it has its pod"
        return "not asked after the limit" if self.limited else "not looked at"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the reasons does not see in them; see ``Decision.notes``."""
        return () if self.stopped is None else self.stopped.notes

    def table(self) -> ShownTable:
        """A row a node: how many went there, and why the next one does not."""
        title = f"{self.pod.key}: {self.count}{' or more' if self.limited else ''} fit"
        if self.error is not None:
            title = f"{self.pod.key}: {self.count} fit, then: {self.error}"
        rows = [(name, count, "; ".join(reasons) or self.unlooked) for name, (count, reasons) in self.by_node().items()]
        return ShownTable(title, ("node", "pods", "why no more"), rows, "; ".join(self.notes))

    def by_node(self) -> dict[str, tuple[int, list[str]]]:
        """Node → (how many went there, why the next one does not), by name."""
        if self.refused is not None:
            names = sorted({*self.refused, *self.placed})
            return {name: (self.placed.get(name, 0), list(self.refused.get(name, ()))) for name in names}
        reasons = {} if self.stopped is None else self.stopped.reasons()
        reasons = {node: [self._of_pod(text) for text in texts] for node, texts in reasons.items()}
        listed = [] if self.stopped is None else compress(self.stopped.names, self.stopped.listed)
        return {name: (self.placed.get(name, 0), reasons.get(name, [])) for name in sorted({*listed, *self.placed})}


def room_of(
    pods: Sequence[Pod],
    scheduler: PodScheduler,
    *,
    limit: int | None = None,
    progress: Progress | None = None,
    observe: Observe = _unobserved,
) -> Room:
    """How many more of a pod fit; of the pods of a DaemonSet, which are for a node each, on how many of these."""
    if daemon_set_of(pods[0]) is None:
        return room_for(pods[0], scheduler, limit=limit, progress=progress, observe=observe)
    return _room_on_each(pods, scheduler, observe)


def _room_on_each(pods: Sequence[Pod], scheduler: PodScheduler, observe: Observe) -> Room:
    """Of pods that a controller has placed each is where it is."""
    cache = scheduler.cache
    placed, bound = Counter(pod.node_name for pod in pods if pod.node_name), list[tuple[Pod, Sequence[Change]]]()
    refused: dict[str, list[str]] = {}
    stopped = None
    try:
        for pod in pods:
            if pod.node_name:
                continue
            decision = scheduler.decide(pod, in_sequence=True)
            observe(decision)
            if decision.host is not None:
                bound.append((pod, place(scheduler, pod, decision.host)))
                placed[decision.host] += 1
            else:
                node = target_node(pod)
                stopped = stopped if gave_up(stopped) else decision
                refused[node] = decision.reasons().get(node, [])
    finally:
        for pod, changes in reversed(bound):
            take_back(cache, pod, changes)
    return Room(renamed(pods[0], daemon_set_of(pods[0]) or ""), dict(placed), stopped, refused)


def room_for(
    pod: Pod,
    scheduler: PodScheduler,
    *,
    limit: int | None = None,
    progress: Progress | None = None,
    observe: Observe = _unobserved,
) -> Room:
    """Places copies of a pod until none fits, or ``limit`` are placed; the cluster is as before afterwards."""
    cache = scheduler.cache
    placed: Counter[str] = Counter()
    copies: list[Pod] = []
    claimed: list[Change] = []
    stopped = None

    def one(copy: Pod) -> Decision:
        copy, own = made_for(pod, copy, cache.objects)
        for obj in own:
            cache.add(obj)
            claimed.append((None, obj))
        decision = scheduler.decide(copy, in_sequence=True)
        observe(decision)
        if decision.host is not None:
            claimed.extend(place(scheduler, copy, decision.host))
        return decision

    try:
        for part in _placed_copies(pod, scheduler, limit, one):
            if isinstance(part, PlacedRun):
                copies += part.pods
                placed.update(part.hosts)
            elif part.host is None:
                stopped = part
                break
            else:
                copies.append(part.pod)
                placed[part.host] += 1
            if progress is not None:
                progress(len(copies))
    finally:
        cache.forget_pods(copies[::-1])
        undo(cache, claimed)
    return Room(pod, dict(placed), stopped)


def _placed_copies(
    pod: Pod, scheduler: PodScheduler, limit: int | None, one: Callable[[Pod], Decision]
) -> Iterator[Decision | PlacedRun]:
    """What becomes of copies of a pod, one after another; they are made in batches, each larger than the last."""
    watched = scheduler.algorithm.extenders or scheduler.has_custom_plugins
    copy = partial(_full_copy, pod) if watched else _copier(pod)
    made, batch = 0, FIRST_COPIES
    while limit is None or made < limit:
        count = batch if limit is None else min(batch, limit - made)
        copies = [copy(made + at) for at in range(1, count + 1)]
        yield from placed_in_order(scheduler.place_run, copies, one)
        made, batch = made + count, min(4 * batch, MOST)


def _full_copy(pod: Pod, number: int) -> Pod:
    """A copy as an extender or a custom plugin may look at it."""
    return renamed(pod, f"{pod.metadata.name}-{number}")


def _copier(pod: Pod) -> Callable[[int], Pod]:
    """Makes numbered copies that differ in name and uid, which is all that tells pods apart to in-tree rules."""
    name, namespace, uid, *more = msgspec.structs.astuple(pod.metadata)

    def copy(number: int) -> Pod:
        metadata = ObjectMeta(f"{name}-{number}", namespace, f"{uid}-{number}", *more)
        return msgspec.structs.replace(pod, metadata=metadata)

    return copy
