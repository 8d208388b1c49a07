"""``kubescheduler nodes``: outputs, exit statuses, what DaemonSets take, what fits on no shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kubescheduler as ks
from kubescheduler.cli import run

AGENT = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "u", "controller": True}
SHAPES = "- {name: small, cpu: 4, memory: 8Gi}\n- {name: large, cpu: 8, memory: 16Gi, taints: ['a=b:NoSchedule']}\n"


def written(folder: Path, *items: dict[str, Any]) -> list[str]:
    """The arguments: a cluster of these objects, and shapes."""
    cluster, shapes = folder / "cluster.json", folder / "shapes.yaml"
    cluster.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    shapes.write_text(SHAPES)
    return [str(cluster), "--shapes", str(shapes), "--release", "1.36"]


def agent(node: str, cpu: str) -> dict[str, Any]:
    """The running pod of a DaemonSet."""
    pod = ks.pod(f"agent-{node}", node=node, cpu=cpu, namespace="system")
    pod["metadata"]["ownerReferences"] = [AGENT]
    return pod


@pytest.mark.parametrize(
    ("agents", "said"),
    [("0", "Add 1 node: 1 small. Then 2 pods run"), ("500m", "Add 2 nodes: 2 small. Then 2 pods run")],
)
def test_share_of_daemon_sets(agents: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two pods fill a node to the last millicore, unless a DaemonSet of the cluster has a pod there."""
    waiting = [ks.pod(f"web-{at}", cpu=2) for at in range(2)]
    items = (ks.node("a", cpu=1), agent("a", agents), *waiting)
    assert run(["nodes", *written(tmp_path, *items), "-o", "wide"]) == 0
    out = capsys.readouterr().out
    assert said in out, out
    assert "! on the new nodes run system/agent (DaemonSets)" in out
    assert "system/agent-small-1" in out


