"""Predicates and priorities as a form, and its changes.

Of releases that decide by them, and of Policies of releases with plugins. A provider that is changed becomes the Policy
that says the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import msgspec

from algorithmprovider import DEFAULT_PROVIDER, registry
from algorithmprovider.registry import Registry
from clusterstate.errors import ConfigError, nearest
from kubescheduler.config.policy_1_20_plugins import MANDATORY_PREDICATES, PREDICATES, PRIORITIES
from kubescheduler.config.policy_model import PREDICATE, PRIORITY, Policy, PriorityPolicy
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.engine.legacy_engine import LegacyEngine, policy_of_document
from kubescheduler.engine.spec import EngineSpec, no_notice
from kubescheduler.framework.document_schema import Struct
from kubescheduler.lab.form_rows import (
    POLICY,
    PROVIDER,
    Form,
    Row,
    RuleArguments,
    SideText,
    first_sentence,
    largest,
    schema_fields,
    with_values,
)
from kubescheduler.lab.text_patches import rewritten

ALWAYS = "release {} always runs it"
NEVER = "release {} has no place for it in the order of predicates, so it never runs"
ELSEWHERE = "the configuration names its provider or Policy, in which this is said"
INT64, INT32 = 2**63 - 1, 2**31 - 1


class Selection(msgspec.Struct, frozen=True):
    """What is selected."""

    predicates: tuple[str, ...]
    """Without those that always run."""
    priorities: Mapping[str, int]
    """Priority → weight."""


def policy_form(side: SideText, *, ranges: bool = True) -> Form:
    """The form of a provider, or of a Policy. ranges: with the largest weights, which take a while to find.

    Raises ConfigError with every problem of the text.
    """
    if side.spec.record.framework is not None:
        return _of_plugins(side)
    spec = side.spec
    engine = spec.engine(no_notice)
    assert isinstance(engine, LegacyEngine)
    known = spec.record.legacy_rules.registry(spec.gates)
    fixed = "" if side.kind in (PROVIDER, POLICY) else ELSEWHERE
    checks = _legacy_checks(known, engine.algorithm, side.release, fixed)
    rules = _legacy_rules(spec, known, engine.algorithm, fixed, ranges=ranges)
    return Form(tuple(rules), tuple(checks), arguments=tuple(entry_arguments(side)))


def selected(side: SideText) -> Selection:
    """What a provider or a Policy selects, as entries of a Policy. Raises ConfigError with every problem."""
    spec = side.spec
    if spec.record.framework is not None:
        return _selected_of_plugins(side)
    known, rules = spec.record.legacy_rules.registry(spec.gates), spec.record.legacy_rules
    default = known.provider(spec.provider or DEFAULT_PROVIDER)
    weights = {name: known.priorities[name].weight for name in sorted(default.priorities)}
    if spec.policy is None:
        return Selection(tuple(_in_order(default.predicates, known.ordering)), weights)
    policy = policy_of_document(spec, spec.policy)
    absent = rules.absent_means_default
    predicates = tuple(entry.name for entry in policy.predicates or ())
    priorities = {entry.name: entry.weight for entry in policy.priorities or ()}
    if policy.predicates is None and absent:
        predicates = tuple(_in_order(default.predicates, known.ordering))
    return Selection(predicates, weights if policy.priorities is None and absent else priorities)


def _in_order(names: Any, ordering: list[str]) -> list[str]:
    return sorted(names, key=lambda name: (ordering.index(name) if name in ordering else len(ordering), name))


# --- releases with predicates and priorities -------------------------------------------------------


def _legacy_checks(known: Registry, algorithm: Algorithm, release: str, fixed: str) -> Iterator[Row]:
    running = {predicate.name for predicate in algorithm.predicates}
    idle = {predicate.name for predicate in algorithm.idle}
    for name in _in_order({*known.fit_predicates, *running, *idle}, known.ordering):
        why = ALWAYS.format(release) if name in algorithm.mandatory else fixed
        if name in idle or (name not in running and name not in known.ordering):
            why = NEVER.format(release)
        yield Row(
            name,
            first_sentence(_newest().fit_predicates.get(name), known.fit_predicates.get(name)),
            name in running,
            why,
        )


def _legacy_rules(
    spec: EngineSpec, known: Registry, algorithm: Algorithm, fixed: str, *, ranges: bool
) -> Iterator[Row]:
    weights = {one.config.name: one.weight for one in algorithm.priorities}
    for name in sorted({*known.priorities, *weights}):
        registered = known.priorities.get(name)
        made = (_newest().priorities.get(name), registered)
        text = first_sentence(*(each.make for each in made if each is not None))
        most = largest(partial(_weight_allowed, spec, weights, name), INT64) if ranges else None
        yield Row(name, text, name in weights, fixed, weight=weights.get(name), most=most)


def _weight_allowed(spec: EngineSpec, weights: Mapping[str, int], name: str, weight: int) -> bool:
    """Whether the release takes a weight beside the others."""
    rules, changed = spec.record.legacy_rules, {**weights, name: weight}
    policy = Policy(priorities=tuple(PriorityPolicy(each, value) for each, value in changed.items()))
    faults = rules.faults(policy, (), changed, hard_weight=1, defaults={})
    return not any(faults) and rules.total_weight_error(changed) is None


@cache
def _newest() -> Registry:
    """What the newest release with predicates and priorities registers, whose documentation says it all."""
    return registry()


# --- Policies of a release with plugins ----------------------------------------------------------


def _selected_of_plugins(side: SideText) -> Selection:
    spec = side.spec
    rules = spec.record.framework_rules.policy_rules
    spec.component_config(no_notice)
    defaults = rules.defaults
    document = spec.policy or {}
    entries = _entries(document, "priorities")
    predicates = _entries(document, "predicates")
    priorities = {each.get("name", ""): each.get("weight", 0) for each in entries or ()}
    return Selection(
        defaults.predicates if predicates is None else tuple(each.get("name", "") for each in predicates),
        defaults.priorities if entries is None else priorities,
    )


def _of_plugins(side: SideText) -> Form:
    lists = _selected_of_plugins(side)
    always = ALWAYS.format(side.release)
    checks = [
        Row(
            name,
            "",
            name in lists.predicates or name in MANDATORY_PREDICATES,
            always if name in MANDATORY_PREDICATES else "",
            plugin=", ".join(plugins),
        )
        for name, plugins in PREDICATES.items()
    ]
    custom = [name for name in lists.predicates if name not in PREDICATES]
    checks += [Row(name, "", on=True) for name in custom]
    rules = [
        Row(name, "", name in lists.priorities, weight=weight, most=INT32, plugin=plugin)
        for name, plugin in PRIORITIES.items()
        for weight in (lists.priorities.get(name),)
        if name != plugin or name in lists.priorities
    ]
    more = [name for name in lists.priorities if name not in PRIORITIES]
    rules += [Row(name, "", on=True, weight=lists.priorities[name], most=INT32) for name in more]
    return Form(tuple(rules), tuple(checks), arguments=tuple(entry_arguments(side)))


# --- entries with an argument --------------------------------------------------------------------


def _entries(document: Mapping[str, Any], key: str) -> list[Mapping[str, Any]] | None:
    found = next((value for name, value in document.items() if name.casefold() == key), None)
    return None if found is None else [each for each in found if isinstance(each, Mapping)]


def entry_arguments(side: SideText) -> Iterator[RuleArguments]:
    """The arguments of a Policy's entries that have one."""
    if side.kind != POLICY:
        return
    document = side.spec.policy or {}
    for key, struct in (("predicates", PREDICATE), ("priorities", PRIORITY)):
        for entry in _entries(document, key) or ():
            argument = entry.get("argument")
            if isinstance(argument, Mapping):
                kinds = _argument_kinds(struct)
                given = {name: value for name, value in argument.items() if name in kinds}
                fields = [
                    field
                    for name, value in given.items()
                    for field in schema_fields(kinds[name], value, {}, f"{name}.")
                ]
                yield RuleArguments(str(entry.get("name", "")), tuple(fields))


