"""Every command that takes CLUSTER reads one from its API server instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aiohttp import web

from tests.kubescheduler.cli.conftest import Run
from tests.support.apiserver import FrontServer
from tests.support.live.live_cluster import a_node, a_pod
from tests.support.live.serving import fill, two_contexts


@pytest.fixture
def server(folder: Path, api_server: FrontServer) -> FrontServer:
    """Nodes s1 and s2, and a pod that waits; ./kubeconfig leads there."""
    fill(api_server, a_node("s1"), a_node("s2", cpu="8"), pods=(a_pod("web"),))
    two_contexts(folder, api_server.url)
    return api_server


COMMANDS = pytest.mark.parametrize(
    "command",
    [
        pytest.param(("schedule", "--pending", "-o", "name"), id="schedule"),
        pytest.param(("simulate", "--workload", "pod.yaml", "-o", "csv"), id="simulate"),
        pytest.param(("capacity", "--pod", "pod.yaml"), id="capacity"),
        pytest.param(("compare", "--pending", "--new", "release=1.36"), id="compare"),
        pytest.param(("sweep", "--out", "rows.csv", "--workers", "1"), id="sweep"),
    ],
)


@COMMANDS
def test_the_same_as_from_a_file(kubescheduler: Run, server: FrontServer, command: tuple[str, ...]) -> None:
    """A cluster that is read from its server gives what its snapshot gives; the server is asked to GET alone."""
    pod = Path("pod.yaml")
    pod.write_text(pod.read_text().replace("name: web", "name: another"))
    assert kubescheduler("snapshot", "--kubeconfig", "kubeconfig", "-o", "cluster.json").status == 0
    live = kubescheduler(command[0], "--kubeconfig", "kubeconfig", *command[1:])
    Path("rows.csv").unlink(missing_ok=True)
    from_file = kubescheduler(command[0], "cluster.json", *command[1:])
    assert (live.status, live.out) == (from_file.status, from_file.out)
    assert live.status == 0
    assert {one.method for one in server.asked} == {"GET"}


@COMMANDS
def test_an_unreachable_server(kubescheduler: Run, server: FrontServer, command: tuple[str, ...]) -> None:
    """It is said in one line, with status 2."""
    done = kubescheduler(command[0], "--kubeconfig", "kubeconfig", "--context", "gone", *command[1:])
    assert done.status == 2
    assert done.err.splitlines() == [
        'error: the cluster cannot be read: Get "http://127.0.0.1:1/api/v1/nodes?limit=500": '
        "dial tcp 127.0.0.1:1: connect: connection refused"
    ]


def test_a_server_that_is_none(kubescheduler: Run, server: FrontServer) -> None:
    """What it does not know is said with where it was asked for."""
    config = Path("kubeconfig").read_text()
    Path("kubeconfig").write_text(config.replace(server.url, f"{server.url}/elsewhere"))
    done = kubescheduler("schedule", "--kubeconfig", "kubeconfig", "--pending", "--release", "cluster")
    done.refused(f"the cluster cannot be read: {server.url}/elsewhere/version: the server could not find")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        pytest.param(("cluster.yaml", "--kubeconfig", "kubeconfig"), "either CLUSTER or --kubeconfig", id="both"),
        pytest.param(("cluster.yaml", "--context", "there"), "either CLUSTER or --context", id="file and context"),
        pytest.param((), "Missing argument 'CLUSTER...'", id="neither"),
        pytest.param(("--kubeconfig", "none"), "stat none: no such file or directory", id="no file"),
        pytest.param(("--kubeconfig", "kubeconfig", "--context", "x"), "invalid configuration: kubeconfig", id="none"),
        pytest.param(("--kubeconfig", "cluster.yaml"), "invalid configuration: cluster.yaml", id="no kubeconfig"),
    ],
)
def test_where_the_cluster_is(kubescheduler: Run, server: FrontServer, args: tuple[str, ...], said: str) -> None:
    """Either files or a server, and a kubeconfig that says where it is."""
    done = kubescheduler("schedule", *args, "--pending")
    assert (done.status, server.asked) == (2, [])
    assert said in done.err


def test_the_kubeconfig_of_kubectl(
    kubescheduler: Run, server: FrontServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --context alone it is found as kubectl finds it: KUBECONFIG, several files too, or ~/.kube/config."""
    monkeypatch.setenv("KUBECONFIG", f"{folder}/none:{folder}/kubeconfig")
    assert kubescheduler("schedule", "--context", "there", "--pending", "-o", "name").out == "default/web s1\n"
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("HOME", str(folder))
    assert "no such file" in kubescheduler("schedule", "--context", "there", "--pending").err
    (folder / ".kube").mkdir()
    Path("kubeconfig").rename(".kube/config")
    assert kubescheduler("schedule", "--context", "there", "--pending", "-o", "name").out == "default/web s1\n"


