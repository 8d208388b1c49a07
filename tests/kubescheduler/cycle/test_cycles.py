"""Pods that go before they are seen on their node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import attrs
import msgspec
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.objects import Pod
from kubescheduler.cycle.event_handlers import EventHandlers
from kubescheduler.cycle.scheduler_loop import SchedulerLoop
from kubescheduler.engine.loop_parts import loop_parts
from kubescheduler.engine.spec import EngineSpec
from tests.support.build import make_node, make_pod, resources
from tests.support.frames import Recorder


class Taken(Recorder):
    """A client that takes every binding, after something else happened."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self._meanwhile = meanwhile

    def bind(self, pod: Pod, node_name: str) -> None:
        self._meanwhile()


@attrs.define(eq=False)
class Setting:
    """A loop, what informers report to it, and the pods that they know."""

    loop: SchedulerLoop
    handlers: EventHandlers
    cache: ClusterCache
    known: dict[str, Pod]

    def changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = old if new is None else new
        assert pod is not None
        self.known.pop(pod.key, None)
        if new is not None:
            self.known[new.key] = new
        with self.loop.cycles.services.lock:
            self.handlers.changed(old, new)

    def tried(self) -> list[str]:
        """The names of the pods that are tried."""
        return [attempt.pod.metadata.name for attempt in self.loop.settle()]


@contextmanager
def setting(release: str, meanwhile: Callable[[Setting], object] = lambda _: None) -> Iterator[Setting]:
    """One node with room for one pod."""
    engine = EngineSpec(release=release).engine(lambda _: None)
    scheduler = engine.scheduler(ClusterCache(engine.view))
    made: list[Setting] = []
    client = Taken(lambda: meanwhile(made[0]))
    parts = loop_parts(scheduler, lambda services: msgspec.structs.replace(services, client=client), preempt=False)
    known: dict[str, Pod] = {}
    with SchedulerLoop(parts, latest=lambda pod: known.get(pod.key)) as loop:
        made.append(Setting(loop, EventHandlers(loop.cycles), parts.services.cache, known))
        made[0].handlers.changed(None, make_node("n", allocatable=resources(cpu=1000, pods=10)))
        yield made[0]


LIVE = pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])


@LIVE
def test_pods_that_go_unseen(release: str) -> None:
    """A pod that was bound and deleted while nobody watched takes up no room."""
    pod = make_pod("p", requests=resources(cpu=1000))
    with setting(release) as found:
        found.changed(None, pod)
        assert found.tried() == ["p"]
        assert pod in found.cache
        found.changed(pod, None)
        assert pod not in found.cache


@LIVE
def test_pods_that_go_while_they_are_bound(release: str) -> None:
    """The same where the pod is known to be gone before the answer to its binding comes."""
    pod = make_pod("p", requests=resources(cpu=1000))
    with setting(release, lambda found: found.changed(pod, None)) as found:
        found.changed(None, pod)
        assert found.tried() == ["p"]
        assert pod not in found.cache


@pytest.mark.parametrize("another", [pytest.param(False, id="it goes"), pytest.param(True, id="another comes")])
def test_a_pod_that_goes_while_it_is_tried(another: bool) -> None:
    """The queue gives it up: else it notes all that happens in the cluster for its sake, for good (1.36)."""
    pod = make_pod("p", requests=resources(cpu=2000))
    other = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid="another"))
    with setting("1.36") as found:
        found.changed(None, pod)
        found.known.clear()
        if another:
            found.known[pod.key] = other
        assert found.tried() == ["p"]
        queue = found.loop.cycles.queue
        assert queue.in_flight()[0] == 0