def _argument_kinds(struct: Struct) -> dict[str, Struct]:
    argument = next(field.kind for field in struct.fields if field.key == "argument")
    assert isinstance(argument, Struct)
    return {field.key: field.kind for field in argument.fields if isinstance(field.kind, Struct)}


WRITTEN_OUT = "the provider {} is written as the Policy that says the same"
PREDICATE_LIST, PRIORITY_LIST = "predicates", "priorities"

Document = dict[str, Any]


def weighed_policy(side: SideText, weights: Mapping[str, int]) -> SideText:
    """With other weights of priorities that are selected. Raises ConfigError for names and weights that cannot be."""
    form = policy_form(side, ranges=False)
    named = {each: row.id for row in form.rules if row.on for each in (row.id, *filter(None, [row.plugin]))}
    problems = [f"{name}: it is not selected{nearest(name, named)}" for name in weights if name not in named]
    if problems:
        raise ConfigError(problems)
    wanted = {
        row.id: weights[name] for name in weights for row in form.rules if row.on and name in (row.id, row.plugin)
    }

    policy = as_policy(side, {PRIORITY_LIST})
    document = policy.document()
    for entry in _entries_to_change(document, PRIORITY_LIST):
        if isinstance(entry, dict) and entry.get("name") in wanted:
            _set(entry, "weight", wanted[entry["name"]])
    return policy.changed(document).checked()


