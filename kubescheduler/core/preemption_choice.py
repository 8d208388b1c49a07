"""What preemption would do: where it would help, what it costs on each node, and which of them a release picks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import overload

import attrs
import msgspec
import numpy as np

from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray, Mask
from clusterstate.hypothetical import by_importance, started
from clusterstate.objects import Pod


class Victims(msgspec.Struct, frozen=True, eq=False):
    """The pods that would leave one node."""

    pods: tuple[Pod, ...]
    """Those whose eviction violates a disruption budget first."""
    violations: int
    """How many of them violate a disruption budget."""


class PickStep(msgspec.Struct, frozen=True):
    """One of the rules by which preemption picks a node, in the order of the release."""

    rule: str
    """What the nodes that are left have."""
    left: tuple[str, ...]
    """The nodes that are left by it, sorted by name."""
    decided: bool
    """Whether it left fewer nodes than there were before, and no later rule did."""


def no_pick() -> tuple[PickStep, ...]:
    """There was nothing to pick."""
    return ()


class Preemption(msgspec.Struct, frozen=True, eq=False):
    """What preemption would do; nothing has been evicted."""

    candidates: Mapping[str, Victims] = msgspec.field(default_factory=dict)
    """Node → victims, of every node where the pod would then fit."""
    chosen: Sequence[str] = ()
    """The nodes that the release's rules may pick, sorted by name."""
    cleared: tuple[Pod, ...] = ()
    """The pods whose nomination is taken back."""
    keeps_nomination: bool = False
    """Nothing is said of the node that the pod itself is nominated to."""
    pick: Callable[[], tuple[PickStep, ...]] = no_pick
    """How ``chosen`` came about, worked out when somebody asks, while the cluster is what it was."""


def nominee_of(preemption: Preemption | None) -> str | None:
    """The node that preemption makes room on; empty: the pod is no longer nominated; None: nothing is said."""
    if preemption is None or preemption.keeps_nomination:
        return None
    return preemption.chosen[0] if preemption.chosen else ""


PRIORITY_OFFSET = 1 << 31
"""Makes every priority positive before they are summed, so that fewer victims weigh less."""
NOWHERE = -1
"""The kind of a node where the pod would not fit, whoever left."""

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

Note = Callable[[str, Mask], object]
"""Is called with a rule and the nodes that it leaves, (n,) bool."""

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


class KindCosts(msgspec.Struct, frozen=True, eq=False):
    """What preemption costs on nodes that lose pods at the same places; all (k,) int64, by kind."""

    violations: IntArray
    """Victims that a budget protects."""
    first: IntArray
    """The priority of the first victim."""
    total: IntArray
    """The sum of the victims' priorities, each above PRIORITY_OFFSET."""
    count: IntArray
    """Victims."""


def nodes_of_kinds(kinds: IntArray, count: int) -> IntArray:
    """(count,) how many nodes each kind has. kinds: (n,), all below ``count``."""
    return np.bincount(kinds[kinds != NOWHERE], minlength=count)


def costs_of_kinds(victims: Mask, protected: Mask, priorities: IntArray, *, by_importance: bool) -> KindCosts:
    """victims, protected: (K, k) bool, see Candidates. priorities: (K, k), of the pods there. by_importance: the first
    victim is the most important one; otherwise one that a budget protects, if there is any."""
    violating = victims & protected
    first: IntArray = victims.argmax(axis=0) if len(victims) else np.zeros(victims.shape[1], np.int64)
    if not by_importance and violating.any():
        first = np.where(violating.any(axis=0), violating.argmax(axis=0), first)
    return KindCosts(
        violations=violating.sum(axis=0),
        first=np.take_along_axis(priorities, first[None], axis=0)[0] if len(victims) else first,
        total=np.where(victims, priorities + PRIORITY_OFFSET, 0).sum(axis=0),
        count=victims.sum(axis=0),
    )


def earliest_starts(victims: Mask, starts: Floats) -> Floats:
    """(n,) the earliest start among the victims of the highest priority; of (K, n), the places by importance, so that
    it is the start of the first victim."""
    if not len(victims):
        return np.full(victims.shape[1], np.inf)
    first = victims.argmax(axis=0)[None]
    there = np.take_along_axis(victims, first, axis=0)[0]
    out: Floats = np.where(there, np.take_along_axis(starts, first, axis=0)[0], np.inf)
    return out


