"""Manifests to objects, and back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterstate.errors import DecodeError
from clusterstate.manifests.decode import Decoder, Item, decode_cluster, decode_object, split_json
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import (
    KINDS,
    AWSElasticBlockStore,
    AzureDisk,
    ClaimVolume,
    Container,
    ContainerPort,
    CSIStorageCapacity,
    EphemeralVolume,
    FrozenMap,
    Grant,
    LabelSelector,
    Node,
    ObjectMeta,
    Pod,
    PodCondition,
    PodGrants,
    PortworxVolume,
    PriorityClass,
    ResourceClaim,
    ResourceSlice,
    Service,
    StorageClass,
    VolumeAttachment,
)
from tests.support.build import labels
from tests.support.strategies import EVERY_KIND


def pod(name: str = "web-1", status: Any = None, **spec: Any) -> dict[str, Any]:
    """A manifest with one container."""
    spec.setdefault("containers", [{"name": "c"}])
    more = {} if status is None else {"status": status}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec, **more}


def raw(manifest: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(manifest))


def decoded_pod(**spec: Any) -> Pod:
    """The same from a dictionary and from JSON, twice."""
    manifest = pod(**spec)
    one, decoder, item = decode_object(manifest), Decoder(), Item("f", raw(manifest), kind="Pod")
    assert one == decoder.decode_item(item) == decoder.decode_item(item)
    assert isinstance(one, Pod)
    return one


def problems_of(manifest: Any, source: str = "") -> list[str]:
    """The faults, which the JSON of the manifest has too."""
    with pytest.raises(DecodeError) as caught:
        decode_object(manifest, source=source)
    with pytest.raises(DecodeError) as again:
        Decoder().decode_item(Item(source, raw(manifest), kind=manifest["kind"]))
    assert caught.value.problems == again.value.problems
    return list(caught.value.problems)


def test_pod_keeps_what_scheduling_reads() -> None:
    """Ports without hostPort and volumes of other types are dropped; names of volumes matter to ephemeral ones."""
    found = decoded_pod(
        containers=[
            {
                "name": "c",
                "image": "i",
                "ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81, "hostIP": "10.0.0.1"}],
                "resources": {"requests": {"cpu": "100m", "memory": "1Ki", "pods": 1}},
            }
        ],
        volumes=[
            {"name": "token", "projected": {}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "claim"}},
            {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
            {"name": "disk", "awsElasticBlockStore": {"volumeID": "v", "readOnly": True}},
        ],
        nodeName="n1",
    )
    assert found.node_name == "n1"
    assert found.spec.containers == (
        Container(
            "c", "i", FrozenMap({"cpu": 100, "memory": 1_024_000, "pods": 1000}), ports=(ContainerPort(81, "10.0.0.1"),)
        ),
    )
    assert found.spec.volumes == (ClaimVolume("claim"), EphemeralVolume("scratch"), AWSElasticBlockStore("v", True))


@pytest.mark.parametrize(
    ("affinity", "required"),
    [
        ({}, None),
        ({"requiredDuringSchedulingIgnoredDuringExecution": None}, None),
        ({"requiredDuringSchedulingIgnoredDuringExecution": {}}, ()),
    ],
    ids=["absent", "null", "empty"],
)
def test_absent_and_empty_selectors_differ(affinity: Any, required: Any) -> None:
    """A node selector that is there has terms, even if none."""
    found = decoded_pod(affinity={"nodeAffinity": affinity}).spec.affinity
    assert found.node_affinity.required == required


def test_null_is_absent() -> None:
    """Null counts as absent everywhere, as an empty text in maps and as an empty object in lists."""
    manifest: dict[str, Any] = {
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": None, "labels": {"app": None}, "ownerReferences": None},
        "spec": {"containers": [None, {"name": None, "ports": None, "resources": {"limits": {"cpu": None}}}]},
        "status": None,
    }
    found = decode_object(manifest)
    assert isinstance(found, Pod)
    assert found.metadata.labels == {"app": ""}
    assert found.spec.containers == (Container(), Container(limits=FrozenMap({"cpu": 0})))
    assert found.phase == ""


def test_unknown_fields_are_ignored() -> None:
    """Fields of other releases do not matter."""
    assert decode_object({**pod(future={"a": [1]}), "more": 1}) == decode_object(pod())


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"containers": {}}, "spec.containers: must be a list, not an object"),
        ({"containers": ["c"]}, 'spec.containers[0]: must be an object, not "c"'),
        ({"containers": [{"name": 5}]}, "spec.containers[0].name: must be text, not 5; put it in quotes"),
        (
            {"containers": [{"resources": {"limits": {"example.com/gpu": []}}}]},
            "spec.containers[0].resources.limits[example.com/gpu]: "
            'must be a quantity such as "100m" or "1Gi", not a list',
        ),
        ({"priority": "high"}, 'spec.priority: must be a whole number, not "high"'),
        ({"priority": True}, "spec.priority: must be a whole number, not true"),
        ({"priority": 1.5}, "spec.priority: must be a whole number, not 1.5"),
        ({"priority": 2**63}, "spec.priority: 9223372036854775808 does not fit in 64 bits"),
        ({"hostNetwork": "yes"}, 'spec.hostNetwork: must be true or false, not "yes"'),
        ({"nodeSelector": {"a": True}}, "spec.nodeSelector.a: must be text, not true; put it in quotes"),
        ({"nodeName": 7}, "spec.nodeName: must be text, not 7; put it in quotes"),
        ({"volumes": [{"x": 1}, {"rbd": {"monitors": "m"}}]}, 'spec.volumes[1].rbd.monitors: must be a list, not "m"'),
        ({"affinity": "none"}, 'spec.affinity: must be an object, not "none"'),
        ({"schedulingGates": [{"name": ["x"]}]}, "spec.schedulingGates[0].name: must be text, not a list"),
        (
            {"status": {"resources": {"requests": {"cpu": []}}}},
            'status.resources.requests.cpu: must be a quantity such as "100m" or "1Gi", not a list',
        ),
        ({"status": {"conditions": [{"type": 1}]}}, "status.conditions[0].type: must be text, not 1; put it in quotes"),
        (
            {"status": {"resourceClaimStatuses": [{"name": []}]}},
            "status.resourceClaimStatuses[0].name: must be text, not a list",
        ),
    ],
)
def test_wrong_types(spec: Any, problem: str) -> None:
    """A wrong type is named with file, object and path."""
    assert problems_of(pod(**spec), "cluster.yaml") == [f"cluster.yaml: Pod default/web-1: {problem}"]


def test_every_fault_is_listed() -> None:
    """Reading goes on after a fault; a quantity that is none is quoted."""
    (problem,) = problems_of(pod(containers=[{"resources": {"requests": {"cpu": "1O0m"}}}]))
    assert problem.startswith('Pod default/web-1: spec.containers[0].resources.requests.cpu: quantity "1O0m" is not')
    manifest = pod(containers=[{"name": 1, "image": 2}], priority="x")
    manifest["metadata"]["labels"] = {"a": 1, "b": 2}
    assert len(problems_of(manifest)) == 5


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        ({}, "f: kind: missing; an object needs apiVersion and kind"),
        ({"kind": 5}, "f: kind: must be text, not 5"),
        ({"kind": "Pod", "apiVersion": 1}, "f: apiVersion: must be text, not 1"),
        ({"kind": "Node"}, "f: Node: metadata.name: missing; every object needs a name"),
        ([], "f: must be a Kubernetes object, not a list"),
        (
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "DeviceClass",
                "metadata": {"name": "c"},
                "spec": {"config": [{"opaque": {"driver": "gpu.corp", "parameters": {"a": {1: "x"}}}}]},
            },
            "f: DeviceClass c: spec.config[0].opaque.parameters: every key in it must be text; put numbers in quotes",
        ),
    ],
    ids=["kind missing", "kind wrong", "apiVersion wrong", "nameless", "list", "a key that YAML reads as a number"],
)
def test_what_only_a_dictionary_can_say(manifest: Any, problem: str) -> None:
    """What cannot be named is placed by its file."""
    with pytest.raises(DecodeError) as caught:
        decode_object(manifest, source="f")
    assert caught.value.problems == (problem,)


def test_unknown_kind_alone() -> None:
    """One object of a kind that scheduling does not read is a fault."""
    with pytest.raises(DecodeError, match='f: kind "Deployment" is not read by a scheduler; kinds that are: Pod, Node'):
        decode_object({"kind": "Deployment", "metadata": {"name": "d"}}, source="f")


def test_unknown_kinds_among_others() -> None:
    """They are left out with one note each; a known kind of another group is unknown too."""
    documents: list[tuple[str, Any]] = [
        ("a", {"kind": "Deployment"}),
        ("a", {"kind": "node"}),
        ("a", pod()),
        ("b", {"apiVersion": "apps/v1", "kind": "DeploymentList", "items": [{}, {}]}),
        ("b", {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "s"}}),
    ]
    found = Decoder().decode_all(documents)
    assert [type(obj) for obj in found.objects] == [Pod]
    assert found.notes == [
        'kind "Deployment" ignored (3 objects): no scheduler reads it',
        'kind "node" ignored (1 object): no scheduler reads it; did you mean Node?',
        'kind "Service" of serving.knative.dev ignored (1 object): no scheduler reads it',
    ]


def test_faults_of_all_objects() -> None:
    """One error holds the faults of all objects of all documents."""
    documents: list[tuple[str, Any]] = [
        ("a", pod("x", priority="1")),
        ("b", {"kind": "List", "items": [pod("y", priority="2"), 7]}),
        ("c", {"kind": "List", "items": 5}),
    ]
    with pytest.raises(DecodeError) as caught:
        Decoder().decode_all(documents)
    assert caught.value.problems == (
        'a: Pod default/x: spec.priority: must be a whole number, not "1"',
        'b: Pod default/y: spec.priority: must be a whole number, not "2"',
        "b: items[1]: must be a Kubernetes object, not 7",
        "c: items: must be a list, not 5",
    )


@pytest.mark.parametrize("version", ["v1", "storage.k8s.io/v1", "storage.k8s.io/v1beta1", None])
def test_any_version_of_the_group(version: str | None) -> None:
    """The version of the API does not matter, its group does."""
    found = Decoder().decode_all([("f", {"apiVersion": version, "kind": "StorageClass", "metadata": {"name": "s"}})])
    assert len(found.objects) == (version != "v1")


def both_ways(document: Any) -> list[Any]:
    """The objects of a document, parsed and as JSON."""
    found = Decoder().decode_all([("f", document)]).objects
    faults: list[str] = []
    again = Decoder().decode_all(split_json("f", msgspec.json.encode(document), faults)).objects
    assert not faults
    assert found == again
    return found


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "List", "apiVersion": "v1", "items": [pod("a"), pod("b")]},
        {"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]},
        {"kind": "List", "items": [{"kind": "PodList", "items": [{"metadata": {"name": "a"}}]}, pod("b")]},
        [pod("a"), pod("b")],
        {"pods": [{"metadata": {"name": "a"}}, pod("b")], "nodes": None, "schedulerConfig": {}},
    ],
    ids=["List", "PodList", "nested", "array", "export"],
)
def test_collections(document: Any) -> None:
    """Every way to write several objects."""
    assert [obj.metadata.name for obj in both_ways(document)] == ["a", "b"]


def test_simulator_export() -> None:
    """The sections of an export say the kind."""
    document = {
        "pods": [],
        "nodes": [{"metadata": {"name": "n"}}],
        "storageClasses": [{"metadata": {"name": "s"}, "provisioner": "p"}],
        "priorityClasses": [{"metadata": {"name": "high"}, "value": 5}],
    }
    kinds = [type(obj) for obj in both_ways(document)]
    assert kinds == [Node, StorageClass, PriorityClass]


def test_decode_cluster() -> None:
    """The clusters of the evaluate protocol; unknown keys and null sections do not matter."""
    cluster = {"nodes": [{"metadata": {"name": "n"}}], "services": [{"metadata": {"name": "s"}}], "pods": None, "x": 1}
    assert [type(obj) for obj in decode_cluster(cluster)] == [Node, Service]
    assert decode_cluster({}) == []
    with pytest.raises(DecodeError, match=r"^cluster: nodes\[0\]: must be a Kubernetes object, not 5$"):
        decode_cluster({"nodes": [5]})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{\n  "kind": "Pod",\n  "spec" 5\n}', "f: line 3, column 10: JSON is malformed: expected ':'"),
        (b'{"kind": "List",\n "items": [{"kind": 5 5}]}', "f: line 2, column 23: JSON is malformed: "),
        (b'{"kind": "List",\n', "f: line 2: Input data was truncated"),
        (b"7", "f: must be a Kubernetes object, not 7"),
        (b'{"kind": "Pod\xff"}', "f: it is not UTF-8 text: "),
        (b'{"a":' + b"[" * 100_000, "f: nested too deeply to be read"),
    ],
    ids=["object", "item", "end", "number", "bytes", "deep"],
)
def test_broken_json(text: bytes, problem: str) -> None:
    """Broken JSON is placed by line and column."""
    with pytest.raises(DecodeError) as caught:
        split_json("f", text, [])
    assert caught.value.problems[0].startswith(problem)


def test_what_is_no_object_hides_no_other() -> None:
    """It is told with its place, and the others are read all the same."""
    faults: list[str] = []
    items = split_json("f", b'[{"kind": "Pod"}, null, {"kind": "Node"}, 5]', faults)
    assert [item.place for item in items] == ["[0]", "[2]"]
    assert faults == ["f: [1]: must be a Kubernetes object, not null", "f: [3]: must be a Kubernetes object, not 5"]


def test_broken_text_in_an_item() -> None:
    """An item whose JSON turns out broken only when it is read is a fault of that item."""
    items = split_json("f", b'{"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "\xff"}}]}', [])
    with pytest.raises(DecodeError, match=r"^f: items\[0\]: it is not UTF-8 text"):
        Decoder().decode_all(items)


def test_replicas_share_one_spec() -> None:
    """Replicas share spec, labels and owners, whatever their nodes, token volumes and environment."""

    def replica(i: int) -> dict[str, Any]:
        manifest = pod(
            f"web-{i}",
            nodeName=f"n{i}",
            containers=[{"name": "c", "env": [{"name": "I", "value": str(i)}]}],
            volumes=[{"name": f"token-{i}", "projected": {}}],
        )
        manifest["metadata"] |= {"labels": {"app": "web"}, "ownerReferences": [{"kind": "ReplicaSet", "uid": "u"}]}
        return manifest

    decoder = Decoder()
    a, b = (decoder.decode_item(Item("f", raw(replica(i)), kind="Pod")) for i in range(2))
    c = decoder.decode_object(replica(2))
    assert isinstance(a, Pod)
    assert isinstance(b, Pod)
    assert isinstance(c, Pod)
    assert a.spec is b.spec is c.spec
    assert a.metadata.labels is b.metadata.labels is c.metadata.labels
    assert a.metadata.owner_references is b.metadata.owner_references


def test_shared_tables_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full table starts anew and nothing else changes."""
    monkeypatch.setattr("clusterstate.changes.REMEMBERED", 2)
    decoder = Decoder()
    for i in [0, 1, 2, 3, 0]:
        found = decoder.decode_object(pod(priority=i))
        assert isinstance(found, Pod)
        assert found.priority == i


