"""The pods of files, of what makes pods, and of traces, for commands that place them one after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import IO

import attrs

from clusterstate.errors import DecodeError
from clusterstate.manifests.documents import Item
from clusterstate.manifests.strictness import STRICT, Strictness
from clusterstate.objects import ClusterObject, Node, Pod, PriorityClass
from clusterstate.release_names import DEFAULT_RELEASE
from kubescheduler.engine.releases import release_named
from kubescheduler.simulation.openb_trace import Trace, traces_apart
from kubescheduler.simulation.pod_templates import is_controller
from kubescheduler.simulation.workload import Workload
from kubescheduler.simulation.workload_files import workload_in
from kubescheduler.sources.cluster_input import decode_pods, no_pods
from kubescheduler.sources.files import read_items


@attrs.frozen
class PodsToPlace:
    """What files ask to be placed."""

    written: list[Pod]
    """Pods that are written out, in order."""
    made: list[Pod] = attrs.field(factory=list)
    """Pods of controllers and traces, in order of arrival."""
    owners: tuple[ClusterObject, ...] = ()
    """What the pods of controllers belong to; it has to be in the cluster for them to be spread."""
    notes: tuple[str, ...] = ()
    """What was left out, and warnings."""

    @property
    def pods(self) -> list[Pod]:
        """All pods; those that are written out come first."""
        return [*self.written, *self.made]

    def distinct(self) -> list[Pod]:
        """The pods that are written out, and one of each controller's or each kind of a trace's."""
        first: dict[object, Pod] = {}
        for pod in self.made:
            first.setdefault((pod.spec, pod.metadata.owner_references), pod)
        return [*self.written, *first.values()]


def read_pods_to_place(
    paths: Sequence[str],
    cluster: Iterable[ClusterObject] | None,
    *,
    stdin: IO[bytes] | None = None,
    defaulting: bool = True,
    release: str = DEFAULT_RELEASE,
    strictness: Strictness = STRICT,
) -> PodsToPlace:
    """The pods of manifests, of controllers with a pod template, and of traces; other kinds are passed over.

    cluster: where they come to; its priority classes count; None when it cannot be read. strictness: as for
    ``clusterstate.manifests.decode.Decoder``. Raises DecodeError with every fault; files without a pod are one, and
    files with the nodes that the cluster does not have.
    """
    there = list(cluster or ())
    faults: list[str] = []
    named = traces_apart(paths, stdin, faults)
    items, problems = read_items(named.paths, named.stdin)
    traces, problems = named.traces, faults + problems
    controllers = [item for item in items if _makes_pods(item)]
    written = [item for item in items if not _makes_pods(item)]
    name = ", ".join(paths)
    filling = release_named(release).filling if defaulting else None
    found = decode_pods(written, problems, _classes(there), filling, strictness)
    pods = [obj for obj in found.objects if isinstance(obj, Pod)]
    if _has_nodes(found.objects) and cluster is not None and not _has_nodes(there):
        problems.append(f"{name}: it has nodes, and the cluster has no nodes; are the two swapped?")
    elif not (pods or controllers or traces or problems):
        problems.append(no_pods(paths, found))
    made, notes = Workload(), found.notes
    if controllers or traces:
        classes = _classes(found.objects)
        made, notes = _made(controllers, problems, [*there, *classes], name, traces, defaulting, release, strictness)
    if problems:
        raise DecodeError(problems)
    return PodsToPlace(pods, made.in_order(), made.objects, tuple(dict.fromkeys((*found.notes, *notes))))


def _made(
    controllers: Sequence[Item],
    problems: list[str],
    there: Sequence[ClusterObject],
    name: str,
    traces: Sequence[Trace],
    defaulting: bool,
    release: str,
    strictness: Strictness,
) -> tuple[Workload, list[str]]:
    """What controllers and traces make; its faults join the problems."""
    try:
        return workload_in(
            controllers,
            [],
            there,
            traces=traces,
            name=name,
            defaulting=defaulting,
            release=release,
            strictness=strictness,
        )
    except DecodeError as error:
        problems += error.problems
        return Workload(), []


def _makes_pods(item: Item) -> bool:
    said = item.content if isinstance(item.content, Mapping) else {}
    return is_controller(
        {"kind": said.get("kind") or item.kind, "apiVersion": said.get("apiVersion") or item.api_version}
    )


def _has_nodes(objects: Iterable[ClusterObject]) -> bool:
    return any(isinstance(obj, Node) for obj in objects)


def _classes(objects: Iterable[ClusterObject]) -> list[PriorityClass]:
    return [obj for obj in objects if isinstance(obj, PriorityClass)]
