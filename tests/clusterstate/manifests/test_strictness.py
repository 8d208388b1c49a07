"""What is made of fields that the API does not have, by who has written them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.errors import DecodeError
from clusterstate.manifests.api_checks import CHECKS_1_36
from clusterstate.manifests.decode import Decoder, Item
from clusterstate.manifests.fields import BY_ORIGIN, LENIENT, STRICT, Accepted, Strictness, strictness_of

WARN = Strictness("warn", "warn", "warn")
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


REFUSED = "Pod web: spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"
ACCEPTED = Accepted(checks=CHECKS_1_36)


def refused_pod(node: str, name: str = "web", **metadata: str) -> dict[str, Any]:
    """A pod that an API server refuses."""
    constraint = {"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    spec = {"nodeName": node, "topologySpreadConstraints": [constraint]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


@pytest.mark.parametrize("raw", [False, True], ids=["parsed", "json"])
@pytest.mark.parametrize("node", ["", "a"], ids=["pending", "running"])
@pytest.mark.parametrize(
    ("strictness", "metadata", "faults", "warnings"),
    [
        pytest.param(LENIENT, {}, [], [], id="leniently"),
        pytest.param(BY_ORIGIN, {}, [REFUSED], [], id="somebody wrote it"),
        pytest.param(BY_ORIGIN, {"uid": "1"}, [], [REFUSED], id="a server gave it a uid"),
        pytest.param(BY_ORIGIN, {"resourceVersion": "1"}, [], [REFUSED], id="a server gave it a version"),
        pytest.param(STRICT, {}, [REFUSED], [], id="strictly"),
        pytest.param(STRICT, {"uid": "1"}, [], [REFUSED], id="strictly, but stored"),
        pytest.param(strictness_of("strict"), {"uid": "1"}, [REFUSED], [], id="everything strictly"),
        pytest.param(strictness_of("warn"), {}, [], [REFUSED], id="with a warning"),
        pytest.param(strictness_of("ignore"), {}, [], [], id="nothing"),
    ],
)
def test_what_a_server_refuses(
    strictness: Strictness, metadata: dict[str, str], faults: list[str], warnings: list[str], node: str, raw: bool
) -> None:
    """It is a fault where somebody wrote it, and a warning where a server stored it, however it is read."""
    manifest = refused_pod(node, **metadata)
    content = msgspec.Raw(msgspec.json.encode(manifest)) if raw else manifest
    decoder = Decoder(strictness=strictness.under(ACCEPTED))
    found: list[str] = []
    try:
        decoder.decode_item(Item("", content, kind="Pod"))
    except DecodeError as error:
        found += error.problems
    assert (found, decoder.warnings) == (faults, warnings)


def test_one_warning_for_replicas() -> None:
    """It names the first, and counts the others."""
    decoder = Decoder(strictness=BY_ORIGIN.under(ACCEPTED))
    for number in range(3):
        decoder.decode_object(refused_pod("a", f"web-{number}", uid=str(number)))
        decoder.decode_object(refused_pod("a", f"other-{number}", uid=f"x{number}"))
    first = REFUSED.replace("Pod web", "Pod web-0")
    assert decoder.warnings == [f"{first} (and 5 more Pods alike)"]
