"""``kubescheduler hint``: outputs, exit statuses, the manifests that are written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import kubescheduler as ks
from kubescheduler.cli import run
from tests.support.releases_tried import RELEASES_TRIED


def files(folder: Path, *, cpu: str = "3") -> list[str]:
    """A tainted node and a small one, and a pod that fits neither."""
    nodes = [ks.node("big", cpu=8, taints=["gpu=x:NoSchedule"]), ks.node("small", cpu=2)]
    (folder / "cluster.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": nodes}))
    (folder / "pod.json").write_text(json.dumps(ks.pod("web", cpu=cpu)))
    return ["hint", str(folder / "cluster.json"), "--pod", str(folder / "pod.json")]


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_table(release: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line a hint, the smallest first."""
    assert run([*files(tmp_path), "--release", release]) == 0
    out = capsys.readouterr().out
    assert out.index("ask for 2 cpu instead of 3") < out.index("tolerate gpu=x:NoSchedule")


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It holds all that the records have."""
    assert run([*files(tmp_path), "-o", "json", "--top", "1"]) == 0
    (item,) = json.loads(capsys.readouterr().out)["items"]
    assert [hint["host"] for hint in item["hints"]] == ["small"]
    assert item["hints"][0]["changes"][0]["kind"] == "request"


def test_apply_writes_what_then_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The written pod goes where the hint said."""
    assert run([*files(tmp_path), "--apply", "2"]) == 0
    (tmp_path / "pod.json").write_text(json.dumps(yaml.safe_load(capsys.readouterr().out)))
    args = ["schedule", str(tmp_path / "cluster.json"), "--pod", str(tmp_path / "pod.json"), "-o", "name"]
    assert run(args) == 0
    assert "big" in capsys.readouterr().out


def test_another_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pod that goes elsewhere is made to go to the node."""
    assert run([*files(tmp_path, cpu="1"), "--node", "big"]) == 0
    out = capsys.readouterr().out
    assert "goes to small, not to big" in out
    assert "tolerate gpu=x:NoSchedule" in out


def test_no_hint_is_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is none in a cluster without nodes."""
    files(tmp_path)
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": []}))
    assert run(["hint", str(tmp_path / "cluster.json"), "--pod", str(tmp_path / "pod.json")]) == 1
    assert "no change that is searched does it" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--apply", "99"], "none is 99"),
        (["--node", "nowhere"], "there is no node nowhere"),
        (["--pending"], "either --pod FILE or --pending"),
    ],
    ids=["number", "node", "both"],
)
def test_wrong_input_is_status_2(
    more: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a message."""
    assert run([*files(tmp_path), *more]) == 2
    assert text in capsys.readouterr().err


def test_a_dead_extender_is_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody knows whether the pod fits."""
    extender = {"urlPrefix": "http://127.0.0.1:1/x", "filterVerb": "filter", "weight": 1}
    policy = {"kind": "Policy", "apiVersion": "v1", "predicates": [], "priorities": [], "extenders": [extender]}
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    assert run([*files(tmp_path), "--policy-config-file", str(tmp_path / "policy.json")]) == 2
    assert "no decision on default/web" in capsys.readouterr().err


def test_a_plugin_that_raises_is_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No hint is shown."""
    plugin = "class Mine:\n    name = 'Mine'\n    def filter(self, state, pod, node_info): raise ValueError('odd')\n"
    (tmp_path / "raising_for_hints.py").write_text(plugin)
    monkeypatch.syspath_prepend(str(tmp_path))
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "Mine", "weight": 1}]}}}
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    (tmp_path / "config.json").write_text(json.dumps({**header, "profiles": [profile]}))
    more = ["--release", "1.36", "--plugin", "raising_for_hints:Mine", "--config", str(tmp_path / "config.json")]
    assert run([*files(tmp_path, cpu="1"), *more]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert "ValueError: odd" in err


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_one_table_for_replicas(release: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that fit are placed; the others have one table, with how many nodes hold all of them."""
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": ks.pod("web", cpu=3)["spec"]}
    spec = {"replicas": 6, "selector": {"matchLabels": {"app": "web"}}, "template": pod}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    (tmp_path / "cluster.json").write_text(json.dumps(ks.node("a", cpu=6)))
    (tmp_path / "web.json").write_text(json.dumps(deployment))
    args = ["hint", str(tmp_path / "cluster.json"), "--pod", str(tmp_path / "web.json"), "--release", release]
    assert run(args) == 0
    out = capsys.readouterr().out
    assert out.count("nothing needs to change") == 2
    assert out.count("THEN GOES TO") == 1
    assert "default/web-2 and 3 more alike: " in out
    assert "2 such nodes for all pods alike" in out
    assert run([*args, "-o", "json"]) == 0
    *_, last = json.loads(capsys.readouterr().out)["items"]
    assert last["others"] == ["default/web-3", "default/web-4", "default/web-5"]
    assert [hint["nodesForAll"] for hint in last["hints"] if "nodesForAll" in hint] == [2]


@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_a_pod_of_another_scheduler(release: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not tried, which is no answer; with --pending it is left to its scheduler, unless there are no others."""
    args = [*files(tmp_path), "--release", release]
    foreign, big = (ks.pod(name, cpu=3) for name in ("foreign", "big"))
    foreign["spec"]["schedulerName"] = "other"
    (tmp_path / "pod.json").write_text(json.dumps(foreign))
    assert run(args) == 2
    said = capsys.readouterr()
    assert "<none>: nothing is searched for a pod that is not tried" in said.out
    assert said.err.startswith("error: no decision on default/foreign: ")
    for pods, status in (([foreign], 2), ([foreign, big], 0)):
        (tmp_path / "pod.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": pods}))
        assert run(["hint", args[1], str(tmp_path / "pod.json"), "--pending", "--release", release]) == status
