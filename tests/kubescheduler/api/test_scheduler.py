"""The front door's scheduler: what it decides by, what it takes, what it remembers."""

from __future__ import annotations

import copy
import importlib
import json
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kubescheduler as ks
from clusterstate.cache import ClusterCache
from clusterstate.errors import (
    ClusterStateError,
    ConfigError,
    DecodeError,
    InputError,
    KubeSchedulerError,
    RegistryError,
    StaleDecisionError,
)
from kubescheduler import Cluster, Scheduler, migrate, pod
from kubescheduler.api.scheduler import LazyDecision
from kubescheduler.core.decision import Decision
from kubescheduler.core.equal_runs import placed_in_order
from kubescheduler.core.results import OneAtATime
from kubescheduler.core.status import Status
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.plugin_loading import with_plugin
from kubescheduler.releases import v1_16
from tests.support.custom.faulty_plugins import KINDS, ErrorKind
from tests.support.devices import TODAY
from tests.support.laws import costly
from tests.support.releases_tried import RELEASES_TRIED
from tests.support.rich_worlds import DrawnCluster
from tests.support.runs_of_pods import ENGINES, TIES, Runs, line, one, runs, sized_in_millicores, small, state_of, whole

POLICY = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [{"name": "GeneralPredicates"}],
    "priorities": [{"name": "MostRequestedPriority", "weight": 1}],
}
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}}],
}


def two(release: str) -> Cluster:
    """A node that is half full, and an empty one."""
    return Cluster(release=release).node("a", cpu=4).node("b", cpu=4).pod("db", node="a", cpu=2)


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_the_next_decision_sees_what_was_bound(release: str) -> None:
    """A pod goes to the emptier node; once it runs there, the next one goes to the other."""
    scheduler = Scheduler(two(release))
    first = scheduler.decide(pod("web-1", cpu=3))
    assert first.host == "b"
    scheduler.bind(first)
    assert scheduler.decide(pod("web-2", cpu=2)).host == "a"
    assert scheduler.decide(pod("web-3", cpu=3)).host is None
    assert [each.node_name for each in scheduler.cluster.pods] == ["a", "b"]


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(lambda _: POLICY, id="dict"),
        pytest.param(lambda _: json.dumps(POLICY), id="text"),
        pytest.param(lambda path: path, id="path"),
        pytest.param(str, id="file name"),
    ],
)
@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20"])
def test_a_policy_in_every_form(release: str, given: Any, tmp_path: Path) -> None:
    """A Policy decides alike as a file, a dict and text."""
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(POLICY))
    assert Scheduler(two(release), policy=given(file)).decide(pod("web", cpu=1)).host == "a"


@pytest.mark.parametrize("as_text", [False, True])
def test_a_configuration_in_python(as_text: bool) -> None:
    """A KubeSchedulerConfiguration may be a dict or text."""
    config = json.dumps(CONFIG) if as_text else CONFIG
    assert Scheduler(two("1.36"), config=config).decide(pod("web", cpu=8)).host is not None


WRONG_ARGUMENTS: dict[str, Any] = {
    "config": (
        "1.16",
        {"config": CONFIG},
        ["config: apiVersion: release 1.16 does not read kubescheduler.config.k8s.io/v1; "],
    ),
    "policy": ("1.36", {"policy": POLICY}, ["--policy-config-file: release 1.36 has none"]),
    "gate": ("1.16", {"gates": {"Nope": True}}, ["Nope"]),
    "plugin": ("1.36", {"plugins": "nope:Nope"}, ["there is no module nope"]),
    "all faults": (
        "1.16",
        {"policy": {**POLICY, "predicates": [{"name": "A"}], "priorities": [{"name": "B", "weight": 1}]}},
        ["policy: predicates[0]", "policy: priorities[0]"],
    ),
}


