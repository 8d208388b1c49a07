"""Which scores weigh how much before and after, and whether packing still wins: the classic accident of migrations.

A plugin that packs pods on full nodes is easily outweighed by others that spread them, each harmless on its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import msgspec

from kubescheduler.config.component_format import ComponentFormat
from kubescheduler.extender.config import ExtenderConfig
from kubescheduler.translate.policy_entries import SELECTOR_SPREADS, PolicyEntry, is_strategy, item_role
from kubescheduler.translate.translation_model import Emphasis, Note, NoteKind, Role, WeightedScore, default_weights

SPREAD = "PodTopologySpread"
UNWEIGHED = ("NodePreferAvoidPodsPriority", "NodePreferAvoidPods", "EqualPriority")
"""Scores that are the same for all nodes but annotated ones."""
BALANCED = "BalancedResourceAllocation"
STAYING = (BALANCED, "LeastRequestedPriority", "NodeResourcesBalancedAllocation", "NodeResourcesLeastAllocated")
"""Scores that spread pods and that every release has, whatever their names."""
NOT_SCORES = ("VolumeBinding", "DynamicResources")
"""Plugins that score only pods with claims of devices, or not at all as the feature gates are."""


class Suggestion(msgspec.Struct, frozen=True):
    """Changes with which packing keeps the highest share."""

    weights: Mapping[str, int]
    """Plugin → its new weight."""
    no_defaults: bool
    """Whether PodTopologySpread gets defaultingType List and no constraints."""

    @property
    def text(self) -> str:
        """As advice."""
        parts = [f"give {plugin} weight {weight}" for plugin, weight in self.weights.items()]
        if self.no_defaults:
            parts.append(f"give {SPREAD} defaultingType List without constraints")
        return " and ".join(parts)


KEPT = "--keep-emphasis: {} instead of {}"
"""What is said where a suggestion is written: the new value, the old one."""


def kept_note(suggestion: Suggestion | None, path: str = "--keep-emphasis") -> Note:
    """What ``--keep-emphasis`` has written."""
    if suggestion is None:
        return Note(NoteKind.EXACT, path, "nothing has to change to keep packing on top")
    return Note(NoteKind.APPROXIMATE, path, f"written: {suggestion.text}")


class Verdict(msgspec.Struct, frozen=True):
    """What becomes of the emphasis of a scheduler that packs pods."""

    notes: tuple[Note, ...] = ()
    """Notes for the user."""
    suggestion: Suggestion | None = None
    """None when nothing has to change."""


def policy_emphasis(items: Sequence[PolicyEntry], extenders: Sequence[ExtenderConfig]) -> Emphasis:
    """Of a policy's or provider's priorities, and the extenders that score."""
    parts = (WeightedScore(item.name, item.weight, _role(item)) for item in items if item.name not in UNWEIGHED)
    return Emphasis((*parts, *extender_parts(extenders)))


def extender_parts(extenders: Sequence[ExtenderConfig]) -> Iterator[WeightedScore]:
    """The extenders that score; their highest score is that of the priorities."""
    for extender in extenders:
        if extender.prioritize_verb and extender.weight:
            yield WeightedScore("extender", extender.weight, detail=extender.name)


def _role(item: PolicyEntry) -> Role:
    if is_strategy(item):
        return item_role(item)
    against = item.priority is not None and item.priority.service_anti_affinity is not None
    spreads = item.priority is None and item.name in (*SELECTOR_SPREADS, BALANCED)
    return Role.SPREADS if against or spreads else Role.OTHER


# --- the accident --------------------------------------------------------------------------


def defaults_notes(before: Emphasis, after: Emphasis, form: ComponentFormat) -> list[Note]:
    """What becomes of the default scores where the source packs nodes; form: of a target without providers."""
    return [_defaults_note(after, form)] if before.of(Role.PACKS) and after.of(Role.PACKS) else []


def judge(before: Emphasis, after: Emphasis) -> Verdict:
    """Whether what packs in ``before`` still does in ``after``, the shares of the target's scores."""
    packers = after.of(Role.PACKS)
    if not before.of(Role.PACKS) or not packers:
        return Verdict()
    outweighed = after.weight(Role.SPREADS) >= after.weight(Role.PACKS)
    thinner = _share(after) < _share(before)
    if not outweighed and not thinner:
        return Verdict()
    suggestion = _suggestion(before, after)
    kind = NoteKind.APPROXIMATE if thinner else NoteKind.CHECK
    advice = f"to keep packing on top, {suggestion.text}: --keep-emphasis writes that" if suggestion else ""
    text = _text(before, after, outweighed=outweighed)
    return Verdict((Note(kind, _titles(packers), text, advice),), suggestion)


