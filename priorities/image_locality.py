"""ImageLocalityPriority: better the more bytes of the pod's images a node already has.

An image counts size·(nodes that have it / all nodes), so that one rare image does not draw every pod to one node.
With s = the sum over containers, held between 23 MiB and 1000 MiB: score = (s - 23 MiB)·10 / (1000 MiB - 23 MiB).
"""

from __future__ import annotations

import numpy as np

from clusterstate.changes import Reads
from clusterstate.growable import IntArray
from clusterstate.objects import ContainerImage, Node
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from priorities.types import MAX_PRIORITY, PriorityArgs, PriorityConfig, PriorityConfigFactory

MIB = 1024 * 1024
MIN_BYTES = 23 * MIB
MAX_BYTES = 1000 * MIB

Images = tuple[ContainerImage, ...]


def normalized_image_name(name: str) -> str:
    """The name with ``:latest`` when it has no tag; a port of the registry is no tag."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def image_bytes(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) bytes of the pod's images on each node, each scaled by how many of the nodes have it.

    Ordinary containers only; an image that two of them use counts twice. float64, cut off per image.
    """
    total = np.zeros(len(snapshot), np.int64)
    for container in pod.spec.containers:
        sizes, nodes = snapshot.image(normalized_image_name(container.image))
        total += (sizes * (nodes / max(1, snapshot.node_count))).astype(np.int64)
    return total


def image_locality(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–10. Upstream: 1.16 ImageLocalityPriorityMap."""
    held = np.minimum(np.maximum(image_bytes(pod, snapshot), MIN_BYTES), MAX_BYTES)
    scores: IntArray = (held - MIN_BYTES) * MAX_PRIORITY // (MAX_BYTES - MIN_BYTES)
    return scores


def no_container(pod: PodInfo) -> int | None:
    return None if pod.spec.containers else 0


def _make_image_locality(_: PriorityArgs) -> PriorityConfig:
    return PriorityConfig(
        "ImageLocalityPriority", image_locality, reads=Reads.NODE | Reads.ALL_NODES, constant=no_container
    )


# --- 1.4 -----------------------------------------------------------------------------------


def images_of(node: Node) -> Images | None:
    """The images that a node reports; None without any."""
    return node.images or None


def image_bytes_1_4(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) bytes of the pod's images on each node, each by the first entry that has exactly its name."""
    names = [container.image for container in pod.spec.containers]

    def held(images: Images | None) -> int:
        return sum(next((i.size_bytes for i in images or () if name in i.names), 0) for name in names)

    total: IntArray = snapshot.spread(images_of, held, np.int64)
    return total


def image_locality_1_4(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0 below 23 MiB, 10 from 1000 MiB on, 1–10 between. Upstream: 1.4 ImageLocalityPriority."""
    held = image_bytes_1_4(pod, snapshot)
    scores: IntArray = (held - MIN_BYTES) * MAX_PRIORITY // (MAX_BYTES - MIN_BYTES) + 1
    return np.where(held < MIN_BYTES, 0, np.where(held >= MAX_BYTES, MAX_PRIORITY, scores))


def _make_image_locality_1_4(_: PriorityArgs) -> PriorityConfig:
    return PriorityConfig("ImageLocalityPriority", image_locality_1_4, reads=Reads.NODE, constant=no_container)


IMAGE_LOCALITY: dict[str, PriorityConfigFactory] = {
    "ImageLocalityPriority": PriorityConfigFactory(_make_image_locality)
}
IMAGE_LOCALITY_1_4: dict[str, PriorityConfigFactory] = {
    "ImageLocalityPriority": PriorityConfigFactory(_make_image_locality_1_4)
}
