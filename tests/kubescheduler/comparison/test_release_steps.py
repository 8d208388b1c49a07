"""The steps between two releases at which pods move, and what configures each release on the way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from clusterstate.errors import ConfigError
from clusterstate.objects import ClusterObject, Pod
from kubescheduler import Cluster
from kubescheduler import timeline as asked
from kubescheduler.comparison.outcomes import Cause, HostChange
from kubescheduler.comparison.release_steps import (
    FEW,
    NO_LABEL,
    Carried,
    Timeline,
    TimelineMove,
    carried,
    groupings,
    headline,
    timeline,
)
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.releases.lookup import RELEASES, release_named
from kubescheduler.releases.names import RELEASE_NAMES
from kubescheduler.releases.release import without
from tests.support.build import labels, make_node, make_pod
from tests.support.configuring.translating import configuration, policy, priorities

NODES: list[ClusterObject] = [
    make_node("a", label={"kubernetes.io/hostname": "a"}),
    make_node("b", label={"kubernetes.io/hostname": "b"}),
]


def steps(objects: list[ClusterObject], pods: list[Pod], old: str = "1.20", new: str = "1.36") -> Timeline:
    return timeline(objects, pods, EngineSpec(release=old), EngineSpec(release=new))


def test_nobody_moves() -> None:
    """Every release from the old to the new one decides, and a pod that stays has no moves."""
    found = steps(NODES, [make_pod("web")])
    at, end = RELEASE_NAMES.index("1.20"), RELEASE_NAMES.index("1.36") + 1
    assert found.releases == RELEASE_NAMES[at:end]
    assert (found.moved, found.errors) == ([], [])
    assert found.document()["pods"][0]["hosts"] == ["a"] * len(found.releases)


def test_nobody_is_decided() -> None:
    """The headline does not say that pods stay without saying that no release could decide them."""
    found = steps([], [make_pod("web")], "1.34")
    assert len(found.errors) == 3
    assert headline(found) == (
        "0 of 1 pods go elsewhere at some step from 1.34 to 1.36, 1 could not be decided by every release"
    )


def test_what_fits_nowhere_is_counted() -> None:
    """That it stays says nothing of where pods go."""
    found = steps(NODES, [make_pod("web"), make_pod("big", node_selector=labels({"there": "none"}))], "1.34")
    assert (found.moved, found.errors) == ([], [])
    assert headline(found) == (
        "0 of 2 pods go elsewhere at some step from 1.34 to 1.36, 1 fits on no node in any release"
    )


@pytest.mark.parametrize("old", [name for name in RELEASE_NAMES[1:-1] if name != "1.16"])
def test_the_order_of_releases(old: str) -> None:
    """The older release comes first."""
    with pytest.raises(ConfigError, match=rf"from 1\.36 to {old}: say the older release first"):
        steps(NODES, [make_pod("web")], "1.36", old)


POLICY = {"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "LeastRequestedPriority", "weight": 1}]}
COMPONENT = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def test_what_configures() -> None:
    """The old configuration goes on as long as it is read; then the new one where that is read, else what migrate
    makes of the old one; every release decides, and what is translated where is in the result.
    """
    old, new = EngineSpec(release="1.22", policy=POLICY), EngineSpec(release="1.26", component=COMPONENT)
    found = timeline(NODES, [make_pod("web")], old, new)
    assert found.releases == ("1.22", "1.23", "1.24", "1.25", "1.26")
    first, second = found.configurations
    assert (first.release, first.by) == ("1.23", "what migrate makes of the policy")
    assert "unknown flag: --policy-config-file" in first.refused
    assert first.translation.plain()["apiVersion"] == "kubescheduler.config.k8s.io/v1beta3"
    assert (second.release, second.translation) == ("1.26", None)
    assert found.document()["configurations"][0]["configuration"] == first.translation.plain()
    assert first.text in found.notes


def test_a_refused_configuration() -> None:
    """What the old or the new release refuses is an error, no step."""
    with pytest.raises(ConfigError, match="Nowhere"):
        timeline(NODES, [make_pod("web")], EngineSpec(release="1.20", provider="Nowhere"), EngineSpec(release="1.36"))


def test_a_change_taken_back() -> None:
    """A release without one of its changes decides under a name of its own; others have no such change."""
    for record in RELEASES.values():
        for change in record.changes[:1] if record.made is not None else ():
            taken_back = release_named(f"{record.name}~{change.name}")
            assert taken_back.name == f"{record.name}~{change.name}"
            assert change not in taken_back.changes
            assert len(taken_back.changes) == len(record.changes) - 1
    alone = EngineSpec(release="1.36~image-locality-counts-image-volumes")
    assert alone.engine(print).release == alone.release
    with pytest.raises(ConfigError, match=r"release 1\.36 has no change nothing"):
        release_named("1.36~nothing")
    with pytest.raises(ConfigError, match=r"release 1\.4 has no change nothing"):
        without(RELEASES["1.4"], "nothing")


def test_every_change_goes_alone() -> None:
    """Without it the release decides by default, whatever its other changes are."""
    for record in RELEASES.values():
        for change in record.changes:
            spec = EngineSpec(release=f"{record.name}~{change.name}")
            assert spec.engine(print).release == spec.release


def test_a_plugin_of_a_change_taken_back() -> None:
    """A policy that leads to it is refused, as the lists of the release are not for it."""
    policy = {"kind": "Policy", "apiVersion": "v1"}
    with pytest.raises(ConfigError, match='plugin "DefaultPodTopologySpread" does not exist'):
        EngineSpec(release="1.19~default-preemption", policy=policy).engine(print)


def test_in_python() -> None:
    """The same of a cluster; one release at the end."""
    cluster = Cluster(release="1.20").node("a", cpu=4, memory="4Gi")
    found = asked(cluster, [make_pod("web")], new="release=1.36")
    assert found.moved == []
    with pytest.raises(ConfigError, match="new: the steps lead to one release"):
        asked(cluster, [make_pod("web")], new=["release=1.36", "release=1.20"])


def test_workloads_that_move_most_come_first() -> None:
    """Then by name; a pod that comes back says so."""
    found = steps(NODES, [make_pod("x"), make_pod("y")])
    move = TimelineMove("1.20", "1.36", "a", "b", HostChange(Cause.CHANGED_WEIGHT, "text"), ())
    first, second = found.pods
    away = replace(second, moves=(move,))
    again = replace(found, pods=(first, away))
    assert [workload for _, workload in again.workloads()] == ["Pod/y", "Pod/x"]
    assert away.came_back
    assert again.document()["pods"][1]["moves"][0]["cause"] == "changed-weight"


POOL, TYPE, OLD_TYPE = (
    "eks.amazonaws.com/nodegroup",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
)
ZONE = "topology.kubernetes.io/zone"


def names(count: int, *labels: Mapping[str, str]) -> list[str]:
    """Of the groupings of so many nodes, whose labels go by turns."""
    return [
        each.name
        for each in groupings(make_node(f"n{at}", label=dict(labels[at % len(labels)])) for at in range(count))
    ]


OFFERED: dict[str, Any] = {
    "no labels": (2, [{}], ["node"]),
    "few nodes": (2, [{ZONE: "a"}, {ZONE: "b"}], ["node", ZONE]),
    "many nodes": (9, [{ZONE: "a"}, {ZONE: "b"}], [ZONE, "node"]),
    "pools before zones": (9, [{ZONE: "a", POOL: "x"}, {ZONE: "b", POOL: "y"}], [POOL, ZONE, "node"]),
    "one pool": (9, [{ZONE: "a", POOL: "x"}, {ZONE: "b", POOL: "x"}], [ZONE, "node"]),
    "of two names the newer": (9, [{TYPE: "x", OLD_TYPE: "x"}, {TYPE: "y", OLD_TYPE: "y"}], [TYPE, "node"]),
    "some without the label": (9, [{OLD_TYPE: "x"}, {}], [OLD_TYPE, "node"]),
    "too many pools": (FEW + 3, [{POOL: f"p{at}", ZONE: "ab"[at % 2]} for at in range(FEW + 3)], [ZONE, POOL, "node"]),
}


@pytest.mark.parametrize(("count", "labels", "expected"), OFFERED.values(), ids=OFFERED)
def test_what_is_offered(count: int, labels: list[dict[str, str]], expected: list[str]) -> None:
    """The first one is what a page begins with."""
    assert names(count, *labels) == expected


def test_nodes_without_the_label() -> None:
    """They are a group of their own."""
    [found, _] = groupings([make_node(f"n{at}", label={POOL: "x"} if at else {}) for at in range(FEW + 1)])
    assert (found.group_of["n0"], found.group_of["n1"], found.groups) == (NO_LABEL, "x", 2)


LEAST_REQUESTED = policy(priorities=priorities(LeastRequestedPriority=1))


def way(old: str, new: str, **what: Any) -> Carried:
    """The configuration of the old release carried to the new one."""
    return carried(EngineSpec(release=old, **what), EngineSpec(release=new))


def changes(found: Carried) -> dict[str, str]:
    """Release → the version of its configuration, where that changes; empty where none is made."""
    return {
        step.release: step.translation.plain()["apiVersion"].rpartition("/")[2] if step.translation else ""
        for step in found.steps
    }


@pytest.mark.parametrize(
    ("old", "new", "what", "expected"),
    [
        ("1.16", "1.20", {}, {}),
        ("1.16", "1.30", {"policy": LEAST_REQUESTED}, {"1.23": "v1beta3", "1.29": "v1"}),
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
    assert changes(found) == expected
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
    assert changes(found) == {"1.28": ""}
    assert [spec.component for spec in found.specs] == [old.component, new.component, new.component, new.component]


def test_flags_of_the_old_scheduler() -> None:
    """What a configuration says is no flag any more, and the scheduler keeps its name."""
    found = way("1.20", "1.23", policy=LEAST_REQUESTED, scheduler_name="mine", hard_pod_affinity_symmetric_weight=7)
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
