"""Comparisons: who goes elsewhere, one cause for each, parts that sum to the difference of totals; runs that draw."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import kubescheduler as ks
from clusterstate.errors import ConfigError
from clusterstate.objects import ClusterObject, FrozenMap, ObjectMeta, OwnerReference, Pod, PodSpec, ReplicaSet
from clusterstate.selectors.pod_owners import workloads_of
from kubescheduler.comparison.causes import by_priority
from kubescheduler.comparison.comparing import column_names, column_titles, compare, drawn_note
from kubescheduler.comparison.comparison import change_document, headline
from kubescheduler.comparison.differences import Pair, paired, rule_of
from kubescheduler.comparison.outcomes import Cause
from kubescheduler.comparison.tracks import TiedNames, TiedRows
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.report.ci_results import comparison_suites, junit
from kubescheduler.report.html_report import payload
from kubescheduler.sources.untrusted import changed_limits
from tests.support.comparisons import GIB, LEAST, MOST, Policies, check_sums, node, pod
from tests.support.runs_of_pods import NO_DEFAULTS, filling, sized

CHECK = "PodFitsResources"
TWO = [node("n1"), node("n2")]
USED: list[ClusterObject] = [*TWO, pod("there", 100, on="n1")]
"""The first node is a little fuller, less than scores of 0-10 show."""
FULLER: list[ClusterObject] = [*TWO, pod("there", 2000, 4 * GIB, on="n1")]


@pytest.fixture
def policies(tmp_path: Path) -> Policies:
    return Policies(tmp_path)


def test_the_same_engine_decides_the_same() -> None:
    """Nothing moves, and nothing is explained."""
    found = compare(USED, [pod("p")], EngineSpec(), [EngineSpec()])
    assert found.same
    assert not found.differs()
    assert found.pods[0].changes[0].cause is Cause.SAME
    assert found.summary == ({Cause.SAME: 1},)
    assert found.names == ("1.16 #1", "1.16 #2")


# --- kept rankings -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gates", "cause"),
    [("", Cause.KEPT_RANKING), ("OpportunisticBatching=false", Cause.CHANGED_FORMULA)],
    ids=["batching", "gate off"],
)
def test_a_node_from_a_kept_ranking_is_not_explained_by_scores(policies: Policies, gates: str, cause: Cause) -> None:
    """The new scheduler looks at no other node than the one it takes."""
    packing = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}
    new = policies.profile({"NodeResourcesFit": packing, NO_DEFAULTS["name"]: NO_DEFAULTS["args"]}, NodeResourcesFit=1)
    nodes = [sized("small", 3), sized("medium", 4), sized("large", 5), sized("huge", 6)]
    pods = [filling("p1"), filling("p2")]
    old = policies.policy("1.16", checks=[CHECK], LeastRequestedPriority=1)
    found = compare(nodes, pods, old, [msgspec.structs.replace(new, feature_gates=gates)], mode="sequence")
    assert [[outcome.host for outcome in one.outcomes] for one in found.pods] == [
        ["huge", "small"],
        ["large", "medium"],
    ]
    change, outcome = found.pods[1].changes[0], found.pods[1].outcomes[1]
    assert change.cause is cause
    assert (change.contributions == ()) == (outcome.notes != ()) == (outcome.total is None) == (not gates)


# --- sequences -----------------------------------------------------------------------------


def test_a_sequence_blames_earlier_choices(policies: Policies) -> None:
    """The second pod goes elsewhere only as the first one did."""
    cluster: list[ClusterObject] = [*TWO, pod("there", 100, on="n1")]
    old, new = policies.policy(LeastRequestedPriority=1), policies.policy("1.20", LeastRequestedPriority=1)
    pods = [pod("a", 1500, 5 * GIB // 2), pod("b", 100)]
    found = compare(cluster, pods, old, [new], mode="sequence")
    assert [[outcome.host for outcome in one.outcomes] for one in found.pods] == [["n1", "n2"], ["n2", "n1"]]
    assert [one.cause for one in found.pods] == [Cause.COULD_HAVE_BEEN, Cause.EARLIER_CHOICES]
    assert check_sums(found) == 2


def test_a_sequence_starts_from_the_same_cluster(policies: Policies) -> None:
    """As long as nothing moved there are no earlier choices; every column has its own effects."""
    specs = policies.policy(LeastRequestedPriority=1), policies.policy(MostRequestedPriority=1)
    found = compare(FULLER, [pod(f"p{at}") for at in range(4)], specs[0], [specs[1]], mode="sequence")
    assert Cause.EARLIER_CHOICES not in {one.cause for one in found.pods[:1]}
    assert [effects.placed for effects in found.effects] == [4, 4]
    assert [{n.name: n.pods for n in e.nodes}["n2"] for e in found.effects] == [4, 0]


def test_preemption_in_a_sequence() -> None:
    """Victims leave at once, in each column's own cluster."""
    cluster: list[ClusterObject] = [node("n1"), pod("low", 4000, on="n1", priority=0)]
    urgent = pod("urgent", 4000, priority=10)
    found = compare(cluster, [urgent], EngineSpec(), [EngineSpec(release="1.36")], mode="sequence", preempt=True)
    assert found.same
    assert [(outcome.host, outcome.evicts) for outcome in found.pods[0].outcomes] == [("n1", ("default/low",))] * 2
    assert [(effects.placed, effects.evicted) for effects in found.effects] == [(1, 1)] * 2
    alone = compare(cluster, [urgent], EngineSpec(), [EngineSpec(release="1.36")], preempt=True)
    assert [(outcome.host, outcome.evicts_from) for outcome in alone.pods[0].outcomes] == [(None, "n1")] * 2


