"""The parts of the reference that are written from the code: every predicate, every priority, every policy key.

``python -m docs.generate`` puts them between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import click

from algorithmprovider import registry
from algorithmprovider.registry import Registry
from docs.generate import rule_texts
from docs.generate.plugin_tables import plugin_tables
from docs.generate.writing import cell, code_link, text_blocks
from kubescheduler.cli import cli
from kubescheduler.config.policy.policy_schema import POLICY
from kubescheduler.framework.args.document_schema import Kind, ListOf, Scalar, Struct
from predicates.labels import label_presence_factory, label_presence_factory_1_4
from predicates.resources import insufficient
from predicates.service_affinity import service_affinity_factory, service_affinity_factory_1_4
from predicates.types import FitPredicateFactory, PredicateArgs
from priorities.capacity_ratio import capacity_ratio_factory
from priorities.node_label import node_label_factory
from priorities.service_anti_affinity import service_anti_affinity_factory
from priorities.types import PriorityFactory

RELEASE = "1.16"
"""Described in full; of the others, what differs."""
OLD = "1.4"
INSUFFICIENT = "Insufficient <resource>"
CUSTOM_BY = "policies, with an argument"
OLD_ARGUMENTS = ("labelPreference", "serviceAntiAffinity")
"""The arguments of 1.4's policies that make a priority."""
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


def tables() -> dict[str, str]:
    """Name → Markdown, for every page."""
    return {
        "predicate overview": predicate_overview(),
        "predicates": "\n\n".join(_predicate_sections()),
        "priority overview": priority_overview(),
        "priorities": "\n\n".join(_priority_sections()),
        "predicates of the old release": old_predicates(),
        "priorities of the old release": old_priorities(),
        "policy keys": policy_keys(),
        "settings": settings(),
        **plugin_tables(),
    }


def filled(text: str) -> str:
    """A document with its generated parts as they have to be."""
    for name, table in tables().items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        if begin in text:
            before, _, rest = text.partition(begin)
            text = f"{before}{begin}\n{table}\n\n{end}{rest.partition(end)[2]}"
    return text


# --- predicates ------------------------------------------------------------------------------


def all_predicates() -> dict[str, FitPredicateFactory]:
    """Every predicate of the release under any gates, and the two that policies make, in the order they run."""
    found: dict[str, FitPredicateFactory] = {**CUSTOM_PREDICATES}
    for known in _registries():
        found |= known.fit_predicates
    order = registry(RELEASE).ordering
    return {name: found[name] for name in sorted(found, key=lambda n: (order.index(n) if n in order else 99, n))}


def predicate_overview() -> str:
    rows = ["| runs | predicate | who has it |", "|---:|---|---|"]
    order = registry(RELEASE).ordering
    for name in all_predicates():
        place = str(order.index(name) + 1) if name in order else "never"
        rows.append(f"| {place} | [{name}](#{name.lower()}) | {_membership(name)} |")
    return "\n".join(rows)


def predicates_1_4() -> dict[str, FitPredicateFactory]:
    """Every predicate of 1.4 in the order it runs, then the two that policies make."""
    return {**registry(OLD).fit_predicates, **CUSTOM_PREDICATES_1_4}


def old_predicates() -> str:
    rows = ["| predicate | who has it | what differs | code |", "|---|---|---|---|"]
    here = all_predicates()
    for name, factory in predicates_1_4().items():
        shown = f"[{name}](#{name.lower()})" if name in here else name
        who = CUSTOM_BY if name in CUSTOM_PREDICATES_1_4 else _having(OLD, name)
        rows.append(f"| {shown} | {who} | {_differing(rule_texts.PREDICATES_1_4[name])} | {code_link(factory)} |")
    return "\n".join(rows)


def _predicate_sections() -> Iterator[str]:
    for name, factory in all_predicates().items():
        check = factory(PredicateArgs()).check
        found = "\n".join(f"- `{reason}`" for reason in reasons(check))
        yield f"### {name}\n\n{text_blocks(rule_texts.PREDICATES[name])}\n\n{_code(factory)}. Reasons:\n\n{found}"


def reasons(check: Callable[..., Any]) -> list[str]:
    """The reasons that a predicate's code names, those of one family in the order it defines them."""
    found: list[str] = []
    for value in _globals_of(check, set()):
        if value is insufficient:
            found.append(INSUFFICIENT)
        elif type(value) is str and value.startswith("node(s) "):
            found.append(value)
    family = [value for value in vars(sys.modules[check.__module__]).values() if type(value) is str]
    place = {text: family.index(text) for text in found if text in family}
    return sorted(dict.fromkeys(found), key=lambda text: place.get(text, 0) if len(place) == len(set(found)) else 0)


def _globals_of(function: Any, seen: set[Any]) -> Iterator[Any]:
    """What a function and the predicates' functions it calls refer to at module level."""
    if function in seen:
        return
    seen.add(function)
    space = vars(sys.modules[function.__module__])
    closed = inspect.getclosurevars(function).nonlocals.values()
    for value in [*closed, *(space[name] for name in _names(function.__code__) if name in space)]:
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


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


