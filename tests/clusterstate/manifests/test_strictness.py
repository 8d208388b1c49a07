"""What is made of fields that the API does not have, by who has written them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.errors import DecodeError
from clusterstate.manifests.decode import Decoder
from clusterstate.manifests.documents import Item
from clusterstate.manifests.strictness import BY_ORIGIN, LENIENT, STRICT, Strictness, strictness_of

WARN = Strictness("warn", "warn")
MISSPELT = "Pod web: spec.toleration: unknown field; did you mean tolerations?"


def pod(node: str = "", **metadata: str) -> dict[str, Any]:
    """A misspelt pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", **metadata},
        "spec": {"toleration": [], "nodeName": node},
    }


@pytest.mark.parametrize("raw", [False, True], ids=["parsed", "json"])
@pytest.mark.parametrize(
    ("strictness", "metadata", "faults"),
    [
        pytest.param(LENIENT, {}, [], id="leniently"),
        pytest.param(BY_ORIGIN, {}, [MISSPELT], id="somebody wrote it"),
        pytest.param(BY_ORIGIN, {"uid": "1"}, [], id="a server gave it a uid"),
        pytest.param(BY_ORIGIN, {"resourceVersion": "1"}, [], id="a server gave it a version"),
        pytest.param(STRICT, {"uid": "1"}, [MISSPELT], id="everything strictly"),
        pytest.param(WARN, {"uid": "1"}, [], id="with a warning"),
    ],
)
def test_decoder(strictness: Strictness, metadata: dict[str, str], faults: list[str], raw: bool) -> None:
    """Unknown fields are faults, warnings or nothing, for pods that are parsed already and for those that are not."""
    manifest = pod("a", **metadata)
    content = msgspec.Raw(msgspec.json.encode(manifest)) if raw else manifest
    decoder = Decoder(strictness=strictness)
    found: list[str] = []
    try:
        decoder.decode_item(Item("", content, kind="Pod"))
    except DecodeError as error:
        found += error.problems
    assert found == faults
    assert decoder.warnings == ([MISSPELT] if strictness is WARN else [])


def test_nodes() -> None:
    """A node that is as any other, but for a field that nobody knows, is a fault where somebody wrote it."""
    manifest = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "spec": {"taint": []}}
    with pytest.raises(DecodeError) as caught:
        Decoder(strictness=BY_ORIGIN).decode_object(manifest)
    assert caught.value.problems == ("Node a: spec.taint: unknown field; did you mean taints?",)
    stored = {**manifest, "metadata": {"name": "a", "uid": "1"}}
    assert Decoder(strictness=BY_ORIGIN).decode_object(stored).metadata.name == "a"


def test_with_other_faults() -> None:
    """Unknown fields are told together with everything else that is wrong."""
    manifest = {**pod(), "metadata": {"name": "web", "label": {}}, "spec": {"priority": "high"}}
    with pytest.raises(DecodeError) as caught:
        Decoder(strictness=STRICT).decode_object(manifest)
    assert caught.value.problems == (
        "Pod web: metadata.label: unknown field; did you mean labels?",
        'Pod web: spec.priority: must be a whole number, not "high"',
    )


def test_strictness_of() -> None:
    """An option decides for everything; without it the default stands."""
    assert strictness_of("warn") == WARN
    assert strictness_of(None) is BY_ORIGIN
    assert strictness_of(None, STRICT) is STRICT
