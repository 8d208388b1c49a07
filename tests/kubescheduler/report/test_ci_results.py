"""Suites of cases as JUnit XML and as annotations of GitHub Actions; comparisons as such suites."""

from __future__ import annotations

from xml.etree import ElementTree

import attrs
import pytest

import kubescheduler as ks
from clusterstate.objects import ClusterObject
from kubescheduler.comparison.comparing import compare
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.outcomes import Cause, HostChange
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.report.ci_results import CiCase, Standing, Suite, comparison_suites, github, junit
from tests.support.build import labels
from tests.support.comparisons import node, pod

SUITES = [
    Suite("1.36", [CiCase("shop.Deployment/web", "web-1"),
          *(CiCase("shop.Deployment/web", f"web-{at}", Standing.FAILED, "no-node", "0/2: full",
          "0/2: full") for at in (2, 3)), CiCase("shop.Pod/one", "one", Standing.ERROR, "error", "100% gone",
          "why\nand how"), CiCase("shop.Pod/two", "two", Standing.SKIPPED),
          CiCase("shop.Pod/three", "three", message="tolerated", text="all of it")], ["a node says nothing"]),
]  # fmt: skip


def test_junit() -> None:
    """Every case once, with its counts; text that is there is kept whole."""
    (suite,) = ElementTree.fromstring("".join(junit("kubescheduler schedule", SUITES)))
    assert {key: suite.get(key) for key in ("name", "tests", "failures", "errors", "skipped")} == {
        "name": "1.36",
        "tests": "6",
        "failures": "2",
        "errors": "1",
        "skipped": "1",
    }
    assert [note.get("value") for note in suite.iter("property")] == ["a node says nothing"]
    inside = [[(each.tag, each.get("message"), each.text) for each in case] for case in suite.iter("testcase")]
    assert inside == [
        [],
        [("failure", "0/2: full", "0/2: full")],
        [("failure", "0/2: full", "0/2: full")],
        [("error", "100% gone", "why\nand how")],
        [("skipped", None, None)],
        [("system-out", None, "all of it")],
    ]


def test_github() -> None:
    """One annotation for cases of a group of which the same is said; the last line counts and is no command."""
    assert "".join(github("kubescheduler schedule", SUITES)).splitlines() == [
        "::warning title=kubescheduler schedule::a node says nothing",
        "::error title=shop.Deployment/web::web-2, web-3: 0/2: full",
        "::error title=shop.Pod/one::one: 100%25 gone%0Awhy%0Aand how",
        "::notice title=shop.Pod/three::three: tolerated%0Aall of it",
        "kubescheduler schedule: 2 passed, 2 failed, 1 error, 1 skipped",
    ]


def test_several_suites_are_told_apart() -> None:
    """A title says of which suite a case is; colons and commas of titles are escapes."""
    one, two = (Suite(name, [CiCase("a.Pod/b", "b", Standing.FAILED, "k", "m")]) for name in ("1.16, mine", "1.36"))
    first, second, _ = "".join(github("compare", [one, two])).splitlines()
    assert (first, second) == ("::error title=1.16%2C mine%3A a.Pod/b::b: m", "::error title=1.36%3A a.Pod/b::b: m")


def test_many_cases_are_counted() -> None:
    """An annotation names five cases and counts the others; most cases come first."""
    cases = [CiCase("a.Pod/x", "x", Standing.FAILED, "k", "m")]
    cases += [CiCase("a.Job/y", f"y-{at}", Standing.FAILED, "k", "m") for at in range(7)]
    first, *_ = "".join(github("schedule", [Suite("1.36", cases)])).splitlines()
    assert first == "::error title=a.Job/y::y-0, y-1, y-2, y-3, y-4 and 2 more: m"


def test_nothing_asked() -> None:
    """No case is not a pass."""
    assert "".join(github("compare", [Suite("1.36", [])])) == "compare: nothing asked\n"


@pytest.mark.parametrize("text", ["a\x01b<", "a\r\n::error::no", "\u202eturned", "\ud800"], ids=ascii)
def test_hostile_text(text: str) -> None:
    """Names from elsewhere are no commands, and XML that can be read."""
    suites = [Suite(text, [CiCase(text, text, Standing.FAILED, text, text, text)], [text])]
    assert ElementTree.fromstring("".join(junit("compare", suites))) is not None
    lines = "".join(github("compare", suites)).split("\n")
    assert [line[:9] for line in lines] == ["::warning", "::error t", "compare: ", ""]


OLD, NEW = EngineSpec(), EngineSpec(release="1.36")


@pytest.fixture
def found() -> Comparison:
    """One pod stays, one goes elsewhere, and an error ended the attempt on one."""
    cluster: list[ClusterObject] = [node("n1"), node("n2"), pod("there", 150, on="n1")]
    pods = [
        pod("stays", node_selector=labels({"kubernetes.io/hostname": "n1"})),
        pod("moves"),
        pod("errs"),
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
