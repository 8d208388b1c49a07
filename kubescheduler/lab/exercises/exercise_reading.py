"""Reading ``exercise.yaml``: every fault of it at once, each with its place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from clusterstate.errors import ConfigError, nearest
from clusterstate.manifests.fields import Fields, step
from kubescheduler.config.config_text import read_document
from kubescheduler.lab.exercises.check_kinds import read_checks
from kubescheduler.lab.exercises.checked_fields import needed_text, needed_texts, only_keys
from kubescheduler.lab.exercises.editable_files import EditableFile
from kubescheduler.lab.exercises.exercise_record import (
    EXERCISE_FILE,
    SOLUTION,
    START,
    TASK_FILE,
    CodeFile,
    Exercise,
    ExerciseScenario,
    ExtenderChoice,
    SchedulerChoice,
)
from kubescheduler.lab.exercises.reason_checks import AgreesWith
from kubescheduler.releases.names import LEGACY_RELEASES, RELEASE_NAMES, release_of

KEYS = (
    *("title", "summary", "release", "minutes", "teacherMinutes", "edit", "cluster", "pods", "scheduler", "extender"),
    *("preempt", "simulate", "hints", "checks", "scenarios"),
)
TEACHER_MINUTES = 4
"""What the teacher needs for an exercise that does not say it."""
HINTS = range(1, 6)
"""How many tiers of hints an exercise has."""


def read_exercise(folder: Path) -> Exercise:
    """The exercise of a folder. Raises ConfigError with every fault of its ``exercise.yaml``, each with its place."""
    path = folder / EXERCISE_FILE
    document = read_document(path)
    faults = [*document.set_twice()]
    root = Fields(document, faults)
    only_keys(root, KEYS)
    release = _release(root)
    main = ExerciseScenario("", needed_texts(root, "cluster"), root.texts("pods"), read_checks(root.children("checks")))
    if not root.sequence("checks"):
        root.fault(".checks", "has to name at least one")
    exercise = Exercise(
        folder,
        needed_text(root, "title"),
        needed_text(root, "summary"),
        root.integer("minutes"),
        root.integer("teacherMinutes", TEACHER_MINUTES),
        tuple(_editable(each) for each in root.children("edit")),
        _scheduler(root.inside("scheduler"), release),
        _extender(root),
        root.flag("preempt"),
        root.flag("simulate"),
        _hints(root),
        (main, *(_scenario(each, main) for each in root.children("scenarios"))),
    )
    if not root.sequence("edit"):
        root.fault(".edit", "has to name at least one file that the student writes")
    faults += _missing_files(exercise)
    if faults:
        raise ConfigError(f"{path}: {fault}" for fault in faults)
    return exercise


def _release(root: Fields) -> str:
    release = root.text("release", RELEASE_NAMES[-1])
    try:
        return release_of(release)
    except ConfigError as error:
        root.fault(".release", str(error).removeprefix("release "))
        return release


def _editable(fields: Fields) -> EditableFile:
    only_keys(fields, ("file", "fields"))
    return EditableFile(
        needed_text(fields, "file"), needed_texts(fields, "fields") if "fields" in fields.data else None
    )


def _hints(root: Fields) -> tuple[str, ...]:
    found = root.texts("hints")
    if len(found) not in HINTS:
        root.fault(".hints", f"has to have {HINTS[0]} to {HINTS[-1]} tiers, found {len(found)}")
    return found


def _scenario(fields: Fields, main: ExerciseScenario) -> ExerciseScenario:
    """A hidden scenario; what it does not say is that of the one that the student sees."""
    only_keys(fields, ("name", "cluster", "pods", "checks"))
    checks = read_checks(fields.children("checks"))
    if not checks and not fields.sequence("checks"):
        fields.fault(".checks", "has to name at least one")
    cluster, pods = fields.texts("cluster") or main.cluster, fields.texts("pods") or main.pods
    return ExerciseScenario(needed_text(fields, "name"), cluster, pods, checks)


def _scheduler(fields: Fields, release: str) -> SchedulerChoice:
    only_keys(fields, ("provider", "policy", "config", "gates", "rules", "plugins"))
    gates = fields.inside("gates")
    rules = _code(fields, ".rules", fields.text("rules")) if fields.has("rules") else None
    plugins = [_code(fields, f".plugins[{at}]", text) for at, text in enumerate(fields.texts("plugins"))]
    if rules and release not in LEGACY_RELEASES:
        fields.fault(".rules", f"predicates and priorities decide in {' and '.join(LEGACY_RELEASES)}; name plugins")
    if plugins and release in LEGACY_RELEASES:
        fields.fault(".plugins", f"{release} has no plugins; name rules")
    return SchedulerChoice(
        release,
        fields.text_or_none("provider"),
        fields.text_or_none("policy"),
        fields.text_or_none("config"),
        {str(name): gates.flag(name) for name in gates.data},
        rules,
        tuple(plugins),
    )


def _code(fields: Fields, place: str, text: str) -> CodeFile:
    file, _, attribute = text.partition(":")
    if text and not (file.endswith(".py") and attribute.isidentifier()):
        fields.fault(place, f'must be like "rules.py:register", not "{text}"')
    return CodeFile(file, attribute)


def _extender(root: Fields) -> ExtenderChoice | None:
    fields = root.child("extender")
    if fields is None:
        return None
    only_keys(fields, ("file", "address"))
    address = needed_text(fields, "address")
    if address and not address.startswith("http://127.0.0.1:"):
        fields.fault(".address", f'must be like "http://127.0.0.1:8888", not "{address}"')
    return ExtenderChoice(needed_text(fields, "file"), address)


# --- the files that it names ---------------------------------------------------------------------


def _missing_files(exercise: Exercise) -> Iterator[str]:
    """Files that are named and are not where they have to be, and folders that would be left."""
    if not (exercise.folder / TASK_FILE).is_file():
        yield f"there is no {TASK_FILE} beside it"
    theirs = [one.file for one in exercise.edit if one.file]
    for at, file in enumerate(theirs):
        if _leaves_folder(file):
            yield f"edit[{at}].file: {file} has to be in the student's folder"
        else:
            yield from (
                f"edit[{at}].file: there is no {file} in {part}/"
                for part in (START, SOLUTION)
                if not os.path.isfile(exercise.folder / part / file)
            )
    for place, file, code in _named(exercise):
        if not file or file in theirs:
            continue
        if code:
            yield f"{place}: {file} is not among the files that the student writes{nearest(file, theirs)}"
        elif _leaves_folder(file):
            yield f"{place}: {file} has to be in the exercise's folder"
        elif not os.path.isfile(exercise.folder / file):
            there = [each.name for each in exercise.folder.iterdir() if each.is_file()] + theirs
            yield f"{place}: there is no file {file}{nearest(file, there)}"


def _named(exercise: Exercise) -> Iterator[tuple[str, str, bool]]:
    """(place, file, whether it is code that runs) of every file that is named beside ``edit``."""
    choice = exercise.scheduler
    for at, scenario in enumerate(exercise.scenarios):
        place = f"scenarios[{at - 1}]." if at else ""
        for key, files in (("cluster", scenario.cluster), ("pods", scenario.pods)):
            if not (at and files == getattr(exercise.scenarios[0], key)):
                yield from ((f"{place}{key}[{number}]", file, False) for number, file in enumerate(files))
        yield from _named_in_checks(scenario, place)
    yield from ((f"scheduler.{key}", getattr(choice, key) or "", False) for key in ("policy", "config"))
    if choice.rules is not None:
        yield "scheduler.rules", choice.rules.file, True
    yield from ((f"scheduler.plugins[{at}]", one.file, True) for at, one in enumerate(choice.plugins))
    if exercise.extender is not None:
        yield "extender.file", exercise.extender.file, True


def _named_in_checks(scenario: ExerciseScenario, place: str) -> Iterable[tuple[str, str, bool]]:
    for at, check in enumerate(scenario.checks):
        if isinstance(check.rule, AgreesWith):
            for key in ("policy", "config"):
                yield f"{place}checks[{at}]{step(check.kind)}.{key}", check.rule.other.get(key, ""), False


def _leaves_folder(file: str) -> bool:
    path = Path(file)
    return path.is_absolute() or ".." in path.parts
