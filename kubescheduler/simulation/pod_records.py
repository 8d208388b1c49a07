"""What a simulation notes of each pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import attrs
import msgspec

from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision, gave_up

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
