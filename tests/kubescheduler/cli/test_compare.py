"""``kubescheduler compare``."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.kubescheduler.cli.conftest import Run, pod

RUNNING = pod("there", "150m", spec=", nodeName: n1") + pod("waits") + pod("waits-too")
NODES = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}}
"""
LEAST = '{"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "LeastRequestedPriority", "weight": 1}]}'
SPECS = ("--old", "policy=least.json", "--new", "release=1.20,policy=least.json")
HEAD = (
    "0 of 1 pods go elsewhere, 1 could have been there before, but has other equal best nodes now "
    "(every pod on the same cluster; the effects are of all pods put where each goes on its own).\n"
)
TABLE = """\

NAMESPACE   POD   1.16 least.json   TIED   1.20 least.json   TIED   CAUSE
default     web   n1                2      n2                1      could-have-been

CAUSE             1.20 least.json   MEANING
could-have-been   1                 the new host was among the old scheduler's equal best, of which it takes any

EFFECT                    BEFORE   1.16 least.json   1.20 least.json
pods placed               0        1                 1
pods without a node       0        0                 0
pods evicted              0        0                 0
nodes with pods           1        1                 2
nodes without             1        1                 0
pods on the fuller half   100.0%   100.0%            50.0%
cpu, mean                 1.9%     8.1%              8.1%
cpu, most                 3.8%     16.2%             12.5%
cpu, deviation            1.9%     8.1%              4.4%
memory, mean              0.0%     0.0%              0.0%
memory, most              0.0%     0.0%              0.0%
memory, deviation         0.0%     0.0%              0.0%

What now:
- to accept what differs: --tolerate could-have-been
"""

GATED = "kind: Pod\nmetadata: {name: p}\nspec: {schedulingGates: [{name: quota}], containers: [{name: c}]}\n"
FOREIGN = "kind: Pod\nmetadata: {name: other}\nspec: {schedulerName: other, containers: [{name: c}]}\n"


@pytest.fixture
def compare(kubescheduler: Run, folder: Path) -> Run:
    """``kubescheduler compare used.yaml`` with more arguments."""
    (folder / "used.yaml").write_text(NODES + RUNNING)
    (folder / "least.json").write_text(LEAST)
    return lambda *args, stdin=b"": kubescheduler("compare", "used.yaml", *args, stdin=stdin)


def test_the_same_twice(compare: Run) -> None:
    """A comparison of one configuration with itself says so: its status tells nothing."""
    note = "note: the configurations are all the same: nothing but chance could move a pod\n"
    for sides in (("--new", "release=1.16"), ("--old", "release=1.16,policy=least.json", "--new", "policy=least.json")):
        found = compare("--pods", "pod.yaml", *sides)
        assert (found.status, found.err) == (0, note)
    assert note not in compare("--pods", "pod.yaml", "--new", "release=1.16", "--new", "release=1.36").err


def test_the_tables(compare: Run) -> None:
    """The pods that moved, the causes, and what they do to the cluster."""
    found = compare("--pods", "pod.yaml", *SPECS)
    assert (found.status, found.out, found.err) == (1, HEAD + TABLE, "")


def test_runs_that_draw_ties(compare: Run) -> None:
    """MOVES stands beside the cause; a pod that stays by name and moves in some run is listed."""
    more = ("--tie-break", "upstream", "--seeds", "8")
    found = compare("--pods", "pod.yaml", *SPECS, *more)
    assert "! 1.20: in 8 runs with upstream's ties 0 to 1 (" in found.out
    assert found.status == 1
    head, row = next(
        two for two in zip(found.out.splitlines(), found.out.splitlines()[1:], strict=False) if "MOVES" in two[0]
    )
    assert head.split()[-1] == "MOVES"
    assert row.split()[-2:] == ["of", "8"]
    same = compare("--pods", "pod.yaml", "--old", "release=1.20,policy=least.json", "--new", "policy=least.json", *more)
    assert (same.status, "of 8" in same.out) == (1, True)


