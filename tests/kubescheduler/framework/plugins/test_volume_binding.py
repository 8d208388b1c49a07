"""VolumeBinding: what it reserves, writes and waits for; what it refuses is tested with the rule."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from clusterstate.errors import SchedulingError
from clusterstate.objects import AWSElasticBlockStore, ClaimReference, CSIDriver, CSINode, ObjectMeta, Pod
from clusterstate.volumes.csi_migration import MIGRATED_ANNOTATION
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CancelledError, CycleState
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.volume_binding import volume_binding_1_20, volume_binding_1_21, volume_binding_1_36
from tests.support.binding_worlds import (
    CONTROLLER,
    NODES,
    RELEASES,
    SELECTED,
    STORAGE,
    TAKEN,
    VolumeBindingSetup,
    bound,
    free,
    late,
)
from tests.support.build import labels
from tests.support.storage import by_text, claiming, on_nodes

# --- Reserve -------------------------------------------------------------------------------


@RELEASES
def test_what_is_taken_shows_at_once(release: str) -> None:
    """The volume belongs to the claim, the other claim to the node; letting go puts everything back."""
    world = VolumeBindingSetup.of(release, *STORAGE)
    pod = world.reserve(claiming("c", "d", "old"))
    assert world.volume("v").claim_ref == ClaimReference("default", "c", "uid-c")
    assert world.volume("v").metadata.annotations == {CONTROLLER: "yes"}
    assert world.claim("d").metadata.annotations == {SELECTED: "a"}
    assert world.claim("c") == late("c")
    assert world.volume("w") == TAKEN
    for _ in range(2):
        world.plugin.unreserve(world.state, pod, "a")
        assert (world.volume("v"), world.claim("d")) == (free("v"), late("d", storage=20))


def test_another_pod_does_not_get_what_is_taken() -> None:
    """Its claim is provisioned then."""
    world = VolumeBindingSetup.of("1.36", *STORAGE, late("e"))
    world.reserve(claiming("c"))
    world.state = CycleState()
    world.reserve(claiming("e", name="q"), "b")
    assert world.claim("e").metadata.annotations == {SELECTED: "b"}
    assert world.volume("v").claim_ref == ClaimReference("default", "c", "uid-c")


@pytest.mark.parametrize(
    ("reference", "annotations"),
    [
        pytest.param(ClaimReference("default", "c"), {}, id="without-uid"),
        pytest.param(ClaimReference("default", "c", "uid-c"), {}, id="in-full"),
    ],
)
def test_a_volume_that_is_reserved_by_hand(reference: ClaimReference, annotations: dict[str, str]) -> None:
    """The reference is completed; it was not the controller's."""
    world = VolumeBindingSetup.of("1.36", late("c"), free("v", claim_ref=reference))
    world.reserve(claiming("c"))
    assert world.volume("v").claim_ref == ClaimReference("default", "c", "uid-c")
    assert world.volume("v").metadata.annotations == annotations


def test_letting_go_leaves_what_came_meanwhile() -> None:
    """An object that was updated since is not put back."""
    world = VolumeBindingSetup.of("1.36", *STORAGE)
    pod = world.reserve(claiming("c", "d"))
    newer = free("v", phase="Released")
    world.cache.add(newer)
    world.plugin.unreserve(world.state, pod, "a")
    assert world.volume("v") == newer
    assert world.claim("d") == late("d", storage=20)


def test_claims_that_cannot_be_looked_up() -> None:
    """As when a claim went away since PreFilter."""
    world = VolumeBindingSetup.of("1.36")
    with pytest.raises(SchedulingError, match='error getting PVC "default/none"'):
        world.plugin.reserve(world.state, claiming("none"), "a")
    assert world.failed == ["assume"]


# --- making it -----------------------------------------------------------------------------


def test_where_it_takes_part() -> None:
    """1.36 scores too, but skips that unless a gate is on."""
    old, new = VolumeBindingSetup.of("1.20").plugin, VolumeBindingSetup.of("1.36", *STORAGE)
    assert old.points == {Point.PRE_FILTER, Point.FILTER, Point.RESERVE, Point.PRE_BIND}
    assert new.plugin.points == old.points | {Point.PRE_SCORE, Point.SCORE}
    assert old.scoring is None
    assert old.filter_alone == new.plugin.filter_alone == "not found"
    scoring, info = new.plugin.scoring, new.cache.info(claiming("c"))
    assert not scoring.pre_score(info, new.cache.snapshot())
    assert scoring.map(info, new.cache.snapshot()).tolist() == [0, 0]
    assert not new.plugin.check.applies(new.cache.info(claiming()))
    assert new.plugin.check.unresolvable("anything")


def handle(world: VolumeBindingSetup, **gates: bool) -> Any:
    return SimpleNamespace(
        cache=world.cache, snapshot=world.cache.snapshot, client=None, feature_gates=gates, sleep=world.wait
    )


def test_gates() -> None:
    """1.36 scores with one, 1.20 keeps account of storage with another."""
    world = VolumeBindingSetup.of("1.36", *STORAGE, CSIDriver(ObjectMeta("d.io"), storage_capacity=True))
    info, snapshot = world.cache.info(claiming("d")), world.cache.snapshot()
    scoring = volume_binding_1_36(None, handle(world, StorageCapacityScoring=True)).scoring
    assert scoring.pre_score(info, snapshot)
    assert not scoring.pre_score(world.cache.info(claiming("old")), snapshot)
    plain = volume_binding_1_20(None, handle(world)).check.check(info, snapshot)
    counted = volume_binding_1_20(None, handle(world, CSIStorageCapacity=True)).check.check(info, snapshot)
    space = "node(s) did not have enough free storage"
    assert (plain[space].tolist(), counted[space].tolist()) == ([False, False], [True, True])


def test_attributes_classes_without_their_gate() -> None:
    """A claim that asks for one gives up the attempt; any other claim is looked for as ever."""
    classed = late("e", volume_attributes_class_name="fast")
    world = VolumeBindingSetup.of("1.36", *STORAGE, classed)
    snapshot = world.cache.snapshot()
    check = volume_binding_1_36(None, handle(world, VolumeAttributesClass=False)).check
    (fault,) = (text for text in by_text(snapshot, check.check(world.cache.info(claiming("e")), snapshot)))
    assert fault == (
        "error: unsupported volumeAttributesClassName is set on claim default/e when the feature-gate "
        "VolumeAttributesClass is disabled"
    )
    assert by_text(snapshot, check.check(world.cache.info(claiming("c")), snapshot)) == {}


def test_capacity_priority() -> None:
    """Up to 1.32 a gate scores the volumes that are found; without it 1.21 scores 0, and later releases skip."""
    world = VolumeBindingSetup.of("1.36", *STORAGE)
    info, snapshot = world.cache.info(claiming("c")), world.cache.snapshot()
    old, new = (make(None, handle(world)).scoring for make in (volume_binding_1_21, volume_binding_1_36))
    assert (old.pre_score(info, snapshot), new.pre_score(info, snapshot)) == (True, False)
    assert old.map(info, snapshot).tolist() == [0, 0]
    for make in (volume_binding_1_21, volume_binding_1_36):
        scoring = make(None, handle(world, VolumeCapacityPriority=True)).scoring
        assert scoring.pre_score(info, snapshot)
        assert max(scoring.map(info, snapshot).tolist()) > 0


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
