"""The loop: pods come, are scheduled through the queue, and leave, on a clock that jumps from event to event."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import attrs

from clusterstate.errors import SchedulingError
from clusterstate.objects import Node, Pod
from clusterstate.podinfo import PodInfo
from kubescheduler.core.decision import Decision
from kubescheduler.core.queue import QueuedPod, SchedulingQueue
from kubescheduler.core.queue_fifo import FIFOQueue
from kubescheduler.core.queue_moves import node_update_moves
from kubescheduler.core.scheduler import GenericScheduler
from kubescheduler.simulation.binding import bind
from kubescheduler.simulation.events import ARRIVING, LEAVING, NODES, Events
from kubescheduler.simulation.records import (
    FINISHED,
    LOST,
    PREEMPTED,
    RUNNING,
    WAITING,
    WITHDRAWN,
    PodRecord,
    PreemptionRecord,
)
from kubescheduler.simulation.report import Report
from kubescheduler.simulation.usage import UsageRecorder
from kubescheduler.simulation.workload import ON_BINDING, ON_FINISH, Arrival, NodeArrival, Workload, timestamp

Progress = Callable[[int, int], None]
"""Told (events done, events known)."""

QUEUES: dict[str, type[SchedulingQueue | FIFOQueue]] = {"1.4": FIFOQueue}
"""Release → its queue, where it is not SchedulingQueue."""


class Simulation:
    """One run of a workload over the scheduler's cluster, which it changes; ``run`` is called once.

    Attempts and bindings take no time. At one moment pods leave, then nodes come and go, then pods arrive; then the
    queue's ticks, which count from the start, then every active pod is tried.

    preempt: a pod that fits nowhere takes the place of lower ones, which leave ``grace`` seconds later. They are not
    created anew.
    """

    def __init__(
        self,
        scheduler: GenericScheduler,
        workload: Workload,
        *,
        preempt: bool = False,
        grace: float = 0.0,
        progress: Progress | None = None,
    ) -> None:
        self._scheduler = scheduler
        self._cache = scheduler.cache
        self._preempt = preempt
        self._grace = grace
        self._progress = progress
        self._epoch = workload.epoch
        self._now = 0.0
        self._events = Events()
        queue = QUEUES.get(scheduler.algorithm.release, SchedulingQueue)
        self._queue: SchedulingQueue | FIFOQueue = queue(lambda: self._now, self._cache)
        self._records: dict[str, PodRecord] = {}
        self._preemptions: list[PreemptionRecord] = []
        self._chains = {name: (chain.on, iter(chain.waiting)) for name, chain in workload.chains.items()}
        self._changes = 0
        self._tried: dict[str, int] = {}
        self._known: dict[PodInfo, Decision] = {}
        self._known_at = -1
        for obj in workload.objects:
            self._cache.add(obj)
        self._usage = UsageRecorder(self._cache.columns, self._resources(workload))
        for node in workload.nodes:
            self._events.at(node.at, NODES, partial(self._node_joins, node))
        for arrival in workload.arrivals:
            self._events.at(arrival.at, ARRIVING, partial(self._arrives, arrival))

    def _resources(self, workload: Workload) -> set[str]:
        """What account is kept of on some node."""
        nodes = [*self._cache.columns.nodes, *(arrival.node for arrival in workload.nodes)]
        tracked = self._cache.reading.tracked
        return {name for node in nodes if node is not None for name in node.allocatable if tracked(name)}

    def run(self) -> Report:
        """Everything, until nothing happens any more."""
        self._usage.sample(0.0, 0)
        while (moment := self._next_moment()) is not None:
            self._now = moment
            self._events.run(moment)
            self._queue.flush_due()
            while (queued := self._queue.pop()) is not None:
                self._attempt(queued)
            self._usage.sample(moment, len(self._queue))
            if self._progress is not None:
                self._progress(self._events.done, self._events.noted)
        return Report(
            release=self._scheduler.algorithm.release,
            epoch=self._epoch,
            end=self._now,
            pods=tuple(self._records.values()),
            preemptions=tuple(self._preemptions),
            resources=self._usage.resources,
            samples=tuple(self._usage.samples),
            nodes=tuple(self._usage.nodes()),
        )

    # --- time --------------------------------------------------------------------------------

    def _next_moment(self) -> float | None:
        """The next event, or the next tick of the queue that is of any use.

        Where nothing has changed since every unschedulable pod was last tried, trying again fails again: the time to
        the next event passes at once.
        """
        event, tick = self._events.next, self._queue.next_flush()
        if tick is None or (event is not None and event <= tick):
            return event
        resting = self._queue.resting()
        if resting is None or any(self._tried[pod.key] != self._changes for pod in resting):
            return tick
        if event is not None:
            for key, count in self._queue.rest_until(event).items():
                self._records[key].attempts += count
        return event

    def _changed(self, node_name: str) -> None:
        """Something on a node is other than before."""
        self._changes += 1
        self._usage.touch(node_name)

    # --- one attempt -------------------------------------------------------------------------

    def _attempt(self, queued: QueuedPod) -> None:
        pod, cycle = queued.pod, self._queue.cycle
        record = self._records[pod.key]
        record.attempts += 1
        decision = self._decide(pod)
        if decision.host is None:
            self._failed(record, decision, cycle)
            self._carry_out(record, decision)
            return
        self._cache.assume_pod(pod, decision.host)
        try:
            bind(pod, decision.host, self._scheduler.algorithm.extenders)
        except SchedulingError as error:
            self._cache.forget_pod(pod)
            self._failed(record, decision, cycle, f"Binding rejected: {error}")
            return
        self._placed(record, decision.host)

    def _decide(self, pod: Pod) -> Decision:
        """A decision. That nothing fits holds for every pod of the class until something changes.

        Unless an extender has a say; and a nominated pod does not count itself among the nominated ones.
        """
        if self._known_at != self._changes:
            self._known, self._known_at = {}, self._changes
        alike = not self._scheduler.algorithm.extenders and not pod.nominated_node_name
        info = self._cache.info(pod)
        if alike and info in self._known:
            return attrs.evolve(self._known[info], pod=pod)
        decision = self._scheduler.schedule(pod, preempt=self._preempt)
        if alike and decision.host is None and decision.error is None:
            self._known[info] = decision
        return decision

    def _failed(self, record: PodRecord, decision: Decision, cycle: int, text: str = "") -> None:
        record.fail(decision, text)
        self._queue.add_unschedulable(record.pod, cycle)
        self._tried[record.pod.key] = self._changes

    def _placed(self, record: PodRecord, host: str) -> None:
        started = timestamp(self._epoch, self._now)
        record.pod = attrs.evolve(record.pod.on(host), start_time=started, nominated_node_name="")
        self._cache.add_pod(record.pod)
        self._changed(host)
        record.place(host, self._now)
        self._queue.assigned_pod_changed(record.pod)
        if record.duration is not None:
            self._events.at(self._now + record.duration, LEAVING, partial(self._leaves, record))
        self._follow(record, ON_BINDING)

    # --- preemption --------------------------------------------------------------------------

    def _carry_out(self, record: PodRecord, decision: Decision) -> None:
        """Nominates, makes the victims leave, takes lower nominations back. Upstream: 1.16 preempt."""
        preemption = decision.preemption
        if preemption is None:
            return
        if preemption.chosen:
            node = preemption.chosen[0]
            victims = preemption.candidates[node].pods
            names = tuple(pod.key for pod in victims)
            self._preemptions.append(PreemptionRecord(self._now, record.pod.key, node, names))
            self._queue.nominate(record.pod, node)
            self._set_nomination(record.pod, node)
            for victim in victims:
                self._evict(victim)
        for pod in preemption.cleared:
            self._set_nomination(pod, "")

    def _set_nomination(self, pod: Pod, node: str) -> None:
        record = self._records.get(pod.key)
        if record is not None and record.pod.nominated_node_name != node:
            old, record.pod = record.pod, attrs.evolve(record.pod, nominated_node_name=node)
            self._changes += 1
            self._queue.update(old, record.pod)

    def _evict(self, victim: Pod) -> None:
        if victim.metadata.deletion_timestamp is not None:
            return
        record = self._records.setdefault(victim.key, PodRecord(victim, 0.0, RUNNING, victim.node_name, 0.0))
        now = timestamp(self._epoch, self._now)
        record.pod = attrs.evolve(victim, metadata=attrs.evolve(victim.metadata, deletion_timestamp=now))
        self._cache.update_pod(record.pod)
        self._changed(victim.node_name)
        self._queue.assigned_pod_changed(record.pod)
        self._events.at(self._now + self._grace, LEAVING, partial(self._leaves, record, PREEMPTED))

    # --- coming and going --------------------------------------------------------------------

    def _arrives(self, arrival: Arrival) -> None:
        pod = arrival.pod
        record = PodRecord(pod, self._now, duration=arrival.duration, chain=arrival.chain)
        self._records[pod.key] = record
        self._changes += bool(pod.nominated_node_name)
        self._queue.add(pod)
        if arrival.leaves_at is not None:
            self._events.at(max(arrival.leaves_at, self._now), LEAVING, partial(self._leaves, record))

    def _leaves(self, record: PodRecord, outcome: str = FINISHED) -> None:
        """The pod goes, if it has not gone before."""
        if record.outcome == WAITING:
            self._queue.delete(record.pod)
            self._changes += 1
            record.outcome = WITHDRAWN
        elif record.outcome == RUNNING:
            self._cache.remove_pod(record.pod)
            self._changed(record.node)
            record.outcome = outcome
            self._queue.move_all()
        else:
            return
        record.left = self._now
        self._follow(record, ON_FINISH)

    def _follow(self, record: PodRecord, on: str) -> None:
        """The next pod of the chain comes, if this was what it waited for."""
        due, waiting = self._chains.get(record.chain, (None, iter(())))
        following = next(waiting, None) if due == on else None
        if following is not None:
            self._events.at(max(self._now, following.at), ARRIVING, partial(self._arrives, following))

    def _node_joins(self, arrival: NodeArrival) -> None:
        node = arrival.node
        row = self._cache.columns.row_of.get(node.name)
        old = None if row is None else self._cache.columns.nodes[row]
        self._cache.add_node(node)
        self._changed(node.name)
        if old is None or not self._queue.sizes[2] or node_update_moves(old, node):
            self._queue.move_all()
        if arrival.leaves_at is not None:
            self._events.at(max(arrival.leaves_at, self._now), NODES, partial(self._node_leaves, node))

    def _node_leaves(self, node: Node) -> None:
        """The node goes; then the pods on it are collected."""
        columns = self._cache.columns
        there = list(columns.pods[columns.row_of[node.name]].values())
        self._cache.remove_node(node.name)
        self._changed(node.name)
        for pod in there:
            self._leaves(self._records.get(pod.key) or PodRecord(pod, 0.0, RUNNING, node.name, 0.0), LOST)
