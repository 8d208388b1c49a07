"""NodeDeclaredFeatures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from clusterstate.objects import Container
from kubescheduler.framework.plugins.nodes import node_declared_features_1_36
from predicates.node_identity import HOST_NETWORK_USERS, RESTART_ALL
from tests.support.build import Cluster, make_node, make_pod
from tests.support.custom.extender_asking import HANDLE, check_of, refused

TEXT = "node(s) didn't match Pod's required features"
CLUSTER = Cluster(
    [
        make_node("both", declared_features=(HOST_NETWORK_USERS, RESTART_ALL)),
        make_node("one", declared_features=("Other", RESTART_ALL)),
        make_node("none"),
    ]
)
RESTARTS = (Container("c", restart_rule_actions=("RestartAllContainers",)),)


def test_nodes_must_declare_all_that_is_needed() -> None:
    """Taking pods away does not mend it; most pods need nothing and are skipped."""
    plugin = node_declared_features_1_36(None, HANDLE)
    assert refused(plugin, CLUSTER, make_pod(containers=RESTARTS)) == {TEXT: ["none"]}
    demanding = make_pod(containers=RESTARTS, host_network=True, host_users=False)
    assert refused(plugin, CLUSTER, demanding) == {TEXT: ["one", "none"]}
    assert check_of(plugin).unresolvable(TEXT)
    assert not check_of(plugin).applies(CLUSTER.info(make_pod()))
    assert plugin.filter_alone == 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'


def test_with_its_gate_off_it_does_nothing() -> None:
    """Neither does it need its PreFilter."""
    handle: Any = SimpleNamespace(feature_gates={"NodeDeclaredFeatures": False})
    plugin = node_declared_features_1_36(None, handle)
    assert refused(plugin, CLUSTER, make_pod(containers=RESTARTS)) == {}
    assert plugin.filter_alone is None