class Costs(msgspec.Struct, frozen=True, eq=False):
    """What preemption on each of n nodes costs."""

    kinds: IntArray
    """(n,) the kind of each, NOWHERE where it does not help."""
    nodes: IntArray
    """(k,) how many nodes each kind has."""
    of_kinds: KindCosts
    """What each kind costs; a violating victim is the first, where the release has it so."""
    starts: Floats
    """(n,) the earliest start among the victims of the highest priority; any number where preemption does not help."""

    def without_starts(self) -> Costs:
        """The same where all victims start at one time."""
        return msgspec.structs.replace(self, starts=np.zeros(len(self.starts)))

    def present(self) -> IntArray:
        """The kinds that there are nodes of, ascending."""
        return self.nodes.nonzero()[0]

    def least(self, kinds: IntArray, note: Note | None = None) -> Mask:
        """(n,) bool, the nodes of these kinds with the fewest violations, lowest first victim, lowest sum of
        priorities, fewest victims and latest start, one criterion after the other."""
        by = self.of_kinds
        for rule, cost in zip(CHEAPEST, (by.violations, by.first, by.total, by.count), strict=True):
            if len(kinds) > 1:
                there = cost[kinds]
                kinds = kinds[there == there.min()]
            if note is not None:
                note(rule, self.nodes_of(kinds))
        out = self._latest(self.nodes_of(kinds))
        if note is not None:
            note(LATEST_START, out)
        return out

    def _latest(self, nodes: Mask) -> Mask:
        """Those of the nodes, (n,) bool, whose start is the latest."""
        starts = self.starts
        if not len(starts) or not np.count_nonzero(nodes > (starts == starts[nodes.argmax()])):
            return nodes
        out: Mask = nodes & (starts == starts[nodes].max())
        return out

    def nodes_of(self, kinds: IntArray) -> Mask:
        """(n,) bool, the nodes of these kinds."""
        if len(kinds) == 1:
            out: Mask = self.kinds == kinds[0]
        else:
            wanted = np.zeros(len(self.nodes) + 1, np.bool_)  # the last is NOWHERE's
            wanted[kinds] = True
            out = wanted[self.kinds]
        return out


NodePick = Callable[..., Mask]
"""Of (costs, note=None): (n,) bool, the nodes that a release may preempt on. note: a Note, is called after each rule
with its text and the nodes that it leaves."""


def pick_1_16(costs: Costs, note: Note | None = None) -> Mask:
    """Nodes without victims before all others. Upstream: 1.16 pickOneNodeForPreemption."""
    present = costs.present()
    free = present[costs.of_kinds.count[present] == 0]
    if not len(free):
        return costs.least(present, note)
    if note is not None:
        note(NO_VICTIM, costs.nodes_of(free))
    return costs.nodes_of(free)


def pick_1_13(costs: Costs, note: Note | None = None) -> Mask:
    """The same, but starts do not count: any of the nodes with the fewest victims. Upstream: 1.13
    pickOneNodeForPreemption.
    """
    return pick_1_16(costs.without_starts(), note)


class ProcessCrash(SchedulingError):
    """What ends the release's process."""


def pick_1_20(costs: Costs, note: Note | None = None) -> Mask:
    """Upstream: 1.20 pickOneNodeForPreemption, which ends the process when one of several nodes has no victims."""
    left = costs.present()
    if len(left) > 1:
        violations = costs.of_kinds.violations[left]
        left = left[violations == violations.min()]
    if not costs.of_kinds.count[left].all() and costs.nodes[left].sum() > 1:
        raise ProcessCrash("panic: runtime error: index out of range [0] with length 0 (a node needs no victims)")
    return costs.least(left, note)


def pick_1_36(costs: Costs, note: Note | None = None) -> Mask:
    """Upstream: 1.36 pickOneNodeForPreemption."""
    return costs.least(costs.present(), note)


