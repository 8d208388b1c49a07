"""Clusters: written, read, changed into others."""

from __future__ import annotations

import copy
import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.errors import ConfigError, DecodeError
from clusterstate.objects import Service
from docs.generate.blocks import ROOT
from kubescheduler import Cluster, Scheduler, capacity, compare, node, pod, simulate
from kubescheduler.releases.names import RELEASE_NAMES
from tests.support.releases_tried import RELEASES_TRIED

SERVICE = {"kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}}}
EXAMPLE = ROOT / "policy_examples" / "cluster.yaml"


def small(release: str = "1.16") -> Cluster:
    """Two nodes, one of which runs a pod, and a pending one."""
    return (
        Cluster(release=release)
        .node("a", cpu=4, labels={"disk": "ssd"}, taints=["dedicated=db:NoSchedule"], zone="eu-1")
        .node("b", cpu=2)
        .pod("web-1", node="a", cpu="500m")
        .pod("web-2", cpu=1)
    )


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_amounts_are_what_kubernetes_writes(release: str) -> None:
    """Whole numbers, fractions and suffixes are read as in a manifest; pods is 110 by default."""
    made = Cluster(release=release).node("a", cpu=0.5, memory="8Gi", resources={"example.com/gpu": 2}).nodes[0]
    wanted = {"cpu": 500, "memory": 8 * 2**30 * 1000, "pods": 110_000, "example.com/gpu": 2000}
    assert dict(made.allocatable) == wanted


def test_pods_have_namespace_uid_and_admission() -> None:
    """A pod is filled in as an API server does it."""
    made = small().pods[0]
    assert made.key == "default/web-1"
    assert made.metadata.uid
    assert made.priority == 0
    assert [toleration.key for toleration in made.spec.tolerations] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]


@pytest.mark.parametrize(
    "thing",
    [
        pytest.param(SERVICE, id="manifest"),
        pytest.param(json.dumps(SERVICE), id="json"),
        pytest.param("kind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}}\n", id="yaml"),
        pytest.param(json.dumps(SERVICE).encode(), id="bytes"),
        pytest.param(io.StringIO(json.dumps(SERVICE)), id="stream"),
        pytest.param({"kind": "List", "items": [SERVICE]}, id="list"),
        pytest.param([[SERVICE]], id="nested"),
        pytest.param(Cluster(SERVICE).objects, id="objects"),
    ],
)
def test_the_same_from_whatever_is_at_hand(thing: Any) -> None:
    """Manifests, texts, streams, lists and objects all become the same object."""
    [found] = Cluster(thing).objects
    assert isinstance(found, Service)
    assert (found.metadata.namespace, found.metadata.name) == ("default", "web")


def test_read_takes_files_and_streams(tmp_path: Path) -> None:
    """Several files, a stream and ``-`` are read together."""
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(pod("x", node="a")))
    stream = io.BytesIO(json.dumps(SERVICE).encode())
    found = Cluster.read(file, "-", stream, stdin=io.BytesIO(json.dumps(node("a")).encode()))
    assert repr(found) == "<Cluster of release 1.16: 1 node, 1 pod, 1 Service>"


FAULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "amount": (lambda: Cluster().node("a", cpu="4x"), 'Node a: status.allocatable.cpu: quantity "4x" is not'),
    "twice": (lambda: small().node("a"), "Node a: metadata.name: already in the cluster"),
    "lost": (lambda: small().pod("x", node="c"), 'Pod default/x: spec.nodeName: node "c" is not in the cluster'),
    "class": (lambda: small().pod("x", priority_class="high"), 'there is no PriorityClass "high"'),
    "kind": (lambda: Cluster({"metadata": {"name": "x"}}), "kind: missing"),
    "nothing": (lambda: Cluster().add([]), "nothing to add"),
    "taint": (lambda: Cluster().node("a", taints=["x"]), "taint 'x': write key=value:EFFECT"),
    "toleration": (lambda: Cluster().pod("a", tolerations=["x:No"]), "toleration 'x:No': write key=value:EFFECT"),
    "no node": (lambda: small().without_node("c"), "there is no node c in the cluster"),
    "no pod": (lambda: small().without_pod("web-3"), "there is no pod web-3 in the cluster; did you mean"),
    "no taint": (lambda: small().without_taint("b", "x"), "Node b: there is no taint x; it has none"),
    "not pending": (lambda: small().pods_from("web-1"), 'it runs on a; decide it in cluster.unbound("web-1")'),
    "neither": (lambda: small().pods_from("web-3"), "pods: web-3: neither a pod of the cluster nor a file"),
    "no pods": (
        lambda: small().pods_from(SERVICE),
        "pods: no pods in it (found: 1 Service); give a manifest of kind Pod",
    ),
}


