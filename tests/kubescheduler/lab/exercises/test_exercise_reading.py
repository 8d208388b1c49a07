"""Reading exercise.yaml: every fault at once, each with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.lab.exercises import check_kinds
from kubescheduler.lab.exercises.exercise_reading import read_exercise
from kubescheduler.lab.exercises.shipped_exercises import work_of

GOOD = """\
title: One pod
summary: It has a node.
minutes: 5
edit:
- file: pod.yaml
  fields: [spec.containers]
cluster: [cluster.yaml]
pods: [pod.yaml]
hints: [Look.]
checks:
- name: it has a node
  placed: {pods: web}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An exercise of one pod and one node."""
    (tmp_path / "exercise.yaml").write_text(GOOD)
    (tmp_path / "task.md").write_text("# One pod\n")
    (tmp_path / "cluster.yaml").write_text("kind: Node\n")
    for part in ("start", "solution"):
        (tmp_path / part).mkdir()
        (tmp_path / part / "pod.yaml").write_text("kind: Pod\n")
    return tmp_path


def faults(folder: Path, text: str) -> list[str]:
    """The faults of an exercise.yaml, without the file's name."""
    (folder / "exercise.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_exercise(folder)
    return [problem.removeprefix(f"{folder / 'exercise.yaml'}: ") for problem in caught.value.problems]


def test_a_right_one_is_read(folder: Path) -> None:
    """What is not said has its default."""
    exercise = read_exercise(folder)
    assert (exercise.scheduler.release, exercise.preempt, exercise.simulate) == ("1.36", False, False)
    assert [check.kind for check in exercise.scenarios[0].checks] == ["placed"]


KINDS = ", ".join(check_kinds.KINDS)

FAULTS: dict[str, tuple[str, str, str]] = {
    "unknown key": ("title:", "titel:", "titel: there is no such key; did you mean title?"),
    "missing key": ("title: One pod\n", "", "title: is missing"),
    "release": (
        "minutes: 5",
        'minutes: 5\nrelease: "1.37"',
        "release: 1.37 is not known; known are 1.4, 1.16, 1.20, 1.36; it is newer than all of them, nearest to 1.36",
    ),
    "release as a number": (
        "minutes: 5",
        "minutes: 5\nrelease: 1.36",
        "release: must be text, not 1.36; put it in quotes",
    ),
    "minutes": ("minutes: 5", "minutes: five", 'minutes: must be a whole number, not "five"'),
    "no hints": ("[Look.]", "[]", "hints: has to have 1 to 5 tiers, found 0"),
    "no checks": ("checks:\n- name: it has a node\n  placed: {pods: web}\n", "", "checks: has to name at least one"),
    "unknown check": (
        "placed:",
        "palced:",
        f"checks[0]: a check has one of {KINDS}; found palced; did you mean placed?",
    ),
    "two checks in one": (
        "placed: {pods: web}",
        "placed: {pods: web}\n  pending: {pod: web}",
        f"checks[0]: a check has one of {KINDS}; found placed and pending",
    ),
    "check without a name": ("- name: it has a node\n  placed", "- placed", "checks[0].name: is missing"),
    "unknown key of a check": (
        "{pods: web}",
        "{pods: web, cuont: 2}",
        "checks[0].placed.cuont: there is no such key; did you mean count?",
    ),
    "missing key of a check": ("{pods: web}", "{count: 2}", "checks[0].placed.pods: is missing"),
    "negative count": ("{pods: web}", "{pods: web, count: -1}", "checks[0].placed.count: must be 0 or more, not -1"),
    "check that is no object": ("{pods: web}", "web", 'checks[0].placed: must be an object, not "web"'),
    "bounds": ("placed: {pods: web}", "nodesUsed: {pods: web}", "checks[0].nodesUsed: say least, most or both"),
    "nodes": ("placed: {pods: web}", "runsOn: {pods: web}", "checks[0].runsOn.nodes: has to name at least one"),
    "victims": ("placed: {pods: web}", "evicts: {pod: web}", "checks[0].evicts: say victims, spares or both"),
    "cluster file": (
        "[cluster.yaml]",
        "[clusters.yaml]",
        "cluster[0]: there is no file clusters.yaml; did you mean cluster.yaml?",
    ),
    "file elsewhere": (
        "[cluster.yaml]",
        "[../cluster.yaml]",
        "cluster[0]: ../cluster.yaml has to be in the exercise's folder",
    ),
    "file to edit elsewhere": (
        "file: pod.yaml",
        "file: ../pod.yaml",
        "edit[0].file: ../pod.yaml has to be in the student's folder",
    ),
    "file to edit": ("file: pod.yaml", "file: pad.yaml", "edit[0].file: there is no pad.yaml in start/"),
    "nothing to edit": (
        "edit:\n- file: pod.yaml\n  fields: [spec.containers]\n",
        "",
        "edit: has to name at least one file that the student writes",
    ),
    "policy file": (
        "minutes: 5",
        "minutes: 5\nscheduler: {policy: nowhere.cfg}",
        "scheduler.policy: there is no file nowhere.cfg",
    ),
    "rules in a framework release": (
        "minutes: 5",
        'minutes: 5\nscheduler: {rules: "pod.yaml:x"}',
        "scheduler.rules: predicates and priorities decide in 1.4 and 1.16; name plugins",
    ),
    "plugins in a legacy release": (
        "minutes: 5",
        'minutes: 5\nrelease: "1.16"\nscheduler: {plugins: ["a.py:X"]}',
        "scheduler.plugins: 1.16 has no plugins; name rules",
    ),
    "code that is not the student's": (
        "minutes: 5",
        'minutes: 5\nscheduler: {plugins: ["gang.py:Gang"]}',
        "scheduler.plugins[0]: gang.py is not among the files that the student writes",
    ),
    "code without a name": (
        "minutes: 5",
        "minutes: 5\nscheduler: {plugins: [gang]}",
        'scheduler.plugins[0]: must be like "rules.py:register", not "gang"',
    ),
    "extender elsewhere": (
        "minutes: 5",
        "minutes: 5\nextender: {file: e.py, address: http://example.com}",
        'extender.address: must be like "http://127.0.0.1:8888", not "http://example.com"',
    ),
    "scenario without checks": (
        "checks:",
        "scenarios: [{name: night}]\nchecks:",
        "scenarios[0].checks: has to name at least one",
    ),
    "scenario without a name": (
        "checks:",
        "scenarios: [{checks: [{name: a, placed: {pods: web}}]}]\nchecks:",
        "scenarios[0].name: is missing",
    ),
    "file of a scenario": (
        "checks:",
        "scenarios: [{name: night, cluster: [nowhere.cfg], checks: [{name: a, placed: {pods: web}}]}]\nchecks:",
        "scenarios[0].cluster[0]: there is no file nowhere.cfg",
    ),
    "file of a check": (
        "placed: {pods: web}",
        'agrees: {release: "1.16", policy: nowhere.cfg}',
        "checks[0].agrees.policy: there is no file nowhere.cfg",
    ),
    "key set twice": ("minutes: 5", "minutes: 5\nminutes: 6", "minutes: set twice, in lines 3 and 4"),
}
"""What is wrong → text of a right one, what stands in its place, the fault."""


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_has_its_place(fault: str, folder: Path) -> None:
    """A fault is named with the path of what is wrong."""
    old, new, expected = FAULTS[fault]
    assert old in GOOD
    assert expected in faults(folder, GOOD.replace(old, new, 1))


def test_all_faults_come_at_once(folder: Path) -> None:
    """Nobody has to mend one fault to learn of the next."""
    text = (
        GOOD.replace("title:", "titel:")
        .replace("minutes: 5", "minutes: five")
        .replace("[cluster.yaml]", "[nowhere.cfg]")
    )
    assert len(faults(folder, text)) == 4


def test_a_task_is_needed(folder: Path) -> None:
    """A folder without a task is no exercise."""
    (folder / "task.md").unlink()
    assert faults(folder, GOOD) == ["there is no task.md beside it"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exercise: taint", "there is no exercise taint; did you mean taints?"),
        ("exercise: taints\nchecks: []", "exercise.yaml: checks: there is no such key; known are exercise"),
        ("exercise: 2", "exercise.yaml: exercise: must be text, not 2; put it in quotes"),
    ],
    ids=["unknown", "more than a name", "a number"],
)
def test_faults_of_a_student_s_folder(text: str, expected: str, tmp_path: Path) -> None:
    """A folder that names its exercise names nothing else, and one that is there."""
    (tmp_path / "exercise.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        work_of(tmp_path)
    assert [problem.removeprefix(f"{tmp_path}/") for problem in caught.value.problems] == [expected]


def test_a_folder_without_an_exercise(tmp_path: Path) -> None:
    """The error says how to make one."""
    with pytest.raises(ConfigError, match=r"there is no exercise\.yaml in it; kubescheduler lab start makes"):
        work_of(tmp_path)


def test_a_folder_of_one_s_own_is_named_by_its_path(folder: Path, tmp_path: Path) -> None:
    """A teacher's exercise need not be shipped."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "exercise.yaml").write_text(f"exercise: {folder}\n")
    exercise, work = work_of(mine)
    assert (exercise.title, work) == ("One pod", mine)
