"""The tools for assistants: what they answer, and what they do not do."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import kubescheduler as ks
from clusterstate.errors import InputError
from kubescheduler.cli import run
from kubescheduler.mcp_tools import NAMES, Tools, server_of
from tests.support.apiserver.real_server import free_ports

BIG, POLICY = ks.pod("big", cpu=9), {"kind": "Policy", "apiVersion": "v1"}


def read(release: str) -> ks.Cluster:
    """Two nodes, a pod that runs, and one that fits nowhere."""
    cluster = ks.Cluster(release=release).node("a", cpu=2).node("b", cpu=4).node("c", cpu=4)
    return cluster.pod("web", node="a", cpu=1).pod("waiting", cpu=6)


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    """Of release 1.36, with a folder of other clusters."""
    (tmp_path / "other.yaml").write_text(json.dumps(ks.node("only", cpu=2)))
    return Tools(read, "1.36", {}, tmp_path)


def test_decide(tools: Tools) -> None:
    """The best nodes with their scores; a pod that fits nowhere with the reasons and numbers."""
    answer = tools.decide(ks.pod("new", cpu=1), top=1)
    assert (answer["node"], answer["fit"], [each["node"] for each in answer["best"]]) == ("b", 3, ["b"])
    [best] = answer["best"]
    assert sum(best["scores"].values()) == best["total"]
    assert set(answer["formulas"]) == set(best["scores"])
    refused = tools.decide("waiting")
    assert (refused["node"], refused["refused"]) == (None, {"Insufficient cpu": 3})
    assert refused["evidence"]["a"][0]["facts"]["asked"] == 6000


def test_as_another_release_decides(tools: Tools) -> None:
    """A call may name a release, and a Policy or configuration as an object."""
    assert tools.decide(ks.pod("new", cpu=1), release="1.16")["release"] == "1.16"
    packing = {**POLICY, "priorities": [{"name": "MostRequestedPriority", "weight": 1}]}
    assert tools.decide(ks.pod("new", cpu=1), release="1.16", policy=packing)["node"] == "a"
    assert tools.compare(release="1.16", policy=packing, running="metadata.name=web")["pods"] == 1


def test_the_other_questions(tools: Tools) -> None:
    """Each gives what the function of its name gives."""
    assert tools.why("web")["text"][0] == "default/web runs on a."
    assert tools.hint("waiting")["hints"][0]["text"] == "ask for 4 cpu instead of 6"
    room = tools.capacity(ks.pod("new", cpu=1), top=1)
    assert (room["pods"], room["orMore"], room["nodes"]) == (9, False, {"b": 4})
    assert "3 Insufficient cpu" in room["stoppedBy"]
    assert tools.drain(["a"], force=True)["counts"]["lost"] == 1
    spare = {"name": "spare", "cpu": 2, "memory": "4Gi"}
    upgrade = tools.drain(["a"], force=True, order=True, surge=1, shape=spare, kubernetes_upgrade="1.35:1.36")
    assert (upgrade["surge"]["nodes"], upgrade["order"]["complete"]) == (["spare-1"], True)
    assert upgrade["kubernetesUpgrade"] == {"from": "1.35", "to": "1.36"}
    outage = tools.outage(["a"])
    assert outage["counts"]["lost"] == 1
    assert "with unreachable: true they stay" in outage["notes"][-1]
    assert {domain["name"]: domain["survives"] for domain in tools.outage(each="hostname")["domains"]}[
        "hostname=a"
    ] is False
    assert tools.nodes([{"name": "large", "cpu": 8, "memory": "8Gi"}])["add"] == {"large": 1}
    assert [rule["name"] for rule in tools.explain("NodeResourcesFit", "1.36")["rules"]] == ["NodeResourcesFit"]
    assert "NodeResourcesFit" in tools.registry()["rules"]["plugin"]


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda tools: tools.why("nobody"), "there is no pod default/nobody"),
        (
            lambda tools: tools.drain(["a"], surge=1, order=True),
            "surge: say how many nodes come first, and of which shape",
        ),
        (lambda tools: tools.drain(["a"], kubernetes_upgrade="1.35:1.36"), "say order: true as well"),
        (lambda tools: tools.decide("web"), "pod default/web runs on a: ask why it is there"),
        (lambda tools: tools.decide({"spec": 5}), "spec: must be an object"),
        (lambda tools: tools.registry("1.99"), "release 1.99 is not known"),
        (lambda tools: tools.explain(" "), "no predicate, priority, plugin or reason is ' '"),
        (lambda tools: tools.decide(BIG, cluster="../etc/passwd"), "is not in the folder"),
        (lambda tools: tools.decide(BIG, cluster="/etc/passwd"), "is not in the folder"),
        (lambda tools: tools.decide(BIG, cluster="none.yaml"), "there is no file none.yaml"),
        (
            lambda tools: tools.decide(
                BIG, release="1.16", policy={**POLICY, "extenders": [{"urlPrefix": "http://x"}]}
            ),
            "policy: extenders: HTTP extenders are not asked",
        ),
    ],
)
def test_errors(ask: Callable[[Tools], Any], said: str, tools: Tools) -> None:
    """What cannot be answered is said, and no file outside the folder and no server is read."""
    with pytest.raises(InputError) as caught:
        ask(tools)
    assert any(said in problem for problem in caught.value.problems), caught.value.problems


def test_clusters_of_the_folder(tools: Tools, tmp_path: Path) -> None:
    """A file below it may be named; a link that leads out of it may not, nor any without the folder."""
    assert tools.decide(ks.pod("new"), cluster="other.yaml")["node"] == "only"
    (tmp_path / "out.yaml").symlink_to(__file__)
    with pytest.raises(InputError, match="is not in the folder"):
        tools.decide(ks.pod("new"), cluster="out.yaml")
    with pytest.raises(InputError, match="without --allow-paths"):
        Tools(read, "1.36", {}).decide(ks.pod("new"), cluster="other.yaml")


CLUSTER = ks.Cluster(release="1.36").node("a", cpu=2).node("b", cpu=4)


def asked(server: Any, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """(whether it is an error, the structured answer or the text) of each call, one after the other."""

    async def ask() -> list[Any]:
        async with Client(server) as client:
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
        return [(each.is_error, each.structured_content or getattr(each.content[0], "text", "")) for each in results]

    return anyio.run(ask)


def test_every_tool_is_listed() -> None:
    """With a description, a schema of its arguments, and that it only reads."""

    async def ask() -> Any:
        async with Client(server_of(Tools(lambda _: CLUSTER, "1.36", {}), 60)) as client:
            return (await client.list_tools()).tools

    tools = anyio.run(ask)
    assert [tool.name for tool in tools] == list(NAMES)
    assert all(tool.description and tool.annotations.read_only_hint for tool in tools)
    assert set(tools[0].input_schema["properties"]) == {"pod", "release", "policy", "config", "top", "cluster"}
    assert {tool.input_schema["additionalProperties"] for tool in tools} == {False}


def test_answers_and_errors() -> None:
    """An answer is structured; a fault is an error with its text, and so is an argument of another type."""
    server = server_of(Tools(lambda _: CLUSTER, "1.36", {}), 60)
    answer, missing, wrong = asked(
        server, ("decide", {"pod": ks.pod("new", cpu=3)}), ("why", {"pod": "gone"}), ("capacity", {"pod": 5})
    )
    assert answer[0] is False
    assert answer[1]["node"] == "b"
    assert missing[0] is True
    assert "there is no pod default/gone" in missing[1]
    assert wrong[0] is True


MANIFEST = "kind: Pod\nmetadata: {name: x}"


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("decide", {"pod": "x", "relase": "1.20"}, "relase: there is no such argument; did you mean release?"),
        ("capacity", {"pod": 5, "top": "few"}, "pod: expected object, got int\ntop: expected int, got str"),
        ("decide", {"pod": 5}, "pod: expected str | object, got int"),
        ("drain", {"nodes": ["a", 5]}, "nodes[1]: expected str, got int"),
        ("why", {}, "pod: missing"),
        ("decide", {"pod": MANIFEST}, "pod: expected a name or a manifest, found text that is no name: give a "),
        ("compare", {}, "say what to compare with: release, policy or config"),
        (
            "compare",
            {"release": "1.20"},
            "there is no pod to compare",
        ),
        ("drain", {"nodes": ["a"]}, "no controller (use force: true to override): default/web"),
        ("drain", {"nodes": ["a"], "surge": 1, "shape": {"cpu": 1}}, "say order: true as well"),
    ],
)
def test_wrong_arguments(tool: str, arguments: dict[str, Any], said: str) -> None:
    """They are refused, each with its path, in the words of the tool: none is left out, and nothing is compared."""
    cluster = CLUSTER.pod("web", node="a", cpu=1)
    [(is_error, text)] = asked(server_of(Tools(lambda _: cluster, "1.36", {}), 60), (tool, arguments))
    assert is_error
    assert said in text


def test_arguments_as_text() -> None:
    """Some clients send objects and numbers as text."""
    server = server_of(Tools(lambda _: CLUSTER, "1.36", {}), 60)
    [(is_error, answer)] = asked(server, ("decide", {"pod": json.dumps(ks.pod("new", cpu=3)), "top": "1"}))
    assert (is_error, answer["node"]) == (False, "b")


def test_limits() -> None:
    """A call that takes too long is given up, and arguments that are too large are not looked at."""
    held = threading.Event()

    def read(_: str) -> ks.Cluster:
        held.wait(60)
        return CLUSTER

    late = asked(server_of(Tools(read, "1.36", {}), 0.01), ("why", {"pod": "x"}))
    held.set()
    [(is_error, text)] = late
    assert is_error
    assert "no answer within 0.01 s" in text
    large = {"pod": {"metadata": {"name": "x", "annotations": {"note": "n" * (1 << 20)}}}}
    [(is_error, text)] = asked(server_of(Tools(read, "1.36", {}), 60), ("decide", large))
    assert is_error
    assert "the arguments are larger than 1,048,576 bytes" in text


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A cluster."""
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [ks.node("a", cpu=2)]}))
    return str(path)


