"""The plugin as pytest finds it: its entry point, and what it costs those who do not use it."""

from __future__ import annotations

import ast
import configparser
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kubescheduler
from docs.generate.blocks import ROOT, blocks
from tests.kubescheduler.testing.conftest import Project

PROJECT = Path(kubescheduler.__file__).parent.parent
LATE = {"attr", "click", "clusterstate", "msgspec", "numpy", "predicates", "rich", "yaml"}
"""What is not imported until a test asks for a fixture."""
LIGHT = {"clusterstate", "kubescheduler.releases.names"}
"""The exception: the names of the releases, which the front door lists."""


def test_entry_point() -> None:
    """The package names its plugin to pytest, and says so in its classifiers."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(PROJECT / "setup.cfg", encoding="utf-8")
    assert config["options.entry_points"]["pytest11"].strip() == "kubescheduler = kubescheduler.testing.pytest_plugin"
    assert "Framework :: Pytest" in config["metadata"]["classifiers"]


def test_plugin_imports_little() -> None:
    """Loading the plugin imports neither numpy nor anything else that takes long."""
    code = (
        "import json, sys, pytest\nbefore = set(sys.modules)\nimport kubescheduler.testing.pytest_plugin\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout) if name not in LIGHT}
    assert loaded & LATE == set()
    assert len(json.loads(done.stdout)) < 10


def test_only_the_plugin_imports_pytest() -> None:
    """Outside kubescheduler.testing nothing of the product needs pytest."""
    found = {
        path.relative_to(PROJECT).parts[:2]
        for package in ("algorithmprovider", "clusterstate", "kubescheduler", "predicates", "priorities")
        for path in (PROJECT / package).rglob("*.py")
        if "pytest" in imported(path)
    }
    assert found == {("kubescheduler", "testing")}


def imported(path: Path) -> set[str]:
    """The top-level names of everything that a file imports; of files that may import pytest."""
    names = set()
    text = path.read_text(encoding="utf-8")
    for found in ast.walk(ast.parse(text if "pytest" in text else "")):
        if isinstance(found, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in found.names}
        elif isinstance(found, ast.ImportFrom) and found.module and not found.level:
            names.add(found.module.partition(".")[0])
    return names


def test_markers_and_options_are_registered(shop: Project) -> None:
    """Markers are known to --strict-markers and --markers, fixtures and the option have their texts."""
    shop.test('@pytest.mark.cluster("cluster.json")\n@pytest.mark.scheduler("")\ndef test(scheduler): pass')
    shop.run("--strict-markers", "--strict-config", passed=1)
    assert "@pytest.mark.cluster(*files): the cluster of the test" in str(shop.printed("--markers").stdout)
    assert "--placements-update" in str(shop.printed("--help").stdout)
    shown = str(shop.printed("--fixtures").stdout)
    assert all(f"\n{name} -- " in shown for name in ("cluster", "scheduler", "compare_placements", "placements"))


def test_projects_that_do_not_use_it(project: Project) -> None:
    """Fixtures of the same names are the project's own, and nothing is added to what pytest prints."""
    project.test(
        '@pytest.fixture\ndef cluster():\n    return "mine"\n'
        '@pytest.fixture\ndef scheduler():\n    return "mine too"\n'
        'def test(cluster, scheduler):\n    assert (cluster, scheduler) == ("mine", "mine too")'
    )
    assert "kubescheduler" not in project.run(passed=1)


def test_own_fixture_of_another_kind(project: Project) -> None:
    """A fixture cluster that is something else is refused in words by the fixture scheduler."""
    body = "@pytest.fixture\ndef cluster():\n    return 5\ndef test(scheduler): ..."
    assert project.fault(body) == [
        "kubescheduler: cluster: expected a file name, a manifest, YAML or JSON text, or an object, found 5"
    ]


def test_it_can_be_left_out(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pytest runs without it when it is told so."""
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    project.test("def test(scheduler): pass")
    result = project.pytester.runpytest_subprocess("-p", "no:kubescheduler")
    result.assert_outcomes(errors=1)
    assert "fixture 'scheduler' not found" in str(result.stdout)


PAGE = ROOT / "docs" / "how-to" / "pytest.md"
EXAMPLE = ROOT / "docs" / "how-to" / "pytest-example"
ONLY_SHOWN = {"test_wrong.py"}


def files(folder: Path) -> dict[str, str]:
    """Path in the folder → text, of every file but compiled ones."""
    found = (path for path in folder.rglob("*") if path.is_file() and "cache" not in str(path.relative_to(folder)))
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}


def test_example_is_what_the_page_builds() -> None:
    """The folder has the files of the page as they are at its end, and the record that it shows."""
    text = PAGE.read_text(encoding="utf-8")
    written = {
        block.note.removeprefix("file: "): block.body for block in blocks(text) if block.note.startswith("file: ")
    }
    there = files(EXAMPLE)
    records = {name: there.pop(name) for name in list(there) if name.startswith("__placements__/")}
    assert there == {name: body for name, body in written.items() if name not in ONLY_SHOWN}
    assert len(records) == 1
    assert all(record in text for record in records.values())


def test_example_passes(project: Project) -> None:
    """Its tests pass, and its record is used."""
    shutil.copytree(EXAMPLE, project.path, dirs_exist_ok=True)
    assert "unused" not in project.run(passed=12)


DEAD = "http://127.0.0.1:1"


@pytest.fixture
def dead(shop: Project) -> Project:
    """A project with a policy whose extender is dead, and a pod."""
    _policy(shop, DEAD)
    shop.write("web.yaml", "{kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: web}]}}")
    return shop


def _policy(project: Project, address: str) -> Path:
    asked: dict[str, Any] = {"urlPrefix": f"{address}/good", "filterVerb": "filter"}
    return project.write("p.json", {"kind": "Policy", "apiVersion": "v1", "extenders": [asked]})


def _test(project: Project, marker: str) -> None:
    project.test(
        f"import pytest\n@pytest.mark.scheduler({marker})\n"
        'def test(scheduler):\n    assert scheduler.place("web.yaml")["default/web"] is not None\n'
    )


@pytest.mark.parametrize(
    "marker", ['"policy=p.json,extenders=pass"', 'policy="p.json", extenders="pass"'], ids=["text", "arguments"]
)
@pytest.mark.parametrize("setting", ["", "kubescheduler_extenders = replay gone.jsonl\n"], ids=["alone", "setting"])
def test_a_marker_passes_extenders_through(dead: Project, marker: str, setting: str) -> None:
    """The pod is placed though nobody answers, whatever the setting is, and the run says how."""
    dead.write("pytest.ini", f"[pytest]\nkubescheduler_cluster = cluster.json\n{setting}")
    _test(dead, marker)
    assert "PASSED THROUGH" in dead.run(passed=1)


def test_a_marker_records_and_replays(dead: Project, address: str) -> None:
    """The record is made in the first folder; the replay asks no extender, and what was not recorded is an error."""
    _policy(dead, address)
    _test(dead, 'policy="p.json", extenders="record answers.jsonl"')
    dead.run(passed=1)
    assert (dead.path / "answers.jsonl").read_bytes()
    _test(dead, 'policy="p.json", extenders="replay answers.jsonl"')
    dead.run(passed=1)
    dead.write("web.yaml", "{kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: other}]}}")
    dead.run(failed=1)
