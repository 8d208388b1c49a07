"""Clusters and workloads from files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from clusterstate.cache import TERMINATED
from clusterstate.errors import DecodeError, attempt
from clusterstate.manifests.decode import (
    Decoder,
    Item,
    Manifest,
    UnknownKindError,
    identity,
    notes_on,
    placed,
)
from clusterstate.manifests.fields import BY_ORIGIN, LENIENT, STRICT, Strictness
from clusterstate.objects import AdmissionObject, ClusterObject, Node, Pod
from kubescheduler.releases.daemon_controllers import DaemonController
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.names import DEFAULT_RELEASE
from kubescheduler.releases.release import Release
from kubescheduler.simulation.controllers import DaemonSets, Replicas, is_controller, replicas_of
from kubescheduler.simulation.openb_trace import ReadInputs, Trace, pod_manifest, read_trace_pods, service_manifests
from kubescheduler.simulation.pod_claims import ClaimControllers, met_claims, set_claims, set_volumes
from kubescheduler.simulation.workload import (
    ARRIVES_AFTER,
    DURATION,
    Arrival,
    Chain,
    NodeArrival,
    Workload,
    as_new,
    moment_of,
    renamed,
    seconds_of,
)
from kubescheduler.sources.cluster_input import repeated_names, swapped, uid_problems
from kubescheduler.sources.untrusted import exceeded, limit


class Times(msgspec.Struct, frozen=True):
    """When something comes: seconds after the start, or a moment in seconds since 1970."""

    after: float | None
    moment: float | None
    deleted: float | None
    duration: float | None
    node: Times | None = None
    """Of the node that a pod is for: it does not come before."""


class WorkloadReader:
    """One pass over items: first everything but pods, then pods by what admission plugins find."""

    def __init__(
        self,
        items: Sequence[Item],
        cluster: Sequence[ClusterObject],
        release: Release,
        problems: list[str],
        *,
        defaulting: bool,
        strictness: Strictness = BY_ORIGIN,
        daemons: DaemonController | None = None,
        running: bool = False,
    ) -> None:
        """cluster: what the workload comes to. daemons: what makes the pods of DaemonSets, by default the release's.
        running: a pod that is written with a node of the cluster or the workload, and has not finished, has it."""
        self._items = [(item, _manifest(item)) for item in items]
        self._cluster = cluster
        self._admitting = [obj for obj in cluster if isinstance(obj, AdmissionObject)]
        self._release, self._filling = release, release.filling
        self._daemons = DaemonSets(release, daemons or release.daemons)
        self._defaulting = defaulting
        self._running = running
        self._problems = problems
        self._strictness = strictness
        self._warnings: list[str] = []
        self._unknown: Counter[str] = Counter()
        self._objects: list[ClusterObject] = []
        self._nodes: list[tuple[Node, Times]] = []
        self._pods: list[tuple[Pod, Times, str]] = []
        self._chains: dict[str, tuple[str, list[tuple[Pod, Times]]]] = {}
        self._traces: list[Arrival] = []
        self._made = 0
        self._idle: list[str] = []
        """Of each controller that makes no pods why."""
        self._plain = Decoder(prepare=release.filling.others if defaulting else None)
        self._claims = ClaimControllers(
            lambda: [*self._cluster, *self._objects], release, problems, defaulting=defaulting
        )

    @property
    def notes(self) -> list[str]:
        """What was left out, and what was found in manifests that are judged with ``warn``."""
        return [*dict.fromkeys((*notes_on(self._unknown), *self._idle, *self._warnings, *self._claims.notes))]

    def run(self) -> None:
        """Reads the manifests: pods, controllers by their templates, and nodes that come and go."""
        templates: list[tuple[Item, Replicas, Manifest]] = []
        filled = self._filling.others if self._defaulting else None
        decoder, owners = Decoder(prepare=filled, strictness=self._strictness), self._plain
        for item, manifest in self._items:
            if is_controller(manifest):
                kind = str(manifest["kind"])
                faults = decoder.judged(item, kind, manifest)
                decoder.warnings += item.notes
                replicas = self._daemons.picking(replicas_of(manifest, faults))
                self._problems += placed(item, kind, manifest, faults)
                if replicas is not None and not faults:
                    templates.append((item, replicas, manifest))
                    for owner in replicas.owners:
                        self._add(owners, Item(item.source, owner, item.place))
            elif manifest.get("kind") != "Pod":
                self._add(decoder, Item(item.source, manifest, item.place, notes=item.notes))
        if self._defaulting:
            self._objects += met_claims(self._objects, lambda: [*self._cluster, *self._objects], self._release)
        self._admitting += (obj for obj in self._objects if isinstance(obj, AdmissionObject))
        admitted = self._filling.pods(self._admitting)
        prepare = admitted if self._defaulting else None
        pods = Decoder(keep_manifests=True, prepare=prepare, strictness=self._strictness)
        for item, manifest in self._items:
            if manifest.get("kind") == "Pod":
                self._add(pods, Item(item.source, manifest, item.place, notes=item.notes))
        self._warnings += (*decoder.warnings, *pods.warnings)
        made = Decoder(keep_manifests=True, prepare=admitted, strictness=LENIENT.under(self._strictness.accepted))
        if any(replicas.per_node for _, replicas, _ in templates):
            self._daemons.see(self._cluster, (node for node, _ in self._nodes))
        for item, replicas, manifest in templates:
            self._expand(made, item, replicas, manifest)
        self._warnings += made.warnings

    @cached_property
    def _node_names(self) -> frozenset[str]:
        """Of the cluster and the workload; asked for when all nodes are read."""
        there = (obj.name for obj in self._cluster if isinstance(obj, Node))
        return frozenset((*there, *(node.name for node, _ in self._nodes)))

    def _decoded(self, decoder: Decoder, item: Item) -> ClusterObject | None:
        try:
            return decoder.decode_item(item)
        except UnknownKindError as error:
            self._unknown[error.name] += 1
        except DecodeError as error:
            self._problems += error.problems
        return None

    def _add(self, decoder: Decoder, item: Item) -> None:
        obj = self._decoded(decoder, item)
        if isinstance(obj, Pod):
            stays = self._running and obj.node_name in self._node_names and obj.phase not in TERMINATED
            self._pods.append(
                (obj if stays else self._claims.claimed(as_new(obj), item.source), self._times(item, obj), "")
            )
        elif isinstance(obj, Node):
            self._nodes.append((obj, self._times(item, obj)))
        elif obj is not None:
            self._objects.append(obj)

    def _expand(self, decoder: Decoder, item: Item, replicas: Replicas, manifest: Manifest) -> None:
        first = self._decoded(decoder, Item(item.source, replicas.pod))
        if not isinstance(first, Pod):
            return
        if replicas.idle:
            namespace = first.metadata.namespace
            self._idle.append(f"{manifest['kind']} {namespace}/{replicas.name} {replicas.idle}: it makes no pods")
        daemons = self._daemon_pods(decoder, item, replicas, first) if replicas.per_node else []
        self._made += len(daemons) or replicas.count
        if self._made > limit("pods"):
            name = identity(str(manifest["kind"]), manifest)
            self._problems.append(
                f"{item.source}: {name}: {len(daemons) or replicas.count:,} pods, with those before {exceeded('pods')}"
            )
            return
        times = self._times(item, first, manifest.get("metadata"))
        joined = {node.name: when for node, when in self._nodes}
        self._pods += (
            (self._claims.claimed(pod, item.source), msgspec.structs.replace(times, node=joined.get(node)), "")
            for pod, node in daemons
        )
        chain = f"{manifest['kind']} {first.metadata.namespace}/{replicas.name}" if replicas.chain_on else ""
        pods = self._replicas(decoder, item, replicas, first, manifest)
        self._pods += ((pod, times, chain) for pod in pods[: replicas.at_once])
        if chain:
            self._chains[chain] = (replicas.chain_on, [(pod, times) for pod in pods[replicas.at_once : replicas.count]])

    def _replicas(
        self, decoder: Decoder, item: Item, replicas: Replicas, first: Pod, controller: Manifest
    ) -> list[Pod]:
        """All pods, in order; those of a StatefulSet with claims differ in their volumes."""
        names = [f"{replicas.name}-{replicas.start + index}" for index in range(replicas.count)]
        if not replicas.claim_templates:
            pods = [first, *(renamed(first, name) for name in names[1:])][: replicas.count]
            return [self._claims.claimed(pod, item.source) for pod in pods]
        paths = (f"spec.volumeClaimTemplates[{at}]" for at in range(len(replicas.claim_templates)))
        places = placed(item, str(controller["kind"]), controller, paths)
        pods = []
        for name in names:
            manifest = {**replicas.pod, "metadata": {**replicas.pod["metadata"], "name": name}}
            claims = set_claims(manifest, replicas.claim_templates, replicas.claim_labels)
            for claim, place in zip(claims, places, strict=True):
                self._claims.make(claim, place)
            pod = self._decoded(decoder, Item(item.source, set_volumes(manifest, replicas.claim_templates)))
            pods += [self._claims.claimed(pod, item.source)] if isinstance(pod, Pod) else []
        return pods

    def _daemon_pods(self, decoder: Decoder, item: Item, replicas: Replicas, first: Pod) -> list[tuple[Pod, str]]:
        """The pods of a DaemonSet, each with the name of its node."""

        def decode(manifest: Manifest) -> Pod | None:
            found = self._decoded(decoder, Item(item.source, manifest))
            return found if isinstance(found, Pod) else None

        return self._daemons.pods(replicas.name, first, replicas.pod, decode)

    def _times(self, item: Item, obj: Pod | Node, also: object = None) -> Times:
        """Annotations and timestamps of an object; ``also`` is the metadata of what creates it."""
        metadata, further = obj.metadata, also if isinstance(also, Mapping) else {}
        said = further.get("annotations")
        annotations = {**(said if isinstance(said, Mapping) else {}), **metadata.annotations}
        where = f"{item.source}: {type(obj).__name__} {metadata.namespace}/{metadata.name}".replace(" /", " ")
        created = metadata.creation_timestamp or further.get("creationTimestamp")
        return Times(
            after=self._seconds(annotations, ARRIVES_AFTER, where),
            moment=self._moment(created, "creationTimestamp", where),
            deleted=self._moment(metadata.deletion_timestamp, "deletionTimestamp", where),
            duration=self._seconds(annotations, DURATION, where),
        )

    def _seconds(self, annotations: Mapping[str, Any], key: str, where: str) -> float | None:
        if key not in annotations:
            return None
        try:
            return seconds_of(str(annotations[key]))
        except ValueError as error:
            self._problems.append(f"{where}: metadata.annotations[{key}]: {error}")
            return None

    def _moment(self, text: object, key: str, where: str) -> float | None:
        if text is None:
            return None
        try:
            return moment_of(text)
        except ValueError as error:
            self._problems.append(f"{where}: metadata.{key}: {error}")
            return None

    # --- traces and the whole ----------------------------------------------------------------

    def add_trace(self, trace: Trace) -> None:
        """Adds the pods of a trace in CSV. Raises DecodeError with every fault."""
        path, rows = trace.name, read_trace_pods(trace)
        start = min((row.created for row in rows), default=0.0)
        decoder = Decoder(keep_manifests=True, prepare=self._filling.pods(self._admitting))
        shapes: dict[Any, Pod] = {}
        for row in rows:
            pod = shapes.get(row.shape)
            if pod is None:
                made = self._decoded(decoder, Item(path, pod_manifest(row.name, row.shape)))
                if not isinstance(made, Pod):
                    continue
                pod = shapes[row.shape] = made
            else:
                pod = renamed(pod, row.name)
            leaves_at = None if row.deleted is None else row.deleted - start
            self._traces.append(Arrival(pod, row.created - start, leaves_at))
        plain = Decoder(prepare=self._filling.others)
        for manifest in service_manifests(list(shapes)):
            self._add(plain, Item(path, manifest))

    def workload(self) -> Workload:
        """What was read, with times in seconds since its first moment."""
        waiting = [entry for _, entries in self._chains.values() for entry in entries]
        every = [*((pod, times) for pod, times, _ in self._pods), *waiting, *self._nodes]
        moments = [times.moment for _, times in every if times.moment is not None and times.after is None]
        epoch = min(moments, default=0.0)
        chains = {
            name: Chain(on, tuple(_arrival(pod, times, epoch, name) for pod, times in entries))
            for name, (on, entries) in self._chains.items()
        }
        arrivals = [_arrival(pod, times, epoch, chain) for pod, times, chain in self._pods]
        nodes = [NodeArrival(node, *_span(times, epoch)) for node, times in self._nodes]
        return Workload(
            (*arrivals, *self._traces),
            tuple(nodes),
            chains,
            (*self._objects, *self._claims.made),
            epoch,
            tuple(self._daemons.notes),
        )


def _manifest(item: Item) -> Manifest:
    content = msgspec.json.decode(item.content) if isinstance(item.content, msgspec.Raw) else item.content
    said = {key: value for key, value in content.items() if value is not None}
    return {**({"apiVersion": item.api_version} if item.api_version else {}), "kind": item.kind, **said}


def _arrives(times: Times, epoch: float) -> float:
    if times.after is not None:
        return times.after
    return 0.0 if times.moment is None else times.moment - epoch


def _arrival(pod: Pod, times: Times, epoch: float, chain: str) -> Arrival:
    at = max(_arrives(times, epoch), 0.0 if times.node is None else _arrives(times.node, epoch))
    deleted = None if times.deleted is None or times.after is not None else max(times.deleted - epoch, at)
    return Arrival(pod, at, deleted if times.duration is None else None, times.duration, chain)


def _span(times: Times, epoch: float) -> tuple[float, float | None]:
    at = _arrives(times, epoch)
    return at, None if times.duration is None else at + times.duration


def workload_in(  # noqa: PLR0913
    read: ReadInputs,
    cluster: Iterable[ClusterObject],
    *,
    defaulting: bool = True,
    pending: bool = False,
    release: str = DEFAULT_RELEASE,
    strictness: Strictness = STRICT,
    daemons: DaemonController | None = None,
    running: bool = False,
    needed: bool = True,
) -> tuple[Workload, list[str]]:
    """The workload of what was read, and notes on what was left out.

    A ``.csv`` file, and CSV on standard input, is a trace of pods; all else are manifests: pods, controllers with a pod
    template, nodes that join, and other objects that are there from the start. A pod comes after
    ``kubescheduler/arrives-after`` if it is annotated so, else at its creationTimestamp, else at the start, which is
    the earliest creation; it runs for ``kubescheduler/duration``, or until its deletionTimestamp. Whether and where it
    ran before does not matter. pending: the pending pods of ``cluster`` come too, at the start, in queue order.
    strictness: what comes of fields that the API does not have; see ``Decoder``. daemons: what makes the pods of
    DaemonSets, by default the release's controller; see ``daemons_among``. running: a pod may run already, in
    ``cluster`` or as it is written: one that is written with a node of either is there, and has it. needed: that there
    is no pod is a fault.

    Raises DecodeError with every fault; a pod that runs in ``cluster`` already, or is there twice, is one.
    """
    items, problems = read.items, read.problems
    objects = list(cluster)
    record = release_named(release)
    reading = WorkloadReader(
        items, objects, record, problems, defaulting=defaulting, strictness=strictness, daemons=daemons, running=running
    )
    reading.run()
    for trace in read.traces:
        attempt(problems, reading.add_trace, trace)
    waiting = [Arrival(pod) for pod in record.queue_order(objects)] if pending else []
    workload = reading.workload()
    workload = msgspec.structs.replace(workload, arrivals=(*waiting, *workload.arrivals))
    problems += _clashes(workload, objects, running=running)
    if needed and not (problems or workload.arrivals or workload.controllers):
        fault = swapped((arrival.node for arrival in workload.nodes), objects)
        found = f" ({'; '.join(reading.notes)})" if reading.notes else ""
        fault = fault or f"no pods in it{found}; give pods, a controller with a pod template, or a .csv trace"
        problems.append(f"{read.name}: {fault}")
    if problems:
        raise DecodeError(problems)
    return workload, reading.notes


def _clashes(workload: Workload, cluster: Iterable[ClusterObject], *, running: bool) -> Iterator[str]:
    there = [obj for obj in cluster if isinstance(obj, Pod) and obj.node_name]
    known = {pod.key: pod.node_name for pod in there if not running}
    pods = list(workload.pods())
    for pod in {pod.key: pod for pod in pods if pod.key in known}.values():
        owner = pod.metadata.controller
        named = "" if owner is None else f"{owner.kind} {pod.metadata.namespace}/{owner.name}"
        of = f"{named}: its pod {pod.metadata.name}" if named else f"Pod {pod.key}: it"
        yield f"{of} already runs on {known[pod.key]}; rename it, or remove it from the cluster"
    yield from repeated_names((pod for pod in pods if pod.key not in known), "the workload")
    yield from dict.fromkeys(uid_problems([*there, *pods]))
