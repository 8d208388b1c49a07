"""A simulation that notes every attempt and where every pod waits, and that can be ended before any attempt."""

from __future__ import annotations

from typing import Any

import attrs
import msgspec

from kubescheduler.core.decision import Decision
from kubescheduler.cycle.schedule_one import Attempt
from kubescheduler.engine.engine_contract import PodScheduler
from kubescheduler.queue.entry import Place
from kubescheduler.simulation.pod_records import WAITING, PodRecord
from kubescheduler.simulation.run_events import RunEvent
from kubescheduler.simulation.simulation import Simulation
from kubescheduler.simulation.simulation_report import Report
from kubescheduler.simulation.workload import Workload

HELD = "waiting"
"""The lane of pods that Permit plugins hold."""

LANES = {
    Place.ACTIVE: "active",
    Place.BACKOFF: "backoff",
    Place.UNSCHEDULABLE: "unschedulable",
    Place.GATED: "gated",
}
"""Place in the queue → lane."""


class TriedPod(msgspec.Struct, frozen=True):
    """One attempt of a run."""

    number: int
    """From 0, in the order they were made."""
    time: float
    """Seconds after the start."""
    pod: str
    """namespace/name."""
    node: str
    """The node that was chosen; empty: none."""
    message: str
    """Why none was chosen, or why the pod could not be kept there."""
    nominated: str
    """Where the pod is to wait for room; empty: nowhere."""


@attrs.define
class Stay:
    """A pod in a lane, from one moment to another."""

    lane: str
    pod: str
    start: float
    """Seconds after the start."""
    end: float | None = None
    """None: until the end of the run."""
    attempts: list[int] = attrs.field(factory=list)
    """The attempts that were made meanwhile, by number."""


class Ended(Exception):
    """The run has come to where it was to end."""


class RecordedRun(Simulation):
    """One run of a workload over the scheduler's cluster, which it changes; ``play`` is called once."""

    def __init__(
        self,
        scheduler: PodScheduler,
        workload: Workload,
        *,
        before: int | None = None,
        until: float | None = None,
        most: int = 5000,
        **options: Any,
    ) -> None:
        """before: the run ends before the attempt of that number. until: it ends after so many seconds. most: or after
        so many attempts. options: see ``Simulation``.
        """
        self.attempts: list[TriedPod] = []
        self.stays: list[Stay] = []
        self.events: list[RunEvent] = []
        self.ended = ""
        self._before = most if before is None else min(before, most)
        self._until = until
        self._open: dict[str, Stay] = {}
        self._places: dict[str, str] = {}
        super().__init__(scheduler, workload, listen=self.events.append, progress=self._moment_over, **options)

    def play(self) -> Report | None:
        """Runs; None when the run was ended before everything had happened: ``ended`` says why."""
        try:
            return self.run()
        except Ended as end:
            self._moment_over(0, 0)
            self.ended = str(end)
            return None

    @property
    def now(self) -> float:
        """Seconds after the start."""
        return self._now

    @property
    def records(self) -> list[PodRecord]:
        """What is known of every pod that has come, or was made to leave."""
        return list(self._records.values())

    @property
    def held(self) -> dict[str, str]:
        """Pod that Permit plugins hold → the node on which its place is kept."""
        return {held.pod.key: self._places.get(held.pod.key, "") for held in self._waiting}

    @property
    def usage(self) -> Any:
        """What was in use so far."""
        return self._usage

    def _next_moment(self) -> float | None:
        moment = super()._next_moment()
        if moment is not None and self._until is not None and moment > self._until:
            raise Ended(f"the run was ended after {self._until:g} seconds")
        return moment

    def _decide(self, *asked: Any) -> Decision:
        if len(self.attempts) >= self._before:
            raise Ended(f"the run was ended after {self._before} attempts")
        return super()._decide(*asked)

    def _note(self, attempt: Attempt) -> None:
        number, record = len(self.attempts), self._records[attempt.pod.key]
        self._goes(record.pod.key, LANES[Place.ACTIVE])
        self._open[record.pod.key].attempts.append(number)
        super()._note(attempt)
        if attempt.waits:
            self._places[record.pod.key] = attempt.node_name
        decision = attempt.decision
        failed = "" if attempt.binding is not None else record.message
        nominated = (decision.nominated if decision is not None else None) or ""
        self.attempts.append(TriedPod(number, self._now, record.pod.key, attempt.node_name, failed, nominated))

    # --- lanes -------------------------------------------------------------------------------

    def _moment_over(self, done: int, noted: int) -> None:  # noqa: ARG002
        held = self.held
        for record in self._records.values():
            if record.outcome == WAITING or record.pod.key in self._open:
                self._goes(record.pod.key, self._lane(record, held))

    def _goes(self, pod: str, lane: str) -> None:
        """Notes the lane in which a pod is from now on; empty: none."""
        there = self._open.get(pod)
        if there is not None and there.lane == lane:
            return
        if there is not None:
            there.end = self._now
            del self._open[pod]
        if lane:
            self._open[pod] = Stay(lane, pod, self._now)
            self.stays.append(self._open[pod])

    def _lane(self, record: PodRecord, held: dict[str, str]) -> str:
        if record.outcome != WAITING:
            return ""
        if record.pod.key in held:
            return HELD
        place = self._queue.place(record.pod)
        return "" if place is None else LANES[place]