@pytest.mark.parametrize("releases", [("1.16", "1.16"), ("1.4", "1.20"), ("1.20", "1.16")])
@pytest.mark.parametrize("old_scores", [True, False], ids=["refused now", "refused before"])
def test_a_refused_node_has_the_terms_of_who_scored_both(
    policies: Policies, releases: tuple[str, str], old_scores: bool
) -> None:
    """In a sequence the pod before has filled one node; only the scheduler that did not fill it scores both nodes."""
    sides = [
        policies.policy(releases[not old_scores], checks=[CHECK], MostRequestedPriority=2),
        policies.policy(releases[old_scores], checks=[CHECK], LeastRequestedPriority=3),
    ]
    old, new = sides if old_scores else sides[::-1]
    cluster: list[ClusterObject] = [*TWO, node("n3"), pod("there", 1000, on="n1")]
    found = compare(cluster, [pod("a", 2500), pod("b", 2500)], old, [new], mode="sequence")
    last = found.pods[1].changes[0]
    assert last.cause is Cause.EARLIER_CHOICES
    assert list(last.reasons) == ["NodeResourcesFit" if (new if old_scores else old).release == "1.20" else CHECK]
    assert (last.old_difference, last.new_difference) == ((0, None) if old_scores else (None, 0))
    [part] = last.contributions
    assert (part.old_weight, part.new_weight) == ((2, 3) if old_scores else (3, 2))
    assert (part.old_scores is None, part.new_scores is None) == (not old_scores, old_scores)
    assert not last.steps
    assert check_sums(found) == 2


def test_terms_beside_a_check_that_one_configuration_has(policies: Policies) -> None:
    """Without a sequence too; the terms that are known add up, and a report says which are not."""
    old, new = policies.policy(MostRequestedPriority=2), policies.policy(checks=[CHECK], MostRequestedPriority=2)
    found = compare([*TWO, pod("there", 2000, 7 * GIB, on="n1")], [pod("p", 2100)], old, [new])
    [change] = found.pods[0].changes
    assert (change.cause, change.new_difference) == (Cause.FILTERED_NOW, None)
    assert change.old_difference == sum(part.old or 0 for part in change.contributions) < 0
    assert by_priority(change.contributions[0]) == f"{MOST}: {change.old_difference:+d}, not scored"
    assert change_document(change)["contributions"][0]["new"]["difference"] is None


