"""Random small clusters with something of everything, and pods that ask for it: for laws about all plugins at once."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import attrs
import msgspec
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.objects import (
    CSI,
    Affinity,
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    Container,
    ContainerImage,
    ContainerPort,
    CSINode,
    CSINodeDriver,
    FrozenMap,
    GCEPersistentDisk,
    LabelSelector,
    Namespace,
    Node,
    NodeAffinity,
    NodeCondition,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    PersistentVolume,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodDisruptionBudget,
    PodResourceClaim,
    PreferredSchedulingTerm,
    ReplicaSet,
    Requirement,
    Service,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from clusterstate.podinfo import ReleaseView
from clusterstate.snapshot import Snapshot
from kubescheduler.core.decision import Decision
from kubescheduler.framework.contract.handle import Handle, Services
from kubescheduler.framework.contract.plugin import Plugin
from kubescheduler.framework.deciding.profile_attempt import FrameworkScheduler
from kubescheduler.framework.plugins.nodes import NodeLabelArgs
from kubescheduler.framework.plugins.plugin_record import factories
from kubescheduler.framework.plugins.resource_scores import RequestedToCapacityRatioArgs
from kubescheduler.framework.plugins.services import ServiceAffinityArgs
from kubescheduler.releases import v1_20, v1_36
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.names import FRAMEWORK_RELEASES
from tests.support.build import Cluster, labels, make_node, make_pod, resources
from tests.support.deciders import frame
from tests.support.devices import gpu, make_slice
from tests.support.devices import make_claim as device_claim
from tests.support.devices import make_class as device_class
from tests.support.releases_tried import FRAMEWORKS_TRIED
from tests.support.storage import BOUND, IMMEDIATE, claiming, make_claim, make_class, make_volume

RELEASES = tuple(dict.fromkeys((*FRAMEWORKS_TRIED, FRAMEWORK_RELEASES[-1])))
IN_TREE = {release: release_named(release).framework_rules.plugins for release in RELEASES}
"""Release → its plugins."""
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
DRIVER = "csi.example.com"
AVOIDED = '{"preferAvoidPods":[{"podSignature":{"podController":{"kind":"ReplicaSet","uid":"u"}}}]}'

ARGS: dict[str, Any] = {
    "NodeLabel": NodeLabelArgs(("disk",), ("old",), ("disk",), ("old",)),
    "ServiceAffinity": ServiceAffinityArgs((ZONE,), (ZONE,)),
    "RequestedToCapacityRatio": RequestedToCapacityRatioArgs(((0, 0), (50, 10), (100, 3))),
}
"""Args of plugins that do nothing without."""

# --- nodes -------------------------------------------------------------------------------------

TAINTS = (
    (),
    (),
    (Taint("k", "v", "NoSchedule"),),
    (Taint("k", "", "PreferNoSchedule"), Taint("l", "", "PreferNoSchedule")),
    (Taint("l", "", "NoExecute"),),
)
CONDITIONS = (
    (),
    (),
    (NodeCondition("Ready", "True"), NodeCondition("MemoryPressure", "True"), NodeCondition("PIDPressure", "Unknown")),
    (NodeCondition("Ready", "Unknown"), NodeCondition("DiskPressure", "True")),
    (NodeCondition("NetworkUnavailable", "True"), NodeCondition("OutOfDisk", "False")),
)
"""Predicates read them, plugins do not."""

NODE_PARTS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "zone": st.sampled_from([None, "a", "a", "b"]),
        "more": st.sampled_from([{}, {}, {"disk": "ssd"}, {"old": "", "disk": "7"}]),
        "taints": st.sampled_from(TAINTS),
        "conditions": st.sampled_from(CONDITIONS),
        "unschedulable": st.sampled_from([False, False, False, True]),
        "cpu": st.sampled_from([0, 2000, 4000]),
        "pods": st.integers(1, 5),
        "images": st.sampled_from([(), (ContainerImage(("app:latest",), 500 << 20),)]),
        "avoids": st.booleans(),
    }
)


def node_of(name: str, parts: Any) -> Node:
    label = {HOST: name, **parts["more"]} | (dict.fromkeys((ZONE, BETA_ZONE), parts["zone"]) if parts["zone"] else {})
    return make_node(
        name,
        label,
        {"scheduler.alpha.kubernetes.io/preferAvoidPods": AVOIDED} if parts["avoids"] else None,
        taints=parts["taints"],
        conditions=parts.get("conditions", ()),
        unschedulable=parts["unschedulable"],
        allocatable=resources(cpu=parts["cpu"], memory=parts.get("memory", 4 << 30), pods=parts["pods"]),
        images=parts["images"],
    )


# --- pods --------------------------------------------------------------------------------------

WEB = LabelSelector(labels({"app": "web"}))
KNOWN = Requirement("app", "Exists")
HAS_DISK, IN_A = Requirement("disk", "Exists"), Requirement(ZONE, "In", ("a",))
TERMS = (
    PodAffinityTerm(ZONE, WEB),
    PodAffinityTerm(HOST, WEB),
    PodAffinityTerm(ZONE, LabelSelector(match_expressions=(KNOWN,)), ("default", "other")),
)
terms = st.sampled_from(TERMS)
sides = st.sampled_from(
    [
        None,
        None,
        *(PodAffinity((term,)) for term in TERMS),
        *(PodAffinity(preferred=(WeightedPodAffinityTerm(7, term),)) for term in TERMS),
    ]
)
node_affinities = st.sampled_from(
    [
        None,
        None,
        NodeAffinity((NodeSelectorTerm((HAS_DISK,)), NodeSelectorTerm((IN_A,)))),
        NodeAffinity(preferred=(PreferredSchedulingTerm(5, NodeSelectorTerm((IN_A,))),)),
        NodeAffinity((NodeSelectorTerm(match_fields=(Requirement("metadata.name", "In", ("n0",)),)),)),
    ]
)
SPREADS = (
    (),
    (),
    (TopologySpreadConstraint(1, ZONE, "DoNotSchedule", WEB),),
    (TopologySpreadConstraint(1, HOST, "ScheduleAnyway", WEB),),
    (TopologySpreadConstraint(2, HOST, "DoNotSchedule", WEB), TopologySpreadConstraint(1, ZONE, "ScheduleAnyway", WEB)),
)
VOLUMES = (
    (),
    (),
    (),
    (AWSElasticBlockStore("vol"),),
    tuple(kind(name) for kind in (AWSElasticBlockStore, GCEPersistentDisk, AzureDisk, Cinder) for name in "ab"),
    (CSI(DRIVER, "h"),),
    claiming("bound").spec.volumes,
    claiming("bound", "late").spec.volumes,
    claiming("once").spec.volumes,
)
POD_PARTS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "label": st.sampled_from([{"app": "web"}, {"app": "db"}, {}]),
        "namespace": st.sampled_from(["default", "default", "other"]),
        "cpu": st.sampled_from([0, 500, 1500]),
        "ports": st.sampled_from([(), (), (ContainerPort(80),), (ContainerPort(80, "10.0.0.1"),)]),
        "affinity": st.builds(Affinity, node_affinities, sides, sides),
        "node_selector": st.sampled_from([labels(), labels(), labels({"disk": "ssd"})]),
        "tolerations": st.sampled_from([(), (Toleration("k", "Exists"),), (Toleration("", "Exists"),)]),
        "topology_spread_constraints": st.sampled_from(SPREADS),
        "volumes": st.sampled_from(VOLUMES),
        "devices": st.sampled_from(["", "", "", "claimed", "extended"]),
        "owned": st.booleans(),
        "deleting": st.sampled_from([False, False, False, True]),
        "priority": st.sampled_from([None, 5, 10]),
    }
)


def pod_of(name: str, parts: Any, node: str = "", **more: Any) -> Pod:
    fields = {key: parts[key] for key in parts.keys() - {"label", "cpu", "ports", "devices", "owned"}}
    owners = (OwnerReference("ReplicaSet", "web", "u", True),) if parts["owned"] else ()
    if parts["devices"] == "claimed":
        fields["resource_claims"] = (PodResourceClaim("c", "c"),)
    wanted = {"example.com/gpu": 1000} if parts["devices"] == "extended" else {}
    requests = FrozenMap({**resources(cpu=parts["cpu"], memory=256 << 20), **wanted})
    container = Container("c", "app", requests, ports=parts["ports"])
    return make_pod(name, parts["label"], node=node, containers=(container,), owners=owners, **(fields | more))


# --- what else there is ------------------------------------------------------------------------

OTHERS: tuple[Any, ...] = (
    Namespace(ObjectMeta("default", labels=labels({"team": "t"}))),
    make_class("late", DRIVER),
    make_class("now", DRIVER, IMMEDIATE),
    make_claim("bound", "pv", annotations=BOUND),
    make_claim("late", storage_class="late"),
    make_claim("once", "pv", annotations=BOUND, access_modes=("ReadWriteOncePod",)),
    CSINode(ObjectMeta("n0"), (CSINodeDriver(DRIVER, count=1),)),
    CSINode(ObjectMeta("n1"), (CSINodeDriver(DRIVER, count=2),)),
    device_class(extended_resource_name="example.com/gpu"),
    make_slice("n0", gpu("g")),
    device_claim(),
)
VOLUME = make_volume("pv", CSI(DRIVER, "h"), label={ZONE: "a", BETA_ZONE: "a"})
LOCAL_VOLUME = PersistentVolume(VOLUME.metadata, VOLUME.source, node_affinity=(NodeSelectorTerm((HAS_DISK,)),))
SERVICE = Service(ObjectMeta("web", "default"), labels({"app": "web"}))
REPLICAS = ReplicaSet(ObjectMeta("web", "default", uid="u"), WEB)
others = st.tuples(st.sampled_from([VOLUME, LOCAL_VOLUME]), st.sampled_from([(), (SERVICE,), (SERVICE, REPLICAS)])).map(
    lambda drawn: (*OTHERS, drawn[0], *drawn[1])
)
budgets = st.lists(
    st.builds(
        PodDisruptionBudget,
        st.just(ObjectMeta("b", "default")),
        st.sampled_from([WEB, LabelSelector(), LabelSelector(match_expressions=(KNOWN,))]),
        st.integers(0, 2),
        st.sampled_from([(), (), ("p0", "p1")]),
    ),
    max_size=2,
).map(
    lambda found: [msgspec.structs.replace(b, metadata=ObjectMeta(f"b{at}", "default")) for at, b in enumerate(found)]
)


@attrs.frozen
class DrawnCluster:
    """nodes: in order of addition. pods: running. others: what is neither."""

    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    others: tuple[Any, ...]

    def cache(self, release: str) -> ClusterCache:
        """Every release sees the same."""
        return ClusterCache.of([*self.others, *self.nodes, *self.pods], release_named(release).default_view)


def started(pod: Pod, second: int) -> Pod:
    """The same pod, begun at its own time."""
    return msgspec.structs.replace(pod, start_time=f"2020-01-01T00:00:{second:02}Z")


@st.composite
def worlds(draw: st.DrawFn, most_nodes: int = 4, most_pods: int = 5) -> DrawnCluster:
    """Nodes n0, n1 …; running pods p0, p1 …"""
    nodes = [
        node_of(f"n{at}", parts) for at, parts in enumerate(draw(st.lists(NODE_PARTS, min_size=1, max_size=most_nodes)))
    ]
    places = st.sampled_from([node.name for node in nodes])
    pods = draw(st.lists(st.tuples(POD_PARTS, places), max_size=most_pods))
    there = [started(pod_of(f"p{at}", parts, place), at) for at, (parts, place) in enumerate(pods)]
    return DrawnCluster(tuple(nodes), tuple(there), draw(others))


incoming = POD_PARTS.map(lambda parts: pod_of("in", parts | {"deleting": False}))


# --- plugins -----------------------------------------------------------------------------------

GATED = frozenset(name for plugins in IN_TREE.values() for name, plugin in plugins.items() if not plugin.gate_default)
"""Plugins that no profile enables without a gate."""


def in_tree(release: str, services: Services | None = None) -> dict[str, Plugin]:
    """Every plugin of a release by its name."""
    handle = Handle(services or Services(release, ClusterCache(release_named(release).default_view)), "p")
    return {name: make(ARGS.get(name), handle) for name, make in factories(IN_TREE[release]).items()}


def everything(
    release: str, cache: ClusterCache, *, without: Collection[str] = (), **fields: Any
) -> FrameworkScheduler:
    """A scheduler with every plugin at every point where it takes part. Weights are 1, 2, 3 and 1 again."""
    services = Services(release, cache)
    made = {name: p for name, p in in_tree(release, services).items() if name not in {*GATED, *without}}
    weights = {name: 1 + at % 3 for at, name in enumerate(made)}
    rules = release_named(release).framework_rules.deciding
    return FrameworkScheduler(
        frame(release, *made.values(), services=services, weights=weights), cache, rules, **fields
    )


def told(decision: Decision) -> dict[str, Any]:
    """All that a decision says, by names of nodes; of errors that there is one: which node's is told is left open."""
    if decision.error is not None:
        return {"error": True}
    return {
        "fits": decision.fits(),
        "reasons": {name: sorted(reasons) for name, reasons in decision.reasons().items()},
        "codes": decision.codes(),
        "checks": {n: {c: sorted(r) for c, r in checks.items()} for n, checks in decision.checks().items()},
        "raws": {plugin: decision.raw(plugin) for plugin in getattr(decision, "raws", {})},
        "scores": {plugin: decision.score(plugin) for plugin in decision.scores},
        "total": decision.total(),
        "host": decision.host,
    }


