"""Where plugins take part, which ones there are, what single releases count and say, beside what recordings show."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler import Cluster, Scheduler
from kubescheduler.engine.evaluate_protocol import evaluate
from kubescheduler.framework.contract.profile import Point
from kubescheduler.releases.lookup import RELEASES
from tests.support.neighbours import Manifest, asking, node, pod


@pytest.mark.parametrize(
    ("plugin", "point", "last_without", "first_with"),
    [
        ("DefaultPreemption", Point.PRE_ENQUEUE, "1.31", "1.32"),
        ("NodeResourcesFit", Point.PRE_SCORE, "1.26", "1.27"),
        ("NodeVolumeLimits", Point.PRE_FILTER, "1.27", "1.28"),
        ("EBSLimits", Point.PRE_FILTER, "1.27", "1.28"),
        ("DynamicResources", Point.SCORE, "1.34", "1.35"),
        ("NodeResourcesBalancedAllocation", Point.PRE_SCORE, "1.26", "1.27"),
        ("NodeResourcesFit", Point.PLACEMENT_SCORE, "1.35", "1.36"),
    ],
)
def test_points(plugin: str, point: Point, last_without: str, first_with: str) -> None:
    """A plugin takes part in a point from a release on."""
    plugins = [RELEASES[name].framework_rules.plugins[plugin].points for name in (last_without, first_with)]
    assert [point in points for points in plugins] == [False, True]


@pytest.mark.parametrize(
    ("plugin", "first", "last"), [("SchedulingGates", "1.26", "1.36"), ("CinderLimits", "1.25", "1.31")]
)
def test_registered(plugin: str, first: str, last: str) -> None:
    """A plugin is there from one release to another, also where it is in no list."""
    names = [f"1.{number}" for number in range(25, 37)]
    there = [name for name in names if plugin in RELEASES[name].framework_rules.plugins]
    assert there == names[names.index(first) : names.index(last) + 1]


def asked(release: str, gates: str, cluster: dict[str, list[Manifest]], query: Manifest) -> dict[str, Any]:
    """What a release that was started with feature gates answers."""
    line = json.dumps({"id": "s", "cluster": cluster, "queries": [{"id": "q", **query}]}).encode()
    [found] = evaluate([line], release, gates)
    return found


@pytest.mark.parametrize(("release", "fits"), [("1.25", ["a", "b"]), ("1.26", ["b"])])
def test_taints_that_leave_nodes_out_of_spreading(release: str, fits: list[str]) -> None:
    """In 1.25 a node with a taint PreferNoSchedule does not count for nodeTaintsPolicy: there is no emptiest zone b."""
    tainted = node("b", {"zone": "2"})
    tainted["spec"] = {"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}
    labels = {"app": "x"}
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
        "nodeTaintsPolicy": "Honor",
    }
    cluster = {"nodes": [node("a", {"zone": "1"}), tainted], "pods": [pod("old", "a", labels)]}
    query = {"pod": pod("p", "", labels, topologySpreadConstraints=[constraint])}
    found = asked(release, "NodeInclusionPolicyInPodTopologySpread=true", cluster, query)
    assert (found["error"], found["fits"]) == (None, fits)


@pytest.mark.parametrize(
    ("release", "annotated", "fits"), [("1.35", False, ["a"]), ("1.35", True, []), ("1.36", False, [])]
)
def test_portworx_volumes(release: str, annotated: bool, fits: list[str]) -> None:
    """Up to 1.35 they count as those of their driver where the CSINode says so, then always."""
    name, driver = "kubernetes.io/portworx-volume", "pxd.portworx.com"
    says = {"storage.alpha.kubernetes.io/migrated-plugins": name} if annotated else {}
    limits: Manifest = {
        "metadata": {"name": "a", "annotations": says},
        "spec": {"drivers": [{"name": driver, "nodeID": "a", "allocatable": {"count": 1}}]},
    }
    volumes = [{"name": f"v{n}", "portworxVolume": {"volumeID": f"{n}"}} for n in range(2)]
    query = {"pod": pod("p", "", volumes=volumes)}
    found = asked(release, "", {"nodes": [node("a")], "csiNodes": [limits]}, query)
    assert (found["error"], found["fits"]) == (None, fits)


@pytest.mark.parametrize(
    ("at_start", "said", "refused", "notes"),
    [
        ("", {}, True, None),
        ("", {"SidecarContainers": True}, True, 1),
        ("SidecarContainers=true", {}, False, None),
        ("SidecarContainers=true", {"SidecarContainers": True}, False, None),
        ("SidecarContainers=true", {"SidecarContainers": False}, False, 1),
    ],
)
def test_gates_of_scenarios_come_too_late(
    at_start: str, said: dict[str, bool], refused: bool, notes: int | None
) -> None:
    """1.28 was recorded with plugins that were registered before; a note says so, and the flag counts."""
    sidecar = {"name": "s", "image": "i", "restartPolicy": "Always"}
    query = {"id": "q", "pod": pod("p", initContainers=[sidecar])}
    scenario = {"cluster": {"nodes": [node("a")]}, "featureGates": said, "queries": [query]}
    [found] = evaluate([json.dumps(scenario).encode()], "1.28", at_start)
    assert (found["fits"] == [], len(found["notes"]) if "notes" in found else None) == (refused, notes)


@pytest.mark.parametrize(("release", "taken"), [("1.21", True), ("1.22", False), ("1.23", False)])
def test_providers_by_name(release: str, taken: bool) -> None:
    """1.22 has policies, and no flag that names a provider."""
    cluster = Cluster([node("a")], release=release)
    if taken:
        assert Scheduler(cluster, provider="DefaultProvider").decide(pod("p")).host == "a"
        return
    with pytest.raises(ConfigError, match=rf"unknown flag: --algorithm-provider: release {release} has none"):
        Scheduler(cluster, provider="DefaultProvider").decide(pod("p"))


TAINTED = {**node("b"), "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}}
LARGE = pod("large", containers=asking(cpu="5"))
CLAIMS = [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]
WITHOUT_CLAIM = pod("claiming", volumes=CLAIMS)
NOBODY = "No preemption victims found for incoming pod"
HOPELESS = "Preemption is not helpful for scheduling"
TAINT_1_23 = "1 node(s) had taint {k: v}, that the pod didn't tolerate"
MISSING = 'persistentvolumeclaim "none" not found'


@pytest.mark.parametrize(
    ("release", "large", "claiming"),
    [
        ("1.23", f"1 Insufficient cpu, {TAINT_1_23}.", f"2 {MISSING}."),
        ("1.24", "1 node(s) had untolerated taint {k: v}, 2 Insufficient cpu. preemption: 0/2 nodes are available: "
         f"1 {NOBODY}, 1 {HOPELESS}.", f"2 {MISSING}. preemption: 0/2 nodes are available: 2 {HOPELESS}."),
        ("1.26", "1 Insufficient cpu, 1 node(s) had untolerated taint {k: v}. preemption: 0/2 nodes are available: "
         f"1 {NOBODY}, 1 {HOPELESS}.", f"{MISSING}. preemption: 0/2 nodes are available: 2 {NOBODY}."),
        ("1.28", "1 Insufficient cpu, 1 node(s) had untolerated taint {k: v}. preemption: 0/2 nodes are available: "
         f"1 {NOBODY}, 1 {HOPELESS}.", f"{MISSING}. preemption: 0/2 nodes are available: 2 {HOPELESS}."),
    ],
)  # fmt: skip
def test_messages(release: str, large: str, claiming: str) -> None:
    """Preemption has the last word from 1.24 on; what PreFilter refused is said once from 1.26 on."""
    scheduler = Scheduler(Cluster([node("a"), TAINTED], release=release))
    messages = [scheduler.decide(each, preempt=True).message for each in (LARGE, WITHOUT_CLAIM)]
    assert messages == [f"0/2 nodes are available: {text}" for text in (large, claiming)]
