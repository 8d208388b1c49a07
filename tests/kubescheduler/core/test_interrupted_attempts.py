"""Attempts that an interrupt ends anywhere: what was left half done counts for nothing."""

from __future__ import annotations

import copy
import random
from typing import Any
from unittest.mock import patch

import pytest

from clusterstate.topology.topology_scope import ScopeReading
from kubescheduler.core.answers import CheckState, ScoreState
from kubescheduler.core.nominated import KeptJudgements, RowWatch
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.shared_totals import SharedTotals
from kubescheduler.core.total_tables import AmountTable, TotalTable
from tests.kubescheduler.core.test_totals import DOMAINS, Worlds, pod, said
from tests.support.amount_steps import WITHOUT_TAINTS

PLACES = {
    "fitting": (ClassState, "_fit"),
    "a check": (CheckState, "_refresh"),
    "a score": (ScoreState, "_map"),
    "domains": (ScopeReading, "changed_rows"),
    "sorting": (SharedTotals, "_sort_scores"),
    "patching": (SharedTotals, "_patched_by_rows"),
    "patching by amounts": (SharedTotals, "_patched_by_amounts"),
    "amounts": (AmountTable, "put"),
    "totals": (TotalTable, "_put_totals"),
    "judging": (KeptJudgements, "_take"),
    "watching": (RowWatch, "changed"),
}
"""Where interrupts come: (class, method)."""
NOMINATED: list[tuple[Any, ...]] = [
    *[("run", "plain", 2), ("nominate", 3), ("run", "plain", 2), ("put", (3, 1, "")), ("run", "large", 3)],
    *[("nominate", 4), ("run", "large", 2), ("drop", 0), ("run", "plain", 2), ("nominate", 5), ("run", "large", 2)],
]
"""Pods that others leave room for."""
FILLING = [
    ("service", False),
    *WITHOUT_TAINTS,
    ("run", "plain", 6),
    ("run", "large", 6),
    ("drop", 2),
    ("run", "plain", 6),
]
"""Pods of which all follows from the amounts on nodes."""


class Interrupting(Worlds):
    """Every second attempt is interrupted before or after a method is called, and made again."""

    def __init__(self, engine: str, place: str) -> None:
        super().__init__(engine, "first")
        self.place = place
        self.interrupted = 0

    def decide(self, kind: str, *, late: bool) -> None:
        """Decides one more pod, as a scheduler does that was never interrupted, and places it."""
        one = self.decode(pod(f"p{len(self.made)}", kind))
        self._attempt(one, random.Random(len(self.made)))
        decision = self.running.decide(one)
        anew = self.engine.scheduler(self.cache, copy.deepcopy(self.tie)).decide(one)
        assert said(decision) == said(anew)
        self.made.append((decision, said(anew)))
        if decision.host is not None:
            self.placed.append(self.cache.assume_pod(one, decision.host))

    def _attempt(self, one: Any, rng: random.Random) -> None:
        """An attempt that is interrupted, if it comes to the place."""
        owner, name = PLACES[self.place]
        plain, after = getattr(owner, name), rng.random() < 0.5

        def interrupting(*given: Any, **named: Any) -> Any:
            comes = rng.random() < 0.4
            if comes and not after:
                raise KeyboardInterrupt
            found = plain(*given, **named)
            if comes:
                raise KeyboardInterrupt
            return found

        with patch.object(owner, name, interrupting):
            try:
                self.running.decide(one)
            except KeyboardInterrupt:
                self.interrupted += 1


@pytest.mark.parametrize("place", PLACES)
def test_an_interrupted_attempt_leaves_nothing_half_done(place: str) -> None:
    """The next attempt decides as one that remembers nothing."""
    interrupted = 0
    for engine in ("1.16", "1.36"):
        for steps in (DOMAINS, NOMINATED, FILLING):
            worlds = Interrupting(engine, place)
            for step in [("service", True), *steps]:
                worlds.step(*step)
            interrupted += worlds.interrupted
    assert interrupted > 3
