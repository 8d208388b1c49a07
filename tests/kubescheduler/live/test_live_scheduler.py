"""The thread that decides: when it goes on, and when it waits."""

from __future__ import annotations

from clusterstate.cache import ClusterCache
from clusterstate.objects import Pod
from kubescheduler.cycle.schedule_one import PodAttempt
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.cycle_state import Timekeeper
from kubescheduler.framework.contract.handle import at_once
from kubescheduler.framework.contract.runs import Observer
from kubescheduler.live.live_scheduler import ATTEMPTS, Dependencies, LiveScheduler, unreported
from kubescheduler.live.stored_objects import Inbox, ObjectChange, Stored, StoredObjects
from tests.support.build import make_node, make_pod
from tests.support.deciders import Recorder


class NotingInbox(Inbox):
    """Notes what is left to do when it is waited at; the first wait ends the run."""

    scheduler: LiveScheduler
    left: list[int]

    def wait(self, seconds: float | None) -> None:
        """seconds: until the next tick."""
        assert seconds is not None
        assert 0 < seconds <= 1
        self.left.append(len(self.scheduler.parts.queue) + len(self))
        self.scheduler.stop()


def test_it_waits_only_when_nothing_is_left() -> None:
    """However many rounds that takes; the very first one has pods to try here."""
    engine = EngineSpec("1.36").engine(lambda _: None)
    inbox, stored, client, raised = NotingInbox(), StoredObjects("Pod"), Recorder(), list[str]()
    inbox.left = []
    around = Dependencies(
        client,
        unreported,
        client,
        Observer(),
        Timekeeper(),
        at_once,
        lambda what, error: raised.append(f"{what} {error}"),
    )
    inbox.scheduler = LiveScheduler(engine.scheduler(ClusterCache(engine.view)), inbox, stored, around)
    pods = [make_pod(f"p{number}") for number in range(3 * ATTEMPTS)]
    inbox.put([ObjectChange("Node", None, make_node("a"))])
    inbox.put([stored.put((pod.metadata.namespace, pod.metadata.name), Stored("1", pod, "u")) for pod in pods])
    inbox.scheduler.lead()
    tried: list[Pod] = []

    def listen(attempt: PodAttempt) -> None:
        tried.append(attempt.pod)

    inbox.scheduler.run(listen)
    inbox.scheduler.close()
    assert (len(tried), inbox.left, raised) == (3 * ATTEMPTS, [0], [])
    assert sorted(client.bound) == sorted((pod.key, "a") for pod in pods)
