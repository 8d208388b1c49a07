"""Exercises in a scene: files, help, checks, and what may be edited."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from algorithmprovider.registry import registered_until_the_end
from kubescheduler.lab.exercises.exercise_reading import shipped_exercise, shipped_names, start_exercise
from kubescheduler.lab.exercises.exercise_record import SOLUTION
from kubescheduler.lab.scene.exercise_verbs import exercise_scene, folder_scene, is_code, way_of
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneFault
from kubescheduler.lab.scene.verbs import VERBS


@pytest.fixture(autouse=True)
def registrations() -> Iterator[None]:
    """What exercises register is gone afterwards."""
    with registered_until_the_end():
        yield


def solve(scene: Scene) -> None:
    """Saves the solution's files, code as an editor would."""
    way = way_of(scene)
    assert way is not None
    for name in way.names:
        text = (way.exercise.folder / SOLUTION / name).read_text(encoding="utf-8")
        if is_code(name):
            (way.work / name).write_text(text, encoding="utf-8")
            os.utime(way.work / name, ns=(1, 1))
            scene.reread()
        else:
            assert VERBS["exerciseFile"](scene, {"name": name, "text": text})["faults"] == []


@pytest.mark.parametrize("name", shipped_names())
def test_the_start_fails_and_the_solution_passes(name: str) -> None:
    """Through the verbs that the page uses."""
    scene = exercise_scene(name)
    before = VERBS["exerciseCheck"](scene, {})
    assert before["checked"]
    assert not before["passed"]
    solve(scene)
    assert VERBS["exercise"](scene, {})["checked"] is False
    after = VERBS["exerciseCheck"](scene, {})
    assert after["passed"], (after["checks"], after["problems"])
    assert {one["passed"] for one in after["checks"]} == {True}
    assert VERBS["state"](scene, {})["exercise"] == {"name": name, "title": after["title"]}
    assert VERBS["decision"](scene, {})["total"] > 0


def test_help_comes_in_tiers() -> None:
    """One more with each question, and no more than there are."""
    scene = exercise_scene("02-taints")
    assert VERBS["exercise"](scene, {})["tiers"] == []
    total = VERBS["exercise"](scene, {})["tiersTotal"]
    for shown in (*range(1, total + 1), total):
        assert VERBS["exerciseHint"](scene, {})["tiers"] == list(shipped_exercise("02-taints").hints[:shown])


def test_a_saved_file_is_what_the_scene_shows(tmp_path: Path) -> None:
    """In the student's folder; a text that cannot be read is saved too, and the scene stays."""
    folder = tmp_path / "mine"
    start_exercise(shipped_exercise("02-taints"), folder)
    scene = folder_scene(folder)
    assert scene.decision("a").host is None or scene.decision("a").host
    text = (shipped_exercise("02-taints").folder / SOLUTION / "train.yaml").read_text()
    VERBS["exerciseFile"](scene, {"name": "train.yaml", "text": text})
    assert (folder / "train.yaml").read_text() == text
    assert scene.undo_text == "Saved train.yaml"
    version = scene.version
    answer = VERBS["exerciseFile"](scene, {"name": "train.yaml", "text": "kind: [\n"})
    assert [one["line"] for one in answer["faults"]] == [2]
    assert answer["problems"] == [], "those of the last check"
    assert scene.version == version
    assert (folder / "train.yaml").read_text() == "kind: [\n"
    assert {path.name for path in folder.iterdir()} >= {"train.yaml", "task.md"}
    assert not list(folder.glob(".*saving"))


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ("---\n{text}", "Pod default/train: metadata.name: already in what is given; remove one of the two"),
        (None, "pods: there is no pod in {file}"),
    ],
)
def test_what_is_wrong_with_a_saved_file_names_it(added: str | None, said: str, tmp_path: Path) -> None:
    """The pod that is there twice; the file that has none."""
    folder = tmp_path / "mine"
    start_exercise(shipped_exercise("02-taints"), folder)
    scene, file = folder_scene(folder), folder / "train.yaml"
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: train}\n"
    text = service if added is None else file.read_text() + added.format(text=file.read_text())
    answer = VERBS["exerciseFile"](scene, {"name": "train.yaml", "text": text})
    assert [one["text"] for one in answer["faults"]] == [said.format(file=file)]


