"""Every question and edit that a page sends: name → function of the scene and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubescheduler.lab.scene.families.tune_verbs import TUNE_VERBS
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.viewing.cluster_view import cluster
from kubescheduler.lab.scene.viewing.decision_view import decision
from kubescheduler.lab.scene.viewing.scene_view import state

Verb = Callable[[Scene, Mapping[str, Any]], dict[str, Any]]
"""Answers plain data. Raises SceneFault, or another InputError, with every problem."""

VIEWING: Mapping[str, Verb] = {"state": state, "cluster": cluster, "decision": decision}

VERBS: Mapping[str, Verb] = {**VIEWING, **TUNE_VERBS}
"""All of them."""
