"""Which priority of one engine is the counterpart of which of another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from priorities.score_evidence import RULES, SUBJECTS
from priorities.types import PriorityConfig

RULES_OF_OWN_NAMES: Mapping[str, str] = {
    "priorities.capacity_ratio": "ratio",
    "priorities.node_label": "labels",
    "priorities.service_anti_affinity": "service labels",
}
"""Where the map function of a priority is at home that a policy gave a name of its own → its rule."""

SAME_NUMBERS = frozenset({"pod affinity", "node affinity", "taints"})
"""Rules that count alike in every release and differ in how the counts are stretched, if at all."""

CURVED = ({"ratio"}, {"ratio", "fit"}, {"service labels"})
"""Pairs of rules whose formula is the same if the new score, cut to 0-10, is the old one."""

Names = tuple[tuple[str, str], ...]
"""(name, rule) of each priority, every name once."""

EXTENDER = "extender "
"""Before an extender's name."""


class Pair(msgspec.Struct, frozen=True):
    """Priorities that are counterparts; one side may be empty."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    extender: bool = False
    stretched: bool = False
    """Whether both count alike before normalisation."""
    curved: bool = False
    """Whether both score by the same kind of curve or share, whose parameters a policy gives."""

    @property
    def single(self) -> bool:
        """One on each side."""
        return len(self.old) == len(self.new) == 1


def rule_of(name: str, config: PriorityConfig | None = None) -> str:
    """What a priority is about; its own name when nobody else does the same."""
    if name in RULES:
        return RULES[name]
    home = "" if config is None else getattr(config.map, "__module__", "")
    return RULES_OF_OWN_NAMES.get(home, name)


@lru_cache(maxsize=256)
def paired(old: Names, new: Names) -> tuple[Pair, ...]:
    """Counterparts, in order of the old names and then of the new ones that have none; worked out once for all pods.

    First the same name, then the same rule, then the same subject; every name is in just one
    pair, and several of one rule share a pair.
    """
    left_old, left_new = dict(old), dict(new)
    pairs: list[Pair] = []
    for name in [name for name in left_old if name in left_new]:
        pairs.append(_pair((name,), (name,), (left_old.pop(name), left_new.pop(name))))
    for subjects in ({}, SUBJECTS):
        groups = _groups(left_old, subjects), _groups(left_new, subjects)
        for subject in [subject for subject in groups[0] if subject in groups[1]]:
            names = groups[0][subject], groups[1][subject]
            rules = [left_old.pop(name) for name in names[0]] + [left_new.pop(name) for name in names[1]]
            pairs.append(_pair(*names, rules))
    pairs += (Pair((name,), (), name.startswith(EXTENDER)) for name in left_old)
    pairs += (Pair((), (name,), name.startswith(EXTENDER)) for name in left_new)
    place = {name: at for at, (name, _) in enumerate(old)}
    return tuple(sorted(pairs, key=lambda pair: min((place[name] for name in pair.old), default=len(place))))


def _groups(rules: Mapping[str, str], subjects: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, rule in rules.items():
        subject = subjects.get(rule, rule)
        found[subject] = (*found.get(subject, ()), name)
    return found


def _pair(old: Sequence[str], new: Sequence[str], rules: Iterable[str]) -> Pair:
    kinds = set(rules)
    single = len(old) == len(new) == 1
    return Pair(
        tuple(old),
        tuple(new),
        extender=old[0].startswith(EXTENDER),
        stretched=single and len(kinds) == 1 and kinds <= SAME_NUMBERS,
        curved=single and kinds in CURVED,
    )
