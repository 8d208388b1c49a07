"""TaintTolerationPriority and NodePreferAvoidPods."""

from __future__ import annotations

import pytest

from clusterstate.objects import Node, OwnerReference, Taint, Toleration
from priorities.avoided_nodes import ANNOTATION, PREFER_AVOID, TAINT_TOLERATION, parse_avoided
from priorities.types import PriorityArgs
from tests.support.build import Cluster, make_node, make_pod

PRIORITY = TAINT_TOLERATION["TaintTolerationPriority"].make(PriorityArgs())


def soft(key: str, value: str = "") -> Taint:
    return Taint(key, value, "PreferNoSchedule")


NODES = [
    make_node("clean"),
    make_node("hard", taints=(Taint("a", "", "NoSchedule"), Taint("a", "", "NoExecute"))),
    make_node("one", taints=(soft("a", "1"),)),
    make_node("three", taints=(soft("a", "1"), soft("b"), soft("c", "3"))),
]

# tolerations, mapped, reduced
CASES = {
    "none": ((), [0, 0, 1, 3], [10, 10, 7, 0]),
    "equal": ((Toleration("a", "Equal", "1"),), [0, 0, 0, 2], [10, 10, 10, 0]),
    "other-value": ((Toleration("a", "Equal", "2"),), [0, 0, 1, 3], [10, 10, 7, 0]),
    "exists": ((Toleration("a", "Exists"), Toleration("c", "Exists")), [0, 0, 0, 1], [10, 10, 10, 0]),
    "of-this-effect": ((Toleration("a", "Exists", effect="PreferNoSchedule"),), [0, 0, 0, 2], [10, 10, 10, 0]),
    "of-another-effect": ((Toleration("", "Exists", effect="NoSchedule"),), [0, 0, 1, 3], [10, 10, 7, 0]),
    "blank-tolerates-empty-values": ((Toleration(),), [0, 0, 1, 2], [10, 10, 5, 0]),
    "everything": ((Toleration("", "Exists"),), [0, 0, 0, 0], [10, 10, 10, 10]),
}


@pytest.mark.parametrize(("tolerations", "mapped", "reduced"), CASES.values(), ids=CASES)
def test_untolerated_soft_taints_cost(
    tolerations: tuple[Toleration, ...], mapped: list[int], reduced: list[int]
) -> None:
    """The node with the most of them has 0, one without any 10."""
    cluster = Cluster(NODES)
    pod = cluster.info(make_pod(tolerations=tolerations))
    raw = PRIORITY.map(pod, cluster.snapshot)
    assert raw.tolist() == mapped
    assert PRIORITY.reduce is not None
    assert PRIORITY.reduce(pod, cluster.snapshot, raw).tolist() == reduced


PRIORITY_PREFER_AVOID = PREFER_AVOID["NodePreferAvoidPodsPriority"].make(PriorityArgs())
ENTRY = '{"podSignature": {"podController": {"kind": "ReplicaSet", "uid": "u1"}}}'
AVOIDED = f'{{"preferAvoidPods": [{ENTRY}]}}'


def annotated(name: str, text: str) -> Node:
    return make_node(name, annotations={ANNOTATION: text})


NODES_PREFER_AVOID = [
    make_node("free"),
    annotated("avoiding", AVOIDED),
    annotated("broken", "{"),
    annotated("empty", ""),
]

OWNERS = {
    "avoided": (OwnerReference("ReplicaSet", "web", "u1", True), [10, 0, 10, 10]),
    "other-uid": (OwnerReference("ReplicaSet", "web", "u2", True), [10, 10, 10, 10]),
    "other-kind": (OwnerReference("ReplicationController", "web", "u1", True), [10, 10, 10, 10]),
}


@pytest.mark.parametrize(("owner", "scores"), OWNERS.values(), ids=OWNERS)
def test_a_node_is_avoided_by_kind_and_uid(owner: OwnerReference, scores: list[int]) -> None:
    """Both have to be equal; a broken or empty annotation avoids nobody."""
    cluster = Cluster(NODES_PREFER_AVOID)
    pod = cluster.info(make_pod(owners=(owner,)))
    assert PRIORITY_PREFER_AVOID.constant(pod) is None
    assert PRIORITY_PREFER_AVOID.map(pod, cluster.snapshot).tolist() == scores


