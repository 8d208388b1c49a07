"""The predicates of release 1.4 that look at the pods of a node: resources, ports, disks, volumes."""

from __future__ import annotations

from typing import Any

import pytest

from algorithmprovider.algorithms_1_4 import FIT_PREDICATES as FIT_PREDICATES_1_4
from clusterstate.objects import (
    ISCSI,
    AWSElasticBlockStore,
    ClaimVolume,
    Container,
    ContainerPort,
    FrozenMap,
    GCEPersistentDisk,
    Pod,
    VolumeSource,
)
from clusterstate.usage import NVIDIA_GPU
from predicates.types import PredicateArgs
from tests.support.build import Cluster, cluster_1_4, make_node, make_pod, resources
from tests.support.storage import REGION, ZONE, by_text, make_claim, make_volume

ROOM = resources(cpu=1000, memory=1000, pods=2)


def said(name: str, pod: Pod, cluster: Cluster, **args: Any) -> dict[str, list[str]]:
    predicate = FIT_PREDICATES_1_4[name](PredicateArgs(**args))
    return by_text(cluster.snapshot, predicate.check(cluster.info(pod), cluster.snapshot))


# --- resources -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pods", "request_", "short"),
    [
        pytest.param([], FrozenMap(), [], id="asks-for-nothing"),
        pytest.param([resources(cpu=2000)], FrozenMap(), [], id="nothing-fits-on-an-overcommitted-node"),
        pytest.param([resources(cpu=2000)], resources(memory=1), ["cpu"], id="what-is-not-asked-for-is-tested"),
        pytest.param([], resources(cpu=1001, memory=1001), ["cpu", "memory"], id="all-are-told"),
        pytest.param([], resources(cpu=1000), [], id="exactly"),
        pytest.param([], FrozenMap({NVIDIA_GPU: 1000}), [NVIDIA_GPU], id="gpu"),
        pytest.param([], FrozenMap({"example.com/fpga": 1000, "ephemeral-storage": 1000}), [], id="others-are-nothing"),
        pytest.param([FrozenMap(), FrozenMap()], FrozenMap(), ["pods"], id="too-many-pods"),
        pytest.param([FrozenMap(), FrozenMap()], resources(cpu=1001), ["pods", "cpu"], id="pods-and-cpu"),
    ],
)
def test_resources(pods: list[Any], request_: Any, short: list[str]) -> None:
    """cpu, memory, GPUs and the number of pods; GeneralPredicates says the same."""
    running = [make_pod(f"p{i}", node="n", requests=requests) for i, requests in enumerate(pods)]
    cluster = cluster_1_4([make_node("n", allocatable=ROOM)], running)
    wanted = {f"Insufficient {name}": ["n"] for name in short}
    for name in ("PodFitsResources", "GeneralPredicates"):
        assert said(name, make_pod(requests=request_), cluster) == wanted


def test_gpus() -> None:
    """Init containers do not ask for GPUs; GPUs that are taken are not free."""
    gpus = FrozenMap({**ROOM, NVIDIA_GPU: 2000})
    taken = make_pod("q", node="n", requests=FrozenMap({NVIDIA_GPU: 1000}))
    cluster = cluster_1_4([make_node("n", allocatable=gpus)], [taken])
    asking = FrozenMap({NVIDIA_GPU: 2000})
    assert said("PodFitsResources", make_pod(requests=asking), cluster) == {f"Insufficient {NVIDIA_GPU}": ["n"]}
    assert said("PodFitsResources", make_pod(init_containers=(Container(requests=asking),)), cluster) == {}


# --- ports ---------------------------------------------------------------------------------


def serving(*ports: ContainerPort, name: str = "p", node: str = "") -> Pod:
    return make_pod(name, node=node, containers=(Container(ports=ports),))


@pytest.mark.parametrize(
    ("held", "wanted", "conflict"),
    [
        pytest.param(ContainerPort(80), ContainerPort(80), True, id="same"),
        pytest.param(ContainerPort(80), ContainerPort(81), False, id="another"),
        pytest.param(ContainerPort(80, protocol="TCP"), ContainerPort(80, protocol="UDP"), True, id="any-protocol"),
        pytest.param(ContainerPort(80, "127.0.0.1"), ContainerPort(80, "192.0.2.1"), True, id="any-address"),
    ],
)
@pytest.mark.parametrize("name", ["PodFitsHostPorts", "PodFitsPorts", "GeneralPredicates"])
def test_ports(name: str, held: ContainerPort, wanted: ContainerPort, conflict: bool) -> None:
    """Numbers count, nothing else; PodFitsPorts runs too."""
    cluster = cluster_1_4([make_node("a"), make_node("b")], [serving(held, name="q", node="a")])
    assert said(name, serving(wanted), cluster) == ({"PodFitsHostPorts": ["a"]} if conflict else {})


# --- disks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("disk", "conflict"),
    [
        (AWSElasticBlockStore("v"), True),
        (GCEPersistentDisk("d"), True),
        (GCEPersistentDisk("d", read_only=True), False),
        (ISCSI("iqn"), False),
    ],
    ids=["ebs", "gce", "gce-both-read", "iscsi-never"],
)
def test_disks(disk: VolumeSource, conflict: bool) -> None:
    """As 1.16 has it, but iSCSI."""
    cluster = cluster_1_4([make_node("a")], [make_pod("q", node="a", volumes=(disk,))])
    assert said("NoDiskConflict", make_pod(volumes=(disk,)), cluster) == ({"NoDiskConflict": ["a"]} if conflict else {})


# --- volume counts -------------------------------------------------------------------------


