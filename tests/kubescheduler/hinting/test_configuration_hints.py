"""Hints that change what decides: checks that are switched off, weights."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kubescheduler as ks
from clusterstate.manifests.annotations_1_4 import AFFINITY_ANNOTATION
from kubescheduler.hinting.hint_search import winning_weight
from kubescheduler.hinting.proposals import PodHints, manifests_of
from tests.support.releases_tried import RELEASES_TRIED

SMALL = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 50), st.booleans()), min_size=1, max_size=5)


@given(nodes=SMALL, weight=st.integers(1, 30))
def test_the_nearest_weight_that_wins(nodes: list[tuple[int, int, bool]], weight: int) -> None:
    """Against trying every weight to 300, beyond which nothing changes with such scores."""
    scores, rest = np.array([n[0] for n in nodes]), np.array([n[1] for n in nodes])
    ahead = np.array([int(n[2]) for n in nodes])

    def wins(candidate: int) -> bool:
        totals = candidate * scores + rest
        return all(totals[0] - totals[at] >= ahead[at] for at in range(1, len(nodes)))

    found = winning_weight(scores, rest, ahead, 0, weight)
    winning = [candidate for candidate in range(1, 301) if wins(candidate)]
    assert (found is None) == (not winning)
    if found is not None:
        assert wins(found)
        assert abs(found - weight) == min(abs(candidate - weight) for candidate in winning)


POLICY: dict[str, Any] = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [{"name": "PodFitsResources"}],
    "priorities": [{"name": "LeastRequestedPriority", "weight": 1}, {"name": "MostRequestedPriority", "weight": 1}],
}


def test_a_weight_is_exact() -> None:
    """By a Policy with the weight of the hint the pod goes to the node, with one less it does not."""
    cluster = ks.Cluster().node("a", cpu=10, memory="10Gi").node("b", cpu=10, memory="10Gi")
    cluster = cluster.pod("on-b", node="b", cpu=6, memory="6Gi")
    policy = {**POLICY, "priorities": [{**POLICY["priorities"][0], "weight": 3}, POLICY["priorities"][1]]}
    pod = ks.pod("web", cpu=1, memory="1Gi")
    hint = next(h for h in ks.hints(cluster, pod, "b", policy=policy) if h.changes[0].name == "MostRequestedPriority")
    weight = int(hint.text.split()[2])

    def host(weight: int) -> str | None:
        weighed = [policy["priorities"][0], {"name": "MostRequestedPriority", "weight": weight}]
        return ks.Scheduler(cluster, policy={**policy, "priorities": weighed}).decide(pod).host

    assert (host(weight), host(weight - 1)) == ("b", "a")


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_a_plugin_is_weighed_otherwise(release: str) -> None:
    """By a configuration with the weight of the hint the pod goes to the node."""
    preferred = [{"weight": 1, "preference": {"matchExpressions": [{"key": "d", "operator": "Exists"}]}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    cluster = ks.Cluster(release=release).node("a", cpu=8).node("b", cpu=4, labels={"d": "x"})
    for at in range(3):
        cluster = cluster.pod(f"p{at}", node="b", cpu=1, memory="2Gi")
    pod = ks.pod("web", cpu="500m", memory="100Mi", spec={"affinity": affinity})
    found = ks.hints(cluster, pod, "a" if ks.Scheduler(cluster).decide(pod).host == "b" else "b", top=None)
    assert "weight" in {change.kind for hint in found for change in hint.changes}


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_check_that_is_switched_off(release: str) -> None:
    """The text names it; mandatory predicates are not among them."""
    cluster = ks.Cluster(release=release).node("a", cpu=1)
    texts = [hint.text for hint in ks.hints(cluster, ks.pod("web", cpu=2))]
    name = {"1.4": "predicate GeneralPredicates", "1.16": "predicate GeneralPredicates"}
    assert any(name.get(release, "Filter plugin NodeResourcesFit") in text for text in texts)


def test_mandatory_predicates_stay() -> None:
    """A Policy cannot leave them out."""
    cluster = ks.Cluster().node("a", taints=["x:NoSchedule"])
    with_taints = {**POLICY, "predicates": [{"name": "PodFitsResources"}, {"name": "PodToleratesNodeTaints"}]}
    gates = {"TaintNodesByCondition": True}
    found = ks.hints(cluster, ks.pod("web"), policy=with_taints, gates=gates, top=None)
    assert "leave out the predicate PodToleratesNodeTaints" not in [hint.text for hint in found]


def written(cluster: ks.Cluster, found: PodHints, text: str) -> list[dict[str, Any]]:
    """What the hint with these words writes."""
    hint = next(hint for hint in found if hint.text == text)
    return manifests_of(hint, found.pod, {node.name: node for node in cluster.nodes})


def test_what_scheduling_does_not_read_stays() -> None:
    """Only the request differs from the manifest that was given."""
    container: dict[str, Any] = {"name": "c", "image": "i", "env": [{"name": "A", "value": "b"}], "command": ["x"]}
    container |= {"resources": {"requests": {"cpu": "3", "memory": "1Gi"}, "limits": {"cpu": "4"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [container]}}
    cluster = ks.Cluster().node("a", cpu=2)
    (out,) = written(cluster, ks.hints(cluster, pod), "ask for 2 cpu instead of 3")
    (after,) = out["spec"]["containers"]
    assert after == {**container, "resources": {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "4"}}}
    assert "uid" not in out["metadata"]


def test_a_request_that_must_be_the_limit_takes_the_limit_along() -> None:
    """An API server takes no extended resource whose request is below its limit."""
    gpus = {"requests": {"cpu": "1", "example.com/gpu": "2"}, "limits": {"cpu": "2", "example.com/gpu": "2"}}
    cluster = ks.Cluster().node("a", resources={"example.com/gpu": 1})
    found = ks.hints(cluster, ks.pod("web", spec={"containers": [{"name": "c", "resources": gpus}]}))
    (out,) = written(cluster, found, "ask for 1 example.com/gpu instead of 2")
    both = {"requests": {"cpu": "1", "example.com/gpu": "1"}, "limits": {"cpu": "2", "example.com/gpu": "1"}}
    assert out["spec"]["containers"][0]["resources"] == both
    assert ks.Scheduler(cluster).decide(out).host == "a"


def test_a_host_port_goes_and_its_container_port_stays() -> None:
    """The other port is as it was."""
    ports = [{"containerPort": 80, "hostPort": 80, "name": "web"}, {"containerPort": 81}]
    spec = {"containers": [{"name": "c", "ports": ports}]}
    cluster = ks.Cluster().node("a").pod("there", node="a", spec=spec)
    found = ks.hints(cluster, ks.pod("web", spec=spec))
    (out,) = written(cluster, found, "drop the host port 80/TCP of container c")
    assert [port.get("hostPort") for port in out["spec"]["containers"][0]["ports"]] == [None, None]
    assert out["spec"]["containers"][0]["ports"][0]["name"] == "web"


def test_a_priority_takes_the_place_of_the_class() -> None:
    """A class of another value beside it would be refused."""
    low = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "low"}, "value": 1}
    cluster = ks.Cluster(low).node("a", cpu=1).pod("there", node="a", cpu=1, priority=5)
    found = ks.hints(cluster, ks.pod("web", cpu=1, priority_class="low"))
    (out,) = written(cluster, found, "give it priority 6 instead of 1")
    assert (out["spec"]["priority"], "priorityClassName" in out["spec"]) == (6, False)


def test_the_annotations_of_1_4_go_with_what_they_say() -> None:
    """The affinity of the annotation is dropped, and the pod then fits."""
    terms = [{"matchExpressions": [{"key": "d", "operator": "Exists"}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    cluster = ks.Cluster(release="1.4").node("a")
    found = ks.hints(cluster, ks.pod("web", annotations={AFFINITY_ANNOTATION: json.dumps(affinity)}))
    (out,) = written(cluster, found, "drop the required node affinity")
    assert AFFINITY_ANNOTATION not in out["metadata"].get("annotations", {})
    assert ks.Scheduler(cluster).decide(out).host == "a"


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_node_without_its_taint(release: str) -> None:
    """Its other fields are as they were, in 1.4 the annotation goes."""
    cluster = ks.Cluster(release=release).node("a", taints=["x:NoSchedule"], labels={"l": "m"})
    (out,) = written(cluster, ks.hints(cluster, ks.pod("web")), "remove the taint x:NoSchedule from a")
    assert out["metadata"]["labels"]["l"] == "m"
    assert ks.Scheduler(ks.Cluster(out, release=release)).decide(ks.pod("web")).host == "a"


def test_an_eviction_has_no_manifest() -> None:
    """That is said."""
    cluster = ks.Cluster().node("a", cpu=1).pod("there", node="a", cpu=1)
    with pytest.raises(ks.errors.InputError, match="evict default/there from a: this changes no manifest"):
        written(cluster, ks.hints(cluster, ks.pod("web", cpu=1)), "evict default/there from a")
