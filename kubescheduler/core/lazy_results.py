"""What a decision says of nodes, put together when somebody reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
import numpy as np

from clusterstate.growable import NO_NUMBERS, IntArray, Mask
from clusterstate.topology.row_groups import GroupedScores
from clusterstate.usage import wrap

Scores: TypeAlias = IntArray | int
"""One priority's score of every feasible node, in the order of ``Decision.feasible``; an int stands for all."""


def one_for_all(scores: IntArray) -> Scores:
    """Scores, or the one number that they all are if they are laid out as one."""
    return int(scores[0]) if len(scores) and scores.strides[0] == 0 else scores


class ScoreTable(Mapping[str, Scores]):
    """Priority → its scores of the nodes that fit, (n,) int64, or the one score that all of them have."""

    __slots__ = ("by_priority", "feasible", "names")

    def __init__(self, by_priority: Mapping[str, Scores], names: tuple[str, ...], feasible: IntArray) -> None:
        """names: of all rows. feasible: (n,) int64, the rows that fit, in list order."""
        self.by_priority = by_priority
        self.names = names
        self.feasible = feasible

    def __getitem__(self, priority: str) -> Scores:
        return self.by_priority[priority]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_priority)

    def __len__(self) -> int:
        return len(self.by_priority)

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Priority → node → score, before the weight; empty when nothing was scored, as when just one node fits."""
        return {name: self.by_node(scores) for name, scores in self.by_priority.items()}

    def by_node(self, scores: Scores) -> dict[str, int]:
        """Node → its number among those of the feasible rows."""
        values = [scores] * len(self.feasible) if isinstance(scores, int) else scores.tolist()
        return {self.names[row]: value for row, value in zip(self.feasible.tolist(), values, strict=True)}


class WholeScores(msgspec.Struct, frozen=True, eq=False):
    """Of one decision, over the rows that fit."""

    names: tuple[str, ...]
    """All rules that score, in order, those that are not scored anew included."""
    finals: Mapping[str, Scores | GroupedScores]
    """Rule → its scores before the weight, of those that are scored anew."""
    raws: Mapping[str, Scores | GroupedScores]
    """Likewise before they were normalised; empty where a release keeps no such scores."""
    weights: Mapping[str, int]
    """Of every rule."""

    def add_to(self, totals: IntArray, feasible: IntArray) -> IntArray:
        """(n,) the weighted sums of all rules. totals: (n,) of the others, which is written to. feasible: (n,) the
        rows that fit."""
        constant = 0
        for name, given in self.finals.items():
            scores, weight = laid_out(given, feasible), self.weights[name]
            if isinstance(scores, int):
                constant += weight * scores
            else:
                totals += scores if weight == 1 else np.int64(weight) * scores
        if constant:
            totals += np.int64(wrap(constant))
        return totals


def laid_out(scores: Scores | GroupedScores, feasible: IntArray) -> Scores:
    """The scores of the rows that fit, or the one that all of them have."""
    return scores.of_rows(feasible) if isinstance(scores, GroupedScores) else scores


TOTAL = 0
"""The index of the totals in a table of scores."""
LOWEST = -(1 << 63)
"""Stands for the total of a row that does not fit."""


class ScoreLayout(msgspec.Struct, frozen=True, eq=False):
    """Where a table of scores has the numbers of each rule: an index of the table, or one number for all rows."""

    names: tuple[str, ...]
    """The rules that score, in order."""
    finals: Mapping[str, int]
    """Rule → index of its scores before the weight; of those that have no one number."""
    raws: Mapping[str, int]
    """Likewise of its scores before they were normalised."""
    numbers: Mapping[str, int]
    """Rule → index of its numbers before normalisation, also where a release keeps no such scores; of its scores where
    there is no normalisation."""
    constant_finals: Mapping[str, int]
    """Rule → the one score that all rows have."""
    constant_raws: Mapping[str, int]
    """Likewise before normalisation; empty, as are ``raws``, where a release keeps no such scores."""


class LazyScores:
    """What a table of scores said when a decision was made."""

    __slots__ = ("_feasible", "_layout", "_line_of", "_raws", "_scores", "_totals", "whole")

    def __init__(
        self,
        line_of: Callable[[int], IntArray],
        layout: ScoreLayout,
        feasible: IntArray,
        whole: WholeScores | None = None,
    ) -> None:
        """line_of: of an index of the table, (N,) what stood there then. feasible: (n,) the rows that fit."""
        self._line_of = line_of
        self._layout = layout
        self._feasible = feasible
        self.whole = whole
        """The rules that were scored anew, which the table does not have; None: there are none."""
        self._totals: IntArray | None = None
        self._scores: dict[str, Scores] | None = None
        self._raws: dict[str, Scores] | None = None

    @property
    def totals(self) -> IntArray:
        """(n,) int64: see Decision."""
        if self._totals is None:
            self.keep_totals(self._line(TOTAL))
        assert self._totals is not None
        return self._totals

    def keep_totals(self, totals: IntArray) -> None:
        """Notes all totals. totals: (n,) those of the table, which is written to."""
        self._totals = totals if self.whole is None else self.whole.add_to(totals, self._feasible)

    @property
    def scores(self) -> Mapping[str, Scores]:
        """See Decision."""
        if self._scores is None:
            self._scores = self._by_rule(
                self._layout.finals, self._layout.constant_finals, None if self.whole is None else self.whole.finals
            )
        return self._scores

    @property
    def raws(self) -> Mapping[str, Scores]:
        """See Decision."""
        if self._raws is None:
            self._raws = self._by_rule(
                self._layout.raws, self._layout.constant_raws, None if self.whole is None else self.whole.raws
            )
        return self._raws

    def _by_rule(
        self,
        lines: Mapping[str, int],
        constants: Mapping[str, int],
        whole: Mapping[str, Scores | GroupedScores] | None,
    ) -> dict[str, Scores]:
        found: dict[str, Scores] = {name: self._line(at) for name, at in lines.items()}
        found.update(constants)
        found.update({name: laid_out(scores, self._feasible) for name, scores in (whole or {}).items()})
        names = self._layout.names if self.whole is None else self.whole.names
        return {name: found[name] for name in names if name in found}

    def _line(self, index: int) -> IntArray:
        numbers: IntArray = self._line_of(index)[self._feasible]
        return numbers


V = TypeVar("V")


class RowValues(Mapping[int, V], Generic[V]):
    """Row → value; a dict is made when somebody looks a row up."""

    __slots__ = ("_by_row", "_distinct", "_which", "rows")

    def __init__(self, rows: IntArray, which: IntArray, distinct: Sequence[V]) -> None:
        """rows: (n,) each once. which: (n,) for each row the index of its value in ``distinct``."""
        self.rows = rows
        """(n,) int64."""
        self._which = which
        self._distinct = distinct
        self._by_row: dict[int, V] | None = None

    def _all(self) -> dict[int, V]:
        if self._by_row is None:
            distinct = self._distinct
            values = [distinct[at] for at in self._which.tolist()]
            self._by_row = dict(zip(self.rows.tolist(), values, strict=True))
        return self._by_row

    def __getitem__(self, row: int) -> V:
        return self._all()[row]

    def __iter__(self) -> Iterator[int]:
        return iter(self.rows.tolist())

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return repr(self._all())

    def mask(self, size: int) -> Mask:
        """(size,) bool: the rows."""
        out = np.zeros(size, np.bool_)
        out[self.rows] = True
        return out

    def by_value(self) -> Iterator[tuple[V, IntArray]]:
        """(a value, (n,) the rows that have it) of every value that some row has."""
        counts = np.bincount(self._which, minlength=len(self._distinct))
        for at in np.flatnonzero(counts).tolist():
            yield self._distinct[at], self.rows if counts[at] == len(self.rows) else self.rows[self._which == at]


NO_VALUES: RowValues[Any] = RowValues(NO_NUMBERS, NO_NUMBERS, ())


def row_values(values: Mapping[int, Any]) -> RowValues[Any]:
    """Any mapping from rows, in its order."""
    if isinstance(values, RowValues):
        return values
    if not values:
        return NO_VALUES
    size = len(values)
    return RowValues(np.fromiter(values, np.int64, size), np.arange(size), list(values.values()))
