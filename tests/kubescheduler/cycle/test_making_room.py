"""Preemption carried out by the loop of each release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubescheduler.cycle.event_handlers import EventHandlers
from kubescheduler.cycle.schedule_one import PodAttempt, SchedulerLoop
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.loop_parts import loop_parts
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.handle import Services
from kubescheduler.queue.scheduling_queue import SchedulingQueue
from tests.support.build import make_node, make_pod, resources
from tests.support.manual_time import ManualTime
from tests.support.storage import Claimless

TWO_CPUS = resources(cpu=2000)

RELEASES = pytest.mark.parametrize("release", ["1.20", "1.36"])
WITH_PREEMPTION = pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])


@attrs.define
class Events:
    """What was told of pods."""

    told: list[tuple[str, str, str]] = attrs.field(factory=list)

    def event(self, pod: Pod, type_: str, reason: str, action: str, note: str, related: Pod | None = None) -> None:
        self.told.append((pod.key, reason, note))


@attrs.define
class Api(Claimless):
    """Notes what is written; refuses to delete the pods named, and takes others off their nodes at once."""

    refused: tuple[str, ...] = ()
    calls: list[tuple[str, str]] = attrs.field(factory=list)
    world: FullNodeLoop | None = None

    def bind(self, pod: Pod, node_name: str) -> None:
        self.calls.append(("bind", f"{pod.key} {node_name}"))

    def delete_pod(self, pod: Pod) -> None:
        if pod.metadata.name in self.refused:
            raise SchedulingError(f"{pod.metadata.name} stays")
        self.calls.append(("delete", pod.key))
        if self.world is not None:
            self.world.gone.append(pod)

    def patch_pod_status(self, pod: Pod, status: Mapping[str, Any]) -> None:
        self.calls.append(("patch", f"{pod.key} {sorted(status)}"))

    def update_object(self, obj: Any) -> None:
        self.calls.append(("update", obj.metadata.name))


@attrs.define
class FullNodeLoop:
    """A node for four cpus, full of two low pods, and the loop of a release over it."""

    release: str
    client: Api = attrs.field(factory=Api)
    events: Events = attrs.field(factory=Events)
    cache: ClusterCache = attrs.field(init=False)
    loop: SchedulerLoop = attrs.field(init=False)
    queue: SchedulingQueue = attrs.field(init=False)
    time: ManualTime = attrs.field(factory=ManualTime)
    gone: list[Pod] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        flags = EngineFlags(self.release)
        low = [make_pod(f"low-{at}", requests=TWO_CPUS, priority=at, node="n1") for at in (1, 2)]
        self.cache = ClusterCache.of([make_node("n1"), *low], flags.release_view())
        self.client.world = self
        parts = loop_parts(EngineSpec(self.release).engine(print).scheduler(self.cache), self.adapt)
        self.queue = parts.queue
        self.loop = SchedulerLoop(parts, bound=self.confirm)

    def adapt(self, services: Services) -> Services:
        return msgspec.structs.replace(
            services, client=self.client, events=self.events, time=self.time, in_background=lambda work: work()
        )

    def confirm(self, pod: Pod) -> None:
        self.loop.cycles.assumed.confirm(pod)

    def settle(self) -> list[PodAttempt]:
        """Attempts, the second half of them once the victims are gone and back-offs are over."""
        attempts = self.loop.settle()
        handlers = EventHandlers(self.loop.cycles)
        for pod in self.gone:
            handlers.changed(pod, None)
        self.time.advance(60)
        self.queue.flush_due()
        return attempts + self.loop.settle()

    def names(self) -> list[str]:
        return sorted(pod.metadata.name for pod in self.cache.pods())


@WITH_PREEMPTION
def test_victims_leave_and_the_pod_takes_their_place(release: str) -> None:
    """The least important pod makes room, and the second attempt succeeds."""
    world = FullNodeLoop(release)
    world.queue.add(make_pod("urgent", requests=TWO_CPUS, priority=10))
    with world.loop:
        attempts = world.settle()
    assert [attempt.node_name for attempt in attempts] == ["", "n1"]
    assert world.names() == ["low-2", "urgent"]
    by = {"1.36": "Preempted by pod default/urgent on node n1"}.get(release, "Preempted by default/urgent on node n1")
    assert by in [note for _, reason, note in world.events.told if reason == "Preempted"]


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("1.16", [("delete", "default/low-1")]),
        ("1.20", [("delete", "default/low-1")]),
        ("1.36", [("patch", "default/low-1 ['conditions']"), ("delete", "default/low-1")]),
    ],
)
def test_what_the_api_is_told(release: str, expected: list[tuple[str, str]]) -> None:
    """1.36 marks its victims before it deletes them."""
    api = Api()
    world = FullNodeLoop(release, api)
    world.queue.add(make_pod("urgent", requests=TWO_CPUS, priority=10))
    with world.loop as loop:
        loop.run()
    assert [call for call in api.calls if "low" in call[1]] == expected


@RELEASES
def test_a_victim_that_cannot_be_deleted(release: str) -> None:
    """The pod is not nominated by 1.20; 1.36 tries it again."""
    world = FullNodeLoop(release, Api(refused=("low-1",)))
    world.queue.add(make_pod("urgent", requests=TWO_CPUS, priority=10))
    with world.loop as loop:
        first = loop.run_once()
    assert (first.failure.nominated or "") == {"1.20": "", "1.36": "n1"}[release]
