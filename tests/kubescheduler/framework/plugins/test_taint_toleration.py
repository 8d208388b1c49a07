"""TaintToleration."""

from __future__ import annotations

import pytest

from clusterstate.objects import Taint, Toleration
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.plugins.nodes import taint_toleration_1_20, taint_toleration_1_36
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
