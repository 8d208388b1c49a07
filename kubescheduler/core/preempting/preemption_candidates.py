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

LOOKED_AT = 256
"""Rows in which the first of the names is looked for at a time."""


class NodeNames(Sequence[str]):
    """Names of nodes, sorted; put together when they are asked for."""

    def __init__(self, names: Sequence[str], nodes: Mask, by_name: IntArray) -> None:
        """names: row → name. nodes: (N,) bool, the rows. by_name: (N,) all rows in the order of their names."""
        self._names = names
        self._nodes = nodes
        self._by_name = by_name
        self._sorted: list[str] | None = None
        self._head: str | None = None

    def _all(self) -> list[str]:
        if self._sorted is None:
            rows = self._by_name[self._nodes[self._by_name]]
            self._sorted = [self._names[row] for row in rows.tolist()]
        return self._sorted

    def _first(self) -> str | None:
        """None: there is none."""
        by_name = self._by_name
        for at in range(0, len(by_name) if self._head is None else 0, LOOKED_AT):
            rows = by_name[at : at + LOOKED_AT]
            there = self._nodes[rows]
            if there.any():
                self._head = self._names[int(rows[there.argmax()])]
                break
        return self._head

    def __len__(self) -> int:
        return int(np.count_nonzero(self._nodes))

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        first = self._first() if at == 0 else None
        return self._all()[at] if first is None else first

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

    def listed(self, nodes: Mask) -> list[str]:
        """The names of some of them. nodes: (N,) bool."""
        return [self.names[row] for row in nodes.nonzero()[0].tolist()]

    def only(self, rows: IntArray) -> Candidates:
        """Some of them, in that order."""
        kinds = np.full(len(self.kinds), NOWHERE)
        kinds[rows] = self.kinds[rows]
        return attrs.evolve(self, kinds=kinds, nodes=nodes_of_kinds(kinds, len(self.nodes)), order=rows)

    def without_needless(self) -> tuple[Candidates, list[str]]:
        """(those that need victims, the names of those that need none, sorted)."""
        needless = self.of_kinds.count == 0
        if not self.nodes[needless].any():
            return self, []
        rows = self.rows
        none = needless[self.kinds[rows]]
        return self.only(rows[~none]), sorted(self.names[row] for row in rows[none].tolist())

    def costs(self) -> Costs:
        """What each row costs."""
        return Costs(self.kinds, self.nodes, self.of_kinds, self.starts)