def test_manifests_are_kept_where_they_are_needed() -> None:
    """Nodes and pending pods keep theirs, others when asked; kind and apiVersion are always in it."""
    running, pending = pod(nodeName="n"), pod()
    assert decode_object(pending).manifest == pending
    assert decode_object(running).manifest is None
    assert decode_object(running, keep_manifest=True).manifest == running
    assert Decoder(keep_manifests=True).decode_object(running).manifest == running
    (node,) = decode_cluster({"nodes": [{"metadata": {"name": "n"}}]})
    assert isinstance(node, Node)
    assert node.manifest == {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}


REQUESTS = {"cpu": "100m", "memory": "1Ki"}
AMOUNTS = FrozenMap({"cpu": 100, "memory": 1_024_000})


def test_conditions_keep_type_status_and_reason() -> None:
    """In their order; replicas share them."""
    conditions = [
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "m"},
        {"type": "Ready", "lastProbeTime": None, "reason": None},
    ]
    assert decoded_pod(status={"conditions": conditions}).conditions == (
        PodCondition("DisruptionTarget", "True", "PreemptionByScheduler"),
        PodCondition("Ready"),
    )


GRANTS = {
    "nothing": ({}, None),
    "statuses-without-resources": ({"containerStatuses": [{"name": "c", "allocatedResources": REQUESTS}]}, None),
    "null": ({"containerStatuses": [{"name": "c", "resources": None}], "resources": None}, None),
    "container": (
        {
            "containerStatuses": [
                {"name": "c", "resources": {"requests": REQUESTS, "limits": {"cpu": "1"}}},
                {"name": "d", "ready": True},
            ]
        },
        PodGrants(FrozenMap({"c": Grant(AMOUNTS)})),
    ),
    "empty-resources": (
        {"initContainerStatuses": [{"name": "s", "resources": {}, "allocatedResources": REQUESTS}]},
        PodGrants(FrozenMap({"s": Grant(allocated=AMOUNTS)})),
    ),
    "pod": (
        {"resources": {"requests": REQUESTS}, "allocatedResources": {"cpu": "100m", "memory": "1024"}},
        PodGrants(FrozenMap(), Grant(AMOUNTS, AMOUNTS)),
    ),
    "allocated-alone-is-nothing": ({"allocatedResources": REQUESTS}, None),
}


