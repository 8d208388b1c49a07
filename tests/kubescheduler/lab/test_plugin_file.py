"""A plugin's file: loaded when saved, its faults beside their lines."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import kubescheduler as ks
from algorithmprovider.registry import registered_until_the_end
from clusterstate.errors import InputError
from kubescheduler.engine.plugin_options import plugins_for
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.plugin_file import CodeFault, faults_in, from_files, plugin_files
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS

PLUGIN = """\
from kubescheduler.core.status import Status


class NotOn:
    name = "NotOn"

    def filter(self, state, pod, node_info):
        if node_info.node.name == "{node}":
            return {answer}
        return None
"""
REFUSES = 'Status.unschedulable("not here")'
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "NotOn"}]}}}],
}
RULES = """\
import algorithmprovider as ap


def fits(pod, meta, node_info):
    if node_info.node.name == "{node}":
        {answer}
    return True, []


def register():
    ap.register_fit_predicate("{name}", fits)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where modules are found; what they register is gone afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    with registered_until_the_end():
        yield tmp_path
    sys.modules.pop("not_on", None)
    importlib.invalidate_caches()


def save(folder: Path, text: str) -> None:
    """Saves the module, at another time than before."""
    path = folder / "not_on.py"
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


def opened(release: str, attribute: str, spec: EngineSpec) -> Scene:
    """Two nodes, a pod that waits, and the module's rule."""
    name = f"not_on:{attribute}"
    options = plugins_for(release, [name])
    files = plugin_files([name], release)
    spec = msgspec.structs.replace(spec, plugins=from_files(options, files))
    cluster = ks.Cluster(release=release).node("a", cpu=4).node("b", cpu=2).pod("web", cpu=1)
    return Scene(Scene.opened(cluster, sides=[spec]).state, files)


def test_a_saved_plugin_decides(folder: Path) -> None:
    """As soon as the file is read again, also in states that undo brings back."""
    save(folder, PLUGIN.format(node="a", answer=REFUSES))
    scene = opened("1.36", "NotOn", EngineSpec("1.36", component=CONFIG))
    assert scene.decision("a").host == "b"
    VERBS["edit"](scene, {"edit": {"do": "cordon", "node": "b"}})
    save(folder, PLUGIN.format(node="b", answer=REFUSES))
    version = scene.version
    assert scene.watched() == [folder / "not_on.py"]
    assert scene.reread() == []
    assert scene.version == version + 1
    assert scene.decision("a").host == "a"
    VERBS["undo"](scene, {})
    assert scene.decision("a").host == "a"
    assert scene.decision("a").reasons() == {"b": ["not here"]}


def test_a_fault_while_deciding_stands_beside_its_line(folder: Path) -> None:
    """With the pod and the node."""
    save(folder, PLUGIN.format(node="a", answer="{}['no']"))
    scene = opened("1.36", "NotOn", EngineSpec("1.36", component=CONFIG))
    (answer,) = VERBS["code"](scene, {})["files"]
    assert answer["loaded"]
    fault = answer["problems"][0]
    assert (fault["line"], fault["column"], fault["pod"], fault["node"]) == (9, 20, "default/web", "a")
    assert "KeyError: 'no'" in fault["text"]
    save(folder, PLUGIN.format(node="a", answer=REFUSES))
    scene.reread()
    assert VERBS["code"](scene, {})["files"][0]["problems"] == []
    assert scene.decision("a").host == "b"


FAULTY = {
    "syntax": ("class NotOn(:\n", 1, "SyntaxError"),
    "raises": ("import json\njson.loads('')\n", 2, "JSONDecodeError"),
    "gone": ("other = 1\n", None, "there is no NotOn"),
}


