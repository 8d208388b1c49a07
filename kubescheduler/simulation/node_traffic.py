"""Nodes that join, change and leave while a simulation runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.objects import Node, Pod
from kubescheduler.releases.daemon_controllers import target_node
from kubescheduler.simulation.pods_to_place import daemon_set_of
from kubescheduler.simulation.run_events import Kind
from kubescheduler.simulation.timeline import NODES, Events
from kubescheduler.simulation.workload import NodeArrival


class NodeTraffic(msgspec.Struct, frozen=True, eq=False):
    """The nodes of a workload, as the API server reports them.

    With a node go the pods on it, and those that DaemonSets made for it and that no scheduler has bound yet, as
    upstream's controllers have it (podgc; getUnscheduledPodsWithoutNode of 1.16 to 1.36).
    """

    cache: ClusterCache
    """The scheduler's."""
    report: Callable[[Node | None, Node | None], None]
    """What the scheduler does about a node: of the object before and after, None where there is none."""
    events: Events
    """What is to happen."""
    changed: Callable[[Node, Kind], None]
    """Notes what happened to a node."""
    lost: Callable[[Pod], None]
    """Collects a pod of a node that is gone."""
    pending: Callable[[], Iterable[Pod]]
    """The pods that are bound to no node yet."""

    def expect(self, arrivals: Iterable[NodeArrival]) -> None:
        """Has all of them come in their time."""
        for arrival in arrivals:
            self.events.at(arrival.at, NODES, partial(self._comes, arrival))

    def _comes(self, arrival: NodeArrival) -> None:
        """A new node, or another manifest of one that is there."""
        node = arrival.node
        old = self._node(node.name)
        self.report(old, node)
        self.changed(node, Kind.NODE_ADDED if old is None else Kind.NODE_CHANGED)
        if arrival.leaves_at is not None:
            self.events.at(max(arrival.leaves_at, arrival.at), NODES, partial(self._leaves, node))

    def _leaves(self, node: Node) -> None:
        """The node goes, unless a newer manifest came; then the pods on it are collected."""
        if self._node(node.name) is not node:
            return
        there = list(self._bound_to(node.name))
        self.report(node, None)
        self.changed(node, Kind.NODE_REMOVED)
        for pod in (*there, *(pod for pod in self.pending() if is_daemon_for(pod, node.name))):
            self.lost(pod)

    def _node(self, name: str) -> Node | None:
        row = self.cache.columns.row_of.get(name)
        return None if row is None else self.cache.columns.nodes[row]

    def _bound_to(self, node_name: str) -> Iterator[Pod]:
        """The pods on a node but those that are held on their way there."""
        columns = self.cache.columns
        for pod in columns.pods[columns.row_of[node_name]].values():
            if not self.cache.is_assumed(pod):
                yield pod


def is_daemon_for(pod: Pod, node_name: str) -> bool:
    """Whether a pod is a DaemonSet's for this node."""
    return daemon_set_of(pod) is not None and target_node(pod) == node_name
