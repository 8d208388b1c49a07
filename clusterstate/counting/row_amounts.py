"""What nodes can give and what their pods take, by row, kept as they come and go; what pods take, by spec."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

import numpy as np

from clusterstate.counting.tally import FEW_ROWS
from clusterstate.growable import Growable, IntArray
from clusterstate.objects import PodSpec
from clusterstate.podinfo import PodInfo
from clusterstate.usage import MOST, Accounting, PodUsage, wrap

MOST_CODES = 1 << 15
"""Distinct amounts that are remembered."""
MOST_AT_ONCE = 1024
"""Rows that are looked at when a reader asks; where more have changed, every reader begins anew."""
LONGEST = 1 << 14
"""Changes that are remembered."""
UNSEEN = -1
"""The code of a row that has not changed since codes were begun."""


class AmountCodes:
    """Codes of the rows that change, for readers that know what holds for the rows at first.

    A reader remembers a ``position``, and ``since`` that the rows that have changed.
    """

    __slots__ = ("_changed", "_code_of", "_length", "_start", "codes", "generation")

    def __init__(self) -> None:
        self.generation = 0
        """Another one: equal codes no longer mean equal amounts."""
        self._start = self._length = 0
        self.begin(0)

    def begin(self, size: int) -> None:
        """Forgets everything, so that all positions until now are too old. size: how many rows there are."""
        self._start += self._length + 1
        self.generation += 1
        self.codes: IntArray = np.full(size, UNSEEN, np.int64)
        """(N,) by row."""
        self._code_of: dict[Hashable, int] = {}
        self._changed: IntArray = np.empty(64, np.int64)
        self._length = 0

    @property
    def count(self) -> int:
        """Codes are less than this."""
        return len(self._code_of)

    @property
    def position(self) -> int:
        """Where the next change will be noted."""
        return self._start + self._length

    def since(self, position: int) -> IntArray | None:
        """The rows that have changed since, some of them more than once; None: too long ago."""
        return None if position < self._start else self._changed[position - self._start : self._length]

    def update(self, rows: Collection[int], amounts: Callable[[int], Hashable], size: int) -> None:
        """Notes that the amounts on rows have changed, of so many rows that there are."""
        if size != len(self.codes) or len(rows) > MOST_AT_ONCE or self.count + len(rows) > MOST_CODES:
            self.begin(size)
            return
        if self._length + len(rows) > len(self._changed):
            self._make_room(len(rows))
        codes, code_of = self.codes, self._code_of
        for row in rows:
            code = code_of.setdefault(amounts(row), len(code_of))
            if codes[row] != code:
                self._changed[self._length] = row
                self._length += 1
                codes[row] = code  # last, so that an interrupt leaves no row out

    def _make_room(self, count: int) -> None:
        """For so many changes more; the older half is dropped where there are too many. What was read stays."""
        kept = self._changed[: self._length]
        if self._length + count > LONGEST:
            dropped = self._length // 2
            kept = kept[dropped:]
            self._start += dropped
            self._length -= dropped
        self._changed = np.concatenate((kept, np.empty(len(kept) + count, np.int64)))


Amounts = tuple[bytes, bytes, int, int, bytes, bytes]
"""What is counted on a row, for comparing."""

Taken = tuple[PodUsage, tuple[tuple[int, int], ...]]
"""(the amounts of pods of a spec, what they take by the resource's index)."""
MOST_SPECS = 1024


class RowAmounts:
    """Amounts by row, R of resources; cpu in millicores, everything else in whole units. Sums past 64 bits go round, as
    Go's do."""

    __slots__ = (
        "_codes",
        "_known",
        "_stale",
        "allocatable",
        "allocatable_set",
        "allowed_pods",
        "nonzero",
        "pod_count",
        "requested",
    )

    def __init__(self, resources: int) -> None:
        self.allocatable = Growable((resources, 0))
        """(R, N) what a node can give."""
        self.allocatable_set = Growable((resources, 0), np.bool_)
        """(R, N) bool: the node's status names the resource."""
        self.requested = Growable((resources, 0))
        """(R, N) what the pods there take."""
        self.nonzero = Growable((2, 0))
        """(2, N) millicores and bytes that they take, defaults filled in."""
        self.allowed_pods = Growable((0,))
        """(N,) how many pods may be there."""
        self.pod_count = Growable((0,))
        """(N,) how many are there."""
        self._known: list[Amounts | None] = []
        self._stale: set[int] = set()
        self._codes: AmountCodes | None = None

    def resize(self, resources: int, rows: int) -> None:
        """Makes room for so many resources and rows."""
        if resources != self.requested.shape[0]:
            self._known = []
            if self._codes is not None:
                self._codes.begin(rows)
        self._known += [None] * (rows - len(self._known))
        for table in (self.allocatable, self.allocatable_set, self.requested):
            table.resize(resources, rows)
        self.nonzero.resize(2, rows)
        self.allowed_pods.resize(rows)
        self.pod_count.resize(rows)

    def put_node(self, row: int, allocatable: Iterable[tuple[int, int]], allowed_pods: int) -> None:
        """Sets what a node can give. allocatable: (index of a resource, amount), of those that its status names."""
        self._known[row] = None
        self._stale.add(row)
        self._give(row, allocatable, allowed_pods)

    def put_nodes(self, rows: list[int], allocatable: Iterable[tuple[int, int]], allowed_pods: int) -> None:
        """The same for several nodes that can give the same."""
        for row in rows:
            self._known[row] = None
        self._stale.update(rows)
        self._give(rows, allocatable, allowed_pods)

    def _give(self, at: int | list[int], allocatable: Iterable[tuple[int, int]], allowed_pods: int) -> None:
        self.allocatable.data[:, at] = 0
        self.allocatable_set.data[:, at] = False
        for index, value in allocatable:
            self.allocatable.data[index, at] = value
            self.allocatable_set.data[index, at] = True
        self.allowed_pods.data[at] = allowed_pods

    def add(self, row: int, info: PodInfo, count: int) -> None:
        """Adds so many pods of a class to a row, or takes them away."""
        self._known[row] = None
        self._stale.add(row)
        requested, nonzero, pods = self.requested.data, self.nonzero.data, self.pod_count.data
        for index, value in info.used:
            now = requested.item(index, row) + count * value
            requested[index, row] = now if -MOST <= now < MOST else wrap(now)
        for index, value in enumerate(info.usage.nonzero):
            now = nonzero.item(index, row) + count * value
            nonzero[index, row] = now if -MOST <= now < MOST else wrap(now)
        pods[row] = pods.item(row) + count

    def add_many(self, counts: Mapping[int, int], info: PodInfo, sign: int) -> None:
        """The same for several rows at once. counts: row → pods; sign: 1 adds them, -1 takes them away."""
        if len(counts) <= FEW_ROWS:
            for row, count in counts.items():
                self.add(row, info, sign * count)
            return
        for row in counts:
            self._known[row] = None
        self._stale.update(counts)
        at = np.fromiter(counts.keys(), np.int64, len(counts))
        many = sign * np.fromiter(counts.values(), np.int64, len(counts))
        cpu, memory = info.usage.nonzero
        with np.errstate(over="ignore"):
            for index, value in info.used:
                self.requested.data[index, at] += many * value
            self.nonzero.data[0, at] += many * cpu
            self.nonzero.data[1, at] += many * memory
        self.pod_count.data[at] += many

    def of(self, row: int) -> Amounts:
        """What is counted on a row: equal for two rows if the amounts that can be allocated and are requested, with
        defaults filled in and without, and the pods there and allowed are; the same object while nothing changes."""
        known = self._known[row]
        if known is None:
            known = self._known[row] = (
                self.requested.view[:, row].tobytes(),
                self.nonzero.view[:, row].tobytes(),
                self.pod_count.data.item(row),
                self.allowed_pods.data.item(row),
                self.allocatable.view[:, row].tobytes(),
                self.allocatable_set.view[:, row].tobytes(),
            )
        return known

    @property
    def codes(self) -> AmountCodes:
        """A number for what ``of`` says of each row that has changed, as of now."""
        codes = self._codes
        if codes is None:
            codes = self._codes = AmountCodes()
        if self._stale or len(codes.codes) != len(self._known):
            codes.update(self._stale, self.of, len(self._known))
            self._stale.clear()
        return codes


class SpecAmounts:
    """The amounts of pods by their spec, which many classes have in common; those first asked for are forgotten."""

    __slots__ = ("_accounting", "_known")

    def __init__(self, accounting: Accounting) -> None:
        self._accounting = accounting
        self._known: OrderedDict[PodSpec, Taken] = OrderedDict()

    def of(self, spec: PodSpec, index: Callable[[str], int]) -> Taken:
        """What pods of a spec take. index: of a resource by its name, always the same."""
        found = self._known.get(spec)
        if found is None:
            usage = self._accounting(spec)
            found = self._known[spec] = usage, tuple((index(name), value) for name, value in usage.used.items())
            if len(self._known) > MOST_SPECS:
                self._known.popitem(last=False)
        return found
