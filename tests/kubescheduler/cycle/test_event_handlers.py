"""What becomes of the queue when the API server reports that a pending pod changed, or got its node."""

from __future__ import annotations

from typing import Any

import attrs
import msgspec
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.objects import Pod
from kubescheduler.cycle.event_handlers import EventHandlers
from kubescheduler.cycle.schedule_one import SchedulerLoop
from kubescheduler.engine.loop_parts import loop_parts
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.queue.entry import Place
from tests.support.build import make_node, make_pod, resources
from tests.support.devices import allocated, make_claim

MANAGED = {"managedFields": [{"manager": "kube-scheduler", "subresource": "status"}]}


class Handled:
    """A release's queue beside a cluster of one node, and the handlers that feed it."""

    def __init__(self, release: str) -> None:
        engine = EngineSpec(release).engine(print)
        cache = ClusterCache.of([make_node("n1", allocatable=resources(cpu=1000, pods=10))], engine.view)
        parts = loop_parts(engine.scheduler(cache), lambda services: services)
        self.cache, self.queue = cache, parts.queue
        self.loop = SchedulerLoop(parts)
        self.changed = EventHandlers(self.loop.cycles).changed

    def popped(self) -> Pod | None:
        entry = self.queue.pop()
        pod: Pod | None = None if entry is None else entry.pod
        return pod


def at_version(version: str, **metadata: Any) -> Pod:
    """A pod that is too big for the node, as the API server has it at a version."""
    said = {"name": "big", "resourceVersion": version, **metadata}
    status = {"conditions": [{"type": "PodScheduled", "message": f"at {version}"}]}
    pod = make_pod("big", requests=resources(cpu=4000))
    return msgspec.structs.replace(pod, manifest={"metadata": said, "spec": {}, "status": status})


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
def test_a_pod_that_got_its_node_is_no_longer_tried(release: str) -> None:
    """Whoever bound it, also where the answer to its binding was lost and it was queued again."""
    handled, pod = Handled(release), make_pod("a")
    handled.changed(None, pod)
    assert handled.queue.place(pod) is Place.ACTIVE
    handled.changed(pod, pod.on("n1"))
    assert handled.queue.place(pod) is None
    assert handled.popped() is None


@pytest.mark.parametrize(
    ("release", "place"), [("1.16", Place.ACTIVE), ("1.20", Place.ACTIVE), ("1.36", Place.UNSCHEDULABLE)]
)
def test_the_answer_to_a_status_write(release: str, place: Place) -> None:
    """It changes managedFields, which 1.16 and 1.20 take for a change of the pod: they try it at once."""
    handled, old, new = Handled(release), at_version("1"), at_version("2", **MANAGED)
    handled.changed(None, old)
    assert [attempt.node_name for attempt in handled.loop.run()] == [""]
    assert handled.queue.place(old) is Place.UNSCHEDULABLE
    handled.changed(old, new)
    assert handled.queue.place(old) is place


@pytest.mark.parametrize("release", ["1.16", "1.20", "1.36"])
def test_the_queue_has_the_newest_version(release: str) -> None:
    """Also where nothing changed that counts: the next attempt's event and status are about it."""
    handled, old, new = Handled(release), at_version("1"), at_version("2")
    handled.changed(None, old)
    handled.changed(old, new)
    popped = handled.popped()
    assert popped.manifest == new.manifest


@pytest.mark.parametrize(
    ("before", "after", "stays"),
    [
        pytest.param("9", "10", True, id="older"),
        pytest.param("10", "10", False, id="the same"),
        pytest.param("11", "10", False, id="newer"),
        pytest.param("", "10", False, id="of no version"),
        pytest.param("9", "x", False, id="after a version that is no number"),
    ],
)
def test_a_claim_that_the_scheduler_wrote(before: str, after: str, stays: bool) -> None:
    """An event from before the write does not take its devices away; versions are compared as numbers."""
    handled = Handled("1.36")
    written = make_claim(allocation=allocated("n1", "g"), resource_version=after)
    handled.cache.add(written)
    handled.changed(None, make_claim(resource_version=before))
    (known,) = handled.cache.objects.resource_claims.values()
    assert (known == written) is stays


def test_a_claim_that_the_scheduler_deleted() -> None:
    """Events from before the deletion do not bring it back; once it is gone nothing is kept of it."""
    handled = Handled("1.36")
    objects, claim = handled.cache.objects, make_claim(resource_version="7")
    objects.deleted_claims.add(claim.metadata.uid)
    handled.changed(None, claim)
    handled.changed(claim, attrs.evolve(claim, resource_version="9"))
    assert not objects.resource_claims
    handled.changed(claim, None)
    assert not objects.deleted_claims
    handled.changed(None, claim)
    assert list(objects.resource_claims.values()) == [claim]
