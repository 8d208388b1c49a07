"""``kubescheduler schedule``: what goes in, and what comes out."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import kubescheduler as ks
from kubescheduler.cli import run
from tests.kubescheduler.cli.conftest import CLUSTER, POD, Outcome, Run, in_a_process, pod
from tests.support.laws import costly
from tests.support.preemption_worlds import PREEMPTING, one_by_one

TABLE = """\
NAMESPACE   POD   NODE   FITS   MESSAGE
default     web   n1     2/2
"""
WIDE = """\
NAMESPACE   POD   NODE   FITS   TOTAL    TIED   RELEASE   MESSAGE
default     web   n1     2/2    100036   1      1.16
"""
NOWHERE = """\
NAMESPACE   POD   NODE     FITS   MESSAGE
default     web   <none>   0/2    0/2 nodes are available: 2 Insufficient cpu.
"""


def hosts(outcome: Outcome) -> dict[str, str]:
    """Pod → node of an output of names."""
    return dict(line.split() for line in outcome.out.splitlines())


def nodes(count: int, cpu: str = "4") -> bytes:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    items = [
        {"kind": "Node", "metadata": {"name": f"n{i:03}"}, "status": {"allocatable": amounts}} for i in range(count)
    ]
    return json.dumps({"kind": "List", "items": items}).encode()


# --- output --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [((), TABLE), (("-o", "wide"), WIDE), (("-o", "name"), "default/web n1\n")],
    ids=["table", "wide", "name"],
)
def test_output(schedule: Run, arguments: tuple[str, ...], expected: str) -> None:
    """Tables as kubectl aligns them, without blanks at the ends of lines, and names."""
    assert schedule("--pod", "pod.yaml", *arguments) == Outcome(0, expected, "")


def test_a_pod_that_fits_nowhere(folder: Path, schedule: Run) -> None:
    """The release's own message, and exit status 1."""
    (folder / "pod.yaml").write_text(pod("web", "64"))
    assert schedule("--pod", "pod.yaml") == Outcome(1, NOWHERE, "")
    assert schedule("--pod", "pod.yaml", "-o", "name") == Outcome(1, "default/web <none>\n", "")


def test_only_one_node_fits(folder: Path, schedule: Run) -> None:
    """It is taken without a score, as the release does it, and is the one best node."""
    (folder / "pod.yaml").write_text(pod("web", "3"))
    assert schedule("--pod", "pod.yaml", "-o", "wide").lines[1] == [
        *("default", "web", "n1", "1/2", "<none>", "1", "1.16"),
    ]
    decision = json.loads(schedule("--pod", "pod.yaml", "-o", "json").out)["items"][0]
    assert (decision["host"], decision["best"], decision["total"]) == ("n1", ["n1"], {})
    assert "n1 is the only node that fits" in schedule("--pod", "pod.yaml", "--explain").out


@pytest.mark.parametrize(("output", "load"), [("json", json.loads), ("yaml", yaml.safe_load)], ids=["json", "yaml"])
def test_documents(folder: Path, schedule: Run, output: str, load: Any) -> None:
    """JSON and YAML hold all parts of every decision."""
    (folder / "pods.yaml").write_text(pod("big", "3") + pod("huge", "64"))
    outcome = schedule("--pod", "pod.yaml", "--pod", "pods.yaml", "-o", output)
    assert (outcome.status, outcome.err) == (1, "")
    document = load(outcome.out)
    assert document["kind"] == "DecisionList"
    web, big, huge = document["items"]
    assert [d["pod"]["name"] for d in (web, big, huge)] == ["web", "big", "huge"]
    assert web["fits"] == ["n1", "n2"]
    assert web["total"] == {"n1": 100036, "n2": 100035}
    assert web["scores"]["LeastRequestedPriority"] == {"n1": 8, "n2": 8}
    assert web["weights"]["NodePreferAvoidPodsPriority"] == 10000
    assert big["failed"] == {"n2": ["Insufficient cpu"]}
    assert big["checks"] == {"n2": {"GeneralPredicates": ["Insufficient cpu"]}}
    assert (huge["host"], huge["best"], huge["fits"]) == (None, [], [])
    assert huge["message"] == "0/2 nodes are available: 2 Insufficient cpu."


