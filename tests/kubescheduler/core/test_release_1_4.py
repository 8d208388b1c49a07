"""A scheduling attempt as release 1.4 goes about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.manifests.annotations_1_4 import TAINTS_ANNOTATION
from clusterstate.objects import (
    Affinity,
    ClaimVolume,
    NodeAffinity,
    NodeCondition,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Requirement,
    Taint,
)
from kubescheduler.core.generic_scheduler import GenericScheduler
from kubescheduler.core.legacy_behaviour import predicate_errors_1_4, predicate_errors_1_16
from kubescheduler.core.selection import RoundRobinTie
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.legacy_engine import algorithm_for
from kubescheduler.releases import v1_4
from kubescheduler.releases.lookup import RELEASES
from tests.support.build import make_node, make_pod, resources
from tests.support.storage import ZONE

OPTIONS = EngineFlags(release="1.4")
NOTHING: dict[str, Any] = {"kind": "Policy", "apiVersion": "v1"}


def scheduler(*objects: Any, policy: Any = None, tie: Any = None) -> GenericScheduler:
    return GenericScheduler(algorithm_for(OPTIONS, None, policy), ClusterCache.of(objects, v1_4.VIEW), tie)


def test_nodes_that_are_not_listed_are_nowhere() -> None:
    """They neither fit nor fail, but their checks can be read."""
    unready = make_node("b", conditions=(NodeCondition("Ready", "False"),))
    decision = scheduler(make_node("a"), unready).decide(make_pod(requests=resources(cpu=5000)))
    assert decision.fits() == []
    assert decision.reasons() == {"a": ["Insufficient cpu"]}
    assert list(decision.checks()) == ["a", "b"]


def test_no_listed_node_at_all() -> None:
    """The text is that of an empty cluster."""
    decision = scheduler(make_node("a", unschedulable=True)).decide(make_pod())
    assert decision.message == "no nodes available to schedule pods"


def test_pods_on_nodes_that_are_not_listed_count() -> None:
    """A node that becomes listed again is judged with its pods."""
    engine = scheduler(make_node("a", unschedulable=True), make_pod("q", node="a", requests=resources(cpu=3500)))
    engine.cache.update_node(make_node("a"))
    assert engine.decide(make_pod(requests=resources(cpu=600))).message.endswith("(a): Insufficient cpu\n")


def test_all_reasons_are_told() -> None:
    """No predicate stops another; GeneralPredicates and its parts repeat a reason."""
    policy = {
        **NOTHING,
        "predicates": [{"name": n} for n in ("GeneralPredicates", "PodFitsResources", "NoDiskConflict")],
    }
    decision = scheduler(make_node("a"), policy=policy).decide(make_pod(requests=resources(cpu=5000)))
    assert decision.reasons() == {"a": ["Insufficient cpu", "Insufficient cpu"]}
    assert decision.message == (
        "pod (p) failed to fit in any node\nfit failure on node (a): Insufficient cpu, Insufficient cpu\n"
    )


@pytest.mark.parametrize("name", ["Mine", "CheckNodeLabelPresence", "HostName"])
def test_a_predicate_of_any_name_runs(name: str) -> None:
    """Where 1.16 would pass over it."""
    argument = {"labelsPresence": {"labels": ["x"], "presence": True}}
    policy = {**NOTHING, "predicates": [{"name": name, "argument": argument}]}
    decision = scheduler(make_node("a"), policy=policy).decide(make_pod())
    assert decision.checks() == {"a": {name: ["CheckNodeLabelPresence"]}}


def test_an_empty_policy_is_no_predicate_and_no_priority() -> None:
    """Every listed node fits and scores 1."""
    decision = scheduler(make_node("a", taints=(Taint("k", "", "NoSchedule"),)), policy=NOTHING).decide(
        make_pod(requests=resources(cpu=99000))
    )
    assert decision.total() == {"a": 1}


def test_a_single_node_is_scored() -> None:
    """Priorities always run."""
    decision = scheduler(make_node("a")).decide(make_pod())
    assert decision.total()["a"] > 100000


def test_claims_are_not_waited_for() -> None:
    """A missing claim is a matter of predicates, here of one that a node without zone does not reach."""
    pod = make_pod(volumes=(ClaimVolume("nope"),))
    assert scheduler(make_node("a")).decide(pod).host == "a"
    text = "SchedulerPredicates failed due to PersistentVolumeClaim 'default/nope' not found, which is unexpected."
    assert scheduler(make_node("a", {ZONE: "z"})).decide(pod).error == text
    nodes = (make_node("a", {ZONE: "z"}), make_node("b", {ZONE: "z"}), make_node("c"))
    assert scheduler(*nodes).decide(pod).error == f"[{text}, {text}]"


def test_an_error_ends_the_attempt_even_where_the_node_fails_otherwise() -> None:
    """All predicates run on every node."""
    nodes = [make_node("a", annotations={TAINTS_ANNOTATION: "{}"}), make_node("b")]
    error = scheduler(*nodes).decide(make_pod(requests=resources(cpu=99000))).error
    assert error is not None
    assert error.startswith("SchedulerPredicates failed due to ")


def test_errors_of_priorities_come_once_for_each_feasible_node() -> None:
    """In brackets when there are several."""
    term = PreferredSchedulingTerm(1, NodeSelectorTerm((Requirement("n", "Gt", ("-1",)),)))
    pod = make_pod(affinity=Affinity(NodeAffinity(preferred=(term,))))
    text = 'invalid label value: "-1": must match the regex'
    one = scheduler(make_node("a")).decide(pod).error or ""
    two = scheduler(make_node("a"), make_node("b")).decide(pod).error or ""
    assert one.startswith(text)
    assert two == f"[{one}, {one}]"


def test_how_errors_are_joined() -> None:
    """1.4 repeats, 1.16 counts."""
    errors = {"x": 2, "y": 1}
    wrapped = [f"SchedulerPredicates failed due to {e}, which is unexpected." for e in ("x", "x", "y")]
    assert predicate_errors_1_4(errors) == f"[{', '.join(wrapped)}]"
    assert predicate_errors_1_16(errors) == "[x (repeated 2 times), y]"


def test_ties_go_round_by_descending_name() -> None:
    """c, b, a, c; every decision counts, also one without a tie."""
    engine = scheduler(*map(make_node, "bca"), policy=NOTHING, tie=RoundRobinTie())
    assert [engine.decide(make_pod()).host for _ in range(4)] == ["c", "b", "a", "c"]
    alone = RoundRobinTie()
    assert alone.choose(np.array([1]), np.array([0, 1, 2])) == 1
    assert alone.choose(np.array([0, 1, 2]), np.array([0, 1, 2])) == 1


def test_nothing_is_preempted_or_nominated() -> None:
    """There are no priorities of pods."""
    low = make_pod("low", node="a", requests=resources(cpu=4000))
    waiting = make_pod("waiting", nominated="a", requests=resources(cpu=4000), priority=9)
    engine = scheduler(make_node("a"), low)
    high = make_pod("high", requests=resources(cpu=1000), priority=100)
    assert engine.decide(high, preempt=True).preemption is None
    assert scheduler(make_node("a"), waiting).decide(high).host == "a"
    assert not RELEASES["1.4"].legacy_rules.behaviour.preempts
