"""The exercises that come with the package: solutions pass, starts fail, and how an exercise is found and begun."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.structure import ROOT
from clusterstate.errors import ConfigError
from kubescheduler.lab import BUNDLED_CLUSTER
from kubescheduler.lab.exercises.checking import check_work
from kubescheduler.lab.exercises.exercise_reading import (
    SHIPPED,
    shipped_exercise,
    shipped_names,
    start_exercise,
    work_of,
)
from kubescheduler.lab.exercises.exercise_record import START
from tests.support.pages.lab_page import TOLERATIONS, checked_part, checked_variant, failing

# ruff: noqa: E501 - an answer is a line of its table, however long


FIRST_FAILURES = {
    "01-requests": "all three replicas have a node",
    "02-taints": "train runs on gpu-2",
    "03-node-affinity": "search runs on ssd-b3",
    "04-inter-pod-affinity": "both replicas run in the zone of the cache",
    "05-spreading": "no zone has more than one replica more than another",
    "06-pending": "invoice runs on n-3",
    "07-priority": "the cheaper, the better",
    "08-predicate": "draw-1 and draw-2 run on dock",
    "09-packing-policy": "they run on two nodes",
    "10-extender": "hot-1 is refused in the extender's words",
    "11-preemption": "checkout has no node yet, and makes report leave",
    "12-migration": "they run on two nodes, as they did",
    "13-gang": "each gang starts at once",
}
"""Exercise → the first check that fails before anything was done."""

REQUESTS = "requests: {cpu: 650m, memory: 1536Mi}"
CHEAP = """def cheap(pod, meta, node_info):
    cents = int(node_info.node.metadata.labels.get("cents-per-hour", "100"))
    return max(0, 10 - cents // 10)
"""
SEAT = """def free_seat(pod, meta, node_info):
    if not needs_seat(pod.labels):
        return True, []
    text = node_info.node.metadata.labels.get("seats", "0")
    seats = int(text) if text.isdecimal() else 0
    taken = sum(needs_seat(other.metadata.labels) for other in node_info.pods)
    return seats > taken, ["no free seat"]
"""
FIT = '      disabled: [{name: "*"}]\n      enabled: [{name: NodeResourcesFit, weight: 1}]\n'
STRATEGY = """        type: MostAllocated
        resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]
