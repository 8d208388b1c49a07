"""Nodes as the filters of extenders answered them, also such as the cluster does not have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import DecodeError, SchedulingError
from clusterstate.manifests.decode import decode_object
from clusterstate.objects import Node
from kubescheduler.core.extender_calls import SnapshotRows
from kubescheduler.extender.wire import manifest_of

if TYPE_CHECKING:
    from clusterstate.growable import IntArray
    from clusterstate.objects import Pod
    from kubescheduler.core.extender_calls import FilterAnswer, SeenNodes


def node_not_found(name: str) -> str:
    """The text for a name that the snapshot does not have. Upstream: 1.20 and 1.36 snapshot.Get."""
    return f'nodeinfo not found for node name "{name}"'


class AnsweredRows(SnapshotRows, eq=False):
    """The rows of one attempt's nodes: those of the snapshot, and behind them a row for every answered node object that
    the cluster does not have. Upstream: 1.36 findNodesThatPassExtenders makes node records of the answered objects.
    """

    added: list[Node] = msgspec.field(default_factory=list)
    """The nodes of the rows behind the snapshot's."""
    changed: dict[int, Node] = msgspec.field(default_factory=dict)
    """Row → the answered object, where it says something else than the cluster's."""
    invented: dict[str, int] = msgspec.field(default_factory=dict)
    """Name → row, of answered nodes that the cluster has no object of."""

    @property
    def altered(self) -> bool:
        """Whether the answers hold a node that the cluster does not have as it was answered."""
        return bool(self.added or self.changed)

    @property
    def added_names(self) -> tuple[str, ...]:
        """The names of the rows behind the snapshot's."""
        return tuple(node.name for node in self.added)

    def names(self, rows: IntArray) -> list[str]:
        """(n,) the names of rows."""
        names = (*self.snapshot.names, *self.added_names) if self.added else self.snapshot.names
        return [names[row] for row in rows.tolist()]

    def nodes(self, rows: IntArray) -> list[Node]:
        """The node objects of rows, as they were answered last."""
        if not self.altered:
            return super().nodes(rows)
        found = (self._node(row) for row in rows.tolist())
        return [node for node in found if node is not None]

    def _node(self, row: int) -> Node | None:
        size = len(self.snapshot)
        return self.added[row - size] if row >= size else self.changed.get(row, self.snapshot.node(row))

    def read(self, answer: FilterAnswer) -> None:
        """Notes the answered node objects. Raises SchedulingError when one is no node."""
        for name, raw in zip(answer.nodes, answer.objects or (), strict=False):
            self._note(name, _document(raw))

    def _of_name(self, name: str) -> int:
        row = self.invented.get(name)
        return super()._of_name(name) if row is None else row

    def _note(self, name: str, document: dict[str, Any]) -> None:
        row = self.snapshot.row_of(name)
        if row is None:
            self.added.append(_decoded(document))
            self.invented[name] = len(self.snapshot) + len(self.added) - 1
            return
        known = self.snapshot.node(row)
        if known is None:
            self.changed[row] = _decoded(document)
            self.invented[name] = row
            return
        self.changed.pop(row, None)
        if document != manifest_of(known):
            node = _decoded(document)
            if node != known:
                self.changed[row] = node


def _document(raw: msgspec.Raw) -> dict[str, Any]:
    found = msgspec.json.decode(raw)
    return {key: value for key, value in (found or {}).items() if key not in ("apiVersion", "kind")}


def _decoded(document: dict[str, Any]) -> Node:
    try:
        node = decode_object({"apiVersion": "v1", "kind": "Node", **document})
    except DecodeError as error:
        raise SchedulingError(f"cannot read the extender's answer: nodes.items: {error}") from error
    assert isinstance(node, Node)
    return node


class AnsweredCluster(msgspec.Struct, frozen=True, eq=False):
    """The cluster, row for row, and behind it a row without pods for every answered object that it does not have so."""

    cache: ClusterCache
    """A copy, of which the cluster knows nothing."""
    copies: Mapping[int, int]
    """Row → the row of the object that was answered for its node."""

    def rows(self, rows: IntArray) -> IntArray:
        """(n,) the rows of the objects as they were answered last, for those of the nodes."""
        return np.array([self.copies.get(row, row) for row in rows.tolist()], np.int64)