@pytest.mark.parametrize(("release", "arguments", "texts"), WRONG_ARGUMENTS.values(), ids=WRONG_ARGUMENTS)
def test_wrong_arguments_say_what_to_do(release: str, arguments: dict[str, Any], texts: list[str]) -> None:
    """Everything that is wrong with a scheduler's description is one ConfigError."""
    with pytest.raises(ConfigError) as caught:
        Scheduler(two(release), **arguments)
    assert all(text in str(caught.value) for text in texts)


def test_a_cluster_of_another_release_is_refused() -> None:
    """An engine takes the clusters of its own release; the error says how to get one."""
    engine = EngineSpec("1.36").engine(lambda _: None)
    with pytest.raises(ConfigError, match=r'cluster\.for_release\("1\.36"\)'):
        Scheduler.of_engine(engine, two("1.16"))
    assert Scheduler.of_engine(engine, two("1.16").for_release("1.36")).release == "1.36"


@pytest.mark.parametrize("release", ["1.4", "1.20", "1.36"])
def test_an_engine_checks_the_view_of_a_cache(release: str) -> None:
    """A cache that was made with another release's view is not decided on."""
    cache = ClusterCache.of(two("1.16").objects, v1_16.VIEW)
    with pytest.raises(ConfigError, match="make it with the view of the engine"):
        EngineSpec(release).engine(lambda _: None).scheduler(cache)


def test_gates_change_the_view() -> None:
    """Overhead counts under its gate, also in what runs already."""
    cluster = Cluster().node("a", cpu=4).pod("big", node="a", cpu=1, spec={"overhead": {"cpu": "3"}})
    assert Scheduler(cluster).decide(pod("web", cpu=1)).host == "a"
    assert Scheduler(cluster, gates={"PodOverhead": True}).decide(pod("web", cpu=1)).host is None


def test_pods_by_name() -> None:
    """A pending pod of the cluster is named; one that runs, or was bound, is not decided again."""
    scheduler = Scheduler(two("1.16").pod("web", cpu=1))
    decision = scheduler.decide("web")
    assert decision.host == scheduler.decide("default/web").host == "b"
    scheduler.bind(decision)
    assert scheduler.pending() == []
    with pytest.raises(DecodeError, match="it runs on b, to which it was bound"):
        scheduler.decide("web")
    with pytest.raises(DecodeError, match="it runs on a"):
        scheduler.decide("db")


@pytest.mark.parametrize(
    ("pods", "problem"),
    [
        (lambda: [pod("a"), pod("b"), pod("a")], "Pod default/a: it is 2 times in pods; rename the others"),
        (lambda: ["web", "web"], "Pod default/web: it is 2 times in pods; rename the others"),
        (
            lambda: [{**pod("a"), "metadata": {"name": name, "uid": "1"}} for name in "ab"],
            "Pod default/b: metadata.uid: it is that of Pod default/a; remove it",
        ),
    ],
    ids=["manifests", "names", "uids"],
)
def test_a_pod_that_is_given_twice(pods: Callable[[], list[Any]], problem: str) -> None:
    """It is a fault before the first pod is decided."""
    scheduler = Scheduler(Cluster().node("n").pod("web"))
    with pytest.raises(DecodeError) as caught:
        scheduler.run(*pods())
    assert caught.value.problems == (problem,)
    assert [waiting.key for waiting in scheduler.pending()] == ["default/web"]


def test_no_node_no_binding() -> None:
    """A decision without a host cannot be bound, and its message says why."""
    scheduler = Scheduler(two("1.16"))
    with pytest.raises(ClusterStateError, match=r"Pod default/web has no node to be bound to: 0/2 nodes"):
        scheduler.bind(scheduler.decide(pod("web", cpu=9)))


