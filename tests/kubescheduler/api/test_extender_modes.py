"""Extenders from Python: live, passed through, recorded and replayed; a dead one is an error, never an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import InputError
from kubescheduler.comparison.outcomes import Cause

DEAD = "http://127.0.0.1:1"


def _policy(address: str, **more: Any) -> dict[str, Any]:
    asked = {"urlPrefix": f"{address}/good", "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 9}
    return {"kind": "Policy", "apiVersion": "v1", "extenders": [{**asked, **more}]}


def _cluster(release: str = "1.16") -> ks.Cluster:
    return ks.Cluster(release=release).node("n1", cpu=8).node("n2", cpu=4)


# --- compare -------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["independent", "sequence"])
@pytest.mark.parametrize("filters", [True, False])
@pytest.mark.parametrize("new", ["1.16", "1.20"])
def test_a_dead_extender_on_both_sides_is_no_sameness(new: str, filters: bool, mode: str) -> None:
    """Both fail alike and nothing was compared; nothing tolerates that. Also where a release goes on without scores."""
    policy = _policy(DEAD, **({} if filters else {"filterVerb": ""}))
    sides: dict[str, Any] = {"old": {"policy": policy}, "new": {"policy": policy, "release": new}}
    found = ks.compare(_cluster(), [ks.pod("a"), ks.pod("b")], **sides, mode=mode)
    assert (found.same, found.moved, len(found.errors)) == (False, (), 2)
    assert found.differs(frozenset(Cause))
    assert {change.cause for pod in found.pods for change in pod.changes} == {Cause.ERROR}
    assert all("extender" in change.text or DEAD in change.text for pod in found.pods for change in pod.changes)
    assert found.as_dict()["errors"] == 2


@pytest.mark.parametrize("mode", ["independent", "sequence"])
def test_a_dead_extender_that_is_ignorable(mode: str) -> None:
    """The policy says that pods go without it: they are compared as each release decides then, and a note says so."""
    policy = _policy(DEAD, ignorable=True)
    cluster, pods = _cluster(), [ks.pod("a"), ks.pod("b")]
    found = ks.compare(cluster, pods, old={"policy": policy}, new={"policy": policy, "release": "1.20"}, mode=mode)
    decided = ks.Scheduler(cluster, policy=policy).decide(pods[0])
    assert (found.errors, found.pods[0].outcomes[0].host) == ((), decided.host)
    assert found.notes == tuple(
        f'went on without its extender: Post "{DEAD}/good/{verb}": Connection refused'
        for verb in ("filter", "prioritize")
    )


@pytest.mark.parametrize("dead", ["old", "new"])
def test_a_dead_extender_on_one_side_is_an_error(dead: str) -> None:
    """Wherever the other side would go."""
    sides: dict[str, Any] = {"old": "", "new": "release=1.20"} | {dead: {"policy": _policy(DEAD)}}
    [pod] = ks.compare(_cluster(), ks.pod("a"), **sides).pods
    assert pod.cause is Cause.ERROR
    assert pod.changes[0].text.startswith(f"the {dead} scheduler ")


def test_a_dead_extender_is_an_error_of_runs_too() -> None:
    """No share is made of attempts that failed."""
    [pod] = ks.compare(_cluster(), ks.pod("a"), new={"policy": _policy(DEAD)}, tie_break="upstream", seeds=2).pods
    assert (pod.cause, pod.changes[0].moves) == (Cause.ERROR, None)


def test_compare_passes_extenders_through() -> None:
    """Then there is an answer, and it says how it came about."""
    policy = _policy(DEAD)
    found = ks.compare(_cluster(), ks.pod("a"), old={"policy": policy}, new={"policy": policy}, extenders="pass")
    assert found.same
    assert [note.split(":")[1].strip()[:24] for note in found.notes] == ["EXTENDERS PASSED THROUGH"] * 2


# --- Scheduler -----------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20"])
def test_a_scheduler_passes_extenders_through(release: str) -> None:
    """Every node fits and none has their scores; live, the same extender ends the attempt."""
    cluster, policy = _cluster(release), _policy(DEAD)
    passed = ks.Scheduler(cluster, policy=policy, extenders="pass")
    decision = passed.decide(ks.pod("a", cpu=1))
    assert (decision.host is not None, decision.error, decision.fits()) == (True, None, ["n1", "n2"])
    assert any("EXTENDERS PASSED THROUGH" in note for note in passed.notes)
    live = ks.Scheduler(cluster, policy=policy).decide(ks.pod("a", cpu=1))
    assert live.host is None
    assert live.error


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20"])
def test_a_scheduler_replays_what_it_recorded(release: str, address: str, tmp_path: Path) -> None:
    """Decisions are the live ones, by totals too; a replay asks nobody, and a new question is an error."""
    cluster, policy, file = _cluster(release), _policy(address), tmp_path / "answers.jsonl"
    pod = ks.pod("a", cpu=1)
    live, recorded, replayed = (
        ks.Scheduler(cluster, policy=policy, extenders=way).decide(pod)
        for way in ("live", f"record {file}", f"replay {file}")
    )
    assert live.host is not None
    assert live.total() == recorded.total() == replayed.total()
    assert live.host == recorded.host == replayed.host
    kept = file.read_bytes()
    again = ks.Scheduler(cluster, policy=policy, extenders=f"replay {file}")
    with pytest.raises(InputError, match="no answer is recorded to this request"):
        again.decide(ks.pod("b", cpu=2))
    assert file.read_bytes() == kept


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("off", "expected live, pass, record FILE or replay FILE"),
        ("record", "which FILE?"),
        ("pass it", "takes no file"),
        ("replay gone.jsonl", "gone.jsonl"),
    ],
)
def test_ways_that_there_are_not(way: str, message: str) -> None:
    """One message, before anything is decided."""
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        ks.Scheduler(_cluster(), policy=_policy(DEAD), extenders=way)