def cluster_as_answered(cache: ClusterCache, answered: AnsweredRows) -> AnsweredCluster:
    """A copy of the cluster with the answered objects.

    An answered object stands beside the cluster's own, with no pods: running pods count in the domains that the
    cluster's own labels put them in, and the answered labels only say in which domain the pod would be.
    Cost: all nodes and pods are noted anew, which only an answer of other nodes than were sent brings about.
    Upstream: 1.36 counts over the snapshot and scores the records made of the answered objects.
    """
    made = _copy(cache, {})
    for node in answered.added:
        made.columns.put_node(made.columns.row(node.name), node)
    copies: dict[int, int] = {}
    for row, node in answered.changed.items():
        copy = copies[row] = made.columns.row(f"\0{node.name}")
        made.columns.put_node(copy, node)
        made.columns.names[copy] = node.name
    return AnsweredCluster(made, copies)


def _copy(cache: ClusterCache, replaced: Mapping[int, Node]) -> ClusterCache:
    """A copy of the cluster, row for row; replaced: row → the node object to put there."""
    made = ClusterCache(cache.view)
    made.objects = cache.objects
    columns = cache.columns
    for row, name in enumerate(columns.names):
        made.columns.row(name or f"\0{row}")
        node = replaced.get(row, columns.nodes[row])
        if node is not None:
            made.columns.put_node(row, node)
        for uid, pod in columns.pods[row].items():
            made.columns.put_pod(row, pod, uid)
    return made


# --- releases with priorities --------------------------------------------------------------


class AnsweredKnownRows(AnsweredRows, eq=False):
    """The same for releases that fail on a node that the cluster does not have."""

    def _note(self, name: str, document: dict[str, Any]) -> None:
        row = self.snapshot.row_of(name)
        if row is not None and self.snapshot.node(row) is not None:
            super()._note(name, document)

    def _beside(self, pod: Pod, cache: ClusterCache, rows: IntArray) -> SeenNodes:
        """The labels say where the pod would be; running pods are where the cluster's own labels put them."""
        cluster = cluster_as_answered(cache, self)
        made = cluster.cache
        return made.info(pod).naming(pod.node_name), made.snapshot().take(cluster.rows(rows))

    def _replaced(self, pod: Pod, cache: ClusterCache, rows: IntArray) -> SeenNodes:
        """The answered objects with the pods and the amounts of the cluster's."""
        known = cache.columns.nodes
        made = _copy(cache, {row: _with_amounts_of(known[row], node) for row, node in self.changed.items()})
        return made.info(pod).naming(pod.node_name), made.snapshot().take(rows)


def _with_amounts_of(known: Node | None, answered: Node) -> Node:
    assert known is not None
    return msgspec.structs.replace(answered, allocatable=known.allocatable, capacity=known.capacity)


INTER_POD_AFFINITY = "InterPodAffinityPriority"
EVEN_PODS_SPREAD = "EvenPodsSpreadPriority"


class AnsweredRows1_16(AnsweredKnownRows, eq=False):  # noqa: N801
    """Priorities that are one function get the answered objects; those with a map function read the snapshot.

    Upstream: 1.16 CalculateInterPodAffinityPriority, CalculateEvenPodsSpreadPriority, PrioritizeNodes.
    """

    def views(self, pod: Pod, cache: ClusterCache, rules: Iterable[str], rows: IntArray) -> dict[str, SeenNodes]:
        """Rule → the nodes as it reads them, for the two that read the answered objects."""
        if not self.changed:
            return {}
        read = [rule for rule in rules if rule in (INTER_POD_AFFINITY, EVEN_PODS_SPREAD)]
        return dict.fromkeys(read, self._beside(pod, cache, rows)) if read else {}


class AnsweredRows1_4(AnsweredKnownRows, eq=False):  # noqa: N801
    """Every priority gets the answered objects, and finds amounts and running pods in the snapshot.

    InterPodAffinityPriority looks up the nodes of running pods there. Upstream: 1.4 PrioritizeNodes.
    """

    def views(self, pod: Pod, cache: ClusterCache, rules: Iterable[str], rows: IntArray) -> dict[str, SeenNodes]:
        """Rule → the nodes as it reads them, for all rules."""
        if not self.changed:
            return {}
        replaced = self._replaced(pod, cache, rows)
        found = dict.fromkeys(rules, replaced)
        return found | {INTER_POD_AFFINITY: self._beside(pod, cache, rows)}
