"""Pods that have to leave: those of controllers, evictions under budgets, and nodes that are drained.

Of each eviction the upstream rule says what becomes of it. Budgets and pods are manifests, so that the same can be sent
to a real API server.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import kubescheduler as ks

GROUPS = {"Job": "batch/v1", "Node": "v1", "ReplicationController": "v1"}


def owned(
    kind: str,
    owner: str,
    name: str,
    *,
    status: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """The manifest of a pod of a controller; fields: those of ``kubescheduler.pod``; spec: more of its spec."""
    manifest = dict(ks.pod(name, **fields))
    manifest["spec"] = {**manifest["spec"], **(spec or {})}
    reference = {"apiVersion": GROUPS.get(kind, "apps/v1"), "kind": kind, "name": owner, "uid": f"uid of {owner}"}
    manifest["metadata"] = {**manifest["metadata"], "ownerReferences": [{**reference, "controller": True}]}
    return manifest if status is None else {**manifest, "status": status}


OK, NOT_NOW, NEVER = 201, 429, 500
"""What an API server answers."""

LABELS = {"app": "web"}
SELECTOR: dict[str, Any] = {"matchLabels": LABELS}
READY = [{"type": "Ready", "status": "True"}]
UNREADY = [{"type": "Ready", "status": "False"}]
STATUSES: dict[str, dict[str, Any]] = {
    "R": {"phase": "Running", "conditions": READY},
    "U": {"phase": "Running", "conditions": UNREADY},
    "P": {"phase": "Pending", "conditions": UNREADY},
    "S": {"phase": "Succeeded", "conditions": UNREADY},
    "F": {"phase": "Failed", "conditions": UNREADY},
    "D": {"phase": "Running", "conditions": READY},
    "N": {},
}
"""How a pod is: ready, not ready, its containers not started, finished well or badly, being deleted; N: no status."""


class Case(NamedTuple):
    """Evictions one after the other, while no controller takes a look."""

    rule: str
    """The rule that it states, with upstream's function."""
    pods: str
    """A letter of ``STATUSES`` a pod; all have the label app=web."""
    allowed: int
    """disruptionsAllowed of the (first) budget."""
    evict: tuple[int, ...] = (0,)
    """The pods, in order."""
    answers: tuple[int, ...] = (OK,)
    spec: dict[str, Any] | None = None
    """Of the budget, besides its selector."""
    selector: dict[str, Any] | None = SELECTOR
    more: tuple[dict[str, Any], ...] = ()
    """Specs of further budgets."""
    kind: str = "ReplicaSet"
    """The pods' controller; empty: none."""
    replicas: int | None = None
    """Of the controller's object; None: it is not in the cluster."""
    deployment: bool = False
    """Whether the ReplicaSet is a Deployment's."""
    version: str = "policy/v1"
    real: bool = True
    """Whether a real API server takes these objects."""


def _min(value: int | str, **more: Any) -> dict[str, Any]:
    return {"minAvailable": value, **more}


def _max(value: int | str, **more: Any) -> dict[str, Any]:
    return {"maxUnavailable": value, **more}


ALWAYS = {"unhealthyPodEvictionPolicy": "AlwaysAllow"}
IF_HEALTHY = {"unhealthyPodEvictionPolicy": "IfHealthyBudget"}

