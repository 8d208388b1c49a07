"""``kubescheduler capacity``."""

from __future__ import annotations

import json

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
    assert outcome.status == 2
    assert "none.yaml: no such file" in outcome.err
    assert "Defaut" in outcome.err
    assert capacity("-", "--pod", "-").status == 2
