"""Events of claims, volumes, classes, CSI nodes and pods: decisions stay what they would be in a fresh cluster."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import (
    CSI,
    AWSElasticBlockStore,
    ClaimReference,
    ClaimVolume,
    CSIDriver,
    CSINode,
    CSINodeDriver,
    CSIStorageCapacity,
    GCEPersistentDisk,
    LabelSelector,
    NodeSelectorTerm,
    ObjectMeta,
    PersistentVolume,
    Pod,
    Requirement,
    VolumeAttachment,
)
from tests.support.build import labels, make_pod
from tests.support.laws import costly
from tests.support.releases_tried import RELEASES_TRIED
from tests.support.rich_worlds import told
from tests.support.storage import (
    BOUND,
    CLASS_ANNOTATION,
    CLASSES,
    DRIVERS,
    HOSTS,
    IMMEDIATE,
    NODES,
    STARTED,
    WAIT,
    ZONE,
    afresh,
    apply,
    make_claim,
    make_class,
    on_nodes,
    scheduler_of,
)

CLAIMS, VOLUMES = ("c0", "c1", "c2"), ("v0", "v1", "v2", "v3")
SOURCES: st.SearchStrategy[Any] = st.sampled_from(
    [
        AWSElasticBlockStore("e0"),
        AWSElasticBlockStore("e1"),
        CSI("d.io", "h0"),
        CSI("d.io", "h1"),
        GCEPersistentDisk("g"),
    ]
)
TWO_LABELS = (NodeSelectorTerm((Requirement("host", "In", ("a", "b")), Requirement(ZONE, "Exists"))),)
AFFINITIES = st.sampled_from([None, on_nodes("a"), on_nodes("b"), on_nodes("a", "c"), TWO_LABELS])


@st.composite
def volumes(draw: st.DrawFn) -> PersistentVolume:
    """One of a few names, free or with a reference to a claim."""
    annotations = draw(st.sampled_from([{}, {}, {CLASS_ANNOTATION: "late"}]))
    claimed = draw(st.sampled_from([None, None, *CLAIMS]))
    meta = ObjectMeta(
        draw(st.sampled_from(VOLUMES)),
        labels=labels(draw(st.sampled_from([{}, {ZONE: "z1"}, {ZONE: "z2"}]))),
        annotations=labels(annotations),
    )
    return PersistentVolume(
        meta,
        draw(SOURCES),
        storage=draw(st.integers(1, 3)) * 1000,
        access_modes=("ReadWriteOnce",),
        storage_class_name=draw(st.sampled_from(CLASSES)),
        claim_ref=None if claimed is None else ClaimReference("default", claimed, f"uid-{claimed}"),
        node_affinity=draw(AFFINITIES),
        phase=draw(st.sampled_from(["Available", "Available", "Bound"])),
    )


@st.composite
def claims(draw: st.DrawFn) -> Any:
    """One of a few names, bound or not."""
    volume = draw(st.sampled_from(["", "", *VOLUMES]))
    annotations = BOUND if volume else draw(st.sampled_from([{}, {}, {"volume.kubernetes.io/selected-node": "a"}]))
    zoned = LabelSelector(labels({ZONE: "z1"}))
    return make_claim(
        draw(st.sampled_from(CLAIMS)),
        volume,
        storage_class=draw(st.sampled_from(CLASSES)),
        annotations=annotations,
        storage=draw(st.integers(0, 3)) * 1000,
        access_modes=draw(st.sampled_from([("ReadWriteOnce",), ("ReadWriteOncePod",)]))
        if volume
        else ("ReadWriteOnce",),
        selector=draw(st.sampled_from([None, None, zoned])),
    )


STORAGE_CLASSES = st.builds(
    make_class,
    st.sampled_from(CLASSES),
    st.sampled_from(["kubernetes.io/aws-ebs", "d.io", "kubernetes.io/no-provisioner"]),
    st.sampled_from([WAIT, WAIT, IMMEDIATE]),
)
CSI_NODES = st.builds(
    lambda name, count, handed_over: CSINode(
        ObjectMeta(name, annotations=labels({"storage.alpha.kubernetes.io/migrated-plugins": handed_over})),
        tuple(CSINodeDriver(name, count=count) for name in DRIVERS),
    ),
    st.sampled_from(HOSTS),
    st.sampled_from([None, 1, 2]),
    st.sampled_from(["", "kubernetes.io/aws-ebs"]),
)
ATTACHMENTS = st.builds(
    lambda name, host, volume: VolumeAttachment(ObjectMeta(name), "d.io", host, volume),
    st.sampled_from(["t0", "t1"]),
    st.sampled_from(HOSTS),
    st.sampled_from(VOLUMES),
)
CAPACITIES = st.builds(
    lambda name, size: CSIStorageCapacity(ObjectMeta(name, "kube-system"), "late", LabelSelector(), size),
    st.sampled_from(["r0", "r1"]),
    st.sampled_from([500, 2000]),
)
DRIVER_OBJECTS = st.builds(lambda on: CSIDriver(ObjectMeta("d.io"), storage_capacity=on), st.booleans())
OBJECTS = st.one_of(
    volumes(), volumes(), claims(), claims(), STORAGE_CLASSES, CSI_NODES, ATTACHMENTS, CAPACITIES, DRIVER_OBJECTS
)

POD_VOLUMES = st.lists(
    st.one_of(
        st.builds(ClaimVolume, st.sampled_from(CLAIMS)),
        st.builds(ClaimVolume, st.sampled_from(CLAIMS)),
        st.just(AWSElasticBlockStore("e1")),
    ),
    max_size=2,
).map(tuple)
PODS = st.builds(
    lambda name, vols: make_pod(name, volumes=vols), st.sampled_from(["p0", "p1", "p2", "p3"]), POD_VOLUMES
)
WAITING: list[Pod] = [
    make_pod("w", volumes=tuple(ClaimVolume(name) for name in names))
    for names in (("c0",), ("c1",), ("c2",), ("c2", "c1"), ("c0", "c0"), ("c2", "c2"), ())
]
WAITING.append(make_pod("w", volumes=(AWSElasticBlockStore("e1"),)))

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), OBJECTS),
        st.tuples(st.just("put"), OBJECTS),
        st.tuples(st.just("take"), OBJECTS),
        st.tuples(st.sampled_from(HOSTS), PODS),
        st.tuples(st.just("decide"), st.sampled_from(WAITING)),
        st.tuples(st.just("decide"), st.sampled_from(WAITING)),
    ),
    min_size=2,
    max_size=25,
)


@pytest.mark.parametrize("release", RELEASES_TRIED)
@costly
@given(steps=STEPS)
def test_decisions_after_events_are_those_of_a_fresh_cluster(release: str, steps: list[tuple[str, Any]]) -> None:
    """Whatever was remembered before: every verdict, score and reason is the same."""
    scheduler = scheduler_of(release, [*NODES, *STARTED])
    asked: list[tuple[str, Any]] = [("decide", waiting) for waiting in WAITING]
    fresh = None
    for step, what in [*asked, *steps, *asked]:
        if step != "decide":
            apply(scheduler, step, what)
            fresh = None
        else:
            fresh = fresh or afresh(release, scheduler)
            found, expected = (each.decide(what, thorough=True) for each in (scheduler, fresh))
            assert told(found) == told(expected)
            assert found.error == expected.error
