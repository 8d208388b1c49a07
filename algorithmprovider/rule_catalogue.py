"""Every predicate and priority of 1.4 and 1.16 there is, under any feature gates, and the reasons they give."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

import msgspec

from algorithmprovider import registry
from algorithmprovider.algorithms_1_4 import ALGORITHMS as ALGORITHMS_1_4
from algorithmprovider.registry import Registry
from predicates.node_identity import label_presence_factory, label_presence_factory_1_4
from predicates.resources import insufficient
from predicates.service_affinity import service_affinity_factory, service_affinity_factory_1_4
from predicates.types import FitPredicateFactory
from priorities.capacity_ratio import capacity_ratio_factory
from priorities.node_labels import node_label_factory
from priorities.service_anti_affinity import service_anti_affinity_factory, service_anti_affinity_factory_1_4
from priorities.types import PriorityFactory

SOURCE = "Upstream:"
"""Where the part of a docstring begins that is for developers: the function and release that it is, shapes, errors."""


def rule_text(rule: Callable[..., Any]) -> str:
    """What a rule does, in Markdown, for people who configure a scheduler: its docstring up to ``Upstream:``.

    rule: the function or class registered under the rule's name. Empty without a docstring, as under ``python -OO``.
    """
    return inspect.cleandoc(rule.__doc__ or "").partition(SOURCE)[0].strip()


RELEASE = "1.16"
"""Described in full; of the others, what differs."""
OLD = "1.4"
INSUFFICIENT = "Insufficient <resource>"
GATES = ("EvenPodsSpread", "ResourceLimitsPriorityFunction", "TaintNodesByCondition")

CUSTOM_PREDICATES: dict[str, FitPredicateFactory] = {
    "CheckNodeLabelPresence": label_presence_factory("CheckNodeLabelPresence", (), True),
    "CheckServiceAffinity": service_affinity_factory("CheckServiceAffinity", ()),
}
"""Made from ``labelsPresence`` and ``serviceAffinity``."""

CUSTOM_PREDICATES_1_4: dict[str, FitPredicateFactory] = {
    "CheckNodeLabelPresence": label_presence_factory_1_4("CheckNodeLabelPresence", (), True),
    "CheckServiceAffinity": service_affinity_factory_1_4("CheckServiceAffinity", ()),
}

CUSTOM_PRIORITIES: dict[str, PriorityFactory] = {
    "labelPreference": node_label_factory("labelPreference", "", True),
    "requestedToCapacityRatioArguments": capacity_ratio_factory("requestedToCapacityRatioArguments"),
    "serviceAntiAffinity": service_anti_affinity_factory("serviceAntiAffinity", ""),
}
"""Argument of a policy entry → what it builds, under any name."""

Maker = Callable[..., FitPredicateFactory | PriorityFactory]
"""Makes a rule of a policy entry's name and argument; its docstring says what the rule does."""

PREDICATE_MAKERS: dict[str, Maker] = {
    "CheckNodeLabelPresence": label_presence_factory,
    "CheckServiceAffinity": service_affinity_factory,
}
PREDICATE_MAKERS_1_4: dict[str, Maker] = {
    "CheckNodeLabelPresence": label_presence_factory_1_4,
    "CheckServiceAffinity": service_affinity_factory_1_4,
}
PRIORITY_MAKERS: dict[str, Maker] = {
    "labelPreference": node_label_factory,
    "requestedToCapacityRatioArguments": capacity_ratio_factory,
    "serviceAntiAffinity": service_anti_affinity_factory,
}
PRIORITY_MAKERS_1_4: dict[str, Maker] = {
    "labelPreference": node_label_factory,
    "serviceAntiAffinity": service_anti_affinity_factory_1_4,
}


def predicate_texts() -> dict[str, str]:
    """Name → what the predicate does in ``RELEASE``, of all that ``all_predicates`` has."""
    return _texts({**all_predicates(), **PREDICATE_MAKERS})


def predicate_texts_1_4() -> dict[str, str]:
    """Name → what the predicate does differently in 1.4, empty if nothing; of those that only 1.4 has, what they do."""
    return _texts({**predicates_1_4(), **PREDICATE_MAKERS_1_4}, {**all_predicates(), **PREDICATE_MAKERS})


