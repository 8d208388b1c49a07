"""A day of a cluster, as ``run --dry-run --mirror`` recorded it: what was there, and what came and went."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import attrs
import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.decode import Decoder
from clusterstate.manifests.documents import Item
from clusterstate.objects import ClusterObject, Node, Pod
from kubescheduler.simulation.workload import Arrival, NodeArrival, Workload, as_new, renamed
from kubescheduler.sources.files import read_file

MIRROR, SYNCED, DELETED = "Mirror", "SYNCED", "DELETED"

Manifest = Mapping[str, Any]


class _Line(msgspec.Struct):
    """A line of the file; the first one has ``kind`` and ``started``."""

    time: float = 0.0
    type: str = ""
    object: dict[str, Any] | None = None
    kind: str = ""
    started: str = ""


@attrs.frozen(eq=False)
class _Event:
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


@attrs.frozen(eq=False)
class MirroredTraffic:
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
        start = next((line.time for line in lines if line.type == SYNCED), None)
        if start is None:
            raise DecodeError(f"{path}: the recording ended before the cluster had been read")
        events = (
            _Event(max(0.0, round(line.time - start, 3)), line.type == DELETED, f"{path}: line {at}", line.object)
            for at, line in enumerate(lines, 1)
            if line.object is not None
        )
        return cls(datetime.fromisoformat(lines[0].started).timestamp() + start, tuple(events))

    def start(self) -> list[Manifest]:
        """What was there from the start: everything but pods that waited or that left later."""
        leaving = {_key(event.manifest) for event in self.events if event.gone}
        return [
            event.manifest
            for event in self._first()
            if event.at == 0.0
            and (
                event.manifest.get("kind") != "Pod"
                or (event.manifest["spec"].get("nodeName") and _key(event.manifest) not in leaving)
            )
        ]

    def workload(self, cluster: Iterable[ClusterObject]) -> tuple[Workload, list[str]]:
        """(what came to the cluster of ``start``, notes on what is not replayed). Raises DecodeError.

        Pods come when they could first be scheduled, run as long as they ran, and leave when they left; nodes join,
        change and leave. Objects of other kinds that came later are there from the start.
        """
        objects = list(cluster)
        there = {obj.name: obj for obj in objects if isinstance(obj, Node)}
        nodes, pods = _Nodes(there), _Pods({obj.key for obj in objects if isinstance(obj, Pod)})
        others: list[ClusterObject] = []
        ignored: Counter[str] = Counter()
        known = {_key(manifest) for manifest in self.start()}
        decoder = Decoder(keep_manifests=True)
        for event in self.events:
            kind, key = str(event.manifest.get("kind")), _key(event.manifest)
            obj = decoder.decode_item(Item(event.source, event.manifest))
            if isinstance(obj, Pod):
                pods.changed(obj, event)
            elif isinstance(obj, Node):
                nodes.changed(obj, event)
            elif key not in known and not event.gone:
                known.add(key)
                others.append(obj)
            elif event.at > 0.0:
                ignored[kind] += 1
        notes = [f"{count} changes of kind {kind} are not replayed" for kind, count in sorted(ignored.items())]
        arrivals = tuple(pods.arrivals())
        return Workload(arrivals, tuple(nodes.arrivals), objects=tuple(others), epoch=self.epoch), notes

    def _first(self) -> Iterator[_Event]:
        seen: set[tuple[str, ...]] = set()
        for event in self.events:
            key = _key(event.manifest)
            if key not in seen:
                seen.add(key)
                yield event


def _lines(path: str) -> Iterator[_Line]:
    parse = msgspec.json.Decoder(_Line).decode
    try:
        texts = read_file(path).splitlines()
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise DecodeError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    for at, text in enumerate(texts, 1):
        try:
            yield parse(text)
        except msgspec.DecodeError as error:
            if at == len(texts) and at > 1:
                return
            raise DecodeError(f"{path}: line {at}: {error}") from None


def _key(manifest: Manifest) -> tuple[str, ...]:
    """What an object is the same by: its kind, its name, and a pod's uid."""
    metadata = manifest["metadata"]
    name = (str(manifest.get("kind")), metadata.get("namespace", ""), metadata["name"])
    return (*name, metadata.get("uid", "")) if manifest.get("kind") == "Pod" else name


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
                self.arrivals[index] = attrs.evolve(self.arrivals[index], leaves_at=at)
                return
        if name in self.there:
            self.arrivals.insert(0, NodeArrival(self.there[name], 0.0, at))


@attrs.define(eq=False)
class _Pods:
    """Pods that come, run and leave; those of ``kept`` are in the cluster for good."""

    kept: set[str]
    stays: dict[str, _Stay] = attrs.field(factory=dict)

    def changed(self, pod: Pod, event: _Event) -> None:
        """One that is held by gates comes when the last of them is gone."""
        uid = pod.metadata.uid
        stay = self.stays.get(uid)
        if event.gone:
            if stay is not None:
                stay.left_at = event.at
        elif stay is None:
            if not pod.spec.scheduling_gates and not (pod.key in self.kept and event.at == 0.0):
                self.stays[uid] = _Stay(pod, event.at, event.at if pod.node_name else None)
        elif pod.node_name and stay.bound_at is None:
            stay.bound_at = event.at

    def arrivals(self) -> Iterator[Arrival]:
        """In the order in which they came; one of a name that was there before has a number added."""
        times: Counter[str] = Counter(self.kept)
        for stay in self.stays.values():
            pod = stay.pod if stay.pod.node_name else as_new(stay.pod)
            times[pod.key] += 1
            if times[pod.key] > 1:
                pod = renamed(pod, f"{pod.metadata.name}.{times[pod.key]}")
            if stay.left_at is None or stay.bound_at is None or stay.pod.node_name:
                yield Arrival(pod, stay.at, leaves_at=stay.left_at)
            else:
                yield Arrival(pod, stay.at, duration=round(stay.left_at - stay.bound_at, 3))
