"""NodeLabel and ServiceAffinity of 1.20 as args of plugins that 1.36 has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubescheduler.config.component.config_schema import PluginConfig
from kubescheduler.config.policy.policy_model import (
    LabelPreference,
    LabelsPresence,
    PredicateArgument,
    PriorityArgument,
    ServiceAntiAffinity,
)
from kubescheduler.framework.plugins.node_label import NodeLabelArgs
from kubescheduler.framework.plugins.service_affinity import ServiceAffinityArgs
from kubescheduler.translate.added_affinity import added_affinity, node_score, required_expressions
from kubescheduler.translate.filters import service_affinity_note
from kubescheduler.translate.policy_entries import PolicyEntry
from kubescheduler.translate.spreading import spread
from kubescheduler.translate.translation_model import Note, WithOrigin

LABELS = ("NodeLabel", "ServiceAffinity")
PluginArgs = tuple[str, dict[str, Any], str]
"""(plugin, its args, where they come from)."""


def label_args(
    config: Sequence[PluginConfig], scores: Sequence[Mapping[str, Any]], path: str, notes: list[Note]
) -> Iterator[PluginArgs]:
    """What the args of those plugins become; ``scores`` are the enabled Score plugins, with their weights."""
    weights = {entry.get("name"): entry.get("weight") or 1 for entry in scores}
    for at, entry in enumerate(config):
        where = f"{path}.pluginConfig[{at}] {entry.name}"
        if isinstance(entry.args, NodeLabelArgs):
            yield from _node_label(entry.args, weights.get("NodeLabel", 0), where, notes)
        elif isinstance(entry.args, ServiceAffinityArgs):
            yield from _service_affinity(entry.args, weights.get("ServiceAffinity", 0), where, notes)


def _node_label(args: NodeLabelArgs, weight: int, path: str, notes: list[Note]) -> Iterator[PluginArgs]:
    required = [
        PolicyEntry("NodeLabel", path, path, predicate=PredicateArgument(labels_presence=LabelsPresence(labels, there)))
        for labels, there in ((args.present_labels, True), (args.absent_labels, False))
        if labels
    ]
    preferred = [
        PolicyEntry(
            "NodeLabel", path, path, weight, priority=PriorityArgument(label_preference=LabelPreference(label, there))
        )
        for labels, there in ((args.present_labels_preference, True), (args.absent_labels_preference, False))
        for label in labels
        if weight
    ]
    score = node_score(preferred)
    notes += score.notes
    found = added_affinity(required_expressions(required), score.preferred)
    if found is not None:
        yield "NodeAffinity", dict(found.value), path


def _service_affinity(args: ServiceAffinityArgs, weight: int, path: str, notes: list[Note]) -> Iterator[PluginArgs]:
    if args.affinity_labels:
        notes.append(service_affinity_note(args.affinity_labels, path))
    against = [
        PolicyEntry(
            "ServiceAffinity",
            path,
            path,
            weight,
            priority=PriorityArgument(service_anti_affinity=ServiceAntiAffinity(label)),
        )
        for label in args.anti_affinity_labels_preference
        if weight
    ]
    if against:
        found = spread((), (), against, one_plugin=False)
        notes += found.notes
        value = found.args.value
        yield (
            "PodTopologySpread",
            {**value, "defaultConstraints": [WithOrigin(c.value, path) for c in found.constraints]},
            path,
        )