def failing(snapshot: Snapshot, verdict: Any) -> dict[str, list[str]]:
    """Reason → the nodes that fail for it; reasons that fail nowhere left out."""
    names = snapshot.names
    found = {r: [n for n, hit in zip(names, mask, strict=True) if hit] for r, mask in verdict.items()}
    return {reason: hit for reason, hit in found.items() if hit}


HOSTNAME = "kubernetes.io/hostname"
VIEWS: dict[str, ReleaseView] = {"1.20": v1_20.VIEW, "1.36": v1_36.VIEW}

APPS: tuple[dict[str, str], ...] = ({}, {"app": "x"}, {"app": "y"}, {"app": "x", "rev": "1"}, {"app": "x", "rev": "2"})
SELECTORS = (
    None,
    LabelSelector(),
    LabelSelector(labels({"app": "x"})),
    LabelSelector(labels({"app": "y"})),
    LabelSelector(match_expressions=(Requirement("app", "NotIn", ("x",)),)),
    LabelSelector(match_expressions=(Requirement("rev", "Exists"),)),
)
NAMESPACES = ("a", "b")

app_labels = st.sampled_from(APPS)
selectors = st.sampled_from(SELECTORS)


@st.composite
def nodes(draw: st.DrawFn, most: int = 5) -> list[Node]:
    out = []
    for at in range(draw(st.integers(1, most))):
        label = {HOSTNAME: f"n{at}"} if draw(st.integers(0, 5)) else {}
        zone, rack = draw(st.sampled_from([None, "", "a", "b", "b"])), draw(st.sampled_from([None, "r1", "r2"]))
        label |= {k: v for k, v in (("zone", zone), ("rack", rack)) if v is not None}
        taints = (Taint("dirty", "", draw(st.sampled_from(["NoSchedule", "PreferNoSchedule"]))),)
        out.append(make_node(f"n{at}", label, taints=taints if draw(st.booleans()) else ()))
    return out


