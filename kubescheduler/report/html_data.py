"""What the report's own script reads: every pod's outcomes, changes and terms, small, and safe inside a page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.outcomes import MEANINGS, Contribution, HostChange, Outcome
from kubescheduler.comparison.workload_summaries import ALONE
from kubescheduler.sources.foreign_text import json_shown

MOST_NAMES = 10
"""Tied nodes and evicted pods that are named; of the others only the number is kept. Thousands of nodes may tie."""

MOST_EXACT = 2**53 - 1

UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Inside a JSON string the escape means the same; outside of strings none of them occurs."""


def payload(comparison: Comparison) -> dict[str, Any]:
    """Plain data. What is empty is left out; a contribution is a list that begins with the number of its term, and ends
    with what its scores were made of, as numbers of ``texts``."""
    terms: dict[tuple[str | None, str | None], int] = {}
    texts: dict[str, int] = {}
    pods = [
        {
            "pod": pod.pod,
            "outcomes": [_outcome(outcome) for outcome in pod.outcomes],
            "changes": [_change(change, terms, texts) for change in pod.changes],
            **({} if pod.workload.startswith(ALONE) else {"workload": pod.workload}),
            **({} if pod.runs_on is None else {"runsOn": pod.runs_on}),
        }
        for pod in comparison.pods
    ]
    return {
        "names": comparison.titles,
        "meanings": {cause.value: meaning for cause, meaning in MEANINGS.items()},
        "terms": list(terms),
        "texts": list(texts),
        "pods": pods,
    }


def embedded(data: Any) -> str:
    """As JSON that can stand in a ``<script type="application/json">`` whatever names it holds."""
    text = msgspec.json.encode(data).decode()
    for character, escape in UNSAFE.items():
        text = text.replace(character, escape)
    return json_shown(text)


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return _filled(
        {
            "host": outcome.host,
            "total": _exact(outcome.total),
            "tied": _some(outcome.tied) if len(outcome.tied) > 1 else None,
            "fits": outcome.fits,
            "nodes": outcome.nodes,
            "message": outcome.message,
            "error": outcome.error,
            "evicts": _some(outcome.evicts),
            "evictsFrom": outcome.evicts_from,
        }
    )


def _change(
    change: HostChange, terms: dict[tuple[str | None, str | None], int], texts: dict[str, int]
) -> dict[str, Any]:
    found = {
        "text": change.text,
        "terms": [_term(term, terms, texts) for term in change.contributions],
        "steps": [[step.cause, step.names, _exact(step.by), _exact(step.lead)] for step in change.steps],
        "moves": None if change.moves is None else [change.moves.moved, change.moves.runs],
        "reasons": {check: list(texts) for check, texts in (change.evidence or change.reasons).items()},
    }
    return {
        "cause": change.cause,
        **_filled(found),
        **(
            {"old": _exact(change.old_difference), "new": _exact(change.new_difference)} if change.contributions else {}
        ),
    }


def _term(term: Contribution, terms: dict[tuple[str | None, str | None], int], texts: dict[str, int]) -> list[Any]:
    number = terms.setdefault((term.old_name, term.new_name), len(terms))
    amounts = (term.old, term.new, term.old_weight, term.new_weight)
    scores = [pair and tuple(map(_exact, pair)) for pair in (term.old_scores, term.new_scores)]
    evidence = [
        [[texts.setdefault(sentence, len(texts)) for sentence in pair] for pair in side]
        for side in (term.old_evidence, term.new_evidence)
    ]
    return [number, *map(_exact, amounts), *scores, *(evidence if any(evidence) else ())]


def _exact(value: int | None) -> int | str | None:
    """As text where a script's numbers would be rounded."""
    return value if value is None or abs(value) <= MOST_EXACT else str(value)


def _some(names: Iterable[str]) -> list[Any] | None:
    """[how many, the first of them]."""
    found = list(names)
    return [len(found), found[:MOST_NAMES]] if found else None


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in fields.items()
        if value is not None and value is not False and value not in ("", [], {})
    }
