"""``kubescheduler sweep``."""

from __future__ import annotations

import csv
import json
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from kubescheduler.sweep.cases import Case
from kubescheduler.sweep.run_case import CaseOutcome, run_case
from tests.kubescheduler.cli.conftest import CLUSTER, Run, in_a_process, pod

GRID = 'base = "release=1.16"\n[weights]\nLeastRequestedPriority = [0, 5]\n'


@pytest.fixture(autouse=True)
def snapshots(folder: Path) -> Path:
    """Two snapshots with pending pods, of which one has a fault; and a grid of two weights."""
    (folder / "snaps").mkdir()
    (folder / "snaps" / "a.yaml").write_text(CLUSTER + pod("a") + pod("b"))
    (folder / "snaps" / "b.yaml").write_text(CLUSTER + pod("c", spec=", nodeName: gone"))
    (folder / "grid.toml").write_text(GRID)
    return folder / "snaps"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases run in this process."""

    def runner(cases: Sequence[Case], workers: int) -> Generator[CaseOutcome]:
        yield from map(run_case, cases)

    monkeypatch.setattr("kubescheduler.sweep.sweeping.run_locally", runner)


def rows(name: str = "rows.csv") -> list[dict[str, str]]:
    with open(name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.usefixtures("here")
def test_manifests_as_they_are(snapshots: Path, kubescheduler: Run) -> None:
    """Without defaults no priority is filled in from its class, here in the order of two pods; a case of its own."""
    (snapshots / "b.yaml").unlink()
    high = "---\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 10\n"
    first = pod("first", "3", metadata=", namespace: x, uid: u1")
    second = pod("second", "3", metadata=", namespace: x, uid: u2", spec=", priorityClassName: high")
    (snapshots / "a.yaml").write_text(CLUSTER.replace("capacity", "allocatable") + high + first + second)
    for arguments in ((), ("--no-defaulting",)):
        kubescheduler("sweep", "snaps", "--out", "rows.csv", "--placements", *arguments)
    filled, bare = rows()
    assert filled["case"] != bare["case"]
    assert json.loads(filled["placements"])["x/second"] == json.loads(bare["placements"])["x/first"]


def test_a_sweep(folder: Path) -> None:
    """One row for each snapshot, configuration and seed; a bad snapshot is rows with its error, and status 1."""
    arguments = ("sweep", "snaps", "--grid", "grid.toml", "--config-spec", "release=1.4", "--seeds", "0..1")
    outcome = in_a_process(*arguments, "--out", "rows.csv", "--workers", "2", cwd=folder)
    assert outcome.status == 2
    assert outcome.lines == [["CASES", "THERE", "NEW", "FAILED", "ROWS"], ["12", "0", "12", "6", "rows.csv"]]
    (note,) = outcome.err.splitlines()
    assert note.startswith('error: 6 failed: snaps/b.yaml: Pod default/c: spec.nodeName: node "gone" is not in')
    assert [(row["snapshot"], row["configuration"], row["weights"], row["seed"]) for row in rows()] == [
        (snapshot, configuration, weights, seed)
        for snapshot in ("snaps/a.yaml", "snaps/b.yaml")
        for configuration, weights in (
            ("release=1.4", "{}"),
            ("release=1.16", '{"LeastRequestedPriority":0}'),
            ("release=1.16", '{"LeastRequestedPriority":5}'),
        )
        for seed in ("0", "1")
    ]
    assert {row["scheduled"] for row in rows() if not row["error"]} == {"2"}


@pytest.mark.usefixtures("here")
def test_going_on(folder: Path, kubescheduler: Run) -> None:
    """Rows that are there are kept; errors are tried again when asked."""
    command = ("sweep", "snaps", "--out", "rows.csv")
    assert kubescheduler(*command).lines[1] == ["2", "0", "2", "1", "rows.csv"]
    before = (folder / "rows.csv").read_text()
    assert kubescheduler(*command).lines[1] == ["2", "2", "0", "1", "rows.csv"]
    assert kubescheduler(*command, "--retry-errors").lines[1] == ["2", "1", "1", "1", "rows.csv"]
    assert (folder / "rows.csv").read_text() == before


@pytest.mark.usefixtures("here")
def test_columns_that_are_asked_for(kubescheduler: Run) -> None:
    """Placements and timings are columns; the file goes on only with the same ones."""
    command = ("sweep", "snaps/a.yaml", "--out", "rows.csv")
    assert kubescheduler(*command, "--placements", "--timings").status == 0
    (row,) = rows()
    assert row["placements"] == '{"default/a":"n1","default/b":"n1"}'
    assert float(row["seconds"]) >= 0
    other = kubescheduler(*command)
    assert (other.status, other.out) == (2, "")
    assert other.err.endswith("name another file, or give the same options as before\n")


@pytest.mark.usefixtures("here")
def test_pods_of_a_file(kubescheduler: Run) -> None:
    """The pods of --pods come instead of the pending ones."""
    kubescheduler("sweep", "snaps/a.yaml", "--pods", "pod.yaml", "--placements", "--out", "rows.csv")
    assert [row["placements"] for row in rows()] == ['{"default/web":"n1"}']


@pytest.mark.usefixtures("here")
def test_folders_as_snapshots(kubescheduler: Run, snapshots: Path) -> None:
    """A folder is many snapshots, or one when that is said."""
    (snapshots / "b.yaml").write_text(pod("c"))
    kubescheduler("sweep", "snaps", "--whole-folders", "--out", "rows.csv")
    assert [(row["snapshot"], row["pods"], row["nodes"]) for row in rows()] == [("snaps", "3", "2")]


@pytest.mark.usefixtures("here")
def test_equal_cases_are_told_of(kubescheduler: Run, snapshots: Path) -> None:
    """Equal snapshots, or equal configurations, have one row."""
    (snapshots / "b.yaml").write_bytes((snapshots / "a.yaml").read_bytes())
    specs = ("--config-spec", "release=1.16", "--config-spec", "release=1.4", "--config-spec", "release=1.16")
    outcome = kubescheduler("sweep", "snaps", *specs, "--out", "rows.csv")
    assert outcome.err == "note: 4 cases are the same as others: equal snapshots or configurations have one row\n"
    assert len(rows()) == 2


def test_an_interrupt(kubescheduler: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is left whole, and it is said how to go on."""

    def runner(cases: Sequence[Case], workers: int) -> Generator[CaseOutcome]:
        yield run_case(cases[0])
        raise KeyboardInterrupt

    monkeypatch.setattr("kubescheduler.sweep.sweeping.run_locally", runner)
    outcome = kubescheduler("sweep", "snaps", "--seeds", "0..4", "--out", "rows.csv")
    assert (outcome.status, outcome.out) == (130, "")
    assert outcome.err.splitlines() == [
        "note: 1 of 10 cases are in rows.csv; run the same command again to go on",
        "interrupted",
    ]
    assert len(rows()) == 1