@pytest.mark.parametrize("mode", ["independent", "sequence"])
def test_effects_without_a_move(compare: Run, mode: str) -> None:
    """Where every pod goes where it went, the table has the effects, and nothing of pods and causes."""
    found = compare("--pods", "pod.yaml", "--new", "release=1.16", "--mode", mode)
    assert (found.status, found.lines[0][:6]) == (0, ["0", "of", "1", "pods", "go", "elsewhere"])
    assert ["pods", "placed", "0", "1", "1"] in found.lines
    assert "CAUSE" not in found.out
    document = json.loads(compare("--pods", "pod.yaml", "--new", "release=1.16", "--mode", mode, "-o", "json").out)
    assert [effects["placed"] for effects in document["effects"]] == [1, 1]


def test_workloads_stand_before_pods(compare: Run, folder: Path) -> None:
    """A Deployment has one row, whatever of its pods goes elsewhere; JSON and YAML have it too."""
    template = "metadata: {labels: {app: web}}, spec: {containers: [{name: c, resources: {requests: {cpu: 500m}}}]}"
    (folder / "web.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
        f"spec: {{replicas: 3, selector: {{matchLabels: {{app: web}}}}, template: {{{template}}}}}\n"
    )
    call = ("--pods", "web.yaml", "--pods", "pod.yaml", *SPECS)
    rows = compare(*call).lines
    at = rows.index(["NAMESPACE", "WORKLOAD", "PODS", "MOVED", "COULD", "HAVE", "BEEN", "UNPLACED", "MAIN", "CAUSE"])
    assert rows[at + 1][:3] == ["default", "Deployment/web", "3"]
    assert rows[at + 2][:3] == ["<none>", "<none>", "1"]
    assert rows[at + 4][:2] == ["NAMESPACE", "POD"]
    documents = json.loads(compare(*call, "-o", "json").out), yaml.safe_load(compare(*call, "-o", "yaml").out)
    for document in documents:
        assert [found["workload"] for found in document["workloads"]] == ["Deployment/web", "Pod/web"]
        assert sorted(found["workload"] for found in document["pods"]) == ["Deployment/web"] * 3 + ["Pod/web"]


def test_wide_says_why(compare: Run) -> None:
    """The differences of the totals, and a sentence."""
    found = compare("--pods", "pod.yaml", *SPECS, "-o", "wide")
    row = next(line for line in found.out.splitlines() if line.startswith("default"))
    assert row.split("   ")[-1].strip() == (
        "n2 was level and is 3 ahead against n1 (the old scheduler takes any of 2 equal nodes, this one too): "
        "scores are rounded differently "
        "(LeastRequestedPriority -> NodeResourcesLeastAllocated)"
    )


def test_nothing_moves(compare: Run) -> None:
    """Exit status 0."""
    found = compare("--pending", "--new", "release=1.16")
    assert found.status == 0
    assert found.out.startswith("0 of 2 pods go elsewhere")


@pytest.mark.parametrize(
    ("tolerated", "status"), [("tie-break", 1), ("could-have-been", 0), ("tie-break, could-have-been", 0)]
)
def test_tolerated_causes(compare: Run, tolerated: str, status: int) -> None:
    """They make no difference to the exit status."""
    found = compare("--pods", "pod.yaml", *SPECS, "--tolerate", tolerated)
    assert found.status == status
    assert ("(tolerated)" in found.out) == (status == 0)


def test_documents(compare: Run) -> None:
    """JSON and YAML hold the same; JUnit is XML; HTML is a page."""
    texts = {output: compare("--pending", *SPECS, "-o", output) for output in ("json", "yaml", "junit", "html")}
    document = json.loads(texts["json"].out)
    assert document == yaml.safe_load(texts["yaml"].out)
    assert [one["pod"] for one in document["pods"]] == ["default/waits", "default/waits-too"]
    (suite,) = ElementTree.fromstring(texts["junit"].out)
    assert suite.get("failures") == "2"
    assert texts["html"].out.lower().startswith("<!doctype html>")


def test_a_sequence_and_several_columns(compare: Run) -> None:
    """Each scheduler goes on from its own choices; a column for each new one."""
    columns = (*SPECS, "--new", "release=1.36")
    found = compare("--pending", *columns, "--mode", "sequence", "-o", "json")
    document = json.loads(found.out)
    assert document["mode"] == "sequence"
    assert [column["name"] for column in document["columns"]] == ["1.16", "1.20", "1.36"]
    assert [one["changes"][0]["cause"] for one in document["pods"]] == ["could-have-been", "same"]
    assert [use["pods"] for use in document["effects"][1]["nodes"]] == [2, 1]
    table = compare("--pending", *columns)
    old, new = ["1.16", "least.json", "TIED"], ["1.20", "least.json", "TIED", "CAUSE", "1.36", "TIED", "CAUSE"]
    assert table.lines[2] == ["NAMESPACE", "POD", *old, *new]


