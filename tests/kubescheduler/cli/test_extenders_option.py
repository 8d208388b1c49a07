"""``--extenders``: every command asks live, passes through, records and replays, and says so in every output."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.kubescheduler.cli.conftest import Run

POLICY = """\
kind: Policy
apiVersion: v1
extenders:
- {urlPrefix: "%s/good", filterVerb: filter, prioritizeVerb: prioritize, weight: 5}
"""
DEAD = "http://127.0.0.1:1"
PASSED = "EXTENDERS PASSED THROUGH"
SIDES = ["--old", "policy=p.yaml", "--new", "release=1.20,policy=p.yaml"]
COMMANDS = {
    "compare": ["compare", "cluster.yaml", "--pods", "pod.yaml", *SIDES],
    "sequence": ["compare", "cluster.yaml", "--pods", "pod.yaml", "--mode", "sequence", *SIDES],
    "schedule": ["schedule", "cluster.yaml", "--pod", "pod.yaml", "--policy-config-file", "p.yaml"],
    "simulate": ["simulate", "cluster.yaml", "--workload", "pod.yaml", "--policy-config-file", "p.yaml"],
    "capacity": ["capacity", "cluster.yaml", "--pod", "pod.yaml", "--policy-config-file", "p.yaml"],
}
OUTPUTS = {
    "compare": ("table", "wide", "json", "yaml", "html", "junit", "github"),
    "schedule": ("table", "wide", "json", "yaml", "simulator", "junit", "github"),
    "simulate": ("table", "wide", "json", "csv", "timeline", "events", "simulator"),
    "capacity": ("table", "wide", "json"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_recorded_and_replayed_runs_are_byte_identical(
    kubescheduler: Run, folder: Path, address: str, command: str
) -> None:
    """A replay asks nobody and prints what the recording run printed; a second recording asks nothing anew."""
    (folder / "p.yaml").write_text(POLICY % address)
    call = [*COMMANDS[command], "-o", "json"]
    recorded = kubescheduler(*call, "--extenders", "record", "answers.jsonl")
    kept = (folder / "answers.jsonl").read_bytes()
    assert kept
    assert "answers.jsonl" in recorded.err
    again = kubescheduler(*call, "--extenders", "record", "answers.jsonl")
    assert (folder / "answers.jsonl").read_bytes() == kept
    replayed = kubescheduler(*call, "--extenders", "replay", "answers.jsonl")
    live = kubescheduler(*call)
    bodies = [
        found.out.replace("are recorded in answers.jsonl", "come from answers.jsonl") for found in (recorded, again)
    ]
    assert bodies == [replayed.out] * 2
    assert recorded.status == replayed.status == live.status
    plain = [{k: v for k, v in json.loads(found.out).items() if k != "notes"} for found in (replayed, live)]
    assert plain[0] == plain[1]


def test_passwords_are_not_recorded(kubescheduler: Run, folder: Path, address: str) -> None:
    """The file has no password of an address, and answers for it all the same."""
    (folder / "p.yaml").write_text(POLICY % address.replace("://", "://user:secret@"))
    recorded = kubescheduler(*COMMANDS["schedule"], "--extenders", "record", "answers.jsonl")
    kept = (folder / "answers.jsonl").read_text()
    assert "://user:***@" in kept
    assert "secret" not in kept + recorded.err
    assert kubescheduler(*COMMANDS["schedule"], "--extenders", "replay", "answers.jsonl").status == recorded.status


def test_a_replay_is_strict(kubescheduler: Run, folder: Path, address: str) -> None:
    """A request that was not recorded is wrong input, whatever a release makes of a missing score."""
    (folder / "p.yaml").write_text(POLICY % address)
    kubescheduler(*COMMANDS["schedule"], "--extenders", "record", "answers.jsonl")
    (folder / "pod.yaml").write_text((folder / "pod.yaml").read_text().replace("name: web", "name: new"))
    for command in COMMANDS.values():
        found = kubescheduler(*command, "--extenders", "replay", "answers.jsonl")
        found.refused("no answer is recorded to this request", "about pod default/new")


@pytest.mark.parametrize(("command", "output"), [(c, o) for c, outputs in OUTPUTS.items() for o in outputs])
def test_passing_through_is_said_in_every_output(kubescheduler: Run, folder: Path, command: str, output: str) -> None:
    """A dead extender that is passed through leaves an answer, and a reader of any output learns of it."""
    (folder / "p.yaml").write_text(POLICY % DEAD)
    found = kubescheduler(*COMMANDS[command], "--extenders", "pass", "-o", output)
    assert found.status in (0, 1)
    assert f"{PASSED}: {DEAD}/good" in found.out.replace("&#x27;", "'")
    assert PASSED in found.err


def test_passing_through_breaks_no_reader(kubescheduler: Run, folder: Path) -> None:
    """Where it is said a program still reads what it read: a column, an event, an annotation; and names stay names."""
    (folder / "p.yaml").write_text(POLICY % DEAD)

    def passed(command: str, output: str) -> str:
        found = kubescheduler(*COMMANDS[command], "--extenders", "pass", "-o", output)
        assert PASSED in found.err
        return found.out

    for output in ("csv", "timeline"):
        rows = list(csv.DictReader(passed("simulate", output).splitlines()))
        assert rows
        assert all(row["notes"].startswith(PASSED) and None not in row for row in rows)
    first, *events = map(json.loads, passed("simulate", "events").splitlines())
    assert (first["time"], first["kind"]) == (0, "note")
    assert {event["kind"] for event in events} == {"enqueued", "attempted", "bound"}
    for command in ("schedule", "simulate"):
        [pod] = json.loads(passed(command, "simulator"))["pods"]
        assert pod["metadata"]["annotations"]["kubescheduler/notes"].startswith(PASSED)
    assert passed("schedule", "name") == "default/web n1\n"
    picture = kubescheduler(*COMMANDS["simulate"], "--extenders", "pass", "--plot", "a.svg")
    assert picture.status == 0
    assert f">{PASSED}: {DEAD}/good" in (folder / "a.svg").read_text()


@pytest.mark.parametrize("output", ["csv", "timeline", "events", "simulator"])
def test_nothing_is_said_where_extenders_are_asked(kubescheduler: Run, folder: Path, address: str, output: str) -> None:
    """No note, no column, and the annotation of an earlier run that passed them through is gone."""
    (folder / "p.yaml").write_text(POLICY % address)
    said = "metadata: {name: web, annotations: {kubescheduler/notes: EXTENDERS PASSED THROUGH}}"
    (folder / "pod.yaml").write_text((folder / "pod.yaml").read_text().replace("metadata: {name: web}", said))
    found = kubescheduler(*COMMANDS["simulate"], "-o", output)
    assert found.status == 0
    assert "note" not in found.out + found.err
    assert PASSED not in found.out


def test_one_side_may_be_passed_through(kubescheduler: Run, folder: Path, address: str) -> None:
    """A configuration in one line says how its extenders are asked; the other side is asked live."""
    (folder / "p.yaml").write_text(POLICY % address)
    found = kubescheduler(*COMMANDS["compare"][:-1], "release=1.20,policy=p.yaml,extenders=pass", "-o", "json")
    assert [note[:26] for note in json.loads(found.out)["notes"]] == ["1.20: EXTENDERS PASSED THR"]


def test_a_sweep(kubescheduler: Run, folder: Path, address: str) -> None:
    """The label has how extenders are asked; replayed rows are those of the recording; a dead one leaves errors."""
    (folder / "p.yaml").write_text(POLICY % address)
    call = ["sweep", "cluster.yaml", "--pods", "pod.yaml", "--config-spec", "policy=p.yaml", "--placements", "--out"]
    assert kubescheduler(*call, "a.csv", "--extenders", "record", "answers.jsonl").status == 0
    assert kubescheduler(*call, "b.csv", "--extenders", "replay", "answers.jsonl").status == 0
    rows = [(folder / name).read_text().splitlines()[1].split(",", 1)[1] for name in ("a.csv", "b.csv")]
    assert rows[0].replace("extenders=record", "extenders=replay") == rows[1]
    (folder / "p.yaml").write_text(POLICY % DEAD)
    assert kubescheduler(*call, "c.csv").status == 2
    assert kubescheduler(*call, "d.csv", "--extenders", "pass").status == 0
    assert "extenders=pass" in (folder / "d.csv").read_text()


@pytest.mark.parametrize(
    ("said", "text"),
    [
        pytest.param(["pas"], "did you mean pass?", id="near"),
        pytest.param(["record"], "which FILE?", id="no file"),
        pytest.param(["pass:x"], "takes no file", id="a file"),
        pytest.param(["replay", "none.jsonl"], "none.jsonl: cannot be read: No such file", id="not there"),
        pytest.param(["replay", "pod.yaml"], "no record of answers", id="no record"),
        pytest.param(["record", "no/such/a.jsonl"], "cannot be written", id="no folder"),
    ],
)
def test_wrong_values(kubescheduler: Run, folder: Path, said: list[str], text: str) -> None:
    """Exit status 2 and a message."""
    (folder / "p.yaml").write_text(POLICY % DEAD)
    kubescheduler(*COMMANDS["schedule"], "--extenders", *said).refused(text)
