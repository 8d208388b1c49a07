"""The claims that controllers make for new pods, and what becomes of pods that need them."""

from __future__ import annotations

import json
from typing import Any

import attrs
import msgspec
import pytest

import kubescheduler as ks
from clusterstate.errors import ClusterStateError, DecodeError
from clusterstate.manifests.decode import Item
from kubescheduler import Cluster, Scheduler, capacity
from kubescheduler.simulation.pod_claims import NO_CLASSES

Manifest = dict[str, Any]
ONE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def template(cls: str | None = None) -> Manifest:
    return {
        "metadata": {"labels": {"mine": "1"}},
        "spec": {**ONE, **({} if cls is None else {"storageClassName": cls})},
    }


def stateful_set(replicas: int, cls: str | None = None, **pod: Any) -> Manifest:
    one = {**template(cls), "metadata": {"name": "data", "labels": {"mine": "1"}}}
    containers = [{"name": "c", "image": "i"}]
    return {
        "kind": "StatefulSet",
        "apiVersion": "apps/v1",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": containers, **pod}},
            "volumeClaimTemplates": [one],
        },
    }


def storage_class(name: str, mode: str = "WaitForFirstConsumer", default: str = "", **fields: Any) -> Manifest:
    metadata = {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": default}}
    said = {"provisioner": "csi.example.com", "volumeBindingMode": mode, **fields}
    return {"kind": "StorageClass", "apiVersion": "storage.k8s.io/v1", "metadata": metadata, **said}


def local_volume(name: str, host: str) -> Manifest:
    picked = {"matchExpressions": [{"key": "host", "operator": "In", "values": [host]}]}
    there = {"required": {"nodeSelectorTerms": [picked]}}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "storageClassName": "local",
        "nodeAffinity": there,
    }
    return {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec, "status": {"phase": "Available"}}