def test_a_trace(kubescheduler: Run, folder: Path) -> None:
    """Nodes and pods of a trace, in order of creation, and only the first ones; its services show how pods spread."""
    (folder / "nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nn-0,4000,8192,0,\nn-1,8000,8192,1,V100\n")
    head = "name,cpu_milli,memory_mib,num_gpu,gpu_spec,qos,creation_time,deletion_time\n"
    (folder / "pods.csv").write_text(f"{head}b,100,100,0,,LS,7,9\na,4000,1024,0,,LS,0,50\nc,1,1,0,,LS,8,9\n")
    found = kubescheduler(
        "compare", "nodes.csv", "--pods", "pods.csv", "--limit", "2", "--new", "release=1.36", "-o", "json"
    )
    document = json.loads(found.out)
    assert [one["pod"] for one in document["pods"]] == ["default/a", "default/b"]
    assert document["effects"][0]["spread"][0]["service"] == "default/ls"


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        pytest.param(["--new", "release=1.36"],
                     ["say which pods to compare: one of --pods FILE, --pending and --running"], id="no pods"),
        pytest.param(["--pending"], ["Missing option '--new' / '--new-spec'."], id="nothing new"),
        pytest.param(["--pods", "gone.yaml", "--old", "relase=1.4", "--new", "release=1.36,policy=p", "--tolerate",
                     "tie-brake"], ["--tolerate: tie-brake is no cause; did you mean tie-break?",
                     "--old: relase=1.4: relase: there is no such key; did you mean release?",
                     "--new: unknown flag: --policy-config-file", "gone.yaml: no such file"], id="everything"),
        pytest.param(["--pending", "--new", "release=1.36", "--mode", "both"],
                     ["'both' is not one of independent, sequence"], id="mode"),
        pytest.param(["--pending", "--new", "release=1.36", "--seeds", "5"],
                     ["seeds: 5 are given, but nothing is drawn; give the tie-break upstream too"],
                     id="seeds without ties"),
        pytest.param(["--pending", "--new", "release=1.36", "--tie-break", "upstream", "--seeds", "20000"],
                     ["seeds: 20000 are more than 10,000 seeds; to allow more: kubescheduler --max seeds=NUMBER"],
                     id="too many seeds"),
    ],
)  # fmt: skip
def test_wrong_input(compare: Run, arguments: list[str], messages: list[str]) -> None:
    """Exit status 2, and every fault in one go."""
    found = compare(*arguments)
    assert (found.status, found.out) == (2, "")
    for message in messages:
        assert message in found.err


