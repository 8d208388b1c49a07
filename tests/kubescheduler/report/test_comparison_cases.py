"""Comparisons for CI."""

from __future__ import annotations

from xml.etree import ElementTree

import attrs
import pytest

import kubescheduler as ks
from clusterstate.objects import ClusterObject
from kubescheduler.comparison.comparing import Cause, Comparison, HostChange, compare
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.report.ci_results import comparison_suites, github, junit
from tests.support.build import labels
from tests.support.comparisons import node, pod

OLD, NEW = EngineSpec(), EngineSpec(release="1.36")


@pytest.fixture
def found() -> Comparison:
    """One pod stays, one goes elsewhere, and an error ended the attempt on one."""
    cluster: list[ClusterObject] = [node("n1"), node("n2"), pod("there", 150, on="n1")]
    pods = [
        pod("stays", node_selector=labels({"kubernetes.io/hostname": "n1"})),
        pod("moves"),
        pod("errs", scheduler_name="x"),
    ]
    made = compare(cluster, pods, OLD, [NEW])
    erring = attrs.evolve(made.pods[2], changes=(HostChange(Cause.ERROR, "the new scheduler gave up"),))
    return attrs.evolve(made, pods=(*made.pods[:2], erring))


@pytest.mark.parametrize(
    ("tolerated", "counts"),
    [
        pytest.param((), ("3", "1", "1"), id="none"),
        pytest.param((Cause.SCORE_RESOLUTION, Cause.CHANGED_FORMULA), ("3", "0", "1"), id="what moved"),
        pytest.param(tuple(Cause), ("3", "0", "1"), id="all but errors"),
    ],
)
def test_a_case_for_each_pod(found: Comparison, tolerated: tuple[Cause, ...], counts: tuple[str, ...]) -> None:
    """Moved pods fail unless the cause is tolerated; errors are errors."""
    (suite,) = ElementTree.fromstring("".join(junit("compare", comparison_suites(found, tolerated))))
    assert suite.get("name") == "1.16 and 1.36"
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == counts
    assert [case.get("name") for case in suite] == ["stays", "moves", "errs"]
    assert [len(case) for case in suite] == [0, 1, 1]
    if not tolerated:
        (failure,) = suite[1]
        assert (failure.tag, failure.get("message", "")[:26]) == ("failure", "n1 before, n2 now: score-r")
        assert "LeastRequestedPriority -> NodeResourcesFit: +0, +" in (failure.text or "")


def test_cases_name_the_workload() -> None:
    """The class of a case is namespace and controller, or the pod itself where nothing controls it."""
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
    }
    alone = {"kind": "Pod", "metadata": {"name": "solo"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    found = ks.compare(ks.Cluster().node("n1"), [deployment, alone], old="release=1.16", new="release=1.36")
    (suite,) = ElementTree.fromstring("".join(junit("compare", comparison_suites(found))))
    classes = sorted(str(case.get("classname")) for case in suite.iter("testcase"))
    assert classes == ["default.Deployment/web", "default.Deployment/web", "default.Pod/solo"]


@pytest.mark.parametrize(
    ("tolerated", "levels"),
    [
        pytest.param((), ["error", "error"], id="none"),
        pytest.param(tuple(Cause), ["notice", "error"], id="all but errors"),
    ],
)
def test_annotations(found: Comparison, tolerated: tuple[Cause, ...], levels: list[str]) -> None:
    """What differs is an error, what is tolerated a notice that says so; what stays is not named."""
    *lines, last = "".join(github("compare", comparison_suites(found, tolerated))).splitlines()
    annotations = [line for line in lines if not line.startswith("::warning")]
    assert [line.split()[0].removeprefix("::") for line in annotations] == levels
    assert "title=default.Pod/moves::moves: n1 before, n2 now: score-resolution" in annotations[0]
    assert annotations[0].count(", tolerated") == bool(tolerated)
    assert last == "compare: " + ("2 passed, 1 error" if tolerated else "1 passed, 1 failed, 1 error")
