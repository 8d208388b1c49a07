"""ImageLocalityPriority and ImageLocality: better the more bytes of the pod's images a node already has.

An image counts size·(nodes that have it / all nodes), so that one rare image does not draw every pod to one node.
With s = the sum over containers, held between 23 MiB and 1000 MiB: score = (s - 23 MiB)·10 / (1000 MiB - 23 MiB).
The framework releases go up to 100, and allow 1000 MiB for each container.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import IntArray
from clusterstate.objects import ContainerImage, ImageVolume, Node
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from priorities.score_evidence import (
    Calculation,
    added,
    formula,
    one_row,
    plugin_evidence,
    priority_evidence,
    size,
    traced,
)
from priorities.types import MAX_NODE_SCORE, MAX_PRIORITY, PriorityArgs, PriorityConfig, PriorityConfigFactory

MIB = 1024 * 1024
MIN_BYTES = 23 * MIB
MAX_BYTES = 1000 * MIB

Images = tuple[ContainerImage, ...]


def normalized_image_name(name: str) -> str:
    """The name with ``:latest`` when it has no tag; a port of the registry is no tag."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def image_bytes(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) bytes of the pod's images on each node, of ordinary containers only; see ``scaled_bytes``."""
    return scaled_bytes([container.image for container in pod.spec.containers], snapshot)


def scaled_bytes(images: Iterable[str], snapshot: Snapshot) -> IntArray:
    """(n,) bytes of images on each node, each scaled by how many of the nodes have it.

    An image that is named twice counts twice. float64, cut off per image.
    """
    total = np.zeros(len(snapshot), np.int64)
    for image in images:
        sizes, nodes = snapshot.image(normalized_image_name(image))
        total += _scaled(sizes, nodes, snapshot)
    return total


def _scaled(sizes: IntArray, nodes: IntArray, snapshot: Snapshot) -> IntArray:
    scaled: IntArray = (sizes * (nodes / max(1, snapshot.node_count))).astype(np.int64)
    return scaled


def image_locality(pod: PodInfo, snapshot: Snapshot, best: int = MAX_PRIORITY) -> IntArray:
    """(n,) 0–``best``. Upstream: 1.16 ImageLocalityPriorityMap, with 10."""
    return _between(image_bytes(pod, snapshot), MAX_BYTES, best)


def _between(held: IntArray, most: int, best: int) -> IntArray:
    """(n,) 0–``best``: what is held, within the limits."""
    scores: IntArray = (np.minimum(np.maximum(held, MIN_BYTES), most) - MIN_BYTES) * best // (most - MIN_BYTES)
    return scores


def no_container(pod: PodInfo) -> int | None:
    """0 for a pod without containers, otherwise None."""
    return None if pod.spec.containers else 0


def make_image_locality(_: PriorityArgs) -> PriorityConfig:
    """Adds up, over the pod's containers, size of the image·(nodes that have it / all nodes). The sum is held between
    23 MiB and 1000 MiB and stretched to 0–10, truncated.

    Upstream: 1.16 ImageLocalityPriorityMap.
    """
    return PriorityConfig(
        "ImageLocalityPriority",
        image_locality,
        footprint=Footprint(Reads.NODE | Reads.ALL_NODES, pod_key=spec_alone),
        constant=no_container,
        evidence=priority_evidence("ImageLocalityPriority", explain_image_locality),
        map_to_100=partial(image_locality, best=MAX_NODE_SCORE),
    )


def _shown_bytes(images: Iterable[str], snapshot: Snapshot) -> tuple[IntArray, dict[str, Any]]:
    """Traced ``scaled_bytes`` of a snapshot's only row, and the inputs."""
    held = traced(np.zeros(1, np.int64))
    inputs: dict[str, Any] = {}
    for image in images:
        name = normalized_image_name(image)
        sizes, nodes = snapshot.image(name)
        bytes_here, on = int(sizes[0]), int(nodes[0])
        inputs[name] = {"size": size(bytes_here), "nodes that have it": on} if bytes_here else "not on the node"
        if bytes_here:
            term = _scaled(traced(sizes), traced(nodes), snapshot)
            held = held + term if held[0] else term
    return held, inputs | {"nodes": snapshot.node_count}


