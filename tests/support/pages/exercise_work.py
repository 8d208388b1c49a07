"""A student's work for a shipped exercise: the solution, or what it becomes by replacing some text."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from kubescheduler.lab.exercises.checking import CheckedExercise, Standing, check_work
from kubescheduler.lab.exercises.exercise_reading import SHIPPED, shipped_exercise
from kubescheduler.lab.exercises.exercise_record import SOLUTION

Replacement = tuple[str, str, str]
"""(file, text in it, text in its place)."""

TOLERATIONS = '{key: gpu, operator: Equal, value: "true", effect: NoSchedule}'
"""Of the solution of 02-taints."""


def checked_part(name: str, part: str) -> CheckedExercise:
    """The checks of a part of a shipped exercise: ``start`` or ``solution``."""
    return check_work(shipped_exercise(name), SHIPPED / name / part)


def checked_variant(name: str, replacements: Sequence[Replacement], folder: Path) -> CheckedExercise:
    """The checks of the solution with some text replaced; every text has to be there."""
    work = folder / "work"
    shutil.copytree(SHIPPED / name / SOLUTION, work)
    for file, old, new in replacements:
        text = (work / file).read_text()
        assert old in text, f"{file} has no {old}"
        (work / file).write_text(text.replace(old, new))
    return check_work(shipped_exercise(name), work)


def failing(checked: CheckedExercise) -> list[str]:
    """The names of the checks that fail, with their scenario."""
    return [
        ": ".join(filter(None, (one.scenario, one.name))) for one in checked.outcomes if one.standing is Standing.FAILED
    ]
