"""``schedule --preempt`` and ``--bind``."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubescheduler.cli import run
from tests.support.custom.extender_process import extender
from tests.support.preemption_worlds import PREEMPTING, one_by_one


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


# --- pending pods, one after the other -----------------------------------------------------------

placed = st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from(["1", "2"]), st.integers(0, 4), st.booleans())
"""(node, cpu, priority, whether a budget protects it) of a running pod."""
waiting = st.tuples(st.sampled_from(["1", "2"]), st.integers(0, 6), st.sampled_from(["", "a", "b"]))
"""(cpu, priority, the node it is nominated to) of a pending pod."""


def _node(name: str) -> dict[str, Any]:
    room = {"cpu": "2", "memory": "4Gi", "pods": "10"}
    return {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}, "status": {"allocatable": room}}


def _pod(name: str, cpu: str, priority: int, app: str = "", node: str = "", nominated: str = "") -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    spec = {"priority": priority, "containers": [container], **({"nodeName": node} if node else {})}
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": {"app": app}}
    status = {"nominatedNodeName": nominated} if nominated else {}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": status}


def _budget(allowed: int) -> dict[str, Any]:
    counts = {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    meta, spec = {"name": "b", "namespace": "default"}, {"selector": {"matchLabels": {"app": "kept"}}}
    return {"kind": "PodDisruptionBudget", "apiVersion": "policy/v1", "metadata": meta, "spec": spec, "status": counts}


def _printed(*arguments: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        run([*arguments])
    return out.getvalue()


def _scheduled(command: list[str]) -> tuple[Any, str]:
    return json.loads(_printed(*command, "-o", "json")), _printed(*command, "-o", "wide")


@pytest.mark.parametrize("release", PREEMPTING)
@settings(max_examples=6)
@given(
    running=st.lists(placed, min_size=3, max_size=6),
    pending=st.lists(waiting, min_size=2, max_size=6),
    allowed=st.integers(0, 1),
)
def test_law_pending_pods_preempt_as_if_nothing_was_remembered(
    release: str, running: list[Any], pending: list[Any], allowed: int
) -> None:
    """Hosts, messages, candidates with their victims, and what the table of pods placed in bulk says."""
    items = [*map(_node, "abc"), _budget(allowed)]
    for at, (node, cpu, priority, kept) in enumerate(running):
        items.append(_pod(f"r{at}", cpu, priority, "kept" if kept else "", node))
    items += (_pod(f"w{at}", cpu, priority, nominated=node) for at, (cpu, priority, node) in enumerate(pending))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "cluster.json")
        file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
        command = ["schedule", str(file), "--pending", "--preempt", "--release", release]
        with one_by_one():
            expected = _scheduled(command)
        assert _scheduled(command) == expected
    assert len(expected[0]["items"]) == len(pending)


@pytest.mark.parametrize(("asked", "tried"), [([], 150), (["--percentage-of-nodes-to-score", "80"], 12)])
@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_candidates_are_sampled_where_nodes_are(
    release: str, asked: list[str], tried: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So many as the arguments of DefaultPreemption say; otherwise every node is a candidate."""
    items = [_node(f"n{at}") for at in range(150)]
    items += (_pod(f"r{at}", "2", 0, node=f"n{at}") for at in range(150))
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    (tmp_path / "urgent.json").write_text(json.dumps(_pod("urgent", "2", 5)))
    version = "v1beta1" if release == "1.20" else "v1"
    config = {
        "apiVersion": f"kubescheduler.config.k8s.io/{version}",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "pluginConfig": [
                    {
                        "name": "DefaultPreemption",
                        "args": {"minCandidateNodesPercentage": 8, "minCandidateNodesAbsolute": 5},
                    }
                ],
            }
        ],
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    command = ["schedule", str(tmp_path / "cluster.json"), "--pod", str(tmp_path / "urgent.json"), "--release", release]
    assert run([*command, "--preempt", "-o", "json", "--config", str(tmp_path / "config.json"), *asked]) == 1
    found = json.loads(capsys.readouterr().out)["items"][0]["preemption"]
    assert len(found["candidates"]) == tried
