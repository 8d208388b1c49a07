"""What a teacher has: the work of a class, a folder for each student, and a wheelhouse for a room without network."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from clusterstate.errors import ConfigError, InputError
from kubescheduler.lab.exercises.checking import check_apart
from kubescheduler.lab.exercises.exercise_reading import work_of
from kubescheduler.lab.exercises.exercise_record import EXERCISE_FILE
from kubescheduler.report.ci_results import Standing

Stamp = tuple[tuple[str, int, int], ...]


class BoardCell(msgspec.Struct, frozen=True):
    """How far a student is with an exercise."""

    passed: int
    """Checks that pass."""
    checks: int
    """Checks there are; 0 where nothing could be judged."""
    said: str = ""
    """The first check that fails, or why nothing could be judged."""

    @property
    def done(self) -> bool:
        """Whether every check passes."""
        return 0 < self.passed == self.checks

    @property
    def text(self) -> str:
        """``7/7``, ``5/7``, or ``error``."""
        return f"{self.passed}/{self.checks}" if self.checks else "error"


def works(folder: Path) -> Iterator[tuple[str, Path]]:
    """(student, folder of an exercise) of all there are, in their order. Raises ConfigError where there is none."""
    found = False
    for path in sorted(folder.rglob(EXERCISE_FILE)):
        parts = path.relative_to(folder).parts[:-1]
        if parts:
            found = True
            yield parts[0], path.parent
    if not found:
        raise ConfigError(f"{folder}: nobody's work is in it; it has to have a folder for each student")


def cell_of(work: Path) -> tuple[str, BoardCell]:
    """The exercise that a folder is of, by name, and how far it is. Code of the student's runs in its own process."""
    name = work.name
    try:
        exercise, theirs = work_of(work)
        name = exercise.name
        checked = check_apart(exercise, theirs)
    except InputError as error:
        return name, BoardCell(0, 0, error.problems[0])
    passed = sum(one.standing is Standing.PASSED for one in checked.outcomes)
    failed = next((one for one in checked.outcomes if one.standing is Standing.FAILED), None)
    said = "" if failed is None else ": ".join(filter(None, (failed.scenario, failed.name)))
    return name, BoardCell(passed, len(checked.outcomes), said)


class ClassBoard:
    """Students × exercises, kept up to date: what was saved since is checked again, in a thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cells: dict[tuple[str, Path], tuple[Stamp, str, BoardCell]] = {}
        self._thread: threading.Thread | None = None

    def checked(self) -> dict[str, dict[str, BoardCell]]:
        """Student → exercise → cell, all of them as the files are now. Raises ConfigError."""
        there = list(works(self._folder))
        for key in there:
            stamp = _stamp(key[1])
            if key not in self._cells or self._cells[key][0] != stamp:
                self._cells[key] = (stamp, *cell_of(key[1]))
        for gone in self._cells.keys() - set(there):
            del self._cells[gone]
        return self._known()

    def shown(self) -> dict[str, Any]:
        """What is known by now, as plain data; what is not is being found out. Raises ConfigError."""
        waiting = len(list(works(self._folder))) - len(self._cells)
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self.checked, name="class board", daemon=True)
            self._thread.start()
        return as_rows(self._known()) | {"waiting": max(0, waiting)}

    def _known(self) -> dict[str, dict[str, BoardCell]]:
        found: dict[str, dict[str, list[tuple[str, BoardCell]]]] = {}
        for (student, path), (_, exercise, cell) in sorted(self._cells.items()):
            place = path.relative_to(self._folder).as_posix()
            found.setdefault(student, {}).setdefault(exercise, []).append((place, cell))
        return {
            student: {exercise: _only(cells) for exercise, cells in exercises.items()}
            for student, exercises in found.items()
        }


def _only(cells: list[tuple[str, BoardCell]]) -> BoardCell:
    """The cell of an exercise's one folder. Which of several counts nobody knows, so that is an error."""
    if len(cells) == 1:
        return cells[0][1]
    return BoardCell(
        0, 0, f"there are {len(cells)} folders for it, {' and '.join(place for place, _ in cells)}; keep one"
    )


def as_rows(found: dict[str, dict[str, BoardCell]]) -> dict[str, Any]:
    """As plain data: the exercises, and for each student a cell for each."""
    exercises = sorted({name for cells in found.values() for name in cells})
    students = [
        {
            "name": student,
            "done": sum(cell.done for cell in cells.values()),
            "cells": [
                {"exercise": name, "text": cell.text, "done": cell.done, "said": cell.said}
                for name, cell in sorted(cells.items())
            ],
        }
        for student, cells in found.items()
    ]
    return {"exercises": exercises, "students": students}


def _stamp(work: Path) -> Stamp:
    found = sorted(path for path in work.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in found)


README = "INSTALL.txt"
TEXT = """\
Install kubescheduler without network, on {platform} with Python {python}:

  python3 -m venv .venv
  . .venv/bin/activate
  pip install --no-index --find-links wheels 'kubescheduler[lab]'

Then: kubescheduler lab list
"""


def source_of_package() -> str:
    """What pip makes a wheel of: the folder that this was installed from where it is known, else the name."""
    root = Path(__file__).resolve().parents[3]
    if (root / "setup.cfg").is_file():
        return f"{root}[lab]"
    try:
        text = distribution("kubescheduler").read_text("direct_url.json")
    except PackageNotFoundError:
        text = None
    place = Path(unquote(urlsplit(json.loads(text)["url"]).path)) if text else None
    return f"{place}[lab]" if place is not None and place.exists() else "kubescheduler[lab]"


def write_bundle(folder: Path) -> list[str]:
    """Writes the wheels and the text. The names of the wheels, sorted. Raises ConfigError with what pip says."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder}: it is not empty; name a folder that is not there yet")
    wheels = folder / "wheels"
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "-w", str(wheels)]
    done = subprocess.run([*command, source_of_package()], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise ConfigError(
            f"{folder}: pip could not make the wheels: {lines[-1].strip() if lines else 'it says nothing'}"
        )
    python = ".".join(map(str, sys.version_info[:2]))
    (folder / README).write_text(TEXT.format(platform=sys.platform, python=python), encoding="utf-8")
    return sorted(path.name for path in wheels.glob("*.whl"))
