"""ShadowScheduler: decides each pod as it appears, and notices what the real scheduler does with it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

import attrs
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.cluster_objects import KEPT
from clusterstate.objects import Node, Pod
from kubescheduler.cycle.failures import pending_of, rejectors_of
from kubescheduler.engine.spec import PodScheduler
from kubescheduler.live.observers import UnschedulablePod
from kubescheduler.live.stored_objects import Inbox, ObjectChange
from kubescheduler.live.transport.io_thread import WallClock


class RealEnd(StrEnum):
    """How an attempt of the real scheduler ended."""

    BOUND = "bound"
    UNSCHEDULABLE = "unschedulable"
    DELETED = "deleted"


class FirstChoice(msgspec.Struct, frozen=True, eq=False):
    """What this configuration did with a pod when it appeared, with its own earlier choices not yet bound in place."""

    node: str | None
    """None: no node."""
    message: str
    """The release's words where there is no node."""


class Sighting(msgspec.Struct, frozen=True, eq=False):
    """A pod whose attempt by the real scheduler has come to an end."""

    pod: Pod
    """As it was while it waited."""
    end: RealEnd
    node: str | None
    """Where the real scheduler bound it; None: nowhere."""
    appeared: datetime
    """When it was first seen, or seen to wait again."""
    ended: datetime
    """When the end was seen."""
    first: FirstChoice | None
    """None where a pod is tried anew after it was unschedulable: nobody knows when that began."""
    nominated: str = ""
    """The node on which the real scheduler made room for it; empty: nowhere, as far as is known by now."""
    victims: tuple[Pod, ...] = ()
    """The pods below it that began to leave that node while it waited, as they ran before that."""


class Agreement(msgspec.Struct, frozen=True):
    """What is made of an attempt."""

    agrees: bool
    """Whether both schedulers did the same."""
    cause: str
    """Why not, as reports say it; ``same`` where they did the same thing for the same reason."""


DISRUPTION, PREEMPTED = "DisruptionTarget", "PreemptionByScheduler"
"""The condition, and its reason, that 1.36 writes into its victims before it deletes them."""


class Departure(msgspec.Struct, frozen=True):
    """A pod that began to leave."""

    pod: Pod
    """As it ran before that."""
    at: datetime
    gone: bool = False
    """Whether its room is free already."""