OWN = """
from algorithmprovider import register_fit_predicate
from kubescheduler.core.status import Status


def algorithms():
    register_fit_predicate("NotOnN1", lambda pod, meta, node_info: (node_info.name != "n1", ["not here"]))


class NotOnN1:
    name = "NotOnN1"

    def filter(self, state, pod, node_info):
        return Status.unschedulable("not here") if node_info.name == "n1" else None
"""
PROFILE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: NotOnN1}]}}
"""


def test_plugins_of_both_kinds(folder: Path, kubescheduler: Run, own_algorithms: None) -> None:
    """Each release takes what is for it: the new scheduler refuses a node for a custom plugin."""
    (folder / "plugin_own.py").write_text(OWN)
    (folder / "own.yaml").write_text(PROFILE)
    own = ("--plugin", "plugin_own:algorithms", "--plugin", "plugin_own:NotOnN1")
    done = kubescheduler(
        "compare", "cluster.yaml", "--pods", "pod.yaml", "--new", "release=1.36,config=own.yaml", *own, "-o", "wide"
    )
    assert (done.status, "filtered-now" in done.out) == (1, True), done.err


# --- what is never green ---------------------------------------------------------------------

DEAD = """\
kind: Policy
apiVersion: v1
extenders:
- {urlPrefix: "http://127.0.0.1:1/x", prioritizeVerb: prioritize, weight: 1}
"""


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "html", "junit", "github"])
def test_extenders_that_are_passed_over_leave_nothing_to_compare(compare: Run, folder: Path, output: str) -> None:
    """Where none answers on either side: exit status 2, and every output says so."""
    (folder / "dead.yaml").write_text(DEAD)
    sides = ("--old", "policy=dead.yaml", "--new", "release=1.20,policy=dead.yaml")
    found = compare("--pods", "pod.yaml", *sides, "-o", output)
    assert found.status == 2
    said = {
        "table": "none of 1 pod could be compared",
        "wide": "error of 1 pod: the old scheduler ",
        "json": '"errors": 1',
        "yaml": "same: false",
        "html": "could be compared",
        "junit": 'errors="1"',
        "github": "::error title=default.Pod/web::web: ",
    }
    assert said[output] in found.out


@pytest.mark.parametrize(("more", "status"), [("", 2), (", ignorable: true", 0)])
def test_extenders_that_are_passed_over_release_by_release(compare: Run, folder: Path, more: str, status: int) -> None:
    """Steps are no answer either where scores are missing, unless the policy says that pods go without them."""
    (folder / "dead.yaml").write_text(DEAD.replace("weight: 1", f"weight: 1{more}"))
    found = compare(
        "--pods", "pod.yaml", "--old", "policy=dead.yaml", "--new", "release=1.20,policy=dead.yaml", "--steps"
    )
    assert found.status == status
    assert "went on without its extender: Post" in " ".join((found.err if status else found.out).split())


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "html", "junit", "github"])
def test_extenders_that_are_ignorable_leave_a_note(compare: Run, folder: Path, output: str) -> None:
    """As in `schedule`: the pods are compared as each release decides without them."""
    (folder / "dead.yaml").write_text(DEAD.replace("weight: 1", "weight: 1, ignorable: true"))
    sides = ("--old", "policy=dead.yaml", "--new", "policy=dead.yaml")
    found = compare("--pods", "pod.yaml", *sides, "-o", output)
    assert found.status == 0
    assert "went on without its extender: Post" in " ".join(found.out.split())


def test_an_error_is_not_tolerable(compare: Run) -> None:
    """Nothing was compared, and nobody can accept that."""
    found = compare("--pods", "pod.yaml", "--new", "release=1.36", "--tolerate", "error")
    found.refused("--tolerate: an error cannot be tolerated: nothing was compared")


# --- running pods ----------------------------------------------------------------------------

REPLICAS = "".join(
    pod(f"web-{at}", metadata=", labels: {app: web}", spec=f", nodeName: n{1 + at % 2}") for at in range(30)
)
AGENT = "ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: a, uid: a, controller: true}]"
RUN = NODES.replace('cpu: "4"', 'cpu: "8"') + REPLICAS + pod("agent", metadata=f", {AGENT}", spec=", nodeName: n1")
TAKEN_OUT = "! each of the 30 running pods was taken out of the cluster and decided anew\n"
LEFT = "note: left out: 1 pod of DaemonSets or static\n"


@pytest.mark.parametrize(
    ("arguments", "notes"),
    [
        pytest.param(["run.yaml", "--running"], LEFT, id="all"),
        pytest.param(["--running", "run.yaml"], LEFT, id="a file is no selector"),
        pytest.param(["run.yaml", "--running", "app=web"], "", id="labels"),
        pytest.param(["run.yaml", "--pods", "run.yaml"], LEFT, id="given and there"),
        pytest.param(["nodes.yaml", "--pods", "run.yaml"], LEFT, id="given with their nodes"),
    ],
)
def test_running_pods(kubescheduler: Run, folder: Path, arguments: list[str], notes: str) -> None:
    """Each is decided in the cluster without it; one note says so, and one what is left out."""
    (folder / "run.yaml").write_text(RUN)
    (folder / "nodes.yaml").write_text(NODES.replace('cpu: "4"', 'cpu: "8"'))
    (folder / "least.json").write_text(LEAST)
    found = kubescheduler("compare", *arguments, *SPECS)
    assert (found.status, found.err, found.out.count(TAKEN_OUT)) == (0, notes, 1)
    assert found.out.startswith("0 of 30 pods go elsewhere (every pod on the same cluster")
    assert ["pods", "placed", "30", "30", "30"] in found.lines
    document = json.loads(kubescheduler("compare", *arguments, *SPECS, "-o", "json").out)
    assert {one["pod"]: one["runsOn"] for one in document["pods"]} == {
        f"default/web-{at}": f"n{1 + at % 2}" for at in range(30)
    }


def test_where_they_run_stands_in_the_table(kubescheduler: Run, folder: Path) -> None:
    """A column says where the pods that go elsewhere run."""
    (folder / "run.yaml").write_text(NODES + pod("web", spec=", nodeName: n2") + pod("there", spec=", nodeName: n1"))
    (folder / "most.json").write_text(LEAST.replace("Least", "Most"))
    found = kubescheduler(
        "compare", "run.yaml", "--running", "pod/web", "--old", "policy=most.json", "--new", "release=1.36"
    )
    assert found.status == 1
    assert ["NAMESPACE", "POD", "RUNS", "ON"] in [line[:4] for line in found.lines]
    assert ["default", "web", "n2", "n1"] in [line[:4] for line in found.lines]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--running", "--pending"], "one of --pods FILE, --pending and --running", id="two at once"),
        pytest.param(["--running", "--mirror", "m"], "--mirror has a cluster", id="a mirror"),
        pytest.param(["--running", "app=wbe"], "no running pod is picked by app=wbe; write labels as", id="nothing"),
        pytest.param(["--running", "app=,=x"], "is no selector of pods", id="no selector"),
    ],
)
def test_running_pods_that_cannot_be_picked(compare: Run, arguments: list[str], message: str) -> None:
    """An error, as nothing would be compared."""
    compare(*arguments, *SPECS).refused(message)


@pytest.mark.parametrize(
    ("pods", "arguments", "message"),
    [
        pytest.param("", ["--pending", "--new", "release=1.20"], "there is no pod to compare", id="none is pending"),
        pytest.param(
            FOREIGN,
            ["--pods", "pods.yaml", "--new", "release=1.20"],
            "left out: default/other, which no scheduler",
            id="foreign",
        ),
        pytest.param(
            FOREIGN, ["--pods", "pods.yaml", "--new", "release=1.20", "--steps"], "left out: default/other", id="steps"
        ),
        *(
            pytest.param(
                GATED,
                ["--pods", "pods.yaml", "--old", "release=1.35", "--new", "release=1.36", *more],
                "which no scheduler here tries: waiting for scheduling gates: [quota]",
                id=f"gated{''.join(more)}",
            )
            for more in ([], ["--steps"])
        ),
    ],
)
def test_comparing_nothing_is_an_error(
    kubescheduler: Run, folder: Path, pods: str, arguments: list[str], message: str
) -> None:
    """That no pod goes elsewhere would be said of none."""
    (folder / "nodes.yaml").write_text(NODES)
    (folder / "pods.yaml").write_text(pods)
    kubescheduler("compare", "nodes.yaml", *arguments).refused(message)


@pytest.mark.parametrize("steps", [(), ("--steps",)], ids=["columns", "steps"])
def test_pods_of_other_schedulers_are_left_out(compare: Run, folder: Path, steps: tuple[str, ...]) -> None:
    """They are not among those that stay, and a note says so."""
    other = "metadata: {name: %s}\nspec: {schedulerName: other, containers: [{name: c}]}"
    pods = [
        FOREIGN,
        f"kind: Pod\n{other % 'third'}",
        "kind: Pod\nmetadata: {name: mine}\nspec: {containers: [{name: c}]}",
    ]
    (folder / "pods.yaml").write_text("\n---\n".join(pods))
    found = compare("--pods", "pods.yaml", "--new", "release=1.20", *steps)
    assert "0 of 1 pods go elsewhere" in found.out
    assert "left out: 2 pods, default/other among them, which no scheduler here tries: profile not found" in found.out


@pytest.mark.parametrize("steps", [(), ("--steps",)], ids=["columns", "steps"])
def test_gated_pods_are_left_out(kubescheduler: Run, folder: Path, steps: tuple[str, ...]) -> None:
    """What gates hold back everywhere is not among those that stay; what an older release places is a change."""
    (folder / "nodes.yaml").write_text(NODES)
    mine = "kind: Pod\nmetadata: {name: mine}\nspec: {containers: [{name: c}]}"
    (folder / "pods.yaml").write_text(f"{GATED}\n---\n{mine}")
    asked = ("compare", "nodes.yaml", "--pods", "pods.yaml", "--new", "release=1.36", *steps)
    found = kubescheduler(*asked, "--old", "release=1.35")
    assert "0 of 1 pods go elsewhere" in found.out
    assert "left out: default/p, which no scheduler here tries: waiting for scheduling gates: [quota]" in found.out
    assert "1 of 2 pods goes elsewhere" in kubescheduler(*asked, "--old", "release=1.20").out


MOVES = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
spec: {taints: [{key: a, value: b, effect: PreferNoSchedule}]}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}, allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}, allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: full, namespace: default}
spec: {nodeName: n2, containers: [{name: c, resources: {requests: {cpu: 3800m, memory: 7600Mi}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec:
  affinity:
    nodeAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 1, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}}
  containers: [{name: c, image: x, resources: {requests: {cpu: 100m, memory: 100Mi}}}]
"""
"""A pod that goes to the emptier node while its soft taint weighs 1, and to the other since it weighs 3."""
MOVED = """\
1 of 1 pod goes elsewhere at some step from 1.22 to 1.24.

NAMESPACE   WORKLOAD   PODS   MOVED   STEPS
default     Pod/web    1      1       1.23: n1 to n2 (taint-toleration-weighs-3)

CHANGE                      RELEASE   WHAT IS DIFFERENT
taint-toleration-weighs-3   1.23      TaintToleration weighs 3 by default, NodeAffinity and InterPodAffinity 2; \
before, and in configurations of v1beta2, 1.
"""


