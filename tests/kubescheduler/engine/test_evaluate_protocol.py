"""The evaluate protocol, and laws that hold for whole decisions."""

from __future__ import annotations

import gc
import gzip
import json
import random
import weakref
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.engine.evaluate_protocol import Scenario, evaluate
from kubescheduler.releases.lookup import release_named
from tests.support.laws import costly
from tests.support.releases_tried import RELEASES_TRIED, vectors_dir

THEMES = ("mixed", "interpod", "volumes", "services", "spread")


@cache
def scenarios(theme: str) -> list[dict[str, Any]]:
    with gzip.open(vectors_dir() / "1.16" / f"{theme}.jsonl.gz", "rt") as lines:
        return [json.loads(line)["scenario"] for line in lines]


def answers(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    return list(evaluate([msgspec.json.encode(scenario)], "1.16"))


@given(st.sampled_from(THEMES), st.integers(0, 11), st.randoms(use_true_random=False))
def test_the_order_of_nodes_never_matters(theme: str, number: int, rng: random.Random) -> None:
    """Shuffling nodes changes no answer."""
    scenario = scenarios(theme)[number]
    nodes = list(scenario["cluster"]["nodes"])
    rng.shuffle(nodes)
    assert answers({**scenario, "cluster": {**scenario["cluster"], "nodes": nodes}}) == answers(scenario)


@given(st.sampled_from(THEMES), st.integers(0, 11))
@costly
def test_what_earlier_queries_left_behind_never_matters(theme: str, number: int) -> None:
    """A query answered first by a fresh engine and last by a used one has one answer."""
    scenario = scenarios(theme)[number]
    together = answers(scenario)
    alone = [answers({**scenario, "queries": [query]})[0] for query in scenario["queries"]]
    assert alone == together


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_pods_without_a_uid(release: str) -> None:
    """Each gets its namespace and name as one, also those of events."""
    node = {"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "2"}}}
    runs = [{"metadata": {"name": name, "namespace": "d"}, "spec": {"nodeName": "a"}} for name in "pq"]
    asked = {"metadata": {"name": "r", "namespace": "d"}, "spec": {"containers": [{"name": "c"}]}}
    gone = [{"old": {"kind": "Pod", "apiVersion": "v1", **runs[0]}}]
    query = {"id": "q", "pod": asked, "events": gone}
    scenario = {"id": "s", "cluster": {"nodes": [node], "pods": runs}, "queries": [query]}
    [answer] = evaluate([msgspec.json.encode(scenario)], release)
    assert (answer["error"], list(answer["failed"])) == (None, ["a"])
    assert len(answer["queue"]) == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"queries": [], "x": 1}, ["x: unknown key"]),
        ({"querys": [{}]}, ["querys: unknown key; did you mean queries?", "queries: missing"]),
        ({"queries": None}, ["queries: missing"]),
        ({"queries": 5}, ["queries: must be a list"]),
    ],
)
def test_a_scenario_without_queries_has_an_answer_all_the_same(line: dict[str, Any], said: list[str]) -> None:
    """With every fault of it."""
    [answer] = answers(line)
    problems = answer["error"].split("\n")
    assert len(problems) == len(said)
    assert all(map(str.startswith, problems, said)), problems


