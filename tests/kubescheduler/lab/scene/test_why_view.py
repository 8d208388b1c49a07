"""What the lab shows as sent to an extender is what it received, and of lost nodes it says what commands say."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import InputError
from kubescheduler.cli import run
from kubescheduler.cli.drain import drain
from kubescheduler.cli.outage import outage
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab import BUNDLED_CLUSTER
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneFault
from kubescheduler.lab.scene.verbs import VERBS
from kubescheduler.lab.scene.why_view import MOST_SHOWN
from tests.support.releases_tried import RELEASES_TRIED


def opened(release: str, *prefixes: str, nodes: int = 3, **settings: Any) -> Scene:
    """A scene whose side asks extenders, with a pod that fits all nodes but one."""
    verbs = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 2}
    called = [{"urlPrefix": prefix, **verbs, **settings} for prefix in prefixes]
    if release == "1.36":
        kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        spec = EngineSpec(release, component={**kind, "extenders": called})
    else:
        spec = EngineSpec(release, policy={"kind": "Policy", "apiVersion": "v1", "extenders": called})
    cluster = ks.Cluster(release=release)
    for at in range(nodes):
        cluster = cluster.node(f"n{at}", cpu=4)
    return Scene.opened(cluster.node("full", cpu="500m").pod("web", cpu=1), sides=[spec])


def sent(scene: Scene, **asked: Any) -> Any:
    """What the verb shows."""
    return VERBS["extenderRequest"](scene, asked)["request"]


def echoed(answer: dict[str, Any]) -> Any:
    """The request, out of an error that repeats it."""
    found = json.loads(answer["error"][answer["error"].index("{") :])
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.parametrize("short", [False, True], ids=["whole nodes", "names"])
def test_the_body_is_what_arrived(release: str, short: bool, address: str) -> None:
    """Of an extender that answers with what it received as an error; the attempt fails by it."""
    scene = opened(release, f"{address}/echo", nodeCacheCapable=short)
    arrived, shown = echoed(VERBS["decision"](scene, {})), sent(scene)
    assert json.loads(shown["body"]) == arrived
    assert shown["nodes"] == (4 if release == "1.4" else 3)  # there a Policy without predicates checks nothing
    assert shown["bytes"] == len(json.dumps(arrived, separators=(",", ":"), ensure_ascii=False).encode())
    assert not shown["cut"]
    assert shown["url"] == (f"{address}/echo//filter" if release == "1.4" else f"{address}/echo/filter")


def test_of_an_ignorable_extender_that_fails(address: str) -> None:
    """The attempt goes on: the second is sent the same nodes, and each shows its own."""
    scene = opened("1.36", f"{address}/echo", f"{address}/refuse", ignorable=True)
    (first, _) = VERBS["decision"](scene, {})["extenders"]
    assert json.loads(sent(scene)["body"]) == echoed(first)
    assert sent(scene, extender=1)["nodes"] == 3


def test_what_is_scored_is_what_filters_left(address: str) -> None:
    """The filter of the first keeps one node of three; that is sent to the second, and to neither for scores, since
    there is nothing to choose."""
    scene = opened("1.16", f"{address}/refuse", f"{address}/good")
    names = [node["metadata"]["name"] for node in json.loads(sent(scene, extender=1)["body"])["Nodes"]["items"]]
    assert names == ["n2"]
    assert VERBS["extenderRequest"](scene, {"verb": "prioritize"}) == {"why": "it was not asked", "request": None}
    scene = opened("1.16", f"{address}/refuse", f"{address}/good", nodes=4)
    assert sent(scene, extender=1, verb="prioritize")["nodes"] == 2


def test_of_one_after_a_failed_call_it_is_said_that_nothing_is_kept(address: str) -> None:
    """Which of them ended the attempt is in its error alone."""
    scene = opened("1.20", f"{address}/good", f"{address}/error")
    assert "not kept" in VERBS["extenderRequest"](scene, {"extender": 1})["why"]


def test_passwords_are_not_shown(address: str) -> None:
    """Neither in the address nor as the header that they become."""
    host = address.removeprefix("http://")
    shown = json.dumps(sent(opened("1.16", f"http://me:secret@{host}/good")))
    assert "secret" not in shown
    assert "bWU6c2VjcmV0" not in shown
    assert "Authorization: Basic ***" in shown
    assert f"http://me:***@{host}/good/filter" in shown


def test_a_long_body_is_cut_at_a_line(address: str) -> None:
    """Its size is that of the whole."""
    shown = sent(opened("1.16", f"{address}/good", nodes=300))
    assert shown["cut"]
    assert len(shown["body"]) <= MOST_SHOWN < shown["bytes"]
    assert shown["nodes"] == 300


def test_an_extender_that_is_not_there(address: str) -> None:
    """Is refused with how many there are."""
    with pytest.raises(SceneFault, match="there is no extender 1; the side has 1"):
        sent(opened("1.16", f"{address}/good"), extender=1)


COMMANDS = {"drained": drain, "lost": outage}


@pytest.fixture(scope="module")
def scene() -> Scene:
    """What the lab opens with."""
    return Scene.opened(str(BUNDLED_CLUSTER))


@pytest.mark.parametrize(
    ("verb", "asked"),
    [("drained", {"node": "worker-3"}), ("lost", {"node": "worker-3"}), ("lost", {"zone": "east"})],
    ids=["drained", "lost node", "lost zone"],
)
def test_words_of_the_command(
    verb: str, asked: dict[str, Any], scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Headline, every cell, every text and note, exit status and what its help says of it; the scene stays as it is."""
    before, answer = scene.state, VERBS[verb](scene, asked)
    assert scene.state is before
    words = [str(BUNDLED_CLUSTER) if word == "CLUSTER" else word for word in shlex.split(answer["command"])[1:]]
    status = run(words)
    out = capsys.readouterr().out
    said = " ".join(out.split())
    assert answer["headline"] in out.split("\n")
    assert [text for text in answer["notes"] if f"! {text}" not in out] == []
    parts = answer["sections"]
    assert [text for part in parts for text in part["texts"] if text not in out] == []
    rows = [row for part in parts for row in part["rows"]]
    assert rows
    assert [row for row in rows if " ".join(" ".join(row).split()) not in said] == []
    head, _, meaning = answer["status"].partition(": ")
    assert head == f"exit status {status}"
    assert f"{status} {meaning}, " in (COMMANDS[verb].epilog or "")


@pytest.mark.parametrize(
    ("verb", "asked", "fault"),
    [
        ("drained", {"node": "no-such"}, InputError),
        ("drained", {}, SceneFault),
        ("lost", {"zone": "no-such"}, InputError),
        ("lost", {}, SceneFault),
        ("lost", {"zone": "east", "node": "worker-3"}, SceneFault),
    ],
)
def test_what_is_not_there(verb: str, asked: dict[str, Any], fault: type[Exception], scene: Scene) -> None:
    """Is a fault, as every question's."""
    with pytest.raises(fault):
        VERBS[verb](scene, asked)
