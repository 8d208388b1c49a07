"""The house itself: metadata and import contracts; tests/benchmarks/test_structure.py holds the sizes."""

from __future__ import annotations

import configparser
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import kubescheduler
from benchmarks.structure import GIVEN, PACKAGES, ROOT
from tests.support.releases_tried import vectors_dir

VENDOR = "kubescheduler/lab/page/vendor"


@pytest.fixture(scope="module")
def config() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def words(text: str) -> list[str]:
    return text.split()


def test_version_is_that_of_the_package(config: configparser.ConfigParser) -> None:
    """The one place of the version is kubescheduler.__version__, three numbers."""
    assert config["metadata"]["version"] == "attr: kubescheduler.__version__"
    assert re.fullmatch(r"\d+\.\d+\.\d+", kubescheduler.__version__)


def test_console_scripts_can_be_imported(config: configparser.ConfigParser) -> None:
    """Every console script names a function that exists."""
    scripts = config["options.entry_points"]["console_scripts"].strip().splitlines()
    for script in scripts:
        module, _, function = script.partition("=")[2].strip().partition(":")
        assert callable(getattr(importlib.import_module(module), function))
    assert [script.split()[0] for script in scripts] == ["kubescheduler", "kubectl-why", "kubectl_complete-why"]


def test_every_dependency_has_bounds(config: configparser.ConfigParser) -> None:
    """Each requirement says from which version on it works, and before which one; ruff's output is one version's."""
    lists = [config["options"]["install_requires"], *config["options.extras_require"].values()]
    for line in "\n".join(lists).strip().splitlines():
        if line and not line.startswith(("kubescheduler[", "ruff==")):
            assert sorted(bound.operator for bound in Requirement(line).specifier) == ["<", ">="], line


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_are_shipped_typed_and_under_contract(package: str, config: configparser.ConfigParser) -> None:
    """Each package is in the wheel, carries py.typed, is type-checked and has its import contracts."""
    assert f"{package}*" in words(config["options.packages.find"]["include"])
    assert package in words(config["mypy"]["files"].replace(",", " "))
    assert package in words(config["importlinter"]["root_packages"])
    assert package in words(config["importlinter:contract:storeys"]["layers"])
    assert (ROOT / package / "py.typed").is_file()


def test_no_package_is_left_out(config: configparser.ConfigParser) -> None:
    """A top-level folder that is a package is one of the five, or no part of the product."""
    found = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"benchmarks", "tests"}
    assert found == set(PACKAGES)
    assert words(config["options.packages.find"]["include"]) == [f"{name}*" for name in PACKAGES]


def test_every_folder_of_modules_is_a_package() -> None:
    """A folder without __init__.py would be missing from the wheel."""
    modules = [path for name in PACKAGES for path in (ROOT / name).rglob("*.py") if GIVEN not in path.parts]
    folders = {path.parent for path in modules}
    assert [str(path.relative_to(ROOT)) for path in sorted(folders) if not (path / "__init__.py").is_file()] == []


def test_families_are_independent(config: configparser.ConfigParser) -> None:
    """Families of predicates and of priorities share nothing but the modules that the contract names."""
    for package in ("predicates", "priorities"):
        contract = config[f"importlinter:contract:{package}"]
        assert (contract["type"], contract["modules"]) == ("independence", f"{package}.*")


def test_licence_is_apache(config: configparser.ConfigParser) -> None:
    """The licences named are those shipped, in full: ours, and those of the page's libraries."""
    own, *others = words(config["metadata"]["license_files"])
    text = (ROOT / own).read_text(encoding="utf-8")
    vendor = tomllib.loads((ROOT / VENDOR / "vendor.toml").read_text(encoding="utf-8"))["library"]
    assert set(config["metadata"]["license_expression"].split(" AND ")) == {
        "Apache-2.0",
        *(one["licence"] for one in vendor),
    }
    shipped = {path.name for pattern in others for path in ROOT.glob(pattern)}
    assert shipped == {Path(one["licence-file"]).name for one in vendor}
    assert "Version 2.0, January 2004" in text
    assert "APPENDIX: How to apply the Apache License to your work." in text


SAFE = {"urllib3": "2.8", "aiohttp": "3.14.4", "starlette": "1.3.1", "cryptography": "50"}
"""The first versions without an advisory that was known when the bounds were set."""


@pytest.mark.parametrize("name", SAFE)
def test_lower_bounds_are_free_of_known_advisories(name: str, config: configparser.ConfigParser) -> None:
    """Who installs the lowest versions gets none with a known fault."""
    lists = [config["options"]["install_requires"], *config["options.extras_require"].values()]
    found = [Requirement(line) for line in "\n".join(lists).splitlines() if re.match(rf"{name}\b", line)]
    lowest = [Version(bound.version) for one in found for bound in one.specifier if bound.operator == ">="]
    assert lowest
    assert min(lowest) >= Version(SAFE[name])


def test_recorded_decisions_are_there() -> None:
    """The recordings of 1.16 and of the real trace come with the tests."""
    themes = {path.name.removesuffix(".jsonl.gz") for path in (vectors_dir() / "1.16").glob("*.jsonl.gz")}
    assert {"interpod", "large", "mixed", "policy", "resources", "sequence", "extender"} <= themes
    assert (vectors_dir() / "openb-1.16.jsonl.gz").is_file()
    assert (vectors_dir() / "openb-1.16.scenario.json.gz").is_file()


WITHOUT_EXTRAS = """
import importlib.abc, sys

class NotInstalled(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {extras}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, NotInstalled())
from kubescheduler.__main__ import main
main()
"""
EXTRAS = {"aiohappyeyeballs", "anyio", "cryptography", "httptools", "mcp", "pandas", "prometheus_client", "pyarrow"}
CLUSTER = str(ROOT / "policy_examples" / "cluster.yaml")


@pytest.mark.parametrize(
    "arguments",
    [
        ["releases"],
        ["releases", "--between", "1.16", "1.36"],
        ["upgrade", CLUSTER, "--from", "1.20", "--to", "1.36"],
        ["migrate", str(ROOT / "policy_examples" / "bin-packing-1.36.yaml"), "--to", "1.36"],
        ["migrate", str(ROOT / "policy_examples" / "bin-packing.json"), "--to", "1.36"],
        ["schedule", CLUSTER, "--pending"],
    ],
    ids=lambda arguments: " ".join(Path(word).name for word in arguments),
)
def test_commands_run_without_extras(arguments: list[str]) -> None:
    """What is no extra's needs nothing that an extra brings."""
    code = WITHOUT_EXTRAS.format(extras=EXTRAS)
    ended = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert ended.returncode in (0, 1), ended.stderr
