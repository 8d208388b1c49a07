"""What Python code has at hand, read once for all that take it: files, standard input, texts, manifests, objects.

``Entries`` are what a cluster holds, shared between clusters that grew apart; ``found_in`` reads what was given;
``PodAsking`` finds the pods that are asked about."""

from __future__ import annotations

import copy
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ConfigError, DecodeError, attempt, nearest
from clusterstate.manifests.decode import Item, parse_json, split
from clusterstate.manifests.fields import BY_ORIGIN, Strictness, describe
from clusterstate.objects import KINDS, AdmissionObject, ClusterObject, Node, Pod
from kubescheduler.engine.spec_fields import ARGUMENTS
from kubescheduler.releases.lookup import release_named
from kubescheduler.simulation.openb_trace import ReadInputs, Trace, is_trace, read_inputs_of, read_trace_nodes
from kubescheduler.simulation.pods_to_place import PodsToPlace, joined, merged, pods_in
from kubescheduler.sources.cluster_input import Progress, decode_items, nothing_to_place, repeated_names, uid_problems
from kubescheduler.sources.files import COMPRESSED, EXTENSIONS, STDIN, items_in, read_items

if TYPE_CHECKING:
    from kubescheduler.releases.daemon_controllers import DaemonController


Key = tuple[str, str]
"""(kind, ``namespace/name`` or name)."""


class Entry(msgspec.Struct, frozen=True, eq=False):
    """One object of a cluster."""

    obj: ClusterObject
    """The object, decoded as the cluster's release stores it."""
    source: str = ""
    """The file it came from, empty for one that was written in Python."""
    item: Item | None = None
    """What it was read from; None for an object that was given as one, or when manifests are not kept."""

    @property
    def key(self) -> Key:
        """What identifies the object in its cluster."""
        return key_of(self.obj)

    def manifest(self) -> dict[str, Any]:
        """What it was read from, before anything was filled in; of an object that was given as one, its fields."""
        if self.item is None:
            from clusterstate.manifests.kinds import encode_object

            return encode_object(self.obj)
        content, item = self.item.content, self.item
        plain = parse_json(self.source, content) if isinstance(content, msgspec.Raw) else content
        header = {"apiVersion": item.api_version, "kind": type(self.obj).__name__}
        return {**{key: value for key, value in header.items() if value}, **plain}


def key_of(obj: ClusterObject) -> Key:
    """How an object is found among others."""
    namespace = obj.metadata.namespace
    name = f"{namespace}/{obj.metadata.name}" if namespace and not isinstance(obj, Node) else obj.metadata.name
    return type(obj).__name__, name


def nearest_name(name: str, names: Iterable[str]) -> str:
    """``; did you mean …?`` of the nearest of names, with and without their namespaces; empty if none is near."""
    known = list(names)
    return nearest(name, [*known, *(each.partition("/")[2] for each in known if "/" in each)])


def named(obj: ClusterObject) -> str:
    """``Pod default/web-1``: an object as errors name it."""
    return " ".join(key_of(obj))


class Entries:
    """Entries in order, at most one of a key. Never changes; adding to the newest copies nothing.

    Several share what is kept: each sees the first so many.
    """

    __slots__ = ("_kept", "_lock", "_positions", "_size")

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._kept: list[Entry] = []
        self._positions: dict[Key, int] = {}
        self._lock = threading.Lock()
        for entry in entries:
            _put(self._kept, self._positions, entry)
        self._size = len(self._kept)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Entry]:
        return islice(self._kept, self._size)

    def find(self, key: Key) -> Entry | None:
        """The entry of that key, None when there is none."""
        position = self._positions.get(key)
        return None if position is None or position >= self._size else self._kept[position]

    def added(self, entries: Iterable[Entry]) -> Entries:
        """With more; one of a key that is there takes its place. Raises DecodeError for a node or pod that is there."""
        more = list(entries)
        there = [key for entry in more if self.find(key := entry.key) is not None] if self._size else []
        more_than_one = (key for key in there if key[0] in (Node.__name__, Pod.__name__))
        text = "metadata.name: already in the cluster; give it another name, or remove the other first"
        if problems := [f"{kind} {name}: {text}" for kind, name in more_than_one]:
            raise DecodeError(problems)
        with self._lock:
            if there or len(self._kept) != self._size:
                return Entries((*self, *more))
            for entry in more:
                _put(self._kept, self._positions, entry)
            out = copy.copy(self)
            out._size = len(self._kept)
            return out


