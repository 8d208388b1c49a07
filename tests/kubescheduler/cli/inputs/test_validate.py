"""Misspelt manifests."""

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
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": 1}}}]},
}


@pytest.mark.parametrize("command", ["schedule --pod", "capacity --pod", "simulate --workload", "compare --pods"])
def test_misspelt_pods(kubescheduler: Run, command: str) -> None:
    """A field that pods do not have is refused in the pods to place, also where they have a uid."""
    Path("misspelt.yaml").write_text(MISSPELT)
    name, option = command.split()
    more = ["--new", "release=1.36"] if name == "compare" else []
    kubescheduler(name, "cluster.yaml", option, "misspelt.yaml", *more).refused(FAULT)
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


def test_misspelt_workload(kubescheduler: Run) -> None:
    """Fields of controllers and of their templates are judged too."""
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "toleration": []}}
    Path("workload.json").write_text(json.dumps({**manifest, "spec": {**spec, "template": template, "replica": 3}}))
    outcome = kubescheduler("schedule", "cluster.yaml", "--pod", "workload.json")
    outcome.refused(
        "spec.template.spec.toleration: unknown field; did you mean tolerations?",
        "spec.replica: unknown field; did you mean replicas?",
    )


def test_a_long_list_of_notes_ends(kubescheduler: Run) -> None:
    """The first 20, and how many more there are; of faults each is said."""
    nodes = [{**NODE, "metadata": {"name": f"n{at:02}"}} for at in range(27)]
    Path("nodes.json").write_text(json.dumps({"kind": "List", "items": nodes}))
    outcome = kubescheduler("schedule", "nodes.json", "--pod", "pod.yaml", "--validate", "warn")
    assert outcome.status == 0
    notes = outcome.err.splitlines()
    assert (len(notes), notes[-1]) == (21, "note: and 7 more")
    assert notes[19].startswith("note: nodes.json: Node n19: status.capacities: unknown field")
    faults = kubescheduler("schedule", "nodes.json", "--pod", "pod.yaml").err.splitlines()
    assert [fault[:27] for fault in faults] == [f"error: nodes.json: Node n{at:02}" for at in range(27)]
