"""Scenes that are shared: documents, links, exports and replays."""

from __future__ import annotations

import base64
import html
import json
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given

import kubescheduler as ks
from clusterstate.errors import InputError
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab import PAGE
from kubescheduler.lab.scene import share_verbs
from kubescheduler.lab.scene.lab_document import (
    LONGEST,
    MOST_BYTES,
    lab_document,
    opened_document,
    share_text,
    shared_document,
)
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneFault
from kubescheduler.lab.scene.share_verbs import bare_imports, canonical_question, first_questions, replayed_text
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.hint_worlds import HintWorld, hint_worlds
from tests.support.laws import costly
from tests.support.releases_tried import RELEASES_TRIED

POLICY = "kind: Policy   # ours\napiVersion: v1\npriorities:\n- name: LeastRequestedPriority\n  weight: 2\n"


def opened(nodes: int = 2) -> Scene:
    """Four sides in all releases, one by a Policy, one that draws ties."""
    cluster = ks.Cluster(release="1.16").pod("web", cpu=1, annotations={"note": "</script><b>"})
    for at in range(nodes):
        cluster = cluster.node(f"n{at}", cpu=2 + at % 2, taints=["db:NoSchedule"] if at % 3 == 2 else [])
    scene = Scene.opened(cluster, sides=[EngineSpec(release) for release in RELEASES_TRIED], title="A <scene>")
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


@pytest.mark.parametrize("release", RELEASES_TRIED)
@given(world=hint_worlds())
@costly
def test_a_link_is_the_scene(release: str, world: HintWorld) -> None:
    """Of any small world."""
    scene = Scene.opened(world.cluster(release), pods=[world.pod], sides=[EngineSpec(release)])
    same(scene, Scene(opened_document(shared_document(share_text(scene.state)))))


def test_a_link_that_would_be_too_long_is_none() -> None:
    """It says how long it would be."""
    small, large = VERBS["share"](opened(), {}), VERBS["share"](opened(1000), {})
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
def test_an_exported_test_is_green(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: bool) -> None:
    """And turns red when the decision is another one."""
    scene = opened()
    if not waits:
        VERBS["edit"](scene, {"edit": {"do": "bind", "pod": "default/web", "node": "n1"}})
        VERBS["edit"](scene, {"edit": {"do": "cordon", "node": "n0"}})
    found = VERBS["export"](scene, {"as": "pytest"})
    assert found["name"] == "test_a_scene.py"
    file = tmp_path / found["name"]
    options = ["-q", "-p", "no:cacheprovider", "-p", "kubescheduler.testing.pytest_plugin", "--rootdir", str(tmp_path)]
    command = [sys.executable, "-m", "pytest", *options, str(file)]
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # others take long to begin with
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


BOTH = [EngineSpec("1.36"), EngineSpec("1.16")]
HOSTILE = "</script><script>alert(1)</script>"


def shown() -> Any:
    """A scene with two sides, whose title would end a script element."""
    cluster = ks.Cluster(release="1.36").node("a", cpu=4).node("b", cpu=2)
    return ks.scene(cluster, pod=ks.pod("web", cpu=1), sides=[{}, {"release": "1.16"}], title=HOSTILE)


