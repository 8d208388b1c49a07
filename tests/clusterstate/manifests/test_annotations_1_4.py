"""Pods and nodes through the annotations of release 1.4."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusterstate.cache import ClusterCache
from clusterstate.errors import ClusterStateError, DecodeError
from clusterstate.manifests.annotations_1_4 import (
    AFFINITY_ANNOTATION,
    INIT_ANNOTATIONS,
    TAINTS_ANNOTATION,
    TOLERATIONS_ANNOTATION,
    affinity_error,
    name_key,
    node_1_4,
    pod_key_1_4,
    taints_error,
    tolerations_error,
    unlisted_1_4,
)
from clusterstate.objects import (
    Affinity,
    Container,
    LabelSelector,
    NodeAffinity,
    NodeCondition,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    PreferredSchedulingTerm,
    Requirement,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from kubescheduler.releases import v1_4
from tests.support.build import labels, make_node, make_pod, resources

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
DISK = Requirement("disk", "In", ("ssd",))
NODE_AFFINITY = {
    "nodeAffinity": {
        REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]}
    }
}


def spec_of(**fields: Any) -> PodSpec:
    """The spec as the release reads it."""
    return pod_key_1_4(make_pod(**fields))[2]


def annotated(key: str, value: Any) -> PodSpec:
    return spec_of(annotations={key: value if isinstance(value, str) else json.dumps(value)})


AFFINITY: dict[str, Any] = {
    "node-affinity": (NODE_AFFINITY, Affinity(NodeAffinity((NodeSelectorTerm((DISK,)),)))),
    "keys-in-any-case-and-unknown-ones": (
        {"NODEAFFINITY": {REQUIRED.upper(): {"NodeSelectorTerms": []}}, "other": 1},
        Affinity(NodeAffinity(())),
    ),
    "pod-affinity": (
        {
            "podAffinity": {REQUIRED: [{"topologyKey": "zone", "namespaces": []}]},
            "podAntiAffinity": {PREFERRED: [{"weight": 3, "podAffinityTerm": {"labelSelector": {}}}]},
        },
        Affinity(
            pod_affinity=PodAffinity((PodAffinityTerm("zone", namespaces=()),)),
            pod_anti_affinity=PodAffinity(
                preferred=(WeightedPodAffinityTerm(3, PodAffinityTerm("", LabelSelector())),)
            ),
        ),
    ),
    "null": ("null", Affinity()),
    "null-member": ({"podAffinity": None}, Affinity()),
}


@pytest.mark.parametrize(("document", "affinity"), AFFINITY.values(), ids=AFFINITY)
def test_an_affinity_annotation(document: Any, affinity: Affinity) -> None:
    """It has the shape of today's field."""
    assert annotated(AFFINITY_ANNOTATION, document).affinity == affinity


def test_an_affinity_field_is_read_as_the_release_knows_it() -> None:
    """Without matchFields and namespaceSelector, and with values as a set; it counts before the annotation."""
    term = NodeSelectorTerm((Requirement("n", "Gt", ("5", "5")),), (Requirement("metadata.name", "In", ("a",)),))
    affinity = Affinity(
        NodeAffinity((term,), (PreferredSchedulingTerm(1, term),)),
        PodAffinity((PodAffinityTerm("zone", namespace_selector=LabelSelector(), match_label_keys=("a",)),)),
    )
    known = NodeSelectorTerm((Requirement("n", "Gt", ("5",)),))
    spec = spec_of(affinity=affinity, annotations={AFFINITY_ANNOTATION: json.dumps(NODE_AFFINITY)})
    assert spec.affinity == Affinity(
        NodeAffinity((known,), (PreferredSchedulingTerm(1, known),)), PodAffinity((PodAffinityTerm("zone"),))
    )


def test_tolerations_and_taints() -> None:
    """Both are lists; fields count before annotations."""
    document = [{"Key": "a", "operator": "Exists"}]
    assert annotated(TOLERATIONS_ANNOTATION, document).tolerations == (Toleration("a", "Exists"),)
    field = (Toleration("b"),)
    both = spec_of(tolerations=field, annotations={TOLERATIONS_ANNOTATION: json.dumps(document)})
    assert both.tolerations == field
    taints = {TAINTS_ANNOTATION: '[{"key":"a","value":"v","effect":"NoSchedule"}]'}
    assert node_1_4(make_node("n", annotations=taints)).taints == (Taint("a", "v", "NoSchedule"),)
    assert node_1_4(make_node("n", annotations=taints, taints=(Taint("b"),))).taints == (Taint("b"),)
    assert node_1_4(make_node("n", annotations={TAINTS_ANNOTATION: ""})).taints == ()


