"""What all plugins of a point came to, as the framework and the Handle's runner answer it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from clusterstate.growable import IntArray
from kubescheduler.core.status import Status

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
