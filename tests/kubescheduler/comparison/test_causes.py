"""Every cause, by the smallest pair of schedulers that shows it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clusterstate.objects import (
    Affinity,
    ClaimVolume,
    ClusterObject,
    LabelSelector,
    ObjectMeta,
    PersistentVolumeClaim,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    Service,
    StorageClass,
    Taint,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from kubescheduler.comparison.causes import AS_IF_PASSED, CauseFacts, cause_sentence
from kubescheduler.comparison.comparing import compare
from kubescheduler.comparison.outcomes import Cause, Contribution, Step
from kubescheduler.engine.spec import EngineSpec
from tests.support.build import cache_of, labels
from tests.support.comparisons import GIB, LEAST, MOST, Policies, change, node, pod

TWO = [node("n1"), node("n2")]
USED: list[ClusterObject] = [*TWO, pod("there", 100, on="n1")]
"""The first node is a little fuller, less than scores of 0-10 show."""
FULLER: list[ClusterObject] = [*TWO, pod("there", 2000, 4 * GIB, on="n1")]


@pytest.fixture
def policies(tmp_path: Path) -> Policies:
    return Policies(tmp_path)


def test_score_resolution(policies: Policies) -> None:
    """Rounding to 0-10 put one node ahead, 0-100 the other."""
    cluster: list[ClusterObject] = [*TWO, pod("low", 500, 25 << 28, on="n1"), pod("high", 3300, 21 << 28, on="n2")]
    old, new = (
        policies.policy(release, LeastRequestedPriority=2, BalancedResourceAllocation=1) for release in ("1.16", "1.20")
    )
    found = change(cluster, old, new)
    assert found.cause is Cause.SCORE_RESOLUTION
    assert [(step.cause, step.by, step.lead) for step in found.steps] == [(Cause.SCORE_RESOLUTION, 16, 6)]
    assert found.text == (
        "n1 was 1 behind and is 6 ahead against n2: scores are rounded differently "
        "(LeastRequestedPriority -> NodeResourcesLeastAllocated)"
    )


def test_a_node_that_could_have_been_taken(policies: Policies) -> None:
    """What 0-10 makes equal, 0-100 tells apart: the old release took either, so it is no move."""
    found = change(USED, policies.policy(LeastRequestedPriority=1), policies.policy("1.20", LeastRequestedPriority=1))
    assert found.cause is Cause.COULD_HAVE_BEEN
    assert not found.moved
    assert found.text == (
        "n2 was level and is 2 ahead against n1 (the old scheduler takes any of 2 equal nodes, this one too): "
        "scores are rounded differently (LeastRequestedPriority -> NodeResourcesLeastAllocated)"
    )
    assert (found.old_difference, found.new_difference) == (0, 2)
    part = found.contributions[0]
    assert (part.old_name, part.new_name) == (LEAST, "NodeResourcesLeastAllocated")
    assert [(step.cause, step.by, step.lead) for step in found.steps] == [(Cause.SCORE_RESOLUTION, 2, 2)]


def test_resolution_comes_last_on_the_way_back(policies: Policies) -> None:
    """From 0-100 to 0-10 the last step rounds."""
    fine, coarse = policies.policy("1.20", LeastRequestedPriority=1), policies.policy(LeastRequestedPriority=1)
    found = change(USED, fine, coarse)
    assert found.cause is Cause.TIE_BREAK
    assert [(step.cause, step.lead) for step in found.steps] == [(Cause.SCORE_RESOLUTION, 0)]


def test_changed_weight(policies: Policies) -> None:
    """The formulas are the same, and one weighs more."""
    found = change(
        FULLER,
        policies.policy(LeastRequestedPriority=2, MostRequestedPriority=1),
        policies.policy(LeastRequestedPriority=1, MostRequestedPriority=2),
    )
    assert found.cause is Cause.CHANGED_WEIGHT
    assert {(part.old_name, part.old_weight, part.new_weight) for part in found.contributions} == {
        (LEAST, 2, 1),
        (MOST, 1, 2),
    }


def test_changed_formula(policies: Policies) -> None:
    """The counterpart computes something else."""
    strategy = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}
    found = change(
        FULLER,
        policies.policy(LeastRequestedPriority=1),
        policies.profile({"NodeResourcesFit": strategy}, NodeResourcesFit=1),
    )
    assert found.cause is Cause.CHANGED_FORMULA
    assert found.contributions[0].name == f"{LEAST} -> NodeResourcesFit"


def test_a_curve_that_is_the_same_is_only_finer(policies: Policies) -> None:
    """The curve of a policy in the next release goes to 100 and is otherwise the same."""
    shape = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
    resources = [{"name": "cpu", "weight": 1}]
    entry = {
        "name": "RequestedToCapacityRatioPriority",
        "weight": 1,
        "argument": {"requestedToCapacityRatioArguments": {"shape": shape, "resources": resources}},
    }
    old, new = (policies.written(release, predicates=[], priorities=[entry]) for release in ("1.16", "1.20"))
    [step] = change(USED, old, new).steps
    assert step.cause is Cause.SCORE_RESOLUTION


@pytest.mark.parametrize(
    ("removed", "cause"),
    [pytest.param(False, Cause.ADDED_PRIORITY, id="added"), pytest.param(True, Cause.REMOVED_PRIORITY, id="removed")],
)
def test_added_and_removed(policies: Policies, removed: bool, cause: Cause) -> None:
    """A priority without a counterpart makes the difference."""
    more: dict[str, Any] = {MOST: 3} if removed else {"ssd": 3}
    cluster: list[ClusterObject] = [*FULLER[2:], node("n1", ssd="yes"), node("n2")]
    specs = [policies.policy(LeastRequestedPriority=1), policies.policy(LeastRequestedPriority=1, **more)]
    found = change(cluster, *(reversed(specs) if removed else specs))
    assert found.cause is cause
    assert any(None in (part.old_name, part.new_name) for part in found.contributions)


def test_normalisation(policies: Policies) -> None:
    """Both count the same pods; 1.16 has 0 in the range always, 1.36 stretches from the lowest count."""
    term = WeightedPodAffinityTerm(10, PodAffinityTerm("kubernetes.io/hostname", LabelSelector(labels({"app": "x"}))))
    likes = pod("p", affinity=Affinity(pod_affinity=PodAffinity(preferred=(term,))))
    there = [
        pod(f"{name}-{at}", 0, 0, on=name, label={"app": "x"})
        for name, count in (("n1", 10), ("n2", 9))
        for at in range(count)
    ]
    cluster: list[ClusterObject] = [node("n1", 500, GIB), node("n2", 8000, 16 * GIB), *there]
    old = policies.policy(InterPodAffinityPriority=1, LeastRequestedPriority=1)
    new = policies.profile(InterPodAffinity=1, NodeResourcesFit=1)
    found = change(cluster, old, new, likes)
    assert found.cause is Cause.NORMALISATION
    assert found.steps[-1].names == ("InterPodAffinityPriority -> InterPodAffinity",)


def test_tie_break(policies: Policies) -> None:
    """Equal totals in the new column: the name decides."""
    found = change(FULLER, policies.policy(LeastRequestedPriority=1), policies.policy(EqualPriority=1))
    assert found.cause is Cause.TIE_BREAK
    assert found.new_difference == 0
    assert "name comes first" in found.text


def test_extender_scaling(policies: Policies, address: str) -> None:
    """The extender prefers the last node, and weighs more."""
    old, new = (
        policies.written(
            predicates=[],
            priorities=[{"name": MOST, "weight": 1}],
            extenders=[{"urlPrefix": f"{address}/good", "prioritizeVerb": "prioritize", "weight": weight}],
        )
        for weight in (1, 9)
    )
    found = change(FULLER, old, new)
    assert found.cause is Cause.EXTENDER_SCALING
    assert [part.old for part in found.contributions if "extender" in part.name] == [1]
    assert [part.new for part in found.contributions if "extender" in part.name] == [9]


@pytest.mark.parametrize(
    ("back", "cause", "text"),
    [
        pytest.param(False, Cause.FILTERED_NOW, "n1 is refused now", id="filtered now"),
        pytest.param(True, Cause.NO_LONGER_FILTERED, "n1 was refused before", id="no longer filtered"),
    ],
)
def test_checks(policies: Policies, back: bool, cause: Cause, text: str) -> None:
    """A host that one engine's checks refuse, with the reasons."""
    specs = [policies.policy(EqualPriority=1), policies.policy(checks=["PodFitsResources"], EqualPriority=1)]
    found = change([*TWO, pod("there", 4000, on="n1")], *(reversed(specs) if back else specs))
    assert found.cause is cause
    assert found.reasons == {"PodFitsResources": ("Insufficient cpu",)}
    assert found.evidence == {"PodFitsResources": ("Insufficient cpu: asks 100m, 0 of 4 free",)}
    assert found.text.startswith(text)


