"""What disruption budgets allow, and which evictions are refused."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import pytest

import kubescheduler as ks
from clusterstate.objects import Pod
from kubescheduler.planning.departures import SEVERAL, VIOLATES, Budgets, EvictionRefusal
from tests.support.apiserver.real_server import AT_ONCE, RealServer
from tests.support.apiserver.storage import StatusError
from tests.support.evictions import CASES, NEVER, NOT_NOW, OK, Case, objects_of

BUDGETS = "/apis/policy/v1/namespaces/{}/poddisruptionbudgets"
PODS = "/api/v1/namespaces/{}/pods"


def _counted(case: Case) -> tuple[Budgets, dict[str, Pod]]:
    others, manifests = objects_of(case)
    cluster = ks.Cluster(release="1.36", validate="ignore").node("a").add([*others, *manifests])
    pods = {pod.metadata.name: pod for pod in cluster.pods}
    for at, letter in enumerate(case.pods):
        if letter == "D":
            pod = pods[f"web-{at}"]
            metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
            pods[f"web-{at}"] = msgspec.structs.replace(pod, metadata=metadata)
    return Budgets(cluster.cache().objects, pods.values()), pods


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_rule(case: Case) -> None:
    """The number of the status, and every answer."""
    budgets, pods = _counted(case)
    assert budgets.health("default/budget-0").allowed == case.allowed
    refusals = [budgets.evict(pods[f"web-{at}"]) for at in case.evict]
    assert tuple(OK if refusal is None else refusal.code for refusal in refusals) == case.answers


def test_words() -> None:
    """A refusal has upstream's words and names its budgets."""
    by_rule = {case.rule: case for case in CASES}
    budgets, pods = _counted(by_rule["minAvailable equal to the pods allows none"])
    assert budgets.refusal(pods["web-0"]) == EvictionRefusal(
        NOT_NOW,
        VIOLATES,
        "The disruption budget budget-0 needs 3 healthy pods and has 3 currently",
        ("default/budget-0",),
    )
    budgets, pods = _counted(by_rule["several budgets on a pod"])
    assert budgets.refusal(pods["web-0"]) == EvictionRefusal(
        NEVER, SEVERAL, "", ("default/budget-0", "default/budget-1")
    )


@pytest.mark.parametrize(
    ("rule", "note"),
    [
        ("a pod without status that is on a node counts as ready here", "3 pods under budgets that have no condition"),
        (
            "where the controller is not in the cluster, its pods are counted",
            "budget default/budget-0: ReplicaSet/web is not in the cluster",
        ),
    ],
)
def test_what_is_assumed_is_noted(rule: str, note: str) -> None:
    """What upstream would know and the manifests do not say."""
    budgets, _ = _counted(next(case for case in CASES if case.rule == rule))
    assert any(text.startswith(note) for text in budgets.notes), budgets.notes


def test_a_status_that_says_something_else_is_noted() -> None:
    """What is counted decides."""
    manifest = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 7},
    }
    cluster = ks.Cluster(release="1.36").node("a").add(manifest)
    budgets = Budgets(cluster.cache().objects, ())
    assert budgets.notes == ["budget default/web: its status allows 7, counted anew it allows 0"]


def test_pods_that_come_and_go_are_counted() -> None:
    """A budget opens again when a pod is ready elsewhere."""
    case = next(case for case in CASES if case.rule == "what is left is taken one by one (checkAndDecrement)")
    budgets, pods = _counted(case)
    assert budgets.evict(pods["web-0"]) is None
    budgets.went(pods["web-0"])
    assert budgets.health("default/budget-0").allowed == 0
    budgets.came(pods["web-0"])
    assert budgets.refusal(pods["web-1"]) is None
    assert budgets.below() == {}
    budgets.went(pods["web-0"])
    budgets.went(pods["web-1"])
    assert list(budgets.below()) == ["default/budget-0"]


