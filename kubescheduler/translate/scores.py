"""Priorities as Score plugins of 1.36."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kubescheduler.config.policy.policy_1_20_names import PRIORITIES, priority_name
from kubescheduler.framework.plugins.node_resources_fit import ScoringStrategy
from kubescheduler.translate.added_affinity import NODE_AFFINITY, NodeScore, node_score
from kubescheduler.translate.notes import PRIORITIES_1_36, SCALE, UNKNOWN, note
from kubescheduler.translate.policy_entries import PolicyEntry
from kubescheduler.translate.policy_source import Source
from kubescheduler.translate.scoring_strategy import Strategy, combined, is_strategy
from kubescheduler.translate.spreading import EVEN_SPREAD, SELECTOR_SPREAD, Spread, notes_from_1_20, spread
from kubescheduler.translate.translation_model import Note, NoteKind, WithOrigin

FIT = "NodeResourcesFit"
SPREAD = "PodTopologySpread"
MAX_WEIGHT = 2**31 - 1
PLAIN: dict[str, str] = {
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "ImageLocalityPriority": "ImageLocality",
    "InterPodAffinityPriority": "InterPodAffinity",
    "TaintTolerationPriority": "TaintToleration",
}
"""Priority → the Score plugin that it is in 1.36."""


class TranslatedScores(msgspec.Struct, frozen=True):
    """A Score plugin's weight, and the entries it comes from."""

    weight: int
    origin: str


class Scores(msgspec.Struct, frozen=True):
    """The priorities as scores."""

    plugins: Mapping[str, TranslatedScores]
    """Score plugin → its weight."""
    strategy: WithOrigin | None
    """The scoring strategy of NodeResourcesFit, if it scores."""
    scoring: ScoringStrategy | None
    spread: Spread
    affinity: NodeScore
    notes: tuple[Note, ...]


def scores_1_36(source: Source) -> Scores:
    """The Score plugins for what a policy or provider selects."""
    items = source.priorities
    legacy = source.record.legacy is not None
    full = [item for item in items if is_strategy(item)]
    strategy = combined(full, overfull_counts_nothing=legacy) if full else None
    spreading = _spread(items, source)
    affinity = node_score([item for item in items if _prefers_nodes(item)])
    plugins = {PLAIN[item.name]: TranslatedScores(item.weight, item.origin) for item in items if _is_plain(item)}
    if strategy is not None:
        plugins[FIT] = TranslatedScores(strategy.weight, strategy.origin)
    plugins[SPREAD] = TranslatedScores(spreading.weight, spreading.origin)
    plugins["NodeAffinity"] = TranslatedScores(affinity.weight, affinity.origin)
    plugins = {name: scored for name, scored in plugins.items() if scored.weight}
    scaled, scale_notes = _scaled(plugins)
    notes = [SCALE] if legacy and items else []
    for part in (strategy, spreading, affinity):
        notes += part.notes if part is not None else ()
    notes += [*_notes(items), *_hard_weight_notes(source, plugins), *scale_notes]
    said = None if strategy is None or FIT not in plugins else written_strategy(strategy)
    scoring = strategy.strategy if strategy is not None and FIT in plugins else None
    return Scores(scaled, said, scoring, spreading, affinity, tuple(notes))


def _is_plain(item: PolicyEntry) -> bool:
    return item.priority is None and item.name in PLAIN


def _prefers_nodes(item: PolicyEntry) -> bool:
    return item.priority.label_preference is not None if item.priority else item.name == NODE_AFFINITY


def _spread(items: Sequence[PolicyEntry], source: Source) -> Spread:
    bare = [item for item in items if item.priority is None]
    selecting = [item for item in bare if item.name in SELECTOR_SPREAD]
    even = [item for item in bare if item.name == EVEN_SPREAD]
    against = [item for item in items if item.priority is not None and item.priority.service_anti_affinity is not None]
    if source.record.legacy is not None:
        return spread(selecting, even, against, one_plugin=False)
    found = spread(selecting, even, against, one_plugin=not source.selector_spread)
    notes = notes_from_1_20(selecting, even, selector_spread=source.selector_spread)
    return msgspec.structs.replace(found, notes=(*notes, *found.notes))


def written_strategy(strategy: Strategy) -> WithOrigin:
    """As the args have it."""
    scoring = strategy.strategy
    document: dict[str, Any] = {
        "type": scoring.type,
        "resources": [{"name": name, "weight": weight} for name, weight in scoring.resources],
    }
    if scoring.shape is not None:
        shape = [{"utilization": utilization, "score": score} for utilization, score in scoring.shape]
        document["requestedToCapacityRatio"] = {"shape": shape}
    return WithOrigin(document, strategy.origin)


def _scaled(plugins: dict[str, TranslatedScores]) -> tuple[dict[str, TranslatedScores], list[Note]]:
    """Weights that fit 32 bits, in the ratios they had."""
    largest = max((scored.weight for scored in plugins.values()), default=0)
    if largest <= MAX_WEIGHT:
        return plugins, []
    scaled = {
        name: msgspec.structs.replace(scored, weight=max(1, scored.weight * MAX_WEIGHT // largest))
        for name, scored in plugins.items()
    }
    text = f"weights have 32 bits in 1.36: all of them are divided by about {largest / MAX_WEIGHT:.1f}"
    return scaled, [Note(NoteKind.APPROXIMATE, "priorities", text, "choose smaller weights")]


def own_priorities(items: Iterable[PolicyEntry]) -> Iterator[PolicyEntry]:
    """Those that no release comes with."""
    for item in items:
        known = item.name in PRIORITIES_1_36 or priority_name(item.name) in PRIORITIES or is_strategy(item)
        if item.priority is None and not known:
            yield item


# --- notes ---------------------------------------------------------------------------------


def _notes(items: Sequence[PolicyEntry]) -> Iterator[Note]:
    for item in (item for item in items if item.priority is None):
        if item.name in PRIORITIES_1_36:
            yield note(PRIORITIES_1_36[item.name], item.path)
    yield from (note(UNKNOWN, item.path) for item in own_priorities(items))


def _hard_weight_notes(source: Source, plugins: Mapping[str, TranslatedScores]) -> Iterator[Note]:
    if source.hard_origin and "InterPodAffinity" not in plugins:
        text = "it has no effect without InterPodAffinityPriority, neither before nor after"
        yield Note(NoteKind.EXACT, source.hard_origin, text)
