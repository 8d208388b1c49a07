"""Which changes explain what neighbouring releases answer differently: ``python -m benchmarks.attribution VECTORS``.

For every step between releases the scenarios that both were recorded with are answered by both; where few are shared,
those of either. Each differing answer is answered again with changes of the step taken back: those are its reason with
which, taken back together, the newer release answers exactly as the older one. What stays different is listed.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import click

from kubescheduler.engine.evaluate_protocol import evaluate
from kubescheduler.releases.lookup import RELEASES
from kubescheduler.releases.names import RELEASE_NAMES, TAKEN_BACK

Row = dict[str, Any]
Changes = tuple[str, ...]

LEFT_OUT = ("extender", "large")
"""Themes that need a server, or take long."""
ENOUGH = 50
"""Shared scenarios, from which on others are not looked at."""
NOT_COMPARED = ("scenario", "query", "release", "notes")


@attrs.frozen
class Found:
    """One query that two neighbours answer differently."""

    scenario: str
    """Its theme and name."""
    query: str
    changes: Changes | None
    """Those that explain it together; None where no changes do."""


@attrs.frozen
class Step:
    """What there is to say of a step."""

    older: str
    newer: str
    scenarios: int
    shared: bool
    """Whether both releases were recorded with them."""
    differing: tuple[Found, ...]

    @property
    def unexplained(self) -> list[Found]:
        """What differs for no change."""
        return [found for found in self.differing if found.changes is None]


# --- answers -----------------------------------------------------------------------------------


def answers(scenario: Row, release: str) -> dict[str, Row]:
    """Query → what is compared of its answer."""
    results = list(evaluate([json.dumps(scenario).encode()], release))
    if TAKEN_BACK not in release and (
        faults := [result for result in results if "a fault in kubescheduler" in (result["error"] or "")]
    ):
        raise click.ClickException(f"release {release}, {faults[0]['scenario']}: {faults[0]['error']}")
    for result in results:
        result["error"] = result["error"] and result["error"].replace(release, "RELEASE")  # which names itself
    return {
        result["query"]: {part: said for part, said in result.items() if part not in NOT_COMPARED and said}
        for result in results
    }


def without(release: str, changes: Sequence[str]) -> str:
    """The name of a release without some of its changes."""
    return TAKEN_BACK.join((release, *changes))


def attributed(scenario: Row, older: str, newer: str, known: Counter[Changes]) -> dict[str, Changes | None]:
    """Query → the changes that explain it, of every query of a scenario that the releases answer differently.

    known: the sets of changes that explained others, and how many, which are tried first, the smallest before larger
    ones; it is added to. The queries of a sequence are explained together, as what one of them places is there for the
    next.
    """
    before, after = answers(scenario, older), answers(scenario, newer)
    rest = [query["id"] for query in scenario["queries"] if before[query["id"]] != after[query["id"]]]
    found: dict[str, Changes | None] = {}
    if scenario.get("sequence") and rest:
        changes = _explained(scenario, rest, newer, before, after)
        return dict.fromkeys(rest, changes)
    for changes in sorted(known, key=lambda each: (len(each), -known[each])):
        if rest:
            said = answers(asking(scenario, rest), without(newer, changes))
            found |= {query: changes for query in rest if said[query] == before[query]}
            rest = [query for query in rest if query not in found]
    if rest:
        some = asking(scenario, rest)
        each_back = {name: answers(some, without(newer, (name,))) for name in _names(newer)}
        for query in rest:
            one = asking(scenario, [query])
            found[query] = tuple(name for name, said in each_back.items() if said[query] != after[query])
            if answers(one, without(newer, found[query] or ()))[query] != before[query]:
                found[query] = _explained(one, [query], newer, before, after)
    known.update(changes for changes in found.values() if changes)
    return found


def asking(scenario: Row, queries: Sequence[str]) -> Row:
    """A scenario with some of its queries alone."""
    return {**scenario, "queries": [query for query in scenario["queries"] if query["id"] in queries]}


def _names(release: str) -> list[str]:
    return [change.name for change in RELEASES[release].changes]


def _explained(
    scenario: Row, queries: Sequence[str], newer: str, before: Mapping[str, Row], after: Mapping[str, Row]
) -> Changes | None:
    """The fewest changes found with which, taken back, the queries are answered as before; None if there are none.

    One change after the other is taken back, the last one first, until the answers are the older ones; then every one
    that is not needed is put back.
    """
    taken: list[str] = []
    for name in reversed(_names(newer)):
        taken.insert(0, name)
        if _same(answers(scenario, without(newer, taken)), before, queries):
            break
    else:
        return None
    for name in list(taken):
        rest = [each for each in taken if each != name]
        if _same(answers(scenario, without(newer, rest)), before, queries):
            taken = rest
    return tuple(taken) if not _same(after, before, queries) else ()


def _same(said: Mapping[str, Row], wanted: Mapping[str, Row], queries: Sequence[str]) -> bool:
    return all(said[query] == wanted[query] for query in queries)


# --- all of a step -----------------------------------------------------------------------------


def rows_of(folder: Path) -> dict[str, Row]:
    """``theme/name`` → scenario and results, of one release's recordings."""
    return {
        f"{path.name.partition('.')[0]}/{row['scenario']['id']}": row
        for path in sorted(folder.glob("*.jsonl.gz"))
        if path.name.partition(".")[0] not in LEFT_OUT
        for row in map(json.loads, gzip.open(path, "rt"))
    }


