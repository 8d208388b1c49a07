"""Nodes read the short way are those that are read field by field; what is unusual is left to that."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.manifests.decode import Decoder, PodDecoder
from clusterstate.manifests.fields import Fields
from clusterstate.manifests.kinds import NODE, encode_object
from clusterstate.manifests.quick_reading import NodeReader
from clusterstate.objects import Node

IMAGES = [{"names": [f"registry/app{number}", f"registry/app{number}:v1"], "sizeBytes": number} for number in range(4)]


def node(number: int = 0) -> dict[str, Any]:
    """A node as a server answers with it."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"n{number}",
            "uid": f"u{number}",
            "resourceVersion": "3",
            "labels": {"kubernetes.io/hostname": f"n{number}"},
            "annotations": {"a": "b"},
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
            "capacity": {"cpu": "4", "memory": "9Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": copy.deepcopy(IMAGES[:3]),
            "declaredFeatures": ["a"],
        },
    }


READ: dict[str, list[Any]] = {
    "metadata.name": ["m", "m.n"],
    "metadata.uid": [""],
    "metadata.labels": [None, {}, {"zone": "a"}, {"zone": ""}],
    "metadata.annotations": [None, {}, {"zone": "a"}],
    "metadata.creationTimestamp": [None, "2027-01-01T00:00:00Z"],
    "metadata.deletionTimestamp": [None, "2027-01-01T00:00:00Z"],
    "spec": [{}, {"more": 1}],
    "spec.unschedulable": [None, True, False],
    "spec.taints": [None, [], [{"key": "a"}, {"key": "b", "effect": "NoExecute", "timeAdded": "x"}]],
    "status": [{}, {"more": 1}],
    "status.allocatable": [None, {}, {"cpu": "4"}, {"cpu": "4000m"}, {"memory": "4"}, {"example.com/gpu": "1"}],
    "status.capacity": [None, {}, {"cpu": "8"}],
    "status.conditions": [None, [], [{"type": "Ready", "status": "False", "reason": "x"}]],
    "status.images": [None, [], IMAGES, IMAGES[2:], [IMAGES[0]] * 2, [{"names": [], "sizeBytes": 0}]],
    "status.declaredFeatures": [None, [], ["b", "a"]],
}
"""Where a node's manifest may say something else that is read the short way → what."""

UNUSUAL: dict[str, list[Any]] = {
    "metadata": [None, {}, [], "x"],
    "metadata.name": [None, "", "N", 1],
    "metadata.namespace": [None, "default", "N", 1],
    "metadata.uid": [1],
    "metadata.labels": [{"a": None}, {"a": 1}, []],
    "metadata.annotations": [{"a": True}],
    "metadata.ownerReferences": [[{"kind": "A", "name": "b", "uid": "c"}], [{"kind": 1}]],
    "metadata.deletionTimestamp": [1],
    "spec": [None, [], "x"],
    "spec.unschedulable": ["x", 1],
    "spec.taints": [{}, [{}], [None], [{"key": 1}], ["x"], [{"effect": None}]],
    "status": [None, "x"],
    "status.allocatable": [{"cpu": "x"}, {"cpu": 1}, {"cpu": True}, {"cpu": 1.5}, {"cpu": None}, [], "x"],
    "status.capacity": [{"cpu": "4Gi "}, {"cpu": ""}],
    "status.conditions": [[None], [{"type": 1}], [{"type": "Ready"}], {}],
    "status.images": [
        [{"names": None, "sizeBytes": 1}],
        [{"names": ["a"]}],
        [{**IMAGES[0], "more": 1}],
        [IMAGES[0], {"names": ["a"], "sizeBytes": -1}],
        [{"names": ["a"], "sizeBytes": 2**63}],
        [{"names": ["a"], "sizeBytes": 1.5}],
        [{"names": [1], "sizeBytes": 1}],
        [None],
        "x",
    ],
    "status.declaredFeatures": ["x", [None], [1]],
}
"""The same of what is read field by field, with a fault or not."""

TURNED = [{"sizeBytes": image["sizeBytes"], "names": image["names"]} for image in IMAGES]


