"""One case: what its row says."""

from __future__ import annotations

import hashlib
import json
from itertools import count
from pathlib import Path

import msgspec
import pytest

from kubescheduler.sweep.cases import packed
from kubescheduler.sweep.run_case import failed, run_case
from tests.support.comparisons import node_manifest, one_case, pod_manifest, write


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """Two nodes of 4 and 2 CPUs, one running pod, and three pending ones of which one fits nowhere."""
    return write(
        tmp_path / "cluster.json",
        node_manifest("n1", "4"),
        node_manifest("n2", "2", "4Gi"),
        pod_manifest("running", "1", nodeName="n1"),
        pod_manifest("a", "1"),
        pod_manifest("b", "1"),
        pod_manifest("huge", "64"),
    )


def test_the_row(snapshot: str) -> None:
    """Counts, shares over nodes after everything is placed, and a digest of where the pods went."""
    row = run_case(one_case(snapshot, placements=True)).row
    placements = {"default/a": "n1", "default/b": "n2", "default/huge": None}
    text = json.dumps(placements, separators=(",", ":"))
    assert dict(row) == {
        "case": one_case(snapshot).id,
        "snapshot": snapshot,
        "configuration": "release=1.16",
        "weights": "{}",
        "seed": None,
        "pods": 3,
        "scheduled": 2,
        "unschedulable": 1,
        "nodes": 2,
        "nodes_used": 2,
        "cpu_mean": 0.5,
        "cpu_max": 0.5,
        "cpu_stddev": 0.0,
        "memory_mean": 0.25,
        "memory_max": 0.25,
        "memory_stddev": 0.0,
        "digest": hashlib.sha256(text.encode()).hexdigest(),
        "placements": text,
        "error": "",
    }


def test_an_empty_cluster(tmp_path: Path) -> None:
    """Without nodes there is nothing to measure, and the release says so."""
    row = run_case(one_case(write(tmp_path / "cluster.json", pod_manifest("a")))).row
    assert "unschedulable" not in row
    assert (
        row["error"]
        == "attempts that failed: 1, the first of Pod default/a: gave up: no nodes available to schedule pods"
    )


def test_seconds_when_asked_for(snapshot: str) -> None:
    """Timings are what the clock says from the first decision to the last."""
    ticks = count(10.0, 2.5)
    row = run_case(one_case(snapshot, timings=True), clock=lambda: next(ticks)).row
    assert row["seconds"] == 2.5
    assert "seconds" not in run_case(one_case(snapshot)).row


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
@pytest.mark.parametrize("tie_break", ["random", "upstream"])
def test_seeds_choose_among_equals(tmp_path: Path, release: str, tie_break: str) -> None:
    """A seed means the same every time, and another seed may mean another node where there is chance at all."""
    name = write(tmp_path / "cluster.json", *(node_manifest(f"n{at}") for at in range(9)), pod_manifest("a"))
    cases = [one_case(name, f"release={release}", seed=seed, tie_break=tie_break) for seed in range(5)]
    rows = [run_case(case).row for case in cases]
    assert rows == [run_case(case).row for case in cases]
    assert all(row["scheduled"] == 1 for row in rows)
    chance = tie_break == "random" or release in ("1.16", "1.20")
    assert (len({row["digest"] for row in rows}) > 1) == chance


def test_pods_of_a_file(tmp_path: Path, snapshot: str) -> None:
    """Given pods are scheduled instead of the pending ones, which stay as they are."""
    name = write(tmp_path / "pods.json", pod_manifest("a", "2"), pod_manifest("new"))
    row = run_case(one_case(snapshot, pod_files=(name,), placements=True)).row
    assert row["placements"] == '{"default/a":"n1","default/new":"n2"}'


def test_pods_of_another_scheduler(snapshot: str, tmp_path: Path) -> None:
    """They are left out with a note; where no other is asked about, the row has an error."""
    other = pod_manifest("new", schedulerName="other")
    found = run_case(one_case(snapshot, "release=1.36", pod_files=(write(tmp_path / "pods.json", other),)))
    why = 'left out: default/new, which no scheduler here tries: profile not found for scheduler name "other"'
    assert found.row["error"] == f"there is no pod to compare; {why}"
    assert "unschedulable" not in found.row
    name = write(tmp_path / "both.json", other, pod_manifest("mine"))
    found = run_case(one_case(snapshot, "release=1.36", pod_files=(name,)))
    assert (found.row["pods"], found.row["unschedulable"], found.row["error"]) == (1, 0, "")
    assert found.notes == (f"release=1.36: {why}",)


