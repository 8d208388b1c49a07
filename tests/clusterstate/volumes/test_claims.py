"""What claims and classes lead to, and how releases 1.20 and 1.36 look them up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.objects import (
    ClaimVolume,
    EphemeralClaim,
    EphemeralVolume,
    NodeSelectorTerm,
    OwnerReference,
    PersistentVolumeClaim,
    Pod,
    Requirement,
)
from clusterstate.pod_view_1_36 import with_ephemeral_claims
from clusterstate.podinfo import PodInfo, ReleaseView
from clusterstate.selectors.node_selection import volume_affinity_mask
from clusterstate.volumes.claims import (
    VolumeError,
    claim_class,
    claim_problem_1_20,
    claim_problem_1_36,
    csi_limit_key,
    is_nitro,
    leads_to_claims,
    missing_claim_error,
    node_affinity_holds,
    volume_behind,
    volume_class,
    volume_zones,
)
from kubescheduler.releases import v1_36
from tests.support.build import Cluster, labels, make_node, make_pod
from tests.support.storage import (
    CLASS_ANNOTATION,
    IMMEDIATE,
    claiming,
    make_claim,
    make_class,
    make_volume,
    owned_claim,
)


def world(pod: Pod, *others: Any) -> tuple[PodInfo, ClusterObjects]:
    cluster = Cluster(others=others)
    return cluster.info(pod), cluster.objects


# --- claims --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claims", "error"),
    [
        pytest.param((), None, id="no-claims"),
        pytest.param(("ok",), None, id="there"),
        pytest.param(("ok", "none"), 'persistentvolumeclaim "none" not found', id="missing"),
        pytest.param(("going", "none"), 'persistentvolumeclaim "going" is being deleted', id="being-deleted"),
        pytest.param(("far",), 'persistentvolumeclaim "far" not found', id="other-namespace"),
        pytest.param(("",), 'persistentvolumeclaim "" not found', id="no-name"),
    ],
)
def test_missing_claims_stop_an_attempt(claims: tuple[str, ...], error: str | None) -> None:
    """The first claim that is not there, or is on its way out, gives the text."""
    others = (make_claim("ok"), make_claim("going", deleting=True), make_claim("far", namespace="elsewhere"))
    assert missing_claim_error(*world(claiming(*claims), *others)) == error


@pytest.mark.parametrize(
    ("annotations", "field", "expected"),
    [
        pytest.param({}, None, "", id="none"),
        pytest.param({}, "a", "a", id="field"),
        pytest.param({CLASS_ANNOTATION: "b"}, "a", "b", id="annotation-wins"),
        pytest.param({CLASS_ANNOTATION: ""}, "a", "", id="empty-annotation-wins"),
    ],
)
def test_classes(annotations: dict[str, str], field: str | None, expected: str) -> None:
    """The beta annotation is looked at first."""
    assert claim_class(make_claim("c", annotations=annotations, storage_class=field)) == expected
    assert volume_class(make_volume("v", annotations=annotations, storage_class_name=field or "")) == expected


# --- disks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instance_type", "nitro"),
    [
        ("c5.large", True),
        ("m5a.large", True),
        ("r5", True),
        ("t3.small", True),
        ("z1d.large", True),
        ("xt3", True),
        ("xc5", False),
        ("m4.large", False),
        ("", False),
        (None, False),
    ],
)
def test_nitro_instance_types(instance_type: str | None, nitro: bool) -> None:
    """c5, m5 and r5 only at the start, t3 and z1d anywhere."""
    assert is_nitro(instance_type) is nitro


# --- CSI -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("driver", "key"),
    [
        pytest.param("ebs.csi.aws.com", "attachable-volumes-csi-ebs.csi.aws.com", id="short"),
        pytest.param("d" * 39, "attachable-volumes-csi-" + "d" * 39, id="longest-kept"),
        pytest.param("d" * 40, "attachable-volumes-csi-" + "d" * 23 + "4e99f0e6374ba7bf", id="hashed"),
    ],
)
def test_csi_limit_keys(driver: str, key: str) -> None:
    """A key of 63 characters or more is cut and hashed to 62."""
    assert csi_limit_key(driver) == key


def viewed(pod: Pod, *others: Any, view: ReleaseView = v1_36.VIEW) -> tuple[PodInfo, ClusterObjects]:
    cluster = Cluster(others=others, view=view)
    return cluster.info(pod), cluster.objects


EPHEMERAL = make_pod("p", volumes=(ClaimVolume("c"), EphemeralVolume("data")))


# --- ephemeral volumes ---------------------------------------------------------------------


def test_an_ephemeral_volume_leads_to_a_claim_of_the_pod() -> None:
    """It is named after pod and volume."""
    own = EphemeralClaim("p-data", "p", "default/p")
    assert with_ephemeral_claims(EPHEMERAL).volumes == (ClaimVolume("c"), own)
    other = claiming("c")
    assert with_ephemeral_claims(other) is other.spec


def test_pods_with_ephemeral_volumes_are_all_different() -> None:
    """In 1.36; other pods of the same spec are alike."""
    cluster = Cluster(view=v1_36.VIEW)
    twin = make_pod("q", volumes=EPHEMERAL.spec.volumes)
    assert cluster.info(EPHEMERAL) is not cluster.info(twin)
    assert cluster.info(claiming("c")) is cluster.info(claiming("c", name="q"))
    assert leads_to_claims(cluster.info(make_pod(volumes=(EphemeralVolume("v"),))))


# --- what is wrong with claims -------------------------------------------------------------

OWNED = owned_claim("p-data", "default/p")
STRANGE = owned_claim("p-data", "somebody")
LOST = PersistentVolumeClaim(make_claim("lost", "gone").metadata, "gone", phase="Lost")


@pytest.mark.parametrize(
    ("pod", "others", "old", "new"),
    [
        pytest.param(make_pod(), [], None, None, id="no-claims"),
        pytest.param(claiming("c"), [make_claim("c")], None, None, id="there"),
        pytest.param(claiming("c"), [], *['persistentvolumeclaim "c" not found'] * 2, id="missing"),
        pytest.param(
            claiming("c"),
            [make_claim("c", deleting=True)],
            *['persistentvolumeclaim "c" is being deleted'] * 2,
            id="being-deleted",
        ),
        pytest.param(
            claiming("lost"),
            [LOST],
            None,
            'persistentvolumeclaim "lost" bound to non-existent persistentvolume "gone"',
            id="lost",
        ),
        pytest.param(EPHEMERAL, [make_claim("c"), OWNED], None, None, id="own"),
        pytest.param(
            EPHEMERAL,
            [make_claim("c")],
            'persistentvolumeclaim "p-data" not found',
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-data"',
            id="not-made-yet",
        ),
        pytest.param(
            EPHEMERAL,
            [make_claim("c"), STRANGE],
            'persistentvolumeclaim "p-data" was not created for the pod',
            "PVC default/p-data was not created for pod default/p (pod is not owner)",
            id="of-another",
        ),
        pytest.param(
            EPHEMERAL,
            [make_claim("p-data")],
            *['persistentvolumeclaim "c" not found'] * 2,
            id="the-first-problem-counts",
        ),
    ],
)
def test_why_claims_cannot_be_used_yet(pod: Pod, others: list[Any], old: str | None, new: str | None) -> None:
    """In the words of 1.20 and of 1.36."""
    found = viewed(pod, *others)
    assert claim_problem_1_20(*found) == old
    assert claim_problem_1_36(*found) == new


# --- zones ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("", "PersistentVolumeClaim had no name", id="no-name"),
        pytest.param("none", 'persistentvolumeclaim "none" not found', id="no-claim"),
        pytest.param("bare", "PersistentVolumeClaim had no pv name and storageClass name", id="no-class"),
        pytest.param("odd", 'storageclass.storage.k8s.io "gone" not found', id="class-missing"),
        pytest.param("vague", 'VolumeBindingMode not set for StorageClass "vague"', id="no-mode"),
        pytest.param("waiting", None, id="waits-for-a-consumer"),
        pytest.param("now", "PersistentVolume had no name", id="immediate"),
        pytest.param("lost", 'persistentvolume "gone" not found', id="volume-missing"),
        pytest.param("bound", "pv", id="bound"),
    ],
)
def test_the_volume_behind_a_claim(name: str, expected: str | None) -> None:
    """Or why there is none."""
    objects = Cluster(
        others=[
            *(make_claim("bare"), make_claim("odd", storage_class="gone"), make_claim("vague", storage_class="vague")),
            *(make_claim("waiting", storage_class="late"), make_claim("now", storage_class="now")),
            *(make_claim("lost", "gone"), make_claim("bound", "pv"), make_volume("pv")),
            *(make_class("vague", mode=None), make_class("late"), make_class("now", mode=IMMEDIATE)),
        ]
    ).objects
    assert _behind(name, objects) == expected


def _behind(name: str, objects: ClusterObjects) -> str | None:
    """The name of the volume, or the text of the error."""
    try:
        volume = volume_behind("default", name, objects)
    except VolumeError as error:
        return str(error)
    return volume.metadata.name if volume else None


def test_zone_labels_that_cannot_be_read_are_left_out() -> None:
    """A label may name several zones; an empty one among them spoils it."""
    beta, zone, region = (
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
    )
    volume = make_volume("v", label={beta: "a__ b", zone: "a__", region: "", "disk": "x"})
    assert volume_zones(volume) == [(beta, frozenset({"a", "b"}))]


# --- node affinity -------------------------------------------------------------------------

VALUES = st.sampled_from(["", "a", "b", "5"])
REQUIREMENTS = st.builds(
    Requirement,
    st.sampled_from(["host", "metadata.name"]),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Bad"]),
    st.lists(VALUES, max_size=2).map(tuple),
)
TERMS = st.builds(
    NodeSelectorTerm, st.lists(REQUIREMENTS, max_size=2).map(tuple), st.lists(REQUIREMENTS, max_size=1).map(tuple)
)


@given(terms=st.none() | st.lists(TERMS, max_size=2).map(tuple), pairs=st.dictionaries(st.just("host"), VALUES))
def test_one_node_is_judged_as_many(terms: Any, pairs: dict[str, str]) -> None:
    """With and without columns the answer is the same."""
    snapshot = Cluster([make_node("n", pairs)]).snapshot
    assert node_affinity_holds(terms, labels(pairs)) == bool(volume_affinity_mask(snapshot, terms)[0])


def test_the_owner_is_the_controller() -> None:
    """Not just any owner."""
    helper = OwnerReference("Pod", "p", "default/p")
    claim = owned_claim("p-data", "somebody", helper)
    assert claim_problem_1_36(*viewed(make_pod("p", volumes=(EphemeralVolume("data"),)), claim)) is not None