@pytest.mark.parametrize(("status", "grants"), GRANTS.values(), ids=GRANTS)
def test_what_was_granted(status: dict[str, Any], grants: PodGrants | None) -> None:
    """Of containers whose status has resources, and of the pod as a whole."""
    assert decoded_pod(status=status).grants == grants


CAPACITY = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIStorageCapacity",
    "metadata": {"name": "c", "namespace": "kube-system"},
    "storageClassName": "fast",
    "nodeTopology": {"matchLabels": {"zone": "a"}},
    "capacity": "10Gi",
    "maximumVolumeSize": "1500m",
}
ATTACHMENT = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "VolumeAttachment",
    "metadata": {"name": "a"},
    "spec": {"attacher": "d.io", "nodeName": "n", "source": {"persistentVolumeName": "pv"}},
    "status": {"attached": True},
}


def test_storage_capacities_and_attachments() -> None:
    """Sizes may be absent, and so may the volume of an attachment."""
    selector = LabelSelector(labels({"zone": "a"}))
    meta = ObjectMeta("c", "kube-system")
    assert decode_object(CAPACITY) == CSIStorageCapacity(meta, "fast", selector, 10 * 2**30 * 1000, 1500)
    bare = {**CAPACITY, "nodeTopology": None, "capacity": None, "maximumVolumeSize": None}
    assert decode_object(bare) == CSIStorageCapacity(meta, "fast")
    assert decode_object(ATTACHMENT) == VolumeAttachment(ObjectMeta("a"), "d.io", "n", "pv")
    inline = {**ATTACHMENT, "spec": {"attacher": "d.io", "nodeName": "n", "source": {"inlineVolumeSpec": {}}}}
    assert decode_object(inline) == VolumeAttachment(ObjectMeta("a"), "d.io", "n")


