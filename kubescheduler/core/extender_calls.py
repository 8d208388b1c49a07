"""The part of a scheduling attempt that HTTP extenders have."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray
from clusterstate.objects import Node, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import wrap
from kubescheduler.core.status import Code, Status

SeenNodes = tuple[PodInfo, Snapshot]
"""A pod, and the nodes that a rule scores for it, exactly these and in their order."""


class FilterAnswer(msgspec.Struct, frozen=True):
    """What an extender's filter said."""

    nodes: tuple[str, ...]
    """The names of the nodes that are left in the answer's order, doubles kept."""
    failed: dict[str, str] = msgspec.field(default_factory=dict)
    """Node → message (a node may be in both)."""
    unresolvable: dict[str, str] = msgspec.field(default_factory=dict)
    """Node → message where taking pods away cannot help; goes before ``failed``. Upstream: 1.36."""
    objects: tuple[msgspec.Raw, ...] | None = None
    """The answered nodes as JSON, one per name; None where they did not come as objects."""

    @property
    def as_objects(self) -> bool:
        """Whether the nodes came as objects, not as names; without a call they did not come at all."""
        return self.objects is not None


class ExtenderTrace(msgspec.Struct, frozen=True, eq=False):
    """What one extender answered in one attempt; a member is None where no such call was made or it failed."""

    name: str
    """Its urlPrefix."""
    weight: int = 0
    """What its scores are multiplied by."""
    ignorable: bool = False
    """Whether a pod is scheduled without it when it cannot be reached."""
    failed: Mapping[str, str] | None = None
    """Node → why the extender refuses it."""
    unresolvable: Mapping[str, str] | None = None
    """The same for nodes where evicting pods cannot help (1.36)."""
    scores: tuple[tuple[str, int], ...] | None = None
    """(node, raw score) as answered, before the weight."""
    filter_error: str | None = None
    """The text of a failed filter call."""
    prioritize_error: str | None = None
    """The text of a failed prioritize call."""
    filter_nodes: Sequence[Node] | None = None
    """The nodes that were sent to its filter, whether it answered or not."""
    prioritize_nodes: Sequence[Node] | None = None
    """The nodes that were sent to be scored, whether it answered or not."""


class ExtenderSettings(Protocol):
    """What the scheduler itself reads of an extender's configuration; verbs are empty when unsupported."""

    @property
    def name(self) -> str:
        """What messages call the extender: the address that verbs are appended to, without a password."""

    @property
    def filter_verb(self) -> str:
        """The verb of filter."""

    @property
    def prioritize_verb(self) -> str:
        """The verb of prioritize."""

    @property
    def preempt_verb(self) -> str:
        """The verb of preempt."""

    @property
    def bind_verb(self) -> str:
        """The verb of bind."""

    @property
    def weight(self) -> int:
        """What the extender's scores are multiplied by."""

    @property
    def ignorable(self) -> bool:
        """Whether a pod is scheduled without the extender when it cannot be reached."""


class Extender(Protocol):
    """An HTTP extender as the scheduler calls it; every call may raise a SchedulingError.

    ``known`` are the names that the cluster has. ``preempt``: node → (uids of the pods that would go, how many
    of them violate a budget).
    """

    @property
    def config(self) -> ExtenderSettings:
        """The extender's configuration."""

    def is_interested(self, pod: Pod) -> bool:
        """Whether the extender is asked about this pod."""

    def filter(self, pod: Pod, nodes: Sequence[Node], known: Container[str]) -> FilterAnswer:
        """Which of the nodes pass; ``known`` are the names of the nodes that there are."""

    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> list[tuple[str, int]]:
        """(node, score) before the extender's weight."""

    def preempt(
        self, pod: Pod, victims: Mapping[str, tuple[Sequence[Pod], int]]
    ) -> dict[str, tuple[tuple[str, ...], int]]:
        """The victims that the extender agrees with, by node, with their violated budgets as it counts them."""

    def bind(self, pod: Pod, node_name: str) -> None:
        """Has the extender bind the pod to the node."""


def unknown_node_1_16(name: str) -> str:
    """The text for a node that an extender names and the cluster does not have."""
    return f"node not found: an extender passed {name!r}, which is not in the cluster"


class SnapshotRows(msgspec.Struct, eq=False):
    """The rows of the nodes that extenders are sent and answer: those of the snapshot, by name."""

    snapshot: Snapshot
    unknown_node: Callable[[str], str] = unknown_node_1_16
    """The text for a name that is no node."""

    @property
    def added_names(self) -> tuple[str, ...]:
        """The names of the rows behind the snapshot's."""
        return ()

    def nodes(self, rows: IntArray) -> list[Node]:
        """The node objects of rows."""
        return nodes_of(self.snapshot, rows)

    def names(self, rows: IntArray) -> list[str]:
        """(n,) the names of rows."""
        return [self.snapshot.names[row] for row in rows.tolist()]

    def views(self, pod: Pod, cache: ClusterCache, rules: Iterable[str], rows: IntArray) -> dict[str, SeenNodes]:  # noqa: ARG002
        """Rule, of those that score → the nodes of rows as it reads them, where the cluster has them otherwise."""
        return {}

    def read(self, answer: FilterAnswer) -> None:
        """Reads the node objects of an answer; here their names are enough. Raises SchedulingError."""

    def rows(self, answer: FilterAnswer) -> IntArray:
        """(n,) the rows of an answer, in its order. Raises SchedulingError for a name that is no node."""
        return np.array([self._of_name(name) for name in answer.nodes], np.int64)

    def _of_name(self, name: str) -> int:
        row = self.snapshot.row_of(name)
        if row is None or self.snapshot.node(row) is None:
            raise SchedulingError(self.unknown_node(name))
        return row


