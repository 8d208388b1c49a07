"""Random clusters and runs of pods that are alike, placed one by one and in bulk; for laws about placing in bulk."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import msgspec
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.objects import (
    Affinity,
    Container,
    ContainerPort,
    FrozenMap,
    Node,
    NodeAffinity,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
    Requirement,
    Taint,
)
from kubescheduler.core.decision import Decision
from kubescheduler.core.equal_runs import PlacedRun, placed_in_order
from kubescheduler.core.selection import FirstByName, RandomTie, ReservoirTie, RoundRobinTie, TieBreak
from kubescheduler.engine.framework_engine import ProfiledScheduler, framework_engine_for
from kubescheduler.engine.spec import Engine, EngineSpec, PodScheduler, cache_for, engine_for
from kubescheduler.framework.deciding.opportunistic_batch import Turn
from kubescheduler.framework.deciding.score_plugins import HeapTie
from tests.support.build import labels, make_node, make_pod, resources
from tests.support.deciders import Recorder
from tests.support.rich_worlds import (
    HOST,
    NODE_PARTS,
    POD_PARTS,
    DrawnCluster,
    node_affinities,
    node_of,
    others,
    pod_of,
)

NO_DEFAULTS: dict[str, Any] = {
    "name": "PodTopologySpread",
    "args": {"defaultingType": "List", "defaultConstraints": []},
}
"""Without default constraints pods can be signed."""


def document(*plugin_config: Any, **profile: Any) -> dict[str, Any]:
    """A configuration of 1.36 without default constraints."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [NO_DEFAULTS, *plugin_config], **profile}],
    }


def sized(name: str, cpus: int) -> Node:
    """A node of some whole cpus."""
    return make_node(name, allocatable=resources(cpu=cpus * 1000, memory=64 << 30, pods=110))


def filling(name: str, cpus: int = 3, **fields: Any) -> Pod:
    """A pod that asks for whole cpus."""
    return make_pod(name, requests=resources(cpu=cpus * 1000), scheduler_name="default-scheduler", **fields)


@attrs.define
class BatchingScheduler:
    """A cluster and its scheduler, which counts what becomes of rankings."""

    scheduler: ProfiledScheduler
    recorder: Recorder
    number: int = 0

    @classmethod
    def of(
        cls,
        nodes: Sequence[Node],
        configured: dict[str, Any] | None = None,
        *,
        gates: str = "",
        tie_break: TieBreak | None = None,
    ) -> BatchingScheduler:
        """By default without default constraints."""
        component = document() if configured is None else configured
        spec, recorder = EngineSpec("1.36", feature_gates=gates, component=component), Recorder()
        engine = framework_engine_for(spec)
        services = engine.services(ClusterCache.of(nodes, spec.release_view()))
        services.observer = recorder
        return cls(engine.over(services, tie_break), recorder)

    @property
    def cache(self) -> ClusterCache:
        return self.scheduler.cache

    def decide(self, pod: Pod, now: float = 0.0, skip: int = 0) -> Decision:
        """The next attempt, after ``skip`` others."""
        self.number += 1 + skip
        return self.scheduler.schedulers["default-scheduler"].attempt(pod, turn=Turn(self.number, now)).run()

    def place(self, pod: Pod, now: float = 0.0) -> str | None:
        """Decides and places a pod; its node."""
        decision = self.decide(pod, now)
        if decision.host is not None:
            self.cache.assume_pod(pod, decision.host)
        return decision.host

    def counted(self) -> list[str]:
        """What was counted since it was last asked: results of attempts and reasons of flushes."""
        told = [str(one[1]) for one in self.recorder.told if str(one[0]).startswith("batch_")]
        self.recorder.told.clear()
        return told


PACKING: dict[str, Any] = {
    "name": "NodeResourcesFit",
    "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}]}},
}
POLICY: dict[str, Any] = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [{"name": "PodFitsResources"}, {"name": "PodToleratesNodeTaints"}],
    "priorities": [{"name": "MostRequestedPriority", "weight": 2}, {"name": "NodeAffinityPriority", "weight": 1}],
}
OLD_POLICY: dict[str, Any] = {**POLICY, "priorities": [{"name": "LeastRequestedPriority", "weight": 3}]}
NO_SCORES: dict[str, Any] = {**POLICY, "priorities": []}

ENGINES: dict[str, Engine] = {
    "1.4": engine_for(EngineSpec("1.4")),
    "1.4 policy": engine_for(EngineSpec("1.4", policy=OLD_POLICY)),
    "1.16": engine_for(EngineSpec("1.16")),
    "1.16 packing": engine_for(EngineSpec("1.16", policy=POLICY)),
    "1.16 without priorities": engine_for(EngineSpec("1.16", policy=NO_SCORES)),
    "1.20": engine_for(EngineSpec("1.20")),
    "1.20 policy": engine_for(EngineSpec("1.20", policy=POLICY)),
    "1.36": engine_for(EngineSpec("1.36")),
    "1.36 rankings kept": engine_for(EngineSpec("1.36", component=document())),
    "1.36 packing, rankings kept": engine_for(EngineSpec("1.36", component=document(PACKING))),
    "1.36 packing": engine_for(
        EngineSpec("1.36", feature_gates="OpportunisticBatching=false", component=document(PACKING))
    ),
}

