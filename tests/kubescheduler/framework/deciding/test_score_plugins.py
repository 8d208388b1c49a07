"""Score in a decision: PreScore, both kinds of plugins, weights, ranges and texts."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from algorithmprovider.custom_code import CustomCodeError
from clusterstate.changes import Reads
from clusterstate.errors import SchedulingError
from clusterstate.footprint import Footprint
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from priorities.types import PriorityConfig, PriorityError
from tests.support.build import make_node, make_pod
from tests.support.deciders import Answered, FakeExtender, answers, deciding, plugin, refusing, scoring
from tests.support.rich_worlds import in_tree

BOTH = pytest.mark.parametrize("release", ["1.20", "1.36"])
U = Status.unschedulable("u")


def fails(text: str) -> Any:
    def fail(*_: Any) -> Any:
        raise PriorityError(text)

    return fail


def own_scores(name: str, **by_node: int) -> Any:
    return plugin(name, score=lambda state, pod, info: by_node[info.name])


# --- sums --------------------------------------------------------------------------------------


@BOTH
def test_totals_are_weighted_sums(release: str) -> None:
    """Of plugins over columns and custom ones, of those nodes that pass."""
    plugins = [scoring("A", 5, 1, 2), own_scores("B", n0=0, n1=3, n2=1), refusing("F", n0="full")]
    decision = deciding(release, *plugins, weights={"A": 2, "B": 10}).attempt(make_pod()).run()
    assert decision.total() == {"n1": 32, "n2": 14}
    assert decision.score("A") == {"n1": 1, "n2": 2}
    assert decision.raw("B") == decision.score("B") == {"n1": 3, "n2": 1}
    assert (decision.host, decision.best()) == ("n1", ["n1"])


@BOTH
def test_one_node_that_fits_is_not_scored(release: str) -> None:
    """Unless the decision is to be thorough."""
    scheduler = deciding(release, refusing("F", n0="full", n2="full"), plugin("A", **answers(score=fails)))
    decision = scheduler.attempt(make_pod()).run()
    assert (decision.host, decision.total()) == ("n1", {})
    scheduler = deciding(release, refusing("F", n0="full", n2="full"), scoring("A", 1, 2, 3))
    assert scheduler.attempt(make_pod(), thorough=True).run().total() == {"n1": 2}


@BOTH
def test_without_score_plugins(release: str) -> None:
    """Every node scores 1; with extenders there is nothing but their scores."""
    assert deciding(release).attempt(make_pod()).run().total() == {"n0": 1, "n1": 1, "n2": 1}
    extender = FakeExtender(scores={"n1": 3}, weight=2)
    decision = deciding(release, extenders=[extender]).attempt(make_pod()).run()
    assert decision.total() == {"n0": 0, "n1": 60, "n2": 0}


@BOTH
def test_extenders_add_ten_times_their_score(release: str) -> None:
    """Unknown hosts are passed over, and one that fails adds nothing; nothing is checked."""
    extenders = [FakeExtender(scores={"n2": -1, "ghost": 9}, weight=3), FakeExtender(scores="down")]
    decision = deciding(release, scoring("A", 50, 40, 40), extenders=extenders).attempt(make_pod()).run()
    assert decision.total() == {"n0": 50, "n1": 40, "n2": 10}
    assert decision.extenders[1].prioritize_error == "down"


@BOTH
def test_sums_wrap_at_64_bits(release: str) -> None:
    """As upstream's do."""
    extender = FakeExtender(scores={"n1": 2**62}, weight=1)
    decision = deciding(release, scoring("A", 1, 1, 1), extenders=[extender]).attempt(make_pod()).run()
    assert decision.total()["n1"] == (2**62 * 10 + 1 + 2**63) % 2**64 - 2**63


