"""The tests that mirror changed files: ``python -m tests.support.mirrored_tests FILE …`` prints them, one a line.

A module is mirrored by the test of its name and those that carry on from it (``test_module_idea.py``, where no module
has that name); without one, by the tests of its folder that import it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
PRODUCT = ("algorithmprovider", "benchmarks", "clusterstate", "kubecel", "kubescheduler", "predicates", "priorities")
METADATA = ("setup.cfg", "setup.py", "ruff.toml", "MANIFEST.in", "pyproject.toml")


def mirrored_tests(changed: Iterable[str], root: Path = ROOT) -> list[str]:
    """pytest's arguments, sorted, for changed files given relative to the root."""
    return sorted({test for name in changed for test in _tests_of(PurePosixPath(name), root)})


def _tests_of(path: PurePosixPath, root: Path) -> Iterator[str]:
    if str(path) in METADATA:
        yield "tests/test_packaging.py"
    elif str(path) == "check":
        yield "tests/test_check.py"
    elif path.suffix == ".md":
        yield from _tests_of_page(path, root)
    elif path.suffix != ".py":
        return
    elif path.parts[0] in PRODUCT:
        yield from _tests_of_module(path, root)
    elif path.parts[0] == "tests" and path.name.startswith("test_") and (root / path).exists():
        yield str(path)
    elif path.parts[:2] == ("tests", "support"):
        yield from _importing(_dotted(path), root / "tests", root)
    elif path.parts[:2] == ("docs", "generate"):
        yield "tests/test_docs.py::test_generated_parts_are_up_to_date"


def _tests_of_page(path: PurePosixPath, root: Path) -> Iterator[str]:
    if (root / path).exists() and (len(path.parts) == 1 or path.parts[0] in ("docs", "policy_examples")):
        yield f"tests/test_docs.py::test_links_lead_somewhere[{path}]"
        if re.search(r"^```", (root / path).read_text(encoding="utf-8"), re.MULTILINE):
            yield f"tests/test_docs.py::test_examples_run_and_print_what_is_shown[{path}]"


def _tests_of_module(path: PurePosixPath, root: Path) -> Iterator[str]:
    named = PurePosixPath("tests", *path.parts[:-1], f"test_{path.name}")
    if (root / named).exists():
        yield str(named)
        yield from _parts_of(path, root)
        return
    folder = root / named.parent
    while not folder.is_dir():
        folder = folder.parent
    yield from _importing(_dotted(path), folder, root)


def _parts_of(path: PurePosixPath, root: Path) -> Iterator[str]:
    """The further tests of a module, each of one idea."""
    for test in sorted(root.joinpath("tests", *path.parts[:-1]).glob(f"test_{path.stem}_*.py")):
        if not (root / path.parent / test.name.removeprefix("test_")).exists():
            yield test.relative_to(root).as_posix()


def _dotted(path: PurePosixPath) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _importing(module: str, folder: Path, root: Path) -> Iterator[str]:
    """The tests below a folder that import a module by its name."""
    package, _, name = module.rpartition(".")
    forms = [rf"(?:from|import) {re.escape(module)}\b(?!\.)"]
    if package:
        forms.append(rf"from {re.escape(package)} import [^\n]*\b{name}\b")
    imported = re.compile("|".join(forms))
    for test in sorted(folder.rglob("test_*.py")):
        if imported.search(test.read_text(encoding="utf-8")):
            yield test.relative_to(root).as_posix()


if __name__ == "__main__":
    for found in mirrored_tests(sys.argv[1:]):
        print(found)