@pytest.mark.parametrize(("output", "load"), [("json", json.loads), ("yaml", yaml.safe_load)], ids=["json", "yaml"])
def test_documents_with_evidence(schedule: Run, output: str, load: Any) -> None:
    """With --explain they say what every score was made of, as it was before the pod was bound."""
    [web] = load(schedule("--pod", "pod.yaml", "--explain", "-o", output).out)["items"]
    assert list(web["evidence"]) == ["n1", "n2"]
    for node, evidence in web["evidence"].items():
        assert sum(found["product"] for found in evidence["scores"]) == web["total"][node]
    least = {found["rule"]: found for found in web["evidence"]["n1"]["scores"]}["LeastRequestedPriority"]
    assert (least["upstream"], least["raw"]) == ("1.16 LeastRequestedPriority", 8)
    assert "evidence" not in load(schedule("--pod", "pod.yaml", "-o", output).out)["items"][0]


def test_evidence_of_many_nodes(folder: Path, kubescheduler: Run) -> None:
    """Of many only the chosen node and the best other are explained."""
    (folder / "many.json").write_bytes(nodes(11))
    outcome = kubescheduler("schedule", "many.json", "--pod", "pod.yaml", "--explain", "-o", "json")
    [web] = json.loads(outcome.out)["items"]
    assert list(web["evidence"]) == ["n000", "n001"]


def test_documents_without_pods(schedule: Run) -> None:
    """No pending pod is no fault: the documents are empty, the table is not there, a note says why."""
    note = "note: no pending pods in the cluster\n"
    assert schedule("--pending") == Outcome(0, "", note)
    assert schedule("--pending", "-o", "yaml") == Outcome(0, "kind: DecisionList\nitems: []\n", note)
    assert json.loads(schedule("--pending", "-o", "json").out) == {"kind": "DecisionList", "items": []}


def test_explanation(folder: Path, schedule: Run) -> None:
    """Scores of the nodes that fit, best first, every reason of every check of the others, and the table."""
    (folder / "cluster.yaml").write_text(
        CLUSTER + "---\nkind: Node\nmetadata: {name: n3}\n"
        "spec: {taints: [{key: a, effect: NoSchedule}]}\nstatus: {capacity: {cpu: 100m, pods: '9'}}\n"
    )
    outcome = schedule("--pod", "pod.yaml", "--explain")
    head, scores, refusals, table = outcome.out.rstrip("\n").split("\n\n")
    assert head == "default/web: n1 (2/3 nodes fit)"
    lines = [line.split() for line in scores.splitlines()]
    assert lines[0] == ["NODE", "Balanced", "Least", "NodePrefer", "Selector", "Taint", "TOTAL"]
    assert lines[3] == ["*1", "*1", "*10000", "*1", "*1"]
    assert lines[4:6] == [
        ["n1", "8", "8", "10", "10", "10", "100036", "chosen"],
        ["n2", "7", "8", "10", "10", "10", "100035"],
    ]
    assert scores.splitlines()[6:] == [
        "0 on every node: ImageLocalityPriority*1, InterPodAffinityPriority*1, NodeAffinityPriority*1"
    ]
    tainted = "node(s) had taints that the pod didn't tolerate: wants a toleration of a:NoSchedule, found"
    found = "only tolerations of node.kubernetes.io/not-ready:NoExecute and 1 more"
    assert [line.split() for line in refusals.splitlines()] == [
        ["NODE", "CHECK", "REASON", "REPORTED"],
        ["n3", "GeneralPredicates", "Insufficient", "cpu:", "asks", "500m,", "100m", "of", "100m", "free", "yes"],
        f"n3 PodToleratesNodeTaints {tainted} {found} no".split(),
    ]
    assert table.splitlines()[0] == "NAMESPACE   POD   NODE   FITS   MESSAGE"
    assert all(line == line.rstrip() for line in outcome.out.splitlines())


def test_explanation_of_the_only_node(folder: Path, schedule: Run) -> None:
    """It has the scores that the release does not compute, and says so; the documents have them too."""
    (folder / "big.yaml").write_text(pod("big", "3"))
    outcome = schedule("--pod", "big.yaml", "--explain")
    assert "n1 is the only node that fits, so nothing was scored. The scores that it would have" in outcome.out
    assert "chosen" in [line[-1] for line in outcome.lines if line[:1] == ["n1"]]
    [decision] = json.loads(schedule("--pod", "big.yaml", "--explain", "-o", "json").out)["items"]
    assert decision["evidence"]["n1"]["scoredByRelease"] is False
    assert decision["evidence"]["n1"]["scores"]
    [refusal] = decision["evidence"]["n2"]["refusals"]
    assert (refusal["text"], refusal["upstream"]) == ("asks 3, 2 of 2 free", "1.16 GeneralPredicates")
    assert refusal["facts"]["allocatable"] == 2000
    assert decision["total"] == {}


