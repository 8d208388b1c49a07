"""``kubescheduler evaluate``: scenarios in, results out, whatever comes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.kubescheduler.cli.conftest import COMMAND, ENVIRONMENT, Run

NODE = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}


def query(name: str, cpu: str = "1", **more: Any) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    meta = {"name": name, "namespace": "default", "uid": f"u-{name}"}
    return {"id": name, "pod": {"metadata": meta, "spec": {"containers": [container]}}, **more}


def scenario(name: str, *queries: dict[str, Any], **more: Any) -> str:
    return json.dumps({"id": name, "cluster": {"nodes": [NODE]}, "queries": queries, **more})


def results(kubescheduler: Run, *lines: str) -> list[dict[str, Any]]:
    outcome = kubescheduler("evaluate", "--release", "1.16", stdin="\n".join(lines).encode())
    assert (outcome.status, outcome.err) == (0, "")
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_one_line_per_query(kubescheduler: Run) -> None:
    """Results come in order, one for each query; empty lines are passed over."""
    found = results(kubescheduler, scenario("a", query("p"), query("q", "64")), "", scenario("b", query("r")))
    assert [(r["scenario"], r["query"], r["best"], r["error"]) for r in found] == [
        ("a", "p", ["n1"], None),
        ("a", "q", [], None),
        ("b", "r", ["n1"], None),
    ]
    assert found[1]["failed"] == {"n1": ["Insufficient cpu"]}


def test_a_sequence_is_one_run(kubescheduler: Run) -> None:
    """In a sequence each pod is bound before the next; otherwise every query sees the cluster as it was."""
    queries = (query("p", "3"), query("q", "3"))
    assert [r["best"] for r in results(kubescheduler, scenario("a", *queries))] == [["n1"], ["n1"]]
    assert [r["best"] for r in results(kubescheduler, scenario("a", *queries, sequence=True))] == [["n1"], []]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("{", ["truncated"]),
        ("[]", []),
        ('{"id": "x", "cluster": {"nodes": [{"metadata": {}}]}, "queries": [{"id": "y"}]}', ["nodes[0]", "name"]),
        (scenario("x", query("y", "1O0m")), ['quantity "1O0m"']),
        (scenario("x", query("y", provider="DefaultProvder")), ['"DefaultProvder"']),
        (scenario("x", query("y", policy={"kind": "Policy", "apiVersion": "v2"})), ['"v2"']),
        (scenario("x", query("y", provider="DefaultProvider", policy={})), ["only one"]),
        ("5", ["a line: must be an object, not 5"]),
        ('"abc"', ['a line: must be an object, not "abc"']),
        ("[null]", ["a line: must be an object, not a list"]),
        ('{"queries": [5]}', ["queries[0]: must be an object, not 5"]),
        ('{"queries": 5}', ["queries: must be a list, not 5"]),
        (
            '{"queries": [{"pod": 5, "provider": {}}]}',
            ["queries[0].pod: must be an object", "].provider: must be text"],
        ),
        ('{"cluster": [], "featureGates": {"A": 1}, "queries": [{}]}', ["cluster: must be", "featureGates.A: must be"]),
        ("[" * 100_000, ["nested too deeply"]),
        ('{"scenario": {"queries": [{}]}}', ["queries: missing"]),
    ],
    ids=[
        *("no JSON", "no scenario", "bad cluster", "bad pod", "bad provider", "bad policy", "two configurations"),
        *("a number", "a text", "a list", "a number as query", "a number as queries", "types of a query"),
        *("types of a line", "nesting", "no queries"),
    ],
)
def test_faults_do_not_end_it(kubescheduler: Run, line: str, parts: list[str]) -> None:
    """A bad line or query is answered with its error, and what follows is answered as ever."""
    bad, good = results(kubescheduler, line, scenario("b", query("p")))
    assert bad["error"]
    assert all(part in bad["error"] for part in parts)
    assert not any(word in bad["error"] for word in ("Error", "NoneType", ".py", "object has no"))
    assert (bad["fits"], bad["best"], bad["release"]) == ([], [], "1.16")
    assert (good["scenario"], good["best"], good["error"]) == ("b", ["n1"], None)


def test_a_line_that_is_not_utf_8(kubescheduler: Run) -> None:
    """It is answered with its error in words of ours, and the next line as ever."""
    lines = b'{"id": "\xff"}\n' + scenario("b", query("p")).encode()
    bad, good = map(json.loads, kubescheduler("evaluate", stdin=lines).out.splitlines())
    assert bad["error"] == "a line: it is not UTF-8 text"
    assert (good["scenario"], good["best"]) == ("b", ["n1"])


def test_answers_come_at_once(folder: Path) -> None:
    """Each line is answered before the next is asked for, so that another program can hold a conversation."""
    with subprocess.Popen(
        [*COMMAND, "evaluate"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=ENVIRONMENT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for name in ("a", "b", "c"):
            process.stdin.write(scenario(name, query("p")).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["scenario"] == name
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0