# --- laws ----------------------------------------------------------------------------------

RELEASES = ("1.4", "1.16", "1.20", "1.36")


@pytest.mark.parametrize("mode", ["independent", "sequence"])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [900, 2500], ids=["roomy", "full"])
def test_contributions_sum_to_the_difference_of_totals(seed: int, mode: str, most: int) -> None:
    """For every moved pod, between any two releases; and each has one cause, which is not `same`."""
    rng = random.Random(seed)
    zones = ("a", "b", "c")
    nodes = [
        node(
            f"n{at}",
            rng.choice((2000, 4000, 7000)),
            rng.choice((4, 8, 13)) * GIB,
            **{"failure-domain.beta.kubernetes.io/zone": zones[at % 3], "topology.kubernetes.io/zone": zones[at % 3]},
        )
        for at in range(9)
    ]
    running = [
        pod(
            f"r{at}",
            rng.randrange(0, 900, 50),
            rng.randrange(1, 9) << 27,
            on=f"n{rng.randrange(9)}",
            label={"app": rng.choice("xy")},
        )
        for at in range(25)
    ]
    waiting = [
        pod(f"p{at}", rng.randrange(50, most, 50), rng.randrange(1, 9) << 27, label={"app": rng.choice("xy")})
        for at in range(15)
    ]
    old, *news = (EngineSpec(release=release) for release in rng.sample(RELEASES, 3))
    found = compare([*nodes, *running], waiting, old, news, mode=mode)
    check_sums(found)
    for one in found.pods:
        for outcome, moved in zip(one.outcomes[1:], one.changes, strict=True):
            assert (moved.cause is Cause.SAME) == (outcome.host == one.outcomes[0].host)


# --- records and errors --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("specs", "names"),
    [
        pytest.param(["release=1.16", "release=1.36"], ("1.16", "1.36"), id="releases"),
        pytest.param(["policy=a/p.json", "policy=q.json"], ("1.16 p.json", "1.16 q.json"), id="files"),
        pytest.param(["provider=X", "provider=Y"], ("1.16 X", "1.16 Y"), id="providers"),
        pytest.param(["policy=a/p.json", "policy=b/p.json"], ("1.16 p.json #1", "1.16 p.json #2"), id="numbers"),
    ],
)
def test_names_of_columns(specs: list[str], names: tuple[str, ...]) -> None:
    """The releases, and whatever else tells columns apart."""
    assert column_names([EngineSpec.parse(text) for text in specs]) == names


def test_every_fault_is_told() -> None:
    """The mode, the names and every configuration in one error."""
    with pytest.raises(ConfigError) as caught:
        compare(TWO, [], EngineSpec(provider="No"), [EngineSpec(release="1.36", provider="X")], mode="both")
    text = str(caught.value)
    assert "mode both is not known; known are independent, sequence" in text
    assert "1.16: " in text
    assert "1.36: unknown flag: --algorithm-provider" in text
    with pytest.raises(ConfigError, match="nothing to compare with"):
        compare(TWO, [], EngineSpec(), [])
    with pytest.raises(ConfigError, match="2 configurations need as many different names, found a, a"):
        compare(TWO, [], EngineSpec(), [EngineSpec()], names=["a", "a"])


def test_tolerated_causes_are_no_difference(policies: Policies) -> None:
    """Only the named ones."""
    specs = policies.policy(LeastRequestedPriority=1), policies.policy("1.20", LeastRequestedPriority=1)
    found = compare(USED, [pod("p")], specs[0], [specs[1]])
    assert found.differs()
    assert found.differs(frozenset({Cause.TIE_BREAK}))
    assert not found.differs(frozenset({Cause.COULD_HAVE_BEEN}))


