"""What happens when nodes are gone at once."""

from __future__ import annotations

import math
from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import InputError
from clusterstate.objects import ObjectMeta, Pod, PodSpec, Toleration
from kubescheduler.planning.outage import FOR_EVER, STATEFUL, seconds_until_deleted
from tests.support.evictions import budget, owned
from tests.support.releases_tried import RELEASES_TRIED

UNREACHABLE = "node.kubernetes.io/unreachable"
TOLERATES = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute"}


def cluster(*things: Any, release: str = "1.36") -> ks.Cluster:
    """Zones a and b: a1 and b1 with 4 cpu, b2 with 2."""
    found = ks.Cluster(release=release)
    for name, cpu in (("a1", 4), ("b1", 4), ("b2", 2)):
        found = found.node(name, cpu=cpu, labels={"topology.kubernetes.io/zone": name[0]})
    return found.add(list(things)) if things else found


def places(found: Any) -> dict[str, str]:
    return {moved.pod.metadata.name: moved.node for moved in found.moved}


HOW_LONG: dict[str, Any] = {
    "none": ([], 0),
    "as admission gives it": ([(UNREACHABLE, "Exists", "NoExecute", 300)], 300),
    "shorter": ([(UNREACHABLE, "Exists", "NoExecute", 10)], 10),
    "for ever": ([(UNREACHABLE, "Exists", "NoExecute", None)], math.inf),
    "every taint": ([("", "Exists", "", None)], math.inf),
    "below 0": ([(UNREACHABLE, "Exists", "NoExecute", -5)], 0),
    "another taint": ([("node.kubernetes.io/not-ready", "Exists", "NoExecute", 300)], 0),
    "another effect": ([(UNREACHABLE, "Exists", "NoSchedule", None)], 0),
    "the first that matches": ([(UNREACHABLE, "Exists", "NoExecute", 300), ("", "Exists", "", None)], 300),
}


@pytest.mark.parametrize(("tolerations", "expected"), HOW_LONG.values(), ids=HOW_LONG)
def test_how_long_pods_stay(tolerations: list[tuple[Any, ...]], expected: float) -> None:
    """As the first toleration says that matches the taint NoExecute."""
    made = tuple(
        Toleration(key, operator, effect=effect, toleration_seconds=seconds)
        for key, operator, effect, seconds in tolerations
    )
    assert seconds_until_deleted(Pod(ObjectMeta("p"), PodSpec(tolerations=made))) == expected


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_every_pod_is_accounted_for(release: str) -> None:
    """What runs again, what fits nowhere, what is lost, what was its node's alone."""
    found = ks.outage(
        cluster(
            owned("ReplicaSet", "web", "web-1", node="b1", cpu=1),
            owned("StatefulSet", "db", "db-0", node="b1", cpu=3),
            owned("ReplicaSet", "big", "big-1", node="b2", cpu=2),
            owned("DaemonSet", "agent", "agent-b", node="b1"),
            owned("Node", "b1", "proxy-b", node="b1"),
            ks.pod("bare", node="b2"),
            ks.pod("elsewhere", node="a1", cpu="100m"),
            release=release,
        ),
        "b1",
        "b2",
    )
    counts = found.counts()
    assert (counts["pods"], counts["daemons"], counts["lost"], counts["stay"]) == (4, 2, 1, 0)
    assert counts["running"] + counts["nowhere"] == 3
    assert counts["nowhere"] >= 1
    assert not found.fine
    assert [moved.pod.metadata.name for moved in found.lost] == ["bare"]
    for moved in found.nowhere:
        assert "Insufficient cpu" in moved.message
        assert moved.now is not None
        decision = found.evidence(moved.pod.key)
        assert decision.reasons() == {"a1": ["Insufficient cpu"]}
        assert found.hints[moved.now.key]


def test_workloads() -> None:
    """How many pods ran and run; a workload whose every pod is lost was down until others ran."""
    pods = [owned("ReplicaSet", "web", f"web-{at}", node=node, cpu=1) for at, node in enumerate(("a1", "b1"))]
    found = ks.outage(cluster(*pods, owned("StatefulSet", "db", "db-0", node="b1", cpu=1)), zone="b")
    assert [(each.workload, each.before, each.lost, each.after, each.down) for each in found.workloads] == [
        ("ReplicaSet/web", 2, 1, 2, False),
        ("StatefulSet/db", 1, 1, 1, True),
    ]
    assert found.fine
    assert found.name == "zone b"
    [cpu] = [use for use in found.utilisation if use.resource == "cpu"]
    assert cpu.mean == 0.75


