"""NodePreferAvoidPods."""

from __future__ import annotations

import pytest

from clusterstate.objects import OwnerReference
from kubescheduler.framework.plugins.nodes import node_prefer_avoid_pods_1_20
from priorities.avoided_nodes import ANNOTATION
from tests.support.build import Cluster, make_node, make_pod
from tests.support.custom.extender_asking import HANDLE, scores

AVOIDS = '{"preferAvoidPods": [{"podSignature": {"podController": {"kind": "ReplicaSet", "uid": "u"}}}]}'
CLUSTER = Cluster(
    [make_node("plain"), make_node("avoids", None, {ANNOTATION: AVOIDS}), make_node("odd", None, {ANNOTATION: "{"})]
)


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        pytest.param(None, [100, 100, 100], id="no-owner"),
        pytest.param(OwnerReference("ReplicaSet", "r", "u", True), [100, 0, 100], id="avoided"),
        pytest.param(OwnerReference("ReplicaSet", "r", "u"), [100, 100, 100], id="not-its-controller"),
        pytest.param(OwnerReference("ReplicaSet", "r", "v", True), [100, 100, 100], id="another"),
        pytest.param(OwnerReference("ReplicationController", "r", "u", True), [100, 100, 100], id="another-kind"),
        pytest.param(OwnerReference("Job", "r", "u", True), [100, 100, 100], id="a-kind-that-is-not-avoided"),
    ],
)
def test_nodes_are_avoided_by_the_controllers_they_name(owner: OwnerReference | None, expected: list[int]) -> None:
    """An annotation that cannot be read names none."""
    plugin = node_prefer_avoid_pods_1_20(None, HANDLE)
    pod = make_pod(owners=() if owner is None else (owner,))
    assert scores(plugin, CLUSTER, pod) == (expected, expected)