"""
SHAPE = "shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]"
POINTS = "max(0, min(10, TOO_WARM - celsius(node)))"
SCORED = [
    *("PodTopologySpread", "InterPodAffinity", "NodeAffinity", "TaintToleration", "ImageLocality"),
    *("NodeResourcesFit", "NodeResourcesBalancedAllocation", "VolumeBinding", "DynamicResources"),
]
EXPRESSION = "{matchExpressions: [{key: app, operator: In, values: [%s]}]}"
SHOP = "labelSelector: {matchLabels: {app: shop}}"
DISK = "          - {key: disk, operator: In, values: [ssd]}\n"
ANOTHER = "      - {maxSkew: %s, topologyKey: %s, whenUnsatisfiable: %s, labelSelector: {matchLabels: {app: shop}}}"
CONSTRAINTS = "      topologySpreadConstraints:"
LEDGER = "    matchLabels: {app: ledger}"

RIGHT: dict[str, dict[str, tuple[str, ...]]] = {
    "01-requests": {
        "the most": (REQUESTS, "requests: {cpu: 700m, memory: 2Gi}"),
        "the least": (REQUESTS, "requests: {cpu: 600m, memory: 1536Mi}"),
        "other units": (REQUESTS, 'requests: {cpu: "0.6", memory: "1610612736"}'),
        "no limits": ('limits: {cpu: "4", memory: 16Gi}', "limits: {}"),
        "limits that are the requests": (REQUESTS + '\n          limits: {cpu: "4", memory: 16Gi}',
            "limits: {cpu: 650m, memory: 1536Mi}"),
        "in kibibytes": ("1536Mi", "1572864Ki"),
        "a request for the disk": ("memory: 1536Mi}", "memory: 1536Mi, ephemeral-storage: 0}"),
    },
    "02-taints": {"all effects": (", effect: NoSchedule", ""), "the default operator": (", operator: Equal", ""),
        "several tolerations": (TOLERATIONS, TOLERATIONS + ", {key: web, operator: Exists}"),
        "a value of another taint": (TOLERATIONS, TOLERATIONS + ", {key: team, value: vision}"),
        "twice": (TOLERATIONS, f"{TOLERATIONS}, {TOLERATIONS}"),
        "a list in lines": (f"[{TOLERATIONS}]", '\n  - key: gpu\n    value: "true"\n    effect: NoSchedule')},
    "03-node-affinity": {
        "a node selector for the disk": (DISK, "", "  containers:", "  nodeSelector: {disk: ssd}\n  containers:"),
        "the selector as well": ("  containers:", "  nodeSelector: {disk: ssd}\n  containers:"),
        "a term for each zone": (
            "operator: In, values: [eu-1a, eu-1b]}\n          - {key: lifecycle, operator: NotIn, values: [spot]}",
            (
                "operator: In, values: [eu-1a]}\n          - {key: lifecycle, operator: NotIn, values: [spot]}\n"
                f"        - matchExpressions:\n{DISK}"
                "          - {key: topology.kubernetes.io/zone, operator: In, values: [eu-1b]}\n"
                "          - {key: lifecycle, operator: NotIn, values: [spot]}"
            ),
        ),
        "weights as far apart as can be": ("weight: 10\n", "weight: 1\n"),
        "the network at two fifths": ("weight: 10\n", "weight: 40\n"),
        "a wish for both beside": ("      - weight: 10\n",
            ("      - weight: 5\n        preference:\n          matchExpressions:\n"
            "          - {key: generation, operator: In, values: [v3]}\n"
            "          - {key: network, operator: In, values: [25g]}\n      - weight: 10\n")),
        "other weights": ("weight: 100", "weight: 90", "weight: 10\n", "weight: 1\n"),
        "another order": (*("weight: 100", "weight: 7", "weight: 10\n", "weight: 70\n", "key: generation",
            "key: SWAP"), *("{key: network, operator: In, values: [25g]}",
            "{key: generation, operator: In, values: [v3]}"),
            *("{key: SWAP, operator: In, values: [v3]}", "{key: network, operator: In, values: [25g]}")),
    },
    "04-inter-pod-affinity": {
        "a selector by expressions": ("{matchLabels: {app: cache}}", EXPRESSION % "cache"),
        "both by expressions": ("{matchLabels: {app: cache}}", EXPRESSION % "cache",
            "{matchLabels: {app: api}}\n            topo", EXPRESSION % "api" + "\n            topo"),
        "the namespace named": ("            topologyKey: topology",
            "            namespaces: [default]\n            topologyKey: topology"),
        "all namespaces": ("            topologyKey: kube",
            "            namespaceSelector: {}\n            topologyKey: kube"),
        "a wish beside": ("        podAntiAffinity:\n",
            ("        podAntiAffinity:\n          preferredDuringSchedulingIgnoredDuringExecution:\n"
            "          - {weight: 1, podAffinityTerm: {labelSelector: {matchLabels: {app: noise}}, "
            "topologyKey: kubernetes.io/hostname}}\n")),
    },
    "05-spreading": {
        "a wish for nodes beside": (CONSTRAINTS,
            f"{CONSTRAINTS}\n{ANOTHER % (1, 'kubernetes.io/hostname', 'ScheduleAnyway')}"),
        "a wide rule for nodes beside": (CONSTRAINTS,
            f"{CONSTRAINTS}\n{ANOTHER % (3, 'kubernetes.io/hostname', 'DoNotSchedule')}"),
        "by expressions": (SHOP, "labelSelector: " + EXPRESSION % "shop"),
        "three zones at least": ("maxSkew: 1", "minDomains: 3\n        maxSkew: 1"),
        "tainted nodes left out": ("maxSkew: 1", "nodeTaintsPolicy: Honor\n        maxSkew: 1"),
        "without the default effect": ("        whenUnsatisfiable: DoNotSchedule\n" + f"        {SHOP}",
            f"        {SHOP}\n        whenUnsatisfiable: DoNotSchedule"),
    },
    "06-pending": {"another host port": ("containerPort: 9100", "containerPort: 9100, hostPort: 9101"),
        "a host port of 0": ("containerPort: 9100", "containerPort: 9100, hostPort: 0"),
        "no port at all": ("    ports: [{containerPort: 9100}]\n", ""),
        "a port with a name": ("containerPort: 9100", "containerPort: 9100, name: http"),
        "quoted": ("disk: ssd", 'disk: "ssd"'), "another container port": ("containerPort: 9100",
        "containerPort: 8080")},
    "07-priority": {
        "a loop": (
            "    return max(0, 10 - cents // 10)",
            "    points = 10\n    while cents >= 10 and points:\n        cents, points = cents - 10, points - 1\n    return points",
        ),
        "the dearest first asked": ("    return max(0, 10 - cents // 10)",
            "    if cents >= 100:\n        return 0\n    return 10 - cents // 10"),
        "the label looked for": (CHEAP,
            ("def cheap(pod, meta, node_info):\n    labels = node_info.node.metadata.labels\n"
            "    if 'cents-per-hour' not in labels:\n        return 0\n"
            "    return max(10 - int(labels['cents-per-hour']) // 10, 0)\n")),
        "arithmetic of its own": ("max(0, 10 - cents // 10)", "(109 - min(100, cents)) // 10"),
        "a table": ("max(0, 10 - cents // 10)", "[10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0][min(10, cents // 10)]"),
        "a whole float made whole": ("max(0, 10 - cents // 10)", "max(0, 10 - int(cents / 10))"),
    },
    "08-predicate": {
        "prints": ("def free_seat(pod, meta, node_info):\n",
            "def free_seat(pod, meta, node_info):\n    print('asked about', node_info.node.metadata.name)\n"),
        "an exception caught": ("    seats = int(text) if text.isdecimal() else 0\n",
            "    try:\n        seats = int(text)\n    except ValueError:\n        seats = 0\n"),
        "a list": ("    taken = sum(needs_seat(other.metadata.labels) for other in node_info.pods)",
            "    taken = len([other for other in node_info.pods if needs_seat(other.metadata.labels)])"),
        "two returns": ('    return seats > taken, ["no free seat"]',
            '    if taken >= seats:\n        return False, ["no free seat"]\n    return True, []'),
        "one expression": (
            SEAT,
            (
                "def free_seat(pod, meta, node_info):\n    text = node_info.node.metadata.labels.get('seats', '')\n"
                "    left = int(text if text.isdecimal() else 0) - sum(needs_seat(p.metadata.labels) for p in node_info.pods)\n"
                "    return not needs_seat(pod.labels) or left > 0, ['no free seat']\n"
            ),
        ),
    },
    "09-packing-policy": {
        "a heavier weight": ("weight: 1", "weight: 7"),
        "predicates listed in full": ("priorities:", "predicates:\n- name: GeneralPredicates\npriorities:"),
        "predicates one by one": ("priorities:",
            "predicates:\n- name: PodFitsResources\n- name: MatchNodeSelector\npriorities:"),
        "JSON": ("kind: Policy\napiVersion: v1\npriorities:\n- name: MostRequestedPriority\n  weight: 1\n",
            '{"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "MostRequestedPriority", "weight": 1}]}'),
        "a shape": (
            "- name: MostRequestedPriority\n",
            "- name: Packing\n  argument: {requestedToCapacityRatioArguments: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}\n",
        ),
        "a priority of taints beside": ("priorities:", "priorities:\n- name: TaintTolerationPriority\n  weight: 1"),
    },
    "10-extender": {
        "another way to the most": (POINTS, "sorted((0, TOO_WARM - celsius(node), 10))[1]"),
        "a limit of its own": ("> TOO_WARM", ">= 31"),
        "names in capitals": ('"nodes": {', '"Nodes": {', '"failedNodes"', '"FailedNodes"'),
        "no error said": (', "error": ""', ""),
        "one after the other": (
            (
                '    return [\n        {"host": node["metadata"]["name"], "score": '
                + POINTS
                + "}\n        for node in nodes_of(asked)\n    ]\n"
            ),
            (
                "    out = []\n    for node in nodes_of(asked):\n        points = TOO_WARM - celsius(node)\n"
                "        out.append({'host': node['metadata']['name'], 'score': 10 if points > 10 else points})\n    return out\n"
            ),
        ),
    },
    "11-preemption": {
        "by expressions": (LEDGER, "    matchExpressions: [{key: app, operator: In, values: [ledger]}]"),
        "no minimum, a maximum": ("minAvailable: 1", "maxUnavailable: 0"),
        "in percent": ("minAvailable: 1", "minAvailable: 100%"),
        "a status of one field": (
            "status: {currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, disruptionsAllowed: 0}",
            "status: {disruptionsAllowed: 0}",
        ),
        "another name": ("metadata: {name: ledger}", "metadata: {name: do-not-disturb, namespace: default}"),
        "label and expression": (LEDGER, LEDGER + "\n    matchExpressions: [{key: app, operator: Exists}]"),
    },
    "12-migration": {
        "weights that outvote": ("weight: 1}]\n  pluginConfig", "weight: 50}]\n  pluginConfig"),
        "each plugin disabled by its name": ('disabled: [{name: "*"}]',
            f"disabled: [{', '.join('{name: ' + name + '}' for name in SCORED)}]"),
        "the amounts by default": (STRATEGY, "        type: MostAllocated\n"),
        "a shape": (STRATEGY, (STRATEGY.replace("MostAllocated",
            "RequestedToCapacityRatio") + f"        requestedToCapacityRatio: {{{SHAPE}}}\n")),
        "no weight said": ("{name: NodeResourcesFit, weight: 1}", "{name: NodeResourcesFit}"),
        "weights alike": (STRATEGY, STRATEGY.replace("weight: 1", "weight: 5")),
    },
    "13-gang": {
        "a shorter wait": ("SECONDS = 30.0", "SECONDS = 15.0"),
        "counted without a loop": ("        if len(waiting) + 1 < size_of(pod):",
            ("        strangers = len(self.handle.waiting_pods()) - len(waiting)\n"
            "        if len(self.handle.waiting_pods()) - strangers + 1 < size_of(pod):")),
        "whole seconds": ("SECONDS = 30.0", "SECONDS = 30"),
        "let go in another order": ("for held in waiting:", "for held in reversed(waiting):"),
        "counted with itself": ("len(waiting) + 1 < size_of(pod)", "1 + sum(1 for _ in waiting) != size_of(pod)"),
        "who has no gang asked elsewhere": ("        if gang_of(pod) is None:\n",
            '        if "gang" not in pod.metadata.labels:\n'),
    },
}  # fmt: skip
"""Exercise → another right solution → texts of the shipped one and those in their place."""


@pytest.mark.parametrize("name", shipped_names())
def test_start_fails_for_the_right_reason(name: str) -> None:
    """What a student begins with fails, first at the check that the exercise is about."""
    checked = checked_part(name, START)
    assert not checked.passed
    assert failing(checked)[0] == FIRST_FAILURES[name]


@pytest.mark.parametrize(("name", "other"), [(name, other) for name, others in RIGHT.items() for other in others])
def test_other_right_solutions_pass(name: str, other: str, tmp_path: Path) -> None:
    """What answers the task in another way than the solution passes too."""
    assert failing(checked_variant(name, RIGHT[name][other], tmp_path)) == []


@pytest.mark.parametrize("name", shipped_names())
def test_every_exercise_is_tried_with_right_answers(name: str) -> None:
    """Five forms at least: no check may ask for the words of the solution."""
    assert len(RIGHT[name]) >= 5


NOTED = {
    "in a manifest": ("02-taints", "spec:", "spec:\n  tolerations: []",
        "spec.tolerations: set twice, in lines 5 and 6; the last one counts"),
    "in a policy": ("09-packing-policy", "  weight: 1", "  weight: 2\n  weight: 1",
        "priorities[0].weight: set twice, in lines 5 and 6; release 1.16 reads the last"),
}  # fmt: skip
"""Where a key is set twice → exercise, a text of its solution and that in its place, the end of the note."""


@pytest.mark.parametrize("case", NOTED)
def test_a_key_set_twice_is_noted(case: str, tmp_path: Path) -> None:
    """The check says of it what a command says, and goes on with the value that counts."""
    name, *texts, note = NOTED[case]
    checked = checked_variant(name, texts, tmp_path)
    assert checked.passed
    assert [text.endswith(note) for text in checked.notes] == [True]


@pytest.mark.parametrize("edited", ["cluster.yaml", "pods.yaml", "policy.yaml"])
def test_a_changed_given_file_is_noted(edited: str, tmp_path: Path) -> None:
    """It is checked as given, and a note names it; what was not changed is not named."""
    exercise = shipped_exercise("predicate")
    start_exercise(exercise, tmp_path / "mine")
    assert check_work(exercise, tmp_path / "mine").notes == ()
    (tmp_path / "mine" / edited).write_text("# mine\n")
    (note,) = check_work(exercise, tmp_path / "mine").notes
    assert note.endswith(f"{edited}: it is not as the exercise gives it; the check has used the file as given")


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


pytest.importorskip("setuptools")

BUILD = """\
import sys
from setuptools import Distribution

