"""Changes of a Policy: weights, what is selected, arguments. A provider becomes the Policy that says the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from clusterstate.errors import ConfigError, nearest
from kubescheduler.lab.tuning.form_rows import Form, Row
from kubescheduler.lab.tuning.policy_form import Selection, policy_form, selected
from kubescheduler.lab.tuning.side_text import POLICY, PROVIDER, SideText
from kubescheduler.lab.tuning.text_rewriting import NORMALISED, rewritten

WRITTEN_OUT = "the provider {} is written as the Policy that says the same"
PREDICATES, PRIORITIES = "predicates", "priorities"

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

    def change(document: Document) -> Document:
        entries = _entries(document, PRIORITIES)
        for entry in entries:
            if isinstance(entry, dict) and entry.get("name") in wanted:
                _set(entry, "weight", wanted[entry["name"]])
        return document

    return _changed(as_policy(side, {PRIORITIES}), change).checked()


def toggled_policy(side: SideText, name: str, *, on: bool) -> SideText:
    """With a predicate or a priority selected or not. Raises ConfigError for one that cannot be, or is there not."""
    form = policy_form(side, ranges=False)
    row, key = _row(form, name)
    if row.fixed:
        raise ConfigError(f"{name}: {row.fixed}")
    if row.on == on:
        return side

    def change(document: Document) -> Document:
        entries = _entries(document, key)
        if on:
            entries.append({"name": name} | ({"weight": 1} if key == PRIORITIES else {}))
        else:
            entries[:] = [entry for entry in entries if not isinstance(entry, dict) or entry.get("name") != name]
        return document

    return _changed(as_policy(side, {key}), change).checked()


def argued_policy(side: SideText, name: str, argument: Mapping[str, Any]) -> SideText:
    """With another argument of an entry. Raises ConfigError for an entry that there is not, and for the argument."""
    policy = as_policy(side, set())
    key = _row(policy_form(policy, ranges=False), name)[1]

    def change(document: Document) -> Document:
        for entry in _entries(document, key):
            if isinstance(entry, dict) and entry.get("name") == name:
                _set(entry, "argument", dict(argument))
        return document

    return _changed(policy, change).checked()


def as_policy(side: SideText, written: set[str]) -> SideText:
    """The same as a Policy in which some of its lists are written. Raises ConfigError with every problem."""
    lists = selected(side)
    if side.kind == POLICY and side.text.strip():

        def write(document: Document) -> Document:
            absent = {key for key in written if _key(document, key) not in document}
            return {**document, **{key: found for key, found in _lists(lists).items() if key in absent}}

        return _changed(side, write)
    notes = (WRITTEN_OUT.format(side.text.strip() or "DefaultProvider"),) if side.kind == PROVIDER else ()
    fresh = rewritten("", lambda _: {"kind": "Policy", "apiVersion": "v1", **_lists(lists)})
    return side.saying(POLICY, fresh.text, *notes)


def _lists(lists: Selection) -> Document:
    predicates = [{"name": name} for name in lists.predicates]
    priorities = [{"name": name, "weight": weight} for name, weight in lists.priorities.items()]
    return {PREDICATES: predicates, PRIORITIES: priorities}


def _row(form: Form, name: str) -> tuple[Row, str]:
    for rows, key in ((form.rules, PRIORITIES), (form.checks, PREDICATES)):
        for row in rows:
            if row.id == name:
                return row, key
    known = [row.id for row in (*form.rules, *form.checks)]
    raise ConfigError(f"{name}: there is no such predicate or priority{nearest(name, known)}")


def _changed(side: SideText, change: Callable[[Document], Document]) -> SideText:
    made = rewritten(side.text, change)
    notes = side.notes if made.kept else (*side.notes, NORMALISED)
    return msgspec.structs.replace(side, text=made.text, notes=tuple(dict.fromkeys(notes)))


def _key(mapping: Mapping[str, Any], key: str) -> str:
    """The key as the document writes it, whose case does not count everywhere."""
    return next((each for each in mapping if each.casefold() == key.casefold()), key)


def _entries(document: Document, key: str) -> list[Any]:
    written = _key(document, key)
    if not isinstance(document.get(written), list):
        document[written] = []
    found: list[Any] = document[written]
    return found


def _set(entry: Document, key: str, value: Any) -> None:
    entry[_key(entry, key)] = value
