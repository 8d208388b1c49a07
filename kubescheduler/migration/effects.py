"""What the choices of one column do to the cluster: utilisation, packing, spread, evictions."""

from __future__ import annotations

from collections.abc import Mapping

import attrs


@attrs.frozen
class Utilisation:
    """Requested by allocatable of one resource over the nodes; 1.0 is full."""

    resource: str
    mean: float
    least: float
    most: float
    deviation: float


@attrs.frozen
class NodeUse:
    """pods: running there. used: resource → requested by allocatable."""

    name: str
    zone: str
    pods: int
    used: Mapping[str, float]


@attrs.frozen
class ServiceSpread:
    """The pods of one service (``namespace/name``).

    zones: zone → pods, of every zone there is. zone_skew: most minus least over the zones. host_skew: likewise over
    the nodes. hosts: on how many nodes there are some.
    """

    service: str
    pods: int
    zones: Mapping[str, int]
    zone_skew: int
    hosts: int
    host_skew: int


@attrs.frozen
class Effects:
    """The cluster with the pods where one column puts them.

    In the mode ``independent`` every pod is put, beside all others, where it goes on its own: a node may come out more
    than full. placed, unplaced: of the compared pods. fullest_half: the share of all pods that is on the fuller half of
    the nodes. evicted: pods that preemption takes away.
    """

    placed: int
    unplaced: int
    nodes: tuple[NodeUse, ...]
    utilisation: tuple[Utilisation, ...]
    fullest_half: float
    spread: tuple[ServiceSpread, ...]
    evicted: int = 0

    @property
    def nodes_used(self) -> int:
        return sum(1 for node in self.nodes if node.pods)

    @property
    def nodes_empty(self) -> int:
        return len(self.nodes) - self.nodes_used
