"""Releases 1.20 and 1.36 on the command line: configurations, what is told of decisions, and whose pods are whose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import kubescheduler as ks
from kubescheduler.releases.names import RELEASE_NAMES
from tests.kubescheduler.cli.conftest import Outcome, Run, pod

V1 = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
V1BETA1 = V1.replace("/v1", "/v1beta1") + "leaderElection: {leaderElect: false}\n"
PROFILES = """\
profiles:
- schedulerName: default-scheduler
- schedulerName: packing
  plugins: {score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, weight: 4}]}}
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""
CLAIM = ", volumes: [{name: v, persistentVolumeClaim: {claimName: nowhere}}]"
SSD = ", affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 7, preference: {\
matchExpressions: [{key: disk, operator: In, values: [ssd]}]}}]}}"


@pytest.fixture(autouse=True)
def pods(folder: Path) -> None:
    """Files with a pod each: big.yaml, gated.yaml …"""
    (folder / "big.yaml").write_text(pod("big", "50"))
    (folder / "other.yaml").write_text(pod("other", spec=", schedulerName: volcano"))
    (folder / "packed.yaml").write_text(pod("packed", spec=", schedulerName: packing"))
    (folder / "claim.yaml").write_text(pod("claim", spec=CLAIM))
    (folder / "ssd.yaml").write_text(pod("ssd", spec=SSD))
    (folder / "config.yaml").write_text(V1 + PROFILES)


@pytest.fixture(params=["1.20", "1.36"])
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# --- decisions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("1.20", "0/2 nodes are available: 2 Insufficient cpu."),
        (
            "1.36",
            "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, "
            "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
        ),
    ],
)
def test_the_releases_own_message(schedule: Run, name: str, message: str) -> None:
    """1.36 says what preemption comes to though nobody asked; what would be evicted is only told when asked."""
    outcome = schedule("--pod", "big.yaml", "--release", name, "-o", "json")
    assert outcome.status == 1
    decision = json.loads(outcome.out)["items"][0]
    assert (decision["message"], decision["preemption"]) == (message, None)
    asked = json.loads(schedule("--pod", "big.yaml", "--release", name, "-o", "json", "--preempt").out)["items"][0]
    assert (asked["message"], asked["preemption"]["candidates"]) == (message, {})


def test_other_schedulers_pods(schedule: Run, release: str) -> None:
    """The release ignores them: one line for each, without a count of nodes, and no answer is made up."""
    outcome = schedule("--pod", "other.yaml", "--pod", "pod.yaml", "--release", release)
    assert outcome.status == 2
    assert outcome.err.startswith("error: no decision on default/other: profile not found")
    text = 'profile not found for scheduler name "volcano"'
    assert outcome.lines[1:] == [
        ["default", "other", "<none>", "<none>", *text.split()],
        ["default", "web", "n1", "2/2"],
    ]
    explained = schedule("--pod", "other.yaml", "--release", release, "--explain").out
    assert "default/other: <none> (not tried)" in explained
    assert text in explained
    decided = ks.Scheduler(ks.Cluster.read("cluster.yaml", release=release)).decide("other.yaml")
    assert repr(decided) == f"<Decision default/other: no node (not tried, release {release})>"
    assert "<error " in schedule("--pod", "other.yaml", "--release", release, "-o", "junit").out


def test_pods_that_wait_for_another_scheduler(folder: Path, schedule: Run, release: str) -> None:
    """They are left to it, and the status speaks of the others; where there are no others nothing was answered."""
    cluster, other = (folder / "cluster.yaml").read_text(), (folder / "other.yaml").read_text()
    for pods, status in ((f"{other}---\n{pod('mine', '1')}", 0), (f"{other}---\n{pod('mine', '64')}", 1), (other, 2)):
        (folder / "cluster.yaml").write_text(f"{cluster}---\n{pods}")
        outcome = schedule("--pending", "--release", release, "-o", "name")
        assert (outcome.status, "default/other <none>" in outcome.out) == (status, True)


