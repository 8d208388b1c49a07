"""DynamicResources' score."""

from __future__ import annotations

import numpy as np

from clusterstate.objects import DeviceAsk
from priorities.dynamic_resources import dynamic_resources_score
from tests.support.build import make_node, resources
from tests.support.devices import device_cluster, exactly, first_of, gpu, make_claim, make_class, make_slice, pod_with

DYNAMIC_RESOURCES = dynamic_resources_score()
NODES = [make_node("one"), make_node("two"), make_node("three")]
SLICES = [
    make_slice("one", gpu("a")),
    make_slice("two", gpu("a"), gpu("b")),
    make_slice("three", gpu("a"), gpu("b"), gpu("c")),
]
BEST_THREE = first_of(
    "r", DeviceAsk("gpu", "three", count=3), DeviceAsk("gpu", "two", count=2), DeviceAsk("gpu", "one", count=1)
)


def test_better_alternatives_score_higher() -> None:
    """8 for the first alternative, 7 for the second and so on; then stretched to 100."""
    cluster = device_cluster(NODES, [make_class(), make_claim("c", BEST_THREE), *SLICES])
    info, snapshot = cluster.info(pod_with("c")), cluster.snapshot
    raw = DYNAMIC_RESOURCES.map(info, snapshot)
    assert raw.tolist() == [6, 7, 8]
    assert DYNAMIC_RESOURCES.reduce is not None
    assert DYNAMIC_RESOURCES.reduce(info, snapshot, raw).tolist() == [75, 87, 100]
    assert DYNAMIC_RESOURCES.map(info, snapshot.take(np.array([2, 0]))).tolist() == [8, 6]


def test_requests_add_up() -> None:
    """Every request with alternatives counts, once however many devices it gets; others do not."""
    claim = make_claim("c", first_of("r", DeviceAsk("gpu", "two", count=2)), exactly("s"))
    again = make_claim("d", first_of("t", DeviceAsk("gpu", "none", ("false",)), DeviceAsk("gpu", "any", count=9)))
    cluster = device_cluster(NODES, [make_class(), claim, again, *SLICES])
    assert DYNAMIC_RESOURCES.map(cluster.info(pod_with("c")), cluster.snapshot).tolist() == [0, 0, 8]
    assert DYNAMIC_RESOURCES.map(cluster.info(pod_with("d")), cluster.snapshot).tolist() == [0, 0, 0]


def test_without_alternatives() -> None:
    """Everything else scores 0, and a pod without claims is not even looked at."""
    cluster = device_cluster(NODES, [make_class(), make_claim("c"), *SLICES])
    assert DYNAMIC_RESOURCES.map(cluster.info(pod_with("c")), cluster.snapshot).tolist() == [0, 0, 0]
    assert DYNAMIC_RESOURCES.map(cluster.info(pod_with("gone")), cluster.snapshot).tolist() == [0, 0, 0]
    assert DYNAMIC_RESOURCES.constant(cluster.info(pod_with("c"))) is None
    assert DYNAMIC_RESOURCES.constant(cluster.info(pod_with(requests=resources(**{"example.com/gpu": 1})))) == 0