def explain_image_locality(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
    """Of ``image_locality``."""
    held, inputs = _shown_bytes([c.image for c in pod.spec.containers], one_row(snapshot, at))
    return Calculation(formula(_between(held, traced(MAX_BYTES), MAX_PRIORITY)[0]), inputs)


# --- 1.20 and 1.36 -------------------------------------------------------------------------


def image_locality_1_18(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–100, between 23 MiB and 1000 MiB however many containers there are. Upstream: 1.18 ImageLocality."""
    return _of_containers(image_bytes(pod, snapshot), 1)


def explain_image_locality_1_18(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
    """Of ``image_locality_1_18``."""
    return _explain_of_containers([c.image for c in pod.spec.containers], 1, snapshot, at)


def image_locality_1_20(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–100. Upstream: 1.20 ImageLocality."""
    return _of_containers(image_bytes(pod, snapshot), len(pod.spec.containers))


def image_locality_1_30(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–100; init containers count too. Upstream: 1.30 ImageLocality."""
    images = images_1_30(pod)
    return _of_containers(scaled_bytes(images, snapshot), len(images))


def images_1_30(pod: PodInfo) -> list[str]:
    """The images of all containers."""
    return [container.image for container in (*pod.spec.init_containers, *pod.spec.containers)]


def image_locality_1_36(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) 0–100; init containers and image volumes count too. Upstream: 1.36 ImageLocality."""
    containers = len(pod.spec.init_containers) + len(pod.spec.containers)
    return _of_containers(scaled_bytes(images_1_36(pod), snapshot), containers)


def images_1_36(pod: PodInfo) -> list[str]:
    """The images of all containers and of image volumes."""
    return [*images_1_30(pod), *(each.reference for each in pod.spec.volumes if isinstance(each, ImageVolume))]


def _of_containers(held: IntArray, containers: int) -> IntArray:
    """Without any container there is nothing between the limits, and one is exceeded or not."""
    if not containers:
        return np.where(held < MIN_BYTES, 0, MAX_NODE_SCORE)
    return _between(held, MAX_BYTES * containers, MAX_NODE_SCORE)


def _explain_of_containers(images: Iterable[str], containers: int, snapshot: Snapshot, at: int) -> Calculation:
    """Of ``_of_containers``."""
    held, inputs = _shown_bytes(images, one_row(snapshot, at))
    score = formula(_of_containers(held, traced(containers))[0])
    return Calculation(score, inputs if containers else inputs | {"containers": 0})


def explain_image_locality_1_20(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
    """Of ``image_locality_1_20``."""
    images = [container.image for container in pod.spec.containers]
    return _explain_of_containers(images, len(images), snapshot, at)


def explain_image_locality_1_30(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
    """Of ``image_locality_1_30``."""
    images = images_1_30(pod)
    return _explain_of_containers(images, len(images), snapshot, at)


def explain_image_locality_1_36(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
    """Of ``image_locality_1_36``."""
    containers = len(pod.spec.init_containers) + len(pod.spec.containers)
    return _explain_of_containers(images_1_36(pod), containers, snapshot, at)


IMAGE_LOCALITY_1_18_EVIDENCE = plugin_evidence("ImageLocality", explain_image_locality_1_18)
IMAGE_LOCALITY_1_20_EVIDENCE = plugin_evidence("ImageLocality", explain_image_locality_1_20)
IMAGE_LOCALITY_1_30_EVIDENCE = plugin_evidence("ImageLocality", explain_image_locality_1_30)
IMAGE_LOCALITY_1_36_EVIDENCE = plugin_evidence("ImageLocality", explain_image_locality_1_36)


def no_image_1_30(pod: PodInfo) -> int | None:
    """0 for a pod without any container."""
    return None if images_1_30(pod) else 0


def no_image(pod: PodInfo) -> int | None:
    """0 for a pod without any image. Upstream: 1.36."""
    return None if images_1_36(pod) else 0


# --- 1.4 -----------------------------------------------------------------------------------


def images_of(node: Node) -> Images | None:
    """The images that a node reports; None without any."""
    return node.images or None


def image_bytes_1_4(pod: PodInfo, snapshot: Snapshot) -> IntArray:
    """(n,) bytes of the pod's images on each node, each by the first entry that has exactly its name."""
    total = np.zeros(len(snapshot), np.int64)
    for container in pod.spec.containers:
        total += _bytes_of_1_4(container.image, snapshot)
    return total


def _bytes_of_1_4(name: str, snapshot: Snapshot) -> IntArray:
    """(n,) bytes of one image on each node."""

    def held(images: Images | None) -> int:
        return next((i.size_bytes for i in images or () if name in i.names), 0)

    out: IntArray = snapshot.spread(images_of, held, np.int64)
    return out


def image_locality_1_4(pod: PodInfo, snapshot: Snapshot, best: int = MAX_PRIORITY) -> IntArray:
    """(n,) 0 below 23 MiB, ``best`` from 1000 MiB on, 1–``best`` between. Upstream: 1.4 ImageLocalityPriority, with
    10.
    """
    held = image_bytes_1_4(pod, snapshot)
    scores: IntArray = (held - MIN_BYTES) * best // (MAX_BYTES - MIN_BYTES) + 1
    return np.where(held < MIN_BYTES, 0, np.where(held >= MAX_BYTES, best, scores))


def make_image_locality_1_4(_: PriorityArgs) -> PriorityConfig:
    """The sizes of the pod's images that the node has are added up, however many other nodes have them: 0 below 23 MiB,
    10 from 1000 MiB on. Not in the default provider.

    Upstream: 1.4 ImageLocalityPriority.
    """
    return PriorityConfig(
        "ImageLocalityPriority",
        image_locality_1_4,
        footprint=Footprint(Reads.NODE, pod_key=spec_alone),
        constant=no_container,
        evidence=priority_evidence("ImageLocalityPriority", explain_image_locality_1_4),
        map_to_100=partial(image_locality_1_4, best=MAX_NODE_SCORE),
    )


def explain_image_locality_1_4(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
    """Of ``image_locality_1_4``."""
    row = one_row(snapshot, at)
    names = [container.image for container in pod.spec.containers]
    sizes = [int(_bytes_of_1_4(name, row)[0]) for name in names]
    inputs = {name: size(held) if held else "not on the node" for name, held in zip(names, sizes, strict=True)}
    if sum(sizes) < MIN_BYTES:
        return Calculation("0", inputs | {"too little": f"below {size(MIN_BYTES)}"})
    if sum(sizes) >= MAX_BYTES:
        return Calculation(str(MAX_PRIORITY), inputs | {"more than enough": f"from {size(MAX_BYTES)} on"})
    held = added([str(held) for held in sizes])
    return Calculation(f"({held} - {MIN_BYTES}) * {MAX_PRIORITY} // ({MAX_BYTES} - {MIN_BYTES}) + 1", inputs)


IMAGE_LOCALITY: dict[str, PriorityConfigFactory] = {"ImageLocalityPriority": PriorityConfigFactory(make_image_locality)}
IMAGE_LOCALITY_1_4: dict[str, PriorityConfigFactory] = {
    "ImageLocalityPriority": PriorityConfigFactory(make_image_locality_1_4)
}