def test_faults_are_told_together(kubescheduler: Run) -> None:
    """Everything that is wrong with a command, before anything is run."""
    outcome = kubescheduler(
        *("sweep", "gone", "--config-spec", "x", "--config-spec", "polcy=p", "--grid", "gone.toml", "--seeds", "x"),
        *("--pods", "gone.yaml", "--out", "rows.txt", "--scheduler", "here"),
    )
    assert (outcome.status, outcome.out) == (2, "")
    starts = [
        *("gone: no such file or folder", "x: x: write it as key=value", "polcy=p: polcy: there is no such key"),
        *("gone.toml: No such file", "--seeds x: x is no whole number", "--pods gone.yaml: no such file"),
        *("--out rows.txt: the name says no format", "--scheduler here: this is no address"),
    ]
    lines = outcome.err.splitlines()
    assert len(lines) == len(starts)
    assert all(line.startswith(f"error: {start}") for line, start in zip(lines, starts, strict=True))
    assert not Path("rows.txt").exists()


def test_workers_are_local(kubescheduler: Run) -> None:
    """A cluster has its own workers."""
    outcome = kubescheduler("sweep", "snaps", "--out", "r.csv", "--workers", "2", "--scheduler", "tcp://h:8786")
    outcome.refused("leave out --scheduler")


RULE = "import algorithmprovider as a\n\ndef mine():\n    a.register_fit_predicate('Mine', fits)\n\n"


