"""Checking a student's files: the checks of an exercise in order, each with what was found."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from algorithmprovider.custom_code import LIMIT, PATIENCE
from clusterstate.errors import ConfigError, InputError
from kubescheduler.config.config_text import read_text
from kubescheduler.lab.exercises.check_contract import ExerciseCheck, FilesRule, RunRule, ScenarioRun, StudentFiles
from kubescheduler.lab.exercises.exercise_record import START, Exercise, ExerciseScenario
from kubescheduler.lab.exercises.file_checks import only_edits
from kubescheduler.lab.exercises.scenario_runs import student_scheduler
from kubescheduler.report.ci_results import CiCase, Standing, Suite
from kubescheduler.sources.yaml_stream import parse_yaml

MANIFESTS = (".yaml", ".yml", ".json")


class CheckOutcome(msgspec.Struct, frozen=True):
    """What came of one check."""

    name: str
    """What has to be so."""
    kind: str
    """The key of ``exercise.yaml`` that says which rule it is."""
    scenario: str
    """The hidden scenario it is of; empty: of what the student sees."""
    standing: Standing
    """How it came out."""
    found: str = ""
    """What is wrong, in a sentence; empty when nothing is."""
    remark: str = ""
    """What the student is told beside that."""


class CheckedExercise(msgspec.Struct, frozen=True):
    """What came of an exercise's checks."""

    exercise: Exercise
    """The exercise."""
    work: Path
    """Where the student works."""
    outcomes: tuple[CheckOutcome, ...]
    """Of every check, in order."""
    notes: tuple[str, ...] = ()
    """What ``schedule`` would remark of the student's files, such as keys that are set twice."""

    @property
    def passed(self) -> bool:
        """Whether every check passes."""
        return all(one.standing is Standing.PASSED for one in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "kind": "CheckedExercise",
            "exercise": self.exercise.name,
            "title": self.exercise.title,
            "release": self.exercise.scheduler.release,
            "passed": self.passed,
            "notes": list(self.notes),
            "checks": [msgspec.structs.asdict(one) | {"standing": one.standing.value} for one in self.outcomes],
        }


def check_work(exercise: Exercise, work: Path) -> CheckedExercise:
    """Runs every check of an exercise on a student's files.

    What the files must not do is looked at first; when they do it, nothing is run. Raises InputError for files that are
    missing or wrong, code that raises, and an extender that fails: then nothing can be said.
    """
    files = _files(exercise, work)
    every = [(scenario, check) for scenario in exercise.scenarios for check in scenario.checks]
    of_files = [*only_edits(exercise.edit), *(check for _, check in every)]
    outcomes = [_outcome(one, "", one.rule.fault_in(files)) for one in of_files if isinstance(one.rule, FilesRule)]
    runs = [(scenario, check) for scenario, check in every if isinstance(check.rule, RunRule)]
    notes = dict.fromkeys(_changed(exercise, work))
    if any(one.standing is Standing.FAILED for one in outcomes):
        outcomes += [CheckOutcome(check.name, check.kind, one.name, Standing.SKIPPED) for one, check in runs]
    else:
        with student_scheduler(exercise, work) as scheduler:
            for scenario in exercise.scenarios:
                run = scheduler.run(scenario)
                notes |= dict.fromkeys(run.notes)
                outcomes += _outcomes(scenario, run)
    return CheckedExercise(exercise, work, tuple(outcomes), tuple(notes))


def _outcomes(scenario: ExerciseScenario, run: ScenarioRun) -> Iterator[CheckOutcome]:
    for check in scenario.checks:
        if isinstance(check.rule, RunRule):
            yield _outcome(check, scenario.name, check.rule.fault_of(run))


def _outcome(check: ExerciseCheck, scenario: str, fault: str) -> CheckOutcome:
    if not fault:
        return CheckOutcome(check.name, check.kind, scenario, Standing.PASSED)
    return CheckOutcome(check.name, check.kind, scenario, Standing.FAILED, fault, check.remark)


def check_apart(exercise: Exercise, work: Path) -> CheckedExercise:
    """``check_work``; code of the student's runs in a process of its own, which can be ended. Raises InputError."""
    if not exercise.runs_code and exercise.extender is None:
        return check_work(exercise, work)
    patience = f"{LIMIT.seconds if LIMIT.seconds is not None else PATIENCE:g}"
    words = ("lab", "check", str(exercise.folder), "--work", str(work), "-o", "json", "--patience", patience)
    done = subprocess.run(
        [sys.executable, "-m", "kubescheduler", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode not in (0, 1):
        lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        raise InputError([line.removeprefix("error: ") for line in lines] or [f"the check ended: {done.returncode}"])
    found = msgspec.json.decode(done.stdout)
    outcomes = tuple(msgspec.convert(one, CheckOutcome) for one in found["checks"])
    return CheckedExercise(exercise, work, outcomes, tuple(found["notes"]))


def _changed(exercise: Exercise, work: Path) -> Iterator[str]:
    """A note on each file that is given, lies with the student and is no longer what was given."""
    for file in exercise.given:
        with contextlib.suppress(OSError):
            if (work / file).read_bytes() != (exercise.folder / file).read_bytes():
                yield f"{work / file}: it is not as the exercise gives it; the check has used the file as given"


# --- the student's files -------------------------------------------------------------------------


def _files(exercise: Exercise, work: Path) -> StudentFiles:
    """Raises ConfigError with every file that is missing or cannot be read."""
    problems: list[str] = []
    theirs: dict[str, Sequence[Any]] = {}
    given: dict[str, Sequence[Any]] = {}
    for one in exercise.edit:
        path = work / one.file
        if not path.is_file():
            problems.append(f"{path}: there is no such file, and the exercise asks for it")
        elif path.suffix in MANIFESTS:
            try:
                theirs[one.file] = _documents(path)
            except InputError as error:
                problems += error.problems
            given[one.file] = _documents(exercise.folder / START / one.file)
    if problems:
        raise ConfigError(problems)
    return StudentFiles(work, theirs, given)


def _documents(path: Path) -> list[Any]:
    """The documents of a file, the items of lists among them."""
    out: list[Any] = []
    for document in parse_yaml(str(path), read_text(path).encode()):
        items = document.get("items") if isinstance(document, Mapping) else None
        out += items if isinstance(items, list) else [document] if document is not None else []
    return out


def checked_suite(checked: CheckedExercise) -> Suite:
    """For CI: what fails is a failure; what was not tried, as the files do what they must not, is skipped."""
    return Suite(checked.exercise.name, [_case(checked, outcome) for outcome in checked.outcomes])


def _case(checked: CheckedExercise, outcome: CheckOutcome) -> CiCase:
    group = ".".join(filter(None, (checked.exercise.name, outcome.scenario)))
    text = "\n".join(filter(None, (outcome.found, outcome.remark)))
    return CiCase(group, outcome.name, outcome.standing, outcome.kind, outcome.found, text)
