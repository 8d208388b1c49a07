"""``kubescheduler outage``."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from kubescheduler.cli import explanation
from tests.kubescheduler.cli.conftest import Run

ZONE = "topology.kubernetes.io/zone"
CLUSTER = f"""
apiVersion: v1
kind: List
items:
- kind: Node
  apiVersion: v1
  metadata: {{name: a, labels: {{{ZONE}: a}}}}
  status: {{allocatable: {{cpu: "4", pods: "9"}}}}
- kind: Node
  apiVersion: v1
  metadata: {{name: b, labels: {{{ZONE}: b}}}}
  status: {{allocatable: {{cpu: "4", pods: "9"}}}}
- kind: Pod
  apiVersion: v1
  metadata:
    name: web-6d-x2bcd
    labels: {{app: web, pod-template-hash: 6d}}
    ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: web-6d, uid: w, controller: true}}]
  spec: {{nodeName: a, containers: [{{name: c, image: c, resources: {{requests: {{cpu: "3"}}}}}}]}}
"""
BARE = """
- {kind: Pod, apiVersion: v1, metadata: {name: bare}, spec: {nodeName: b, containers: [{name: c, image: c}]}}
"""


@pytest.fixture
def outage(kubescheduler: Run) -> Run:
    """``kubescheduler outage -`` with more arguments."""
    return lambda *args, stdin=b"": kubescheduler("outage", "-", *args, stdin=stdin)


@pytest.mark.parametrize("nodes", [("--zone", "a"), ("-l", f"{ZONE}=a"), ("--node", "a")])
def test_everything_runs_again(outage: Run, nodes: tuple[str, ...]) -> None:
    """A line for the workload that was down meanwhile, and one for each pod."""
    found = outage(*nodes, stdin=CLUSTER.encode())
    assert (found.status, found.err) == (0, "")
    assert "1 node with 1 pod gone, 1 runs again\n" in found.out
    assert ["default/Deployment/web", "1", "1", "1", "none", "was", "left", "meanwhile"] in found.lines
    assert found.lines[-1][:3] == ["default/web-6d-x2bcd", "a", "b"]


def test_each_zone(outage: Run) -> None:
    """The worst first, and exit status 1 where one is not survived."""
    found = outage("--each", "zone", stdin=(CLUSTER + BARE).encode())
    assert found.status == 1
    rows = [line for line in found.lines if line and line[0] in ("a", "b")]
    assert [(row[0], row[-2:]) for row in rows] == [("b", ["default/Pod/bare", "(1)"]), ("a", ["1", "survives"])]
    assert outage("--each", "zone", stdin=CLUSTER.encode()).status == 0


def test_a_page_says_what_refuses_pods(outage: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each domain that is not survived, node by node with the numbers; not of more messages than a page has."""
    full = """
- kind: Pod
  apiVersion: v1
  metadata:
    name: db-5c-k4xm2
    ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: db-5c, uid: d, controller: true}]
  spec: {nodeName: b, containers: [{name: c, image: c, resources: {requests: {cpu: "2"}}}]}
"""
    asked = ("--each", "zone", "-o", "html", "--release", "1.36")
    page = outage(*asked, stdin=(CLUSTER + full).encode()).out
    assert "<summary>zone=a: default/web-6d-x2bcd: 0/1 nodes are available" in page
    assert "<summary>zone=b: default/db-5c-k4xm2: 0/1 nodes are available" in page
    assert "Insufficient cpu: asks 3, 2 of 4 free" in page
    assert "Insufficient cpu: asks 2, 1 of 4 free" in page
    monkeypatch.setattr(explanation, "MOST_EVIDENCE", 1)
    assert outage(*asked, stdin=(CLUSTER + full).encode()).out.count("Insufficient cpu: asks") == 1


def test_for_programs(outage: Run) -> None:
    """JSON has every pod; JUnit a suite for each domain; annotations name what does not run again."""
    text = (CLUSTER + BARE).encode()
    document = json.loads(outage("--zone", "b", "-o", "json", stdin=text).out)
    assert (document["kind"], document["survives"], document["counts"]["lost"]) == ("Outage", False, 1)
    suites = ElementTree.fromstring(outage("--each", "zone", "-o", "junit", stdin=text).out)
    assert [(suite.get("name"), suite.get("failures")) for suite in suites] == [("zone=b", "1"), ("zone=a", "0")]
    annotated = outage("--zone", "b", "-o", "github", stdin=text)
    assert annotated.status == 1
    assert "::error title=default.Pod/bare::bare: no controller makes it anew\n" in annotated.out


@pytest.mark.parametrize("arguments", [(), ("--each", "zone", "--zone", "a")])
def test_usage(outage: Run, arguments: tuple[str, ...]) -> None:
    """Some nodes, or every domain: one of both."""
    outage(*arguments, stdin=CLUSTER.encode()).refused("--zone, --selector or --node, or else --each alone")
