"""Storage kinds as their manifests are written."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.manifests.decode import Decoder, decode_cluster, decode_object
from clusterstate.manifests.documents import Item
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import (
    AWSElasticBlockStore,
    AzureDisk,
    ClaimVolume,
    CSIStorageCapacity,
    EphemeralVolume,
    LabelSelector,
    ObjectMeta,
    Pod,
    PortworxVolume,
    VolumeAttachment,
)
from tests.support.build import cache_of, labels

CAPACITY = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIStorageCapacity",
    "metadata": {"name": "c", "namespace": "kube-system"},
    "storageClassName": "fast",
    "nodeTopology": {"matchLabels": {"zone": "a"}},
    "capacity": "10Gi",
    "maximumVolumeSize": "1500m",
}
ATTACHMENT = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "VolumeAttachment",
    "metadata": {"name": "a"},
    "spec": {"attacher": "d.io", "nodeName": "n", "source": {"persistentVolumeName": "pv"}},
    "status": {"attached": True},
}


def test_storage_capacities_and_attachments() -> None:
    """Sizes may be absent, and so may the volume of an attachment."""
    selector = LabelSelector(labels({"zone": "a"}))
    meta = ObjectMeta("c", "kube-system")
    assert decode_object(CAPACITY) == CSIStorageCapacity(meta, "fast", selector, 10 * 2**30 * 1000, 1500)
    bare = {**CAPACITY, "nodeTopology": None, "capacity": None, "maximumVolumeSize": None}
    assert decode_object(bare) == CSIStorageCapacity(meta, "fast")
    assert decode_object(ATTACHMENT) == VolumeAttachment(ObjectMeta("a"), "d.io", "n", "pv")
    inline = {**ATTACHMENT, "spec": {"attacher": "d.io", "nodeName": "n", "source": {"inlineVolumeSpec": {}}}}
    assert decode_object(inline) == VolumeAttachment(ObjectMeta("a"), "d.io", "n")


def test_they_are_part_of_a_cluster() -> None:
    """Under their own keys, and kept by name."""
    cluster = {"csiStorageCapacities": [CAPACITY], "volumeAttachments": [ATTACHMENT]}
    objects = cache_of(decode_cluster(cluster)).objects
    assert list(objects.csi_storage_capacities) == [("kube-system", "c")]
    assert list(objects.volume_attachments) == ["a"]


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        pytest.param({"awsElasticBlockStore": {"volumeID": "vol-1"}}, AWSElasticBlockStore("vol-1"), id="ebs"),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}},
            AWSElasticBlockStore("aws://z/vol-1", volume_name="data"),
            id="ebs-in-the-long-form",
        ),
        pytest.param({"azureDisk": {"diskName": "d", "diskURI": "/d"}}, AzureDisk("d", "/d"), id="azure"),
        pytest.param({"portworxVolume": {"volumeID": "p"}}, PortworxVolume("p"), id="portworx"),
        pytest.param({"persistentVolumeClaim": {"claimName": "c"}}, ClaimVolume("c"), id="claim"),
        pytest.param({"ephemeral": {"volumeClaimTemplate": {}}}, EphemeralVolume("data"), id="ephemeral"),
    ],
)
def test_volumes_of_pods(volume: dict[str, Any], expected: Any) -> None:
    """Their names are kept only where a rule tells them; the short way of decoding reads the same."""
    manifest = {"metadata": {"name": "p"}, "spec": {"volumes": [{"name": "data", **volume}]}}
    raw = Item("f.json", msgspec.Raw(msgspec.json.encode(manifest)), kind="Pod")
    for pod in (decode_object({"kind": "Pod", **manifest}), Decoder().decode_item(raw)):
        assert isinstance(pod, Pod)
        assert pod.spec.volumes == (expected,)
        again = decode_object(encode_object(pod))
        assert isinstance(again, Pod)
        assert again.spec.volumes == (expected,)