TIES: dict[str, Callable[[], TieBreak]] = {
    "by name": FirstByName,
    "random": lambda: RandomTie(random.Random(7)),
    "reservoir": lambda: ReservoirTie(random.Random(7)),
    "round robin": RoundRobinTie,
    "heap": lambda: HeapTie(random.Random(7)),
}

# --- worlds ------------------------------------------------------------------------------------

ROOM: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"pods": st.integers(1, 14), "cpu": st.sampled_from([0, 2000, 4000, 16000])}
)
OPEN: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "taints": st.sampled_from([(), (), (Taint("l", "", "PreferNoSchedule"),)]),
        "unschedulable": st.just(False),
        "pods": st.sampled_from([30, 14, 8, 3]),
        "cpu": st.sampled_from([4000, 16000, 64000]),
        "memory": st.just(64 << 30),
    }
)
"""Of nodes that take most pods."""
PLAIN: dict[str, Any] = {
    "affinity": None,
    "node_selector": labels(),
    "topology_spread_constraints": (),
    "volumes": (),
    "devices": "",
    "ports": (),
    "owned": False,
    "deleting": False,
}


def preferring(*weights: int) -> NodeAffinity:
    """Node n0 is preferred by the first weight, n1 by the second …"""
    wanted = [NodeSelectorTerm((Requirement(HOST, "In", (f"n{at}",)),)) for at in range(len(weights))]
    return NodeAffinity(preferred=tuple(map(PreferredSchedulingTerm, weights, wanted)))


PREFERENCES = (None, None, preferring(9, 4), preferring(30), preferring(20, 10, 5))
LIGHT = st.builds(
    lambda parts, affinity, ports: {**parts, **PLAIN, "affinity": affinity and Affinity(affinity), "ports": ports},
    POD_PARTS,
    st.one_of(st.sampled_from(PREFERENCES), st.sampled_from(PREFERENCES), node_affinities),
    st.sampled_from([(), (), (), (), (), (ContainerPort(80),)]),
)
"""Pods that need no more than a node."""
EVERYWHERE = LIGHT.filter(lambda parts: parts["affinity"] is None or not parts["affinity"].node_affinity.required)
"""Of these, pods that name no nodes that they need."""
COUNTS = st.one_of(st.sampled_from([40, 24, 12, 9]), st.integers(1, 40))
"""Pods of a run."""
TEMPLATES = st.one_of(LIGHT, LIGHT, LIGHT, LIGHT, POD_PARTS.map(lambda parts: {**parts, "deleting": False}))


@attrs.frozen(repr=False)
class Runs:
    """A cluster, and pods in the order in which they are placed."""

    world: DrawnCluster
    pods: tuple[Pod, ...]

    def __repr__(self) -> str:
        """Short enough for a failure to print; the names say which run a pod is of."""
        world = self.world
        here = f"{len(world.nodes)} nodes, {len(world.pods)} running, {len(world.others)} other objects"
        return f"<Runs: {here}, pods {' '.join(pod.metadata.name for pod in self.pods)}>"

    def scheduler(self, engine: str, tie: str) -> PodScheduler:
        """A scheduler over a fresh cache of the cluster."""
        world = self.world
        chosen = ENGINES[engine]
        cache = cache_for(chosen, [*world.others, *world.nodes, *world.pods])
        return chosen.scheduler(cache, TIES[tie]())


@st.composite
def nodes(draw: st.DrawFn) -> tuple[Node, ...]:
    """Nodes n0, n1 … with room for a few of the pods, or for many; in most clusters they take most pods."""
    parts = draw(
        st.lists(st.tuples(NODE_PARTS, draw(st.sampled_from([OPEN, OPEN, OPEN, ROOM]))), min_size=3, max_size=6)
    )
    return tuple(node_of(f"n{at}", {**one, **room}) for at, (one, room) in enumerate(parts))


