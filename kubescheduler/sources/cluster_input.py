"""Reading a cluster, or pods to place, from files, folders and standard input; then the faults between objects:
names and uids that are there twice, pods on nodes that are not there."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from clusterstate.errors import DecodeError, nearest
from clusterstate.manifests.decode import Decoder, Item, Prepare, UnknownKindError, notes_on
from clusterstate.manifests.fields import BY_ORIGIN, Strictness
from clusterstate.objects import AdmissionObject, ClusterObject, Node, Pod

Progress = Callable[[int, int], None]
"""Called with (objects decoded, objects in all)."""
PROGRESS_STEP = 1000

CONFIGURATIONS = {"Policy": "--policy-config-file", "KubeSchedulerConfiguration": "--config"}
"""Kinds that say how pods are placed → the option that takes them."""


class ClusterInput(msgspec.Struct, frozen=True):
    """What was read: objects in the order of the input, and notes on what was left out."""

    objects: list[ClusterObject]
    notes: list[str]
    sources: list[str]
    """The file of each object, parallel to ``objects``."""
    items: list[Item] = msgspec.field(default_factory=list)
    """What each object was read from, parallel to ``objects``; empty if that is not kept."""

    def with_sources(self) -> Iterator[tuple[str, ClusterObject]]:
        """(file, object) pairs."""
        return zip(self.sources, self.objects, strict=True)


class Filling(msgspec.Struct, frozen=True):
    """What a release's API server fills in: in pods, by what its admission plugins find, and in everything else."""

    pods: Callable[[Iterable[AdmissionObject]], Prepare]
    others: Prepare


def decode_items(
    items: list[Item],
    problems: list[str],
    *,
    admitting: Iterable[AdmissionObject] = (),
    defaulting: bool = True,
    progress: Progress | None = None,
    filling: Filling,
    strictness: Strictness = BY_ORIGIN,
) -> ClusterInput:
    """The objects of items that were read before, with ``items`` filled.

    problems: what is known to be wrong with the input; it is among the faults of the DecodeError.
    admitting: what admission plugins find in the cluster that the items come to. defaulting: fill in what an API server
    with ``filling`` would, by such objects of the same input too. strictness: as for
    ``clusterstate.manifests.decode.Decoder``. Raises one DecodeError with every fault of every file; a node or pod that
    is there twice is one.
    """
    with no_collection():
        reading = _Reading(items, filling if defaulting else None, False, progress, problems, strictness)
        return _decoded(reading, problems, admitting)


def _decoded(reading: _Reading, problems: list[str], admitting: Iterable[AdmissionObject]) -> ClusterInput:
    before = len(problems)
    found = msgspec.structs.replace(reading.run(admitting), items=reading.decoded())
    faulty = len(problems) > before
    problems += duplicate_problems(found.with_sources())
    if faulty and not before:
        raise UnreadableManifests(problems, found.with_sources(), reading.node_names())
    if not _has_nodes(found.objects):
        problems += reading.no_clusters
    if problems:
        raise DecodeError(problems)
    return found


