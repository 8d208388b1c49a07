"""Pods that begin to leave their nodes: among them are those that the real scheduler evicts for others."""

from __future__ import annotations

from datetime import datetime

import msgspec

from clusterstate.objects import Pod

DISRUPTION, PREEMPTED = "DisruptionTarget", "PreemptionByScheduler"
"""The condition, and its reason, that 1.36 writes into its victims before it deletes them."""


class Departure(msgspec.Struct, frozen=True):
    """A pod that began to leave."""

    pod: Pod
    """As it ran before that."""
    at: datetime
    gone: bool = False
    """Whether its room is free already."""


class LeavingPods:
    """Remembers who leaves which node, for as long as somebody waits for room."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, Departure]] = {}

    def changed(self, old: Pod | None, new: Pod | None, now: datetime) -> None:
        """A pod came, changed or went. One that ends by itself goes without having been told to."""
        if old is None or not old.node_name:
            return
        there = self._by_node.setdefault(old.node_name, {})
        known = there.get(old.key)
        if new is None and known is not None:
            there[old.key] = msgspec.structs.replace(known, gone=True)
        elif new is not None and known is None and _leaves(new) and not _leaves(old):
            there[old.key] = Departure(old, now)

    def victims(self, node: str, preemptor: Pod, since: datetime) -> tuple[Departure, ...]:
        """Of the pods below ``preemptor`` those that began to leave a node since then, sorted."""
        there = self._by_node.get(node, {}).values()
        found = (one for one in there if one.at >= since and one.pod.priority < preemptor.priority)
        return tuple(sorted(found, key=lambda one: one.pod.key))

    def forget(self) -> None:
        """Nobody waits any more."""
        self._by_node.clear()


def _leaves(pod: Pod) -> bool:
    """Whether a pod was told to leave, or is about to be."""
    return pod.metadata.deletion_timestamp is not None or any(
        one.type == DISRUPTION and one.reason == PREEMPTED and one.status == "True" for one in pod.conditions
    )
