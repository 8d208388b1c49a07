"""How much of a cluster is asked for, node by node, as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from clusterstate.cache import ClusterCache
from kubescheduler.core.shown_table import Shown, ShownTable
from kubescheduler.simulation.utilisation import UsageRecorder, share, tracked_resources
from predicates.refusal_evidence import amount

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
