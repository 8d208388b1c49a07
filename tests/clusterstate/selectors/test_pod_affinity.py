"""Which topologies the affinity terms of running pods use."""

from __future__ import annotations

from clusterstate.objects import Affinity, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from clusterstate.selectors.pod_affinity import HARD, REPEL, SOFT, topology_keys
from clusterstate.snapshot import PodChange
from tests.support.build import Cluster, make_node, make_pod

MIXED = Affinity(
    None,
    PodAffinity((PodAffinityTerm("zone"),), (WeightedPodAffinityTerm(1, PodAffinityTerm("rack")),)),
    PodAffinity((PodAffinityTerm("host"), PodAffinityTerm("")), (WeightedPodAffinityTerm(1, PodAffinityTerm("rack")),)),
)


def test_keys_in_use_follow_the_pods() -> None:
    """A key is in use while any pod with such a term runs; an empty key never is."""
    cluster = Cluster([make_node("n")])
    for uid in ("1", "2"):
        cluster.columns.put_pod(0, make_pod(uid, affinity=MIXED), uid)
    cluster.columns.put_pod(0, make_pod("3", {"app": "x"}, affinity=MIXED), "3")
    for uid in ("1", "3"):
        assert topology_keys(cluster.snapshot, REPEL) == ["host"]
        assert topology_keys(cluster.snapshot, HARD) == ["zone"]
        assert topology_keys(cluster.snapshot, SOFT) == ["rack"]
        cluster.columns.take_pod(0, uid)
    assert topology_keys(cluster.snapshot, HARD, SOFT) == ["zone", "rack"]
    cluster.columns.take_pod(0, "2")
    assert topology_keys(cluster.snapshot, REPEL, HARD, SOFT) == []


def test_thought_on_pods_use_keys_too() -> None:
    """The keys of a pod that is only hypothetically added are in use in that snapshot."""
    cluster = Cluster([make_node("n")])
    snapshot = cluster.snapshot.what_if([PodChange(0, cluster.info(make_pod(affinity=MIXED)), 1)])
    assert topology_keys(snapshot, REPEL) == ["host"]
    assert topology_keys(cluster.snapshot, REPEL) == []
