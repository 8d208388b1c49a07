"""What a simulation found out of pods, and how much of the cluster is used, over time: read off the cluster's columns,
never summed up anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import add, itemgetter, mul, sub
from typing import Any

import attrs
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.columns import Columns
from clusterstate.objects import Node, Pod
from clusterstate.usage import CPU, MEMORY, PODS
from kubescheduler.core.decision import Decision, gave_up
from kubescheduler.core.results import Shown, ShownTable, counted
from kubescheduler.simulation.workload import timestamp
from predicates.refusal_evidence import amount

Amounts = tuple[int, ...]
"""By resource, in the units of the columns: millicores, bytes, pieces; the number of pods last."""


class Sample(msgspec.Struct, frozen=True):
    """The whole cluster from ``time`` on. used and capacity count nodes that have a node object."""

    time: float
    pending: int
    used: Amounts
    capacity: Amounts

    def equals_but_for_time(self, other: Sample) -> bool:
        """Whether only the times are different."""
        return self.pending == other.pending and self.used == other.used and self.capacity == other.capacity


@attrs.define
class NodeUsage:
    """How much of one node was in use, from its arrival to its end."""

    name: str
    capacity: Amounts
    changes: list[tuple[float, Amounts]]
    """(time, what is used from then on), the first from the start or the node's arrival; all zeros once it has left."""


class Level(msgspec.Struct, frozen=True):
    """A share over time: its mean, its highest value, its last one; 0 where there is nothing to have."""

    mean: float
    peak: float
    last: float


def tracked_resources(columns: Columns, joining: Iterable[Node], tracked: Callable[[str], bool]) -> set[str]:
    """What account is kept of on some node, of those there are and those that join."""
    nodes = [*columns.nodes, *joining]
    return {name for node in nodes if node is not None for name in node.allocatable if tracked(name)}


class UsageRecorder:
    """Follows the nodes that are touched; a moment costs what changed in it.

    resources: cpu, memory, then every other resource that some node has, in order of name; pods come last.
    """

    def __init__(self, columns: Columns, resources: Iterable[str]) -> None:
        fixed = (CPU, MEMORY)
        names = (*fixed, *sorted(set(resources).difference(fixed)))
        self.resources = (*names, PODS)
        self.samples: list[Sample] = []
        self._columns = columns
        self._pick = itemgetter(*(columns.resource(name) for name in names))
        self._nothing: Amounts = (0,) * len(self.resources)
        self._now: dict[str, tuple[Node | None, Amounts, Amounts]] = {}
        self._used = self._nothing
        self._capacity = self._nothing
        self._nodes: dict[str, NodeUsage] = {}
        self._touched = dict.fromkeys(columns.row_of)

    def touch(self, node_name: str) -> None:
        """What there is on a node may have changed."""
        self._touched[node_name] = None

    def sample(self, time: float, pending: int) -> None:
        """Notes the moment; a moment that is noted again is noted anew."""
        for name in self._touched:
            self._update(time, name)
        self._touched.clear()
        samples = self.samples
        if samples and samples[-1].time == time:
            samples.pop()
        latest = Sample(time, pending, self._used, self._capacity)
        if not samples or not latest.equals_but_for_time(samples[-1]):
            samples.append(latest)

    def nodes(self) -> list[NodeUsage]:
        """The nodes that there were, by name."""
        return [self._nodes[name] for name in sorted(self._nodes)]

    def _update(self, time: float, name: str) -> None:
        old, old_used, old_capacity = self._now.get(name, (None, self._nothing, self._nothing))
        row = self._columns.row_of.get(name)
        node = None if row is None else self._columns.nodes[row]
        used = self._nothing if row is None or node is None else self._used_on(row)
        capacity = old_capacity if node is old else self._capacity_of(row, node)
        self._now[name] = node, used, capacity
        if used != old_used:
            self._used = _moved(self._used, old_used, used)
        if capacity != old_capacity:
            self._capacity = _moved(self._capacity, old_capacity, capacity)
        usage = self._nodes.get(name)
        if usage is None:
            if capacity != self._nothing:
                self._nodes[name] = NodeUsage(name, capacity, [(time, used)])
            return
        if capacity != self._nothing:
            usage.capacity = capacity
        if usage.changes[-1][0] == time:
            usage.changes.pop()
        if not usage.changes or usage.changes[-1][1] != used:
            usage.changes.append((time, used))

    def _used_on(self, row: int) -> Amounts:
        columns = self._columns
        return (*self._pick(columns.requested.data[:, row].tolist()), columns.pod_count.data.item(row))

    def _capacity_of(self, row: int | None, node: Node | None) -> Amounts:
        """Nothing where there is no such node."""
        if row is None or node is None:
            return self._nothing
        columns = self._columns
        return (*self._pick(columns.allocatable.data[:, row].tolist()), columns.allowed_pods.data.item(row))


