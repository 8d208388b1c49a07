"""A page for every rule: what it does, why it refuses nodes, in which releases. From the texts of the reference."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from algorithmprovider import registry
from algorithmprovider.algorithms_1_4 import ALGORITHMS as ALGORITHMS_1_4
from algorithmprovider.rule_catalogue import (
    CUSTOM_PREDICATES,
    CUSTOM_PRIORITIES,
    OLD,
    RELEASE,
    all_predicates,
    all_priorities,
    predicate_texts,
    predicate_texts_1_4,
    predicates_1_4,
    priority_texts,
    priority_texts_1_4,
    reasons,
    rule_text,
)
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from kubescheduler.releases.lookup import RELEASES
from kubescheduler.releases.names import FRAMEWORK_RELEASES, LEGACY_RELEASES, spoken
from predicates.types import PredicateArgs

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
    """Releases, as they are spoken of → what is different there."""
    page: str = ""
    """Where the documentation has the same."""


def all_pages() -> list[RulePage]:
    """Of every predicate, priority and plugin of every release."""
    return [*_predicates(), *_priorities(), *_plugins()]


def of_release(page: RulePage, release: str) -> RulePage | None:
    """The page of the same rule as one release has it; None where it does not."""
    if release not in page.releases:
        return None
    if page.kind != "plugin":
        text = page.differs.get(release) or page.text
        return msgspec.structs.replace(page, releases=(release,), text=text, differs={})
    [own] = [each for each in _plugins((release,)) if each.name == page.name]
    return msgspec.structs.replace(own, page=page.page)


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
            tuple(f"In {said} {text}" for said, text in _by_range(points)),
            {reason.text: reason.code for plugin in having.values() for reason in plugin.reasons},
            dict(_by_range(others)),
            page="docs/reference/plugins.md" + (f"#{name.lower()}" if len(having) > 1 or NEWEST in having else ""),
        )


def _points(release: str, plugin: InTreePlugin) -> str:
    order = RELEASES[release].framework_rules.points
    points = ", ".join(point.value for point in order if point in plugin.points)
    weight = f"; default weight {plugin.default_weight}" if plugin.default_weight else ""
    return f"at {points or 'no point'}{weight}."


def _by_range(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
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