CASES = (
    # --- getExpectedPodCount: a number of minAvailable
    Case("minAvailable leaves one over (updatePdbStatus)", "RRR", 1, spec=_min(2)),
    Case("what is left is taken one by one (checkAndDecrement)", "RRR", 1, (0, 1), (OK, NOT_NOW), _min(2)),
    Case("minAvailable equal to the pods allows none", "RRR", 0, answers=(NOT_NOW,), spec=_min(3)),
    Case("minAvailable above the pods allows none", "RR", 0, answers=(NOT_NOW,), spec=_min(5)),
    Case("minAvailable 0 allows all", "RR", 2, (0, 1), (OK, OK), _min(0)),
    Case("minAvailable counts the pods there are, whatever the controller says", "RR", 1, spec=_min(1), replicas=9),
    Case("minAvailable as a number needs no controller (getExpectedPodCount)", "RR", 1, spec=_min(1), kind=""),
    Case("minAvailable as a number counts pods of DaemonSets", "RR", 1, spec=_min(1), kind="DaemonSet"),
    # --- shares of minAvailable
    Case("half of 4", "RRRR", 2, (0, 1, 2), (OK, OK, NOT_NOW), _min("50%"), replicas=4),
    Case("half of 3 is rounded up to 2 (GetScaledValueFromIntOrPercent)", "RRR", 1, spec=_min("50%"), replicas=3),
    Case("100% allows none", "RRR", 0, answers=(NOT_NOW,), spec=_min("100%"), replicas=3),
    Case("0% allows all", "RR", 2, spec=_min("0%"), replicas=2),
    Case("1% of 3 is 1", "RRR", 2, spec=_min("1%"), replicas=3),
    Case("a share is of the controller's replicas, not of the pods", "RR", 0, answers=(NOT_NOW,), spec=_min("50%"),
         replicas=4),
    Case("more pods than replicas are healthy as well", "RRRR", 2, spec=_min("100%"), replicas=2),
    # --- maxUnavailable
    Case("maxUnavailable 1", "RRR", 1, (0, 1), (OK, NOT_NOW), _max(1), replicas=3),
    Case("maxUnavailable 0 allows none", "RRR", 0, answers=(NOT_NOW,), spec=_max(0), replicas=3),
    Case("maxUnavailable above the replicas desires none", "RR", 2, (0, 1), (OK, OK), _max(5), replicas=2),
    Case("a third of 4 is rounded up to 2", "RRRR", 2, spec=_max("33%"), replicas=4),
    Case("1% of 2 is rounded up to 1", "RR", 1, spec=_max("1%"), replicas=2),
    Case("maxUnavailable 100% allows all", "RR", 2, spec=_max("100%"), replicas=2),
    Case("a pod that is not there is one that is unavailable", "RR", 0, answers=(NOT_NOW,), spec=_max(1), replicas=3),
    Case("a pod that is not ready is one that is unavailable", "RRU", 0, answers=(NOT_NOW,), spec=_max(1), replicas=3),
    # --- getExpectedScale: controllers
    Case("a Deployment's replicas (getPodDeployment)", "RRR", 1, spec=_max(1), replicas=3, deployment=True),
    Case("a StatefulSet's replicas (getPodStatefulSet)", "RRR", 1, spec=_max(1), replicas=3, kind="StatefulSet"),
    Case("a ReplicationController's replicas", "RRR", 1, spec=_max(1), replicas=3, kind="ReplicationController"),
    Case("a DaemonSet has no scale, so that syncing fails (failSafe)", "RRR", 0, answers=(NOT_NOW,), spec=_max(1),
         kind="DaemonSet"),
    Case("a Job has no scale either", "RRR", 0, answers=(NOT_NOW,), spec=_min("10%"), kind="Job"),
    Case("pods of no controller are expected by nobody (unmanagedPods)", "RR", 0, answers=(NOT_NOW,), spec=_max(1),
         kind=""),
    Case("where the controller is not in the cluster, its pods are counted", "RRR", 1, spec=_max(1)),
    Case("a budget that says nothing expects none (updatePdbStatus)", "RR", 0, answers=(NOT_NOW,), spec={}),
    # --- countHealthyPods
    Case("a pod that is being deleted is not healthy", "RRD", 0, answers=(NOT_NOW,), spec=_min(2)),
    Case("a finished pod is not healthy", "RRS", 0, answers=(NOT_NOW,), spec=_min(2)),
    Case("a pod without status that is on a node counts as ready here", "NNN", 1, spec=_min(2), real=False),
    # --- Create: pods that need no budget (canIgnorePDB)
    Case("a finished pod is deleted", "SRR", 0, spec=_min(2)),
    Case("a failed pod is deleted", "FRR", 0, spec=_min(2)),
    Case("a pod whose phase is Pending is deleted", "PRR", 0, spec=_min(2)),
    Case("a pod that is being deleted is deleted", "DRR", 0, spec=_min(2)),
    # --- Create: pods that are not ready
    Case("one that is not ready takes nothing while enough are", "URR", 0, spec=_min(2)),
    Case("it takes nothing of a budget with one left either", "URRR", 1, (0, 1), (OK, OK), _min(2)),
    Case("IfHealthyBudget is the same", "URR", 0, spec=_min(2, **IF_HEALTHY)),
    Case("one that is not ready is refused while too few are", "UR", 0, answers=(NOT_NOW,), spec=_min(2)),
    Case("IfHealthyBudget refuses it as well", "UR", 0, answers=(NOT_NOW,), spec=_min(2, **IF_HEALTHY)),
    Case("AlwaysAllow lets it go", "UR", 0, spec=_min(2, **ALWAYS)),
    Case("AlwaysAllow protects those that are ready", "RU", 0, answers=(NOT_NOW,), spec=_min(1, **ALWAYS)),
    Case("where none is desired, one that is not ready needs an allowed disruption", "U", 0, answers=(NOT_NOW,),
         spec=_max("100%"), replicas=1),
    # --- getPodDisruptionBudgets
    Case("several budgets on a pod", "RRR", 2, answers=(NEVER,), spec=_min(1), more=(_max(1),), replicas=3),
    Case("several budgets on a pod that is not ready", "URR", 1, answers=(NEVER,), spec=_min(1), more=(_min(1),)),
    Case("several budgets on a finished pod", "SRR", 1, spec=_min(1), more=(_min(1),)),
    Case("a budget that selects other pods", "R", 0, spec=_min(9), selector={"matchLabels": {"app": "db"}}),
    Case("matchExpressions select as well", "RR", 1, (0, 1), (OK, NOT_NOW), _min(1),
         {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}),
    Case("an empty selector selects every pod of the namespace (policy/v1)", "RR", 0, answers=(NOT_NOW,), spec=_min(2),
         selector={}),
    Case("an empty selector selects none (policy/v1beta1)", "RR", 0, spec=_min(2), selector={},
         version="policy/v1beta1", real=False),
    Case("no selector selects none", "RR", 0, spec=_min(2), selector=None),
)  # fmt: skip


