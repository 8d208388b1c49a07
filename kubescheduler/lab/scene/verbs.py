"""Every question and edit that a page sends: name → function of the scene and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from kubescheduler.lab.scene.editing.edit_contract import Edit, edited, redo, undo
from kubescheduler.lab.scene.editing.node_changes import NODE_EDITS
from kubescheduler.lab.scene.editing.pod_changes import POD_EDITS
from kubescheduler.lab.scene.editing.scheduled_pods import SCHEDULING_EDITS
from kubescheduler.lab.scene.editing.side_changes import SIDE_EDITS
from kubescheduler.lab.scene.families.tune_verbs import TUNE_EDITS, TUNE_VERBS
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.viewing.cluster_view import cluster
from kubescheduler.lab.scene.viewing.decision_view import decision
from kubescheduler.lab.scene.viewing.scene_view import state

Verb = Callable[[Scene, Mapping[str, Any]], dict[str, Any]]
"""Answers plain data. Raises SceneFault, or another InputError, with every problem."""

EDITS: Mapping[str, Edit] = {**NODE_EDITS, **POD_EDITS, **SCHEDULING_EDITS, **SIDE_EDITS, **TUNE_EDITS}
"""Everything that the verb ``edit`` can do."""

VIEWING: Mapping[str, Verb] = {"state": state, "cluster": cluster, "decision": decision}
EDITING: Mapping[str, Verb] = {"edit": partial(edited, EDITS), "undo": undo, "redo": redo}

VERBS: Mapping[str, Verb] = {**VIEWING, **EDITING, **TUNE_VERBS}
"""All of them."""
