"""Results that print themselves as tables, and show themselves in a notebook."""

from __future__ import annotations

from typing import Any

import pytest

import kubescheduler as ks
from kubescheduler.core.results import ShownTable
from kubescheduler.notebook.static_tables import WIDTH
from tests.support.releases_tried import RELEASES_TRIED


def example(release: str) -> ks.Cluster:
    """The example's cluster."""
    return ks.Cluster.read("policy_examples/cluster.yaml", release=release)


@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.parametrize("pod", ["policy_examples/pod.yaml", ks.pod("big", cpu=99), ks.pod("tiny")])
def test_a_decision_in_fifteen_lines(release: str, pod: Any) -> None:
    """Where the pod goes, the totals of the best nodes, and why others were refused, in 80 columns."""
    decision = ks.Scheduler(example(release)).decide(pod)
    lines = str(decision).splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= WIDTH
    assert (decision.host or "no node") in lines[0]
    totals = [line for line in lines if line.startswith("total")]
    assert not totals or str(decision.total()[decision.host or ""]) in totals[0].split()
    assert repr(decision) == f"<Decision {lines[0]}>"


def test_many_rules_and_nodes() -> None:
    """What has no room is counted."""
    cluster = ks.Cluster(release="1.36")
    for number in range(30):
        cluster = cluster.node(f"node-{number}", cpu=4 + number)
    text = str(ks.Scheduler(cluster).decide(ks.pod("web", cpu=1)))
    assert "27 more nodes that fit" in text


def results() -> dict[str, Any]:
    """Everything that prints as a table."""
    cluster = example("1.36")
    scheduler = ks.Scheduler(cluster)
    decision = scheduler.decide("policy_examples/pod.yaml")
    return {
        "why a node fits": decision.why(decision.host or ""),
        "why a node does not": decision.why("worker-6"),
        "hints": scheduler.hints(ks.pod("big", cpu=16)),
        "no hints": scheduler.hints("policy_examples/pod.yaml"),
        "capacity": ks.capacity(cluster, "policy_examples/pod.yaml"),
        "utilisation": cluster.utilisation(),
    }


SHOWN = {
    "why a node fits": ("worker-4: fits", "NodeResourcesFit", "51"),
    "why a node does not": ("worker-6: does not fit", "TaintToleration", "dedicated=batch:NoSchedule"),
    "hints": ("default/big: 0/7 nodes are available", "add one more node like worker-3, but with 16 cpu"),
    "no hints": ("nothing needs to change",),
    "capacity": ("default/web-3: 33 fit", "worker-3    15", "Insufficient cpu"),
    "utilisation": ("worker-2  memory    12Gi of 16Gi  75%", "3 of 4"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_tables(name: str) -> None:
    """Text in 80 columns, and the same as HTML."""
    found = results()[name]
    text = str(found)
    assert all(part in text for part in SHOWN[name])
    assert max(map(len, text.splitlines())) <= WIDTH
    page = found._repr_html_()
    assert page.startswith("<div>")
    assert page.count("<tr") == (len(found.table().rows) + 1 if found.table().rows else 0)


def test_long_words_are_not_broken() -> None:
    """A line is longer rather than a word cut in two."""
    word = "x" * 200
    assert word in ShownTable("t", ("a", "b"), [(1, f"some {word}")]).text()


def test_amounts_as_kubernetes_writes_them() -> None:
    """Nodes and pods print with 8Gi, not with thousandths of bytes."""
    cluster = ks.Cluster().node("a", cpu=4, memory="8Gi", taints=["gpu:NoSchedule"]).pod("web", node="a", cpu="500m")
    assert str(cluster.nodes[0]) == "Node a: cpu 4, memory 8Gi, pods 110, gpu:NoSchedule"
    assert str(cluster.pods[0]) == "Pod default/web: on a, cpu 500m"
    assert cluster.utilisation().of("a")["cpu"] == 0.125
    assert [row.used for row in cluster.utilisation()] == ["500m", "0", "1"]