@pytest.mark.parametrize("percentage", [40, 100])
@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
def test_a_node_that_filled_up_meanwhile_is_refused(release: str, percentage: int) -> None:
    """Also where the scheduler would not look at it now; what is asked for that does not move where it looks next."""
    cluster = Cluster(release=release)
    for at in range(300):
        cluster = cluster.node(f"n{at:03}", cpu=4)
    schedulers = [Scheduler(cluster, percentage_of_nodes_to_score=percentage) for _ in range(2)]
    hosts = []
    for scheduler in schedulers:
        old = scheduler.decide(pod("old", cpu=3))
        there = {"kubernetes.io/hostname": str(old.host)}
        scheduler.bind(scheduler.decide(pod("new", cpu=3, node_selector=there)))
        if scheduler is schedulers[0]:
            with pytest.raises(ClusterStateError, match=f"no longer fits {old.host}: .*Insufficient cpu"):
                scheduler.bind(old)
        hosts.append(scheduler.decide(pod("next", cpu=3)).host)
    assert hosts[0] == hosts[1]


def test_run_places_what_is_pending_in_the_queues_order() -> None:
    """The pod with the higher priority comes first; each decision is in the answer."""
    cluster = Cluster().node("a", cpu=2).pod("low", cpu=2).pod("high", cpu=2, priority=10)
    hosts = {key: decision.host for key, decision in Scheduler(cluster).run().items()}
    assert list(hosts.items()) == [("default/high", "a"), ("default/low", None)]


def test_preemption_is_told_when_asked_for() -> None:
    """With preempt the decision says who would have to go."""
    cluster = Cluster().node("a", cpu=2).pod("low", node="a", cpu=2)
    found = Scheduler(cluster).decide(pod("high", cpu=2, priority=10), preempt=True).preemption
    assert [each.key for each in found.candidates["a"].pods] == ["default/low"]


def test_ties_by_seed() -> None:
    """A seed makes random choices repeatable; without one of the two other ways the first by name is taken."""
    cluster = Cluster()
    for number in range(9):
        cluster = cluster.node(f"n{number}")
    assert Scheduler(cluster).decide(pod("web")).host == "n0"
    hosts = {seed: Scheduler(cluster, tie_break="random", seed=seed).decide(pod("web")).host for seed in range(20)}
    assert len(set(hosts.values())) > 1
    assert all(
        Scheduler(cluster, tie_break="random", seed=seed).decide(pod("web")).host == host
        for seed, host in hosts.items()
    )


def test_migrating_a_configuration_from_python() -> None:
    """What ``kubescheduler migrate`` takes, ``migrate`` takes too."""
    older = {"apiVersion": "kubescheduler.config.k8s.io/v1beta2", "kind": "KubeSchedulerConfiguration"}
    assert migrate(older).plain()["apiVersion"] == "kubescheduler.config.k8s.io/v1"


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_eight_threads_share_a_scheduler(release: str) -> None:
    """Each call waits for the others': every pod is bound once, and each decision adds up."""
    scheduler, faults = Scheduler(cluster_of(6, release)), []

    def work(thread: int) -> None:
        try:
            for number in range(12):
                decision = scheduler.decide(pod(f"a-{thread}-{number}", cpu="10m", labels={"app": str(number % 3)}))
                assert decision.total()[decision.host or ""] == max(decision.totals)
                scheduler.bind(decision)
                [placed] = scheduler.run(pod(f"b-{thread}-{number}", cpu="10m")).values()
                assert placed.total()[placed.host or ""] == max(placed.totals)
        except Exception as error:  # in a thread nobody else would see it
            faults.append(error)

    in_threads(work)
    assert faults == []
    bound = scheduler.cluster.pods
    assert len(bound) == len({each.key for each in bound}) == 8 * 24


def test_threads_share_a_cluster() -> None:
    """Schedulers of one cluster in different threads decide as one in a single thread does."""
    cluster, found = cluster_of(6, "1.36"), []

    def work(_: int) -> None:
        decisions = Scheduler(cluster).run(*(pod(f"p-{number}", cpu="10m") for number in range(30)))
        found.append([(decision.host, decision.total()) for decision in decisions.values()])

    work(0)
    in_threads(work)
    assert found == [found[0]] * 9


def test_a_copy_takes_turns_of_its_own() -> None:
    """Locks cannot be copied, so a copy has a new one."""
    turn = OneAtATime()
    with turn, copy.deepcopy(turn) as _, pickle.loads(pickle.dumps(turn)) as _:
        assert copy.deepcopy(turn) is not turn


