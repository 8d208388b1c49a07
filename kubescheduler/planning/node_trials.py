"""Trials: a cluster with so many new nodes of each shape, and the scheduler's own run in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.objects import ClusterObject, Node, Pod
from clusterstate.selectors.pod_owners import is_daemon_pod
from kubescheduler.core.selection import TieBreak
from kubescheduler.engine.spec import Engine, cache_for
from kubescheduler.planning.shapes import Shape, free_names
from kubescheduler.releases.daemon_controllers import target_node
from kubescheduler.releases.lookup import release_named
from kubescheduler.simulation.pods_to_place import daemon_set_of
from kubescheduler.simulation.simulation import Simulation
from kubescheduler.simulation.simulation_report import PodRecord, Report
from kubescheduler.simulation.workload import Arrival, Chain, Workload, renamed

Counts = tuple[int, ...]
"""How many nodes of each shape."""


def pending_pods(cluster: Iterable[ClusterObject], release: str) -> Workload:
    """The pods that wait for a node in a cluster, in the order of the queue, as a workload."""
    return Workload(tuple(map(Arrival, release_named(release).queue_order(list(cluster)))))


class AskedWorkload(msgspec.Struct, frozen=True, eq=False):
    """What is to run: pods that come at once, pods that follow them, and what the DaemonSets put on each new node."""

    arrivals: tuple[Arrival, ...]
    chains: Mapping[str, Chain]
    objects: tuple[ClusterObject, ...]
    """The cluster, with what comes beside the pods that are asked about."""
    daemons: tuple[tuple[Pod, ...], ...]
    """Of each shape the pods that DaemonSets have on each of its nodes, on none yet."""

    @classmethod
    def of(
        cls, workload: Workload, cluster: Iterable[ClusterObject], shapes: Sequence[Shape], release: str
    ) -> AskedWorkload:
        """All of a workload at once, whatever its times. It was read for the cluster with the template of each shape:
        what its DaemonSets have there they have on every new node, as have those that run in the cluster."""
        objects = [*cluster, *workload.objects, *(arrival.node for arrival in workload.nodes)]
        names = {shape.template.name for shape in shapes}
        arrivals: list[Arrival] = []
        made: dict[str, list[Pod]] = {}
        for arrival in sorted(workload.arrivals, key=lambda each: each.at):
            node = target_node(arrival.pod) if daemon_set_of(arrival.pod) is not None else ""
            if node in names:
                made.setdefault(node, []).append(arrival.pod)
            else:
                arrivals.append(_at_once(arrival))
        known = {daemon_set_key(pod) for pods in made.values() for pod in pods}
        running = list(_running_daemons(objects, shapes, release, known))
        daemons = tuple(
            (*made.get(shape.template.name, ()), *more) for shape, more in zip(shapes, running, strict=True)
        )
        chains = {name: Chain(chain.on, tuple(map(_at_once, chain.waiting))) for name, chain in workload.chains.items()}
        return cls(tuple(arrivals), chains, tuple(objects), daemons)

    def pods(self) -> list[Pod]:
        """Every pod that is to have a node: those that follow others that finish are none of them."""
        following = (each.pod for chain in self.chains.values() if chain.on == "binding" for each in chain.waiting)
        return [*(arrival.pod for arrival in self.arrivals if not arrival.pod.node_name), *following]


def _at_once(arrival: Arrival) -> Arrival:
    return Arrival(arrival.pod, chain=arrival.chain)


def daemon_set_key(pod: Pod) -> tuple[str, str | None]:
    """(namespace, name of the DaemonSet; None: of none)."""
    return pod.metadata.namespace, daemon_set_of(pod)


def _running_daemons(
    objects: Iterable[ClusterObject], shapes: Sequence[Shape], release: str, known: set[tuple[str, str | None]]
) -> Iterator[list[Pod]]:
    """Of each shape the pods of the cluster's own DaemonSets, told by one that runs: its selector and its tolerations
    say on which new nodes it has a pod. A required node affinity of the template is not in its pods."""
    first: dict[tuple[str, str | None], Pod] = {}
    for obj in objects:
        if isinstance(obj, Pod) and obj.node_name and is_daemon_pod(obj) and daemon_set_of(obj) is not None:
            first.setdefault(daemon_set_key(obj), obj)
    record = release_named(release)
    cache = ClusterCache.of([shape.node for shape in shapes], record.default_view)
    row_of = {name: row for row, name in enumerate(cache.columns.names)}
    found: list[list[Pod]] = [[] for _ in shapes]
    for key, pod in first.items():
        if key in known:
            continue
        template = _anywhere(pod)
        runs = record.daemons.runs_on(template, cache)
        for shape, pods in zip(shapes, found, strict=True):
            if runs[row_of[shape.name]]:
                pods.append(template)
    yield from found


def _anywhere(pod: Pod) -> Pod:
    """A DaemonSet's pod as it was before its controller tied it to a node."""
    affinity = pod.spec.affinity
    node_affinity = None if affinity is None else affinity.node_affinity
    if affinity is None or node_affinity is None:
        return Pod(pod.metadata, pod.spec)
    loose = msgspec.structs.replace(affinity, node_affinity=msgspec.structs.replace(node_affinity, required=None))
    return Pod(pod.metadata, msgspec.structs.replace(pod.spec, affinity=loose))


