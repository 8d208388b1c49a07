"""The exercises that come with the package: solutions pass, starts fail, and how an exercise is found and begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.lab.exercises.exercise_record import SOLUTION, START
from kubescheduler.lab.exercises.shipped_exercises import shipped_exercise, shipped_names, start_exercise, work_of
from tests.support.pages.exercise_work import TOLERATIONS, Replacement, checked_part, checked_variant, failing

FIRST_FAILURES = {
    "01-requests": "all three replicas have a node",
    "02-taints": "train runs on gpu-2",
    "03-node-affinity": "search runs on ssd-b3",
    "04-inter-pod-affinity": "both replicas run in the zone of the cache",
    "05-spreading": "no zone has more than one replica more than another",
    "06-pending": "invoice runs on n-3",
    "07-predicate": "draw-1 and draw-2 run on dock",
    "08-priority": "the cheaper, the better",
    "09-packing-policy": "they run on two nodes",
    "10-extender": "hot-1 is refused in the extender's words",
    "11-preemption": "checkout has no node yet, and makes report leave",
    "12-migration": "they run on two nodes, as they did",
    "13-gang": "each gang starts at once",
}
"""Exercise → the first check that fails before anything was done."""

RESOURCES = "{cpu: 650m, memory: 1536Mi}"

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
    "a selector by expressions": (
        "04-inter-pod-affinity",
        [
            (
                "api.yaml",
                "{matchLabels: {app: cache}}",
                "{matchExpressions: [{key: app, operator: In, values: [cache]}]}",
            )
        ],
    ),
    "a wish for nodes beside": (
        "05-spreading",
        [
            (
                "shop.yaml",
                "      topologySpreadConstraints:",
                "      topologySpreadConstraints:\n      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, "
                "whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: shop}}}",
            )
        ],
    ),
    "another host port": (
        "06-pending",
        [("invoice.yaml", "containerPort: 9100", "containerPort: 9100, hostPort: 9101")],
    ),
    "no port at all": ("06-pending", [("invoice.yaml", "    ports: [{containerPort: 9100}]\n", "")]),
    "a predicate that prints": (
        "07-predicate",
        [
            (
                "rules.py",
                "def free_seat(pod, meta, node_info):\n",
                "def free_seat(pod, meta, node_info):\n    print('asked about', node_info.node.metadata.name)\n",
            )
        ],
    ),
    "a heavier weight": ("09-packing-policy", [("policy.yaml", "weight: 1", "weight: 7")]),
    "predicates listed in full": (
        "09-packing-policy",
        [
            (
                "policy.yaml",
                "priorities:",
                "predicates:\n- name: GeneralPredicates\npriorities:",
            )
        ],
    ),
    "a budget by expressions": (
        "11-preemption",
        [
            (
                "budget.yaml",
                "    matchLabels: {app: ledger}",
                "    matchExpressions: [{key: app, operator: In, values: [ledger]}]",
            )
        ],
    ),
    "no minimum, a maximum": ("11-preemption", [("budget.yaml", "minAvailable: 1", "maxUnavailable: 0")]),
    "weights that outvote": (
        "12-migration",
        [("scheduler.yaml", "weight: 1}]\n  pluginConfig", "weight: 50}]\n  pluginConfig")],
    ),
    "a shorter wait": ("13-gang", [("gang.py", "SECONDS = 30.0", "SECONDS = 15.0")]),
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
