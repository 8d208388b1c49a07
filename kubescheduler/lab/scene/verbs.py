"""Every question and edit that a page sends: name → function of the scene and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubescheduler.lab.scene.editing.edit_contract import Edit, edited, redo, undo
from kubescheduler.lab.scene.editing.node_changes import NODE_EDITS
from kubescheduler.lab.scene.editing.pod_changes import POD_EDITS
from kubescheduler.lab.scene.editing.scheduled_pods import SCHEDULING_EDITS
from kubescheduler.lab.scene.editing.side_changes import SIDE_EDITS
from kubescheduler.lab.scene.families.code_verbs import CODE_VERBS
from kubescheduler.lab.scene.families.exercise_verbs import EXERCISE_VERBS, refuse_in_exercise, written_back
from kubescheduler.lab.scene.families.hint_verbs import HINT_EDITS, HINT_VERBS
from kubescheduler.lab.scene.families.side_verbs import SIDE_VERBS
from kubescheduler.lab.scene.families.time_verbs import TIME_EDITS, TIME_VERBS, time_at
from kubescheduler.lab.scene.families.tune_verbs import TUNE_EDITS, TUNE_VERBS
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.sharing.share_verbs import exporting, share
from kubescheduler.lab.scene.viewing.cluster_view import cluster
from kubescheduler.lab.scene.viewing.decision_view import decision
from kubescheduler.lab.scene.viewing.extender_request_view import extender_request
from kubescheduler.lab.scene.viewing.object_view import node, pod
from kubescheduler.lab.scene.viewing.pending_view import pending
from kubescheduler.lab.scene.viewing.rule_view import rule
from kubescheduler.lab.scene.viewing.scene_view import state
from kubescheduler.lab.scene.viewing.why_view import whatif, why

Verb = Callable[[Scene, Mapping[str, Any]], dict[str, Any]]
"""Answers plain data. Raises SceneFault, or another InputError, with every problem."""

FAMILY_EDITS: Mapping[str, Edit] = {**TUNE_EDITS, **HINT_EDITS, **TIME_EDITS}
EDITS: Mapping[str, Edit] = {**NODE_EDITS, **POD_EDITS, **SCHEDULING_EDITS, **SIDE_EDITS, **FAMILY_EDITS}
"""Everything that the verb ``edit`` can do."""

VIEWING: Mapping[str, Verb] = {
    "state": state,
    "cluster": cluster,
    "decision": decision,
    "why": why,
    "whatif": whatif,
    "pending": pending,
    "pod": pod,
    "node": node,
    "rule": rule,
    "extenderRequest": extender_request,
}
SIDELESS = ("state", "pod", "node")
"""Of these, what is said whatever decides."""


def edit(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The verb ``edit``; in an exercise, of what that allows."""
    wanted = asked.get("edit")
    do = str(wanted.get("do")) if isinstance(wanted, Mapping) else ""
    refuse_in_exercise(scene, do)
    answer = edited(EDITS, scene, asked)
    written_back(scene)
    return answer


def stepping(verb: Verb) -> Verb:
    """Undo or redo; the files of an exercise follow."""

    def step(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
        answer = verb(scene, asked)
        written_back(scene)
        return answer

    return step


EDITING: Mapping[str, Verb] = {"edit": edit, "undo": stepping(undo), "redo": stepping(redo)}

FAMILIES: Mapping[str, Verb] = {**TUNE_VERBS, **HINT_VERBS, **SIDE_VERBS, **TIME_VERBS, **CODE_VERBS, **EXERCISE_VERBS}


def at_moment(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The verb ``timeAt``: what Why and Cluster would show before an attempt of a run.

    verb: ``decision`` by default, or another one that only looks; params: its parameters.
    """
    name, given = asked.get("verb", "decision"), asked.get("params") or {}
    if not isinstance(name, str) or name not in VIEWING or not isinstance(given, Mapping):
        raise SceneFault(f"verb: expected one of {', '.join(VIEWING)} with its params, found {name!r}")
    rest = {key: value for key, value in asked.items() if key not in ("verb", "params")}
    moment, attempt, notes = time_at(scene, rest)
    side = {} if name in SIDELESS else {"side": moment.state.sides[0].id}
    return {"t": attempt.time, "pod": attempt.pod, "notes": notes, name: VIEWING[name](moment, {**given, **side})}


SHARING: Mapping[str, Verb] = {"share": share, "export": exporting(lambda: VERBS)}

VERBS: Mapping[str, Verb] = {**VIEWING, **EDITING, **FAMILIES, **SHARING, "timeAt": at_moment}
"""All of them."""
