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
from kubescheduler.core.preempting.preemption_costs import NOWHERE, Costs, Floats, KindCosts, nodes_of_kinds


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
    kinds: IntArray
    """(N,) for each row the column of its kind below, NOWHERE where the pod would not fit; nodes of a kind lose
    pods at the same places."""
    nodes: IntArray
    """(k,) how many nodes each kind has."""
    victims: Mask
    """(K, k) bool, the places of the roster that leave."""
    protected: Mask
    """(K, k) bool, the places of the roster that a budget protects."""
    of_kinds: KindCosts
    """What each kind costs."""
    starts: Floats
    """(N,) the earliest start among the victims of the highest priority; any number where the pod would not fit."""
    pods: Sequence[Sequence[Pod]]
    """Row → its pods by place."""
    by_importance: bool = False
    """Victims are listed in order of importance, of equals those that a budget protects first; else these come first
    altogether.
    """
    order: IntArray | None = None
    """(n,) the rows of the nodes in the order in which they are listed; None: ascending."""

    @property
    def rows(self) -> IntArray:
        """(n,) the nodes, in the order in which they are listed."""
        return (self.kinds != NOWHERE).nonzero()[0] if self.order is None else self.order

    def __len__(self) -> int:
        return int(self.nodes.sum())

    def __iter__(self) -> Iterator[str]:
        return (self.names[row] for row in self.rows.tolist())

    def __getitem__(self, name: str) -> Victims:
        row = self.row_of.get(name, len(self.names))
        if row >= len(self.names) or self.names[row] != name:
            try:
                row = self.names.index(name)
            except ValueError:
                raise KeyError(name) from None
        kind = int(self.kinds[row])
        if kind == NOWHERE:
            raise KeyError(name)
        return self._victims(kind, row)

    def _victims(self, kind: int, row: int) -> Victims:
        leaving = self.victims[:, kind].nonzero()[0].tolist()
        kept = self.protected[:, kind].tolist()
        first = [place for place in leaving if kept[place]]
        then = [place for place in leaving if not kept[place]]
        there = self.pods[row]
        pods = [there[place] for place in (*first, *then)]
        mixed = self.by_importance and first and then
        return Victims(tuple(by_importance(pods) if mixed else pods), len(first))

    def at(self, rows: IntArray) -> list[str]:
        """The names of candidates by row."""
        return [self.names[row] for row in rows.tolist()]

    def only(self, rows: IntArray) -> Candidates:
        """Some of them, in that order."""
        kinds = np.full(len(self.kinds), NOWHERE)
        kinds[rows] = self.kinds[rows]
        return attrs.evolve(self, kinds=kinds, nodes=nodes_of_kinds(kinds, len(self.nodes)), order=rows)

    def needless(self) -> list[str]:
        """The nodes that need no victims, sorted by name."""
        if self._all_need_some:
            return []
        rows = self.rows
        return sorted(self.at(rows[self.of_kinds.count[self.kinds[rows]] == 0]))

    def with_victims(self) -> Candidates:
        """Without the nodes that need none."""
        if self._all_need_some:
            return self
        rows = self.rows
        return self.only(rows[self.of_kinds.count[self.kinds[rows]] > 0])

    @property
    def _all_need_some(self) -> bool:
        return not self.nodes[self.of_kinds.count == 0].any()

    def costs(self) -> Costs:
        """What each row costs."""
        return Costs(self.kinds, self.nodes, self.of_kinds, self.starts)
