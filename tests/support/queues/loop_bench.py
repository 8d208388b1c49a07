"""A scheduler loop with everything around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import attrs
import numpy as np

from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.core.status import Code, Status
from kubescheduler.cycle.schedule_one import LoopParts, PodAttempt, SchedulerLoop
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.profiles.profile_map import build_profiles
from kubescheduler.framework.running.framework_runtime import Framework
from kubescheduler.framework.running.framework_services import Services
from kubescheduler.releases.lookup import release_named
from tests.support.build import make_node
from tests.support.deciders import Binder, Recorder, Sort, profile_of, registry_of, services_of
from tests.support.manual_time import ManualTime
from tests.support.queues.release_queues import SimpleQueue

U, SKIP, WAIT = Status.unschedulable("u"), Status(Code.Skip), Status(Code.Wait)
BOTH = ["1.20", "1.36"]


@attrs.define
class Bench:
    """A loop with everything around it; a pod goes to the node of its label ``node``, n1 without."""

    loop: SchedulerLoop
    queue: SimpleQueue
    services: Services
    recorder: Recorder
    framework: Framework

    def add(self, *pods: Pod) -> None:
        """To the queue."""
        for pod in pods:
            self.queue.add(pod)

    def try_one(self, pod: Pod) -> PodAttempt:
        """The settled attempt of one pod."""
        self.add(pod)
        attempt = self.loop.run_once()
        assert attempt is not None
        attempt.outcome()
        return attempt

    def bound(self) -> dict[str, str]:
        """Pod → node, of those that are no longer just assumed."""
        cache = self.services.cache
        return {pod.metadata.name: pod.node_name for pod in cache.pods() if not cache.is_assumed(pod)}

    @property
    def time(self) -> ManualTime:
        """Moved by hand."""
        assert isinstance(self.services.time, ManualTime)
        return self.services.time


def decide(framework: Framework, pod: Pod, state: CycleState) -> Decision:
    """By the label ``node`` alone; ``error`` is a decision that fails, an empty one finds no node."""
    host = pod.metadata.labels.get("node", "n1")
    fields = {"error": "broken"} if host == "error" else {"host": host or None}
    return Decision(pod, framework.release, ("n1", "n2"), np.ones(2, np.bool_), 2, **fields)


@contextmanager
def bench(release: str, *plugins: Any, writes: bool = False, **fields: Any) -> Iterator[Bench]:
    """writes: there is an API to write to, and so nothing is confirmed by itself."""
    recorder, rules = Recorder(), release_named(release).framework_rules
    latest = fields.pop("latest", lambda pod: pod)
    services = services_of(
        release,
        [make_node("n1"), make_node("n2")],
        events=recorder,
        observer=recorder,
        client=recorder if writes else None,
        **fields,
    )
    all_plugins = [Sort(), *plugins, *([] if any(hasattr(p, "bind") for p in plugins) else [Binder()])]
    profile = profile_of(all_plugins)
    profiles = build_profiles([profile], registry_of(all_plugins), rules.profiles, services)
    queue = SimpleQueue(profiles.less, services.time.now, profiles.pre_enqueue)
    parts = LoopParts(profiles.of, services, cast("Any", queue), rules.cycle(), decide)

    def confirm(pod: Pod) -> None:
        if not writes:
            loop.cycles.assumed.confirm(pod)

    with SchedulerLoop(parts, latest=latest, bound=confirm) as loop:
        yield Bench(loop, queue, services, recorder, profiles["default-scheduler"])
