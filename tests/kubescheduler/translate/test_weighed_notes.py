"""Tests of notes that are weighed against a cluster."""

from __future__ import annotations

from typing import Any

import msgspec

from clusterstate.objects import ClusterObject, Container, FrozenMap
from kubescheduler.translate.migration import MigrationOptions, migrated
from kubescheduler.translate.translating import weighed
from kubescheduler.translate.translation_model import Note
from priorities.prefer_avoid import ANNOTATION
from tests.support.comparisons import node, pod

POLICY = """\
kind: Policy
apiVersion: v1
predicates: [{name: PodFitsResources}, {name: CheckServiceAffinity, argument: {serviceAffinity: {labels: [rack]}}}]
priorities: [{name: NodePreferAvoidPodsPriority, weight: 1}, {name: SelectorSpreadPriority, weight: 1}]
"""


def notes() -> tuple[Note, ...]:
    return migrated([("policy.yaml", POLICY)], MigrationOptions("1.16", "1.36")).notes


def counted(*objects: ClusterObject) -> dict[str, Any]:
    """Path → what is said of the cluster."""
    return {
        note.path: note.text.rpartition("; here ")[2] for note in weighed(notes(), objects) if "; here " in note.text
    }


def test_nobody_uses_it() -> None:
    """An empty cluster."""
    found = counted(node("n1"))
    assert found["priorities[0] NodePreferAvoidPodsPriority"] == "nobody uses it"
    assert found["predicates[1] CheckServiceAffinity"] == "nobody uses it: no service selects pods"


def test_somebody_does() -> None:
    """Nodes with the annotation, nodes without the labels that spreading needs, pods that rely on missing filters."""
    plain = node("n1")
    marked = msgspec.structs.replace(
        node("n2"),
        metadata=msgspec.structs.replace(
            node("n2").metadata, annotations=FrozenMap({ANNOTATION: "{}"}), labels=FrozenMap()
        ),
    )
    found = counted(plain, marked, pod("web"))
    assert found["priorities[0] NodePreferAvoidPodsPriority"] == "1 of 2 nodes carry the annotation"
    assert "2 nodes lack topology.kubernetes.io/zone" in found["priorities[1] SelectorSpreadPriority"]
    assert found["predicates"] == "0 of 1 pods use claims, 0 have DoNotSchedule constraints"


def test_init_containers_of_running_pods() -> None:
    """The running pods that count for more than before; pending ones are no part of it."""
    waiting = pod("waiting")
    waiting = msgspec.structs.replace(
        waiting, spec=msgspec.structs.replace(waiting.spec, init_containers=(Container(),))
    )
    running = msgspec.structs.replace(waiting, node_name="n1")
    found = counted(node("n1"), pod("web"), waiting, running)
    assert found["releases after 1.16"] == "1 of 3 pods run and have init containers"
