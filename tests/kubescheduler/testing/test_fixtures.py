"""The fixtures cluster, scheduler and compare_placements, their markers and settings."""

from __future__ import annotations

import pytest

from kubescheduler.testing.named_inputs import spec_of
from tests.kubescheduler.testing.conftest import Project, node, pod

POD = 'POD = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}\n'


def test_cluster_by_marker(project: Project) -> None:
    """The marker names files beside the test, else in the root folder, and wins over the setting; several make one."""
    project.write("pytest.ini", "[pytest]\nkubescheduler_cluster = nowhere.json\n")
    project.write("sub/cluster.json", [node("a"), node("b")])
    project.write("more.json", node("more"))
    project.test(
        '@pytest.mark.cluster("cluster.json", "more.json")\n'
        'def test(cluster):\n    assert [o.metadata.name for o in cluster.objects] == ["a", "b", "more"]',
        "sub/test_it.py",
    )
    project.run(passed=1)


def test_cluster_by_setting(shop: Project) -> None:
    """Names in the setting are those of the root folder, wherever the test is."""
    shop.write("sub/cluster.json", node("wrong"))
    shop.test("def test(cluster):\n    assert len(cluster.objects) == 5", "sub/test_it.py")
    shop.run(passed=1)


def test_cluster_is_read_once(shop: Project) -> None:
    """Tests share what was read, until the file changes."""
    shop.test(
        "from pathlib import Path\n"
        "found = []\n"
        "def test_one(cluster):\n    found.append(cluster)\n"
        "def test_two(cluster):\n    assert found == [cluster]\n"
        '    Path(\'cluster.json\').write_text(\'{"kind": "Node", "metadata": {"name": "only"}}\')\n'
        "def test_three(cluster):\n    assert len(cluster.objects) == 1\n"
    )
    shop.run(passed=3)


def test_scheduler_decides_and_runs_on(shop: Project) -> None:
    """Schedule leaves the cluster as it is; place puts every pod there before the next."""
    shop.write("pods.json", [pod("a", "3"), pod("b", "3"), pod("c", "3")])
    shop.test(
        f"{POD}"
        "def test(scheduler):\n"
        '    assert [scheduler.schedule(POD).host for _ in range(2)] == ["n2", "n2"]\n'
        '    placed = scheduler.place("pods.json", POD)\n'
        '    assert placed == {"default/a": "n2", "default/b": "n1", "default/c": None, "default/web": "n2"}\n'
        '    assert placed.decisions["default/c"].message.startswith("0/3 nodes are available")\n'
        "def test_again(scheduler):\n"
        '    assert scheduler.schedule(POD).host == "n2"\n'
    )
    shop.run(passed=2)


@pytest.mark.parametrize(
    ("marker", "host", "release"),
    [
        pytest.param("", "n2", "1.16", id="default"),
        pytest.param('@pytest.mark.scheduler("release=1.4")', "n2", "1.4", id="release"),
        pytest.param('@pytest.mark.scheduler("policy=packing.json")', "n1", "1.16", id="policy"),
        pytest.param('@pytest.mark.scheduler(release="1.20", policy="packing.json")', "n1", "1.20", id="keywords"),
        pytest.param(
            'from kubescheduler.engine.spec import EngineSpec\n@pytest.mark.scheduler(EngineSpec(release="1.36"))',
            "n2",
            "1.36",
            id="described",
        ),
    ],
)
def test_scheduler_by_marker(marker: str, host: str, release: str, shop: Project) -> None:
    """The marker describes a scheduler of any release; without one it is the default of 1.16."""
    shop.write("pod.json", pod("web"))
    shop.test(
        f"{marker}\ndef test(scheduler):\n    decision = scheduler.schedule('pod.json')\n"
        f"    assert (decision.host, decision.release) == ({host!r}, {release!r})"
    )
    shop.run(passed=1)


