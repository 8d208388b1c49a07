"""The predicates of release 1.4, of nodes and of the pods on them."""

from __future__ import annotations

from typing import Any

import pytest

from algorithmprovider.algorithms import FIT_PREDICATES_1_4
from clusterstate.manifests.annotations_1_4 import AFFINITY_ANNOTATION, TAINTS_ANNOTATION, TOLERATIONS_ANNOTATION
from clusterstate.objects import (
    ISCSI,
    Affinity,
    AWSElasticBlockStore,
    ClaimVolume,
    Container,
    ContainerPort,
    FrozenMap,
    GCEPersistentDisk,
    Node,
    NodeAffinity,
    NodeCondition,
    NodeSelectorTerm,
    ObjectMeta,
    Pod,
    Requirement,
    Service,
    Taint,
    Toleration,
    VolumeSource,
)
from clusterstate.usage import NVIDIA_GPU
from predicates.node_identity import label_presence_factory_1_4
from predicates.service_affinity import service_affinity_factory_1_4
from predicates.types import FitPredicate, PredicateArgs
from tests.support.build import Cluster, cluster_1_4, labels, make_node, make_pod, resources
from tests.support.storage import REGION, ZONE, by_text, make_claim, make_volume


def rule(name: str, **args: Any) -> FitPredicate:
    return FIT_PREDICATES_1_4[name](PredicateArgs(**args))


def said(predicate: FitPredicate, pod: Pod, cluster: Cluster) -> dict[str, list[str]]:
    info = cluster.info(pod)
    info.node_name = pod.node_name
    return by_text(cluster.snapshot, predicate.check(info, cluster.snapshot))


# --- HostName, MatchNodeSelector -----------------------------------------------------------


def test_a_pod_that_names_a_node() -> None:
    """It fits there alone."""
    cluster = cluster_1_4([make_node("a"), make_node("b")])
    assert said(rule("HostName"), make_pod(node="a"), cluster) == {"HostName": ["b"]}
    assert said(rule("HostName"), make_pod(), cluster) == {}


def requires(*terms: tuple[Requirement, ...]) -> Affinity:
    return Affinity(NodeAffinity(tuple(NodeSelectorTerm(term) for term in terms)))


SSD, BAD = Requirement("disk", "In", ("ssd",)), Requirement("disk", "Bad")


NODE_SELECTORS: dict[str, Any] = {
    "selector": ({"node_selector": labels({"disk": "ssd"})}, ["hdd", "none"]),
    "an-invalid-pair-matches-everything": ({"node_selector": labels({"disk": "-bad-"})}, []),
    "affinity": ({"affinity": requires((SSD,))}, ["hdd", "none"]),
    "no-term-no-node": ({"affinity": requires()}, ["ssd", "hdd", "none"]),
    "empty-term-no-node": ({"affinity": requires(())}, ["ssd", "hdd", "none"]),
    "an-earlier-match-has-won": ({"affinity": requires((SSD,), (BAD,))}, ["hdd", "none"]),
    "later-terms-are-not-tried": ({"affinity": requires((BAD,), (SSD,))}, ["ssd", "hdd", "none"]),
    "a-set-of-one": ({"affinity": requires((Requirement("n", "Gt", ("5", "5")),))}, ["hdd", "none"]),
    "fields-are-unknown": (
        {"affinity": Affinity(NodeAffinity((NodeSelectorTerm((), (Requirement("metadata.name", "In", ("ssd",)),)),)))},
        ["ssd", "hdd", "none"],
    ),
    "malformed-fails": ({"annotations": {AFFINITY_ANNOTATION: "{"}}, ["ssd", "hdd", "none"]),
    "nothing-asked": ({}, []),
}


@pytest.mark.parametrize(("fields", "refused"), NODE_SELECTORS.values(), ids=NODE_SELECTORS)
def test_node_selectors(fields: dict[str, Any], refused: list[str]) -> None:
    """nodeSelector and required node affinity; the part GeneralPredicates has of it says the same."""
    nodes = [make_node("ssd", {"disk": "ssd", "n": "7"}), make_node("hdd", {"disk": "hdd"}), make_node("none")]
    cluster, pod = cluster_1_4(nodes), make_pod(**fields)
    wanted = {"MatchNodeSelector": refused} if refused else {}
    assert said(rule("MatchNodeSelector"), pod, cluster) == wanted
    assert said(rule("GeneralPredicates"), pod, cluster) == wanted
    assert rule("MatchNodeSelector").applies(cluster.info(pod)) == bool(fields)


# --- taints --------------------------------------------------------------------------------