@pytest.mark.parametrize(("act", "text"), FAULTS.values(), ids=FAULTS)
def test_wrong_input_says_what_to_do(act: Callable[[], Any], text: str) -> None:
    """A fault names the object and the path, and what to write instead."""
    with pytest.raises(DecodeError) as caught:
        act()
    assert text in str(caught.value)


def test_all_faults_come_at_once() -> None:
    """Everything that is wrong is reported, not just the first thing."""
    with pytest.raises(DecodeError) as caught:
        Cluster(node("a", cpu="4x"), node("b", memory="much"), "missing.yaml", 5)
    assert len(caught.value.problems) == 4


def test_an_unknown_release_is_refused() -> None:
    """A release that is none is told with the nearest."""
    with pytest.raises(ConfigError, match=rf"1\.99 is not known.*newer than all.*nearest to {RELEASE_NAMES[-1]}"):
        Cluster(release="1.99")


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.node("c"),
        lambda c: c.pod("web-3"),
        lambda c: c.add(SERVICE),
        lambda c: c.without_node("a"),
        lambda c: c.without_pod("web-1"),
        lambda c: c.drained("a"),
        lambda c: c.cordoned("b"),
        lambda c: c.with_taint("b", "x:NoSchedule"),
        lambda c: c.without_taint("a", "dedicated"),
        lambda c: c.with_label("b", "disk", "hdd"),
        lambda c: c.resized("b", cpu=8),
        lambda c: c.cloned("a", 2),
        lambda c: c.unbound("web-1"),
        lambda c: c.bound("web-2", "b"),
        lambda c: c.scaled("web-1", 3),
        lambda c: c.for_release("1.36"),
    ],
)
def test_every_change_leaves_the_original_alone(change: Callable[[Cluster], Cluster]) -> None:
    """A method gives another cluster; the one it was called on has the same objects as before."""
    original = small()
    before, release = original.objects, original.release
    other = change(original)
    assert original.objects == before
    assert original.release == release
    assert (other.objects, other.release) != (before, release)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=12))
def test_clusters_that_grow_apart_share_nothing_visible(steps: list[tuple[int, int]]) -> None:
    """Whatever is added to whichever of the clusters there are, each has what its own history says."""
    grown: list[tuple[Cluster, list[str]]] = [(Cluster(), [])]
    for at, number in steps:
        cluster, names = grown[at % len(grown)]
        name = f"n{number}"
        if name in names:
            grown.append((cluster.without_node(name), [each for each in names if each != name]))
        else:
            grown.append((cluster.node(name), [*names, name]))
    assert [[node.name for node in cluster.nodes] for cluster, _ in grown] == [names for _, names in grown]


def test_a_vanished_node_leaves_its_pods_waiting() -> None:
    """Pods of a node that goes are pending, but those of a DaemonSet, and those that have finished, go with it."""
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "log", "uid": "1", "controller": True}
    log = pod("log", node="a")
    log["metadata"]["ownerReferences"] = [owner]
    done = {**pod("done", node="a"), "status": {"phase": "Succeeded"}}
    found = small().add(log, done)
    assert [each.key for each in found.without_node("a").pods] == ["default/web-1", "default/web-2"]
    assert [each.node_name for each in found.drained("a").pods] == ["", "", "a", "a"]


def test_taints_and_labels_are_replaced_by_key() -> None:
    """A taint with the same key and effect, and a label of the same key, take the place of the old one."""
    found = small().with_taint("a", "dedicated=web:NoSchedule").with_label("a", {"disk": None, "rack": "r1"})
    [taint] = found.nodes[0].taints
    assert taint.value == "web"
    assert found.nodes[0].metadata.labels.get("rack") == "r1"
    assert "disk" not in found.nodes[0].metadata.labels


