"""How much of the cluster is used, over time: read off the cluster's columns, never summed up anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import add, itemgetter, mul, sub
from typing import Any

import attrs
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.columns import Columns
from clusterstate.objects import Node
from clusterstate.usage import CPU, MEMORY, PODS
from kubescheduler.core.results import Shown, ShownTable
from predicates.refusal_evidence import amount

Amounts = tuple[int, ...]
"""By resource, in the units of the columns: millicores, bytes, pieces; the number of pods last."""


class Sample(msgspec.Struct, frozen=True):
    """The whole cluster from ``time`` on. used and capacity count nodes that have a node object."""

    time: float
    pending: int
    used: Amounts
    capacity: Amounts

    def equals_but_for_time(self, other: Sample) -> bool:
        """Whether only the times are different."""
        return self.pending == other.pending and self.used == other.used and self.capacity == other.capacity


@attrs.define
class NodeUsage:
    """How much of one node was in use, from its arrival to its end."""

    name: str
    capacity: Amounts
    changes: list[tuple[float, Amounts]]
    """(time, what is used from then on), the first from the start or the node's arrival; all zeros once it has left."""


class Level(msgspec.Struct, frozen=True):
    """A share over time: its mean, its highest value, its last one; 0 where there is nothing to have."""

    mean: float
    peak: float
    last: float


def tracked_resources(columns: Columns, joining: Iterable[Node], tracked: Callable[[str], bool]) -> set[str]:
    """What account is kept of on some node, of those there are and those that join."""
    nodes = [*columns.nodes, *joining]
    return {name for node in nodes if node is not None for name in node.allocatable if tracked(name)}


class UsageRecorder:
    """Follows the nodes that are touched; a moment costs what changed in it.

    resources: cpu, memory, then every other resource that some node has, in order of name; pods come last.
    """

    def __init__(self, columns: Columns, resources: Iterable[str]) -> None:
        fixed = (CPU, MEMORY)
        names = (*fixed, *sorted(set(resources).difference(fixed)))
        self.resources = (*names, PODS)
        self.samples: list[Sample] = []
        self._columns = columns
        self._pick = itemgetter(*(columns.resource(name) for name in names))
        self._nothing: Amounts = (0,) * len(self.resources)
        self._now: dict[str, tuple[Node | None, Amounts, Amounts]] = {}
        self._used = self._nothing
        self._capacity = self._nothing
        self._nodes: dict[str, NodeUsage] = {}
        self._touched = dict.fromkeys(columns.row_of)

    def touch(self, node_name: str) -> None:
        """What there is on a node may have changed."""
        self._touched[node_name] = None

    def sample(self, time: float, pending: int) -> None:
        """Notes the moment; a moment that is noted again is noted anew."""
        for name in self._touched:
            self._update(time, name)
        self._touched.clear()
        samples = self.samples
        if samples and samples[-1].time == time:
            samples.pop()
        latest = Sample(time, pending, self._used, self._capacity)
        if not samples or not latest.equals_but_for_time(samples[-1]):
            samples.append(latest)

    def nodes(self) -> list[NodeUsage]:
        """The nodes that there were, by name."""
        return [self._nodes[name] for name in sorted(self._nodes)]

    def _update(self, time: float, name: str) -> None:
        old, old_used, old_capacity = self._now.get(name, (None, self._nothing, self._nothing))
        row = self._columns.row_of.get(name)
        node = None if row is None else self._columns.nodes[row]
        used = self._nothing if row is None or node is None else self._used_on(row)
        capacity = old_capacity if node is old else self._capacity_of(row, node)
        self._now[name] = node, used, capacity
        if used != old_used:
            self._used = _moved(self._used, old_used, used)
        if capacity != old_capacity:
            self._capacity = _moved(self._capacity, old_capacity, capacity)
        usage = self._nodes.get(name)
        if usage is None:
            if capacity != self._nothing:
                self._nodes[name] = NodeUsage(name, capacity, [(time, used)])
            return
        if capacity != self._nothing:
            usage.capacity = capacity
        if usage.changes[-1][0] == time:
            usage.changes.pop()
        if not usage.changes or usage.changes[-1][1] != used:
            usage.changes.append((time, used))

    def _used_on(self, row: int) -> Amounts:
        columns = self._columns
        return (*self._pick(columns.requested.data[:, row].tolist()), columns.pod_count.data.item(row))

    def _capacity_of(self, row: int | None, node: Node | None) -> Amounts:
        """Nothing where there is no such node."""
        if row is None or node is None:
            return self._nothing
        columns = self._columns
        return (*self._pick(columns.allocatable.data[:, row].tolist()), columns.allowed_pods.data.item(row))