def scenarios_between(vectors: Path, older: str, newer: str) -> tuple[bool, dict[str, Row]]:
    """Whether enough are shared, and those with the queries that were answered differently, or else all of both."""
    before, after = (rows_of(vectors / name) for name in (older, newer))
    shared = {name: row for name, row in after.items() if before.get(name, {}).get("scenario") == row["scenario"]}
    if len(shared) >= ENOUGH:
        return True, {name: _differing(row["scenario"], before[name], row) for name, row in shared.items()}
    others = {f"{name} of {older}": row["scenario"] for name, row in before.items()}
    return False, {**others, **{f"{name} of {newer}": row["scenario"] for name, row in after.items()}}


def _differing(scenario: Row, older: Row, newer: Row) -> Row:
    """A scenario with the queries that were answered differently; whole if one goes on from another."""
    said = [{result["query"]: {**result, "release": ""} for result in row["results"]} for row in (older, newer)]
    queries = [query for query in said[1] if said[0].get(query) != said[1][query]]
    return scenario if scenario.get("sequence") and queries else asking(scenario, queries)


def step_between(older: str, newer: str, shared: bool, scenarios: Mapping[str, Row]) -> Step:
    known: Counter[Changes] = Counter()
    found = [
        Found(name, query, changes)
        for name, scenario in scenarios.items()
        for query, changes in attributed(scenario, older, newer, known).items()
    ]
    return Step(older, newer, len(scenarios), shared, tuple(found))


def steps(vectors: Path, names: Sequence[str], every: int) -> Iterator[Step]:
    """The steps to these releases, by every so-many-th scenario."""
    for older, newer in pairwise(RELEASE_NAMES):
        if newer in names:
            shared, scenarios = scenarios_between(vectors, older, newer)
            yield step_between(older, newer, shared, dict([*scenarios.items()][::every]))


@click.command()
@click.argument("vectors", type=click.Path(path_type=Path, exists=True))
@click.argument("releases", nargs=-1, type=click.Choice(RELEASE_NAMES))
@click.option("--every", default=1, show_default=True, help="Only every so-many-th scenario.")
@click.option("--save", type=click.Path(path_type=Path), help="Writes what explains each query to this file, as JSON.")
def main(vectors: Path, releases: tuple[str, ...], every: int, save: Path | None) -> None:
    """Print per step how many differing answers its changes explain, and those that they do not."""
    print("| step | scenarios | queries that differ | explained | by |\n|---|---:|---:|---:|---|")
    saved: list[Any] = []
    for step in steps(vectors, releases or RELEASE_NAMES[2:], every):
        by = Counter(name for found in step.differing for name in found.changes or ())
        explained = len(step.differing) - len(step.unexplained)
        several = ", ".join(f"{name} {count}" for name, count in by.most_common())
        shared = "" if step.shared else " of either"
        print(
            f"| {step.older} → {step.newer} | {step.scenarios}{shared} | {len(step.differing)} | "
            f"{explained} | {several} |",
            flush=True,
        )
        for found in step.unexplained:
            print(f"not explained: {step.older} → {step.newer}, {found.scenario}, {found.query}", file=sys.stderr)
        saved += [{"older": step.older, "newer": step.newer, **attrs.asdict(found)} for found in step.differing]
        if save is not None:
            save.write_text(json.dumps(saved, indent=0), encoding="utf-8")


if __name__ == "__main__":
    main()
