"""The queue's record of which pod waits for room on which node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from clusterstate.objects import Pod


class Nominations(Protocol):
    """Where nominations are kept and read by the scheduler: a ClusterCache."""

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Records that a pod is to run on a node once there is room."""

    def nominated(self) -> Mapping[str, Sequence[Pod]]:
        """The pods nominated to each node, by the node's name."""


def note_nomination(record: Nominations, pod: Pod, node_name: str = "") -> None:
    """Notes what is said here, or else what the pod's status says; nothing when that is empty."""
    record.nominate(pod, node_name or pod.nominated_node_name)


def update_nomination(record: Nominations, old: Pod, new: Pod) -> None:
    """A pod's update: what neither version of it says stays as it was set in memory, else the new version wins.

    Upstream: 1.16 nominatedPodMap.update.
    """
    kept = "" if old.nominated_node_name or new.nominated_node_name else nominated_node(record, old)
    note_nomination(record, new, kept)


def nominated_node(record: Nominations, pod: Pod) -> str:
    """The node that a pod is nominated to, empty if there is none."""
    for node_name, pods in record.nominated().items():
        if any(other.metadata.uid == pod.metadata.uid and other.key == pod.key for other in pods):
            return node_name
    return ""
