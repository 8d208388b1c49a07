"""The pods that Python code asks about: names, files, manifests, texts, objects, and what makes pods."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import DecodeError, nearest
from clusterstate.objects import Pod, PriorityClass
from kubescheduler.inputs.entries import key_of, named
from kubescheduler.inputs.given import flat, found_in, is_file_name, is_text
from kubescheduler.simulation.openb_trace import Trace, is_trace
from kubescheduler.simulation.pods_to_place import PodsToPlace, joined, merged, pods_in
from kubescheduler.sources.cluster_input import nothing_to_place
from kubescheduler.sources.cross_objects import repeated_names, uid_problems

if TYPE_CHECKING:
    from clusterstate.manifests.fields import Strictness
    from clusterstate.objects import ClusterObject
    from kubescheduler.inputs.entries import Entry
    from kubescheduler.releases.daemon_controllers import DaemonController


class PodAsking(msgspec.Struct, frozen=True, eq=False):
    """Asks for pods to decide in one cluster."""

    objects: Iterable[ClusterObject]
    """The cluster's; they are looked through only for what needs them."""
    find: Callable[[str], Entry | None]
    """The pod of the cluster of that name, ``namespace/name`` or ``name`` in the namespace default."""
    classes: Sequence[PriorityClass]
    """The cluster's priority classes."""
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
            try:
                to_place = merged([to_place, self._of_one(thing, what, to_place.objects)])
            except DecodeError as error:
                problems += error.problems
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

    def _of_one(self, thing: Any, what: str, accompanying: Sequence[ClusterObject]) -> PodsToPlace:
        """Of one thing. accompanying: what was given before it."""
        path = os.fspath(thing) if isinstance(thing, str | os.PathLike) and not is_text(thing) else ""
        if isinstance(thing, str) and path and not (is_file_name(path) or is_trace(path)):
            entry = self.find(thing)
            if entry is not None and isinstance(entry.obj, Pod):
                return PodsToPlace([entry.obj])
            if not os.path.exists(thing):
                raise DecodeError(f"{what}: {thing}: neither a pod of the cluster nor a file{self._nearest(thing)}")
        traces = [Trace(path)] if path and is_trace(path) else []
        given = found_in([] if traces else thing, what=what, kind="Pod")
        read = pods_in(
            given.items,
            given.problems,
            joined(self.objects, accompanying) if accompanying else self.objects,
            traces=traces,
            name=what,
            defaulting=self.defaulting,
            release=self.release,
            strictness=self.strictness,
            daemons=self.daemons,
            classes=(*self.classes, *(obj for obj in accompanying if isinstance(obj, PriorityClass))),
            needed=False,
        )
        pods = [obj for obj in given.objects if isinstance(obj, Pod)]
        others = tuple((obj, None) for obj in given.objects if not isinstance(obj, Pod))
        return merged([PodsToPlace(pods, accompanying=others), read])

    def _nearest(self, name: str) -> str:
        names = [key_of(obj)[1] for obj in self.objects if isinstance(obj, Pod)]
        return nearest(name, [*names, *(each.partition("/")[2] for each in names)])

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
