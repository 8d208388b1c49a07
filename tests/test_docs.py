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

from clusterstate.manifests.kinds import KINDS
from docs.generate.blocks import ROOT, agreed, blocks, commands, documents, refreshed
from docs.generate.plugin_tables import ARGS_KEYS, all_plugins, cell, reasons_of, text_blocks
from docs.generate.reference_tables import filled, tables
from kubescheduler.core.decision import Decision
from kubescheduler.framework.contract.handle import Handle, Services
from kubescheduler.framework.plugins.plugin_record import BY_NODE, UNRESOLVABLE, PluginReason, args_types
from kubescheduler.releases.lookup import RELEASES
from kubescheduler.report.rule_pages import (
    OLD,
    RELEASE,
    all_predicates,
    predicate_texts,
    predicate_texts_1_4,
    priority_texts,
    priority_texts_1_4,
    reasons,
    rule_text,
)
from predicates.types import PredicateArgs
from tests.support.build import cache_of
from tests.support.releases_tried import FRAMEWORKS_TRIED, RELEASES_TRIED, vectors_dir

IN_TREE = {release: RELEASES[release].framework_rules.plugins for release in FRAMEWORKS_TRIED}
"""Release → its plugins."""
SHOWN = {release: RELEASES[release].framework_rules.plugins for release in ARGS_KEYS}
"""The same of the two releases that the pages of plugins speak of."""

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
    """Every console and Python block runs and prints what the page shows; after a change: python -m docs.generate."""
    text = text_of(path)
    assert refreshed(text, tmp_path) == text


FILE_NOTE = re.compile(r"^<!-- (?:file|append): (?:.*/)?(.*) -->$", re.MULTILINE)


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=name_of)
def test_files_are_named_where_a_reader_sees_it(path: Path) -> None:
    """The paragraph before a block that is to be a file says the file's name; the comment that says it is not shown."""
    text = text_of(path)
    for note in FILE_NOTE.finditer(text):
        before = text[: note.start()].rstrip().rpartition("\n\n")[2]
        assert note[1] in before, f"{note[1]}: {before}"
        assert not before.endswith("```"), note[1]


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


INSTALL = ROOT / "docs" / "how-to" / "install.md"


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=name_of)
def test_pages_say_how_the_command_is_installed(path: Path) -> None:
    """A page that runs the command leads to the page on installing; one that runs pytest, to where that is named."""
    text = text_of(path)
    ran = [command for block in blocks(text) if block.kind == "console" for command, _ in commands(block.body)]
    links = {link for link in LINK.findall(text) if (path.parent / link.partition("#")[0]).resolve() == INSTALL}
    if path != INSTALL and any(re.search(r"(^|\| |\n)kubescheduler ", command) for command in ran):
        assert links
    if any(re.search(r"\bpytest\b", command) for command in ran):
        assert any(link.endswith("#extras") for link in links)
    assert "pytest" in text_of(INSTALL)


def test_extras_are_installed_from_a_clone() -> None:
    """No page asks a package registry for what is in none."""
    for path in DOCUMENTS:
        assert not re.search(r"install[^\n]*kubescheduler\[", text_of(path)), path


def test_every_block_that_is_compared_is_found() -> None:
    """An output without a language would be compared with nothing."""
    with pytest.raises(ValueError, match="has no language"):
        blocks("<!-- output -->\n```\n5\n```\n")


HOW_TO = sorted((ROOT / "docs" / "how-to").glob("*.md"))
TUTORIALS = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
NEEDS_A_CLUSTER = {"dry-run.md"}
"""What stands there cannot be run without a real scheduler."""


def named_releases(text: str) -> set[str]:
    """The releases that a text names."""
    return set(re.findall(r"(?<![\w.])1\.(?:4|16|20|36)(?![\w.]*\d)", text))


@pytest.mark.parametrize("path", HOW_TO, ids=name_of)
def test_how_tos_speak_of_all_releases(path: Path) -> None:
    """Each has a section on what holds in which release, or in all, and runs what it runs in an old one and
    in the newest.
    """
    text = text_of(path)
    section = re.search(r"^## In each release\n(.+?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section is not None
    prose = re.sub(r"^```.*?^```$", "", section[1], flags=re.MULTILINE | re.DOTALL)
    assert re.search(r"\b1\.\d+\b|\b(every|all|any) releases?\b", prose)
    if path.name not in NEEDS_A_CLUSTER:
        ran = named_releases("\n".join(block.body for block in blocks(text)))
        assert "1.36" in ran
        assert len(ran) > 1


@pytest.mark.parametrize("path", [*TUTORIALS, ROOT / "README.md", ROOT / "docs" / "tour.md"], ids=name_of)
def test_tutorials_name_all_releases(path: Path) -> None:
    """A lesson is given in one release, and says how the others are."""
    assert named_releases(text_of(path)) == set(RELEASES_TRIED)


def test_every_kind_is_asked_of_a_live_cluster() -> None:
    """The page on live clusters names each kind that is read, and what is missing without it."""
    table = text_of(ROOT / "docs" / "how-to" / "live-cluster.md").partition("| kind |")[2].partition("\n\n")[0]
    named = {kind for row in table.splitlines()[2:] for kind in row.split("|")[1].replace(",", " ").split()}
    assert named == set(KINDS)


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
    """The text of every predicate and priority, its docstring's, stands on its page in full."""
    pages = {kind: text_of(ROOT / "docs" / "reference" / f"{kind}.md") for kind in ("predicates", "priorities")}
    for kind, texts in (("predicates", predicate_texts()), ("priorities", priority_texts())):
        assert all(text and text_blocks(text) in pages[kind] for text in texts.values())
    for kind, texts in (("predicates", predicate_texts_1_4()), ("priorities", priority_texts_1_4())):
        assert all(f"| {cell(text) or 'nothing'} |" in pages[kind] for text in texts.values())
    assert {*RELEASES_TRIED} == {RELEASE, OLD, "1.20", "1.36"}


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
    page = text_of(ROOT / "docs" / "reference" / "decision.md").partition("## Extenders")[0]
    assert documented(page) == members(Decision)


def documented(page: str) -> set[str]:
    """The names in the first column of a page's tables."""
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)", row)}