def test_constants_and_uniform_scores() -> None:
    """One number for all nodes is kept as one; after normalising too."""
    plugins = [
        scoring("A", 9, 9, 9, constant=lambda pod: 7),
        scoring("B", 4, 4, 4, reduce=lambda pod, snapshot, raw: raw * 2, valuewise=True),
        scoring("C", 1, 2, 3, reduce=lambda pod, snapshot, raw: raw.max() - raw),
    ]
    decision = deciding("1.36", *plugins).attempt(make_pod()).run()
    assert decision.total() == {"n0": 17, "n1": 16, "n2": 15}
    assert decision.raw("A") == {"n0": 7, "n1": 7, "n2": 7}
    assert decision.raw("B") == {"n0": 4, "n1": 4, "n2": 4}
    assert decision.score("B") == {"n0": 8, "n1": 8, "n2": 8}
    assert decision.score("C") == {"n0": 2, "n1": 1, "n2": 0}


def test_what_depends_on_the_nodes_that_fit_is_settled_first() -> None:
    """Those numbers are the raw ones, and are normalised."""

    def settle(pod: PodInfo, snapshot: Snapshot, mapped: Any) -> Any:
        return mapped - mapped.min()

    made = scoring("A", 5, 6, 9, settle=settle, reduce=lambda pod, snapshot, raw: raw * 10)
    decision = deciding("1.36", made, refusing("F", n0="full")).attempt(make_pod()).run()
    assert decision.raw("A") == {"n1": 0, "n2": 3}
    assert decision.score("A") == {"n1": 0, "n2": 30}


# --- PreScore ----------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [True, False], ids=["own", "columns"])
def test_skip_gives_no_score_in_1_36(own: bool) -> None:
    """Neither raw nor normalised, and the state says so."""
    made = (
        plugin("A", **answers(pre_score=Status(Code.Skip), score=7))
        if own
        else scoring("A", 7, 7, 7, pre_score=lambda pod, snapshot: False, footprint=Footprint(Reads.SERVICES))
    )
    cycle = CycleState()
    decision = deciding("1.36", made, scoring("B", 1, 2, 3)).attempt(make_pod(), cycle=cycle).run()
    assert decision.total() == {"n0": 1, "n1": 2, "n2": 3}
    assert (set(decision.scores), set(decision.raws), cycle.skip_score) == ({"B"}, {"B"}, {"A"})
    assert decision.weights["A"] == 1


def test_skip_is_an_error_in_1_20() -> None:
    """The release does not know it there."""
    decision = deciding("1.20", plugin("A", **answers(pre_score=Status(Code.Skip), score=7))).attempt(make_pod()).run()
    assert decision.error == 'running PreScore plugin "A": '


@BOTH
@pytest.mark.parametrize(
    "made",
    [
        plugin("A", **answers(pre_score=Status.unschedulable("broken"), score=7)),
        plugin("A", **answers(pre_score=SchedulingError("broken"), score=7)),
        scoring("A", 7, 7, 7, pre_score=fails("broken")),
    ],
    ids=["answered", "raised", "columns"],
)
def test_pre_score_that_fails(release: str, made: Any) -> None:
    """The attempt is given up."""
    decision = deciding(release, made).attempt(make_pod()).run()
    assert decision.error == 'running PreScore plugin "A": broken'
    assert (decision.host, decision.fits(), decision.total(), dict(decision.scores)) == (None, [], {}, {})


def test_pre_score_gets_the_nodes_that_pass() -> None:
    """And the state that Score gets."""
    seen: list[Any] = []

    def pre_score(state: CycleState, pod: Any, snapshot: Snapshot) -> None:
        state.write("names", snapshot.names)

    def score(state: CycleState, pod: Any, info: Any) -> int:
        seen.append((info.name, state.read("names")))
        return 0

    made = plugin("A", pre_score=pre_score, score=score)
    deciding("1.36", made, refusing("F", n1="full")).attempt(make_pod()).run()
    assert seen == [("n0", ["n0", "n2"]), ("n2", ["n0", "n2"])]


# --- texts -------------------------------------------------------------------------------------

FAILED = 'running Score plugins: plugin "A" failed with: {}'
NORMALIZE = 'running Normalize on Score plugins: plugin "A" failed with: {}'
RANGE = (
    'applying score defaultWeights on Score plugins: plugin "A" returns an invalid score {}, '
    "it should in the range of [0, 100] after normalizing"
)


