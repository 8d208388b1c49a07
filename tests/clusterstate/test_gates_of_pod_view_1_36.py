"""Pods as 1.36 reads them when feature gates are not at their defaults."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.objects import (
    Container,
    FrozenMap,
    Grant,
    Pod,
    PodGrants,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from clusterstate.pod_view_1_36 import ComparingToleration, gated_pod_key_1_36, pod_key_1_36
from clusterstate.selectors.matching import tolerates
from kubescheduler.releases.lookup import release_named
from tests.support.build import make_pod


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