def toggled_policy(side: SideText, name: str, *, on: bool) -> SideText:
    """With a predicate or a priority selected or not. Raises ConfigError for one that cannot be, or is there not."""
    form = policy_form(side, ranges=False)
    row, key = _row(form, name)
    if row.fixed:
        raise ConfigError(f"{name}: {row.fixed}")
    if row.on == on:
        return side
    policy = as_policy(side, {key})
    document = policy.document()
    entries = _entries_to_change(document, key)
    if on:
        entries.append({"name": name} | ({"weight": 1} if key == PRIORITY_LIST else {}))
    else:
        entries[:] = [entry for entry in entries if not isinstance(entry, dict) or entry.get("name") != name]
    return policy.changed(document).checked()


def argued_policy(side: SideText, name: str, argument: Mapping[str, Any]) -> SideText:
    """With other values in the argument of an entry, by their paths; None: not said.

    Raises ConfigError for an entry that there is not, and for the argument.
    """
    policy = as_policy(side, set())
    key = _row(policy_form(policy, ranges=False), name)[1]
    document = policy.document()
    for entry in _entries_to_change(document, key):
        if isinstance(entry, dict) and entry.get("name") == name:
            _set(entry, "argument", with_values(entry.get(_key(entry, "argument")) or {}, argument))
    return policy.changed(document).checked()


def as_policy(side: SideText, written: set[str]) -> SideText:
    """The same as a Policy in which some of its lists are written. Raises ConfigError with every problem."""
    lists = selected(side)
    if side.kind == POLICY and side.text.strip():
        document = side.document()
        absent = {key for key in written if _key(document, key) not in document}
        return side.changed({**document, **{key: found for key, found in _lists(lists).items() if key in absent}})
    notes = (WRITTEN_OUT.format(side.text.strip() or "DefaultProvider"),) if side.kind == PROVIDER else ()
    fresh = rewritten("", {"kind": "Policy", "apiVersion": "v1", **_lists(lists)})
    return side.saying(POLICY, fresh.text, *notes)


def _lists(lists: Selection) -> Document:
    predicates = [{"name": name} for name in lists.predicates]
    priorities = [{"name": name, "weight": weight} for name, weight in lists.priorities.items()]
    return {PREDICATE_LIST: predicates, PRIORITY_LIST: priorities}


def _row(form: Form, name: str) -> tuple[Row, str]:
    for rows, key in ((form.rules, PRIORITY_LIST), (form.checks, PREDICATE_LIST)):
        for row in rows:
            if row.id == name:
                return row, key
    known = [row.id for row in (*form.rules, *form.checks)]
    raise ConfigError(f"{name}: there is no such predicate or priority{nearest(name, known)}")


def _key(mapping: Mapping[str, Any], key: str) -> str:
    """The key as the document writes it, whose case does not count everywhere."""
    return next((each for each in mapping if each.casefold() == key.casefold()), key)


def _entries_to_change(document: Document, key: str) -> list[Any]:
    written = _key(document, key)
    if not isinstance(document.get(written), list):
        document[written] = []
    found: list[Any] = document[written]
    return found


def _set(entry: Document, key: str, value: Any) -> None:
    entry[_key(entry, key)] = value
