"""The verb ``code``: the files of users' own rules as they are on disk, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from clusterstate.errors import InputError
from kubescheduler.lab.plugin_file import PluginFile, faults_in
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verb_contract import Verb, verb


@verb
def code(scene: Scene) -> dict[str, Any]:
    """Every file with its text and its faults, also those of the decisions on the pod that is asked about."""
    files = [_entry(scene, file) for file in scene.plugin_files]
    first = files[0] if files else {"path": None, "text": "", "problems": [], "loaded": False, "at": None}
    text = "" if files else "No code of your own: give the lab a file with --plugin module:Factory."
    return {**first, "files": files, "explanation": text}


def _entry(scene: Scene, file: PluginFile) -> dict[str, Any]:
    faults = list(file.faults) or [
        fault for error in _errors(scene) for fault in faults_in(error, error.problems, file.path)
    ]
    return {
        "path": str(file.path),
        "name": file.name,
        "text": file.text,
        "loaded": not file.faults,
        "at": datetime.fromtimestamp(file.loaded_at, UTC).isoformat(timespec="seconds"),
        "problems": [fault.to_dict() for fault in dict.fromkeys(faults)],
    }


def _errors(scene: Scene) -> list[InputError]:
    """What the decisions of the sides end with."""
    found: list[InputError] = []
    for side in scene.state.sides if scene.state.asked is not None else ():
        try:
            scene.decision(side.id)
        except InputError as error:
            found.append(error)
    return found


VERBS: Mapping[str, Verb] = {"code": code}
