"""Running pods that are compared: each is decided as if it had never run, and the cluster is as it was afterwards."""

from __future__ import annotations

from typing import Any

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.errors import ConfigError, InputError
from clusterstate.objects import Container, ContainerPort, NodeSelectorTerm, OwnerReference, Pod, Requirement
from clusterstate.selectors.pod_owners import MIRROR
from kubescheduler.comparison.comparing import compare
from kubescheduler.comparison.outcomes import Outcome, PodComparison
from kubescheduler.comparison.running_pods import renewed, running_pods, stays
from kubescheduler.comparison.tracks import Run, tried_rows
from kubescheduler.engine.spec import EngineSpec, cache_for, place
from tests.support.comparisons import GIB, node, pod
from tests.support.devices import allocated, gpu, make_slice, pod_with, users
from tests.support.devices import make_claim as device_claim
from tests.support.devices import make_class as device_class
from tests.support.rich_worlds import DrawnCluster, worlds
from tests.support.runs_of_pods import ENGINES

NEW = [EngineSpec(release="1.36")]


def owned(kind: str, name: str) -> tuple[OwnerReference, ...]:
    return (OwnerReference(kind, name, f"uid-{name}", controller=True),)


# --- each as if it had never run ---------------------------------------------------------------


@given(
    world=worlds(most_nodes=5, most_pods=8), engines=st.lists(st.sampled_from(list(ENGINES)), min_size=2, max_size=3)
)
def test_each_is_decided_as_in_a_cluster_without_it(world: DrawnCluster, engines: list[str]) -> None:
    """One by one: what a fresh scheduler says of the new pod where everything but this pod runs."""
    objects: list[Any] = [*world.others, *world.nodes, *world.pods]
    going = {pod.key: pod for pod in world.pods if not stays(pod)}
    made = [ENGINES[name] for name in engines]
    run = Run(objects, made, sequence=False, preempts=False, running=going)
    found = run.pods(list(map(renewed, going.values())), lambda: None)
    for one, there in zip(found, going.values(), strict=True):
        others = [obj for obj in objects if obj is not there]
        fresh = [engine.scheduler(cache_for(engine, others)).decide(renewed(there)) for engine in made]
        assert [outcome.host for outcome in one.outcomes] == [decision.host for decision in fresh]
        assert [outcome.message for outcome in one.outcomes] == [decision.message for decision in fresh]
        assert one.runs_on == there.node_name


@given(
    world=worlds(most_nodes=5, most_pods=8), engines=st.lists(st.sampled_from(list(ENGINES)), min_size=2, max_size=2)
)
def test_one_after_the_other_each_finds_the_earlier_ones_where_they_went(
    world: DrawnCluster, engines: list[str]
) -> None:
    """In a sequence every scheduler moves the pods of its own cluster."""
    objects: list[Any] = [*world.others, *world.nodes, *world.pods]
    going = {pod.key: pod for pod in world.pods if not stays(pod)}
    made = [ENGINES[name] for name in engines]
    run = Run(objects, made, sequence=True, preempts=False, running=going)
    run.pods(list(map(renewed, going.values())), lambda: None)
    for engine, hosts in zip(made, run.hosts, strict=True):
        scheduler = engine.scheduler(cache_for(engine, objects))
        expected = []
        for there in going.values():
            scheduler.cache.remove_pod(there)
            host = scheduler.decide(renewed(there), in_sequence=True).host
            if host is not None:
                place(scheduler, renewed(there), host)  # with the devices of its claims
            expected.append(host)
        assert hosts == expected


PORT = (Container("c", ports=(ContainerPort(8080),)),)


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
@pytest.mark.parametrize(
    "there",
    [
        pytest.param(pod("web", 3500, on="n1"), id="what it asks for"),
        pytest.param(pod("web", on="n1", containers=PORT), id="its port"),
        pytest.param(pod("web", 100, on="n1", nominated="elsewhere"), id="its nomination"),
    ],
)
def test_what_it_uses_is_free(there: Pod, release: str) -> None:
    """A pod that fills its node goes back to it under any scheduler, and the cluster is as it was."""
    objects: list[Any] = [node("n1"), there]
    found = compare(objects, [there], EngineSpec(release=release), NEW)
    assert [outcome.host for outcome in found.pods[0].outcomes] == ["n1", "n1"]
    assert (found.before, found.before.placed) == (found.effects[0], 1)
    assert found.notes == ("the running pod was taken out of the cluster and decided anew",)