def test_scaled_by_controller() -> None:
    """A controller's name scales its pods: pending ones go first, copies are pending."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}
    pods = [pod("web-a", node="a"), pod("web-b"), pod("web-c", node="a")]
    for each in pods:
        each["metadata"]["ownerReferences"] = [owner]
    found = Cluster(node("a"), *pods)
    assert [each.metadata.name for each in found.scaled("web", 2).pods] == ["web-a", "web-c"]
    more = found.scaled("web", 5)
    assert [each.metadata.name for each in more.pending()] == ["web-b", "web-a-1", "web-a-2"]
    assert len({each.metadata.uid for each in more.pods}) == 5


def test_another_release_fills_in_anew() -> None:
    """Read again for 1.4, pods have no tolerations added; and back they have them again."""
    old = small().for_release("1.4")
    assert old.release == "1.4"
    assert not old.pods[0].spec.tolerations
    assert old.for_release("1.16").objects == small().objects


def test_without_manifests_there_is_no_other_release() -> None:
    """A cluster that kept no manifests says how to get the other one."""
    found = Cluster.read(EXAMPLE, keep_manifests=False)
    with pytest.raises(ConfigError, match=r'read it again: Cluster.read\(…, release="1.36"\)'):
        found.for_release("1.36")


def test_manifests_read_back_as_the_same_cluster() -> None:
    """What a cluster writes out is what it was read from."""
    found = Cluster.read(EXAMPLE)
    assert Cluster(found.manifests()).objects == found.objects


def test_thousands_are_added_in_no_time() -> None:
    """Adding to the newest cluster copies nothing: each keeps its own length."""
    clusters = [Cluster()]
    for number in range(300):
        clusters.append(clusters[-1].node(f"n{number}"))
    assert [len(cluster) for cluster in clusters] == list(range(301))


WARNED = "text: Pod a: spec.toleration: unknown field; did you mean tolerations?"
MISSPELT = '{"metadata": {"name": "a"}, "spec": {"toleration": []}}'


def test_warnings_about_pods() -> None:
    """They are warnings of Python's, or go where the caller wants them."""
    lenient = Cluster(validate="warn").node("n")
    with pytest.warns(UserWarning, match="spec.toleration: unknown field") as caught:
        lenient.pods_from(MISSPELT)
    assert [str(each.message) for each in caught] == [WARNED]
    assert caught[0].filename == __file__
    notes: list[str] = []
    pods = Cluster().pods_from([MISSPELT], validate="warn", notice=notes.append)
    assert ([pod.key for pod in pods], notes) == (["default/a"], [WARNED])
    Cluster().pods_from(MISSPELT, validate="ignore", notice=notes.append)
    assert notes == [WARNED]
    with pytest.raises(DecodeError, match="unknown field"):
        lenient.pods_from(MISSPELT, validate="strict")


def test_warnings_about_pods_that_are_asked_about() -> None:
    """A scheduler keeps them, each once, and a comparison has them."""
    lenient = Cluster(validate="warn").node("n")
    scheduler = Scheduler(lenient)
    for _ in range(2):
        scheduler.decide(MISSPELT)
    assert scheduler.notes == (WARNED,)
    assert compare(lenient, MISSPELT, new="release=1.36").notes == (WARNED,)
    with pytest.warns(UserWarning, match="spec.toleration: unknown field"):
        simulate(lenient, MISSPELT)
    with pytest.warns(UserWarning, match="spec.toleration: unknown field"):
        capacity(lenient, MISSPELT, limit=1)


CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
START = Cluster(CLASS, release="1.36").node("a").node("b").pod("x", node="a", cpu=1).pod("y", priority_class="high")

CHANGES: dict[str, Callable[[Cluster], Cluster]] = {
    "nothing": lambda cluster: cluster,
    "a-node-edited": lambda cluster: cluster.cordoned("a"),
    "a-node-gone": lambda cluster: cluster.without_node("a"),
    "a-pod-added": lambda cluster: cluster.pod("z", priority_class="high"),
    "a-pod-bound": lambda cluster: cluster.bound("y", "b"),
    "another-class": lambda cluster: cluster.add({**CLASS, "value": 9}).pod("z", priority_class="high"),
}


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20"])
@pytest.mark.parametrize("change", CHANGES)
def test_it_is_as_if_everything_were_read(change: str, release: str) -> None:
    """Objects, their order, priorities and notes."""
    now = CHANGES[change](START)
    fresh, found = now.for_release(release), now.for_release(release, like=(START, START.for_release(release)))
    assert found.objects == fresh.objects
    assert found.manifests() == fresh.manifests()
    assert found.notes == fresh.notes
    assert (
        found.pod("w", priority_class="high").pods[-1].priority
        == fresh.pod("w", priority_class="high").pods[-1].priority
    )


def test_what_is_the_same_is_not_read_again() -> None:
    """It is the very object."""
    before = START.for_release("1.16")
    found = START.cordoned("a").for_release("1.16", like=(START, before))
    assert found.nodes[1] is before.nodes[1]
    assert found.nodes[0] is not before.nodes[0]


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_each_copies_as_itself_or_says_what_to_keep(release: str) -> None:
    """What never changes is its own copy; a scheduler is made anew, and nothing of the three is pickled."""
    cluster = Cluster(release=release).node("a", cpu=2)
    scheduler = Scheduler(cluster)
    decision = scheduler.decide({"metadata": {"name": "web"}, "spec": {}})
    for fixed in (cluster, decision):
        assert copy.deepcopy(fixed) is copy.copy(fixed) is fixed
    with pytest.raises(TypeError, match=r"make another one of scheduler\.cluster"):
        copy.deepcopy(scheduler)
    for kept, instead in ((cluster, "cluster.manifests"), (scheduler, "scheduler.cluster"), (decision, "to_dict")):
        with pytest.raises(TypeError, match=f"cannot be pickled or copied: .*{instead}"):
            pickle.dumps(kept)
    again = Cluster(pickle.loads(pickle.dumps(cluster.manifests())), release=release)
    assert Scheduler(again).decide({"metadata": {"name": "web"}, "spec": {}}).host == decision.host
