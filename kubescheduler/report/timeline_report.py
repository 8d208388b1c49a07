"""The steps between releases as one HTML file: releases across, workloads down, an edge where pods move.

The rows are made by the page's own script from the data in the page, as many as are looked at. Pods of a workload that
are decided alike share their outcomes and what explains their moves, so that thousands of pods make a small page.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import msgspec
import yaml

from kubescheduler.comparison.outcomes import Outcome
from kubescheduler.comparison.release_steps import EACH, Grouping, PodTimeline, Timeline, TimelineMove, headline
from kubescheduler.releases.lookup import NoWitness, Witness, changes_between, release_named, witnesses
from kubescheduler.releases.release import Change, Release
from kubescheduler.report.single_file import cards, change_data, embedded, facts_list, outcome_data, page

TEMPLATE, STYLES = "timeline.html", ("report.css", "timeline.css")
SCRIPTS = ("report_detail.js", "report_address.js", "timeline_rows.js", "timeline.js")

NOWHERE = -1
"""In place of the number of a node: none."""

SOURCES = (
    (re.compile(r"KEP-(\d+)"), "https://kep.k8s.io/{}"),
    (re.compile(r"kubernetes #(\d+)"), "https://github.com/kubernetes/kubernetes/pull/{}"),
)
"""What names a proposal or a pull request → where it is."""


def render_timeline(found: Timeline) -> str:
    """The whole document. The same time line gives the same text."""
    first, last = found.releases[0], found.releases[-1]
    data, notes = timeline_payload(found), [*found.notes, *_failed(found)]
    parts = {
        "title": escape(headline(found)),
        "heading": f"<h1><b>{escape(first)}</b> → <b>{escape(last)}</b>, release by release</h1>",
        "notes": "".join(f'<p role="note">{escape(note)}</p>' for note in notes),
        "glance": _glance(found),
        "changes": _changes(data["records"]),
        "data": embedded(data),
    }
    return page(TEMPLATE, STYLES, SCRIPTS, parts)


def _failed(found: Timeline) -> Iterator[str]:
    """What is said of attempts that an error ended."""
    for text, count in Counter(text for _, text in found.errors).items():
        yield f"an error ended the attempt of {count:,} {'pod' if count == 1 else 'pods'}: {text}"


def _glance(found: Timeline) -> str:
    """The numbers that most readers came for."""
    moved = found.moved
    steps = {move.release for pod in moved for move in pod.moves}
    back = sum(pod.came_back for pod in moved)
    facts = (
        ("pods decided", f"{len(found.pods):,}", f"by {len(found.releases)} releases"),
        ("go elsewhere at some step", f"{len(moved):,}", f"of {len(found.pods):,}"),
        ("of these come back", f"{back:,}", f"are by {found.releases[-1]} where they were by {found.releases[0]}"),
        ("steps at which pods move", f"{len(steps):,}", f"of {len(found.releases) - 1}"),
    )
    return facts_list(facts)


def _changes(records: Sequence[dict[str, Any]]) -> str:
    """The changes that move pods, oldest first; a press leaves only the workloads that they move."""
    moving = [(at, record) for at, record in enumerate(records) if record["pods"]]
    if not moving:
        return "<p>No change alone moves a pod.</p>"
    heads = "".join(f'<th scope="col" role="columnheader">{head}</th>' for head in HEADS)
    rows = "".join(_change_row(at, record) for at, record in moving)
    return '<p class="hint screen">Choose a change to see the workloads that it moves.</p>' + cards(
        "Changes that move pods", heads, rows
    )


HEADS = ("Change", "Release", "Pods", "What is different", "Source")


def _change_row(at: int, record: dict[str, Any]) -> str:
    name = (
        f'<button type="button" class="picks" data-change="{at}" aria-pressed="false">{escape(record["name"])}</button>'
    )
    source = escape(record.get("source", ""))
    if "address" in record:
        source = f'<a href="{escape(record["address"])}" rel="noreferrer">{source}</a>'
    told = (escape(record["release"]), f"{record['pods']:,}", escape(record["text"]), source or "–")
    cells = "".join(
        f'<td role="cell" data-label="{head}">{cell}</td>' for head, cell in zip(HEADS[1:], told, strict=True)
    )
    return f'<tr role="row"><th scope="row" role="rowheader">{name}</th>{cells}</tr>'


# --- data of the page ------------------------------------------------------------------------


class _Numbered:
    """Things that occur often, each once, by number."""

    def __init__(self) -> None:
        self.all: list[Any] = []
        self._known: dict[bytes, int] = {}

    def number(self, thing: Any) -> int:
        """Of plain data."""
        key = msgspec.json.encode(thing)
        if key not in self._known:
            self._known[key] = len(self.all)
            self.all.append(thing)
        return self._known[key]


def timeline_payload(found: Timeline) -> dict[str, Any]:
    """Plain data: nodes, outcomes, explanations and changes each once; workloads name them by number."""
    hosts = sorted({outcome.host for pod in found.pods for outcome in pod.outcomes if outcome.host is not None})
    number_of = {host: at for at, host in enumerate(hosts)}
    place_of = {release: at for at, release in enumerate(found.releases)}
    terms: dict[tuple[str | None, str | None], int] = {}
    texts: dict[str, int] = {}
    outcomes, changes = _Numbered(), _Numbered()
    records = _records(found)
    record_of = {(each["release"], each["name"]): at for at, each in enumerate(records)}

    def moved(pod: PodTimeline, move: TimelineMove) -> tuple[Any, ...]:
        at = place_of[move.release]
        old, new = (outcomes.number(outcome_data(pod.outcomes[which])) for which in (at - 1, at))
        named = tuple(record_of[move.release, name] for name in move.changes)
        return at, old, new, changes.number(change_data(move.change, terms, texts)), named

    workloads = []
    for (namespace, name), pods in found.workloads().items():
        alike: dict[tuple[Any, ...], list[str]] = {}
        for pod in pods:
            for move in pod.moves:
                alike.setdefault(moved(pod, move), []).append(pod.pod.rpartition("/")[2])
        workloads.append(
            {
                "namespace": namespace,
                "name": name,
                "pods": len(pods),
                "moved": sum(bool(pod.moves) for pod in pods),
                "back": sum(pod.came_back for pod in pods),
                "cells": _cells([pod.outcomes for pod in pods], number_of),
                "moves": sorted(
                    ([*key, names] for key, names in alike.items()), key=lambda move: (move[0], -len(move[-1]))
                ),
            }
        )
    return {
        "releases": list(found.releases),
        "hosts": hosts,
        "groupings": [_grouping(one, hosts) for one in found.groupings or (Grouping(EACH, {h: h for h in hosts}),)],
        "workloads": workloads,
        "outcomes": outcomes.all,
        "changes": changes.all,
        "records": records,
        "terms": list(terms),
        "texts": list(texts),
    }


def _cells(pods: Sequence[Sequence[Outcome]], number_of: dict[str, int]) -> list[Any]:
    """Per release [[node, pods on it], …], those with most pods first; 0 where it is as in the release before."""
    cells: list[Any] = []
    before: Any = None
    for outcomes in zip(*pods, strict=True):
        counts = Counter(NOWHERE if one.host is None else number_of[one.host] for one in outcomes)
        cell = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        cells.append(0 if cell == before else cell)
        before = cell
    return cells


def _grouping(grouping: Grouping, hosts: Sequence[str]) -> dict[str, Any]:
    """Its groups, and for each node the number of its own."""
    groups = sorted(set(grouping.group_of.values()))
    number_of = {group: at for at, group in enumerate(groups)}
    return {"name": grouping.name, "groups": groups, "of": [number_of[grouping.group_of[host]] for host in hosts]}


def _records(found: Timeline) -> list[dict[str, Any]]:
    """The changes of every release at whose step pods move, oldest first, each with how many pods move by it."""
    moves = [move for pod in found.moved for move in pod.moves]
    counts = Counter((move.release, name) for move in moves for name in move.changes)
    before = {move.release: move.before for move in moves}
    return [
        {**record_data(release, change), "step": step, "pods": counts[release.name, change.name]}
        for step in sorted(before, key=found.releases.index)
        for release, change in changes_between(before[step], release_named(step).name)
    ]


def record_data(release: Release, change: Change) -> dict[str, Any]:
    """A change as the page shows it."""
    data: dict[str, Any] = {
        "release": release.name,
        "name": change.name,
        "kind": change.kind.value,
        "text": change.text,
    }
    if change.source:
        data["source"] = change.source
        address = next((to.format(part[1]) for text, to in SOURCES if (part := text.fullmatch(change.source))), None)
        data |= {"address": address} if address else {}
    if witness := witnesses(release.name).get(change.name):
        data["witness"] = _witness(witness)
    return data


def _witness(witness: Witness | NoWitness) -> dict[str, str]:
    """A small example that both releases answer differently for the change alone, as texts; or why there is none."""
    if isinstance(witness, NoWitness):
        return {"none": witness.none}
    given = msgspec.to_builtins(witness)
    return {
        "where": " ".join(witness.differs),
        "before": _said(witness.before),
        "after": _said(witness.after),
        "given": yaml.safe_dump({key: given[key] for key in GIVEN if given[key]}, sort_keys=False, width=100),
    }


GIVEN = ("cluster", "pod", "provider", "policy", "componentConfig", "featureGates", "preempt")
"""Of a witness, what is decided by what."""


def _said(answer: Any) -> str:
    return "nothing" if answer is None else json.dumps(answer, ensure_ascii=False)