def test_explanation_of_failed_calls(folder: Path, schedule: Run) -> None:
    """What the release only logs is told: an extender that was passed over."""
    extender = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "f", "ignorable": True, "weight": 1}
    (folder / "policy.json").write_text(json.dumps({"kind": "Policy", "apiVersion": "v1", "extenders": [extender]}))
    outcome = schedule("--pod", "pod.yaml", "--policy-config-file", "policy.json", "--explain")
    assert outcome.status == 0
    assert 'extender http://127.0.0.1:1: Post "http://127.0.0.1:1/f": Connection refused' in outcome.out.splitlines()


def test_the_same_bytes_again(folder: Path) -> None:
    """The same input gives the same output, byte for byte, also in processes that hash texts otherwise."""
    (folder / "pods.yaml").write_text("".join(pod(f"p{i}") for i in range(5)))
    for output in ("json", "table"):
        arguments = ("schedule", "cluster.yaml", "--pod", "pods.yaml", "-o", output)
        first, second = (in_a_process(*arguments, cwd=folder) for _ in range(2))
        assert first == second
        assert first.status == 0


# --- which pods ----------------------------------------------------------------------------


def test_pending_pods_in_queue_order(folder: Path, schedule: Run) -> None:
    """Higher priority first, then older, then as they come; running, finished and deleted ones are left alone."""
    (folder / "cluster.yaml").write_text(
        CLUSTER
        + "---\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 10\n"
        + pod("late", metadata=", creationTimestamp: 2020-01-03T00:00:00Z")
        + pod("early", metadata=", creationTimestamp: 2020-01-01T00:00:00Z")
        + pod("middle-b", metadata=", creationTimestamp: 2020-01-02T00:00:00Z")
        + pod("middle-a", metadata=", creationTimestamp: 2020-01-02T00:00:00Z")
        + pod("urgent", metadata=", creationTimestamp: 2020-01-09T00:00:00Z", spec=", priorityClassName: high")
        + pod("running", spec=", nodeName: n1")
        + pod("deleted", metadata=", deletionTimestamp: 2020-01-01T00:00:00Z")
        + pod("done").rstrip()
        + "\nstatus: {phase: Succeeded}\n"
    )
    outcome = schedule("--pending", "-o", "name")
    names = [pod.removeprefix("default/") for pod in hosts(outcome)]
    assert names == ["urgent", "early", "middle-b", "middle-a", "late"]


def test_pending_pods_of_1_4_are_first_come_first_served(folder: Path, schedule: Run) -> None:
    """No priorities; pods being deleted are tried; those whose annotation names another scheduler are left alone."""
    (folder / "cluster.yaml").write_text(
        CLUSTER
        + pod("late", metadata=", creationTimestamp: 2020-01-03T00:00:00Z", spec=", priority: 10")
        + pod("early", metadata=", creationTimestamp: 2020-01-01T00:00:00Z", spec=", schedulerName: other")
        + pod("leaving", metadata=", creationTimestamp: 2020-01-02T00:00:00Z, deletionTimestamp: 2020-01-02T00:00:00Z")
        + pod("theirs", metadata=', annotations: {scheduler.alpha.kubernetes.io/name: "other"}')
    )
    found = hosts(schedule("--release", "1.4", "--pending", "-o", "name"))
    assert list(found) == ["default/theirs", "default/early", "default/leaving", "default/late"]
    assert [name for name, node in found.items() if node == "<none>"] == ["default/theirs"]
    wide = schedule("--release", "1.4", "--pending").out
    assert "the pod names scheduler other, and this one is default-scheduler" in wide


@pytest.mark.parametrize(("release", "noted"), [("1.4", True), ("1.16", False)])
def test_1_4_says_that_it_looks_at_every_node(schedule: Run, release: str, noted: bool) -> None:
    """It has no sampling, so that a share of nodes has no effect."""
    outcome = schedule("--pod", "pod.yaml", "--release", release, "--percentage-of-nodes-to-score", "50")
    note = "note: --percentage-of-nodes-to-score has no effect: release 1.4 always looks at every node"
    assert (note in outcome.err) == noted