WITH_SPARE: list[ClusterObject] = [node("n1", good="yes"), node("n2", good="yes"), node("n3")]
"""The pods fit on the third node too, and do not go there."""


@pytest.mark.parametrize("releases", [("1.16", "1.16"), ("1.16", "1.20"), ("1.20", "1.16")], ids=" to ".join)
def test_each_refuses_the_other_ones_node(policies: Policies, releases: tuple[str, str]) -> None:
    """In a sequence the first pod fills another node for each: both are asked for scores as if both nodes passed.

    Every term is what the same priorities say on the same cluster without checks, where all nodes pass anyway.
    """
    sides: list[tuple[str, dict[str, Any]]] = [
        (release, {"good": 20, "BalancedResourceAllocation": 1, **weight})
        for release, weight in zip(releases, ({LEAST: 2}, {MOST: 3}), strict=True)
    ]
    specs = [policies.policy(release, checks=["PodFitsResources"], **weights) for release, weights in sides]
    cluster, first, second = [*WITH_SPARE, pod("there", 1500, on="n1")], pod("a", 2000), pod("b", 2500)
    found = compare(cluster, [first, second], specs[0], [specs[1]], mode="sequence", evidence=True)
    assert [tuple(one.host for one in each.outcomes) for each in found.pods] == [("n2", "n1"), ("n1", "n2")]
    said = found.pods[1].changes[0]
    assert (said.cause, said.as_if_passed) == (Cause.EARLIER_CHOICES, True)
    assert said.text.endswith(f"; {AS_IF_PASSED}")
    assert all(part.old_evidence and part.new_evidence for part in said.contributions if part.old or part.new)
    parts = said.contributions
    old, new = (
        _differences(policies.policy(release, **weights), [*cluster, first.on(there)], second)
        for (release, weights), there in zip(sides, ("n2", "n1"), strict=True)
    )
    assert ({part.old_name: part.old for part in parts if part.old_name}, said.old_difference) == (
        old,
        sum(old.values()),
    )
    assert ({part.new_name: part.new for part in parts if part.new_name}, said.new_difference) == (
        new,
        sum(new.values()),
    )


