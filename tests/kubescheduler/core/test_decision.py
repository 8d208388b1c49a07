"""Nodes that do not say how much they have of something."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kubescheduler as ks
from kubescheduler.cli import run
from tests.support.releases_tried import RELEASES_TRIED

AMOUNTS = {"cpu": "4", "memory": "8Gi", "pods": "10"}
REASONS = {
    "pods": {"Insufficient pods", "Too many pods"},
    "cpu": {"Insufficient cpu"},
    "memory": {"Insufficient memory"},
}


def node(name: str, *without: str) -> dict[str, object]:
    """A node's manifest without some amounts."""
    amounts = {key: value for key, value in AMOUNTS.items() if key not in without}
    ready = [{"type": "Ready", "status": "True"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": amounts, "conditions": ready},
    }


@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.parametrize("resource", AMOUNTS)
def test_a_note_beside_the_reason(release: str, resource: str) -> None:
    """The release's reason is as it is, and a note says that the node does not say the amount; nobody else's does."""
    there = ks.Cluster(node("silent", resource), release=release)
    asked = ks.pod("web", cpu="1", memory="1Gi")
    decision = ks.Scheduler(there).decide(asked)
    assert set(decision.reasons()["silent"]) & REASONS[resource]
    assert decision.notes == (f"node silent has no {resource} in status.allocatable, which counts as 0",)
    assert ks.Scheduler(ks.Cluster(node("stated"), release=release)).decide(asked).notes == ()


def test_only_where_it_matters() -> None:
    """A pod that asks for no memory is not refused for it, and nothing is said."""
    assert ks.Scheduler(ks.Cluster(node("silent", "memory"))).decide(ks.pod("web", cpu="1")).notes == ()


def test_many_nodes() -> None:
    """The first are named."""
    there = ks.Cluster([node(f"n{number}", "pods") for number in range(5)])
    assert ks.Scheduler(there).decide(ks.pod("web")).notes == (
        "5 nodes (n0, n1, n2, …) have no pods in status.allocatable, which counts as 0",
    )


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("schedule cluster.json --pod pod.json", id="schedule"),
        pytest.param("schedule cluster.json --pod pod.json -o wide", id="wide"),
        pytest.param("schedule cluster.json --pod pod.json -o json", id="schedule-json"),
        pytest.param("schedule cluster.json --pod pod.json --explain", id="explain"),
        pytest.param("simulate cluster.json --workload pod.json", id="simulate"),
        pytest.param("simulate cluster.json --workload pod.json -o json", id="simulate-json"),
        pytest.param("capacity cluster.json --pod pod.json", id="capacity"),
        pytest.param("capacity cluster.json --pod pod.json -o json", id="capacity-json"),
        pytest.param("compare cluster.json --pods pod.json --new release=1.36", id="compare"),
        pytest.param("compare cluster.json --pods pod.json --new release=1.36 -o json", id="compare-json"),
        pytest.param("compare cluster.json --pods pod.json --new release=1.36 -o html", id="compare-page"),
        pytest.param("compare cluster.json --pods pod.json --new release=1.36 -o junit", id="compare-junit"),
    ],
)
def test_every_output_with_reasons(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever shows reasons has the note in it."""
    monkeypatch.chdir(tmp_path)
    Path("cluster.json").write_text(json.dumps(node("silent", "pods")))
    Path("pod.json").write_text(json.dumps({"apiVersion": "v1", **ks.pod("web")}))
    run(command.split())
    assert "node silent has no pods in status.allocatable" in capsys.readouterr().out
