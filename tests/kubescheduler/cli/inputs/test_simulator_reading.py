"""A reader of kube-scheduler-simulator's format reads what is exported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kubescheduler.cli.conftest import Run, pod
from tests.support.comparisons import Export, read_export, results_of
from tests.support.releases_tried import RELEASES_TRIED

Exported = Callable[[str], Export]

CLUSTER = """
{kind: Node, metadata: {name: a, labels: {disk: ssd}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}
---
{kind: Node, metadata: {name: b}, status: {allocatable: {cpu: 2, memory: 8Gi, pods: 110}}}
---
{kind: Node, metadata: {name: c}, status: {allocatable: {cpu: 1, memory: 8Gi, pods: 110}}}
---
{kind: Namespace, metadata: {name: default}}
---
{kind: PriorityClass, metadata: {name: high}, value: 10}
---
{kind: Service, metadata: {name: web, namespace: default}, spec: {selector: {app: web}}}
"""


@pytest.fixture
def exported(folder: Path, kubescheduler: Run) -> Exported:
    """Schedules one pod that fits on two nodes and one that fits nowhere, by the rules of a release."""
    (folder / "cluster.yaml").write_text(CLUSTER)
    (folder / "pods.yaml").write_text(pod("web", "2") + pod("huge", "64"))

    def run(release: str) -> Export:
        arguments = ("schedule", "cluster.yaml", "--pod", "pods.yaml", "--release", release, "-o", "simulator")
        return read_export(kubescheduler(*arguments).out)

    return run


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_the_export_is_read(exported: Exported, release: str) -> None:
    """Every list has its objects, and the configuration is there where the release has one."""
    export = exported(release)
    assert [node.metadata.name for node in export.nodes] == ["a", "b", "c"]
    assert [each.metadata.name for each in (*export.namespaces, *export.priority_classes)] == ["default", "high"]
    assert (export.scheduler_config is None) == (release in ("1.4", "1.16"))
    assert {each.metadata.name: each.spec.get("nodeName") for each in export.pods} == {"web": "a", "huge": None}


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_the_results_are_read(exported: Exported, release: str) -> None:
    """Of each pod: who refused which node, final scores as numbers of the feasible nodes, and the chosen node."""
    results = {each.metadata.name: results_of(each.metadata.annotations) for each in exported(release).pods}
    web, huge = results["web"], results["huge"]
    assert set(web["filter-result"]) == {"a", "b", "c"}
    refused = {node for node, said in web["filter-result"].items() if set(said.values()) != {"passed"}}
    totals = {node: sum(map(int, scores.values())) for node, scores in web["finalscore-result"].items()}
    assert (refused, set(totals)) == ({"c"}, {"a", "b"})
    assert web["selected-node"] == max(totals, key=lambda node: totals[node])
    assert len(web["result-history"]) == 1
    assert results_of(web["result-history"][0])["filter-result"] == web["filter-result"]
    assert "selected-node" not in huge
    assert huge["finalscore-result"] == {}
