"""A scheduler of 1.36 whose profile lets pods share a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from clusterstate.cache import ClusterCache
from clusterstate.objects import Node, Pod
from kubescheduler.core.decision import Decision
from kubescheduler.core.selection import TieBreak
from kubescheduler.engine.framework_engine import ProfiledScheduler, framework_engine_for
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.deciding.opportunistic_batch import Turn
from tests.support.build import make_node, make_pod, resources
from tests.support.frames import Recorder

NO_DEFAULTS: dict[str, Any] = {
    "name": "PodTopologySpread",
    "args": {"defaultingType": "List", "defaultConstraints": []},
}
"""Without default constraints pods can be signed."""


def document(*plugin_config: Any, **profile: Any) -> dict[str, Any]:
    """A configuration of 1.36 without default constraints."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [NO_DEFAULTS, *plugin_config], **profile}],
    }


def sized(name: str, cpus: int) -> Node:
    """A node of some whole cpus."""
    return make_node(name, allocatable=resources(cpu=cpus * 1000, memory=64 << 30, pods=110))


def filling(name: str, cpus: int = 3, **fields: Any) -> Pod:
    """A pod that asks for whole cpus."""
    return make_pod(name, requests=resources(cpu=cpus * 1000), scheduler_name="default-scheduler", **fields)


@attrs.define
class BatchingScheduler:
    """A cluster and its scheduler, which counts what becomes of rankings."""

    scheduler: ProfiledScheduler
    recorder: Recorder
    number: int = 0

    @classmethod
    def of(
        cls,
        nodes: Sequence[Node],
        configured: dict[str, Any] | None = None,
        *,
        gates: str = "",
        tie_break: TieBreak | None = None,
    ) -> BatchingScheduler:
        """By default without default constraints."""
        spec, recorder = EngineSpec("1.36", feature_gates=gates), Recorder()
        engine = framework_engine_for(spec, None, None, document() if configured is None else configured)
        services = engine.services(ClusterCache.of(nodes, spec.release_view()))
        services.observer = recorder
        return cls(engine.over(services, tie_break), recorder)

    @property
    def cache(self) -> ClusterCache:
        return self.scheduler.cache

    def decide(self, pod: Pod, now: float = 0.0, skip: int = 0) -> Decision:
        """The next attempt, after ``skip`` others."""
        self.number += 1 + skip
        return self.scheduler.schedulers["default-scheduler"].schedule(pod, turn=Turn(self.number, now))

    def place(self, pod: Pod, now: float = 0.0) -> str | None:
        """Decides and places a pod; its node."""
        decision = self.decide(pod, now)
        if decision.host is not None:
            self.cache.assume_pod(pod, decision.host)
        return decision.host

    def counted(self) -> list[str]:
        """What was counted since it was last asked: results of attempts and reasons of flushes."""
        told = [str(one[1]) for one in self.recorder.told if str(one[0]).startswith("batch_")]
        self.recorder.told.clear()
        return told
