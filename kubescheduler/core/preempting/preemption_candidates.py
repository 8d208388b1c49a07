"""The nodes where preemption would help, and who would leave each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import overload

import attrs
import numpy as np

from clusterstate.growable import IntArray, Mask
from clusterstate.hypothetical.roster import by_importance
from clusterstate.objects import Pod
from kubescheduler.core.decision_records import Victims
from kubescheduler.core.preempting.preemption_costs import Costs, Floats, KindCosts, present_kinds


class NodeNames(Sequence[str]):
    """Names of rows, sorted; put together when they are asked for. ranks: (N,) row → place by name."""

    def __init__(self, names: Sequence[str], rows: IntArray, ranks: IntArray) -> None:
        self._names = names
        self._rows = rows
        self._ranks = ranks[rows]
        self._sorted: list[str] | None = None

    def _all(self) -> list[str]:
        if self._sorted is None:
            self._sorted = [self._names[row] for row in self._rows[self._ranks.argsort()].tolist()]
        return self._sorted

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if at == 0 and len(self._rows):
            return self._names[int(self._rows[self._ranks.argmin()])]
        return self._all()[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(other) == self._all()

    def __hash__(self) -> int:
        return hash(tuple(self._all()))

    def __repr__(self) -> str:
        return repr(tuple(self._all()))


@attrs.frozen(eq=False)
class Candidates(Mapping[str, Victims]):
    """Node → victims, of every node where the pod would fit; a node's victims are put together when asked for."""

    names: tuple[str, ...]
    """Row → name."""
    row_of: Mapping[str, int]
    """Name → row in the cluster as it is when somebody looks: the row may be another node's than it was."""
    rows: IntArray
    """(n,) the nodes."""
    kinds: IntArray
    """(n,) for each the column of its kind below; nodes of a kind lose pods at the same places."""
    victims: Mask
    """(K, k) bool, the places of the roster that leave."""
    protected: Mask
    """(K, k) bool, the places of the roster that a budget protects."""
    of_kinds: KindCosts
    """What each kind costs."""
    starts: Floats
    """(n,) the earliest start among the victims of the highest priority."""
    pods: Sequence[Sequence[Pod]]
    """Row → its pods by place."""
    by_importance: bool = False
    """Victims are listed in order of importance, of equals those that a budget protects first; else these come first
    altogether.
    """
    _present: IntArray = attrs.field(init=False, repr=False)
    """The kinds that there are nodes of."""

    @_present.default
    def _present_kinds(self) -> IntArray:
        return present_kinds(self.kinds, len(self.of_kinds.count))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        return (self.names[row] for row in self.rows.tolist())

    def __getitem__(self, name: str) -> Victims:
        row = self.row_of.get(name, len(self.names))
        if row >= len(self.names) or self.names[row] != name:
            try:
                row = self.names.index(name)
            except ValueError:
                raise KeyError(name) from None
        at = np.flatnonzero(self.rows == row)
        if not len(at):
            raise KeyError(name)
        return self._victims(int(self.kinds[at[0]]), row)

    def _victims(self, kind: int, row: int) -> Victims:
        leaving, kept = self.victims[:, kind], self.protected[:, kind]
        first, then = np.flatnonzero(leaving & kept), np.flatnonzero(leaving & ~kept)
        there = self.pods[row]
        pods = [there[place] for place in (*first.tolist(), *then.tolist())]
        mixed = self.by_importance and len(first) and len(then)
        return Victims(tuple(by_importance(pods) if mixed else pods), len(first))

    def at(self, positions: IntArray) -> list[str]:
        """The names of candidates by position."""
        return [self.names[row] for row in self.rows[positions].tolist()]

    def only(self, positions: IntArray) -> Candidates:
        """Some of them, in that order."""
        return attrs.evolve(self, rows=self.rows[positions], kinds=self.kinds[positions], starts=self.starts[positions])

    def needless(self) -> list[str]:
        """The nodes that need no victims, sorted by name."""
        if self._all_need_some:
            return []
        return sorted(self.at(np.flatnonzero(self.of_kinds.count[self.kinds] == 0)))

    def with_victims(self) -> Candidates:
        """Without the nodes that need none."""
        return self if self._all_need_some else self.only(np.flatnonzero(self.of_kinds.count[self.kinds]))

    @property
    def _all_need_some(self) -> bool:
        return bool(self.of_kinds.count[self._present].all())

    def costs(self) -> Costs:
        """What each of them costs."""
        by, starts = self.of_kinds, self.starts
        return Costs(self.kinds, by.violations, by.first, by.total, by.count, lambda at: starts[at], self._present)
