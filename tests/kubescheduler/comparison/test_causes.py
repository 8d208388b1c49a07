"""Every cause, by the smallest pair of schedulers that shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clusterstate.objects import (
    Affinity,
    ClusterObject,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    WeightedPodAffinityTerm,
)
from kubescheduler.comparison.comparing import Cause, compare
from kubescheduler.engine.spec import EngineSpec
from tests.support.build import labels
from tests.support.compared import GIB, LEAST, MOST, Policies, change, node, pod
from tests.support.extender_process import extender

TWO = [node("n1"), node("n2")]
USED: list[ClusterObject] = [*TWO, pod("there", 100, on="n1")]
"""The first node is a little fuller, less than scores of 0-10 show."""
FULLER: list[ClusterObject] = [*TWO, pod("there", 2000, 4 * GIB, on="n1")]


@pytest.fixture
def policies(tmp_path: Path) -> Policies:
    return Policies(tmp_path)


def test_score_resolution(policies: Policies) -> None:
    """What 0-10 makes equal, 0-100 tells apart: the name decided before."""
    found = change(USED, policies.policy(LeastRequestedPriority=1), policies.policy("1.20", LeastRequestedPriority=1))
    assert found.cause is Cause.SCORE_RESOLUTION
    assert (found.old_difference, found.new_difference) == (0, 2)
    part = found.contributions[0]
    assert (part.old_name, part.new_name) == (LEAST, "NodeResourcesLeastAllocated")
    assert [(step.cause, step.by, step.lead) for step in found.steps] == [(Cause.SCORE_RESOLUTION, 2, 2)]


def test_resolution_comes_last_on_the_way_back(policies: Policies) -> None:
    """From 0-100 to 0-10 the last step rounds."""
    fine, coarse = policies.policy("1.20", LeastRequestedPriority=1), policies.policy(LeastRequestedPriority=1)
    found = change(USED, fine, coarse)
    assert found.cause is Cause.TIE_BREAK
    assert [(step.cause, step.lead) for step in found.steps] == [(Cause.SCORE_RESOLUTION, 0)]


def test_changed_weight(policies: Policies) -> None:
    """The formulas are the same, and one weighs more."""
    found = change(
        FULLER,
        policies.policy(LeastRequestedPriority=2, MostRequestedPriority=1),
        policies.policy(LeastRequestedPriority=1, MostRequestedPriority=2),
    )
    assert found.cause is Cause.CHANGED_WEIGHT
    assert {(part.old_name, part.old_weight, part.new_weight) for part in found.contributions} == {
        (LEAST, 2, 1),
        (MOST, 1, 2),
    }


def test_changed_formula(policies: Policies) -> None:
    """The counterpart computes something else."""
    strategy = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}
    found = change(
        FULLER,
        policies.policy(LeastRequestedPriority=1),
        policies.profile({"NodeResourcesFit": strategy}, NodeResourcesFit=1),
    )
    assert found.cause is Cause.CHANGED_FORMULA
    assert found.contributions[0].name == f"{LEAST} -> NodeResourcesFit"


def test_a_curve_that_is_the_same_is_only_finer(policies: Policies) -> None:
    """The curve of a policy in the next release goes to 100 and is otherwise the same."""
    shape = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
    resources = [{"name": "cpu", "weight": 1}]
    entry = {
        "name": "RequestedToCapacityRatioPriority",
        "weight": 1,
        "argument": {"requestedToCapacityRatioArguments": {"shape": shape, "resources": resources}},
    }
    old, new = (policies.written(release, predicates=[], priorities=[entry]) for release in ("1.16", "1.20"))
    assert change(USED, old, new).cause is Cause.SCORE_RESOLUTION


@pytest.mark.parametrize(
    ("removed", "cause"),
    [
        pytest.param(False, Cause.ADDED_PRIORITY, id="added"),
        pytest.param(True, Cause.REMOVED_PRIORITY, id="removed"),
    ],
)
def test_added_and_removed(policies: Policies, removed: bool, cause: Cause) -> None:
    """A priority without a counterpart makes the difference."""
    more: dict[str, Any] = {MOST: 3} if removed else {"ssd": 3}
    cluster: list[ClusterObject] = [*FULLER[2:], node("n1", ssd="yes"), node("n2")]
    specs = [policies.policy(LeastRequestedPriority=1), policies.policy(LeastRequestedPriority=1, **more)]
    found = change(cluster, *(reversed(specs) if removed else specs))
    assert found.cause is cause
    assert any(None in (part.old_name, part.new_name) for part in found.contributions)


def test_normalisation(policies: Policies) -> None:
    """Both count the same pods; 1.16 has 0 in the range always, 1.36 stretches from the lowest count."""
    term = WeightedPodAffinityTerm(10, PodAffinityTerm("kubernetes.io/hostname", LabelSelector(labels({"app": "x"}))))
    likes = pod("p", affinity=Affinity(pod_affinity=PodAffinity(preferred=(term,))))
    there = [
        pod(f"{name}-{at}", 0, 0, on=name, label={"app": "x"})
        for name, count in (("n1", 10), ("n2", 9))
        for at in range(count)
    ]
    cluster: list[ClusterObject] = [node("n1", 500, GIB), node("n2", 8000, 16 * GIB), *there]
    old = policies.policy(InterPodAffinityPriority=1, LeastRequestedPriority=1)
    new = policies.profile(InterPodAffinity=1, NodeResourcesFit=1)
    found = change(cluster, old, new, likes)
    assert found.cause is Cause.NORMALISATION
    assert found.steps[-1].names == ("InterPodAffinityPriority -> InterPodAffinity",)


def test_tie_break(policies: Policies) -> None:
    """Equal totals in the new column: the name decides."""
    found = change(FULLER, policies.policy(LeastRequestedPriority=1), policies.policy(EqualPriority=1))
    assert found.cause is Cause.TIE_BREAK
    assert found.new_difference == 0
    assert "name comes first" in found.text


def test_extender_scaling(policies: Policies) -> None:
    """The extender prefers the last node, and weighs more."""
    with extender() as address:
        old, new = (
            policies.written(
                predicates=[],
                priorities=[{"name": MOST, "weight": 1}],
                extenders=[{"urlPrefix": f"{address}/good", "prioritizeVerb": "prioritize", "weight": weight}],
            )
            for weight in (1, 9)
        )
        found = change(FULLER, old, new)
    assert found.cause is Cause.EXTENDER_SCALING
    assert [part.old for part in found.contributions if "extender" in part.name] == [1]
    assert [part.new for part in found.contributions if "extender" in part.name] == [9]


@pytest.mark.parametrize(
    ("back", "cause", "text"),
    [
        pytest.param(False, Cause.FILTERED_NOW, "n1 is refused now", id="filtered now"),
        pytest.param(True, Cause.NO_LONGER_FILTERED, "n1 was refused before", id="no longer filtered"),
    ],
)
def test_checks(policies: Policies, back: bool, cause: Cause, text: str) -> None:
    """A host that one engine's checks refuse, with the reasons."""
    specs = [policies.policy(EqualPriority=1), policies.policy(checks=["PodFitsResources"], EqualPriority=1)]
    found = change([*TWO, pod("there", 4000, on="n1")], *(reversed(specs) if back else specs))
    assert found.cause is cause
    assert found.reasons == {"PodFitsResources": ("Insufficient cpu",)}
    assert found.text.startswith(text)