def test_the_step_at_which_a_pod_moves(kubescheduler: Run, folder: Path) -> None:
    """It is named with the change without which the pod stays; nothing moves where there is no such step."""
    (folder / "moves.yaml").write_text(MOVES)
    asked = ("compare", "moves.yaml", "--pending", "--steps", "--old")
    moved = kubescheduler(*asked, "release=1.22", "--new", "release=1.24")
    assert (moved.status, moved.out) == (1, MOVED)
    found = json.loads(kubescheduler(*asked, "release=1.22", "--new", "release=1.24", "-o", "json").out)
    assert found["releases"] == ["1.22", "1.23", "1.24"]
    [web] = found["pods"]
    assert web["hosts"] == ["n1", "n2", "n2"]
    assert [(move["release"], move["changes"], move["cause"]) for move in web["moves"]] == [
        ("1.23", ["taint-toleration-weighs-3"], "changed-weight")
    ]
    page = kubescheduler(*asked, "release=1.22", "--new", "release=1.24", "-o", "html")
    assert page.status == 1
    assert "<title>1 of 1 pod goes elsewhere at some step from 1.22 to 1.24</title>" in page.out
    stays = kubescheduler(*asked, "release=1.23", "--new", "release=1.24")
    assert (stays.status, stays.out) == (0, "0 of 1 pods go elsewhere at some step from 1.23 to 1.24.\n")


