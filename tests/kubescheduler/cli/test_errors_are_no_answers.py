"""Every command that decides, with every kind of error, in every output: exit status 2, one message, and no answer."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.kubescheduler.cli.conftest import POD, Run, pod
from tests.support.comparisons import run_here
from tests.support.custom.faulty_plugins import KINDS, ErrorKind

pytestmark = pytest.mark.usefixtures("own_algorithms")

Judge = Callable[[str], bool]
"""Whether what a command printed says of its one pod that an error ended the attempt."""


def _marked(out: str) -> bool:
    return "<error>" in out and "0/2" not in out


def _item(out: str, **expected: Any) -> bool:
    [item] = json.loads(out)["items"]
    return bool(item["error"]) and all(item[name] == value for name, value in expected.items())


def _nowhere(out: str) -> bool:
    [pod] = json.loads(out)["pods"]
    return "nodeName" not in pod["spec"] and "selected-node" not in out and "kubescheduler/error" in out


def _uncompared(out: str) -> bool:
    found = json.loads(out)
    counts = (found["same"], found["errors"], found["moved"])
    return counts == (False, 1, 0) and found["summary"][0]["causes"] == {"error": 1}


def _events(out: str) -> bool:
    kinds = {event["kind"] for event in map(json.loads, out.splitlines())}
    return "error" in kinds and not kinds & {"attempted", "bound"}


def _standing(out: str) -> bool:
    return [row["outcome"] for row in csv.DictReader(out.splitlines())] == ["error"]


DECISIONS: dict[str, Judge] = {
    "table": _marked,
    "wide": _marked,
    "json": lambda out: _item(out, host=None, best=[]),
    "yaml": lambda out: "host: null" in out and "error: null" not in out,
    "name": lambda out: out == "",
    "simulator": _nowhere,
    "junit": lambda out: 'errors="1"' in out and "<error " in out,
    "github": lambda out: out.startswith("::error ") and out.endswith(": 1 error\n"),
}
RUNS: dict[str, Judge] = {
    "table": lambda out: ["ERROR:", "1"] in map(str.split, out.splitlines()),
    "wide": lambda out: "   error   " in out,
    "json": lambda out: json.loads(out)["counts"]["error"] == 1 and json.loads(out)["pods"][0]["outcome"] == "error",
    "csv": _standing,
    "timeline": lambda out: out.splitlines()[-1].startswith("0,1,0,"),
    "events": _events,
    "simulator": _nowhere,
}
ROOMS: dict[str, Judge] = {"table": _marked, "wide": _marked, "json": lambda out: _item(out, count=None, nodes=[])}
COMPARISONS: dict[str, Judge] = {
    "table": lambda out: "none of 1 pod could be compared" in out and out.count("<error>") == 2 and "EFFECT" not in out,
    "wide": lambda out: "none of 1 pod could be compared" in out and out.count("<error>") == 2,
    "json": _uncompared,
    "yaml": lambda out: "same: false" in out and "error: 1" in out,
    "html": lambda out: "none of 1 pod could be compared" in out,
    "junit": lambda out: 'errors="1"' in out and "<error " in out,
    "github": lambda out: out.count("::error ") == 1 and out.endswith(": 1 error\n"),
}


@attrs.frozen
class Command:
    """One way to ask for decisions."""

    arguments: tuple[str, ...]
    outputs: dict[str, Judge]
    """Output → what it has to show."""
    by_spec: bool = False
    """Whether what decides is said as KEY=VALUE."""

    def line(self, kind: ErrorKind, output: str, module: str) -> list[str]:
        """The command line."""
        if self.by_spec:
            decides = ["--old", kind.spec, "--new", kind.spec]
        elif kind.policy is not None:
            decides = ["--policy-config-file", "policy.json"]
        else:
            decides = ["--release", "1.36", "--config", "config.json"]
        plugin = ["--plugin", f"Mine={module}:Mine"] if module else []
        return [*self.arguments, *decides, *plugin, "-o", output]


COMMANDS = {
    "schedule": Command(("schedule", "cluster.yaml", "--pod", "pod.yaml"), DECISIONS),
    "explained": Command(("schedule", "cluster.yaml", "--pod", "pod.yaml", "--explain"), {"table": _marked}),
    "preempt": Command(("schedule", "cluster.yaml", "--pod", "pod.yaml", "--preempt"), {"table": _marked}),
    "pending": Command(("schedule", "cluster.yaml", "waiting.yaml", "--pending"), DECISIONS),
    "simulate": Command(("simulate", "cluster.yaml", "--workload", "pod.yaml"), RUNS),
    "capacity": Command(("capacity", "cluster.yaml", "--pod", "pod.yaml"), ROOMS),
    "compare": Command(("compare", "cluster.yaml", "--pods", "pod.yaml"), COMPARISONS, by_spec=True),
    "sequence": Command(
        ("compare", "cluster.yaml", "--pods", "pod.yaml", "--mode", "sequence"), COMPARISONS, by_spec=True
    ),
    "drawn": Command(
        ("compare", "cluster.yaml", "--pods", "pod.yaml", "--tie-break", "upstream"),
        {"table": COMPARISONS["table"]},
        by_spec=True,
    ),
}


IN_EVERY_OUTPUT = ("a dead extender", "a Filter that answers an error", "a Score that raises")
"""Kinds of which every output is looked at: of an extender, of a plugin, and one that decides nothing. An output does
not know of which kind an error is, so of the others each command has its first and its last."""


def outputs(command: Command, kind: str) -> list[str]:
    """Those that are looked at."""
    every = list(command.outputs)
    return every if kind in IN_EVERY_OUTPUT else list(dict.fromkeys([every[0], every[-1]]))


@pytest.mark.parametrize(
    ("kind", "name", "output"),
    [
        pytest.param(KINDS[kind], name, output, id=f"{name}-{output}-{kind}")
        for kind in KINDS
        for name, command in COMMANDS.items()
        for output in outputs(command, kind)
    ],
)
def test_commands(kubescheduler: Run, folder: Path, address: str, kind: ErrorKind, name: str, output: str) -> None:
    """Exit status 2 and one message with the cause; what ended an attempt is marked as that, else nothing is said."""
    (folder / "waiting.yaml").write_text(POD)
    kind.write(folder, address)
    command = COMMANDS[name]
    found = kubescheduler(*command.line(kind, output, kind.module(folder)))
    messages = [line for line in found.err.splitlines() if line.startswith("error: ")]
    assert found.status == 2
    assert "Traceback" not in found.err + found.out
    assert all(kind.text in message for message in messages), found.err
    assert len({message.replace("--old", "--new") for message in messages}) == 1
    if kind.in_attempt:
        assert command.outputs[output](found.out), found.out
    elif output == "events":
        before = {event["kind"] for event in map(json.loads, found.out.splitlines())}
        assert before <= {"enqueued", "note"}
    else:
        assert found.out == ""


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_sweep(
    kubescheduler: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, address: str, kind: ErrorKind
) -> None:
    """A row has the error and no number, and the command ends as all others do."""
    monkeypatch.setattr("kubescheduler.sweep.sweeping.run_locally", lambda cases, workers: run_here(cases))
    kind.write(folder, address)
    module = kind.module(folder)
    plugin = ["--plugin", f"Mine={module}:Mine"] if module else []
    call = ["sweep", "cluster.yaml", "--pods", "pod.yaml", "--config-spec", kind.spec, "--out", "rows.csv"]
    found = kubescheduler(*call, *plugin)
    assert found.status == 2
    assert found.err.count("error: ") == 1
    assert kind.text in found.err
    assert "Traceback" not in found.err + found.out
    if (folder / "rows.csv").exists():
        [row] = csv.DictReader((folder / "rows.csv").read_text().splitlines())
        assert kind.text in row["error"]
        assert (row["scheduled"], row["unschedulable"], row["nodes_used"], row["digest"]) == ("", "", "", "")


POD_OF_A_QUERY = {"metadata": {"name": "web", "uid": "1"}, "spec": {"containers": [{"name": "c"}]}}
NODE = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=name) for name, kind in KINDS.items() if kind.policy and not kind.files]
)
def test_evaluate(kubescheduler: Run, folder: Path, address: str, kind: ErrorKind) -> None:
    """A line that cannot be answered has its error and nothing else; the process did what it was to do."""
    kind.write(folder, address)
    query = {"pod": POD_OF_A_QUERY, "policy": json.loads((folder / "policy.json").read_text())}
    lines = json.dumps({"cluster": {"nodes": [NODE]}, "queries": [query]})
    found = kubescheduler("evaluate", "--release", "1.16", stdin=lines.encode())
    answer = json.loads(found.out)
    assert (found.status, found.err) == (0, "")
    assert kind.text in answer["error"]
    assert not any(answer[part] for part in ("fits", "failed", "best", "total", "preemption"))


def test_many_pods_with_many_errors(kubescheduler: Run, folder: Path) -> None:
    """Each text is said once with its pods; what is too much is counted, and pods with answers keep them."""
    body = "return Status.failure('odd ' + pod.metadata.name[-1]) if pod.metadata.name != 'good' else None"
    module = ErrorKind("", plugin=f"def filter(self, state, pod, node_info): {body}").module(folder)
    KINDS["a Filter that raises"].write(folder, "")
    names = ["good", *(f"{name}{end}" for name in "abcd" for end in "1234567")]
    (folder / "pod.yaml").write_text("".join(pod(name, "1m") for name in names))
    options = ["--release", "1.36", "--config", "config.json", "--plugin", f"Mine={module}:Mine"]
    found = kubescheduler("schedule", "cluster.yaml", "--pod", "pod.yaml", *options, "-o", "name")
    lines = found.err.splitlines()
    assert (found.status, found.out) == (2, "default/good n1\n")
    assert lines[0].startswith("error: no decision on default/a1, default/b1, default/c1 and 1 more: ")
    assert len(lines) == 6
    assert lines[-1] == "error: 2 more errors ended attempts"


OTHER = pod("other", spec=", schedulerName: volcano")
OWNED = (
    ", namespace: default, "
    "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: %s, uid: %s, controller: true}]"
)
THEIRS = pod("vol-abcde", metadata=OWNED % ("vol", "u1"), spec=", nodeName: n1, schedulerName: volcano")
OURS = pod("web-abcde", metadata=OWNED % ("web", "u2"), spec=", nodeName: n1")
QUESTIONS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "simulate": (OTHER, "", ("simulate", "cluster.yaml", "--workload", "asked.yaml")),
    "nodes": (OTHER, POD, ("nodes", "cluster.yaml", "--shapes", "cluster.yaml", "--workload", "asked.yaml")),
    "drain": (THEIRS, OURS, ("drain", "cluster.yaml", "asked.yaml", "n1")),
    "an order": (THEIRS, OURS, ("drain", "cluster.yaml", "asked.yaml", "n1", "--order")),
    "outage": (THEIRS, OURS, ("outage", "cluster.yaml", "asked.yaml", "--node", "n1")),
    "each": (THEIRS, OURS, ("outage", "cluster.yaml", "asked.yaml", "--each", "hostname")),
}


@pytest.mark.parametrize("release", ["1.16", "1.36"])
@pytest.mark.parametrize(("theirs", "ours", "command"), QUESTIONS.values(), ids=QUESTIONS)
def test_pods_of_other_schedulers(
    kubescheduler: Run, folder: Path, theirs: str, ours: str, command: tuple[str, ...], release: str
) -> None:
    """None fits nowhere, as no scheduler here tries them: alone they are no answer, beside others they are left out."""
    (folder / "asked.yaml").write_text(theirs)
    alone = kubescheduler(*command, "--release", release)
    assert (alone.status, "error: no decision on default/" in alone.err) == (2, True)
    assert "<nowhere>" not in alone.out
    if ours:
        (folder / "asked.yaml").write_text(f"{theirs}---\n{ours}")
        both = kubescheduler(*command, "--release", release)
        assert (both.status, both.err) == (0, "")
        assert "not tried" in both.out or "left out: default/" in both.out


def test_pending_pods_of_other_schedulers_are_left_to_them(kubescheduler: Run, folder: Path) -> None:
    """As schedule --pending leaves them: the workload is asked about, they only wait in the cluster."""
    (folder / "pending.yaml").write_text(OTHER)
    asked = ("cluster.yaml", "pending.yaml", "--workload", "pod.yaml", "--pending")
    assert kubescheduler("simulate", *asked).status == 0
    assert kubescheduler("nodes", *asked, "--shapes", "cluster.yaml").status == 0


def test_a_gated_pod_needs_no_nodes(kubescheduler: Run, folder: Path) -> None:
    """No shape refuses it: it is not tried."""
    (folder / "gated.yaml").write_text(pod("gated", spec=", schedulingGates: [{name: quota}]"))
    found = kubescheduler(
        *("nodes", "cluster.yaml", "--shapes", "cluster.yaml", "--workload", "gated.yaml", "--release", "1.36")
    )
    assert (found.status, "1 pod is not tried, whatever nodes there are." in found.out) == (1, True)
    assert "fits on no node" not in found.out
