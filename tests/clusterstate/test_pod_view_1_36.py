"""Pods as release 1.36 reads them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.objects import (
    Container,
    EphemeralClaim,
    EphemeralVolume,
    FrozenMap,
    Grant,
    OwnerReference,
    Pod,
    PodCondition,
    PodGrants,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from clusterstate.pod_view_1_36 import (
    ComparingToleration,
    gated_pod_key_1_36,
    pod_key_1_36,
    pod_key_with_ephemeral_claims,
)
from clusterstate.podinfo import pod_key
from clusterstate.selectors.matching import tolerates
from clusterstate.usage import PodUsage
from kubescheduler.releases import v1_20, v1_36
from kubescheduler.releases.lookup import release_named
from tests.support.build import Cluster, make_node, make_pod

HUGE = "hugepages-2Mi"
ASKED = FrozenMap({"cpu": 200, "memory": 4000})


def amounts(**given: int) -> FrozenMap[str, int]:
    return FrozenMap(given)


def resized(
    grant: Grant | None, *conditions: PodCondition, init: Grant | None = None, whole: Grant | None = None, **spec: Any
) -> Pod:
    """A pod whose container c asks for ASKED; what its status says was granted to c, to s and to the pod."""
    named = {name: one for name, one in (("c", grant), ("s", init)) if one is not None}
    spec.setdefault("containers", (Container("c", requests=ASKED),))
    return msgspec.structs.replace(
        make_pod(**spec), conditions=conditions, grants=PodGrants(FrozenMap(named), whole) if named or whole else None
    )


def used(pod: Pod) -> dict[str, int]:
    usage: PodUsage = v1_36.VIEW.accounting(pod_key_1_36(pod)[2])
    return dict(usage.used)


PENDING = PodCondition("PodResizePending", "True", "Deferred")
INFEASIBLE = PodCondition("PodResizePending", "True", "Infeasible")
IN_USE = {
    "no-status": (resized(None), 200, 4),
    "as-asked": (resized(Grant(ASKED, ASKED)), 200, 4),
    "granted-more": (resized(Grant(amounts(cpu=300), amounts(cpu=100))), 300, 4),
    "allocated-more": (resized(Grant(amounts(cpu=100), amounts(cpu=250, memory=9000))), 250, 9),
    "granted-less": (resized(Grant(amounts(cpu=100), amounts(cpu=100))), 200, 4),
    "deferred-counts-as-asked": (resized(Grant(amounts(cpu=100)), PENDING), 200, 4),
    "infeasible": (resized(Grant(amounts(cpu=100, memory=1000), amounts(cpu=150)), INFEASIBLE), 150, 1),
    "infeasible-without-status": (resized(None, INFEASIBLE), 200, 4),
    "the-first-condition-counts": (resized(Grant(amounts(cpu=100)), PENDING, INFEASIBLE), 200, 4),
}


@pytest.mark.parametrize(("pod", "cpu", "memory"), IN_USE.values(), ids=IN_USE)
def test_what_a_resized_container_takes(pod: Pod, cpu: int, memory: int) -> None:
    """The most of asked, granted and allocated; what was asked does not count once it is infeasible."""
    assert used(pod) == {"cpu": cpu, "memory": memory}
    assert v1_36.VIEW.accounting(pod_key_1_36(pod)[2]).request == {"cpu": 200, "memory": 4}


@pytest.mark.parametrize(("policy", "cpu"), [("Always", 700), (None, 200)])
def test_of_init_containers_only_sidecars_are_resized(policy: str | None, cpu: int) -> None:
    """A sidecar's grant counts, that of an init container that ends does not."""
    init = (Container("s", requests=amounts(cpu=100), restart_policy=policy),)
    assert used(resized(None, init=Grant(amounts(cpu=500)), init_containers=init))["cpu"] == cpu


WHOLE = {
    "asked": (resized(None, resources=amounts(cpu=900)), 900),
    "granted-more": (resized(None, whole=Grant(amounts(cpu=950)), resources=amounts(cpu=900)), 950),
    "not-named-in-the-spec": (resized(None, whole=Grant(amounts(cpu=950)), resources=FrozenMap({HUGE: 1000})), 200),
    "infeasible": (resized(None, INFEASIBLE, whole=Grant(amounts(cpu=300)), resources=amounts(cpu=900)), 300),
}


@pytest.mark.parametrize(("pod", "cpu"), WHOLE.values(), ids=WHOLE)
def test_what_a_resized_pod_takes_as_a_whole(pod: Pod, cpu: int) -> None:
    """Only resources that its spec names for the pod as a whole."""
    assert used(pod)["cpu"] == cpu


def test_pods_that_take_what_they_ask_for_are_of_one_class() -> None:
    """With or without a status that says so; other releases do not look."""
    silent, told, more = resized(None), resized(Grant(ASKED, ASKED)), resized(Grant(amounts(cpu=300)))
    assert pod_key_1_36(silent) == pod_key_1_36(told) == pod_key(silent)
    assert pod_key_1_36(silent)[2] is silent.spec
    assert pod_key_1_36(more) != pod_key_1_36(silent)
    assert v1_20.VIEW.pod_key(more) == v1_20.VIEW.pod_key(silent)