@pytest.mark.parametrize("text", ["{", "[]x", '{"podAffinity": 3}', '"x"'])
def test_a_malformed_affinity_is_none_at_all(text: str) -> None:
    """The error is kept beside it, and makes the pod another one than a pod without affinity."""
    spec = annotated(AFFINITY_ANNOTATION, text)
    assert affinity_error(spec)
    assert (spec.affinity.node_affinity, spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity) == (None,) * 3
    assert spec != spec_of() != spec_of(affinity=Affinity())


def test_malformed_tolerations_and_taints() -> None:
    """What stands for them tells the error."""
    assert tolerations_error(annotated(TOLERATIONS_ANNOTATION, "{}"))
    assert tolerations_error(annotated(TOLERATIONS_ANNOTATION, "[]")) is None
    assert taints_error(node_1_4(make_node("n", annotations={TAINTS_ANNOTATION: "x"})).taints)


INIT_CONTAINERS: dict[str, Any] = {
    "alpha": ({INIT_ANNOTATIONS[1]: '[{"name":"alpha"}]'}, ["alpha"]),
    "beta-wins": ({INIT_ANNOTATIONS[0]: '[{"name":"beta"}]', INIT_ANNOTATIONS[1]: '[{"name":"alpha"}]'}, ["beta"]),
    "none": ({}, []),
}


@pytest.mark.parametrize(("annotations", "names"), INIT_CONTAINERS.values(), ids=INIT_CONTAINERS)
def test_init_containers(annotations: dict[str, str], names: list[str]) -> None:
    """They are annotations; the field is taken as one."""
    assert [container.name for container in spec_of(annotations=annotations).init_containers] == names
    assert spec_of(init_containers=(Container("field"),)).init_containers == (Container("field"),)


def test_init_containers_have_requests() -> None:
    """They are read like others."""
    text = '[{"name":"i","resources":{"requests":{"cpu":"2"}}}]'
    assert annotated(INIT_ANNOTATIONS[0], text).init_containers == (Container("i", requests=resources(cpu=2000)),)


def test_malformed_init_containers_cannot_be_decoded() -> None:
    """The pod is no pod then."""
    with pytest.raises(DecodeError, match=r"Pod default/p: metadata\.annotations: init containers"):
        annotated(INIT_ANNOTATIONS[0], "{")


def test_what_the_release_does_not_know_makes_no_difference() -> None:
    """Priorities, spread constraints and the like are left out."""
    spread = (TopologySpreadConstraint(1, "zone", "DoNotSchedule"),)
    assert spec_of(priority=5, topology_spread_constraints=spread, overhead=resources(cpu=1)) == spec_of()


@pytest.mark.parametrize(
    ("fields", "unlisted"),
    [
        pytest.param({}, None, id="no-conditions"),
        pytest.param({"unschedulable": True}, True, id="cordoned"),
        pytest.param({"conditions": (NodeCondition("Ready", "True"),)}, None, id="ready"),
        pytest.param({"conditions": (NodeCondition("Ready", "Unknown"),)}, True, id="ready-unknown"),
        pytest.param({"conditions": (NodeCondition("OutOfDisk", "Unknown"),)}, True, id="out-of-disk-unknown"),
        pytest.param({"conditions": (NodeCondition("OutOfDisk", "False"),)}, None, id="not-out-of-disk"),
        pytest.param({"conditions": (NodeCondition("NetworkUnavailable", "True"),)}, True, id="no-network"),
        pytest.param({"conditions": (NodeCondition("DiskPressure", "True"),)}, None, id="pressure-is-for-predicates"),
    ],
)
def test_nodes_that_are_never_listed(fields: dict[str, Any], unlisted: bool | None) -> None:
    """Cordoned, not ready, out of disk or without network."""
    assert unlisted_1_4(make_node("n", **fields)) is unlisted


def test_pods_are_told_apart_by_name() -> None:
    """A pod without uid can be kept, another one of its name cannot."""
    cache = ClusterCache.of([make_node("n")], v1_4.VIEW)
    pod = make_pod(annotations={"x": "y"})
    assert name_key(pod) == "default/p"
    cache.assume_pod(pod, "n")
    assert pod in cache
    assert cache.is_assumed(make_pod())
    with pytest.raises(ClusterStateError, match="default/p"):
        cache.assume_pod(make_pod(label={"a": "b"}), "n")
    cache.forget_pod(pod)
    assert pod not in cache


def test_annotations_tell_pod_classes_apart() -> None:
    """Two pods are one class when the release reads the same in them, wherever it stands."""
    cache = ClusterCache.of([], v1_4.VIEW)
    plain, noted = make_pod(), make_pod(annotations={"other": "x"})
    tolerant = make_pod(annotations={TOLERATIONS_ANNOTATION: '[{"key":"a"}]'})
    assert cache.info(plain) is cache.info(noted)
    assert cache.info(tolerant) is cache.info(make_pod(tolerations=(Toleration("a"),)))
    assert cache.info(plain).labels == labels()
