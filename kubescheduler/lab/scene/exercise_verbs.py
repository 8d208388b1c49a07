"""The verbs of an exercise: its task and files, help in tiers, saving and checking; and its scene."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import msgspec

from clusterstate.errors import InputError, attempt, listed
from kubescheduler.api.cluster import Cluster
from kubescheduler.config.config_text import read_text
from kubescheduler.engine.engine_flags import gates_text
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.extender.access import PASS
from kubescheduler.lab.exercises.checking import CheckedExercise, CheckOutcome, check_apart
from kubescheduler.lab.exercises.exercise_reading import shipped_exercise, shipped_names, start_exercise, work_of
from kubescheduler.lab.exercises.exercise_record import EditableFile, Exercise
from kubescheduler.lab.plugin_file import PluginFile
from kubescheduler.lab.scene.scene import Scene, Verb, verb
from kubescheduler.lab.scene.scene_state import SceneFault, SceneState, side_of
from kubescheduler.lab.text_patches import placed_problems
from kubescheduler.releases.names import LEGACY_RELEASES
from kubescheduler.report.ci_results import Standing

KEPT = "exercise"
"""The key under which a scene keeps the student's way."""

CODE = (".py",)
"""Files that are run: they are written with an editor, not from a page."""

LONGEST_FILE = 256 * 1024
"""Characters of a file that is saved from a page."""


@attrs.define(eq=False)
class StudentWay:
    """An exercise that is worked on."""

    exercise: Exercise
    work: Path
    """Where the student's files are."""
    shown: int = 0
    """Tiers of help that were asked for."""
    checked: CheckedExercise | None = None
    """What came of the last check; None: nothing was checked since a file was saved."""
    fault: tuple[str, ...] = ()
    """Why the last check could say nothing."""
    saved: weakref.WeakKeyDictionary[SceneState, dict[str, str]] = attrs.field(factory=weakref.WeakKeyDictionary)
    """State before or after a file was saved → the texts of the files then."""
    known: dict[str, str] = attrs.field(factory=dict)
    """The texts as the scene read or wrote them last."""
    _checked_at: tuple[object, ...] = ()

    @property
    def texts(self) -> dict[str, str]:
        """The files that are written from a page, and what is in them now."""
        found = [name for name in self.names if not is_code(name) and (self.work / name).is_file()]
        return {name: read_text(self.work / name) for name in found}

    def check(self) -> None:
        """Runs every check on the files as they are."""
        self._checked_at = self._stamps()
        try:
            self.checked, self.fault = check_apart(self.exercise, self.work), ()
        except InputError as error:
            self.checked, self.fault = None, error.problems

    def forget_old_checks(self) -> None:
        """What was found of files that have been saved since counts no more."""
        if self._checked_at != self._stamps():
            self.checked, self.fault = None, ()

    def _stamps(self) -> tuple[object, ...]:
        found = [self.work / name for name in self.names]
        return tuple(path.stat().st_mtime_ns if path.exists() else None for path in found)

    def editable(self, name: str) -> EditableFile:
        """The file of that name. Raises SceneFault for one that is not the student's to write from a page."""
        found = next((one for one in self.exercise.edit if one.file == name), None)
        if found is None:
            raise SceneFault(f"name: {name} is not to be changed; there are {', '.join(self.names)}")
        if is_code(name):
            raise SceneFault(f"name: {name} is code, which is not written from a page; save {self.work / name}")
        return found

    @property
    def names(self) -> list[str]:
        """The files that the student writes."""
        return [one.file for one in self.exercise.edit]

    def save(self, name: str, text: str) -> None:
        """Writes a file in the student's folder, wholly or not at all.

        Raises SceneFault for a file that is not the student's, leaves the folder, or is too long.
        """
        self.editable(name)
        folder = self.work.resolve()
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            raise SceneFault(f"name: {name} leads out of the folder {self.work}")
        if len(text) > LONGEST_FILE:
            raise SceneFault(f"text: {name} has more than {LONGEST_FILE:,} characters")
        beside = path.with_name(f".{path.name}.saving")
        try:
            beside.write_text(text, encoding="utf-8")
            os.replace(beside, path)
        except OSError as error:
            raise SceneFault(f"{path}: {error.strerror or error}") from error
        self.known[name] = read_text(path)