def test_a_daemon_set_without_a_pod(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its manifest counts on the new nodes, so it is not called left out."""
    spec = {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "500m"}}}]}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": spec}
    daemon_set = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "system"}}
    daemon_set |= {"spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template}}
    waiting = [ks.pod(f"web-{at}", cpu=2) for at in range(2)]
    arguments = written(tmp_path, ks.node("a", cpu=1), daemon_set, *waiting)
    assert run(["nodes", *arguments]) == 0
    shown = capsys.readouterr()
    assert "Add 2 nodes: 2 small. Then 2 pods run" in shown.out
    assert "! on the new nodes run system/agent (DaemonSets)" in shown.out
    assert shown.err == ""


def test_nothing_helps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message, each shape's reasons and the hints of a pod that fits on no shape; status 1."""
    arguments = written(tmp_path, ks.node("a", cpu=1), ks.pod("big", cpu=6), ks.pod("web", cpu=2))
    assert run(["nodes", *arguments]) == 1
    out = capsys.readouterr().out
    for text in (
        "Add 1 node: 1 small. Then 1 pod runs",
        "1 pod fits on no node of any shape.",
        "default/big: 0/4 nodes are available",
        "small   Insufficient cpu",
        "large   node(s) had untolerated taint",
        "tolerate a=b:NoSchedule",
    ):
        assert text in out, out


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_data(output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same as data: how many, on which node which pod."""
    import yaml

    arguments = written(tmp_path, ks.node("a", cpu=1), ks.pod("big", cpu=6), ks.pod("web", cpu=2))
    assert run(["nodes", *arguments, "-o", output]) == 1
    document = yaml.safe_load(capsys.readouterr().out)
    assert document["kind"] == "NodePlan"
    assert (document["add"], document["cost"], document["proven"]) == ({"small": 1}, 1, True)
    assert document["atLeast"] == {"cost": 1, "why": "2 cpu asked for, 1 free"} or document["atLeast"]["cost"] == 1
    assert document["nodes"] == [{"name": "small-1", "shape": "small", "pods": ["default/web"], "daemons": []}]
    assert [left["pod"] for left in document["left"]] == ["default/big"]


def test_workload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whole manifests: a Deployment with a DaemonSet that comes with it; the pending pods only if asked for."""
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    selector = {"selector": {"matchLabels": {"app": "x"}}}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": spec}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    daemons = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}}
    items = [{**daemons, "spec": {"template": template, **selector}}]
    items += [{**deployment, "spec": {"replicas": 6, "template": template, **selector}}]
    path = tmp_path / "app.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    arguments = written(tmp_path, ks.node("a", cpu=1), ks.pod("waits", cpu=3))
    assert run(["nodes", *arguments, "--workload", str(path), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["add"] == {"small": 2}
    assert run(["nodes", *arguments, "--workload", str(path), "--pending", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["add"] == {"small": 3}


def test_as_cluster_autoscaler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its looks, and how the scheduler then places; priorities as a ConfigMap or plain."""
    arguments = written(tmp_path, ks.node("a", cpu=1), *(ks.pod(f"web-{at}", cpu=3) for at in range(2)))
    chosen = {"priorities": "10: [small]\n5: ['.*']\n"}
    (tmp_path / "map.yaml").write_text(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": chosen}))
    (tmp_path / "plain.yaml").write_text(chosen["priorities"])
    for name in ("map.yaml", "plain.yaml"):
        more = [
            "--as",
            "cluster-autoscaler",
            "--expander",
            "priority,least-waste",
            "--priorities",
            str(tmp_path / name),
        ]
        assert run(["nodes", *arguments, *more]) == 0
        out = capsys.readouterr().out
        assert "The Cluster Autoscaler adds 2 nodes: 2 small. Then 2 pods run" in out, out
        assert "1   2 small   2 pods   2 that wait" in out, out
    assert run(["nodes", *arguments, "--as", "cluster-autoscaler", "--expander", "random,price"]) == 2
    err = capsys.readouterr().err
    assert "random leaves one group" in err
    assert "price needs shapes with a price" in err


def test_remove(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where each pod goes, and why the other nodes stay; status 1 where none can go."""
    web = agent("a", "1")
    web["metadata"]["ownerReferences"] = [{**AGENT, "kind": "ReplicaSet"}]
    arguments = written(tmp_path, ks.node("a"), ks.node("b"), web, ks.pod("db", node="b", cpu=3))
    del arguments[1:3]
    assert run(["nodes", *arguments, "--remove"]) == 0
    out = capsys.readouterr().out
    assert "1 of 2 nodes can go: a. 1 pod moves" in out
    assert "system/agent-a   a      b" in out
    assert "b      75%    NotUnderutilized   75% is asked for, more than 50%" in out
    assert run(["nodes", *arguments, "--remove", "--threshold", "0.1", "-o", "json"]) == 1
    assert [each["reason"] for each in json.loads(capsys.readouterr().out)["kept"]] == ["NotUnderutilized"] * 2
    assert run(["nodes", *arguments]) == 2
    assert "one of: --shapes FILE, which nodes to add; --remove; --rebalance" in capsys.readouterr().err


def test_rebalance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which pods move, in order, and what stays; status 1 where no moves do, 2 where the pod does not wait."""
    web = agent("a", "1")
    web["metadata"]["ownerReferences"] = [{**AGENT, "kind": "ReplicaSet"}]
    items = (ks.node("a", cpu=4), ks.node("b", cpu=4), web, ks.pod("db", node="b", cpu=2), ks.pod("big", cpu=4))
    arguments = written(tmp_path, *items)
    del arguments[1:3]
    assert run(["nodes", *arguments, "--rebalance", "big"]) == 0
    out = capsys.readouterr().out
    assert "Make 1 move to let default/big in: it goes to a." in out
    assert "1   system/agent-a   a      b" in out
    assert run(["nodes", *arguments, "--rebalance", "2", "-o", "json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["moves"], said["proven"]) == (None, True)
    assert said["full"] == [{"node": "b", "pod": "default/db", "why": "no controller makes it anew"}]
    for wrong, fault in (("0", "a number of nodes from 1 on"), ("db", "it does not wait for a node")):
        assert run(["nodes", *arguments, "--rebalance", wrong]) == 2
        assert fault in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "unread"),
    [
        (["--remove", "--tries", "3", "--expander", "price"], "--tries, --expander: it says nothing of --remove"),
        (["--shapes", "x", "--threshold", "0.3"], "--threshold: it says nothing of --shapes"),
        (["--shapes", "x", "--priorities", "y"], "--priorities: it says nothing of --shapes"),
        (["--shapes", "x", "--as", "cluster-autoscaler", "--tries", "3"], "--tries: it says nothing of --as cluster-"),
        (["--rebalance", "1", "--pending"], "--pending: it says nothing of --rebalance"),
        (["--rebalance", "1", "--remove"], "say what to find out, one of: "),
    ],
)
def test_options_of_another_question(
    said: list[str], unread: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are refused, as what they ask for would not be done."""
    cluster, *_ = written(tmp_path, ks.node("a"))
    assert run(["nodes", cluster, *said]) == 2
    assert unread in capsys.readouterr().err


def test_faults_of_all_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the shapes and the configuration in one message, with status 2."""
    arguments = written(tmp_path, ks.node("a"))
    (tmp_path / "shapes.yaml").write_text("- {cpu: 4}\n")
    assert run(["nodes", *arguments, "--config", str(tmp_path / "none.yaml")]) == 2
    err = capsys.readouterr().err
    assert "shapes.yaml: [0]: memory: missing" in err
    assert "none.yaml" in err
