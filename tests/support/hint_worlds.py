"""Random small worlds for hints, as manifests, and every single change of the pod, made by hand."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import attrs
from hypothesis import strategies as st

import kubescheduler as ks

HARD = ("NoSchedule", "NoExecute")
Manifest = dict[str, Any]


@attrs.frozen
class HintWorld:
    """Nodes and running pods, and a pod to place; all manifests."""

    objects: tuple[Manifest, ...]
    pod: Manifest

    def cluster(self, release: str) -> ks.Cluster:
        """The cluster, read anew."""
        return ks.Cluster(*copy.deepcopy(list(self.objects)), release=release)

    def host(self, release: str, pod: Manifest) -> str | None:
        """Where a pod goes by a fresh engine."""
        return ks.Scheduler(self.cluster(release)).decide(copy.deepcopy(pod)).host


@st.composite
def nodes(draw: st.DrawFn) -> Manifest:
    name = f"n{draw(st.integers(0, 10**9))}"
    labels = draw(st.fixed_dictionaries({}, optional={"disk": st.sampled_from("ab"), "rack": st.sampled_from("ab")}))
    taints = draw(st.lists(st.sampled_from(["gpu=x:NoSchedule", "db:NoExecute", "s=y:PreferNoSchedule"]), unique=True))
    cpu, cordoned = draw(st.integers(1, 4)), draw(st.integers(0, 4)) == 0
    return ks.node(name, cpu=cpu, memory="4Gi", labels=labels, taints=taints, unschedulable=cordoned)


def _anti_affinity(app: str) -> Manifest:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _node_affinity(values: list[str]) -> Manifest:
    wanted = [{"key": "disk", "operator": "In", "values": values}, {"key": "rack", "operator": "Exists"}]
    terms = {"nodeSelectorTerms": [{"matchExpressions": wanted}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


@st.composite
def hint_worlds(draw: st.DrawFn, *, alternatives: bool = True) -> HintWorld:
    """One to three nodes, up to three running pods, and a pod with many wishes.

    alternatives: also a selector and an affinity that want different values of the same label.
    """
    there = draw(st.lists(nodes(), min_size=1, max_size=3, unique_by=lambda node: node["metadata"]["name"]))
    names = [node["metadata"]["name"] for node in there]
    running = [
        ks.pod(
            f"r{at}",
            node=draw(st.sampled_from(names)),
            cpu=f"{draw(st.integers(1, 30))}00m",
            labels={"app": draw(st.sampled_from("ab"))},
            priority=draw(st.sampled_from([0, 5])),
        )
        for at in range(draw(st.integers(0, 3)))
    ]
    affinity = draw(st.sampled_from([{}, {}, _anti_affinity("a"), _node_affinity(["a"]), _node_affinity(["c"])]))
    pod = ks.pod(
        "in",
        cpu=f"{draw(st.integers(0, 60))}00m",
        memory=draw(st.sampled_from(["1Gi", "6Gi"])),
        labels={"app": "a"},
        node_selector=draw(st.sampled_from([{}, {"disk": "a"}, {"disk": "a", "rack": "c"}]))
        if alternatives or "nodeAffinity" not in affinity
        else {},
        tolerations=draw(st.sampled_from([(), ("gpu",)])),
        spec={"affinity": affinity} if affinity else {},
    )
    return HintWorld((*there, *running), pod)


def edited_pods(world: HintWorld) -> Iterator[tuple[str, Manifest]]:
    """(the change as hints word it, the manifest) of every change that does not differ in an amount."""
    taints = [t for node in world.objects if node["kind"] == "Node" for t in node["spec"].get("taints", ())]
    for taint in taints:
        if taint["effect"] in HARD:
            value = f"={taint['value']}" if taint.get("value") else ""
            added = {"operator": "Equal" if value else "Exists", **taint}
            pod = copy.deepcopy(world.pod)
            pod["metadata"].pop("annotations", None)
            pod["spec"].setdefault("tolerations", []).append(added)
            yield f"tolerate {taint['key']}{value}:{taint['effect']}", pod
    for key, value in world.pod["spec"].get("nodeSelector", {}).items():
        pod = copy.deepcopy(world.pod)
        del pod["spec"]["nodeSelector"][key]
        yield f"drop {key}={value} from the nodeSelector", pod
    affinity = world.pod["spec"].get("affinity", {})
    if "podAntiAffinity" in affinity:
        pod = copy.deepcopy(world.pod)
        del pod["spec"]["affinity"]
        yield "drop the required pod anti-affinity term (topology kubernetes.io/hostname)", pod
    if "nodeAffinity" in affinity:
        values = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        texts = (f"disk={values[0]['matchExpressions'][0]['values'][0]}", "rack to exist")
        for at, text in enumerate(texts):
            pod = copy.deepcopy(world.pod)
            required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            del required["nodeSelectorTerms"][0]["matchExpressions"][at]
            yield f"drop the requirement {text} from the node affinity", pod


def with_request(pod: Manifest, resource: str, amount: str) -> Manifest:
    """The pod asking for an amount."""
    out = copy.deepcopy(pod)
    out["spec"]["containers"][0]["resources"]["requests"][resource] = amount
    return out
