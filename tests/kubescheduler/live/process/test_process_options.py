"""Command lines and files: what they come to, and how that is written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.live.process_settings import EVERY, SECOND, a_file, fault, settings, settled

# --- defaults and flags --------------------------------------------------------------------------------

LOCKS = {"1.16": "endpoints", "1.20": "leases", "1.36": "leases"}


@EVERY
def test_defaults(release: str) -> None:
    """What a release does that is told nothing."""
    found = settings(release, "--master=http://here")
    assert (found.server.master, found.server.kubeconfig) == ("http://here", "")
    assert (found.server.qps, found.server.burst) == (50, 100)
    election = found.election
    assert (election.leader_elect, election.resource_lock) == (True, LOCKS[release])
    assert (election.resource_namespace, election.resource_name) == ("kube-system", "kube-scheduler")
    assert election.lease_duration_ns == 15 * SECOND
    assert not found.delays_cache
    assert found.unschedulable_seconds is None


@EVERY
def test_flags_fill_the_configuration(release: str) -> None:
    """Without a file they say it all."""
    words = "--kubeconfig=k --kube-api-qps=5000 --kube-api-burst=1 --leader-elect=false --leader-elect-retry-period=1s"
    found = settings(release, *words.split())
    assert (found.server.kubeconfig, found.server.qps, found.server.burst) == ("k", 5000, 1)
    assert (found.election.leader_elect, found.election.retry_period_ns) == (False, SECOND)


@pytest.mark.parametrize("release", ["1.16", "1.20"])
@pytest.mark.parametrize(
    ("words", "name"),
    [
        pytest.param(("--lock-object-name=a",), "a", id="old spelling"),
        pytest.param(("--leader-elect-resource-name=b",), "b", id="new spelling"),
        pytest.param(("--lock-object-name=a", "--leader-elect-resource-name=b"), "b", id="new one last"),
        pytest.param(("--leader-elect-resource-name=b", "--lock-object-name=a"), "a", id="old one last"),
    ],
)
def test_two_flags_name_the_lock(release: str, words: tuple[str, ...], name: str) -> None:
    """The later one wins."""
    assert settings(release, "--master=x", *words).election.resource_name == name


def test_the_longest_wait_of_1_36() -> None:
    """``--pod-max-in-unschedulable-pods-duration``."""
    found = settings("1.36", "--master=x", "--pod-max-in-unschedulable-pods-duration=90s")
    assert found.unschedulable_seconds == 90


# --- files ---------------------------------------------------------------------------------------------

CONTENT: dict[str, Any] = {
    "clientConnection": {"kubeconfig": "from-file", "qps": 7, "burst": 8},
    "leaderElection": {"leaderElect": True, "leaseDuration": "30s", "renewDeadline": "20s", "resourceName": "mine"},
}
BESIDE = ("--kubeconfig=k", "--kube-api-qps=1", "--leader-elect-lease-duration=40s", "--master=http://m")


@pytest.mark.parametrize(
    ("release", "lease"),
    [
        pytest.param("1.16", 30, id="1.16 the file alone"),
        pytest.param("1.20", 30, id="1.20 the file alone"),
        pytest.param("1.36", 40, id="1.36 flags of the election win"),
    ],
)
def test_a_file_and_flags(tmp_path: Path, release: str, lease: int) -> None:
    """Flags that do not count beside a file are named; --master counts."""
    notes: list[str] = []
    found = settings(release, a_file(tmp_path, release, **CONTENT), *BESIDE, notes=notes)
    assert (found.server.kubeconfig, found.server.qps, found.server.burst) == ("from-file", 7, 8)
    assert found.server.master == "http://m"
    assert found.election.lease_duration_ns == lease * SECOND
    assert (found.election.renew_deadline_ns, found.election.resource_name) == (20 * SECOND, "mine")
    ignored = [note for note in notes if "--kubeconfig" in note]
    assert len(ignored) == 1
    assert ("--leader-elect-lease-duration" in ignored[0]) is (release != "1.36")


def test_what_counts_beside_a_file_of_1_36(tmp_path: Path) -> None:
    """The wait of unschedulable pods is not in the file, and delayCacheUntilActive is."""
    words = a_file(tmp_path, "1.36", delayCacheUntilActive=True), "--pod-max-in-unschedulable-pods-duration=1m"
    found = settings("1.36", *words)
    assert (found.unschedulable_seconds, found.delays_cache) == (60, True)


@pytest.mark.parametrize(
    ("names", "name"),
    [
        pytest.param({"lockObjectName": "a"}, "a", id="old spelling"),
        pytest.param({"resourceName": "a"}, "a", id="new spelling"),
        pytest.param({"resourceName": "a", "lockObjectName": "a"}, "a", id="both"),
        pytest.param({}, "kube-scheduler", id="neither"),
    ],
)
def test_lock_names_of_1_16_files(tmp_path: Path, names: dict[str, str], name: str) -> None:
    """Two spellings of one thing."""
    found = settings("1.16", a_file(tmp_path, "1.16", leaderElection=names))
    assert found.election.resource_name == name


def test_lock_names_that_do_not_match(tmp_path: Path) -> None:
    """1.16's own text."""
    words = a_file(tmp_path, "1.16", leaderElection={"resourceName": "a", "lockObjectName": "b"})
    text = "ResourceName and LockObjectName are both set and do not match, ResourceName: a, LockObjectName: b"
    assert text in fault("1.16", words)