@st.composite
def runs(draw: st.DrawFn) -> Runs:
    """Up to four runs, each of pods of one shape, the first of them on any nodes, some with labels of their own; in
    most clusters no running pod has a say on other nodes."""
    there = draw(nodes())
    places = st.sampled_from([node.name for node in there])
    kinds = draw(st.sampled_from([LIGHT, LIGHT, POD_PARTS]))
    running = draw(st.lists(st.tuples(kinds, places), max_size=3))
    first = draw(st.tuples(EVERYWHERE, COUNTS, st.booleans()))
    pods = []
    for run, (parts, count, own) in enumerate(
        [first, *draw(st.lists(st.tuples(TEMPLATES, COUNTS, st.booleans()), max_size=3))]
    ):
        for at in range(count):
            label = {**parts["label"], **({"job": str(at)} if own else {})}
            pods.append(pod_of(f"r{run}-{at}", {**parts, "label": label}, scheduler_name="default-scheduler"))
    world = DrawnCluster(
        there, tuple(pod_of(f"p{at}", one, place) for at, (one, place) in enumerate(running)), draw(others)
    )
    return Runs(world, tuple(pods))


# --- the two ways ------------------------------------------------------------------------------

Line = tuple[str, str | None, int, int | None, int, tuple[str, ...], str]
"""Pod, host, on how many nodes it fits, the best total, how many have that, notes and message."""


def one(scheduler: PodScheduler, pod: Pod) -> Decision:
    """Decides on a pod in a sequence, and assumes it."""
    decision = scheduler.decide(pod, in_sequence=True)
    if decision.host is not None:
        scheduler.cache.assume_pod(pod, decision.host)
    return decision


def line(decision: Decision) -> Line:
    """What a line shows of a decision."""
    total = int(decision.totals.max()) if len(decision.totals) else None
    notes = (decision.notes[0],) if decision.from_kept_ranking else ()
    tied = len(decision.best()) or int(decision.host is not None)
    return decision.pod.key, decision.host, len(decision.feasible), total, tied, notes, decision.message


def whole(decision: Decision) -> dict[str, Any]:
    """Everything that a decision says."""
    return {
        "line": line(decision),
        "pod": decision.pod,
        "release": decision.release,
        "reasons": decision.reasons(),
        "checks": decision.checks(),
        "codes": decision.codes(),
        "fits": decision.fits(),
        "best": decision.best(),
        "total": decision.total(),
        "scores": {name: decision.score(name) for name in decision.scores},
        "raws": {name: decision.raw(name) for name in decision.scores},
        "weights": dict(decision.weights),
        "scale": decision.scale,
        "nodes": decision.nodes_total,
        "notes": decision.notes,
        "nominated": decision.nominated,
        "tried": decision.tried,
        "error": (decision.error, decision.error_at),
    }


def one_by_one(scheduler: PodScheduler, pods: tuple[Pod, ...]) -> list[Line]:
    """Every pod decided by itself."""
    return [line(one(scheduler, pod)) for pod in pods]


def in_bulk(scheduler: PodScheduler, pods: tuple[Pod, ...]) -> tuple[list[Line], int]:
    """The same by runs, and how many of the pods went that way."""
    found: list[Line] = []
    bulk = 0
    for part in placed_in_order(scheduler.place_run, pods, lambda pod: one(scheduler, pod)):
        if isinstance(part, PlacedRun):
            bulk += len(part)
            found += [(p.pod.key, p.host, p.fits, p.total, p.tied, p.notes, "") for p in part.placements()]
        else:
            found.append(line(part))
    return found, bulk


def state_of(scheduler: PodScheduler) -> dict[str, Any]:
    """Everything that the cluster's cache holds of pods."""
    cache = scheduler.cache
    columns = cache.columns
    return {
        "requested": columns.requested.view.tolist(),
        "nonzero": columns.nonzero.view.tolist(),
        "pod_count": columns.pod_count.view.tolist(),
        "log": (columns.log.start, columns.log.entries, columns.log.versions, columns.log.nodes_until),
        "pods": [list(pods.items()) for pods in columns.pods],
        "places": [(uid, row, pod) for uid, (row, pod, _) in cache._places.items()],
        "assumed": cache._assumed,
        "classes": [(key, info.serial, list(info.rows.items())) for key, info in columns.infos.items()],
        "tallies": {key: tally.sums.tolist() for key, tally in columns.counts.by_key().items() if tally.column is None},
        "uses": columns.affinity_uses,
    }


def sized_in_millicores(name: str, cpu: int, pods: int = 110, **fields: Any) -> Node:
    """A node of so many millicores."""
    found = node_of(
        name,
        {
            "zone": None,
            "more": {},
            "taints": (),
            "unschedulable": False,
            "cpu": cpu,
            "pods": pods,
            "images": (),
            "avoids": False,
        },
    )
    return msgspec.structs.replace(found, **fields)


def small(name: str, cpu: int = 100, ports: tuple[ContainerPort, ...] = (), **fields: Any) -> Pod:
    """A pod that asks for so many millicores."""
    requests = FrozenMap(resources(cpu=cpu, memory=64 << 20))
    container = Container("c", "app", requests, ports=ports)
    return make_pod(name, containers=(container,), scheduler_name="default-scheduler", **fields)
