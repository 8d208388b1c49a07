"""The loop: pods come, are scheduled through the queue, and leave, on a clock that jumps from event to event."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs

from clusterstate.objects import Node, Pod
from clusterstate.podinfo import PodInfo
from kubescheduler.core.decision import Decision
from kubescheduler.engine.engines import Scheduler, queue_of
from kubescheduler.engine.releases import release_named
from kubescheduler.framework.cycle.failures import pending_of, rejectors_of
from kubescheduler.queue.entry import Rejection
from kubescheduler.simulation.binding import rejected_binding
from kubescheduler.simulation.pod_records import (
    FINISHED,
    LOST,
    PREEMPTED,
    RUNNING,
    WAITING,
    WITHDRAWN,
    PodRecord,
    PreemptionRecord,
)
from kubescheduler.simulation.simulation_report import Report
from kubescheduler.simulation.timeline import ARRIVING, LEAVING, NODES, Events
from kubescheduler.simulation.utilisation import UsageRecorder
from kubescheduler.simulation.workload import ON_BINDING, ON_FINISH, Arrival, NodeArrival, Workload, timestamp

Progress = Callable[[int, int], None]
"""Told (events done, events known)."""


class Simulation:
    """One run of a workload over the scheduler's cluster, which it changes; ``run`` is called once.

    Attempts and bindings take no time, and plugins from Reserve on do not run. At one moment pods leave, then nodes
    come and go, then pods arrive; then the queue's ticks, which count from the start, then every active pod is tried.

    preempt: a pod that fits nowhere takes the place of lower ones, which leave ``grace`` seconds later. They are not
    created anew. observe: told of every attempt's decision.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        workload: Workload,
        *,
        preempt: bool = False,
        grace: float = 0.0,
        progress: Progress | None = None,
        observe: Callable[[Decision], None] | None = None,
    ) -> None:
        self._scheduler = scheduler
        self._observe = observe
        self._cache = scheduler.cache
        self._preempt = preempt
        self._grace = grace
        self._progress = progress
        self._epoch = workload.epoch
        self._now = 0.0
        self._events = Events()
        framework = release_named(scheduler.algorithm.release).framework
        self._gives_back = framework is not None and framework.cycle.stirs
        self._queue = queue_of(scheduler, lambda: self._now)
        self._ignored: set[str] = set()
        self._own_rules = scheduler.has_custom_plugins or bool(scheduler.algorithm.extenders)
        self._records: dict[str, PodRecord] = {}
        self._preemptions: list[PreemptionRecord] = []
        self._chains = {name: (chain.on, iter(chain.waiting)) for name, chain in workload.chains.items()}
        self._changes = 0
        self._tried: dict[str, int] = {}
        self._known: dict[PodInfo, Decision] = {}
        self._rejections: dict[Decision, Rejection] = {}
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
        tracked = self._cache.view.tracked
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
            self._usage.sample(moment, len(self._queue) + len(self._ignored))
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

    def _attempt(self, queued: Any) -> None:
        pod: Pod = queued.pod
        record = self._records[pod.key]
        record.attempts += 1
        decision = self._decide(pod)
        if self._observe is not None:
            self._observe(attrs.evolve(decision, pod=pod))
        if decision.host is None:
            self._failed(record, queued, decision)
            self._carry_out(record, decision)
            return
        self._cache.assume_pod(pod, decision.host)
        text = rejected_binding(pod, decision.host, self._scheduler)
        if text is None:
            self._queue.done(pod)
            self._placed(record, decision.host)
        else:
            self._cache.forget_pod(pod)
            if self._gives_back:
                self._queue.assigned_pod_deleted(pod, pod)
            self._failed(record, queued, decision, text)

    def _decide(self, pod: Pod) -> Decision:
        """A decision. That nothing fits holds for every pod of the class until something changes.

        Unless an extender or a plugin of one's own has a say; and a nominated pod does not count itself among the
        nominated ones.
        """
        if self._known_at != self._changes:
            self._known, self._rejections, self._known_at = {}, {}, self._changes
        alike = not self._own_rules and not pod.nominated_node_name
        info = self._cache.info(pod)
        if alike and info in self._known:
            return self._known[info]
        decision = self._scheduler.decide(pod, preempt=self._preempt)
        if alike and decision.host is None and decision.error is None:
            self._known[info] = decision
        return decision

    def _failed(self, record: PodRecord, queued: Any, decision: Decision, text: str = "") -> None:
        record.fail(decision, text)
        self._queue.put_back(queued, record.pod, Rejection() if text else self._rejection(decision))
        self._tried[record.pod.key] = self._changes

    def _rejection(self, decision: Decision) -> Rejection:
        """For whom the attempt failed; worked out once for a decision that is used again."""
        if not decision.coded:
            return Rejection()
        why = self._rejections.get(decision)
        if why is None:
            why = self._rejections[decision] = Rejection(rejectors_of(decision), pending_of(decision))
        return why

    def _placed(self, record: PodRecord, host: str) -> None:
        started = timestamp(self._epoch, self._now)
        record.pod = attrs.evolve(record.pod.on(host), start_time=started, nominated_node_name="")
        self._cache.add_pod(record.pod)
        self._changed(host)
        record.place(host, self._now)
        self._queue.assigned_pod_added(record.pod)
        if record.duration is not None:
            self._events.at(self._now + record.duration, LEAVING, partial(self._leaves, record))
        self._follow(record, ON_BINDING)

    # --- preemption --------------------------------------------------------------------------

    def _carry_out(self, record: PodRecord, decision: Decision) -> None:
        """Nominates, makes the victims leave, takes lower nominations back. Upstream: 1.16 preempt."""
        preemption = decision.preemption
        self._note_nomination(record, decision)
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

    def _note_nomination(self, record: PodRecord, decision: Decision) -> None:
        """Notes a nomination by any plugin, or that the pod's own is given up."""
        if decision.nominated:
            self._queue.nominate(record.pod, decision.nominated)
            self._set_nomination(record.pod, decision.nominated)
        elif decision.nominated == "" and self._gives_back:
            self._set_nomination(record.pod, "")

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
        self._queue.assigned_pod_updated(victim, record.pod)
        self._events.at(self._now + self._grace, LEAVING, partial(self._leaves, record, PREEMPTED))

    # --- coming and going --------------------------------------------------------------------

    def _arrives(self, arrival: Arrival) -> None:
        pod = arrival.pod
        record = PodRecord(pod, self._now, duration=arrival.duration, chain=arrival.chain)
        self._records[pod.key] = record
        self._changes += bool(pod.nominated_node_name)
        foreign = self._scheduler.foreign(pod)
        if foreign:
            self._ignored.add(pod.key)
        else:
            self._queue.add(pod)
        record.hold(foreign or self._queue.gate(pod))
        if arrival.leaves_at is not None:
            self._events.at(max(arrival.leaves_at, self._now), LEAVING, partial(self._leaves, record))

    def _leaves(self, record: PodRecord, outcome: str = FINISHED) -> None:
        """The pod goes, if it has not gone before."""
        if record.outcome == WAITING:
            self._queue.delete(record.pod)
            self._ignored.discard(record.pod.key)
            self._changes += 1
            record.outcome = WITHDRAWN
        elif record.outcome == RUNNING:
            self._cache.remove_pod(record.pod)
            self._changed(record.node)
            record.outcome = outcome
            self._queue.assigned_pod_deleted(record.pod)
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
        if old is None:
            self._queue.node_added(node)
        else:
            self._queue.node_updated(old, node)
        if arrival.leaves_at is not None:
            self._events.at(max(arrival.leaves_at, self._now), NODES, partial(self._node_leaves, node))

    def _node_leaves(self, node: Node) -> None:
        """The node goes; then the pods on it are collected."""
        columns = self._cache.columns
        there = list(columns.pods[columns.row_of[node.name]].values())
        self._cache.remove_node(node.name)
        self._changed(node.name)
        self._queue.node_deleted(node)
        for pod in there:
            self._leaves(self._records.get(pod.key) or PodRecord(pod, 0.0, RUNNING, node.name, 0.0), LOST)