@pytest.mark.parametrize(("text", "line", "words"), FAULTY.values(), ids=FAULTY.keys())
def test_a_file_that_cannot_be_loaded_decides_nothing(folder: Path, text: str, line: int | None, words: str) -> None:
    """Its fault is shown instead of an answer by what it said before, until it is mended."""
    save(folder, PLUGIN.format(node="a", answer=REFUSES))
    scene = opened("1.36", "NotOn", EngineSpec("1.36", component=CONFIG))
    save(folder, text)
    problems = scene.reread()
    assert words in problems[0]
    (answer,) = VERBS["code"](scene, {})["files"]
    assert (answer["loaded"], answer["decidesOn"], answer["text"]) == (False, False, text)
    assert answer["problems"][0]["line"] == line
    with pytest.raises(InputError, match=words):
        scene.decision("a")
    state = VERBS["state"](scene, {})
    assert state["plugin"] == {"path": str(folder / "not_on.py"), "problems": problems}
    assert any(words in problem for problem in state["sides"][0]["problems"])
    save(folder, PLUGIN.format(node="b", answer=REFUSES))
    assert scene.reread() == []
    assert scene.decision("a").host == "a"


def test_registered_predicates_are_registered_anew(folder: Path) -> None:
    """Those that the file no longer registers are gone."""
    save(folder, RULES.format(node="a", answer="return False, ['not here']", name="NotOn"))
    policy = {"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "NotOn"}], "priorities": []}
    scene = opened("1.16", "register", EngineSpec("1.16", policy=policy))
    assert scene.decision("a").host == "b"
    save(folder, RULES.format(node="b", answer="return False, ['not here']", name="NotOn"))
    assert scene.reread() == []
    assert scene.decision("a").host == "a"
    save(folder, RULES.format(node="b", answer="return 1 / 0", name="NotOn"))
    scene.reread()
    fault = VERBS["code"](scene, {})["files"][0]["problems"][0]
    assert (fault["line"], fault["node"]) == (6, "b")
    save(folder, RULES.format(node="b", answer="return False, ['not here']", name="NotOn"))
    scene.reread()
    save(folder, "def (")
    scene.reread()
    file = VERBS["code"](scene, {})["files"][0]
    assert (file["loaded"], file["decidesOn"], scene.decision("a").host) == (False, True, "a")
    save(folder, RULES.format(node="b", answer="return False, []", name="Renamed"))
    scene.reread()
    assert any("NotOn" in problem for problem in scene.problems("a"))


def test_a_scene_without_code_has_no_files() -> None:
    """Nothing is loaded from a page."""
    assert VERBS["code"](Scene.opened(ks.Cluster().node("a").pod("web")), {}) == {"files": []}


PROBLEMS = {
    "pod and node": ("predicate Odd, pod a/web, node n1: bad", CodeFault("predicate Odd: bad", 9, None, "a/web", "n1")),
    "pod at the end": ("predicate Odd, node n1: NameError: no (pod a/web)",
        CodeFault("predicate Odd: NameError: no", 9, None, "a/web", "n1")),
    "node only": ("predicate Odd, node n1: bad", CodeFault("predicate Odd: bad", 9, None, "", "n1")),
    "neither": ("plugin Mine, filter: bad", CodeFault("plugin Mine, filter: bad", 9)),
    "a message that speaks of a pod": ("plugin Mine, filter, pod a/web: no room for it, pod b/db, node n2: first",
        CodeFault("plugin Mine, filter: no room for it, pod b/db, node n2: first", 9, None, "a/web")),
    "no message": ("it ended", CodeFault("it ended", 9)),
    "several lines": ("predicate Odd, node n1: bad\nand worse",
        CodeFault("predicate Odd: bad\nand worse", 9, None, "", "n1")),
}  # fmt: skip


@pytest.mark.parametrize(("problem", "fault"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_pod_and_node_are_said_once(problem: str, fault: CodeFault) -> None:
    """Beside the text, not in it as well; what the message itself says stays."""
    path = Path("/w/rules.py")
    assert list(faults_in(ValueError(), (f"{path}, line 9: {problem}", "elsewhere: bad"), path)) == [fault]
