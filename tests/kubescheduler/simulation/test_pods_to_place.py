"""The pods of manifests that are to be placed in a cluster."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from clusterstate.errors import DecodeError
from clusterstate.objects import ObjectMeta, PriorityClass
from kubescheduler.simulation.openb_trace import read_inputs_of
from kubescheduler.simulation.pods_to_place import pods_in


def manifest(name: str, **spec: Any) -> dict[str, Any]:
    """A pod of one container."""
    containers = [{"name": "c", "image": "i"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def written(path: Path, *objects: dict[str, Any]) -> str:
    """The name of a file with a List of objects."""
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


def test_pods_are_read_for_the_cluster(tmp_path: Path) -> None:
    """Pods get the cluster's priority classes and keep their manifests."""
    path = written(tmp_path / "a.json", manifest("a", priorityClassName="high"), manifest("b"))
    a, b = pods_in(read_inputs_of([path]), [PriorityClass(ObjectMeta("high"), 9)]).pods
    assert (a.priority, b.priority) == (9, 0)
    assert a.manifest is not None
    assert b.manifest is not None


def test_as_they_are() -> None:
    """Without defaulting nothing is filled in: the pod on standard input has no namespace."""
    stdin = io.BytesIO(json.dumps(manifest("web")).encode())
    [pod] = pods_in(read_inputs_of(["-"], stdin), None, defaulting=False).pods
    assert pod.key == "/web"


def test_a_pod_that_is_there_twice(tmp_path: Path) -> None:
    """Two pods of one name are a fault."""
    with pytest.raises(DecodeError, match="already in the same file"):
        pods_in(read_inputs_of([written(tmp_path / "a.json", manifest("a"), manifest("a"))]), None)


def made_by(kind: str, version: str, **spec: Any) -> dict[str, Any]:
    """What makes pods called web-0 on."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "web"}, "spec": {**spec, "template": template}}


def test_of_a_job_what_runs_at_a_time(tmp_path: Path) -> None:
    """As nothing finishes while pods are placed, the others never come; a note says so."""
    job = made_by("Job", "batch/v1", parallelism=2, completions=5)
    found = pods_in(read_inputs_of([written(tmp_path / "a.json", job)]), None)
    assert [pod.metadata.name for pod in found.pods] == ["web-0", "web-1"]
    assert found.notes == ("Job default/web: 2 of its pods run at a time; 3 more come as these finish",)


def test_pods_beside_what_makes_none(tmp_path: Path) -> None:
    """They are placed; a note says who makes none."""
    job = made_by("Job", "batch/v1", suspend=True)
    found = pods_in(read_inputs_of([written(tmp_path / "a.json", job, manifest("a"))]), None)
    assert [pod.metadata.name for pod in found.pods] == ["a"]
    assert found.notes == ("Job default/web is suspended: it makes no pods",)
