"""Faults between the objects of a cluster: names and uids that are there twice, pods on nodes that are not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import DecodeError, nearest
from clusterstate.objects import Node, Pod

if TYPE_CHECKING:
    from clusterstate.manifests.decode import Item
    from clusterstate.objects import ClusterObject

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
            shown = f"{type(obj).__name__} {name.removeprefix('/')}"
            problems.append(_twice(source, shown, seen[name]))
        else:
            seen[name] = source
    return problems


def _twice(source: str, name: str, first: str) -> str:
    place = "the same file" if first == source else first
    return f"{source}: {name}: metadata.name: already in {place}; remove one of the two"


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