def changed(manifest: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A manifest with another value at a path; as it is where there is nothing to put it into."""
    key, _, rest = path.partition(".")
    if not rest:
        return {**manifest, key: value}
    inner = manifest.get(key)
    return {**manifest, key: changed(inner, rest, value)} if isinstance(inner, dict) else manifest


def field_by_field(decoder: PodDecoder, manifest: dict[str, Any]) -> Node | None:
    """A node as it is read the long way; None for one with a fault."""
    faults: list[str] = []
    found = NODE.read(Fields(manifest, faults))
    return None if faults else decoder.share_node(found, manifest)


@given(data=st.data())
def test_as_field_by_field(data: st.DataObject) -> None:
    """One after another, with all that the reader remembers, every node is the same, and its manifest says the same."""
    long = PodDecoder(None)
    short = NodeReader(PodDecoder(None).share)
    places = [(path, value) for path, values in READ.items() for value in values]
    places += [("status.images", TURNED[:3]), ("status.images", [TURNED[0], *IMAGES[1:]])]
    odd = [(path, value) for path, values in UNUSUAL.items() for value in values]
    for number in range(data.draw(st.integers(1, 5))):
        manifest = node(number)
        for path, value in data.draw(st.lists(st.sampled_from(places), max_size=4)):
            manifest = changed(manifest, path, copy.deepcopy(value))
        for path, value in data.draw(st.lists(st.sampled_from(odd), max_size=1)) if number % 2 else ():
            manifest = changed(manifest, path, copy.deepcopy(value))
        before = copy.deepcopy(manifest)
        expected, found = field_by_field(long, manifest), short.read(manifest)
        assert manifest == before
        if found is not None:
            assert expected == found
            assert expected is not None
            assert repr(found.manifest) == repr(manifest)


@pytest.mark.parametrize(
    ("path", "value"), [pytest.param(p, v, id=f"{p} {v}") for p, values in READ.items() for v in values]
)
def test_read_the_short_way(path: str, value: Any) -> None:
    """What servers write is read the short way."""
    found = NodeReader(PodDecoder(None).share).read(changed(node(), path, value))
    assert found is not None
    assert found == field_by_field(PodDecoder(None), changed(node(), path, value))


APP = {"names": ["registry/app@sha256:0", "registry/app:v1"], "sizeBytes": 5}


def node_with(name: str, *images: dict[str, Any] | None) -> dict[str, Any]:
    """The manifest of a node with these images."""
    status = {"allocatable": {"cpu": "1"}, "images": list(copy.deepcopy(images))}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def images(obj: Any) -> list[Any]:
    """The images of a decoded node's manifest."""
    assert isinstance(obj, Node)
    assert obj.manifest is not None
    found: list[Any] = obj.manifest["status"]["images"]
    return found


def test_equal_images_are_one_object() -> None:
    """The second node's image is the first one's."""
    decoder = Decoder()
    first, second = (images(decoder.decode_object(node_with(name, APP))) for name in ("a", "b"))
    assert first[0] is second[0]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"names": ["registry/app:v1"], "sizeBytes": 5}, id="fewer names"),
        pytest.param({**APP, "sizeBytes": 6}, id="another size"),
        pytest.param({"sizeBytes": 5, "names": APP["names"]}, id="another order"),
        pytest.param({**APP, "more": 1}, id="a field more"),
        pytest.param({"names": APP["names"]}, id="no size"),
        pytest.param({"names": None, "sizeBytes": 5}, id="names null"),
        pytest.param({"names": [], "sizeBytes": 5}, id="no names"),
        pytest.param(None, id="null"),
    ],
)
def test_manifests_stay_as_they_are(other: dict[str, Any] | None) -> None:
    """Whatever was seen before, a manifest says what it said, in the same order."""
    decoder, given = Decoder(), node_with("b", other, APP)
    decoder.decode_object(node_with("a", APP))
    decoded = decoder.decode_object(given)
    assert repr(images(decoded)) == repr(given["status"]["images"])
    assert encode_object(decoded) == encode_object(Decoder().decode_object(given))
