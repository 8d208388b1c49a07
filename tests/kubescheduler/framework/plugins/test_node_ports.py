"""NodePorts."""

from __future__ import annotations

import pytest

from clusterstate.objects import Container, ContainerPort, Pod
from clusterstate.snapshot import PodChange
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.plugins.nodes import node_ports_1_20, node_ports_1_36
from tests.support.build import Cluster, make_node, make_pod
from tests.support.custom.extender_asking import HANDLE, check_of, refused

TEXT = "node(s) didn't have free ports for the requested pod ports"
OLD, NEW = node_ports_1_20(None, HANDLE), node_ports_1_36(None, HANDLE)


def container(port: int, policy: str | None = None, ip: str = "") -> Container:
    return Container(ports=(ContainerPort(port, ip),), restart_policy=policy)


def ordinary(name: str, port: int, node: str = "") -> Pod:
    return make_pod(name, node=node, containers=(container(port),))


def sidecar(name: str, port: int, node: str = "", policy: str | None = "Always") -> Pod:
    return make_pod(name, node=node, init_containers=(container(port, policy),))


@pytest.mark.parametrize("plugin", [OLD, NEW], ids=["1.20", "1.36"])
def test_a_port_in_use_refuses(plugin: ColumnPlugin) -> None:
    """Taking the pod away that holds it mends it."""
    cluster = Cluster([make_node("a"), make_node("b")], [ordinary("old", 80, "a")])
    assert refused(plugin, cluster, ordinary("p", 80)) == {TEXT: ["a"]}
    assert refused(plugin, cluster, ordinary("p", 81)) == {}
    assert not check_of(plugin).unresolvable(TEXT)
    assert not check_of(plugin).applies(cluster.info(make_pod()))


@pytest.mark.parametrize(
    ("pod", "held", "conflict"),
    [
        pytest.param(sidecar("p", 80), ordinary("old", 80, "a"), True, id="wanted"),
        pytest.param(ordinary("p", 80), sidecar("old", 80, "a"), True, id="held"),
        pytest.param(sidecar("p", 80), sidecar("old", 80, "a"), True, id="both"),
        pytest.param(sidecar("p", 80, policy=None), ordinary("old", 80, "a"), False, id="init-container-wanted"),
        pytest.param(ordinary("p", 80), sidecar("old", 80, "a", None), False, id="init-container-held"),
    ],
)
def test_sidecars_count_in_1_36(pod: Pod, held: Pod, conflict: bool) -> None:
    """And in 1.20 they do not."""
    cluster = Cluster([make_node("a")], [held])
    assert refused(NEW, cluster, pod) == ({TEXT: ["a"]} if conflict else {})
    assert refused(OLD, cluster, pod) == {}


def test_a_sidecar_that_goes_frees_its_port() -> None:
    """Also when it is only hypothetically removed, and until it is put back."""
    old = sidecar("old", 80, "a")
    cluster = Cluster([make_node("a")], [old])
    gone, back = (PodChange(0, cluster.info(old), sign, pod=old) for sign in (-1, 1))
    assert refused(NEW, cluster, ordinary("p", 80), cluster.snapshot.what_if([gone])) == {}
    assert refused(NEW, cluster, ordinary("p", 80), cluster.snapshot.what_if([gone, back])) == {TEXT: ["a"]}


def test_filter_needs_what_pre_filter_prepares() -> None:
    """Each release has its words."""
    assert OLD.filter_alone == 'error reading "PreFilterNodePorts" from cycleState: not found'
    assert NEW.filter_alone == 'reading "PreFilterNodePorts" from cycleState: not found'
