"""Reading exercise.yaml: every fault at once, each with its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kubescheduler as ks
from clusterstate.errors import ConfigError
from clusterstate.manifests.fields import Fields
from kubescheduler.lab.exercises import exercise_reading
from kubescheduler.lab.exercises.exercise_reading import KINDS, read_exercise, work_of
from kubescheduler.lab.exercises.exercise_record import PodPlacement, RunRule, ScenarioRun, StudentFiles
from kubescheduler.lab.exercises.exercise_rules import ForbiddenFields, leaves, shown_path, steps_of, within
from kubescheduler.releases.names import RELEASE_NAMES

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
    assert (exercise.scheduler.release, exercise.preempt, exercise.simulate) == (RELEASE_NAMES[-1], False, False)
    assert [check.kind for check in exercise.scenarios[0].checks] == ["placed"]


ALL_KINDS = ", ".join(exercise_reading.KINDS)

FAULTS: dict[str, tuple[str, str, str]] = {
    "unknown key": ("title:", "titel:", "titel: there is no such key; did you mean title?"),
    "missing key": ("title: One pod\n", "", "title: is missing"),
    "release": ("minutes: 5", 'minutes: 5\nrelease: "1.99"',
        f"release: 1.99 is not known; known are {', '.join(RELEASE_NAMES)}; "
        f"it is newer than all of them, nearest to {RELEASE_NAMES[-1]}"),
    "release as a number": ("minutes: 5", "minutes: 5\nrelease: 1.36",
        "release: must be text, not 1.36; put it in quotes"),
    "minutes": ("minutes: 5", "minutes: five", 'minutes: must be a whole number, not "five"'),
    "no hints": ("[Look.]", "[]", "hints: has to have 1 to 5 tiers, found 0"),
    "no checks": ("checks:\n- name: it has a node\n  placed: {pods: web}\n", "", "checks: has to name at least one"),
    "unknown check": ("placed:", "palced:",
        f"checks[0]: a check has one of {ALL_KINDS}; found palced; did you mean placed?"),
    "two checks in one": ("placed: {pods: web}", "placed: {pods: web}\n  pending: {pod: web}",
        f"checks[0]: a check has one of {ALL_KINDS}; found placed and pending"),
    "check without a name": ("- name: it has a node\n  placed", "- placed", "checks[0].name: is missing"),
    "unknown key of a check": ("{pods: web}", "{pods: web, cuont: 2}",
        "checks[0].placed.cuont: there is no such key; did you mean count?"),
    "missing key of a check": ("{pods: web}", "{count: 2}", "checks[0].placed.pods: is missing"),
    "negative count": ("{pods: web}", "{pods: web, count: -1}", "checks[0].placed.count: must be 0 or more, not -1"),
    "check that is no object": ("{pods: web}", "web", 'checks[0].placed: must be an object, not "web"'),
    "bounds": ("placed: {pods: web}", "nodesUsed: {pods: web}", "checks[0].nodesUsed: say least, most or both"),
    "nodes": ("placed: {pods: web}", "runsOn: {pods: web}", "checks[0].runsOn.nodes: has to name at least one"),
    "victims": ("placed: {pods: web}", "evicts: {pod: web}", "checks[0].evicts: say victims, spares or both"),
    "cluster file": ("[cluster.yaml]", "[clusters.yaml]",
        "cluster[0]: there is no file clusters.yaml; did you mean cluster.yaml?"),
    "file elsewhere": ("[cluster.yaml]", "[../cluster.yaml]",
        "cluster[0]: ../cluster.yaml has to be in the exercise's folder"),
    "file to edit elsewhere": ("file: pod.yaml", "file: ../pod.yaml",
        "edit[0].file: ../pod.yaml has to be in the student's folder"),
    "file to edit": ("file: pod.yaml", "file: pad.yaml", "edit[0].file: there is no pad.yaml in start/"),
    "nothing to edit": ("edit:\n- file: pod.yaml\n  fields: [spec.containers]\n", "",
        "edit: has to name at least one file that the student writes"),
    "policy file": ("minutes: 5", "minutes: 5\nscheduler: {policy: nowhere.cfg}",
        "scheduler.policy: there is no file nowhere.cfg"),
    "rules in a framework release": ("minutes: 5", 'minutes: 5\nscheduler: {rules: "pod.yaml:x"}',
        "scheduler.rules: predicates and priorities decide in 1.4 to 1.16; name plugins"),
    "plugins in a legacy release": ("minutes: 5", 'minutes: 5\nrelease: "1.16"\nscheduler: {plugins: ["a.py:X"]}',
        "scheduler.plugins: 1.16 has no plugins; name rules"),
    "code that is not the student's": ("minutes: 5", 'minutes: 5\nscheduler: {plugins: ["gang.py:Gang"]}',
        "scheduler.plugins[0]: gang.py is not among the files that the student writes"),
    "code without a name": ("minutes: 5", "minutes: 5\nscheduler: {plugins: [gang]}",
        'scheduler.plugins[0]: must be like "rules.py:register", not "gang"'),
    "extender elsewhere": ("minutes: 5", "minutes: 5\nextender: {file: e.py, address: http://example.com}",
        'extender.address: must be like "http://127.0.0.1:8888", not "http://example.com"'),
    "scenario without checks": ("checks:", "scenarios: [{name: night}]\nchecks:",
        "scenarios[0].checks: has to name at least one"),
    "scenario without a name": ("checks:", "scenarios: [{checks: [{name: a, placed: {pods: web}}]}]\nchecks:",
        "scenarios[0].name: is missing"),
    "file of a scenario": ("checks:",
        "scenarios: [{name: night, cluster: [nowhere.cfg], checks: [{name: a, placed: {pods: web}}]}]\nchecks:",
        "scenarios[0].cluster[0]: there is no file nowhere.cfg"),
    "file of a check": ("placed: {pods: web}", 'agrees: {release: "1.16", policy: nowhere.cfg}',
        "checks[0].agrees.policy: there is no file nowhere.cfg"),
    "key set twice": ("minutes: 5", "minutes: 5\nminutes: 6", "minutes: set twice, in lines 3 and 4"),
}  # fmt: skip
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


ZONE = "topology.kubernetes.io/zone"
PACKING = "kind: Policy\napiVersion: v1\npriorities: [{name: MostRequestedPriority, weight: 1}]\n"


@pytest.fixture(scope="module")
def run() -> ScenarioRun:
    """web-1 and web-2 on b, and big, which fits nowhere and would make batch leave b."""
    cluster = (
        ks.Cluster(release="1.36")
        .node("a", cpu=4, memory="8Gi", zone="z1")
        .node("b", cpu=4, memory="8Gi", zone="z2")
        .pod("batch", node="b", cpu=1, memory="1Gi", priority=-1)
        .pod("keep", node="a", cpu=3, memory="1Gi", priority=2000)
    )
    scheduler = ks.Scheduler(cluster)
    placements = []
    asked = [
        ks.pod("web-1", cpu=1, memory="1Gi"),
        ks.pod("web-2", cpu=1, memory="1Gi"),
        ks.pod("big", cpu=2, priority=1000),
    ]
    for manifest in asked:
        decision = scheduler.decide(manifest, preempt=True, thorough=True)
        if decision.host is not None:
            scheduler.bind(decision)
        placements.append(PodPlacement(decision.pod, decision.host, decision.message, decision))

    def compared(other: Mapping[str, Any]) -> ks.Comparison:
        return ks.compare(cluster, asked[:2], old=dict(other), new="", mode="sequence")

    return ScenarioRun(cluster, tuple(placements), (), compared)


CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "placed": ("placed", {"pods": "web-*"}, ""),
    "placed, not all": ("placed", {"pods": "*"}, "big has no node: 0/2 nodes are available: "),
    "placed, too few": ("placed", {"pods": "web-*", "count": 3}, "there are 2 pods web-*, and there have to be 3"),
    "placed, none there": ("placed", {"pods": "api-*"}, "there is no pod api-*; the pods are web-1, web-2, big"),
    "runs on": ("runsOn", {"pods": "web-1", "nodes": ["a", "b"]}, ""),
    "runs on, elsewhere": ("runsOn", {"pods": "web-*", "nodes": ["c"]}, "web-1 runs on b; web-2 runs on b"),
    "runs not on": ("runsNotOn", {"pods": "web-*", "nodes": ["c"]}, ""),
    "runs not on, pending": ("runsNotOn", {"pods": "big", "nodes": ["a"]}, "big has no node: "),
    "running": ("running", {"pods": "*", "least": 2, "most": 2}, ""),
    "running, too many": ("running", {"pods": "*", "most": 1}, "2 run, and 1 may: "),
    "running, too few": ("running", {"pods": "*", "least": 3}, "2 run, and 3 should: big has no node"),
    "nodes used": ("nodesUsed", {"pods": "web-*", "most": 2}, ""),
    "nodes used, too many": ("nodesUsed", {"pods": "web-*", "most": 0}, "and may on 0"),
    "nodes used, too few": ("nodesUsed", {"pods": "web-*", "least": 3}, "and should on 3 or more"),
    "spread": ("spread", {"pods": "web-*", "label": ZONE, "skew": 2}, ""),
    "spread, skewed": ("spread", {"pods": "web-*", "label": ZONE, "skew": 1}, "0 in z1, 2 in z2"),
    "refused": ("refused", {"pod": "big", "node": "a", "reason": "Insufficient cpu"}, ""),
    "refused, for another reason": ("refused", {"pod": "big", "node": "a", "reason": "taint"},
        "a refuses big with Insufficient cpu"),
    "refused, not at all": ("refused", {"pod": "web-1", "node": "a", "reason": "cpu"}, "a does not refuse web-1"),
    "pending": ("pending", {"pod": "big", "message": "2 Insufficient cpu"}, ""),
    "pending, placed": ("pending", {"pod": "web-1"}, "web-1 runs on b"),
    "scores": ("scores", {"pod": "web-1", "order": ["b", "a"]}, ""),
    "scores, of a rule": ("scores", {"pod": "web-1", "order": ["b", "a"], "rule": "NodeResourcesFit"}, ""),
    "scores, the other way": ("scores", {"pod": "web-1", "order": ["a", "b"]}, "web-1: a "),
    "scores, in groups": ("scores", {"pod": "web-1", "order": [["b"], ["a"]]}, ""),
    "scores, a group the other way": ("scores", {"pod": "web-1", "order": [["a"], ["b"]]}, "a has to have more than b"),
    "refused, exactly": ("refused", {"pod": "big", "node": "a", "exactly": "Insufficient cpu"}, ""),
    "refused, in part": ("refused", {"pod": "big", "node": "a", "exactly": "Insufficient"}, "a refuses big with"),
    "accepted": ("accepted", {"pod": "web-1", "nodes": ["a", "b"]}, ""),
    "accepted, refused": ("accepted", {"pod": "big", "nodes": ["a"]}, "a refuses big: Insufficient cpu"),
    "accepted, no such node": ("accepted", {"pod": "web-1", "nodes": ["c"]}, "c refuses web-1: without a reason"),
    "tolerates, not at all": ("tolerates", {"pods": "web-*", "key": "gpu", "values": ["true"]},
        "web-1 does not tolerate gpu=true; web-2 does not"),
    "apart, none bound": ("apart", {"pods": "web-*", "seconds": 5}, ""),
    "apart, none there": ("apart", {"pods": "api-*"}, "there is no pod api-*"),
    "scores, no such rule": ("scores", {"pod": "web-1", "order": ["a"], "rule": "Cheap"}, "Cheap does not score web-1"),
    "scores, no such node": ("scores", {"pod": "web-1", "order": ["a", "c"]}, "c has no score for web-1"),
    "scores, these": ("scores", {"pod": "web-1", "values": {"a": 37, "b": 62}, "rule": "NodeResourcesFit"}, ""),
    "scores, others": ("scores", {"pod": "web-1", "values": {"a": 37, "b": 99}, "rule": "NodeResourcesFit"},
        "b has 62, not 99"),
    "scores, no extender": ("scores", {"pod": "web-1", "values": {"a": 1}, "rule": "extender"}, "a has no score"),
    "evicts": ("evicts", {"pod": "big", "victims": ["batch"], "spares": ["keep"]}, ""),
    "evicts, others": ("evicts", {"pod": "big", "victims": ["keep"]}, "it makes "),
    "evicts, nobody": ("evicts", {"pod": "web-1", "victims": ["keep"]}, "nobody leaves; web-1 runs on b"),
    "agrees": ("agrees", {"release": "1.36"}, ""),
    "agrees, otherwise": ("agrees", {"release": "1.16", "policy": PACKING}, "web-1 goes to b, and went to a"),
    "agrees, tolerated": ("agrees", {"release": "1.16", "policy": PACKING, "tolerate": ["web-*"]}, ""),
    "together, no such label": ("together", {"label": "gang"}, "no pod has the label gang"),
}  # fmt: skip
"""Case → kind, its keys, a part of the sentence about what is wrong; empty where the check passes."""


@pytest.mark.parametrize("case", CASES)
def test_checks_of_a_run(case: str, run: ScenarioRun) -> None:
    """What is wrong is said by pod and node."""
    kind, keys, expected = CASES[case]
    faults: list[str] = []
    rule = KINDS[kind](Fields(keys, faults))
    assert faults == []
    assert isinstance(rule, RunRule)
    found = rule.fault_of(run)
    assert bool(found) is bool(expected), found
    assert expected in found


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (ForbiddenFields(("**.nodeName",), ()), 'web.yaml: Deployment web: spec.template.spec.nodeName is "a"'),
        (ForbiddenFields(("spec.replicas",), ("1",)), ""),
        (ForbiddenFields(("spec.replicas",), ("2",)), "web.yaml: Deployment web: spec.replicas is 2"),
        (ForbiddenFields(("spec.paused",), ()), ""),
    ],
    ids=["anywhere", "another value", "this value", "not set"],
)
def test_forbidden_fields(rule: ForbiddenFields, expected: str, tmp_path: Any) -> None:
    """A field is named with its file, its object and its place."""
    spec = {"replicas": 2, "paused": None, "template": {"spec": {"nodeName": "a"}}}
    document = {"kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    assert rule.fault_in(StudentFiles(tmp_path, {"web.yaml": [document]}, {})) == expected


def test_a_simulation_says_whom_it_evicts() -> None:
    """Victims of a run on the virtual clock count as those of a decision do."""
    faults: list[str] = []
    rule = KINDS["evicts"](Fields({"pod": "big", "victims": ["batch"]}, faults))
    cluster = ks.Cluster(release="1.36").node("a", cpu=2).pod("batch", node="a", cpu=2, priority=0)
    report = ks.simulate(cluster, ks.pod("big", cpu=2, priority=10), preempt=True)
    placements = tuple(PodPlacement(one.pod, one.node or None, one.message, placed=one.placed) for one in report.pods)
    evicted = tuple(victim.removeprefix("default/") for one in report.preemptions for victim in one.victims)
    assert isinstance(rule, RunRule)
    assert rule.fault_of(ScenarioRun(cluster, placements, evicted, lambda _: pytest.fail("nothing is compared"))) == ""


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("spec.affinity", "spec.affinity.nodeAffinity", True),
        ("spec.affinity", "spec", False),
        ("spec.containers.*.image", "spec.containers.0.image", True),
        ("spec.containers.*.image", "spec.containers.0.ports.0", False),
        ("**.nodeName", "spec.nodeName", True),
        ("**.nodeName", "spec.template.spec.nodeName", True),
        ("**.nodeName", "nodeName", True),
        ("**.nodeName", "spec.nodeNames", False),
        ("metadata.labels[example.com/tier]", "metadata.labels[example.com/tier]", True),
        ("metadata.labels[example.com/tier]", "metadata.labels.tier", False),
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    """A path is in a pattern when it is one of its places or below one."""
    assert within(steps_of(path), steps_of(pattern)) is expected


def test_leaves_leave_out_what_is_empty() -> None:
    """null, {} and [] say what nothing says."""
    document: dict[str, Any] = {"spec": {"a": None, "b": {}, "c": [], "d": [{"e": 0}]}}
    assert [(shown_path(path), value) for path, value in leaves(document)] == [("spec.d[0].e", 0)]


@given(st.lists(st.sampled_from(["a", "b", "0"])), st.lists(st.sampled_from(["a", "b", "0"])))
def test_every_path_is_within_what_begins_it(head: list[str], tail: list[str]) -> None:
    """A path is within each of its beginnings, within as many stars, and where two stars stand for the beginning."""
    path = [*head, *tail]
    assert within(path, head)
    assert within(path, ["*"] * len(head))
    assert within(path, ["**", *tail])