def static_volume(name: str, storage: str, cls: str = "", **spec: Any) -> Manifest:
    said = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": storage}, "storageClassName": cls, **spec}
    return {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": said}


USUAL = storage_class("usual", "Immediate", "true")
LOCAL = storage_class("local", provisioner="kubernetes.io/no-provisioner")


def cluster(*objects: Manifest, release: str = "1.36") -> Cluster:
    nodes = Cluster(release=release).node("a", labels={"host": "a"}).node("b", labels={"host": "b"})
    return nodes.add(list(objects)) if objects else nodes


def claims(there: Scheduler | Cluster, kind: str = "PersistentVolumeClaim") -> dict[str, Any]:
    objects = there.objects if isinstance(there, Cluster) else there.cluster.objects
    return {obj.metadata.name: obj for obj in objects if type(obj).__name__ == kind}


@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_each_pod_of_a_stateful_set_gets_a_volume(release: str) -> None:
    """Until there is none."""
    volumes = [local_volume("first", "b"), local_volume("second", "a")]
    scheduler = Scheduler(cluster(LOCAL, *volumes, release=release))
    hosts = {pod: decision.host for pod, decision in scheduler.run(stateful_set(3, "local")).items()}
    assert sorted(str(host) for host in hosts.values()) == ["None", "a", "b"]
    assert hosts["default/db-2"] is None
    made = claims(scheduler)
    assert {name: claim.phase == "Bound" for name, claim in made.items()} == {
        "data-db-0": True,
        "data-db-1": True,
        "data-db-2": False,
    }
    assert made["data-db-0"].metadata.labels == {"mine": "1", "app": "db"}


def test_a_volume_of_the_same_name_gives_way() -> None:
    """The pod has the claim under the template's name, and its other volumes as they were."""
    own = [{"name": "data", "emptyDir": {}}, {"name": "more", "persistentVolumeClaim": {"claimName": "shared"}}]
    to_place = cluster().to_place(stateful_set(1, volumes=own), "pods")
    assert [getattr(volume, "claim_name", "") for volume in to_place.pods[0].spec.volumes] == ["data-db-0", "shared"]


def test_a_claim_that_is_there_is_kept() -> None:
    """As after a set was scaled down."""
    left = {"kind": "PersistentVolumeClaim", "metadata": {"name": "data-db-0", "uid": "left"}, "spec": ONE}
    scheduler = Scheduler(cluster(left, storage_class("fast")))
    scheduler.run(stateful_set(1, "fast"))
    assert claims(scheduler)["data-db-0"].metadata.uid == "left"


@pytest.mark.parametrize(
    ("classes", "named", "gets", "bound", "noted"),
    [
        ([], "fast", "fast", True, True),
        ([], None, None, True, True),
        ([storage_class("fast", "Immediate")], "fast", "fast", True, False),
        ([storage_class("fast")], "fast", "fast", False, False),
        ([storage_class("fast")], "other", "other", False, False),
        ([storage_class("fast", "Immediate"), storage_class("usual", "Immediate", "true")], None, "usual", True, False),
        ([storage_class("fast", "Immediate"), storage_class("usual", "Immediate", "true")], "", "", False, False),
        ([storage_class("own", "Immediate", provisioner="kubernetes.io/no-provisioner")], "own", "own", False, False),
    ],
)
def test_classes(classes: list[Manifest], named: str | None, gets: str | None, bound: bool, noted: bool) -> None:
    """A claim is bound before its pod is decided on where its class makes volumes and waits for nobody; also where no
    class is known, which is said. One that names none has the default class."""
    to_place = cluster(*classes).to_place(stateful_set(1, named), "pods")
    made: dict[str, Any] = {type(obj).__name__: obj for obj in to_place.objects}
    claim = made["PersistentVolumeClaim"]
    assert (claim.storage_class_name, bool(claim.volume_name)) == (gets, bound)
    assert ("PersistentVolume" in made) == bound
    assert (NO_CLASSES in to_place.notes) == noted
    assert any("StorageClass other is not there" in note for note in to_place.notes) == (named == "other")


def test_a_claim_without_a_name() -> None:
    """Is a fault with its path."""
    bad = stateful_set(1)
    del bad["spec"]["volumeClaimTemplates"][0]["metadata"]["name"]
    with pytest.raises(DecodeError, match=r"spec\.volumeClaimTemplates\[0\]\.metadata\.name: missing"):
        cluster().to_place(bad, "pods")


@pytest.mark.parametrize(
    ("where", "key", "value", "text"),
    [
        ((), "volumeClaimTemplates", 5, r"spec\.volumeClaimTemplates: must be a list, not 5"),
        ((), "selector", ["a"], r"spec\.selector: must be an object"),
        (("selector",), "matchLabels", ["a"], r"spec\.selector\.matchLabels: must be an object"),
        (("volumeClaimTemplates", 0, "metadata"), "labels", ["a"], r"\[0\]\.metadata\.labels: must be an object"),
        (
            ("volumeClaimTemplates", 0),
            "spec",
            5,
            r"StatefulSet default/db: spec\.volumeClaimTemplates\[0\]\.spec: must be",
        ),
        (
            ("template", "spec"),
            "volumes",
            [{"name": "e", "ephemeral": {"volumeClaimTemplate": {"metadata": [1], "spec": {}}}}],
            r"Pod default/db-0: spec\.volumes\[1\]\.ephemeral\.volumeClaimTemplate\.metadata: must be an object",
        ),
    ],
)
def test_what_is_of_the_wrong_kind(where: tuple[Any, ...], key: str, value: Any, text: str) -> None:
    """Is a fault with its path, of sets and of what is made of them."""
    bad = stateful_set(1)
    inside = bad["spec"]
    for step in where:
        inside = inside[step]
    inside[key] = value
    with pytest.raises(DecodeError, match=text):
        cluster().to_place(bad, "pods")


def test_a_fault_of_a_template_is_one() -> None:
    """However many claims are made from it; with the file, the object and the path where it stands."""
    bad = stateful_set(3)
    bad["spec"]["volumeClaimTemplates"][0]["spec"] = {"resources": {"requests": {"storage": "lots"}}}
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": 5}}}
    alone = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "spec": alone}
    with pytest.raises(DecodeError) as caught:
        cluster().to_place([Item("pods.yaml", bad), Item("pods.yaml", pod)], "pods")
    places = [problem.split(": ")[:3] for problem in caught.value.problems]
    assert sorted(places) == [
        ["pods.yaml", "Pod default/p", "spec.volumes[0].ephemeral.volumeClaimTemplate.spec"],
        ["pods.yaml", "StatefulSet default/db", "spec.volumeClaimTemplates[0].spec.resources.requests.storage"],
    ]