def test_a_file_that_is_saved_elsewhere_is_read_again(tmp_path: Path) -> None:
    """By an editor or in another tab: it is watched, shown, also with a fault, and undo has what was there before."""
    folder = tmp_path / "mine"
    start_exercise(shipped_exercise("02-taints"), folder)
    scene, other = folder_scene(folder), folder_scene(folder)
    assert scene.watched() == [folder / "train.yaml"]
    before = VERBS["exercise"](scene, {})["files"][0]["text"]
    solution = (shipped_exercise("02-taints").folder / SOLUTION / "train.yaml").read_text()
    VERBS["exerciseFile"](other, {"name": "train.yaml", "text": solution})
    version = other.version
    assert other.reread() == []
    assert other.version == version, "it was saved here"
    assert scene.reread() == []
    assert scene.undo_text == "Read train.yaml again"
    assert VERBS["decision"](scene, {})["host"] == "gpu-2"
    (folder / "train.yaml").write_text("kind: [\n")
    version = scene.version
    assert scene.reread() != []
    assert scene.version > version
    assert VERBS["exercise"](scene, {})["files"][0]["text"] == "kind: [\n"
    VERBS["undo"](scene, {})
    assert (folder / "train.yaml").read_text() == before


def test_undo_takes_a_saved_file_back() -> None:
    """And redo saves it again."""
    scene = exercise_scene("02-taints")
    way = way_of(scene)
    texts = [way.texts["train.yaml"]]
    texts += [texts[0] + "# one\n", texts[0] + "# two\n"]
    for text in texts[1:]:
        VERBS["exerciseFile"](scene, {"name": "train.yaml", "text": text})
        VERBS["edit"](scene, {"edit": {"do": "ask", "pod": scene.state.asked}})
    for expected in (2, 1, 1, 0):
        VERBS["undo"](scene, {})
        assert way.texts["train.yaml"] == texts[expected]
    for expected in (1, 1, 2):
        VERBS["redo"](scene, {})
        assert way.texts["train.yaml"] == texts[expected]


REFUSED = {
    "given": ("cluster.yaml", "is not to be changed"),
    "outside": ("../train.yaml", "is not to be changed"),
    "long": ("train.yaml", "more than"),
}


@pytest.mark.parametrize(("name", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_nothing_but_the_students_files_is_written(name: str, words: str) -> None:
    """Whatever the page asks."""
    scene = exercise_scene("02-taints")
    way = way_of(scene)
    before = {path: path.read_bytes() for path in way.work.rglob("*")}
    with pytest.raises(SceneFault, match=words):
        VERBS["exerciseFile"](scene, {"name": name, "text": "x" * 300_000})
    assert {path: path.read_bytes() for path in way.work.rglob("*")} == before


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    """Also for a file that the student may write."""
    scene = exercise_scene("02-taints")
    way = way_of(scene)
    outside = tmp_path / "outside.yaml"
    outside.write_text("kept")
    (way.work / "train.yaml").unlink()
    (way.work / "train.yaml").symlink_to(outside)
    with pytest.raises(SceneFault, match="leads out of the folder"):
        VERBS["exerciseFile"](scene, {"name": "train.yaml", "text": "other"})
    assert outside.read_text() == "kept"


def test_code_is_not_written_from_a_page() -> None:
    """It is saved by an editor, and seen then."""
    scene = exercise_scene("08-predicate")
    answer = VERBS["exercise"](scene, {})
    assert [(one["name"], one["editable"]) for one in answer["files"]] == [("rules.py", False)]
    with pytest.raises(SceneFault, match="is code, which is not written from a page"):
        VERBS["exerciseFile"](scene, {"name": "rules.py", "text": "import os\n"})
    assert [path.name for path in scene.watched()] == ["rules.py"]


def test_edits_are_those_that_the_exercise_allows() -> None:
    """Of a Policy that the student writes, which the edits are written into; undo takes them out again."""
    scene = exercise_scene("09-packing-policy")
    way = way_of(scene)
    before = (way.work / "policy.yaml").read_text()
    with pytest.raises(SceneFault, match=r"^the exercise does not allow addNode; change policy\.yaml"):
        VERBS["edit"](scene, {"edit": {"do": "addNode", "name": "more"}})
    rule = next(row["id"] for row in VERBS["tune"](scene, {})["rules"] if row["on"])
    VERBS["edit"](scene, {"edit": {"do": "weights", "side": "a", "weights": {rule: 77}}})
    assert "77" in (way.work / "policy.yaml").read_text()
    VERBS["undo"](scene, {})
    assert (way.work / "policy.yaml").read_text() == before
    with pytest.raises(SceneFault, match=r"^the exercise does not allow weights"):
        VERBS["edit"](exercise_scene("02-taints"), {"edit": {"do": "weights", "weights": {}}})


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    """With what makes one."""
    with pytest.raises(Exception, match="kubescheduler lab start"):
        folder_scene(tmp_path)
