"""The exercises that come with the package: solutions pass, starts and plausible mistakes fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.lab.exercises.exercise_record import SOLUTION, START
from kubescheduler.lab.exercises.shipped_exercises import (
    shipped_exercise,
    shipped_names,
    start_exercise,
    work_of,
)
from tests.support.exercise_work import Replacement, checked_part, checked_variant, failing

FIRST_FAILURES = {
    "01-requests": "all three replicas have a node",
    "02-taints": "train runs on gpu-2",
    "03-node-affinity": "search runs on ssd-b3",
}
"""Exercise → the first check that fails before anything was done."""

RESOURCES, TOLERATIONS = "{cpu: 650m, memory: 1536Mi}", '{key: gpu, operator: Equal, value: "true", effect: NoSchedule}'
SPOT = "- {key: lifecycle, operator: NotIn, values: [spot]}"

WRONG: dict[str, tuple[str, list[Replacement], str]] = {
    "requests too little cpu": (
        "01-requests",
        [("web.yaml", "650m", "100m")],
        "a node with 1100m cpu: takes one replica and no second one",
    ),
    "requests too little memory": (
        "01-requests",
        [("web.yaml", "1536Mi", "1Gi")],
        "a node with 2800Mi memory: takes one replica and no second one",
    ),
    "fewer replicas": ("01-requests", [("web.yaml", "replicas: 3", "replicas: 1")], "only what may be edited differs"),
    "a pod bound by hand": (
        "01-requests",
        [("web.yaml", "      containers:", "      nodeName: worker-1\n      containers:")],
        "only what may be edited differs",
    ),
    "tolerates everything": (
        "02-taints",
        [("train.yaml", TOLERATIONS, "{operator: Exists}")],
        "train is kept off gpu-3 by the taint maintenance",
    ),
    "tolerates every team's GPUs": (
        "02-taints",
        [("train.yaml", TOLERATIONS, "{key: gpu, operator: Exists}")],
        "the taint has another value: train is not let in where gpu is reserved for another team",
    ),
    "tolerates what may be evicted only": (
        "02-taints",
        [("train.yaml", "NoSchedule", "NoExecute")],
        "train runs on gpu-2",
    ),
    "two terms, an or": (
        "03-node-affinity",
        [
            (
                "search.yaml",
                f"          {SPOT}",
                "        - matchExpressions: [{key: lifecycle, operator: NotIn, values: [spot]}]",
            )
        ],
        "search runs on ssd-b3",
    ),
    "a wish written as a must": (
        "03-node-affinity",
        [("search.yaml", SPOT, SPOT + "\n          - {key: generation, operator: In, values: [v3]}")],
        "no generation v3 to be had: search runs on an older machine",
    ),
    "a wish without weight": (
        "03-node-affinity",
        [("search.yaml", "weight: 100", "weight: 1"), ("search.yaml", "[v3]", "[v9]")],
        "busy and idle machines: generation v3 goes before an idle machine",
    ),
    "a machine by its name": (
        "03-node-affinity",
        [
            (
                "search.yaml",
                "{key: generation, operator: In, values: [v3]}",
                "{key: kubernetes.io/hostname, operator: In, values: [ssd-b3]}",
            )
        ],
        "no rule names a machine",
    ),
}
"""Mistake → exercise, what it changes of the solution, a check that then fails."""

RIGHT: dict[str, tuple[str, list[Replacement]]] = {
    "other requests": ("01-requests", [("web.yaml", RESOURCES, "{cpu: 700m, memory: 2Gi}")]),
    "no limits": ("01-requests", [("web.yaml", 'limits: {cpu: "4", memory: 16Gi}', "limits: {}")]),
    "a toleration of all effects": ("02-taints", [("train.yaml", ", effect: NoSchedule", "")]),
    "several tolerations": (
        "02-taints",
        [("train.yaml", TOLERATIONS, TOLERATIONS + ", {key: web, operator: Exists}")],
    ),
    "a node selector for the disk": (
        "03-node-affinity",
        [
            ("search.yaml", "          - {key: disk, operator: In, values: [ssd]}\n", ""),
            ("search.yaml", "  containers:", "  nodeSelector: {disk: ssd}\n  containers:"),
        ],
    ),
    "a zone excluded": (
        "03-node-affinity",
        [("search.yaml", "operator: In, values: [eu-1a, eu-1b]", "operator: NotIn, values: [eu-1c]")],
    ),
}
"""Another right solution → exercise, what it changes of the shipped one."""


@pytest.mark.parametrize("name", shipped_names())
def test_solution_passes(name: str) -> None:
    """Every check of every exercise passes with its solution."""
    assert failing(checked_part(name, SOLUTION)) == []
    assert checked_part(name, SOLUTION).passed


@pytest.mark.parametrize("name", shipped_names())
def test_start_fails_for_the_right_reason(name: str) -> None:
    """What a student begins with fails, first at the check that the exercise is about."""
    checked = checked_part(name, START)
    assert not checked.passed
    assert failing(checked)[0] == FIRST_FAILURES[name]


@pytest.mark.parametrize("mistake", WRONG)
def test_plausible_mistakes_fail(mistake: str, tmp_path: Path) -> None:
    """A mistake that students make fails at the check that is there for it."""
    name, replacements, check = WRONG[mistake]
    assert check in failing(checked_variant(name, replacements, tmp_path))


@pytest.mark.parametrize("other", RIGHT)
def test_other_right_solutions_pass(other: str, tmp_path: Path) -> None:
    """What answers the task in another way than the solution passes too."""
    name, replacements = RIGHT[other]
    assert failing(checked_variant(name, replacements, tmp_path)) == []


@pytest.mark.parametrize("name", shipped_names())
def test_every_exercise_is_told(name: str) -> None:
    """A task of ten lines or more, two hints or three, minutes, and remarks or hidden scenarios that teach."""
    exercise = shipped_exercise(name)
    assert len(exercise.task.splitlines()) >= 10
    assert "kubescheduler lab check" in exercise.task
    assert len(exercise.hints) in (2, 3)
    assert 5 <= exercise.minutes <= 20


@pytest.mark.parametrize("name", ["02-taints", "02", "2", "taints"])
def test_exercises_are_found_by_part_of_their_name(name: str) -> None:
    """The number or the rest of the name is enough."""
    assert shipped_exercise(name).name == "02-taints"


def test_an_unknown_exercise_names_the_nearest() -> None:
    """A slip of the pen is pointed out."""
    with pytest.raises(ConfigError, match=r"there is no exercise taint; did you mean taints\?"):
        shipped_exercise("taint")


@pytest.mark.parametrize("name", shipped_names())
def test_a_student_s_folder_has_all_but_the_answers(name: str, tmp_path: Path) -> None:
    """It has the task, what is given and the start, and is checked like the start; nothing hidden is in it."""
    files = start_exercise(shipped_exercise(name), tmp_path / "mine")
    exercise, work = work_of(tmp_path / "mine")
    assert (exercise.name, work) == (name, tmp_path / "mine")
    assert {"task.md", "exercise.yaml", *(one.file for one in exercise.edit)} <= set(files)
    assert not [file for file in files if "hidden" in file or "solution" in file]


def test_a_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    """What a student has written is never overwritten."""
    (tmp_path / "web.yaml").write_text("mine")
    with pytest.raises(ConfigError, match="it is not empty"):
        start_exercise(shipped_exercise("taints"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["web.yaml"]
