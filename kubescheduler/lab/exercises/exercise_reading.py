"""Reading ``exercise.yaml``: every fault of it at once, each with its place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from clusterstate.errors import ConfigError, nearest
from clusterstate.manifests.fields import NOTHING, Fields, step
from kubescheduler.config.config_text import read_document
from kubescheduler.lab.exercises.exercise_record import (
    EXERCISE_FILE,
    SOLUTION,
    START,
    TASK_FILE,
    CodeFile,
    EditableFile,
    Exercise,
    ExerciseCheck,
    ExerciseScenario,
    ExtenderChoice,
    FilesRule,
    RunRule,
    SchedulerChoice,
    needed_text,
    needed_texts,
    only_keys,
)
from kubescheduler.lab.exercises.exercise_rules import (
    AgreesWith,
    AllOrNone,
    Apart,
    EveryPlaced,
    Evicts,
    FittingNodes,
    ForbiddenFields,
    HowManyRun,
    NodesUsed,
    OnNodes,
    RefusedFor,
    ScoresAre,
    SpreadOver,
    StaysPending,
    Tolerates,
)
from kubescheduler.releases.lookup import release_of
from kubescheduler.releases.names import LEGACY_RELEASES, RELEASE_NAMES, spoken

KINDS: dict[str, Callable[[Fields], FilesRule | RunRule]] = {
    "placed": EveryPlaced.read,
    "runsOn": partial(OnNodes.read, there=True),
    "runsNotOn": partial(OnNodes.read, there=False),
    "running": HowManyRun.read,
    "nodesUsed": NodesUsed.read,
    "spread": SpreadOver.read,
    "together": AllOrNone.read,
    "apart": Apart.read,
    "refused": RefusedFor.read,
    "accepted": FittingNodes.read,
    "tolerates": Tolerates.read,
    "pending": StaysPending.read,
    "scores": ScoresAre.read,
    "evicts": Evicts.read,
    "agrees": AgreesWith.read,
    "forbidden": ForbiddenFields.read,
}
"""Key → reads the rule under it, noting faults."""


def read_checks(items: Iterable[Fields]) -> tuple[ExerciseCheck, ...]:
    """The checks of a list; faults are noted."""
    return tuple(found for item in items if (found := _read_check(item)) is not None)


def _read_check(item: Fields) -> ExerciseCheck | None:
    kinds = [key for key in item.data if key in KINDS]
    if len(kinds) != 1:
        unknown = [key for key in item.data if key not in (*KINDS, "name", "remark")]
        near = nearest(str(unknown[0]), KINDS) if unknown else ""
        said = f"found {' and '.join(kinds)}" if kinds else f"found {str(unknown[0]) if unknown else 'none'}{near}"
        item.fault("", f"a check has one of {', '.join(KINDS)}; {said}")
        return None
    only_keys(item, (*KINDS, "name", "remark"))
    name = needed_text(item, "name")
    fields = item.child(kinds[0])
    if fields is None and not item.has(kinds[0]):
        fields = Fields(NOTHING, item.faults, item, kinds[0])
    return None if fields is None else ExerciseCheck(name, kinds[0], KINDS[kinds[0]](fields), item.text("remark"))


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
        fields.fault(".rules", f"predicates and priorities decide in {spoken(LEGACY_RELEASES)}; name plugins")
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
    exercise = read_exercise((folder / name).resolve()) if os.sep in name else shipped_exercise(name)
    return exercise, folder if work is None else work


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