@pytest.mark.parametrize(
    ("release", "gates", "ignored"),
    [
        ("1.16", {}, ["spec.resourceClaims", "ephemeral volumes"]),
        ("1.20", {}, ["spec.resourceClaims", "ephemeral volumes"]),
        ("1.20", {"GenericEphemeralVolume": True}, ["spec.resourceClaims"]),
        ("1.23", {}, ["spec.resourceClaims"]),
        ("1.33", {}, ["spec.resourceClaims"]),
        ("1.33", {"DynamicResourceAllocation": True}, []),
        ("1.36", {}, []),
    ],
)
def test_what_a_release_does_not_look_at_is_noted(release: str, gates: dict[str, bool], ignored: list[str]) -> None:
    """Once for all pods of a reading, whether they are in the cluster or come to it."""
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": template()}}
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "one"}]
    pods = [{"kind": "Pod", "metadata": {"name": name}, "spec": spec} for name in ("one", "two")]
    there = Cluster(pods, release=release, gates=gates)
    for notes, expected in ((there.notes, ignored), (there.to_place(deployment(3)).notes, ignored[:1])):
        found = [note.partition(" of pods ignored: ") for note in notes if " ignored: " in note]
        assert [name for name, _, _ in found] == expected


def test_an_ephemeral_volume_gets_its_claim() -> None:
    """Which its pod owns."""
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template("local")}}
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    pods = [{"kind": "Pod", "metadata": {"name": name, "uid": name}, "spec": spec} for name in ("one", "two")]
    scheduler = Scheduler(cluster(LOCAL, local_volume("only", "b")))
    assert [decision.host for decision in scheduler.run(*pods).values()] == ["b", None]
    claim = claims(scheduler)["one-scratch"]
    assert (claim.metadata.owner_references[0].uid, claim.volume_name) == ("one", "only")


CLASS = {"kind": "DeviceClass", "apiVersion": "resource.k8s.io/v1", "metadata": {"name": "gpu"}, "spec": {}}
SLICE = {
    "kind": "ResourceSlice",
    "apiVersion": "resource.k8s.io/v1",
    "metadata": {"name": "slice"},
    "spec": {
        "driver": "gpus",
        "nodeName": "b",
        "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "first"}, {"name": "second"}],
    },
}
ONE_DEVICE: Manifest = {
    "kind": "ResourceClaimTemplate",
    "apiVersion": "resource.k8s.io/v1",
    "metadata": {"name": "one", "namespace": "default"},
    "spec": {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}},
}


