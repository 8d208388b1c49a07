"""The exercises that come with the package, and a student's folder for one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from clusterstate.errors import ConfigError, nearest
from clusterstate.manifests.fields import Fields
from kubescheduler.config.config_text import read_document
from kubescheduler.lab.exercises.checked_fields import needed_text, only_keys
from kubescheduler.lab.exercises.exercise_reading import read_exercise
from kubescheduler.lab.exercises.exercise_record import EXERCISE_FILE, START, TASK_FILE, Exercise

SHIPPED = Path(__file__).parent / "shipped"
"""Where they are."""
REFERENCE = "exercise"
"""The key by which the ``exercise.yaml`` of a student's folder names its exercise."""


def shipped_names() -> list[str]:
    """The exercises in the order of the workshop."""
    return sorted(folder.name for folder in SHIPPED.iterdir() if (folder / EXERCISE_FILE).is_file())


def shipped_exercise(name: str) -> Exercise:
    """The exercise of a name such as ``02-taints``; the number or the rest will do. Raises ConfigError."""
    names = shipped_names()
    short = {part: each for each in names for part in (each, *each.split("-", 1), each.lstrip("0").split("-", 1)[0])}
    if name not in short:
        known = nearest(name, short) or f"; there are {', '.join(names)}"
        raise ConfigError(f"there is no exercise {name}{known}")
    return read_exercise(SHIPPED / short[name])


def work_of(folder: Path, work: Path | None = None) -> tuple[Exercise, Path]:
    """The exercise of a folder, and where the student's files are.

    folder: an exercise's, whose files are those of ``start/`` unless ``work`` says others; or a student's, which names
    its exercise. Raises ConfigError with every fault.
    """
    path = folder / EXERCISE_FILE
    if not path.is_file():
        raise ConfigError(f"{folder}: there is no {EXERCISE_FILE} in it; kubescheduler lab start makes such a folder")
    document = read_document(path)
    if REFERENCE not in document:
        return read_exercise(folder), folder / START if work is None else work
    faults: list[str] = []
    fields = Fields(document, faults)
    only_keys(fields, (REFERENCE,))
    name = needed_text(fields, REFERENCE)
    if faults:
        raise ConfigError(f"{path}: {fault}" for fault in faults)
    return _named(name, folder), folder if work is None else work


def _named(name: str, folder: Path) -> Exercise:
    """A shipped exercise, or one whose folder is named, from a student's folder."""
    if os.sep in name:
        return read_exercise((folder / name).resolve())
    return shipped_exercise(name)


def start_exercise(exercise: Exercise, folder: Path) -> list[str]:
    """Makes a student's folder: the task, what is given, what the student begins with. Its files, sorted.

    Hidden scenarios and the solution stay where they are. Raises ConfigError for a folder with something in it.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder}: it is not empty; name a folder that is not there yet")
    theirs = [one.file for one in exercise.edit]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in (TASK_FILE, *exercise.given, *dict.fromkeys(theirs)):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(exercise.folder / (START if file in theirs else "") / file, folder / file)
        place = exercise.name if exercise.folder.parent == SHIPPED else f"{exercise.folder.resolve()}"
        (folder / EXERCISE_FILE).write_text(f"{REFERENCE}: {place}\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{error.filename or folder}: {error.strerror or error}") from error
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
