"""Nodes of the cluster that an extender answers with other labels, annotations and amounts: who reads which."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clusterstate.objects import (
    Affinity,
    ContainerImage,
    LabelSelector,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    Service,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from kubescheduler.core.decision import Decision
from tests.support.build import cache_of, labels, make_node, make_pod, resources
from tests.support.comparisons import LEAST, Policies
from tests.support.custom.extender_process import extender

ZONE = "failure-domain.beta.kubernetes.io/zone"
NODES = [
    make_node(
        "n0",
        {"zone": "a", ZONE: "a", "disk": "ssd"},
        allocatable=resources(cpu=2000, memory=8 << 30, pods=110),
        images=(ContainerImage(("web:1",), 600 << 20),),
    ),
    make_node("n1", {"zone": "a", ZONE: "a"}),
    make_node("n2", {"zone": "b", ZONE: "b"}),
]
"""Each is answered with what the one before it has: n0 as in zone b, n1 with the disk and the image, n2 in zone a."""
PEER = make_pod("x", {"app": "web"}, node="n0")
SELECTOR = LabelSelector(labels({"app": "web"}))
NEAR = {
    "podAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 1,
                "podAffinityTerm": {
                    "labelSelector": {"matchLabels": {"app": "web"}},
                    "topologyKey": "zone",
                    "namespaces": ["default"],
                },
            }
        ]
    }
}
TERM = WeightedPodAffinityTerm(1, PodAffinityTerm("zone", SELECTOR))
ALONE = make_pod("p", {"app": "web"}, requests=resources(cpu=1000, memory=4 << 30))
PODS = {
    "InterPodAffinityPriority 1.4": make_pod(
        "p", annotations={"scheduler.alpha.kubernetes.io/affinity": json.dumps(NEAR)}
    ),
    "InterPodAffinityPriority 1.16": make_pod("p", affinity=Affinity(pod_affinity=PodAffinity(preferred=(TERM,)))),
    "EvenPodsSpreadPriority 1.16": make_pod(
        "p",
        {"app": "web"},
        topology_spread_constraints=(TopologySpreadConstraint(1, "zone", "ScheduleAnyway", SELECTOR),),
    ),
}
WITH_IMAGE = msgspec.structs.replace(
    ALONE,
    spec=msgspec.structs.replace(
        ALONE.spec, containers=(msgspec.structs.replace(ALONE.spec.containers[0], image="web:1"),)
    ),
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with extender() as address:
        yield address


def decided(folder: Path, release: str, priority: str, extenders: list[dict[str, Any]], pod: Pod) -> Decision:
    """By one priority, where one pod of the service runs on n0."""
    policies = Policies(folder)
    given: dict[str, Any] = {priority: 1}
    weights = json.loads(Path(policies.policy(release, **given).policy_file or "").read_text())["priorities"]
    spec = policies.written(release, predicates=[], priorities=weights, extenders=extenders)
    spec = msgspec.structs.replace(spec, feature_gates="EvenPodsSpread=true" if priority.startswith("Even") else "")
    service = Service(ObjectMeta("web", "default"), selector=labels({"app": "web"}))
    return spec.engine(print).scheduler(cache_of([*NODES, PEER, service], spec.release_view())).decide(pod)


def called(address: str, behaviour: str, *verbs: str) -> dict[str, Any]:
    return {"urlPrefix": f"{address}/{behaviour}", "weight": 1, **{f"{verb}Verb": verb for verb in verbs}}


@pytest.mark.parametrize(
    ("release", "priority", "as_answered", "as_known"),
    [
        ("1.4", "disk", [0, 10, 0], [10, 0, 0]),
        ("1.4", "ImageLocalityPriority", [0, 6, 0], [6, 0, 0]),
        ("1.4", LEAST, [4, 6, 6], [4, 6, 6]),
        ("1.4", "SelectorSpreadPriority", [0, 10, 10], [0, 3, 10]),
        ("1.4", "InterPodAffinityPriority", [0, 10, 10], [10, 10, 0]),
        ("1.16", "disk", [10, 0, 0], [10, 0, 0]),
        ("1.16", LEAST, [4, 6, 6], [4, 6, 6]),
        ("1.16", "SelectorSpreadPriority", [0, 3, 10], [0, 3, 10]),
        ("1.16", "InterPodAffinityPriority", [0, 10, 10], [10, 10, 0]),
        ("1.16", "EvenPodsSpreadPriority", [10, 5, 5], [5, 5, 10]),
    ],
)
def test_which_priorities_read_the_answered_objects(
    tmp_path: Path, address: str, release: str, priority: str, as_answered: list[int], as_known: list[int]
) -> None:
    """1.4: all, but amounts and running pods are the cluster's; 1.16: those two that are not worked out by node."""
    pod = PODS.get(f"{priority} {release}", WITH_IMAGE if "Image" in priority else ALONE)
    known = decided(tmp_path, release, priority, [], pod)
    answered = decided(tmp_path, release, priority, [called(address, "exchange-objects", "filter")], pod)
    names = ("n0", "n1", "n2")
    assert known.score(priority) == dict(zip(names, as_known, strict=True))
    assert (answered.error, answered.score(priority)) == (None, dict(zip(names, as_answered, strict=True)))
    for name, score in answered.score(priority).items():
        assert [evidence.product for evidence in answered.score_evidence(name)] == [score]


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20"])
def test_later_calls_send_the_answered_objects(tmp_path: Path, address: str, release: str) -> None:
    """To the filters of the extenders behind, and to whoever prioritizes."""
    exchange, ranks = called(address, "exchange-labels", "filter"), called(address, "zone-b", "prioritize")
    scored = decided(tmp_path, release, "EqualPriority", [ranks, exchange], ALONE)
    assert scored.extenders[0].scores == (("n0", 5), ("n1", 0), ("n2", 0))
    left = decided(tmp_path, release, "EqualPriority", [exchange, called(address, "zone-b", "filter")], ALONE)
    assert (left.fits(), left.host) == (["n0"], "n0")


@pytest.mark.parametrize("release", ["1.4", "1.16"])
def test_a_node_that_is_not_there_is_still_an_error(tmp_path: Path, address: str, release: str) -> None:
    """Beside nodes that are."""
    found = decided(tmp_path, release, "EqualPriority", [called(address, "unknown", "filter")], ALONE)
    assert found.error == "node not found: an extender passed 'ghost', which is not in the cluster"
