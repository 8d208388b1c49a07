"""Pods come, go through the scheduler's own loop, and leave, on a clock that jumps from event to event."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import attrs
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.objects import Node, Pod
from clusterstate.podinfo import PodInfo
from kubescheduler.core.decision import Decision
from kubescheduler.cycle.bindings import InOrderBindings
from kubescheduler.cycle.event_handlers import EventHandlers
from kubescheduler.cycle.schedule_one import Decide, PodAttempt, SchedulerLoop
from kubescheduler.engine.loop_parts import loop_parts
from kubescheduler.engine.spec import PodScheduler
from kubescheduler.framework.contract.cycle_state import CycleState, VirtualTime
from kubescheduler.simulation.pod_claims import given_back
from kubescheduler.simulation.simulated_api import SimulatedApi, on_virtual_time
from kubescheduler.simulation.simulation_report import (
    FINISHED,
    LOST,
    PREEMPTED,
    RUNNING,
    WAITING,
    WITHDRAWN,
    PodRecord,
    PreemptionRecord,
    Report,
    UsageRecorder,
    tracked_resources,
)
from kubescheduler.simulation.timeline import (
    ARRIVING,
    LEAVING,
    NODES,
    PATIENCE,
    SPIN_PAUSE,
    SPINS,
    Events,
    Kind,
    Listen,
    NodeTraffic,
    ObjectTraffic,
    RunEvent,
)
from kubescheduler.simulation.workload import (
    ON_BINDING,
    ON_FINISH,
    Arrival,
    NodeArrival,
    PodChains,
    Workload,
    timestamp,
)


@attrs.define(eq=False)
class KnownVerdicts:
    """Decides, or remembers the decision on a pod of the same class.

    A nominated pod is decided on anew: it does not count itself among the nominated ones. So is one with claims: the
    time in which its devices have to get ready for binding may be over by now.
    """

    ask: Decide
    """Decides."""
    cache: ClusterCache
    changes: Callable[[], int]
    """Grows with every change of the cluster."""
    reuses: bool
    """False where an extender or a custom plugin has a say, whose answers may differ from pod to pod."""
    _known: dict[PodInfo, Decision] = attrs.field(factory=dict)
    _known_at: int = -1

    def decide(self, plugins: Any, pod: Pod, state: CycleState) -> Decision:
        """Where the pod goes; a decision that is used again is on another pod."""
        changes = self.changes()
        if self._known_at != changes:
            self._known.clear()
            self._known_at = changes
        alike = self.reuses and not pod.nominated_node_name and not pod.spec.resource_claims
        if alike and self._known and (known := self._known.get(self.cache.info(pod))) is not None:
            return known
        decision = self.ask(plugins, pod, state)
        if alike and decision.host is None and decision.error is None:
            self._known[self.cache.info(pod)] = decision
        return decision


@attrs.define(eq=False)
class LastAttempts:
    """The last failed attempt of each pod. Moments are seconds since the epoch."""

    turns: Callable[[Pod], float | None]
    """The moment after which time alone will have changed what is said of a pod; None: it will not."""
    now: Callable[[], float]
    """This moment."""
    changes: Callable[[], int]
    """Grows with every change of the cluster."""
    _noted: dict[str, tuple[int, float | None]] = attrs.field(factory=dict)
    """Pod → (the changes until then, the moment that was said then)."""

    def note(self, pod: Pod) -> None:
        """An attempt of the pod failed just now."""
        self._noted[pod.key] = self.changes(), self.turns(pod) if pod.spec.resource_claims else None

    def may_change(self, pod: Pod) -> bool:
        """Whether another attempt may come to something else: the cluster has changed, or will by itself."""
        changes, turn = self._noted[pod.key]
        return changes != self.changes() or turn is not None

    def turn(self, pods: Iterable[Pod]) -> bool:
        """Whether time alone will yet change what was said of one of these pods."""
        now = self.now()
        ends = (self._noted.get(pod.key, (0, None))[1] for pod in pods)
        return any(end is not None and end >= now for end in ends)


Progress = Callable[[int, int], None]
"""Told (events done, events known)."""


class Simulation:
    """One run of a workload over the scheduler's cluster, which it changes: ``run`` once, or ``advance`` as often as
    more is expected.

    The scheduler's loop runs against an API server that answers at once. Attempts and bindings take no time; a pod
    that Permit plugins hold waits on the clock. At one moment pods leave, then nodes come and go, then pods arrive,
    then pods that were held for too long are given up; then the queue's ticks, which count from the start, then every
    active pod is tried.
    """

    def __init__(
        self,
        scheduler: PodScheduler,
        workload: Workload,
        *,
        preempt: bool = False,
        grace: float = 0.0,
        progress: Progress | None = None,
        observers: Iterable[Callable[[Decision], None]] = (),
        listen: Listen | None = None,
        gives_back: bool = True,
    ) -> None:
        """preempt: a pod that fits nowhere takes the place of lower ones, which leave ``grace`` seconds later and are
        not created anew. observers: told of every attempt's decision. listen: told of everything that happens.
        gives_back: claims of devices and of ephemeral volumes end with their pods, as controllers have it, unless the
        workload has recorded what becomes of objects.
        """
        self._scheduler = scheduler
        self._observers = tuple(observers)
        self._listen = listen
        self._cache = scheduler.cache
        self._grace = grace
        self._progress = progress
        self._epoch = workload.epoch
        self._time = VirtualTime()
        self._events = Events()
        self._api = SimulatedApi(self._cache, lambda: timestamp(self._epoch, self._time.moment))
        self._gives_back = gives_back and not workload.updates
        self._ignored: set[str] = set()
        self._records: dict[str, PodRecord] = {}
        self._preemptions: list[PreemptionRecord] = []
        self._evicted_for: dict[str, str] = {}
        self._chains = PodChains(workload.chains)
        self._changes = self._lasting = 0
        self._lasted, self._spun = 0.0, False
        self._under_way: list[tuple[PodRecord, PodAttempt]] = []
        self._pending = 0  # pods without a node at the end of the last moment
        for obj in workload.objects:
            self._cache.add(obj)
        self._make_loop(scheduler, preempt)
        columns, joining = self._cache.columns, [arrival.node for arrival in workload.nodes]
        self._usage = UsageRecorder(columns, tracked_resources(columns, joining, self._cache.view.tracked))
        parts = (self._handlers.changed, self._events, self._node_changed, self._collected, self.unbound)
        self._traffic = NodeTraffic(self._cache, *parts)
        self.expect(workload.arrivals, workload.nodes)
        ObjectTraffic(self._cache, self._handlers.changed, self._events, self._changed).expect(workload.updates)

    def _make_loop(self, scheduler: PodScheduler, preempt: bool) -> None:
        adapt = partial(on_virtual_time, api=self._api, time=self._time, epoch=self._epoch)
        parts = loop_parts(scheduler, adapt, preempt=preempt)
        custom = scheduler.has_custom_plugins or bool(scheduler.algorithm.extenders)
        self._known = KnownVerdicts(parts.decide, self._cache, lambda: self._changes, reuses=not custom)
        self._waiting = parts.services.waiting
        self._tried = LastAttempts(parts.turns, parts.services.today, lambda: self._changes)
        self._queue = parts.queue
        self._bindings = InOrderBindings()
        self._loop = SchedulerLoop(
            msgspec.structs.replace(parts, decide=self._decide),
            latest=self._api.latest,
            bound=self._api.bound,
            bindings=self._bindings,
        )
        self._handlers = EventHandlers(self._loop.cycles)

    def run(self) -> Report:
        """Everything, until nothing happens any more."""
        self.advance()
        return Report(
            release=self._scheduler.algorithm.release,
            epoch=self._epoch,
            end=self.now,
            pods=tuple(self._records.values()),
            preemptions=tuple(self._preemptions),
            resources=self._usage.resources,
            samples=tuple(self._usage.samples),
            nodes=tuple(self._usage.nodes()),
        )

    # --- step by step ------------------------------------------------------------------------

    def advance(self) -> None:
        """What is expected happens, until nothing does any more."""
        if not self._usage.samples:
            self._usage.sample(0.0, 0)
        while (moment := self._next_moment()) is not None:
            self._time.move_to(moment)
            self._events.run(moment)
            if self._under_way and len(self._waiting):
                self._expire()
            self._spun = False
            if self._queue:
                self._queue.flush_due()
                self._try_all()
            self._pending = len(self._queue) + len(self._ignored) + len(self._waiting)
            self._usage.sample(moment, self._pending)
            if self._progress is not None:
                self._progress(self._events.done, self._events.noted)

    def expect(self, arrivals: Iterable[Arrival] = (), nodes: Iterable[NodeArrival] = ()) -> None:
        """Has pods and nodes come besides, as those of a workload do, from now on."""
        self._traffic.expect(nodes)
        for arrival in arrivals:
            self._events.at(arrival.at, ARRIVING, partial(self._arrives, arrival))

    def expect_end(self, at: float, pods: Iterable[Pod] = (), nodes: Iterable[Node] = ()) -> None:
        """Has pods leave at a time, placed or not, and nodes, with the pods that are on them then."""
        for pod in pods:
            self._events.at(at, LEAVING, partial(self._collected, pod, FINISHED))
        for node in nodes:
            self._events.at(at, NODES, partial(self._traffic.leaves, node))

    def report_change(self, old: Any, new: Any) -> None:
        """An object that is neither node nor pod came (``old`` is None), changed, or went (``new`` is None)."""
        self._handlers.changed(old, new)
        self._changed()

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return self._time.moment

    @property
    def preemptions(self) -> Sequence[PreemptionRecord]:
        """Those so far, in order."""
        return self._preemptions

    def record(self, key: str) -> PodRecord | None:
        """The last pod of that ``namespace/name`` that came, or that was preempted; None for any other."""
        return self._records.get(key)

    def unbound(self) -> list[Pod]:
        """The pods that have no node yet, in order of arrival."""
        return [record.pod for record in self._records.values() if record.outcome == WAITING]

    # --- time --------------------------------------------------------------------------------

    def _next_moment(self) -> float | None:
        """The next event, or the next tick of the queue that is of any use.

        Where nothing is changed since unschedulable pods were tried, nor will be by itself, time passes at once.
        """
        if not self._pending:
            return self._events.next
        event, tick = self._events.next, self._queue.next_flush()
        late = event is None and self.now - self._lasted > PATIENCE
        if late and not self._tried.turn(self._queue.pending()):
            return None
        if len(self._waiting):
            event = self._first_of(event)
        if self._spun:
            tick = math.floor(self.now) + SPIN_PAUSE
        if tick is None or (event is not None and event <= tick):
            return event
        resting = self._queue.resting()
        if resting is None or any(map(self._tried.may_change, resting)):
            return tick
        if event is not None:
            for key, count in self._queue.rest_until(event).items():
                self._records[key].attempts += count
                self._tell(Kind.RETRIED, pod=key, attempts=count)
        return event

    def _first_of(self, event: float | None) -> float | None:
        """What comes or goes next, or the time-out of a pod that is held."""
        times = [event, *(held.due() for held in self._waiting)]
        return min((time for time in times if time is not None), default=None)

    def _expire(self) -> None:
        """Pods that were held for too long are given up."""
        for held in self._waiting:
            held.expire()
        self._settle()

    def _changed(self, *node_names: str) -> None:
        """Something is other than before, on these nodes if there are any, and stays so."""
        self._lasted = self._time.moment
        self._lasting += 1
        self._shifted(*node_names)

    def _shifted(self, *node_names: str) -> None:
        """Something is other than before, for a while."""
        self._changes += 1
        for name in node_names:
            self._usage.touch(name)

    def _tell(self, kind: Kind, **fields: object) -> None:
        if self._listen is not None:
            self._listen(RunEvent(self.now, kind, **fields))  # type: ignore[arg-type]

    def _tell_of(self, record: PodRecord, kind: Kind, **fields: object) -> None:
        if self._listen is not None:
            self._tell(kind, pod=record.pod.key, **fields)

    # --- attempts ----------------------------------------------------------------------------

    def _try_all(self) -> None:
        """Every active pod, as often as it becomes active at this moment; within limits if nothing comes of it."""
        spins, lasting = 0, self._lasting
        while self._queue and (attempt := self._loop.run_once()) is not None:
            self._note(attempt)
            self._settle()
            spins, lasting = (spins + 1, lasting) if self._lasting == lasting else (0, self._lasting)
            if spins > SPINS and spins > 3 * len(self._queue) + SPINS:
                self._spun = True
                return

    def _decide(self, *asked: Any) -> Decision:
        """Where the pod of an attempt goes; see Decide."""
        return self._known.decide(*asked)

    def _note(self, attempt: PodAttempt) -> None:
        record = self._records[attempt.pod.key]
        record.attempts += 1
        decision = attempt.decision
        assert decision is not None, attempt.passed_over
        for observe in self._observers:
            observe(attrs.evolve(decision, pod=attempt.pod))
        if attempt.binding is None:
            self._note_failure(record, attempt)
            return
        self._tell_of(record, Kind.ATTEMPTED, node=attempt.node_name)
        if attempt.waits:
            self._shifted(attempt.node_name)
            self._tell_of(record, Kind.WAITING, node=attempt.node_name)
        self._under_way.append((record, attempt))

    def _note_failure(self, record: PodRecord, attempt: PodAttempt) -> None:
        """The scheduling cycle failed: no node was chosen, or the pod could not be kept there."""
        decision, failure = attempt.decision, attempt.failure
        assert decision is not None
        assert failure is not None
        record.fail(decision, "" if failure.decision is not None else failure.note)
        if self._listen is not None:
            self._tell(Kind.ERROR if record.gave_up else Kind.ATTEMPTED, pod=record.pod.key, message=record.message)
        self._came_back(record)
        found = decision.preemption
        if found is not None and found.chosen:
            node = found.chosen[0]
            victims = tuple(pod.key for pod in found.candidates[node].pods)
            self._preemptions.append(PreemptionRecord(self.now, record.pod.key, node, victims))
            self._evicted_for |= dict.fromkeys(victims, record.pod.key)

    def _came_back(self, record: PodRecord) -> None:
        self._tried.note(record.pod)
        if self._listen is not None and (place := self._queue.place(record.pod)) is not None:
            self._tell(Kind(place.value), pod=record.pod.key)

    def _settle(self) -> None:
        """Bindings go on and what the API server reports is taken in, until all is quiet."""
        changes = self._api.changes
        while self._under_way or changes:
            if self._under_way:
                self._bindings.run()
            self._time.back()
            if self._under_way:
                self._under_way = [entry for entry in self._under_way if not self._is_settled(*entry)]
            if not changes:
                return
            while changes:
                self._take_in(*changes.popleft())

    def _is_settled(self, record: PodRecord, attempt: PodAttempt) -> bool:
        """Whether a binding came to its end; a pod that was not bound is in the queue again."""
        assert attempt.binding is not None
        if not attempt.binding.done():
            return False
        failure = attempt.binding.result()
        if failure is not None:
            assert attempt.decision is not None
            record.fail(attempt.decision, failure.note)
            if attempt.waits:
                self._shifted(attempt.node_name)
            self._tell_of(record, Kind.BINDING_FAILED, node=attempt.node_name, message=failure.note)
            self._came_back(record)
        return True

    # --- what the API server reports ---------------------------------------------------------

    def _take_in(self, old: object, new: object) -> None:
        """The scheduler is told of a change, and account is kept of it."""
        if isinstance(new, Pod):
            self._handlers.changed(old, new)
            self._pod_changed(old, new)
        elif not isinstance(old, Pod):
            self._queue.object_changed(old, new)
            self._changed()
        else:
            self._handlers.changed(old, None)

    def _pod_changed(self, old: object, new: Pod) -> None:
        if not isinstance(old, Pod):
            return
        record = self._records.get(new.key)
        if record is None:
            record = self._records[new.key] = PodRecord(old, 0.0, RUNNING, old.node_name, 0.0)
        record.pod = new
        if new.node_name != old.node_name:
            self._bound(record, new.node_name)
        elif new.metadata.deletion_timestamp is not None:
            self._changed(new.node_name)
            self._tell(Kind.EVICTED, pod=new.key, node=new.node_name, by=self._evicted_for.get(new.key, ""))
            self._events.at(self.now + self._grace, LEAVING, partial(self._leaves, record, PREEMPTED))
        elif new.nominated_node_name != old.nominated_node_name:
            self._shifted()
            kind = Kind.NOMINATED if new.nominated_node_name else Kind.NOMINATION_CLEARED
            self._tell(kind, pod=new.key, node=new.nominated_node_name or old.nominated_node_name)

    def _bound(self, record: PodRecord, host: str) -> None:
        now = self._time.moment
        self._changed(host)
        record.place(host, now)
        self._tell_of(record, Kind.BOUND, node=host)
        if record.duration is not None:
            self._events.at(now + record.duration, LEAVING, partial(self._leaves, record))
        self._follow(record, ON_BINDING)

    # --- coming and going --------------------------------------------------------------------

    def _arrives(self, arrival: Arrival) -> None:
        pod, now = arrival.pod, self._time.moment
        record = PodRecord(pod, now, duration=arrival.duration, chain=arrival.chain)
        self._records[pod.key] = record
        self._lasted = now
        self._changes += bool(pod.nominated_node_name)
        foreign = "" if pod.node_name else self._scheduler.foreign(pod)
        record.foreign = bool(foreign)
        if foreign:
            self._ignored.add(pod.key)
            self._tell(Kind.IGNORED, pod=pod.key, message=foreign)
        else:
            self._api.create(pod)
            self._settle()
        if pod.node_name:  # its controller has placed it
            self._bound(record, pod.node_name)
        else:
            record.hold(foreign or self._queue.gate(pod))
        if self._listen is not None and not (foreign or pod.node_name):
            kind = Kind.GATED if record.message else Kind.ENQUEUED
            self._tell(kind, pod=pod.key, message=record.message)
        if arrival.leaves_at is not None:
            self._events.at(max(arrival.leaves_at, now), LEAVING, partial(self._leaves, record))

    def _leaves(self, record: PodRecord, outcome: str = FINISHED) -> None:
        """The pod goes, if it has not gone before."""
        if record.outcome == WAITING:
            record.outcome = WITHDRAWN
            self._changed()
        elif record.outcome == RUNNING:
            record.outcome = outcome
            self._changed(record.node)
        else:
            return
        record.left = self._time.moment
        if self._ignored and record.pod.key in self._ignored:
            self._ignored.discard(record.pod.key)
        else:
            self._api.remove(record.pod)
            self._settle()
            for before, now in list(given_back(record.pod, self._cache.objects)) if self._gives_back else ():
                self.report_change(before, now)
        self._tell_of(record, Kind.LEFT, node=record.node, outcome=record.outcome)
        self._follow(record, ON_FINISH)

    def _follow(self, record: PodRecord, on: str) -> None:
        """The next pod of the chain comes, if this was what it waited for."""
        following = self._chains.following(record.chain, on) if record.chain else None
        if following is not None:
            self._events.at(max(self.now, following.at), ARRIVING, partial(self._arrives, following))

    def _node_changed(self, node: Node, kind: Kind) -> None:
        self._changed(node.name)
        self._tell(kind, node=node.name)

    def _collected(self, pod: Pod, outcome: str = LOST) -> None:
        """A pod goes; it may be of the cluster, of which no record is kept. LOST: with its node."""
        self._leaves(self._records.get(pod.key) or PodRecord(pod, 0.0, RUNNING, pod.node_name, 0.0), outcome)
