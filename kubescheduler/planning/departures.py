"""What becomes of a pod that leaves its node: who makes it anew, under which name, and what of it is left behind."""

from __future__ import annotations

import enum
import re
from collections.abc import Container, Sequence
from hashlib import sha1

import msgspec

from clusterstate.cache import TERMINATED
from clusterstate.manifests.defaulting import derived_uid
from clusterstate.objects import OwnerReference, Pod, ReplicaSet
from clusterstate.workloads import MIRROR
from kubescheduler.simulation.workload import as_new, renamed

NAMED = 3
"""Names in a sentence; of more the first, and how many there are besides."""


def counted(count: int, noun: str) -> str:
    """``1 pod``, ``2,000 pods``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def named(names: Sequence[str], most: int = NAMED) -> str:
    """``a, b, c and 2 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
"""What generated names end with, five of these. Upstream: apimachinery's rand.SafeEncodeString."""
LONGEST_BASE = 58
"""Characters of a generated name before them."""

_GENERATED = re.compile(f"(.+-)[{SUFFIX}]{{5}}")


class Fate(enum.Enum):
    """What becomes of a pod whose node goes. The values are said of it: "it is of a DaemonSet"."""

    DAEMON = "of a DaemonSet"
    """Its controller makes one for every node; elsewhere it is not made anew."""
    STATIC = "static"
    """The kubelet of its node runs it; the API server only mirrors it."""
    FINISHED = "finished"
    """It needs no node any more."""
    LEAVING = "being deleted"
    """It leaves anyway, and its controller has made another one already."""
    REMADE = "made anew by its controller"
    BARE = "of no controller"
    """Nobody makes it anew: it is lost."""


def fate_of(pod: Pod) -> Fate:
    """What becomes of a pod whose node goes."""
    owner = controller_of(pod)
    if MIRROR in pod.metadata.annotations or (owner is not None and owner.kind == "Node"):
        return Fate.STATIC
    if pod.phase in TERMINATED:
        return Fate.FINISHED
    if owner is None:
        return Fate.BARE
    if owner.kind == "DaemonSet":
        return Fate.DAEMON
    leaving = pod.metadata.deletion_timestamp is not None
    return Fate.LEAVING if leaving and not keeps_name(pod) else Fate.REMADE


def controller_of(obj: Pod | ReplicaSet) -> OwnerReference | None:
    """The owner that is an object's controller."""
    return next((owner for owner in obj.metadata.owner_references if owner.controller), None)


def keeps_name(pod: Pod) -> bool:
    """Whether the pod comes back under its name, once the one before it has ended: a StatefulSet's does."""
    owner = controller_of(pod)
    return owner is not None and owner.kind == "StatefulSet"


def successor(pod: Pod, taken: Container[str]) -> Pod:
    """The pod that the controller of ``pod`` makes in its place: pending, with a name of its own and a new uid.

    taken: ``namespace/name`` of the pods that there are. The same pod always gets the same name, where it is free.
    """
    fresh = as_new(pod)
    fresh = msgspec.structs.replace(fresh, metadata=msgspec.structs.replace(fresh.metadata, creation_timestamp=None))
    name = pod.metadata.name if keeps_name(pod) else _free_name(pod, taken)
    uid = derived_uid("Pod", pod.metadata.namespace, f"{name} after {pod.metadata.uid}")
    return _with_uid(renamed(fresh, name), uid)


def _free_name(pod: Pod, taken: Container[str]) -> str:
    """As the API server generates names, but not by chance."""
    owner, attempt = controller_of(pod), 0
    generated = _GENERATED.fullmatch(pod.metadata.name)
    base = generated[1] if generated else f"{pod.metadata.name if owner is None else owner.name}-"
    while True:
        digest = sha1(f"{pod.metadata.uid}/{pod.metadata.name}/{attempt}".encode(), usedforsecurity=False).digest()
        name = base[:LONGEST_BASE] + "".join(SUFFIX[byte % len(SUFFIX)] for byte in digest[:5])
        if f"{pod.metadata.namespace}/{name}" not in taken:
            return name
        attempt += 1


def _with_uid(pod: Pod, uid: str) -> Pod:
    manifest = pod.manifest
    if manifest is not None:
        said = {key: value for key, value in manifest["metadata"].items() if key != "creationTimestamp"}
        manifest = {**manifest, "metadata": {**said, "uid": uid}}
    metadata = msgspec.structs.replace(pod.metadata, uid=uid)
    return msgspec.structs.replace(pod, metadata=metadata, manifest=manifest)
