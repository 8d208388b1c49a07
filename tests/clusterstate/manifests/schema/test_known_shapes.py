"""Whether JSON has only known fields, judged without looking at it in Python."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from clusterstate.manifests.schema.known_fields import known_types, unknown_fields
from clusterstate.manifests.schema.known_shapes import has_only_known

RICH = [each for each in yaml.safe_load_all((Path(__file__).parent / "rich_manifests.yaml").read_text()) if each]


def known(kind: str, manifest: Any) -> bool:
    return has_only_known(kind, msgspec.Raw(json.dumps(manifest).encode()))


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a document."""
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects_in(each)


@pytest.mark.parametrize("manifest", RICH, ids=lambda manifest: manifest["kind"])
def test_it_passes_nothing_that_would_be_named(manifest: dict[str, Any]) -> None:
    """What passes has no unknown field, also when a field is added to any object of the manifest."""
    kind = manifest["kind"]
    assert not known(kind, manifest) or not unknown_fields(kind, manifest)
    for at in range(len(list(objects_in(manifest)))):
        changed = deepcopy(manifest)
        list(objects_in(changed))[at]["nosuch"] = {"a": 1}
        assert not known(kind, changed) or not unknown_fields(kind, changed)


@pytest.mark.parametrize(
    ("spec", "passes"),
    [
        pytest.param({"containers": [{"name": "c"}]}, True, id="known"),
        pytest.param({"containers": [{"name": "c", "nosuch": 1}]}, False, id="unknown"),
        pytest.param({"restartPolicy": "Never"}, True, id="value"),
        pytest.param({"restartPolicy": "never"}, False, id="no-value"),
        pytest.param({"restartPolicy": ""}, True, id="empty-value"),
        pytest.param({"containers": None, "affinity": None}, True, id="null"),
        pytest.param({"nodeSelector": {"any": "thing"}}, True, id="not-looked-into"),
        pytest.param({"containers": "many"}, False, id="wrong-type"),
    ],
)
def test_pods(spec: dict[str, Any], passes: bool) -> None:
    """Pods, which come by the thousand."""
    assert known("Pod", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}) == passes


def test_every_kind_has_a_shape() -> None:
    """An empty object passes for every type of the tables; what is in none does not."""
    assert [name for name in known_types() if not known(name, {})] == []
    assert not known("Nosuch", {})
