"""What configures each release from an old to a new one."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.comparison.release_steps import Carried, carried
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.releases.names import RELEASE_NAMES
from tests.support.configuring.translating import configuration, policy, priorities

POLICY = policy(priorities=priorities(LeastRequestedPriority=1))


def way(old: str, new: str, **what: Any) -> Carried:
    """The configuration of the old release carried to the new one."""
    return carried(EngineSpec(release=old, **what), EngineSpec(release=new))


def steps(found: Carried) -> dict[str, str]:
    """Release → the version of its configuration, where that changes; empty where none is made."""
    return {
        step.release: step.translation.plain()["apiVersion"].rpartition("/")[2] if step.translation else ""
        for step in found.steps
    }


@pytest.mark.parametrize(
    ("old", "new", "what", "expected"),
    [
        ("1.16", "1.20", {}, {}),
        ("1.16", "1.30", {"policy": POLICY}, {"1.23": "v1beta3", "1.29": "v1"}),
        ("1.20", "1.25", {"provider": "ClusterAutoscalerProvider"}, {"1.22": "v1beta2"}),
        ("1.18", "1.20", {"component": configuration("v1alpha2")}, {"1.19": "v1beta1"}),
        ("1.22", "1.29", {"component": configuration("v1beta2")}, {"1.28": "v1"}),
        ("1.25", "1.36", {"component": configuration("v1")}, {}),
        ("1.24", "1.26", {"feature_gates": "PodDisruptionBudget=true,CSIMigration=false"}, {"1.25": ""}),
    ],
    ids=["defaults", "policy", "provider", "v1alpha2", "v1beta2", "v1", "gates"],
)
def test_where_it_changes(old: str, new: str, what: dict[str, Any], expected: dict[str, str]) -> None:
    """A configuration goes on as long as releases take it, and every release is configured."""
    found = way(old, new, **what)
    assert steps(found) == expected
    assert found.left_out == ()
    names = [name for name in RELEASE_NAMES if name in {spec.release for spec in found.specs}]
    assert [spec.release for spec in found.specs] == names
    assert (names[0], names[-1]) == (old, new)
    for spec in found.specs:
        assert spec.engine(print).release == spec.release


def test_the_new_configuration_stands_in() -> None:
    """As soon as the old one is refused and it is read; at the end in any case."""
    old = EngineSpec(release="1.27", component=configuration("v1beta2"))
    new = EngineSpec(release="1.30", component=configuration("v1", percentageOfNodesToScore=7))
    found = carried(old, new)
    assert steps(found) == {"1.28": ""}
    assert [spec.component for spec in found.specs] == [old.component, new.component, new.component, new.component]


def test_flags_of_the_old_scheduler() -> None:
    """What a configuration says is no flag any more, and the scheduler keeps its name."""
    found = way("1.20", "1.23", policy=POLICY, scheduler_name="mine", hard_pod_affinity_symmetric_weight=7)
    last = found.specs[-1]
    assert last.component is not None
    assert last.component["profiles"][0]["schedulerName"] == "mine"
    assert (last.scheduler_name, last.hard_pod_affinity_symmetric_weight) == (None, None)


def test_what_cannot_be_migrated() -> None:
    """The release that would need it says why."""
    with pytest.raises(ConfigError, match="there is no plugin Mine"):
        way(
            "1.25",
            "1.26",
            component=configuration("v1", profiles=[{"plugins": {"score": {"enabled": [{"name": "Mine"}]}}}]),
        )
