"""Images in the manifests of nodes are shared, and nothing in a manifest is changed by it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from clusterstate.manifests.decode import Decoder
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import Node

APP = {"names": ["registry/app@sha256:0", "registry/app:v1"], "sizeBytes": 5}


def node(name: str, *images: dict[str, Any] | None) -> dict[str, Any]:
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
    first, second = (images(decoder.decode_object(node(name, APP))) for name in ("a", "b"))
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
    decoder, given = Decoder(), node("b", other, APP)
    decoder.decode_object(node("a", APP))
    decoded = decoder.decode_object(given)
    assert repr(images(decoded)) == repr(given["status"]["images"])
    assert encode_object(decoded) == encode_object(Decoder().decode_object(given))
