"""Versions of kubelets, and what is said of them."""

from __future__ import annotations

import pytest

import kubescheduler as ks
from clusterstate.errors import ConfigError
from kubescheduler.planning.drain import KubeletUpgrade


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1.31", 'found "1.31"'),
        ("1.30:1.31:1.32", 'found "1.30:1.31:1.32"'),
        ("", 'found ""'),
        ("1.x:one", 'no version: "1.x", "one"'),
        ("1.31:1.30", "1.30 is not later than 1.31"),
        ("1.31:1.31", "1.31 is not later than 1.31"),
        ("1.31.4:1.31", "1.31 is not later than 1.31.4"),
        ("1.9:1.10", ""),
        ("v1.30.4-gke.1 : v1.30.5+k3s1", ""),
        ("1.30:1.30.4", ""),
    ],
)
def test_versions(text: str, fault: str) -> None:
    """One message with what is wrong."""
    if not fault:
        KubeletUpgrade.parse(text, "it")
        return
    with pytest.raises(ConfigError) as error:
        KubeletUpgrade.parse(text, "it")
    [problem] = error.value.problems
    assert problem.startswith("it: expected two versions of the kubelet")
    assert problem.endswith(fault)


@pytest.mark.parametrize(
    ("text", "running", "release", "said"),
    [
        ("1.33:1.34", "v1.33.1", "1.34", []),
        ("1.31:1.32", "v1.31.0-eks-1", "1.34", []),
        ("1.34.3:1.34.4", "v1.34.3", "1.34", []),
        ("1.34.1:1.34.2", "v1.34.3", "1.34", ["another kubelet than 1.34.1 is run by a (v1.34.3)"]),
        ("1.35:1.36", "soon", "1.36", ["another kubelet than 1.35 is run by a (soon)"]),
        (
            "1.30:1.34",
            "v1.30.9",
            "1.34",
            ["1.30 is 4 minor releases older than the control plane, release 1.34: at most 3"],
        ),
        (
            "1.24:1.25",
            "v1.24.0",
            "1.27",
            ["1.24 is 3 minor releases older than the control plane, release 1.27: at most 2"],
        ),
        ("1.34:1.35", "v1.34.0", "1.34~a change", ["1.35 is newer than the control plane, release 1.34"]),
    ],
)
def test_notes(text: str, running: str, release: str, said: list[str]) -> None:
    """What runs another kubelet than was said, and what is not supported beside the control plane."""
    node = ks.node("a")
    node["status"]["nodeInfo"] = {"kubeletVersion": running}
    notes = list(KubeletUpgrade.parse(text, "it").notes(ks.Cluster().add(node).nodes, release))
    assert len(notes) == len(said)
    assert all(part in note for part, note in zip(said, notes, strict=True))


def test_nodes_that_do_not_say() -> None:
    """Which kubelet they run is not made up."""
    nodes = ks.Cluster().node("a").node("b").nodes
    notes = list(KubeletUpgrade.parse("1.35:1.36", "it").notes(nodes, "1.36"))
    assert notes == ["which kubelet they run is not said by a, b"]
