"""Every question and edit that a page sends: name → function of the scene and its parameters.

What answers says so in maps at the end of its module: ``VIEWS`` only look, also at a moment of a run, ``VERBS`` are the
other questions, and ``EDITS`` what the verb ``edit`` can do. Here they come together, with what concerns all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from clusterstate.errors import nearest
from kubescheduler.lab.scene import (
    cluster_edits,
    decision_view,
    exercise_verbs,
    scene_view,
    share_verbs,
    side_verbs,
    time_verbs,
    tune_verbs,
    why_view,
)
from kubescheduler.lab.scene.exercise_verbs import refuse_in_exercise, written_back
from kubescheduler.lab.scene.scene import Edit, Scene, Verb, verb
from kubescheduler.lab.scene.scene_state import SceneFault, SceneState
from kubescheduler.lab.scene.scene_view import state
from kubescheduler.lab.scene.share_verbs import AskedBefore, ExportFormat, exported

VIEWS: Mapping[str, Verb] = {**scene_view.VIEWS, **decision_view.VIEWS, **why_view.VIEWS}
SIDELESS = ("state", "pod", "node")
"""Of these, what is said whatever decides."""

EDITS: Mapping[str, Edit] = {
    **cluster_edits.EDITS,
    **side_verbs.EDITS,
    **tune_verbs.EDITS,
    **time_verbs.EDITS,
}
"""Everything that the verb ``edit`` can do."""


def edit(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The verb ``edit``: makes the edit that ``edit.do`` names, in an exercise one that it allows.

    ``join``: a text; edits in a row with the same one, as those of a slider that is dragged, are undone at once.
    Raises InputError; nothing has changed then.
    """
    wanted, join = asked.get("edit"), asked.get("join", "")
    refuse_in_exercise(scene, str(wanted.get("do")) if isinstance(wanted, Mapping) else "")
    if not isinstance(wanted, Mapping) or not isinstance(join, str) or not asked.keys() <= {"edit", "join"}:
        raise SceneFault('edit: expected {"edit": {"do": …}}')
    name = wanted.get("do")
    if not isinstance(name, str) or name not in EDITS:
        raise SceneFault(f"edit.do: there is no edit {name!r}{nearest(str(name), EDITS)}")
    text, changed = EDITS[name](scene, {key: value for key, value in wanted.items() if key != "do"})
    scene.change(text, settled(changed), join)
    return _changed(scene, text)


def settled(state: SceneState) -> SceneState:
    """With another pod asked about where the one that was is gone: the first that waits, or none."""
    if state.asked is None or state.cluster.find_pod(state.asked) is not None:
        return state
    waiting = state.cluster.pending()
    return msgspec.structs.replace(state, asked=waiting[0].key if waiting else None)


@verb
def undo(scene: Scene) -> dict[str, Any]:
    """Takes the last edit back."""
    return _changed(scene, f"Undone: {scene.undo()}")


@verb
def redo(scene: Scene) -> dict[str, Any]:
    """Makes the edit again that was taken back last."""
    return _changed(scene, f"Done again: {scene.redo()}")


def _changed(scene: Scene, text: str) -> dict[str, Any]:
    """What was done and the scene after it; the files of an exercise follow."""
    answer = {"text": text, "state": state(scene, {})}
    written_back(scene)
    return answer


def at_moment(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The verb ``timeAt``: what Why and Cluster would show before an attempt of a run.

    verb: ``decision`` by default, or another one that only looks; params: its parameters.
    """
    name, given = asked.get("verb", "decision"), asked.get("params") or {}
    if not isinstance(name, str) or name not in VIEWS or not isinstance(given, Mapping):
        raise SceneFault(f"verb: expected one of {', '.join(VIEWS)} with its params, found {name!r}")
    rest = {key: value for key, value in asked.items() if key not in ("verb", "params")}
    moment, attempt, notes = time_verbs.time_at(scene, rest)
    side = {} if name in SIDELESS else {"side": moment.state.sides[0].id}
    return {"t": attempt.time, "pod": attempt.pod, "notes": notes, name: VIEWS[name](moment, {**given, **side})}


@verb
def export(scene: Scene, as_: ExportFormat, side: str = "a", asks: tuple[AskedBefore, ...] = ()) -> dict[str, Any]:
    """A file; a replay holds the answers of every verb."""
    return exported(scene, as_, side, asks, VERBS)


VERBS: Mapping[str, Verb] = {
    **VIEWS,
    "edit": edit,
    "undo": undo,
    "redo": redo,
    **tune_verbs.VERBS,
    **side_verbs.VERBS,
    **time_verbs.VERBS,
    "timeAt": at_moment,
    **scene_view.VERBS,
    **exercise_verbs.VERBS,
    "share": share_verbs.share,
    "export": export,
}
"""All of them."""