def mapping(function: Any) -> Any:
    """A Score over columns by this function."""
    return ColumnPlugin("A", frozenset({Point.SCORE}), scoring=PriorityConfig("A", function))


@BOTH
@pytest.mark.parametrize(
    ("made", "text"),
    [
        (plugin("A", **answers(score=SchedulingError("broken"))), FAILED.format("broken")),
        (mapping(fails("x")), FAILED.format("x")),
        (scoring("A", 1, 2, 3, settle=fails("unsettled")), FAILED.format("unsettled")),
        (plugin("A", **answers(score=1, normalize_scores=SchedulingError("no"))), NORMALIZE.format("no")),
    ],
    ids=["own", "columns", "settling", "normalising"],
)
def test_texts(release: str, made: Any, text: str) -> None:
    """What a failing plugin, or a score that is none, gives the attempt up with."""
    assert deciding(release, made).attempt(make_pod()).run().error == text


@BOTH
@pytest.mark.parametrize(
    ("made", "where", "score"),
    [
        (own_scores("A", n0=0, n1=101, n2=-1), "score, pod default/p, node n1", 101),
        (own_scores("A", n0=0, n1=100, n2=-1), "score, pod default/p, node n2", -1),
        (
            plugin("A", **answers(score=1, normalize_scores=np.array([0, 500, 0]))),
            "normalize_scores, pod default/p, node n1",
            500,
        ),
    ],
    ids=["above", "below", "normalised"],
)
def test_a_custom_score_that_is_none(release: str, made: Any, where: str, score: int) -> None:
    """It is the fault of the plugin, and no answer of a scheduler: the release's text, with the place."""
    with pytest.raises(CustomCodeError) as raised:
        deciding(release, made).attempt(make_pod()).run()
    assert str(raised.value).partition(", line ")[2].endswith(f": plugin A, {where}: {RANGE.format(score)}")


@BOTH
def test_raw_scores_may_be_anything(release: str) -> None:
    """If they are normalised."""
    made = plugin(
        "A",
        score=lambda state, pod, info: -5 if info.name == "n0" else 1000,
        normalize_scores=lambda state, pod, scores: np.where(scores > 0, 100, 0),
    )
    decision = deciding(release, made).attempt(make_pod()).run()
    assert decision.raw("A") == {"n0": -5, "n1": 1000, "n2": 1000}
    assert decision.score("A") == {"n0": 0, "n1": 100, "n2": 100}


@BOTH
def test_a_score_without_its_pre_score_fails(release: str) -> None:
    """A profile that leaves it out can compare nothing."""
    whole: Any = in_tree(release)["PodTopologySpread"]
    made = msgspec.structs.replace(whole, points=frozenset({Point.SCORE}))
    error = f'running Score plugins: plugin "PodTopologySpread" failed with: {whole.score_alone}'
    assert deciding(release, made).attempt(make_pod()).run().error == error


# --- nodes that look empty -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "as_objects", "best"), [("1.36", True, "n0"), ("1.36", False, "n1"), ("1.20", True, "n1")]
)
def test_nodes_answered_as_objects_are_scored_as_if_they_were_empty(release: str, as_objects: bool, best: str) -> None:
    """By 1.36 only; it forgets what runs there."""
    nodes = [make_node("n0"), make_node("n1")]
    name = {"1.20": "NodeResourcesLeastAllocated", "1.36": "NodeResourcesFit"}[release]
    extender = FakeExtender(filtered=Answered(("n0", "n1"), as_objects=as_objects))
    crowd = [make_pod(f"p{at}", node="n0") for at in range(30)]
    scheduler = deciding(release, in_tree(release)[name], cluster=[*nodes, *crowd], extenders=[extender])
    decision = scheduler.attempt(make_pod()).run()
    assert decision.host == best
    assert len(set(decision.total().values())) == (1 if best == "n0" else 2)


def test_a_score_that_fails_on_empty_nodes() -> None:
    """The same text."""
    extender = FakeExtender(filtered=Answered(("n0", "n1"), as_objects=True))
    assert deciding("1.36", mapping(fails("broken")), extenders=[extender]).attempt(
        make_pod()
    ).run().error == FAILED.format("broken")
