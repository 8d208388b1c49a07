"""What a node itself says: NodeName, NodeUnschedulable, TaintToleration, NodeLabel, NodePreferAvoidPods and others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from clusterstate.objects import Container, ContainerPort, OwnerReference, Pod, Taint, Toleration
from clusterstate.snapshot import PodChange
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.plugins.nodes import (
    NodeLabelArgs,
    node_declared_features_1_36,
    node_label_1_20,
    node_ports_1_20,
    node_ports_1_36,
    node_prefer_avoid_pods_1_20,
    taint_toleration_1_20,
    taint_toleration_1_36,
)
from predicates.node_identity import HOST_NETWORK_USERS, RESTART_ALL
from priorities.avoided_nodes import ANNOTATION
from tests.support.build import Cluster, make_node, make_pod
from tests.support.custom.extender_asking import HANDLE, check_of, refused, scores, scoring_of

NODES = [
    make_node("clean"),
    make_node("soft", taints=(Taint("s", "", "PreferNoSchedule"),)),
    make_node("kv", taints=(Taint("k", "v", "NoSchedule"),)),
    make_node("both", taints=(Taint("k", "v", "NoSchedule"), Taint("l", "", "NoExecute"))),
    make_node("l", taints=(Taint("s", "", "PreferNoSchedule"), Taint("l", "", "NoExecute"))),
]
OLD = taint_toleration_1_20(None, HANDLE)
NEW = taint_toleration_1_36(None, HANDLE)
KV = "node(s) had taint {k: v}, that the pod didn't tolerate"
L = "node(s) had taint {l: }, that the pod didn't tolerate"

CASES: dict[str, tuple[tuple[Toleration, ...], dict[str, list[str]]]] = {
    "none": ((), {KV: ["kv", "both"], L: ["l"]}),
    "first": ((Toleration("k", "Equal", "v"),), {L: ["both", "l"]}),
    "second": ((Toleration("l", "Exists", effect="NoExecute"),), {KV: ["kv", "both"]}),
    "other-value": ((Toleration("k", "Equal", "w"), Toleration("l", "Exists")), {KV: ["kv", "both"]}),
    "unknown-operator": ((Toleration("k", "Gt", "v"), Toleration("l", "Exists")), {KV: ["kv", "both"]}),
    "all": ((Toleration("", "Exists"),), {}),
}


@pytest.mark.parametrize(("tolerations", "expected"), CASES.values(), ids=CASES)
def test_the_first_taint_that_is_not_tolerated_counts(
    tolerations: tuple[Toleration, ...], expected: dict[str, list[str]]
) -> None:
    """1.20 names it, 1.36 does not; taking pods away does not mend it."""
    cluster, pod = Cluster(NODES), make_pod(tolerations=tolerations)
    assert refused(OLD, cluster, pod) == expected
    names = [node.name for node in NODES if any(node.name in names for names in expected.values())]
    text = "node(s) had untolerated taint(s)"
    assert refused(NEW, cluster, pod) == ({text: names} if names else {})
    assert check_of(OLD).unresolvable(KV)
    assert check_of(NEW).unresolvable(text)


def test_taints_that_went_away_leave_no_reason() -> None:
    """Only those of the nodes asked about."""
    cluster = Cluster(NODES[2:])
    cluster.columns.put_node(0, make_node("kv"))
    rule = check_of(OLD)
    assert [*rule.check(cluster.info(make_pod()), cluster.snapshot)] == [KV, L]
    cluster.columns.put_node(1, make_node("both"))
    assert [*rule.check(cluster.info(make_pod()), cluster.snapshot)] == [L]


@pytest.mark.parametrize("plugin", [OLD, NEW], ids=["1.20", "1.36"])
def test_fewer_soft_taints_are_better(plugin: ColumnPlugin) -> None:
    """The worst has 0; without any to mind all have 100."""
    soft = tuple(Taint(key, "", "PreferNoSchedule") for key in "ab")
    nodes = [
        make_node("two", taints=soft),
        make_node("one", taints=soft[:1]),
        make_node("none", taints=NODES[2].taints),
    ]
    cluster = Cluster(nodes)
    assert scores(plugin, cluster, make_pod()) == ([2, 1, 0], [0, 50, 100])
    assert scores(plugin, cluster, make_pod(), [2]) == ([0], [100])
    every = make_pod(tolerations=(Toleration("", "Exists", effect="PreferNoSchedule"),))
    assert scores(plugin, cluster, every) == ([0, 0, 0], [100, 100, 100])
    hard = make_pod(tolerations=(Toleration("", "Exists", effect="NoSchedule"),))
    assert scores(plugin, cluster, hard)[0] == [2, 1, 0]


def test_it_never_skips_and_does_not_score_unprepared() -> None:
    """Raw scores are told even of a pod that minds nothing."""
    cluster = Cluster(NODES)
    info = cluster.info(make_pod(tolerations=(Toleration("", "Exists"),)))
    assert scoring_of(NEW).pre_score(info, cluster.snapshot)
    assert scoring_of(NEW).constant(info) is None
    assert OLD.score_alone == 'error reading "PreScoreTaintToleration" from cycleState: not found'
    assert NEW.score_alone == 'failed to read "PreScoreTaintToleration" from cycleState: not found'


TEXT_OF_LABELS = "node(s) didn't have the requested labels"
CLUSTER_LABEL = Cluster([make_node("ab", {"a": "", "b": "x"}), make_node("a", {"a": "1"}), make_node("none")])


@pytest.mark.parametrize(
    ("present", "absent", "failing"),
    [
        pytest.param((), (), [], id="nothing"),
        pytest.param(("a",), (), ["none"], id="present"),
        pytest.param(("a", "b"), (), ["a", "none"], id="all-present"),
        pytest.param((), ("b",), ["ab"], id="absent"),
        pytest.param((), ("a", "b"), ["ab", "a"], id="all-absent"),
        pytest.param(("a",), ("b",), ["ab", "none"], id="both"),
    ],
)
def test_labels_must_be_there_or_not(present: tuple[str, ...], absent: tuple[str, ...], failing: list[str]) -> None:
    """Whatever their values; taking pods away does not mend it."""
    plugin = node_label_1_20(NodeLabelArgs(present, absent), HANDLE)
    assert refused(plugin, CLUSTER_LABEL, make_pod()) == ({TEXT_OF_LABELS: failing} if failing else {})
    assert check_of(plugin).unresolvable(TEXT_OF_LABELS)
    assert check_of(plugin).applies(CLUSTER_LABEL.info(make_pod())) == bool(present or absent)


@pytest.mark.parametrize(
    ("present", "absent", "expected"),
    [
        pytest.param(("a",), (), [100, 100, 0], id="present"),
        pytest.param((), ("b",), [0, 100, 100], id="absent"),
        pytest.param(("a", "b"), ("c",), [100, 66, 33], id="thirds-are-cut-off"),
        pytest.param((), (), [0, 0, 0], id="nothing"),
    ],
)
def test_preferences_that_are_met_count_alike(
    present: tuple[str, ...], absent: tuple[str, ...], expected: list[int]
) -> None:
    """The score is the share of them."""
    plugin = node_label_1_20(NodeLabelArgs((), (), present, absent), HANDLE)
    assert scores(plugin, CLUSTER_LABEL, make_pod()) == (expected, expected)


def test_a_label_may_be_wanted_and_preferred_absent() -> None:
    """Only within the requirements, or the preferences, it cannot be both."""
    node_label_1_20(NodeLabelArgs(("a",), (), (), ("a",)), HANDLE)


AVOIDS = '{"preferAvoidPods": [{"podSignature": {"podController": {"kind": "ReplicaSet", "uid": "u"}}}]}'
CLUSTER_NODE_PREFER_AVOID_PODS = Cluster(
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
    assert scores(plugin, CLUSTER_NODE_PREFER_AVOID_PODS, pod) == (expected, expected)


TEXT_OF_PORTS = "node(s) didn't have free ports for the requested pod ports"
OLD_PORTS, NEW_PORTS = node_ports_1_20(None, HANDLE), node_ports_1_36(None, HANDLE)


def container(port: int, policy: str | None = None, ip: str = "") -> Container:
    return Container(ports=(ContainerPort(port, ip),), restart_policy=policy)


def ordinary(name: str, port: int, node: str = "") -> Pod:
    return make_pod(name, node=node, containers=(container(port),))


def sidecar(name: str, port: int, node: str = "", policy: str | None = "Always") -> Pod:
    return make_pod(name, node=node, init_containers=(container(port, policy),))


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
    assert refused(NEW_PORTS, cluster, pod) == ({TEXT_OF_PORTS: ["a"]} if conflict else {})
    assert refused(OLD_PORTS, cluster, pod) == {}


def test_a_sidecar_that_goes_frees_its_port() -> None:
    """Also when it is only hypothetically removed, and until it is put back."""
    old = sidecar("old", 80, "a")
    cluster = Cluster([make_node("a")], [old])
    gone, back = (PodChange(0, cluster.info(old), sign, pod=old) for sign in (-1, 1))
    assert refused(NEW_PORTS, cluster, ordinary("p", 80), cluster.snapshot.what_if([gone])) == {}
    assert refused(NEW_PORTS, cluster, ordinary("p", 80), cluster.snapshot.what_if([gone, back])) == {
        TEXT_OF_PORTS: ["a"]
    }


def test_filter_needs_what_pre_filter_prepares() -> None:
    """Each release has its words."""
    assert OLD_PORTS.filter_alone == 'error reading "PreFilterNodePorts" from cycleState: not found'
    assert NEW_PORTS.filter_alone == 'reading "PreFilterNodePorts" from cycleState: not found'


TEXT_NODE_DECLARED_FEATURES = "node(s) didn't match Pod's required features"
CLUSTER_NODE_DECLARED_FEATURES = Cluster(
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
    assert refused(plugin, CLUSTER_NODE_DECLARED_FEATURES, make_pod(containers=RESTARTS)) == {
        TEXT_NODE_DECLARED_FEATURES: ["none"]
    }
    demanding = make_pod(containers=RESTARTS, host_network=True, host_users=False)
    assert refused(plugin, CLUSTER_NODE_DECLARED_FEATURES, demanding) == {TEXT_NODE_DECLARED_FEATURES: ["one", "none"]}
    assert check_of(plugin).unresolvable(TEXT_NODE_DECLARED_FEATURES)
    assert not check_of(plugin).applies(CLUSTER_NODE_DECLARED_FEATURES.info(make_pod()))
    assert plugin.filter_alone == 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'


def test_with_its_gate_off_it_does_nothing() -> None:
    """Neither does it need its PreFilter."""
    handle: Any = SimpleNamespace(feature_gates={"NodeDeclaredFeatures": False})
    plugin = node_declared_features_1_36(None, handle)
    assert refused(plugin, CLUSTER_NODE_DECLARED_FEATURES, make_pod(containers=RESTARTS)) == {}
    assert plugin.filter_alone is None