def objects_of(case: Case, namespace: str = "default") -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(budgets and controllers, pods)."""
    specs = (case.spec or {}, *case.more)
    chosen = {} if case.selector is None else {"selector": case.selector}
    budgets = [
        {
            "apiVersion": case.version,
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"budget-{at}", "namespace": namespace},
            "spec": {**chosen, **spec},
        }
        for at, spec in enumerate(specs)
    ]
    pods = [_pod(case, at, letter, namespace) for at, letter in enumerate(case.pods)]
    return [*budgets, *_controllers(case, namespace)], pods


def _pod(case: Case, at: int, letter: str, namespace: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"namespace": namespace, "labels": LABELS, "node": "a", "status": STATUSES[letter]}
    pod = owned(case.kind or "ReplicaSet", "web", f"web-{at}", **fields)
    if not case.kind:
        del pod["metadata"]["ownerReferences"]
    return pod


def _controllers(case: Case, namespace: str) -> list[dict[str, Any]]:
    if case.replicas is None:
        return []
    metadata: dict[str, Any] = {"name": "web", "namespace": namespace}
    if case.deployment:
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid of it", "controller": True}
        metadata["ownerReferences"] = [owner]
    spec: dict[str, Any] = {"replicas": case.replicas}
    spec["selector"] = LABELS if case.kind == "ReplicationController" else SELECTOR
    version = "v1" if case.kind == "ReplicationController" else "apps/v1"
    return [{"apiVersion": version, "kind": case.kind, "metadata": metadata, "spec": spec}]


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


def drained_cluster(seed: int) -> tuple[ks.Cluster, list[str]]:
    """A cluster, and some of its nodes."""
    rng = random.Random(seed)
    names = [f"n{at}" for at in range(rng.randint(3, 5))]
    cluster = ks.Cluster(release="1.36")
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
