"""The parts of the reference about releases, written from their records: the time line and the matrix."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Any

from docs.generate.writing import cell
from kubescheduler.cli.releases import releases_document
from kubescheduler.engine.evaluate_protocol import evaluate
from kubescheduler.releases.lookup import RELEASES
from kubescheduler.releases.names import RELEASE_NAMES, place, spoken
from kubescheduler.releases.release import Change, Release
from kubescheduler.releases.witness import FOLDER, NoWitness, Witness, witnesses

NONE = "–"


def release_tables() -> dict[str, str]:
    """Name → Markdown."""
    return {
        "time line": "\n\n".join(_releases()),
        "release matrix": release_matrix(),
        "what scores by default": scoring_by_default(),
    }


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
    return (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")


def _answer(answer: Any) -> str:
    """An answer in a cell."""
    return cell(f"`{json.dumps(answer, ensure_ascii=False)}`") if answer not in (None, []) else "nothing"