class Played(msgspec.Struct, frozen=True, eq=False):
    """What became of the pods with so many nodes of each shape."""

    counts: Counts
    report: Report
    shapes: Mapping[str, str]
    """New node → its shape."""

    @property
    def pending(self) -> dict[str, PodRecord]:
        """The pods that have no node at the end, by namespace/name."""
        return {record.pod.key: record for record in self.report.pending}

    @property
    def placed(self) -> int:
        """How many pods got a node; of those that follow others some may not have come."""
        return sum(record.placed is not None for record in self.report.pods)


class NodeTrials:
    """The cluster with any numbers of new nodes. Each trial is a run of the scheduler's own loop from the beginning."""

    def __init__(
        self,
        engine: Engine,
        asked: AskedWorkload,
        shapes: Sequence[Shape],
        tie_break: Callable[[], TieBreak],
        *,
        most: int,
    ) -> None:
        """tie_break: makes the one of a run, so that all are alike. most: so many runs to find something better."""
        self.engine, self.asked, self.shapes = engine, asked, shapes
        self.count = 0
        self._tie_break, self._most, self._before = tie_break, most, 0
        self._known: dict[Counts, Played] = {}
        self._taken = {obj.name for obj in asked.objects if isinstance(obj, Node)}

    @property
    def left(self) -> int:
        """How many more runs there may be."""
        return max(self._before + self._most - self.count, 0)

    def begin(self) -> None:
        """From here on runs count: there is something that does."""
        self._before = self.count

    def play(self, counts: Counts) -> Played:
        """The run with so many nodes of each shape; made once."""
        if counts not in self._known:
            self.count += 1
            self._known[counts] = self._played(counts)
        return self._known[counts]

    def _played(self, counts: Counts) -> Played:
        nodes = list(self.new_nodes(counts))
        cache = cache_for(self.engine, [*self.asked.objects, *(obj for _, objects in nodes for obj in objects)])
        scheduler = self.engine.scheduler(cache, self._tie_break())
        report = Simulation(scheduler, Workload(self.asked.arrivals, chains=self.asked.chains)).run()
        return Played(counts, report, {objects[0].metadata.name: shape.name for shape, objects in nodes})

    def new_nodes(self, counts: Counts) -> Iterator[tuple[Shape, list[ClusterObject]]]:
        """Each new node with what its DaemonSets have on it."""
        for shape, number, daemons in zip(self.shapes, counts, self.asked.daemons, strict=True):
            for name in islice(free_names(shape, self._taken), number):
                yield shape, _with_daemons(shape.named(name), daemons)

    def maker(self, at: int) -> Callable[[int], list[ClusterObject]]:
        """Makes nodes of a shape under numbers of their own, from 0 on, that are none of the new ones."""
        shape, daemons = self.shapes[at], self.asked.daemons[at]
        return lambda number: _with_daemons(shape.named(f"{shape.template.name}-{number}"), daemons)

    def one_of_each(self) -> list[list[ClusterObject]]:
        """The same for a node of each shape that is none of the new ones: it has the shape's name, if that is free."""
        nodes = (shape.template if shape.name in self._taken else shape.named(shape.name) for shape in self.shapes)
        return [_with_daemons(node, daemons) for node, daemons in zip(nodes, self.asked.daemons, strict=True)]


def nodes_beside(
    cluster: Iterable[ClusterObject], shape: Shape, number: int, release: str, daemons: Workload
) -> list[list[ClusterObject]]:
    """New nodes of a shape, each with what the cluster's DaemonSets have on it. daemons: what they have on the shape's
    template, of those that have manifests."""
    objects = list(cluster)
    [there] = AskedWorkload.of(daemons, objects, [shape], release).daemons
    names = free_names(shape, (obj.name for obj in objects if isinstance(obj, Node)))
    return [_with_daemons(shape.named(name), there) for name in islice(names, number)]


def _with_daemons(node: Node, daemons: Iterable[Pod]) -> list[ClusterObject]:
    return [node, *(renamed(pod, f"{daemon_set_of(pod)}-{node.name}").on(node.name) for pod in daemons)]
