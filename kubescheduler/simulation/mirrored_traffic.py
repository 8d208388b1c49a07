"""A day of a cluster, as ``run --dry-run --mirror`` recorded it: what was there, and what came and went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.decode import Decoder, Item
from clusterstate.objects import ClusterObject, Node, Pod
from kubescheduler.simulation.workload import (
    LONGEST,
    Arrival,
    NodeArrival,
    ObjectUpdate,
    Workload,
    as_new,
    moment_of,
    renamed,
)
from kubescheduler.sources.files import UNREADABLE, read_file, why_unreadable
from kubescheduler.sources.untrusted import check_values, is_utf8

MIRROR, SYNCED, DELETED = "Mirror", "SYNCED", "DELETED"

Manifest = Mapping[str, Any]


class _Line(msgspec.Struct):
    """A line of the file; the first one has ``kind`` and ``started``."""

    time: float = 0.0
    type: str = ""
    object: dict[str, Any] | None = None
    kind: str = ""
    started: str = ""


class _Event(msgspec.Struct, frozen=True, eq=False):
    """A change, ``at`` seconds after everything had been read; 0 for what was there."""

    at: float
    gone: bool
    source: str
    manifest: Manifest


@attrs.define(eq=False)
class _Stay:
    """A pod from when it could be scheduled until it went."""

    pod: Pod
    at: float
    bound_at: float | None = None
    left_at: float | None = None
    latest: Pod | None = None
    """As it was seen last."""


class MirroredTraffic(msgspec.Struct, frozen=True, eq=False):
    """What a mirror holds, in order."""

    epoch: float
    """When everything had been read, in seconds since 1970."""
    events: tuple[_Event, ...]

    @classmethod
    def read(cls, path: str) -> MirroredTraffic:
        """A mirror, also gzipped. The end may be missing where the recording was cut off. Raises DecodeError."""
        lines = list(_lines(path))
        if not lines or lines[0].kind != MIRROR:
            raise DecodeError(f"{path}: this is no mirror; kubescheduler run --dry-run --mirror FILE records one")
        try:
            began = moment_of(lines[0].started)
        except ValueError as error:
            raise DecodeError(f"{path}: line 1: started: {error}") from None
        start = next((line.time for line in lines if line.type == SYNCED), None)
        if start is None:
            raise DecodeError(f"{path}: the recording ended before the cluster had been read")
        events = (
            _Event(max(0.0, round(line.time - start, 3)), line.type == DELETED, f"{path}: line {at}", line.object)
            for at, line in enumerate(lines, 1)
            if line.object is not None
        )
        return cls(began + start, tuple(events))

    def start(self) -> list[Item]:
        """What was there from the start: everything but pods that waited or that left later. Sources name the lines."""
        there: dict[tuple[str, ...], _Event] = {}
        leaving = set[tuple[str, ...]]()
        for event in self.events:
            key = _key(event.manifest)
            if event.gone:
                leaving.add(key)
                if event.at == 0.0:
                    there.pop(key, None)
            elif event.at == 0.0:
                there[key] = event
        return [
            Item(event.source, event.manifest)
            for key, event in there.items()
            if event.manifest.get("kind") != "Pod"
            or (_part(event.manifest, "spec").get("nodeName") and key not in leaving)
        ]

    def workload(self, cluster: Iterable[ClusterObject]) -> tuple[Workload, list[str]]:
        """(what came to the cluster of ``start``, notes on what is not replayed). Raises DecodeError.

        Pods come when they could first be scheduled, run as long as they ran, and leave when they left; nodes and all
        other objects come, change and go when they did.
        """
        objects = list(cluster)
        there = {obj.name: obj for obj in objects if isinstance(obj, Node)}
        nodes, pods = _Nodes(there), _Pods({obj.key for obj in objects if isinstance(obj, Pod)})
        updates: list[ObjectUpdate] = []
        decoder = Decoder(keep_manifests=True)
        for event in self.events:
            obj = decoder.decode_item(Item(event.source, event.manifest))
            if isinstance(obj, Pod):
                pods.changed(obj, event)
            elif isinstance(obj, Node):
                nodes.changed(obj, event)
            elif event.at > 0.0:
                updates.append(ObjectUpdate(obj, event.at, event.gone))
        notes = [f"{pods.altered} changes of pods' labels and specs are not replayed"] if pods.altered else []
        arrivals = tuple(pods.arrivals())
        return Workload(arrivals, tuple(nodes.arrivals), updates=tuple(updates), epoch=self.epoch), notes


def _lines(path: str) -> Iterator[_Line]:
    parse = msgspec.json.Decoder(_Line).decode
    try:
        data = read_file(path, whole=False)
        check_values(data)
    except UNREADABLE as error:
        raise DecodeError(f"{path}: {why_unreadable(error)}") from None
    texts = data.splitlines()
    for at, text in enumerate(texts, 1):
        try:
            line = parse(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if at == len(texts) and at > 1 and not data.endswith(b"\n"):
                return
            raise DecodeError(f"{path}: line {at}: {_fault(error, text)}") from None
        if line.time > LONGEST:
            raise DecodeError(f"{path}: line {at}: time: {line.time:g} seconds are more than 100 years")
        yield line


def _fault(error: Exception, line: bytes) -> str:
    """What is wrong with a line."""
    if isinstance(error, RecursionError):
        return "nested too deeply to be read"
    return str(error) if is_utf8(line) else "it is not UTF-8 text"


def _key(manifest: Manifest) -> tuple[str, ...]:
    """What an object is the same by: its kind, its name, and a pod's uid. One that has none is found when it is
    decoded."""
    metadata, kind = _part(manifest, "metadata"), manifest.get("kind")
    keys = ("namespace", "name", "uid") if kind == "Pod" else ("namespace", "name")
    return (str(kind), *(str(metadata.get(key, "")) for key in keys))


def _part(manifest: Manifest, key: str) -> Manifest:
    """An object within a manifest; empty where there is none."""
    part = manifest.get(key)
    return part if isinstance(part, Mapping) else {}


@attrs.define(eq=False)
class _Nodes:
    """Nodes that join, change and leave."""

    there: dict[str, Node]
    arrivals: list[NodeArrival] = attrs.field(factory=list)

    def changed(self, node: Node, event: _Event) -> None:
        """The last manifest of a node is the one that leaves."""
        if event.gone:
            self._leaves(node.name, event.at)
        elif event.at > 0.0:
            self.arrivals.append(NodeArrival(node, event.at))

    def _leaves(self, name: str, at: float) -> None:
        for index in range(len(self.arrivals) - 1, -1, -1):
            if self.arrivals[index].node.name == name:
                self.arrivals[index] = msgspec.structs.replace(self.arrivals[index], leaves_at=at)
                return
        if name in self.there:
            self.arrivals.insert(0, NodeArrival(self.there[name], 0.0, at))


@attrs.define(eq=False)
class _Pods:
    """Pods that come, run and leave; those of ``kept`` are in the cluster for good."""

    kept: set[str]
    stays: dict[str, _Stay] = attrs.field(factory=dict)
    owners: dict[str, str] = attrs.field(factory=dict)
    """uid → the key of the pod that has it."""
    altered: int = 0
    """Changes of what a scheduler looks at in a pod that came before."""

    def changed(self, pod: Pod, event: _Event) -> None:
        """One that is held by gates comes when the last of them is gone. Raises DecodeError for a pod without a uid of
        its own."""
        uid = pod.metadata.uid
        if not uid or self.owners.setdefault(uid, pod.key) != pod.key:
            fault = f"it is that of Pod {self.owners[uid]}" if uid else "missing"
            raise DecodeError(
                f"{event.source}: Pod {pod.key}: metadata.uid: {fault}; every pod of an API server has one of its own"
            )
        stay = self.stays.get(uid)
        if event.gone:
            if stay is not None:
                stay.left_at = event.at
        elif stay is None:
            if not pod.spec.scheduling_gates and not (pod.key in self.kept and event.at == 0.0):
                self.stays[uid] = _Stay(pod, event.at, event.at if pod.node_name else None, latest=pod)
        else:
            self._seen_again(stay, pod, event.at)

    def _seen_again(self, stay: _Stay, pod: Pod, at: float) -> None:
        before = stay.latest or stay.pod
        self.altered += (pod.metadata.labels, pod.spec) != (before.metadata.labels, before.spec)
        stay.latest = pod
        if pod.node_name and stay.bound_at is None:
            stay.bound_at = at

    def arrivals(self) -> Iterator[Arrival]:
        """In the order in which they came; one of a name that was there before has a number added.

        The names of claims that were made for a pod are those that it got in the end.
        """
        times: Counter[str] = Counter(self.kept)
        for stay in self.stays.values():
            claims = (stay.latest or stay.pod).resource_claim_statuses
            pod = (
                stay.pod
                if stay.pod.node_name
                else msgspec.structs.replace(as_new(stay.pod), resource_claim_statuses=claims)
            )
            times[pod.key] += 1
            if times[pod.key] > 1:
                pod = renamed(pod, f"{pod.metadata.name}.{times[pod.key]}")
            if stay.left_at is None or stay.bound_at is None or stay.pod.node_name:
                yield Arrival(pod, stay.at, leaves_at=stay.left_at)
            else:
                yield Arrival(pod, stay.at, duration=round(stay.left_at - stay.bound_at, 3))
