"""The pods of files, of what makes pods, and of traces, for commands that place them one after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.errors import DecodeError, attempt
from clusterstate.manifests.decode import Item
from clusterstate.manifests.fields import STRICT, Strictness
from clusterstate.objects import AdmissionObject, ClusterObject, Pod
from kubescheduler.releases.daemon_controllers import DaemonController
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.names import DEFAULT_RELEASE
from kubescheduler.simulation.controllers import DAEMON_SET, is_controller
from kubescheduler.simulation.openb_trace import ReadInputs
from kubescheduler.simulation.pod_claims import ClaimControllers, met_claims
from kubescheduler.simulation.workload import ON_BINDING, Workload
from kubescheduler.sources.cluster_input import decode_pods, no_pods, swapped

ReadObject = tuple[ClusterObject, Item | None]
"""An object, and what it was read from; None for one that a controller has made."""


class PodsToPlace(msgspec.Struct, frozen=True):
    """What files ask to be placed."""

    written: list[Pod]
    """Pods that are written out, in order."""
    made: list[Pod] = msgspec.field(default_factory=list)
    """Pods of controllers and traces, in order of arrival."""
    accompanying: tuple[ReadObject, ...] = ()
    """What is in the cluster besides: what the files hold that is no pod, what the pods of controllers belong to, and
    pods that a controller has placed itself. Each takes the place of an object of the cluster with its name."""
    notes: tuple[str, ...] = ()
    """What was left out, and warnings."""
    controllers: tuple[str, ...] = ()
    """What the controllers of DaemonSets did, which need not have a pod; see ``Workload``."""
    in_turn: Mapping[str, Sequence[str]] = {}
    """StatefulSet → ``namespace/name`` of its pods, each of which it makes only once the one before has a node."""

    @property
    def pods(self) -> list[Pod]:
        """All pods; those that are written out come first."""
        return [*self.written, *self.made]

    @property
    def objects(self) -> list[ClusterObject]:
        """What is in the cluster besides."""
        return [obj for obj, _ in self.accompanying]

    def distinct(self) -> list[list[Pod]]:
        """Each pod that is written out; one of each controller's or each kind of a trace's; all of a DaemonSet's."""
        first: dict[object, list[Pod]] = {}
        daemons = (obj for obj in self.objects if isinstance(obj, Pod))
        for pod in (*self.made, *daemons):
            owners = pod.metadata.owner_references
            if daemon_set_of(pod) is None:
                # The pods of a StatefulSet differ in the claims that are their own.
                spec = msgspec.structs.replace(pod.spec, volumes=()) if owners else pod.spec
                first.setdefault((spec, owners), [pod])
            else:
                first.setdefault(owners, []).append(pod)
        return [*([pod] for pod in self.written), *first.values()]


def daemon_set_of(pod: Pod) -> str | None:
    """The name of the DaemonSet that a pod belongs to; None for any other pod."""
    owner = pod.metadata.controller
    return owner.name if owner is not None and owner.kind == DAEMON_SET else None


def joined(objects: Iterable[ClusterObject], accompanying: Iterable[ClusterObject]) -> list[ClusterObject]:
    """The objects of a cluster with others, each of which takes the place of one with its kind and name."""
    by_name = {(type(obj), obj.metadata.namespace, obj.metadata.name): obj for obj in objects}
    by_name.update({(type(obj), obj.metadata.namespace, obj.metadata.name): obj for obj in accompanying})
    return list(by_name.values())


