"""The example project of the documentation."""

from __future__ import annotations

import shutil
from pathlib import Path

from docs.generate.blocks import ROOT, blocks
from tests.kubescheduler.testing.conftest import Project

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
