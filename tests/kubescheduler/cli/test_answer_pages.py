"""``-o html`` of the commands that answer in sections: the same words as their tables, and what they are made of."""

from __future__ import annotations

from html import escape
from pathlib import Path

import pytest

from tests.kubescheduler.cli.conftest import Run

EVIL = "<img src=x onerror=alert(1)>"
OWNER = "uid: u{0}, ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: w, controller: true}}]"
CLUSTER = f"""
apiVersion: v1
kind: List
items:
- kind: Node
  metadata: {{name: a, uid: a, labels: {{topology.kubernetes.io/zone: a}}}}
  status: {{allocatable: {{cpu: "4", pods: "9"}}}}
- kind: Node
  metadata: {{name: b, uid: b, labels: {{topology.kubernetes.io/zone: b}}}}
  spec: {{taints: [{{key: t, value: "{EVIL}", effect: NoSchedule}}]}}
  status: {{allocatable: {{cpu: "4", pods: "9"}}}}
- kind: Pod
  metadata: {{name: web-1, {OWNER.format("1")}}}
  spec: {{nodeName: a, containers: [{{name: c, image: c, resources: {{requests: {{cpu: "3"}}}}}}]}}
- kind: Pod
  metadata: {{name: waits, {OWNER.format("2")}}}
  spec: {{containers: [{{name: c, image: c, resources: {{requests: {{cpu: "3"}}}}}}]}}
"""
POLICY = "{kind: Policy, apiVersion: v1, priorities: [{name: LeastRequestedPriority, weight: 1}]}"
COMMANDS = {
    "drain": (("drain", "c.yaml", "a"), 1, ["web-1", "NodeUnschedulable", "<details"]),
    "outage": (("outage", "c.yaml", "--zone", "a"), 1, ["<nowhere>", "Workloads", "<details"]),
    "each": (("outage", "c.yaml", "--each", "zone"), 1, ["Domains", "web-1", "<details"]),
    "nodes": (("nodes", "c.yaml", "--shapes", "s.yaml"), 0, ["Add 1 node", "large-1"]),
    "remove": (("nodes", "c.yaml", "--remove"), 0, ["can go", "Nodes that stay"]),
    "pending": (("why", "waits", "c.yaml"), 1, ["waits is pending", "asks 3, 1 of 4 free", "Hints"]),
    "running": (("why", "web-1", "c.yaml"), 0, ["web-1 runs on a"]),
}


@pytest.mark.parametrize(("asked", "status", "parts"), COMMANDS.values(), ids=COMMANDS)
def test_pages(kubescheduler: Run, folder: Path, asked: tuple[str, ...], status: int, parts: list[str]) -> None:
    """One document, by the release that decided, with the table's headline and exit status; names are no markup."""
    (folder / "c.yaml").write_text(CLUSTER)
    (folder / "s.yaml").write_text("[{name: large, cpu: 8, memory: 8Gi, pods: 9}]")
    found = kubescheduler(*asked, "--release", "1.36", "-o", "html")
    assert (found.status, found.out[:15]) == (status, "<!DOCTYPE html>")
    assert "release 1.36" in found.out
    assert [part for part in parts if part not in found.out and escape(part) not in found.out] == []
    assert EVIL not in found.out
    table = kubescheduler(*asked, "--release", "1.36")
    headline = next(line for line in table.out.split("\n") if not line.startswith("! "))
    assert f"<h1>{escape(headline)}</h1>" in found.out


def test_page_of_an_upgrade(kubescheduler: Run, folder: Path) -> None:
    """It has each configuration in full."""
    (folder / "c.yaml").write_text(CLUSTER)
    (folder / "p.yaml").write_text(POLICY)
    found = kubescheduler(
        "upgrade", "c.yaml", "--from", "1.22", "--to", "1.24", "--policy-config-file", "p.yaml", "-o", "html"
    )
    assert found.out.startswith("<!DOCTYPE html>")
    assert "releases 1.22 to 1.24" in found.out
    assert "apiVersion: kubescheduler.config.k8s.io/v1beta3" in found.out
    assert "What no tool can know" in found.out


def test_watched_answers_are_no_page(kubescheduler: Run) -> None:
    """Of which there would be several in one file."""
    kubescheduler("why", "web", "--watch", "-o", "html").refused("-o html is a page of one")