def _put(entries: list[Entry], positions: dict[Key, int], entry: Entry) -> None:
    position = positions.setdefault(entry.key, len(entries))
    if position == len(entries):
        entries.append(entry)
    else:
        entries[position] = entry


def shared(now: Entries, before: Entries, after: Entries) -> tuple[dict[Key, Entry], list[Entry]] | None:
    """(key → the entry of ``after`` that is kept, the entries of ``now`` that have to be read). ``after`` is what
    another release makes of ``before``. None: everything has to be read, as what admission plugins find is another.
    """
    kept: dict[Key, Entry] = {}
    fresh: list[Entry] = []
    for entry in now:
        there = after.find(entry.key) if before.find(entry.key) is entry else None
        if there is None:
            fresh.append(entry)
        else:
            kept[entry.key] = there
    found = [[entry for entry in entries if isinstance(entry.obj, AdmissionObject)] for entries in (now, before)]
    return (kept, fresh) if found[0] == found[1] else None


KINDS_OF_GIVEN = "a file name, a manifest, YAML or JSON text, or an object"


class Given(msgspec.Struct, frozen=True):
    """Things as they were found: not decoded yet, or given as objects."""

    items: list[Item] = msgspec.field(default_factory=list)
    """What is to be decoded."""
    objects: list[ClusterObject] = msgspec.field(default_factory=list)
    """What was given as objects."""
    problems: list[str] = msgspec.field(default_factory=list)
    """Every fault that was met."""


def flat(given: Any) -> Iterator[Any]:
    """Every single thing in things that may be collections."""
    if (
        isinstance(given, Iterable)
        and not isinstance(given, str | bytes | os.PathLike | Mapping)
        and not _readable(given)
    ):
        for thing in given:
            yield from flat(thing)
    else:
        yield given


def is_text(given: Any) -> bool:
    """Whether something is YAML or JSON rather than a file's name."""
    return isinstance(given, bytes) or (isinstance(given, str) and ("\n" in given or given.lstrip().startswith("{")))


def is_file_name(text: str) -> bool:
    """Whether a text names a file by its ending, or standard input."""
    return text == STDIN or text.removesuffix(COMPRESSED).endswith(EXTENSIONS)


def found_in(given: Any, *, what: str = "cluster", kind: str = "") -> Given:
    """Everything in one thing or several. what: their name in errors. kind: of manifests that do not say theirs."""
    out = Given()
    for thing in flat(given):
        _find(thing, out, what, kind)
    return out


def _find(thing: Any, out: Given, what: str, kind: str) -> None:
    if is_text(thing):
        data = thing.encode() if isinstance(thing, str) else thing
        out.items.extend(_kinded(items_in("text", data, out.problems), kind))
    elif _readable(thing):
        data = thing.read()
        name = str(getattr(thing, "name", "stream"))
        out.items.extend(items_in(name, data.encode() if isinstance(data, str) else data, out.problems))
    elif isinstance(thing, str | os.PathLike):
        items, problems = read_items([os.fspath(thing)], sys.stdin.buffer)
        out.items.extend(items)
        out.problems.extend(problems)
    elif isinstance(thing, Item):
        out.items.append(thing)
    elif isinstance(thing, Mapping):
        try:
            out.items.extend(_kinded(split("", thing, out.problems), kind))
        except DecodeError as error:
            out.problems.extend(error.problems)
    elif isinstance(thing, tuple(KINDS.values())):
        out.objects.append(identified(thing))
    else:
        out.problems.append(f"{what}: expected {KINDS_OF_GIVEN}, found {describe(thing)}")


def _readable(thing: Any) -> bool:
    return callable(getattr(thing, "read", None))


