"""The numbers of one decision on all rows, line by line, and what its totals are made of."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from typing import Protocol

import msgspec
import numpy as np

from clusterstate.growable import NO_NUMBERS, IntArray
from clusterstate.usage import wrap
from kubescheduler.core.holding.held_scores import LOWEST, TOTAL, ScoreLayout
from kubescheduler.core.score_table import Scores
from priorities.types import PriorityConfig


class Totalled(Protocol):
    """What a decision's rules gave; see Decision."""

    @property
    def totals(self) -> IntArray:
        """(n,) int64 of the rows that fit."""
        ...

    @property
    def scores(self) -> Mapping[str, Scores]:
        """By rule, before the weight."""
        ...

    @property
    def raws(self) -> Mapping[str, Scores]:
        """By rule, before normalisation; empty for releases that keep no raw scores."""
        ...


class SomeScored(msgspec.Struct, frozen=True, eq=False):
    """See Totalled."""

    totals: IntArray
    scores: Mapping[str, Scores]
    raws: Mapping[str, Scores]


def scored_without(scored: Totalled, names: Collection[str], weights: Mapping[str, int]) -> Totalled:
    """What was scored without some of the rules. weights: of these."""
    if not names:
        return scored
    totals = scored.totals
    for name in names:
        final, weight = scored.scores[name], weights[name]
        totals = totals - (np.int64(wrap(weight * final)) if isinstance(final, int) else np.int64(weight) * final)
    scores = {name: final for name, final in scored.scores.items() if name not in names}
    return SomeScored(totals, scores, {name: raw for name, raw in scored.raws.items() if name not in names})


def without_numbers(scored: Totalled) -> Totalled:
    """The rules in order, with the one score that all rows have, or no numbers."""

    def shared(scores: Mapping[str, Scores]) -> dict[str, Scores]:
        return {name: score if isinstance(score, int) else NO_NUMBERS for name, score in scores.items()}

    return SomeScored(NO_NUMBERS, shared(scored.scores), shared(scored.raws))


class ScoreLines(msgspec.Struct, frozen=True, eq=False):
    """One line for each number that differs from row to row, or may come to."""

    numbers: list[IntArray]
    """(N,) each; not to be written to."""
    layout: ScoreLayout
    """Which line is which."""
    normalised: list[tuple[str, bool]]
    """The rules of which lines are normalised, and whether distinct numbers alone decide what they come to."""
    addends: list[tuple[int, int]]
    """(line, weight) of every rule that adds one to the totals."""
    weights: Mapping[str, int]
    """Of every rule."""
    base: int
    """What all other rules add to every total, modulo 2^64."""
    fitted: IntArray
    """(n,) the rows that were scored; the total of others is LOWEST."""


def score_lines(
    scored: Totalled,
    rules: Mapping[str, PriorityConfig],
    whole: Mapping[str, IntArray],
    moving: Container[str],
    weights: Mapping[str, int],
    fitted: IntArray,
    size: int,
) -> ScoreLines:
    """The lines of what was scored, on so many rows that there are.

    rules: by name, those that are not constant. whole: their raw numbers on all rows, (N,) each. moving: those of which
    single rows change, also where all have one score. weights: of every rule. fitted: (n,) the rows that were scored.
    """
    lines = [_spread(scored.totals, fitted, size, LOWEST)]
    finals: dict[str, int] = {}
    raws: dict[str, int] = {}
    for name, final in scored.scores.items():
        rule = rules.get(name)
        varies = name in moving or not isinstance(final, int)
        if varies:
            finals[name] = raws[name] = len(lines)
            lines.append(whole[name] if rule is not None and rule.reduce is None else _spread(final, fitted, size))
        reduced = rule is not None and rule.reduce is not None
        if reduced and (varies or not isinstance(scored.raws.get(name, 0), int)):
            raws[name] = len(lines)
            lines.append(whole[name])
    layout = ScoreLayout(
        tuple(scored.scores),
        finals,
        {name: at for name, at in raws.items() if name in scored.raws},
        raws,
        {name: final for name, final in scored.scores.items() if name not in finals and isinstance(final, int)},
        {name: raw for name, raw in scored.raws.items() if name not in raws and isinstance(raw, int)},
    )
    addends = [(at, weights[name]) for name, at in finals.items()]
    first = int(fitted[0])
    base = lines[TOTAL].item(first) - sum(weight * lines[at].item(first) for at, weight in addends)
    normalised = [(name, rules[name].valuewise) for name in finals if raws[name] != finals[name]]
    return ScoreLines(lines, layout, normalised, addends, weights, base, fitted)


def _spread(numbers: Scores, rows: IntArray, size: int, elsewhere: int = 0) -> IntArray:
    """(size,) int64: (n,) numbers of some rows, or the one that they all have, and another number elsewhere."""
    if len(rows) == size and not isinstance(numbers, int):
        return numbers
    out = np.full(size, elsewhere, np.int64)
    out[rows] = numbers
    return out
