"""What becomes of a pod that fits nowhere while the cluster changes: its place in the queue after each event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import DecodeError, attempt_at
from kubescheduler.cycle.bindings import InOrderBindings
from kubescheduler.cycle.event_handlers import EventHandlers
from kubescheduler.cycle.schedule_one import SchedulerLoop
from kubescheduler.engine.loop_parts import loop_parts
from kubescheduler.framework.contract.cycle_state import VirtualTime
from kubescheduler.framework.contract.handle import Services, at_once

if TYPE_CHECKING:
    from clusterstate.cache import ClusterCache
    from clusterstate.manifests.decode import Decoder
    from clusterstate.objects import ClusterObject, Pod
    from kubescheduler.engine.spec import Engine
    from kubescheduler.queue.scheduling_queue import SchedulingQueue


LONGEST = 7 * 24 * 3600.0
"""Seconds that an event may come after the attempt."""


class TimedEvent(msgspec.Struct, frozen=True):
    """An object that came (``old`` is None), changed or went (``new`` is None); neither: only time passed."""

    after: float
    """Seconds after the attempt."""
    old: ClusterObject | None
    new: ClusterObject | None


def decoded_events(events: Iterable[Mapping[str, Any]], decoder: Decoder) -> list[TimedEvent]:
    """The events of a query. Raises DecodeError with every fault; one that comes before the last is one."""
    timed: list[TimedEvent] = []
    problems: list[str] = []
    last = 0.0
    for at, event in enumerate(events):
        objects: dict[str, ClusterObject | None] = {"old": None, "new": None}
        for side in objects:
            if event.get(side) is not None:
                decoding = partial(decoder.decode_object, event[side], keep_manifest=True)
                objects[side] = attempt_at(f"events[{at}].{side}", problems, decoding)
        after = float(last if event.get("after") is None else event["after"])
        if not last <= after <= LONGEST:
            problems.append(f"events[{at}].after: must be from {last:g}, the event before it, to {LONGEST:g} seconds")
        kinds = {type(obj) for obj in objects.values() if obj is not None}
        if len(kinds) > 1:
            problems.append(f"events[{at}]: old and new must be of one kind")
        last = max(last, min(after, LONGEST))
        timed.append(TimedEvent(last, objects["old"], objects["new"]))
    if problems:
        raise DecodeError(problems)
    return timed


def places_after(engine: Engine, cache: ClusterCache, pod: Pod, events: Sequence[TimedEvent]) -> list[str | None]:
    """Where in the queue the pod is after it was tried in vain, and after each event; None: in none, as it was bound.

    The attempt does not preempt. The cache is changed by the events.
    """
    clock = VirtualTime()

    def adapted(services: Services) -> Services:
        return msgspec.structs.replace(services, time=clock, in_background=at_once, reports_failures=False)

    parts = loop_parts(engine.scheduler(cache), adapted, preempt=False)
    with SchedulerLoop(parts, bindings=InOrderBindings()) as loop:
        handlers = EventHandlers(loop.cycles)
        parts.queue.add(pod)
        attempt = loop.run_once()
        if attempt is not None and attempt.node_name:
            return [None] * (1 + len(events))
        places = [_place(parts.queue, pod)]
        for event in events:
            _pass_time(parts.queue, clock, event.after)
            if event.old is not None or event.new is not None:
                handlers.changed(event.old, event.new)
            places.append(_place(parts.queue, pod))
        return places


def _place(queue: SchedulingQueue, pod: Pod) -> str | None:
    place = queue.place(pod)
    return None if place is None else place.value


def _pass_time(queue: SchedulingQueue, clock: VirtualTime, until: float) -> None:
    """Moves the clock, with every tick of the queue on the way."""
    while (tick := queue.next_flush()) is not None and clock.now() < tick <= until:
        clock.move_to(tick)
        queue.flush_due()
    clock.move_to(until)
    queue.flush_due()