PERCENTAGES = [("nothing", {}, 0), ("a number", {"percentageOfNodesToScore": 30}, 30)]


@EVERY
@pytest.mark.parametrize(("content", "wanted"), [row[1:] for row in PERCENTAGES], ids=[row[0] for row in PERCENTAGES])
def test_the_percentage_of_nodes(tmp_path: Path, release: str, content: dict[str, Any], wanted: int) -> None:
    """The live process looks at as many nodes as kube-scheduler: by default an adaptive share of them."""
    from clusterstate.cache import ClusterCache

    engine = settings(release, a_file(tmp_path, release, **content)).engine
    scheduler = engine.scheduler(ClusterCache(engine.view))
    assert scheduler.algorithm.percentage_of_nodes_to_score == wanted


# --- gates ---------------------------------------------------------------------------------------------


def test_gates_of_the_client_library() -> None:
    """1.36 takes them among its own; they have no effect here, and a note says so."""
    notes: list[str] = []
    settings("1.36", "--master=x", "--feature-gates=WatchListClient=false,SchedulerAsyncPreemption=false", notes=notes)
    assert any("WatchListClient has no effect here" in note for note in notes)


# --- writing -------------------------------------------------------------------------------------------


def test_1_16_writes_what_flags_say_and_goes_on(tmp_path: Path) -> None:
    """Not what the file says."""
    target, notes = tmp_path / "written.yaml", list[str]()
    file = a_file(tmp_path, "1.16", **CONTENT)
    words = f"--write-config-to={target} --leader-elect-resource-name=flagged --policy-configmap=p"
    found = settled("1.16", file, *words.split(), notes=notes)
    assert found is not None
    assert str(target) in notes
    document = yaml.safe_load(target.read_text())
    assert document["leaderElection"]["resourceName"] == "flagged"
    assert document["algorithmSource"] == {"policy": {"configMap": {"namespace": "kube-system", "name": "p"}}}
    assert document["clientConnection"]["qps"] == 50


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_the_others_write_what_it_comes_to_and_end(tmp_path: Path, release: str) -> None:
    """With the flags that count; no server is needed. What is written comes to the same again."""
    target = tmp_path / "written.yaml"
    words = f"--write-config-to={target} --leader-elect-retry-period=1s --kube-api-qps=9"
    assert settled(release, *words.split()) is None
    document = yaml.safe_load(target.read_text())
    assert document["leaderElection"]["retryPeriod"] == "1s"
    assert document["clientConnection"]["qps"] == 9
    assert document["percentageOfNodesToScore"] == 0
    again = settings(release, f"--config={target}")
    assert (again.election.retry_period_ns, again.server.qps) == (SECOND, 9)


@EVERY
def test_a_file_that_cannot_be_written(tmp_path: Path, release: str) -> None:
    """Upstream's text."""
    target = tmp_path / "no" / "such"
    assert fault(release, f"--write-config-to={target}") == f"open {target}: no such file or directory"
