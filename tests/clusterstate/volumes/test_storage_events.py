"""Single events of claims and volumes that change a decision: none of them is missed for what was remembered."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.objects import (
    CSI,
    ClaimReference,
    ClaimVolume,
    CSIDriver,
    CSINode,
    CSINodeDriver,
    CSIStorageCapacity,
    LabelSelector,
    ObjectMeta,
    PersistentVolume,
    VolumeAttachment,
)
from kubescheduler.releases.names import RELEASE_NAMES
from tests.support.build import labels, make_pod
from tests.support.rich_worlds import told
from tests.support.storage import BOUND, ZONE, make_claim, make_class, make_volume, on_nodes
from tests.support.storage_worlds import NODES, STARTED, afresh, apply, scheduler_of

NEVER = "never"


def free(name: str, storage: int = 2000, **fields: Any) -> PersistentVolume:
    """A volume for the claim c2, unless the fields say otherwise."""
    return make_volume(
        name, CSI("d.io", name), **{"storage_class_name": "late", "phase": "Available", "storage": storage, **fields}
    )


V0, V1, V2, V3 = (found for found in STARTED if isinstance(found, PersistentVolume))
LOCAL = ("put", make_class("late", "kubernetes.io/no-provisioner"))
NO_V2, NO_V3 = ("take", V2), ("take", V3)
NONE_FREE = (LOCAL, NO_V2, NO_V3)
CLASS_NOW = msgspec.structs.replace(V2, storage_class_name="now")
ANOTHERS = msgspec.structs.replace(V2, claim_ref=ClaimReference("default", "other", "u"))
ITS_OWN = msgspec.structs.replace(V3, claim_ref=ClaimReference("default", "c2", "uid-c2"))
C1_ONCE = make_claim("c1", "v1", storage_class="late", annotations=BOUND, access_modes=("ReadWriteOncePod",))
C2_LARGE = make_claim("c2", storage_class="late", storage=3000)
C2_BOUND = make_claim("c2", "v3", storage_class="late", annotations=BOUND)
V0_ZONED = msgspec.structs.replace(V0, metadata=ObjectMeta("v0", labels=labels({ZONE: "z1"})))
V4, V4_NOW = free("v4"), free("v4", storage_class_name="now")
FULL_B = CSINode(ObjectMeta("b"), (CSINodeDriver("d.io", count=0),))
ZONED = make_claim("c3", storage_class="late", storage=1000, selector=LabelSelector(labels({ZONE: "z1"})))
OLDER, YOUNGER = free("older"), free("younger", label={ZONE: "z1"})
REPLACED = msgspec.structs.replace(OLDER, metadata=ObjectMeta("older", annotations=labels({"k": "v"})))
TWO_ALIKE = (*NONE_FREE, ("put", ZONED), ("put", OLDER), ("put", YOUNGER))
CAPACITY = CSIStorageCapacity(ObjectMeta("r0", "kube-system"), "late", LabelSelector(), 500)
LIMITED = (
    NO_V2,
    NO_V3,
    ("put", make_class("late", "d.io")),
    ("put", CSIDriver(ObjectMeta("d.io"), storage_capacity=True)),
    ("put", CAPACITY),
)


def case(name: str, since: str, claims: str, before: tuple[Any, ...], *events: Any) -> Any:
    """since: the first release whose decision the events change."""
    return pytest.param(since, tuple(claims.split()), before, events, id=name)


@pytest.mark.parametrize("release", RELEASE_NAMES)
@pytest.mark.parametrize(
    ("since", "claims", "before", "events"),
    [
        case("free-volume-leaves", "1.16", "c2", (LOCAL,), NO_V2),
        case("free-volume-comes", "1.16", "c2", NONE_FREE, ("put", free("v4", node_affinity=on_nodes("c")))),
        case("free-volume-shrinks", "1.16", "c2", (LOCAL,), ("put", msgspec.structs.replace(V2, storage=500))),
        case("free-volume-changes-class", "1.16", "c2", (LOCAL,), ("put", CLASS_NOW)),
        case("free-volume-joins-class", "1.16", "c2", (*NONE_FREE, ("put", V4_NOW)), ("put", V4)),
        case("free-volume-is-reserved", "1.16", "c2", (LOCAL,), ("put", ANOTHERS)),
        case("reserved-for-the-claim", "1.16", "c2", (LOCAL,), ("put", ITS_OWN)),
        case("free-volume-is-bound", "1.16", "c2", (LOCAL,), ("put", msgspec.structs.replace(V2, phase="Bound"))),
        case(
            "free-volume-moves",
            "1.16",
            "c2",
            (LOCAL, NO_V2),
            ("put", msgspec.structs.replace(V3, node_affinity=on_nodes("b"))),
        ),
        case("smaller-volume-comes", "1.36", "c2", (LOCAL,), ("put", free("v4", 1000))),
        case("class-provisions", "1.16", "c2", NONE_FREE, ("put", make_class("late"))),
        case("claim-is-bound", "1.4", "c2", (LOCAL,), ("put", C2_BOUND)),
        case("claim-grows", "1.16", "c2", (LOCAL, NO_V3), ("put", C2_LARGE)),
        case("claim-leaves", "1.4", "c1", (), ("take", make_claim("c1"))),
        case("claim-is-for-one-pod", "1.36", "c1", (), ("put", C1_ONCE)),
        case("its-volume-leaves", "1.4", "c1", (), ("take", V1)),
        case("its-volume-moves", "1.16", "c1", (), ("put", msgspec.structs.replace(V1, node_affinity=on_nodes("b")))),
        case("its-volume-gets-a-zone", "1.4", "c0", (), ("put", V0_ZONED)),
        case("driver-takes-none", "1.16", "c1", (), ("put", FULL_B)),
        case("attachment-comes", "1.36", "c1", (), ("put", VolumeAttachment(ObjectMeta("t0"), "d.io", "b", "v2"))),
        case("capacity-grows", "1.36", "c2", LIMITED, ("put", msgspec.structs.replace(CAPACITY, capacity=2000))),
        case("older-of-two-comes-again", "1.16", "c2 c3", TWO_ALIKE, ("take", OLDER), ("put", OLDER)),
        case("older-of-two-is-replaced", NEVER, "c2 c3", TWO_ALIKE, ("put", REPLACED)),
    ],
)
def test_an_event_that_changes_a_decision_is_not_missed(
    release: str, since: str, claims: tuple[str, ...], before: tuple[Any, ...], events: tuple[Any, ...]
) -> None:
    """The decision is another than before where the release looks at it, and that of a fresh cluster everywhere."""
    scheduler = scheduler_of(release, [*NODES, *STARTED])
    waiting = make_pod("w", volumes=tuple(ClaimVolume(name) for name in claims))
    for step, what in before:
        apply(scheduler, step, what)
    first = told(scheduler.decide(waiting, thorough=True))
    assert first == told(afresh(release, scheduler).decide(waiting, thorough=True))
    for step, what in events:
        apply(scheduler, step, what)
    found = told(scheduler.decide(waiting, thorough=True))
    assert found == told(afresh(release, scheduler).decide(waiting, thorough=True))
    looked_at = since != NEVER and RELEASE_NAMES.index(release) >= RELEASE_NAMES.index(since)
    assert (found != first) == looked_at
