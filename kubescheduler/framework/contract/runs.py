"""What the plugins of a point came to, the texts of what failed, and who is told of what can be measured meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
import numpy as np

from clusterstate.growable import IntArray
from kubecel.api_names import go_quote
from kubescheduler.core.decision import Decision
from kubescheduler.core.status import Code, Status, code_of
from kubescheduler.framework.contract.cycle_state import CycleState
from priorities.types import MAX_NODE_SCORE

Names = frozenset[str]
"""Of nodes."""


class PreFilterOutcome(msgspec.Struct, frozen=True):
    """What all PreFilter plugins came to."""

    status: Status | None = None
    """What ends the attempt, with the code Error by giving it up; None: nodes are to be looked at."""
    nodes: Names | None = None
    """The names of the only nodes to look at; None: all."""
    plugins: tuple[str, ...] = ()
    """The plugins that gave names, sorted."""
    last: str = ""
    """The plugin after which no other was asked, empty when all were."""


class PluginScores(msgspec.Struct, frozen=True, eq=False):
    """One plugin's scores of the nodes that fit: (n,) int64 as given, and (n,) int64 normalised, before ``weight``."""

    raw: IntArray
    normalized: IntArray
    weight: int


class ScoreOutcome(msgspec.Struct, frozen=True, eq=False):
    """What all Score plugins came to."""

    status: Status | None = None
    scores: Mapping[str, PluginScores] = msgspec.field(default_factory=dict)
    totals: IntArray = msgspec.field(default_factory=lambda: np.zeros(0, np.int64))
    """(n,) int64 weighted sums, wrapping at 64 bits."""


def failed(point: str, plugin: str, status: Status) -> Status:
    """The Error that a plugin's answer at a point turns into."""
    return Status.failure(f"running {point} plugin {go_quote(plugin)}: {status.error_text}").by(plugin)


def change_failed(point: str, plugin: str, status: Status) -> Status:
    """The same of a PreFilter plugin's AddPod or RemovePod."""
    text = f"running {point} on PreFilter plugin {go_quote(plugin)}: {status.error_text}"
    return Status.failure(text).by(plugin)


def score_failed(plugin: str, error: object) -> str:
    """The text for a Score plugin that failed."""
    return f"running Score plugins: plugin {go_quote(plugin)} failed with: {error}"


def normalize_failed(plugin: str, error: object) -> str:
    """The text for a NormalizeScore that failed."""
    return f"running Normalize on Score plugins: plugin {go_quote(plugin)} failed with: {error}"


def out_of_range(plugin: str, value: int) -> str:
    """A normalised score is none."""
    return (
        f"applying score defaultWeights on Score plugins: plugin {go_quote(plugin)} returns an invalid score {value}, "
        f"it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
    )


T = TypeVar("T")

COUNTED = frozenset({"PreFilter", "Filter", "PreScore", "Score"})
"""The points whose calls are counted one by one (1.36)."""
UNCOUNTED_SKIPS = frozenset({"PreFilter", "PreScore"})


