"""``kubescheduler upgrade``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kubescheduler import Cluster, pod
from kubescheduler import upgrade as asked
from kubescheduler.cli import output
from kubescheduler.cli.compare_output import rendered_upgrade
from kubescheduler.cli.output import Screen, columns
from kubescheduler.config.load_config import component_config_from
from tests.kubescheduler.cli.conftest import Run
from tests.support.configuring.component_build import format_of

NODES = """\
apiVersion: v1
kind: List
items:
- kind: Node
  metadata: {name: tainted, labels: {kubernetes.io/hostname: tainted}}
  spec: {taints: [{key: old, effect: PreferNoSchedule}]}
  status:
    allocatable: {cpu: "10", memory: 10Gi, pods: "110"}
    images: [{names: ["web:1"], sizeBytes: 2000000000}]
- kind: Node
  metadata: {name: small, labels: {kubernetes.io/hostname: small}}
  status: {allocatable: {cpu: "2", memory: 2Gi, pods: "110"}}
"""
RUNNING = """\
- kind: Pod
  metadata: {name: web, namespace: shop}
  spec:
    nodeName: tainted
    containers: [{name: c, image: "web:1", resources: {requests: {cpu: "1", memory: 1Gi}}}]
"""
POLICY = "kind: Policy\napiVersion: v1\npriorities: [{name: LeastRequestedPriority, weight: 1}]\n"


@pytest.fixture
def upgrade(kubescheduler: Run, folder: Path) -> Run:
    """``kubescheduler upgrade moving.yaml`` with arguments; policy.yaml, pending.yaml and faulty.yaml are there."""
    (folder / "moving.yaml").write_text(NODES + RUNNING)
    (folder / "pending.yaml").write_text(NODES + RUNNING.replace("    nodeName: tainted\n", ""))
    (folder / "faulty.yaml").write_text(NODES.replace('cpu: "10"', "cpu: ten"))
    (folder / "policy.yaml").write_text(POLICY)
    return lambda *args, stdin=b"": kubescheduler("upgrade", *args, stdin=stdin)


def test_nothing_moves(upgrade: Run) -> None:
    """Status 0; the configuration, the pods, what comes and goes, and what nobody can know have their parts."""
    outcome = upgrade("moving.yaml", "--from", "1.23", "--to", "1.24")
    assert outcome.status == 0
    assert outcome.out.startswith(
        "The configuration can stay as it is; 0 of 1 pods go elsewhere at some step from 1.23 to 1.24.\n"
    )
    parts = ["Configuration", "Pods", "What comes and goes", "What no tool can know"]
    assert [line for line in outcome.out.split("\n") if line in parts] == parts
    assert "1.24      gates gone     PodOverhead, DefaultPodTopologySpread" in outcome.out


def test_a_pod_that_moves(upgrade: Run) -> None:
    """Status 1; the step and the change are named, for running pods and, where none runs, for pending ones."""
    for cluster in ("moving.yaml", "pending.yaml"):
        outcome = upgrade(cluster, "--from", "1.22", "--to", "1.24")
        assert outcome.status == 1
        assert "1.23: tainted to small (taint-toleration-weighs-3)" in outcome.out
        assert ("no pod runs: the pending ones are decided" in outcome.err) == (cluster == "pending.yaml")


def test_a_policy(upgrade: Run, folder: Path) -> None:
    """It is refused from 1.23 on; what it becomes is written, in versions that the releases read, and said."""
    args = ("--from", "1.22", "--to", "1.29", "--policy-config-file", "policy.yaml", "--write-config-to", "configs")
    outcome = upgrade("moving.yaml", *args, "-o", "json")
    found = json.loads(outcome.out)
    assert (found["from"], found["to"]) == ("1.22", "1.29")
    assert [step["release"] for step in found["configurations"]] == ["1.23", "1.29"]
    for step in found["configurations"]:
        written = yaml.safe_load((folder / step["file"]).read_text())
        assert written == step["configuration"]
        component_config_from(written, format_of(step["release"]), all_problems=True)
    assert "unknown flag: --policy-config-file" in found["configurations"][0]["refused"]
    assert "1.23 no longer reads policies" in {note["text"] for note in found["configurations"][0]["notes"]}
    assert {"release": "1.23", "what": "configuration gone", "names": ["v1beta1", "Policy"]} in found["appearances"]
    gone = {
        name: each["release"]
        for each in found["appearances"]
        if each["what"] == "plugins gone"
        for name in each["names"]
    }
    assert (gone["ServiceAffinity"], gone["SelectorSpread"]) == ("1.23", "1.29")
    assert outcome.status == int(bool(found["moved"]))
    assert len(found["releases"]) == len(found["pods"][0]["hosts"]) == 8
    assert yaml.safe_load(upgrade("moving.yaml", *args, "-o", "yaml").out) == found


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["moving.yaml", "--from", "1.24", "--to", "1.22"],
         "--from 1.24 --to 1.22: an upgrade leads to a later release"),
        (["moving.yaml", "--from", "1.24", "--to", "1.24.3"], "an upgrade leads to a later release"),
        (["moving.yaml", "--from", "1.17", "--to", "1.24"], "it is between 1.16 and 1.18"),
        (["moving.yaml", "--from", "1.24"], "Missing option '--to'. It is one of 1.4, 1.13,"),
        (["moving.yaml", "--from", "1.23", "--to", "1.24", "--policy-config-file", "policy.yaml"],
         "unknown flag: --policy-config-file: release 1.23 has none"),
        (["faulty.yaml", "--from", "1.23", "--to", "1.24"], "ten"),
        (["moving.yaml", "--from", "1.23", "--to", "1.24", "--pending", "--running", "all"],
         "say which pods to decide"),
        (["moving.yaml", "--from", "1.23", "--to", "1.24", "--write-config-to", "policy.yaml"], "cannot be written"),
    ],
    ids=["older", "same", "missing", "no target", "no policies", "faulty", "pods", "folder"],
)  # fmt: skip
def test_errors(upgrade: Run, args: list[str], message: str) -> None:
    """Status 2 with one message."""
    upgrade(*args).refused(message)


def test_a_cluster_without_pods(upgrade: Run, folder: Path) -> None:
    """There is nothing to report on."""
    (folder / "empty.yaml").write_text(NODES)
    upgrade("empty.yaml", "--from", "1.23", "--to", "1.24").refused("no pod of the cluster runs or waits")


def test_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is wider than the terminal; in Python the report has the same parts."""
    cluster = Cluster(release="1.22").node("a", cpu=4, memory="4Gi").node("b", cpu=4, memory="8Gi")
    found = asked(cluster, pod("web", cpu=1), old={"release": "1.22", "policy": yaml.safe_load(POLICY)}, to="1.24")
    monkeypatch.setattr(output, "screen_of", lambda _: Screen(80))
    text = "".join(rendered_upgrade(found, "table", {}))
    assert [line for line in text.split("\n") if columns(line) > 80] == []
    assert [step.release for step in found.configurations] == ["1.23"]
    assert found.configurations[0].yaml.startswith("# policy, as release 1.22 reads it, for release 1.23.")
