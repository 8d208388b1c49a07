"""What plugins read of a pod, for its signature."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.manifests.decode import decode_object
from clusterstate.objects import (
    Affinity,
    Container,
    ContainerPort,
    DeviceClass,
    EphemeralClaim,
    EphemeralVolume,
    NodeAffinity,
    NodeSelectorTerm,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodResourceClaim,
    PreferredSchedulingTerm,
    Requirement,
    Toleration,
    TopologySpreadConstraint,
)
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.plugin import Sign, SignedPod
from kubescheduler.framework.plugins import plugin_record as fields
from tests.support.build import make_pod, resources


def signed(sign: Sign, pod: Pod, *objects: Any) -> Any:
    """What a sign reads of a pod in a cluster of some objects."""
    cache = ClusterCache.of(objects, EngineSpec("1.36").release_view())
    return sign(SignedPod(pod, cache.info(pod), cache.snapshot()))


def with_ports(*ports: ContainerPort, init: bool = False) -> Pod:
    containers = (Container("c", ports=ports),)
    return make_pod(containers=() if init else containers, init_containers=containers if init else ())


def selecting(*required: NodeSelectorTerm, preferred: tuple[PreferredSchedulingTerm, ...] = ()) -> Pod:
    return make_pod(affinity=Affinity(NodeAffinity(required or None, preferred)))


def term(*requirements: tuple[str, str, tuple[str, ...]]) -> NodeSelectorTerm:
    return NodeSelectorTerm(tuple(Requirement(*one) for one in requirements))


def with_volumes(*volumes: dict[str, Any], keeps: bool = True) -> Pod:
    manifest = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], "volumes": volumes}}
    pod = decode_object(manifest, keep_manifest=keeps)
    assert isinstance(pod, Pod)
    return pod


ZONE_A, ZONE_AB, ZONE_BA = (("zone", "In", values) for values in (("a",), ("a", "b"), ("b", "a")))
DISK = ("disk", "Exists", ())
KEYED, OTHER = Toleration("k", value="1"), Toleration("a", value="2")
EMPTY_DIR = {"name": "scratch", "emptyDir": {}}
CONFIG, SECRET = {"name": "c", "configMap": {"name": "mine"}}, {"name": "s", "secret": {"secretName": "mine"}}
CLAIM = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}


@pytest.mark.parametrize(
    ("sign", "first", "second"),
    [
        (fields.sign_tolerations, make_pod(tolerations=(KEYED, OTHER)), make_pod(tolerations=(OTHER, KEYED))),
        (
            fields.sign_host_ports,
            with_ports(ContainerPort(80), ContainerPort(81)),
            with_ports(ContainerPort(81, "1.2.3.4", "UDP"), ContainerPort(80), init=True),
        ),
        (
            fields.sign_images,
            make_pod(containers=(Container("a", "x"), Container("b", "x:latest"))),
            make_pod(containers=(Container("a", "x"),)),
        ),
        (fields.sign_resources, make_pod(requests=resources(cpu=0, memory=5)), make_pod(requests=resources(memory=5))),
        (fields.sign_node_affinity, selecting(term(ZONE_AB, DISK)), selecting(term(DISK, ZONE_BA))),
        (fields.sign_node_affinity, selecting(term(ZONE_A), term(DISK)), selecting(term(DISK), term(ZONE_A))),
        (fields.sign_volumes, with_volumes(CONFIG, CLAIM, EMPTY_DIR), with_volumes(EMPTY_DIR, SECRET, CLAIM)),
        (fields.sign_volumes, with_volumes(CLAIM), with_volumes({**CLAIM, "name": "another"})),
        (
            fields.sign_volumes,
            make_pod(volumes=(EphemeralVolume("e"),)),
            make_pod(volumes=(EphemeralClaim("p-e", "p", "uid"),)),
        ),
    ],
    ids=["tolerations", "ports", "images", "no amount", "values", "terms", "volumes", "volume names", "ephemeral"],
)
def test_what_makes_no_difference(sign: Sign, first: Pod, second: Pod) -> None:
    """Order, protocols of ports, names of volumes and of the pod, ConfigMaps and Secrets."""
    found = signed(sign, first)
    assert found is not None
    assert found == signed(sign, msgspec.structs.replace(second, metadata=ObjectMeta("q", "default")))


@pytest.mark.parametrize(
    ("sign", "first", "second"),
    [
        (fields.sign_tolerations, make_pod(tolerations=(KEYED,)), make_pod(tolerations=(OTHER,))),
        (fields.sign_host_ports, with_ports(ContainerPort(80)), with_ports(ContainerPort(81))),
        (fields.sign_images, make_pod(containers=(Container("a", "x"),)), make_pod(containers=(Container("a", "y"),))),
        (fields.sign_resources, make_pod(requests=resources(memory=5)), make_pod(requests=resources(memory=6))),
        (fields.sign_node_affinity, make_pod(), make_pod(affinity=Affinity(NodeAffinity()))),
        (fields.sign_node_affinity, selecting(term(ZONE_A)), selecting(term(ZONE_AB))),
        (
            fields.sign_node_affinity,
            selecting(preferred=(PreferredSchedulingTerm(1, term(ZONE_A)),)),
            selecting(preferred=(PreferredSchedulingTerm(2, term(ZONE_A)),)),
        ),
        (fields.sign_labels, make_pod(label={"a": "1"}), make_pod(label={"a": "2"})),
        (fields.sign_volumes, with_volumes(EMPTY_DIR), with_volumes()),
        (fields.sign_volumes, with_volumes(CLAIM, keeps=False), with_volumes(keeps=False)),
        (fields.sign_node_name, make_pod(node="n"), make_pod()),
        (fields.sign_features, make_pod(host_network=True, host_users=False), make_pod()),
    ],
    ids=[
        "tolerations",
        "ports",
        "images",
        "amounts",
        "empty affinity",
        "values",
        "weights",
        "labels",
        "volumes",
        "volumes without a manifest",
        "node",
        "features",
    ],
)
def test_what_makes_a_difference(sign: Sign, first: Pod, second: Pod) -> None:
    """Whatever the plugin reads."""
    assert signed(sign, first) != signed(sign, second)


@pytest.mark.parametrize(
    ("sign", "pod"),
    [
        (fields.sign_labels, make_pod(affinity=Affinity(pod_anti_affinity=PodAffinity()))),
        (fields.sign_no_pod_affinity, make_pod(affinity=Affinity(pod_affinity=PodAffinity()))),
        (fields.sign_no_constraints, make_pod(topology_spread_constraints=(TopologySpreadConstraint(1, "z", "x"),))),
        (fields.sign_no_claims, make_pod(resource_claims=(PodResourceClaim("c", "claim"),))),
    ],
    ids=["pod anti-affinity", "pod affinity", "spread constraints", "claims"],
)
def test_pods_that_cannot_be_signed(sign: Sign, pod: Pod) -> None:
    """Those for which other pods, or devices, decide; pods without can be."""
    assert signed(sign, pod) is None
    assert signed(sign, make_pod()) in ({}, {"labels": {}})


@pytest.mark.parametrize(
    ("gates", "with_class", "is_signed"),
    [({}, True, False), ({}, False, True), ({"DRAExtendedResource": False}, True, True)],
    ids=["a class provides it", "no class", "gate off"],
)
def test_a_resource_that_a_device_class_provides(gates: dict[str, bool], with_class: bool, is_signed: bool) -> None:
    """A pod that asks for it cannot be signed; one that asks for 0 of it can."""
    classes = [DeviceClass(ObjectMeta("gpus"), extended_resource_name="example.com/gpu")] if with_class else []
    sign = fields.signed_resources(gates)
    asking, naming = (make_pod(requests=amount) for amount in amounts())
    assert (signed(sign, asking, *classes) is not None) == is_signed
    assert signed(sign, naming, *classes) == {"resources": {"example.com/gpu": 0}}


def amounts() -> Any:
    """One gpu, and none of them."""
    return [resources(**{"example.com/gpu": count}) for count in (1, 0)]
