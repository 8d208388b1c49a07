"""What a tab can open besides what the command line named."""

from __future__ import annotations

from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import InputError
from kubescheduler.lab.scene.lab_document import SceneOpenings, lab_document, share_text
from kubescheduler.lab.scene.scene import Scene


def scene(name: str) -> Scene:
    """A scene with a node of that name."""
    return Scene.opened(ks.Cluster(release="1.36").node(name).pod("web"))


OPENINGS = SceneOpenings(lambda: scene("start"), lambda: scene("bundled"), lambda name: scene(f"of-{name}"))
STATE = scene("shared").state

SOURCES = {
    "start": ("start", "start"),
    "bundled": ("bundled", "bundled"),
    "exercise": ({"exercise": "taints"}, "of-taints"),
    "share": ({"share": share_text(STATE)}, "shared"),
    "lab": ({"lab": lab_document(STATE)}, "shared"),
}


@pytest.mark.parametrize(("source", "node"), SOURCES.values(), ids=SOURCES.keys())
def test_each_source_opens_its_scene(source: Any, node: str) -> None:
    """With its own cluster."""
    assert [each.name for each in OPENINGS({"from": source}).state.cluster.nodes] == [node]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"from": "elsewhere"}, "from: must be"),
        ({"from": {"share": "*"}}, "cannot be read"),
        ({"from": {"share": 1}}, "from: must be"),
        ({"from": {"lab": {"kind": "List"}}}, "scene: "),
        ({"from": {"lab": {}, "share": ""}}, "from: must be"),
        ({"of": "start"}, "of: unknown"),
    ],
)
def test_anything_else_is_refused(asked: dict[str, Any], words: str) -> None:
    """With what there is."""
    with pytest.raises(InputError, match=words):
        OPENINGS(asked)
