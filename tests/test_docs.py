"""The documentation is true: its commands and programs run, its outputs and tables are those of this version."""

from __future__ import annotations

import gzip
import inspect
import re
from collections import defaultdict
from pathlib import Path

import attrs
import msgspec
import pytest

from algorithmprovider import RELEASES, registry
from docs import rules
from docs.blocks import ROOT, agreed, blocks, commands, documents, refreshed
from docs.tables import (
    CUSTOM_PRIORITIES,
    OLD,
    OLD_ARGUMENTS,
    RELEASE,
    all_predicates,
    all_priorities,
    filled,
    predicates_1_4,
    reasons,
    tables,
)
from kubescheduler.core.decision import Decision
from predicates.types import PredicateArgs
from tests.conftest import vectors_dir

DOCUMENTS = documents()
WITH_EXAMPLES = [path for path in DOCUMENTS if blocks(path.read_text(encoding="utf-8"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
MOST_NOT_RUN = 3
"""The README's two commands, and the benchmark."""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    prose = re.sub(r"^```.*?^```$", "", text_of(path), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=name_of)
def test_examples_run_and_print_what_is_shown(path: Path, tmp_path: Path) -> None:
    """Every console and Python block runs and prints what the page shows; after a change: python -m docs.update."""
    text = text_of(path)
    assert refreshed(text, tmp_path) == text


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    """Every relative link names a file that is there, and a heading in it."""
    for link in LINK.findall(text_of(path)):
        if not link.startswith("http"):
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def test_every_page_is_listed() -> None:
    """Each page of docs/ is linked from its index."""
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / link).resolve() for link in LINK.findall(text_of(index))}
    assert {path for path in (ROOT / "docs").rglob("*.md") if path != index} <= listed


def test_few_examples_are_not_run() -> None:
    """Hardly anything is exempt, and every fenced block with a prompt is a console block."""
    found = [block for path in DOCUMENTS for block in blocks(text_of(path))]
    assert sum(block.note == "not run" for block in found) <= MOST_NOT_RUN
    assert [b.body for b in found if b.body.startswith("$ ") and b.kind != "console"] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_generated_parts_are_up_to_date(path: Path) -> None:
    """What is written from the registry is what the registry says now."""
    assert filled(text_of(path)) == text_of(path)


def test_every_table_is_used_once() -> None:
    """Each generated part stands in exactly one page."""
    marks = [name for path in DOCUMENTS for name in re.findall(r"<!-- begin ([\w ]+) -->", text_of(path))]
    assert sorted(marks) == sorted(tables())


def test_every_rule_is_described() -> None:
    """No predicate or priority of the registry is without a text, and no text without a rule."""
    assert set(rules.PREDICATES) == set(all_predicates())
    assert set(rules.PRIORITIES) == {*all_priorities(), *CUSTOM_PRIORITIES}
    assert set(rules.PREDICATES_1_4) == set(predicates_1_4())
    assert set(rules.PRIORITIES_1_4) == {*registry(OLD).priorities, *OLD_ARGUMENTS}
    assert set(RELEASES) == {RELEASE, OLD}


def test_documented_reasons_are_those_of_kube_scheduler() -> None:
    """Every reason that kube-scheduler was recorded to give stands under its predicate."""
    recorded: dict[str, set[str]] = defaultdict(set)
    for path in (vectors_dir() / "1.16").glob("*.jsonl.gz"):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            for result in msgspec.json.decode(line)["results"]:
                for checks in result["checks"].values():
                    for name, found in checks.items():
                        recorded[name] |= {re.sub("^Insufficient .*", "Insufficient <resource>", r) for r in found}
    shown = {name: set(reasons(make(PredicateArgs()).check)) for name, make in all_predicates().items()}
    for name, found in recorded.items():
        if name in shown:
            assert {reason for reason in found if not reason.startswith("error: ")} <= shown[name], name
    assert len(recorded.keys() & shown.keys()) > 10


def test_every_field_of_a_decision_is_documented() -> None:
    """The page on decisions has a row for each field, property and method, and no other."""
    page, _, _ = text_of(ROOT / "docs" / "reference" / "decision.md").partition("## Extenders")
    fields = {field.name for field in attrs.fields(Decision)}
    members = {name for name, _ in inspect.getmembers(Decision) if not name.startswith("_")} - fields
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)", row)} == fields | members


def test_changelog_has_this_version() -> None:
    """What is about to be released stands under Unreleased, in the form of Keep a Changelog."""
    changelog = text_of(ROOT / "CHANGELOG.md")
    assert "## [Unreleased]" in changelog
    assert set(re.findall(r"^### (.+)$", changelog, re.M)) <= {
        "Added",
        "Changed",
        "Deprecated",
        "Removed",
        "Fixed",
        "Security",
    }


def test_commands_are_told_from_their_output() -> None:
    """A console block is commands, continued by lines that begin with >, and the lines that each prints."""
    body = "$ one \\\n>   more\nprinted\n$ two\n"
    assert list(commands(body)) == [("one \\\n>   more", "printed\n"), ("two", "")]


@pytest.mark.parametrize(
    ("shown", "printed", "stays"),
    [
        pytest.param("a\nb\n", "a\nb\n", True, id="equal"),
        pytest.param("a\n…\nd\n", "a\nb\nc\nd\n", True, id="left out"),
        pytest.param("1 passed in 0.01s\n", "1 passed in 2.34s\n", True, id="durations"),
        pytest.param("a\n", "b\n", False, id="different"),
        pytest.param("", "a\n", False, id="nothing shown"),
        pytest.param("a\n", "", False, id="nothing printed"),
    ],
)
def test_outputs_agree(shown: str, printed: str, stays: bool) -> None:
    """What is shown stays only if it says what was printed."""
    assert (agreed(shown, printed) == shown) is stays