def _differences(spec: EngineSpec, cluster: list[ClusterObject], one: Pod) -> dict[str, int]:
    """Priority → by how much n2 is ahead of n1, by a configuration without checks."""
    decision = spec.engine(print).scheduler(cache_of(cluster, spec.release_view())).decide(one, thorough=True)
    return {
        name: weight * (decision.score(name)["n2"] - decision.score(name)["n1"])
        for name, weight in decision.weights.items()
    }


def test_a_pod_that_no_node_takes_any_more(policies: Policies) -> None:
    """From a host to none and back is a matter of checks too."""
    large = pod("p", 9000)
    specs = policies.policy(EqualPriority=1), policies.policy(checks=["PodFitsResources"], EqualPriority=1)
    gone, back = change(TWO, *specs, one=large), change(TWO, specs[1], specs[0], large)
    assert (gone.cause, back.cause) == (Cause.FILTERED_NOW, Cause.NO_LONGER_FILTERED)
    found = compare(TWO, [large], *(specs[0], [specs[1]]))
    assert found.pods[0].outcomes[1].message == "0/2 nodes are available: 2 Insufficient cpu."


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"scheduler_name": "another"}, 'profile not found for scheduler name "another"'),
        ({"scheduling_gates": ("quota",)}, "waiting for scheduling gates: [quota]"),
    ],
    ids=["foreign", "gated"],
)
def test_a_pod_that_one_release_does_not_try(fields: Any, text: str) -> None:
    """The release's words say why."""
    old = EngineSpec(scheduler_name=fields.get("scheduler_name"))
    found = change(TWO, old, EngineSpec(release="1.36"), pod("p", **fields))
    assert found.cause is Cause.NOT_TRIED
    assert found.text == f"the new scheduler does not try the pod: {text}"


