"""NodeUnschedulable."""

from __future__ import annotations

import pytest

from clusterstate.objects import Toleration
from kubescheduler.framework.plugins.nodes import node_unschedulable
from tests.support.build import Cluster, make_node, make_pod
from tests.support.custom.extender_asking import HANDLE, check_of, refused

TEXT = "node(s) were unschedulable"
KEY = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("tolerations", "kept_off"),
    [
        pytest.param((), True, id="none"),
        pytest.param((Toleration(KEY, "Exists", effect="NoSchedule"),), False, id="exists"),
        pytest.param((Toleration(KEY, "Equal", "", "NoSchedule"),), False, id="empty-value"),
        pytest.param((Toleration(KEY, "Equal", "x", "NoSchedule"),), True, id="other-value"),
        pytest.param((Toleration(KEY, "Exists", effect="NoExecute"),), True, id="other-effect"),
        pytest.param((Toleration("", "Exists"),), False, id="everything"),
    ],
)
def test_cordoned_nodes_take_pods_that_tolerate_it(tolerations: tuple[Toleration, ...], kept_off: bool) -> None:
    """The taint of a cordoned node is what the pod has to tolerate; taking pods away does not mend it."""
    cluster = Cluster([make_node("open"), make_node("cordoned", unschedulable=True)])
    plugin = node_unschedulable(None, HANDLE)
    expected = {TEXT: ["cordoned"]} if kept_off else {}
    assert refused(plugin, cluster, make_pod(tolerations=tolerations)) == expected
    assert check_of(plugin).unresolvable(TEXT)
