"""The Cluster Autoscaler's expanders, as their published unit cases have them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import ConfigError
from kubescheduler.planning.expanders import (
    ExpansionOption,
    Prices,
    by_priority,
    cheapest,
    checked_expanders,
    chosen,
    least_nodes,
    least_waste,
    most_pods,
    preferred_cpu,
    priorities_of,
    requests,
)

CPU, MEMORY = 500, 1000 * 1024 * 1024


def option(
    group: str, cpu: int, memory: int, pods: Sequence[tuple[str, int, int]], nodes: int = 1, **more: Any
) -> ExpansionOption:
    """A group whose nodes have millicores and bytes, for pods of (name, millicores, bytes)."""
    manifest = ks.node(group, cpu=f"{cpu}m", memory=memory)
    manifest["status"]["capacity"] = manifest["status"]["allocatable"]
    cluster = ks.Cluster(manifest, release="1.36")
    for name, milli, size in pods:
        cluster = cluster.pod(name.lower(), cpu=f"{milli}m", memory=size)
    return ExpansionOption(group, cluster.nodes[0], nodes, tuple(cluster.pods), **more)


POD = [("p", CPU, MEMORY)]
BALANCED = option("balanced", 16 * CPU, 16 * MEMORY, POD)
HIGH_MEMORY = option("highmem", 16 * CPU, 32 * MEMORY, POD)
LOW_CPU = option("lowcpu", 8 * CPU, 16 * MEMORY, POD)


@pytest.mark.parametrize(
    ("options", "best"),
    [
        ([option("balanced", 16 * CPU, 16 * MEMORY, [])], "balanced"),
        ([BALANCED], "balanced"),
        ([BALANCED, HIGH_MEMORY], "balanced"),
        ([BALANCED, HIGH_MEMORY, LOW_CPU], "lowcpu"),
    ],
)
def test_least_waste(options: list[ExpansionOption], best: str) -> None:
    """TestLeastWaste of expander/waste/waste_test.go."""
    assert [each.group for each in least_waste(options)] == [best]


EO0, EO1, EO1B = (option(name, 1, 1, [("p", 1, 1)] * number) for name, number in (("eo0", 0), ("eo1", 1), ("eo1b", 1)))


@pytest.mark.parametrize(
    ("options", "best"), [([EO0], ["eo0"]), ([EO0, EO1], ["eo1"]), ([EO0, EO1, EO1B], ["eo1", "eo1b"])]
)
def test_most_pods(options: list[ExpansionOption], best: list[str]) -> None:
    """TestMostPods of expander/mostpods/mostpods_test.go."""
    assert [each.group for each in most_pods(options)] == best


@pytest.mark.parametrize(
    ("nodes", "best"),
    [
        ([0], []),
        ([2], [0]),
        ([2, 1], [1]),
        ([6, 2, 2], [1, 2]),
        ([8, 8, 8], [0, 1, 2]),
        ([23, 0, 5, 8, 5, 5, 22], [2, 4, 5]),
    ],
)
def test_least_nodes(nodes: list[int], best: list[int]) -> None:
    """TestLeastNodes of expander/leastnodes/leastnodes_test.go."""
    options = [option(f"eo{at}", 1, 1, [], number) for at, number in enumerate(nodes)]
    assert least_nodes(options) == [options[at] for at in best]


def test_what_counts_as_asked_for() -> None:
    """An init container that asks for more than all containers, and what the pod as a whole asks for, count."""
    init = [{"name": "i", "resources": {"requests": {"cpu": "3"}}}]
    cluster = ks.Cluster(release="1.36").pod("a", cpu=1, spec={"initContainers": init})
    cluster = cluster.pod("b", cpu=1, spec={"resources": {"requests": {"cpu": "5"}}, "overhead": {"cpu": "1"}})
    assert [requests((pod,), "cpu") for pod in cluster.pods] == [3000, 6000]


CONFIG = {5: [r".*t2\.micro.*"], 10: [r".*t2\.large.*", r".*t3\.large.*"], 50: [r".*m4\.4xlarge.*"]}
ONE_ENTRY = {10: [r".*t2\.large.*"]}
NO_MATCH = {5: [r".*t\.micro.*"], 10: [r".*t\.large.*"]}
LOW = {-1: [".*t3.*"], -2: [".*t2.*"]}
WILDCARD = {5: [".*"], 10: [r".t2\.large.*"]}


@pytest.mark.parametrize(
    ("config", "groups", "best"),
    [
        (CONFIG, ["t2.large"], ["t2.large"]),
        (LOW, ["t2.large", "t3.large"], ["t3.large"]),
        (LOW, ["t2.large"], ["t2.large"]),
        (CONFIG, ["t2.large", "m4.4xlarge"], ["m4.4xlarge"]),
        (WILDCARD, ["t2.large", "t2.micro"], ["t2.large"]),
        (CONFIG, ["t2.large", "t3.large", "t2.micro"], ["t2.large", "t3.large"]),
        (CONFIG, ["t2.large", "t3.large"], ["t2.large", "t3.large"]),
        (NO_MATCH, ["t2.large", "t3.large"], ["t2.large", "t3.large"]),
        (ONE_ENTRY, ["t2.large", "t3.large", "m4.4xlarge"], ["t2.large"]),
        (CONFIG, ["t2.large", "t3.large", "m4.4xlarge"], ["m4.4xlarge"]),
    ],
)
def test_priority(config: dict[int, list[str]], groups: list[str], best: list[str]) -> None:
    """The cases of expander/priority/priority_test.go."""
    options = [option(f"my-asg.{name}", 1, 1, []) for name in groups]
    assert [each.group.removeprefix("my-asg.") for each in by_priority(options, config)] == best


P1, P2 = ("p1", 1000, 0), ("p2", 500, 0)
NG1, NG2 = option("n1", 1000, 1000, [P1, P2], 2), option("n2", 4000, 1000, [P1, P2], 1)
MANY = [option("n1", 1000, 1000, [P1, P2], 80), option("n2", 4000, 1000, [P1, P2], 40)]
ONE_POD = option("n1", 1000, 1000, [P1], 2)
NEW = option("n3", 4000, 1000, [P1, P2], 1, exists=False)


@pytest.mark.parametrize(
    ("options", "prices", "preferred", "best"),
    [
        ([NG1, NG2], {"n1": 20, "n2": 200}, 2000, ["n1"]),
        ([NG1, NG2], {"n1": 50, "n2": 200}, 4000, ["n2"]),
        (MANY, {"n1": 20, "n2": 200}, 4000, ["n1"]),
        ([NG1, NG2], {"n1": 200, "n2": 100}, 2000, ["n2"]),
        ([ONE_POD, NG2], {"n1": 200, "n2": 200}, 2000, ["n2"]),
        ([ONE_POD, NG2], {}, 2000, []),
        ([ONE_POD, NG2, NEW], {"n1": 200, "n2": 200, "n3": 200}, 2000, ["n2"]),
        ([ONE_POD, NG2, NEW], {"n1": 200, "n2": 200, "n3": 90}, 2000, ["n3"]),
        ([NG2, NG1, NG2], {"n1": 200, "n2": 100}, 2000, ["n2", "n2"]),
    ],
    ids=["cheaper", "preferred", "many", "second", "two-pods", "no-prices", "existing", "new", "equal"],
)
def test_price(options: list[ExpansionOption], prices: dict[str, float], preferred: int, best: list[str]) -> None:
    """TestPriceExpander of expander/price/price_test.go."""
    pods = {"p1": 20.0, "p2": 10.0}
    model = Prices(lambda node: prices[node.name], lambda pod: pods[pod.metadata.name], 10.0)
    assert [each.group for each in cheapest(options, model, preferred)] == best


@pytest.mark.parametrize(("nodes", "cpu"), [(1, 1000), (3, 2000), (7, 4000), (21, 8000), (61, 16000), (201, 32000)])
def test_preferred(nodes: int, cpu: int) -> None:
    """SimplePreferredNodeProvider of expander/price/preferred.go: twice the node for three times the cluster."""
    assert preferred_cpu(nodes) == cpu


def test_one_after_the_other() -> None:
    """What several choosers leave is drawn, and a seed draws it again."""
    options = [EO0, EO1, EO1B]
    drawn = {chosen(options, [most_pods], random.Random(seed)).group for seed in range(20)}  # type: ignore[union-attr]
    assert drawn == {"eo1", "eo1b"}
    assert chosen([], [most_pods], random.Random(0)) is None


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("least-wast", ["did you mean least-waste?"]),
        ("random,least-waste", ["random leaves one group"]),
        ("price,priority", ["price needs shapes", "priority needs --priorities"]),
        ("most-pods,most-pods", ["more than once"]),
    ],
)
def test_faults(text: str, faults: list[str]) -> None:
    """Every fault in one message."""
    with pytest.raises(ConfigError) as error:
        checked_expanders(text, priced=False, priorities=None)
    assert all(fault in problem for fault, problem in zip(faults, error.value.problems, strict=True))


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({}, "is empty"),
        ({"x": []}, "whole number"),
        ({"--5": []}, "whole number"),
        ({"5": "a"}, "must be a list"),
        ({5: ["("]}, "5[0]: "),
    ],
)
def test_faulty_priorities(document: dict[Any, Any], fault: str) -> None:
    """Each with its path."""
    with pytest.raises(ConfigError, match=r".") as error:
        priorities_of(document, "file")
    assert fault in str(error.value)