UNAVOIDABLE = {
    "no-owner": (),
    "no-controller": (OwnerReference("ReplicaSet", "web", "u1"),),
    "another-kind": (OwnerReference("StatefulSet", "web", "u1", True),),
    "first-controller-counts": (
        OwnerReference("Job", "web", "u0", True),
        OwnerReference("ReplicaSet", "web", "u1", True),
    ),
}


@pytest.mark.parametrize("owners", UNAVOIDABLE.values(), ids=UNAVOIDABLE)
def test_pods_of_other_controllers_score_10_everywhere(owners: tuple[OwnerReference, ...]) -> None:
    """Only replication controllers and replica sets can be avoided."""
    cluster = Cluster([annotated("n", AVOIDED.replace("ReplicaSet", "StatefulSet"))])
    pod = cluster.info(make_pod(owners=owners))
    assert PRIORITY_PREFER_AVOID.constant(pod) == 10
    assert PRIORITY_PREFER_AVOID.map(pod, cluster.snapshot).tolist() == [10]


WEB = ("ReplicaSet", "u1")
ANNOTATIONS = {
    "plain": (AVOIDED, {WEB}),
    "keys-in-any-case": (AVOIDED.replace("kind", "KIND").replace("podSignature", "PodſIGNATURE"), {WEB}),
    "values-in-their-own-case": (AVOIDED.replace("ReplicaSet", "replicaset"), {("replicaset", "u1")}),
    "unknown-keys": (AVOIDED.replace('"uid"', '"color": [1], "uid"'), {WEB}),
    "last-of-two-keys": (AVOIDED.replace('"uid"', '"UID": "u0", "uid"'), {WEB}),
    "null-changes-nothing": (AVOIDED.replace('"u1"', '"u1", "UID": null'), {WEB}),
    "two": (AVOIDED.replace("}]", f"}}, {ENTRY.replace('u1', 'u2')}]"), {WEB, ("ReplicaSet", "u2")}),
    "missing-uid-is-empty": ('{"preferAvoidPods":[{"podSignature":{"podController":{"kind":"a"}}}]}', {("a", "")}),
    "entry-without-controller": (f'{{"preferAvoidPods": [{{}}, null, {{"podSignature": null}}, {ENTRY}]}}', {WEB}),
    "times": (AVOIDED.replace("}]", ', "evictionTime": "2020-01-01T00:00:00Z"}]'), {WEB}),
    "null": ("null", set()),
    "nothing": ("{}", set()),
    "null-list": ('{"preferAvoidPods": null}', set()),
    "not-json": ("{preferAvoidPods}", set()),
    "too-deep": ("[" * 100_000, set()),
    "not-an-object": ("[]", set()),
    "not-a-list": ('{"preferAvoidPods": {}}', set()),
    "number-as-uid": (AVOIDED.replace('"u1"', "1"), set()),
    "one-wrong-type-spoils-all": (AVOIDED.replace("}]", "}, 7]"), set()),
    "wrong-type-of-an-unused-key": (AVOIDED.replace('"uid"', '"controller": "yes", "uid"'), set()),
    "bad-time": (AVOIDED.replace("}]", ', "evictionTime": "tomorrow"}]'), set()),
    "no-such-day": (AVOIDED.replace("}]", ', "evictionTime": "2020-02-30T00:00:00Z"}]'), set()),
}


@pytest.mark.parametrize(("text", "controllers"), ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_the_annotation_is_read_as_go_reads_json(text: str, controllers: set[tuple[str, str]]) -> None:
    """Keys match in any case, types must be right, whatever cannot be read avoids nobody."""
    assert parse_avoided(text) == controllers


def test_its_weight_beats_all_others() -> None:
    """Nobody who names no weight gets another than 10000."""
    assert PREFER_AVOID["NodePreferAvoidPodsPriority"].weight == 10000