def test_scheduler_by_setting(project: Project) -> None:
    """The setting describes the scheduler of tests without a marker; files are those of the root folder."""
    project.write(
        "pytest.ini",
        "[pytest]\nkubescheduler_cluster = cluster.json\nkubescheduler_scheduler = release=1.16,policy=packing.json\n",
    )
    project.write("sub/pod.json", pod("web"))
    project.test('def test(scheduler):\n    assert scheduler.schedule("pod.json").host == "n1"', "sub/test_it.py")
    project.run(passed=1)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param('"pod.json"', id="file"),
        pytest.param('__import__("pathlib").Path("pod.json")', id="path"),
        pytest.param('{"metadata": {"name": "web"}, "spec": {"containers": []}}', id="manifest"),
        pytest.param('"kind: Pod\\nmetadata: {name: web}\\nspec: {containers: []}\\n"', id="YAML"),
        pytest.param('\'{"metadata": {"name": "web"}, "spec": {"containers": []}}\'', id="JSON"),
        pytest.param("Pod(ObjectMeta('web', 'default'))", id="object"),
        pytest.param("['pod.json']", id="list"),
    ],
)
def test_pods_are_given_in_many_ways(given: str, shop: Project) -> None:
    """A file name, a path, a manifest, YAML or JSON text, an object; alone or in a list."""
    shop.write("pod.json", pod("web"))
    shop.test(
        "from clusterstate.objects import ObjectMeta, Pod\n"
        f"def test(scheduler):\n    assert scheduler.place({given}) == {{'default/web': 'n2'}}"
    )
    shop.run(passed=1)


def test_own_cluster_fixture_wins(project: Project) -> None:
    """A project's own fixture named cluster gives the scheduler its cluster, in any of the ways to give one."""
    project.test(
        f"{POD}"
        '@pytest.fixture\ndef cluster():\n    return {"kind": "Node", "metadata": {"name": "mine"},\n'
        '        "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "1"}}}\n'
        'def test(scheduler):\n    assert scheduler.schedule(POD).host == "mine"'
    )
    project.run(passed=1)


def test_compare_placements(shop: Project) -> None:
    """The fixture compares in the test's cluster or in another, and returns the comparison."""
    shop.write("one.json", node("one"))
    shop.test(
        f"{POD}"
        'OLD, NEW = "release=1.16", "release=1.16,policy=packing.json"\n'
        "def test(compare_placements):\n"
        "    comparison = compare_placements(OLD, NEW, POD)\n"
        '    assert [o.host for o in comparison.pods[0].outcomes] == ["n2", "n1"]\n'
        "    assert not comparison.same\n"
        '    assert compare_placements(OLD, NEW, POD, cluster="one.json", mode="sequence").same\n'
    )
    shop.run(passed=1)


# --- wrong input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        pytest.param("def test(cluster): ...",
                     ['kubescheduler: no cluster: mark the test with @pytest.mark.cluster("cluster.yaml"), '
                     "or set kubescheduler_cluster in pytest's settings"], id="no cluster"),
        pytest.param("@pytest.mark.cluster()\ndef test(cluster): ...",
                     ['kubescheduler: @pytest.mark.cluster: name files, as in @pytest.mark.cluster("cluster.yaml")'],
                     id="no file"),
        pytest.param(
            '@pytest.mark.cluster("cluster.json", 3)\ndef test(cluster): ...',
            ["kubescheduler: cluster: expected a file name, a manifest, YAML or JSON text, or an object, found 3"],
            id="no name",
        ),
        pytest.param('@pytest.mark.cluster("bad.json")\ndef test(cluster): ...',
                     ["kubescheduler: 2 faults", "- bad.json: Node a: status.allocatable: must be an object, not 4",
                     '- bad.json: Node b: metadata.labels: must be an object, not "x"'], id="bad objects"),
        pytest.param('@pytest.mark.cluster("cluster.json")\n@pytest.mark.scheduler()\ndef test(scheduler): ...',
                     ["kubescheduler: @pytest.mark.scheduler: describe one scheduler, as in "
                     '@pytest.mark.scheduler("release=1.16,policy=policy.json")'], id="no scheduler"),
        pytest.param('@pytest.mark.cluster("none.json")\n@pytest.mark.scheduler("provider=Default,relase=1")\n'
                     "def test(scheduler): ...", ["kubescheduler: 2 faults",
                     "- none.json: no such file or folder in {path}",
                     "- provider=Default,relase=1: relase: there is no such key; did you mean release?"], id="both"),
        pytest.param('@pytest.mark.cluster("cluster.json")\n@pytest.mark.scheduler(42)\ndef test(scheduler): ...',
                     ['kubescheduler: scheduler: expected text like "release=1.16,policy=policy.json", found 42'],
                     id="no text"),
    ],
)  # fmt: skip
def test_wrong_markers(body: str, lines: list[str], project: Project) -> None:
    """A test whose cluster or scheduler cannot be had is told every fault, and nothing else."""
    project.write(
        "bad.json",
        [{**node("a"), "status": {"allocatable": 4}}, {"kind": "Node", "metadata": {"name": "b", "labels": "x"}}],
    )
    project.write("pytest.ini", "[pytest]\n")
    found = project.fault(body)
    assert found == [line.replace("{path}", str(project.path)) for line in lines]