def test_several_pods_are_one_run(folder: Path, schedule: Run) -> None:
    """Each pod is bound before the next is decided, in the order of the files and in them."""
    (folder / "b.yaml").write_text(pod("b1", "3") + pod("b2", "2"))
    (folder / "a.yaml").write_text(pod("a", "2"))
    outcome = schedule("--pod", "b.yaml", "--pod", "a.yaml", "-o", "name")
    assert outcome.out == "default/b1 n1\ndefault/b2 n2\ndefault/a <none>\n"
    assert outcome.status == 1


def test_a_pod_of_the_cluster_may_be_named(folder: Path, schedule: Run) -> None:
    """A pending pod that is given as a file, too, is the one of the file."""
    (folder / "cluster.yaml").write_text(CLUSTER + pod("web", "64", metadata=", uid: u1"))
    assert hosts(schedule("--pod", "pod.yaml", "-o", "name")) == {"default/web": "n1"}


# --- which cluster -------------------------------------------------------------------------


def test_standard_input(folder: Path, kubescheduler: Run) -> None:
    """The cluster or the pods may come from standard input, in JSON, YAML or gzipped."""
    assert kubescheduler("schedule", "-", "--pod", "pod.yaml", stdin=CLUSTER.encode()).out == TABLE
    assert kubescheduler("schedule", "-", "--pod", "pod.yaml", stdin=gzip.compress(CLUSTER.encode())).out == TABLE
    assert kubescheduler("schedule", "cluster.yaml", "--pod", "-", stdin=POD.encode()).out == TABLE
    assert kubescheduler("schedule", "-", "--pending", stdin=(CLUSTER + "---\n" + POD).encode()).out == TABLE


@pytest.mark.parametrize(
    ("arguments", "host"), [((), "<none>"), (("--no-defaulting",), "n1")], ids=["defaulted", "as it is"]
)
def test_defaulting(folder: Path, kubescheduler: Run, arguments: tuple[str, ...], host: str) -> None:
    """A limit is a request too, unless manifests are to be taken as they are."""
    (folder / "cluster.json").write_bytes(nodes(1).replace(b'"n000"', b'"n1"'))
    meta = "metadata: {name: web, namespace: default, uid: u1}"
    limits = "spec: {containers: [{name: c, resources: {limits: {cpu: '64'}}}]}"
    (folder / "pod.yaml").write_text(f"kind: Pod\n{meta}\n{limits}\n")
    outcome = kubescheduler("schedule", "cluster.json", "--pod", "pod.yaml", "-o", "name", *arguments)
    assert hosts(outcome) == {"default/web": host}


# --- by which rules ------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["0", "33", "100"], ids=["adaptive", "a third", "all"])
def test_sampling(folder: Path, kubescheduler: Run, text: str) -> None:
    """Below 100 % the search stops at enough nodes: at least 100, as upstream's own count."""
    (folder / "nodes.json").write_bytes(nodes(400))
    outcome = kubescheduler(
        "schedule", "nodes.json", "--pod", "pod.yaml", "--percentage-of-nodes-to-score", text, "-o", "wide"
    )
    assert outcome.lines[1][3] == {"0": "188/400", "33": "132/400", "100": "400/400"}[text]


@pytest.mark.parametrize("how", ["random", "upstream"])
def test_ties(folder: Path, kubescheduler: Run, how: str) -> None:
    """A seed makes ties repeatable; other seeds give other nodes. The default is the first by name."""
    (folder / "nodes.json").write_bytes(nodes(5))

    def chosen(*arguments: str) -> str:
        return kubescheduler("schedule", "nodes.json", "--pod", "pod.yaml", "-o", "name", *arguments).out.split()[1]

    assert chosen() == "n000"
    assert chosen("--tie-break", how, "--seed", "1") == chosen("--tie-break", how, "--seed", "1")
    assert len({chosen("--tie-break", how, "--seed", str(seed)) for seed in range(12)}) > 2
    assert chosen("--tie-break", how).startswith("n00")