def tainted(*taints: Taint) -> Node:
    return make_node("n", taints=taints)


HARD, SOFT = Taint("k", "v", "NoSchedule"), Taint("k", "v", "PreferNoSchedule")


@pytest.mark.parametrize(
    ("taints", "tolerations", "fits"),
    [
        pytest.param((), (), True, id="no-taints"),
        pytest.param((SOFT,), (), False, id="without-tolerations-any-taint-keeps-out"),
        pytest.param((SOFT,), (Toleration("other"),), True, id="soft-taints-do-not-matter-to-others"),
        pytest.param((HARD,), (Toleration("k", "Equal", "v"),), True, id="equal"),
        pytest.param((HARD,), (Toleration("k", "", "v"),), True, id="no-operator-is-equal"),
        pytest.param((HARD,), (Toleration("k", "Exists"),), True, id="exists"),
        pytest.param((HARD,), (Toleration("k", "Exists", "w"),), True, id="exists-whatever-the-value"),
        pytest.param((HARD,), (Toleration("k", "Equal", "w"),), False, id="another-value"),
        pytest.param((HARD,), (Toleration("k", "Other", "v"),), False, id="an-unknown-operator"),
        pytest.param((HARD,), (Toleration("", "Exists"),), False, id="an-empty-key-is-no-wildcard"),
        pytest.param((Taint("", "v", "NoSchedule"),), (Toleration("", "Exists"),), True, id="but-equals-an-empty-key"),
        pytest.param((HARD,), (Toleration("k", "Exists", effect="NoExecute"),), False, id="another-effect"),
        pytest.param((Taint("k", "v", "NoExecute"),), (Toleration("x"),), False, id="no-execute-counts"),
        pytest.param((Taint("k", "v", "Odd"),), (Toleration("x"),), False, id="unknown-effects-count"),
    ],
)
def test_taints(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], fits: bool) -> None:
    """Keys have to be equal, and a pod without tolerations stays off every taint."""
    found = said(rule("PodToleratesNodeTaints"), make_pod(tolerations=tolerations), cluster_1_4([tainted(*taints)]))
    assert found == ({} if fits else {"PodToleratesNodeTaints": ["n"]})


def test_malformed_taints_are_an_error_of_their_node() -> None:
    """And tolerations of all the others."""
    nodes = [make_node("bad", annotations={TAINTS_ANNOTATION: "{}"}), make_node("tainted", taints=(HARD,))]
    cluster = cluster_1_4(nodes)
    plain = said(rule("PodToleratesNodeTaints"), make_pod(), cluster)
    assert plain.pop("PodToleratesNodeTaints") == ["tainted"]
    assert list(plain.values()) == [["bad"]]
    broken = make_pod(annotations={TOLERATIONS_ANNOTATION: "{"})
    both = said(rule("PodToleratesNodeTaints"), broken, cluster)
    assert sorted(both.values()) == [["bad"], ["tainted"]]
    assert all(text.startswith("error: ") for text in both)


# --- conditions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("CheckNodeMemoryPressure", "MemoryPressure", "NodeUnderMemoryPressure"),
        ("CheckNodeDiskPressure", "DiskPressure", "NodeUnderDiskPressure"),
        ("CheckNodeInodePressure", "InodePressure", "NodeUnderInodePressure"),
    ],
)
def test_pressure(name: str, kind: str, reason: str) -> None:
    """True anywhere in the list counts, Unknown does not."""
    statuses = {"true": ("True",), "false": ("False",), "unknown": ("Unknown",), "first": ("True", "False")}
    nodes = [make_node(n, conditions=tuple(NodeCondition(kind, s) for s in all_of)) for n, all_of in statuses.items()]
    cluster = cluster_1_4(nodes)
    assert said(rule(name), make_pod(), cluster) == {reason: ["true", "first"]}
    asking = said(rule(name), make_pod(requests=resources(cpu=1)), cluster)
    assert asking == ({} if kind == "MemoryPressure" else {reason: ["true", "first"]})


# --- policy arguments ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "presence", "refused"),
    [
        (("a",), True, ["none"]),
        (("a",), False, ["empty", "full"]),
        (("a", "b"), True, ["none", "empty"]),
        ((), True, []),
    ],
    ids=["have", "lack", "all-of-them", "no-label"],
)
def test_label_presence(wanted: tuple[str, ...], presence: bool, refused: list[str]) -> None:
    """The reason is the built-in name, whatever the policy calls the predicate."""
    cluster = cluster_1_4([make_node("none"), make_node("empty", {"a": ""}), make_node("full", {"a": "1", "b": "2"})])
    predicate = label_presence_factory_1_4("Mine", wanted, presence)(PredicateArgs())
    assert said(predicate, make_pod(), cluster) == ({"CheckNodeLabelPresence": refused} if refused else {})