made = Distribution()
made.parse_config_files()
build = made.get_command_obj("build_py")
build.build_lib = sys.argv[1]
build.ensure_finalized()
for package, source, target, names in build.data_files:
    print(*(f"{package.replace('.', '/')}/{name}" for name in names), sep="\\n")
"""
"""Prints the data files that ``build_py`` puts into a wheel, without building one."""


def test_every_file_of_the_exercises_is_in_the_wheel(tmp_path: Path) -> None:
    """setup.cfg names them all: tasks, starts, solutions and hidden scenarios; and the cluster that the lab brings."""
    done = subprocess.run(
        [sys.executable, "-B", "-W", "ignore", "-c", BUILD, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = {str(path.relative_to(ROOT)) for path in SHIPPED.rglob("*") if path.is_file()}
    wanted = {path for path in wanted if "__pycache__" not in path} | {str(BUNDLED_CLUSTER.relative_to(ROOT))}
    assert len(wanted) > 90
    assert wanted <= set(done.stdout.split())


def test_pages_count_exercises_and_hours_alike() -> None:
    """Wherever a page says how many exercises there are, or how long the workshop is."""
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
    text = " ".join(" ".join(page.read_text(encoding="utf-8").split()) for page in pages)
    numbers = ("Twelve", "Thirteen", "Fourteen", "Fifteen", "Sixteen")
    last = numbers[len(shipped_names()) - 12]
    counts = re.findall(r"(\w+) exercises\]? ?(?:\([^)]*\) )?that check themselves(, and a \w+)?", text)
    assert {(count.capitalize(), more) for count, more in counts} == {(last, ""), ("Twelve", ", and a thirteenth")}
    assert set(re.findall(r"[Ww]orkshop\S* (?:of|in) (\w+) hours", text)) == {"four"}
