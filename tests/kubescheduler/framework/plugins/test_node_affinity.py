"""NodeAffinity."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.errors import ConfigError
from clusterstate.objects import Affinity, NodeAffinity, NodeSelectorTerm, PreferredSchedulingTerm, Requirement
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.node_affinity import (
    AddedAffinity,
    NodeAffinityArgs,
    node_affinity_1_20,
    node_affinity_1_24,
    node_affinity_1_27,
    node_affinity_1_36,
)
from predicates.types import GO_ON, PreFiltered
from priorities.types import PriorityError
from tests.support.build import Cluster, labels, make_node, make_pod
from tests.support.custom.extender_asking import HANDLE, check_of, refused, scores, scoring_of
from tests.support.name_rules import VALUE_RULE

CLUSTER = Cluster(
    [make_node("both", {"disk": "ssd", "gen": "2"}), make_node("second", {"gen": "2"}), make_node("none")]
)
SSD = NodeSelectorTerm((Requirement("disk", "In", ("ssd",)),))
GEN = NodeSelectorTerm((Requirement("gen", "Gt", ("1",)),))
BAD = NodeSelectorTerm((Requirement("gen", "Gt", ("-1",)),))

ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
OLD_TEXT = "node(s) didn't match Pod's node affinity"
NEW_TEXT = "node(s) didn't match Pod's node affinity/selector"


def args(required: tuple[NodeSelectorTerm, ...] | None = None, *preferred: PreferredSchedulingTerm) -> NodeAffinityArgs:
    return NodeAffinityArgs(AddedAffinity(required, preferred))


def requiring(*terms: NodeSelectorTerm) -> Affinity:
    return Affinity(NodeAffinity(required=terms))


def preferring(*terms: tuple[int, NodeSelectorTerm]) -> Affinity:
    return Affinity(NodeAffinity(preferred=tuple(PreferredSchedulingTerm(*term) for term in terms)))


OLD, NEW = node_affinity_1_20(None, HANDLE), node_affinity_1_36(None, HANDLE)
RELEASES = pytest.mark.parametrize("plugin", [OLD, NEW], ids=["1.20", "1.36"])

# --- Filter --------------------------------------------------------------------------------

CASES: dict[str, tuple[tuple[NodeSelectorTerm, ...] | None, dict[str, Any], list[str], list[str]]] = {
    "nothing": (None, {}, [], []),
    "selector": (None, {"node_selector": labels({"gen": "2"})}, [], ["none"]),
    "affinity": (None, {"affinity": requiring(SSD)}, [], ["second", "none"]),
    "cannot-be-parsed": (None, {"affinity": requiring(BAD)}, [], ["both", "second", "none"]),
    "added": ((GEN,), {}, ["none"], []),
    "added-without-terms": ((), {}, ["both", "second", "none"], []),
    "added-with-an-empty-term": ((NodeSelectorTerm(),), {}, ["both", "second", "none"], []),
    "added-comes-first": ((GEN,), {"affinity": requiring(SSD)}, ["none"], ["second"]),
}


@pytest.mark.parametrize(("added", "fields", "enforced", "own"), CASES.values(), ids=CASES)
def test_the_scheduler_and_the_pod_both_require(
    added: tuple[NodeSelectorTerm, ...] | None, fields: dict[str, Any], enforced: list[str], own: list[str]
) -> None:
    """One reason for each node; taking pods away does not mend it."""
    pod = make_pod(**fields)
    for make, text in ((node_affinity_1_20, OLD_TEXT), (node_affinity_1_36, NEW_TEXT)):
        plugin = make(args(added), HANDLE)
        expected = {ENFORCED: enforced, text: own}
        assert refused(plugin, CLUSTER, pod) == {reason: names for reason, names in expected.items() if names}
        assert check_of(plugin).unresolvable(text)


# --- PreFilter -----------------------------------------------------------------------------


def named(*names: str, operator: str = "In", key: str = "metadata.name") -> Requirement:
    return Requirement(key, operator, names)


A, B, ZONE = named("a"), named("b"), Requirement("zone", "Exists")
PRE_FILTER: dict[str, tuple[Affinity | None, PreFiltered]] = {
    "no-affinity": (None, GO_ON),
    "no-terms": (requiring(), GO_ON),
    "labels-only": (requiring(SSD), GO_ON),
    "one-name": (requiring(NodeSelectorTerm((), (A,))), PreFiltered(nodes=frozenset("a"))),
    "labels-beside-it": (requiring(NodeSelectorTerm((ZONE,), (A,))), PreFiltered(nodes=frozenset("a"))),
    "union-of-terms": (
        requiring(NodeSelectorTerm((), (A,)), NodeSelectorTerm((), (B,))),
        PreFiltered(nodes=frozenset("ab")),
    ),
    "some-term-names-none": (requiring(NodeSelectorTerm((), (A,)), SSD), GO_ON),
    "not-in": (requiring(NodeSelectorTerm((), (named("a", operator="NotIn"),))), GO_ON),
    "another-field": (requiring(NodeSelectorTerm((), (named("a", key="spec.x"),))), GO_ON),
    "intersection-in-a-term": (
        requiring(NodeSelectorTerm((), (named("a", "b"), named("b", "c")))),
        PreFiltered(nodes=frozenset("b")),
    ),
    "contradiction": (requiring(NodeSelectorTerm((), (A, B))), PreFiltered(reasons=("pod affinity terms conflict",))),
    "contradiction-in-one-of-two": (
        requiring(NodeSelectorTerm((), (A, B)), NodeSelectorTerm((), (B,))),
        PreFiltered(nodes=frozenset("b")),
    ),
}


@pytest.mark.parametrize(("affinity", "expected"), PRE_FILTER.values(), ids=PRE_FILTER)
def test_names_in_every_term_narrow_the_nodes(affinity: Affinity | None, expected: PreFiltered) -> None:
    """1.36 looks at those nodes only, or at none at all."""
    rule = check_of(NEW)
    assert rule.pre_filter is not None
    assert rule.pre_filter(CLUSTER.info(make_pod(affinity=affinity)), CLUSTER.snapshot) == expected
    assert all(map(rule.unresolvable, expected.reasons))


def test_where_each_release_takes_part() -> None:
    """1.36 skips a pod that asks for nothing."""
    assert OLD.points == {Point.FILTER, Point.SCORE}
    assert NEW.points == {Point.PRE_FILTER, Point.FILTER, Point.PRE_SCORE, Point.SCORE}
    assert check_of(OLD).pre_filter is None
    assert not check_of(NEW).applies(CLUSTER.info(make_pod()))
    assert check_of(node_affinity_1_36(args((GEN,)), HANDLE)).applies(CLUSTER.info(make_pod()))
    assert (NEW.filter_alone, NEW.score_alone, OLD.score_alone) == (None, None, None)


# --- Score ---------------------------------------------------------------------------------


@RELEASES
def test_weights_of_preferred_terms_add_up(plugin: ColumnPlugin) -> None:
    """The best node has 100."""
    pod = make_pod(affinity=preferring((10, SSD), (5, GEN), (7, NodeSelectorTerm()), (0, BAD)))
    assert scores(plugin, CLUSTER, pod) == ([15, 5, 0], [100, 33, 0])
    assert scores(plugin, CLUSTER, pod, [2]) == ([0], [0])


def test_the_scheduler_prefers_too() -> None:
    """Its terms count as the pod's do."""
    pod = make_pod(affinity=preferring((5, GEN)))
    for make in (node_affinity_1_20, node_affinity_1_36):
        plugin = make(args(None, PreferredSchedulingTerm(10, SSD)), HANDLE)
        assert scores(plugin, CLUSTER, pod) == ([15, 5, 0], [100, 33, 0])
        assert scores(plugin, CLUSTER, make_pod()) == ([10, 0, 0], [100, 0, 0])
        assert scoring_of(plugin).pre_score(CLUSTER.info(make_pod()), CLUSTER.snapshot)


