"""What Python code has at hand: files, standard input, texts, manifests, objects; arguments of the wrong type."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ConfigError, DecodeError
from clusterstate.manifests.decode import Item, split
from clusterstate.manifests.fields import BY_ORIGIN, describe
from clusterstate.objects import KINDS, Pod, PriorityClass
from kubescheduler.engine.spec_fields import ARGUMENTS
from kubescheduler.inputs.entries import Entry
from kubescheduler.releases.lookup import release_named
from kubescheduler.simulation.openb_trace import read_inputs_of, read_trace_nodes
from kubescheduler.sources.cluster_input import decode_items
from kubescheduler.sources.files import COMPRESSED, EXTENSIONS, STDIN, items_in, read_items

if TYPE_CHECKING:
    from clusterstate.manifests.fields import Strictness
    from clusterstate.objects import ClusterObject
    from kubescheduler.sources.cluster_input import Progress


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
    priority_classes: Iterable[PriorityClass] = (),
    defaulting: bool = True,
    keep_manifests: bool = True,
    progress: Progress | None = None,
    strictness: Strictness = BY_ORIGIN,
) -> tuple[list[Entry], list[str]]:
    """Entries in order, objects last, and notes on what was left out. Raises DecodeError with every fault."""
    decoding = decode_items(
        given.items,
        given.problems,
        priority_classes=(*priority_classes, *(obj for obj in given.objects if isinstance(obj, PriorityClass))),
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
