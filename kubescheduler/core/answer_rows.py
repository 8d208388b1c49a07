"""The nodes of one attempt as extenders name them: which rows they are, and how rules see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray
from clusterstate.objects import Node, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot

SeenNodes = tuple[PodInfo, Snapshot]
"""A pod, and the nodes that a rule scores for it, exactly these and in their order."""


class FilterAnswer(Protocol):
    """What an extender's filter said.

    nodes: names of the nodes that are left, in its order. failed: node name → message. unresolvable: likewise where
    taking pods away cannot help. as_objects: the nodes came as objects, not as names. objects: those objects.
    """

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes that pass."""

    @property
    def failed(self) -> dict[str, str]:
        """Node → the extender's message."""

    @property
    def unresolvable(self) -> dict[str, str]:
        """Node → the extender's message, where preemption cannot help."""

    @property
    def as_objects(self) -> bool:
        """Whether the answer named the nodes by whole objects."""

    @property
    def objects(self) -> tuple[msgspec.Raw, ...] | None:
        """The answered node objects as JSON, one per name; None when the answer had names only."""


def unknown_node_1_16(name: str) -> str:
    """The text for a node that an extender names and the cluster does not have."""
    return f"node not found: an extender passed {name!r}, which is not in the cluster"


class SnapshotRows(msgspec.Struct, eq=False):
    """The rows of the nodes that extenders are sent and answer: those of the snapshot, by name."""

    snapshot: Snapshot
    unknown_node: Callable[[str], str] = unknown_node_1_16
    """The text for a name that is no node."""

    def nodes(self, rows: IntArray) -> list[Node]:
        """The node objects of rows."""
        return nodes_of(self.snapshot, rows)

    def names(self, rows: IntArray) -> list[str]:
        """(n,) the names of rows."""
        return [self.snapshot.names[row] for row in rows.tolist()]

    def views(self, pod: Pod, cache: ClusterCache, rules: Iterable[str], rows: IntArray) -> dict[str, SeenNodes]:  # noqa: ARG002
        """Rule, of those that score → the nodes of rows as it reads them, where the cluster has them otherwise."""
        return {}

    def read(self, answer: FilterAnswer) -> None:
        """Reads the node objects of an answer; here their names are enough. Raises SchedulingError."""

    def rows(self, answer: FilterAnswer) -> IntArray:
        """(n,) the rows of an answer, in its order. Raises SchedulingError for a name that is no node."""
        return np.array([self._of_name(name) for name in answer.nodes], np.int64)

    def _of_name(self, name: str) -> int:
        row = self.snapshot.row_of(name)
        if row is None or self.snapshot.node(row) is None:
            raise SchedulingError(self.unknown_node(name))
        return row


def nodes_of(snapshot: Snapshot, rows: IntArray) -> list[Node]:
    """The node objects of rows."""
    return [node for row in rows.tolist() if (node := snapshot.node(row)) is not None]