VOLUME_SOURCES: dict[str, Any] = {
    "ebs": ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, AWSElasticBlockStore("vol-1")),
    "ebs-in-the-long-form": (
        {"awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}},
        AWSElasticBlockStore("aws://z/vol-1", volume_name="data"),
    ),
    "azure": ({"azureDisk": {"diskName": "d", "diskURI": "/d"}}, AzureDisk("d", "/d")),
    "portworx": ({"portworxVolume": {"volumeID": "p"}}, PortworxVolume("p")),
    "claim": ({"persistentVolumeClaim": {"claimName": "c"}}, ClaimVolume("c")),
    "ephemeral": ({"ephemeral": {"volumeClaimTemplate": {}}}, EphemeralVolume("data")),
}


@pytest.mark.parametrize(("volume", "expected"), VOLUME_SOURCES.values(), ids=VOLUME_SOURCES)
def test_volumes_of_pods(volume: dict[str, Any], expected: Any) -> None:
    """Their names are kept only where a rule tells them; the short way of decoding reads the same."""
    manifest = {"metadata": {"name": "p"}, "spec": {"volumes": [{"name": "data", **volume}]}}
    raw = Item("f.json", msgspec.Raw(msgspec.json.encode(manifest)), kind="Pod")
    for pod in (decode_object({"kind": "Pod", **manifest}), Decoder().decode_item(raw)):
        assert isinstance(pod, Pod)
        assert pod.spec.volumes == (expected,)
        again = decode_object(encode_object(pod))
        assert isinstance(again, Pod)
        assert again.spec.volumes == (expected,)


