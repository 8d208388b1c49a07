"""Hints: each works on a fresh engine, the amounts are exact, and none is missing; in short they name no node."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import pytest
from hypothesis import given

import kubescheduler as ks
from benchmarks.hints import holds
from clusterstate.objects import Pod
from clusterstate.quantity import parse_quantity
from kubescheduler.engine.spec import EngineSpec, no_notice
from kubescheduler.framework.plugin_loading import PluginOption
from kubescheduler.hinting import hint_search
from kubescheduler.hinting.hint_search import LONGEST, OTHERS, short_hints
from kubescheduler.hinting.proposals import Hint, PodHints, manifests_of
from kubescheduler.hinting.trials import at_once
from kubescheduler.live.observers import ShortHint
from tests.support.hint_worlds import HintWorld, edited_pods, hint_worlds, with_request
from tests.support.laws import costly
from tests.support.releases_tried import RELEASES_TRIED

UNITS = {"cpu": (1, "m"), "memory": (1000, "")}
"""Resource → (thousandths in the unit it is counted in, how manifests write that unit)."""
LEAST = {"cpu": "10m", "memory": "10Mi"}
"""What is still of use to a container: nobody is told to ask for less."""


def fresh_host(world: HintWorld, release: str, hint: Hint, pod: Pod) -> str | None:
    """Where the pod goes once the manifests that a hint writes are read by a fresh engine."""
    cluster = world.cluster(release)
    changed = manifests_of(hint, pod, {node.name: node for node in cluster.nodes})
    pods = [each for each in changed if each["kind"] == "Pod"] or [world.pod]
    after = [each for each in changed if each["kind"] == "Node"]
    names = {each["metadata"]["name"] for each in after}
    kept = [each for each in world.objects if each["metadata"]["name"] not in names]
    again = ks.Cluster(*after, *kept, release=release)
    return ks.Scheduler(again).decide(pods[0], preempt=True).host


def works_on_a_fresh_engine(release: str, world: HintWorld, found: PodHints) -> None:
    """The written manifests, read anew, make the pod go where the hint says."""
    for hint in found:
        if not hint.victims and all(change.pod or change.node or change.added for change in hint.changes):
            assert fresh_host(world, release, hint, found.pod) == hint.host, hint.text


@pytest.mark.parametrize("release", RELEASES_TRIED)
@costly
@given(world=hint_worlds())
def test_every_hint_for_a_node_works_on_a_fresh_engine(release: str, world: HintWorld) -> None:
    """Changes of the configuration, evictions, preemption and pairs among them: the pod goes to that node."""
    cluster = world.cluster(release)
    engine = EngineSpec(release=release).engine(no_notice)
    for node in cluster.nodes:
        found = ks.hints(cluster, world.pod, node.name, top=None)
        assert {hint.host for hint in found} <= {node.name}
        assert all(holds(engine, cluster.objects, found.pod, hint) for hint in found)


def brute_force_finds_the_same_single_changes(release: str, world: HintWorld, found: PodHints) -> None:
    """Every change that works is listed, those that do not are not."""
    works = {text for text, pod in edited_pods(world) if world.host(release, pod) is not None}
    whole = "drop the required node affinity"
    listed = {h.text for h in found if len(h.changes) == 1 and h.changes[0].target == "pod"}
    listed = {text for text in listed if not text.startswith(("ask for", "give it")) and text != whole}
    assert found.reached or listed == works


def lowered_requests_are_exact(release: str, world: HintWorld, found: PodHints) -> None:
    """One unit more does not fit; where no lower request is listed, asking for the least of use does not fit either."""
    lowered = {h.text.split()[3]: h for h in found if len(h.changes) == 1 and h.changes[0].kind == "request"}
    for resource, (unit, suffix) in UNITS.items():
        if found.reached or not found.pod.spec.containers[0].requests[resource]:
            continue
        if resource not in lowered:
            assert world.host(release, with_request(world.pod, resource, LEAST[resource])) is None
            continue
        left = parse_quantity(lowered[resource].text.split()[2]) // unit
        assert world.host(release, with_request(world.pod, resource, f"{left}{suffix}")) == lowered[resource].host
        assert world.host(release, with_request(world.pod, resource, f"{left + 1}{suffix}")) is None


def no_part_of_a_pair_works_alone(release: str, world: HintWorld, found: PodHints) -> None:
    """Two changes are listed only where neither does it alone; the list is sorted by rank."""
    alone = {h.text for h in found if len(h.changes) == 1}
    assert all(change.text not in alone for h in found if len(h.changes) == 2 for change in h.changes)
    assert [h.rank for h in found] == sorted(h.rank for h in found)


def fewer_are_the_first_of_all(release: str, world: HintWorld, found: PodHints) -> None:
    """What is not searched for, as it could only be larger, is none of those that are asked for."""
    for top in (1, 4):
        few = ks.hints(world.cluster(release), world.pod, top=top)
        assert [hint.to_dict() for hint in few] == [hint.to_dict() for hint in found.hints[:top]]


@pytest.mark.parametrize("release", RELEASES_TRIED)
@costly
@given(world=hint_worlds())
def test_hints_are_exact_and_complete(release: str, world: HintWorld) -> None:
    """What is listed works, and so does nothing else that could be listed."""
    found = ks.hints(world.cluster(release), world.pod, top=None)
    works_on_a_fresh_engine(release, world, found)
    brute_force_finds_the_same_single_changes(release, world, found)
    lowered_requests_are_exact(release, world, found)
    no_part_of_a_pair_works_alone(release, world, found)
    fewer_are_the_first_of_all(release, world, found)


@pytest.mark.parametrize("release", [release for release in RELEASES_TRIED if release != "1.4"])
def test_the_smallest_priority_that_makes_room(release: str) -> None:
    """It is one above the lowest pods that have to go, and the hint names them."""
    cluster = ks.Cluster(release=release).node("a", cpu=2)
    cluster = cluster.pod("low", node="a", cpu=1, priority=3).pod("high", node="a", cpu=1, priority=9)
    found = next(h for h in ks.hints(cluster, ks.pod("in", cpu=1)) if h.changes[0].kind == "priority")
    assert (found.text, found.victims) == ("give it priority 4 instead of 0", ("default/low",))


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_a_spread_constraint_is_softened_as_little_as_works(release: str) -> None:
    """maxSkew is the smallest that works."""
    constraint = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    constraint |= {"labelSelector": {"matchLabels": {"app": "x"}}}
    cluster = ks.Cluster(release=release).node("a").node("b", cpu=1).pod("o", node="b", cpu=1)
    for at in range(3):
        cluster = cluster.pod(f"x{at}", node="a", cpu="100m", labels={"app": "x"})
    pod = ks.pod("in", cpu=1, labels={"app": "x"}, spec={"topologySpreadConstraints": [constraint]})
    texts = [h.text for h in ks.hints(cluster, pod)]
    assert "set maxSkew of the constraint on kubernetes.io/hostname to 4 instead of 1" in texts


def test_a_decision_gives_hints_and_stays_explainable() -> None:
    """Asking for hints changes nothing in the scheduler's cluster."""
    scheduler = ks.Scheduler(ks.Cluster().node("a", cpu=2, taints=["gpu:NoSchedule"]))
    decision = scheduler.decide(ks.pod("web", cpu=1))
    assert decision.hints()[0].text == "tolerate gpu:NoSchedule"
    assert decision.why("a").refusals


