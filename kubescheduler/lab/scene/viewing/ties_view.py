"""Nodes with the highest total, and by what one of them is chosen."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from kubescheduler.core.decision import Decision
from kubescheduler.core.selection import RandomTie, ReservoirTie, RoundRobinTie
from kubescheduler.engine.engine_contract import Engine
from kubescheduler.framework.deciding.heap_tie import HeapTie
from kubescheduler.lab.scene.scene_side import Side

MOST_TIED = 100
"""Tied nodes that are named."""

CHOICES: Mapping[type, str] = {
    RoundRobinTie: "takes them in turn, by descending name, one further with each pod it schedules",
    ReservoirTie: "draws one of them, each with equal chance",
    HeapTie: "takes the one at the root of the heap that it ranks nodes in, which follows from the order in which "
    "it came to them",
    RandomTie: "draws one of them, each with equal chance",
}
"""How a release chooses among equal totals."""


def ties_entry(scored: Decision, engine: Engine, side: Side) -> dict[str, Any] | None:
    """The nodes that tie; None where one is alone at the top, or nothing was scored."""
    if not len(scored.totals) or int((scored.totals == scored.totals.max()).sum()) < 2:
        return None
    best = scored.best()
    return {"nodes": best[:MOST_TIED], "total": len(best), "text": _text(scored, engine, side, len(best))}


def _text(scored: Decision, engine: Engine, side: Side, count: int) -> str:
    total = int(scored.totals.max())
    upstream = f"kube-scheduler {scored.release} {CHOICES[type(engine.upstream_tie(random.Random(0)))]}"
    here = {
        "first": f"here the first by name is taken, so that the answer repeats; {upstream}",
        "random": f"here any of them is drawn; {upstream}",
        "upstream": upstream,
    }[side.tie_break]
    return f"{count} nodes have the highest total, {total}: {here}."
