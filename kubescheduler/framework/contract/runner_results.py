"""What the plugins of a point came to, and the texts of what failed."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from clusterstate.growable import IntArray
from kubecel.api_names import go_quote
from kubescheduler.core.status import Status
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


def filter_failed_1_20(plugin: str, pod: str, text: str) -> str:
    """A Filter plugin's answer is neither Success nor a rejection. pod: its name."""
    return f"running {go_quote(plugin)} filter plugin for pod {go_quote(pod)}: {text}"


def filter_failed_1_36(plugin: str, pod: str, text: str) -> str:  # noqa: ARG001
    """The text of 1.36 for a Filter plugin that failed."""
    return f"running {go_quote(plugin)} filter plugin: {text}"


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