def cluster_of(nodes: int, release: str) -> Cluster:
    """So many empty nodes."""
    cluster = Cluster(release=release)
    for number in range(nodes):
        cluster = cluster.node(f"n{number}", cpu=8)
    return cluster


def in_threads(work: Callable[[int], None]) -> None:
    """Has eight threads do it, which take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)


PARTS = 2
"""In how many calls the pods are given."""


def scheduler_of(given: Runs, engine: str, tie: str) -> Scheduler:
    """A scheduler of the world's cluster."""
    world, chosen = given.world, ENGINES[engine]
    cluster = Cluster(*world.others, *world.nodes, *world.pods, release=chosen.release, validate="ignore")
    return Scheduler.of_engine(chosen, cluster, TIES[tie]())


def run_in_parts(scheduler: Scheduler, given: Runs) -> list[Decision]:
    """The decisions on all pods, which come in several calls."""
    size = -(-len(given.pods) // PARTS)
    parts = [given.pods[at : at + size] for at in range(0, len(given.pods), size)]
    return [decision for part in parts for decision in scheduler.run(*part).values()]


def plenty() -> Runs:
    """Forty pods that are alike, and room for them."""
    return Runs(
        DrawnCluster((sized_in_millicores("n0", 4000), sized_in_millicores("n1", 9000)), (), ()),
        tuple(small(f"p{at}") for at in range(40)),
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_read_later_is_what_was_decided(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is read of a decision after the run, in any order, is as if each pod had been decided by itself.

    The law says something only where decisions of runs are read, which has to happen. No time passes: claims say in
    which second they got their devices.
    """
    monkeypatch.setattr(Handle, "today", property(lambda _: lambda: TODAY))
    read_of_runs = 0

    @costly
    @given(given_runs=runs(), tie=st.sampled_from(list(TIES)), picks=st.lists(st.integers(0, 59), max_size=5))
    @example(plenty(), "by name", [31, 7])
    def law(given_runs: Runs, tie: str, picks: list[int]) -> None:
        nonlocal read_of_runs
        plain, bulk = scheduler_of(given_runs, engine, tie), scheduler_of(given_runs, engine, tie)
        found = run_in_parts(bulk, given_runs)
        of_runs = [at for at, decision in enumerate(found) if isinstance(decision, LazyDecision)]
        places = of_runs or range(len(found))
        wanted = list(dict.fromkeys(places[pick % len(places)] for pick in picks))
        expected = {}
        for at, each in enumerate(given_runs.pods):
            decision = plain.running.decide(each, in_sequence=True)
            assert (found[at].host, found[at].message) == (decision.host, decision.message)
            if at in wanted:
                expected[at] = whole(decision)
            if decision.host is not None:
                plain.bind(decision)
        for at in wanted:
            assert whole(found[at]) == expected[at]
            read_of_runs += isinstance(found[at], LazyDecision)
        assert state_of(bulk.running) == state_of(plain.running)
        assert bulk.cluster.objects == plain.cluster.objects
        assert line(one(bulk.running, small("later"))) == line(one(plain.running, small("later")))

    law()
    assert read_of_runs


@pytest.mark.parametrize("engine", ["1.4", "1.16", "1.20", "1.36"])
def test_pods_that_are_alike_go_in_bulk(engine: str) -> None:
    """All of them but the node is worked out later; hints are those of the scheduler, for which the pod is bound."""
    scheduler = scheduler_of(plenty(), engine, "by name")
    found = scheduler.run(*plenty().pods)
    assert {type(decision) for decision in found.values()} == {LazyDecision}
    last = found["default/p39"]
    with pytest.raises(DecodeError, match="to which it was bound"):
        last.hints(last.host)
    assert attrs.evolve(last, hinter=None).total() == last.total() != found["default/p0"].total()


def test_what_was_added_on_the_way_is_there_again() -> None:
    """Objects that came with earlier pods, and pods that were bound one by one, count."""
    scheduler = scheduler_of(plenty(), "1.16", "by name")
    service = {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}}}
    scheduler.run(small("first", cpu=3000), service)
    scheduler.bind(scheduler.decide(small("second", cpu=1000)))
    found = scheduler.run(*plenty().pods)["default/p20"]
    assert found.total()[found.host or ""] == max(found.total().values())


def test_a_cache_that_somebody_else_changed() -> None:
    """Nobody knows the cluster as it was then, and the decision says so."""
    scheduler = scheduler_of(plenty(), "1.16", "by name")
    scheduler.running.cache.add_pod(small("other").on("n0"))
    found = scheduler.run(*plenty().pods)["default/p3"]
    assert found.host is not None
    with pytest.raises(StaleDecisionError, match="changed by something else than the scheduler"):
        found.total()


@pytest.mark.parametrize("engine", ["1.16", "1.36"])
def test_a_run_is_repeated_with_the_same_draws(engine: str) -> None:
    """Among equal nodes, also when the last decision is read first."""
    given = Runs(DrawnCluster(tuple(sized_in_millicores(f"n{at}", 8000) for at in range(9)), (), ()), plenty().pods)
    plain, found = scheduler_of(given, engine, "random"), scheduler_of(given, engine, "random").run(*given.pods)
    expected = [whole(one(plain.running, pod)) for pod in given.pods[:24]]
    for at in (20, 7, 23, 2):
        assert whole(found[f"default/p{at}"]) == expected[at]


def test_reading_that_was_interrupted_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was repeated of the run by then counts for nothing."""
    found, undisturbed = (scheduler_of(plenty(), "1.16", "by name").run(*plenty().pods) for _ in range(2))
    found["default/p5"].total()

    def interrupted(*given: Any) -> Iterator[object]:
        yield from placed_in_order(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("kubescheduler.api.scheduler.placed_in_order", interrupted)
        with pytest.raises(KeyboardInterrupt):
            found["default/p20"].total()
    assert whole(found["default/p20"]) == whole(undisturbed["default/p20"])


def cluster(release: str = "1.16") -> Any:
    """A node on which a pod may go."""
    return ks.Cluster(release=release).node("a", cpu=4)


def made(release: str = "1.16", **options: Any) -> Any:
    return ks.Scheduler(cluster(release), **options)


THING = "expected a file name, a manifest, YAML or JSON text, or an object, found"
NO_RELEASE = "release {} is not known; known are 1.4, 1.13, 1.15, 1.16, 1.18"
NO_CLUSTER = "cluster: expected a Cluster, found null; make one with Cluster(…)"
GATES = "gates: expected a dict of feature gates or text like A=true,B=false, found"
WHOLE = "expected a whole number, found"
CHECKED_POLICY: Any = {"kind": "Policy", "apiVersion": "v1"}
NONE: Any = None
FIVE: Any = 5

_TEMPLATE: Any = {"spec": {"nodeSelector": {"disk": "ssd"}, "containers": [{"name": "c"}]}}
NOWHERE: Any = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "metadata": {"name": "x"},
    "spec": {"template": _TEMPLATE},
}
"""What has a pod on no node."""

CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "decide: 5": (lambda: made().decide(5), f"pod: {THING} 5"),
    "decide: None": (lambda: made().decide(None), f"pod: {THING} null"),
    "decide: no pods": (lambda: made().decide([]), "pod: no"),
    "decide: no node": (lambda: made().decide(NOWHERE), "decide takes one pod, found none"),
    "decide: no name": (lambda: made().decide({}), "metadata.name: missing; every object needs a name"),
    "decide: no file": (lambda: made().decide("no.yaml"), "no.yaml: no such file or folder"),
    "scheduler: None": (lambda: ks.Scheduler(NONE), NO_CLUSTER),
    "scheduler: 5": (lambda: ks.Scheduler(FIVE), "cluster: expected a Cluster, found 5"),
    "scheduler: object": (lambda: ks.Scheduler(object()), "expected a Cluster, found an object of type object"),  # type: ignore[arg-type]
    "release": (lambda: ks.Cluster(release="1.17"), NO_RELEASE.format("1.17")),
    "release: number": (lambda: ks.Cluster(release=1.36), NO_RELEASE.format("1.36")),  # type: ignore[arg-type]
    "release: None": (lambda: ks.Cluster(release=NONE), NO_RELEASE.format("None")),
    "cluster: None": (lambda: ks.Cluster(None), f"cluster: {THING} null"),
    "cluster: odd kind": (lambda: ks.Cluster({"kind": 5, "apiVersion": "v1"}), "kind: must be text, not 5"),
    "cluster: no file": (lambda: ks.Cluster.read("no/x.yaml"), "no/x.yaml: no such file or folder"),
    "cluster: judgement": (lambda: ks.Cluster(validate=FIVE), "validate: 5 is not known; known are strict, warn"),
    "cluster: gates": (lambda: ks.Cluster(gates=FIVE), f"{GATES} 5"),
    "node: name": (lambda: ks.Cluster().node(FIVE), "metadata.name: must be text, not 5"),
    "node: taints": (lambda: ks.Cluster().node("a", taints=5), "taints: expected texts like key=value:NoSchedule"),
    "node: labels": (lambda: ks.Cluster().node("a", labels=["x"]), "labels: expected a dict, found a list"),
    "pod: labels": (lambda: ks.pod("a", labels="x"), 'labels: expected a dict, found "x"'),  # type: ignore[arg-type]
    "running: 5": (lambda: ks.compare(cluster(), new="", running=FIVE), "running: expected True or a selector"),
    "running: pods": (
        lambda: ks.compare(cluster(), ks.pod("a"), new="", running=True),
        "running: pods are given besides; give one of the two",
    ),
    "running: none": (lambda: ks.compare(cluster(), new="", running=True), "no pod runs in the cluster"),
    "policy: 5": (lambda: made(policy=5), "policy: expected a file name, a document as a dict, or its text"),
    "policy: no file": (lambda: made(policy="no.json"), "missing policy config file no.json"),
    "provider: 5": (lambda: made(provider=5), "provider: expected the name of an algorithm provider, found 5"),
    "provider": (lambda: made(provider="DefaultProvder"), "did you mean DefaultProvider?"),
    "gates: 5": (lambda: made("1.36", gates=5), f"{GATES} 5"),
    "gates: list": (lambda: made("1.36", gates=["A"]), f"{GATES} a list"),
    "tie break": (lambda: made(tie_break=5), "tie_break: 5 is not known; known are first, random, upstream"),
    "seed": (lambda: made(seed=[1]), f"seed: {WHOLE} a list"),
    "percentage": (lambda: made(percentage_of_nodes_to_score="x"), f'percentage_of_nodes_to_score: {WHOLE} "x"'),
    "weight": (lambda: made(hard_pod_affinity_symmetric_weight="x"), f'symmetric_weight: {WHOLE} "x"'),
    "weight: True": (lambda: made(hard_pod_affinity_symmetric_weight=True), f"symmetric_weight: {WHOLE} true"),
    "extenders: 5": (lambda: made(extenders=5), "extenders: expected live, pass, record FILE or replay FILE"),
    "plugins: 5": (lambda: made("1.36", plugins=5), "plugins: expected a class, a factory or text like"),
    "plugins: value": (lambda: made("1.36", plugins={"A": 5}), "plugins: A: expected a class or a factory, found"),
    "plugins: builtin": (lambda: made("1.36", plugins=dict), "a factory takes (args, handle) or nothing"),
    "configmap": (lambda: made(policy_configmap=5), "policy_configmap: expected a file name, found 5"),
    "name": (lambda: made(scheduler_name=5), "scheduler_name: expected a name, found 5"),
    "bind: None": (lambda: made().bind(NONE), "decision: expected a Decision, found null; the method decide"),
    "run: 5": (lambda: made().run(5), f"pods: {THING} 5"),
    "compare: None": (lambda: ks.compare(NONE, new="release=1.36"), NO_CLUSTER),
    "compare: new": (lambda: ks.compare(cluster(), new=5), 'new: expected text like "release=1.36,config=sched.yaml"'),
    "compare: nothing": (lambda: ks.compare(cluster(), new=[]), "there is nothing to compare with"),
    "compare: release": (lambda: ks.compare(cluster(), new={"release": "1.17"}), f"new: {NO_RELEASE.format('1.17')}"),
    "compare: mode": (lambda: ks.compare(cluster(), new="release=1.36", mode=FIVE), "mode 5 is not known"),
    "compare: names": (
        lambda: ks.compare(cluster(), new="release=1.36", names=FIVE),
        "names: expected a list of names",
    ),
    "compare: pods": (lambda: ks.compare(cluster(), 5, new="release=1.36"), f"pods: {THING} 5"),
    "simulate: None": (lambda: ks.simulate(NONE, "x.yaml"), NO_CLUSTER),
    "simulate: no file": (lambda: ks.simulate(cluster(), "x.yaml"), "x.yaml: no such file or folder"),
    "simulate: 5": (lambda: ks.simulate(cluster(), 5), f"workload: {THING} 5"),
    "simulate: grace": (lambda: ks.simulate(cluster(), ks.pod("a"), grace="x"), "grace: expected a number of seconds"),  # type: ignore[arg-type]
    "simulate: listen": (
        lambda: ks.simulate(cluster(), ks.pod("a"), listen=FIVE),
        "listen: expected a function, found 5",
    ),
    "why: gates": (
        lambda: ks.why(cluster(), "a", feature_gates="A=true"),
        "feature_gates: there is no such argument; there are provider, policy, ",
    ),
    "why: release": (lambda: ks.why(cluster(), "a", release="1.36"), "release: it is the cluster's, "),
    "compare: argument": (
        lambda: ks.compare(cluster(), new={"relese": "1.36"}),
        "new: relese: there is no such argument; did you mean release?",
    ),
    "drain: config": (
        lambda: ks.drain(cluster(), "a", configs="x"),
        "configs: there is no such argument; did you mean",
    ),
    "capacity: None": (lambda: ks.capacity(NONE, ks.pod("a")), NO_CLUSTER),
    "capacity: 5": (lambda: ks.capacity(cluster(), 5), f"pod: {THING} 5"),
    "hints: top": (lambda: ks.hints(cluster(), ks.pod("a"), top="x"), f'top: {WHOLE} "x"'),  # type: ignore[arg-type]
    "hints: none": (lambda: ks.hints(cluster(), ks.pod("a"), top=0), "top: expected 1 or more, found 0"),
    "capacity: limit": (lambda: ks.capacity(cluster(), ks.pod("a"), limit="x"), f'limit: {WHOLE} "x"'),  # type: ignore[arg-type]
    "capacity: -1": (lambda: ks.capacity(cluster(), ks.pod("a"), limit=-1), "limit: expected 1 or more, found -1"),
    "migrate: nothing": (ks.migrate, "say what to translate: either a policy or provider="),
    "migrate: 5": (lambda: ks.migrate(5), "policy: expected a file name, a dict or text, found 5"),
    "migrate: to": (lambda: ks.migrate(CHECKED_POLICY, to="1.17"), NO_RELEASE.format("1.17")),
    "migrate: provider": (lambda: ks.migrate(provider=FIVE), "provider: expected the name of an algorithm provider"),
    "for another release": (lambda: cluster().for_release("1.17"), NO_RELEASE.format("1.17")),
    "find": (lambda: cluster().find_pod(5), "expected the name of a pod, found 5"),
    "without": (lambda: cluster().without_node(5), "expected the name of a node, found 5"),
    "add": (lambda: cluster().add(None), f"cluster: {THING} null"),
}


@pytest.mark.parametrize("call", CALLS)
def test_wrong_calls(call: str) -> None:
    """What is wrong with which argument, and nothing of how the project is built."""
    make, message = CALLS[call]
    with pytest.raises(KubeSchedulerError) as raised:
        make()
    assert isinstance(raised.value, InputError)
    assert message in str(raised.value)
    assert "kubescheduler/" not in str(raised.value)


ATTEMPTS = {name: kind for name, kind in KINDS.items() if kind.in_attempt}
FAULTS = {name: kind for name, kind in KINDS.items() if not kind.in_attempt and not kind.files}


def _options(kind: ErrorKind, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What decides; the plugin as a class."""
    if kind.policy is not None:
        return {"policy": str(folder / "policy.json")}
    monkeypatch.syspath_prepend(folder)
    module = kind.module(folder)
    importlib.invalidate_caches()
    return {"config": str(folder / "config.json"), "plugins": [importlib.import_module(module).Mine]}


def _cluster(kind: ErrorKind) -> ks.Cluster:
    return ks.Cluster(release="1.16" if kind.policy is not None else "1.36").node("n1").node("n2")


@pytest.mark.parametrize("kind", ATTEMPTS.values(), ids=ATTEMPTS)
def test_errors_of_attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, kind: ErrorKind) -> None:
    """A decision has the error and no node; runs, rooms and comparisons say so too."""
    kind.write(tmp_path, address)
    options, cluster, pod = _options(kind, tmp_path, monkeypatch), _cluster(kind), ks.pod("web")
    decision = ks.Scheduler(cluster, **options).decide(pod)
    assert decision.host is None
    assert kind.text in (decision.error or "")
    report = ks.simulate(cluster, pod, **options)
    assert [(record.standing, kind.text in record.message) for record in report.pods] == [("error", True)]
    assert report.counts()["error"] == 1
    room = ks.capacity(cluster, pod, **options)
    assert kind.text in (room.error or "")
    found = ks.compare(cluster, pod, old=options, new=options)
    assert (found.same, len(found.errors), found.moved) == (False, 1, ())


@pytest.mark.parametrize("kind", FAULTS.values(), ids=FAULTS)
def test_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, kind: ErrorKind) -> None:
    """Everything else is raised, as an error that a caller can catch."""
    kind.write(tmp_path, address)
    options, cluster, pod = _options(kind, tmp_path, monkeypatch), _cluster(kind), ks.pod("web")
    calls: dict[str, Callable[[], object]] = {
        "decide": lambda: ks.Scheduler(cluster, **options).decide(pod),
        "run": lambda: ks.Scheduler(cluster, **options).run(pod),
        "simulate": lambda: ks.simulate(cluster, pod, **options),
        "capacity": lambda: ks.capacity(cluster, pod, **options),
        "compare": lambda: ks.compare(cluster, pod, old=options, new=options),
    }
    for call in calls.values():
        with pytest.raises(KubeSchedulerError) as raised:
            call()
        assert kind.text in str(raised.value)


class Nowhere:
    """A plugin that no node passes."""

    name = "Nowhere"

    def filter(self, state: Any, pod: Any, node_info: Any) -> Any:
        """Refuses."""
        return Status.unschedulable("not here")


OWN = {
    "a class": [Nowhere],
    "a mapping": {"Nowhere": lambda args, handle: Nowhere()},
    "with_plugin": [with_plugin("Nowhere", lambda args, handle: Nowhere())],
}


@pytest.mark.parametrize("plugins", OWN.values(), ids=OWN)
def test_plugins_of_ones_own(plugins: Any) -> None:
    """Each form that plugins can be given in; a name that is taken is refused."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"filter": {"enabled": [{"name": "Nowhere"}]}}}],
    }
    there = ks.Cluster(release="1.36").node("a")
    decision = ks.Scheduler(there, config=config, plugins=plugins).decide({"metadata": {"name": "p"}, "spec": {}})
    assert "not here" in str(decision.message)
    with pytest.raises(RegistryError, match="a plugin named NodeName already exists"):
        ks.Scheduler(there, plugins=[with_plugin("NodeName", lambda args, handle: Nowhere())])