def test_hints_for_a_node_that_is_not_there() -> None:
    """That is an error, which suggests a name that is like it."""
    with pytest.raises(ks.errors.InputError, match=r"^there is no node worker2 .*; did you mean worker-2\?$"):
        ks.hints(ks.Cluster().node("worker-2"), ks.pod("web"), node="worker2")


def test_a_pod_that_goes_there_needs_no_hint() -> None:
    """The answer says so."""
    found = ks.hints(ks.Cluster().node("a"), ks.pod("web"), node="a")
    assert (found.reached, len(found), found.host) == (True, 0, "a")


def test_a_pair_that_contains_another_is_left_out() -> None:
    """Of a required term one requirement is dropped, not all of them."""
    wanted = [{"key": "d", "operator": "Exists"}, {"key": "e", "operator": "Exists"}]
    terms = {"nodeSelectorTerms": [{"matchExpressions": wanted}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    cluster = ks.Cluster().node("a", labels={"e": "x"}, taints=["gpu:NoSchedule"])
    found = ks.hints(cluster, ks.pod("web", spec={"affinity": affinity}), top=None)
    pairs = {h.text for h in found if len(h.changes) == 2 and all(change.target == "pod" for change in h.changes)}
    assert pairs == {"tolerate gpu:NoSchedule and drop the requirement d to exist from the node affinity"}


def evicting(found: list[Hint]) -> list[Hint]:
    return [hint for hint in found if hint.changes[0].kind == "eviction"]


@pytest.mark.parametrize("release", RELEASES_TRIED)
@costly
@given(world=hint_worlds())
def test_nobody_of_higher_priority_is_evicted_than_has_to_be(release: str, world: HintWorld) -> None:
    """Of all sets of pods of one node, none whose pods are all of lower priority makes the pod fit there."""
    cluster = world.cluster(release)
    found = ks.hints(cluster, world.pod, top=None, pairs=False)
    works: list[int] = []
    for node in cluster.nodes:
        there = [pod for pod in cluster.pods if pod.node_name == node.name]
        for pods in chain.from_iterable(combinations(there, n) for n in range(1, len(there) + 1)):
            without = cluster.without_pod(*(pod.key for pod in pods))
            if node.name in ks.Scheduler(without).decide(dict(world.pod)).fits():
                works.append(max(pod.priority for pod in pods))
    hints = [] if found.reached else evicting(list(found))
    assert found.reached or bool(works) == bool(hints)
    if hints:
        assert min(max(pod.priority for pod in hint.changes[0].evicted) for hint in hints) == min(works)


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_where_the_evicted_pods_go(release: str) -> None:
    """A pod that fits elsewhere is moved: the hint says where."""
    cluster = ks.Cluster(release=release).node("big", cpu=4).node("small", cpu=1).pod("low", node="big", cpu=1)
    (hint,) = evicting(list(ks.hints(cluster, ks.pod("web", cpu=4))))
    assert (hint.text, hint.host, dict(hint.moves)) == ("evict default/low from big", "big", {"default/low": "small"})


def test_pods_of_daemon_sets_stay() -> None:
    """Their controller would put them back."""
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    daemon = ks.pod("daemon", node="a", cpu=3)
    daemon["metadata"]["ownerReferences"] = [owner]
    cluster = ks.Cluster().node("a", cpu=4).pod(daemon)
    assert not evicting(list(ks.hints(cluster, ks.pod("web", cpu=2))))


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_the_cluster_is_as_before(release: str) -> None:
    """Nodes, pods and their order, assumed pods, and what the next decision says."""
    cluster = ks.Cluster(release=release).node("a", cpu=4, taints=["x:NoSchedule"]).node("b", cpu=2, unschedulable=True)
    cluster = cluster.node("c", cpu=2).pod("p", node="c", cpu=1).pod("q", node="c", cpu="100m")
    scheduler = ks.Scheduler(cluster)
    scheduler.bind(scheduler.decide(ks.pod("r", cpu="100m")))
    search = scheduler.hint_search()
    columns = search.cache.columns

    def state() -> object:
        rows = columns.row_of.items()
        pods = {name: [pod.key for pod in columns.pods[row].values()] for name, row in rows}
        used = {name: columns.requested.view[:, row].tolist() for name, row in rows}
        return pods, used, {name: columns.nodes[row] for name, row in rows}, search.cache.tree.listed()

    before = state()
    pod = cluster.to_place(ks.pod("web", cpu="1500m")).pods[0]
    first, second = search.hints(pod), search.hints(pod)
    assert [hint.to_dict() for hint in first] == [hint.to_dict() for hint in second]
    assert state() == before


def test_the_smallest_hint_takes_few_decisions() -> None:
    """Where a change of the pod helps, nodes, running pods and pairs are not looked at."""
    cluster = ks.Cluster(release="1.36").node("a", cpu=2).pod("low", node="a", cpu=1)
    pod = ks.pod("web", cpu=2, priority=7)
    one, every = (ks.hints(cluster, pod, top=top) for top in (1, None))
    assert one[0].text == "ask for 1 cpu instead of 2"
    assert one.decisions < 5 < every.decisions


@pytest.mark.parametrize(
    ("free", "asks", "text"),
    [
        ({"cpu": "10m"}, {"cpu": 1}, "ask for 10m cpu instead of 1"),
        ({"cpu": "9m"}, {"cpu": 1}, None),
        ({"memory": "10Mi"}, {"memory": "1Gi"}, "ask for 10Mi memory instead of 1Gi"),
        ({"memory": "9Mi"}, {"memory": "1Gi"}, None),
        ({}, {"resources": {"example.com/gpu": 1}}, None),
    ],
)
def test_no_request_is_lowered_to_what_is_no_use(free: dict[str, Any], asks: dict[str, Any], text: str | None) -> None:
    """A container that asks for a millicore, or for no device instead of one, does nothing."""
    found = ks.hints(ks.Cluster(release="1.36").node("a", **free), ks.pod("web", **asks), pairs=False)
    assert [hint.text for hint in found if hint.changes[0].kind == "request"] == ([text] if text else [])


def test_quick_in_a_large_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long is left out, and it is said."""
    monkeypatch.setattr(hint_search, "LARGE", 1)
    cluster = ks.Cluster(release="1.36").node("a", cpu=2).node("b", cpu=2)
    cluster = cluster.pod("low", node="a", cpu=1).pod("low2", node="b", cpu=1)
    scheduler = ks.Scheduler(cluster)
    pod = cluster.to_place(ks.pod("web", cpu=2)).pods[0]
    whole, quick = (scheduler.hint_search().hints(pod, quick=quick) for quick in (False, True))
    assert whole.left_out == ""
    left = [hint for hint in whole if hint.changes[0].target != "running pods" and len(hint.changes) == 1]
    assert [hint.text for hint in quick] == [hint.text for hint in left if not hint.changes[0].preempts]
    assert quick.left_out == hint_search.LEFT_OUT


ENGINE = EngineSpec(release="1.36").engine(no_notice)


def asked(cluster: ks.Cluster, *pods: Pod) -> list[ShortHint | None]:
    return short_hints(ENGINE, cluster.objects, pods, at_once)


def of(cluster: ks.Cluster, manifest: dict[str, Any]) -> ShortHint | None:
    (found,) = asked(cluster, cluster.to_place(manifest).pods[0])
    return found


WORLD = ks.Cluster(release="1.36")
LONG = "x" * 60
CASES: dict[str, tuple[ks.Cluster, dict[str, Any], str, str]] = {
    "request": (WORLD.node("a", cpu=2), ks.pod("web", cpu=3), "request", "ask for 2 cpu instead of 3"),
    "toleration": (WORLD.node("a", taints=["gpu:NoSchedule"]), ks.pod("web"), "toleration", "tolerate gpu:NoSchedule"),
    "cordon": (WORLD.node("a", unschedulable=True), ks.pod("web"), "cordon", "uncordon a node"),
    "node": (WORLD.node("a", pods=1).pod("o", node="a"), ks.pod("web"), "size", "make a node larger"),
    "cut": (
        WORLD.node("a"),
        ks.pod("web", spec={"nodeSelector": {LONG: LONG}}),
        "nodeSelector",
        f"drop {LONG}={LONG} from the nodeSelector"[: LONGEST - 1] + "…",
    ),
    "gate": (
        WORLD.node("a"),
        ks.pod("web", spec={"schedulingGates": [{"name": "wait"}]}),
        "schedulingGate",
        "remove the scheduling gate wait",
    ),
}


@pytest.mark.parametrize(("cluster", "manifest", "kind", "text"), CASES.values(), ids=CASES)
def test_words(cluster: ks.Cluster, manifest: dict[str, Any], kind: str, text: str) -> None:
    """The pod's own change as it is, cut where it is long; of others the sort."""
    assert of(cluster, manifest) == ShortHint(kind, text)


def test_a_pod_that_fits_has_none() -> None:
    """The cluster may have changed since it was tried."""
    assert of(WORLD.node("a"), ks.pod("web")) is None


def test_no_name_of_a_node() -> None:
    """A hundred nodes, each of which would do with a change of its own, make one text."""
    cluster = WORLD
    for at in range(100):
        cluster = cluster.node(f"node-{at}", pods=1).pod(f"o{at}", node=f"node-{at}")
    pods = cluster.to_place([ks.pod("web"), ks.pod("web2")]).pods
    assert set(asked(cluster, *pods)) == {ShortHint("size", OTHERS["size"])}


def test_a_pause_before_each_decision() -> None:
    """What it raises ends the search."""

    class EndedError(Exception):
        pass

    def end() -> None:
        raise EndedError

    cluster = WORLD.node("a", cpu=1)
    pauses: list[int] = []
    (pod,) = cluster.to_place(ks.pod("web", cpu=2)).pods
    short_hints(ENGINE, cluster.objects, [pod], lambda: pauses.append(1))
    assert len(pauses) == ks.hints(cluster, ks.pod("web", cpu=2), top=1).decisions
    with pytest.raises(EndedError):
        short_hints(ENGINE, cluster.objects, [pod], end)


def test_plugins_of_others_are_not_asked() -> None:
    """Code of others decides on real pods alone."""
    cluster = WORLD.node("a", cpu=1)
    (pod,) = cluster.to_place(ks.pod("web", cpu=2)).pods

    class Own:
        name = "Own"

        def filter(self, state: object, pod: Pod, node_info: object) -> None:
            raise AssertionError("asked")

    profile = {"schedulerName": "default-scheduler", "plugins": {"filter": {"enabled": [{"name": "Own"}]}}}
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    component = {**document, "profiles": [profile]}
    spec = EngineSpec("1.36", component=component, plugins=(PluginOption("Own", lambda *_: Own()),))
    assert short_hints(spec.engine(no_notice), cluster.objects, [pod], at_once) == [None]
