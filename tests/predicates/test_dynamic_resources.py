"""DynamicResources' rule: claims, devices and extended resources."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clusterstate.objects import DeviceAsk, FrozenMap, NodeSelectorTerm, PendingAllocation, Requirement
from predicates.dynamic_resources import (
    CANNOT_ALLOCATE,
    CANNOT_FIT,
    IN_USE,
    NOT_AVAILABLE,
    DeviceRules,
    dynamic_resources,
)
from predicates.types import GO_ON, SKIP, NodeError, PreFiltered, Verdict
from tests.support.build import Cluster, make_node, names_where, resources
from tests.support.devices import (
    DRIVER,
    allocated,
    binding,
    device_cluster,
    exactly,
    first_of,
    gpu,
    make_claim,
    make_class,
    make_slice,
    pod_with,
    users,
)

TODAY = 1_577_837_401.0
"""10 minutes and a second after LONG_AGO."""
RULE = dynamic_resources(DeviceRules(today=lambda: TODAY))
UID = "default/p"
NODES = [make_node("a"), make_node("b"), make_node("c")]
GPU = resources(**{"example.com/gpu": 2})


def refused(cluster: Cluster, verdict: Verdict) -> dict[str, list[str]]:
    """Reason → names of the nodes it refuses, without reasons that refuse none."""
    return {reason: names for reason, mask in verdict.items() if (names := names_where(cluster.snapshot, mask))}


def pre_filtered(cluster: Cluster, pod: object) -> PreFiltered:
    assert RULE.pre_filter is not None
    return RULE.pre_filter(cluster.info(pod), cluster.snapshot)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("requests", "claims", "classes", "expected"),
    [
        ({}, (), [make_class()], SKIP),
        ({"cpu": 100}, (), [make_class(extended_resource_name="example.com/gpu")], SKIP),
        ({"example.com/gpu": 1}, (), [make_class()], SKIP),
        ({"example.com/gpu": 1}, (), [make_class(extended_resource_name="example.com/gpu")], GO_ON),
        ({"deviceclass.resource.kubernetes.io/gpu": 1}, (), [make_class()], GO_ON),
        ({"example.com/gpu": 0}, (), [make_class(extended_resource_name="example.com/gpu")], SKIP),
        ({}, ("c",), [make_class()], GO_ON),
    ],
)
def test_who_is_skipped(
    requests: dict[str, int], claims: tuple[str, ...], classes: list[object], expected: PreFiltered
) -> None:
    """Pods without claims whose resources no class provides are none of its business."""
    cluster = device_cluster(NODES, [*classes, make_claim("c")])
    assert pre_filtered(cluster, pod_with(*claims, requests=resources(**requests))) == expected


FULL = users(*(f"u{i}" for i in range(256)))
REFUSALS: dict[str, tuple[list[object], dict[str, object], str | None]] = {
    "all is well": ([make_claim("c")], {"claims": ("c",)}, None),
    "no claim": ([], {"claims": ("x",)}, 'could not find ResourceClaim "default/x"'),
    "being deleted": ([make_claim("c", deleting=True)], {"claims": ("c",)}, 'resourceclaim "c" is being deleted'),
    "not made yet": ([], {"made": {"t": ""}}, 'pod "default/p": ResourceClaim not created yet'),
    "none needed": ([], {"made": {"t": None}}, None),
    "made": ([make_claim("c", owner=UID)], {"made": {"t": "c"}}, None),
    "made, but gone": ([], {"made": {"t": "c"}}, 'could not find ResourceClaim "default/c"'),
    "made for another pod": (
        [make_claim("c", owner="other")],
        {"made": {"t": "c"}},
        "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)",
    ),
    "free": ([make_claim("c", allocation=allocated("a", "g"))], {"claims": ("c",)}, None),
    "used by others": (
        [make_claim("c", allocation=allocated("a", "g"), reserved_for=users("u"))],
        {"claims": ("c",)},
        None,
    ),
    "in use": ([make_claim("c", allocation=allocated("a", "g"), reserved_for=FULL)], {"claims": ("c",)}, IN_USE),
    "in use by this pod too": (
        [make_claim("c", allocation=allocated("a", "g"), reserved_for=(*FULL[1:], *users(UID)))],
        {"claims": ("c",)},
        None,
    ),
    "under way": (
        [make_claim("c"), PendingAllocation(make_claim("c").metadata, allocated("a", "g"), "other")],
        {"claims": ("c",)},
        "resource claim default/c is in the process of being allocated",
    ),
    "no class": (
        [make_claim("c", exactly("r", cls="none"))],
        {"claims": ("c",)},
        "request r: device class none does not exist",
    ),
    "no class for an alternative": (
        [make_claim("c", first_of("r", DeviceAsk("gpu", "one"), DeviceAsk("none", "two")))],
        {"claims": ("c",)},
        "request r/two: device class none does not exist",
    ),
}


@pytest.mark.parametrize(("objects", "pod", "text"), REFUSALS.values(), ids=REFUSALS.keys())
def test_what_is_refused_before_nodes_are_looked_at(
    objects: list[object], pod: dict[str, object], text: str | None
) -> None:
    """Claims that are not there, in use or under way; always UnschedulableAndUnresolvable."""
    cluster = device_cluster(NODES, [make_class(), *objects])
    made = pod_with(*pod.get("claims", ()), made=pod.get("made"))  # type: ignore[misc, arg-type]
    assert pre_filtered(cluster, made) == (GO_ON if text is None else PreFiltered(reasons=(text,)))
    assert text is None or RULE.unresolvable(text)


ON_B = (NodeSelectorTerm(match_fields=(Requirement("metadata.name", "In", ("b",)),)),)


LONG_AGO, JUST_NOW = "2020-01-01T00:00:00Z", "2020-01-01T00:05:00Z"


HELD = make_claim("c", allocation=allocated("b", "g", node_selector=ON_B))
FILTERS: dict[str, tuple[list[object], tuple[str, ...], dict[str, list[str]]]] = {
    "usable everywhere": ([make_claim("c", allocation=allocated("b", "g"))], ("c",), {}),
    "usable on one node": ([HELD], ("c",), {NOT_AVAILABLE: ["a", "c"]}),
    "broken": ([binding(HELD, ("Broken", "True"))], ("c",), {NOT_AVAILABLE: ["a", "b", "c"]}),
    "not broken": ([binding(HELD, ("Broken", "False"))], ("c",), {NOT_AVAILABLE: ["a", "c"]}),
    "not ready for too long": ([binding(HELD, since=LONG_AGO)], ("c",), {NOT_AVAILABLE: ["a", "b", "c"]}),
    "not ready yet": ([binding(HELD, since=JUST_NOW)], ("c",), {NOT_AVAILABLE: ["a", "c"]}),
    "ready for long": ([binding(HELD, ("Ready", "True"), since=LONG_AGO)], ("c",), {NOT_AVAILABLE: ["a", "c"]}),
    "devices on two nodes": (
        [make_claim("c"), make_slice("a", gpu("g")), make_slice("b", gpu("g"))],
        ("c",),
        {CANNOT_ALLOCATE: ["c"]},
    ),
    "no devices": ([make_claim("c")], ("c",), {CANNOT_ALLOCATE: ["a", "b", "c"]}),
    "one claim held, one to allocate": (
        [HELD, make_claim("d"), make_slice("a", gpu("g"))],
        ("c", "d"),
        {NOT_AVAILABLE: ["a"], CANNOT_ALLOCATE: ["b", "c"]},
    ),
}


@pytest.mark.parametrize(("objects", "claims", "expected"), FILTERS.values(), ids=FILTERS.keys())
def test_where_claims_can_be_used(
    objects: list[object], claims: tuple[str, ...], expected: dict[str, list[str]]
) -> None:
    """Held devices have to be in reach, the others to be had; one reason a node."""
    cluster = device_cluster(NODES, [make_class(), *objects])
    assert refused(cluster, RULE.check(cluster.info(pod_with(*claims)), cluster.snapshot)) == expected


def test_extended_resources() -> None:
    """Nodes that have the resource themselves need no devices; others do; a resource that nobody has fits nowhere."""
    nodes = [
        make_node("native", allocatable=resources(**{"example.com/gpu": 2})),
        make_node("devices"),
        make_node("few"),
        make_node("both", allocatable=resources(**{"example.com/gpu": 2, "other.com/x": 1})),
    ]
    slices = [make_slice("devices", gpu("a"), gpu("b")), make_slice("few", gpu("a"))]
    cluster = device_cluster(nodes, [make_class(extended_resource_name="example.com/gpu"), *slices])
    info = cluster.info(pod_with(requests=GPU))
    assert refused(cluster, RULE.check(info, cluster.snapshot)) == {CANNOT_ALLOCATE: ["few"]}
    info = cluster.info(pod_with(requests=FrozenMap({**GPU, "other.com/x": 1000})))
    assert refused(cluster, RULE.check(info, cluster.snapshot)) == {CANNOT_FIT: ["native", "devices", "few"]}


def test_errors_are_told_node_by_node() -> None:
    """A selector that fails on some devices is an error of the nodes that have them."""
    cluster = device_cluster(
        NODES,
        [
            make_class("gpu", f'device.attributes["{DRIVER}"].numa == 0'),
            make_claim("c"),
            make_slice("a", gpu("g", {"numa": 0})),
            make_slice("b", gpu("g")),
        ],
    )
    found = refused(cluster, RULE.check(cluster.info(pod_with("c")), cluster.snapshot))
    assert found.pop(CANNOT_ALLOCATE) == ["c"]
    ((text, names),) = found.items()
    assert names == ["b"]
    assert isinstance(text, NodeError)
    assert text.endswith("runtime error: no such key: numa")


def test_too_slow() -> None:
    """Nodes for which there was no time are errors that name them."""

    def timer() -> Callable[[], bool]:
        return lambda: True

    cluster = device_cluster(NODES[:2], [make_class(), make_claim("c"), make_slice("a", gpu("g"))])
    verdict = dynamic_resources(DeviceRules(timer=timer)).check(cluster.info(pod_with("c")), cluster.snapshot)
    assert refused(cluster, verdict) == {
        "node a: timed out trying to allocate devices": ["a"],
        "node b: timed out trying to allocate devices": ["b"],
    }


def test_claims_make_a_class_of_their_own() -> None:
    """Pods that differ in name only are replicas, unless they have claims."""
    cluster = device_cluster()
    plain = cluster.info(pod_with(name="p")), cluster.info(pod_with(name="q"))
    claiming = cluster.info(pod_with("c", name="p")), cluster.info(pod_with("c", name="q"))
    assert plain[0] is plain[1]
    assert claiming[0] is not claiming[1]
