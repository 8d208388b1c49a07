"""The first state of a scene, from whatever names a cluster, pods and schedulers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from clusterstate.errors import InputError
from clusterstate.release_names import DEFAULT_RELEASE
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.cluster_entries import Entry, key_of
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.scene_side import SIDE_IDS, Side, side_of
from kubescheduler.lab.scene.scene_state import SceneState


def opened_state(
    sources: Iterable[Any], pods: Iterable[Any], sides: Iterable[Side | EngineSpec], title: str
) -> SceneState:
    """See ``Scene.opened``. Raises InputError with every fault."""
    things = list(sources)
    given = list(sides)
    if not given:
        given = [EngineSpec(next((one.release for one in things if isinstance(one, Cluster)), DEFAULT_RELEASE))]
    if len(given) > len(SIDE_IDS):
        raise SceneFault(f"sides: at most {len(SIDE_IDS)}, found {len(given)}")
    named = tuple(numbered(side, letter) for side, letter in zip(given, SIDE_IDS, strict=False))
    cluster = _cluster(things, named[0].release)
    asked: list[str] = []
    notes: list[str] = list(cluster.notes)
    for pod in pods:
        cluster, keys = with_pods(cluster, pod, notes)
        asked += keys
    waiting = asked or [pod.key for pod in cluster.pending()[:1]]
    return SceneState(cluster, waiting[0] if waiting else None, named, title, tuple(dict.fromkeys(notes)))


def numbered(side: Side | EngineSpec, letter: str) -> Side:
    """A side of that id."""
    return attrs.evolve(side, id=letter) if isinstance(side, Side) else side_of(side, letter)


def _cluster(things: list[Any], release: str) -> Cluster:
    clusters = [one for one in things if isinstance(one, Cluster)]
    others = [one for one in things if not isinstance(one, Cluster)]
    if not clusters:
        return Cluster(*others, release=release) if others else Cluster(release=release)
    if len(clusters) > 1:
        raise SceneFault("cluster: expected one, found several")
    cluster = clusters[0].for_release(release)
    return cluster.add(*others) if others else cluster


def with_pods(cluster: Cluster, given: Any, notes: list[str]) -> tuple[Cluster, list[str]]:
    """The cluster with the pods that something asks for, waiting, each in place of one that waits under its name; and
    their keys. notes: what is to be said. Raises InputError, also for a pod that runs already."""
    found = cluster.to_place(given)
    notes += (*found.notes, *found.controllers)
    if not found.pods and not found.beside:
        raise InputError("pods: there is none to place")
    out = cluster.with_beside((*found.beside, *((pod, None) for pod in found.pods)))
    return out, [key_of(Entry(pod).obj)[1] for pod in found.pods]