def test_custom_rules(folder: Path, kubescheduler: Run) -> None:
    """``--plugin`` works in other processes; another version of its code is another case."""
    (folder / "snaps" / "b.yaml").unlink()
    policy = {"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "Mine"}]}
    (folder / "policy.json").write_text(json.dumps(policy))
    call = ["sweep", "snaps", "--config-spec", "policy=policy.json", "--plugin", "swept_rules:mine"]
    for lines, node in enumerate(("n1", "n2")):  # Python takes a file of the same second and size for the same
        answer = f"pod.spec is not None and info.node.metadata.name == '{node}', ['no']"
        (folder / "swept_rules.py").write_text(f"{RULE}def fits(pod, meta, info): return {answer}\n" + "\n" * lines)
        done = in_a_process(*call, "--placements", "--out", "rows.csv", cwd=folder)
        assert (done.status, done.err) == (0, "")
    first, second = rows()
    assert set(json.loads(first["placements"]).values()) == {"n1"}
    assert set(json.loads(second["placements"]).values()) == {"n2"}
    missing = kubescheduler("sweep", "snaps", "--plugin", "no_such_module:mine", "--out", "other.csv")
    missing.refused("--plugin no_such_module:mine: there is no module no_such_module here")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
def test_preemption(folder: Path, kubescheduler: Run, release: str) -> None:
    """With ``--preempt`` a pod takes the place of lower ones, which the row counts; else it has no node."""
    (folder / "snaps" / "b.yaml").unlink()
    low = pod("low", "3500m", spec=", nodeName: n1, priority: 0") + pod("else", "1500m", spec=", nodeName: n2")
    (folder / "snaps" / "a.yaml").write_text(CLUSTER + low + pod("high", "3", spec=", priority: 100"))
    call = ["sweep", "snaps", "--config-spec", f"release={release}", "--placements"]
    kubescheduler(*call, "--out", "plain.csv")
    kubescheduler(*call, "--preempt", "--out", "rows.csv")
    (plain,), (row,) = rows("plain.csv"), rows()
    assert json.loads(plain["placements"]) == {"default/high": None}
    assert "victims" not in plain
    preempts = release != "1.4"
    assert (row["preemptions"], row["victims"]) == (("1", "1") if preempts else ("0", "0"))
    assert json.loads(row["placements"]) == {"default/high": "n1" if preempts else None}
    assert row["case"] != plain["case"]


@pytest.mark.usefixtures("here")
def test_victims_among_the_pods(folder: Path, kubescheduler: Run) -> None:
    """A pod of the sweep that has to leave again has no node in the end."""
    (folder / "snaps" / "b.yaml").unlink()
    pods = pod("low", "3500m", metadata=", namespace: a") + pod(
        "high", "3", metadata=", namespace: b", spec=", priority: 9"
    )
    (folder / "snaps" / "a.yaml").write_text(CLUSTER)
    (folder / "pods.yaml").write_text(pods)
    kubescheduler("sweep", "snaps", "--pods", "pods.yaml", "--preempt", "--placements", "--out", "rows.csv")
    (row,) = rows()
    assert json.loads(row["placements"]) == {"a/low": None, "b/high": "n1"}
    assert (row["scheduled"], row["unschedulable"], row["victims"]) == ("1", "1", "1")


@pytest.mark.usefixtures("here")
def test_running_pods(folder: Path, kubescheduler: Run) -> None:
    """Each is taken out and placed before the next; a column counts those that go to another node than they run on."""
    running = "".join(pod(f"web-{at}", "500m", spec=", nodeName: n2") for at in range(3))
    (folder / "run.yaml").write_text(CLUSTER + running)
    call = ("sweep", "run.yaml", "--placements", "--config-spec", "release=1.16", "--config-spec", "release=1.36")
    assert kubescheduler(*call, "--running", "--out", "rows.csv").status == 0
    found = rows()
    for row in found:
        placements = json.loads(row["placements"])
        moved = sum(host != "n2" for host in placements.values())
        assert (row["pods"], row["scheduled"], int(row["moved"])) == ("3", "3", moved)
        assert moved
    assert kubescheduler(*call, "--pods", "run.yaml", "--out", "more.csv").status == 0
    assert [row["placements"] for row in rows("more.csv")] == [row["placements"] for row in found]
    both = kubescheduler(*call, "--pods", "run.yaml", "--running", "--out", "none.csv")
    both.refused("either --pods FILE or --running")


@pytest.mark.usefixtures("here")
def test_nothing_to_place(snapshots: Path, kubescheduler: Run) -> None:
    """Rows that place no pod compare nothing; one snapshot among others may have none."""
    (snapshots / "b.yaml").write_text(CLUSTER)
    assert kubescheduler("sweep", "snaps", "--out", "both.csv").status == 0
    for there in ("0", "1"):
        found = kubescheduler("sweep", "snaps/b.yaml", "--out", "none.csv")
        assert (found.status, found.lines[1][1]) == (2, there)
        assert found.err.splitlines()[-1].startswith("error: no pod was placed: no snapshot has a pending one")
