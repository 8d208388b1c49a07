"""What all plugins of a point came to, as the framework and the Handle's runner answer it."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import numpy as np

from clusterstate.growable import IntArray
from kubescheduler.core.status import Status

Names = frozenset[str]
"""Of nodes."""


@attrs.frozen
class PreFilterOutcome:
    """What all PreFilter plugins came to."""

    status: Status | None = None
    """What ends the attempt, with the code Error by giving it up; None: nodes are to be looked at."""
    nodes: Names | None = None
    """The names of the only nodes to look at; None: all."""
    plugins: tuple[str, ...] = ()
    """The plugins that gave names, sorted."""
    last: str = ""
    """The plugin after which no other was asked, empty when all were."""


@attrs.frozen(eq=False)
class PluginScores:
    """One plugin's scores of the nodes that fit: (n,) int64 as given, and (n,) int64 normalised, before ``weight``."""

    raw: IntArray
    normalized: IntArray
    weight: int


@attrs.frozen(eq=False)
class ScoreOutcome:
    """What all Score plugins came to."""

    status: Status | None = None
    scores: Mapping[str, PluginScores] = attrs.field(factory=dict)
    totals: IntArray = attrs.field(factory=lambda: np.zeros(0, np.int64))
    """(n,) int64 weighted sums, wrapping at 64 bits."""