PREPARED: dict[str, tuple[Affinity | None, bool]] = {
    "no-affinity": (None, False),
    "required-only": (requiring(SSD), False),
    "preferred": (preferring((5, GEN)), True),
    "without-weight": (preferring((0, GEN)), True),
    "empty-term": (preferring((5, NodeSelectorTerm())), True),
}


@pytest.mark.parametrize(("affinity", "goes_on"), PREPARED.values(), ids=PREPARED)
def test_a_pod_without_preferences_is_skipped(affinity: Affinity | None, goes_on: bool) -> None:
    """In 1.36; a preference that counts for nothing is one all the same."""
    info = CLUSTER.info(make_pod(affinity=affinity))
    assert scoring_of(NEW).pre_score(info, CLUSTER.snapshot) == goes_on
    assert scoring_of(OLD).pre_score(info, CLUSTER.snapshot)


def test_a_preference_that_cannot_be_parsed_is_an_error() -> None:
    """In 1.20 when nodes are scored, in 1.36 before that, or then if nothing was prepared."""
    info = CLUSTER.info(make_pod(affinity=preferring((10, SSD), (1, BAD))))
    with pytest.raises(PriorityError) as old:
        scoring_of(OLD).map(info, CLUSTER.snapshot)
    assert str(old.value) == f'invalid label value: "-1": at key: "gen": {VALUE_RULE}'
    text = f'[1].matchExpressions[0].values[0][gen]: Invalid value: "-1": {VALUE_RULE}'
    for ask in (scoring_of(NEW).pre_score, scoring_of(NEW).map):
        with pytest.raises(PriorityError) as new:
            ask(info, CLUSTER.snapshot)
        assert str(new.value) == text