ASKED = {
    "deviceClassName": "gpu",
    "selectors": [{"cel": {"expression": "true"}}],
    "allocationMode": "ExactCount",
    "count": 2,
    "adminAccess": True,
    "tolerations": [{"key": "a", "operator": "Exists"}],
}
BASIC = {"attributes": {"model": {"string": "x"}}, "capacity": {"memory": {"value": "80Gi"}}, "bindsToNode": True}


def of_version(version: str, kind: str, spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": {"name": "c"}, "spec": spec}


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_versions_of_device_requests(version: str) -> None:
    """In v1beta1 what is asked for stands in the request itself; alternatives are the same in all."""
    named = {"name": "r", **ASKED} if version == "v1beta1" else {"name": "r", "exactly": ASKED}
    either = {"name": "s", "firstAvailable": [{"name": "big", **ASKED}, {"name": "small", "deviceClassName": "gpu"}]}
    others = {"constraints": [{"requests": ["r"], "matchAttribute": "a/b"}]}
    newest = {"devices": {"requests": [{"name": "r", "exactly": ASKED}, either], **others}}
    given = {"devices": {"requests": [named, either], **others}}
    found = decode_object(of_version(version, "ResourceClaim", given))
    assert found == decode_object(of_version("v1", "ResourceClaim", newest))
    assert isinstance(found, ResourceClaim)
    assert found.spec.requests[0].exactly is not None
    template = of_version(version, "ResourceClaimTemplate", {"spec": given})
    assert decode_object(template) == decode_object(of_version("v1", "ResourceClaimTemplate", {"spec": newest}))
    listed = {"apiVersion": template["apiVersion"], "kind": "ResourceClaimList", "items": [{**template, "spec": given}]}
    listed["items"][0].pop("apiVersion"), listed["items"][0].pop("kind")
    assert Decoder().decode_all([("f", listed)]).objects == [found]


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_versions_of_devices(version: str) -> None:
    """In v1beta1 a device has all but its name in ``basic``."""
    common = {"driver": "gpus", "nodeName": "a", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}
    device = {"name": "d", "basic": BASIC} if version == "v1beta1" else {"name": "d", **BASIC}
    found = decode_object(of_version(version, "ResourceSlice", {**common, "devices": [device]}))
    assert found == decode_object(of_version("v1", "ResourceSlice", {**common, "devices": [{"name": "d", **BASIC}]}))
    assert isinstance(found, ResourceSlice)
    assert (found.devices[0].name, found.devices[0].binds_to_node) == ("d", True)


FIELDS_OTHER: dict[str, Any] = {
    "fields of v1beta1 in v1": (
        of_version("v1", "ResourceClaim", {"devices": {"requests": [{"name": "r", **ASKED}]}}),
        "spec.devices.requests[0]: needs exactly or firstAvailable, as in resource.k8s.io/v1",
    ),
    "fields of v1 in v1beta1": (
        of_version("v1beta1", "ResourceClaim", {"devices": {"requests": [{"name": "r", "exactly": ASKED}]}}),
        "spec.devices.requests[0].exactly: unknown field; in resource.k8s.io/v1beta1 what is in it stands in the "
        "request itself",
    ),
    "nothing is asked for": (
        of_version("v1beta1", "ResourceClaim", {"devices": {"requests": [{"name": "r"}]}}),
        "spec.devices.requests[0]: needs deviceClassName or firstAvailable, as in resource.k8s.io/v1beta1",
    ),
    "a wrong type": (
        of_version("v1beta1", "ResourceClaim", {"devices": {"requests": [{"name": "r", **ASKED, "count": "2"}]}}),
        'spec.devices.requests[0].count: must be a whole number, not "2"',
    ),
    "a device of v1beta1 in v1": (
        of_version("v1", "ResourceSlice", {"devices": [{"name": "d", "basic": BASIC}]}),
        "spec.devices[0].basic: unknown field; in resource.k8s.io/v1 what is in it stands in the device itself",
    ),
}


@pytest.mark.parametrize(("manifest", "problem"), FIELDS_OTHER.values(), ids=FIELDS_OTHER)
def test_fields_of_other_versions(manifest: dict[str, Any], problem: str) -> None:
    """They are faults, with the path that they have in the manifest."""
    assert problems_of(manifest)[0].endswith(f": {problem}")


def test_every_kind_has_a_strategy() -> None:
    """The law below is checked for every kind."""
    assert set(EVERY_KIND) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_decode_of_encode_is_identity(kind: str, data: st.DataObject) -> None:
    """Parsed manifests and their JSON both give the object back, and a second time the same parts."""
    obj = data.draw(EVERY_KIND[kind])
    manifest = encode_object(obj)
    assert decode_object(manifest) == obj
    decoder = Decoder()
    raw = Item("f.json", msgspec.Raw(msgspec.json.encode(manifest)), kind=kind)
    assert decoder.decode_item(raw) == decoder.decode_item(raw) == obj