class LeavingPods:
    """Remembers who leaves which node, for as long as somebody waits for room."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, Departure]] = {}

    def changed(self, old: Pod | None, new: Pod | None, now: datetime) -> None:
        """A pod came, changed or went. One that ends by itself goes without having been told to."""
        if old is None or not old.node_name:
            return
        there = self._by_node.setdefault(old.node_name, {})
        known = there.get(old.key)
        if new is None and known is not None:
            there[old.key] = msgspec.structs.replace(known, gone=True)
        elif new is not None and known is None and _leaves(new) and not _leaves(old):
            there[old.key] = Departure(old, now)

    def victims(self, node: str, preemptor: Pod, since: datetime) -> tuple[Departure, ...]:
        """Of the pods below ``preemptor`` those that began to leave a node since then, sorted."""
        there = self._by_node.get(node, {}).values()
        victims = (one for one in there if one.at >= since and one.pod.priority < preemptor.priority)
        return tuple(sorted(victims, key=lambda one: one.pod.key))

    def forget(self) -> None:
        """Nobody waits any more."""
        self._by_node.clear()


def _leaves(pod: Pod) -> bool:
    """Whether a pod was told to leave, or is about to be."""
    return pod.metadata.deletion_timestamp is not None or any(
        one.type == DISRUPTION and one.reason == PREEMPTED and one.status == "True" for one in pod.conditions
    )


class FollowedCluster:
    """Brings several caches up to date with what informers report."""

    def __init__(self, caches: Sequence[ClusterCache]) -> None:
        self._caches = caches

    def changed(self, old: Any, new: Any) -> None:
        """An object came (``old`` is None), changed, or went (``new`` is None)."""
        if old is not None and old == new:
            return
        if isinstance(old if new is None else new, Pod):
            self._pod_changed(old, new)
            return
        obj = old if new is None else new
        if isinstance(obj, Node) or type(obj) in KEPT:
            for cache in self._caches:
                (cache.remove if new is None else cache.add)(obj)

    def nominate(self, pod: Pod, node_name: str) -> None:
        """The real scheduler makes room for a pod on a node, which is not there for less important ones; an empty
        name takes that back. Where the pod is assumed elsewhere nothing changes."""
        for cache in self._caches:
            if not cache.is_assumed(pod):
                cache.nominate(pod, node_name)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for cache in self._caches:
            if new is not None and new.node_name:
                cache.nominate(new, "")
                known = new in cache and not cache.is_assumed(new)
                (cache.update_pod if known else cache.add_pod)(new)
            elif old is not None:
                cache.nominate(old, "")
                if old in cache:
                    (cache.forget_pod if cache.is_assumed(old) else cache.remove_pod)(old)


BATCH = 2000
"""Changes that are taken off the inbox at once."""


@attrs.define(eq=False)
class _Waiting:
    """A pod that the real scheduler is to place."""

    pod: Pod
    appeared: datetime
    first: FirstChoice | None
    since: datetime
    """When it was first seen."""
    refused: bool = False
    """Whether the real scheduler has said that it fits nowhere."""
    nominated: str = ""
    """The node on which the real scheduler makes room for it."""
    rejectors: frozenset[str] | None = None
    """The plugins that left no node when it appeared; None: it had one."""


@attrs.define(eq=False)
class ShadowScheduler:
    """One thread calls ``run``; ``begin`` and ``stop`` are for any."""

    _ahead: PodScheduler
    """Decides pods as they appear; its cache also has its own choices until the real ones are known."""
    _followers: Sequence[ClusterCache]
    """Further caches, which have nothing but facts; ``judge`` may decide over them."""
    _inbox: Inbox
    _judge: Callable[[Sighting], Agreement]
    """Asked about every end of an attempt, while all caches are what they were right before it."""
    _clock: WallClock
    _queue_order: Callable[[Iterable[Pod]], list[Pod]]
    """The order in which pods that wait at the start are decided."""
    _told: Callable[[Agreement | None], None] = attrs.field(default=lambda _: None, alias="tell")
    """Told of each agreement; None: a pod was deleted before the real scheduler had said anything of it."""
    _cluster: FollowedCluster = attrs.field(
        init=False, default=attrs.Factory(lambda self: FollowedCluster([self._ahead.cache, *self._followers]), True)
    )
    _waiting: dict[str, _Waiting] = attrs.field(factory=dict, init=False)
    _leaving: LeavingPods = attrs.field(factory=LeavingPods, init=False)
    _early: dict[str, Pod] = attrs.field(factory=dict, init=False)
    has_begun: bool = attrs.field(default=False, init=False)
    """Whether pods are decided as they appear."""
    _begins: threading.Event = attrs.field(factory=threading.Event, init=False)
    _stopped: threading.Event = attrs.field(factory=threading.Event, init=False)
    _rests: bool = attrs.field(default=False, init=False)
    _asked: deque[Callable[[], None]] = attrs.field(factory=deque, init=False)

    @property
    def undecided(self) -> int:
        """Pods of which the real scheduler has said nothing yet, or that fit nowhere."""
        return len(self._waiting)

    def unschedulable(self) -> list[UnschedulablePod]:
        """Pods that had no node by this configuration when they appeared, and still wait; for any thread."""
        return [
            UnschedulablePod(one.pod, one.rejectors, one.since.timestamp())
            for one in list(self._waiting.values())
            if one.rejectors is not None
        ]

    @property
    def is_stopping(self) -> bool:
        """Whether ``run`` is to end."""
        return self._stopped.is_set()

    def begin(self) -> None:
        """Everything that was there before has arrived: from now on pods are decided."""
        self._begins.set()
        self._inbox.wake()

    def ask(self, work: Callable[[], None]) -> None:
        """Has some work done between two changes, with nobody else looking at the caches; for any thread."""
        self._asked.append(work)
        self._inbox.wake()

    @property
    def cache(self) -> ClusterCache:
        """The cluster, with its own choices until the real ones are known."""
        return self._ahead.cache

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be taken in or decided."""
        return self._rests and not len(self._inbox)

    def stop(self) -> None:
        """Lets ``run`` end soon."""
        self._stopped.set()
        self._inbox.wake()

    def run(self) -> None:
        """Follows the cluster until ``stop``. Raises what a plugin raises."""
        while not self._stopped.is_set():
            begins = self._begins.is_set()
            self.take_in(self._inbox.take(BATCH))
            if begins and not self.has_begun and not len(self._inbox):
                self.decide_early()
            while self._asked:
                self._asked.popleft()()
            if not len(self._inbox):
                self._rests = True
                self._inbox.wait(1.0)
                self._rests = False

    def take_in(self, changes: Iterable[ObjectChange]) -> None:
        """Decides, compares and brings the caches up to date, change by change."""
        for change in changes:
            old, new = change.old, change.new
            if change.kind != "Pod":
                self._cluster.changed(old, new)
            elif old is not None and new is not None and old.metadata.uid != new.metadata.uid:
                self._pod_changed(old, None)
                self._pod_changed(None, new)
            else:
                self._pod_changed(old, new)

    def decide_early(self) -> None:
        """Decides the pods that waited when everything had been read, in the order of the queue."""
        self.has_begun = True
        early, self._early = self._early, {}
        for pod in early.values():
            self._cluster.nominate(pod, pod.nominated_node_name)
        for pod in self._queue_order(early.values()):
            self._appears(pod)

    # --- pods ------------------------------------------------------------------------------------

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """What is compared is compared before the caches know of the end."""
        pod = old if new is None else new
        assert pod is not None
        if self._waiting:
            self._leaving.changed(old, new, self._clock.now())
        if new is None or new.node_name:
            self._early.pop(pod.metadata.uid, None)
            self._ends(pod, new)
            self._cluster.changed(old, new)
        elif not self.has_begun:
            self._early[pod.metadata.uid] = new
        else:
            self._waits(new)

    def _ends(self, pod: Pod, new: Pod | None) -> None:
        waiting = self._waiting.pop(pod.metadata.uid, None)
        if waiting is None:
            return
        end = RealEnd.DELETED if new is None else RealEnd.BOUND
        self._tell(waiting, end, None if new is None else new.node_name)
        cache = self._ahead.cache
        if cache.is_assumed(waiting.pod):
            cache.forget_pod(waiting.pod)
        if not self._waiting:
            self._leaving.forget()

    def _waits(self, pod: Pod) -> None:
        waiting = self._waiting.get(pod.metadata.uid)
        if waiting is None:
            self._appears(pod)
        else:
            before, waiting.pod = waiting.pod.nominated_node_name, pod
            waiting.nominated = pod.nominated_node_name or waiting.nominated
            self._may_be_refused(waiting, before)
            if before or pod.nominated_node_name:
                self._cluster.nominate(pod, pod.nominated_node_name)

    def _appears(self, pod: Pod) -> None:
        """A pod that this scheduler would try now; others are waited for."""
        if pod.metadata.deletion_timestamp is not None:
            return
        decision = self._ahead.decide(pod)
        if not decision.tried:
            self._cluster.nominate(pod, "")
            return
        if decision.host is not None:
            self._ahead.cache.assume_pod(pod, decision.host)
        choice = FirstChoice(decision.host, decision.message)
        now = self._clock.now()
        rejectors = None if decision.host is not None else rejectors_of(decision) | pending_of(decision)
        waiting = self._waiting[pod.metadata.uid] = _Waiting(
            pod, now, choice, now, nominated=pod.nominated_node_name, rejectors=rejectors
        )
        self._may_be_refused(waiting, "")
        self._cluster.nominate(pod, pod.nominated_node_name)

    def _may_be_refused(self, waiting: _Waiting, nominated: str) -> None:
        """The real scheduler says once, in the pod's status, that it fits nowhere; later attempts are not seen.

        nominated: the pod's node before that, as it may say at the same time where it makes room.
        """
        if waiting.refused or not any(
            one.type == "PodScheduled" and one.status == "False" and one.reason == "Unschedulable"
            for one in waiting.pod.conditions
        ):
            return
        as_tried = msgspec.structs.replace(waiting.pod, nominated_node_name=nominated)
        self._tell(attrs.evolve(waiting, pod=as_tried), RealEnd.UNSCHEDULABLE, None)
        waiting.refused, waiting.first, waiting.appeared = True, None, self._clock.now()
        if self._ahead.cache.is_assumed(waiting.pod):
            self._ahead.cache.forget_pod(waiting.pod)

    def _tell(self, waiting: _Waiting, end: RealEnd, node: str | None) -> None:
        """A refusal may be seen after the victims that it names are gone: it is judged as if they still ran."""
        victims = self._leaving.victims(waiting.nominated, waiting.pod, waiting.since) if waiting.nominated else ()
        back = [one.pod for one in victims if one.gone] if end is RealEnd.UNSCHEDULABLE else []
        sighting = Sighting(
            waiting.pod,
            end,
            node,
            appeared=waiting.appeared,
            ended=self._clock.now(),
            first=waiting.first,
            nominated=waiting.nominated,
            victims=tuple(one.pod for one in victims),
        )
        for pod in back:
            self._cluster.changed(None, pod)
        agreement = self._judge(sighting)
        for pod in back:
            self._cluster.changed(pod, None)
        self._told(None if end is RealEnd.DELETED else agreement)