# --- priorities ------------------------------------------------------------------------------


def all_priorities() -> dict[str, tuple[PriorityFactory, int]]:
    """Name → (factory, default weight), sorted, under any gates."""
    found = {
        name: (factory.make, factory.weight) for known in _registries() for name, factory in known.priorities.items()
    }
    return dict(sorted(found.items()))


def priority_overview() -> str:
    rows = ["| priority | default weight | who has it |", "|---|---:|---|"]
    for name, (_, weight) in all_priorities().items():
        rows.append(f"| [{name}](#{name.lower()}) | {weight} | {_membership(name)} |")
    for name in CUSTOM_PRIORITIES:
        rows.append(f"| [any name, argument `{name}`](#argument-{name.lower()}) | none | policies |")
    return "\n".join(rows)


def old_priorities() -> str:
    rows = ["| priority | default weight | who has it | what differs | code |", "|---|---:|---|---|---|"]
    for name, factory in sorted(registry(OLD).priorities.items()):
        text = _differing(rule_texts.PRIORITIES_1_4[name])
        link = code_link(factory.make)
        rows.append(f"| [{name}](#{name.lower()}) | {factory.weight} | {_having(OLD, name)} | {text} | {link} |")
    for name in OLD_ARGUMENTS:
        shown = f"[any name, argument `{name}`](#argument-{name.lower()})"
        link = code_link(CUSTOM_PRIORITIES[name])
        rows.append(f"| {shown} | none | policies | {_differing(rule_texts.PRIORITIES_1_4[name])} | {link} |")
    return "\n".join(rows)


def _priority_sections() -> Iterator[str]:
    for name, (make, _) in all_priorities().items():
        yield f"### {name}\n\n{text_blocks(rule_texts.PRIORITIES[name])}\n\n{_code(make)}."
    for name, make in CUSTOM_PRIORITIES.items():
        yield f"### Argument {name}\n\n{text_blocks(rule_texts.PRIORITIES[name])}\n\n{_code(make)}."


# --- policies --------------------------------------------------------------------------------


def policy_keys() -> str:
    """Every key of a Policy with its type."""
    return "\n".join(["| key | type |", "|---|---|", *(f"| `{path}` | {kind} |" for path, kind in _keys(POLICY, ""))])


def _keys(kind: Kind, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(kind, ListOf):
        yield from _keys(kind.item, f"{path}[]")
    elif isinstance(kind, Struct):
        for field in kind.fields:
            inner = f"{path}.{field.key}".removeprefix(".")
            yield inner, _type(field.kind)
            yield from _keys(field.kind, inner)


def _type(kind: Kind) -> str:
    if isinstance(kind, ListOf):
        return f"list of {_type(kind.item)}s"
    return kind.wanted.removeprefix("a ").removeprefix("an ") if isinstance(kind, Scalar) else "object"


def settings() -> str:
    """Every key of a settings file, by command."""
    context = click.Context(cli)
    rows = ["| table | keys |", "|---|---|"]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None, name
        options = [param for param in command.params if isinstance(param, click.Option)]
        keys = ", ".join(f"`{str(option.name).replace('_', '-')}`" for option in options)
        rows += [f"| `[{name}]` | {keys} |"] if keys else []
    return "\n".join(rows)


# --- shared ----------------------------------------------------------------------------------


def _registries() -> list[Registry]:
    """The release's registry by default, with each gate turned over, and with all alpha gates on."""
    default = registry(RELEASE)
    turned = [registry(RELEASE, {gate: gate != "TaintNodesByCondition"}) for gate in GATES]
    return [*turned, default]


def _membership(name: str) -> str:
    default = registry(RELEASE)
    if name in CUSTOM_PREDICATES:
        return CUSTOM_BY
    if name not in {**default.fit_predicates, **default.priorities}:
        gate = next(g for g in GATES if name in _all_names(registry(RELEASE, {g: g != "TaintNodesByCondition"})))
        return f"both providers, when feature gate {gate} is {'off' if gate == 'TaintNodesByCondition' else 'on'}"
    if name in default.mandatory:
        return "everyone: mandatory"
    return _having(RELEASE, name)


def _having(release: str, name: str) -> str:
    providers = registry(release).providers.items()
    having = [key for key, provider in providers if name in provider.predicates | provider.priorities]
    return {0: "policies", 2: "both providers"}.get(len(having), " and ".join(having))


def _all_names(known: Registry) -> set[str]:
    return {*known.fit_predicates, *known.priorities}


def _differing(text: str) -> str:
    """Nothing is said of what is as in ``RELEASE``."""
    return cell(text) or "nothing"


def _code(factory: Callable[..., Any]) -> str:
    """Where the rule is written."""
    return f"Code: {code_link(factory)}"
