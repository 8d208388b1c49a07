"""Preemption carried out by the loop of each release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.engines import FrameworkEngine, framework_engine_for
from kubescheduler.framework.contract.clocks import ManualTime
from kubescheduler.framework.cycle.pod_queue import SimpleQueue
from kubescheduler.framework.cycle.scheduler_loop import SchedulerLoop
from tests.support.build import make_node, make_pod, resources

TWO_CPUS = resources(cpu=2000)

RELEASES = pytest.mark.parametrize("release", ["1.20", "1.36"])


@attrs.define
class Events:
    """What was told of pods."""

    told: list[tuple[str, str, str]] = attrs.field(factory=list)

    def event(self, pod: Pod, type_: str, reason: str, action: str, note: str) -> None:
        self.told.append((pod.key, reason, note))


@attrs.define
class Api:
    """Notes what is written; refuses to delete the pods named."""

    refused: tuple[str, ...] = ()
    calls: list[tuple[str, str]] = attrs.field(factory=list)

    def bind(self, pod: Pod, node_name: str) -> None:
        self.calls.append(("bind", f"{pod.key} {node_name}"))

    def delete_pod(self, pod: Pod) -> None:
        if pod.metadata.name in self.refused:
            raise SchedulingError(f"{pod.metadata.name} stays")
        self.calls.append(("delete", pod.key))

    def patch_pod_status(self, pod: Pod, status: Mapping[str, Any]) -> None:
        self.calls.append(("patch", f"{pod.key} {sorted(status)}"))

    def update_object(self, obj: Any) -> None:
        self.calls.append(("update", obj.metadata.name))


@attrs.define
class World:
    """A node for four cpus, full of two low pods, and the loop of a release over it."""

    release: str
    client: Api | None = None
    events: Events = attrs.field(factory=Events)
    cache: ClusterCache = attrs.field(init=False)
    loop: SchedulerLoop = attrs.field(init=False)
    queue: SimpleQueue = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        flags = EngineFlags(self.release)
        low = [running(name, priority) for name, priority in (("low-1", 1), ("low-2", 2))]
        self.cache = ClusterCache.of([make_node("n1"), *low], flags.release_view())
        engine = framework_engine_for(flags, None, None, None)
        assert isinstance(engine, FrameworkEngine)
        services = attrs.evolve(engine.services(self.cache), client=self.client, events=self.events, time=ManualTime())

        def queue(profiles: Any) -> SimpleQueue:
            self.queue = SimpleQueue(profiles.less, services.time.now, profiles.pre_enqueue)
            return self.queue

        self.loop = engine.loop(services, queue)

    def names(self) -> list[str]:
        return sorted(pod.metadata.name for pod in self.cache.pods())


def running(name: str, priority: int) -> Pod:
    return make_pod(name, requests=TWO_CPUS, priority=priority, node="n1")


@RELEASES
def test_victims_leave_and_the_pod_takes_their_place(release: str) -> None:
    """In memory the least important pod makes room, and the second attempt succeeds."""
    world = World(release)
    world.queue.add(make_pod("urgent", requests=TWO_CPUS, priority=10))
    with world.loop as loop:
        attempts = loop.settle()
    assert [attempt.node_name for attempt in attempts] == ["", "n1"]
    assert world.names() == ["low-2", "urgent"]
    assert {"1.20": "Preempted by default/urgent on node n1", "1.36": "Preempted by pod default/urgent on node n1"}[
        release
    ] in [note for _, reason, note in world.events.told if reason == "Preempted"]


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("1.20", [("delete", "default/low-1")]),
        ("1.36", [("patch", "default/low-1 ['conditions']"), ("delete", "default/low-1")]),
    ],
)
def test_what_the_api_is_told(release: str, expected: list[tuple[str, str]]) -> None:
    """1.36 marks its victims before it deletes them."""
    api = Api()
    world = World(release, api)
    spawned(world)
    world.queue.add(make_pod("urgent", requests=TWO_CPUS, priority=10))
    with world.loop as loop:
        loop.run()
    assert [call for call in api.calls if "low" in call[1]] == expected


@RELEASES
def test_a_victim_that_cannot_be_deleted(release: str) -> None:
    """The pod is not nominated by 1.20; 1.36 tries it again."""
    world = World(release, Api(refused=("low-1",)))
    spawned(world)
    world.queue.add(make_pod("urgent", requests=TWO_CPUS, priority=10))
    with world.loop as loop:
        first = loop.run_once()
    assert first is not None
    assert first.failure is not None
    assert (first.failure.nominated or "") == {"1.20": "", "1.36": "n1"}[release]


def spawned(world: World) -> None:
    """Background work of 1.36 is done at once."""
    for framework in world.loop._profiles.values():
        for plugin in framework.instances.values():
            evictions = getattr(plugin, "evictions", None)
            if evictions is not None:
                object.__setattr__(evictions, "spawn", lambda work: work())