def deployment(replicas: int) -> Manifest:
    out = stateful_set(replicas, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one"}])
    del out["spec"]["volumeClaimTemplates"]
    return {**out, "kind": "Deployment", "metadata": {"name": "train", "namespace": "default"}}


def test_each_pod_gets_a_resource_claim_of_its_template() -> None:
    """Whether the template is in the cluster or comes with the pods."""
    for there, given in (([CLASS, SLICE, ONE_DEVICE], []), ([CLASS, SLICE], [ONE_DEVICE])):
        scheduler = Scheduler(cluster(*there))
        found = scheduler.run(*given, deployment(3))
        assert [decision.host for decision in found.values()] == ["b", "b", None]
        made = claims(scheduler, "ResourceClaim")
        assert {name: claim.allocation is not None for name, claim in made.items()} == {
            "train-0-gpu": True,
            "train-1-gpu": True,
            "train-2-gpu": False,
        }
        pod = scheduler.cluster.find_pod("train-0")
        assert pod.resource_claim_statuses[0].resource_claim_name == "train-0-gpu"


@pytest.mark.parametrize("asks", ["template", "extended resource"])
def test_devices_are_free_again_when_pods_end(asks: str) -> None:
    """Four pods on two devices: the later ones get those of the first."""
    job = deployment(1)
    job["kind"], job["apiVersion"] = "Job", "batch/v1"
    template = job["spec"].pop("template")
    if asks == "extended resource":
        del template["spec"]["resourceClaims"]
        template["spec"]["containers"][0]["resources"] = {"limits": {"example.com/gpu": "1"}}
    template["metadata"]["annotations"] = {"kubescheduler/duration": "60"}
    job["spec"] = {"parallelism": 4, "completions": 4, "template": template}
    provider = {**CLASS, "spec": {"extendedResourceName": "example.com/gpu"}}
    report = ks.simulate(cluster(provider, SLICE, ONE_DEVICE), job)
    assert sorted(record.left or 0.0 for record in report.pods) == [60.0, 60.0, 120.0, 120.0]


def test_a_pod_that_waits_again_keeps_the_names_of_its_claims() -> None:
    """As controllers had made them."""
    scheduler = Scheduler(cluster(CLASS, SLICE, ONE_DEVICE))
    scheduler.run(deployment(1))
    assert Scheduler(scheduler.cluster.unbound("train-0")).decide("train-0").host == "b"


def test_volumes_that_are_made_are_their_drivers_and_where_the_class_allows() -> None:
    """So they count against the limit of a node, and whoever shares the claim goes where the volume is."""
    picked = [{"matchLabelExpressions": [{"key": "host", "values": ["b"]}]}]
    limited = {"name": "csi.example.com", "nodeID": "b", "topologyKeys": [], "allocatable": {"count": 1}}
    node = {
        "kind": "CSINode",
        "apiVersion": "storage.k8s.io/v1",
        "metadata": {"name": "b"},
        "spec": {"drivers": [limited]},
    }
    there = cluster(storage_class("fast", allowedTopologies=picked), node)
    assert [decision.host for decision in Scheduler(there).run(stateful_set(2, "fast")).values()] == ["b", None]
    shared = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "shared"},
        "spec": {**ONE, "storageClassName": "fast"},
    }
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "shared"}}
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    pods = [{"kind": "Pod", "metadata": {"name": name, "uid": name}, "spec": spec} for name in ("one", "two")]
    scheduler = Scheduler(there.add(shared))
    assert [decision.host for decision in scheduler.run(*pods).values()] == ["b", "b"]


def test_without_the_template_the_pod_waits() -> None:
    """As the scheduler says."""
    scheduler = Scheduler(cluster(CLASS, SLICE))
    (decision,) = scheduler.run(deployment(1)).values()
    assert "ResourceClaim not created yet" in decision.message
    assert "ResourceClaimTemplate default/one is not there: no ResourceClaim is made of it" in scheduler.notes


def test_capacity_counts_claims() -> None:
    """Each further pod needs volumes and devices of its own; the cluster is as before."""
    volumes = [local_volume("first", "b"), local_volume("second", "a")]
    scheduler = Scheduler(cluster(LOCAL, *volumes))
    assert capacity(scheduler.cluster, stateful_set(1, "local")).count == 2
    assert capacity(cluster(CLASS, SLICE, ONE_DEVICE), deployment(5)).count == 2
    assert capacity(cluster(storage_class("fast", "Immediate")), stateful_set(1, "fast"), limit=7).count == 7


