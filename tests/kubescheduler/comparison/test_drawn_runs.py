"""Runs that draw among equal totals as the releases do: the share of them in which a pod moves."""

from __future__ import annotations

from pathlib import Path

import pytest

import kubescheduler as ks
from clusterstate.errors import ConfigError
from clusterstate.objects import ClusterObject
from kubescheduler.comparison.comparing import compare, drawn_note
from kubescheduler.comparison.outcomes import Cause
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.report.ci_results import comparison_suites, junit
from kubescheduler.report.html_report import payload
from kubescheduler.sources.limits import changed_limits
from tests.support.comparisons import Policies, node, pod

FOUR: list[ClusterObject] = [node(f"n{at}") for at in range(4)]
USED: list[ClusterObject] = [node("n1"), node("n2"), pod("there", 100, on="n1")]
RELEASES = ("1.4", "1.16", "1.20", "1.36")
MODES = ["independent", "sequence"]
PODS = [pod(f"p{at}") for at in range(6)]


@pytest.fixture
def policies(tmp_path: Path) -> Policies:
    return Policies(tmp_path)


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
    assert change.moves is not None
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
    assert change.moves is not None
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


def test_python_counts_runs() -> None:
    """``ks.compare`` gives the shares."""
    cluster = ks.Cluster(release="1.16").node("a", cpu=4).node("b", cpu=4)
    found = ks.compare(cluster, ks.pod("p", cpu=1), new="release=1.36", tie_break="upstream", seeds=4)
    assert found.pods[0].changes[0].moves is not None
    assert found.pods[0].changes[0].moves.runs == 4
