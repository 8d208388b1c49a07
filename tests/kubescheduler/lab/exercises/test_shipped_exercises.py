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
    "a zone by its name": (
        "04-inter-pod-affinity",
        [
            (
                "api.yaml",
                "      affinity:",
                "      affinity:\n        nodeAffinity:\n          preferredDuringSchedulingIgnoredDuringExecution:\n"
                "          - {weight: 1, preference: {matchExpressions: [{key: zone, operator: In, values: [eu-1a]}]}}",
            )
        ],
        "no rule names a zone or a node",
    ),
    "near means on the same node": (
        "04-inter-pod-affinity",
        [("api.yaml", "topology.kubernetes.io/zone", "kubernetes.io/hostname")],
        "both replicas run in the zone of the cache",
    ),
    "another team's cache": (
        "04-inter-pod-affinity",
        [("api.yaml", "app: cache", "app: shop-cache")],
        "both replicas run in the zone of the cache",
    ),
    "kept apart by zones": (
        "04-inter-pod-affinity",
        [("api.yaml", "kubernetes.io/hostname", "topology.kubernetes.io/zone")],
        "each replica has a node to itself",
    ),
    "no rule keeps replicas apart": (
        "04-inter-pod-affinity",
        [("api.yaml", "{app: api}}\n            topologyKey: kube", "{app: nobody}}\n            topologyKey: kube")],
        "only one node in the cache's zone: one replica runs, and the other waits",
    ),
    "spreading as a wish": (
        "05-spreading",
        [("shop.yaml", "DoNotSchedule", "ScheduleAnyway")],
        "eu-1c is full: replicas wait rather than crowd the other zones",
    ),
    "another team's pods are counted": (
        "05-spreading",
        [
            (
                "shop.yaml",
                "        labelSelector: {matchLabels: {app: shop}}",
                "        labelSelector: {matchExpressions: [{key: app, operator: Exists}]}",
            )
        ],
        "other teams' pods are everywhere: only the shop's own replicas are counted",
    ),
    "spreading over nodes": (
        "05-spreading",
        [("shop.yaml", "topology.kubernetes.io/zone", "kubernetes.io/hostname")],
        "no zone has more than one replica more than another",
    ),
    "a larger skew": (
        "05-spreading",
        [("shop.yaml", "maxSkew: 1", "maxSkew: 3")],
        "no zone has more than one replica more than another",
    ),
    "any disk will do": (
        "06-pending",
        [("invoice.yaml", "  nodeSelector: {disk: ssd}\n", "")],
        "it still asks for an SSD",
    ),
    "the slow disk": ("06-pending", [("invoice.yaml", "disk: ssd", "disk: hdd")], "invoice runs on n-3"),
    "the port of the node stays": (
        "06-pending",
        [("invoice.yaml", "containerPort: 9100", "containerPort: 9100, hostPort: 9100")],
        "invoice runs on n-3",
    ),
    "the node's own label": (
        "06-pending",
        [("invoice.yaml", "{disk: ssd}", "{disk: ssd, kubernetes.io/hostname: n-3}")],
        "nothing names a node",
    ),
    "everybody takes a seat": (
        "07-predicate",
        [
            (
                "rules.py",
                "    taken = sum(needs_seat(other.metadata.labels) for other in node_info.pods)",
                "    taken = len(node_info.pods)",
            )
        ],
        "draw-1 and draw-2 run on dock",
    ),
    "pods without a need are refused": (
        "07-predicate",
        [("rules.py", "    if not needs_seat(pod.labels):\n        return True, []\n", "")],
        "site needs no seat and goes to the emptiest node",
    ),
    "one seat too many": (
        "07-predicate",
        [("rules.py", "seats > taken", "seats >= taken")],
        "attic's only seat is taken",
    ),
    "another reason": ("07-predicate", [("rules.py", "no free seat", "full")], "draw-3 finds no seat"),
    "the dearest first": (
        "08-priority",
        [("rules.py", "max(0, 10 - cents // 10)", "min(10, cents // 10)")],
        "the cheaper, the better",
    ),
    "unknown prices count as none": (
        "08-priority",
        [("rules.py", '"100"', '"0"')],
        "the totals are those of the task",
    ),
    "both priorities": (
        "09-packing-policy",
        [("policy.yaml", "priorities:", "priorities:\n- name: LeastRequestedPriority\n  weight: 1")],
        "a fuller cluster: the fullest node is filled first, then the next",
    ),
    "predicates that leave out one": (
        "09-packing-policy",
        [("policy.yaml", "priorities:", "predicates:\n- name: PodFitsResources\npriorities:")],
        "nobody runs on win-1",
    ),
    "nodes above 30 degrees are scored only": (
        "10-extender",
        [("extender.py", "> TOO_WARM", "> 99")],
        "hot-1 is refused in the extender's words",
    ),
    "thirty degrees are refused": (
        "10-extender",
        [("extender.py", "> TOO_WARM", ">= TOO_WARM")],
        "thirty degrees, thirty-one, and nobody knows: thirty degrees are not, and neither is what nobody measures",
    ),
    "no scores": ("10-extender", [("extender.py", "TOO_WARM - celsius(node)", "0")], "render runs on north-1"),
    "a budget that allows one": (
        "11-preemption",
        [("budget.yaml", "disruptionsAllowed: 0", "disruptionsAllowed: 1")],
        "checkout has no node yet, and makes report leave",
    ),
    "a budget for everybody": (
        "11-preemption",
        [("budget.yaml", "    matchLabels: {app: ledger}", "    matchLabels: {}")],
        "checkout has no node yet, and makes report leave",
    ),
    "a budget for the wrong one": (
        "11-preemption",
        [("budget.yaml", "app: ledger", "app: report")],
        "checkout has no node yet, and makes report leave",
    ),
    "packing outvoted": (
        "12-migration",
        [
            ("scheduler.yaml", '      disabled: [{name: "*"}]\n', "      disabled: [{name: ImageLocality}]\n"),
            ("scheduler.yaml", "      enabled: [{name: NodeResourcesFit, weight: 1}]\n", ""),
        ],
        "every pod goes where 1.16 had it go",
    ),
    "as spread as ever": (
        "12-migration",
        [("scheduler.yaml", "MostAllocated", "LeastAllocated")],
        "they run on two nodes, as they did",
    ),
    "a gang of two": ("13-gang", [("gang.py", "< size_of(pod)", "< 2")], "each gang starts at once"),
    "the others are not let go": (
        "13-gang",
        [("gang.py", "held.allow(self.name)", "pass")],
        "each gang starts at once",
    ),
    "everybody is held": (
        "13-gang",
        [
            (
                "gang.py",
                "        if gang_of(pod) is None:\n            return None, 0\n",
                "        if gang_of(pod) is None:\n            return Status(Code.Wait), SECONDS\n",
            )
        ],
        "a gang too large for the cluster: a pod of no gang is not held",
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