def where(there: Cluster) -> dict[str, str | None]:
    """Pod that waits → the node that it gets, one after the other."""
    return {key: decision.host for key, decision in Scheduler(there).run().items()}


@pytest.mark.parametrize("asks", ["template", "extended resource", "extended resource, live"])
def test_what_if_frees_devices(asks: str) -> None:
    """Of pods that are gone and of those that wait again, which need devices anew. A live scheduler's claim has a name
    that ends by chance."""
    given = deployment(2)
    if asks != "template":
        del given["spec"]["template"]["spec"]["resourceClaims"]
        given["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"example.com/gpu": "1"}}
    provider = {**CLASS, "spec": {"extendedResourceName": "example.com/gpu"}}
    scheduler = Scheduler(cluster(provider, SLICE, ONE_DEVICE))
    scheduler.run(given)
    full = scheduler.cluster
    if asks.endswith("live"):
        text = json.dumps(full.manifests()).replace("-extended-resources", "-extended-resources-x7k2p")
        full = Cluster(release="1.36").add(json.loads(text))
    assert len(claims(full, "ResourceClaim")) == 2
    assert where(full.scaled("train", 3)) == {"default/train-0-1": None}
    assert where(full.without_pod("train-0").scaled("train", 2)) == {"default/train-1-1": "b"}
    assert where(full.scaled("train", 1).scaled("train", 2)) == {"default/train-0-1": "b"}
    assert where(full.unbound("train-0")) == {"default/train-0": "b"}
    drained = full.drained("b").uncordoned("b")
    assert where(drained) == {"default/train-0": "b", "default/train-1": "b"}
    assert all(one.allocation is None for one in claims(drained, "ResourceClaim").values())
    moved = {"default/train-0": None, "default/train-1": None}
    assert where(full.without_node("b")) == moved


def test_what_if_leaves_devices_that_others_use() -> None:
    """A claim that is given by name is one for all; its devices are free when its last pod ends."""
    named: dict[str, Any] = {"containers": [{"name": "c"}]}
    named["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "one"}]
    shared = {**ONE_DEVICE, "kind": "ResourceClaim", "spec": ONE_DEVICE["spec"]["spec"]}
    scheduler = Scheduler(cluster(CLASS, SLICE, shared))
    scheduler.run(*({"metadata": {"name": name}, "spec": named} for name in ("first", "second")))

    def held(there: Cluster) -> tuple[bool, int]:
        (claim,) = claims(there, "ResourceClaim").values()
        return claim.allocation is not None, len(claim.reserved_for)

    assert held(scheduler.cluster) == (True, 2)
    assert held(scheduler.cluster.without_pod("first")) == (True, 1)
    assert held(scheduler.cluster.without_pod("first", "second")) == (False, 0)
    assert held(scheduler.cluster.scaled("first", 3)) == (True, 2)


def test_copies_of_a_stateful_sets_pod_have_volumes_of_their_own() -> None:
    """Also those of another release that reads the same manifests; what is taken away leaves its claim."""
    volumes = [local_volume("first", "b"), local_volume("second", "a")]
    scheduler = Scheduler(cluster(LOCAL, *volumes))
    scheduler.run(stateful_set(1, "local"))
    grown = scheduler.cluster.scaled("db", 3)
    assert sorted(map(str, where(grown).values())) == ["None", "b"]
    assert where(grown) == where(grown.for_release("1.34"))
    pods = {pod.metadata.name: pod.spec.volumes[0] for pod in grown.pods}
    assert [getattr(each, "claim_name", "") for each in pods.values()] == ["data-db-0", "data-db-0-1", "data-db-0-2"]
    assert "data-db-0" in {one.metadata.name for one in scheduler.cluster.without_pod("db-0")}
    assert where(scheduler.cluster.drained("a").uncordoned("a")) == {"default/db-0": "a"}


def test_what_if_makes_ephemeral_volumes_anew() -> None:
    """A pod that leaves its node leaves the volume of its own there."""
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template("local")}}
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    scheduler = Scheduler(cluster(LOCAL, local_volume("first", "a"), local_volume("second", "b")))
    (decision,) = scheduler.run({"kind": "Pod", "metadata": {"name": "one"}, "spec": spec}).values()
    assert decision.host == "a"
    full = scheduler.cluster
    assert where(full.drained("a")) == {"default/one": "b"}
    assert where(full.scaled("one", 3)) == {"default/one-1": "b", "default/one-2": None}
    assert not claims(full.without_pod("one"))


