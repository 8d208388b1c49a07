"""Redacted clusters decide as before, and name nobody."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given

from clusterstate.cache import ClusterCache
from clusterstate.manifests.decode import Decoder, Item
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import ClusterObject, Node, Pod
from kubescheduler.core.decision import Decision
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.sources.redaction import redacted
from tests.support.laws import costly
from tests.support.releases_tried import RELEASES_TRIED
from tests.support.rich_worlds import DrawnCluster, incoming, worlds


def without_names(*manifests: Any) -> list[dict[str, Any]]:
    return list(redacted(Item("", manifest) for manifest in manifests))


def decided(release: str, objects: Sequence[ClusterObject], pod: Pod) -> Decision:
    spec = EngineSpec(release=release)
    scheduler = spec.engine(lambda _: None).scheduler(ClusterCache.of(objects, spec.release_view()))
    return scheduler.decide(pod)


def by_number(decision: Decision) -> dict[str, Any]:
    """What a decision says, with nodes by their numbers."""
    at = {name: number for number, name in enumerate(decision.names)}
    if decision.error is not None:
        return {"error": True}
    return {
        "fits": [at[name] for name in decision.fits()],
        "total": {at[name]: total for name, total in decision.total().items()},
        "host": None if decision.host is None else at[decision.host],
        "checks": {at[name]: list(checks) for name, checks in decision.checks().items()},
    }


@costly
@given(world=worlds(), pod=incoming)
def test_decisions_are_the_same(world: DrawnCluster, pod: Pod) -> None:
    """Every release sees the same nodes fit, with the same totals, and takes the same one; twice the same bytes."""
    manifests = [encode_object(obj) for obj in (*world.others, *world.nodes, *world.pods, pod)]
    redactions = [without_names(*manifests) for _ in range(2)]
    assert msgspec.json.encode(redactions[0]) == msgspec.json.encode(redactions[1])
    decoder = Decoder()
    plain = [decoder.decode_item(Item("", manifest)) for manifest in manifests]
    hidden = [decoder.decode_item(Item("", manifest)) for manifest in redactions[0]]
    (last, hidden_last) = plain.pop(), hidden.pop()
    assert isinstance(last, Pod)
    assert isinstance(hidden_last, Pod)
    names = [obj.name for obj in plain if isinstance(obj, Node)]
    for release in RELEASES_TRIED:
        before, after = decided(release, plain, last), decided(release, hidden, hidden_last)
        assert sorted(before.names) == sorted(names), release
        assert by_number(before) == by_number(after), release


def pod(**spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.corp/app:v1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-corp", "namespace": "corp", "uid": "uid-corp", "labels": {"app": "corp-web"}},
        "spec": {"containers": [container], **spec},
    }


def test_one_text_has_one_replacement() -> None:
    """A node's name is the same as its label, in a selector, in a field selector and in nodeName."""
    fields = {"key": "metadata.name", "operator": "In", "values": ["host.corp"]}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [fields]}]}}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "host.corp", "labels": {"kubernetes.io/hostname": "host.corp"}},
    }
    (hidden, *pods) = without_names(
        node,
        pod(nodeSelector={"kubernetes.io/hostname": "host.corp"}, nodeName="host.corp"),
        {**pod(affinity={"nodeAffinity": terms}), "metadata": {"name": "b", "uid": "b"}},
    )
    name = hidden["metadata"]["name"]
    assert hidden["metadata"]["labels"] == {"kubernetes.io/hostname": name}
    assert pods[0]["spec"]["nodeName"] == pods[0]["spec"]["nodeSelector"]["kubernetes.io/hostname"] == name
    text = json.dumps(pods[1])
    assert f'"values": ["{name}"]' in text
    assert "corp" not in json.dumps([hidden, *pods])


def test_order_of_names() -> None:
    """Replacements sort as names do, by bytes."""
    names = ["b", "a10", "a.b", "a9", "a-b", "a"]
    nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in names]
    hidden = [node["metadata"]["name"] for node in without_names(*nodes)]
    order = sorted(range(len(names)), key=lambda at: names[at].encode())
    assert sorted(range(len(names)), key=lambda at: hidden[at]) == order


