"""What happens in a simulation: pods and nodes that come and go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache

import msgspec

from clusterstate.manifests.defaulting import DEFAULT_NAMESPACE, derived_uid
from clusterstate.manifests.fields import describe
from clusterstate.objects import ClusterObject, Node, Pod

ARRIVES_AFTER = "kubescheduler/arrives-after"
"""Annotation of a pod, a template or a node: how long after the start it comes."""
DURATION = "kubescheduler/duration"
"""Annotation: how long a pod runs once it is bound, or a node stays."""

ON_BINDING, ON_FINISH = "binding", "finish"
"""When the next pod of a chain comes: once the one before it is bound, or has finished."""

LONGEST = 100 * 366 * 86400.0
"""Seconds; no duration is longer."""
MOMENTS = 3.25e10
"""Seconds before and after 1970 that a timestamp may be: some 1,030 years."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|[smhd])")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


class Arrival(msgspec.Struct, frozen=True):
    """A pod that comes ``at`` seconds after the start."""

    pod: Pod
    at: float = 0.0
    leaves_at: float | None = None
    """When it is deleted, placed or not."""
    duration: float | None = None
    """Seconds it runs once it is bound. None: it stays."""
    chain: str = ""
    """The chain whose next pod it brings, empty for none."""


class NodeArrival(msgspec.Struct, frozen=True):
    """A node that joins ``at`` seconds after the start, and leaves ``leaves_at``, with its pods."""

    node: Node
    at: float = 0.0
    leaves_at: float | None = None


class ObjectUpdate(msgspec.Struct, frozen=True):
    """An object that is neither node nor pod comes or changes, or goes."""

    obj: ClusterObject
    """As it is then; of one that goes, as it was."""
    at: float = 0.0
    """Seconds after the start."""
    gone: bool = False


class Chain(msgspec.Struct, frozen=True):
    """Pods that come one by one: each when an earlier one of the chain is bound or has finished (``on``)."""

    on: str
    waiting: tuple[Arrival, ...]


class PodChains:
    """The pods of each chain that have not come yet."""

    def __init__(self, chains: Mapping[str, Chain]) -> None:
        self._chains = {name: (chain.on, iter(chain.waiting)) for name, chain in chains.items()}

    def following(self, chain: str, happened: str) -> Arrival | None:
        """The pod that comes now; None: no more do, or this is not what they wait for. happened: ON_BINDING, ON_FINISH
        of a pod of the chain.
        """
        on, waiting = self._chains.get(chain, ("", iter(())))
        return next(waiting, None) if on == happened else None


class Workload(msgspec.Struct, frozen=True):
    """objects: what is in the cluster from the start besides. epoch: the start in seconds since 1970."""

    arrivals: tuple[Arrival, ...] = ()
    nodes: tuple[NodeArrival, ...] = ()
    chains: Mapping[str, Chain] = msgspec.field(default_factory=dict)
    objects: tuple[ClusterObject, ...] = ()
    epoch: float = 0.0
    controllers: tuple[str, ...] = ()
    """What the controllers of DaemonSets did: how many nodes get a pod, and who places it."""
    updates: tuple[ObjectUpdate, ...] = ()
    """What becomes of objects besides nodes and pods."""

    def pods(self) -> list[Pod]:
        """Every pod that may come."""
        waiting = (arrival for chain in self.chains.values() for arrival in chain.waiting)
        return [arrival.pod for arrival in (*self.arrivals, *waiting)]

    def pods_of(self, chain: str) -> list[str]:
        """``namespace/name`` of the pods of a chain, in order."""
        every = (*(one for one in self.arrivals if one.chain == chain), *self.chains[chain].waiting)
        return [arrival.pod.key for arrival in every]

    def in_order(self) -> list[Pod]:
        """Every pod that a scheduler decides on while none finishes, in the order of arrival; those that come once
        others have a node are last."""
        chains = (chain for chain in self.chains.values() if chain.on == ON_BINDING)
        waiting = [arrival.pod for chain in chains for arrival in chain.waiting]
        arrivals = sorted(self.arrivals, key=lambda arrival: arrival.at)
        return [*(arrival.pod for arrival in arrivals if not arrival.pod.node_name), *waiting]

    def left_to_come(self) -> list[str]:
        """A sentence on each Job of which more pods come as the first ones finish."""
        chains = {name: len(chain.waiting) for name, chain in self.chains.items() if chain.on == ON_FINISH}
        return [
            f"{name}: {len(self.pods_of(name)) - more} of its pods run at a time; {more} more come as these finish"
            for name, more in chains.items()
            if more
        ]

    def placed(self) -> list[Pod]:
        """The pods that come with a node: their controller has placed them."""
        return [arrival.pod for arrival in self.arrivals if arrival.pod.node_name]

    def accompanying(self) -> list[ClusterObject]:
        """What is in the cluster besides the pods that a scheduler decides on, for who places these one by one."""
        return [*self.objects, *(arrival.node for arrival in self.nodes), *self.placed()]


def seconds_of(text: str) -> float:
    """``90``, ``90s``, ``1h30m``, ``2d`` in seconds. Raises ValueError for anything else."""
    parts = _PART.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    elif _NUMBER.fullmatch(text):
        seconds = float(text)
    else:
        raise ValueError(f"{describe(text)} is no duration; write seconds, or parts such as 1h30m or 2d")
    if seconds > LONGEST:
        raise ValueError(f"{describe(text)} is more than 100 years")
    return seconds


def moment_of(text: object) -> float:
    """A time as the API writes it, in seconds since 1970. Raises ValueError for anything else."""
    try:
        moment = datetime.fromisoformat(str(text)).timestamp()
    except (ValueError, OverflowError):
        raise ValueError(f"{describe(text)} is no time; write it as 2020-01-31T12:00:00Z") from None
    if abs(moment) > MOMENTS:
        raise ValueError(f"{describe(text)} is more than a thousand years away")
    return moment


def timestamp(epoch: float, seconds: float) -> str:
    """A moment of the simulation as the API writes times."""
    moment = epoch + seconds
    if not moment.is_integer():
        return datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
    hours, within = divmod(int(moment), 3600)
    return f"{_hour(hours)}{within // 60:02}:{within % 60:02}Z"


@lru_cache(maxsize=1024)
def _hour(hours: int) -> str:
    """A whole number of hours since 1970 as the API writes times, without minutes and seconds."""
    return datetime.fromtimestamp(3600 * hours, UTC).isoformat()[: -len("00:00+00:00")]


def renamed(pod: Pod, name: str) -> Pod:
    """The same pod under another name, with the uid that goes with it."""
    uid = derived_uid("Pod", pod.metadata.namespace or DEFAULT_NAMESPACE, name)
    metadata = msgspec.structs.replace(pod.metadata, name=name, uid=uid)
    manifest = pod.manifest
    if manifest is not None:
        manifest = {**manifest, "metadata": {**(manifest.get("metadata") or {}), "name": name, "uid": uid}}
    return msgspec.structs.replace(pod, metadata=metadata, manifest=manifest)


def as_new(pod: Pod) -> Pod:
    """A pod as it was when it was created: on no node, not finished, not being deleted."""
    metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=None)
    manifest = pod.manifest
    if manifest is not None:
        manifest = {key: value for key, value in manifest.items() if key != "status"}
        manifest["metadata"] = {k: v for k, v in (manifest.get("metadata") or {}).items() if k != "deletionTimestamp"}
        manifest["spec"] = {k: v for k, v in (manifest.get("spec") or {}).items() if k != "nodeName"}
    return Pod(metadata, pod.spec, manifest=manifest)
