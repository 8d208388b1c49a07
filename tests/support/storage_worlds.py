"""A small cluster of claims, volumes and storage classes, and events to it: for laws about what follows from them."""

from __future__ import annotations

from typing import Any

import kubescheduler
from clusterstate.objects import CSI, AWSElasticBlockStore, ClaimVolume, CSINode, CSINodeDriver, ObjectMeta, Pod
from kubescheduler.engine.engine_contract import PodScheduler
from tests.support.build import kept_objects, make_node, make_pod, resources
from tests.support.storage import BOUND, ZONE, make_claim, make_class, make_volume, on_nodes

HOSTS, CLASSES, DRIVERS = "abc", ("late", "now"), ("d.io",)
GATES = {"1.16": {"BalanceAttachedNodeVolumes": True}, "1.36": {"StorageCapacityScoring": True}}
ROOM = resources(pods=10, cpu=4000, attachable_volumes_aws_ebs=1)
NODES = [make_node(name, {"host": name, ZONE: "z1" if name == "a" else "z2"}, allocatable=ROOM) for name in HOSTS]
STARTED = [
    *(make_class(name) for name in CLASSES),
    *(CSINode(ObjectMeta(name), tuple(CSINodeDriver(name, count=1) for name in DRIVERS)) for name in HOSTS),
    make_volume("v0", AWSElasticBlockStore("e0"), storage_class_name="late", phase="Bound"),
    make_volume("v1", CSI("d.io", "h0"), storage_class_name="late", phase="Bound"),
    make_volume("v2", CSI("d.io", "h1"), storage_class_name="late", phase="Available", storage=2000),
    make_volume("v3", storage_class_name="late", phase="Available", storage=1000, node_affinity=on_nodes("a")),
    make_claim("c0", "v0", storage_class="late", annotations=BOUND),
    make_claim("c1", "v1", storage_class="late", annotations=BOUND),
    make_claim("c2", storage_class="late", storage=1000),
    make_pod("p0", volumes=(ClaimVolume("c0"),), node="b"),
    make_pod("p1", volumes=(ClaimVolume("c1"),), node="c"),
]
"""What is there before the first event."""


def scheduler_of(release: str, objects: list[Any]) -> PodScheduler:
    """A scheduler of a release over a cluster of some objects."""
    cluster = kubescheduler.Cluster(objects, release=release, defaulting=False)
    return kubescheduler.Scheduler(cluster, gates=GATES.get(release, {})).running


def afresh(release: str, scheduler: PodScheduler) -> PodScheduler:
    """A scheduler that has decided nothing yet, over a cluster of the same objects in the same order."""
    return scheduler_of(release, [*NODES, *scheduler.cache.pods(), *kept_objects(scheduler.cache)])


def apply(scheduler: PodScheduler, step: str, what: Any) -> None:
    """One event: an object is put or taken away; or step is a node, and a pod comes to it, or leaves."""
    cache = scheduler.cache
    if step == "put":
        cache.add(what)
    elif step == "take":
        cache.remove(what)
    elif isinstance(what, Pod) and what not in cache:
        cache.add(what.on(step))
    else:
        there = cache.placed(cache.view.identity(what))
        assert there is not None
        cache.remove(there)
