"""Shapes: what is read of manifests and of entries in a few words, and every fault with its path."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import DecodeError
from kubescheduler.api.nodes import as_shapes
from kubescheduler.planning.shapes import Shape, shapes_in

ZONE = "topology.kubernetes.io/zone"


def read(*given: Any) -> list[Shape]:
    """The shapes of things, as release 1.36 reads them."""
    return shapes_in(as_shapes(given), "1.36")


def test_short_entries() -> None:
    """A shape for each zone, with price and maximum; what is not said has the usual values."""
    one, two, large = read(
        "- {cpu: 4, memory: 16Gi, zones: [A, b], price: 0.1, max: 3, labels: {x: u}, taints: ['k=v:NoSchedule']}\n"
        "- {name: large, cpu: 8, memory: 32Gi, pods: 58, resources: {x.io/y: 2}, price: 1/3}\n"
    )
    assert [(shape.name, shape.price, shape.most) for shape in (one, two, large)] == [
        ("4-cpu-16gi-a", Fraction(1, 10), 3),
        ("4-cpu-16gi-b", Fraction(1, 10), 3),
        ("large", Fraction(1, 3), None),
    ]
    assert (one.node.metadata.labels[ZONE], one.node.metadata.labels["x"], len(one.node.taints)) == ("A", "u", 1)
    assert {name: one.node.allocatable[name] // 1000 for name in ("cpu", "pods")} == {"cpu": 4, "pods": 110}
    assert large.node.allocatable["x.io/y"] == large.node.capacity["x.io/y"] == 2000


def test_one_mapping_is_one_shape() -> None:
    """A file or a dict that is no list."""
    for given in ("cpu: 4\nmemory: 16Gi\n", {"cpu": 4, "memory": "16Gi"}):
        assert [shape.name for shape in read(given)] == ["4-cpu-16gi"]


def test_manifests() -> None:
    """Nodes that differ only in their names are one shape; annotations have price and maximum."""
    annotated = ks.node("c", cpu=8, annotations={"kubescheduler/price": "2", "kubescheduler/max": "5"})
    plain = [ks.node(name, cpu=4, annotations={"kubescheduler/price": "1"}) for name in ("a", "b")]
    a, c = read(*plain, annotated)
    assert [(shape.name, shape.price, shape.most) for shape in (a, c)] == [("a", 1, None), ("c", 2, 5)]
    named = a.named("a-7")
    assert (named.name, named.metadata.labels["kubernetes.io/hostname"], named.metadata.uid) == ("a-7", "a-7", "")


@pytest.mark.parametrize(
    ("given", "faults"),
    [
        (
            [{"cpu": 4, "memry": "1Gi"}],
            ["[0]: memry: there is no such key; did you mean memory?", "[0]: memory: missing"],
        ),
        (
            [{"cpu": 4, "memory": 1, "nvidia.com/gpu": 2}],
            ["nvidia.com/gpu: there is no such key; known are name, cpu,"],
        ),
        ([{"cpu": "4x", "memory": -1}], ['[0]: cpu: quantity "4x"', "[0]: memory: must not be negative, found -1"]),
        ([{"cpu": 1, "memory": 1, "price": 0}], ["[0]: price: must be a number above 0"]),
        ([{"cpu": 1, "memory": 1, "price": "dear", "max": True}], ["[0]: price: must be", "[0]: max: must be a whole"]),
        ([{"cpu": 1, "memory": 1, "zones": "a"}], ["[0]: zones: must be a list, not "]),
        ([{"cpu": 1, "memory": 1, "zones": [1], "taints": ["x", 3]}], ["zones[0]", "taints[0]", "taints[1]"]),
        ([{"cpu": 1, "memory": 1, "labels": []}], ["[0]: labels: must be a mapping, not "]),
        ([{"cpu": 1, "memory": 1, "name": "A b"}], ["[0]: name: "]),
        ([{"cpu": 1, "memory": 1}, {"cpu": 1, "memory": 1}], ["[1]: name: there are two shapes 1-cpu-1"]),
        ([{"cpu": 1, "memory": 1, "price": 1}, {"cpu": 2, "memory": 1}], ["give all of them one, or none; 2-cpu-1"]),
        (["- 7\n- {cpu: 4x, memory: 1Gi}\n- small"], ["text: [0]: must be", "text: [2]: must be", "text: [1]: cpu: "]),
        ([{"small": {"cpu": 4, "memory": "1Gi"}}, {}], [f"[{at}]: this is no shape; write a list" for at in (0, 1)]),
        ([3, {"cpu": 1}], ["shapes: expected a file name", "[1]: memory: missing"]),
        ([ks.pod("p")], ["expected a Node, or an entry with cpu and memory, found a Pod"]),
        ([], ["shapes: there are none"]),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, list) else None,
)
def test_faults(given: list[dict[str, Any]], faults: list[str]) -> None:
    """All in one message, each with its path."""
    with pytest.raises(DecodeError) as error:
        read(*given)
    assert len(error.value.problems) == len(faults)
    assert all(fault in problem for fault, problem in zip(faults, error.value.problems, strict=True))