def test_a_settings_file(kubescheduler: Run, server: FrontServer) -> None:
    """A kubeconfig may run programs, so a settings file that was only found cannot name one; files go before it."""
    Path("kubescheduler.toml").write_text('kubeconfig = "kubeconfig"\n')
    assert "kubeconfig: this runs code" in kubescheduler("schedule", "--pending").err
    named = ("--settings", "kubescheduler.toml", "schedule")
    assert kubescheduler(*named, "--pending", "-o", "name").out == "default/web s1\n"
    assert kubescheduler(*named, "cluster.yaml", "--pod", "pod.yaml", "-o", "name").out == "default/web n1\n"


def test_a_sweep_that_goes_on(kubescheduler: Run, server: FrontServer) -> None:
    """The cluster is saved beside the rows; the same command goes on with what was saved."""
    sweep = ("sweep", "--kubeconfig", "kubeconfig", "--out", "rows.csv", "--workers", "1")
    assert kubescheduler(*sweep).out.splitlines()[1].split() == ["1", "0", "1", "0", "rows.csv"]
    asked = len(server.asked)
    assert kubescheduler(*sweep).out.splitlines()[1].split() == ["1", "1", "0", "0", "rows.csv"]
    assert len(server.asked) == asked


def says_version(server: FrontServer, version: str) -> None:
    """Has the server say its version."""

    async def answer(request: web.Request) -> web.Response | None:
        return web.json_response({"gitVersion": version}) if request.path == "/version" else None

    server.faults.append(answer)


@pytest.mark.parametrize(("version", "release"), [("v1.28.3+k3s1", "1.28"), ("v1.36.2", "1.36"), ("v1.16.6", "1.16")])
def test_release_of_the_server(kubescheduler: Run, server: FrontServer, version: str, release: str) -> None:
    """The minor release that it says decides."""
    says_version(server, version)
    done = kubescheduler("schedule", "--kubeconfig", "kubeconfig", "--pending", "--release", "cluster", "-o", "json")
    assert done.status == 0
    assert {decision["release"] for decision in json.loads(done.out)["items"]} == {release}


@pytest.mark.parametrize(
    ("version", "args", "said"),
    [
        ("v1.17.0", ("--kubeconfig", "kubeconfig"), "release v1.17.0 is not known; known are 1.4, "),
        ("", ("cluster.yaml",), "cluster: it is the release of an API server: give --kubeconfig or --context"),
        ("", ("--kubeconfig", "kubeconfig", "--context", "gone"), "the cluster cannot be read: Get "),
        ("", ("--kubeconfig", "none"), "stat none: no such file or directory"),
    ],
)
def test_no_release_of_a_server(
    kubescheduler: Run, server: FrontServer, version: str, args: tuple[str, ...], said: str
) -> None:
    """One that there is not, or that cannot be asked for, ends with status 2 and one message."""
    says_version(server, version)
    done = kubescheduler("schedule", *args, "--pending", "--release", "cluster")
    done.refused(said)
    assert "a fault in kubescheduler" not in done.err


def test_a_run_by_the_server(kubescheduler: Run, server: FrontServer) -> None:
    """The flags of the release that the server says count, and a note says which one it is."""
    says_version(server, "v1.28.3")
    done = kubescheduler("run", "--release", "cluster", "--kubeconfig", "kubeconfig", "--", "--version")
    assert done.err.splitlines()[0] == "note: the API server is of v1.28.3: release 1.28 decides"
    assert (done.status, done.out) == (0, "Kubernetes v1.28.3\n")


def test_a_pod_of_the_server(kubescheduler: Run, server: FrontServer) -> None:
    """``why`` decides as the release of the server does, unless an option says which."""
    says_version(server, "v1.28.3")
    done = kubescheduler("why", "web", "--kubeconfig", "kubeconfig", "-o", "json")
    assert done.err.splitlines()[0] == "note: the API server is of v1.28.3: release 1.28 decides"
    assert json.loads(done.out)["decision"]["release"] == "1.28"
    other = kubescheduler("why", "web", "--kubeconfig", "kubeconfig", "-o", "json", "--release", "1.36")
    assert json.loads(other.out)["decision"]["release"] == "1.36"