class ExerciseScene(Scene):
    """The scene of a student's files, which may be saved by an editor or in another tab as well."""

    def __init__(self, way: StudentWay) -> None:
        files = tuple(_code_files(way))
        super().__init__(state_of(way, files), files)
        way.known = way.texts
        self.extra[KEPT] = way

    def watched(self) -> list[Path]:
        way = _way(self)
        return [*super().watched(), *(way.work / name for name in way.names if not is_code(name))]

    def reread(self) -> list[str]:
        problems, way = super().reread(), _way(self)
        before, now = way.known, way.texts
        if now == before:  # it was saved here
            return problems
        way.known = now
        changed = ", ".join(name for name in way.names if now.get(name) != before.get(name))
        problems += went_on(self, way, before, f"Read {changed} again")
        self.touched()  # the page shows the text, also where it has a fault
        return problems


def is_code(name: str) -> bool:
    """Whether a file is run."""
    return Path(name).suffix in CODE


def way_of(scene: Scene) -> StudentWay | None:
    """The exercise of a scene; None without one."""
    found: StudentWay | None = scene.extra.get(KEPT)
    return found


def exercise_scene(name: str) -> Scene:
    """A scene of an exercise that comes with the package, in a new folder that goes with the scene.

    Raises ConfigError for a name that there is not.
    """
    exercise = shipped_exercise(name)
    place = tempfile.mkdtemp(prefix=f"{exercise.name}-")
    work = Path(place) / exercise.name
    start_exercise(exercise, work)
    way = StudentWay(exercise, work)
    weakref.finalize(way, shutil.rmtree, place, ignore_errors=True)
    return ExerciseScene(way)


def folder_scene(folder: Path) -> Scene:
    """A scene of a student's folder. Raises ConfigError for one that is none."""
    return ExerciseScene(StudentWay(*work_of(folder)))


def _code_files(way: StudentWay) -> Iterator[PluginFile]:
    choice, release = way.exercise.scheduler, way.exercise.scheduler.release
    for code in (*filter(None, [choice.rules]), *choice.plugins):
        yield PluginFile(f"{Path(code.file).stem}:{code.attribute}", way.work / code.file, code.attribute, release)


def state_of(way: StudentWay, files: tuple[PluginFile, ...]) -> SceneState:
    """What the files say, with the pods of the first scenario waiting. Raises InputError with what is wrong."""
    seen, choice = way.exercise.scenarios[0], way.exercise.scheduler
    cluster = Cluster.read(*(_place(way, name) for name in seen.cluster), release=choice.release)
    pods = [_place(way, name) for name in seen.pods]
    problems: list[str] = []
    own = [made for file in files if (made := attempt(problems, getattr, file, "option"))]
    text = next((read_text(_place(way, name)) for name in (choice.policy, choice.config) if name), "")
    spec = EngineSpec(
        choice.release,
        provider=choice.provider,
        feature_gates=gates_text(choice.gates),
        extenders=PASS if way.exercise.extender is not None else "live",
        plugins=() if choice.release in LEGACY_RELEASES else tuple(own),
    )
    side = side_of(spec, name=way.exercise.title)
    if text:
        side = side.with_document("policy" if choice.policy else "config", text)
    state = Scene.opened(cluster, pods=pods, sides=[side], title=way.exercise.title).state
    notes = [*problems]
    if way.exercise.extender is not None:
        notes.append(f"{way.exercise.extender.file} is asked when the exercise is checked, not in the page")
    return msgspec.structs.replace(state, notes=(*state.notes, *notes))


def _place(way: StudentWay, name: str) -> Path:
    return (way.work if name in way.names else way.exercise.folder) / name


def went_on(scene: Scene, way: StudentWay, before: dict[str, str], text: str) -> list[str]:
    """Has the scene show the files as they are; what is wrong, where they cannot be read, and the scene stays.

    before: the texts that the scene shows until then. text: what was done.
    """
    try:
        state = state_of(way, scene.plugin_files)
    except InputError as error:
        return list(error.problems)
    way.saved.setdefault(scene.state, before)
    way.saved[state] = way.texts
    scene.change(text, state)
    return []


CONFIGURING = ("weights", "toggle", "args", "configure")
"""Edits that change what a Policy or configuration says."""

HARMLESS = ("ask", "schedule", "unbind", "fork", "askExtenders")
"""Edits that only look further: the files stay as they are."""


@verb
def exercises(_: Scene) -> dict[str, Any]:
    """The exercises that come with the package, in the order of the workshop."""
    found = [shipped_exercise(name) for name in shipped_names()]
    return {
        "exercises": [
            {
                "name": one.name,
                "title": one.title,
                "summary": one.summary,
                "minutes": one.minutes,
                "task": one.task,
                "release": one.scheduler.release,
            }
            for one in found
        ]
    }