@pytest.mark.parametrize(
    ("there", "own"),
    [
        pytest.param([storage_class("fast", "Immediate")], 3, id="made by the class"),
        pytest.param([], 3, id="no class is known"),
        pytest.param(
            [
                storage_class("fast", "Immediate", provisioner="kubernetes.io/no-provisioner"),
                *(static_volume(name, "1Gi", "fast") for name in "uv"),
            ],
            2,
            id="too few are there",
        ),
        pytest.param(
            [
                storage_class("fast", "Immediate", provisioner="kubernetes.io/no-provisioner"),
                *(static_volume(name, "1Gi", "fast") for name in "uvwx"),
            ],
            3,
            id="there already",
        ),
    ],
)
@pytest.mark.parametrize("scaled", [False, True])
def test_each_pod_has_a_volume_of_its_own(there: list[Manifest], own: int, scaled: bool) -> None:
    """Where its claim waits for no pod: copies share none, and none is made that nobody has."""
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template("fast")}}
    pod = {"kind": "Pod", "metadata": {"name": "one"}, "spec": {"containers": [{"name": "c"}], "volumes": [volume]}}
    copies = [{**pod, "metadata": {"name": f"one-{number}"}} for number in (1, 2)]
    one = cluster(*there, pod)
    grown = one.scaled("one", 3) if scaled else one.add(copies)
    volumes = claims(grown, "PersistentVolume")
    held = {claim.volume_name: name for name, claim in claims(grown).items() if claim.volume_name}
    assert len(held) == own
    assert all(volumes[volume].claim_ref.name == name for volume, name in held.items())
    assert sum(host is None for host in where(grown).values()) == 3 - own
    assert len(volumes) == max(own, sum(each["kind"] == "PersistentVolume" for each in there))
    again = claims(grown.bound("one", "a").unbound("one"))
    assert again["one-scratch"].volume_name not in held


@pytest.mark.parametrize(("release", "volume"), [("1.20", "plain"), ("1.36", "gold")])
def test_attributes_of_volumes(release: str, volume: str) -> None:
    """Count where the release knows them."""
    gold = static_volume("gold", "9Gi", volumeAttributesClassName="gold")
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "mine"}}
    spec = {**ONE, "storageClassName": "", "volumeAttributesClassName": "gold"}
    there = cluster(static_volume("plain", "2Gi"), gold, {**claim, "spec": spec}, release=release)
    assert claims(there)["mine"].volume_name == volume


def test_a_class_in_an_annotation() -> None:
    """The default class is for claims that name none in either way."""
    metadata = {"name": "mine", "annotations": {"volume.beta.kubernetes.io/storage-class": "late"}}
    there = cluster(USUAL, storage_class("late"), {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": ONE})
    assert (claims(there)["mine"].storage_class_name, claims(there)["mine"].volume_name) == (None, "")


@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_an_older_decision_is_bound_only_where_it_still_fits(release: str) -> None:
    """Whatever has been taken meanwhile: cpu, a volume, a device."""
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "shared"}}
    shared = {"kind": "PersistentVolumeClaim", "metadata": {"name": "shared"}}
    claim = {**shared, "spec": {**ONE, "storageClassName": "local"}}
    there = cluster(LOCAL, local_volume("first", "a"), local_volume("second", "b"), claim, release=release)
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    large = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": 3}}}]}
    scheduler = Scheduler(there)
    on_a, on_b = (scheduler.decide({"metadata": {"name": name}, "spec": spec}) for name in ("one", "two"))
    cpus = [scheduler.decide({"metadata": {"name": name}, "spec": large}) for name in ("three", "four", "five")]
    scheduler.bind(on_a)
    scheduler.bind(attrs.evolve(on_b, host="a"))
    scheduler.bind(cpus[0])
    with pytest.raises(ClusterStateError, match="Pod default/four no longer fits a: Insufficient cpu; decide on it"):
        scheduler.bind(cpus[1])
    with pytest.raises(ClusterStateError, match=r"Pod default/five no longer fits b: .* affinity"):
        scheduler.bind(
            attrs.evolve(on_b, host="b", pod=msgspec.structs.replace(on_b.pod, metadata=cpus[2].pod.metadata))
        )
    assert sorted(pod.metadata.name for pod in scheduler.cluster.pods) == ["one", "three", "two"]


