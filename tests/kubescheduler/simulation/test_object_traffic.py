"""Objects besides nodes and pods in a run: each kind comes, changes and goes, and what a scheduler chose is its own."""

from __future__ import annotations

from typing import Any

import attrs
import msgspec
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.cluster_objects import KEPT, ClusterObjects
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import (
    ConsumerReference,
    FrozenMap,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ResourceClaim,
)
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.live.informer_rules import KINDS_1_36
from kubescheduler.simulation.simulation import Simulation
from kubescheduler.simulation.timeline import CHOICES, came_later, replayed
from kubescheduler.simulation.workload import Arrival, ObjectUpdate, Workload
from tests.support.live.dry_runs import read
from tests.support.live.live_cluster import a_node, a_pod

WAITS = read(
    {"metadata": {"name": "waits"}, "provisioner": "p", "volumeBindingMode": "WaitForFirstConsumer"}, "StorageClass"
)
AT_ONCE = read({"metadata": {"name": "at-once"}, "provisioner": "p", "volumeBindingMode": "Immediate"}, "StorageClass")
OTHERS = [kind.kind for kind in KINDS_1_36 if kind.kind not in ("Pod", "Node")]
"""What 1.36 reads besides nodes and pods."""


def waiting(name: str) -> Pod:
    document = a_pod(name)
    document["metadata"] |= {"namespace": "default", "uid": name}
    found: Pod = read(document, "Pod")
    return found


def claim(class_name: str = "waits", **spec: Any) -> PersistentVolumeClaim:
    document = {
        "metadata": {"name": "c", "namespace": "default", "uid": "1"},
        "spec": {"storageClassName": class_name, "resources": {"requests": {"storage": "1Gi"}}, **spec},
    }
    found: PersistentVolumeClaim = read(document, "PersistentVolumeClaim")
    return found


def volume(*, provisioned: bool = True, given: bool = True) -> PersistentVolume:
    reference = {"claimRef": {"namespace": "default", "name": "c", "uid": "1"}} if given else {}
    annotations = {"pv.kubernetes.io/provisioned-by": "p"} if provisioned else {}
    spec = {"storageClassName": "waits", "capacity": {"storage": "1Gi"}, **reference}
    document = {"metadata": {"name": "pvc-1", "annotations": annotations}, "spec": spec}
    found: PersistentVolume = read(document, "PersistentVolume")
    return found


def world(*objects: Any) -> ClusterObjects:
    found = ClusterObjects()
    for obj in objects:
        found.put(obj)
    return found


def chosen_document(kind: str, label: str) -> dict[str, Any]:
    """A small object of a kind as a server stores it."""
    specs: dict[str, Any] = {
        "StorageClass": {"provisioner": "p"},
        "CSIStorageCapacity": {"storageClassName": "fast"},
        "VolumeAttachment": {"spec": {"attacher": "d", "nodeName": "n1", "source": {"persistentVolumeName": "v"}}},
        "ResourceSlice": {"spec": {"driver": "d", "pool": {"name": "p", "resourceSliceCount": 1}, "nodeName": "n1"}},
        "CSINode": {"spec": {"drivers": [{"name": "d", "nodeID": "n1"}]}},
    }
    return {"metadata": {"name": "x", "namespace": "default", "labels": {"is": label}}, **specs.get(kind, {})}


@pytest.mark.parametrize("kind", OTHERS)
def test_every_kind_comes_changes_and_goes(kind: str) -> None:
    """What the release reads is recorded whole, is there from its time on, in its last state, and then no more."""
    old, new = (read(chosen_document(kind, label), kind) for label in "ab")
    assert read(encode_object(new), kind) == new
    seen = dict[float, Any]()
    updates = [ObjectUpdate(old, 10.0), ObjectUpdate(new, 20.0), ObjectUpdate(new, 30.0, gone=True)]
    spec = EngineSpec(release="1.36")
    scheduler = spec.engine(lambda _: None).scheduler(
        ClusterCache.of([read(a_node("n1"), "Node")], spec.release_view())
    )
    pods = [waiting(f"p{at}") for at in (5, 15, 25, 35)]

    def look(_: Any) -> None:
        seen[len(seen)] = scheduler.cache.objects.current(old)

    arrivals = tuple(Arrival(pod, at) for pod, at in zip(pods, (5.0, 15.0, 25.0, 35.0), strict=True))
    Simulation(scheduler, Workload(arrivals, updates=tuple(updates)), observers=[look]).run()
    comes_not = type(old) in CHOICES and CHOICES[type(old)](old, None, ClusterObjects()) is None
    assert list(seen.values()) == [None] * 4 if comes_not else [None, old, new, None]


