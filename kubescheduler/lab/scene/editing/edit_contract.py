"""What an edit is, and the verbs that make, undo and redo one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from clusterstate.errors import nearest
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.scene_state import SceneState
from kubescheduler.lab.scene.verb_parameters import NoParameters, parameters
from kubescheduler.lab.scene.viewing.scene_view import state as state_of

Change = tuple[str, SceneState]
"""What was done, in the past tense, and the state after it."""

Edit = Callable[[Scene, Mapping[str, Any]], Change]
"""Of a scene and the edit's parameters without ``do``; the scene itself stays as it is. Raises InputError with every
fault."""


def edited(edits: Mapping[str, Edit], scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The verb ``edit``: makes the edit that ``edit.do`` names. Raises InputError; nothing has changed then.

    ``join``: a text; edits in a row with the same one, as those of a slider that is dragged, are undone at once.
    """
    wanted, join = asked.get("edit"), asked.get("join", "")
    if not isinstance(wanted, Mapping) or not isinstance(join, str) or not asked.keys() <= {"edit", "join"}:
        raise SceneFault('edit: expected {"edit": {"do": …}}')
    name = wanted.get("do")
    if not isinstance(name, str) or name not in edits:
        raise SceneFault(f"edit.do: there is no edit {name!r}{nearest(str(name), edits)}")
    text, state = edits[name](scene, {key: value for key, value in wanted.items() if key != "do"})
    scene.change(text, settled(state), join)
    return {"text": text, "state": state_of(scene, {})}


def settled(state: SceneState) -> SceneState:
    """With another pod asked about where the one that was is gone: the first that waits, or none."""
    if state.asked is None or state.cluster.find_pod(state.asked) is not None:
        return state
    waiting = state.cluster.pending()
    return msgspec.structs.replace(state, asked=waiting[0].key if waiting else None)


def undo(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Takes the last edit back."""
    parameters(NoParameters, asked)
    return {"text": f"Undone: {scene.undo()}", "state": state_of(scene, {})}


def redo(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Makes the edit again that was taken back last."""
    parameters(NoParameters, asked)
    return {"text": f"Done again: {scene.redo()}", "state": state_of(scene, {})}