def _moved(totals: Amounts, old: Amounts, new: Amounts) -> Amounts:
    """The totals once a part of them has become another."""
    return tuple(map(add, totals, map(sub, new, old)))


def levels(times: Sequence[float], shares: Sequence[float], end: float) -> Level:
    """Mean over time, peak and last value of a step function: from each time on its share, until ``end``."""
    if not times:
        return Level(0.0, 0.0, 0.0)
    area = sum(map(mul, shares, map(sub, (*times[1:], end), times)))
    mean = area / (end - times[0]) if end > times[0] else shares[-1]
    return Level(mean, max(shares), shares[-1])


def share(used: int, capacity: int) -> float:
    """Used by capacity; 0 where there is none."""
    return used / capacity if capacity else 0.0


BAR = 10
"""Characters of a full bar."""


class NodeShare(msgspec.Struct, frozen=True):
    """What is asked for of one resource of one node. Amounts are as Kubernetes writes them: ``1500m``, ``8Gi``."""

    node: str
    resource: str
    used: str
    capacity: str
    share: float
    """Used by capacity, 0 where there is none; above 1 where more is asked for than there is."""


class ClusterUtilisation(Shown, msgspec.Struct, frozen=True):
    """Rows by node and resource: cpu and memory first, then other resources of some node, pods last."""

    rows: tuple[NodeShare, ...]

    def __iter__(self) -> Iterator[NodeShare]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, node: str) -> dict[str, float]:
        """Resource → its share on one node."""
        return {row.resource: row.share for row in self.rows if row.node == node}

    def table(self) -> ShownTable:
        """A row a node and resource, with a bar."""
        cells = [
            (row.node, row.resource, f"{row.used} of {row.capacity}", f"{row.share:.0%}", _bar(row.share))
            for row in self.rows
        ]
        title = f"{counted(len({row.node for row in self.rows}), 'node')}: what is asked for"
        return ShownTable(title, ("node", "resource", "asked for", "share", ""), cells)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each node, and the share of each resource. Raises ConfigError without
        pandas."""
        from kubescheduler.notebook import data_frame

        nodes = list(dict.fromkeys(row.node for row in self.rows))
        resources = list(dict.fromkeys(row.resource for row in self.rows))
        shares = {(row.node, row.resource): row.share for row in self.rows}
        columns = {name: [shares[node, name] for node in nodes] for name in resources}
        return data_frame({"node": nodes, **columns}, "node")


def utilisation_of(cache: ClusterCache) -> ClusterUtilisation:
    """Of the nodes of a cluster, by name."""
    columns = cache.columns
    recorder = UsageRecorder(columns, tracked_resources(columns, (), cache.view.tracked))
    recorder.sample(0.0, 0)
    rows = [
        NodeShare(usage.name, resource, amount(resource, used), amount(resource, there), share(used, there))
        for usage in recorder.nodes()
        for resource, used, there in zip(recorder.resources, usage.changes[-1][1], usage.capacity, strict=True)
    ]
    return ClusterUtilisation(tuple(rows))


def _bar(part: float) -> str:
    full = min(round(part * BAR), BAR)
    return "█" * full + "░" * (BAR - full)


WAITING, RUNNING, FINISHED, PREEMPTED, LOST, WITHDRAWN, ERROR = (
    "pending",
    "running",
    "finished",
    "preempted",
    "lost",
    "withdrawn",
    "error",
)
"""How a pod stands: lost with its node; withdrawn, deleted before it had a node; error, pending as an error ended its
last attempt, so that nobody knows where it would go."""
OUTCOMES = (RUNNING, FINISHED, WAITING, PREEMPTED, LOST, WITHDRAWN)


@attrs.define(eq=False)
class PodRecord:
    """One pod of the workload. Times are seconds after the start, None for what has not happened."""

    pod: Pod
    """Its latest version."""
    arrived: float
    outcome: str = WAITING
    node: str = ""
    """Where it was placed."""
    placed: float | None = None
    left: float | None = None
    attempts: int = 0
    """How often it was tried."""
    duration: float | None = None
    """How long it runs once it is bound."""
    chain: str = ""
    """The chain whose next pod it brings, empty for none."""
    foreign: bool = False
    """Whether it is another scheduler's, so that nobody looked at the nodes for it."""
    _failed: Decision | None = None
    _text: str = ""

    def fail(self, decision: Decision, text: str = "") -> None:
        """Notes the last attempt; ``text`` says what else than the decision went wrong.

        decision: on this pod, or on one that looks the same.
        """
        self._failed, self._text = decision, text

    def hold(self, text: str) -> None:
        """Notes why the pod is not even tried; empty: it is."""
        self._text = text

    def place(self, node: str, now: float) -> None:
        """The pod runs on a node from ``now`` on, seconds since the start."""
        self.outcome, self.node, self.placed = RUNNING, node, now
        self._failed, self._text = None, ""

    @property
    def decision(self) -> Decision | None:
        """The last attempt's, which failed; None once the pod is placed, or where it was not tried."""
        return None if self._failed is None else attrs.evolve(self._failed, pod=self.pod)

    @property
    def gave_up(self) -> bool:
        """Whether an error ended the last attempt, so that nobody knows where the pod would go."""
        return gave_up(self._failed)

    @property
    def standing(self) -> str:
        """How the pod stands, for those who read the report."""
        return ERROR if self.outcome == WAITING and self.gave_up else self.outcome

    @property
    def message(self) -> str:
        """Why it was not placed; empty once it is."""
        if self._text or self._failed is None:
            return self._text
        return attrs.evolve(self._failed, pod=self.pod).message

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the reasons does not see in them; see ``Decision.notes``."""
        return () if self._text or self._failed is None else self._failed.notes

    @property
    def reasons(self) -> Mapping[str, int]:
        """Reason → nodes that gave it in the last attempt."""
        if self._text or self._failed is None or self._failed.error is not None:
            return {self.message: 0} if self.message else {}
        found = self._failed.reasons().values()
        return Counter(reason for reasons in found for reason in reasons)


class PreemptionRecord(msgspec.Struct, frozen=True):
    """Pods that were made to leave ``node`` at ``time`` so that ``pod`` fits."""

    time: float
    pod: str
    node: str
    victims: tuple[str, ...]


class ReasonCount(msgspec.Struct, frozen=True):
    """How many pending pods a reason keeps waiting, and how many nodes gave it, over those pods."""

    reason: str
    pods: int
    nodes: int


@attrs.frozen(eq=False)
class Report:
    """Times are seconds after the start, which is ``epoch`` seconds after 1970."""

    release: str
    epoch: float
    end: float
    pods: tuple[PodRecord, ...]
    """In order of arrival, with pods of the cluster that were preempted."""
    preemptions: tuple[PreemptionRecord, ...]
    resources: tuple[str, ...]
    """The names that amounts in samples and nodes stand for."""
    samples: tuple[Sample, ...]
    nodes: tuple[NodeUsage, ...]

    @property
    def start(self) -> str | None:
        """The start as the API writes times; None if the workload names no time."""
        return timestamp(self.epoch, 0.0) if self.epoch else None

    def counts(self) -> dict[str, int]:
        """Pods, those that were placed, pods by outcome, attempts, preemptions; ``error`` only if a pod has one."""
        outcomes = Counter(record.standing for record in self.pods)
        named = (*OUTCOMES, ERROR) if outcomes[ERROR] else OUTCOMES
        return {
            "pods": len(self.pods),
            "placed": sum(record.placed is not None for record in self.pods),
            **{outcome: outcomes[outcome] for outcome in named},
            "attempts": sum(record.attempts for record in self.pods),
            "preemptions": len(self.preemptions),
        }

    @property
    def pending(self) -> list[PodRecord]:
        """The pods that wait at the end."""
        return [record for record in self.pods if record.outcome == WAITING]

    @property
    def failed(self) -> list[PodRecord]:
        """Those of them whose last attempt an error ended, so that nobody knows where they would go."""
        return [record for record in self.pending if record.gave_up]

    @property
    def foreign(self) -> list[PodRecord]:
        """The pods of other schedulers, which none here tried."""
        return [record for record in self.pods if record.foreign]

    @property
    def every_pod_had_a_node(self) -> bool:
        """Whether every pod was placed at some time, but for those of other schedulers."""
        tried = [record.outcome for record in self.pods if not record.foreign]
        return not any(outcome in (WAITING, WITHDRAWN) for outcome in tried) and (bool(tried) or not self.pods)

    def reasons(self) -> list[ReasonCount]:
        """Why pods wait at the end, the most frequent first."""
        pods: Counter[str] = Counter()
        nodes: Counter[str] = Counter()
        for record in self.pending:
            for reason, count in record.reasons.items():
                pods[reason] += 1
                nodes[reason] += count
        order = sorted(pods, key=lambda reason: (-pods[reason], -nodes[reason], reason))
        return [ReasonCount(reason, pods[reason], nodes[reason]) for reason in order]

    def notes(self) -> list[str]:
        """What a reader of the reasons does not see in them, each once."""
        return list(dict.fromkeys(note for record in self.pending for note in record.notes))

    def waits(self) -> list[float]:
        """Seconds from arrival to placement of every pod that was placed, sorted."""
        return sorted(record.placed - record.arrived for record in self.pods if record.placed is not None)

    def level(self, resource: int) -> Level:
        """How much of the cluster's amount of a resource was in use."""
        shares = [share(sample.used[resource], sample.capacity[resource]) for sample in self.samples]
        return levels([sample.time for sample in self.samples], shares, self.end)

    def node_level(self, node: NodeUsage, resource: int) -> Level:
        """How much of one resource of a node was in use, in shares of its capacity."""
        capacity = node.capacity[resource]
        shares = [share(used[resource], capacity) for _, used in node.changes]
        return levels([time for time, _ in node.changes], shares, self.end)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each pod: its outcome and node, when it arrived, was placed and left in
        seconds after the start, and its attempts. Raises ConfigError without pandas."""
        from kubescheduler.notebook import data_frame, simulation_columns

        return data_frame(simulation_columns(self), "pod")

    def to_arrow(self) -> Any:
        """The rows of ``to_frame`` as a pyarrow Table. Raises ConfigError without pyarrow."""
        from kubescheduler.notebook import arrow_table, simulation_columns

        return arrow_table(simulation_columns(self))

    def _repr_html_(self) -> str:
        """A small static page: counts, waiting times, how much was in use, and why pods wait."""
        from kubescheduler.notebook import simulation_html

        return simulation_html(self)