@st.composite
def running(draw: st.DrawFn, count: int, name: str, affinity: st.SearchStrategy[Any] | None = None) -> list[Pod]:
    """Pods on some of ``count`` nodes."""
    return [
        make_pod(
            f"{name}{at}",
            draw(app_labels),
            namespace=draw(st.sampled_from(NAMESPACES)),
            node=f"n{draw(st.integers(0, count - 1))}",
            deleting=draw(st.integers(0, 4)) == 0,
            affinity=None if affinity is None else draw(affinity),
        )
        for at in range(draw(st.integers(0, 7)))
    ]


@attrs.frozen
class ReleaseCluster:
    """release: whose rules. pods: by node. others: objects that are neither nodes nor pods."""

    release: str
    nodes: list[Node]
    pods: list[list[Pod]]
    others: tuple[Any, ...] = ()

    @classmethod
    def of(cls, release: str, nodes: list[Node], pods: list[Pod], others: tuple[Any, ...] = ()) -> ReleaseCluster:
        return cls(release, nodes, [[p for p in pods if p.node_name == n.name] for n in nodes], others)

    def cluster(self, extra: tuple[Pod, ...] = ()) -> Cluster:
        pods = [pod for there in self.pods for pod in there]
        return Cluster(self.nodes, [*pods, *extra], self.others, VIEWS[self.release])

    def at(self, pod: Pod) -> int:
        return int(pod.node_name[1:])


