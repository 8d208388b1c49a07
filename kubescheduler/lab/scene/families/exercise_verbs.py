"""The verbs of an exercise: its task and files, help in tiers, saving and checking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterstate.errors import listed
from kubescheduler.config.config_text import read_text
from kubescheduler.lab.exercises.checking import CheckOutcome, Standing
from kubescheduler.lab.exercises.shipped_exercises import shipped_exercise, shipped_names
from kubescheduler.lab.scene.families.exercise_scene import StudentWay, is_code, reopened, way_of
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.verb_parameters import NoParameters, Parameters, parameters
from kubescheduler.lab.tuning.problem_places import placed_problems

CONFIGURING = ("weights", "toggle", "args", "configure")
"""Edits that change what a Policy or configuration says."""

HARMLESS = ("ask", "schedule", "unbind", "fork", "askExtenders")
"""Edits that only look further: the files stay as they are."""


class FileParameters(Parameters, frozen=True):
    """Of ``exerciseFile``."""

    name: str
    text: str


def exercises(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG001
    """The exercises that come with the package, in the order of the workshop."""
    parameters(NoParameters, asked)
    found = [shipped_exercise(name) for name in shipped_names()]
    return {
        "exercises": [
            {
                "name": one.name,
                "title": one.title,
                "summary": one.summary,
                "minutes": one.minutes,
                "teacher": one.teacher_minutes,
                "task": one.task,
                "release": one.scheduler.release,
            }
            for one in found
        ]
    }


def exercise(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The exercise that is worked on; no name where there is none."""
    parameters(NoParameters, asked)
    way = way_of(scene)
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
        "folder": str(way.work),
        "files": [_file(way, name) for name in way.names],
        "allowed": list(allowed(way)),
        "tiers": list(given.hints[: way.shown]),
        "tiersTotal": len(given.hints),
        "checks": _checks(way),
        "passed": way.checked is not None and way.checked.passed,
        "checked": way.checked is not None or bool(way.fault),
        "problems": list(way.fault),
        "notes": [] if way.checked is None else listed(way.checked.notes),
        "solution": way.solution() if way.checked is not None and way.checked.passed else None,
    }


def exercise_hint(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Shows one tier of help more."""
    way = _way(scene)
    way.shown = min(way.shown + 1, len(way.exercise.hints))
    return exercise(scene, asked)


def exercise_file(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Saves a file, and shows the scene of the files as they are now. What is wrong with them is in ``problems``."""
    want, way = parameters(FileParameters, asked), _way(scene)
    before = way.texts
    way.save(want.name, want.text)
    state, problems = reopened(scene, way)
    if not problems:
        way.saved.setdefault(scene.state, before)
        way.saved[state] = way.texts
        scene.change(f"Saved {want.name}", state)
    return {**exercise(scene, {}), "problems": [one.to_dict() for one in placed_problems(want.text, problems)]}


def exercise_check(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Runs every check on the files as they are, as ``kubescheduler lab check`` does."""
    _way(scene).check()
    return exercise(scene, asked)


def allowed(way: StudentWay) -> tuple[str, ...]:
    """The edits of the scene that an exercise allows: they only look, or change a file that is the student's."""
    choice = way.exercise.scheduler
    own = {choice.policy, choice.config} & set(way.names)
    return (*HARMLESS, *CONFIGURING) if own else HARMLESS


def refuse_in_exercise(scene: Scene, do: str) -> None:
    """Raises SceneFault for an edit that the exercise of the scene does not allow."""
    way = way_of(scene)
    if way is not None and do not in allowed(way):
        raise SceneFault(f"edit.do: the exercise does not allow {do}; change {', '.join(way.names)}")


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


def class_board(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG001
    """How far a class is; nothing, where the command line names no class."""
    parameters(NoParameters, asked)
    return {"exercises": [], "students": None, "waiting": 0}


EXERCISE_VERBS = {
    "classBoard": class_board,
    "exercises": exercises,
    "exercise": exercise,
    "exerciseHint": exercise_hint,
    "exerciseFile": exercise_file,
    "exerciseCheck": exercise_check,
}
