"""PodToleratesNodeTaints, its NoExecute variant and CheckNodeUnschedulable."""

from __future__ import annotations

import pytest

from clusterstate.objects import Taint, Toleration
from predicates.taints import (
    TAINTS,
    check_node_unschedulable,
    pod_tolerates_node_no_execute_taints,
    pod_tolerates_node_taints,
)
from predicates.types import PredicateArgs
from tests.support.build import Cluster, make_node, make_pod, names_where

NODES = [
    make_node("clean"),
    make_node("soft", taints=(Taint("gpu", "yes", "PreferNoSchedule"),)),
    make_node("odd", taints=(Taint("gpu", "yes", "Whatever"),)),
    make_node("gpu", taints=(Taint("gpu", "yes", "NoSchedule"),)),
    make_node("evict", taints=(Taint("gpu", "yes", "NoExecute"),)),
    make_node("empty", taints=(Taint("spot", "", "NoSchedule"),)),
    make_node("both", taints=(Taint("gpu", "yes", "NoSchedule"), Taint("spot", "", "NoSchedule"))),
]
HARD = ["gpu", "evict", "empty", "both"]

TOLERATIONS = {
    "none": ((), HARD),
    "equal": ((Toleration("gpu", "Equal", "yes"),), ["empty", "both"]),
    "no-operator": ((Toleration("gpu", "", "yes"),), ["empty", "both"]),
    "other-value": ((Toleration("gpu", "Equal", "no"),), HARD),
    "exists": ((Toleration("gpu", "Exists"),), ["empty", "both"]),
    "one-effect": ((Toleration("gpu", "Exists", effect="NoSchedule"),), ["evict", "empty", "both"]),
    "two": ((Toleration("gpu", "Exists"), Toleration("spot", "Exists")), []),
    "empty-key-exists": ((Toleration("", "Exists"),), []),
    "blank-tolerates-empty-values": ((Toleration(),), ["gpu", "evict", "both"]),
    "unknown-operator": ((Toleration("gpu", "Near", "yes"),), HARD),
}


@pytest.mark.parametrize(("tolerations", "failing"), TOLERATIONS.values(), ids=TOLERATIONS)
def test_every_hard_taint_needs_a_toleration(tolerations: tuple[Toleration, ...], failing: list[str]) -> None:
    """NoSchedule and NoExecute count, PreferNoSchedule and unknown effects do not."""
    cluster = Cluster(NODES)
    verdict = pod_tolerates_node_taints(cluster.info(make_pod(tolerations=tolerations)), cluster.snapshot)
    assert list(verdict) == ["node(s) had taints that the pod didn't tolerate"]
    assert names_where(cluster.snapshot, *verdict.values()) == failing


def test_the_no_execute_variant_minds_no_execute_only() -> None:
    """Other effects do not keep the pod off."""
    cluster = Cluster(NODES)
    verdict = pod_tolerates_node_no_execute_taints(cluster.info(make_pod()), cluster.snapshot)
    assert names_where(cluster.snapshot, *verdict.values()) == ["evict"]


@pytest.mark.parametrize(
    ("toleration", "applies"),
    [
        pytest.param(Toleration("", "Exists"), False, id="everything"),
        pytest.param(Toleration("", "Exists", effect="NoSchedule"), True, id="one-effect"),
        pytest.param(Toleration("gpu", "Exists"), True, id="one-key"),
        pytest.param(Toleration(), True, id="empty-values-only"),
    ],
)
def test_only_a_toleration_of_everything_spares_the_check(toleration: Toleration, applies: bool) -> None:
    """The rule is skipped for pods that no taint can keep off."""
    pod = Cluster().info(make_pod(tolerations=(toleration,)))
    for name in ("PodToleratesNodeTaints", "PodToleratesNodeNoExecuteTaints"):
        assert TAINTS[name](PredicateArgs()).applies(pod) is applies


CORDON = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("toleration", "failing"),
    [
        pytest.param(None, ["cordoned"], id="none"),
        pytest.param(Toleration(CORDON, "Exists"), [], id="exists"),
        pytest.param(Toleration(CORDON, "", "", "NoSchedule"), [], id="equal"),
        pytest.param(Toleration(CORDON, "Exists", effect="NoExecute"), ["cordoned"], id="other-effect"),
        pytest.param(Toleration(CORDON, "Equal", "x"), ["cordoned"], id="other-value"),
        pytest.param(Toleration("", "Exists"), [], id="everything"),
    ],
)
def test_cordoned_nodes_need_a_toleration_of_their_taint(toleration: Toleration | None, failing: list[str]) -> None:
    """spec.unschedulable counts as that taint whether or not the node carries it."""
    cluster = Cluster([make_node("open"), make_node("cordoned", unschedulable=True)])
    pod = cluster.info(make_pod(tolerations=(toleration,) if toleration else ()))
    verdict = check_node_unschedulable(pod, cluster.snapshot)
    assert set(verdict) <= {"node(s) were unschedulable"}
    assert [name for mask in verdict.values() for name in names_where(cluster.snapshot, mask)] == failing
    assert TAINTS["CheckNodeUnschedulable"](PredicateArgs()).applies(pod) is bool(failing)
