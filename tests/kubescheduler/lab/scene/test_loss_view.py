"""What the lab says of nodes that are drained or lost is what the commands say, word for word."""

from __future__ import annotations

import shlex
from importlib.resources import files
from typing import Any

import pytest

from clusterstate.errors import InputError
from kubescheduler.cli import run
from kubescheduler.cli.drain import drain
from kubescheduler.cli.outage import outage
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneFault
from kubescheduler.lab.scene.verbs import VERBS

BUNDLED = files("kubescheduler.lab.bundled") / "cluster.yaml"
COMMANDS = {"drained": drain, "lost": outage}


@pytest.fixture(scope="module")
def scene() -> Scene:
    """What the lab opens with."""
    return Scene.opened(str(BUNDLED))


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
    words = [str(BUNDLED) if word == "CLUSTER" else word for word in shlex.split(answer["command"])[1:]]
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
