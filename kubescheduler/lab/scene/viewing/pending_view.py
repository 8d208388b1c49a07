"""The verb ``pending``: the pods that wait, in the order of the queue, with what would become of each now."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.engine.engine_contract import PodScheduler
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verb_parameters import SideParameters, parameters
from kubescheduler.lab.scene.viewing.shown_decisions import shown_decision

MOST_PENDING = 200
"""Pods that are decided for one answer; more are counted."""


def pending(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Each pod is decided as if it came next: none is bound before another."""
    want = parameters(SideParameters, asked)
    scheduler, waiting = scene.scheduler(want.side), scene.cluster(want.side).pending()
    decided: dict[Hashable, Decision] = {}
    pods = []
    for pod in waiting[:MOST_PENDING]:
        alike = _alike(scheduler, pod)
        if alike not in decided:
            decided[alike] = shown_decision(scene, want.side, pod.key)
        pods.append(_entry(pod, decided[alike]))
    return {"pods": pods, "more": max(0, len(waiting) - MOST_PENDING)}


def _alike(scheduler: PodScheduler, pod: Pod) -> Hashable:
    """What pods have in common that every rule sees alike: class, priority and nomination; the pod itself where custom
    code or an extender may look at more."""
    if scheduler.has_custom_plugins or scheduler.algorithm.extenders:
        return pod.key
    return scheduler.cache.info(pod), pod.priority, pod.nominated_node_name, pod.metadata.annotations


def _entry(pod: Pod, decision: Decision) -> dict[str, Any]:
    return {
        "key": pod.key,
        "message": decision.message.replace(decision.pod.key, pod.key),
        "nominated": pod.nominated_node_name or decision.nominated or None,
        "gated": not decision.tried,
        "host": decision.host,
        "error": decision.error if decision.tried else None,
        "priority": pod.priority,
    }
