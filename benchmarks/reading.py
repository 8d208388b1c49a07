"""How fast a cluster is read, in how much memory: ``python -m benchmarks.reading [NODES] [PODS] [--python PYTHON]``.

Writes a cluster as ``kubectl get nodes,pods -A -o json --show-managed-fields`` prints one, then reads it in processes
of their own, as a file and through a pipe. PYTHON: the interpreter of another environment, to compare both in turn.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import IO, Any

TIME = "2026-01-01T00:00:00Z"
MEMORY = ("64Mi", "128Mi", "256Mi", "512Mi", "1Gi")
CPU = ("50m", "100m", "250m", "500m", "1")
APPS = 400


def written_cluster(file: IO[str], nodes: int, pods: int) -> None:
    """Writes a list of nodes and running pods, 400 deployments, indented by four."""
    file.write('{\n    "apiVersion": "v1",\n    "items": [\n')
    for index, manifest in enumerate(listed_manifests(nodes, pods)):
        text = json.dumps(manifest, indent=4).replace("\n", "\n        ")
        file.write(f"{',' if index else ''}\n        {text}".removeprefix("" if index else "\n"))
    file.write('\n    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n')


def listed_manifests(nodes: int, pods: int) -> Iterator[dict[str, Any]]:
    """Nodes and then running pods, pod k on a node that follows from k."""
    yield from map(_node, range(nodes))
    for number in range(pods):
        yield _pod(number, f"node-{number * 7919 % nodes:05d}")


def _managed(manager: str, fields: dict[str, Any]) -> dict[str, Any]:
    written = {"apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields, "manager": manager}
    return {**written, "operation": "Update", "time": TIME}


def _conditions(*kinds: str) -> list[dict[str, Any]]:
    return [{"lastTransitionTime": TIME, "reason": f"{kind}Is", "status": "True", "type": kind} for kind in kinds]


def _node(number: int) -> dict[str, Any]:
    name = f"node-{number:05d}"
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "m5.4xlarge",
        "topology.kubernetes.io/region": "r1",
        "topology.kubernetes.io/zone": f"z{number % 3}",
    }
    images = [
        {"names": [f"registry.example.com/app{(number + i) % 40}@sha256:{i:064d}"], "sizeBytes": 10**8 + i}
        for i in range(8)
    ]
    fields: dict[str, Any] = {"f:status": {"f:allocatable": {"f:cpu": {}, "f:memory": {}}, "f:images": {}}}
    metadata = {
        "creationTimestamp": TIME,
        "labels": labels,
        "managedFields": [_managed("kubelet", fields)],
        "name": name,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {**metadata, "resourceVersion": str(1000 + number), "uid": f"node-{number:032d}"},
        "spec": {"podCIDR": f"10.{number // 256}.{number % 256}.0/24", "providerID": f"aws:///i-{number:017d}"},
        "status": {
            "addresses": [{"address": name, "type": "Hostname"}],
            "allocatable": {"cpu": "15890m", "ephemeral-storage": "95491281146", "memory": "62456164Ki", "pods": "234"},
            "capacity": {"cpu": "16", "ephemeral-storage": "104845292Ki", "memory": "63473060Ki", "pods": "234"},
            "conditions": [
                *({**one, "status": "False"} for one in _conditions("MemoryPressure", "DiskPressure", "PIDPressure")),
                *_conditions("Ready"),
            ],
            "images": images,
            "nodeInfo": {"architecture": "amd64", "kubeletVersion": "v1.33.0", "operatingSystem": "linux"},
        },
    }


TOLERATIONS = [
    {"effect": "NoExecute", "key": f"node.kubernetes.io/{what}", "operator": "Exists", "tolerationSeconds": 300}
    for what in ("not-ready", "unreachable")
]
"""What an API server adds to every pod."""


def _pod(number: int, node: str) -> dict[str, Any]:
    app, group = number % APPS, f"{number % APPS:010x}"
    access = f"kube-api-access-{number:05x}"
    fields: dict[str, Any] = {
        "f:metadata": {"f:labels": {".": {}, "f:app": {}, "f:pod-template-hash": {}}, "f:ownerReferences": {}}
    }
    status: dict[str, Any] = {
        "f:status": {"f:conditions": {'k:{"type":"Ready"}': {"f:status": {}}}, "f:phase": {}, "f:podIP": {}}
    }
    memory = MEMORY[app % 5]
    container = {
        "env": [{"name": "NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}],
        "image": f"registry.example.com/app{app % 40}:v1",
        "imagePullPolicy": "IfNotPresent",
        "livenessProbe": {"failureThreshold": 3, "httpGet": {"path": "/", "port": "http"}, "periodSeconds": 10},
        "name": "main",
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "resources": {"limits": {"memory": memory}, "requests": {"cpu": CPU[app % 5], "memory": memory}},
        "terminationMessagePath": "/dev/termination-log",
        "volumeMounts": [{"mountPath": "/var/run/secrets", "name": access, "readOnly": True}],
    }
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    owner = {"apiVersion": "apps/v1", "blockOwnerDeletion": True, "controller": True, "kind": "ReplicaSet"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "creationTimestamp": TIME,
            "generateName": f"app-{app}-{group}-",
            "labels": {"app": f"app-{app}", "pod-template-hash": group, "tier": f"t{app % 5}"},
            "managedFields": [_managed("kube-controller-manager", fields), _managed("kubelet", status)],
            "name": f"app-{app}-{group}-{number:05x}",
            "namespace": f"ns{app % 20}",
            "ownerReferences": [{**owner, "name": f"app-{app}-{group}", "uid": f"set-{app:032d}"}],
            "resourceVersion": str(100_000 + number),
            "uid": f"pod-{number:032d}",
        },
        "spec": {
            "containers": [container],
            "dnsPolicy": "ClusterFirst",
            "nodeName": node,
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "serviceAccountName": "default",
            "tolerations": TOLERATIONS,
            "volumes": [{"name": access, "projected": {"defaultMode": 420, "sources": [token]}}],
        },
        "status": {
            "conditions": _conditions("Initialized", "Ready", "ContainersReady", "PodScheduled"),
            "containerStatuses": [{"containerID": f"containerd://{number:064d}", "name": "main", "ready": True}],
            "hostIP": "10.0.0.1",
            "phase": "Running",
            "podIP": f"10.1.{number % 256}.{number // 256 % 256}",
            "qosClass": "Burstable",
            "startTime": TIME,
        },
    }


READ = """
import gc, resource, sys, time
from kubescheduler.api.cluster import Cluster
gc.disable()
begun = time.process_time()
cluster = Cluster.read(sys.argv[1], release=sys.argv[2], keep_manifests=False)
spent = time.process_time() - begun
print(spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, len(cluster.nodes), len(cluster.pods))
"""

UNIT = "import time; begun = time.process_time(); import numpy, click, attrs; print(time.process_time() - begun)"
"""What a machine is measured by: three imports."""


def main() -> None:
    """Prints a line for each interpreter, release and way of reading."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", type=int, nargs="?", default=5000)
    parser.add_argument("pods", type=int, nargs="?", default=50_000)
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    pythons = [sys.executable, *given.python]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.json"
        with path.open("w") as file:
            written_cluster(file, given.nodes, given.pods)
        print(f"{path.stat().st_size / 1e6:.0f} MB, {given.nodes} nodes, {given.pods} pods; median of {given.times}")
        for release in ("1.16", "1.36"):
            for way in ("file", "pipe"):
                rows = [[measured(python, path, release, way) for python in pythons] for _ in range(given.times)]
                for python, runs in zip(pythons, zip(*rows, strict=True), strict=True):
                    seconds, unit, memory = (median(each) for each in zip(*runs, strict=True))
                    times = f"{seconds:6.2f} s CPU ({seconds / unit:5.1f} times three imports)"
                    print(f"{release:5} {way} {times} {memory:6.0f} MB  {python}")


def measured(python: str, path: Path, release: str, way: str) -> tuple[float, float, float]:
    """Seconds of reading, seconds of three imports in the same moment, and megabytes at the most."""
    unit = float(_output(python, UNIT))
    with path.open("rb") as file:
        name, stdin = ("-", file) if way == "pipe" else (str(path), None)
        if stdin is None:
            seconds, memory, *_ = map(float, _output(python, READ, name, release).split())
        else:
            with subprocess.Popen(["cat"], stdin=stdin, stdout=subprocess.PIPE) as cat:
                seconds, memory, *_ = map(float, _output(python, READ, name, release, stdin=cat.stdout).split())
    return seconds, unit, memory


def _output(python: str, code: str, *args: str, stdin: IO[bytes] | None = None) -> str:
    return subprocess.run([python, "-c", code, *args], stdin=stdin, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
