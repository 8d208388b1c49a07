"""Which entries of a policy the plugins of release 1.20 come from."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kubescheduler.config.policy.policy_1_20_names import (
    EQUAL,
    LABEL_PLUGIN,
    LABEL_PREDICATE,
    PREDICATES,
    PRIORITIES,
    RATIO_PLUGIN,
    SELECTOR_SPREAD,
    SERVICE_PLUGIN,
    SERVICE_PREDICATE,
    predicate_name,
    priority_name,
)
from kubescheduler.config.policy.policy_model import PredicatePolicy, PriorityPolicy
from kubescheduler.framework.contract.profile import Point
from kubescheduler.translate.policy_entries import weighted_origin
from kubescheduler.translate.policy_mending import Mended
from kubescheduler.translate.spreading import SELECTOR_PLUGIN
from kubescheduler.translate.translation_model import origin

ALWAYS = "always added"
SCORING = (Point.PRE_SCORE, Point.SCORE)
ALWAYS_ADDED = ("PrioritySort", "DefaultPreemption", "DefaultBinder")


class Origins(msgspec.Struct, frozen=True):
    """Plugin → the entries it comes from. default: where a plugin without entries comes from."""

    filters: dict[str, list[str]]
    scores: dict[str, list[str]]
    default_filter: str
    default_score: str

    def of(self, plugin: str, point: Point) -> str:
        """As a comment says it."""
        found = self.scores if point in SCORING else self.filters
        if plugin in found:
            return origin(found[plugin])
        if plugin in ALWAYS_ADDED:
            return ALWAYS
        return self.default_score if point in SCORING else self.default_filter

    def of_args(self, plugin: str) -> str:
        """Of what is configured for a plugin by its entries."""
        return origin((*self.filters.get(plugin, ()), *self.scores.get(plugin, ()))) or self.default_score


def origins(found: Mended, default: str, *, selector_spread: bool = False) -> Origins:
    """Of a policy's plugins; ``default`` says where those of lists come from that it does not have.

    selector_spread: SelectorSpreadPriority is the plugin SelectorSpread.
    """
    out = Origins(
        {},
        {},
        default if found.predicates is None else ALWAYS,
        default if found.priorities is None else ALWAYS,
    )
    for path, predicate in found.predicates or ():
        for plugin in _filters(predicate):
            out.filters.setdefault(plugin, []).append(f"from {path}")
    for path, priority in found.priorities or ():
        own = selector_spread and priority_name(priority.name) == SELECTOR_SPREAD
        for plugin in (SELECTOR_PLUGIN,) if own else _scores(priority):
            out.scores.setdefault(plugin, []).append(weighted_origin(path, priority.weight))
    return out


def _filters(entry: PredicatePolicy) -> tuple[str, ...]:
    name = predicate_name(entry.name)
    if name not in PREDICATES and entry.argument is not None:
        name = SERVICE_PREDICATE if entry.argument.service_affinity is not None else LABEL_PREDICATE
    return PREDICATES.get(name, ())


def _scores(entry: PriorityPolicy) -> Iterator[str]:
    name = priority_name(entry.name)
    if name in PRIORITIES:
        yield PRIORITIES[name]
    elif entry.argument is not None and name != EQUAL:
        if entry.argument.service_anti_affinity is not None:
            yield SERVICE_PLUGIN
        elif entry.argument.label_preference is not None:
            yield LABEL_PLUGIN
        else:
            yield RATIO_PLUGIN
