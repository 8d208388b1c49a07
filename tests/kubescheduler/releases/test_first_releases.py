"""What 1.15, 1.16, 1.19 and 1.20 changed: a small cluster that the release before answers otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.neighbours import Differing, Manifest, answer, asking, node, pod

X = {"app": "x"}
SERVICE: Manifest = {"kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": X}}
WIDER: Manifest = {
    "kind": "Service",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {"selector": {**X, "tier": "t"}},
}
ZONES = [node("a", {"zone": "1"}), node("b", {"zone": "2"})]


def affinity(kind: str, labels: dict[str, str], key: str = "zone") -> Manifest:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(action: str, key: str = "zone") -> list[Manifest]:
    selector = {"matchLabels": X}
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": selector}]


def claim(name: str, volume: str = "", storage_class: str = "") -> Manifest:
    spec = {"volumeName": volume, "storageClassName": storage_class, "accessModes": ["ReadWriteOnce"]}
    return {"kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def volumes(*claims: str) -> list[Manifest]:
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]


def storage_class(name: str, provisioner: str) -> Manifest:
    return {
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def storage(provisioner: str) -> dict[str, Any]:
    return {"persistentVolumeClaims": [claim("c", "", "sc")], "storageClasses": [storage_class("sc", provisioner)]}


LIKED: Manifest = {
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {"matchLabels": X}}}
    ]
}
RATIO: Manifest = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [],
    "priorities": [
        {
            "name": "Ratio",
            "weight": 1,
            "argument": {
                "requestedToCapacityRatioArguments": {
                    "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
                    "resources": [{"name": "cpu", "weight": 1}],
                }
            },
        }
    ],
}

CASES = {
    "1.15": [
        Differing(
            "selector-spread-counts-pods-of-all-selectors",
            {"nodes": ZONES, "services": [SERVICE, WIDER], "pods": [pod("old", "a", X)]},
            {"pod": pod("p", labels={**X, "tier": "t"})},
            ("scores", "SelectorSpreadPriority", "a"),
            0,
            10,
        ),
        Differing(
            "inter-pod-affinity-priority-sums-made-late",
            {
                "nodes": [*ZONES, node("c", {"zone": "1"})],
                "pods": [pod("old", "a", affinity={"podAffinity": LIKED})],
            },
            {"pod": pod("p", labels=X)},
            ("error",),
            None,
            "InterPodAffinityPriority: runtime error: invalid memory address or nil pointer dereference",
        ),
        Differing(
            "unbound-csi-claims-count",
            {"nodes": [node("a", None, **{"attachable-volumes-csi-d.io": "0"})], **storage("d.io")},
            {"pod": pod("p", volumes=volumes("c"))},
            ("failed", "a"),
            None,
            ["node(s) exceed max volume count"],
        ),
    ],
    "1.16": [
        Differing(
            "inter-pod-affinity-priority-sums-every-node",
            {
                "nodes": [*ZONES, node("c", {"zone": "1"})],
                "pods": [pod("old", "a", affinity={"podAffinity": LIKED})],
            },
            {"pod": pod("p", labels=X)},
            ("scores", "InterPodAffinityPriority"),
            None,
            {"a": 10, "b": 0, "c": 10},
        ),
        Differing(
            "claims-count-as-disks-of-their-provisioner",
            {"nodes": [node("a", None, **{"attachable-volumes-aws-ebs": "0"})], **storage("d.io")},
            {"pod": pod("p", volumes=volumes("c"))},
            ("failed", "a"),
            ["node(s) exceed max volume count"],
            None,
        ),
        Differing(
            "requested-to-capacity-ratio-by-resources",
            {"nodes": [node("a")]},
            {"pod": pod("p", containers=asking(cpu="2", memory="8Gi")), "policy": RATIO},
            ("scores", "Ratio", "a"),
            7,
            5,
        ),
    ],
    "1.19": [
        Differing(
            "pod-topology-spread-weighs-by-size",
            {"nodes": ZONES, "pods": [*(pod(f"a{i}", "a", X) for i in range(3)), pod("b", "b", X)]},
            {"pod": pod("p", labels=X, topologySpreadConstraints=spread("ScheduleAnyway"))},
            ("scores", "PodTopologySpread"),
            {"a": 33, "b": 100},
            {"a": 25, "b": 100},
        ),
        Differing(
            "pod-topology-spread-weighs-by-size",
            {"nodes": [*ZONES, node("c")]},
            {"pod": pod("p", labels=X, topologySpreadConstraints=spread("DoNotSchedule"))},
            ("codes", "c"),
            "Unschedulable",
            "UnschedulableAndUnresolvable",
        ),
        Differing(
            "init-containers-count-in-scores-and-on-nodes",
            {"nodes": [node("a")], "pods": [pod("old", "a", initContainers=asking(cpu="4"))]},
            {"pod": pod("p", containers=asking(cpu="1"))},
            ("failed", "a"),
            None,
            ["Insufficient cpu"],
        ),
        Differing(
            "inter-pod-affinity-looks-at-the-pod-first",
            {"nodes": [node("c")]},
            {"pod": pod("p", labels=X, affinity=affinity("podAffinity", X))},
            ("fits",),
            ["c"],
            [],
        ),
        Differing(
            "unbound-immediate-claims-refuse-nodes",
            {"nodes": [node("a")], "persistentVolumeClaims": [claim("c")]},
            {"pod": pod("p", volumes=volumes("c"))},
            ("failed", "a"),
            None,
            ["pod has unbound immediate PersistentVolumeClaims"],
        ),
    ],
    "1.20": [
        Differing(
            "filters-in-another-order",
            {"nodes": [node("a")], "pods": []},
            {"pod": pod("p", containers=asking(cpu="9"), nodeSelector={"disk": "ssd"})},
            ("failed", "a"),
            ["Insufficient cpu"],
            ["node(s) didn't match Pod's node affinity"],
        ),
        Differing(
            "pod-topology-spread-stands-in-for-selector-spread",
            {"nodes": [node("a")]},
            {"pod": pod("p")},
            ("weights", "SelectorSpread"),
            1,
            None,
        ),
        Differing(
            "missing-claims-refuse-nodes",
            {"nodes": [node("a")]},
            {"pod": pod("p", volumes=volumes("c"))},
            ("error",),
            'persistentvolumeclaim "c" not found',
            None,
        ),
        Differing(
            "most-allocated-scores-full-nodes",
            {"nodes": [node("a", cpu="50m")]},
            {"pod": pod("p"), "provider": "ClusterAutoscalerProvider"},
            ("scores", "NodeResourcesMostAllocated", "a"),
            1,
            51,
        ),
    ],
}
BEFORE = {"1.15": "1.13", "1.16": "1.15", "1.19": "1.18", "1.20": "1.19"}


@pytest.mark.parametrize(
    ("release", "case"),
    [pytest.param(release, case, id=f"{release} {case.change}") for release, cases in CASES.items() for case in cases],
)
def test_the_release_before_answers_otherwise(release: str, case: Differing) -> None:
    """In one place, and for the change's reason."""
    assert (answer(case, BEFORE[release]), answer(case, release)) == (case.before, case.after)
