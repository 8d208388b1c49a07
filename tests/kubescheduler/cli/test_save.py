"""``--save``: the cluster with the pods bound."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kubescheduler.cli.conftest import CLUSTER, Run, pod

SERVICE = """\
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {selector: {app: web}, clusterIP: 10.0.0.7, ports: [{port: 80}]}
"""
RUNNING = pod("old", "2", metadata=", uid: u1", spec=", nodeName: n1, restartPolicy: Never")


def manifests(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    document = json.loads(text) if ".json" in path.name else yaml.safe_load(text)
    assert (document["apiVersion"], document["kind"]) == ("v1", "List")
    items: list[dict[str, Any]] = document["items"]
    return items


def places(items: list[dict[str, Any]]) -> dict[str, str | None]:
    return {i["metadata"]["name"]: i["spec"].get("nodeName") for i in items if i["kind"] == "Pod"}


VOLUMES = """\
---
{kind: StorageClass, apiVersion: storage.k8s.io/v1, metadata: {name: fast}, provisioner: csi.example.com,
 volumeBindingMode: WaitForFirstConsumer}
---
kind: PersistentVolumeClaim
apiVersion: v1
metadata: {name: data, uid: d1, labels: {mine: "yes"}}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, other: 1}
"""


def test_claims_are_bound(folder: Path, kubescheduler: Run) -> None:
    """As the scheduler and the provisioner of their class would do; all else of them is as it was written."""
    volume = "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"
    (folder / "cluster.yaml").write_text(CLUSTER + VOLUMES + pod("db", "1", spec=f", {volume}"))
    assert kubescheduler("schedule", "cluster.yaml", "--pending", "--save", "x.yaml", "-o", "name").status == 0
    saved = manifests(folder / "x.yaml")
    (claim,) = (one for one in saved if one["kind"] == "PersistentVolumeClaim")
    (made,) = (one for one in saved if one["kind"] == "PersistentVolume")
    assert (claim["metadata"]["labels"], claim["spec"]["other"]) == ({"mine": "yes"}, 1)
    assert (claim["spec"]["volumeName"], claim["status"]["phase"]) == (made["metadata"]["name"], "Bound")
    assert made["spec"]["claimRef"]["name"] == "data"


def test_the_claim_for_extended_resources_is_named(folder: Path, kubescheduler: Run) -> None:
    """In the pod's status, as the scheduler writes it; what is read again is the same."""
    device_class = {"extendedResourceName": "example.com/gpu", "selectors": []}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    devices = {"driver": "gpus", "nodeName": "n1", "pool": pool, "devices": [{"name": "only"}]}
    objects = [
        {"kind": "DeviceClass", "apiVersion": "resource.k8s.io/v1", "metadata": {"name": "gpu"}, "spec": device_class},
        {"kind": "ResourceSlice", "apiVersion": "resource.k8s.io/v1", "metadata": {"name": "s"}, "spec": devices},
    ]
    amounts = "resources: {limits: {example.com/gpu: 1}}"
    gpu_pod = f"kind: Pod\nmetadata: {{name: e}}\nspec: {{containers: [{{name: c, image: i, {amounts}}}]}}\n"
    (folder / "cluster.yaml").write_text("---\n".join([CLUSTER, *map(yaml.safe_dump, objects)]))
    (folder / "e.yaml").write_text(gpu_pod)
    arguments = ("--release", "1.36", "-o", "name")
    assert kubescheduler("schedule", "cluster.yaml", "--pod", "e.yaml", "--save", "x.yaml", *arguments).status == 0
    saved = manifests(folder / "x.yaml")
    (bound,) = (one for one in saved if one["kind"] == "Pod")
    (claim,) = (one for one in saved if one["kind"] == "ResourceClaim")
    said = bound["status"]["extendedResourceClaimStatus"]
    assert said["resourceClaimName"] == claim["metadata"]["name"]
    assert said["requestMappings"][0]["resourceName"] == "example.com/gpu"
    assert kubescheduler("why", "default/e", "x.yaml", "--release", "1.36").status == 0


