"""Pods that begin to leave their nodes: among them are those that the real scheduler evicts for others."""

from __future__ import annotations

from datetime import datetime

import msgspec

from clusterstate.objects import Pod

DISRUPTION, PREEMPTED = "DisruptionTarget", "PreemptionByScheduler"
"""The condition, and its reason, that 1.36 writes into its victims before it deletes them."""


class Departure(msgspec.Struct, frozen=True):
    """A pod that began to leave."""

    key: str
    """namespace/name."""
    priority: int
    at: datetime


class LeavingPods:
    """Remembers who leaves which node, for as long as somebody waits for room."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, Departure]] = {}

    def changed(self, old: Pod | None, new: Pod | None, now: datetime) -> None:
        """A pod came, changed or went. One that ends by itself goes without having been told to."""
        if old is None or new is None or not old.node_name or _leaves(old) or not _leaves(new):
            return
        self._by_node.setdefault(old.node_name, {})[old.key] = Departure(old.key, old.priority, now)

    def victims(self, node: str, preemptor: Pod, since: datetime) -> tuple[str, ...]:
        """The pods below ``preemptor`` that began to leave a node since then, sorted."""
        there = self._by_node.get(node, {}).values()
        return tuple(sorted(one.key for one in there if one.at >= since and one.priority < preemptor.priority))

    def forget(self) -> None:
        """Nobody waits any more."""
        self._by_node.clear()


def _leaves(pod: Pod) -> bool:
    """Whether a pod was told to leave, or is about to be."""
    return pod.metadata.deletion_timestamp is not None or any(
        one.type == DISRUPTION and one.reason == PREEMPTED and one.status == "True" for one in pod.conditions
    )
