"""Replays: one file that needs neither server nor network."""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

import kubescheduler as ks
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab import page
from kubescheduler.lab.scene.replaying import replayed_scene
from kubescheduler.lab.scene.replaying.page_bundle import bare_imports
from kubescheduler.lab.scene.replaying.replayed_scene import canonical_question, first_questions, replayed_text
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.sharing import share_verbs
from kubescheduler.lab.scene.verbs import VERBS

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
    modules = {
        f"lab/{path.relative_to(Path(page.__file__).parent).as_posix()}"
        for path in Path(page.__file__).parent.rglob("*.js")
    }
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
    [
        ({"b": 1, "a": {"d": None, "c": [True, "é\n"]}}, 'x {"a":{"c":[true,"é\\n"],"d":null},"b":1}'),
        ({}, "x {}"),
    ],
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
    monkeypatch.setattr(replayed_scene, "MOST_JUDGED", most)
    scene = Scene.opened(ks.Cluster(release="1.36").node("a").node("b").pod("web"), sides=BOTH)
    questions = {verb: params for verb, params in first_questions(scene, VERBS) if verb in ("time", "timeAt")}
    assert bool(questions) is kept
    compared = [params["pods"] for verb, params in first_questions(scene, VERBS) if verb == "sides"]
    assert compared == (["pending"] * 2 if kept else []) + ["asked"] * 2
    assert '"time {' in replayed_text(scene, VERBS, [("time", {"side": "a"})]).replace('\\"', '"')


def test_a_scene_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do instead."""
    monkeypatch.setattr(replayed_scene, "MOST_NODES", 1)
    scene = Scene.opened(ks.Cluster(release="1.36").node("a").node("b").pod("web"))
    with pytest.raises(SceneFault, match="at most 1 nodes, and this one has 2; save the scene"):
        replayed_text(scene, VERBS)
    monkeypatch.setattr(share_verbs, "MOST_RESULTS", 1)
    with pytest.raises(SceneFault, match="1 pods that wait on 2 nodes are too many for one file"):
        VERBS["export"](scene, {"as": "simulator"})