def using(*ids: str, name: str = "p", node: str = "", claims: tuple[str, ...] = ()) -> Pod:
    volumes = (*(AWSElasticBlockStore(i) for i in ids), *(ClaimVolume(claim) for claim in claims))
    return make_pod(name, node=node, volumes=volumes)


OBJECTS = [make_claim("bound", "v9"), make_volume("v9"), make_claim("loose"), make_claim("dangling", "gone")]


VOLUME: dict[str, Any] = {
    "three": (using("a"), [using("b", "c")], {}),
    "four": (using("a", "d"), [using("b", "c")], {"MaxVolumeCount": ["n"]}),
    "shared-disks-count-once": (using("b"), [using("b", "c"), using("c", "d")], {}),
    "through-a-claim": (using(claims=("bound",)), [using("a", "b", "c")], {"MaxVolumeCount": ["n"]}),
    "a-missing-claim-is-a-disk": (using("a", claims=("nope",)), [using("b")], {}),
    "and-counts": (using("a", claims=("nope",)), [using("b", "c")], {"MaxVolumeCount": ["n"]}),
    "missing-volume": (using(claims=("dangling",)), [using("a", "b", "c")], {"MaxVolumeCount": ["n"]}),
    "missing-ones-never-cancel": (
        using(claims=("nope",)),
        [using(claims=("nope",)), using(claims=("nope",)), using(claims=("nope",))],
        {"MaxVolumeCount": ["n"]},
    ),
    "the-rest-is-not-looked-at": (using(claims=("nope", "loose")), [], {}),
    "nor-in-a-running-pod": (using("a"), [using(claims=("nope", "loose"))], {}),
    "unbound": (
        using(claims=("loose", "nope")),
        [],
        {'error: PersistentVolumeClaim is not bound: "loose"': ["n", "m"]},
    ),
    "unnamed": (using(claims=("",)), [], {"error: PersistentVolumeClaim had no name": ["n", "m"]}),
    "a-running-pods-error": (
        using("a"),
        [using(claims=("loose",)), using("b", "c", "d")],
        {'error: PersistentVolumeClaim is not bound: "loose"': ["n"]},
    ),
    "without-disks-nothing-is-looked-at": (make_pod(), [using(claims=("loose",))], {}),
}


@pytest.mark.parametrize(("pod", "running", "said_"), VOLUME.values(), ids=VOLUME)
def test_volume_counts(pod: Pod, running: list[Pod], said_: dict[str, list[str]]) -> None:
    """With a limit of three."""
    placed = [make_pod(f"q{i}", node="n", volumes=q.spec.volumes) for i, q in enumerate(running)]
    cluster = cluster_1_4([make_node("n"), make_node("m")], placed, OBJECTS)
    assert said("MaxEBSVolumeCount", pod, cluster, max_pd_volumes=3) == said_


def test_volume_limits() -> None:
    """39 EBS disks and 16 of GCE, whatever the node says."""
    node = make_node("n", {"beta.kubernetes.io/instance-type": "c5.large"})
    cluster = cluster_1_4([node])
    assert said("MaxEBSVolumeCount", using(*map(str, range(39))), cluster) == {}
    assert said("MaxEBSVolumeCount", using(*map(str, range(40))), cluster) == {"MaxVolumeCount": ["n"]}
    disks = tuple(GCEPersistentDisk(str(i)) for i in range(17))
    assert said("MaxGCEPDVolumeCount", make_pod(volumes=disks[:16]), cluster) == {}
    assert said("MaxGCEPDVolumeCount", make_pod(volumes=disks), cluster) == {"MaxVolumeCount": ["n"]}


# --- zones ---------------------------------------------------------------------------------


VOLUME_ZONES: dict[str, Any] = {
    "compared-as-it-is": ("z1", {"NoVolumeZoneConflict": ["b", "region"]}),
    "no-list-of-zones": ("both", {"NoVolumeZoneConflict": ["a", "b", "region"]}),
    "a-missing-label-is-empty": ("empty", {"NoVolumeZoneConflict": ["a", "b"]}),
    "no-zone": ("plain", {}),
    "no-claim": ("nope", {"error: PersistentVolumeClaim 'default/nope' not found": ["a", "b", "region"]}),
    "unbound": ("loose", {'error: PersistentVolumeClaim is not bound: "loose"': ["a", "b", "region"]}),
    "no-volume": ("dangling", {"error: PersistentVolume 'gone' not found": ["a", "b", "region"]}),
    "no-name": ("", {"error: PersistentVolumeClaim had no name": ["a", "b", "region"]}),
}


@pytest.mark.parametrize(("claim", "said_"), VOLUME_ZONES.values(), ids=VOLUME_ZONES)
def test_volume_zones(claim: str, said_: dict[str, list[str]]) -> None:
    """A node without zone and region labels passes whatever the claims are."""
    nodes = [
        make_node("a", {ZONE: "z1"}),
        make_node("b", {ZONE: "z2"}),
        make_node("region", {REGION: "r"}),
        make_node("none"),
    ]
    volumes = {"z1": {ZONE: "z1"}, "both": {ZONE: "z1__z2"}, "empty": {ZONE: ""}, "plain": {}}
    objects: list[Any] = [make_claim(name, f"v-{name}") for name in volumes]
    objects += [make_volume(f"v-{name}", label=label) for name, label in volumes.items()]
    cluster = cluster_1_4(nodes, [], [*objects, make_claim("loose"), make_claim("dangling", "gone")])
    assert said("NoVolumeZoneConflict", make_pod(volumes=(ClaimVolume(claim),)), cluster) == said_