def test_progress_is_told() -> None:
    """Pods done, of all."""
    told: list[tuple[int, int]] = []
    compare(TWO, [pod("p"), pod("q")], EngineSpec(), [EngineSpec()], progress=lambda *at: told.append(at))
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_as_plain_data(policies: Policies) -> None:
    """What JSON shows of a moved pod."""
    specs = policies.policy(LeastRequestedPriority=1), policies.policy("1.20", LeastRequestedPriority=1)
    document = compare(USED, [pod("p")], specs[0], [specs[1]]).as_dict()
    assert document["columns"] == [{"name": "1.16", "release": "1.16"}, {"name": "1.20", "release": "1.20"}]
    assert document["summary"] == [{"column": "1.20", "causes": {"could-have-been": 1}}]
    one = document["pods"][0]
    assert [(outcome["host"], outcome["tied"]) for outcome in one["outcomes"]] == [("n1", ["n1", "n2"]), ("n2", ["n2"])]
    assert one["changes"][0]["contributions"] == [
        {
            "old": {"name": LEAST, "weight": 1, "scores": (9, 9), "difference": 0, "evidence": ()},
            "new": {
                "name": "NodeResourcesLeastAllocated",
                "weight": 1,
                "scores": (94, 96),
                "difference": 2,
                "evidence": (),
            },
        }
    ]


def test_people_read_what_configures_each_side() -> None:
    """The file or provider stands beside the release, also where the releases tell columns apart."""
    specs = map(EngineSpec.parse, ["policy=a/p116.json", "provider=P", "release=1.36,config=b/m.yaml", "release=1.20"])
    assert column_titles(list(specs)) == ("1.16 p116.json", "1.16 P", "1.36 m.yaml", "1.20")


# --- ties ----------------------------------------------------------------------------------


def test_ties_of_other_nodes_are_a_difference_if_they_are_to_be(policies: Policies) -> None:
    """By name the pod stays; a strict comparison asks for the same nodes with the highest total."""
    objects: list[ClusterObject] = [*TWO, node("n3"), pod("there", 100, on="n2")]
    old, new = policies.policy("1.16", LeastRequestedPriority=1), policies.policy("1.20", LeastRequestedPriority=1)
    loose, strict = (compare(objects, [pod("p")], old, [new], ties=ties) for ties in ("loose", "strict"))
    assert [list(outcome.tied) for outcome in strict.pods[0].outcomes] == [["n1", "n2", "n3"], ["n1", "n3"]]
    assert (loose.same, loose.pods[0].cause) == (True, Cause.SAME)
    assert (strict.same, strict.pods[0].cause, strict.moved) == (False, Cause.DIFFERENT_TIES, ())
    assert strict.pods[0].changes[0].text == "any of 3 equal best nodes before, any of 2 now: no longer n2"
    assert headline(strict) == "0 of 1 pods go elsewhere, 1 stays by name, but has other equal best nodes now"
    assert not strict.differs({Cause.DIFFERENT_TIES})
    assert compare(objects, [pod("p")], old, [old], ties="strict").same


def test_could_have_been_says_what_differs(policies: Policies) -> None:
    """The headline does not stop at the pods that go elsewhere."""
    old, new = policies.policy("1.16", LeastRequestedPriority=1), policies.policy("1.20", LeastRequestedPriority=1)
    found = compare(USED, [pod("p")], old, [new])
    assert headline(found) == (
        "0 of 1 pods go elsewhere, 1 could have been there before, but has other equal best nodes now"
    )


def test_what_fits_nowhere_is_counted() -> None:
    """That it stays says nothing of where pods go."""
    found = compare(TWO, [pod("p"), pod("big", 10**6)], EngineSpec(), [EngineSpec(release="1.20")])
    assert (found.same, headline(found)) == (True, "0 of 2 pods go elsewhere, 1 fits on no node either way")


def test_a_wrong_word_for_ties() -> None:
    """It is answered with the words that there are."""
    with pytest.raises(
        ConfigError, match=r"ties: 'strikt' is not known; known are loose, strict; did you mean strict\?"
    ):
        compare(TWO, [pod("p")], EngineSpec(), [EngineSpec()], ties="strikt")