def test_ties_as_the_release_breaks_them(folder: Path, schedule: Run, release: str) -> None:
    """A seed makes them repeatable."""
    (folder / "pods.yaml").write_text("".join(pod(f"p{i}", "0") for i in range(20)))
    ties = ("--release", release, "--tie-break", "upstream", "-o", "name")
    first = schedule("--pod", "pods.yaml", *ties, "--seed", "1")
    assert first == schedule("--pod", "pods.yaml", *ties, "--seed", "1")
    assert {line[1] for line in first.lines} == {"n1", "n2"}


# --- why -------------------------------------------------------------------------------------


def test_explained_scores(schedule: Run, release: str) -> None:
    """A column for every Score plugin with its weight; in brackets what it said before it was normalised."""
    outcome = schedule("--pod", "ssd.yaml", "--release", release, "--explain")
    assert outcome.status == 0
    weight = "*1" if release == "1.20" else "*2"
    assert "NodeAffinity" in outcome.out
    assert weight in outcome.out
    assert "100 (7)" in next(line for line in outcome.out.splitlines() if line.startswith("n1 "))
    assert "In brackets: the plugin's own score, before it was normalised." in outcome.out


def test_explained_statuses(schedule: Run) -> None:
    """Refused nodes with the code that the release gives them."""
    lines = schedule("--pod", "big.yaml", "--release", "1.36", "--explain").lines
    assert ["NODE", "CHECK", "REASON", "REPORTED", "AS"] in lines
    assert ["n1", "NodeResourcesFit", "Insufficient", "cpu:"] in [line[:4] for line in lines]
    assert {line[-1] for line in lines if line[:2] == ["n1", "NodeResourcesFit"]} == {"UnschedulableAndUnresolvable"}
    lines = schedule("--pod", "big.yaml", "--release", "1.20", "--explain").lines
    assert {line[-1] for line in lines if line[:2] == ["n1", "NodeResourcesFit"]} == {"Unschedulable"}


@pytest.mark.parametrize(("name", "plugin"), [("1.20", "VolumeBinding"), ("1.36", "VolumeRestrictions")])
def test_rejections_before_nodes_are_looked_at(schedule: Run, name: str, plugin: str) -> None:
    """Who rejected the pod, why, and with which code; once and not for every node."""
    reason, code = 'persistentvolumeclaim "nowhere" not found', "UnschedulableAndUnresolvable"
    outcome = schedule("--pod", "claim.yaml", "--release", name, "--explain")
    assert f"{plugin} rejects the pod before any node is looked at: {reason} ({code})\n" in outcome.out
    assert "CHECK" not in outcome.out
    found = json.loads(schedule("--pod", "claim.yaml", "--release", name, "-o", "json").out)["items"][0]
    assert found["preFilter"] == {"plugin": plugin, "code": code, "reasons": [reason]}


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_documents_have_raw_scores_and_codes(schedule: Run, release: str, output: str) -> None:
    """Beside what every release has."""
    arguments = ("--pod", "ssd.yaml", "--pod", "big.yaml", "--release", release)
    placed, refused = yaml.safe_load(schedule(*arguments, "-o", output).out)["items"]
    assert placed["raw"]["NodeAffinity"] == {"n1": 7, "n2": 0}
    assert placed["scores"]["NodeAffinity"] == {"n1": 100, "n2": 0}
    assert set(refused["codes"]) == {"n1", "n2"}
    assert "preFilter" not in refused


# --- configurations --------------------------------------------------------------------------


def test_profiles(schedule: Run) -> None:
    """Every pod is decided by the profile of its scheduler name."""
    arguments = ("--release", "1.36", "--config", "config.yaml", "-o", "json")
    web, packed = json.loads(schedule("--pod", "pod.yaml", "--pod", "packed.yaml", *arguments).out)["items"]
    assert web["weights"]["TaintToleration"] == 3
    assert packed["weights"] == {"NodeResourcesFit": 4}
    assert packed["scores"] == {"NodeResourcesFit": {"n1": 25, "n2": 25}}