def priority_texts() -> dict[str, str]:
    """Name of a priority, or of the argument that makes one → what it does in ``RELEASE``."""
    return _texts(_priority_makers())


def priority_texts_1_4() -> dict[str, str]:
    """The same → what it does differently in 1.4, empty if nothing."""
    makers = {name: factory.make for name, factory in registry(ALGORITHMS_1_4).priorities.items()}
    return _texts({**makers, **PRIORITY_MAKERS_1_4}, _priority_makers())


def _priority_makers() -> dict[str, Callable[..., Any]]:
    return {**{name: make for name, (make, _) in all_priorities().items()}, **PRIORITY_MAKERS}


def _texts(rules: Mapping[str, Callable[..., Any]], newer: Mapping[str, Callable[..., Any]] = {}) -> dict[str, str]:
    """newer: the rules of the release that is described in full; one that is the same there has nothing to add."""
    return {name: "" if newer.get(name) is rule else rule_text(rule) for name, rule in rules.items()}


def all_predicates() -> dict[str, FitPredicateFactory]:
    """Every predicate of the release under any gates, and the two that policies make, in the order they run."""
    factories: dict[str, FitPredicateFactory] = {**CUSTOM_PREDICATES}
    for known in _registries():
        factories |= known.fit_predicates
    order = registry().ordering
    return {
        name: factories[name] for name in sorted(factories, key=lambda n: (order.index(n) if n in order else 99, n))
    }


def predicates_1_4() -> dict[str, FitPredicateFactory]:
    """Every predicate of 1.4 in the order it runs, then the two that policies make."""
    return {**registry(ALGORITHMS_1_4).fit_predicates, **CUSTOM_PREDICATES_1_4}


def all_priorities() -> dict[str, tuple[PriorityFactory, int]]:
    """Name → (factory, default weight), sorted, under any gates."""
    factories = {
        name: (factory.make, factory.weight) for known in _registries() for name, factory in known.priorities.items()
    }
    return dict(sorted(factories.items()))


def reasons(check: Callable[..., Any]) -> list[str]:
    """The reasons that a predicate's code names, those of one family in the order it defines them."""
    texts: list[str] = []
    for value in _globals_of(check, set()):
        if value is insufficient:
            texts.append(INSUFFICIENT)
        elif type(value) is str and value.startswith("node(s) "):
            texts.append(value)
    family = [value for value in vars(sys.modules[check.__module__]).values() if type(value) is str]
    place = {text: family.index(text) for text in texts if text in family}
    return sorted(dict.fromkeys(texts), key=lambda text: place.get(text, 0) if len(place) == len(set(texts)) else 0)


def _globals_of(function: Any, seen: set[Any]) -> Iterator[Any]:
    """What a function and the predicates' functions it calls refer to at module level."""
    if function in seen:
        return
    seen.add(function)
    space = vars(sys.modules[function.__module__])
    for value in [*_held(function), *(space[name] for name in _names(function.__code__) if name in space)]:
        if isinstance(value, FunctionType):
            yield value
            if value.__module__.startswith("predicates."):
                yield from _globals_of(value, seen)
        elif isinstance(value, type) and value.__module__.startswith("predicates."):
            for method in vars(value).values():
                if isinstance(method, FunctionType):
                    yield from _globals_of(method, seen)
        elif isinstance(value, str):
            yield value


def _held(function: Any) -> Iterator[Any]:
    """What a function closes over, and what the record has of which it is a method."""
    record = getattr(function, "__self__", None)
    fields = msgspec.structs.astuple(record) if isinstance(record, msgspec.Struct) else ()
    for value in (*inspect.getclosurevars(function).nonlocals.values(), *fields):
        yield from value if isinstance(value, tuple) else (value,)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _registries() -> list[Registry]:
    """The release's registry by default, with each gate turned over, and with all alpha gates on."""
    default = registry()
    turned = [registry(feature_gates={gate: gate != "TaintNodesByCondition"}) for gate in GATES]
    return [*turned, default]
