"""Score plugins of 1.20 that look at how full a node is, as the scoring strategy of NodeResourcesFit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kubescheduler.config.component.config_schema import ALL
from kubescheduler.config.policy.policy_model import (
    PriorityArgument,
    RequestedToCapacityRatio,
    ResourceWeight,
    UtilizationPoint,
)
from kubescheduler.framework.args.args_type import CPU_AND_MEMORY
from kubescheduler.translate.policy_entries import PolicyEntry
from kubescheduler.translate.scores import written_strategy
from kubescheduler.translate.scoring_strategy import FALLING, LEAST, MOST, RISING, Shape, combined
from kubescheduler.translate.translation_model import Note, NoteKind, WithOrigin

FIT = "NodeResourcesFit"
LEAST_PLUGIN = "NodeResourcesLeastAllocated"
FULLNESS: dict[str, tuple[str, Shape]] = {
    LEAST_PLUGIN: (LEAST, FALLING),
    "NodeResourcesMostAllocated": (MOST, RISING),
    "RequestedToCapacityRatio": ("", ()),
}
"""Plugin → the priority that it was, and its shape."""


class FitUpgrade(msgspec.Struct, frozen=True):
    """How NodeResourcesFit scores."""

    weight: int
    """0: not at all."""
    listed: bool = False
    """Whether the profile has to list it among its scores."""
    args: WithOrigin | None = None
    """The scoring strategy, if it is not the default one."""
    origin: str = ""
    notes: tuple[Note, ...] = ()


def fit_upgrade(
    score: tuple[Sequence[Mapping[str, Any]], Sequence[str]], args: Mapping[str, Any], path: str, *, least: bool
) -> FitUpgrade:
    """Of a profile's (enabled entries, disabled names) at score and its decoded args.

    least: NodeResourcesLeastAllocated is a default with weight 1; else these plugins are not, and without any of them
    nothing has to change.
    """
    enabled, disabled = score
    items = []
    for at, entry in enumerate(enabled):
        if (name := entry.get("name")) in FULLNESS:
            items.append(_item(str(name), entry.get("weight") or 1, f"{path}.plugins.score.enabled[{at}] {name}", args))
    kept = least and LEAST_PLUGIN not in disabled and ALL not in disabled
    if kept:
        items.insert(0, _item(LEAST_PLUGIN, 1, f"{LEAST_PLUGIN} (default)", args))
    if not items:
        return FitUpgrade(0)
    if kept and len(items) == 1 and LEAST_PLUGIN not in args:
        return FitUpgrade(1)
    found = combined(items, overfull_counts_nothing=False)
    text = "it is a scoring strategy of NodeResourcesFit now, with the same formula"
    notes = found.notes or tuple(Note(NoteKind.EXACT, item.path, text) for item in items)
    return FitUpgrade(found.weight, listed=True, args=written_strategy(found), origin=found.origin, notes=notes)


def _item(name: str, weight: int, path: str, args: Mapping[str, Any]) -> PolicyEntry:
    priority, shape = FULLNESS[name]
    given = args.get(name)
    resources = tuple(getattr(given, "resources", ()) or ())
    shape = tuple(getattr(given, "shape", ()) or shape)
    if priority and (not resources or dict(resources) == dict(CPU_AND_MEMORY)):
        return PolicyEntry(priority, path, path, weight)
    ratio = RequestedToCapacityRatio(
        tuple(UtilizationPoint(*point) for point in shape), tuple(ResourceWeight(*each) for each in resources)
    )
    return PolicyEntry(name, path, path, weight, priority=PriorityArgument(requested_to_capacity_ratio=ratio))