def test_a_device_is_bound_once() -> None:
    """Two decisions on the last one."""
    spec = {"containers": [{"name": "c"}], "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]}
    scheduler = Scheduler(cluster(CLASS, SLICE, ONE_DEVICE))
    found = [scheduler.decide({"metadata": {"name": name}, "spec": spec}) for name in ("one", "two", "three")]
    for decision in found[:2]:
        scheduler.bind(decision)
    with pytest.raises(ClusterStateError, match="Pod default/three no longer fits b: cannot allocate all claims"):
        scheduler.bind(found[2])


def csi_node(name: str, *keys: str) -> Manifest:
    driver = {"name": "csi.example.com", "nodeID": name, "topologyKeys": [*keys]}
    described = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}}
    return {**described, "spec": {"drivers": [driver]}}


@pytest.mark.parametrize(
    ("keys", "stays"),
    [
        pytest.param(("zone",), True, id="by zone"),
        pytest.param(("zone", "kubernetes.io/hostname"), True, id="by zone and node"),
        pytest.param((), False, id="anywhere"),
        pytest.param(("rack",), False, id="by what the node does not say"),
        pytest.param(None, False, id="no CSINode"),
    ],
)
@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_a_volume_is_where_its_node_is(release: str, keys: tuple[str, ...] | None, stays: bool) -> None:
    """As its CSINode says where the driver's volumes can be used: a pod that has to leave does not get far."""
    there = Cluster(storage_class("fast"), release=release)
    for name, zone in (("a", "one"), ("b", "two")):
        there = there.node(name, labels={"zone": zone})
        there = there if keys is None else there.add(csi_node(name, *keys))
    scheduler = Scheduler(there)
    scheduler.run(stateful_set(1, "fast"))
    (volume,) = claims(scheduler, "PersistentVolume").values()
    assert (volume.node_affinity is not None) == stays
    moved = ks.drain(scheduler.cluster, "a").moved[0]
    assert moved.node == ("" if stays else "b")
    again = ks.simulate(there, stateful_set(1, "fast"))
    assert [record.node for record in again.pods] == ["a"]


RESERVED: Manifest = {"claimRef": {"namespace": "default", "name": "mine"}}


