"""./check: what each way of calling it runs, and which tests mirror a changed file."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.support.mirrored_tests import ROOT, mirrored_tests

RECORDING = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >> "$(dirname "$0")/log"
case "$*" in *mirrored_tests*) shift 2; [ $# -eq 0 ] || printf 'tests/test_%s\\n' "$@" ;; esac
[ "$(basename "$0") ${1:-}" != "${FAILING:-}" ]
"""
FIRST = ["ruff format --check .", "ruff check .", "lint-imports "]
PYTEST = "python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal"


@attrs.frozen
class Clone:
    """A repository with ./check in it, and an active environment whose programs only record how they are called."""

    folder: Path

    def run(self, *arguments: str, failing: str = "") -> subprocess.CompletedProcess[str]:
        """./check with these arguments; ``failing`` is a program with its first argument that fails."""
        return subprocess.run(
            ["bash", str(self.folder / "check"), *arguments],
            env={**os.environ, "VIRTUAL_ENV": str(self.folder / ".venv"), "FAILING": failing},
            capture_output=True,
            text=True,
            check=False,
        )

    def ran(self) -> list[str]:
        """What was called, in order, without the question whether the environment is complete."""
        log = self.folder / ".venv" / "bin" / "log"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [line for line in lines if line != "python -I -"]

    def git(self, *arguments: str) -> None:
        """git, on behalf of nobody in particular."""
        who = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        subprocess.run(["git", *who, *arguments], cwd=self.folder, env=inherited, check=True, capture_output=True)

    def write(self, name: str, text: str = "") -> None:
        """Writes a file below the repository's folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    """On branch main, everything committed."""
    for key in [key for key in os.environ if key.startswith("GIT_")]:
        monkeypatch.delenv(key)
    made = Clone(tmp_path)
    shutil.copy(ROOT / "check", tmp_path / "check")
    made.write(".gitignore", ".venv\n")
    made.write("kept.py")
    for program in ("python", "ruff", "mypy", "lint-imports"):
        made.write(f".venv/bin/{program}", RECORDING)
        (tmp_path / ".venv" / "bin" / program).chmod(0o755)
    made.git("init", "--initial-branch=main")
    made.git("add", ".")
    made.git("commit", "-m", "first")
    return made


@pytest.mark.parametrize("arguments", [[], ["-k", "affinity"]], ids=["plain", "for pytest"])
def test_everything(clone: Clone, arguments: list[str]) -> None:
    """Without an option every check runs over everything; what else is given goes to pytest."""
    assert clone.run(*arguments).returncode == 0
    ran = clone.ran()
    ran.remove(" ".join([PYTEST, *arguments]))  # beside the others
    assert ran == [*FIRST, "mypy "]


def test_the_first_failure_ends_it(clone: Clone) -> None:
    """What comes after a failed check does not run."""
    done = clone.run(failing="ruff check")
    assert done.returncode == 1
    assert [line for line in clone.ran() if not line.startswith("python")] == FIRST[:2]
    assert "FAILED  ruff check ." in done.stdout


@pytest.mark.parametrize("failing", ["python -m", "mypy "])
def test_what_fails_beside_another_is_a_failure(clone: Clone, failing: str) -> None:
    """Of pytest and of mypy, whichever ends first."""
    assert clone.run(failing=failing).returncode == 1


def test_help(clone: Clone) -> None:
    """The ways of calling it, without running anything."""
    done = clone.run("--help")
    assert (done.returncode, clone.ran()) == (0, [])
    assert all(option in done.stdout for option in ("--fast", "--fix", "pytest"))


def test_fix(clone: Clone) -> None:
    """It corrects and formats, and is content where ruff cannot correct something."""
    assert clone.run("--fix", failing="ruff check").returncode == 0
    assert clone.ran() == ["ruff check --fix --quiet .", "ruff format ."]


def test_fix_takes_nothing_else(clone: Clone) -> None:
    """A usage error, before anything is changed."""
    done = clone.run("--fix", "kept.py")
    assert (done.returncode, clone.ran()) == (2, [])
    assert done.stderr == "check: --fix takes nothing after it; got kept.py\n"


def test_laws(clone: Clone) -> None:
    """Laws alone, with as many times the time that a test has; what else is given goes to pytest."""
    assert clone.run("--laws", "50", "-x").returncode == 0
    assert clone.ran() == [f"{PYTEST} --laws 50 --timeout 15000 -o faulthandler_timeout=30000 -x"]


@pytest.mark.parametrize("times", [[], ["0"], ["many"]], ids=["missing", "none", "a word"])
def test_laws_take_a_number(clone: Clone, times: list[str]) -> None:
    """A usage error, before anything runs."""
    done = clone.run("--laws", *times)
    assert (done.returncode, clone.ran()) == (2, [])
    assert done.stderr == f"check: --laws takes how many times their examples laws run; got '{''.join(times)}'\n"


def test_fast_without_changes(clone: Clone) -> None:
    """Nothing changed, nothing runs but the question for tests."""
    assert clone.run("--fast").returncode == 0
    assert clone.ran() == ["python -m tests.support.mirrored_tests"]


def test_fast(clone: Clone) -> None:
    """Files committed on the branch, changed and new, but not those removed; what else is given goes to pytest."""
    clone.git("checkout", "-b", "branch")
    clone.write("committed.py", "x = 1\n")
    clone.git("add", ".")
    clone.git("commit", "-m", "second")
    clone.git("rm", "kept.py")
    clone.write("new.py")
    clone.write("page.md")
    done = clone.run("--fast", "-x")
    assert done.returncode == 0, done.stdout
    assert clone.ran() == [
        "ruff format --check committed.py new.py",
        "ruff check committed.py new.py",
        "mypy ",
        "lint-imports ",
        "python -m tests.support.mirrored_tests committed.py new.py page.md",
        "python -m pytest --quiet --numprocesses 0 tests/test_committed.py tests/test_new.py tests/test_page.md -x",
    ]


TREE = {
    "clusterstate/objects.py": "",
    "clusterstate/cache.py": "",
    "clusterstate/pods.py": "",
    "clusterstate/pods_added.py": "",
    "tests/clusterstate/test_cache.py": "",
    "tests/clusterstate/test_pods.py": "",
    "tests/clusterstate/test_pods_added.py": "",
    "tests/clusterstate/test_pods_laws.py": "",
    "tests/clusterstate/test_roster.py": "from clusterstate import roster\n",
    "tests/clusterstate/test_usage.py": "from clusterstate.roster import X\nfrom tests.support.build import node\n",
    "tests/predicates/test_ports.py": "import clusterstate.roster\nfrom clusterstate.objects import Pod\n",
    "tests/test_packaging.py": "from clusterstate.rosters import X\n",
    "README.md": "text\n",
    "docs/how-to/page.md": "```console\n$ true\n```\n",
}


MIRRORED_TESTS: dict[str, Any] = {
    "module": ("clusterstate/cache.py", ["tests/clusterstate/test_cache.py"]),
    "module with a test of its name": ("clusterstate/roster.py", ["tests/clusterstate/test_roster.py"]),
    "module with several tests": (
        "clusterstate/pods.py",
        ["tests/clusterstate/test_pods.py", "tests/clusterstate/test_pods_laws.py"],
    ),
    "module that no test of its folder imports": ("clusterstate/objects.py", []),
    "test": ("tests/clusterstate/test_usage.py", ["tests/clusterstate/test_usage.py"]),
    "test that is gone": ("tests/clusterstate/test_gone.py", []),
    "support": ("tests/support/build.py", ["tests/clusterstate/test_usage.py"]),
    "metadata": ("setup.cfg", ["tests/test_packaging.py"]),
    "check": ("check", ["tests/test_check.py"]),
    "page": ("README.md", ["tests/test_docs.py::test_links_lead_somewhere[README.md]"]),
    "page with examples": (
        "docs/how-to/page.md",
        [
            "tests/test_docs.py::test_examples_run_and_print_what_is_shown[docs/how-to/page.md]",
            "tests/test_docs.py::test_links_lead_somewhere[docs/how-to/page.md]",
        ],
    ),
    "nothing": ("LICENSE", []),
}


@pytest.mark.parametrize(("changed", "tests"), MIRRORED_TESTS.values(), ids=MIRRORED_TESTS)
def test_mirrored_tests(changed: str, tests: list[str], tmp_path: Path) -> None:
    """By name; where no test has the name, by import, near the module."""
    for name, text in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert mirrored_tests([changed], tmp_path) == tests


def test_modules_without_a_test_of_their_name(tmp_path: Path) -> None:
    """The tests of the folder that import them, in whatever form."""
    for name, text in TREE.items():
        if name != "tests/clusterstate/test_roster.py":
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    assert mirrored_tests(["clusterstate/roster.py"], tmp_path) == ["tests/clusterstate/test_usage.py"]


def test_pages_are_named_as_the_tests_name_them() -> None:
    """The ids of the tests of pages are the paths."""
    found = mirrored_tests(["README.md", "docs/reference/errors.md"])
    assert "tests/test_docs.py::test_links_lead_somewhere[docs/reference/errors.md]" in found
