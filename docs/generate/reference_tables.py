"""The parts of the reference that are written from the code: predicates, priorities, policy keys, releases, metrics and
the flags of ``kubescheduler run``; with those of plugins and of speed.

``python -m docs.generate`` puts them between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from typing import Any

import click

from algorithmprovider import registry
from algorithmprovider.algorithms import ALGORITHMS_1_4
from algorithmprovider.registry import Algorithms, Registry
from docs.generate.plugin_tables import cell, code_link, plugin_tables, text_blocks
from docs.generate.speed_tables import speed_tables
from kubescheduler.cli import cli, keys_of
from kubescheduler.cli.releases import releases_document
from kubescheduler.config.policy_model import POLICY
from kubescheduler.engine.evaluate_protocol import evaluate
from kubescheduler.framework.document_schema import Kind, ListOf, Scalar, Struct
from kubescheduler.live.flags import SECTIONS, Flag, FlagKind, written_value
from kubescheduler.live.metrics.metrics_registry import Family, Visibility, go_number
from kubescheduler.releases.lookup import RELEASES, WITNESSES, NoWitness, Witness, recorded_processes, witnesses
from kubescheduler.releases.names import RELEASE_NAMES, place, spoken
from kubescheduler.releases.release import Change, Release
from kubescheduler.report.rule_pages import (
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
        "own metrics": _table(own=True),
        "library metrics": _table(own=False),
        "run flags": "\n\n".join(filter(None, map(_section, SECTIONS))),
        "time line": "\n\n".join(_releases()),
        "release matrix": release_matrix(),
        "what scores by default": scoring_by_default(),
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
        keys = ", ".join(f"`{keys_of(option)[0].replace('_', '-')}`" for option in options)
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


NONE = "–"


# --- matrix ------------------------------------------------------------------------------------


def release_matrix() -> str:
    """What each release reads, and of which patch its recordings are."""
    rows = [
        "| release | recorded | decides by | configurations | Policy | providers | plugins | runs as | changes |",
        "|---|---|---|---|---|---|---:|---|---:|",
    ]
    for said in releases_document():
        name, record = said["release"], RELEASES[said["release"]]
        plugins = str(len(record.framework.plugins)) if record.framework is not None else NONE
        changes = f"[{said['changes']}](timeline.md#{name.replace('.', '')})" if said["changes"] else NONE
        versions = ", ".join(said["configuration"]) or NONE
        policy = "yes" if said["policies"] else "no"
        rows.append(
            f"| {name} | {said['recorded']} | {said['decidesBy']} | {versions} | {policy} | {_providers(record)} | "
            f"{plugins} | {said['runsAs'] or NONE} | {changes} |"
        )
    return "\n".join(rows)


def _providers(record: Release) -> str:
    if record.framework is None:
        return ", ".join(record.legacy_rules.registry(record.gates.resolve({})).providers)
    known = record.framework.component.providers if record.framework.policies is not None else {}
    return ", ".join(known) if len(known) > 1 else NONE


def scoring_by_default() -> str:
    """The releases that score by the same list with the same weights, and the list."""
    rows = ["| releases | what scores, with its weight |", "|---|---|"]
    for text, names in groupby(RELEASE_NAMES, key=_scoring):
        rows.append(f"| {spoken(names)} | {text} |")
    return "\n".join(rows)


def _scoring(name: str) -> str:
    """Names with their weights, in the order of the alphabet."""
    node = {"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "1"}}}
    asked = {"cluster": {"nodes": [node]}, "queries": [{"pod": {"metadata": {"name": "p"}, "spec": {}}}]}
    [found] = evaluate([json.dumps(asked).encode()], name)
    return ", ".join(f"{rule} {weight}" for rule, weight in sorted(found["weights"].items()))


# --- time line ---------------------------------------------------------------------------------


def _releases() -> Iterator[str]:
    for name, record in RELEASES.items():
        if record.made is None:
            continue
        older = RELEASE_NAMES[place(name) - 1]
        yield f"## {name}\n\nAfter {older}: {record.summary}. Recorded: {record.version}."
        for change in record.changes:
            yield "\n\n".join(_change(older, name, change))


def _change(older: str, name: str, change: Change) -> Iterator[str]:
    source = f" ({change.source})" if change.source else ""
    yield f"### {change.name}\n\n*{change.kind.value}*: {change.text}{source}"
    found = witnesses(name).get(change.name)
    if isinstance(found, NoWitness):
        yield f"No single decision shows it: {found.none}."
    elif found is not None:
        yield _witness(older, name, change.name, found)


def _witness(older: str, name: str, change: str, witness: Witness) -> str:
    """What is asked, as it is written down, and both answers."""
    asked = re.search(rf"^{change}:\n(.*?)^  differs:", _written(name), re.MULTILINE | re.DOTALL)
    assert asked is not None, change
    both = ((older, witness.before), (name, witness.after))
    answers = "\n".join(f"| {release} | {_answer(said)} |" for release, said in both)
    seen = f"\n\nRecorded of both releases, for this change alone: {witness.recorded}." if witness.recorded else ""
    where = ".".join(witness.differs)
    return f"```yaml\n{textwrap.dedent(asked[1])}```\n\n| release | `{where}` |\n|---|---|\n{answers}{seen}"


@cache
def _written(name: str) -> str:
    return (WITNESSES / f"{name}.yaml").read_text(encoding="utf-8")


def _answer(answer: Any) -> str:
    """An answer in a cell."""
    return cell(f"`{json.dumps(answer, ensure_ascii=False)}`") if answer not in (None, []) else "nothing"


OWN = "scheduler_"


def _table(*, own: bool) -> str:
    """A row for each way in which a metric is defined; releases that define it alike share one."""
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    for release in reversed(recorded_processes().values()):
        visibility = Visibility(release.version)
        for family in release.metrics.families:
            if family.name.startswith(OWN) == own:
                key = (family.name, family.kind, ", ".join(family.labels), _buckets(family))
                rows.setdefault(key, []).append(f"{release.name} {_standing(family, visibility)}")
    lines = ["| metric | type | labels | upper bounds | releases |", "|---|---|---|---|---|"]
    for (name, kind, labels, buckets), releases in sorted(rows.items()):
        lines.append(f"| `{name}` | {kind} | {cell(labels)} | {buckets} | {', '.join(releases)} |")
    return "\n".join(lines)


def _buckets(family: Family) -> str:
    """The first, the second and the last."""
    if family.kind == "summary":
        return "quantiles 0.5, 0.9, 0.99"
    bounds = [go_number(float(f"{bound:.6g}")) for bound in family.buckets]
    return ", ".join(bounds) if len(bounds) <= 3 else f"{bounds[0]}, {bounds[1]} … {bounds[-1]} ({len(bounds)})"


def _standing(family: Family, visibility: Visibility) -> str:
    if not family.registered:
        return "never exported"
    if visibility.hides(family):
        return f"{family.stability}, hidden since {family.deprecated}"
    return f"{family.stability}, deprecated" if family.deprecated else family.stability


NOT_THERE, EMPTY = "–", '""'
"""What stands for a flag that a release does not have, and for an empty default."""


def _section(section: str) -> str:
    """One section of help; a flag stands where the newest release that has it lists it."""
    newest = {flag.name: flag for live in recorded_processes().values() for flag in live.flags}
    names = sorted(name for name, flag in newest.items() if flag.section == section)
    if not names:
        return ""
    head = ["flag", "value", *recorded_processes(), "meaning"]
    rows = [f"### {section}\n", f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    rows += [_row(newest[name]) for name in names]
    return "\n".join(rows)


def _row(flag: Flag) -> str:
    tables = [{one.name: one for one in live.flags} for live in recorded_processes().values()]
    defaults = [_default(table[flag.name]) if flag.name in table else NOT_THERE for table in tables]
    name = f"`--{flag.name}`" + (f", `-{flag.short}`" if flag.short else "")
    idle = " **No effect here.**" if flag.idle else ""
    return f"| {name} | {flag.kind.value or 'bool'} | {' | '.join(defaults)} | {cell(flag.help)}{idle} |"


def _default(flag: Flag) -> str:
    text = written_value(flag.kind, flag.default)
    return (
        f"`{EMPTY if flag.kind is FlagKind.TEXT and not text else text}`"
        if text or flag.kind is FlagKind.TEXT
        else "none"
    )
