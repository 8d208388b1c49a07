"""Random small worlds for the laws of spreading and pod affinity: nodes, running pods, and a cluster of them."""

from __future__ import annotations

from typing import Any

import attrs
from hypothesis import strategies as st

from clusterstate.objects import (
    Affinity,
    LabelSelector,
    Node,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    Taint,
    WeightedPodAffinityTerm,
)
from clusterstate.release_view import ReleaseView
from kubescheduler.releases import v1_20, v1_36
from tests.support.build import Cluster, labels, make_node, make_pod

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


def sides(required: int, preferred: int) -> st.SearchStrategy[PodAffinity | None]:
    return st.none() | st.builds(
        PodAffinity,
        st.lists(affinity_terms, max_size=required).map(tuple),
        st.lists(weighted_terms, max_size=preferred).map(tuple),
    )


affinities = st.none() | st.builds(Affinity, st.none(), sides(1, 1), sides(1, 1))


@st.composite
def incoming_with_affinity(draw: st.DrawFn) -> Pod:
    affinity = draw(st.none() | st.builds(Affinity, st.none(), sides(2, 2), sides(2, 2)))
    return make_pod("in", draw(app_labels), namespace=draw(st.sampled_from(NAMESPACES)), affinity=affinity)