POLICY_YAML = """\
kind: Policy
apiVersion: v1
predicates: [{name: PodFitsResources}]
priorities: [{name: MostRequestedPriority, weight: 2}]
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p}\ndata:\n  policy.cfg: |\n" + "".join(
    f"    {line}\n" for line in POLICY_YAML.splitlines()
)


@pytest.mark.parametrize(
    ("option", "name", "text"),
    [
        ("--policy-config-file", "policy.yaml", POLICY_YAML),
        ("--policy-configmap", "map.yaml", CONFIG_MAP),
    ],
    ids=["file", "ConfigMap"],
)
def test_policies(folder: Path, schedule: Run, option: str, name: str, text: str) -> None:
    """A policy of a file or a ConfigMap: fill the smaller node first."""
    (folder / name).write_text(text)
    outcome = schedule("--pod", "pod.yaml", option, name, "-o", "json")
    decision = json.loads(outcome.out)["items"][0]
    assert outcome.err == ""
    assert decision["host"] == "n2"
    assert decision["weights"] == {"MostRequestedPriority": 2}


def test_provider(schedule: Run) -> None:
    """Another provider, by name: it prefers nodes that are full."""
    outcome = schedule("--pod", "pod.yaml", "--algorithm-provider", "ClusterAutoscalerProvider", "-o", "json")
    assert (outcome.status, outcome.err) == (0, "")
    weights = json.loads(outcome.out)["items"][0]["weights"]
    assert "MostRequestedPriority" in weights
    assert "LeastRequestedPriority" not in weights


def test_flags_without_effect_are_noted(folder: Path, schedule: Run) -> None:
    """A provider beside a policy has no effect, and a note says so."""
    (folder / "policy.yaml").write_text(POLICY_YAML)
    outcome = schedule(
        "--pod", "pod.yaml", "--policy-config-file", "policy.yaml", "--algorithm-provider", "DefaultProvider"
    )
    assert outcome.status == 0
    assert outcome.err == "note: --algorithm-provider has no effect beside the policy in policy.yaml\n"


@pytest.mark.parametrize(("most", "status"), [("1", 1), ("2", 0), ("many", 0)])
def test_volume_limit_of_the_environment(
    folder: Path, schedule: Run, monkeypatch: pytest.MonkeyPatch, most: str, status: int
) -> None:
    """KUBE_MAX_PD_VOLS limits volumes as it does upstream; what is no number is passed over."""
    monkeypatch.setenv("KUBE_MAX_PD_VOLS", most)
    volumes = ", ".join(f"{{name: v{i}, awsElasticBlockStore: {{volumeID: vol-{i}}}}}" for i in range(2))
    (folder / "pod.yaml").write_text(pod("web", spec=f", volumes: [{volumes}]"))
    assert schedule("--pod", "pod.yaml").status == status


def _crowded(folder: Path, **urgent: Any) -> list[str]:
    """A full node, and an urgent pod that needs it."""
    items = [ks.node("a", cpu=2, memory="4Gi"), ks.pod("low", node="a", cpu=2)]
    (folder / "crowded.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    (folder / "urgent.json").write_text(json.dumps(ks.pod("urgent", **{"cpu": 2, "priority": 5, **urgent})))
    return ["schedule", str(folder / "crowded.json"), "--pod", str(folder / "urgent.json")]


def test_preempt_says_who_would_have_to_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the message, in the explanation and as data; nothing is evicted."""
    command = _crowded(tmp_path)
    assert run([*command, "--preempt", "--explain"]) == 1
    shown = capsys.readouterr().out
    assert "Would evict default/low from a." in shown
    assert "default/low (0)" in shown
    assert run([*command, "--preempt", "-o", "json"]) == 1
    found = json.loads(capsys.readouterr().out)["items"][0]["preemption"]
    assert found["candidates"] == {"a": {"victims": ["default/low"], "pdbViolations": 0}}
    assert run(command) == 1
    assert "evict" not in capsys.readouterr().out


def test_preempt_says_when_it_would_not_help(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pod of no higher priority."""
    assert run([*_crowded(tmp_path, priority=0), "--preempt"]) == 1
    assert "Preemption would not help." in capsys.readouterr().out


def test_bind_asks_the_extender_that_binds(tmp_path: Path, capsys: pytest.CaptureFixture[str], address: str) -> None:
    """A refused binding leaves the pod without a node, in upstream's words."""
    command = [*_crowded(tmp_path, cpu=None), "--bind", "--policy-config-file"]
    for behaviour, status, told in (("good", 0, ""), ("error", 2, "Binding rejected: ")):
        policy = tmp_path / f"{behaviour}.json"
        extenders = [{"urlPrefix": f"{address}/{behaviour}", "bindVerb": "bind"}]
        policy.write_text(json.dumps({"kind": "Policy", "apiVersion": "v1", "extenders": extenders}))
        assert run([*command, str(policy)]) == status
        assert told in capsys.readouterr().out


# --- pending pods, one after the other -----------------------------------------------------------

placed = st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from(["1", "2"]), st.integers(0, 4), st.booleans())
"""(node, cpu, priority, whether a budget protects it) of a running pod."""
waiting = st.tuples(st.sampled_from(["1", "2"]), st.integers(0, 6), st.sampled_from(["", "a", "b"]))
"""(cpu, priority, the node it is nominated to) of a pending pod."""