def test_the_kinds_are_all_that_a_scheduler_keeps() -> None:
    """Of what a cache keeps, only what an API server does not have, or no release reads, is not watched."""
    kept = {kind.__name__ for kind in KEPT}
    assert set(OTHERS) <= kept
    assert kept - set(OTHERS) == {"PriorityClass", "ResourceClaimTemplate", "PendingAllocation", "PodGroup"}


# --- what a scheduler chose -----------------------------------------------------------------------------


def test_a_claim_that_waits_stays_as_it_is() -> None:
    """The real scheduler's node and volume are not taken over; what else changed is."""
    ours = msgspec.structs.replace(claim(), volume_name="ours", phase="Bound")
    theirs = claim(volumeName="theirs")
    theirs = msgspec.structs.replace(
        theirs,
        storage=2 * theirs.storage,
        metadata=msgspec.structs.replace(
            theirs.metadata, annotations=FrozenMap({"volume.kubernetes.io/selected-node": "n9", "k": "v"})
        ),
    )
    old, new = replayed(ObjectUpdate(theirs), world(WAITS, ours))
    assert (old, new.volume_name, new.phase, new.storage) == (ours, "ours", "Bound", theirs.storage)
    assert dict(new.metadata.annotations) == {"k": "v"}


def test_a_claim_that_is_bound_at_once_is_as_recorded() -> None:
    """A controller binds it whatever a scheduler does."""
    bound = claim("at-once", volumeName="v")
    assert replayed(ObjectUpdate(bound), world(AT_ONCE, claim("at-once")))[1] == bound


@pytest.mark.parametrize(
    ("comes", "there", "expected"),
    [
        pytest.param(volume(), (), None, id="made for the claim"),
        pytest.param(volume(provisioned=False), (), "free", id="given to the claim"),
        pytest.param(volume(provisioned=False), (volume(provisioned=False, given=False),), "free", id="given later"),
        pytest.param(volume(given=False), (), "free", id="free"),
    ],
)
def test_volumes_of_a_claim_that_waits(
    comes: PersistentVolume, there: tuple[PersistentVolume, ...], expected: str | None
) -> None:
    """One that was made for it does not come; others come without having been given away."""
    _, new = replayed(ObjectUpdate(comes), world(WAITS, claim(), *there))
    assert (None if new is None else "free" if new.claim_ref is None else "given") == expected


def test_devices_are_allocated_by_who_schedules() -> None:
    """A claim comes without an allocation, and keeps the one that it got in the run."""
    document = {"metadata": {"name": "c", "namespace": "default"}, "spec": {}}
    plain: ResourceClaim = read(document, "ResourceClaim")
    theirs = attrs.evolve(plain, reserved_for=(ConsumerReference("pods", "web", "1"),))
    ours = attrs.evolve(plain, reserved_for=(ConsumerReference("pods", "web.2", "2"),))
    assert replayed(ObjectUpdate(theirs), world())[1] == plain
    assert replayed(ObjectUpdate(theirs), world(ours))[1] == ours


def test_attached_volumes_go_but_do_not_come() -> None:
    """They follow the nodes of pods, which are others here."""
    attached = read(chosen_document("VolumeAttachment", "a"), "VolumeAttachment")
    assert replayed(ObjectUpdate(attached), world()) == (None, None)
    assert replayed(ObjectUpdate(attached, gone=True), world(attached)) == (attached, None)


def test_without_times_objects_are_as_they_were_first() -> None:
    """Each once, whatever became of it; what was there already is not told again."""
    first, second = (read(chosen_document("Service", label), "Service") for label in "ab")
    updates = [ObjectUpdate(first, 1.0), ObjectUpdate(second, 2.0), ObjectUpdate(second, 3.0, gone=True)]
    assert came_later(updates, []) == [first]
    assert came_later(updates, [second]) == []