def test_a_real_api_server_answers_the_same(real_apiserver: RealServer) -> None:
    """Each case in a namespace of its own, with the statuses that the disruption controller would have written."""
    for at, case in enumerate(CASES):
        if case.real:
            with _namespace(real_apiserver, f"case-{at}") as namespace:
                assert _answers(real_apiserver, case, namespace) == case.answers, case.rule


@contextlib.contextmanager
def _namespace(server: RealServer, name: str) -> Any:
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    try:
        yield name
    finally:
        for path in (PODS, BUDGETS):
            server.ask("DELETE", path.format(name), AT_ONCE)
        server.ask("DELETE", f"/api/v1/namespaces/{name}")


def _answers(server: RealServer, case: Case, namespace: str) -> tuple[int, ...]:
    others, pods = objects_of(case, namespace)
    for pod, letter in zip(pods, case.pods, strict=True):
        made = server.ask("POST", PODS.format(namespace), pod)
        address = f"{PODS.format(namespace)}/{pod['metadata']['name']}"
        server.ask("PUT", f"{address}/status", {**made, "status": pod["status"]})
        if letter == "D":
            server.ask("DELETE", address)
    counted, _ = _counted(case)
    for budget in others:
        if budget["kind"] == "PodDisruptionBudget":
            made = server.ask("POST", BUDGETS.format(namespace), budget)
            health = counted.health(f"default/{budget['metadata']['name']}")
            made["status"] = {
                "observedGeneration": made["metadata"]["generation"],
                "expectedPods": health.expected,
                "desiredHealthy": health.desired,
                "currentHealthy": health.healthy,
                "disruptionsAllowed": health.allowed,
            }
            server.ask("PUT", f"{BUDGETS.format(namespace)}/{budget['metadata']['name']}/status", made)
    return tuple(_evicted(server, namespace, f"web-{at}") for at in case.evict)


def _evicted(server: RealServer, namespace: str, name: str) -> int:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
    try:
        server.ask("POST", f"{PODS.format(namespace)}/{name}/eviction", eviction)
    except StatusError as error:
        return error.code
    return OK


@pytest.mark.parametrize(
    ("budget", "fills", "evicts"),
    [
        pytest.param({"spec": {"minAvailable": 1}}, True, "a", id="allows one"),
        pytest.param({"spec": {"minAvailable": 2}}, True, "b", id="allows none"),
        pytest.param({"spec": {"maxUnavailable": 1}}, True, "b", id="of pods without a controller"),
        pytest.param({"spec": {"minAvailable": 1}, "status": {"disruptionsAllowed": 0}}, True, "b", id="has a status"),
        pytest.param({"spec": {"minAvailable": 1}}, False, "b", id="taken as it is"),
    ],
)
@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_preemption_counts_budgets_that_are_written_without_a_status(
    release: str, budget: dict[str, Any], fills: bool, evicts: str
) -> None:
    """As drain does: with the pods that are there when somebody asks."""
    metadata = {"name": "web", "namespace": "default", "uid": "budget"}
    spec = {**budget["spec"], "selector": {"matchLabels": {"app": "web"}}}
    written = {**budget, "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}
    there = (
        ks.Cluster(release=release, defaulting=fills).node("a", cpu=1).node("b", cpu=1).node("c", cpu=1).add(written)
    )
    for name, node, priority, app in (("1", "a", 1, "web"), ("2", "c", 9, "web"), ("3", "b", 2, "other")):
        pod = ks.pod(name, node=node, cpu=1, priority=priority, labels={"app": app})
        pod["metadata"] |= {"uid": name, "namespace": "default"}
        there = there.add(pod)
    asking = ks.pod("asking", cpu=1, priority=5)
    asking["metadata"] |= {"uid": "asking", "namespace": "default"}
    preemption = ks.Scheduler(there).decide(asking, preempt=True).preemption
    assert preemption is not None
    assert list(preemption.chosen) == [evicts]