def _share(emphasis: Emphasis) -> Fraction:
    """Of what packs; nothing where weights that 32 bits do not hold have become 0 or less."""
    return Fraction(emphasis.weight(Role.PACKS), emphasis.sum) if emphasis.sum > 0 else Fraction()


def _titles(parts: Sequence[WeightedScore]) -> str:
    return " and ".join(dict.fromkeys(part.title for part in parts))


def _text(before: Emphasis, after: Emphasis, *, outweighed: bool) -> str:
    had, has = (_numbers(emphasis, emphasis.of(Role.PACKS)) for emphasis in (before, after))
    text = f"packs pods with {has} of the highest total; before it was {had}"
    spreaders = after.of(Role.SPREADS)
    if outweighed:
        spread_by = ", ".join(f"{part.title} {part.weight}" for part in spreaders)
        was = before.of(Role.SPREADS)
        earlier = f"before, {_numbers(before, was)} spread" if was else "before, nothing spread"
        text += f". What spreads them weighs as much or more: {spread_by} ({_numbers(after, spreaders)}; {earlier})"
    return text


def _numbers(emphasis: Emphasis, parts: Sequence[WeightedScore]) -> str:
    weight = sum(part.weight for part in parts)
    return f"weight {weight} of {emphasis.sum}, {emphasis.percent(weight):.0f}%"


def _defaults_note(after: Emphasis, form: ComponentFormat) -> Note:
    """What would become of packing beside the plugins that the target has by default."""
    weights = default_weights(form)
    others = sum(weight for name, weight in weights.items() if name not in (*NOT_SCORES, "NodeResourcesFit"))
    packs = after.weight(Role.PACKS)
    text = (
        f"packs with weight {packs}. Beside the default scores of {form.release}, which weigh {others}, that would be "
        f"{100 * packs / (packs + others):.0f}% of the highest total: so every score that the policy does not have is "
        "disabled"
    )
    return Note(NoteKind.EXACT, _titles(after.of(Role.PACKS)), text)


def _suggestion(before: Emphasis, after: Emphasis) -> Suggestion | None:
    """Without the default constraints of PodTopologySpread, and so much weight that packing wins as it did before."""
    left = [part for part in after.of(Role.SPREADS) if part.name != SPREAD]
    no_defaults = len(left) < len(after.of(Role.SPREADS))
    resisting = sum(part.weight for part in left)
    staying = {*STAYING, *(part.name for part in left)}
    stayed = sum(part.weight for part in before.of(Role.SPREADS) if part.name in staying)
    packs, packed = after.weight(Role.PACKS), before.weight(Role.PACKS)
    needed = packs
    if resisting:
        as_before = -(-packed * resisting // stayed) if stayed else 0
        needed = max(packs, resisting + 1, as_before)
    weights: dict[str, int] = {}
    if needed > packs:
        heaviest = max(after.of(Role.PACKS), key=lambda part: part.weight)
        weights[heaviest.name] = heaviest.weight + needed - packs
    return Suggestion(weights, no_defaults) if weights or no_defaults else None