LEAST_REQUESTED, MOST_REQUESTED, FIT = "LeastRequestedPriority", "MostRequestedPriority", "NodeResourcesFit"
SELECTOR, EVEN, TOPOLOGY = "SelectorSpreadPriority", "EvenPodsSpreadPriority", "PodTopologySpread"
IMAGE, AFFINITY, CALLED = "ImageLocalityPriority", "NodeAffinityPriority", "extender http://a"


PAIRS: dict[str, Any] = {
    "rule": ([AFFINITY], ["NodeAffinity"], [Pair((AFFINITY,), ("NodeAffinity",), stretched=True)]),
    "subject": ([SELECTOR], [TOPOLOGY], [Pair((SELECTOR,), (TOPOLOGY,))]),
    "rules before subjects": (
        [SELECTOR, EVEN],
        [TOPOLOGY, "SelectorSpread"],
        [Pair((SELECTOR,), ("SelectorSpread",)), Pair((EVEN,), (TOPOLOGY,))],
    ),
    "several share one": ([LEAST_REQUESTED, MOST_REQUESTED], [FIT], [Pair((LEAST_REQUESTED, MOST_REQUESTED), (FIT,))]),
    "own names, and none": (
        ["mine", IMAGE],
        ["mine", "yours"],
        [Pair(("mine",), ("mine",)), Pair((IMAGE,), ()), Pair((), ("yours",))],
    ),
    "extenders": ([CALLED], [CALLED], [Pair((CALLED,), (CALLED,), extender=True)]),
    "an extender that is gone": ([CALLED], [], [Pair((CALLED,), (), extender=True)]),
}


@pytest.mark.parametrize(("old", "new", "pairs"), PAIRS.values(), ids=PAIRS)
def test_pairs(old: list[str], new: list[str], pairs: list[Pair]) -> None:
    """The same name, then the same rule, then the same subject; every name once."""
    names = (tuple((name, rule_of(name)) for name in some) for some in (old, new))
    assert list(paired(*names)) == pairs


def test_names_are_a_sequence_like_a_tuple() -> None:
    """Equal to the tuple of them, in order, with its hash and its text."""
    tied, same = TiedNames(("c", "a", "b"), np.array([1, 2])), ("a", "b")
    assert tied == same
    assert tied == TiedNames(("a", "b"), np.array([0, 1]))
    assert tied != ("a",)
    assert tied != ["a", "b"]
    assert (len(tied), tied[0], tied[-1], tied[1:], list(tied)) == (2, "a", "b", ("b",), ["a", "b"])
    assert (hash(tied), repr(tied)) == (hash(same), repr(same))


def test_rows_without_the_first_share_memory() -> None:
    """Only where they are the same."""
    kept = TiedRows()
    first = kept.kept(np.array([3, 4, 5]))
    second = kept.kept(np.array([4, 5]))
    assert np.shares_memory(first, second)
    assert kept.kept(np.array([6])).tolist() == [6]
    assert kept.kept(np.array([7, 8, 9])).tolist() == [7, 8, 9]
    assert kept.kept(np.array([8, 8])).tolist() == [8, 8]


def controlled(kind: str, name: str, template_hash: str = "", *, controller: bool = True) -> Pod:
    labels = FrozenMap({"pod-template-hash": template_hash} if template_hash else {})
    owner = OwnerReference(kind, name, "u", controller)
    return Pod(ObjectMeta("p", "shop", labels=labels, owner_references=(owner,)), PodSpec())


def replica_set(name: str, namespace: str = "shop", *owners: OwnerReference) -> ReplicaSet:
    return ReplicaSet(ObjectMeta(name, namespace, owner_references=owners))