def test_all_faults_at_once(folder: Path, schedule: Run) -> None:
    """Of the configuration with their paths, of the cluster and the pods too; nothing is decided."""
    (folder / "config.yaml").write_text(V1 + "parallelism: 0\nprofile: []\nprofiles: [{schedulerName: ''}]\n")
    outcome = schedule("--pod", "missing.yaml", "--release", "1.36", "--config", "config.yaml")
    outcome.refused()
    lines = outcome.err.splitlines()
    assert any("config.yaml: " in line and "parallelism" in line for line in lines)
    assert any("did you mean profiles" in line for line in lines)
    assert any("missing.yaml" in line for line in lines)


def test_a_configuration_that_is_not_there(schedule: Run, release: str) -> None:
    """One line."""
    outcome = schedule("--pod", "pod.yaml", "--release", release, "--config", "nowhere.yaml")
    assert (outcome.status, len(outcome.err.splitlines())) == (2, 1)
    assert "nowhere.yaml" in outcome.err


def test_1_4_refuses_configurations(schedule: Run) -> None:
    """And says what it reads instead."""
    outcome = schedule("--pod", "pod.yaml", "--release", "1.4", "--config", "config.yaml")
    assert outcome.status == 2
    assert outcome.err.startswith("error: --config: release 1.4 reads no component configuration; give it an --alg")


def test_1_36_refuses_what_it_no_longer_knows(schedule: Run) -> None:
    """As unknown flags, all of them, with what to use instead."""
    flags = ("--algorithm-provider", "DefaultProvider", "--policy-config-file", "policy.json")
    outcome = schedule("--pod", "pod.yaml", "--release", "1.36", *flags)
    assert outcome.status == 2
    instead = "release 1.36 has none; give it a KubeSchedulerConfiguration with --config"
    for line, flag in zip(outcome.err.splitlines(), flags[::2], strict=True):
        assert line.startswith(f"error: unknown flag: {flag}: {instead}")


