"""The Handle: what plugins reach through it."""

from __future__ import annotations

import pytest

from clusterstate.errors import SchedulingError
from clusterstate.objects import Affinity, ClaimVolume, Pod, PodAffinity, PodAffinityTerm
from kubescheduler.framework.contract.cycle_state import Cancellation
from kubescheduler.framework.running.framework_services import FrameworkHandle
from tests.support.build import make_node, make_pod
from tests.support.deciders import services_of

TERM = PodAffinityTerm(topology_key="zone")


def handle_of(*pods: Pod) -> FrameworkHandle:
    return FrameworkHandle(services_of("1.36", [make_node("n1"), make_node("n2")], pods), "default-scheduler")


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
    handle, binding, pod = FrameworkHandle(services, "x"), Cancellation(), make_pod()
    services.in_pre_bind["u"] = binding
    assert handle.pod_in_pre_bind("u") is binding
    assert handle.pod_in_pre_bind("v") is None
    handle.activate([pod])
    assert activated == [pod]


def test_what_is_shared() -> None:
    """A handle passes the scheduler's services on."""
    services = services_of("1.20", feature_gates={"A": True}, max_pd_volumes=5)
    handle = FrameworkHandle(services, "x")
    assert (handle.release, handle.profile_name, handle.max_pd_volumes) == ("1.20", "x", 5)
    assert handle.feature_gates == {"A": True}
    assert handle.cache is services.cache
    assert (handle.client, handle.extenders) == (None, ())
    assert handle.clock() == 0.0
    assert handle.rng is services.rng