def script(page: str, start: str) -> Any:
    """The JSON of a script element."""
    found = re.search(re.escape(start) + "(.*?)</script>", page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_it_holds_the_answers_of_the_scene() -> None:
    """What the page asks first, each node's evidence, and what was looked at."""
    scene = shown()
    asks = [
        {"verb": "hints", "params": {"side": "b", "node": "b"}},
        {"verb": "edit", "params": {}},
        {"verb": "no", "params": {}},
    ]
    answers = script(VERBS["export"](scene, {"as": "replay", "asks": asks})["text"], 'id="replay">')
    assert answers[canonical_question("state", {})]["title"] == HOSTILE
    assert answers['open {"from":"start"}']["tab"] == "replay"
    assert answers['why {"node":"a","side":"b"}']["fits"]
    assert answers['decision {"all":false,"side":"a"} whole']["host"] == scene.decision("a").host
    assert answers['sides {"mode":"independent","pods":"pending"}']["pods"]
    assert answers['hints {"node":"b","side":"b"}'] == {
        **VERBS["hints"](scene, {"side": "b", "node": "b"}),
        "version": scene.version,
    }
    assert not any(key.startswith(("edit", "no ")) for key in answers)


def test_every_module_that_the_page_reaches_is_in_it() -> None:
    """Under one name, with no relative import left, but for the editor, which a replay does without."""
    imports = script(shown().replay(), '<script type="importmap">')["imports"]
    texts = {name: base64.b64decode(address.partition(",")[2]).decode() for name, address in imports.items()}
    modules = {f"lab/{path.relative_to(PAGE).as_posix()}" for path in PAGE.rglob("*.js")}
    assert modules - set(texts) == {"lab/vendor/codemirror.js"}
    for name, text in texts.items():
        left = re.findall(r"""(?:\bfrom\s*|\bimport\s*\(?\s*)["'](\.{1,2}/[^"'\n]+)["']""", text)
        assert [each for each in left if "codemirror" not in each] == [], name
    assert set(re.findall(r'"(lab/[^"]+\.js)"', "".join(texts.values()))) - set(texts) == {"lab/vendor/codemirror.js"}


def test_a_module_imports_by_the_names_of_the_map() -> None:
    """Also what it loads later."""
    text = 'import { a } from "./c.js";\nexport { b } from "../ui.js";\nconst c = () => import("../screens/why.js");\n'
    assert bare_imports("components/d.js", text) == (
        'import { a } from "lab/components/c.js";\nexport { b } from "lab/ui.js";\n'
        'const c = () => import("lab/screens/why.js");\n'
    )


def test_nothing_in_it_leads_elsewhere() -> None:
    """No address is loaded, and a name in the scene ends no element."""
    page = shown().replay()
    assert HOSTILE not in page
    assert page.count("</script>") == 3
    assert re.findall(r'(?:src|href)="(?!data:)', page) == []
    assert "default-src 'none'" in page


@pytest.mark.parametrize(
    ("parameters", "text"),
    [({"b": 1, "a": {"d": None, "c": [True, "é\n"]}}, 'x {"a":{"c":[true,"é\\n"],"d":null},"b":1}'), ({}, "x {}")],
)
def test_questions_are_the_texts_that_the_page_makes_of_them(parameters: dict[str, Any], text: str) -> None:
    """Keys in order, nothing between."""
    assert canonical_question("x", parameters) == text


def test_a_notebook_shows_it_in_a_frame() -> None:
    """That can reach neither the notebook nor the network; saved it is one file."""
    scene = shown()
    frame = scene._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts"')
    assert HOSTILE not in frame
    inside = re.search(r'srcdoc="([^"]*)"', frame)
    assert inside
    assert html.unescape(inside[1]) == scene.replay()


def test_it_is_saved_as_a_file(tmp_path: Path) -> None:
    """Whole."""
    scene = shown()
    scene.save(tmp_path / "scene.html")
    assert (tmp_path / "scene.html").read_text(encoding="utf-8") == scene.replay()


def test_a_pod_of_the_cluster_can_be_asked_about() -> None:
    """By its name."""
    cluster = ks.Cluster(release="1.36").node("a").pod("one").pod("two")
    assert ks.scene(cluster, pod="two").state.asked == "default/two"
    assert ks.scene(cluster).state.asked == "default/one"


@pytest.mark.parametrize(("most", "kept"), [(2, True), (1, False)], ids=["small", "large"])
def test_a_large_scene_keeps_less_that_was_not_asked(most: int, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations, and comparisons of all pods that wait; what the page has asked is kept whatever the size."""
    monkeypatch.setattr(share_verbs, "MOST_JUDGED", most)
    scene = Scene.opened(ks.Cluster(release="1.36").node("a").node("b").pod("web"), sides=BOTH)
    questions = {verb: params for verb, params in first_questions(scene, VERBS) if verb in ("time", "timeAt")}
    assert bool(questions) is kept
    compared = [params["pods"] for verb, params in first_questions(scene, VERBS) if verb == "sides"]
    assert compared == (["pending"] * 2 if kept else []) + ["asked"] * 2
    assert '"time {' in replayed_text(scene, VERBS, [("time", {"side": "a"})]).replace('\\"', '"')


def test_a_scene_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do instead."""
    monkeypatch.setattr(share_verbs, "MOST_NODES", 1)
    scene = Scene.opened(ks.Cluster(release="1.36").node("a").node("b").pod("web"))
    with pytest.raises(SceneFault, match="at most 1 nodes, and this one has 2; save the scene"):
        replayed_text(scene, VERBS)
    monkeypatch.setattr(share_verbs, "MOST_RESULTS", 1)
    with pytest.raises(SceneFault, match="1 pods that wait on 2 nodes are too many for one file"):
        VERBS["export"](scene, {"as": "simulator"})
