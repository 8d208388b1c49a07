"""assert_same_placements, and what assertions on placements say when they fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clusterstate.objects import ObjectMeta, Pod
from kubescheduler import Cluster
from kubescheduler import pod as kubescheduler_pod
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.testing import assert_same_placements, compare_placements
from kubescheduler.testing.fixtures import steps_text
from tests.kubescheduler.testing.conftest import CLUSTER, Project, node, pod
from tests.support.comparisons import SEVERAL, WEIGHS, made_timeline, moving, timeline_of

PACKING = '"release=1.16,policy=packing.json"'
SERVICE = {"kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"app": "a"}}}


def test_same_placements_pass(shop: Project) -> None:
    """Schedulers that agree pass, and the comparison is returned."""
    shop.write("pods.json", [pod("a"), pod("b")])
    shop.test(
        "def test(cluster):\n"
        '    comparison = assert_same_placements("release=1.16", "release=1.20", cluster, "pods.json")\n'
        "    assert len(comparison.pods) == 2"
    )
    shop.run(passed=1)


def test_runs_that_draw() -> None:
    """With upstream's ties every pod has the share of runs in which it moves; seeds that draw nothing are a fault."""
    made = Cluster(release="1.16").node("a").node("b").node("c")
    given = ("release=1.16", "release=1.36", made, kubescheduler_pod("web"))
    found = compare_placements(*given, tie_break="upstream", seeds=7)
    [change] = found.pods[0].changes
    assert change.moves.runs == 7
    with pytest.raises(pytest.UsageError, match="seeds: 7 are given, but nothing is drawn"):
        assert_same_placements(*given, seeds=7)
    with pytest.raises(pytest.UsageError, match="tie_break: 'upsteam' is not known"):
        compare_placements(*given, tie_break="upsteam")


def test_running_pods() -> None:
    """Running pods, or those of a selector, are taken out and decided anew; so are pods that are given and run."""
    made = Cluster(release="1.16").node("a", cpu=4).node("b", cpu=8)
    made = made.pod("web", node="a", cpu=3, labels={"app": "web"}).pod("db", node="b", cpu=1)
    sides = ("release=1.16", "release=1.36", made)
    for more, hosts in (
        ({"running": True}, ["b", "b"]),
        ({"running": "app=web"}, ["b"]),
        ({"pods": kubescheduler_pod("db", cpu=6)}, ["b"]),
    ):
        comparison = assert_same_placements(*sides, **more)
        assert [pod.outcomes[1].host for pod in comparison.pods] == hosts
        assert "decided anew" in comparison.notes[0]
    with pytest.raises(pytest.UsageError, match="say which pods to compare: either pods, or running=True"):
        compare_placements(*sides)
    with pytest.raises(pytest.UsageError, match="no running pod is picked by app=none"):
        compare_placements(*sides, running="app=none")


MOVING = (
    Cluster(release="1.22")
    .node("n1", cpu=4, memory="8Gi", taints=["a=b:PreferNoSchedule"])
    .node("n2", cpu=4, memory="8Gi")
    .pod("full", node="n2", cpu="3800m", memory="7600Mi")
)
PREFERS = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 1,
                "preference": {
                    "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]
                },
            }
        ]
    }
}
"""Of pods that go to the emptier node while its soft taint weighs 1, and to the other since it weighs 3."""


def movers(count: int) -> list[object]:
    return [
        kubescheduler_pod(f"web-{at}", cpu="100m", memory="100Mi", spec={"affinity": PREFERS}) for at in range(count)
    ]


def test_steps_are_named() -> None:
    """The message has the release at which pods move, and the change; lines are short, and names few."""
    with pytest.raises(AssertionError) as failed:
        assert_same_placements("release=1.22", "release=1.24", MOVING, movers(5), steps=True)
    lines = str(failed.value).splitlines()
    at = lines.index("release by release from 1.22 to 1.24:")
    end = lines.index("", at)
    assert lines[at + 1 : end] == [
        "  1.23: default/web-0, default/web-1, default/web-2 and 2 more: n1 -> n2",
        "    taint-toleration-weighs-3: TaintToleration weighs 3 by default,",
        "      NodeAffinity and InterPodAffinity 2; before, and in configurations",
        "      of v1beta2, 1.",
    ]
    assert lines[-1].startswith("to accept this: ")
    tolerated = assert_same_placements(
        "release=1.22", "release=1.24", MOVING, movers(1), steps=True, tolerate="changed-weight"
    )
    assert tolerated.moved


