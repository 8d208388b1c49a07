"""What is made of fields that the API does not have, by who has written them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.errors import DecodeError
from clusterstate.manifests.api_checks import CHECKS_1_36
from clusterstate.manifests.decode import Decoder, Item
from clusterstate.manifests.fields import BY_ORIGIN, LENIENT, STRICT, Accepted, Strictness, strictness_of

MISSPELT = "Pod web: spec.toleration: unknown field; did you mean tolerations?"


def pod(node: str = "", name: str = "web", spec: Any = None, **metadata: str) -> dict[str, Any]:
    """A misspelt pod, or one of another spec."""
    spec = {"toleration": []} if spec is None else spec
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {**spec, "nodeName": node},
    }


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
    assert strictness_of("warn") == Strictness("warn", "warn", "warn")
    assert strictness_of(None) is BY_ORIGIN
    assert strictness_of(None, STRICT) is STRICT


REFUSED = "Pod web: spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"
ACCEPTED = Accepted(checks=CHECKS_1_36)


INVALID = {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}]}
"""What an API server refuses."""


@pytest.mark.parametrize("raw", [False, True], ids=["parsed", "json"])
@pytest.mark.parametrize("node", ["", "a"], ids=["pending", "running"])
@pytest.mark.parametrize(
    ("strictness", "metadata", "unknown", "refused"),
    [
        pytest.param(LENIENT, {}, "nothing", "nothing", id="leniently"),
        pytest.param(BY_ORIGIN, {}, "fault", "fault", id="somebody wrote it"),
        pytest.param(BY_ORIGIN, {"uid": "1"}, "nothing", "warning", id="a server gave it a uid"),
        pytest.param(BY_ORIGIN, {"resourceVersion": "1"}, "nothing", "warning", id="a server gave it a version"),
        pytest.param(STRICT, {}, "fault", "fault", id="strictly"),
        pytest.param(STRICT, {"uid": "1"}, "fault", "warning", id="strictly, but stored"),
        pytest.param(strictness_of("strict"), {"uid": "1"}, "fault", "fault", id="everything strictly"),
        pytest.param(strictness_of("warn"), {}, "warning", "warning", id="with a warning"),
        pytest.param(strictness_of("ignore"), {}, "nothing", "nothing", id="nothing"),
    ],
)
def test_who_wrote_it(
    strictness: Strictness, metadata: dict[str, str], unknown: str, refused: str, node: str, raw: bool
) -> None:
    """Unknown fields, and what a server refuses, are faults, warnings or nothing, however they are read."""
    for spec, text, expected in [(None, MISSPELT, unknown), (INVALID, REFUSED, refused)]:
        manifest = pod(node, spec=spec, **metadata)
        content = msgspec.Raw(msgspec.json.encode(manifest)) if raw else manifest
        decoder = Decoder(strictness=strictness.under(ACCEPTED))
        found: list[str] = []
        try:
            decoder.decode_item(Item("", content, kind="Pod"))
        except DecodeError as error:
            found += error.problems
        assert found == ([text] if expected == "fault" else [])
        assert decoder.warnings == ([text] if expected == "warning" else [])


def test_one_warning_for_replicas() -> None:
    """It names the first, and counts the others."""
    decoder = Decoder(strictness=BY_ORIGIN.under(ACCEPTED))
    for number in range(3):
        decoder.decode_object(pod("a", f"web-{number}", INVALID, uid=str(number)))
        decoder.decode_object(pod("a", f"other-{number}", INVALID, uid=f"x{number}"))
    first = REFUSED.replace("Pod web", "Pod web-0")
    assert decoder.warnings == [f"{first} (and 5 more Pods alike)"]