def test_budgets_are_violated_meanwhile() -> None:
    """No budget is asked; which are violated is said, until others run and in the end."""
    pods = [owned("ReplicaSet", "web", f"web-{at}", node="b1", cpu=3, labels={"app": "web"}) for at in range(1)]
    filler = owned("ReplicaSet", "other", "other-1", node="a1", cpu=2)
    for things, in_the_end in ((pods, {}), ([*pods, filler], {"default/web": 0})):
        found = ks.outage(cluster(budget("web", "web", minAvailable=1), *things), zone="b")
        assert {key: health.healthy for key, health in found.lost_nodes.meanwhile.items()} == {"default/web": 0}
        assert {key: health.healthy for key, health in found.below.items()} == in_the_end


def test_who_comes_first_gets_the_room() -> None:
    """Pods are made anew as their tolerations run out; those that tolerate for ever last, without the node's object."""

    def tolerating(name: str, seconds: int | None) -> dict[str, Any]:
        more = {} if seconds is None else {"tolerationSeconds": seconds}
        return owned("ReplicaSet", name, f"{name}-1", node="b1", cpu=2, spec={"tolerations": [{**TOLERATES, **more}]})

    found = ks.outage(cluster(tolerating("a", None), tolerating("z", 10), ks.pod("full", node="a1", cpu=2)), "b1", "b2")
    assert places(found) == {"a-1": "", "z-1": "a1"}


def test_where_objects_stay() -> None:
    """A StatefulSet's pod stays, and one that tolerates it for ever; spreading counts the domain that is not there."""
    spread = {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "even"}},
            }
        ]
    }
    even = [
        owned("ReplicaSet", "even", f"even-{at}", node=node, cpu="100m", labels={"app": "even"}, spec=spread)
        for at, node in enumerate(("a1", "b1"))
    ]
    there = cluster(
        owned("StatefulSet", "db", "db-0", node="b1", cpu="100m"),
        owned("ReplicaSet", "stoic", "stoic-1", node="b2", cpu="100m", spec={"tolerations": [TOLERATES]}),
        *even,
    )
    found = ks.outage(there, zone="b", unreachable=True)
    assert [(each.pod.metadata.name, each.why) for each in found.held] == [("db-0", STATEFUL), ("stoic-1", FOR_EVER)]
    [nowhere] = found.nowhere
    assert "1 node(s) didn't match pod topology spread constraints" in nowhere.message
    assert ks.outage(there, zone="b").fine


def _with_volume(zone: str, at: int, node: str) -> list[dict[str, Any]]:
    """A pod of a StatefulSet, its claim, and the volume of one zone that this is bound to."""
    needs = [{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]}]
    of_claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "ssd"}
    volume = {**of_claim, "capacity": {"storage": "1Gi"}, "nodeAffinity": {"required": {"nodeSelectorTerms": needs}}}
    volume["claimRef"] = {"namespace": "default", "name": f"data-db-{at}"}
    bound = {"pv.kubernetes.io/bind-completed": "yes"}
    claim = {**of_claim, "volumeName": f"pv-{at}", "resources": {"requests": {"storage": "1Gi"}}}
    mounted = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-db-{at}"}}]}
    return [
        {"kind": "PersistentVolume", "apiVersion": "v1", "metadata": {"name": f"pv-{at}"}, "spec": volume},
        {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "metadata": {"name": f"data-db-{at}", "annotations": bound},
            "spec": claim,
            "status": {"phase": "Bound"},
        },
        owned("StatefulSet", "db", f"db-{at}", node=node, cpu=1, spec=mounted),
    ]


@pytest.mark.parametrize(
    ("release", "said"),
    [("1.16", "node(s) had volume node affinity conflict"), ("1.36", "didn't match PersistentVolume's node affinity")],
)
def test_volumes_of_a_zone(release: str, said: str) -> None:
    """A StatefulSet's pod comes back in its volume's zone alone; elsewhere the release says why not, and no hint is
    one that would let it away from its data."""
    there = cluster(*_with_volume("a", 0, "a1"), *_with_volume("b", 1, "b1"), release=release)
    assert places(ks.outage(there, "b1")) == {"db-1": "b2"}
    for zone, number in (("a", 2), ("b", 1)):
        found = ks.outage(there, zone=zone)
        [nowhere] = found.nowhere
        assert f"{number} {said}" in " ".join(nowhere.message.replace("node(s) didn't", "didn't").split())
        assert not found.hints
        assert said in str(found.table().rows[0][-1])
        assert dict(found.missing()) == {"default/StatefulSet/db": 1}


def test_why_a_node_that_does_not_answer_is_refused() -> None:
    """For its taints; nobody has cordoned it."""
    pinned = owned("ReplicaSet", "web", "web-1", node="a1", cpu=1, node_selector={"kubernetes.io/hostname": "a1"})
    [nowhere] = ks.outage(cluster(pinned), zone="a", unreachable=True).nowhere
    assert "1 node(s) had untolerated taint(s)" in nowhere.message
    assert "unschedulable" not in nowhere.message