def test_steps_that_are_many_are_cut() -> None:
    """Only the first ones are told, each change in full, and how many more there are; no line is longer than 72."""
    lines = list(steps_text(made_timeline(80, 3)))
    assert len(lines) < 40
    assert max(map(len, lines)) <= 72
    found = timeline_of(
        *(moving(f"shop/p-{at}", "Deployment/p", at, (WEIGHS, at + 1)) for at in range(9)), notes=("x " * 60,)
    )
    assert "  and 3 more" in list(steps_text(found))
    assert any(line.startswith("  ! x x") for line in steps_text(found))
    still = list(
        steps_text(timeline_of(moving("shop/a", "Deployment/a", 0), moving("shop/b", "Deployment/b", 0, (SEVERAL, 1))))
    )
    assert still[1:] == [
        "  1.25: shop/b: compute-0 -> general-1",
        "    no change alone: changed-weight",
        "  shop/a: at no step",
    ]


@pytest.mark.parametrize(
    ("old", "how", "message"),
    [
        ("1.22", {"mode": "sequence"}, "steps: in a sequence"),
        ("1.22", {"tie_break": "upstream"}, "steps: with drawn ties"),
        ("1.22", {"ties": "strict"}, "steps: a pod moves where"),
        ("1.24", {}, r"steps: 1\.24 is not later than 1\.24"),
    ],
    ids=["sequence", "draws", "strict", "order"],
)
def test_steps_that_cannot_be_told(old: str, how: dict[str, Any], message: str) -> None:
    """It is said also of pods that do not move."""
    with pytest.raises(pytest.UsageError, match=message):
        assert_same_placements(f"release={old}", "release=1.24", MOVING, kubescheduler_pod("x"), steps=True, **how)


def test_difference_is_explained(shop: Project) -> None:
    """The message names old and new host, the cause, and what each priority adds."""
    shop.write("pods.json", [pod("a"), pod("big", "4")])
    body = f'def test(cluster):\n    assert_same_placements("release=1.16", {PACKING}, cluster, "pods.json")'
    assert shop.message(body) == [
        *("AssertionError: 1 of 2 pods goes elsewhere", "old: release=1.16"),
        *("new: release=1.16,policy=packing.json", "", "default/a: n2 -> n1 (changed-formula)"),
        "n1 was 2 behind and is 2 ahead against n2: scores are computed differently "
        "(LeastRequestedPriority -> MostRequestedPriority)",
        *("old   new", "BalancedResourceAllocation                         -1     0"),
        "LeastRequestedPriority -> MostRequestedPriority    -1    +2",
        *("new node minus old node                            -2    +2", ""),
        "1 changed-formula: a priority is computed differently",
        "to accept this: tolerate=['changed-formula']",
    ]


def test_refusal_is_explained(shop: Project) -> None:
    """A node that is refused by one of the two is named with the check and its reason."""
    strict = {
        "kind": "Policy",
        "apiVersion": "v1",
        "predicates": [
            {"name": "PodFitsResources"},
            {"name": "CheckNodeLabelPresence", "argument": {"labelsPresence": {"labels": ["gone"], "presence": True}}},
        ],
    }
    shop.write("strict.json", strict)
    shop.write("pods.json", pod("a"))
    body = (
        "def test(cluster):\n"
        '    assert_same_placements("release=1.16", "release=1.16,policy=strict.json", cluster, "pods.json")'
    )
    message = shop.message(body)
    assert message[4:7] == [
        "default/a: n2 -> no node (filtered-now)",
        "n2 is refused now: CheckNodeLabelPresence: node(s) didn't have the requested labels",
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't have the requested labels.",
    ]
    assert message[-1] == "to accept this: tolerate=['filtered-now']"


def test_tolerated_causes_pass(shop: Project) -> None:
    """Pods may go elsewhere for causes that are tolerated, given as one or as several."""
    shop.write("pods.json", [pod("a")])
    shop.test(
        f'CALL = "release=1.16", {PACKING}\n'
        "def test(cluster):\n"
        '    [moved] = assert_same_placements(*CALL, cluster, "pods.json", tolerate=["changed-formula"]).moved\n'
        '    assert_same_placements(*CALL, cluster, "pods.json", tolerate=str(moved.cause))\n'
        '    with pytest.raises(AssertionError, match="tie-break"):\n'
        '        assert_same_placements(*CALL, cluster, "pods.json", tolerate=["tie-break"])\n'
    )
    shop.run(passed=1)