def test_a_release_without_one_of_its_changes(kubescheduler: Run, folder: Path) -> None:
    """It is a side like any other."""
    (folder / "moves.yaml").write_text(MOVES)
    old = "release=1.23~taint-toleration-weighs-3"
    outcome = kubescheduler("compare", "moves.yaml", "--pending", "--old", old, "--new", "release=1.23")
    assert outcome.status == 1
    assert ["default", "web", "n1", "1", "n2", "1", "changed-weight"] in outcome.lines


@pytest.mark.parametrize(
    ("more", "message"),
    [
        pytest.param(["--new", "release=1.30"], "one --new: the steps lead to one", id="two releases"),
        pytest.param(["--mode", "sequence"], "no --mode sequence: earlier choices", id="sequence"),
        pytest.param(["--tie-break", "upstream"], "no --tie-break upstream: chance would", id="ties drawn"),
        pytest.param(["--ties", "strict"], "no --ties strict: a pod moves where", id="strict"),
        pytest.param(["--tolerate", "tie-break"], "no --tolerate: every pod that moves", id="tolerated"),
        pytest.param(["-o", "junit"], "no -o junit: steps are shown as table, json, yaml or html", id="junit"),
        pytest.param(["--old", "release=1.36"], "say the older release first", id="order"),
    ],
)
def test_what_steps_refuse(kubescheduler: Run, folder: Path, more: list[str], message: str) -> None:
    """It is an error, and nothing is compared."""
    (folder / "moves.yaml").write_text(MOVES)
    outcome = kubescheduler("compare", "moves.yaml", "--pending", "--steps", "--new", "release=1.22", *more)
    assert (outcome.status, outcome.out) == (2, "")
    assert message in " ".join(outcome.err.split())
