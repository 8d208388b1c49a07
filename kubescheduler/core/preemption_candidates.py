"""Where preemption would help, and what it costs on each of these nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, overload

import attrs
import numpy as np

from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.roster import by_importance, started
from kubescheduler.core.decision_records import PickStep, Victims

PRIORITY_OFFSET = 1 << 31
"""Makes every priority positive before they are summed, so that fewer victims weigh less."""
LOWEST = np.iinfo(np.int64).min

CHEAPEST = (
    "fewest violations of disruption budgets",
    "the most important victim has the lowest priority",
    "lowest sum of the victims' priorities",
    "fewest victims",
)
"""The rules by which a node is picked, in order."""
LATEST_START = "the most important victim started last"
"""The last of them."""
NO_VICTIM = "no pod has to go"
"""What some releases look at before."""

Note = Callable[[str, IntArray], object]
"""Is called with a rule and the positions that it leaves."""

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


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
    rows: IntArray
    """(n,) the nodes."""
    kinds: IntArray
    """(n,) for each the column of its kind below; nodes of a kind lose pods at the same places."""
    victims: Mask
    """(K, k) bool, places of the roster: who leaves, whom a budget protects."""
    protected: Mask
    """(K, k) bool, places of the roster: who leaves, whom a budget protects."""
    priorities: IntArray
    """(K, k) of the roster."""
    pods: Sequence[Sequence[Pod]]
    """Row → its pods by place."""
    by_importance: bool = False
    """Victims are listed in order of importance, of equals those that a budget protects first; else these come first
    altogether.
    """

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        return (self.names[row] for row in self.rows.tolist())

    def __getitem__(self, name: str) -> Victims:
        for at, row in enumerate(self.rows.tolist()):
            if self.names[row] == name:
                return self._victims(int(self.kinds[at]), row)
        raise KeyError(name)

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

    def where(self, wanted: Mask) -> Candidates:
        """Only those of some kinds; ``wanted``: (k,) bool."""
        if wanted.all():
            return self
        kept = wanted[self.kinds]
        return attrs.evolve(self, rows=self.rows[kept], kinds=self.kinds[kept])

    def costs(self, starts: Floats) -> Costs:
        """starts: (K, N) of the roster."""
        leaving, violating = self.victims, self.victims & self.protected
        first: IntArray = leaving.argmax(axis=0) if len(leaving) else np.zeros(leaving.shape[1], np.int64)
        if violating.any() and not self.by_importance:
            first = np.where(violating.any(axis=0), violating.argmax(axis=0), first)
        highest = np.where(leaving, self.priorities, LOWEST).max(axis=0, initial=LOWEST)
        telling = leaving & (self.priorities == highest)

        def start(at: IntArray) -> Floats:
            """Of positions in ``rows``."""
            earliest: Floats = np.full(len(at), np.inf)
            kinds, rows = self.kinds[at], self.rows[at]
            for place in np.flatnonzero(telling.any(axis=1)).tolist():
                earliest = np.where(telling[place, kinds], np.minimum(earliest, starts[place, rows]), earliest)
            return earliest

        return Costs(
            kinds=self.kinds,
            violations=violating.sum(axis=0),
            first=np.take_along_axis(self.priorities, first[None], axis=0)[0] if len(leaving) else first,
            total=np.where(leaving, self.priorities + PRIORITY_OFFSET, 0).sum(axis=0),
            count=leaving.sum(axis=0),
            start=start,
        )


@attrs.frozen(eq=False)
class Costs:
    """What preemption on each of n nodes costs; all but the last are (k,) int64 by kind."""

    kinds: IntArray
    """(n,) the kind of each."""
    violations: IntArray
    first: IntArray
    """The priority of the first victim, violating ones being first."""
    total: IntArray
    count: IntArray
    start: Callable[[IntArray], Floats]
    """Of positions, the earliest start among the victims of the highest priority."""

    def present(self) -> IntArray:
        """The kinds that there are nodes of."""
        return np.flatnonzero(np.bincount(self.kinds, minlength=len(self.count)))

    def least(self, kinds: IntArray, note: Note | None = None) -> IntArray:
        """The positions of the nodes of these kinds with the fewest violations, lowest first victim, lowest sum of
        priorities, fewest victims and latest start, one criterion after the other."""
        for rule, cost in zip(CHEAPEST, (self.violations, self.first, self.total, self.count), strict=True):
            if len(kinds) > 1:
                kinds = kinds[cost[kinds] == cost[kinds].min()]
            if note is not None:
                note(rule, self.of_kinds(kinds))
        at = self.of_kinds(kinds)
        if len(at) > 1:
            starts = self.start(at)
            at = at[starts == starts.max()]
        if note is not None:
            note(LATEST_START, at)
        return at

    def of_kinds(self, kinds: IntArray) -> IntArray:
        """The positions of the nodes of these kinds."""
        wanted = np.zeros(len(self.count), np.bool_)
        wanted[kinds] = True
        return np.flatnonzero(wanted[self.kinds])


class NodePick(Protocol):
    """Picks the nodes that a release may preempt on."""

    def __call__(self, costs: Costs, note: Note | None = None) -> IntArray:
        """Their positions. note: is called after each rule with its text and the positions that it leaves."""


def pick_1_16(costs: Costs, note: Note | None = None) -> IntArray:
    """Nodes without victims before all others. Upstream: 1.16 pickOneNodeForPreemption."""
    present = costs.present()
    free = present[costs.count[present] == 0]
    if not len(free):
        return costs.least(present, note)
    if note is not None:
        note(NO_VICTIM, costs.of_kinds(free))
    return costs.of_kinds(free)


def pick_steps(pick: NodePick, costs: Costs, names: Callable[[IntArray], Iterable[str]]) -> tuple[PickStep, ...]:
    """The rules by which a release picks, and what each leaves; none where there is no candidate. names: of
    positions."""
    if not len(costs.kinds):
        return ()
    noted: list[tuple[str, tuple[str, ...]]] = []

    def note(rule: str, at: IntArray) -> None:
        noted.append((rule, tuple(sorted(names(at), key=str.encode))))

    pick(costs, note)
    before = [len(costs.kinds), *(len(left) for _, left in noted)]
    telling = [at for at, (_, left) in enumerate(noted) if len(left) < before[at]]
    return tuple(PickStep(rule, left, at == max(telling, default=-1)) for at, (rule, left) in enumerate(noted))


def costs_of(found: Mapping[str, Victims]) -> Costs:
    """The costs of victims in the order that extenders gave them; every node is a kind of its own."""
    victims = list(found.values())
    starts = np.array([earliest_start(v.pods) for v in victims], np.float64)
    return Costs(
        kinds=np.arange(len(victims)),
        violations=np.array([v.violations for v in victims], np.int64),
        first=np.array([v.pods[0].priority if v.pods else 0 for v in victims], np.int64),
        total=np.array([sum(pod.priority + PRIORITY_OFFSET for pod in v.pods) for v in victims], np.int64),
        count=np.array([len(v.pods) for v in victims], np.int64),
        start=lambda at: starts[at],
    )


def steps_of(found: Mapping[str, Victims], pick: NodePick) -> tuple[PickStep, ...]:
    """``pick_steps`` of victims in the order that extenders gave them."""
    names = list(found)
    return pick_steps(pick, costs_of(found), lambda at: [names[one] for one in at.tolist()])


def choose(found: Mapping[str, Victims], pick: NodePick) -> tuple[str, ...]:
    """The nodes that the release may pick, sorted by name."""
    names = list(found)
    return tuple(sorted(names[at] for at in pick(costs_of(found)).tolist())) if names else ()


def earliest_start(pods: Sequence[Pod]) -> float:
    """The earliest start among the pods of the highest priority."""
    highest = max((pod.priority for pod in pods), default=0)
    return min((started(pod) for pod in pods if pod.priority == highest), default=np.inf)
