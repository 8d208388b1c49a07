"""Scenes as documents, links, tests and other files."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

import kubescheduler as ks
from clusterstate.errors import InputError
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.sharing.lab_document import lab_document, opened_document
from kubescheduler.lab.scene.sharing.share_text import LONGEST, MOST_BYTES, share_text, shared_document
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.hint_worlds import HintWorld, hint_worlds

POLICY = "kind: Policy   # ours\napiVersion: v1\npriorities:\n- name: LeastRequestedPriority\n  weight: 2\n"


def opened(nodes: int = 2) -> Scene:
    """Four sides in all releases, one by a Policy, one that draws ties."""
    cluster = ks.Cluster(release="1.16").pod("web", cpu=1, annotations={"note": "</script><b>"})
    for at in range(nodes):
        cluster = cluster.node(f"n{at}", cpu=2 + at % 2, taints=["db:NoSchedule"] if at % 3 == 2 else [])
    scene = Scene.opened(cluster, sides=[EngineSpec(release) for release in ks.RELEASES], title="A <scene>")
    VERBS["edit"](scene, {"edit": {"do": "configure", "side": "b", "kind": "policy", "text": POLICY}})
    return scene


def same(first: Scene, second: Scene) -> None:
    """Nothing that is shown differs."""
    assert lab_document(first.state) == lab_document(second.state)
    for side in first.state.sides:
        asked = {"side": side.id}
        assert VERBS["decision"](first, asked) == VERBS["decision"](second, asked)


def test_a_document_is_the_scene() -> None:
    """Through JSON and back, with the texts as they were written."""
    scene = opened()
    text = VERBS["export"](scene, {"as": "lab"})["text"]
    again = Scene(opened_document(json.loads(text)))
    same(scene, again)
    assert again.side("b").text == POLICY
    assert again.state.title == "A <scene>"


@pytest.mark.parametrize("release", ks.RELEASES)
@given(world=hint_worlds())
@settings(max_examples=10, deadline=None)
def test_a_link_is_the_scene(release: str, world: HintWorld) -> None:
    """Of any small world."""
    scene = Scene.opened(world.cluster(release), pods=[world.pod], sides=[EngineSpec(release)])
    same(scene, Scene(opened_document(shared_document(share_text(scene.state)))))


def test_a_link_that_would_be_too_long_is_none() -> None:
    """It says how long it would be."""
    small, large = VERBS["share"](opened(), {}), VERBS["share"](opened(3000), {})
    assert not small["tooLong"]
    assert shared_document(small["text"])["kind"] == "LabScene"
    assert large["tooLong"]
    assert (large["text"], large["most"]) == ("", LONGEST)
    assert large["length"] > LONGEST


def packed(data: bytes) -> str:
    """Deflated and in base64, as a link has it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base64.urlsafe_b64encode(packer.compress(data) + packer.flush()).decode().rstrip("=")


TEXTS = {
    "a bomb": (packed(b" " * (MOST_BYTES + 1)), "more than 4,194,304 bytes"),
    "too long": ("a" * (LONGEST + 1), "more than 8,192 characters"),
    "cut": (packed(b'{"kind": "LabScene"}')[:-4], "cut off"),
    "no base64": ("*", "cannot be read"),
    "no JSON": (packed(b"kind"), "cannot be read"),
    "a list": (packed(b"[]"), "cannot be read"),
    "deep": (packed(b"[" * 100_000), "cannot be read"),
}


@pytest.mark.parametrize(("text", "words"), TEXTS.values(), ids=TEXTS.keys())
def test_a_text_that_is_no_link_is_refused(text: str, words: str) -> None:
    """Before it takes any room."""
    with pytest.raises(SceneFault, match=words):
        shared_document(text)


DOCUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "another kind": ({"kind": "List"}, "kind"),
    "unknown key": ({"plugin": "os:system"}, "unknown field `plugin`"),
    "no side": ({"sides": []}, "expected one to 4"),
    "twice": ({"sides": [{"id": "a", "release": "1.16"}] * 2}, "ids of their own"),
    "release": ({"sides": [{"id": "a", "release": "1.17"}]}, "1.17"),
    "asked": ({"asked": "default/nobody"}, "there is no pod default/nobody"),
    "manifest": ({"manifests": [{"kind": "Node"}]}, "name"),
}


@pytest.mark.parametrize(("change", "words"), DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_a_document_that_is_none_is_refused(change: dict[str, Any], words: str) -> None:
    """With what is wrong."""
    with pytest.raises(InputError, match=words):
        opened_document({**lab_document(opened().state), **change})


def test_a_shared_scene_asks_no_extender() -> None:
    """Until somebody says so, and whatever its Policy names."""
    policy = f"{POLICY}extenders:\n- urlPrefix: http://127.0.0.1:9\n  filterVerb: filter\n"
    scene = opened()
    described = scene.side("b").with_document("policy", policy)
    again = opened_document(lab_document(scene.state.with_side(described)))
    assert again.side("b").spec.extenders == "pass"
    assert Scene(again).decision("b").host is not None


@pytest.mark.parametrize("waits", [True, False])
def test_an_exported_test_is_green(tmp_path: Path, waits: bool) -> None:
    """And turns red when the decision is another one."""
    scene = opened()
    if not waits:
        VERBS["edit"](scene, {"edit": {"do": "bind", "pod": "default/web", "node": "n1"}})
        VERBS["edit"](scene, {"edit": {"do": "cordon", "node": "n0"}})
    found = VERBS["export"](scene, {"as": "pytest"})
    assert found["name"] == "test_a_scene.py"
    file = tmp_path / found["name"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(file)]
    file.write_text(found["text"])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "4 passed" in done.stdout, done.stdout
    file.write_text(found["text"].replace("decision.host == 'n", "decision.host == 'm"))
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1


def test_manifests_make_the_same_cluster() -> None:
    """As kubectl would read them."""
    scene = opened()
    text = VERBS["export"](scene, {"as": "manifests"})["text"]
    assert [one["kind"] for one in yaml.safe_load_all(text)] == ["Pod", "Node", "Node"]
    assert ks.Cluster(text, release="1.16").manifests() == scene.state.cluster.manifests()


@pytest.mark.parametrize("side", ["a", "b", "c", "d"])
def test_the_simulator_gets_the_cluster_and_the_results(side: str) -> None:
    """With each plugin's results on the pod."""
    found = json.loads(VERBS["export"](opened(), {"as": "simulator", "side": side})["text"])
    assert [node["metadata"]["name"] for node in found["nodes"]] == ["n0", "n1"]
    assert any("finalscore-result" in name for name in found["pods"][0]["metadata"]["annotations"])
