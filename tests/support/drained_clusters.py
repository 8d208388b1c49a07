"""Small clusters whose nodes are drained, made at random."""

from __future__ import annotations

import random
from typing import Any

import kubescheduler as ks
from tests.support.owned_pods import owned


def budget(name: str, app: str, **spec: Any) -> dict[str, Any]:
    """The manifest of a budget of the pods with the label app."""
    selector = {"matchLabels": {"app": app}}
    metadata = {"name": name}
    spec = {**spec, "selector": selector}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}


def beside(app: str) -> dict[str, Any]:
    """What a pod's spec says that has to be on a node with a pod of the label app."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def drained_cluster(seed: int, release: str = "1.36") -> tuple[ks.Cluster, list[str]]:
    """A cluster, and some of its nodes."""
    rng = random.Random(seed)
    names = [f"n{at}" for at in range(rng.randint(3, 5))]
    cluster = ks.Cluster(release=release)
    for name in names:
        cluster = cluster.node(name, cpu=rng.choice([2, 4]), labels={"kubernetes.io/hostname": name})
    room = {node.name: node.allocatable["cpu"] for node in cluster.nodes}
    pods: list[dict[str, Any]] = []
    for app in ("web", "db", "job"):
        for at in range(rng.randint(0, 3)):
            cpu = rng.choice([500, 1000, 1500])
            where = [name for name in names if room[name] >= cpu]
            if where:
                node = rng.choice(where)
                room[node] -= cpu
                fields: dict[str, Any] = {"node": node, "cpu": f"{cpu}m", "labels": {"app": app}}
                if app == "db" and rng.random() < 0.5 and any(pod["spec"]["nodeName"] == node for pod in pods):
                    fields["spec"] = beside("web")
                fields["priority"] = rng.choice([0, 0, 5])
                pods.append(owned("ReplicaSet" if app != "db" else "StatefulSet", app, f"{app}-{at}", **fields))
    specs: list[dict[str, Any]] = [{"minAvailable": 1}, {"maxUnavailable": 1}, {"minAvailable": "50%"}]
    budgets = [budget("web", "web", **rng.choice(specs))]
    if rng.random() < 0.3:
        budgets.append(budget("db", "db", minAvailable=rng.choice([0, 1])))
    return cluster.add([*pods, *budgets]), rng.sample(names, rng.randint(1, len(names) - 1))
