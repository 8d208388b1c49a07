"""The parts of the reference that are written from the code: every predicate, every priority, every policy key.

``python -m docs.generate`` puts them between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

from algorithmprovider import registry
from algorithmprovider.algorithms_1_4 import ALGORITHMS as ALGORITHMS_1_4
from algorithmprovider.registry import Algorithms, Registry
from algorithmprovider.rule_catalogue import (
    CUSTOM_PREDICATES,
    CUSTOM_PREDICATES_1_4,
    CUSTOM_PRIORITIES,
    GATES,
    PRIORITY_MAKERS_1_4,
    all_predicates,
    all_priorities,
    predicate_texts,
    predicate_texts_1_4,
    predicates_1_4,
    priority_texts,
    priority_texts_1_4,
    reasons,
)
from docs.generate.metrics_tables import metrics_tables
from docs.generate.plugin_tables import plugin_tables
from docs.generate.release_tables import release_tables
from docs.generate.run_flags import run_flag_tables
from docs.generate.speed_tables import speed_tables
from docs.generate.writing import cell, code_link, text_blocks
from kubescheduler.cli import cli
from kubescheduler.config.policy.policy_model import POLICY
from kubescheduler.framework.args.document_schema import Kind, ListOf, Scalar, Struct
from predicates.types import PredicateArgs

CUSTOM_BY = "policies, with an argument"


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
        **metrics_tables(),
        **run_flag_tables(),
        **release_tables(),
        **speed_tables(),
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


def predicate_overview() -> str:
    rows = ["| runs | predicate | who has it |", "|---:|---|---|"]
    order = registry().ordering
    for name in all_predicates():
        place = str(order.index(name) + 1) if name in order else "never"
        rows.append(f"| {place} | [{name}](#{name.lower()}) | {_membership(name)} |")
    return "\n".join(rows)


def old_predicates() -> str:
    rows = ["| predicate | who has it | what differs | code |", "|---|---|---|---|"]
    here, texts = all_predicates(), predicate_texts_1_4()
    for name, factory in predicates_1_4().items():
        shown = f"[{name}](#{name.lower()})" if name in here else name
        who = CUSTOM_BY if name in CUSTOM_PREDICATES_1_4 else _having(ALGORITHMS_1_4, name)
        rows.append(f"| {shown} | {who} | {_differing(texts[name])} | {code_link(factory)} |")
    return "\n".join(rows)


def _predicate_sections() -> Iterator[str]:
    texts = predicate_texts()
    for name, factory in all_predicates().items():
        check = factory(PredicateArgs()).check
        found = "\n".join(f"- `{reason}`" for reason in reasons(check))
        yield f"### {name}\n\n{text_blocks(texts[name])}\n\n{_code(factory)}. Reasons:\n\n{found}"


# --- priorities ------------------------------------------------------------------------------


def priority_overview() -> str:
    rows = ["| priority | default weight | who has it |", "|---|---:|---|"]
    for name, (_, weight) in all_priorities().items():
        rows.append(f"| [{name}](#{name.lower()}) | {weight} | {_membership(name)} |")
    for name in CUSTOM_PRIORITIES:
        rows.append(f"| [any name, argument `{name}`](#argument-{name.lower()}) | none | policies |")
    return "\n".join(rows)


def old_priorities() -> str:
    rows = ["| priority | default weight | who has it | what differs | code |", "|---|---:|---|---|---|"]
    texts = priority_texts_1_4()
    for name, factory in sorted(registry(ALGORITHMS_1_4).priorities.items()):
        text = _differing(texts[name])
        link = code_link(factory.make)
        rows.append(
            f"| [{name}](#{name.lower()}) | {factory.weight} | {_having(ALGORITHMS_1_4, name)} | {text} | {link} |"
        )
    for name, maker in PRIORITY_MAKERS_1_4.items():
        shown = f"[any name, argument `{name}`](#argument-{name.lower()})"
        link = code_link(maker)
        rows.append(f"| {shown} | none | policies | {_differing(texts[name])} | {link} |")
    return "\n".join(rows)


def _priority_sections() -> Iterator[str]:
    texts = priority_texts()
    for name, (make, _) in all_priorities().items():
        yield f"### {name}\n\n{text_blocks(texts[name])}\n\n{_code(make)}."
    for name, make in CUSTOM_PRIORITIES.items():
        yield f"### Argument {name}\n\n{text_blocks(texts[name])}\n\n{_code(make)}."


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


def _membership(name: str) -> str:
    default = registry()
    if name in CUSTOM_PREDICATES:
        return CUSTOM_BY
    if name not in {**default.fit_predicates, **default.priorities}:
        gate = next(g for g in GATES if name in _all_names(registry(feature_gates={g: g != "TaintNodesByCondition"})))
        return f"both providers, when feature gate {gate} is {'off' if gate == 'TaintNodesByCondition' else 'on'}"
    if name in default.mandatory:
        return "everyone: mandatory"
    return _having(None, name)


def _having(algorithms: Algorithms | None, name: str) -> str:
    providers = registry(algorithms).providers.items()
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
