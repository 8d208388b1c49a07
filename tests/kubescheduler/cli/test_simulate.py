"""``kubescheduler simulate``."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest

from kubescheduler.report.simulator_export import PREFIX
from tests.kubescheduler.cli.conftest import Run, pod

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {kubescheduler/duration: 1m}}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, resources: {requests: {cpu: "2"}}}]}
"""
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn-0,4000,8192,0,\nn-1,8000,8192,1,V100\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "a,4000,1024,0,0,,LS,Running,0,50,0\nb,1000,1024,1,1000,V100,BE,Running,10,50,10\n"
)
SUMMARY = """\
PODS:              4
PLACED:            4
RUNNING:           0
FINISHED:          4
PENDING:           0
PREEMPTED:         0
LOST:              0
WITHDRAWN:         0
ATTEMPTS:          5
PREEMPTIONS:       0
WAITED, MEAN:      15 s
WAITED, LONGEST:   60 s
LASTED:            120 s

RESOURCE   CAPACITY   MEAN    PEAK     END
cpu        6          66.7%   100.0%   0.0%
memory     12Gi       0.0%    0.0%     0.0%
pods       220        0.9%    1.4%     0.0%
"""


@pytest.fixture
def simulate(kubescheduler: Run, folder: Path) -> Run:
    """``kubescheduler simulate cluster.yaml`` with more arguments."""
    (folder / "web.yaml").write_text(WEB)
    return lambda *args, stdin=b"": kubescheduler("simulate", "cluster.yaml", *args, stdin=stdin)


def test_the_summary(simulate: Run) -> None:
    """Counts, waits, and how much of each resource was used."""
    outcome = simulate("--workload", "web.yaml")
    assert (outcome.status, outcome.out, outcome.err) == (0, SUMMARY, "")


def test_pending_pods_and_preemptions(simulate: Run) -> None:
    """Why pods wait; who had to go for whom; the exit status says that not every pod got a node."""
    more = WEB + pod("vip", "4", spec=", priority: 5").replace(
        "vip", "vip, annotations: {kubescheduler/arrives-after: 1s}"
    )
    outcome = simulate(
        "--workload",
        "-",
        "--preempt",
        "--grace",
        "5",
        "-o",
        "wide",
        stdin=more.encode() + b"---\n" + pod("huge", "64").encode(),
    )
    assert outcome.status == 1
    assert ["1", "2", "Insufficient", "cpu"] in outcome.lines
    assert ["1", "default/vip", "n1", "default/web-2,", "default/web-0"] in outcome.lines or [
        *("1", "default/vip", "n1", "default/web-0,", "default/web-2"),
    ] in outcome.lines
    rows = {line[1]: line for line in outcome.lines if line and line[0] == "default"}
    assert rows["huge"][2:8] == ["0", "<none>", "<none>", "<none>", rows["huge"][6], "pending"]
    assert rows["vip"][3] == "6"
    assert [line[0] for line in outcome.lines if line and line[0] in ("n1", "n2")] == ["n1", "n2"]


def test_json_has_everything(simulate: Run) -> None:
    """And the same run gives the same bytes."""
    outcome = simulate("--workload", "web.yaml", "-o", "json")
    assert outcome.out == simulate("--workload", "web.yaml", "-o", "json").out
    report = json.loads(outcome.out)
    assert report["counts"]["placed"] == 4
    assert report["resources"] == ["cpu", "memory", "pods"]
    assert report["timeline"] == [
        [0.0, 1, [6000, 0, 3], [6000, 12 << 30, 220]],
        [60.0, 0, [2000, 0, 1], [6000, 12 << 30, 220]],
        [120.0, 0, [0, 0, 0], [6000, 12 << 30, 220]],
    ]
    assert [record["placed"] for record in report["pods"]] == [0.0, 0.0, 0.0, 60.0]
    assert report["nodes"][0]["name"] == "n1"
    assert report["preemptions"] == []


@pytest.mark.parametrize(("output", "lines", "first"), [("csv", 5, "namespace"), ("timeline", 4, "time")])
def test_csv(simulate: Run, output: str, lines: int, first: str) -> None:
    """A line a pod, or a line a moment."""
    rows = list(csv.reader(io.StringIO(simulate("--workload", "web.yaml", "-o", output).out)))
    assert (len(rows), rows[0][0]) == (lines, first)
    assert len({len(row) for row in rows}) == 1


def test_traces(kubescheduler: Run, folder: Path) -> None:
    """Nodes and pods as CSV."""
    (folder / "nodes.csv").write_text(NODES)
    (folder / "pods.csv").write_text(PODS)
    outcome = kubescheduler("simulate", "nodes.csv", "--workload", "pods.csv", "-o", "csv", "--plot", "a.svg")
    assert outcome.status == 0
    assert [row.split(",")[5] for row in outcome.out.splitlines()[1:]] == ["n-1", "n-1"]
    assert (folder / "a.svg").read_text().startswith("<svg ")


@pytest.mark.parametrize(
    ("arguments", "piped"),
    [(("nodes.csv", "--workload", "-"), PODS), (("-", "--workload", "pods.csv"), NODES)],
    ids=["pods", "nodes"],
)
def test_a_trace_on_standard_input(kubescheduler: Run, folder: Path, arguments: tuple[str, ...], piped: str) -> None:
    """CSV is known by its first line."""
    (folder / "nodes.csv").write_text(NODES)
    (folder / "pods.csv").write_text(PODS)
    by_name = kubescheduler("simulate", "nodes.csv", "--workload", "pods.csv", "-o", "csv")
    assert kubescheduler("simulate", *arguments, "-o", "csv", stdin=piped.encode()) == by_name
    packed = gzip.compress(piped.encode())
    assert kubescheduler("simulate", *arguments, "-o", "csv", stdin=packed) == by_name


