"""What to do about a comparison that differs."""

from __future__ import annotations

from typing import Any

import pytest

from kubescheduler.comparison.comparing import compare
from kubescheduler.comparison.outcomes import Cause
from kubescheduler.engine.spec import EngineSpec, no_notice
from kubescheduler.sweep.what_now import ComparisonInputs, what_now
from tests.support.comparisons import GIB, MOST, Policies, node, pod

USED: list[Any] = [node("n1"), node("n2"), pod("there", 2000, 4 * GIB, on="n1")]


@pytest.fixture
def policies(tmp_path: Any) -> Policies:
    return Policies(tmp_path)


def advised(old: EngineSpec, new: EngineSpec, *tolerated: Cause, objects: list[Any] | None = None) -> tuple[str, ...]:
    """What is said of one pod."""
    there, pods, specs = objects or USED, [pod("p")], [old, new]
    made = ComparisonInputs(there, pods, specs, [spec.engine(no_notice) for spec in specs], {}, "cluster.yaml")
    return what_now(compare(there, pods, old, [new]), tolerated, made)


def test_a_weight_that_brings_pods_back_was_tried(policies: Policies) -> None:
    """The nearest weight with which the old node wins again, and how many pods it brings back."""
    old, new = (
        policies.policy(LeastRequestedPriority=1, MostRequestedPriority=3),
        policies.policy(LeastRequestedPriority=5, MostRequestedPriority=3),
    )
    accept, weight = advised(old, new)
    assert accept == "to accept what differs: --tolerate changed-weight"
    assert weight == "1.16 1.json: weight 2 of LeastRequestedPriority (now 5) brings 1 of 1 back; tried"


def test_a_priority_that_has_to_go(policies: Policies) -> None:
    """Weight 0 is no weight: the priority is switched off."""
    objects = [node("n1", own="x"), node("n2"), *USED[2:]]
    old, new = (
        policies.policy(MostRequestedPriority=1),
        policies.policy(MostRequestedPriority=1, LeastRequestedPriority=9),
    )
    assert "1.16 1.json: LeastRequestedPriority switched off (weight 9 now) brings 1 of 1 back; tried" in advised(
        old, new, objects=objects
    )


def test_a_node_that_is_refused_leads_to_hint(policies: Policies) -> None:
    """The command is complete but for the pod's file, which only its owner knows."""
    small = [node("n1", cpu=50), node("n2")]
    old, new = (
        policies.policy(MostRequestedPriority=1),
        policies.policy(checks=["PodFitsResources"], MostRequestedPriority=1),
    )
    said = advised(old, new, objects=small)
    assert said[0] == "to accept what differs: --tolerate filtered-now"
    assert said[1].startswith(
        "what would let default/p stay on n1: kubescheduler hint cluster.yaml --pod POD.yaml --node n1 --release 1.16 "
        "--policy-config-file "
    )


def test_what_migrate_says_of_the_rules_that_decide(policies: Policies) -> None:
    """From a release to a later one, the notes on the priorities that tell the nodes apart."""
    said = advised(policies.policy(SelectorSpreadPriority=1, MostRequestedPriority=1), EngineSpec(release="1.36"))
    assert any(
        " for 1.36: approximate: " in line and MOST in line and line.startswith("migrate says of 1.16 ")
        for line in said
    ), said


def test_nothing_where_nothing_differs(policies: Policies) -> None:
    """Neither where all is the same, nor where all that differs is tolerated."""
    old, new = (
        policies.policy(LeastRequestedPriority=1, MostRequestedPriority=3),
        policies.policy(LeastRequestedPriority=5, MostRequestedPriority=3),
    )
    assert advised(old, old) == ()
    assert advised(old, new, Cause.CHANGED_WEIGHT) == ()