@pytest.mark.parametrize("name", ["x.json", "x.yaml", "x.yml", "x.json.gz", "x.yaml.gz"])
def test_round_trip(folder: Path, kubescheduler: Run, name: str) -> None:
    """What is read again has the pods bound: nothing is pending, and there is that much less room."""
    (folder / "cluster.yaml").write_text(CLUSTER + SERVICE + RUNNING + pod("wide", "1500m") + pod("huge", "64"))
    first = kubescheduler("schedule", "cluster.yaml", "--pending", "--save", name, "-o", "name")
    assert (first.status, first.err) == (1, "")
    assert first.out == "default/wide n2\ndefault/huge <none>\n"
    items = manifests(folder / name)
    assert [(i["kind"], i["metadata"]["name"]) for i in items] == [
        ("Node", "n1"),
        ("Node", "n2"),
        ("Service", "web"),
        ("Pod", "old"),
        ("Pod", "wide"),
        ("Pod", "huge"),
    ]
    assert places(items) == {"old": "n1", "wide": "n2", "huge": None}
    (folder / "again.yaml").write_text(pod("again", "600m"))
    assert kubescheduler("schedule", name, "--pending", "-o", "name").out == "default/huge <none>\n"
    assert kubescheduler("schedule", "cluster.yaml", "--pod", "again.yaml").lines[1][2:] == ["n2", "2/2"]
    assert kubescheduler("schedule", name, "--pod", "again.yaml").lines[1][2:] == ["n1", "1/2"]
    assert {p.name for p in folder.iterdir()} == {"again.yaml", "cluster.yaml", "pod.yaml", "shapes.yaml", name}


def test_the_rest_stays_as_it_was(folder: Path, schedule: Run) -> None:
    """What no scheduler reads is kept, nothing is filled in, and bound pods differ by their node alone."""
    (folder / "cluster.yaml").write_text(CLUSTER + SERVICE + RUNNING)
    schedule("--pod", "pod.yaml", "--save", "x.json")
    items = manifests(folder / "x.json")
    assert items[:-1] == list(yaml.safe_load_all(CLUSTER + SERVICE + RUNNING))
    assert places(items[-1:]) == {"web": "n2"}


def test_kinds_and_versions_of_lists(folder: Path, kubescheduler: Run) -> None:
    """Objects that a list or an export gave their kind have their own in what is saved."""
    nodes = [{"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "pods": "9"}}}]
    (folder / "a.json").write_text(json.dumps({"kind": "NodeList", "apiVersion": "v1", "items": nodes}))
    (folder / "b.json").write_text(json.dumps({"storageClasses": [{"metadata": {"name": "fast"}}]}))
    kubescheduler("schedule", "a.json", "b.json", "--pod", "pod.yaml", "--save", "x.json")
    said = [(i["apiVersion"], i["kind"]) for i in manifests(folder / "x.json")]
    assert said == [("v1", "Node"), ("storage.k8s.io/v1", "StorageClass"), ("v1", "Pod")]


def test_the_same_bytes_again(folder: Path, schedule: Run) -> None:
    """Saving twice gives the same bytes, compressed ones too; a saved cluster is saved as it is."""
    for name in ("a.json.gz", "b.json.gz"):
        schedule("--pod", "pod.yaml", "--save", name)
    assert (folder / "a.json.gz").read_bytes() == (folder / "b.json.gz").read_bytes()


def test_a_file_that_is_there(folder: Path, kubescheduler: Run) -> None:
    """The cluster may be saved over the file it came from; a link stays one."""
    os.symlink("cluster.yaml", "link.yaml")
    for expected in ("default/web n1\n", "error: "):
        outcome = kubescheduler("schedule", "link.yaml", "--pod", "pod.yaml", "--save", "link.yaml", "-o", "name")
        assert (outcome.out or outcome.err).startswith(expected)
    assert (folder / "link.yaml").is_symlink()
    assert places(manifests(folder / "cluster.yaml")) == {"web": "n1"}


def test_whole_or_not_at_all(folder: Path, schedule: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """When writing fails, what was there stays, nothing else does, and no decision is printed."""
    (folder / "x.json").write_text("precious")
    before = sorted(folder.iterdir())

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    outcome = schedule("--pod", "pod.yaml", "--save", "x.json")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == "error: --save x.json: cannot be written: No space left on device\n"
    assert sorted(folder.iterdir()) == before
    assert (folder / "x.json").read_text() == "precious"