def test_devices_that_only_it_uses_are_free() -> None:
    """A claim that is reserved for the pod alone is allocated anew; one that another pod shares keeps its node."""
    there = pod_with("c", name="web", node="n1")
    busy = pod("busy", 3000, 4 * GIB, on="n1")
    nodes = [node("n1"), node("n2"), make_slice("n1", gpu("g1")), make_slice("n2", gpu("g2")), device_class()]
    on_n1 = (NodeSelectorTerm(match_fields=(Requirement("metadata.name", "In", ("n1",)),)),)
    claim = device_claim("c", allocation=allocated("n1", "g1", node_selector=on_n1))
    hosts = []
    for uids in ([there.metadata.uid], [there.metadata.uid, busy.metadata.uid]):
        objects: list[Any] = [*nodes, attrs.evolve(claim, reserved_for=users(*uids)), busy, there]
        for _ in range(2):
            [one] = compare(objects, [there], EngineSpec(release="1.36"), NEW).pods
        hosts.append([outcome.host for outcome in one.outcomes])
    assert hosts == [["n2", "n2"], ["n1", "n1"]]


def test_a_pod_of_the_same_name_is_decided_in_its_place() -> None:
    """A pod that is given under the name of a running one may ask for something else."""
    objects: list[Any] = [node("n1", cpu=1000), node("n2"), pod("web", 900, on="n1")]
    [one] = compare(objects, [pod("web", 2000)], EngineSpec(), NEW).pods
    assert ([outcome.host for outcome in one.outcomes], one.runs_on) == (["n2", "n2"], "n1")


def test_a_pod_that_is_given_with_its_node_runs_there_for_the_others() -> None:
    """Pods that only their own list says the nodes of are in the cluster all the same."""
    pods = [pod("web", 3000, on="n1"), pod("api", 3000, on="n2")]
    found = compare([node("n1"), node("n2")], pods, EngineSpec(), NEW)
    assert [[outcome.host for outcome in one.outcomes] for one in found.pods] == [["n1", "n1"], ["n2", "n2"]]


def test_a_pod_that_was_evicted_before_its_turn_comes_back() -> None:
    """In a sequence with preemption it is pending when it is decided on, and no longer counted as evicted."""
    objects: list[Any] = [
        node("n1", cpu=1000),
        node("n2", cpu=2000),
        pod("low", 900, on="n1"),
        pod("filler", 1800, on="n2"),
    ]
    pods = [pod("high", 900, priority=10), objects[2]]
    found = compare(objects, pods, EngineSpec(), NEW, mode="sequence", preempt=True)
    high, low = found.pods
    assert [outcome.host for outcome in high.outcomes] == ["n1", "n1"]
    assert high.outcomes[0].evicts == ("default/low",)
    assert [outcome.host for outcome in low.outcomes] == [None, None]
    assert [(effects.evicted, effects.unplaced) for effects in found.effects] == [(0, 1), (0, 1)]


def test_runs_that_draw_take_pods_out_too() -> None:
    """Each run finds the cluster as it is, whatever the runs before it drew."""
    objects: list[Any] = [node("n1"), node("n2"), pod("web", 3500, on="n1"), pod("api", 3500, on="n2")]
    for mode in ("independent", "sequence"):
        found = compare(objects, objects[2:], EngineSpec(), NEW, mode=mode, tie_break="upstream", seeds=3)
        assert [str(one.changes[0].moves) for one in found.pods] == ["0 of 3", "0 of 3"]


# --- which pods --------------------------------------------------------------------------------