def _kinded(items: Iterable[Item], kind: str) -> Iterator[Item]:
    for item in items:
        yield msgspec.structs.replace(item, kind=item.kind or kind)


def identified(obj: Any) -> Any:
    """An object as it is; a pod without a uid, by which pods are distinguished, with its name for one."""
    if isinstance(obj, Pod) and not obj.metadata.uid:
        return msgspec.structs.replace(
            obj, metadata=msgspec.structs.replace(obj.metadata, uid=obj.key.removeprefix("/"))
        )
    return obj


def read_paths(paths: Sequence[str | os.PathLike[str]], stdin: IO[bytes] | None, *, sparse: bool = False) -> Given:
    """What is in files, folders and ``-``; ``.csv`` files, and CSV on standard input, are nodes of traces.

    sparse: running pods that a server has stored may come without what decoding does not read.
    """
    read = read_inputs_of([os.fspath(path) for path in paths], stdin, sparse=sparse)
    items, problems = read.items, read.problems
    for trace in read.traces:
        try:
            items += (Item(trace.name, manifest, kind="Node") for manifest in read_trace_nodes(trace))
        except DecodeError as error:
            problems += error.problems
    return Given(items, [], problems)


def given_again(entries: Iterable[Entry]) -> Given:
    """What entries were read from; those that were given as objects as they are."""
    out = Given()
    for entry in entries:
        if entry.item is None:
            out.objects.append(entry.obj)
        else:
            out.items.append(entry.item)
    return out


def decoded(
    given: Given,
    release: str,
    *,
    admitting: Iterable[AdmissionObject] = (),
    defaulting: bool = True,
    keep_manifests: bool = True,
    progress: Progress | None = None,
    strictness: Strictness = BY_ORIGIN,
) -> tuple[list[Entry], list[str]]:
    """Entries in order, objects last, and notes on what was left out. Raises DecodeError with every fault."""
    decoding = decode_items(
        given.items,
        given.problems,
        admitting=(*admitting, *(obj for obj in given.objects if isinstance(obj, AdmissionObject))),
        defaulting=defaulting,
        progress=progress,
        filling=release_named(release).filling,
        strictness=strictness,
    )
    read = [
        Entry(obj, item.source, item if keep_manifests else None)
        for obj, item in zip(decoding.objects, decoding.items, strict=True)
    ]
    return [*read, *map(Entry, given.objects)], decoding.notes


# --- arguments of the wrong type, told in one sentence each instead of what happens to break first --------------

TEXT, PATH, NUMBER = (str,), (str, os.PathLike), (int, float)
WHOLE = (int,)
GATES = (Mapping, str)
GATES_TEXT = ARGUMENTS["gates"].expected


def wrong_type(name: str, given: object, types: tuple[type, ...], what: str) -> list[str]:
    """The sentence about an argument that is neither None nor of one of the types; none when it is.

    name: the argument's. what: what is expected, in words. True and False are no numbers.
    """
    if given is None or (isinstance(given, types) and not (isinstance(given, bool) and bool not in types)):
        return []
    return [f"{name}: expected {what}, found {shown_argument(given)}"]


def wrong_number(name: str, given: Any, least: int | None = None) -> list[str]:
    """The same of one that has to be a whole number, of at least so much; also where it is less."""
    faults = wrong_type(name, given, WHOLE, "a whole number")
    less = not faults and given is not None and least is not None and given < least
    return [f"{name}: expected {least} or more, found {given}"] if less else faults


def shown_argument(given: object) -> str:
    """An argument as errors show it: values as they are, anything else by its type."""
    if given is None or isinstance(given, str | int | float | list | tuple | Mapping):
        return describe(given)
    return f"an object of type {type(given).__name__}"


def refuse(faults: Iterable[str]) -> None:
    """Raises ConfigError with all faults, if there are any."""
    if found := list(faults):
        raise ConfigError(found)


def checked_cluster(cluster: object, kind: type[Any]) -> None:
    """Raises ConfigError for what is no cluster. kind: the class Cluster."""
    if not isinstance(cluster, kind):
        text = f"cluster: expected a Cluster, found {shown_argument(cluster)}"
        raise ConfigError(f"{text}; make one with Cluster(…)")


