"""What claims and classes lead to."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.cluster_objects import ClusterObjects
from clusterstate.objects import CSI, AWSElasticBlockStore, Cinder, GCEPersistentDisk, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.volumes.claims import (
    EBS,
    VolumeError,
    claim_class,
    csi_limit_key,
    csi_volumes,
    disk_ids,
    is_nitro,
    missing_claim_error,
    placeholder_id,
    pod_claims,
    volume_class,
)
from tests.support.build import Cluster, make_pod
from tests.support.storage import BOUND, CLASS_ANNOTATION, IMMEDIATE, claiming, make_claim, make_class, make_volume

EBS_CLASS = make_class("ebs")


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


@pytest.mark.parametrize(
    ("claim", "sort"),
    [
        pytest.param(make_claim("c", "v", annotations=BOUND), "bound", id="bound"),
        pytest.param(make_claim("c", "v", storage_class="ebs"), "immediate", id="prebound-is-immediate"),
        pytest.param(make_claim("c", storage_class="ebs"), "delayed", id="delayed"),
        pytest.param(make_claim("c", storage_class="ebs", annotations=BOUND), "delayed", id="completed-without-volume"),
        pytest.param(make_claim("c", annotations={CLASS_ANNOTATION: "ebs"}), "delayed", id="class-by-annotation"),
        pytest.param(make_claim("c", storage_class="now"), "immediate", id="immediate"),
        pytest.param(make_claim("c", storage_class="gone"), "immediate", id="class-missing"),
        pytest.param(make_claim("c"), "immediate", id="no-class"),
    ],
)
def test_how_claims_are_bound(claim: Any, sort: str) -> None:
    """A claim is bound only with volume and annotation, delayed only if its class is there and says so."""
    found = pod_claims(*world(claiming("c"), claim, EBS_CLASS, make_class("now", mode=IMMEDIATE)))
    assert {name for name in ("bound", "delayed", "immediate") if getattr(found, name)} == {sort}


@pytest.mark.parametrize(
    ("claims", "text"),
    [
        pytest.param(
            ("none",),
            'error getting PVC "default/none": could not find v1.PersistentVolumeClaim "default/none"',
            id="missing",
        ),
        pytest.param(("c",), 'VolumeBindingMode not set for StorageClass "odd"', id="class-without-mode"),
    ],
)
def test_claims_that_are_errors(claims: tuple[str, ...], text: str) -> None:
    """The texts are the release's."""
    with pytest.raises(VolumeError) as caught:
        pod_claims(*world(claiming(*claims), make_claim("c", storage_class="odd"), make_class("odd", mode=None)))
    assert str(caught.value) == text


# --- disks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "ids"),
    [
        pytest.param(make_claim("c", "ebs-1"), {"ebs-1"}, id="bound"),
        pytest.param(make_claim("c", "gce-1", storage_class="ebs"), set(), id="bound-to-another-type"),
        pytest.param(make_claim("c"), set(), id="unbound-without-class"),
        pytest.param(make_claim("c", storage_class="ebs"), {placeholder_id("default", "c")}, id="unbound-of-the-type"),
        pytest.param(make_claim("c", "gone", storage_class="ebs"), {placeholder_id("default", "c")}, id="volume-gone"),
        pytest.param(make_claim("c", storage_class="pd"), set(), id="unbound-of-another-type"),
        pytest.param(make_claim("c", annotations={CLASS_ANNOTATION: "ebs"}), set(), id="annotation-is-not-read"),
        pytest.param(make_claim("x", "ebs-1"), set(), id="claim-missing"),
    ],
)
def test_the_disks_behind_a_claim(claim: Any, ids: set[str]) -> None:
    """A claim leads to its volume's disk, or stands for one that its class would make."""
    others = (make_volume("ebs-1"), make_volume("gce-1", GCEPersistentDisk("d")), EBS_CLASS)
    pod = claiming("c")
    assert disk_ids(*world(pod, claim, *others, make_class("pd", "kubernetes.io/gce-pd")), EBS) == ids


def test_disks_are_counted_once() -> None:
    """A disk that is mounted directly and through a claim is one disk; other types are left out."""
    pod = make_pod(volumes=(AWSElasticBlockStore("v"), *claiming("c").spec.volumes, Cinder("v")))
    assert disk_ids(*world(pod, make_claim("c", "v"), make_volume("v")), EBS) == {"v"}


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


@pytest.mark.parametrize(
    ("claim", "volumes"),
    [
        pytest.param(make_claim("c", "csi-1"), {"d.io/h1"}, id="bound"),
        pytest.param(make_claim("c", "ebs-1", storage_class="csi"), set(), id="bound-to-another-type"),
        pytest.param(make_claim("c", "no-handle"), set(), id="no-handle"),
        pytest.param(make_claim("c"), set(), id="no-class"),
        pytest.param(make_claim("c", storage_class="gone"), set(), id="class-missing"),
        pytest.param(make_claim("c", storage_class="ebs"), set(), id="in-tree-class"),
        pytest.param(make_claim("c", storage_class="csi"), {"d.io/" + placeholder_id("default", "c")}, id="unbound"),
        pytest.param(
            make_claim("c", "gone", annotations={CLASS_ANNOTATION: "csi"}),
            {"d.io/" + placeholder_id("default", "c")},
            id="volume-gone-class-by-annotation",
        ),
        pytest.param(make_claim("x", "csi-1"), set(), id="claim-missing"),
    ],
)
def test_the_csi_volume_behind_a_claim(claim: Any, volumes: set[str]) -> None:
    """A claim leads to its volume's CSI source, or stands for one that its class would make."""
    others = (
        make_volume("csi-1", CSI("d.io", "h1")),
        make_volume("ebs-1"),
        make_volume("no-handle", CSI("d.io")),
        EBS_CLASS,
        make_class("csi", "d.io"),
    )
    found = csi_volumes(*world(claiming("c"), claim, *others))
    assert found == ({"attachable-volumes-csi-d.io": volumes} if volumes else {})
