"""Tests that faults inside of objects and faults between objects are reported together."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clusterstate.errors import DecodeError
from kubescheduler.api.cluster import Cluster
from kubescheduler.releases.lookup import release_named
from kubescheduler.sources import cluster_input
from kubescheduler.sources.cluster_input import UnreadableManifests

read_cluster = partial(cluster_input.read_cluster, filling=release_named("1.16").filling)


def node(name: str = "n1", **more: Any) -> dict[str, Any]:
    """A node; ``more``: its status."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": more}


def pod(name: str, node_name: str = "", image: Any = "x") -> dict[str, Any]:
    """A pod, which runs on a node if one is named."""
    spec = {"containers": [{"name": "c", "image": image}], **({"nodeName": node_name} if node_name else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


FAULTY = pod("odd", image=5)
CASES: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "both": (
        [node(), FAULTY, pod("a", "n2"), node(), pod("b", "n1")],
        [
            "Pod default/odd: spec.containers[0].image",
            "Node n1: metadata.name: already in the same file",
            'Pod default/a: spec.nodeName: node "n2" is not in the cluster',
        ],
    ),
    "what follows from a faulty node": (
        [node("n2", allocatable={"cpu": "1O0m"}), pod("a", "n2"), pod("b", "n3")],
        ["Node n2: status.allocatable", 'Pod default/b: spec.nodeName: node "n3" is not in the cluster'],
    ),
    "a node without a name": (
        [{"apiVersion": "v1", "kind": "Node", "metadata": {}}, pod("a", "n2")],
        ["items[0]: Node: metadata.name"],
    ),
}


@pytest.mark.parametrize(("objects", "problems"), CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_faults_do_not_hide_one_another(
    tmp_path: Path, objects: list[dict[str, Any]], problems: list[str], ending: str
) -> None:
    """One message has both lists; what only follows from a fault is left out."""
    path = tmp_path / f"c.{ending}"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
    with pytest.raises(DecodeError) as caught:
        Cluster.read(str(path))
    found = [problem.removeprefix(f"{path}: ") for problem in caught.value.problems]
    assert len(found) == len(problems)
    assert all(actual.startswith(expected) for actual, expected in zip(found, problems, strict=True))


def test_what_is_there_already_counts() -> None:
    """A pod that is added beside a faulty one may run on a node of the cluster that it comes to."""
    with pytest.raises(DecodeError) as caught:
        Cluster().add(node()).add(pod("a", "n1"), FAULTY, pod("b", "n9"))
    assert [problem.partition(": ")[0] for problem in caught.value.problems] == ["Pod default/odd", "Pod default/b"]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """Then nobody knows which nodes there are, and no pod is said to run nowhere."""
    (tmp_path / "nodes.yaml").write_text("kind: [")
    (tmp_path / "pods.json").write_text(json.dumps([pod("a", "n1"), FAULTY]))
    with pytest.raises(DecodeError) as caught:
        Cluster.read(str(tmp_path / "nodes.yaml"), str(tmp_path / "pods.json"))
    assert not any("is not in the cluster" in problem for problem in caught.value.problems)
    assert len(caught.value.problems) == 2


def test_readable_objects_are_kept(tmp_path: Path) -> None:
    """The error has what could be read, for whoever checks more."""
    path = tmp_path / "c.json"
    path.write_text(json.dumps([node(), FAULTY, pod("a", "n1")]))
    with pytest.raises(UnreadableManifests) as caught:
        read_cluster([str(path)])
    assert [type(obj).__name__ for _, obj in caught.value.readable] == ["Node", "Pod"]
    assert caught.value.node_names == {"n1"}
    assert caught.value.with_references().problems == caught.value.problems
