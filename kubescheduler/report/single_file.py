"""A page as one HTML file that needs nothing else, no network and no server, and what such pages show of pods as plain
data for ``report_detail.js``: what is empty is left out.

A content security policy lets nothing but these very styles and scripts take part.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import msgspec

from kubescheduler.comparison.outcomes import Contribution, HostChange, Outcome
from kubescheduler.sources.sanitize import escaped, json_shown

UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Inside a JSON string the escape means the same; outside of strings none of them occurs."""

MARK = re.compile(r"\{\{ (\w+) \}\}")


def page(template: str, styles: Sequence[str], scripts: Sequence[str], parts: Mapping[str, str]) -> str:
    """A whole document of files beside this one. parts: what stands in the template's places, as HTML; its styles, its
    scripts and the policy that lets nothing else take part are filled in here."""
    style, ran = "".join(map(_asset, styles)), [_asset(name) for name in scripts]
    filled = {
        **parts,
        "policy": _policy(style, ran),
        "style": style,
        "scripts": "".join(f"<script>{script}</script>" for script in ran),
    }
    return escaped(MARK.sub(lambda mark: filled[mark[1]], _asset(template)))


def embedded(data: Any) -> str:
    """As JSON that can stand in a ``<script type="application/json">`` whatever names it holds."""
    text = msgspec.json.encode(data).decode()
    for character, written in UNSAFE.items():
        text = text.replace(character, written)
    return json_shown(text)


def _asset(name: str) -> str:
    """The text of a file beside this one."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, scripts: list[str]) -> str:
    """Names the styles and scripts of this page by their digests; everything else is refused, addresses too."""
    runs = " ".join(_digest(script) for script in scripts) or "'none'"
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {runs}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


MOST_NAMES = 10
"""Tied nodes and evicted pods that are named; of the others only the number is kept. Thousands of nodes may tie."""

MOST_EXACT = 2**53 - 1


def outcome_data(outcome: Outcome) -> dict[str, Any]:
    """Where a pod goes, as report_detail.js shows it."""
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


def change_data(
    change: HostChange, terms: dict[tuple[str | None, str | None], int], texts: dict[str, int]
) -> dict[str, Any]:
    """Why it goes elsewhere, as report_detail.js shows it; terms and texts that are new get the next number."""
    fields = {
        "text": change.text,
        "terms": [_term(term, terms, texts) for term in change.contributions],
        "steps": [[step.cause, step.names, _exact(step.by), _exact(step.lead)] for step in change.steps],
        "moves": None if change.moves is None else [change.moves.moved, change.moves.runs],
        "reasons": {check: list(texts) for check, texts in (change.evidence or change.reasons).items()},
    }
    return {
        "cause": change.cause,
        **_filled(fields),
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
    listed = list(names)
    return [len(listed), listed[:MOST_NAMES]] if listed else None


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in fields.items()
        if value is not None and value is not False and value not in ("", [], {})
    }
