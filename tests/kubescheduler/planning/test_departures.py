"""What becomes of a pod that leaves its node, and the pod that comes in its place."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import kubescheduler as ks
from clusterstate.objects import Pod
from kubescheduler.planning.departures import Fate, fate_of, successor
from kubescheduler.simulation.pod_claims import given_back, made_for
from tests.support.evictions import owned

MIRRORED = {"kubernetes.io/config.mirror": "x"}
DELETED = "2026-01-01T00:00:00Z"


def _pod(manifest: dict[str, Any]) -> Pod:
    return ks.Cluster(release="1.36").node("a").pod(manifest).pods[0]


@pytest.mark.parametrize(
    ("manifest", "fate"),
    [
        (ks.pod("p", node="a"), Fate.BARE),
        (owned("ReplicaSet", "web", "web-x", node="a"), Fate.REMADE),
        (owned("StatefulSet", "db", "db-0", node="a"), Fate.REMADE),
        (owned("Job", "j", "j-x", node="a"), Fate.REMADE),
        (owned("Gang", "g", "g-x", node="a"), Fate.REMADE),
        (owned("DaemonSet", "agent", "agent-x", node="a"), Fate.DAEMON),
        (owned("Node", "a", "proxy-a", node="a"), Fate.STATIC),
        (ks.pod("proxy-a", node="a", annotations=MIRRORED), Fate.STATIC),
        (owned("Job", "j", "j-x", node="a", status={"phase": "Succeeded"}), Fate.FINISHED),
        (owned("ReplicaSet", "web", "web-x", node="a", status={"phase": "Failed"}), Fate.FINISHED),
    ],
)
def test_fate(manifest: dict[str, Any], fate: Fate) -> None:
    """By the controller, the mirror's annotation and the phase."""
    assert fate_of(_pod(manifest)) is fate


@pytest.mark.parametrize(("kind", "fate"), [("ReplicaSet", Fate.LEAVING), ("StatefulSet", Fate.REMADE)])
def test_being_deleted(kind: str, fate: Fate) -> None:
    """A ReplicaSet has made another one when a pod is being deleted; a StatefulSet waits for its end."""
    pod = _pod(owned(kind, "web", "web-0", node="a"))
    metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=DELETED)
    assert fate_of(msgspec.structs.replace(pod, metadata=metadata)) is fate


@pytest.mark.parametrize(
    ("kind", "owner", "name", "base"),
    [
        ("ReplicaSet", "web-7f9c", "web-7f9c-x2bcd", "web-7f9c-"),
        ("ReplicaSet", "web-7f9c", "web-1", "web-7f9c-"),
        ("Job", "sum", "sum-3-bcdfg", "sum-3-"),
        ("ReplicaSet", "n" * 70, "web-1", "n" * 58),
    ],
)
def test_generated_names(kind: str, owner: str, name: str, base: str) -> None:
    """As the API server makes them: what the controller says, and five characters; never a name that is taken."""
    pod = _pod(owned(kind, owner, name, node="a"))
    fresh = successor(pod, {pod.key})
    assert fresh.metadata.name[:-5] == base
    assert fresh.metadata.name != name
    assert successor(pod, {pod.key}) == fresh
    assert successor(pod, {pod.key, fresh.key}).key not in {pod.key, fresh.key}


def test_a_statefulsets_pod_keeps_its_name_and_is_another_pod() -> None:
    """Node, status, nomination and times are gone; what the manifest says, too."""
    status = {"phase": "Running", "nominatedNodeName": "b", "startTime": DELETED}
    pod = _pod(owned("StatefulSet", "db", "db-0", node="a", status=status))
    fresh = successor(pod, {pod.key})
    assert fresh.key == pod.key
    assert fresh.metadata.uid != pod.metadata.uid
    assert (fresh.node_name, fresh.phase, fresh.nominated_node_name, fresh.start_time) == ("", "", "", None)
    assert fresh.metadata.creation_timestamp is None
    assert fresh.spec == pod.spec


def test_an_ephemeral_volumes_claim_is_made_anew() -> None:
    """It goes with its pod; the next pod's waits for its node where the class does."""
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "web-1-scratch",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes", "volume.kubernetes.io/selected-node": "a"},
        },
        "spec": {"storageClassName": "late", "volumeName": "pv-1"},
        "status": {"phase": "Bound"},
    }
    late = {"kind": "StorageClass", "metadata": {"name": "late"}, "provisioner": "p"}
    late["volumeBindingMode"] = "WaitForFirstConsumer"
    manifest = owned("ReplicaSet", "web", "web-1", node="a")
    manifest["spec"]["volumes"] = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    cluster = ks.Cluster(release="1.36", validate="ignore").node("a").add(manifest)
    pod = cluster.pods[0]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "web-1", "uid": pod.metadata.uid, "controller": True}
    claim["metadata"]["ownerReferences"] = [owner]  # type: ignore[index]
    objects = cluster.add([late, claim]).cache().objects
    fresh, [made] = made_for(pod, successor(pod, {pod.key}), objects)
    assert [after for _, after in given_back(pod, objects)] == [None]
    assert made.metadata.name == f"{fresh.metadata.name}-scratch"
    assert made.metadata.owner_references[0].uid == fresh.metadata.uid
    assert (made.volume_name, dict(made.metadata.annotations)) == ("", {})
