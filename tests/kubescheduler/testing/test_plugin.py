"""The plugin as pytest finds it: its entry point, and what it costs those who do not use it."""

from __future__ import annotations

import ast
import configparser
import json
import subprocess
import sys
from pathlib import Path

import pytest

import kubescheduler
from tests.kubescheduler.testing.conftest import Project

ROOT = Path(kubescheduler.__file__).parent.parent
LATE = {"attr", "click", "clusterstate", "msgspec", "numpy", "predicates", "rich", "yaml"}
"""What is not imported until a test asks for a fixture."""
LIGHT = {"clusterstate", "kubescheduler.releases.names"}
"""The exception: the names of the releases, which the front door lists."""


def test_entry_point() -> None:
    """The package names its plugin to pytest, and says so in its classifiers."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    assert config["options.entry_points"]["pytest11"].strip() == "kubescheduler = kubescheduler.testing.pytest_plugin"
    assert "Framework :: Pytest" in config["metadata"]["classifiers"]


def test_plugin_imports_little() -> None:
    """Loading the plugin imports neither numpy nor anything else that takes long."""
    code = (
        "import json, sys, pytest\nbefore = set(sys.modules)\nimport kubescheduler.testing.pytest_plugin\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout) if name not in LIGHT}
    assert loaded & LATE == set()
    assert len(json.loads(done.stdout)) < 10


def test_only_the_plugin_imports_pytest() -> None:
    """Outside kubescheduler.testing nothing of the product needs pytest."""
    found = {
        path.relative_to(ROOT).parts[:2]
        for package in ("algorithmprovider", "clusterstate", "kubescheduler", "predicates", "priorities")
        for path in (ROOT / package).rglob("*.py")
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
        "kubescheduler: cluster: expected a file name, a manifest, YAML text or an object, found 5"
    ]


def test_it_can_be_left_out(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pytest runs without it when it is told so."""
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    project.test("def test(scheduler): pass")
    result = project.pytester.runpytest_subprocess("-p", "no:kubescheduler")
    result.assert_outcomes(errors=1)
    assert "fixture 'scheduler' not found" in str(result.stdout)