@pytest.mark.parametrize(
    ("key", "text"),
    [
        pytest.param("kubernetes.io/arch", "amd64", id="well-known label"),
        pytest.param("spot", "true", id="truth"),
        pytest.param("empty", "", id="empty"),
    ],
)
def test_what_names_nobody_stays(key: str, text: str) -> None:
    """Architectures are everybody's."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {key: text, "team": "corp"}}}
    hidden, asking = without_names(node, pod(nodeSelector={key: text, "team": "corp"}))
    assert hidden["metadata"]["labels"][key] == asking["spec"]["nodeSelector"][key] == text
    assert hidden["metadata"]["labels"]["team"] == asking["spec"]["nodeSelector"]["team"] != "corp"


@pytest.mark.parametrize("operator", ["Gt", "Lt", "In"])
def test_numbers_stay_where_they_are_compared(operator: str) -> None:
    """A text of digits alone is a name like any other, unless some affinity reads it as a number."""
    terms = [{"matchExpressions": [{"key": "cores", "operator": operator, "values": ["8"]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    labels = {"cores": "16", "account": "4711"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "1001", "labels": labels}}
    hidden, asking = without_names(node, pod(affinity=affinity, nodeName="1001"))
    compared = operator != "In"
    assert (hidden["metadata"]["labels"]["cores"] == "16") is compared
    assert ('["8"]' in json.dumps(asking)) is compared
    assert hidden["metadata"]["name"] == asking["spec"]["nodeName"] != "1001"
    assert hidden["metadata"]["labels"]["account"] != "4711"


def test_taints_that_are_compared_as_numbers() -> None:
    """A toleration of 1.36 may compare a taint's value."""
    taint = {"key": "level", "value": "7", "effect": "NoSchedule"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [taint]}}
    hidden, asking = without_names(node, pod(tolerations=[{"key": "level", "operator": "Gt", "value": "5"}]))
    assert hidden["spec"]["taints"][0]["value"] == "7"
    assert asking["spec"]["tolerations"][0]["value"] == "5"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        pytest.param("system-node-critical", True, id="everybody's"),
        pytest.param("system-cluster-critical", True, id="everybody's too"),
        pytest.param("system-corp", False, id="beginning alike"),
    ],
)
def test_names_that_begin_with_system(name: str, kept: bool) -> None:
    """Only the priority classes stay that every cluster has."""
    (hidden,) = without_names(pod(priorityClassName=name))
    assert (hidden["spec"]["priorityClassName"] == name) is kept


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        pytest.param("10.20.30.40", False, id="host"),
        pytest.param("2001:db8::1", False, id="IPv6"),
        pytest.param("0.0.0.0", True, id="any"),
        pytest.param("127.0.0.1", True, id="loopback"),
    ],
)
def test_addresses_of_hosts(address: str, kept: bool) -> None:
    """An address is replaced by one that nobody has, the same one everywhere."""
    ports = [{"containerPort": 80, "hostPort": 80, "hostIP": address}]
    given = pod(containers=[{"name": "c", "image": "i", "ports": ports}] * 2)
    (hidden,) = without_names(given)
    first, second = (container["ports"][0]["hostIP"] for container in hidden["spec"]["containers"])
    assert first == second
    assert (first == address) is kept
    assert ipaddress.ip_address(first).version in (4, 6)


def test_amounts_of_storage_stay() -> None:
    """What a class of storage can still provide is an amount wherever it stands, and is read back."""
    capacity = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "c", "namespace": "corp"},
        "storageClassName": "corp",
        "capacity": "10Gi",
        "maximumVolumeSize": "1Gi",
    }
    (hidden,) = without_names(capacity)
    assert (hidden["capacity"], hidden["maximumVolumeSize"]) == ("10Gi", "1Gi")
    assert hidden["storageClassName"] != "corp"


def test_what_stays_as_written_is_said() -> None:
    """CEL may ask for any part of a text, so expressions and what they read stay; a note counts them."""
    expression = 'device.attributes["gpu.corp"].owner == "corp-team"'
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "corp"},
        "spec": spec,
    }
    notes: list[str] = []
    (hidden,) = redacted([Item("", device_class)], notes.append)
    assert hidden["spec"]["selectors"] == spec["selectors"]
    assert notes == ["CEL expressions stay as written, 1 in all: decisions read them, so look for names in them"]


@pytest.mark.parametrize(
    ("name", "alike"),
    [
        pytest.param("nginx", "nginx:latest", id="no tag"),
        pytest.param("corp:5000/nginx", "corp:5000/nginx:latest", id="port"),
        pytest.param("nginx@sha256:ab", "nginx@sha256:ab", id="digest"),
    ],
)
def test_images(name: str, alike: str) -> None:
    """An image without a tag stays one, as releases differ in what they make of it."""
    status = {"images": [{"names": [alike], "sizeBytes": 1}]}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": status}
    hidden, asking = without_names(node, pod(containers=[{"name": "c", "image": name}]))
    (found,) = hidden["status"]["images"][0]["names"]
    image = asking["spec"]["containers"][0]["image"]
    assert "nginx" not in image
    assert found == (image if name == alike else f"{image}:latest")


def test_annotations() -> None:
    """Only those stay that scheduling reads, with the names in them replaced."""
    terms = [{"matchExpressions": [{"key": "team", "operator": "In", "values": ["corp"]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    given = pod(nodeSelector={"team": "corp"})
    given["metadata"]["annotations"] = {
        "scheduler.alpha.kubernetes.io/affinity": json.dumps(affinity),
        "scheduler.alpha.kubernetes.io/tolerations": "corp {",
        "owner": "corp",
    }
    (hidden,) = without_names(given)
    annotations = hidden["metadata"]["annotations"]
    assert "owner" not in annotations
    assert hidden["spec"]["nodeSelector"]["team"] in annotations["scheduler.alpha.kubernetes.io/affinity"]
    assert annotations["scheduler.alpha.kubernetes.io/tolerations"] == "redacted"
    assert "corp" not in json.dumps(hidden)


def test_claims_of_ephemeral_volumes() -> None:
    """Their names are made of the pod's and the volume's, before and after."""
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "web-corp-scratch", "namespace": "corp", "uid": "c"},
        "spec": {"volumeName": "pv-corp"},
    }
    asking, hidden = without_names(pod(volumes=[volume]), claim)
    made = f"{asking['metadata']['name']}-{asking['spec']['volumes'][0]['name']}"
    assert hidden["metadata"]["name"] == made
    assert hidden["metadata"]["namespace"] == asking["metadata"]["namespace"]


def test_drivers() -> None:
    """Names of CSI drivers stay: limits, claims and capacities are by driver."""
    drivers = [{"name": "ebs.csi.aws.com", "nodeID": "i-corp", "topologyKeys": ["zone"], "allocatable": {"count": 3}}]
    node = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "corp"}}
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "ebs.csi.aws.com"}}
    hidden, there = without_names({**node, "spec": {"drivers": drivers}}, {**driver, "spec": {}})
    assert hidden["spec"]["drivers"][0]["name"] == there["metadata"]["name"] == "ebs.csi.aws.com"
    assert "corp" not in json.dumps(hidden)