def test_faults_of_a_trace_on_standard_input_name_it(kubescheduler: Run, folder: Path) -> None:
    """And the line."""
    (folder / "nodes.csv").write_text(NODES)
    for piped, fault in (
        ((PODS.replace("\n", ",x\n", 1) + "a,b,c\n").encode(), "standard input: line"),
        (gzip.compress(PODS.encode())[:-9], "standard input: cannot be unpacked: Compressed file ended"),
    ):
        kubescheduler("simulate", "nodes.csv", "--workload", "-", stdin=piped).refused(fault)


def test_pending_pods_of_the_cluster_come_if_asked_for(kubescheduler: Run) -> None:
    """At the start."""
    args = ("simulate", "cluster.yaml", "pod.yaml", "--workload", "-", "-o", "csv")
    assert "web" not in kubescheduler(*args, stdin=pod("other").encode()).out
    assert "default,web,0,0" in kubescheduler(*args, "--pending", stdin=pod("other").encode()).out


@pytest.mark.parametrize("release", ["1.4", "1.16"])
def test_every_release_has_its_queue(simulate: Run, release: str) -> None:
    """1.4 tries the fourth pod again when its waits end, not when room is made."""
    report = json.loads(simulate("--workload", "web.yaml", "--release", release, "-o", "json").out)
    assert max(record["placed"] for record in report["pods"]) == {"1.4": 63.0, "1.16": 60.0}[release]


def test_every_fault_is_told_at_once(simulate: Run) -> None:
    """Of the policy, the workload and the picture."""
    bad = pod("a", metadata=", annotations: {kubescheduler/duration: soon}")
    outcome = simulate("--workload", "-", "--algorithm-provider", "Defaut", "--plot", "a.gif", stdin=bad.encode())
    assert (outcome.status, outcome.out) == (2, "")
    for problem in ("Defaut", "is no duration", "the name says no format"):
        assert problem in outcome.err


def test_standard_input_is_read_once(simulate: Run) -> None:
    """A usage error."""
    assert simulate("-", "--workload", "-").status == 2


def test_release_1_4_gives_pods_no_tolerations(tmp_path: Path) -> None:
    """Its API server did not: a node tainted not-ready takes no pod there, while 1.16 tolerates it for 300 s."""
    from kubescheduler.cli import run

    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
    room = {"cpu": "1", "memory": "1Gi", "pods": "9"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "spec": {"taints": [taint]}}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    (tmp_path / "node.json").write_text(json.dumps({**node, "status": {"allocatable": room}}))
    (tmp_path / "pod.json").write_text(json.dumps(pod))
    files = [str(tmp_path / "node.json"), "--workload", str(tmp_path / "pod.json")]
    assert [run(["simulate", *files, "--release", release]) for release in ("1.16", "1.4")] == [0, 1]
    more = [str(tmp_path / "node.json"), "--pod", str(tmp_path / "pod.json")]
    assert [run(["capacity", *more, "--release", release]) for release in ("1.16", "1.4")] == [0, 1]


LISTS = {"pods", "nodes", "pvs", "pvcs", "storageClasses", "priorityClasses", "namespaces", "schedulerConfig"}
POINTS = (
    "prefilter-result-status prefilter filter postfilter prescore score finalscore reserve permit permit-result-timeout"
)
RESULTS = {
    *(name if "result" in name else f"{name}-result" for name in f"{POINTS} prebind bind".split()),
    *(f"extender-{verb}-result" for verb in ("filter", "prioritize", "preempt", "bind")),
    *("result-history", "selected-node"),
}
"""Annotations that the simulator knows."""


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
@pytest.mark.parametrize("command", [("schedule", "--pod"), ("simulate", "--workload")], ids=["schedule", "simulate"])
def test_an_export_goes_in_again(folder: Path, command: tuple[str, str], release: str, kubescheduler: Run) -> None:
    """What comes out is a cluster in which the pod runs, with its results on it, in the simulator's own words."""
    name, flag = command
    with (folder / "cluster.yaml").open("a") as file:
        file.write("---\n{kind: Namespace, metadata: {name: default}}\n")
        file.write("---\n{kind: PriorityClass, metadata: {name: high}, value: 9}\n")
    done = kubescheduler(name, "cluster.yaml", flag, "pod.yaml", "--release", release, "-o", "simulator")
    assert (done.status, done.err) == (0, "")
    export = json.loads(done.out)
    assert export.keys() == LISTS
    assert [export[each][0]["metadata"]["name"] for each in ("namespaces", "priorityClasses")] == ["default", "high"]
    [pod] = export["pods"]
    results = {key.removeprefix(PREFIX): text for key, text in pod["metadata"]["annotations"].items() if PREFIX in key}
    assert results.keys() <= RESULTS
    scores = {node: sum(map(int, said.values())) for node, said in json.loads(results["finalscore-result"]).items()}
    assert pod["spec"]["nodeName"] == results["selected-node"] == max(scores, key=lambda node: scores[node])
    assert json.loads(results["result-history"])[0][f"{PREFIX}filter-result"] == results["filter-result"]
    assert bool(export["schedulerConfig"]) == (release in ("1.20", "1.36"))
    (folder / "export.json").write_text(done.out)
    (folder / "next.yaml").write_text((folder / "pod.yaml").read_text().replace("name: web", "name: next"))
    again = kubescheduler("schedule", "export.json", "--pod", "next.yaml", "--release", release, "-o", "json")
    assert again.status == 0
