"""Fields that the API has and has not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from clusterstate.manifests.kinds import KINDS
from clusterstate.manifests.known_fields import has_only_known, known_types, unknown_fields

RICH = [
    document for document in yaml.safe_load_all((Path(__file__).parent / "rich_manifests.yaml").read_text()) if document
]
"""Manifests as users write them and API servers of several releases answer with them."""

TEMPLATED = {"Deployment", "DaemonSet", "Job", "CronJob"}


@pytest.mark.parametrize("manifest", RICH, ids=[f"{each['kind']} {each['metadata']['name']}" for each in RICH])
def test_rich_manifests_pass(manifest: dict[str, Any]) -> None:
    """What the API has passes."""
    assert unknown_fields(manifest["kind"], manifest) == []


def test_every_kind_is_known() -> None:
    """Every kind that is read, or makes pods, has its table, and there is a rich manifest of each."""
    kinds = {*KINDS, *TEMPLATED}
    assert kinds <= known_types().keys()
    assert {each["kind"] for each in RICH} == kinds


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_is_known(kind: str) -> None:
    """A table of fields reads nothing that the API does not have."""
    fields = known_types()[kind]
    assert {key for key in KINDS[kind].table.keys if key not in fields} == set()


def test_every_type_is_there() -> None:
    """A field names a type that has a table."""
    named = {field.type for fields in known_types().values() for field in fields.values() if field.type}
    assert named <= known_types().keys()


UNKNOWN_FIELDS: dict[str, Any] = {
    "resource": (
        "Pod",
        {"spec": {"containers": [{"name": "a", "resource": {"requests": {"cpu": 100}}}]}},
        ["spec.containers[0].resource: unknown field; did you mean resources?"],
    ),
    "one that lacks an s": (
        "Pod",
        {"spec": {"containers": [{"name": "a", "resources": {"request": {"cpu": 100}}}]}},
        ["spec.containers[0].resources.request: unknown field; did you mean requests?"],
    ),
    "case": (
        "Pod",
        {"spec": {"nodeselector": {"a": "b"}}},
        ["spec.nodeselector: unknown field; did you mean nodeSelector?"],
    ),
    "a field of an object one level down": (
        "Pod",
        {"spec": {"topologySpreadConstraints": [{"matchLabels": {"app": "a"}}], "labels": {"app": "a"}}},
        [
            "spec.topologySpreadConstraints[0].matchLabels: unknown field; did you mean labelSelector.matchLabels?",
            "spec.labels: unknown field",
        ],
    ),
    "at the top": (
        "Deployment",
        {"labels": {"app": "a"}, "replicas": 3},
        [
            "labels: unknown field; did you mean metadata.labels?",
            "replicas: unknown field; did you mean spec.replicas?",
        ],
    ),
    "nothing like it": ("Pod", {"spec": {"zzzz": 1}}, ["spec.zzzz: unknown field"]),
    "an odd name": ("Pod", {"spec": {"a.b/c": 1}}, ["spec[a.b/c]: unknown field"]),
    "a number": ("Pod", {"spec": {7: 1}}, ["spec.7: unknown field"]),
    "null": ("Pod", {"spce": None}, ["spce: unknown field; did you mean spec?"]),
    "names of the user's": ("Pod", {"metadata": {"labels": {"any": "label"}}}, []),
    "of a wrong type": ("Pod", {"spec": {"containers": "none"}}, []),
    "values": (
        "Pod",
        {"spec": {"tolerations": [{"operator": "Equals", "effect": "NoSchedul"}]}},
        [
            'spec.tolerations[0].operator: "Equals" is not one of Exists, Equal, Lt, Gt; did you mean Equal?',
            'spec.tolerations[0].effect: "NoSchedul" is not one of NoSchedule, PreferNoSchedule, NoExecute; '
            "did you mean NoSchedule?",
        ],
    ),
    "no values": ("Pod", {"spec": {"tolerations": [{"operator": "", "effect": None}]}}, []),
    "a list of values": (
        "PersistentVolumeClaim",
        {"spec": {"accessModes": ["ReadWriteOnce", "RWX"]}},
        ['spec.accessModes[1]: "RWX" is not one of ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod'],
    ),
    "objects by name": (
        "ResourceSlice",
        {"spec": {"devices": [{"attributes": {"model": {"text": "a"}}}]}},
        ["spec.devices[0].attributes.model.text: unknown field"],
    ),
    "node": (
        "Node",
        {"spec": {"taints": [{"effects": "NoSchedule"}]}, "status": {"allocateable": {}}},
        [
            "spec.taints[0].effects: unknown field; did you mean effect?",
            "status.allocateable: unknown field; did you mean allocatable?",
        ],
    ),
    "a kind without a table": ("ConfigMap", {"whatever": 1}, []),
}


@pytest.mark.parametrize(("kind", "manifest", "faults"), UNKNOWN_FIELDS.values(), ids=UNKNOWN_FIELDS)
def test_unknown_fields(kind: str, manifest: dict[str, Any], faults: list[str]) -> None:
    """Every field and value that the API does not have is told with its path, and the nearest that it has."""
    assert unknown_fields(kind, manifest) == faults


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


def test_every_kind_has_a_shape() -> None:
    """An empty object passes for every type of the tables; what is in none does not."""
    assert [name for name in known_types() if not known(name, {})] == []
    assert not known("Nosuch", {})