# --- pod affinity --------------------------------------------------------------------------

NAMESPACE_SELECTORS = (
    None,
    None,
    LabelSelector(),
    LabelSelector(labels({"team": "t"})),
    LabelSelector(match_expressions=(Requirement("team", "DoesNotExist"),)),
)

affinity_terms = st.builds(
    PodAffinityTerm,
    st.sampled_from(["zone", "zone", "rack", HOSTNAME]),
    selectors,
    st.sampled_from([None, None, (), ("a",), ("a", "b")]),
    st.sampled_from(NAMESPACE_SELECTORS),
)
weighted_terms = st.builds(WeightedPodAffinityTerm, st.sampled_from([1, 3, 10]), affinity_terms)


def few_terms(required: int, preferred: int) -> st.SearchStrategy[PodAffinity | None]:
    return st.none() | st.builds(
        PodAffinity,
        st.lists(affinity_terms, max_size=required).map(tuple),
        st.lists(weighted_terms, max_size=preferred).map(tuple),
    )


affinities = st.none() | st.builds(Affinity, st.none(), few_terms(1, 1), few_terms(1, 1))


@st.composite
def incoming_with_affinity(draw: st.DrawFn) -> Pod:
    affinity = draw(st.none() | st.builds(Affinity, st.none(), few_terms(2, 2), few_terms(2, 2)))
    return make_pod("in", draw(app_labels), namespace=draw(st.sampled_from(NAMESPACES)), affinity=affinity)
