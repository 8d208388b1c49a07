"""The cluster at a moment of a run: what has come, who is where, and who waits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import ClusterObject, Node, Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.lab.running.recorded_run import RecordedRun
from kubescheduler.simulation.pod_records import RUNNING, WAITING, PodRecord
from kubescheduler.simulation.workload import Workload

HELD_NOTE = "{} keeps its place on {} while Permit plugins hold it; here it runs there"
UPDATES_NOTE = "what became of other objects than pods and nodes during the run is left out"


def cluster_then(cluster: Cluster, workload: Workload, run: RecordedRun) -> tuple[Cluster, list[str]]:
    """The cluster at the moment at which a run ended, and what is otherwise there than it was in the run.

    cluster: as it was before the run. Pods that are to come are not there, those that have gone neither.
    """
    notes: list[str] = [UPDATES_NOTE] if workload.updates else []
    held, records = run.held, run.records
    there = {pod.key: pod for pod in cluster.pods}
    coming = {pod.key for pod in workload.pods()}
    known = {record.pod.key for record in records}
    gone = [r.pod.key for r in records if r.outcome not in (RUNNING, WAITING) and r.pod.key in there]
    gone += [key for key, pod in there.items() if key in coming and key not in known and not pod.node_name]
    cluster = cluster.without_pod(*gone) if gone else cluster
    cluster = _with_nodes(cluster, workload, run)
    fresh = [record.pod for record in records if record.outcome in (RUNNING, WAITING) and record.pod.key not in there]
    cluster = _with_new(cluster, (*workload.objects, *fresh))
    placed = {r.pod.key: r.node for r in records if r.outcome == RUNNING and not _on_node(there, r)}
    placed |= held
    notes += [HELD_NOTE.format(pod, node) for pod, node in held.items()]
    cluster = cluster.with_hosts(placed) if placed else cluster
    edits = {("Pod", r.pod.key): partial(_with_status, r.pod) for r in records if r.outcome in (RUNNING, WAITING)}
    cluster = cluster._changed(edits) if edits else cluster  # all at once: each edit reads the whole list
    return cluster, notes


def _on_node(there: dict[str, Pod], record: PodRecord) -> bool:
    pod = there.get(record.pod.key)
    return pod is not None and pod.node_name == record.node


def _with_nodes(cluster: Cluster, workload: Workload, run: RecordedRun) -> Cluster:
    """With nodes that have joined, without those that have left."""
    joined = [a.node for a in workload.nodes if a.at <= run.now and (a.leaves_at is None or a.leaves_at > run.now)]
    left = [a.node.name for a in workload.nodes if a.leaves_at is not None and a.leaves_at <= run.now]
    names = {node.name for node in cluster.nodes}
    if off := [name for name in left if name in names]:
        cluster = cluster.without_node(*off)
    return _with_new(cluster, [node for node in joined if node.name not in names])


def _with_new(cluster: Cluster, objects: Iterable[ClusterObject]) -> Cluster:
    manifests = [_manifest(obj) for obj in objects]
    return cluster.add(manifests) if manifests else cluster


def _manifest(obj: ClusterObject) -> dict[str, Any]:
    """As it was written, or as the fields that a scheduler reads; a pod on no node."""
    encoded = encode_object(obj)
    written = {**encoded, **((obj.manifest if isinstance(obj, Pod | Node) else None) or {})}
    if isinstance(obj, Pod):
        written["metadata"] = {**written["metadata"], "name": obj.metadata.name, "namespace": obj.metadata.namespace}
        written["spec"] = {key: value for key, value in written["spec"].items() if key != "nodeName"}
        written.pop("status", None)
    return written


def _with_status(pod: Pod, before: Mapping[str, Any]) -> dict[str, Any]:
    """With what the run wrote of the pod: where it waits for room, since when it runs, that it is leaving and why."""
    known = {one["type"]: one for one in (before.get("status") or {}).get("conditions") or ()}
    conditions = [
        {
            **known.get(one.type, {}),
            "type": one.type,
            "status": one.status,
            **({"reason": one.reason} if one.reason else {}),
        }
        for one in pod.conditions
    ]
    written = {
        "nominatedNodeName": pod.nominated_node_name or None,
        "startTime": pod.start_time,
        "conditions": conditions or None,
    }
    leaving = {"deletionTimestamp": pod.metadata.deletion_timestamp}
    return _put(_put(before, "status", written), "metadata", leaving)


def _put(manifest: Mapping[str, Any], part: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """With some values of a part; None: without the key, and a part that is then empty is not there."""
    rest = {key: value for key, value in (manifest.get(part) or {}).items() if key not in values}
    rest |= {key: value for key, value in values.items() if value is not None}
    return {**{key: value for key, value in manifest.items() if key != part}, **({part: rest} if rest else {})}