def pods_in(
    read: ReadInputs,
    cluster: Iterable[ClusterObject] | None,
    *,
    defaulting: bool = True,
    release: str = DEFAULT_RELEASE,
    strictness: Strictness = STRICT,
    daemons: DaemonController | None = None,
    admitting: Iterable[AdmissionObject] | None = None,
    needed: bool = True,
) -> PodsToPlace:
    """The pods of manifests, of controllers with a pod template, and of traces, and what the files hold besides.

    cluster: where they come to; what admission plugins find there, and nodes count; None when it cannot be read.
    strictness: as for ``clusterstate.manifests.decode.Decoder``. daemons: as for ``workload_in``. admitting: what
    admission plugins find in the cluster, where it is known; that is then looked through only for what needs it.
    needed: that there is no pod is a fault. Pods may run in the cluster already. Raises DecodeError with every fault;
    files with the nodes that the cluster does not have are one.
    """
    items, problems = read.items, read.problems
    controllers = [item for item in items if _makes_pods(item)]
    written = [item for item in items if not _makes_pods(item)]
    of_release = release_named(release)
    if admitting is None:
        admitting = [obj for obj in cluster or () if isinstance(obj, AdmissionObject)]
    found = decode_pods(written, problems, admitting, of_release.filling if defaulting else None, strictness)
    both = list(zip(found.objects, found.items, strict=True))
    accompanying: list[ReadObject] = [(obj, item) for obj, item in both if not isinstance(obj, Pod)]
    if defaulting:
        written_here = [obj for obj, _ in accompanying]
        met = met_claims(written_here, lambda: joined(cluster or (), written_here), of_release)
        accompanying += ((obj, None) for obj in met)
    claims = ClaimControllers(
        lambda: joined(cluster or (), (obj for obj, _ in accompanying)),
        of_release,
        problems,
        defaulting=defaulting,
    )
    pods = [claims.claimed(obj, item.source) for obj, item in both if isinstance(obj, Pod)]
    if cluster is not None and (fault := swapped(found.objects, cluster)):
        problems.append(f"{read.name}: {fault}")
    elif needed and not (pods or controllers or read.traces or problems):
        problems.append(no_pods(read.name, found))
    made, notes = Workload(), found.notes
    if controllers or read.traces:
        from kubescheduler.simulation.workload_files import workload_in

        settings: dict[str, Any] = {"defaulting": defaulting, "release": release, "strictness": strictness}
        settings |= {"daemons": daemons, "running": True, "needed": needed and not pods}
        coming = ReadInputs(controllers, read.traces, name=read.name)
        world = joined(cluster or (), (obj for obj, _ in accompanying))
        made, notes = attempt(problems, workload_in, coming, world, **settings) or (made, notes)
    if problems:
        raise DecodeError(problems)
    accompanying += ((obj, None) for obj in (*claims.made, *made.accompanying()))
    every_note = tuple(dict.fromkeys((*found.notes, *notes, *claims.notes, *made.left_to_come())))
    in_turn = {name: made.pods_of(name) for name, chain in made.chains.items() if chain.on == ON_BINDING}
    return PodsToPlace(pods, made.in_order(), tuple(accompanying), every_note, made.controllers, in_turn)


def merged(parts: Iterable[PodsToPlace]) -> PodsToPlace:
    """What several readings found, in order."""
    every = list(parts)
    return PodsToPlace(
        [pod for part in every for pod in part.written],
        [pod for part in every for pod in part.made],
        tuple(each for part in every for each in part.accompanying),
        tuple(dict.fromkeys(note for part in every for note in part.notes)),
        tuple(text for part in every for text in part.controllers),
        {name: pods for part in every for name, pods in part.in_turn.items()},
    )


def made_too_early(in_turn: Mapping[str, Sequence[str]], hosts: Mapping[str, str | None]) -> Iterator[str]:
    """A note on each StatefulSet that would not have made all its pods, as one has no node.

    hosts: ``namespace/name`` of each pod that was decided → its node.
    """
    for name, pods in in_turn.items():
        at = next((at for at, pod in enumerate(pods) if hosts.get(pod) is None), len(pods))
        if early := pods[at + 1 :]:
            those = early[0] if len(early) == 1 else f"{early[0]} and {len(early) - 1} more"
            yield f"{name} does not make {those} before {pods[at]} has a node; decided here all the same"


def _makes_pods(item: Item) -> bool:
    said = item.content if isinstance(item.content, Mapping) else {}
    return is_controller({"kind": _kind(item), "apiVersion": said.get("apiVersion") or item.api_version})


def _kind(item: Item) -> Any:
    said = item.content if isinstance(item.content, Mapping) else {}
    return said.get("kind") or item.kind