def test_many_differences_are_counted(shop: Project) -> None:
    """Of many changes some are explained, and all are counted by cause."""
    shop.write("pods.json", [pod(f"p{number}", f"{40 * number + 100}m") for number in range(12)])
    old, new = '"release=1.20"', '"release=1.20,policy=packing.json"'
    message = shop.message(f'def test(cluster):\n    assert_same_placements({old}, {new}, cluster, "pods.json")')
    assert message[0] == "AssertionError: 12 of 12 pods go elsewhere"
    assert sum("n2 -> n1" in line for line in message) == 10
    assert message[-3].startswith("12 changed-formula: ")
    assert message[-2] == "2 of them are not explained here"


def test_pods_that_change_alike_are_told_together(shop: Project) -> None:
    """Replicas that go elsewhere in the same way are named in one go."""
    shop.write("pods.json", [pod(f"p{number}") for number in range(5)])
    body = f'def test(cluster):\n    assert_same_placements("release=1.16", {PACKING}, cluster, "pods.json")'
    message = shop.message(body)
    assert message[4] == "default/p0, default/p1, default/p2 and 2 more: n2 -> n1 (changed-formula)"
    assert len(message) == 13


def test_two_errors_are_no_answer(shop: Project) -> None:
    """Two schedulers whose extender does not answer compare nothing: the test fails, and cannot tolerate it."""
    nobody = {"urlPrefix": "http://127.0.0.1:1/all", "filterVerb": "filter"}
    shop.write("dead.json", {"kind": "Policy", "apiVersion": "v1", "extenders": [nobody]})
    shop.write("pods.json", pod("web"))
    old, new = '"policy=dead.json"', '"release=1.20,policy=dead.json"'
    message = shop.message(f'def test(cluster):\n    assert_same_placements({old}, {new}, cluster, "pods.json")')
    assert message[0] == "AssertionError: none of 1 pod could be compared"
    assert message[-1] == "an error cannot be tolerated: nothing was compared"


def test_pods_of_the_cluster_may_be_pending_there(shop: Project) -> None:
    """Pods that are compared are taken out of the cluster if they wait in it."""
    shop.write("cluster.json", [*CLUSTER, pod("web")])
    shop.write("pods.json", pod("web"))
    shop.test('def test(cluster):\n    assert_same_placements("", "release=1.20", cluster, "pods.json")')
    shop.run(passed=1)


def test_every_fault_is_told_at_once(shop: Project) -> None:
    """Old and new scheduler, pods, mode and causes: one message has the faults of all."""
    body = (
        "def test(cluster):\n"
        '    assert_same_placements("policy=none.json", "release=1.36,provider=X", cluster, ["no.yaml", 1],\n'
        '        tolerate=["tiebreak"], mode="sequense")'
    )
    assert shop.message(body) == [
        "pytest.UsageError: kubescheduler: 6 faults",
        "- mode: 'sequense' is not known; known are independent, sequence; did you mean sequence?",
        "- tolerate: tiebreak is no cause; did you mean tie-break?",
        f"- old: none.json: no such file or folder in {shop.path}",
        "- new: unknown flag: --algorithm-provider: release 1.36 has none; give it a KubeSchedulerConfiguration with "
        "--config (kubescheduler migrate makes one)",
        f"- no.yaml: no such file or folder in {shop.path}",
        "- pods: expected a file name, a manifest, YAML or JSON text, or an object, found 1",
    ]


def test_without_fixtures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions work by themselves: files are those of the working directory, everything may be given as it is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "n.yaml").write_text("kind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {pods: '3'}}\n")
    loner = Pod(ObjectMeta("web", "default"))
    comparison = assert_same_placements(EngineSpec(), EngineSpec(release="1.36"), "n.yaml", loner)
    assert [outcome.host for outcome in comparison.pods[0].outcomes] == ["n1", "n1"]
    again = compare_placements("", "release=1.20", [Path("n.yaml"), node("m")], [loner], mode="sequence")
    assert again.mode == "sequence"


