"""A page for every rule: what it does, why it refuses nodes, in which releases. From the texts of the reference.

First every predicate and priority of 1.4 and 1.16 there is, under any feature gates, and the reasons they give.
"""

from __future__ import annotations

import inspect
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

import msgspec

from algorithmprovider import registry
from algorithmprovider.algorithms import ALGORITHMS_1_4
from algorithmprovider.registry import Registry
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from kubescheduler.releases.lookup import RELEASES
from kubescheduler.releases.names import FRAMEWORK_RELEASES, LEGACY_RELEASES, spoken
from predicates.node_identity import label_presence_factory, label_presence_factory_1_4
from predicates.resources import insufficient
from predicates.service_affinity import service_affinity_factory, service_affinity_factory_1_4
from predicates.types import FitPredicateFactory, PredicateArgs
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


_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_VARIES = re.compile(r"<[A-Za-z ]+>")
_FIXED = 8
"""Letters of a reason that do not vary, without which it is looked for in no message."""


class RulePage(msgspec.Struct, frozen=True):
    """What there is to know of a rule."""

    name: str
    """As it is registered."""
    kind: str
    """``predicate``, ``priority``, ``priority argument`` or ``plugin``."""
    releases: tuple[str, ...]
    """Those that have it."""
    text: str
    """What it does, in Markdown."""
    facts: tuple[str, ...] = ()
    """More in a line each: where it takes part, what it weighs."""
    reasons: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Why it refuses, with ``<NAME>`` for what varies → the code in framework releases, or empty."""
    differs: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Release → what is different there."""
    page: str = ""
    """Where the documentation has the same."""


def all_pages() -> list[RulePage]:
    """Of every predicate, priority and plugin of every release."""
    return [*_predicates(), *_priorities(), *_plugins()]


def of_release(page: RulePage, release: str) -> RulePage | None:
    """The page of the same rule as one release has it; None where it does not."""
    if release not in page.releases:
        return None
    own = page
    if page.kind == "plugin":
        [own] = [each for each in _plugins((release,)) if each.name == page.name]
    text = "\n\n".join(_told(page, release))
    return msgspec.structs.replace(own, releases=(release,), text=text, differs={}, page=page.page)


AS_IN = re.compile(r"As in (\d+\.\d+)")
"""How a text begins that says only what is different from another release."""


def _told(page: RulePage, release: str) -> Iterator[str]:
    """What a rule does in a release: in full as one release has it, then what differs from that, one by the other."""
    steps = [release]
    while told_by := AS_IN.match(_text_in(page, steps[-1])):
        steps.append(told_by[1])
    if page.differs.get(steps[-1]) and not AS_IN.match(page.text):
        steps.append(page.releases[-1])
    *steps, whole = steps
    yield _text_in(page, whole)
    if steps:
        yield f"So it is in {whole}."
    yield from (f"In {each}: {_text_in(page, each)}" for each in steps)


def _text_in(page: RulePage, release: str) -> str:
    return page.differs.get(release) or page.text


def pages_about(wanted: str, pages: Iterable[RulePage]) -> list[RulePage]:
    """The pages of a rule by its name; otherwise those of the rules that give a reason, which may stand in a message or
    be a part of one. Capitals do not matter."""
    known = list(pages)
    named = [page for page in known if page.name.lower() == wanted.lower()]
    if named:
        return named
    said = [page for page in known if any(_gives(reason, wanted) for reason in page.reasons)]
    return said or [page for page in known if any(wanted.lower() in reason.lower() for reason in page.reasons)]


def _gives(reason: str, message: str) -> bool:
    """Whether a message has a reason in it."""
    if len(_VARIES.sub("", reason)) < _FIXED:
        return reason.lower() == message.lower()
    pattern = r"\S+".join(map(re.escape, _VARIES.split(reason)))
    return re.search(rf"(?<!\w){pattern}(?!\w)", message, re.IGNORECASE) is not None