def members(kind: type[Decision]) -> set[str]:
    """Fields, properties and methods."""
    fields = {field.name for field in attrs.fields(kind)}
    return {n for n in fields | {n for n, _ in inspect.getmembers(kind)} if n[0] != "_"}


# --- plugins -----------------------------------------------------------------------------------


def test_every_plugin_is_described() -> None:
    """The text of every plugin, its docstring's, stands on its page in full; no args type is without one."""
    page = text_of(ROOT / "docs" / "reference" / "plugins.md")
    for name in all_plugins():
        makers = [plugins[name].make for plugins in SHOWN.values() if name in plugins]
        assert f"### {name}\n\n{text_blocks(rule_text(makers[-1]))}" in page
        assert makers[0] is makers[-1] or f"In 1.20: {text_blocks(rule_text(makers[0]))}" in page
    for name in {name for keys in ARGS_KEYS.values() for name in keys}:
        kinds = [args_types(plugins)[name] for plugins in SHOWN.values() if name in args_types(plugins)]
        assert len({kind.description.strip() for kind in kinds} - {""}) == 1, name


@pytest.mark.parametrize("release", IN_TREE)
def test_documented_codes_are_those_of_the_plugins(release: str) -> None:
    """Every reason of PreFilter and Filter has the code that the plugin gives it."""
    seen = 0
    for name in (name for name, plugin in IN_TREE[release].items() if plugin.reasons):
        check = getattr(made(release, name), "check", None)
        for reason in reasons_of(release, name):
            if reason.code != BY_NODE and "Filter" in reason.point and "Post" not in reason.point:
                assert check is not None, name
                assert check.unresolvable(reason.text) is (reason.code == UNRESOLVABLE), f"{name}: {reason.text}"
                seen += 1
    assert seen > 20


@pytest.mark.parametrize("release", IN_TREE)
def test_documented_reasons_of_plugins_are_those_of_kube_scheduler(release: str) -> None:
    """Every reason that kube-scheduler was recorded to give stands under its plugin, with the recorded code.

    Errors, which end the attempt, are no reasons.
    """
    recorded: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for path in (vectors_dir() / release).glob("*.jsonl.gz"):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            for result in msgspec.json.decode(line)["results"]:
                for node, checks in result["checks"].items():
                    for name, texts in checks.items():
                        code = result["codes"].get(node, "") if len(checks) == 1 == len(texts) else ""
                        recorded[name] |= {(text, code) for text in texts if not text.startswith("error: ")}
    for name, found in recorded.items():
        for text, code in found:
            codes = {reason.code for reason in reasons_of(release, name) if pattern(reason).fullmatch(text)}
            assert codes, f"{name}: {text}"
            assert any(code in shown_code.split(" or ") for shown_code in codes) or not code, f"{name}: {text}: {code}"
    assert len(recorded) > 10


def pattern(reason: PluginReason) -> re.Pattern[str]:
    """What a reason's text matches, with anything for what varies."""
    return re.compile(re.sub("<[A-Z]+>", ".*", re.escape(reason.text)))


def made(release: str, name: str) -> object:
    """A plugin with the args it has by default."""
    return IN_TREE[release][name].make(None, Handle(Services(release, cache_of()), "default-scheduler"))


def test_every_folder_is_named() -> None:
    """The architecture says of each folder of the packages what is in it."""
    packages = ("algorithmprovider", "clusterstate", "kubecel", "kubescheduler", "predicates", "priorities")
    modules = (path.relative_to(ROOT) for name in packages for path in (ROOT / name).rglob("*.py"))
    folders = {path.parent.name for path in modules if "shipped" not in path.parts}
    named = set(re.findall(r"`(\w+)/`", text_of(ROOT / "ARCHITECTURE.md")))
    assert folders - named == set()


def test_one_decision_names_what_is_there() -> None:
    """Every file, class and function that the page leads through."""
    page = text_of(ROOT / "docs/explanation/one-decision.md")
    files = [path for name in ("kubescheduler", "clusterstate", "priorities") for path in (ROOT / name).rglob("*.py")]
    named = [name.rpartition("/")[2] for name in re.findall(r"`([\w/]+\.py)`", page)]
    assert {*named} - {path.name for path in files} == set()
    code = "".join(map(text_of, files))
    names = {part for name in re.findall(r"`([A-Za-z]\w*(?:\.\w+)?)`", page) for part in name.split(".")}
    names -= {"py", "simulate", "run", *named, *(name.removesuffix(".py") for name in named)}
    assert [name for name in sorted(names) if not re.search(rf"\b(?:class|def) {name}\b", code)] == []


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