def _moved(totals: Amounts, old: Amounts, new: Amounts) -> Amounts:
    """The totals once a part of them has become another."""
    return tuple(map(add, totals, map(sub, new, old)))


def levels(times: Sequence[float], shares: Sequence[float], end: float) -> Level:
    """Mean over time, peak and last value of a step function: from each time on its share, until ``end``."""
    if not times:
        return Level(0.0, 0.0, 0.0)
    area = sum(map(mul, shares, map(sub, (*times[1:], end), times)))
    mean = area / (end - times[0]) if end > times[0] else shares[-1]
    return Level(mean, max(shares), shares[-1])


def share(used: int, capacity: int) -> float:
    """Used by capacity; 0 where there is none."""
    return used / capacity if capacity else 0.0


BAR = 10
"""Characters of a full bar."""


class NodeShare(msgspec.Struct, frozen=True):
    """What is asked for of one resource of one node. Amounts are as Kubernetes writes them: ``1500m``, ``8Gi``."""

    node: str
    resource: str
    used: str
    capacity: str
    share: float
    """Used by capacity, 0 where there is none; above 1 where more is asked for than there is."""


class ClusterUtilisation(Shown, msgspec.Struct, frozen=True):
    """Rows by node and resource: cpu and memory first, then other resources of some node, pods last."""

    rows: tuple[NodeShare, ...]

    def __iter__(self) -> Iterator[NodeShare]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, node: str) -> dict[str, float]:
        """Resource → its share on one node."""
        return {row.resource: row.share for row in self.rows if row.node == node}

    def table(self) -> ShownTable:
        """A row a node and resource, with a bar."""
        cells = [
            (row.node, row.resource, f"{row.used} of {row.capacity}", f"{row.share:.0%}", _bar(row.share))
            for row in self.rows
        ]
        nodes = len({row.node for row in self.rows})
        title = f"{nodes} node{'s' * (nodes != 1)}: what is asked for"
        return ShownTable(title, ("node", "resource", "asked for", "share", ""), cells)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each node, and the share of each resource. Raises ConfigError without
        pandas."""
        from kubescheduler.notebook.views import data_frame

        nodes = list(dict.fromkeys(row.node for row in self.rows))
        resources = list(dict.fromkeys(row.resource for row in self.rows))
        shares = {(row.node, row.resource): row.share for row in self.rows}
        columns = {name: [shares[node, name] for node in nodes] for name in resources}
        return data_frame({"node": nodes, **columns}, "node")


def utilisation_of(cache: ClusterCache) -> ClusterUtilisation:
    """Of the nodes of a cluster, by name."""
    columns = cache.columns
    recorder = UsageRecorder(columns, tracked_resources(columns, (), cache.view.tracked))
    recorder.sample(0.0, 0)
    rows = [
        NodeShare(usage.name, resource, amount(resource, used), amount(resource, there), share(used, there))
        for usage in recorder.nodes()
        for resource, used, there in zip(recorder.resources, usage.changes[-1][1], usage.capacity, strict=True)
    ]
    return ClusterUtilisation(tuple(rows))


def _bar(part: float) -> str:
    full = min(round(part * BAR), BAR)
    return "█" * full + "░" * (BAR - full)