class Observer:
    """Told of everything that a release has metrics for; looks away unless somebody overrides it.

    point, status: as in metric labels; seconds by the clock.
    """

    measures: bool = False
    """Whether anything is to be timed."""

    def point(self, point: str, profile: str, status: str, seconds: float) -> None:
        """All plugins of a point ran."""

    def plugin(self, point: str, plugin: str, status: str, seconds: float) -> None:
        """One plugin ran, in an attempt whose plugins are timed."""

    def evaluated(self, point: str, plugin: str, profile: str) -> None:
        """One plugin was called and did not skip."""

    def permit_waited(self, status: str, seconds: float) -> None:
        """A pod waited for Permit plugins."""

    def decided(self, decision: Decision, profile: str, seconds: float) -> None:
        """The algorithm found a node, or did not. seconds: since the pod was popped."""

    def step(self, operation: str, seconds: float) -> None:
        """A part of the algorithm without plugins is over: ``predicate_evaluation`` and so on (1.16)."""

    def preempted(self, victims: int) -> None:
        """Preemption was tried for a pod. victims: that have to go; 0: it does not help."""

    def evicted(self, result: str, seconds: float) -> None:
        """The victims of a pod were taken away in the background: ``success`` or ``error`` (1.36)."""

    def asked_to_bind(self, seconds: float) -> None:
        """An extender, a plugin or the API answered a request to bind."""

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        """An attempt came to ``scheduled``, ``unschedulable`` or ``error``."""

    def batch_attempt(self, result: str, profile: str) -> None:
        """A kept ranking gave ``no_hint``, or one that was ``hint_used`` or ``hint_not_used`` (1.36)."""

    def batch_flushed(self, reason: str, profile: str) -> None:
        """A kept ranking was of no use, or none was kept, for a reason such as ``node_not_full`` (1.36)."""

    def hint_asked(self, result: str, profile: str, seconds: float) -> None:
        """A pod was signed and a kept ranking asked, which gave a ``hint`` or ``no_hint`` (1.36)."""

    def results_stored(self, profile: str, seconds: float) -> None:
        """The ranking of an attempt that found a node was kept, or dropped (1.36)."""

    def volumes_failed(self, operation: str) -> None:
        """Volumes of a pod could not be kept for it (``assume``), or bound (``bind``)."""

    def claim_created(self, status: str) -> None:
        """A claim for extended resources was created: ``success``, or not: ``failure`` (1.36)."""

    def scheduled(self, entry: Any, now: float) -> None:
        """A pod was bound. entry: what was popped of the queue; now: by the queue's clock."""

    def trouble(self, text: str) -> None:
        """Something failed that does not change the attempt; upstream writes it to its log."""


class Watch(msgspec.Struct, frozen=True, eq=False):
    """Runs calls that answer (status, value) and reports them for one profile."""

    observer: Observer
    profile: str
    clock: Callable[[], float]
    """Gives the time in seconds."""

    def point(self, point: str, status: Status | None, since: float) -> None:
        """All plugins of a point ran."""
        self.observer.point(point, self.profile, code_of(status).name, self.clock() - since)

    def plugin(
        self,
        point: str,
        plugin: str,
        state: CycleState | None,
        call: Callable[..., tuple[Status | None, T]],
        *args: Any,
        since: float | None = None,
    ) -> tuple[Status | None, T]:
        """One plugin: what ``call(*args)`` answers. since: when the work began, if before the call."""
        if not self.observer.measures:
            return call(*args)
        started = self.clock() if since is None else since
        answer = call(*args)
        code = code_of(answer[0])
        if state is not None and state.timed:
            self.observer.plugin(point, plugin, code.name, self.clock() - started)
        if point in COUNTED and not (code is Code.Skip and point in UNCOUNTED_SKIPS):
            self.observer.evaluated(point, plugin, self.profile)
        return answer

    def now(self) -> float:
        """The time in seconds; 0 where nothing is measured."""
        return self.clock() if self.observer.measures else 0.0

    def hint_asked(self, hint: str, since: float) -> None:
        """A kept ranking gave ``hint``; empty: none. since: when the pod began to be signed."""
        if self.observer.measures:
            self.observer.hint_asked("hint" if hint else "no_hint", self.profile, self.clock() - since)

    def results_stored(self, since: float) -> None:
        """The ranking of an attempt was kept, or dropped."""
        if self.observer.measures:
            self.observer.results_stored(self.profile, self.clock() - since)

    def laps(self, point: str) -> Laps | None:
        """Times points that follow each other, the first of them from now on; None where nothing is measured."""
        return Laps(self, point, self.clock()) if self.observer.measures else None


class Laps(msgspec.Struct, eq=False):
    """Points of one attempt that are run one after the other."""

    watch: Watch
    point: str
    """The one that is under way; empty: none is."""
    started: float

    def end(self, status: Status | None = None, then: str = "") -> None:
        """All plugins of the point ran; ``then`` is the next one."""
        now = self.watch.clock()
        if self.point:
            self.watch.observer.point(self.point, self.watch.profile, code_of(status).name, now - self.started)
        self.point, self.started = then, now