# --- errors ------------------------------------------------------------------------------------


def test_a_bad_snapshot(tmp_path: Path) -> None:
    """Every fault of a snapshot, in one text."""
    name = write(
        tmp_path / "cluster.json",
        node_manifest("n1"),
        pod_manifest("a", nodeName="n2"),
        pod_manifest("b", nodeName="n3"),
    )
    row = run_case(one_case(name)).row
    assert str(row["error"]).count("is not in the cluster") == 2
    assert (row["case"], row["snapshot"], row["digest"]) == (one_case(name).id, name, "")
    assert "pods" not in row


def test_a_bad_policy(tmp_path: Path, snapshot: str) -> None:
    """What is wrong with a policy, by its file's name; the case has its own id all the same."""
    policy = tmp_path / "policy.json"
    policy.write_text('{"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "Nope", "weight": 1}]}')
    error = str(run_case(one_case(snapshot, f"policy={policy}")).row["error"])
    assert error.startswith(f"{policy}: priorities[0]")
    assert "Nope" in error


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("release=1.16,policy={}/gone.json", "missing policy config file {}/gone.json"),
        ("release=1.4,config={}/gone.yaml", "reads no component configuration"),
        ("release=1.36,provider=DefaultProvider", "unknown flag: --algorithm-provider"),
        ("release=1.16,provider=Nope", '"Nope"'),
    ],
    ids=["no-policy", "no-profiles", "no-provider", "provider"],
)
def test_a_bad_configuration(tmp_path: Path, snapshot: str, spec: str, text: str) -> None:
    """What cannot be configured is a row, whatever the release."""
    error = str(run_case(one_case(snapshot, spec.format(tmp_path))).row["error"])
    assert text.format(tmp_path) in error


def test_attempts_that_are_given_up(tmp_path: Path, snapshot: str) -> None:
    """An extender that does not answer is an error of the case, and what was not decided is not counted."""
    policy = tmp_path / "policy.json"
    extender = {"urlPrefix": "http://127.0.0.1:9", "filterVerb": "filter"}
    policy.write_text(json.dumps({"kind": "Policy", "apiVersion": "v1", "extenders": [extender]}))
    row = run_case(one_case(snapshot, f"policy={policy}")).row
    assert str(row["error"]).startswith("attempts that failed: 2, the first of Pod default/a: gave up: ")
    assert not {"pods", "scheduled", "unschedulable", "nodes_used"} & set(row)
    assert row["digest"] == ""


def test_unexpected_errors_are_rows(snapshot: str) -> None:
    """Whatever goes wrong in a case stays in its row."""

    def clock() -> float:
        raise ZeroDivisionError("stopped")

    assert run_case(one_case(snapshot), clock=clock).row["error"] == "ZeroDivisionError: stopped"


def test_files_that_change(tmp_path: Path, snapshot: str) -> None:
    """A file that is not what the id stands for any more is an error."""
    policy = tmp_path / "policy.json"
    policy.write_text('{"kind": "Policy", "apiVersion": "v1"}')
    case, before = one_case(snapshot, f"policy={policy}"), Path(snapshot).read_text()
    write(Path(snapshot), node_manifest("n1"))
    assert "was changed after the sweep began" in str(run_case(case).row["error"])
    Path(snapshot).write_text(before)
    assert run_case(case).row["error"] == ""
    policy.write_text('{"kind": "Policy", "apiVersion": "v1", "priorities": []}')
    assert run_case(case).row["error"] == f"{policy}: changed after the sweep began; run the same command again"