def test_the_controller_is_known_in_full() -> None:
    """Its apiVersion and name come after kind and uid; other owners do not count."""
    owners = (OwnerReference("Job", "j", "1"), OwnerReference("ReplicaSet", "web", "2", True, "apps/v1"))
    pod = make_pod(owners=owners)
    assert pod_key_1_36(pod)[3] == ("ReplicaSet", "2", "apps/v1", "web")
    assert v1_20.VIEW.pod_key(pod)[3] == ("ReplicaSet", "2")
    assert pod_key_1_36(make_pod(owners=owners[:1]))[3] is None


def test_nodes_count_what_is_in_use_and_give_it_back() -> None:
    """A pod that leaves takes along what it brought."""
    running = msgspec.structs.replace(resized(Grant(amounts(cpu=300))), node_name="n")
    cluster = Cluster([make_node("n")], [running], view=v1_36.VIEW)
    assert cluster.snapshot.requested[0].tolist() == cluster.snapshot.nonzero[0].tolist() == [300]
    cluster.columns.take_pod(0, running.metadata.uid)
    assert not cluster.snapshot.requested.any()


def spec_of(pod: Pod, **gates: bool) -> Any:
    """The spec that rules see."""
    return gated_pod_key_1_36(gates)(pod)[2]


def test_nothing_changes_by_default() -> None:
    """Not even the function."""
    assert gated_pod_key_1_36({}) is pod_key_1_36
    assert gated_pod_key_1_36({"PodLevelResources": True, "TaintTolerationComparisonOperators": False}) is pod_key_1_36


def test_match_label_keys() -> None:
    """Without the gate constraints do not look at them."""
    constraint = TopologySpreadConstraint(1, "zone", "DoNotSchedule", match_label_keys=("app",))
    pod = make_pod(topology_spread_constraints=(constraint,))
    (found,) = spec_of(pod, MatchLabelKeysInPodTopologySpread=False).topology_spread_constraints
    assert found == msgspec.structs.replace(constraint, match_label_keys=())


def test_pod_level_resources() -> None:
    """Without the gate, or without that for resizing them, they or their grants do not count."""
    pod = make_pod(containers=(Container("c"),), resources=FrozenMap({"cpu": 100}))
    granted = msgspec.structs.replace(pod, grants=PodGrants(FrozenMap(), Grant(FrozenMap({"cpu": 500}))))
    usage = release_named("1.36").default_view.accounting
    assert usage(spec_of(granted)).used["cpu"] == 500
    assert usage(spec_of(granted, InPlacePodLevelResourcesVerticalScaling=False)).used["cpu"] == 100
    assert "cpu" not in usage(spec_of(granted, PodLevelResources=False)).used


def test_resizing_in_place() -> None:
    """Without the gate grants do not count, neither of containers nor of the pod as a whole."""
    pod = resized(Grant(amounts(cpu=300)), whole=Grant(amounts(cpu=500)), resources=amounts(cpu=100))
    assert spec_of(pod, InPlacePodVerticalScaling=False) is pod.spec
    assert spec_of(pod).in_use != spec_of(pod, InPlacePodLevelResourcesVerticalScaling=False).in_use is not None


COMPARED = {
    "less": ("Lt", "10", "9", True),
    "not less": ("Lt", "10", "10", False),
    "greater": ("Gt", "10", "11", True),
    "not greater": ("Gt", "10", "10", False),
    "negative": ("Lt", "0", "-1", True),
    "leading zero": ("Gt", "10", "011", False),
    "plus sign": ("Gt", "10", "+11", False),
    "no number": ("Gt", "ten", "11", False),
    "more than 64 bits": ("Gt", "10", "9223372036854775808", False),
    "nothing": ("Lt", "10", "", False),
}


@pytest.mark.parametrize(("operator", "mine", "theirs", "expected"), COMPARED.values(), ids=COMPARED.keys())
def test_comparing_tolerations(operator: str, mine: str, theirs: str, expected: bool) -> None:
    """With the gate Lt and Gt compare whole numbers; without it they tolerate nothing."""
    given, taint = Toleration("k", operator, mine), Taint("k", theirs, "NoSchedule")
    (found,) = spec_of(make_pod(tolerations=(given,)), TaintTolerationComparisonOperators=True).tolerations
    assert isinstance(found, ComparingToleration)
    assert tolerates(found, taint) is expected
    assert not tolerates(given, taint)
    assert not tolerates(found, msgspec.structs.replace(taint, key="other"))


def test_other_tolerations_stay() -> None:
    """As they are."""
    given = Toleration("k", "Exists")
    (found,) = spec_of(make_pod(tolerations=(given,)), TaintTolerationComparisonOperators=True).tolerations
    assert found is given


def test_equal_gates_read_pods_alike() -> None:
    """By one function, so that a cluster that was read under some gates fits a scheduler under the same."""
    gates = {"TaintTolerationComparisonOperators": True, "PodLevelResources": False}
    assert gated_pod_key_1_36(gates) is gated_pod_key_1_36(dict(gates))
    assert gated_pod_key_1_36(gates) is not gated_pod_key_1_36({"PodLevelResources": False})


def test_ephemeral_volumes_before_1_36() -> None:
    """With 1.20's gate GenericEphemeralVolume the spec has the pod's own claims; other pods are as ever."""
    plain, own = make_pod("p"), make_pod("p", volumes=(EphemeralVolume("data"),))
    assert pod_key_with_ephemeral_claims(plain) == pod_key(plain)
    spec = pod_key_with_ephemeral_claims(own)[2]
    assert spec.volumes == (EphemeralClaim("p-data", "p", own.metadata.uid),)
