"""``kubescheduler capacity``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kubescheduler.cli.conftest import Run, pod

TABLE = """\
NAMESPACE   POD   MORE   NODES   MESSAGE
default     web   12     2       0/2 nodes are available: 2 Insufficient cpu.

default/web:
NODES   MORE   WHY NOT ANOTHER    SUCH AS
2       12     Insufficient cpu   n1, n2
"""
WIDE = """\
NAMESPACE   POD   MORE   NODES   MESSAGE
default     web   12     2       0/2 nodes are available: 2 Insufficient cpu.

default/web:
NODE   MORE   WHY NOT ANOTHER
n1     8      Insufficient cpu
n2     4      Insufficient cpu
"""


@pytest.fixture
def capacity(kubescheduler: Run) -> Run:
    """``kubescheduler capacity cluster.yaml`` with more arguments."""
    return lambda *args, stdin=b"": kubescheduler("capacity", "cluster.yaml", *args, stdin=stdin)


@pytest.mark.parametrize(("output", "expected"), [("table", TABLE), ("wide", WIDE)])
def test_tables(capacity: Run, output: str, expected: str) -> None:
    """How many more, and what stops the next one: by reason, or by node."""
    outcome = capacity("--pod", "pod.yaml", "-o", output)
    assert (outcome.status, outcome.out, outcome.err) == (0, expected, "")


def test_json(capacity: Run) -> None:
    """Each pod has the cluster to itself; the exit status says that there is no room for one of them."""
    pods = pod("large", "3", spec=", nodeSelector: {disk: hdd}") + pod("small", "1")
    outcome = capacity("--pod", "-", "-o", "json", stdin=pods.encode())
    assert outcome.status == 1
    large, small = json.loads(outcome.out)["items"]
    assert (large["count"], small["count"]) == (0, 6)
    assert large["nodes"] == [
        {"name": "n1", "count": 0, "reasons": ["node(s) didn't match node selector"]},
        {"name": "n2", "count": 0, "reasons": ["Insufficient cpu"]},
    ]
    assert large["message"] == "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match node selector."


def test_a_limit(capacity: Run) -> None:
    """Then nothing is known of what would stop the next one."""
    outcome = capacity("--pod", "pod.yaml", "--limit", "3")
    assert outcome.lines[1] == ["default", "web", "3", "or", "more", "2"]
    assert outcome.lines[5] == ["2", "3", "not", "asked", "after", "--limit", "n1,", "n2"]
    assert json.loads(capacity("--pod", "pod.yaml", "--limit", "3", "-o", "json").out)["items"][0]["limited"] is True


def test_faults(capacity: Run) -> None:
    """All at once, status 2."""
    outcome = capacity("--pod", "none.yaml", "--release", "1.16", "--algorithm-provider", "Defaut")
    outcome.refused("none.yaml: no such file", "Defaut")
    assert capacity("-", "--pod", "-").status == 2


SET = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: c, resources: {requests: {cpu: "1"}}}]}
"""


@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_a_stateful_set_that_runs(kubescheduler: Run, folder: Path, release: str) -> None:
    """It is how many more pods of it fit beside those that there are."""
    (folder / "set.yaml").write_text(SET)
    (folder / "there.yaml").write_text(
        pod("db-0", "1", spec=", nodeName: n1") + pod("db-1", "1", spec=", nodeName: n1")
    )
    asked = ("--pod", "set.yaml", "--release", release, "-o", "json")
    alone, beside = (
        json.loads(kubescheduler("capacity", "cluster.yaml", *files, *asked).out)["items"][0]["count"]
        for files in ((), ("there.yaml",))
    )
    assert (alone, beside) == (6, 4)
    refused = kubescheduler("simulate", "cluster.yaml", "there.yaml", "--workload", "set.yaml")
    refused.refused("StatefulSet default/db: its pod db-0 already runs on n1")


def test_nodes_that_have_the_pod_of_a_daemon_set(capacity: Run) -> None:
    """There is one a node, which is no reason of the release's."""
    text = SET.replace("StatefulSet", "DaemonSet").replace("  replicas: 2\n  serviceName: db\n", "")
    outcome = capacity("--pod", "-", stdin=text.encode())
    assert outcome.lines[-1] == ["2", "2", "it", "has", "its", "pod", "n1,", "n2"]


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        (
            "resourceClaims: [{name: gpu, resourceClaimTemplateName: none}]",
            'pod "default/web": ResourceClaim not created yet',
        ),
        ("schedulingGates: [{name: wait}]", "waiting for scheduling gates: [wait]"),
    ],
)
def test_a_pod_that_is_held_back(capacity: Run, volume: str, message: str) -> None:
    """The words are of the pod that was asked about, not of a copy; no node is looked at."""
    text = pod("web", "1", spec=f", {volume}")
    outcome = capacity("--pod", "-", "--release", "1.36", "-o", "json", stdin=text.encode())
    [room] = json.loads(outcome.out)["items"]
    assert (outcome.status, room["count"]) == (1, 0)
    assert message in room["message"]
    assert capacity("--pod", "-", "--release", "1.36", stdin=text.encode()).lines[-1] == [
        "2",
        "0",
        "not",
        "looked",
        "at",
        "n1,",
        "n2",
    ]