def test_1_20_by_provider_and_policy(folder: Path, schedule: Run) -> None:
    """As in the releases before, translated to plugins."""
    policy = {"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "MostRequestedPriority", "weight": 5}]}
    (folder / "policy.json").write_text(json.dumps(policy))
    for arguments, weight in (
        (("--algorithm-provider", "ClusterAutoscalerProvider"), 1),
        (("--policy-config-file", "policy.json"), 5),
        (("--policy-config-file", "policy.json", "--use-legacy-policy-config", "--policy-configmap", "none.yaml"), 5),
    ):
        outcome = schedule("--pod", "pod.yaml", "--release", "1.20", "-o", "json", *arguments)
        assert json.loads(outcome.out)["items"][0]["weights"]["NodeResourcesMostAllocated"] == weight


def test_settings_name_the_configuration(folder: Path, schedule: Run) -> None:
    """Of all commands, or of one."""
    (folder / "kubescheduler.toml").write_text(
        'release = "1.36"\nconfig = "config.yaml"\n[schedule]\noutput = "name"\n'
    )
    assert schedule("--pod", "packed.yaml").out.split()[0] == "default/packed"


# --- writing the configuration ---------------------------------------------------------------


@pytest.mark.parametrize("command", ["schedule", "simulate", "capacity", "registry"])
def test_write_config(kubescheduler: Run, release: str, command: str) -> None:
    """The completed one, without a cluster or pods; it is read again as it is."""
    outcome = kubescheduler(command, "--release", release, "--write-config-to", "-")
    assert (outcome.status, outcome.err) == (0, "")
    document = yaml.safe_load(outcome.out)
    assert (document["kind"], len(document["profiles"])) == ("KubeSchedulerConfiguration", 1)
    assert kubescheduler(command, "--release", release, "--write-config-to", "written.yaml") == Outcome(0, "", "")
    assert Path("written.yaml").read_text() == outcome.out
    again = kubescheduler(command, "--release", release, "--config", "written.yaml", "--write-config-to", "-")
    assert again.out == outcome.out


def test_write_config_of_a_policy(folder: Path, kubescheduler: Run) -> None:
    """What 1.20 makes of it."""
    (folder / "policy.json").write_text('{"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "HostName"}]}')
    arguments = ("--release", "1.20", "--policy-config-file", "policy.json", "--write-config-to", "-")
    document = yaml.safe_load(kubescheduler("schedule", *arguments).out)
    enabled = [plugin["name"] for plugin in document["profiles"][0]["plugins"]["filter"]["enabled"]]
    assert "NodeName" in enabled
    assert "NodeResourcesFit" not in enabled


def test_write_config_faults(kubescheduler: Run) -> None:
    """A release without configurations, a configuration with faults, a place where nothing can be written."""
    outcome = kubescheduler("schedule", "--release", "1.4", "--write-config-to", "-")
    assert outcome == Outcome(2, "", "error: --write-config-to: release 1.4 has no component configuration\n")
    Path("bad.yaml").write_text(V1 + "parallelism: 0\n")
    outcome = kubescheduler("schedule", "--release", "1.36", "--config", "bad.yaml", "--write-config-to", "out.yaml")
    assert outcome.status == 2
    assert not Path("out.yaml").exists()
    outcome = kubescheduler("schedule", "--release", "1.36", "--write-config-to", "no/folder.yaml")
    assert outcome.err == "error: --write-config-to no/folder.yaml: cannot be written: No such file or directory\n"


def test_without_writing_a_cluster_is_needed(kubescheduler: Run) -> None:
    """As before."""
    outcome = kubescheduler("schedule", "--release", "1.36")
    assert (outcome.status, outcome.err.splitlines()[0]) == (2, "error: Missing argument 'CLUSTER...'.")
    assert "--workload" in kubescheduler("simulate", "cluster.yaml").err


# --- registry --------------------------------------------------------------------------------


def test_registry_of_plugins(kubescheduler: Run, release: str) -> None:
    """What runs at every point, in order and with weights, then every plugin there is."""
    outcome = kubescheduler("registry", "--release", release)
    assert (outcome.status, outcome.err) == (0, "")
    lines = outcome.lines
    assert lines[0] == ["PROFILE", "POINT", "PLUGIN", "WEIGHT"]
    assert ["default-scheduler", "queueSort", "PrioritySort"] in lines
    weight = {"1.20": "1", "1.36": "3"}[release]
    assert ["default-scheduler", "score", "TaintToleration", weight] in lines
    assert ["PLUGIN", "POINTS", "PROFILES"] in lines
    unused = {"1.20": ["NodeLabel", "filter,score"], "1.36": ["GangScheduling", "preEnqueue,permit"]}[release]
    assert [*unused, "<none>"] in lines


def test_registry_of_a_configuration(kubescheduler: Run) -> None:
    """Its profiles."""
    lines = kubescheduler("registry", "--release", "1.36", "--config", "config.yaml").lines
    assert [line[2:] for line in lines if line[:2] == ["packing", "score"]] == [["NodeResourcesFit", "4"]]
    lines = kubescheduler("registry", "--release", "1.20", "--algorithm-provider", "ClusterAutoscalerProvider").lines
    assert ["default-scheduler", "score", "NodeResourcesMostAllocated", "1"] in lines


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_registry_of_plugins_as_a_document(kubescheduler: Run, release: str, output: str) -> None:
    """The same."""
    document = yaml.safe_load(kubescheduler("registry", "--release", release, "-o", output).out)
    assert document["release"] == release
    (profile,) = document["profiles"]
    assert profile["points"]["bind"] == [{"name": "DefaultBinder"}]
    assert {"name", "weight"} == set(profile["points"]["score"][0])
    plugins = {plugin["name"]: plugin for plugin in document["plugins"]}
    assert plugins["NodeName"] == {"name": "NodeName", "points": ["filter"], "profiles": ["default-scheduler"]}
    assert document.get("providers") == (
        ["ClusterAutoscalerProvider", "DefaultProvider"] if release == "1.20" else None
    )


def test_registry_of_a_legacy_release_has_no_choice(kubescheduler: Run) -> None:
    """It lists all that there is, as YAML too."""
    outcome = kubescheduler("registry", "--algorithm-provider", "X", "--config", "c.yaml")
    text = f"release 1.16 lists all that there is; leave this out, or choose --release 1.18 to {RELEASE_NAMES[-1]}"
    assert outcome.err == f"error: --algorithm-provider: {text}\nerror: --config: {text}\n"
    assert yaml.safe_load(kubescheduler("registry", "-o", "yaml").out)["release"] == "1.16"
