"""VolumeBinding: what it reserves, and where it takes part; what it refuses is tested with the rule."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from clusterstate.errors import SchedulingError
from clusterstate.objects import ClaimReference, CSIDriver, ObjectMeta
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.volume_binding import volume_binding_1_20, volume_binding_1_21, volume_binding_1_36
from tests.support.binding_worlds import CONTROLLER, RELEASES, SELECTED, STORAGE, TAKEN, VolumeBindingSetup, free, late
from tests.support.storage import by_text, claiming

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
    assert scoring is not None
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
    assert scoring is not None
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
    assert old is not None
    assert new is not None
    assert (old.pre_score(info, snapshot), new.pre_score(info, snapshot)) == (True, False)
    assert old.map(info, snapshot).tolist() == [0, 0]
    for make in (volume_binding_1_21, volume_binding_1_36):
        scoring = make(None, handle(world, VolumeCapacityPriority=True)).scoring
        assert scoring is not None
        assert scoring.pre_score(info, snapshot)
        assert max(scoring.map(info, snapshot).tolist()) > 0
