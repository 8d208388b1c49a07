"""What nodes can give and what their pods take, by row, kept as they come and go; what pods take, by spec."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from clusterstate.counting.tally import FEW_ROWS
from clusterstate.growable import Growable
from clusterstate.objects import PodSpec
from clusterstate.podinfo import PodInfo
from clusterstate.usage import MOST, Accounting, PodUsage, wrap

Amounts = tuple[bytes, bytes, int, int, bytes, bytes]
"""What is counted on a row, for comparing."""

Taken = tuple[PodUsage, tuple[tuple[int, int], ...]]
"""(the amounts of pods of a spec, what they take by the resource's index)."""
MOST_SPECS = 1024


class RowAmounts:
    """Amounts by row, R of resources; cpu in millicores, everything else in whole units. Sums past 64 bits go round, as
    Go's do."""

    __slots__ = (
        "_known",
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

    def resize(self, resources: int, rows: int) -> None:
        """Makes room for so many resources and rows."""
        if resources != self.requested.shape[0]:
            self._known = []
        self._known += [None] * (rows - len(self._known))
        for table in (self.allocatable, self.allocatable_set, self.requested):
            table.resize(resources, rows)
        self.nonzero.resize(2, rows)
        self.allowed_pods.resize(rows)
        self.pod_count.resize(rows)

    def put_node(self, row: int, allocatable: Iterable[tuple[int, int]], allowed_pods: int) -> None:
        """Sets what a node can give. allocatable: (index of a resource, amount), of those that its status names."""
        self._known[row] = None
        self._give(row, allocatable, allowed_pods)

    def put_nodes(self, rows: list[int], allocatable: Iterable[tuple[int, int]], allowed_pods: int) -> None:
        """The same for several nodes that can give the same."""
        for row in rows:
            self._known[row] = None
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