def test_over_stdio(file: str) -> None:
    """As assistants start it."""
    command = [sys.executable, "-m", "kubescheduler", "mcp", file, "--release", "1.36"]
    server = stdio_client(StdioServerParameters(command=command[0], args=command[1:]))
    [(is_error, answer)] = asked(server, ("decide", {"pod": ks.pod("new", cpu=1)}))
    assert not is_error
    assert answer["node"] == "a"


def test_over_http(file: str) -> None:
    """On the loopback interface."""
    [port] = free_ports(1)
    command = [sys.executable, "-m", "kubescheduler", "mcp", file, "--http", str(port)]

    async def first_answer(ask: Callable[[], Awaitable[Any]]) -> Any:
        """Once the server listens."""
        with anyio.fail_after(60):
            while True:
                try:
                    async with await anyio.connect_tcp("127.0.0.1", port):
                        return await ask()
                except OSError:
                    await anyio.sleep(0.05)

    async def ask() -> Any:
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            return (await client.call_tool("registry", {})).structured_content

    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            answer = anyio.run(first_answer, ask)
        finally:
            process.terminate()
    assert answer["release"] == "1.16"


def test_wrong_input_is_said_at_the_start(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """To who starts it, not to an assistant: exit status 2."""
    assert run(["mcp", file, "--config", "none.yaml"]) == 2
    assert "none.yaml" in capsys.readouterr().err
    assert run(["mcp", "-"]) == 2
    assert "standard input is the client's" in capsys.readouterr().err