@pytest.mark.parametrize("unreachable", [False, True])
def test_pods_that_wait_do_not_run(unreachable: bool) -> None:
    """They have their turn on the other nodes; none is among those that ran, are lost, or make the verdict."""
    waiting = [ks.pod("bare", cpu=1), owned("ReplicaSet", "web", "web-2", cpu=3), ks.pod("large", cpu=4)]
    lost = ks.outage(cluster(*waiting), zone="a", unreachable=unreachable)
    assert (lost.fine, lost.moved, lost.workloads, lost.counts()["pods"]) == (True, (), (), 0)
    assert {pod.metadata.name: node for pod, node in lost.waiting} == {"bare": "b1", "web-2": "b1", "large": ""}


def test_a_pod_that_waited_and_is_preempted_waits_again() -> None:
    """Whatever it was given meanwhile, it did not run."""
    runs = owned("ReplicaSet", "web", "web-1", node="a1", cpu=4, priority=5)
    lost = ks.outage(cluster(runs, ks.pod("low", cpu=3)), zone="a")
    assert (places(lost), lost.fine, lost.lost) == ({"web-1": "b1"}, True, [])
    assert [(pod.metadata.name, node) for pod, node in lost.waiting] == [("low", "")]


def test_what_does_not_run_is_named_where_a_waiting_pod_took_its_place() -> None:
    """Its workload has as many pods as before."""
    runs = owned("ReplicaSet", "web", "web-1", node="a1", cpu=4)
    found = ks.outages(cluster(runs, owned("ReplicaSet", "web", "web-2", cpu=4)), "zone")
    row = next(row for row in found.rows() if row[0] == "a")
    assert (found.fine, row[3], row[-1]) == (False, "1", "default/web-1")


def test_pods_that_waited_and_preempt() -> None:
    """What they evict as things are is no work of the outage, nor of a drain, whose orders it does not hinder."""
    pods = [
        owned("Job", "low", "low-1", node="a1", cpu=3),
        owned("ReplicaSet", "web", "web-1", node="b1", cpu=1),
        ks.pod("full", node="b1", cpu=3, priority=9),
        ks.pod("waits", cpu=4, priority=5),
    ]
    there = cluster(*pods)
    lost = ks.outage(there, "b2")
    assert (lost.fine, lost.counts()["preempted"]) == (True, 0)
    assert "pods that wait take the place of others as things are, which is not counted: of default/low-1" in lost.notes
    drained = ks.drain(there, "b2", order=True)
    assert (drained.fine, drained.moved) == (True, ())


def test_each_domain() -> None:
    """The worst first; a domain that can go says so."""
    pods = [
        owned("ReplicaSet", "web", "web-1", node="a1", cpu=1),
        owned("ReplicaSet", "big", "big-1", node="b1", cpu=4),
    ]
    found = ks.outages(cluster(*pods))
    assert [(row[0], row[-1]) for row in found.rows()] == [("b", "default/ReplicaSet/big (1)"), ("a", "survives")]
    assert not found.fine
    names = [each.name for each in ks.outages(cluster(), "hostname").domains]
    assert names == ["hostname=a1", "hostname=b1", "hostname=b2"]


def test_what_is_not_there() -> None:
    """Nodes, zones and labels that are not there are named."""
    for call, text in (
        (lambda: ks.outage(cluster(), zone="c"), "there is no node in zone c; the zones are a, b"),
        (lambda: ks.outage(cluster(), "a2"), "there is no node a2"),
        (lambda: ks.outages(cluster(), "rack"), "no node of the cluster has the label rack$"),
        (lambda: ks.outages(ks.Cluster().node("a"), "zone"), "failure-domain.beta.kubernetes.io/zone$"),
        (lambda: ks.outages(cluster(), "zon"), "has the label zon; did you mean zone"),
    ):
        with pytest.raises(InputError, match=text):
            call()


def test_pods_of_other_schedulers_are_not_said_to_run() -> None:
    """Where only such had to leave, nobody knows whether the domain survives; beside others they are named."""
    theirs = owned("ReplicaSet", "vol", "vol-x", node="a", cpu=1, spec={"schedulerName": "volcano"})
    cluster = ks.Cluster(release="1.36").node("a", cpu=4, zone="a").node("b", cpu=4, zone="b").add(theirs)
    alone = ks.outages(cluster)
    assert (alone.fine, [row[-1] for row in alone.rows()]) == (False, ["1 pod not tried", "survives"])
    both = ks.outages(cluster.add(owned("ReplicaSet", "web", "web-x", node="a", cpu=1)))
    assert (both.fine, [row[-1] for row in both.rows()]) == (True, ["1 pod not tried, else survives", "survives"])
    assert both.domains[0].counts()["foreign"] == 1
