"""Which workload a pod belongs to."""

from __future__ import annotations

import pytest

from clusterstate.objects import FrozenMap, ObjectMeta, OwnerReference, Pod, PodSpec, ReplicaSet
from kubescheduler.comparison.running_pods import workloads_of


def controlled(kind: str, name: str, template_hash: str = "", *, controller: bool = True) -> Pod:
    labels = FrozenMap({"pod-template-hash": template_hash} if template_hash else {})
    owner = OwnerReference(kind, name, "u", controller)
    return Pod(ObjectMeta("p", "shop", labels=labels, owner_references=(owner,)), PodSpec())


def replica_set(name: str, namespace: str = "shop", *owners: OwnerReference) -> ReplicaSet:
    return ReplicaSet(ObjectMeta(name, namespace, owner_references=owners))


DEPLOYMENT = OwnerReference("Deployment", "web", "d", True)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(Pod(ObjectMeta("p", "shop"), PodSpec()), "Pod/p", id="nobody"),
        pytest.param(controlled("StatefulSet", "db"), "StatefulSet/db", id="direct"),
        pytest.param(controlled("StatefulSet", "db", controller=False), "Pod/p", id="an owner that is no controller"),
        pytest.param(controlled("ReplicaSet", "odd"), "Deployment/web", id="a ReplicaSet that is there"),
        pytest.param(controlled("ReplicaSet", "alone"), "ReplicaSet/alone", id="a ReplicaSet of its own"),
        pytest.param(controlled("ReplicaSet", "other"), "ReplicaSet/other", id="one of another namespace"),
        pytest.param(controlled("ReplicaSet", "api-5f7b", "5f7b"), "Deployment/api", id="by the template hash"),
        pytest.param(controlled("ReplicaSet", "api-5f7b", "77"), "ReplicaSet/api-5f7b", id="another hash"),
        pytest.param(controlled("ReplicaSet", "-5f7b", "5f7b"), "ReplicaSet/-5f7b", id="nothing but the hash"),
        pytest.param(controlled("Job", "nightly-28391820"), "CronJob/nightly", id="minutes"),
        pytest.param(controlled("Job", "nightly-1609459200"), "CronJob/nightly", id="seconds"),
        pytest.param(controlled("Job", "import-20240131"), "Job/import-20240131", id="a date"),
        pytest.param(controlled("Job", "import-2024013112"), "Job/import-2024013112", id="a date with the hour"),
        pytest.param(controlled("Job", "import-2839182"), "Job/import-2839182", id="too short"),
        pytest.param(controlled("Node", "n1"), "Pod/p", id="a static pod"),
    ],
)
def test_workload(pod: Pod, expected: str) -> None:
    """The controller, and the controller of that where it is known."""
    sets = [replica_set("odd", "shop", DEPLOYMENT), replica_set("alone"), replica_set("other", "else", DEPLOYMENT)]
    assert workloads_of([pod], sets) == [expected]
