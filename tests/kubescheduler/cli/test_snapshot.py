"""``kubescheduler snapshot``."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from tests.kubescheduler.cli.conftest import Run
from tests.support.apiserver import FrontServer
from tests.support.live.live_cluster import a_node, a_pod
from tests.support.live.serving import fill, two_contexts


@pytest.fixture
def server(folder: Path, api_server: FrontServer) -> FrontServer:
    """A node and two pods, with secrets in what scheduling does not read; ./kubeconfig leads there."""
    node, pod = a_node("very-secret-node", zone="secret-zone"), a_pod("secret-pod")
    pod["metadata"]["annotations"] = {"note": "secret-note"}
    pod["metadata"]["managedFields"] = [{"manager": "secret-manager"}]
    pod["spec"]["containers"][0] |= {"image": "secret-registry/app:v1", "env": [{"name": "A", "value": "secret-env"}]}
    pod["spec"]["nodeSelector"] = {"zone": "secret-zone"}
    fill(api_server, node, a_node("another-node", zone="x"), pods=(pod,))
    two_contexts(folder, api_server.url)
    return api_server


def test_a_whole_cluster(kubescheduler: Run, server: FrontServer) -> None:
    """Everything is in the file but the record of who wrote what; what was read is said on standard error."""
    done = kubescheduler("snapshot", "--kubeconfig", "kubeconfig", "-o", "saved.json.gz")
    assert (done.status, done.out) == (0, "")
    said = re.match(rf"{server.url} at resourceVersion (\d+): 2 Node, 1 Pod[,\n]", done.err)
    assert said
    saved = json.loads(gzip.decompress(Path("saved.json.gz").read_bytes()))
    assert saved["metadata"] == {"resourceVersion": said[1]}
    pod = saved["items"][2]
    assert pod["spec"]["containers"][0]["env"] == [{"name": "A", "value": "secret-env"}]
    assert "managedFields" not in pod["metadata"]
    assert kubescheduler("schedule", "saved.json.gz", "--pending", "-o", "name").out.split()[1] == "very-secret-node"


def test_a_redacted_cluster(kubescheduler: Run, server: FrontServer) -> None:
    """No name is left, and the pod goes to the node whose label it selects."""
    assert kubescheduler("snapshot", "--kubeconfig", "kubeconfig", "--redact", "-o", "saved.yaml").status == 0
    text = Path("saved.yaml").read_text()
    assert "secret" not in text
    assert "another" not in text
    done = kubescheduler("schedule", "saved.yaml", "--pending", "-o", "json")
    (item,) = json.loads(done.out)["items"] if '"items"' in done.out else [json.loads(done.out)]
    assert item["host"] in text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        pytest.param(("-o", "saved.txt"), "-o saved.txt: the name says no format", id="format"),
        pytest.param(("-o", "none/saved.json"), "-o none/saved.json: there is no folder none", id="folder"),
        pytest.param(("-o", "s.json", "--context", "gone"), "connection refused", id="unreachable"),
        pytest.param((), "Missing option '-o'", id="no file"),
    ],
)
def test_faults(kubescheduler: Run, server: FrontServer, args: tuple[str, ...], said: str) -> None:
    """Each is said with status 2, and no file is made."""
    before = sorted(Path().iterdir())
    kubescheduler("snapshot", "--kubeconfig", "kubeconfig", *args).refused(said)
    assert sorted(Path().iterdir()) == before


def test_outside_of_a_cluster(kubescheduler: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a kubeconfig anywhere, and outside of a pod, nobody knows where the server is."""
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    done = kubescheduler("snapshot", "-o", "saved.json")
    done.refused("no configuration has been provided: name a kubeconfig with --kubeconfig, or in KUBECONFIG")