# --- where the pages come from ---------------------------------------------------------------


def _predicates() -> Iterator[RulePage]:
    here, before = all_predicates(), predicates_1_4()
    texts, older = predicate_texts(), predicate_texts_1_4()
    for name in dict.fromkeys([*here, *before]):
        made = here.get(name) or before[name]
        yield RulePage(
            name,
            "predicate",
            _having(name, name in before, name in here),
            texts[name] if name in here else older[name],
            ("Made by policies, with an argument.",) if name in CUSTOM_PREDICATES else (),
            dict.fromkeys(reasons(made(PredicateArgs()).check), ""),
            {OLD: in_one_line(older.get(name, ""))} if name in here else {},
            f"docs/reference/predicates.md{f'#{name.lower()}' if name in here else ''}",
        )


def _priorities() -> Iterator[RulePage]:
    weights = {name: weight for name, (_, weight) in all_priorities().items()}
    before, texts, older = registry(ALGORITHMS_1_4).priorities, priority_texts(), priority_texts_1_4()
    for name in dict.fromkeys([*weights, *before, *CUSTOM_PRIORITIES]):
        argument = name in CUSTOM_PRIORITIES
        yield RulePage(
            name,
            "priority argument" if argument else "priority",
            _having(name, name in before or name in older, name in weights or argument),
            texts[name],
            () if argument else (f"Default weight: {weights.get(name, 1)}.",),
            differs={OLD: in_one_line(older.get(name, ""))},
            page=f"docs/reference/priorities.md#{'argument-' if argument else ''}{name.lower()}",
        )


def _having(name: str, old: bool, new: bool) -> tuple[str, ...]:
    """The releases that have a predicate or priority: 1.4, and those up to 1.16 that have it by then."""
    since = RELEASES[RELEASE].legacy_rules.algorithms().names()
    there = {
        release: new and (name not in since or name in RELEASES[release].legacy_rules.algorithms().names())
        for release in LEGACY_RELEASES
    }
    return tuple(release for release, has in {**there, OLD: old}.items() if has)


NEWEST = FRAMEWORK_RELEASES[-1]


def _plugins(among: Sequence[str] = FRAMEWORK_RELEASES) -> Iterator[RulePage]:
    by_release = {release: RELEASES[release].framework_rules.plugins for release in among}
    for name in sorted({name for plugins in by_release.values() for name in plugins}):
        having = {release: plugins[name] for release, plugins in by_release.items() if name in plugins}
        newest = list(having.values())[-1]
        points = {release: _points(release, plugin) for release, plugin in having.items()}
        others = {
            release: in_one_line(rule_text(plugin.make))
            for release, plugin in having.items()
            if plugin.make is not newest.make
        }
        yield RulePage(
            name,
            "plugin",
            tuple(having),
            rule_text(newest.make),
            tuple(f"In {said} {text}" for said, text in by_range(points)),
            {reason.text: reason.code for plugin in having.values() for reason in plugin.reasons},
            others,
            page="docs/reference/plugins.md" + (f"#{name.lower()}" if len(having) > 1 or NEWEST in having else ""),
        )


def _points(release: str, plugin: InTreePlugin) -> str:
    order = RELEASES[release].framework_rules.points
    points = ", ".join(point.value for point in order if point in plugin.points)
    weight = f"; default weight {plugin.default_weight}" if plugin.default_weight else ""
    return f"at {points or 'no point'}{weight}."


def by_range(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(releases that follow one another, what is said of each of them), of release → what is said of it."""
    for text, names in itertools.groupby(texts, key=lambda release: texts[release]):
        yield spoken(names), text


# --- text ------------------------------------------------------------------------------------


def in_one_line(text: str) -> str:
    """Markdown without links and line ends."""
    return " ".join(without_links(text).split())


def without_links(text: str) -> str:
    """Markdown with the words of its links alone: they lead to other pages of the documentation."""
    return _LINK.sub(r"\1", text)
