"""The tools for assistants: what they answer, and what they do not do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import InputError
from kubescheduler.mcp.tools import Tools

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
    assert tools.outage(["a"])["counts"]["lost"] == 1
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
        (lambda tools: tools.drain(["a"], kubernetes_upgrade="1.35:1.36"), "say order=True as well"),
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