def test_an_error_is_a_cause(policies: Policies) -> None:
    """An extender that nothing answers for ends every attempt."""
    nobody = {"urlPrefix": "http://127.0.0.1:1/all", "filterVerb": "filter"}
    found = change(TWO, policies.policy(), policies.written(predicates=[], priorities=[], extenders=[nobody]))
    assert found.cause is Cause.ERROR
    assert found.text.startswith("the new scheduler gave up: ")


def test_two_errors_are_an_error(policies: Policies) -> None:
    """Both sides fail alike, and nothing was compared."""
    nobody = {"urlPrefix": "http://127.0.0.1:1/all", "filterVerb": "filter"}
    dead = policies.written(predicates=[], priorities=[], extenders=[nobody])
    found = compare(TWO, [pod("p")], dead, [dead])
    assert found.pods[0].changes[0].cause is Cause.ERROR
    assert (found.same, found.moved, len(found.errors)) == (False, (), 1)
    assert found.differs(frozenset(Cause))


# --- sentences -----------------------------------------------------------------------------


def test_the_largest_step_is_named_beside_the_decisive_one() -> None:
    """The sentence begins with the cause; priorities that are equal on both nodes are not named."""
    steps = (
        Step(Cause.EARLIER_CHOICES, ("Spread",), 40, -3),
        Step(Cause.CHANGED_FORMULA, ("Equal", "Balanced", "Least"), 9, 6),
    )
    facts = CauseFacts(Cause.CHANGED_FORMULA, "n2", "n1", (-43, 6), steps[1], steps[0], frozenset({"Balanced"}))
    assert cause_sentence(facts) == (
        "n2 was 43 behind and is 6 ahead against n1: scores are computed differently (Balanced), "
        "which puts it ahead; more points come of earlier choices (+40)"
    )
    nobody = msgspec.structs.replace(facts, unequal=frozenset())
    assert cause_sentence(nobody).endswith(
        "scores are computed differently, which puts it ahead; more points come of earlier choices (+40)"
    )
    alone = msgspec.structs.replace(facts, largest=steps[1])
    assert cause_sentence(alone).endswith(": scores are computed differently (Balanced)")


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_constraints_that_switch_default_spreading_off(release: str) -> None:
    """A pod with constraints is no longer spread by its service, in releases with plugins."""
    own = TopologySpreadConstraint(3, "rack", "ScheduleAnyway", LabelSelector(labels({"no": "pod"})))
    cluster: list[ClusterObject] = [
        *TWO,
        Service(ObjectMeta("web", "default"), labels({"app": "web"})),
        pod("web-1", 100, on="n1", label={"app": "web"}),
        pod("other", 2000, 4 * GIB, on="n2"),
    ]
    web = pod("web-2", label={"app": "web"}, topology_spread_constraints=(own,))
    found = change(cluster, EngineSpec(), EngineSpec(release=release), web)
    assert (found.cause, [step.cause for step in found.steps][-1:]) == (Cause.OWN_CONSTRAINTS, [Cause.OWN_CONSTRAINTS])
    assert "the pod's own topologySpreadConstraints switch default spreading off" in found.text


