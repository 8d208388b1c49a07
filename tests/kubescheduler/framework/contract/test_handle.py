"""The Handle: what plugins reach through it, and the pods that Permit plugins hold."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from clusterstate.errors import SchedulingError
from clusterstate.objects import Affinity, ClaimVolume, Pod, PodAffinity, PodAffinityTerm
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import Cancellation, Timekeeper
from kubescheduler.framework.contract.handle import Handle, HeldPod, WaitingPods
from tests.support.build import make_node, make_pod
from tests.support.deciders import services_of
from tests.support.manual_time import ManualTime

TERM = PodAffinityTerm(topology_key="zone")


def handle_of(*pods: Pod) -> Handle:
    return Handle(services_of("1.36", [make_node("n1"), make_node("n2")], pods), "default-scheduler")


def test_nodes() -> None:
    """Nodes come with their pods; one that is not there has upstream's text."""
    handle = handle_of(make_pod(node="n2"))
    assert [(info.name, len(info.pods)) for info in handle.node_infos()] == [("n1", 0), ("n2", 1)]
    assert handle.node_info("n2").pods[0].key == "default/p"
    with pytest.raises(SchedulingError, match=r'^nodeinfo not found for node name "n3"$'):
        handle.node_info("n3")


def test_nodes_with_affinity() -> None:
    """Any terms count in the one list, required anti-affinity only in the other."""
    near = make_pod("near", node="n1", affinity=Affinity(pod_affinity=PodAffinity(required=(TERM,))))
    away = make_pod("away", node="n2", affinity=Affinity(pod_anti_affinity=PodAffinity(required=(TERM,))))
    handle = handle_of(near, away, make_pod("plain", node="n1"))
    assert [info.name for info in handle.nodes_with_affinity()] == ["n1", "n2"]
    assert [info.name for info in handle.nodes_with_required_anti_affinity()] == ["n2"]


def test_claims_in_use() -> None:
    """A claim is in use when a placed pod of its namespace mounts it."""
    handle = handle_of(make_pod(node="n1", volumes=(ClaimVolume("data"),)))
    assert handle.claim_in_use("default", "data")
    assert not handle.claim_in_use("other", "data")


def test_nominations() -> None:
    """They are kept in the cache."""
    handle, pod = handle_of(), make_pod()
    handle.nominate(pod, "n1")
    assert list(handle.nominated("n1")) == [pod]
    handle.nominate(pod, "")
    assert list(handle.nominated("n1")) == []


def test_pods_on_their_way() -> None:
    """What cancels a binding is found by uid, and pods are activated in the queue."""
    activated: list[Pod] = []
    services = services_of(activate=activated.extend)
    handle, binding, pod = Handle(services, "x"), Cancellation(), make_pod()
    services.in_pre_bind["u"] = binding
    assert handle.pod_in_pre_bind("u") is binding
    assert handle.pod_in_pre_bind("v") is None
    handle.activate([pod])
    assert activated == [pod]


def test_what_is_shared() -> None:
    """A handle passes the scheduler's services on."""
    services = services_of("1.20", feature_gates={"A": True}, max_pd_volumes=5)
    handle = Handle(services, "x")
    assert (handle.release, handle.profile_name, handle.max_pd_volumes) == ("1.20", "x", 5)
    assert handle.feature_gates == {"A": True}
    assert handle.cache is services.cache
    assert (handle.client, handle.extenders) == (None, ())
    assert handle.clock() == 0.0
    assert handle.rng is services.rng


def held(time: ManualTime, **timeouts: float) -> HeldPod:
    return HeldPod(make_pod(), timeouts, time)


def test_a_pod_goes_when_every_plugin_allowed_it() -> None:
    """The pending plugins get fewer until none is left."""
    pod = held(ManualTime(), A=10, B=10)
    pod.allow("A")
    assert pod.pending_plugins() == ["B"]
    pod.allow("B")
    pod.allow("B")
    assert pod.wait() == Status()


def test_the_first_verdict_counts() -> None:
    """A pod that was let go can be neither rejected nor preempted any more."""
    pod = held(ManualTime(), A=10)
    pod.allow("A")
    assert not pod.reject("A", "no")
    assert not pod.preempt("P", "no")
    assert pod.wait() == Status()


@pytest.mark.parametrize(
    ("timeouts", "text"),
    [
        ({"A": 90, "B": 100}, "rejected due to timeout after waiting 1m30s at plugin A"),
        ({"A": 90, "B": 0.5}, "rejected due to timeout after waiting 500ms at plugin B"),
        ({"A": 1e6}, "rejected due to timeout after waiting 15m0s at plugin A"),
    ],
    ids=["first", "shorter", "capped"],
)
def test_the_shortest_timeout_rejects(timeouts: dict[str, float], text: str) -> None:
    """A timeout names its own plugin and at most 15 minutes."""
    time = ManualTime()
    pod = HeldPod(make_pod(), timeouts, time)
    time.advance(900)
    assert pod.wait().message == text


def test_a_timeout_comes_before_a_later_permission() -> None:
    """It counts from its moment on, also when nobody looked at the pod then."""
    time = ManualTime()
    pod = held(time, A=10)
    time.advance(10)
    pod.allow("A")
    assert pod.wait().code is Code.Unschedulable


def test_whoever_waits_is_woken_by_the_clock() -> None:
    """Moving the clock ends a wait in another thread."""
    time = ManualTime()
    pod = held(time, A=10)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(pod.wait)
        time.advance(4)
        assert not waiting.done()
        time.advance(6)
        assert waiting.result().message.startswith("rejected due to timeout")


def test_whoever_waits_is_woken_by_a_verdict() -> None:
    """Allowing ends a wait in another thread, by the real clock too."""
    pod = HeldPod(make_pod(), {"A": 600.0}, Timekeeper())
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(pod.wait)
        pod.allow("A")
        assert waiting.result() == Status()


def test_the_real_clock_times_out() -> None:
    """A wait by the machine's clock ends by itself."""
    assert HeldPod(make_pod(), {"A": 0.0}, Timekeeper()).wait().code is Code.Unschedulable


def test_pods_are_found_and_rejected_by_uid() -> None:
    """Rejecting by uid uses the message of a removed pod, and tells whether there was one."""
    pods, pod = WaitingPods(), held(ManualTime(), A=10)
    pods.add(pod)
    assert list(pods) == [pod]
    assert pods.get("default/p") is pod is pods.of(pod.pod)
    assert pods.reject("default/p")
    assert not pods.reject("nobody")
    assert pod.wait() == Status(Code.Unschedulable, ("removed",))
    pods.remove(pod.pod)
    assert len(pods) == 0
