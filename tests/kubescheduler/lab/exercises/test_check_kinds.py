"""Each kind of check, on two nodes and three pods: what passes, and what the student reads when it does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.manifests.fields import Fields
from kubescheduler.lab.exercises.check_contract import PodPlacement, RunRule, ScenarioRun, StudentFiles
from kubescheduler.lab.exercises.check_kinds import KINDS
from kubescheduler.lab.exercises.file_checks import ForbiddenFields

ZONE = "topology.kubernetes.io/zone"
PACKING = "kind: Policy\napiVersion: v1\npriorities: [{name: MostRequestedPriority, weight: 1}]\n"


@pytest.fixture(scope="module")
def run() -> ScenarioRun:
    """web-1 and web-2 on b, and big, which fits nowhere and would make batch leave b."""
    cluster = (
        ks.Cluster(release="1.36")
        .node("a", cpu=4, memory="8Gi", zone="z1")
        .node("b", cpu=4, memory="8Gi", zone="z2")
        .pod("batch", node="b", cpu=1, memory="1Gi", priority=-1)
        .pod("keep", node="a", cpu=3, memory="1Gi", priority=2000)
    )
    scheduler = ks.Scheduler(cluster)
    placements = []
    asked = [
        ks.pod("web-1", cpu=1, memory="1Gi"),
        ks.pod("web-2", cpu=1, memory="1Gi"),
        ks.pod("big", cpu=2, priority=1000),
    ]
    for manifest in asked:
        decision = scheduler.decide(manifest, preempt=True, thorough=True)
        if decision.host is not None:
            scheduler.bind(decision)
        placements.append(PodPlacement(decision.pod, decision.host, decision.message, decision))

    def compared(other: Mapping[str, Any]) -> ks.Comparison:
        return ks.compare(cluster, asked[:2], old=dict(other), new="", mode="sequence")

    return ScenarioRun(cluster, tuple(placements), (), compared)


CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "placed": ("placed", {"pods": "web-*"}, ""),
    "placed, not all": ("placed", {"pods": "*"}, "big has no node: 0/2 nodes are available: "),
    "placed, too few": ("placed", {"pods": "web-*", "count": 3}, "there are 2 pods web-*, and there have to be 3"),
    "placed, none there": ("placed", {"pods": "api-*"}, "there is no pod api-*; the pods are web-1, web-2, big"),
    "runs on": ("runsOn", {"pods": "web-1", "nodes": ["a", "b"]}, ""),
    "runs on, elsewhere": ("runsOn", {"pods": "web-*", "nodes": ["c"]}, "web-1 runs on b; web-2 runs on b"),
    "runs not on": ("runsNotOn", {"pods": "web-*", "nodes": ["c"]}, ""),
    "runs not on, pending": ("runsNotOn", {"pods": "big", "nodes": ["a"]}, "big has no node: "),
    "running": ("running", {"pods": "*", "least": 2, "most": 2}, ""),
    "running, too many": ("running", {"pods": "*", "most": 1}, "2 run, and 1 may: "),
    "running, too few": ("running", {"pods": "*", "least": 3}, "2 run, and 3 should: big has no node"),
    "nodes used": ("nodesUsed", {"pods": "web-*", "most": 2}, ""),
    "nodes used, too many": ("nodesUsed", {"pods": "web-*", "most": 0}, "and may on 0"),
    "nodes used, too few": ("nodesUsed", {"pods": "web-*", "least": 3}, "and should on 3 or more"),
    "spread": ("spread", {"pods": "web-*", "label": ZONE, "skew": 2}, ""),
    "spread, skewed": ("spread", {"pods": "web-*", "label": ZONE, "skew": 1}, "0 in z1, 2 in z2"),
    "refused": ("refused", {"pod": "big", "node": "a", "reason": "Insufficient cpu"}, ""),
    "refused, for another reason": (
        "refused",
        {"pod": "big", "node": "a", "reason": "taint"},
        "a refuses big with Insufficient cpu",
    ),
    "refused, not at all": ("refused", {"pod": "web-1", "node": "a", "reason": "cpu"}, "a does not refuse web-1"),
    "pending": ("pending", {"pod": "big", "message": "2 Insufficient cpu"}, ""),
    "pending, placed": ("pending", {"pod": "web-1"}, "web-1 runs on b"),
    "scores": ("scores", {"pod": "web-1", "order": ["b", "a"]}, ""),
    "scores, of a rule": ("scores", {"pod": "web-1", "order": ["b", "a"], "rule": "NodeResourcesFit"}, ""),
    "scores, the other way": ("scores", {"pod": "web-1", "order": ["a", "b"]}, "web-1: a "),
    "scores, in groups": ("scores", {"pod": "web-1", "order": [["b"], ["a"]]}, ""),
    "scores, a group the other way": ("scores", {"pod": "web-1", "order": [["a"], ["b"]]}, "a has to have more than b"),
    "refused, exactly": ("refused", {"pod": "big", "node": "a", "exactly": "Insufficient cpu"}, ""),
    "refused, in part": ("refused", {"pod": "big", "node": "a", "exactly": "Insufficient"}, "a refuses big with"),
    "accepted": ("accepted", {"pod": "web-1", "nodes": ["a", "b"]}, ""),
    "accepted, refused": ("accepted", {"pod": "big", "nodes": ["a"]}, "a refuses big: Insufficient cpu"),
    "accepted, no such node": ("accepted", {"pod": "web-1", "nodes": ["c"]}, "c refuses web-1: without a reason"),
    "tolerates, not at all": (
        "tolerates",
        {"pods": "web-*", "key": "gpu", "values": ["true"]},
        "web-1 does not tolerate gpu=true; web-2 does not",
    ),
    "apart, none bound": ("apart", {"pods": "web-*", "seconds": 5}, ""),
    "apart, none there": ("apart", {"pods": "api-*"}, "there is no pod api-*"),
    "scores, no such rule": ("scores", {"pod": "web-1", "order": ["a"], "rule": "Cheap"}, "Cheap does not score web-1"),
    "scores, no such node": ("scores", {"pod": "web-1", "order": ["a", "c"]}, "c has no score for web-1"),
    "scores, these": ("scores", {"pod": "web-1", "values": {"a": 37, "b": 62}, "rule": "NodeResourcesFit"}, ""),
    "scores, others": (
        "scores",
        {"pod": "web-1", "values": {"a": 37, "b": 99}, "rule": "NodeResourcesFit"},
        "b has 62, not 99",
    ),
    "scores, no extender": ("scores", {"pod": "web-1", "values": {"a": 1}, "rule": "extender"}, "a has no score"),
    "evicts": ("evicts", {"pod": "big", "victims": ["batch"], "spares": ["keep"]}, ""),
    "evicts, others": ("evicts", {"pod": "big", "victims": ["keep"]}, "it makes "),
    "evicts, nobody": ("evicts", {"pod": "web-1", "victims": ["keep"]}, "nobody leaves; web-1 runs on b"),
    "agrees": ("agrees", {"release": "1.36"}, ""),
    "agrees, otherwise": ("agrees", {"release": "1.16", "policy": PACKING}, "web-1 goes to b, and went to a"),
    "agrees, tolerated": (
        "agrees",
        {"release": "1.16", "policy": PACKING, "tolerate": ["web-*"]},
        "",
    ),
    "together, no such label": ("together", {"label": "gang"}, "no pod has the label gang"),
}
"""Case → kind, its keys, a part of the sentence about what is wrong; empty where the check passes."""


@pytest.mark.parametrize("case", CASES)
def test_checks_of_a_run(case: str, run: ScenarioRun) -> None:
    """What is wrong is said by pod and node."""
    kind, keys, expected = CASES[case]
    faults: list[str] = []
    rule = KINDS[kind](Fields(keys, faults))
    assert faults == []
    assert isinstance(rule, RunRule)
    found = rule.fault_of(run)
    assert bool(found) is bool(expected), found
    assert expected in found


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (ForbiddenFields(("**.nodeName",), ()), 'web.yaml: Deployment web: spec.template.spec.nodeName is "a"'),
        (ForbiddenFields(("spec.replicas",), ("1",)), ""),
        (ForbiddenFields(("spec.replicas",), ("2",)), "web.yaml: Deployment web: spec.replicas is 2"),
        (ForbiddenFields(("spec.paused",), ()), ""),
    ],
    ids=["anywhere", "another value", "this value", "not set"],
)
def test_forbidden_fields(rule: ForbiddenFields, expected: str, tmp_path: Any) -> None:
    """A field is named with its file, its object and its place."""
    spec = {"replicas": 2, "paused": None, "template": {"spec": {"nodeName": "a"}}}
    document = {"kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    assert rule.fault_in(StudentFiles(tmp_path, {"web.yaml": [document]}, {})) == expected


def test_a_simulation_says_whom_it_evicts() -> None:
    """Victims of a run on the virtual clock count as those of a decision do."""
    faults: list[str] = []
    rule = KINDS["evicts"](Fields({"pod": "big", "victims": ["batch"]}, faults))
    cluster = ks.Cluster(release="1.36").node("a", cpu=2).pod("batch", node="a", cpu=2, priority=0)
    report = ks.simulate(cluster, ks.pod("big", cpu=2, priority=10), preempt=True)
    placements = tuple(PodPlacement(one.pod, one.node or None, one.message, placed=one.placed) for one in report.pods)
    evicted = tuple(victim.removeprefix("default/") for one in report.preemptions for victim in one.victims)
    assert isinstance(rule, RunRule)
    assert rule.fault_of(ScenarioRun(cluster, placements, evicted, lambda _: pytest.fail("nothing is compared"))) == ""
