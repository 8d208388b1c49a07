"""What a simulation found out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision, gave_up
from kubescheduler.simulation.utilisation import Level, NodeUsage, Sample, levels, share
from kubescheduler.simulation.workload import timestamp

WAITING, RUNNING, FINISHED, PREEMPTED, LOST, WITHDRAWN, ERROR = (
    "pending",
    "running",
    "finished",
    "preempted",
    "lost",
    "withdrawn",
    "error",
)
"""How a pod stands: lost with its node; withdrawn, deleted before it had a node; error, pending as an error ended its
last attempt, so that nobody knows where it would go."""
OUTCOMES = (RUNNING, FINISHED, WAITING, PREEMPTED, LOST, WITHDRAWN)


@attrs.define(eq=False)
class PodRecord:
    """One pod of the workload. Times are seconds after the start, None for what has not happened."""

    pod: Pod
    """Its latest version."""
    arrived: float
    outcome: str = WAITING
    node: str = ""
    """Where it was placed."""
    placed: float | None = None
    left: float | None = None
    attempts: int = 0
    """How often it was tried."""
    duration: float | None = None
    """How long it runs once it is bound."""
    chain: str = ""
    """The chain whose next pod it brings, empty for none."""
    _failed: Decision | None = None
    _text: str = ""

    def fail(self, decision: Decision, text: str = "") -> None:
        """Notes the last attempt; ``text`` says what else than the decision went wrong.

        decision: on this pod, or on one that looks the same.
        """
        self._failed, self._text = decision, text

    def hold(self, text: str) -> None:
        """Notes why the pod is not even tried; empty: it is."""
        self._text = text

    def place(self, node: str, now: float) -> None:
        """The pod runs on a node from ``now`` on, seconds since the start."""
        self.outcome, self.node, self.placed = RUNNING, node, now
        self._failed, self._text = None, ""

    @property
    def decision(self) -> Decision | None:
        """The last attempt's, which failed; None once the pod is placed, or where it was not tried."""
        return None if self._failed is None else attrs.evolve(self._failed, pod=self.pod)

    @property
    def gave_up(self) -> bool:
        """Whether an error ended the last attempt, so that nobody knows where the pod would go."""
        return gave_up(self._failed)

    @property
    def standing(self) -> str:
        """How the pod stands, for those who read the report."""
        return ERROR if self.outcome == WAITING and self.gave_up else self.outcome

    @property
    def message(self) -> str:
        """Why it was not placed; empty once it is."""
        if self._text or self._failed is None:
            return self._text
        return attrs.evolve(self._failed, pod=self.pod).message

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the reasons does not see in them; see ``Decision.notes``."""
        return () if self._text or self._failed is None else self._failed.notes

    @property
    def reasons(self) -> Mapping[str, int]:
        """Reason → nodes that gave it in the last attempt."""
        if self._text or self._failed is None or self._failed.error is not None:
            return {self.message: 0} if self.message else {}
        found = self._failed.reasons().values()
        return Counter(reason for reasons in found for reason in reasons)


class PreemptionRecord(msgspec.Struct, frozen=True):
    """Pods that were made to leave ``node`` at ``time`` so that ``pod`` fits."""

    time: float
    pod: str
    node: str
    victims: tuple[str, ...]


class ReasonCount(msgspec.Struct, frozen=True):
    """How many pending pods a reason keeps waiting, and how many nodes gave it, over those pods."""

    reason: str
    pods: int
    nodes: int


@attrs.frozen(eq=False)
class Report:
    """Times are seconds after the start, which is ``epoch`` seconds after 1970."""

    release: str
    epoch: float
    end: float
    pods: tuple[PodRecord, ...]
    """In order of arrival, with pods of the cluster that were preempted."""
    preemptions: tuple[PreemptionRecord, ...]
    resources: tuple[str, ...]
    """The names that amounts in samples and nodes stand for."""
    samples: tuple[Sample, ...]
    nodes: tuple[NodeUsage, ...]

    @property
    def start(self) -> str | None:
        """The start as the API writes times; None if the workload names no time."""
        return timestamp(self.epoch, 0.0) if self.epoch else None

    def counts(self) -> dict[str, int]:
        """Pods, those that were placed, pods by outcome, attempts, preemptions; ``error`` only if a pod has one."""
        outcomes = Counter(record.standing for record in self.pods)
        named = (*OUTCOMES, ERROR) if outcomes[ERROR] else OUTCOMES
        return {
            "pods": len(self.pods),
            "placed": sum(record.placed is not None for record in self.pods),
            **{outcome: outcomes[outcome] for outcome in named},
            "attempts": sum(record.attempts for record in self.pods),
            "preemptions": len(self.preemptions),
        }

    @property
    def pending(self) -> list[PodRecord]:
        """The pods that wait at the end."""
        return [record for record in self.pods if record.outcome == WAITING]

    @property
    def failed(self) -> list[PodRecord]:
        """Those of them whose last attempt an error ended, so that nobody knows where they would go."""
        return [record for record in self.pending if record.gave_up]

    @property
    def every_pod_had_a_node(self) -> bool:
        """Whether every pod was placed at some time."""
        return not any(record.outcome in (WAITING, WITHDRAWN) for record in self.pods)

    def reasons(self) -> list[ReasonCount]:
        """Why pods wait at the end, the most frequent first."""
        pods: Counter[str] = Counter()
        nodes: Counter[str] = Counter()
        for record in self.pending:
            for reason, count in record.reasons.items():
                pods[reason] += 1
                nodes[reason] += count
        order = sorted(pods, key=lambda reason: (-pods[reason], -nodes[reason], reason))
        return [ReasonCount(reason, pods[reason], nodes[reason]) for reason in order]

    def notes(self) -> list[str]:
        """What a reader of the reasons does not see in them, each once."""
        return list(dict.fromkeys(note for record in self.pending for note in record.notes))

    def waits(self) -> list[float]:
        """Seconds from arrival to placement of every pod that was placed, sorted."""
        return sorted(record.placed - record.arrived for record in self.pods if record.placed is not None)

    def level(self, resource: int) -> Level:
        """How much of the cluster's amount of a resource was in use."""
        shares = [share(sample.used[resource], sample.capacity[resource]) for sample in self.samples]
        return levels([sample.time for sample in self.samples], shares, self.end)

    def node_level(self, node: NodeUsage, resource: int) -> Level:
        """How much of one resource of a node was in use, in shares of its capacity."""
        capacity = node.capacity[resource]
        shares = [share(used[resource], capacity) for _, used in node.changes]
        return levels([time for time, _ in node.changes], shares, self.end)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each pod: its outcome and node, when it arrived, was placed and left in
        seconds after the start, and its attempts. Raises ConfigError without pandas."""
        from kubescheduler.notebook.views import data_frame, simulation_columns

        return data_frame(simulation_columns(self), "pod")

    def to_arrow(self) -> Any:
        """The rows of ``to_frame`` as a pyarrow Table. Raises ConfigError without pyarrow."""
        from kubescheduler.notebook.views import arrow_table, simulation_columns

        return arrow_table(simulation_columns(self))

    def _repr_html_(self) -> str:
        """A small static page: counts, waiting times, how much was in use, and why pods wait."""
        from kubescheduler.notebook.views import simulation_html

        return simulation_html(self)