def test_pods_that_change(tmp_path: Path, snapshot: str) -> None:
    """A process that runs cases of several sweeps reads the pods of each, and none that changed after it began."""
    path = tmp_path / "pods.json"
    first, second = (
        one_case(snapshot, pod_files=(write(path, *(pod_manifest(f"p{at}") for at in range(pods))),)) for pods in (1, 3)
    )
    assert (first.id != second.id, run_case(second).row["pods"]) == (True, 3)
    assert run_case(first).row["error"] == f"{path}: changed after the sweep began; run the same command again"
    write(path, pod_manifest("p0"))
    assert run_case(first, packed(first.files)).row["pods"] == 1


def test_judgements_of_several_sweeps(tmp_path: Path) -> None:
    """What one sweep lets pass is a fault for the next that does not, in the same process."""
    snapshot = write(tmp_path / "s.json", {**node_manifest("n"), "spec": {"taint": []}}, pod_manifest("p"))
    errors = [run_case(one_case(snapshot, validate=validate)).row["error"] for validate in ("ignore", "strict")]
    assert errors[0] == ""
    assert "spec.taint: unknown field" in str(errors[1])


def test_another_version(snapshot: str) -> None:
    """A worker with another version decides nothing."""
    row = run_case(one_case(snapshot, version="0.0.0")).row
    assert "the sweep was started with 0.0.0; install the same version everywhere" in str(row["error"])


def test_a_row_of_what_never_ran(snapshot: str) -> None:
    """A case that is given up has a row like any that failed."""
    case = one_case(snapshot, placements=True)
    assert failed(case, "died").row == {
        "case": case.id,
        "snapshot": snapshot,
        "configuration": "release=1.16",
        "weights": "{}",
        "seed": None,
        "digest": "",
        "placements": "",
        "error": "died",
    }


def test_notes_on_a_configuration(tmp_path: Path, snapshot: str) -> None:
    """What a reader would not expect comes with the outcome, after the configuration's label."""
    policy = tmp_path / "policy.json"
    policy.write_text('{"kind": "Policy", "apiVersion": "v1"}')
    spec = f"policy={policy},provider=DefaultProvider"
    (note,) = run_case(one_case(snapshot, spec)).notes
    assert note == f"{spec}: --algorithm-provider has no effect beside the policy in {policy}"


# --- files that are elsewhere --------------------------------------------------------------------


def test_files_that_are_sent(tmp_path: Path) -> None:
    """A machine without the files comes to the same row, and speaks of them by the user's names."""
    folder = tmp_path / "cluster"
    write(folder / "nodes.json", node_manifest("n1"))
    write(folder / "pods.json", pod_manifest("a"))
    policy = tmp_path / "policy.json"
    policy.write_text('{"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "Nope", "weight": 1}]}')
    good, bad = one_case(str(folder)), one_case(str(folder), f"policy={policy}")
    here = [run_case(good), run_case(bad)]
    contents = packed([*good.files, *bad.files])
    for name in contents:
        Path(name).unlink()
    again = msgspec.structs.replace(good, snapshot=msgspec.structs.replace(good.snapshot, name="read anew"))
    assert [run_case(good, contents), run_case(bad, contents)] == here
    assert run_case(again).row["error"] != ""
    assert run_case(again, contents).row["digest"] == here[0].row["digest"]


def test_nodes_used_without_the_pods_of_nodes(tmp_path: Path) -> None:
    """A node that has nothing but pods of a DaemonSet or static pods is not used; one of the workload's makes it so."""

    def owned(name: str, node_name: str, kind: str) -> dict[str, object]:
        owner = {"apiVersion": "v1", "kind": kind, "name": "o", "uid": "1", "controller": True}
        made = pod_manifest(name, nodeName=node_name)
        return {**made, "metadata": {**made["metadata"], "ownerReferences": [owner]}}

    mirror = pod_manifest("static", nodeName="n3")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "hash"}
    daemons = [owned("d1", "n1", "DaemonSet"), owned("d2", "n2", "Node"), mirror]
    nodes = [node_manifest(f"n{number}") for number in range(1, 5)]
    row = run_case(one_case(write(tmp_path / "idle.json", *nodes, *daemons))).row
    assert (row["nodes"], row["nodes_used"]) == (4, 0)
    busy = owned("job", "n1", "ReplicaSet")
    row = run_case(one_case(write(tmp_path / "busy.json", *nodes, *daemons, busy, pod_manifest("a")))).row
    assert (row["nodes"], row["nodes_used"]) == (4, 2)
