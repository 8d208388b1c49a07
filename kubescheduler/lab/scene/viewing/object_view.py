"""The verbs ``pod`` and ``node``: the manifest of one object as it was written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.verb_parameters import Parameters, parameters
from kubescheduler.lab.scene.viewing.scene_view import pod_entry


class KeyParameters(Parameters, frozen=True):
    """Of ``pod``."""

    key: str


class NameParameters(Parameters, frozen=True):
    """Of ``node``."""

    name: str


def pod(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """One pod with its manifest as YAML."""
    key = scene.pod_key(parameters(KeyParameters, asked).key)
    found = scene.state.cluster.find_pod(key)
    assert found is not None
    return {**pod_entry(found), "yaml": _yaml(scene, "Pod", key)}


def node(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """One node's manifest as YAML."""
    name = parameters(NameParameters, asked).name
    return {"name": name, "yaml": _yaml(scene, "Node", name)}


def _yaml(scene: Scene, kind: str, name: str) -> str:
    entry = next((one for one in scene.state.cluster.entries() if one.key == (kind, name)), None)
    if entry is None:
        raise SceneFault(f"{kind.lower()}: there is no {kind.lower()} {name} in the cluster")
    return yaml.safe_dump(entry.manifest(), sort_keys=False, allow_unicode=True, width=120)