@pytest.mark.parametrize(
    ("there", "spec", "status", "volume"),
    [
        pytest.param([storage_class("fast", "Immediate")], {"storageClassName": "fast"}, {}, "made", id="made"),
        pytest.param([USUAL], {}, {}, "made", id="of the default class"),
        pytest.param([storage_class("fast", "Immediate")], {}, {}, None, id="of no class"),
        pytest.param([storage_class("fast")], {"storageClassName": "fast"}, {}, None, id="waits for a pod"),
        pytest.param(
            [storage_class("fast", "Immediate")],
            {"storageClassName": "fast"},
            {"phase": "Pending"},
            None,
            id="its controller has seen it",
        ),
        pytest.param(
            [static_volume("small", "1Mi"), static_volume("large", "9Gi"), static_volume("right", "2Gi")],
            {"storageClassName": ""},
            {},
            "right",
            id="the smallest that will do",
        ),
        pytest.param(
            [
                static_volume("shared", "1Gi", accessModes=["ReadWriteOnce", "ReadWriteMany"]),
                static_volume("one", "9Gi"),
            ],
            {"storageClassName": ""},
            {},
            "one",
            id="with the fewest access modes",
        ),
        pytest.param(
            [static_volume("free", "1Gi"), static_volume("other", "9Gi", accessModes=["ReadOnlyMany"], **RESERVED)],
            {"storageClassName": ""},
            {},
            "free",
            id="reserved in another mode",
        ),
        pytest.param(
            [static_volume("free", "1Gi"), static_volume("reserved", "9Gi", **RESERVED)],
            {"storageClassName": ""},
            {},
            "reserved",
            id="reserved",
        ),
        pytest.param(
            [storage_class("own", "Immediate", provisioner="kubernetes.io/no-provisioner"), static_volume("v", "1Gi")],
            {"storageClassName": "own"},
            {},
            None,
            id="of another class",
        ),
    ],
)
def test_a_written_claim_meets_its_controller(
    there: list[Manifest], spec: Manifest, status: Manifest, volume: str | None
) -> None:
    """As those that controllers make: in the cluster, with the pods that use it, and with a workload."""
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "mine"}, "spec": {**ONE, **spec}, "status": status}
    using = {"name": "v", "persistentVolumeClaim": {"claimName": "mine"}}
    pod = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], "volumes": [using]}}
    waits = spec == {"storageClassName": "fast"} and volume is None and not status
    for known, given in ((there, [claim, pod]), ([*there, claim], [pod]), ([], [*there, claim, pod])):
        scheduler = Scheduler(cluster(*known))
        (decision,) = scheduler.run(*given).values()
        found = claims(scheduler)["mine"]
        if volume is None and not waits:
            assert (decision.host, found.volume_name) == (None, "")
        else:
            assert decision.host == "a"
            assert found.volume_name == (f"pvc-{found.metadata.uid}" if waits or volume == "made" else volume)
            held = claims(scheduler, "PersistentVolume")[found.volume_name]
            assert (held.phase, held.claim_ref.uid) == ("Bound", found.metadata.uid)
        report = ks.simulate(cluster(*known), given)
        assert [bool(record.node) for record in report.pods] == [decision.host is not None]


def test_pods_written_in_the_cluster_meet_their_controllers() -> None:
    """Also in what is read of them for another release; a pod with a status that a server has stored has met them."""
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template("fast")}}
    entry = {"name": "gpu", "resourceClaimTemplateName": "one"}
    spec = {"containers": [{"name": "c"}], "volumes": [volume], "resourceClaims": [entry]}
    pod = {"kind": "Pod", "metadata": {"name": "train"}, "spec": spec}
    there = cluster(CLASS, SLICE, ONE_DEVICE, storage_class("fast"), pod)
    assert where(there) == where(there.for_release("1.35")) == {"default/train": "b"}
    assert where(Cluster(there.manifests(), release="1.36")) == {"default/train": "b"}
    assert sorted([*claims(there), *claims(there, "ResourceClaim")]) == ["train-gpu", "train-scratch"]
    waiting = {**pod, "status": {"phase": "Pending"}}
    assert where(cluster(CLASS, SLICE, ONE_DEVICE, storage_class("fast"), waiting)) == {"default/train": "b"}
    stored = {**waiting, "metadata": {"name": "train", "uid": "u"}}
    old = cluster(CLASS, SLICE, ONE_DEVICE, storage_class("fast"), stored)
    assert where(old) == {"default/train": None}
    assert not claims(old)
    volume["ephemeral"] = {"volumeClaimTemplate": {"spec": 5}}
    with pytest.raises(
        DecodeError, match=r"Pod default/train: spec\.volumes\[0\]\.ephemeral\.volumeClaimTemplate\.spec"
    ):
        cluster(pod)