def _budget(allowed: int) -> dict[str, Any]:
    counts = {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
    meta, spec = {"name": "b", "namespace": "default"}, {"selector": {"matchLabels": {"app": "kept"}}}
    return {"kind": "PodDisruptionBudget", "apiVersion": "policy/v1", "metadata": meta, "spec": spec, "status": counts}


def _printed(*arguments: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        run([*arguments])
    return out.getvalue()


def _scheduled(command: list[str]) -> tuple[Any, str]:
    return json.loads(_printed(*command, "-o", "json")), _printed(*command, "-o", "wide")


@pytest.mark.parametrize("release", PREEMPTING)
@costly
@given(
    running=st.lists(placed, min_size=3, max_size=6),
    pending=st.lists(waiting, min_size=2, max_size=6),
    allowed=st.integers(0, 1),
)
def test_law_pending_pods_preempt_as_if_nothing_was_remembered(
    release: str, running: list[Any], pending: list[Any], allowed: int
) -> None:
    """Hosts, messages, candidates with their victims, and what the table of pods placed in bulk says."""
    items = [*(ks.node(name, cpu=2) for name in "abc"), _budget(allowed)]
    for at, (node, cpu, priority, kept) in enumerate(running):
        labels = {"app": "kept" if kept else ""}
        items.append(ks.pod(f"r{at}", node=node, cpu=cpu, priority=priority, labels=labels))
    for at, (cpu, priority, node) in enumerate(pending):
        items.append({**ks.pod(f"w{at}", cpu=cpu, priority=priority), "status": {"nominatedNodeName": node}})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "cluster.json")
        file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
        command = ["schedule", str(file), "--pending", "--preempt", "--release", release]
        with one_by_one():
            expected = _scheduled(command)
        assert _scheduled(command) == expected
    assert len(expected[0]["items"]) == len(pending)


@pytest.mark.parametrize(("asked", "tried"), [([], 150), (["--percentage-of-nodes-to-score", "80"], 12)])
@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_candidates_are_sampled_where_nodes_are(
    release: str, asked: list[str], tried: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So many as the arguments of DefaultPreemption say; otherwise every node is a candidate."""
    command = _crowded(tmp_path)
    items = [ks.node(f"n{at}", cpu=2) for at in range(150)]
    items += (ks.pod(f"r{at}", node=f"n{at}", cpu=2) for at in range(150))
    (tmp_path / "crowded.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    args = {"minCandidateNodesPercentage": 8, "minCandidateNodesAbsolute": 5}
    profile = {"schedulerName": "default-scheduler", "pluginConfig": [{"name": "DefaultPreemption", "args": args}]}
    version = "kubescheduler.config.k8s.io/" + ("v1beta1" if release == "1.20" else "v1")
    config = {"apiVersion": version, "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    more = ["--release", release, "--config", str(tmp_path / "config.json"), *asked]
    assert run([*command, "--preempt", "-o", "json", *more]) == 1
    found = json.loads(capsys.readouterr().out)["items"][0]["preemption"]
    assert len(found["candidates"]) == tried


@pytest.mark.parametrize(("policy", "noted"), [("OrderedReady", True), ("Parallel", False)])
def test_a_stateful_set_whose_second_pod_has_no_node(kubescheduler: Run, policy: str, noted: bool) -> None:
    """Each is decided as it comes; a note says that its controller would not have made the third."""
    text = f"""
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: db}}
spec:
  replicas: 9
  serviceName: db
  podManagementPolicy: {policy}
  selector: {{matchLabels: {{app: db}}}}
  template:
    metadata: {{labels: {{app: db}}}}
    spec: {{containers: [{{name: c, image: c, resources: {{requests: {{cpu: 1}}}}}}]}}
"""
    outcome = kubescheduler("schedule", "cluster.yaml", "--pod", "-", "-o", "name", stdin=text.encode())
    assert outcome.status == 1
    said = "StatefulSet default/db does not make default/db-7 and 1 more before default/db-6 has a node"
    assert (said in outcome.err) is noted, outcome.err
