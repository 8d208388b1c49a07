"""Sides of a scene compared, by which releases they can decide, and at which steps the pod goes elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kubescheduler as ks
from clusterstate.cache import ClusterCache
from clusterstate.errors import InputError
from clusterstate.objects import Pod
from kubescheduler import Cluster
from kubescheduler.engine.spec import EngineSpec, cache_for, no_notice
from kubescheduler.lab.scene.scene import ClusterCaches, Scene
from kubescheduler.lab.scene.scene_state import SceneFault
from kubescheduler.lab.scene.verbs import VERBS
from kubescheduler.releases.names import LAST_POLICIES, RELEASE_NAMES, place
from tests.support.laws import costly
from tests.support.releases_tried import RELEASES_TRIED
from tests.support.rich_worlds import DrawnCluster, incoming, told, worlds


def opened(*sides: EngineSpec) -> Scene:
    """Two nodes of different sizes, and three pods that wait."""
    cluster = ks.Cluster(release=sides[0].release).node("a", cpu=4, memory="8Gi").node("b", cpu=8, memory="8Gi")
    for name in ("web-1", "web-2", "web-3"):
        cluster = cluster.pod(name, cpu=1, memory="1Gi")
    return Scene.opened(cluster, sides=sides)


@pytest.mark.parametrize("mode", ["independent", "sequence"])
def test_what_is_said_is_what_compare_finds(mode: str) -> None:
    """Hosts and causes by side, the first one being the measure."""
    specs = (EngineSpec("1.16"), EngineSpec("1.16", provider="ClusterAutoscalerProvider"), EngineSpec("1.36"))
    scene = opened(*specs)
    answer = VERBS["sides"](scene, {"mode": mode})
    found = ks.compare(scene.state.cluster, old=specs[0], new=list(specs[1:]), mode=mode)
    assert [tuple(pod["hosts"].values()) for pod in answer["pods"]] == [
        tuple(outcome.host for outcome in pod.outcomes) for pod in found.pods
    ]
    assert [[(cause["name"], cause["text"]) for cause in pod["causes"]] for pod in answer["pods"]] == [
        [(str(change.cause), change.text) for change in pod.changes] for pod in found.pods
    ]
    assert list(answer["pods"][0]["hosts"]) == ["a", "b", "c"]


def test_hosts_are_those_of_the_sides_decisions() -> None:
    """Independent decisions are what Why shows."""
    scene = opened(EngineSpec("1.4"), EngineSpec("1.36"))
    answer = VERBS["sides"](scene, {"pods": "asked"})
    assert [pod["pod"] for pod in answer["pods"]] == [scene.state.asked]
    assert answer["pods"][0]["hosts"] == {letter: scene.decision(letter).host for letter in "ab"}


def test_one_side_has_nothing_to_be_compared_with() -> None:
    """It says what to do."""
    answer = VERBS["sides"](opened(EngineSpec("1.36")), {})
    assert (answer["pods"], answer["text"]) == ([], "There is one scheduler; add another side.")


def test_running_pods() -> None:
    """Each is taken out, as ``compare`` does it; a selector that picks none is said, and nothing is compared."""
    specs = (EngineSpec("1.16"), EngineSpec("1.36"))
    scene = opened(*specs)
    cluster = scene.state.cluster.bound("web-1", "a").bound("web-2", "a")
    scene = Scene.opened(cluster, sides=specs)
    answer = VERBS["sides"](scene, {"pods": "running"})
    found = ks.compare(cluster, old=specs[0], new=specs[1], running=True)
    assert [(pod["pod"], pod["runsOn"]) for pod in answer["pods"]] == [("default/web-1", "a"), ("default/web-2", "a")]
    assert [tuple(pod["hosts"].values()) for pod in answer["pods"]] == [
        tuple(outcome.host for outcome in pod.outcomes) for pod in found.pods
    ]
    assert answer["notes"] == ["each of the 2 running pods was taken out of the cluster and decided anew"]
    none = VERBS["sides"](scene, {"pods": "running", "of": "app=none"})
    assert (none["pods"], none["text"][:40]) == ([], "no running pod is picked by app=none; wr")


IMAGES = [{"names": ["web:1"], "sizeBytes": 90_000_000}]
START = (
    Cluster(release="1.36")
    .node("a", zone="z", labels={"disk": "ssd"}, status={"images": IMAGES})
    .node("b", status={"images": IMAGES})
    .node("c", taints=["k:PreferNoSchedule"])
    .pod("x", node="a", cpu=1)
    .pod("y", cpu=1, image="web:1")
)

KEPT, CHANGED, ANEW = "kept", "changed", "anew"
CHANGES: dict[str, tuple[Callable[[Cluster], Cluster], str]] = {
    "a-pod-that-waits": (lambda cluster: cluster.pod("z", cpu=2), KEPT),
    "no-pod-waits": (lambda cluster: cluster.without_pod("y").pod("y", cpu=1, image="web:1"), KEPT),
    "cordoned": (lambda cluster: cluster.cordoned("b"), CHANGED),
    "tainted": (lambda cluster: cluster.with_taint("a", "k:NoSchedule"), CHANGED),
    "labelled": (lambda cluster: cluster.with_label("b", "disk", "hdd"), CHANGED),
    "resized": (lambda cluster: cluster.resized("a", cpu=1), CHANGED),
    "moved-to-another-zone": (
        lambda cluster: cluster.with_label("a", "failure-domain.beta.kubernetes.io/zone", "y"),
        CHANGED,
    ),
    "bound": (lambda cluster: cluster.bound("y", "b").pod("y-2", cpu=1, image="web:1"), CHANGED),
    "a-node-more": (lambda cluster: cluster.node("d"), CHANGED),
    "a-node-gone": (lambda cluster: cluster.without_node("a"), CHANGED),
    "a-service-more": (
        lambda cluster: cluster.add({"kind": "Service", "apiVersion": "v1", "metadata": {"name": "web"}}),
        ANEW,
    ),
    "all-different": (lambda cluster: Cluster(*cluster.manifests(), release=cluster.release), CHANGED),
}


@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.parametrize("change", CHANGES)
def test_a_cache_is_filled_anew_only_where_more_than_nodes_and_their_pods_differ(change: str, release: str) -> None:
    """And what is decided in it, forth and back, is what a new scene decides."""
    make, expected = CHANGES[change]
    start = START.for_release(release)
    engine, caches, now = EngineSpec(release).engine(no_notice), ClusterCaches(), make(start)
    first = caches.filled(engine, start)
    found = caches.filled(engine, now)
    assert (ANEW if found is not first else CHANGED if found.turn else KEPT) == expected
    scene = Scene.opened(start, sides=[EngineSpec(release)])
    pod = now.pending()[-1].key
    before = VERBS["decision"](scene, {"all": True})
    for state, asked in ((now, pod), (start, start.pending()[-1].key)):
        scene.change("changed", Scene.opened(state, sides=scene.state.sides).state)
        answer = VERBS["decision"](scene, {"all": True, "pod": asked})
        assert answer == VERBS["decision"](
            Scene.opened(state, sides=[EngineSpec(release)]), {"all": True, "pod": asked}
        )
        assert VERBS["why"](scene, {"node": "b", "pod": asked})["node"] == "b"
    assert answer == before


def states(world: DrawnCluster, drawn: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[Cluster]:
    """Clusters of a world's objects: of each the nodes that are there, and for each pod its node by number, one past
    the last for a pod that waits. What two of them have in common are the same objects, as in a scene."""
    placed = {
        (pod.key, at): msgspec.structs.replace(pod, node_name="" if at == len(world.nodes) else world.nodes[at].name)
        for pod in world.pods
        for at in range(len(world.nodes) + 1)
    }
    out = []
    for there, places in drawn:
        nodes = [world.nodes[at] for at in sorted(set(there))]
        names = {"", *(node.name for node in nodes)}
        pods = [placed[pod.key, at] for pod, at in zip(world.pods, places, strict=True)]
        kept = [pod if pod.node_name in names else placed[pod.key, len(world.nodes)] for pod in pods]
        out.append(Cluster(*world.others, *nodes, *kept, release="1.36"))
    return out


@st.composite
def histories(draw: st.DrawFn) -> list[Cluster]:
    """A world whose nodes come and go, and whose pods move."""
    world = draw(worlds(most_pods=8))
    numbers = st.lists(st.integers(0, len(world.nodes) - 1), min_size=1)
    places = st.lists(st.integers(0, len(world.nodes)), min_size=len(world.pods), max_size=len(world.pods))
    return states(world, draw(st.lists(st.tuples(numbers, places), min_size=2, max_size=4)))


@pytest.mark.parametrize("release", ["1.20", "1.36"])
@costly
@given(history=histories(), pod=incoming)
def test_a_changed_cache_is_as_one_that_is_filled_anew(release: str, history: list[Cluster], pod: Pod) -> None:
    """Whatever nodes and pods came and went, each pod that waits is decided alike, preemption included, and nodes are
    visited in the same order."""
    engine, caches = EngineSpec(release).engine(no_notice), ClusterCaches()
    first = caches.filled(engine, history[0])
    for cluster in (*history, *history[-2::-1]):
        found = caches.filled(engine, cluster)
        assert found is first
        fresh = cache_for(engine, cluster.objects)
        assert found.cache.tree.listed() == fresh.tree.listed()
        for waiting in (pod, *cluster.pending()):
            decisions = [engine.scheduler(cache).decide(waiting, preempt=True) for cache in (found.cache, fresh)]
            assert told(decisions[0]) == told(decisions[1])
            assert decisions[0].nominated == decisions[1].nominated
            assert decisions[0].message == decisions[1].message


def test_a_cache_that_was_changed_by_half_is_not_kept() -> None:
    """After an error on the way the cluster is filled anew."""
    caches, engine = ClusterCaches(), EngineSpec("1.36").engine(no_notice)
    first = caches.filled(engine, START)
    later = START.bound("y", "b").cordoned("a")
    with patch.object(ClusterCache, "add_pod", side_effect=MemoryError), pytest.raises(MemoryError):
        caches.filled(engine, later)
    found = caches.filled(engine, later)
    assert found is not first
    assert sorted(pod.metadata.name for pod in found.cache.pods()) == ["x", "y"]


PREFERENCE = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]}
PREFERS = {
    "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": PREFERENCE}]}
}
POLICY = {"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "LeastRequestedPriority", "weight": 1}]}


def with_releases(release: str = "1.22", **how: Any) -> Scene:
    """A pod that goes to the emptier node while its soft taint weighs 1, and to the other since it weighs 3."""
    cluster = (
        ks.Cluster(release=release)
        .node("n1", cpu=4, memory="8Gi", taints=["a=b:PreferNoSchedule"])
        .node("n2", cpu=4, memory="8Gi")
        .pod("full", node="n2", cpu="3800m", memory="7600Mi")
        .pod("web", cpu="100m", memory="100Mi", spec={"affinity": PREFERS})
        .pod("other", cpu="100m", memory="100Mi")
    )
    return Scene.opened(cluster, sides=[EngineSpec(release, **how)])


def step(scene: Scene, before: str, release: str) -> dict[str, Any]:
    return VERBS["releaseStep"](scene, {"before": before, "release": release})


def test_every_release_reads_the_defaults() -> None:
    """All that there are, oldest first."""
    answer = VERBS["releases"](with_releases(), {})
    assert [(each["release"], each["problem"]) for each in answer["releases"]] == [(name, "") for name in RELEASE_NAMES]


def test_who_does_not_read_a_policy() -> None:
    """A release that cannot says why."""
    answer = VERBS["releases"](with_releases("1.16", policy=POLICY), {})
    problems = {each["release"]: each["problem"] for each in answer["releases"]}
    assert [name for name, why in problems.items() if not why] == list(RELEASE_NAMES[: place(LAST_POLICIES) + 1])
    assert "policy" in problems["1.36"].lower()


def test_the_step_at_which_a_pod_moves() -> None:
    """Where it goes before and after, and by which change; at another step it stays."""
    scene = with_releases()
    found = step(scene, "1.22", "1.23")
    assert (found["pod"], found["hosts"]) == ("default/web", ["n1", "n2"])
    assert [change["name"] for change in found["changes"]] == ["taint-toleration-weighs-3"]
    assert found["changes"][0]["text"].startswith("TaintToleration weighs 3")
    assert found["text"].startswith("changed-weight: ")
    assert (step(scene, "1.23", "1.24")["hosts"], step(scene, "1.23", "1.24")["changes"]) == (["n2", "n2"], [])
    assert scene.decision("a").host == "n1"
    assert step(scene, "1.21", "1.24")["changes"] == found["changes"]


def test_answers_are_kept_while_the_release_changes() -> None:
    """They are of the description, the pod and the cluster: with another of these all is asked anew."""
    scene = with_releases()
    of, found = VERBS["releases"](scene, {})["of"], step(scene, "1.22", "1.23")
    VERBS["edit"](scene, {"edit": {"do": "release", "side": "a", "release": "1.30"}})
    assert VERBS["releases"](scene, {})["of"] == of
    assert step(scene, "1.22", "1.23") is found
    VERBS["edit"](scene, {"edit": {"do": "ask", "pod": "default/other"}})
    assert VERBS["releases"](scene, {})["of"] != of
    assert step(scene, "1.22", "1.23")["pod"] == "default/other"
    VERBS["edit"](scene, {"edit": {"do": "ask", "pod": "default/web"}})
    scene.touched()
    assert step(scene, "1.22", "1.23") is not found


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"before": "1.23", "release": "1.22"}, "1.22 is not later than 1.23"),
        ({"before": "1.22", "release": "1.99"}, "release 1.99 is not known"),
        ({"release": "1.22"}, "before"),
        ({"before": "1.22", "release": "1.23", "side": "c"}, "side"),
    ],
    ids=["order", "release", "parameters", "side"],
)
def test_what_cannot_be_answered(asked: dict[str, str], message: str) -> None:
    """It is said."""
    with pytest.raises(InputError, match=message):
        VERBS["releaseStep"](with_releases(), asked)


def test_a_release_that_cannot_read() -> None:
    """There is no step to it, and nothing of it is kept."""
    scene = with_releases(policy=POLICY)
    with pytest.raises(InputError):
        step(scene, "1.22", "1.23")
    assert step(scene, "1.21", "1.22")["hosts"]
    with pytest.raises(SceneFault, match="pod"):
        step(Scene.opened(ks.Cluster(release="1.22").node("a")), "1.21", "1.22")


def test_a_pod_of_another_scheduler_is_not_tried() -> None:
    """Nobody looked at the nodes for it, so that it does not fit nowhere; 1.4 knows of no other schedulers."""
    cluster = ks.Cluster(release="1.36").node("a").pod("web", scheduler_name="other")
    scene = Scene.opened(cluster, sides=[EngineSpec("1.36"), EngineSpec("1.4")])
    [pod] = VERBS["sides"](scene, {})["pods"]
    assert {letter: (outcome["tried"], outcome["host"]) for letter, outcome in pod["outcomes"].items()} == {
        "a": (False, None),
        "b": (True, "a"),
    }