@contextmanager
def no_collection() -> Iterator[None]:
    """Holds back the collector of cycles: reading makes no cycles, and with it YAML takes three times as long."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def decode_pods(
    items: Sequence[Item],
    problems: list[str],
    admitting: Iterable[AdmissionObject],
    filling: Filling | None,
    strictness: Strictness,
    *,
    keep_manifests: bool = True,
) -> ClusterInput:
    """The objects of items that hold the pods to place, faulty ones left out, with ``items`` filled; ``problems`` gets
    the faults.

    filling: None takes manifests as they are.
    """
    reading = _Reading(items, filling, keep_manifests, None, problems, strictness)
    found = msgspec.structs.replace(reading.run(admitting), items=reading.decoded())
    problems += duplicate_problems((s, obj) for s, obj in found.with_sources() if isinstance(obj, Pod))
    return found


def no_pods(name: str, found: ClusterInput) -> str:
    """What to say of files without a pod; name: of all of them."""
    return nothing_to_place(name, found.objects, found.notes)


def nothing_to_place(name: str, objects: Iterable[ClusterObject], notes: Iterable[str]) -> str:
    """What to say where there is no pod, but other objects, and notes on what was left out."""
    kinds = Counter(type(obj).__name__ for obj in objects)
    others = [*(f"{n} {kind}" for kind, n in kinds.items()), *notes]
    holds = f" (found: {'; '.join(others)})" if others else ""
    return f"{name}: no pods in it{holds}; give a manifest of kind Pod"


def swapped(given: Iterable[ClusterObject], cluster: Iterable[ClusterObject]) -> str:
    """What to say where pods are asked for and the nodes are given, which the cluster does not have; else empty."""
    if _has_nodes(given) and not _has_nodes(cluster):
        return "it has nodes, and the cluster has no nodes; are the two swapped?"
    return ""


def _no_cluster(item: Item) -> Iterator[str]:
    said = item.content.get("kind") if isinstance(item.content, Mapping) else None
    kind = str(said or item.kind)
    if kind in CONFIGURATIONS:
        yield f"{item.source}: this is a {kind}, and no cluster; give it with {CONFIGURATIONS[kind]}"


def _has_nodes(objects: Iterable[ClusterObject]) -> bool:
    return any(isinstance(obj, Node) for obj in objects)


class _Reading:
    """One pass over items: first everything but pods, then pods by what admission plugins find."""

    def __init__(
        self,
        items: Sequence[Item],
        filling: Filling | None,
        keep: bool,
        progress: Progress | None,
        problems: list[str],
        strictness: Strictness,
    ) -> None:
        self._items = items
        self._filling = filling
        self._keep = keep
        self._progress = progress
        self._problems = problems
        self._strictness = strictness
        self._warnings: list[str] = []
        self._found: list[ClusterObject | None] = [None] * len(items)
        self._unknown: Counter[str] = Counter()
        self._done = 0
        self.no_clusters: list[str] = []
        """What to say of configurations of a scheduler where nodes are missing."""

    def run(self, admitting: Iterable[AdmissionObject]) -> ClusterInput:
        pods = [item.read is not None or kind_of(item) == "Pod" for item in self._items]
        filling = self._filling
        first = self._decoder(None if filling is None else filling.others)
        self._decode(first, (i for i, pod in enumerate(pods) if not pod))
        own = (obj for obj in self._found if isinstance(obj, AdmissionObject))
        admitted = self._decoder(None if filling is None else filling.pods((*admitting, *own)))
        self._decode(admitted, (i for i, pod in enumerate(pods) if pod))
        if self._progress is not None:
            self._progress(self._done, len(self._items))
        both = [(obj, item.source) for obj, item in zip(self._found, self._items, strict=True) if obj is not None]
        notes = [*notes_on(self._unknown), *self._warnings]
        return ClusterInput([obj for obj, _ in both], notes, [source for _, source in both])

    def _decoder(self, prepare: Prepare | None) -> Decoder:
        return Decoder(keep_manifests=self._keep, prepare=prepare, strictness=self._strictness)

    def decoded(self) -> list[Item]:
        """The items that became objects."""
        return [item for obj, item in zip(self._found, self._items, strict=True) if obj is not None]

    def node_names(self) -> set[str] | None:
        """The names of all nodes, faulty ones too; None when one has no name that could be read."""
        names = [named_by(item) for item in self._items if kind_of(item) == "Node"]
        return None if None in names else {name for name in names if name is not None}

    def _decode(self, decoder: Decoder, which: Iterable[int]) -> None:
        for index in which:
            try:
                self._found[index] = decoder.decode_item(self._items[index])
            except UnknownKindError as error:
                self._unknown[error.name] += 1
                self.no_clusters += _no_cluster(self._items[index])
            except DecodeError as error:
                self._problems += error.problems
            except RecursionError:
                item = self._items[index]
                self._problems.append(f"{item.source}: {item.place}: nested too deeply to be read")
            self._done += 1
            if self._progress is not None and not self._done % PROGRESS_STEP:
                self._progress(self._done, len(self._items))
        self._warnings += decoder.warnings


def kind_of(item: Item) -> object:
    """The kind that an item says it is; whatever stands there."""
    kind = item.content.get("kind") if isinstance(item.content, Mapping) else None
    return kind or item.kind


# --- faults between objects ---------------------------------------------------------------------

MOST_HINTS = 10
"""Missing names for which the nearest one is looked for: it takes long among thousands."""

_FINISHED = ("Succeeded", "Failed")


class UnreadableManifests(DecodeError):
    """Manifests with faults, of which the others are known: a fault of one hides only what follows from it."""

    def __init__(
        self,
        problems: Iterable[str],
        readable: Iterable[tuple[str, ClusterObject]],
        node_names: Iterable[str] | None,
    ) -> None:
        super().__init__(problems)
        self.readable = tuple(readable)
        """(file, object) of every manifest without a fault."""
        self.node_names = None if node_names is None else frozenset(node_names)
        """The names of all nodes; None when those are not known."""

    def with_references(self, there: Iterable[tuple[str, ClusterObject]] = ()) -> DecodeError:
        """The same error with a fault for each readable pod on a node that is nowhere.

        there: (file, object) of what is in the cluster already.
        """
        if self.node_names is None:
            return DecodeError(self.problems)
        lost = check_references([*there, *self.readable], self.node_names)
        return DecodeError(dict.fromkeys((*self.problems, *(problem.removeprefix(": ") for problem in lost))))


def named_by(item: Item) -> str | None:
    """The name that a manifest gives its object; None when it gives none."""
    content: Any = item.content
    if isinstance(content, msgspec.Raw):
        try:
            content = msgspec.json.decode(content)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
    metadata = content.get("metadata") if isinstance(content, Mapping) else None
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else None


def duplicate_problems(objects: Iterable[tuple[str, ClusterObject]]) -> list[str]:
    """Nodes and pods that are there more than once."""
    pods: dict[str, str] = {}
    nodes: dict[str, str] = {}
    problems = []
    for source, obj in objects:
        if isinstance(obj, Pod):
            seen, name = pods, obj.key
        elif isinstance(obj, Node):
            seen, name = nodes, obj.name
        else:
            continue
        if name in seen:
            place = seen[name] if seen[name] != source else "the same file" if source else "what is given"
            shown = f"{source}: {type(obj).__name__} {name.removeprefix('/')}".removeprefix(": ")
            problems.append(f"{shown}: metadata.name: already in {place}; remove one of the two")
        else:
            seen[name] = source
    return problems


def repeated_names(pods: Iterable[Pod], where: str) -> Iterator[str]:
    """Of each pod that is there more than once. where: what all of them are called."""
    for key, count in Counter(pod.key for pod in pods).items():
        if count > 1:
            yield f"Pod {key}: it is {count} times in {where}; rename the others"


def uid_problems(pods: Iterable[Pod], option: str = "--no-defaulting") -> Iterator[str]:
    """Of each pod without a uid, by which pods are distinguished, or with that of another; one that is copied from
    another has to lose the other's. option: what leaves pods without."""
    known: dict[str, str] = {}
    for pod in pods:
        uid = pod.metadata.uid
        if not uid:
            yield f"Pod {pod.key}: metadata.uid: missing; give it one, or leave out {option}"
        elif known.setdefault(uid, pod.key) != pod.key:
            yield f"Pod {pod.key}: metadata.uid: it is that of Pod {known[uid]}; remove it"


def check_references(
    objects_with_sources: Iterable[tuple[str, ClusterObject]], others: Iterable[str] = ()
) -> list[str]:
    """One fault for each pod that runs on a node that is not there. Finished pods may: their node may be gone.

    others: names of nodes that are there besides.
    """
    pairs = list(objects_with_sources)
    nodes = {obj.name for _, obj in pairs if isinstance(obj, Node)} | set(others)
    lost = [
        (source, obj)
        for source, obj in pairs
        if isinstance(obj, Pod) and obj.node_name and obj.node_name not in nodes and obj.phase not in _FINISHED
    ]
    missing = list(dict.fromkeys(pod.node_name for _, pod in lost))
    hints = {name: nearest(name, nodes) for name in missing[:MOST_HINTS]}
    return [
        f'{source}: Pod {pod.key.removeprefix("/")}: spec.nodeName: node "{pod.node_name}" is not in the cluster; '
        f"add the node or remove the pod{hints.get(pod.node_name, '')}"
        for source, pod in lost
    ]