# --- args ----------------------------------------------------------------------------------

GO_BAD = (
    'v1.NodeSelectorTerm{MatchExpressions:[]v1.NodeSelectorRequirement{v1.NodeSelectorRequirement{Key:"gen", '
    'Operator:"Gt", Values:[]string{"-1"}}}, MatchFields:[]v1.NodeSelectorRequirement(nil)}'
)
OLD_FAULT = f'invalid label value: "-1": at key: "gen": {VALUE_RULE}'
NEW_FAULT = f'matchExpressions[0].values[0][gen]: Invalid value: "-1": {VALUE_RULE}'
REQUIRED = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
FAULTS: dict[str, tuple[NodeAffinityArgs, str, str]] = {
    "required": (
        args((SSD, BAD)),
        f"{REQUIRED}: Invalid value: v1.NodeSelector{{NodeSelectorTerms:[]v1.NodeSelectorTerm{{"
        'v1.NodeSelectorTerm{MatchExpressions:[]v1.NodeSelectorRequirement{v1.NodeSelectorRequirement{Key:"disk", '
        'Operator:"In", Values:[]string{"ssd"}}}, MatchFields:[]v1.NodeSelectorRequirement(nil)}, '
        f"{GO_BAD}}}}}: {OLD_FAULT}",
        f"{REQUIRED}.nodeSelectorTerms[1].{NEW_FAULT}",
    ),
    "preferred": (
        args(None, PreferredSchedulingTerm(3, BAD)),
        f"{PREFERRED}: Invalid value: []v1.PreferredSchedulingTerm{{v1.PreferredSchedulingTerm{{Weight:3, "
        f"Preference:{GO_BAD}}}}}: {OLD_FAULT}",
        f"{PREFERRED}[0].{NEW_FAULT}",
    ),
}


@pytest.mark.parametrize(("given", "old", "new"), FAULTS.values(), ids=FAULTS)
def test_added_terms_that_cannot_be_parsed_are_refused(given: NodeAffinityArgs, old: str, new: str) -> None:
    """When the plugin is made."""
    for make, text in ((node_affinity_1_20, old), (node_affinity_1_36, new)):
        with pytest.raises(ConfigError) as refusal:
            make(given, HANDLE)
        assert refusal.value.problems == (text,)


def test_both_faults_are_told_at_once() -> None:
    """In brackets."""
    with pytest.raises(ConfigError) as refusal:
        node_affinity_1_36(args((BAD,), PreferredSchedulingTerm(3, BAD)), HANDLE)
    text = f"[{REQUIRED}.nodeSelectorTerms[0].{NEW_FAULT}, {PREFERRED}[0].{NEW_FAULT}]"
    assert refusal.value.problems == (text,)


@pytest.mark.parametrize(
    ("factory", "expected"),
    [
        (node_affinity_1_24, PreFiltered(reasons=("pod affinity terms conflict",))),
        (node_affinity_1_27, PreFiltered(nodes=frozenset({"b"}))),
    ],
)
def test_a_term_that_contradicts_itself_before_1_30(factory: Any, expected: PreFiltered) -> None:
    """It refuses the pod up to 1.26, later it names no node; nobody is skipped."""
    name = Requirement("metadata.name", "In", ("a",))
    other = Requirement("metadata.name", "In", ("b",))
    terms = (NodeSelectorTerm(match_fields=(name, other)), NodeSelectorTerm(match_fields=(other,)))
    cluster = Cluster([make_node("a"), make_node("b")])
    plugin = factory(None, HANDLE)
    pod = cluster.info(make_pod(affinity=Affinity(NodeAffinity(required=terms))))
    assert plugin.check.pre_filter(pod, cluster.snapshot) == expected
    assert plugin.scoring.pre_score(pod, cluster.snapshot)
