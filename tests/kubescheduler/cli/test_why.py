"""``kubescheduler why``: outputs, exit statuses, where the pod is looked for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import kubescheduler as ks
from kubescheduler.cli import run
from kubescheduler.cli.completion import kubectl_completions
from kubescheduler.cli.why import followed
from tests.support.apiserver import FrontServer
from tests.support.live.live_cluster import a_node, a_pod
from tests.support.live.serving import fill, two_contexts


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """Two nodes, a pod that runs, and one that fits nowhere."""
    running, big = ks.pod("web", cpu=1), ks.pod("big", cpu=6)
    running["spec"]["nodeName"] = "a"
    running["metadata"]["namespace"] = big["metadata"]["namespace"] = "shop"
    items = [ks.node("a", cpu=2), ks.node("b", cpu=4), running, big]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    return str(path)


@pytest.mark.parametrize(
    ("pod", "options", "status", "said"),
    [
        ("shop/web", (), 0, ("shop/web runs on a.", "It would go to b now.", "TOTAL")),
        ("web", ("-n", "shop"), 0, ("It would go to b now.",)),
        ("big", ("-n", "shop"), 1, ("shop/big is pending.", "Insufficient cpu", "ask for 4 cpu instead of 6")),
    ],
)
def test_table(
    cluster: str,
    pod: str,
    options: tuple[str, ...],
    status: int,
    said: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Sentences, then scores, refusals and hints."""
    assert run(["why", pod, cluster, "--release", "1.36", *options]) == status
    out = capsys.readouterr().out
    assert all(text in out for text in said), out


def test_json(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same as data."""
    assert run(["why", "shop/big", cluster, "-o", "json", "--top", "1"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["pod"], document["node"]) == ("Why", "shop/big", None)
    assert [hint["text"] for hint in document["hints"]] == ["ask for 4 cpu instead of 6"]


def test_errors(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A pod that is not there, and a configuration that is none, are told together with status 2."""
    assert run(["why", "web", cluster]) == 2
    assert "there is no pod default/web in the cluster; there is shop/web" in capsys.readouterr().err


def test_a_file_is_no_pod(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The pod is what is missing, not a kubeconfig."""
    assert run(["why", cluster]) == 2
    assert f"{cluster} is a file: say of which pod" in capsys.readouterr().err


def test_namespace_of_the_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names without a namespace are looked for where the kubeconfig's context says."""
    from kubescheduler.cli.cluster_options import ServerCluster

    context = {"name": "c", "context": {"cluster": "x", "user": "u", "namespace": "shop"}}
    named = {"clusters": [{"name": "x"}], "users": [{"name": "u"}], "contexts": [context], "current-context": "c"}
    config = tmp_path / "config"
    config.write_text(json.dumps({"kind": "Config", **named}))
    monkeypatch.setenv("KUBECONFIG", str(config))
    assert ServerCluster().namespace() == "shop"
    monkeypatch.setenv("KUBECONFIG", "")
    monkeypatch.setenv("HOME", str(tmp_path / "none"))
    assert ServerCluster().namespace() == "default"


def test_plugin_of_kubectl(cluster: str) -> None:
    """``kubectl why`` runs the console script kubectl-why."""
    code = "import sys, kubescheduler.__main__ as m; sys.argv = ['kubectl-why', *sys.argv[1:]]; m.kubectl_why()"
    command = [sys.executable, "-c", code, "web", cluster, "-n", "shop"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("shop/web runs on a.")


def test_names_of_pods_are_completed(folder: Path, api_server: FrontServer) -> None:
    """Of the context's namespace, as kubectl asks a plugin; a server that is not there has none."""
    fill(api_server, a_node("n"), pods=(a_pod("web-1"), a_pod("web-2"), a_pod("db")))
    named = ["--kubeconfig", two_contexts(folder, api_server.url)]
    assert kubectl_completions("why", [*named, "w"]) == "web-1\nweb-2\n:4\n"
    assert kubectl_completions("why", [*named, "default/d"]) == "default/db\n:4\n"
    assert kubectl_completions("why", [*named, "-n", "shop", ""]) == ":4\n"
    assert kubectl_completions("why", [*named, "--context", "gone", ""]) == ":4\n"
    assert kubectl_completions("why", ["web-1", ""]) == ":0\n"


def test_following_a_pod() -> None:
    """What is new is said, until the pod has a node; then nothing is waited for."""
    small = ks.Cluster().node("a", cpu=1).pod("web", cpu=2)
    larger = small.node("b", cpu=4)
    clusters = [small, small, larger, larger.without_pod("web").pod("web", node="b", cpu=2)]
    states, waited = iter(clusters), list[float]()
    said = [answer.placed for answer, _ in followed(lambda: (ks.why(next(states), "web"), []), waited.append)]
    assert said == [False, True, True]
    assert waited == [5.0, 5.0, 5.0]


def test_following_needs_a_server(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Files do not change."""
    assert run(["why", "web", cluster, "--watch"]) == 2
    assert "--watch asks an API server: name no files" in capsys.readouterr().err


@pytest.mark.parametrize(("release", "status"), [("1.16", 2), ("1.36", 1)])
def test_a_claim_that_is_not_there(
    release: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it is an error of the release, the hint is the same."""
    web = ks.pod("web", spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]})
    storage = {"kind": "StorageClass", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": "fast"}}
    storage |= {"provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer"}
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [ks.node("a"), storage, web]}))
    assert run(["why", "web", str(path), "--release", release]) == status
    assert "create the PersistentVolumeClaim default/data of the StorageClass fast" in capsys.readouterr().out
