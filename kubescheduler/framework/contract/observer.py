"""What can be measured while plugins run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import attrs

from kubescheduler.core.status import Code, Status, code_of
from kubescheduler.framework.contract.cycle_state import CycleState

T = TypeVar("T")

COUNTED = frozenset({"PreFilter", "Filter", "PreScore", "Score"})
"""The points whose calls are counted one by one (1.36)."""
UNCOUNTED_SKIPS = frozenset({"PreFilter", "PreScore"})


class Observer(Protocol):
    """Told of everything that a release has metrics for. point, status: as in metric labels; seconds by the clock."""

    def point(self, point: str, profile: str, status: str, seconds: float) -> None:
        """All plugins of a point ran."""
        ...

    def plugin(self, point: str, plugin: str, status: str, seconds: float) -> None:
        """One plugin ran, in an attempt whose plugins are timed."""
        ...

    def evaluated(self, point: str, plugin: str, profile: str) -> None:
        """One plugin was called and did not skip."""
        ...

    def permit_waited(self, status: str, seconds: float) -> None:
        """A pod waited for Permit plugins."""
        ...

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        """An attempt came to ``scheduled``, ``unschedulable`` or ``error``."""
        ...

    def batch_attempt(self, result: str, profile: str) -> None:
        """A kept ranking gave ``no_hint``, or one that was ``hint_used`` or ``hint_not_used`` (1.36)."""
        ...

    def batch_flushed(self, reason: str, profile: str) -> None:
        """A kept ranking was of no use, or none was kept, for a reason such as ``node_not_full`` (1.36)."""
        ...

    def trouble(self, text: str) -> None:
        """Something failed that does not change the attempt; upstream writes it to its log."""
        ...


class NoObserver:
    """Looks away."""

    def point(self, point: str, profile: str, status: str, seconds: float) -> None:
        """Nothing is measured."""

    def plugin(self, point: str, plugin: str, status: str, seconds: float) -> None:
        """Nothing is measured."""

    def evaluated(self, point: str, plugin: str, profile: str) -> None:
        """Nothing is counted."""

    def permit_waited(self, status: str, seconds: float) -> None:
        """Nothing is measured."""

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        """Nothing is measured."""

    def batch_attempt(self, result: str, profile: str) -> None:
        """Nothing is counted."""

    def batch_flushed(self, reason: str, profile: str) -> None:
        """Nothing is counted."""

    def trouble(self, text: str) -> None:
        """Nothing is reported."""


@attrs.frozen(eq=False)
class Watch:
    """Runs calls that answer (status, value) and reports them for one profile."""

    observer: Observer
    profile: str
    clock: Callable[[], float]
    """Gives the time in seconds."""

    def point(self, point: str, call: Callable[..., tuple[Status | None, T]], *args: Any) -> tuple[Status | None, T]:
        """All plugins of a point: what ``call(*args)`` answers."""
        started = self.clock()
        answer = call(*args)
        self.observer.point(point, self.profile, code_of(answer[0]).name, self.clock() - started)
        return answer

    def plugin(
        self,
        point: str,
        plugin: str,
        state: CycleState | None,
        call: Callable[..., tuple[Status | None, T]],
        *args: Any,
    ) -> tuple[Status | None, T]:
        """One plugin: what ``call(*args)`` answers."""
        started = self.clock()
        answer = call(*args)
        code = code_of(answer[0])
        if state is not None and state.timed:
            self.observer.plugin(point, plugin, code.name, self.clock() - started)
        if point in COUNTED and not (code is Code.Skip and point in UNCOUNTED_SKIPS):
            self.observer.evaluated(point, plugin, self.profile)
        return answer
