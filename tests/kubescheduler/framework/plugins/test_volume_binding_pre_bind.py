"""VolumeBinding: what PreBind writes, what it waits for, and what ends the waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from clusterstate.objects import AWSElasticBlockStore, ClaimReference, CSINode, ObjectMeta, Pod
from clusterstate.volumes.csi_migration import MIGRATED_ANNOTATION
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CancelledError
from tests.support.binding_worlds import NODES, RELEASES, SELECTED, STORAGE, VolumeBindingSetup, bound, free, late
from tests.support.build import labels
from tests.support.storage import claiming, on_nodes


@RELEASES
def test_nothing_to_bind(release: str) -> None:
    """All claims are bound, or there are none, or the node is unknown."""
    for pod, node in ((claiming("old"), "a"), (claiming(), "a"), (claiming("c"), "gone")):
        world = VolumeBindingSetup.of(release, *STORAGE)
        world.plugin.reserve(world.state, pod, node)
        assert world.plugin.pre_bind_pre_flight(world.state, pod, node).status == Status(Code.Skip)
        assert world.bind(pod, node) is None
        assert (world.written, world.now) == ([], 0)


@pytest.mark.parametrize(
    ("release", "text"),
    [
        pytest.param("1.20", 'no pod volumes found for node "b"', id="1.20"),
        pytest.param("1.36", 'no pod volume found for node "b"', id="1.36"),
    ],
)
def test_nothing_was_decided_for_the_node(release: str, text: str) -> None:
    """Reserve was not run, or for another node."""
    world, pod = VolumeBindingSetup.of(release, *STORAGE), claiming("c")
    assert world.bind(pod, "b") == Status.failure(text)
    world.reserve(pod)
    assert world.bind(pod, "b") == Status.failure(text)
    assert world.plugin.pre_bind_pre_flight(world.state, pod, "b").status == Status.failure(text)


@RELEASES
def test_volumes_are_written_before_claims_and_waited_for(release: str) -> None:
    """It looks once a second until every claim is bound."""
    world = VolumeBindingSetup.of(release, *STORAGE)
    pod = world.reserve(claiming("c", "d"))
    answer = world.plugin.pre_bind_pre_flight(world.state, pod, "a")
    assert (answer.status, answer.allow_parallel) == (None, True)
    world.arrives = [
        lambda: None,
        lambda: world.cache.add(bound(late("c"), "v")),
        lambda: world.cache.add(bound(world.claim("d"), "new")),
        lambda: world.cache.add(free("new")),
    ]
    assert world.bind(pod) is None
    assert world.now == 4
    assert [obj.metadata.name for obj in world.written] == ["v", "d"]
    world.plugin.unreserve(world.state, pod, "a")
    assert world.claim("c").volume_name == "v"


@pytest.mark.parametrize(
    ("release", "text"),
    [
        pytest.param("1.20", "binding volumes: timed out waiting for the condition", id="1.20"),
        pytest.param("1.36", "binding volumes: context deadline exceeded", id="1.36"),
    ],
)
def test_time_is_up(release: str, text: str) -> None:
    """After the configured seconds."""
    world = VolumeBindingSetup.of(release, *STORAGE, timeout=3)
    pod = world.reserve(claiming("c"))
    assert world.bind(pod) == Status.failure(text)
    assert (world.now, world.failed) == (3, ["bind"])


def test_the_api_refuses() -> None:
    """What was not written is put back, what was stays until it is let go."""
    world = VolumeBindingSetup.of("1.36", *STORAGE)
    pod = world.reserve(claiming("c", "d"))
    world.refuses = "d"
    assert world.bind(pod) == Status.failure("binding volumes: d is not writable")
    assert world.failed == ["bind"]
    assert world.claim("d") == late("d", storage=20)
    assert world.volume("v").claim_ref is not None
    world.plugin.unreserve(world.state, pod, "a")
    assert world.volume("v") == free("v")


def test_without_an_api_nothing_is_waited_for() -> None:
    """What was taken stays taken."""
    world = VolumeBindingSetup.of("1.36", *STORAGE, api=False)
    pod = world.reserve(claiming("c"))
    assert world.bind(pod) is None
    assert world.now == 0
    assert world.volume("v").claim_ref is not None


def test_binding_that_is_told_to_stop() -> None:
    """The reason why is handed on."""
    world = VolumeBindingSetup.of("1.36", *STORAGE)
    pod = world.reserve(claiming("c"))
    world.arrives = [lambda: world.state.cancellation.cancel("preempted")]
    with pytest.raises(CancelledError, match="preempted"):
        world.bind(pod)


def test_an_older_object_is_waited_out() -> None:
    """A volume or claim as it was before it was written says nothing."""
    world = VolumeBindingSetup.of("1.36", *STORAGE, timeout=3)
    pod = world.reserve(claiming("c", "d"))
    world.arrives = [lambda: world.cache.add(free("v"))]
    assert world.bind(pod) == Status.failure("binding volumes: context deadline exceeded")
    world = VolumeBindingSetup.of("1.36", *STORAGE, timeout=2)
    pod = world.reserve(claiming("d"))
    world.arrives = [lambda: world.cache.add(late("d", storage=20))]
    assert world.bind(pod) == Status.failure("binding volumes: context deadline exceeded")


def gone(world: VolumeBindingSetup, obj: Any) -> Callable[[], object]:
    return lambda: world.cache.remove(obj)


def came(world: VolumeBindingSetup, *objects: Any) -> Callable[[], object]:
    def come() -> None:
        for obj in objects:
            world.cache.add(obj)

    return come


CASES: dict[str, tuple[str, Callable[[VolumeBindingSetup, Pod], Callable[[], object]], str]] = {
    "node-gone": ("c", lambda w, _: gone(w, NODES[0]), 'failed to get node "a": node "a" not found'),
    "pod-gone": ("c", lambda w, pod: lambda: w.cache.forget_pod(pod), 'pod does not exist any more: pod "p" not found'),
    "volume-gone": (
        "c",
        lambda w, _: gone(w, free("v")),
        'failed to check binding: could not find v1.PersistentVolume "v"',
    ),
    "claim-gone": (
        "c",
        lambda w, _: gone(w, late("c")),
        'failed to check binding: could not find v1.PersistentVolumeClaim "default/c"',
    ),
    "volume-elsewhere": (
        "c",
        lambda w, _: came(w, msgspec.structs.replace(w.volume("v"), node_affinity=on_nodes("b"))),
        'pv "v" node affinity doesn\'t match node "a": no matching NodeSelectorTerms',
    ),
    "reference-gone": (
        "c",
        lambda w, _: came(w, msgspec.structs.replace(w.volume("v"), claim_ref=None)),
        'ClaimRef got reset for pv "v"',
    ),
    "reference-without-uid": (
        "c",
        lambda w, _: came(w, msgspec.structs.replace(w.volume("v"), claim_ref=ClaimReference("default", "c"))),
        'ClaimRef got reset for pv "v"',
    ),
    "untranslatable": (
        "c",
        lambda w, _: came(
            w,
            msgspec.structs.replace(w.volume("v"), source=AWSElasticBlockStore("aws://x")),
            CSINode(ObjectMeta("a", annotations=labels({MIGRATED_ANNOTATION: "kubernetes.io/aws-ebs"}))),
        ),
        "failed to translate pv to csi: could not translate pv: failed to translate Kubernetes ID to EBS Volume ID "
        "invalid format for AWS volume (aws://x)",
    ),
    "provisioned-claim-gone": (
        "d",
        lambda w, _: gone(w, late("d")),
        'failed to check provisioning pvc: could not find v1.PersistentVolumeClaim "default/d"',
    ),
    "annotations-gone": ("d", lambda w, _: came(w, late("d", storage=21)), 'selectedNode annotation reset for PVC "d"'),
    "provisioning-failed": (
        "d",
        lambda w, _: came(w, late("d", annotations={"x": "y"})),
        'provisioning failed for PVC "d"',
    ),
    "sent-elsewhere": (
        "d",
        lambda w, _: came(w, late("d", annotations={SELECTED: "b"})),
        'provisioning failed for PVC "d"',
    ),
    "provisioned-elsewhere": (
        "d",
        lambda w, _: came(w, bound(w.claim("d"), "new"), free("new", node_affinity=on_nodes("b"))),
        'pv "new" node affinity doesn\'t match node "a": no matching NodeSelectorTerms',
    ),
    "provisioned-untranslatable": (
        "d",
        lambda w, _: came(
            w,
            bound(w.claim("d"), "new"),
            free("new", source=AWSElasticBlockStore("aws://x")),
            CSINode(ObjectMeta("a", annotations=labels({MIGRATED_ANNOTATION: "kubernetes.io/aws-ebs"}))),
        ),
        "could not translate pv: failed to translate Kubernetes ID to EBS Volume ID "
        "invalid format for AWS volume (aws://x)",
    ),
}


@pytest.mark.parametrize(("claim", "happens", "text"), CASES.values(), ids=CASES.keys())
@RELEASES
def test_what_ends_the_waiting(
    release: str, claim: str, happens: Callable[[VolumeBindingSetup, Pod], Callable[[], object]], text: str
) -> None:
    """The text says what went wrong in the cluster meanwhile."""
    world = VolumeBindingSetup.of(release, *STORAGE)
    pod = world.reserve(claiming(claim))
    world.arrives = [happens(world, pod)]
    assert world.bind(pod) == Status.failure(f"binding volumes: {text}")
    assert world.now == 1