def checked_name(name: object, kind: str) -> None:
    """Raises ConfigError for what is no name. kind: of the object it is to name."""
    if not isinstance(name, str):
        raise ConfigError(f"expected the name of a {kind.lower()}, found {shown_argument(name)}")


class PodAsking(msgspec.Struct, frozen=True, eq=False):
    """Asks for pods to decide in one cluster."""

    objects: Iterable[ClusterObject]
    """The cluster's; they are looked through only for what needs them."""
    find: Callable[[str], Entry | None]
    """The pod of the cluster of that name, ``namespace/name`` or ``name`` in the namespace default."""
    admitting: Sequence[AdmissionObject]
    """What admission plugins find in the cluster."""
    release: str
    """Whose API server fills in what manifests leave out."""
    defaulting: bool
    """Whether it does."""
    strictness: Strictness
    """What comes of fields that the API does not have."""
    daemons: DaemonController | None = None
    """What makes the pods of DaemonSets; None: the release's controller."""
    running: bool = False
    """Whether pods that run may be asked about."""

    def read(self, given: Any, what: str) -> PodsToPlace:
        """The pods, and what else is given. what: their name in errors. Raises DecodeError with every fault."""
        problems: list[str] = []
        to_place = PodsToPlace([])
        for thing in flat(given):
            to_place = attempt(problems, self.more, to_place, thing, what) or to_place
        if not self.running:
            problems += (f"{named(pod)}: {fault}" for pod in to_place.pods if (fault := self._runs(pod)))
        if len(to_place.pods) > 1:
            problems += repeated_names(to_place.pods, what)
            problems += uid_problems(to_place.pods, option="defaulting=False")
        if not (problems or to_place.pods or to_place.controllers):
            problems.append(nothing_to_place(what, to_place.objects, to_place.notes))
        if problems:
            raise DecodeError(problems)
        return to_place

    def more(self, before: PodsToPlace, thing: Any, what: str) -> PodsToPlace:
        """With those of one more thing, and whatever else is in it. Raises DecodeError with every fault."""
        accompanying = before.objects
        path = os.fspath(thing) if isinstance(thing, str | os.PathLike) and not is_text(thing) else ""
        if isinstance(thing, str) and path and not (is_file_name(path) or is_trace(path)):
            entry = self.find(thing)
            if entry is not None and isinstance(entry.obj, Pod):
                return merged([before, PodsToPlace([entry.obj])])
            if not os.path.exists(thing):
                raise DecodeError(f"{what}: {thing}: neither a pod of the cluster nor a file{self._nearest(thing)}")
        traces = [Trace(path)] if path and is_trace(path) else []
        given = found_in([] if traces else thing, what=what, kind="Pod")
        read = pods_in(
            ReadInputs(given.items, traces, given.problems, what),
            joined(self.objects, accompanying) if accompanying else self.objects,
            defaulting=self.defaulting,
            release=self.release,
            strictness=self.strictness,
            daemons=self.daemons,
            admitting=(*self.admitting, *(obj for obj in accompanying if isinstance(obj, AdmissionObject))),
            needed=False,
        )
        pods = [obj for obj in given.objects if isinstance(obj, Pod)]
        others = tuple((obj, None) for obj in given.objects if not isinstance(obj, Pod))
        return merged([before, PodsToPlace(pods, accompanying=others), read])

    def _nearest(self, name: str) -> str:
        return nearest_name(name, (key_of(obj)[1] for obj in self.objects if isinstance(obj, Pod)))

    def _runs(self, pod: Pod) -> str:
        """Why a pod cannot be decided: it runs already; else empty."""
        there = self.find(key_of(pod)[1])
        if there is None or not isinstance(there.obj, Pod) or not there.obj.node_name:
            return ""
        name = key_of(pod)[1].removeprefix("default/")
        return (
            f'it runs on {there.obj.node_name}; decide it in cluster.unbound("{name}"), where it waits, '
            "or give the pod another name"
        )