def test_a_pod_that_no_node_takes_any_more(policies: Policies) -> None:
    """From a host to none and back is a matter of checks too."""
    large = pod("p", 9000)
    specs = policies.policy(EqualPriority=1), policies.policy(checks=["PodFitsResources"], EqualPriority=1)
    gone, back = change(TWO, *specs, one=large), change(TWO, specs[1], specs[0], large)
    assert (gone.cause, back.cause) == (Cause.FILTERED_NOW, Cause.NO_LONGER_FILTERED)
    found = compare(TWO, [large], *(specs[0], [specs[1]]))
    assert found.pods[0].outcomes[1].message == "0/2 nodes are available: 2 Insufficient cpu."


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"scheduler_name": "another"}, 'profile not found for scheduler name "another"'),
        ({"scheduling_gates": ("quota",)}, "waiting for scheduling gates: [quota]"),
    ],
    ids=["foreign", "gated"],
)
def test_a_pod_that_one_release_does_not_try(fields: Any, text: str) -> None:
    """The release's words say why."""
    found = change(TWO, EngineSpec(), EngineSpec(release="1.36"), pod("p", **fields))
    assert found.cause is Cause.NOT_TRIED
    assert found.text == f"the new scheduler does not try the pod: {text}"


def test_an_error_is_a_cause(policies: Policies) -> None:
    """An extender that nothing answers for ends every attempt."""
    nobody = {"urlPrefix": "http://127.0.0.1:1/all", "filterVerb": "filter"}
    found = change(TWO, policies.policy(), policies.written(predicates=[], priorities=[], extenders=[nobody]))
    assert found.cause is Cause.ERROR
    assert found.text.startswith("the new scheduler gave up: ")