def nodes_of(snapshot: Snapshot, rows: IntArray) -> list[Node]:
    """The node objects of rows."""
    return [node for row in rows.tolist() if (node := snapshot.node(row)) is not None]


Refused = dict[str, Status]
Note = Callable[[Refused, FilterAnswer], None]
"""Writes what an answer says of failed nodes into the statuses."""


def note_1_20(refused: Refused, answer: FilterAnswer) -> None:
    """A message is added to the status that a node has."""
    for name, message in answer.failed.items():
        before = refused.get(name)
        reasons = (message,) if before is None else (*before.reasons, message)
        refused[name] = Status(Code.Unschedulable if before is None else before.code, reasons)


def note_1_36(refused: Refused, answer: FilterAnswer) -> None:
    """The last word counts, and what cannot be mended goes before what just failed."""
    for name, message in answer.failed.items():
        refused[name] = Status.unschedulable(message)
    for name, message in answer.unresolvable.items():
        refused[name] = Status.unresolvable(message)


class LeftByExtenders(msgspec.Struct, frozen=True, eq=False):
    """What extenders' filters leave of the nodes."""

    feasible: IntArray
    """(n,) the rows that are left, in the order of the last answer."""
    emptied: bool
    """Whether an answer came as node objects."""
    refused: Mapping[str, Status]
    """Node → status."""
    traces: tuple[ExtenderTrace, ...]
    """What each extender said."""
    places: SnapshotRows
    """The rows of the nodes, as they were answered."""


def filter_with_extenders(
    pod: Pod, extenders: Sequence[Extender], places: SnapshotRows, feasible: IntArray, note: Note
) -> LeftByExtenders:
    """The rows that are left after every interested extender, and what these say of the nodes that they refuse.

    Extenders are asked one after the other until no node is left; an ignorable one that fails changes nothing.
    ``places`` has the rows of the nodes that are answered. Raises SchedulingError when an extender that is not
    ignorable fails. Upstream: 1.16 findNodesThatFit, later findNodesThatPassExtenders.
    """
    refused: Refused = {}
    emptied = False
    traces: list[ExtenderTrace] = []
    for extender in extenders:
        config = extender.config
        trace = ExtenderTrace(config.name, config.weight, config.ignorable)
        if len(feasible) and config.filter_verb and extender.is_interested(pod):
            nodes = places.nodes(feasible)
            trace = msgspec.structs.replace(trace, filter_nodes=nodes)
            try:
                answer = extender.filter(pod, nodes, places.snapshot.known_names)
                places.read(answer)
            except SchedulingError as error:
                if not config.ignorable:
                    raise
                trace = msgspec.structs.replace(trace, filter_error=str(error))
            else:
                feasible = places.rows(answer)
                note(refused, answer)
                emptied |= answer.as_objects
                unresolvable = dict(answer.unresolvable) or None
                trace = msgspec.structs.replace(trace, failed=dict(answer.failed), unresolvable=unresolvable)
        traces.append(trace)
    return LeftByExtenders(feasible, emptied, refused, tuple(traces), places)


def score_with_extenders(
    pod: Pod,
    extenders: Sequence[Extender],
    traces: Sequence[ExtenderTrace],
    places: SnapshotRows,
    feasible: IntArray,
    scale: int = 1,
) -> tuple[IntArray, tuple[ExtenderTrace, ...]]:
    """((n,) int64 Σ weight·score·scale on the feasible rows, the traces completed).

    All calls run at once; one that fails adds nothing. Scores are used as they come, hosts that are not
    feasible are passed over. ``places`` has the node objects that are sent, as filters answered them. Upstream: 1.16
    PrioritizeNodes.
    """
    position: dict[str, list[int]] = {}
    for at, name in enumerate(places.names(feasible)):
        position.setdefault(name, []).append(at)
    nodes = places.nodes(feasible)
    asked = [bool(e.config.prioritize_verb) and e.is_interested(pod) for e in extenders]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max(1, sum(asked))) as pool:
        calls = [
            pool.submit(e.prioritize, pod, nodes) if ask else None for e, ask in zip(extenders, asked, strict=True)
        ]
    sums, completed = [0] * len(feasible), []
    for extender, trace, call in zip(extenders, traces, calls, strict=True):
        if call is None:
            completed.append(trace)
            continue
        try:
            scores = call.result()
        except SchedulingError as error:
            completed.append(msgspec.structs.replace(trace, prioritize_nodes=nodes, prioritize_error=str(error)))
            continue
        by_host: dict[str, int] = {}
        for host, score in scores:
            by_host[host] = by_host.get(host, 0) + score
        for host, score in by_host.items():
            for at in position.get(host, ()):
                sums[at] += extender.config.weight * score * scale
        completed.append(msgspec.structs.replace(trace, prioritize_nodes=nodes, scores=tuple(scores)))
    return np.array([wrap(value) for value in sums], np.int64), tuple(completed)
