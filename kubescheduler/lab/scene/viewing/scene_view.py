"""The verbs ``state`` and ``pending``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterstate.errors import listed
from clusterstate.objects import Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.lab.scene.families.exercise_scene import way_of
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_side import Side
from kubescheduler.lab.scene.verb_parameters import NoParameters, parameters
from kubescheduler.releases.names import RELEASE_NAMES

MOST_PODS = 500
"""Pods that the state names; more are counted."""


def state(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The scene in brief."""
    parameters(NoParameters, asked)
    now = scene.state
    return {
        "version": scene.version,
        "title": now.title,
        "releases": list(RELEASE_NAMES),
        "sides": [side_entry(scene, side) for side in now.sides],
        "asked": asked_entry(scene),
        **scene.once(_counts),
        "canUndo": scene.undo_text is not None,
        "undoText": scene.undo_text,
        "canRedo": scene.redo_text is not None,
        "redoText": scene.redo_text,
        "notes": listed(now.notes),
        "exercise": exercise_entry(scene),
        "plugin": plugin_entry(scene),
    }


def exercise_entry(scene: Scene) -> dict[str, Any] | None:
    """The exercise that is worked on."""
    way = way_of(scene)
    return None if way is None else {"name": way.exercise.name, "title": way.exercise.title}


def plugin_entry(scene: Scene) -> dict[str, Any] | None:
    """The first file of users' own rules, and what is wrong with all of them."""
    if not scene.plugin_files:
        return None
    problems = [problem for file in scene.plugin_files for problem in file.problems]
    return {"path": str(scene.plugin_files[0].path), "problems": problems}


def _counts(cluster: Cluster) -> dict[str, Any]:
    pods = cluster.pods
    return {
        "pods": [pod_entry(pod) for pod in pods[:MOST_PODS]],
        "nodesTotal": len(cluster.nodes),
        "podsTotal": len(pods),
        "pendingTotal": len(cluster.pending()),
    }


def asked_entry(scene: Scene) -> dict[str, Any] | None:
    """The pod that is asked about."""
    key = scene.state.asked
    found = None if key is None else scene.state.cluster.find_pod(key)
    if found is None:
        return None
    return {"key": found.key, "namespace": found.metadata.namespace, "name": found.metadata.name}


def side_entry(scene: Scene, side: Side) -> dict[str, Any]:
    """One side: what describes it, and why it cannot decide."""
    made = scene.made(side)
    return {
        "id": side.id,
        "name": side.name,
        "release": side.release,
        "kind": side.kind,
        "text": side.shown_text,
        "schedulerNames": scheduler_names(made.engine),
        "notes": listed(made.notes),
        "problems": listed(scene.problems(side.id)),
    }


def scheduler_names(engine: Any) -> list[str]:
    """Whose pods an engine decides on."""
    if engine is None:
        return []
    config = getattr(engine, "config", None)
    if config is not None:
        return [profile.scheduler_name for profile in config.profiles]
    name = engine.algorithm.scheduler_name
    return [] if name is None else [name]


def pod_entry(pod: Pod) -> dict[str, Any]:
    """A pod in a list."""
    return {
        "key": pod.key,
        "node": pod.node_name or None,
        "phase": "running" if pod.node_name else "pending",
        "owner": owner_of(pod),
        "priority": pod.priority,
    }


def owner_of(pod: Pod) -> str:
    """``ReplicaSet web``: the controller; empty where there is none."""
    owners = (f"{owner.kind} {owner.name}" for owner in pod.metadata.owner_references if owner.controller)
    return next(owners, "")