def pick_steps(pick: NodePick, costs: Costs, names: Callable[[Mask], Iterable[str]]) -> tuple[PickStep, ...]:
    """The rules by which a release picks, and what each leaves; none where there is no candidate. names: of nodes,
    (n,) bool."""
    candidates = int(costs.nodes.sum())
    if not candidates:
        return ()
    noted: list[tuple[str, tuple[str, ...]]] = []

    def note(rule: str, nodes: Mask) -> None:
        noted.append((rule, tuple(sorted(names(nodes), key=str.encode))))

    pick(costs, note)
    before = [candidates, *(len(left) for _, left in noted)]
    telling = [at for at, (_, left) in enumerate(noted) if len(left) < before[at]]
    return tuple(PickStep(rule, left, at == max(telling, default=-1)) for at, (rule, left) in enumerate(noted))


def costs_of(candidates: Mapping[str, Victims]) -> Costs:
    """The costs of victims in the order that extenders gave them; every node is a kind of its own."""
    victims = list(candidates.values())
    of_kinds = KindCosts(
        violations=np.array([v.violations for v in victims], np.int64),
        first=np.array([v.pods[0].priority if v.pods else 0 for v in victims], np.int64),
        total=np.array([sum(pod.priority + PRIORITY_OFFSET for pod in v.pods) for v in victims], np.int64),
        count=np.array([len(v.pods) for v in victims], np.int64),
    )
    starts = np.array([earliest_start(v.pods) for v in victims], np.float64)
    return Costs(np.arange(len(victims)), np.ones(len(victims), np.int64), of_kinds, starts)


def listed(candidates: Mapping[str, Victims], nodes: Mask) -> list[str]:
    """The names of some of the nodes that extenders left. nodes: (n,) bool."""
    return [name for name, picked in zip(candidates, nodes.tolist(), strict=True) if picked]


def earliest_start(pods: Sequence[Pod]) -> float:
    """The earliest start among the pods of the highest priority."""
    highest = max((pod.priority for pod in pods), default=0)
    return min((started(pod) for pod in pods if pod.priority == highest), default=np.inf)


class NodeNames(Sequence[str]):
    """Names of nodes, sorted; put together when they are asked for."""

    def __init__(self, names: Sequence[str], nodes: Mask, by_name: IntArray) -> None:
        """names: row → name. nodes: (N,) bool, the rows. by_name: (N,) all rows in the order of their names."""
        self._names = names
        self._nodes = nodes
        self._by_name = by_name
        self._sorted: list[str] | None = None

    def _all(self) -> list[str]:
        if self._sorted is None:
            rows = self._by_name[self._nodes[self._by_name]]
            self._sorted = [self._names[row] for row in rows.tolist()]
        return self._sorted

    def __len__(self) -> int:
        return int(np.count_nonzero(self._nodes))

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if at == 0 and len(self):
            return self._names[self._by_name.item(int(self._nodes[self._by_name].argmax()))]
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
    costs: Costs
    """What each row costs. The columns below are its kinds: nodes of a kind lose pods at the same places."""
    victims: Mask
    """(K, k) bool, the places of the roster that leave."""
    protected: Mask
    """(K, k) bool, the places of the roster that a budget protects."""
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
        return (self.costs.kinds != NOWHERE).nonzero()[0] if self.order is None else self.order

    def __len__(self) -> int:
        return int(self.costs.nodes.sum())

    def __iter__(self) -> Iterator[str]:
        return (self.names[row] for row in self.rows.tolist())

    def __getitem__(self, name: str) -> Victims:
        row = self.row_of.get(name, len(self.names))
        if row >= len(self.names) or self.names[row] != name:
            try:
                row = self.names.index(name)
            except ValueError:
                raise KeyError(name) from None
        kind = int(self.costs.kinds[row])
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
        kinds = np.full(len(self.costs.kinds), NOWHERE)
        kinds[rows] = self.costs.kinds[rows]
        nodes = nodes_of_kinds(kinds, len(self.costs.nodes))
        return attrs.evolve(self, costs=msgspec.structs.replace(self.costs, kinds=kinds, nodes=nodes), order=rows)

    def without_needless(self) -> tuple[Candidates, list[str]]:
        """(those that need victims, the names of those that need none, sorted)."""
        needless = self.costs.of_kinds.count == 0
        if not self.costs.nodes[needless].any():
            return self, []
        rows = self.rows
        none = needless[self.costs.kinds[rows]]
        return self.only(rows[~none]), sorted(self.names[row] for row in rows[none].tolist())
