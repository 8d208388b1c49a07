"""``kubescheduler explain``: every rule has its page, found by its name and by every reason that it gives."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from algorithmprovider.algorithms import FIT_PREDICATES, PRIORITIES
from docs.generate.blocks import ROOT
from docs.generate.plugin_tables import IN_TREE, all_plugins
from kubescheduler.releases.names import RELEASE_NAMES
from kubescheduler.report.rule_pages import (
    AS_IN,
    PREDICATE_MAKERS,
    PRIORITY_MAKERS,
    RulePage,
    all_pages,
    by_range,
    of_release,
    pages_about,
    rule_text,
)
from tests.kubescheduler.cli.conftest import Run

PAGES = all_pages()


def test_every_rule_has_its_page() -> None:
    """All that the reference describes, each with a text, and where it stands there is right."""
    assert {page.name for page in PAGES} >= set(all_plugins())
    for page in PAGES:
        assert page.releases, page.name
        assert page.text.strip() or any(page.differs.values()), page.name
        path, _, anchor = page.page.partition("#")
        headings = re.findall(r"^### (.+)$", (ROOT / path).read_text(encoding="utf-8"), re.M)
        assert not anchor or anchor in {heading.lower().replace(" ", "-") for heading in headings}, page.page


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        pytest.param("PodFitsResources", ["PodFitsResources"], id="predicate"),
        pytest.param("leastrequestedpriority", ["LeastRequestedPriority"], id="capitals do not matter"),
        pytest.param("NodeResourcesFit", ["NodeResourcesFit"], id="plugin"),
        pytest.param("labelPreference", ["labelPreference"], id="argument of a policy"),
        pytest.param("node(s) had untolerated taint(s)", ["TaintToleration"], id="reason"),
        pytest.param("Insufficient cpu: asks 5, 3 of 4 free", ["NodeResourcesFit"], id="reason with evidence"),
        pytest.param(
            "0/3 nodes are available: 2 Insufficient cpu, 1 node(s) were unschedulable.",
            ["NodeResourcesFit", "PodFitsResources", "CheckNodeUnschedulable", "NodeUnschedulable"],
            id="message",
        ),
        pytest.param("untolerated", ["TaintToleration"], id="part of a reason"),
        pytest.param("gobbledygook", [], id="nothing"),
    ],
)
def test_what_is_found(wanted: str, names: list[str]) -> None:
    """By name, by reason, by what holds a reason."""
    found = [page.name for page in pages_about(wanted, PAGES)]
    assert set(names) <= set(found)
    assert bool(names) == bool(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.kind} {page.name}")
def test_every_reason_leads_to_its_rule(page: RulePage) -> None:
    """With anything in place of what varies."""
    for reason in page.reasons:
        said = re.sub(r"<[A-Za-z ]+>", "example.com/gpu", reason)
        assert page in pages_about(said, PAGES), said


def test_a_page(kubescheduler: Run) -> None:
    """What it does, where it takes part, its reasons with their codes, in lines of at most a hundred columns."""
    outcome = kubescheduler("explain", "NodeResourcesFit")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith(f"NodeResourcesFit: plugin of 1.18 to {RELEASE_NAMES[-1]}\n\n")
    assert " at preFilter, filter, preScore, score, placementScore; default weight 1.\n" in outcome.out
    assert "\n  Too many pods (Unschedulable)\n" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        *({**FIT_PREDICATES, **PREDICATE_MAKERS}.items()),
        *({**{name: factory.make for name, factory in PRIORITIES.items()}, **PRIORITY_MAKERS}.items()),
    ],
)
def test_a_page_has_the_text_of_the_rule(name: str, rule: Callable[..., Any]) -> None:
    """What stands there is the docstring of what is registered under the name, and nothing else."""
    assert all(page.text == rule_text(rule) for page in PAGES if page.name == name and page.kind != "plugin")


@pytest.mark.parametrize("name", all_plugins())
def test_a_page_has_the_text_of_the_plugin(name: str, kubescheduler: Run) -> None:
    """The newest release's docstring in full, and an older one's for what differs there."""
    [page] = [page for page in PAGES if page.name == name and page.kind == "plugin"]
    makers = {release: plugins[name].make for release, plugins in IN_TREE.items() if name in plugins}
    newest = list(makers.values())[-1]
    assert page.text == rule_text(newest)
    assert page.page == f"docs/reference/plugins.md#{name.lower()}"
    texts = {release: " ".join(rule_text(make).split()) for release, make in makers.items() if make is not newest}
    assert page.differs == texts
    out = " ".join(kubescheduler("explain", name).out.split())
    assert " ".join(page.text.split()) in out
    assert all(f"In {releases}: {text}" in out for releases, text in by_range(page.differs))


def test_releases_that_say_the_same_are_one_range(kubescheduler: Run) -> None:
    """What a plugin does there, and where it takes part."""
    out = kubescheduler("explain", "NodeName").out
    assert f"\nIn 1.18 to {RELEASE_NAMES[-1]} at filter.\n" in out
    assert out.startswith(f"NodeName: plugin of 1.18 to {RELEASE_NAMES[-1]}\n")
    assert "predicate of 1.15 and 1.16" in kubescheduler("explain", "MaxCinderVolumeCount").out
    assert "predicate of 1.4 to 1.16" in kubescheduler("explain", "PodFitsResources").out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.kind} {page.name}")
def test_every_release_is_told_in_full(page: RulePage) -> None:
    """First what the rule does in some release, told by no other; then what differs, release by release."""
    for release, said in page.differs.items():
        told_by = AS_IN.match(said)
        assert told_by is None or (told_by[1] in page.releases and told_by[1] != release), said
    for release in page.releases:
        own = of_release(page, release)
        assert own is not None
        first, *others = own.text.split("\n\n")
        assert first.strip()
        assert not AS_IN.match(first)
        there = page.differs.get(release)
        assert not there or there == " ".join(first.split()) or f"In {release}: {there}" in others


def test_one_release(kubescheduler: Run) -> None:
    """What the rule does there alone, and what changed up to it and after it."""
    out = kubescheduler("explain", "TaintToleration", "--release", "1.24.3").out
    assert out.startswith("TaintToleration: plugin of 1.24\n\n")
    assert "node(s) had untolerated taint {<TAINT>}" in out or "node(s) had untolerated taint" in out
    before, after = out.partition("What changed after 1.24:")[::2]
    up_to = before.partition("What changed up to 1.24:")[2]
    assert "  1.23 taint-toleration-weighs-3: " in up_to
    assert "  1.24 taints-are-untolerated: " in up_to
    assert "  1.35 untolerated-taints-one-reason: " in after
    older = kubescheduler("explain", "SelectorSpreadPriority", "--release", "1.4").out
    assert older.startswith("SelectorSpreadPriority: priority of 1.4\n")
    assert "  1.15 selector-spread-counts-pods-of-all-selectors: " in older


def test_a_release_without_the_rule(kubescheduler: Run) -> None:
    """It is refused with the releases that have it."""
    outcome = kubescheduler("explain", "NodeLabel", "--release", "1.36")
    assert outcome.status == 2
    assert outcome.err.endswith("release 1.36 has no such rule: NodeLabel is a plugin of 1.18 to 1.22\n")


def test_formulas_stay_as_they_are(kubescheduler: Run) -> None:
    """Indented lines are not filled."""
    assert "\n    part = 10·((m - count) / m), 10 if m is 0\n" in kubescheduler("explain", "SelectorSpreadPriority").out


def test_an_unquoted_reason(kubescheduler: Run) -> None:
    """Words that the shell has taken apart are one reason."""
    assert kubescheduler("explain", "Insufficient", "cpu") == kubescheduler("explain", "Insufficient cpu")


def test_what_is_not_there(kubescheduler: Run) -> None:
    """Names the nearest rule."""
    outcome = kubescheduler("explain", "NodeRessourcesFit")
    assert outcome.status == 2
    assert outcome.err.endswith("'NodeRessourcesFit'; did you mean NodeResourcesFit?\n")
