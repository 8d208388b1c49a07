"""Texts of strangers (labels, taints, images, messages) in every output: no control characters, no formulas."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.fuzz_cases import Case, Outcome, execute

HOSTILE = (
    *("\x1b[31mred\x1b]0;title\x07", "a\nb\r\tc", "nul\x00l", "\u202ertl\u200f\u2066", "=HYPERLINK(1)"),
    *("\x9b31m\x85", "+1", "</script>"),
)
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
GIVEN = ("c.json", "--pods", "p.json", "--validate", "ignore")
ASKING = ("--policy-config-file", "e.json")
COMMANDS = {
    "explain": [("explain", "TEXT")],
    "schedule": [
        (*("schedule", "c.json", "--pod", "p.json", "--validate", "ignore", "--release", release, "-o", output), *more)
        for release in ("1.16", "1.36")
        for output, more in (
            ("table", ()),
            ("table", ("--explain",)),
            ("wide", ("--preempt",)),
            ("json", ()),
            ("yaml", ()),
            ("name", ()),
            ("simulator", ()),
            ("junit", ()),
            ("github", ("--explain",)),
        )
    ],
    "simulate": [
        ("simulate", "c.json", "--workload", "p.json", "--validate", "ignore", "--preempt", *ASKING, "-o", output)
        for output in ("table", "wide", "json", "csv", "timeline", "events", "simulator")
    ],
    "capacity": [
        ("capacity", "c.json", "--pod", "p.json", "--validate", "ignore", *ASKING, "-o", output)
        for output in ("table", "wide", "json")
    ],
    "compare": [
        ("compare", *GIVEN, "--new", "release=1.36", "--new", "release=1.16,policy=e.json", "-o", output)
        for output in ("table", "wide", "json", "yaml", "html", "junit", "github")
    ],
    "sweep": [("sweep", "c.json", "--pods", "p.json", "--validate", "ignore", "--placements", "--out", "r.csv")],
    "extender": [
        (
            *("schedule", "c.json", "--pod", "p.json", "--validate", "ignore", "--policy-config-file", "e.json"),
            *("-o", output),
        )
        for output in ("table", "wide", "json", "yaml", "name")
    ],
}
EXTENDER = {"urlPrefix": "http://u:secret@h", "filterVerb": "f", "httpTimeout": 1_000_000_000}


def documents(text: str) -> dict[str, bytes]:
    """A cluster, a pod, and a policy with an extender, with the text wherever a stranger may write one."""
    node = {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": "n1", "uid": "u1", "labels": {"zone": text, text: "x"}, "annotations": {text: text}},
        "spec": {"taints": [{"key": text, "value": text, "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "1", "pods": "9", f"example.com/{text}": "1"},
            "images": [{"names": [text], "sizeBytes": 5}],
            "conditions": [{"type": "Ready", "status": "True", "message": text, "reason": text}],
        },
    }
    service = {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {"name": "s", "namespace": "x"},
        "spec": {"selector": {"app": text}},
    }
    spec = {
        "containers": [
            {"name": text, "image": text, "resources": {"requests": {"cpu": "2", f"example.com/{text}": "1"}}}
        ],
        "nodeSelector": {text: text},
        "schedulerName": "default-scheduler",
        "tolerations": [{"key": text, "value": text}],
    }
    meta = {"name": "p", "namespace": "x", "uid": "u2", "labels": {"app": text}, "annotations": {text: text}}
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec}
    plain = {
        **pod,
        "metadata": {**meta, "name": "q", "uid": "u3"},
        "spec": {"containers": [{"name": "c", "image": text}]},
    }
    second = {**node, "metadata": {"name": "n2", "uid": "u4", "labels": {"zone": text}}, "spec": {}}
    found = {
        "c.json": {"kind": "List", "apiVersion": "v1", "items": [node, second, service]},
        "p.json": {"kind": "List", "apiVersion": "v1", "items": [pod, plain]},
        "e.json": {"kind": "Policy", "apiVersion": "v1", "extenders": [EXTENDER]},
    }
    return {name: json.dumps(document).encode() for name, document in found.items()}


def answers(text: str) -> list[bytes]:
    """What an extender says of the nodes: the text."""
    body = json.dumps({"nodes": {"items": []}, "failedNodes": {"n1": text, "n2": text}, "error": ""}).encode()
    bad = json.dumps({"error": text}).encode()
    return [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(one), one) for one in (body, bad, body, bad)]


def run(place: Path, text: str, command: tuple[str, ...]) -> Outcome:
    words = [text.replace("\0", "") if word == "TEXT" else word for word in command]
    return execute(place, Case(words, documents(text), exchanges=answers(text)))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all cases share."""
    return tmp_path_factory.mktemp("foreign")


def check(outcome: Outcome, command: tuple[str, ...]) -> None:
    """Nothing that a terminal, a spreadsheet or a browser takes for a command; what is for programs can be read."""
    assert outcome.fault is None, outcome
    for stream in (outcome.out, outcome.err):
        assert not UNPRINTABLE.search(stream), command
        assert "secret" not in stream, command
    output = command[command.index("-o") + 1] if "-o" in command else "table"
    if outcome.status == 2 and not outcome.out:
        return
    if output in {"json", "simulator"}:
        json.loads(outcome.out)
    elif output == "yaml":
        yaml.safe_load(outcome.out)
    elif output == "events":
        assert all(json.loads(line) for line in outcome.out.splitlines())
    elif output == "junit":
        ElementTree.fromstring(outcome.out)
    elif output == "html":
        assert outcome.out.count("<script") == outcome.out.count("</script>")
    elif output == "csv":
        no_formulas(outcome.out)


def no_formulas(text: str) -> None:
    """No cell that a spreadsheet runs."""
    for row in csv.reader(io.StringIO(text)):
        assert not [cell for cell in row if re.match(r"[=@\t]|[+-](?![\d.])", cell)], row


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_output(place: Path, name: str, text: str) -> None:
    """Each of them, in each output of each command."""
    for command in COMMANDS[name]:
        outcome = run(place, text, command)
        assert outcome.out or name == "explain", outcome
        check(outcome, command)
        if name == "sweep":
            rows = (place / "r.csv").read_text()
            assert not UNPRINTABLE.search(rows)
            no_formulas(rows)


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(
    st.text(st.sampled_from("\x1b\x00\n\r\t\x7f\x9b\u202e\u2066\u200f=+-@'\"<>&\\{}[]:,# ab"), min_size=1), st.data()
)
def test_any_text(place: Path, text: str, data: st.DataObject) -> None:
    """The same of any mixture."""
    command = data.draw(st.sampled_from([one for commands in COMMANDS.values() for one in commands]))
    check(run(place, text, command), command)
