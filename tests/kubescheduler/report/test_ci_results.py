"""Suites of cases as JUnit XML and as annotations of GitHub Actions."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from kubescheduler.report.ci_results import CiCase, Standing, Suite, github, junit

SUITES = [
    Suite(
        "1.36",
        [
            CiCase("shop.Deployment/web", "web-1"),
            *(
                CiCase("shop.Deployment/web", f"web-{at}", Standing.FAILED, "no-node", "0/2: full", "0/2: full")
                for at in (2, 3)
            ),
            CiCase("shop.Pod/one", "one", Standing.ERROR, "error", "100% gone", "why\nand how"),
            CiCase("shop.Pod/two", "two", Standing.SKIPPED),
            CiCase("shop.Pod/three", "three", message="tolerated", text="all of it"),
        ],
        ["a node says nothing"],
    )
]


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
