"""``schedule --preempt`` and ``--bind``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubescheduler.cli import run
from tests.support.extender_process import extender


def _crowded(folder: Path, **urgent: Any) -> list[str]:
    """A full node, and an urgent pod that needs it."""
    room = {"cpu": "2", "memory": "4Gi", "pods": "10"}
    asked = {"resources": {"requests": {"cpu": "2"}}}
    low = {"nodeName": "a", "containers": [{"name": "c", "image": "i", **asked}]}
    cluster = [
        {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}, "status": {"allocatable": room}},
        {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "low", "namespace": "default"}, "spec": low},
    ]
    spec = {"priority": 5, "containers": [{"name": "c", "image": "i", **asked}], **urgent}
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "urgent", "namespace": "default"}, "spec": spec}
    (folder / "crowded.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": cluster}))
    (folder / "urgent.json").write_text(json.dumps(pod))
    return ["schedule", str(folder / "crowded.json"), "--pod", str(folder / "urgent.json")]


def test_preempt_says_who_would_have_to_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the message, in the explanation and as data; nothing is evicted."""
    command = _crowded(tmp_path)
    assert run([*command, "--preempt", "--explain"]) == 1
    shown = capsys.readouterr().out
    assert "Would evict default/low from a." in shown
    assert "default/low (0)" in shown
    assert run([*command, "--preempt", "-o", "json"]) == 1
    found = json.loads(capsys.readouterr().out)["items"][0]["preemption"]
    assert found["candidates"] == {"a": {"victims": ["default/low"], "pdbViolations": 0}}
    assert run(command) == 1
    assert "evict" not in capsys.readouterr().out


def test_preempt_says_when_it_would_not_help(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pod of no higher priority."""
    assert run([*_crowded(tmp_path, priority=0), "--preempt"]) == 1
    assert "Preemption would not help." in capsys.readouterr().out


def test_bind_asks_the_extender_that_binds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A refused binding leaves the pod without a node, in upstream's words."""
    command = [*_crowded(tmp_path, containers=[{"name": "c", "image": "i"}]), "--bind", "--policy-config-file"]
    with extender() as address:
        for behaviour, status, told in (("good", 0, ""), ("error", 2, "Binding rejected: ")):
            policy = tmp_path / f"{behaviour}.json"
            extenders = [{"urlPrefix": f"{address}/{behaviour}", "bindVerb": "bind"}]
            policy.write_text(json.dumps({"kind": "Policy", "apiVersion": "v1", "extenders": extenders}))
            assert run([*command, str(policy)]) == status
            assert told in capsys.readouterr().out
