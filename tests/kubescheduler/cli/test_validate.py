"""Misspelt manifests, what makes pods where pods are asked for, and arguments that are swapped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kubescheduler.cli.conftest import Run

MISSPELT = """
apiVersion: v1
kind: Pod
metadata: {name: web, uid: "1"}
spec:
  containers: [{name: a, image: b, resource: {requests: {cpu: 100}}}]
"""
FAULT = "Pod default/web: spec.containers[0].resource: unknown field; did you mean resources?"
NODE = {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": 4, "pods": 10}, "capacities": {}}}
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": 1}}}]},
}
SELECTOR = {"matchLabels": {"app": "web"}}
WORKLOADS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "Deployment": ({"replicas": 2, "selector": SELECTOR, "template": TEMPLATE}, ["web-0", "web-1"]),
    "ReplicaSet": ({"replicas": 2, "selector": SELECTOR, "template": TEMPLATE}, ["web-0", "web-1"]),
    "StatefulSet": ({"replicas": 2, "selector": SELECTOR, "template": TEMPLATE}, ["web-0", "web-1"]),
    "Job": ({"completions": 2, "parallelism": 1, "template": TEMPLATE}, ["web-0", "web-1"]),
    "CronJob": (
        {"schedule": "* * * * *", "jobTemplate": {"spec": {"parallelism": 2, "template": TEMPLATE}}},
        ["web-0", "web-1"],
    ),
}
VERSIONS = {"Job": "batch/v1", "CronJob": "batch/v1"}


def workload(kind: str) -> str:
    """A controller's manifest."""
    spec = WORKLOADS[kind][0]
    manifest = {"apiVersion": VERSIONS.get(kind, "apps/v1"), "kind": kind, "metadata": {"name": "web"}, "spec": spec}
    return json.dumps(manifest)


@pytest.mark.parametrize("command", ["schedule --pod", "capacity --pod", "simulate --workload", "compare --pods"])
def test_misspelt_pods(kubescheduler: Run, command: str) -> None:
    """A field that pods do not have is refused in the pods to place, also where they have a uid."""
    Path("misspelt.yaml").write_text(MISSPELT)
    name, option = command.split()
    more = ["--new", "release=1.36"] if name == "compare" else []
    outcome = kubescheduler(name, "cluster.yaml", option, "misspelt.yaml", *more)
    assert (outcome.status, outcome.out) == (2, "")
    assert FAULT in outcome.err
    assert kubescheduler(name, "cluster.yaml", option, "misspelt.yaml", "--validate", "ignore", *more).status in (0, 1)


def test_warned(kubescheduler: Run) -> None:
    """With ``warn`` it is a note."""
    Path("misspelt.yaml").write_text(MISSPELT)
    outcome = kubescheduler("schedule", "cluster.yaml", "--pod", "misspelt.yaml", "--validate", "warn")
    assert outcome.status == 0
    assert "note: misspelt.yaml: Pod web: spec.containers[0].resource: unknown field" in outcome.err


@pytest.mark.parametrize(
    ("metadata", "options", "status"),
    [
        pytest.param({"name": "n1"}, [], 2, id="written"),
        pytest.param({"name": "n1", "uid": "1"}, [], 0, id="stored"),
        pytest.param({"name": "n1", "uid": "1"}, ["--validate", "strict"], 2, id="stored but strict"),
        pytest.param({"name": "n1"}, ["--validate", "ignore"], 0, id="written but ignored"),
    ],
)
def test_clusters(kubescheduler: Run, metadata: dict[str, str], options: list[str], status: int) -> None:
    """A cluster's objects are read strictly where somebody has written them."""
    Path("own.json").write_text(json.dumps({"apiVersion": "v1", **NODE, "metadata": metadata}))
    outcome = kubescheduler("schedule", "own.json", "--pod", "pod.yaml", *options)
    assert outcome.status == status
    assert ("status.capacities: unknown field; did you mean capacity?" in outcome.err) == (status == 2)


@pytest.mark.parametrize("kind", list(WORKLOADS))
def test_schedule_workloads(kubescheduler: Run, kind: str) -> None:
    """The pods that a controller makes are scheduled."""
    Path("workload.json").write_text(workload(kind))
    outcome = kubescheduler("schedule", "cluster.yaml", "--workload", "workload.json", "-o", "json")
    assert outcome.status == 0
    assert [each["pod"]["name"] for each in json.loads(outcome.out)["items"]] == WORKLOADS[kind][1]


def test_capacity_of_workloads(kubescheduler: Run) -> None:
    """One pod of a controller is asked about."""
    Path("workload.json").write_text(workload("Deployment"))
    outcome = kubescheduler("capacity", "cluster.yaml", "--workload", "workload.json", "-o", "json")
    assert [each["pod"]["name"] for each in json.loads(outcome.out)["items"]] == ["web-0"]


def test_sweep_of_workloads(kubescheduler: Run) -> None:
    """A sweep schedules the pods of a controller."""
    Path("workload.json").write_text(workload("Deployment"))
    arguments = ["--workload", "workload.json", "--spec", "release=1.16", "--workers", "1", "--placements"]
    assert kubescheduler("sweep", "cluster.yaml", *arguments, "--out", "rows.csv").status == 0
    assert "web-1" in Path("rows.csv").read_text()


def test_misspelt_workload(kubescheduler: Run) -> None:
    """Fields of controllers and of their templates are judged too."""
    manifest = json.loads(workload("Deployment"))
    manifest["spec"]["template"]["spec"]["toleration"] = []
    Path("workload.json").write_text(json.dumps({**manifest, "spec": {**manifest["spec"], "replica": 3}}))
    outcome = kubescheduler("schedule", "cluster.yaml", "--pod", "workload.json")
    assert outcome.status == 2
    assert "spec.template.spec.toleration: unknown field; did you mean tolerations?" in outcome.err
    assert "spec.replica: unknown field; did you mean replicas?" in outcome.err


def test_swapped(kubescheduler: Run) -> None:
    """Nodes where pods are asked for, and none in the cluster."""
    outcome = kubescheduler("schedule", "pod.yaml", "--pod", "cluster.yaml")
    assert outcome.status == 2
    assert "cluster.yaml: it has nodes, and the cluster has no nodes; are the two swapped?" in outcome.err


def test_no_nodes(kubescheduler: Run) -> None:
    """A cluster without nodes is noted."""
    Path("empty.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    outcome = kubescheduler("schedule", "empty.yaml", "--pod", "pod.yaml")
    assert "note: the cluster has no nodes" in outcome.err