@pytest.mark.parametrize(
    ("expected", "lines"),
    [
        pytest.param({"default/a": "n1"}, ["default/a: expected n1, found n2", "n2 has a total of 100035, n1 100033:",
                     "+1  BalancedResourceAllocation: 8 against 7, weight 1",
                     "+1  LeastRequestedPriority: 7 against 6, weight 1"], id="outscored"),
        pytest.param({"default/a": "full"}, ["default/a: expected full, found n2",
                     "full is refused: GeneralPredicates: Insufficient cpu"], id="refused"),
        pytest.param({"default/a": "n9"}, ["default/a: expected n9, found n2", "there is no node n9 in the cluster"],
                     id="unknown"),
        pytest.param({"default/a": None}, ["default/a: expected no node, found n2", "it fits on 2 of 3 nodes"],
                     id="fits"),
        pytest.param({}, ["default/a: not expected, found n2"], id="more"),
        pytest.param({"default/a": "n2", "default/b": "n1"}, ["default/b: expected n1, but it is not among the pods"],
                     id="fewer"),
    ],
)  # fmt: skip
def test_expected_placements_are_explained(expected: dict[str, str], lines: list[str], shop: Project) -> None:
    """``assert scheduler.place(…) == {…}`` says of every pod why it is not there, on either side."""
    shop.write("pods.json", [pod("a")])
    for assertion in (f'scheduler.place("pods.json") == {expected}', f'{expected} == scheduler.place("pods.json")'):
        message = shop.message(f"def test(scheduler):\n    assert {assertion}")
        assert message == ["assert 1 of 1 pods are elsewhere than expected", *lines]


def test_ties_are_explained(project: Project) -> None:
    """Of equal nodes the first by name is taken, and the message says that there was a tie."""
    project.write("cluster.json", [node("n1"), node("n2")])
    project.write("pods.json", [pod("a"), pod("huge", "9")])
    body = (
        '@pytest.mark.cluster("cluster.json")\n'
        'def test(scheduler):\n    assert scheduler.place("pods.json") == {"default/a": "n2", "default/huge": "n1"}'
    )
    assert project.message(body) == [
        "assert 2 of 2 pods are elsewhere than expected",
        "default/a: expected n2, found n1",
        "both have a total of 100035; among equal nodes the first by name is taken",
        "default/huge: expected n1, found no node",
        "n1 is refused: GeneralPredicates: Insufficient cpu",
        "0/2 nodes are available: 2 Insufficient cpu.",
    ]


def test_other_comparisons_are_left_to_pytest(shop: Project) -> None:
    """Assertions on anything else read as ever."""
    shop.write("pods.json", [pod("a")])
    body = 'def test(scheduler):\n    assert scheduler.place("pods.json") == 3'
    assert shop.message(body)[0] == "AssertionError: assert {'default/a': 'n2'} == 3"


@pytest.mark.parametrize(
    ("setting", "more"),
    [
        pytest.param("", ', extenders="pass"', id="argument"),
        pytest.param("kubescheduler_extenders = pass", "", id="setting"),
    ],
)
def test_extenders_are_passed_through(shop: Project, setting: str, more: str) -> None:
    """Where no extender runs, an argument or the setting says so, and the comparison notes it."""
    nobody = {"urlPrefix": "http://127.0.0.1:1/all", "filterVerb": "filter"}
    shop.write("dead.json", {"kind": "Policy", "apiVersion": "v1", "extenders": [nobody]})
    shop.write("pods.json", pod("web"))
    (shop.path / "pytest.ini").write_text(f"[pytest]\nkubescheduler_cluster = cluster.json\n{setting}\n")
    shop.test(
        "def test(compare_placements):\n"
        f'    found = compare_placements("policy=dead.json", "policy=dead.json", "pods.json"{more})\n'
        '    assert found.same and "PASSED THROUGH" in found.notes[0]\n'
    )
    shop.run(passed=1)


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: web}]}}
"""


@pytest.mark.parametrize("given", ['"web.yaml"', "TEXT", "yaml.safe_load(TEXT)"], ids=["file", "text", "manifest"])
def test_a_deployment_stands_for_its_pods(shop: Project, given: str) -> None:
    """Where pods are asked for, a controller with a pod template is taken: for comparisons and for a scheduler."""
    (shop.path / "web.yaml").write_text(DEPLOYMENT)
    shop.test(
        f"import yaml\nTEXT = {DEPLOYMENT!r}\n"
        "def test(cluster, scheduler):\n"
        f'    found = assert_same_placements("release=1.16", "release=1.16", cluster, {given})\n'
        '    assert [pod.pod for pod in found.pods] == ["default/web-0", "default/web-1", "default/web-2"]\n'
        f"    placed = scheduler.place({given})\n"
        "    assert list(placed) == [pod.pod for pod in found.pods]\n"
        "    assert None not in placed.values() and len(set(placed.values())) > 1\n"
    )
    shop.run(passed=1)