@verb
def exercise(scene: Scene) -> dict[str, Any]:
    """The exercise that is worked on; no name where there is none."""
    return _shown(way_of(scene))


def _shown(way: StudentWay | None) -> dict[str, Any]:
    if way is None:
        return {"name": None}
    way.forget_old_checks()
    given = way.exercise
    return {
        "name": given.name,
        "title": given.title,
        "summary": given.summary,
        "minutes": given.minutes,
        "release": given.scheduler.release,
        "task": given.task,
        "files": [_file(way, name) for name in way.names],
        "tiers": list(given.hints[: way.shown]),
        "tiersTotal": len(given.hints),
        "checks": _checks(way),
        "passed": way.checked is not None and way.checked.passed,
        "checked": way.checked is not None or bool(way.fault),
        "problems": list(way.fault),
        "notes": [] if way.checked is None else listed(way.checked.notes),
    }


@verb
def exercise_hint(scene: Scene) -> dict[str, Any]:
    """Shows one tier of help more."""
    way = _way(scene)
    way.shown = min(way.shown + 1, len(way.exercise.hints))
    return _shown(way)


@verb
def exercise_file(scene: Scene, name: str, text: str) -> dict[str, Any]:
    """Saves a file, and shows the scene of the files as they are now. What is wrong with them is in ``faults``."""
    way = _way(scene)
    before = way.texts
    way.save(name, text)
    faults = went_on(scene, way, before, f"Saved {name}")
    return {**_shown(way), "faults": [one.to_dict() for one in placed_problems(text, faults)]}


@verb
def exercise_check(scene: Scene) -> dict[str, Any]:
    """Runs every check on the files as they are, as ``kubescheduler lab check`` does."""
    way = _way(scene)
    way.check()
    return _shown(way)


def allowed(way: StudentWay) -> tuple[str, ...]:
    """The edits of the scene that an exercise allows: they only look, or change a file that is the student's."""
    choice = way.exercise.scheduler
    own = {choice.policy, choice.config} & set(way.names)
    return (*HARMLESS, *CONFIGURING) if own else HARMLESS


def refuse_in_exercise(scene: Scene, do: str) -> None:
    """Raises SceneFault for an edit that the exercise of the scene does not allow."""
    way = way_of(scene)
    if way is not None and do not in allowed(way):
        raise SceneFault(f"the exercise does not allow {do}; change {', '.join(way.names)}")


def written_back(scene: Scene) -> None:
    """Has the student's files say what the scene shows: the texts that were saved with its state, and a Policy or a
    configuration that was changed by an edit."""
    way = way_of(scene)
    if way is None:
        return
    now = way.texts
    for each, text in way.saved.get(scene.state, {}).items():
        if now.get(each) != text:
            way.save(each, text)
    side, choice = scene.state.sides[0], way.exercise.scheduler
    name = {"policy": choice.policy, "config": choice.config}.get(side.kind)
    if name is not None and name in way.names and read_text(way.work / name) != side.text:
        way.save(name, side.text)


def _way(scene: Scene) -> StudentWay:
    found = way_of(scene)
    if found is None:
        raise SceneFault("exercise: there is none; open one")
    return found


def _file(way: StudentWay, name: str) -> dict[str, Any]:
    path = way.work / name
    code = is_code(name)
    return {
        "name": name,
        "text": read_text(path) if path.is_file() else "",
        "editable": not code,
        "path": str(path),
        "note": f"Code is not written from a page: save {path}; the lab sees it." if code else "",
    }


def _checks(way: StudentWay) -> list[dict[str, Any]]:
    if way.checked is not None:
        return [_outcome(one) for one in way.checked.outcomes]
    visible = way.exercise.scenarios[0].checks
    return [{"text": check.name, "scenario": "", "passed": None, "detail": "", "remark": ""} for check in visible]


def _outcome(one: CheckOutcome) -> dict[str, Any]:
    passed = {Standing.PASSED: True, Standing.FAILED: False, Standing.SKIPPED: None}[one.standing]
    return {"text": one.name, "scenario": one.scenario, "passed": passed, "detail": one.found, "remark": one.remark}


@verb
def class_board(_: Scene) -> dict[str, Any]:
    """How far a class is; nothing, where the command line names no class."""
    return {"exercises": [], "students": None, "waiting": 0}


VERBS: Mapping[str, Verb] = {
    "classBoard": class_board,
    "exercises": exercises,
    "exercise": exercise,
    "exerciseHint": exercise_hint,
    "exerciseFile": exercise_file,
    "exerciseCheck": exercise_check,
}
