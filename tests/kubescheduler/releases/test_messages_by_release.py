"""What releases say of a pod that fits nowhere."""

from __future__ import annotations

import pytest

from kubescheduler import Cluster, Scheduler
from tests.support.neighbours import asking, node, pod

TAINTED = {**node("b"), "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}}
LARGE = pod("large", containers=asking(cpu="5"))
CLAIMS = [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]
WITHOUT_CLAIM = pod("claiming", volumes=CLAIMS)
NOBODY = "No preemption victims found for incoming pod"
HOPELESS = "Preemption is not helpful for scheduling"
TAINT_1_23 = "1 node(s) had taint {k: v}, that the pod didn't tolerate"
MISSING = 'persistentvolumeclaim "none" not found'


@pytest.mark.parametrize(
    ("release", "large", "claiming"),
    [
        ("1.23", f"1 Insufficient cpu, {TAINT_1_23}.", f"2 {MISSING}."),
        (
            "1.24",
            "1 node(s) had untolerated taint {k: v}, 2 Insufficient cpu. preemption: 0/2 nodes are available: "
            f"1 {NOBODY}, 1 {HOPELESS}.",
            f"2 {MISSING}. preemption: 0/2 nodes are available: 2 {HOPELESS}.",
        ),
        (
            "1.26",
            "1 Insufficient cpu, 1 node(s) had untolerated taint {k: v}. preemption: 0/2 nodes are available: "
            f"1 {NOBODY}, 1 {HOPELESS}.",
            f"{MISSING}. preemption: 0/2 nodes are available: 2 {NOBODY}.",
        ),
        (
            "1.28",
            "1 Insufficient cpu, 1 node(s) had untolerated taint {k: v}. preemption: 0/2 nodes are available: "
            f"1 {NOBODY}, 1 {HOPELESS}.",
            f"{MISSING}. preemption: 0/2 nodes are available: 2 {HOPELESS}.",
        ),
    ],
)
def test_messages(release: str, large: str, claiming: str) -> None:
    """Preemption has the last word from 1.24 on; what PreFilter refused is said once from 1.26 on."""
    scheduler = Scheduler(Cluster([node("a"), TAINTED], release=release))
    messages = [scheduler.decide(each, preempt=True).message for each in (LARGE, WITHOUT_CLAIM)]
    assert messages == [f"0/2 nodes are available: {text}" for text in (large, claiming)]