DEPLOYMENT = OwnerReference("Deployment", "web", "d", True)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(Pod(ObjectMeta("p", "shop"), PodSpec()), "Pod/p", id="nobody"),
        pytest.param(controlled("StatefulSet", "db"), "StatefulSet/db", id="direct"),
        pytest.param(controlled("StatefulSet", "db", controller=False), "Pod/p", id="an owner that is no controller"),
        pytest.param(controlled("ReplicaSet", "odd"), "Deployment/web", id="a ReplicaSet that is there"),
        pytest.param(controlled("ReplicaSet", "alone"), "ReplicaSet/alone", id="a ReplicaSet of its own"),
        pytest.param(controlled("ReplicaSet", "other"), "ReplicaSet/other", id="one of another namespace"),
        pytest.param(controlled("ReplicaSet", "api-5f7b", "5f7b"), "Deployment/api", id="by the template hash"),
        pytest.param(controlled("ReplicaSet", "api-5f7b", "77"), "ReplicaSet/api-5f7b", id="another hash"),
        pytest.param(controlled("ReplicaSet", "-5f7b", "5f7b"), "ReplicaSet/-5f7b", id="nothing but the hash"),
        pytest.param(controlled("Job", "nightly-28391820"), "CronJob/nightly", id="minutes"),
        pytest.param(controlled("Job", "nightly-1609459200"), "CronJob/nightly", id="seconds"),
        pytest.param(controlled("Job", "import-20240131"), "Job/import-20240131", id="a date"),
        pytest.param(controlled("Job", "import-2024013112"), "Job/import-2024013112", id="a date with the hour"),
        pytest.param(controlled("Job", "import-2839182"), "Job/import-2839182", id="too short"),
        pytest.param(controlled("Node", "n1"), "Pod/p", id="a static pod"),
    ],
)
def test_workload(pod: Pod, expected: str) -> None:
    """The controller, and the controller of that where it is known."""
    sets = [replica_set("odd", "shop", DEPLOYMENT), replica_set("alone"), replica_set("other", "else", DEPLOYMENT)]
    assert workloads_of([pod], sets) == [expected]


