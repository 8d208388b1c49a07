"""VolumeBinding's PreFilter and Filter in 1.20 and 1.36."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from clusterstate.objects import (
    AWSElasticBlockStore,
    Cinder,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    EphemeralVolume,
    LabelSelector,
    NodeSelectorTerm,
    ObjectMeta,
    PersistentVolume,
    Pod,
    Requirement,
)
from clusterstate.volumes.csi_migration import MIGRATED_ANNOTATION
from kubescheduler.releases import v1_36
from predicates.types import GO_ON, PreFiltered
from predicates.volume_binding import (
    VOLUME_BINDING_1_20,
    VOLUME_BINDING_1_24,
    VOLUME_BINDING_1_27,
    VOLUME_BINDING_1_36,
    VolumeBindingRule,
)
from tests.support.build import Cluster, labels, make_node, make_pod
from tests.support.storage import BOUND, by_text, claiming, make_claim, make_class, make_volume, on_nodes, owned_claim

CONFLICT_1_20 = "node(s) had volume node affinity conflict"
CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NOT_FOUND = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
GONE_1_20 = "pvc(s) bound to non-existent pv(s)"
GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
SELECTED = "volume.kubernetes.io/selected-node"

NODES = [make_node(n, {"host": n, "zone": "z" if n < "c" else "y"}) for n in "abc"]
LOCAL = make_class("local", "kubernetes.io/no-provisioner")
LATE = make_class("late", "d.io")
DRIVER = CSIDriver(ObjectMeta("d.io"), storage_capacity=True)

RELEASES = pytest.mark.parametrize("rule", [VOLUME_BINDING_1_20, VOLUME_BINDING_1_36], ids=["1.20", "1.36"])


def free(name: str, *hosts: str, **fields: Any) -> PersistentVolume:
    """An available volume on these hosts; without hosts anywhere."""
    fields = {"storage_class_name": "local", "phase": "Available", "storage": 10, **fields}
    return make_volume(name, node_affinity=on_nodes(*hosts) if hosts else None, **fields)


def late(name: str, of: str = "late", **fields: Any) -> Any:
    return make_claim(name, storage_class=of, **{"storage": 5, **fields})


def bound(name: str, *hosts: str) -> list[Any]:
    return [make_claim(name, f"pv-{name}", annotations=BOUND), free(f"pv-{name}", *hosts, phase="Bound")]


def refused(rule: VolumeBindingRule, pod: Pod, *others: Any, rows: list[int] | None = None) -> dict[str, list[str]]:
    cluster = Cluster(NODES, [], [LOCAL, LATE, *others], v1_36.VIEW)
    snapshot = cluster.snapshot if rows is None else cluster.snapshot.take(np.array(rows, np.int64))
    return by_text(snapshot, rule.check(cluster.info(pod), snapshot))


# --- PreFilter -----------------------------------------------------------------------------


PODS_WHOSE: dict[str, Any] = {
    "missing": (claiming("c"), [], 'persistentvolumeclaim "c" not found'),
    "immediate": (claiming("c"), [make_claim("c", storage_class="now")], UNBOUND),
    "no-class": (claiming("c"), [make_claim("c")], UNBOUND),
    "class-missing": (claiming("c"), [make_claim("c", storage_class="gone")], UNBOUND),
    "prebound": (claiming("c"), [make_claim("c", "v", storage_class="late")], UNBOUND),
    "class-without-mode": (
        claiming("c"),
        [late("c", "odd"), make_class("odd", mode=None)],
        'VolumeBindingMode not set for StorageClass "odd"',
    ),
    "waits": (claiming("c"), [late("c")], None),
    "bound": (claiming("c"), bound("c"), None),
}


@pytest.mark.parametrize(("pod", "others", "expected"), PODS_WHOSE.values(), ids=PODS_WHOSE)
@RELEASES
def test_pods_whose_claims_cannot_be_used(
    rule: VolumeBindingRule, pod: Pod, others: list[Any], expected: str | None
) -> None:
    """They are refused before nodes are looked at, and no node says more."""
    cluster = Cluster(NODES, [], [LATE, make_class("now", mode="Immediate"), *others])
    info = cluster.info(pod)
    answer = rule.pre_filter(info, cluster.snapshot)
    assert answer == (GO_ON if expected is None else PreFiltered(reasons=(expected,)))
    if expected is not None:
        assert rule.check(info, cluster.snapshot) == {}


def test_ephemeral_claims_are_looked_up_too() -> None:
    """By the name of the pod, in 1.36."""
    pod = make_pod("p", volumes=(EphemeralVolume("data"),))
    cluster = Cluster(NODES, [], [LATE, owned_claim("p-data", "default/p", storage_class="late")], v1_36.VIEW)
    assert VOLUME_BINDING_1_36.pre_filter(cluster.info(pod), cluster.snapshot) == GO_ON
    stranger = cluster.info(make_pod("q", volumes=pod.spec.volumes))
    assert VOLUME_BINDING_1_36.pre_filter(stranger, cluster.snapshot).reasons == (
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "q-data"',
    )


# --- bound claims --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "conflict", "gone"),
    [
        pytest.param(VOLUME_BINDING_1_20, CONFLICT_1_20, GONE_1_20, id="1.20"),
        pytest.param(VOLUME_BINDING_1_36, CONFLICT, GONE, id="1.36"),
    ],
)
def test_bound_claims(rule: VolumeBindingRule, conflict: str, gone: str) -> None:
    """In order: a node fails at the first volume that it cannot use or that does not exist."""
    others = [*bound("any"), *bound("on-a", "a"), *bound("on-ab", "a", "b"), make_claim("lost", "x", annotations=BOUND)]
    assert refused(rule, claiming("any"), *others) == {}
    assert refused(rule, claiming("on-a", "on-ab"), *others) == {conflict: ["b", "c"]}
    assert refused(rule, claiming("on-ab", "lost", "on-a"), *others) == {conflict: ["c"], gone: ["a", "b"]}
    assert refused(rule, claiming("lost", "c"), *others, late("c", "local")) == {
        NOT_FOUND: ["a", "b", "c"],
        gone: ["a", "b", "c"],
    }


def migrated(name: str, *plugins: str) -> CSINode:
    return CSINode(ObjectMeta(name, annotations=labels({MIGRATED_ANNOTATION: ",".join(plugins)})))


def test_nodes_that_handed_a_plugin_over_are_asked_for_the_label_of_its_driver() -> None:
    """Other nodes for the label that the volume names; in 1.20 only with gates."""
    zone, own = "topology.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone"
    nodes = [make_node("a", {zone: "z"}), make_node("b", {zone: "z"}), make_node("c", {zone: "z", own: "z"})]
    volume = make_volume("v", AWSElasticBlockStore("vol-1"), node_affinity=_in(zone, "z"))
    ebs = "kubernetes.io/aws-ebs"
    others = [make_claim("c", "v", annotations=BOUND), volume, *(migrated(name, ebs) for name in "bc")]
    cluster = Cluster(nodes, [], others)
    info = cluster.info(claiming("c"))
    assert by_text(cluster.snapshot, VOLUME_BINDING_1_36.check(info, cluster.snapshot)) == {CONFLICT: ["b"]}
    assert by_text(cluster.snapshot, VOLUME_BINDING_1_20.check(info, cluster.snapshot)) == {}
    gated = msgspec.structs.replace(VOLUME_BINDING_1_20, plugins=frozenset({ebs}))
    assert by_text(cluster.snapshot, gated.check(info, cluster.snapshot)) == {CONFLICT_1_20: ["b"]}


def _in(key: str, *values: str) -> tuple[NodeSelectorTerm, ...]:
    return (NodeSelectorTerm((Requirement(key, "In", values),)),)


def test_a_volume_that_cannot_be_translated_is_an_error_where_it_has_to_be() -> None:
    """And nowhere else."""
    others = [
        make_claim("c", "v", annotations=BOUND),
        make_volume("v", AWSElasticBlockStore("aws://z/x")),
        migrated("b", "kubernetes.io/aws-ebs"),
    ]
    text = "failed to translate Kubernetes ID to EBS Volume ID invalid format for AWS volume (aws://z/x)"
    assert refused(VOLUME_BINDING_1_36, claiming("c"), *others) == {f"error: could not translate pv: {text}": ["b"]}


def test_plugins_that_are_not_named_stay_as_they_are() -> None:
    """The annotation says which ones are handed over."""
    volume = make_volume("v", Cinder("c"), node_affinity=_in("host", "a"))
    others = [make_claim("c", "v", annotations=BOUND), volume, migrated("a", "kubernetes.io/aws-ebs")]
    assert refused(VOLUME_BINDING_1_36, claiming("c"), *others) == {CONFLICT: ["b", "c"]}


# --- claims to bind ------------------------------------------------------------------------


def room(name: str, size: int, *hosts: str) -> CSIStorageCapacity:
    selector = LabelSelector(match_expressions=(Requirement("host", "In", hosts),))
    return CSIStorageCapacity(ObjectMeta(name, "kube-system"), "late", selector, size)


CLAIMS_BIND: dict[str, Any] = {
    "matched": (["c"], [late("c", "local"), free("v", "a", "b")], {NOT_FOUND: ["c"]}),
    "two-claims": (
        ["c", "d"],
        [late("c", "local"), late("d", "local"), free("v"), free("w", "a")],
        {NOT_FOUND: ["b", "c"]},
    ),
    "provisioned": (["c"], [late("c")], {}),
    "sent-to-b": (["c"], [late("c", annotations={SELECTED: "b"})], {NOT_FOUND: ["a", "c"]}),
    "sent-but-not-provisionable": (
        ["d", "c"],
        [late("c", "local", annotations={SELECTED: "b"}), late("d", "local"), free("v")],
        {NOT_FOUND: ["a", "b", "c"]},
    ),
    "allowed-topologies": (
        ["c"],
        [late("c", "zonal"), make_class("zonal", allowed_topologies=((Requirement("zone", "In", ("z",)),),))],
        {NOT_FOUND: ["c"]},
    ),
    "topology-without-expressions": (
        ["c"],
        [late("c", "odd"), make_class("odd", allowed_topologies=((),))],
        {NOT_FOUND: ["a", "b", "c"]},
    ),
    "selector": (
        ["c"],
        [late("c", "local", selector=LabelSelector(match_expressions=(Requirement("x", "Bad"),)))],
        {
            "error: error creating internal label selector for claim: default/c: "
            '"Bad" is not a valid label selector operator': ["a", "b", "c"]
        },
    ),
}


@pytest.mark.parametrize(("claims", "others", "expected"), CLAIMS_BIND.values(), ids=CLAIMS_BIND)
@RELEASES
def test_claims_to_bind(
    rule: VolumeBindingRule, claims: list[str], others: list[Any], expected: dict[str, list[str]]
) -> None:
    """Each gets a volume that is there or one that can be made."""
    assert refused(rule, claiming(*claims), *others) == expected


def test_not_enough_storage() -> None:
    """The first claim that cannot be provisioned gives the reason; 1.20 keeps no account."""
    rooms = [DRIVER, room("r", 5, "a"), room("s", 9, "b")]
    assert refused(VOLUME_BINDING_1_36, claiming("c"), *rooms, late("c")) == {NO_SPACE: ["c"]}
    assert refused(VOLUME_BINDING_1_36, claiming("c"), *rooms, late("c", storage=6000)) == {NO_SPACE: ["a", "b", "c"]}
    others = [*rooms, late("c"), late("d", "local", storage=4), free("v", "c")]
    assert refused(VOLUME_BINDING_1_36, claiming("c", "d"), *others) == {NOT_FOUND: ["a", "b"], NO_SPACE: ["c"]}
    assert refused(VOLUME_BINDING_1_20, claiming("c"), *rooms, late("c")) == {}


def test_both_kinds_of_claims_are_reported() -> None:
    """A bound volume that is elsewhere, and a claim that nothing fits."""
    assert refused(VOLUME_BINDING_1_36, claiming("b", "c"), *bound("b", "a"), late("c", "local")) == {
        CONFLICT: ["b", "c"],
        NOT_FOUND: ["a", "b", "c"],
    }


# --- laws ----------------------------------------------------------------------------------


def claim(index: int, kind: str, size: int, volume: str) -> Any:
    if kind == "bound":
        return make_claim(f"c{index}", f"v{volume}", annotations=BOUND)
    if kind == "sent":
        return late(f"c{index}", storage=size, annotations={SELECTED: "b"})
    return late(f"c{index}", kind, storage=size)


# --- between 1.27 and 1.31: volumes narrow the nodes ---------------------------------------


def hosted(name: str, *hosts: str) -> list[Any]:
    """A claim that is bound to a volume on nodes with these hostnames."""
    claim, volume = sorted(bound(name), key=lambda each: isinstance(each, PersistentVolume))
    return [
        claim,
        msgspec.structs.replace(volume, node_affinity=_in("kubernetes.io/hostname", *hosts) if hosts else None),
    ]


@pytest.mark.parametrize(
    ("claims", "nodes"),
    [
        pytest.param([*hosted("v", "a", "b")], {"a", "b"}, id="one"),
        pytest.param([*hosted("v", "a", "b"), *hosted("w", "b")], {"b"}, id="both"),
        pytest.param([*hosted("v", "a"), *hosted("w", "b")], set(), id="contradicting"),
        pytest.param([*hosted("v")], None, id="anywhere"),
    ],
)
def test_bound_volumes_narrow_the_nodes(claims: list[Any], nodes: set[str] | None) -> None:
    """Those that name nodes by hostname; other releases leave that to Filter."""
    cluster = Cluster([make_node("a"), make_node("b")], (), claims)
    pod = cluster.info(claiming(*(each.metadata.name for each in claims if not isinstance(each, PersistentVolume))))
    expected = PreFiltered(nodes=None if nodes is None else frozenset(nodes))
    assert VOLUME_BINDING_1_27.pre_filter(pod, cluster.snapshot) == expected
    assert VOLUME_BINDING_1_24.pre_filter(pod, cluster.snapshot) == GO_ON
