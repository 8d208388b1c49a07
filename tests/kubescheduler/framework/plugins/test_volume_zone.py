"""VolumeZone."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.objects import EphemeralVolume
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.volume_filters import volume_zone_1_20, volume_zone_1_36
from predicates.types import GO_ON, SKIP, PreFiltered
from tests.support.build import Cluster, make_node, make_pod
from tests.support.custom.extender_asking import HANDLE, check_of, refused
from tests.support.storage import claiming, make_claim, make_class, make_volume

OLD, NEW = volume_zone_1_20(None, HANDLE), volume_zone_1_36(None, HANDLE)
CONFLICT = "node(s) had no available volume zone"
ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"

NODES = [
    make_node("both", {ZONE: "z", BETA_ZONE: "z"}),
    make_node("beta", {BETA_ZONE: "z"}),
    make_node("ga", {ZONE: "z"}),
    make_node("other", {ZONE: "y", BETA_ZONE: "y"}),
    make_node("region", {REGION: "r"}),
    make_node("none"),
]


def failing(label: dict[str, str]) -> list[list[str]]:
    """The nodes that a volume with these labels cannot be used from, in 1.20 and in 1.36."""
    cluster = Cluster(NODES, [], [make_claim("c", "pv"), make_volume("pv", label=label)])
    found = [refused(plugin, cluster, claiming("c")) for plugin in (OLD, NEW)]
    assert all(verdict.keys() <= {CONFLICT} for verdict in found)
    return [verdict.get(CONFLICT, []) for verdict in found]


@pytest.mark.parametrize(
    ("label", "old", "new"),
    [
        pytest.param({}, [], [], id="no-labels"),
        pytest.param({ZONE: "z"}, ["beta", "other", "region"], ["beta", "other", "region"], id="ga"),
        pytest.param({BETA_ZONE: "z"}, ["ga", "other", "region"], ["other", "region"], id="beta"),
        pytest.param({BETA_ZONE: "y__z"}, ["ga", "region"], ["region"], id="several"),
        pytest.param({ZONE: "y__"}, [], [], id="a-label-that-cannot-be-read"),
        pytest.param({BETA_REGION: "r"}, ["both", "beta", "ga", "other", "region"], ["both", "beta", "ga", "other"]),
        pytest.param({"disk": "ssd"}, [], [], id="other-labels"),
    ],
)
def test_a_volume_in_another_zone_refuses(label: dict[str, str], old: list[str], new: list[str]) -> None:
    """1.36 finds a beta label under its later name; a node without any label passes."""
    assert failing(label) == [old, new]


STORAGE = [
    *(make_claim("bare"), make_claim("now", storage_class="now"), make_claim("late", storage_class="late")),
    *(make_claim("lost", "gone"), make_claim("c", "pv"), make_volume("pv", label={ZONE: "z"})),
    *(make_claim("anywhere", "free"), make_volume("free")),
    *(make_class("now", mode="Immediate"), make_class("late")),
]


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        pytest.param(("c",), GO_ON, id="bound"),
        pytest.param(("late",), SKIP, id="waits"),
        pytest.param(("anywhere", "late"), SKIP, id="no-zones"),
        pytest.param(("c", "now"), PreFiltered(reasons=("PersistentVolume had no name",)), id="immediate"),
        pytest.param(("",), PreFiltered(reasons=("PersistentVolumeClaim had no name",)), id="no-name"),
        pytest.param(("lost",), PreFiltered(reasons=('persistentvolume "gone" not found',)), id="volume-missing"),
        pytest.param(("none",), PreFiltered(reasons=('persistentvolumeclaim "none" not found',)), id="claim-missing"),
    ],
)
def test_1_36_looks_at_claims_before_nodes(claims: tuple[str, ...], expected: PreFiltered) -> None:
    """Without PreFilter every node says the same."""
    cluster, rule = Cluster(NODES, [], STORAGE), check_of(NEW)
    assert rule.pre_filter is not None
    assert rule.pre_filter(cluster.info(claiming(*claims)), cluster.snapshot) == expected
    if expected.reasons:
        assert refused(NEW, cluster, claiming(*claims)) == {expected.reasons[0]: [node.name for node in NODES]}


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        pytest.param(("c",), {CONFLICT: ["beta", "other", "region"]}, id="bound"),
        pytest.param(("late",), {}, id="waits"),
        pytest.param(
            ("c", "now"),
            {CONFLICT: ["beta", "other", "region"], "PersistentVolume had no name": ["both", "ga"]},
            id="after-a-conflict-nothing-more",
        ),
        pytest.param(
            ("bare", "c"),
            {"PersistentVolumeClaim had no pv name and storageClass name": ["both", "beta", "ga", "other", "region"]},
            id="before-a-conflict-everywhere",
        ),
    ],
)
def test_1_20_looks_at_claims_on_each_node(claims: tuple[str, ...], expected: dict[str, list[str]]) -> None:
    """A node without any label passes whatever the claims are."""
    assert refused(OLD, Cluster(NODES, [], STORAGE), claiming(*claims)) == expected


def test_codes_and_points() -> None:
    """Nothing that it says can be mended by taking pods away; ephemeral volumes are not looked at."""
    cluster = Cluster(NODES)
    plugins: list[Any] = [OLD, NEW]
    for plugin in plugins:
        assert check_of(plugin).unresolvable(CONFLICT)
        assert not check_of(plugin).applies(cluster.info(make_pod(volumes=(EphemeralVolume("v"),))))
    assert OLD.points == {Point.FILTER}
    assert NEW.points == {Point.PRE_FILTER, Point.FILTER}