HASH = {"pod-template-hash": "7d9f"}
SHOP: list[Any] = [
    node("n1"),
    node("n2"),
    pod("web-1", on="n1", label={"app": "web", **HASH}, namespace="shop", owners=owned("ReplicaSet", "web-7d9f")),
    pod("web-2", on="n2", label={"app": "web", **HASH}, owners=owned("ReplicaSet", "web-7d9f")),
    pod("db-0", on="n2", label={"app": "db", "app.kubernetes.io/name": "db"}, owners=owned("StatefulSet", "db")),
    pod("alone", on="n1"),
    pod("agent-x", on="n1", label={"app": "web"}, owners=owned("DaemonSet", "agent")),
    pod("static", on="n1", annotations={MIRROR: "x"}),
    pod("leaving", on="n1", deleting=True),
    pod("waits", label={"app": "web"}),
    msgspec.structs.replace(pod("done", on="n1"), phase="Succeeded"),
]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("all", ["web-1", "web-2", "db-0", "alone"]),
        ("app=web", ["web-1", "web-2"]),
        ("app==web,pod-template-hash", ["web-1", "web-2"]),
        ("app in (web, db),app!=web", ["db-0"]),
        ("!app", ["alone"]),
        ("app notin (web)", ["db-0", "alone"]),
        ("app.kubernetes.io/name", ["db-0"]),
        ("app.kubernetes.io/name=db", ["db-0"]),
        ("deployment/web", ["web-1", "web-2"]),
        ("Deployments/web", ["web-1", "web-2"]),
        ("shop/deploy/web", ["web-1"]),
        ("rs/web-7d9f", ["web-1", "web-2"]),
        ("sts/db", ["db-0"]),
        ("pod/alone", ["alone"]),
        ("metadata.namespace=shop", ["web-1"]),
        ("spec.nodeName=n2,app!=db", ["web-2"]),
        ("metadata.name in (alone,db-0)", ["db-0", "alone"]),
    ],
)
def test_selectors(selector: str, names: list[str]) -> None:
    """Labels and fields as kubectl writes them, and workloads; the pods in the order of the cluster."""
    assert [pod.metadata.name for pod in running_pods(SHOP, selector).pods] == names


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("app=web=x", "app=web=x is no selector of pods: invalid label value"),
        ("app in web", "app in web is no selector of pods: invalid label key"),
        ("app in (web", "app in (web is no selector of pods"),
        ("", "is no selector of pods"),
        ("a b", "a b is no selector of pods"),
        ("metadata.namspace=shop", "metadata.namspace is no field to select by; did you mean metadata.namespace?"),
        ("app=wbe", "no running pod is picked by app=wbe; write labels as app=web"),
        ("deployment/wbe", "no running pod is picked by deployment/wbe"),
        ("daemonset/agent", "no running pod is picked by daemonset/agent"),
    ],
)
def test_faults_of_selectors(selector: str, message: str) -> None:
    """What is no selector, and one that picks nothing, is an error: nothing would be compared."""
    with pytest.raises(ConfigError) as caught:
        running_pods(SHOP, selector)
    assert message in str(caught.value)


def test_those_that_stay_are_told_of() -> None:
    """Of the pods that are picked the ones that belong to their node, and the ones that leave, are counted."""
    assert running_pods(SHOP, "all").notes == ("left out: 2 pods of DaemonSets or static, 1 pod being deleted",)
    assert running_pods(SHOP, "app=web").notes == ("left out: 1 pod of DaemonSets or static",)
    with pytest.raises(ConfigError, match="DaemonSets or static"):
        running_pods(SHOP, "metadata.name in (agent-x)")
    with pytest.raises(ConfigError, match="no pod runs in the cluster"):
        running_pods([node("n1"), pod("waits")], "all")


HELD = Outcome(None, message="waiting for scheduling gates: [a]", tried=False)
TRIED = Outcome("n1")


def test_pods_that_gates_hold_back() -> None:
    """They are left out with a note where both hold them back, but for those that run: they stay, and no note is on
    them."""
    found = [
        PodComparison(key, outcomes, ())
        for key, outcomes in (("a/x", (HELD, HELD)), ("a/y", (HELD, TRIED)), ("a/runs", (HELD, HELD)))
    ]
    note = "left out: a/x, which no scheduler here tries: waiting for scheduling gates: [a]"
    assert tried_rows(found, {"a/runs"}) == ([1, 2], (note,))


def test_nothing_that_is_tried() -> None:
    """That is no answer, whether they run or not."""
    with pytest.raises(InputError, match="there is no pod to compare"):
        tried_rows([PodComparison("a/runs", (HELD, HELD), ())], {"a/runs"})
