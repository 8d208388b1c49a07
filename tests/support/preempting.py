"""Pods that fit nowhere and preempt, by resources alone."""

from __future__ import annotations

from typing import Any

import msgspec

from clusterstate.objects import LabelSelector, ObjectMeta, Pod, PodDisruptionBudget
from kubescheduler.core.decision import Decision
from tests.support.build import labels, make_node, make_pod, resources
from tests.support.deciders import deciding
from tests.support.rich_worlds import in_tree

WEB = {"app": "web"}


def node(name: str, cpu: int = 3000, **fields: Any) -> Any:
    return make_node(name, allocatable=resources(cpu=cpu, memory=8 << 30, pods=9), **fields)


def pod(
    name: str, at: str = "n0", priority: int = 0, cpu: int = 1000, *, start: int | None = None, **fields: Any
) -> Pod:
    """start: minutes past midnight."""
    made = make_pod(name, node=at, priority=priority, requests=resources(cpu=cpu), **fields)
    return made if start is None else msgspec.structs.replace(made, start_time=f"2020-01-01T00:{start:02}:00Z")


def wants(cpu: int = 1000, priority: int = 10, **fields: Any) -> Pod:
    return make_pod("in", priority=priority, requests=resources(cpu=cpu), **fields)


def preempted(
    release: str, cluster: list[Any], asking: Pod, *plugins: Any, extenders: Any = (), thorough: bool = False
) -> Decision:
    """A decision by resources and preemption, for a pod that fits nowhere."""
    made = in_tree(release)
    scheduler = deciding(
        release, *plugins, made["NodeResourcesFit"], made["DefaultPreemption"], cluster=cluster, extenders=extenders
    )
    decision = scheduler.schedule(asking, preempt=True, thorough=thorough)
    assert decision.host is None
    return decision


def victims(decision: Decision) -> dict[str, list[str]]:
    """Node → the names of those who would leave, in order."""
    assert decision.preemption is not None
    return {name: [p.metadata.name for p in v.pods] for name, v in decision.preemption.candidates.items()}


def chosen(decision: Decision) -> list[str]:
    assert decision.preemption is not None
    return list(decision.preemption.chosen)


def told(release: str, count: int, reasons: str, text: str) -> str:
    """The message of a pod that may not preempt, or for whom preemption found nothing."""
    return f"0/{count} nodes are available: {reasons}.{f' {text}' if release == '1.36' else ''}"


def cpu_of(made: Pod) -> int:
    return made.spec.containers[0].requests["cpu"]


def budget(allowed: int, *disrupted: str) -> PodDisruptionBudget:
    return PodDisruptionBudget(ObjectMeta("b", "default"), LabelSelector(labels(WEB)), allowed, disrupted)