FOUR: list[ClusterObject] = [node(f"n{at}") for at in range(4)]
MODES = ["independent", "sequence"]
PODS = [pod(f"p{at}") for at in range(6)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("release", RELEASES)
def test_the_same_scheduler_never_moves_a_pod(release: str, mode: str) -> None:
    """Both draw by the same seed, so what differs is never chance alone."""
    spec = EngineSpec(release=release)
    found = compare(FOUR, PODS, spec, [spec], mode=mode, tie_break="upstream", seeds=3)
    assert [(run.seed, run.moved) for run in found.runs] == [(0, (0,)), (1, (0,)), (2, (0,))]
    assert {str(one.changes[0].moves) for one in found.pods} == {"0 of 3"}
    assert not any(one.moves_sometimes for one in found.pods)


@pytest.mark.parametrize("mode", MODES)
def test_a_lottery_on_one_side_moves_a_pod_in_a_share_of_the_runs(policies: Policies, mode: str) -> None:
    """Of two nodes 0-10 makes equal, the old release takes either; the new one always the emptier."""
    specs = policies.policy(LeastRequestedPriority=1), policies.policy("1.20", LeastRequestedPriority=1)
    found = compare(USED, [pod("p")], specs[0], [specs[1]], mode=mode, tie_break="upstream", seeds=200)
    [change] = found.pods[0].changes
    assert change.cause is Cause.COULD_HAVE_BEEN
    assert change.moves.runs == 200
    assert 0.35 < change.moves.share < 0.65
    assert change.moves.moved == sum(run.moved[0] for run in found.runs)


@pytest.mark.parametrize("mode", MODES)
def test_a_pod_that_always_moves(policies: Policies, mode: str) -> None:
    """Packing and spreading never agree here; a column that is the old one again never moves it."""
    least, most = policies.policy(LeastRequestedPriority=1), policies.policy(MostRequestedPriority=1)
    cluster: list[ClusterObject] = [*USED[:2], pod("there", 2000, 4 << 30, on="n1")]
    found = compare(cluster, [pod("p")], least, [most, least], mode=mode, tie_break="upstream")
    assert [str(change.moves) for change in found.pods[0].changes] == ["10 of 10", "0 of 10"]
    assert found.notes[0].endswith("in 10 runs with upstream's ties 1 of 1 pods go elsewhere, 1 in every run")


def test_a_sequence_goes_on_from_what_was_drawn(policies: Policies) -> None:
    """Each run places its pods where it drew them: four large pods take four nodes, whoever comes first."""
    large = [pod(f"p{at}", 3000) for at in range(5)]
    specs = [policies.policy(release, checks=["PodFitsResources"], EqualPriority=1) for release in ("1.16", "1.4")]
    found = compare(FOUR, large, specs[0], [specs[1]], mode="sequence", tie_break="upstream", seeds=20)
    shares = [one.changes[0].moves for one in found.pods]
    assert all(share is not None for share in shares)
    assert [share.moved > 0 for share in shares if share is not None] == [True] * 4 + [False]
    again = compare(FOUR, large, specs[0], [specs[1]], mode="sequence", tie_break="upstream", seeds=20)
    assert again.as_dict() == found.as_dict()


def test_runs_leave_the_comparison_as_it_is(policies: Policies) -> None:
    """Causes and hosts are those without runs; without runs there are no shares."""
    specs = policies.policy(LeastRequestedPriority=1), policies.policy("1.20", LeastRequestedPriority=1)
    plain, drawn = (compare(USED, PODS, specs[0], [specs[1]], tie_break=tie) for tie in ("first", "upstream"))
    assert [one.outcomes for one in plain.pods] == [one.outcomes for one in drawn.pods]
    assert [one.causes for one in plain.pods] == [one.causes for one in drawn.pods]
    assert plain.runs == ()
    assert {one.changes[0].moves for one in plain.pods} == {None}
    assert plain.as_dict()["pods"][0]["changes"][0]["moves"] is None


def test_an_error_in_a_run_is_an_error(policies: Policies) -> None:
    """An extender that nothing answers for: no share is given."""
    nobody = {"urlPrefix": "http://127.0.0.1:1/all", "filterVerb": "filter"}
    dead = policies.written(predicates=[], priorities=[], extenders=[nobody])
    [one] = compare(FOUR, [pod("p")], dead, [dead], tie_break="upstream", seeds=2).pods
    assert (one.cause, one.changes[0].moves) == (Cause.ERROR, None)


def test_where_shares_are_shown(policies: Policies) -> None:
    """In JSON, the page's data, JUnit, data frames, also of a pod that stays by name."""
    old = policies.policy("1.20", EqualPriority=1)
    found = compare(FOUR, [pod("p")], old, [policies.policy("1.4", EqualPriority=1)], tie_break="upstream")
    [change] = found.pods[0].changes
    assert (change.cause, 0 < change.moves.share < 1) == (Cause.SAME, True)
    document = found.as_dict()
    assert document["pods"][0]["changes"][0]["moves"]["moved"] == change.moves.moved
    assert [run["moved"] for run in document["runs"]] == [{"1.4": run.moved[0]} for run in found.runs]
    assert payload(found)["pods"][0]["changes"][0]["moves"] == [change.moves.moved, 10]
    assert f"goes elsewhere in {change.moves} runs" in "".join(junit("compare", comparison_suites(found)))
    assert found.to_frame()["moves 1.4"].tolist() == [change.moves.share]
    assert drawn_note(found.runs, found.pods, 0) in found.notes[-1]


@pytest.mark.parametrize(
    ("tie_break", "seeds", "message"),
    [
        pytest.param("random", None, "tie_break: 'random' is not known; known are first, upstream", id="unknown"),
        pytest.param("first", 5, "seeds: 5 are given, but nothing is drawn", id="nothing drawn"),
        pytest.param("upstream", 0, "seeds: 0 is no number of runs; give 1 or more", id="none"),
        pytest.param("upstream", 6, "seeds: 6 are more than 5 seeds; to allow more: kubescheduler --max", id="many"),
    ],
)
def test_faults_of_seeds(tie_break: str, seeds: int | None, message: str) -> None:
    """One message for each, through Python's door too."""
    cluster = ks.Cluster(release="1.16").node("a", cpu=4)
    with changed_limits("seeds=5"), pytest.raises(ConfigError, match=message):
        ks.compare(cluster, ks.pod("p"), new="release=1.36", tie_break=tie_break, seeds=seeds)
