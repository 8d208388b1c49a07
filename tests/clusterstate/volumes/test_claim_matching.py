"""The first free volume of each node: as if volumes were tried one after another on each node."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import (
    CSI,
    ClaimReference,
    ClaimVolume,
    CSIDriver,
    CSINode,
    CSINodeDriver,
    CSIStorageCapacity,
    LabelSelector,
    NodeSelectorTerm,
    ObjectMeta,
    PersistentVolume,
    Requirement,
    VolumeAttachment,
)
from clusterstate.selectors.node_selection import volume_affinity_mask
from clusterstate.volumes.claim_matching import NONE, Terms, VolumeCandidates, label_picked
from tests.support.build import Cluster, labels, make_node, make_pod
from tests.support.releases_tried import RELEASES_TRIED
from tests.support.rich_worlds import told
from tests.support.storage import (
    BOUND,
    NODES,
    STARTED,
    ZONE,
    afresh,
    apply,
    make_claim,
    make_class,
    make_volume,
    on_nodes,
    scheduler_of,
)

HOST_A = Requirement("host", "In", ("a",))
ANY_HOST = Requirement("host", "Exists")
INVALID = Requirement("host", "In", ())
NAMED = Requirement("metadata.name", "In", ("a",))


def term(*expressions: Requirement, fields: tuple[Requirement, ...] = ()) -> NodeSelectorTerm:
    return NodeSelectorTerm(expressions, fields)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param(None, None, id="anywhere"),
        pytest.param((), None, id="nowhere"),
        pytest.param(on_nodes("a", "b"), ("host", ("a", "b")), id="one-label"),
        pytest.param((*on_nodes("a"), *on_nodes("b")), ("host", ("a", "b")), id="either-of-two-terms"),
        pytest.param((term(INVALID), term(HOST_A)), ("host", ("a",)), id="an-invalid-term-is-passed-over"),
        pytest.param((term(INVALID),), None, id="only-an-invalid-term"),
        pytest.param((term(HOST_A, ANY_HOST),), None, id="two-requirements"),
        pytest.param((term(ANY_HOST),), None, id="another-operator"),
        pytest.param((term(HOST_A, fields=(NAMED,)),), None, id="a-field"),
        pytest.param((term(HOST_A), term(Requirement("zone", "In", ("z",)))), None, id="two-labels"),
    ],
)
def test_terms_that_pick_nodes_by_one_label(terms: Terms, expected: Any) -> None:
    """Anything else is worked out as a mask."""
    assert label_picked(terms) == expected


AFFINITIES = st.sampled_from(
    [
        None,
        (),
        on_nodes("a"),
        on_nodes("b", "c"),
        on_nodes("nobody"),
        (term(HOST_A, ANY_HOST),),
        (term(ANY_HOST),),
        (term(Requirement("zone", "In", ("z",))),),
        (term(INVALID), term(HOST_A)),
    ]
)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 3), AFFINITIES),
        st.tuples(st.just("drop"), st.integers(0, 5), st.none()),
        st.tuples(st.just("ask"), st.integers(0, 2), st.none()),
        st.tuples(st.just("node"), st.sampled_from("abcd"), st.sampled_from(["a", "b", "d"])),
    ),
    max_size=25,
)


def one_by_one(cluster: Cluster, volumes: dict[int, PersistentVolume], taken: list[Any]) -> list[int]:
    """The same by trying the volumes of each row in turn. volumes: by number, in order of arrival."""
    snapshot = cluster.snapshot
    ordered = sorted(volumes, key=lambda number: volumes[number].storage)
    out = []
    for at in range(len(snapshot)):
        usable = [n for n in ordered if volume_affinity_mask(snapshot, volumes[n].node_affinity)[at]]
        left = [n for n in usable if all(numbers[at] != n for numbers in taken)]
        out.append(left[0] if left else NONE)
    return out


@given(events=EVENTS, some=st.booleans())
def test_the_first_volume_of_each_row_is_found_after_any_events(events: list[Any], some: bool) -> None:
    """Volumes come and go, nodes change their labels; what earlier claims took is left out."""
    cluster = Cluster([make_node(name, {"host": name, "zone": "z"}) for name in "abc"])
    candidates, volumes = VolumeCandidates(lambda _: True), dict[int, PersistentVolume]()
    for count, (event, number, detail) in enumerate([*events, ("ask", 2, None)]):
        if event == "add":
            volumes[count] = make_volume(f"v{count}", storage=number, node_affinity=detail)
            candidates.add([(count, count, volumes[count])])
        elif event == "drop" and number < len(volumes):
            gone = list(volumes)[number]
            candidates.drop((gone, gone, volumes.pop(gone)))
        elif event == "node":
            columns = cluster.columns
            columns.put_node(columns.row(number), make_node(number, {"host": detail}))
        elif event == "ask":
            taken: list[Any] = []
            for _ in range(number + 1):
                expected = one_by_one(cluster, volumes, taken)
                taken.append(candidates.first(cluster.snapshot, taken))
                assert taken[-1].tolist() == expected
            if some:
                part = cluster.snapshot.take(np.array([1]))
                assert candidates.first(part, []).tolist() == one_by_one(cluster, volumes, [])[1:2]


def test_volumes_that_will_not_do_are_left_out() -> None:
    """They are no candidates, and dropping them changes nothing."""
    candidates = VolumeCandidates(lambda volume: volume.storage > 1)
    small, large = (make_volume(f"v{size}", storage=size) for size in (1, 2))
    candidates.add([(0, 0, small), (1, 1, large)])
    candidates.drop((0, 0, small))
    snapshot = Cluster([make_node("a")]).snapshot
    assert candidates.first(snapshot, []).tolist() == [1]
    assert candidates.first(snapshot, [np.array([1])]).tolist() == [NONE]


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


@pytest.mark.parametrize("release", RELEASES_TRIED)
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
    looked_at = since != NEVER and RELEASES_TRIED.index(release) >= RELEASES_TRIED.index(since)
    assert (found != first) == looked_at