def test_a_sequence_binds_each_pod_before_the_next() -> None:
    """Two pods that fill a node one at a time do not both fit there."""
    room = {"cpu": "1", "memory": "1Gi", "pods": "10"}
    node = {"metadata": {"name": "a"}, "status": {"allocatable": room}}
    asked = [{"name": "c", "resources": {"requests": {"cpu": "600m"}}}]
    queries = [{"id": i, "pod": {"metadata": {"name": i, "uid": i}, "spec": {"containers": asked}}} for i in ("p", "q")]
    scenario = {"id": "s", "cluster": {"nodes": [node]}, "queries": queries}
    assert [a["best"] for a in answers({**scenario, "sequence": True})] == [["a"], []]
    assert [a["best"] for a in answers(scenario)] == [["a"], ["a"]]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"{", "Input data was truncated"),
        (b'{"id": "s", "cluster": {"nodes": [{}]}, "queries": [{"id": "q"}]}', "metadata.name"),
        (b'{"id": "s", "queries": [{"id": "q", "provider": "Nope"}]}', "metadata"),
        (b'{"id": "s", "queries": [{"id": "q", "pod": {"metadata": {"name": "p"}}, "provider": "Nope"}]}', '"Nope"'),
        (
            b'{"queries": [{"pod": {"metadata": {"name": "p"}}, "provider": "DefaultProvider", "policy": {}}]}',
            "only one of provider, policy",
        ),
    ],
    ids=["no JSON", "bad node", "no pod", "unknown provider", "two configurations"],
)
def test_what_is_wrong_is_answered_and_the_next_line_is_read(line: bytes, error: str) -> None:
    """One bad line or query never ends the process."""
    good = b'{"id": "g", "queries": [{"id": "q", "pod": {"metadata": {"name": "p"}}}]}'
    bad, answer = evaluate([line, good], "1.16")
    assert error in bad["error"]
    assert (answer["scenario"], answer["error"]) == ("g", "no nodes available to schedule pods")


@pytest.mark.parametrize(
    ("gates", "predicates", "scores"),
    [
        ({}, ["GeneralPredicates", "MaxEBSVolumeCount"], {"few": 7, "many": 7}),
        ({"BalanceAttachedNodeVolumes": True}, ["GeneralPredicates", "MaxEBSVolumeCount"], {"few": 9, "many": 9}),
        ({"BalanceAttachedNodeVolumes": True}, ["GeneralPredicates"], {"few": 7, "many": 7}),
        (
            {"BalanceAttachedNodeVolumes": True},
            ["GeneralPredicates", "MaxEBSVolumeCount", "MaxGCEPDVolumeCount"],
            {"few": 9, "many": 9},
        ),
    ],
    ids=["gate off", "gate on", "nothing counts volumes", "another type has no say"],
)
def test_1_16_balances_volumes_that_a_predicate_counted(
    gates: dict[str, bool], predicates: list[str], scores: dict[str, int]
) -> None:
    """Shares of a half and a quarter: 10·(1 - 1/4); with 2 of 4 and 2 of 39 disks 10·(1 - variance): 9.9 and 9.7."""
    room = {"cpu": "1", "memory": "1Gi", "pods": "10"}
    nodes = [
        {"metadata": {"name": "few"}, "status": {"allocatable": {**room, "attachable-volumes-aws-ebs": "4"}}},
        {"metadata": {"name": "many"}, "status": {"allocatable": room}},
    ]
    disks = [{"name": i, "awsElasticBlockStore": {"volumeID": i}} for i in ("a", "b")]
    asked = {"name": "c", "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}}}
    pod = {"metadata": {"name": "p", "uid": "p"}, "spec": {"containers": [asked], "volumes": disks}}
    policy = {
        "kind": "Policy",
        "apiVersion": "v1",
        "predicates": [{"name": name} for name in predicates],
        "priorities": [{"name": "BalancedResourceAllocation", "weight": 1}],
    }
    scenario = {"cluster": {"nodes": nodes}, "featureGates": gates, "queries": [{"pod": pod, "policy": policy}]}
    (answer,) = answers(scenario)
    assert answer["total"] == scores


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_cluster_goes_with_the_last_of_its_schedulers(release: str) -> None:
    """Nothing that was made for its decisions holds a cluster until garbage is collected."""
    asked = scenarios("mixed")[0]
    scenario = Scenario.of({"id": "a", "cluster": asked["cluster"]}, release_named(release))
    collects = gc.isenabled()
    gc.disable()
    try:
        scenario.answer({"id": "q", "pod": asked["queries"][0]["pod"], "preempt": True})
        cache = weakref.ref(scenario.cache)
        del scenario
        assert cache() is None
    finally:
        if collects:
            gc.enable()