# --- pods that stay without a node ---------------------------------------------------------

TAINT = Taint("gpu", "", "NoSchedule")


BIG = {"name": "CheckNodeLabelPresence", "argument": {"labelsPresence": {"labels": ["big"], "presence": True}}}


@pytest.mark.parametrize("mode", ["independent", "sequence"])
@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        pytest.param(["fits"], ["fits"], Cause.SAME, id="alike"),
        pytest.param(["fits"], ["big"], Cause.DIFFERENT_REASONS, id="another"),
        pytest.param(["fits"], ["fits", "big"], Cause.DIFFERENT_REASONS, id="one more"),
    ],
)
def test_refused_for_different_reasons(
    policies: Policies, old: list[str], new: list[str], cause: Cause, mode: str
) -> None:
    """A pod that both refuse is the same only if each node is refused for the same rules."""
    checks = {"fits": {"name": "PodFitsResources"}, "big": BIG}
    specs = [policies.written(predicates=[checks[name] for name in names], priorities=[]) for names in (old, new)]
    found = change(TWO, specs[0], specs[1], pod("p", 9000), mode=mode)
    assert found.cause is cause
    assert not found.moved
    if cause is not Cause.SAME:
        assert "only now node labels on 2 nodes" in found.text


@pytest.mark.parametrize("new", ["1.4", "1.20", "1.36"])
@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"cpu": 9000}, id="cpu"),
        pytest.param({"memory": 99 * GIB}, id="memory"),
        pytest.param({"node_selector": labels({"disk": "ssd"})}, id="selector"),
        pytest.param({"node": "elsewhere"}, id="taints"),
    ],
)
def test_releases_that_refuse_alike(new: str, fields: dict[str, Any]) -> None:
    """What releases word differently is the same reason."""
    cluster: list[ClusterObject] = [*TWO]
    if "node" in fields:
        fields, cluster = {}, [msgspec.structs.replace(one, taints=(TAINT,)) for one in TWO]
    assert change(cluster, EngineSpec(), EngineSpec(release=new), pod("p", **fields)).cause is Cause.SAME


@pytest.mark.parametrize("old", ["1.24", "1.26", "1.27"])
@pytest.mark.parametrize("new", ["1.27", "1.36"])
def test_releases_whose_pre_filter_refuses_alike(old: str, new: str) -> None:
    """1.26 and 1.27 give no node a status where PreFilter rejects the pod; the plugin is known all the same."""
    claim = PersistentVolumeClaim(ObjectMeta(name="data", namespace="default"), storage_class_name="now")
    found = change(
        [*TWO, claim, StorageClass(ObjectMeta(name="now"), volume_binding_mode="Immediate")],
        EngineSpec(release=old),
        EngineSpec(release=new),
        pod("p", volumes=(ClaimVolume("data"),)),
    )
    assert found.cause is Cause.SAME


def test_different_victims(policies: Policies) -> None:
    """A pod that stays pending is not the same if another pod would have to go for it."""
    low, mid = pod("low", 4000, on="n1", priority=0), pod("mid", 4000, on="n2", priority=5)
    new = policies.written(predicates=[{"name": "PodFitsResources"}, BIG], priorities=[])
    cluster: list[ClusterObject] = [node("n1"), node("n2", big="yes"), low, mid]
    urgent = pod("urgent", 4000, priority=10)
    found = change(cluster, policies.policy(checks=["PodFitsResources"]), new, urgent, preempt=True)
    assert found.cause is Cause.DIFFERENT_VICTIMS
    assert found.text == "the old scheduler evicts default/low from n1, the new one evicts default/mid from n2"