WEB = Service(ObjectMeta("web", "default"), labels({"app": "web"}))
ZONES = [make_node("a", {"zone": "z1", "rack": "r1"}), make_node("b", {"zone": "z1", "rack": "r2"}), make_node("c")]


SERVICE_AFFINITY: dict[str, Any] = {
    "as-its-peer": ({}, ["a"], [WEB], ["c"]),
    "no-service": ({}, ["a"], [], []),
    "no-peer": ({}, [], [WEB], []),
    "a-peer-without-the-label": ({}, ["c"], [WEB], []),
    "the-selector-counts": ({"node_selector": labels({"zone": "z9"})}, ["a"], [WEB], ["a", "b", "c"]),
    "peers-by-service-not-by-labels": ({"label": {"app": "web", "v": "2"}}, ["a"], [WEB], ["c"]),
}


@pytest.mark.parametrize(("fields", "peers", "services", "refused"), SERVICE_AFFINITY.values(), ids=SERVICE_AFFINITY)
def test_service_affinity(fields: Any, peers: list[str], services: list[Service], refused: list[str]) -> None:
    """Peers are the pods of the first service."""
    running = [make_pod(f"peer-{node}", {"app": "web"}, node=node) for node in peers]
    other = make_pod("elsewhere", {"app": "web"}, namespace="other", node="b")
    cluster = cluster_1_4(ZONES, [other, *running], services)
    predicate = service_affinity_factory_1_4("Mine", ("zone",))(PredicateArgs())
    pod = make_pod(**{"label": {"app": "web"}, **fields})
    assert said(predicate, pod, cluster) == ({"CheckServiceAffinity": refused} if refused else {})


def test_a_peer_on_a_node_that_is_not_there_is_an_error() -> None:
    """In the words of the release."""
    cluster = cluster_1_4(ZONES, [make_pod("peer", {"app": "web"}, node="gone")], [WEB])
    predicate = service_affinity_factory_1_4("Mine", ("zone",))(PredicateArgs())
    found = said(predicate, make_pod(label={"app": "web"}), cluster)
    assert list(found) == ["error: node 'gone' not found"]


ROOM = resources(cpu=1000, memory=1000, pods=2)


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
        assert said(rule(name), make_pod(requests=request_), cluster) == wanted


def test_gpus() -> None:
    """Init containers do not ask for GPUs; GPUs that are taken are not free."""
    gpus = FrozenMap({**ROOM, NVIDIA_GPU: 2000})
    taken = make_pod("q", node="n", requests=FrozenMap({NVIDIA_GPU: 1000}))
    cluster = cluster_1_4([make_node("n", allocatable=gpus)], [taken])
    asking = FrozenMap({NVIDIA_GPU: 2000})
    assert said(rule("PodFitsResources"), make_pod(requests=asking), cluster) == {f"Insufficient {NVIDIA_GPU}": ["n"]}
    assert said(rule("PodFitsResources"), make_pod(init_containers=(Container(requests=asking),)), cluster) == {}


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
    assert said(rule(name), serving(wanted), cluster) == ({"PodFitsHostPorts": ["a"]} if conflict else {})


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
    assert said(rule("NoDiskConflict"), make_pod(volumes=(disk,)), cluster) == (
        {"NoDiskConflict": ["a"]} if conflict else {}
    )


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
    assert said(rule("MaxEBSVolumeCount", max_pd_volumes=3), pod, cluster) == said_


def test_volume_limits() -> None:
    """39 EBS disks and 16 of GCE, whatever the node says."""
    node = make_node("n", {"beta.kubernetes.io/instance-type": "c5.large"})
    cluster = cluster_1_4([node])
    assert said(rule("MaxEBSVolumeCount"), using(*map(str, range(39))), cluster) == {}
    assert said(rule("MaxEBSVolumeCount"), using(*map(str, range(40))), cluster) == {"MaxVolumeCount": ["n"]}
    disks = tuple(GCEPersistentDisk(str(i)) for i in range(17))
    assert said(rule("MaxGCEPDVolumeCount"), make_pod(volumes=disks[:16]), cluster) == {}
    assert said(rule("MaxGCEPDVolumeCount"), make_pod(volumes=disks), cluster) == {"MaxVolumeCount": ["n"]}


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
    assert said(rule("NoVolumeZoneConflict"), make_pod(volumes=(ClaimVolume(claim),)), cluster) == said_