@pytest.mark.parametrize(
    ("call", "lines"),
    [
        pytest.param('schedule("two.json")',
                     ["schedule takes one pod, found default/a, default/b; use place for several"], id="two"),
        pytest.param(
            'schedule({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "x"}, "spec": {"template": '
            '{"spec": {"nodeSelector": {"a": "b"}, "containers": [{"name": "c"}]}}}})',
            ["schedule takes one pod, found none"],
            id="on no node",
        ),
        pytest.param("place()", ["pods: no pods in it; give a manifest of kind Pod"], id="none"),
        pytest.param('place("two.json", "two.json")', ["2 faults",
                     "- Pod default/a: it is 2 times in pods; rename the others",
                     "- Pod default/b: it is 2 times in pods; rename the others"], id="twice"),
        pytest.param('place({"metadata": {"name": "old"}, "spec": {"containers": []}})',
                     ["Pod default/old: it runs on n1; remove it there, or give the pod another name"], id="running"),
        pytest.param('place({"metadata": {}, "spec": {"containers": 7}}, 5, "none.yaml")',
                     ["4 faults", "- none.yaml: no such file or folder in {path}",
                     "- manifest: Pod: metadata.name: missing; every object needs a name",
                     "- manifest: Pod: spec.containers: must be a list, not 7",
                     "- pods: expected a file name, a manifest, YAML or JSON text, or an object, found 5"],
                     id="several"),
        pytest.param('place("kind: Node\\nmetadata: {name: n1}")',
                     ["pods: no pods in it (found: 1 Node); give a manifest of kind Pod"], id="no pod"),
        pytest.param(
            'place(["a: b\\n\\tc"])',
            ["text: line 2, column 1: a tab in the indentation; YAML takes only spaces there"],
            id="no YAML",
        ),
        pytest.param('place({"metadata": {"name": [1, 2]}, "spec": 7})',
                     ["2 faults", "- manifest: Pod: metadata.name: must be text, not a list",
                     "- manifest: Pod: spec: must be an object, not 7"], id="no JSON"),
    ],
)  # fmt: skip
def test_wrong_pods(call: str, lines: list[str], shop: Project) -> None:
    """Pods that cannot be had fail the test at its own line, with every fault."""
    shop.write("two.json", [pod("a"), pod("b")])
    message = shop.message(f"def test(scheduler):\n    scheduler.{call}")
    expected = [line.replace("{path}", str(shop.path)) for line in lines]
    assert message == ["pytest.UsageError: kubescheduler: " + expected[0], *expected[1:]]


def test_placed_pod_runs(shop: Project) -> None:
    """A pod that was placed cannot be placed again."""
    shop.write("pod.json", pod("web"))
    body = 'def test(scheduler):\n    scheduler.place("pod.json")\n    scheduler.place("pod.json")'
    [line] = shop.message(body)
    assert line.endswith("Pod default/web: it runs on n2; remove it there, or give the pod another name")


def test_description_is_told_in_one_line(project: Project) -> None:
    """A description goes into a message as the text that makes it, files without folders."""
    spec = spec_of("release=1.16,policy=packing.json,percentage-of-nodes-to-score=50", [project.path])
    assert spec.policy_file == str(project.path / "packing.json")
    assert spec.text == "release=1.16,policy=packing.json,percentage-of-nodes-to-score=50"