@pytest.mark.parametrize(
    ("cause", "differences", "text"),
    [
        pytest.param(Cause.EARLIER_CHOICES, (-5, 0), "earlier pods run elsewhere (Spread)", id="level in the end"),
        pytest.param(Cause.TIE_BREAK, (-5, 0), "its name comes first", id="a tie"),
        pytest.param(Cause.TIE_BREAK, (-5, 3), "its name comes first", id="a tie in between"),
    ],
)
def test_the_sentence_says_what_the_cause_says(cause: Cause, differences: tuple[int, int], text: str) -> None:
    """Also where both nodes are level in the end."""
    step = Step(Cause.EARLIER_CHOICES, ("Spread",), 5, 0)
    facts = CauseFacts(cause, "n2", "n1", differences, step, step, frozenset({"Spread"}))
    assert cause_sentence(facts).endswith(f": {text}")


FULLER_NODES: list[ClusterObject] = [node("n1"), node("n2"), pod("there", 2000, 4 * GIB, on="n1")]


def products(sentences: tuple[tuple[str, str], ...]) -> list[tuple[int, int]]:
    """The last number of each sentence: weight times score."""
    return [(int(one.split(": ")[-1]), int(other.split(": ")[-1])) for one, other in sentences]


@pytest.mark.parametrize("mode", ["independent", "sequence"])
@pytest.mark.parametrize(("before", "after"), [("1.4", "1.16"), ("1.16", "1.20"), ("1.16", "1.36"), ("1.36", "1.16")])
def test_evidence_sums_to_the_terms(before: str, after: str, mode: str) -> None:
    """On each side the products of both hosts differ by what the term adds; terms of 0 on both sides have none."""
    cluster = [*FULLER_NODES, node("n3", 8000, 8 * GIB), node("n4", 2000, 16 * GIB)]
    pods = [pod(f"p{at}", 100 + 300 * at % 900, (at + 1) * GIB // 4) for at in range(12)]
    found = compare(cluster, pods, EngineSpec(before), [EngineSpec(after)], mode=mode, evidence=True)
    parts = [part for one in found.pods for part in one.changes[0].contributions]
    told = [part for part in parts if part.old_evidence or part.new_evidence]
    for part in told:
        for evidence, name, amount in (
            (part.old_evidence, part.old_name, part.old),
            (part.new_evidence, part.new_name, part.new),
        ):
            assert len(evidence) == (0 if name is None or amount is None else len(name.split(" + ")))
            if evidence:
                assert sum(new - old for old, new in products(evidence)) == amount
                assert [one.split(": ")[0] for one, _ in evidence] == (name or "").split(" + ")
    assert all(part in told for part in parts if part.old or part.new)
    assert told or not parts


def test_evidence_has_the_formula(tmp_path: Path) -> None:
    """With the numbers of each node filled in."""
    policies = Policies(tmp_path)
    old, new = policies.policy(LeastRequestedPriority=1), policies.policy(MostRequestedPriority=2)
    found = compare(FULLER_NODES, [pod("p")], old, [new], evidence=True)
    [part] = found.pods[0].changes[0].contributions
    [least], [most] = part.old_evidence, part.new_evidence
    assert all(re.fullmatch(r"LeastRequestedPriority: .*4000.* = \d+; times 1: \d+", text) for text in least)
    assert all(re.fullmatch(r"MostRequestedPriority: .*4000.* = \d+; times 2: \d+", text) for text in most)
    assert least[0] != least[1]


def test_evidence_is_not_worked_out_unasked() -> None:
    """It costs time, and is nothing but an addition."""
    specs = EngineSpec("1.16"), [EngineSpec("1.36")]
    plain, told = (compare(FULLER_NODES, [pod("p")], *specs, evidence=asked) for asked in (False, True))

    def bare(part: Contribution) -> Contribution:
        return msgspec.structs.replace(part, old_evidence=(), new_evidence=())

    before, after = (tuple(found.pods[0].changes[0].contributions) for found in (plain, told))
    assert before == tuple(map(bare, after))
