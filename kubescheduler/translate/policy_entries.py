"""The predicates and priorities that a release selects for a policy or provider, each with where it comes from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from algorithmprovider.registry import Registry
from kubescheduler.config.policy.policy_1_20_names import (
    EQUAL,
    EVEN_SPREAD,
    PREDICATES,
    PRIORITIES,
    SELECTOR_SPREAD,
    DefaultLists,
    predicate_name,
    priority_name,
)
from kubescheduler.config.policy.policy_model import Policy, PredicateArgument, PriorityArgument


class PolicyEntry(msgspec.Struct, frozen=True):
    """A selected predicate or priority."""

    name: str
    path: str
    """``priorities[2] Name``, or for a default its name alone."""
    origin: str
    """The path as a comment says it, with the weight."""
    weight: int = 0
    """The weight; 0 for predicates."""
    predicate: PredicateArgument | None = None
    """The argument of a predicate, where there is one and it has an effect."""
    priority: PriorityArgument | None = None
    """The argument of a priority, where there is one and it has an effect."""
    idle: bool = False
    """Whether the release never runs it."""


Items = tuple[tuple[PolicyEntry, ...], tuple[PolicyEntry, ...]]
"""(predicates, priorities)."""


def entry_path(kind: str, at: int, name: str) -> str:
    """``priorities[2] Name``."""
    return f"{kind}[{at}] {name}"


def weighted_origin(path: str, weight: int) -> str:
    """The origin of an entry as a comment says it, with its weight."""
    return f"from {path} (weight {weight})"


def _default_predicate(name: str, who: str) -> PolicyEntry:
    return PolicyEntry(name, _default_path(name, who), f"{who}: {name}")


def _default_priority(name: str, who: str, weight: int) -> PolicyEntry:
    return PolicyEntry(name, _default_path(name, who), f"{who}: {name} (weight {weight})", weight)


def _default_path(name: str, who: str) -> str:
    return name if who.startswith("provider ") else f"{name} ({who})"


# --- 1.4 and 1.16 --------------------------------------------------------------------------


def provider_items(known: Registry, provider: str, who: str) -> Items:
    """What a provider of a legacy release bundles, predicates in the order they run, priorities by name."""
    bundle = known.provider(provider)
    predicates = (name for name in known.ordering if name in bundle.predicates)
    weights = ((name, known.priorities[name].weight) for name in sorted(bundle.priorities))
    return (
        tuple(_default_predicate(name, who) for name in predicates),
        tuple(_default_priority(name, who, weight) for name, weight in weights),
    )


def legacy_items(policy: Policy, known: Registry, defaults: Items, foreign: Collection[str] = ()) -> Items:
    """What a legacy release selects; ``defaults`` stand for lists that are not there, ``foreign`` for names of rules
    that are not registered here, and run where they are.

    Entries of one name are one: the last argument and the last weight count.
    """
    predicates, priorities = defaults
    if policy.predicates is not None:
        predicates = tuple(_merged(_predicates(policy)))
        if not known.runs_any_name:
            predicates = tuple(
                msgspec.structs.replace(item, idle=item.name not in (*known.ordering, *foreign)) for item in predicates
            )
    if policy.priorities is not None:
        priorities = tuple(_merged(_priorities(policy)))
    return predicates, priorities


def _predicates(policy: Policy) -> Iterator[PolicyEntry]:
    for at, entry in enumerate(policy.predicates or ()):
        path = entry_path("predicates", at, entry.name)
        yield PolicyEntry(entry.name, path, f"from {path}", predicate=entry.argument)


def _priorities(policy: Policy) -> Iterator[PolicyEntry]:
    for at, entry in enumerate(policy.priorities or ()):
        path = entry_path("priorities", at, entry.name)
        yield PolicyEntry(entry.name, path, weighted_origin(path, entry.weight), entry.weight, priority=entry.argument)


def _merged(items: Iterable[PolicyEntry]) -> Iterator[PolicyEntry]:
    last: dict[str, PolicyEntry] = {}
    for item in items:
        before = last.get(item.name, item)
        last[item.name] = msgspec.structs.replace(
            item, predicate=item.predicate or before.predicate, priority=item.priority or before.priority
        )
    yield from last.values()


# --- releases with plugins -----------------------------------------------------------------


def selected_as_plugins(policy: Policy, provider: str, lists: DefaultLists, release: str) -> Items:
    """What a release with plugins selects: arguments of names that it knows do not count.

    ``lists``, the release's own, as ``provider`` has them, stand for lists that are not there.
    """
    exchanged = lists.exchanged.get(provider, {})
    who = f"provider {provider}" if exchanged else f"default of {release}"
    return _plugin_predicates(policy, lists, who), _plugin_priorities(policy, lists, exchanged, who)


def provider_items_as_plugins(provider: str, lists: DefaultLists, release: str, *, selector_spread: bool) -> Items:
    """What a provider of a release with plugins has, as predicates and priorities.

    selector_spread: it has the plugin SelectorSpread; else what both priorities that spread pods stand for is its one
    PodTopologySpread, and is named so.
    """
    predicates, priorities = selected_as_plugins(Policy(), provider, lists, release)
    if selector_spread:
        return predicates, priorities
    spreading = {item.name: item for item in priorities if item.name in (SELECTOR_SPREAD, EVEN_SPREAD)}
    weight = max((item.weight for item in spreading.values()), default=0)
    who = f"provider {provider}" if lists.exchanged.get(provider) else f"default of {release}"
    one = _default_priority(PRIORITIES[EVEN_SPREAD], who, weight)
    return predicates, tuple(
        msgspec.structs.replace(one, name=item.name) if item.name in spreading else item for item in priorities
    )


def _plugin_predicates(policy: Policy, lists: DefaultLists, who: str) -> tuple[PolicyEntry, ...]:
    if policy.predicates is None:
        return tuple(_default_predicate(name, who) for name in PREDICATES if name in lists.predicates)
    items = list(_predicates(policy))
    known = [i for i in items if predicate_name(i.name) in PREDICATES]
    own = [i for i in items if predicate_name(i.name) not in PREDICATES]
    renamed = (msgspec.structs.replace(i, name=predicate_name(i.name), predicate=None) for i in known)
    return (*_merged(renamed), *own)


def _plugin_priorities(
    policy: Policy, lists: DefaultLists, exchanged: Mapping[str, str], who: str
) -> tuple[PolicyEntry, ...]:
    if policy.priorities is None:
        names = {exchanged.get(name, name): weight for name, weight in lists.priorities.items()}
        return tuple(_default_priority(name, who, names[name]) for name in sorted(names))
    items = [i for i in _priorities(policy) if i.name != EQUAL]
    known = [i for i in items if priority_name(i.name) in PRIORITIES]
    own = [i for i in items if priority_name(i.name) not in PRIORITIES]
    plain = (i for i in known if PRIORITIES[priority_name(i.name)] != i.name)
    renamed = (msgspec.structs.replace(i, name=priority_name(i.name), priority=None) for i in plain)
    return (*_merged(renamed), *own)
