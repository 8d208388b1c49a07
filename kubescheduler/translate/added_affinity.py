"""Labels that nodes must or should have, as the addedAffinity of NodeAffinity of 1.36."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from kubescheduler.translate.policy_entries import PolicyEntry
from kubescheduler.translate.translation_model import Note, NoteKind, WithOrigin, origin

NODE_AFFINITY = "NodeAffinityPriority"
MAX_TERM_WEIGHT = 100
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeScore(msgspec.Struct, frozen=True):
    """The score of NodeAffinity; with weight 0 there is none."""

    weight: int = 0
    origin: str = ""
    preferred: tuple[WithOrigin, ...] = ()
    """The preferred terms of the added affinity."""
    notes: tuple[Note, ...] = ()


def required_expressions(items: Sequence[PolicyEntry]) -> tuple[WithOrigin, ...]:
    """What the labelsPresence arguments among these predicates ask of every node, all at once."""
    found = []
    for item in items:
        presence = item.predicate.labels_presence if item.predicate else None
        if presence is not None:
            found += [_expression(label, presence.presence, item.origin) for label in presence.labels]
    return tuple(found)


def node_score(items: Sequence[PolicyEntry]) -> NodeScore:
    """NodeAffinityPriority and labelPreference arguments as one score.

    Where some node has all the preferred labels the scores are those of before; their sum is the plugin's weight.
    """
    if not items:
        return NodeScore()
    preferring = [item for item in items if item.priority is not None]
    weight = sum(item.weight for item in items)
    heaviest = max((item.weight for item in preferring), default=0)
    scale = max(1.0, heaviest / MAX_TERM_WEIGHT)
    terms = tuple(_preferred(item, max(1, round(item.weight / scale))) for item in preferring)
    source = origin(item.origin for item in items)
    return NodeScore(weight, source, terms, tuple(_note(item, alone=len(items) == 1) for item in preferring))


def added_affinity(required: Sequence[WithOrigin], preferred: Sequence[WithOrigin]) -> WithOrigin | None:
    """The args of NodeAffinity, None if there is nothing to add."""
    sides: dict[str, Any] = {}
    if required:
        source = origin(expression.origin for expression in required)
        sides[REQUIRED] = WithOrigin({"nodeSelectorTerms": [{"matchExpressions": list(required)}]}, source)
    if preferred:
        sides[PREFERRED] = WithOrigin(list(preferred), origin(term.origin for term in preferred))
    if not sides:
        return None
    return WithOrigin({"addedAffinity": sides}, origin(side.origin for side in sides.values()))


def _expression(label: str, presence: bool, source: str) -> WithOrigin:
    return WithOrigin({"key": label, "operator": "Exists" if presence else "DoesNotExist"}, source)


def _preferred(item: PolicyEntry, weight: int) -> WithOrigin:
    preference = item.priority.label_preference if item.priority else None
    assert preference is not None
    expression = _expression(preference.label, preference.presence, item.origin)
    return WithOrigin({"weight": weight, "preference": {"matchExpressions": [expression]}}, item.origin)


def _note(item: PolicyEntry, *, alone: bool) -> Note:
    text = (
        "NodeAffinity has no score per label: the preferences of the configuration and those of the pod are added up, "
        "and the best node gets 100"
    )
    if alone:
        text += "; a pod without preferred node affinity of its own is scored as before"
    advice = "see with kubescheduler compare where pods with preferred node affinity go"
    return Note(NoteKind.APPROXIMATE, item.path, text, advice)
