"""The cluster as columns: one row per node, kept current in O(changed rows).

Arrays have the node axis last. A row stays with its node name; a removed node leaves a row without
a node object (``has_node`` False) that lives on while pods are there and is then used again. What nodes can give and
what their pods take is in ``RowAmounts``.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from clusterstate.changes import ChangeLog, Reads
from clusterstate.growable import ABSENT, Growable, IntArray, Mask, NodeColumn, label_extractor
from clusterstate.node_order import NameOrder
from clusterstate.objects import NO_RESOURCES, Node, Pod, PodSpec, ResourceList
from clusterstate.pod_counts import FEW_ROWS, ClaimName, ClaimUsers, PodCounts
from clusterstate.podinfo import PodInfo, PodKey, ReleaseView, Use
from clusterstate.usage import CPU, EPHEMERAL_STORAGE, MEMORY, MOST, PODS, Accounting, PodUsage, amount, wrap

FIXED_RESOURCES = (CPU, MEMORY, EPHEMERAL_STORAGE)
RECENT_CLASSES = 1024
"""Classes that are remembered while none of their pods is placed."""


class Columns:
    """See the module. Everything is read through a Snapshot and changed through a ClusterCache.

    resources: name → index on the resource axis R; cpu 0 (millicores), memory 1, ephemeral-storage 2
    (bytes), then scalar resources as they turn up. term_keys: the keys of the labels that terms of pod affinity
    read, of the pods that run or ever ran.
    """

    def __init__(self, view: ReleaseView) -> None:
        self.view = view
        self.log = ChangeLog()
        self.names: list[str] = []
        self.row_of: dict[str, int] = {}
        self.nodes: list[Node | None] = []
        self.pods: list[dict[str, Pod]] = []
        self.resources: dict[str, int] = {name: i for i, name in enumerate(FIXED_RESOURCES)}
        self.amounts = RowAmounts(len(self.resources))
        self.allocatable, self.allocatable_set = self.amounts.allocatable, self.amounts.allocatable_set
        self.requested, self.nonzero = self.amounts.requested, self.amounts.nonzero
        self.allowed_pods, self.pod_count = self.amounts.allowed_pods, self.amounts.pod_count
        self.has_node = Growable((0,), np.bool_)
        self.node_count = 0
        self.images = view.images()
        self.infos: dict[PodKey, PodInfo] = {}
        self.counts = PodCounts(self.infos.values())
        self.affinity_uses: Counter[Use] = Counter()
        self.term_keys: frozenset[str] = frozenset()
        self.uses_version = 0
        self.claim_users = ClaimUsers()
        self.derived: dict[Hashable, tuple[int, Any]] = {}
        self._recent: OrderedDict[PodKey, PodInfo] = OrderedDict()
        self._asked_of: Pod | None = None
        self._answered: PodInfo
        self._taken = SpecAmounts(view.accounting)
        self._labels: dict[str, NodeColumn] = {}
        self._properties: dict[Callable[[Node], Hashable | None], NodeColumn] = {}
        self._placings = 0
        self._free: list[int] = []
        self._order = NameOrder()
        self._all_names: tuple[str, ...] | None = None
        self._published: tuple[tuple[str, ...], Mask] | None = None
        self._known: Mask | None = None
        self._listed_count = 0

    def __len__(self) -> int:
        return len(self.names)

    # --- nodes -----------------------------------------------------------------------------

    def row(self, name: str) -> int:
        """The row of a node name; a new one if the name is new."""
        row = self.row_of.get(name)
        return self.rows([name])[0] if row is None else row

    def rows(self, names: Iterable[str]) -> list[int]:
        """The rows of node names; a new one for each name that is new."""
        out, before = [], len(self.names)
        for name in names:
            row = self.row_of.get(name)
            if row is None:
                row = self.row_of[name] = self._free.pop() if self._free else self._append()
                self.names[row] = name
                self._order.put(row, name)
                self._all_names = self._published = None
            out.append(row)
        if len(self.names) > before:
            self._resize(len(self.names))
        return out

    def _append(self) -> int:
        self.names.append("")
        self.nodes.append(None)
        self.pods.append({})
        return len(self.names) - 1

    def _resize(self, size: int) -> None:
        self.amounts.resize(len(self.resources), size)
        self.has_node.resize(size)
        for column in self._node_columns():
            column.resize(size)

    def _node_columns(self) -> Iterator[NodeColumn]:
        yield from self._labels.values()
        yield from self._properties.values()

    def put_node(self, row: int, node: Node | None) -> None:
        """Sets or (None) clears a row's node object."""
        node = None if node is None else self.view.node(node)
        self.node_count += (node is not None) - (self.nodes[row] is not None)
        self.nodes[row] = node
        self._published = None
        self.has_node.data[row] = node is not None
        self.amounts.put_node(row, *self._given(NO_RESOURCES if node is None else node.allocatable))
        for column in self._node_columns():
            column.put(row, node)
        self.images.put(row, node)
        self.log.node(row)
        if node is None:
            self._release(row)

    def put_nodes(self, rows: Sequence[int], nodes: Sequence[Node]) -> None:
        """As ``put_node`` of each, one after the other. rows: different ones, none of which has a node object."""
        by_amounts: dict[ResourceList, list[int]] = {}
        seen = list(map(self.view.node, nodes))
        for row, node in zip(rows, seen, strict=True):
            self.nodes[row] = node
            by_amounts.setdefault(node.allocatable, []).append(row)
            for column in self._node_columns():
                column.put(row, node)
            self.log.node(row)
        for allocatable, alike in by_amounts.items():
            self.amounts.put_nodes(alike, *self._given(allocatable))
        self.node_count += len(seen)
        self.has_node.data[rows] = True
        self._published = None
        self.images.put_many(rows, seen)

    def _given(self, allocatable: ResourceList) -> tuple[list[tuple[int, int]], int]:
        """What a node can give: (index of a resource, amount) of those that count, and how many pods it may have."""
        tracked = self.view.tracked
        amounts = [(self.resource(name), amount(name, many)) for name, many in allocatable.items() if tracked(name)]
        return amounts, amount(PODS, allocatable.get(PODS, 0))

    def _release(self, row: int) -> None:
        """Gives back a row that has neither a node object nor pods."""
        if self.nodes[row] is None and not self.pods[row]:
            del self.row_of[self.names[row]]
            self._order.drop(row, self.names[row])
            self.names[row] = ""
            self._free.append(row)
            self._all_names = self._published = None

    def resource(self, name: str) -> int:
        """A resource's index on the resource axis; a new one if it is new."""
        index = self.resources.get(name)
        if index is None:
            index = self.resources[name] = len(self.resources)
            self.amounts.resize(len(self.resources), len(self.names))
        return index

    def label(self, key: str) -> NodeColumn:
        """The column of a label key, built when it is first asked for."""
        column = self._labels.get(key)
        if column is None:
            column = self._labels[key] = NodeColumn(label_extractor(key), self.nodes)
        return column

    def node_property(self, extract: Callable[[Node], Hashable | None]) -> NodeColumn:
        """The column of what ``extract`` (a module-level function) reads off a node."""
        column = self._properties.get(extract)
        if column is None:
            column = self._properties[extract] = NodeColumn(extract, self.nodes)
        return column

    @property
    def published(self) -> tuple[tuple[str, ...], Mask]:
        """(row → name, (N,) bool the nodes that the release lists) as they are now; later changes leave them alone."""
        if self._published is None:
            known = self.has_node.view.copy()
            known.flags.writeable = False
            listed = known
            if self.view.unlisted is not None:
                listed = known & (self.node_property(self.view.unlisted).codes == ABSENT)
                listed.flags.writeable = False
            if self._all_names is None:
                self._all_names = tuple(self.names)
            self._published = self._all_names, listed
            self._known = None if listed is known else known
            self._listed_count = int(listed.sum())
        return self._published

    @property
    def known(self) -> Mask | None:
        """(N,) bool, the nodes there are, when the release may leave some out of its list; None: it lists them all."""
        _ = self.published
        return self._known

    @property
    def listed_count(self) -> int:
        """How many nodes the release lists."""
        _ = self.published
        return self._listed_count

    @property
    def ranks(self) -> IntArray:
        """(N,) int64: each row's place when the names are sorted bytewise, -1 for a row without a name."""
        return self._order.ranks(len(self.names))

    @property
    def rows_by_name(self) -> IntArray:
        """(n,) int64: the rows that have a name, sorted by it bytewise."""
        return self._order.rows(len(self.names))

    # --- pods ------------------------------------------------------------------------------

    def info(self, pod: Pod) -> PodInfo:
        """The pod's class, compiled once. A pod is decided on and placed next: the last answer is remembered."""
        if pod is self._asked_of:
            return self._answered
        key = self.view.pod_key(pod)
        info = self.infos.get(key) or self._recent.get(key)
        if info is None:
            info = PodInfo(key, *self._taken.of(key[2], self.resource))
            self._remember(info)
        self._asked_of, self._answered = pod, info
        return info

    def _remember(self, info: PodInfo) -> None:
        """Keeps a class of which no pod is placed; the oldest of them are forgotten."""
        self._recent[info.key] = info
        if len(self._recent) > RECENT_CLASSES:
            self._recent.popitem(last=False)

    def put_pod(self, row: int, pod: Pod, uid: str, info: PodInfo | None = None) -> PodInfo:
        """Counts a pod on a row, under a uid that is not there yet; its class. info: the same, where it is known."""
        info = info or self.info(pod)
        self.pods[row][uid] = pod
        if not info.rows:
            self._first_placed(info)
        info.rows[row] = info.rows.get(row, 0) + 1
        self._count(row, info, 1)
        return info

    def _first_placed(self, info: PodInfo) -> None:
        """Notes a class of which no pod was placed until now."""
        self._add_last(info)
        if info.may_have_affinity:
            self.affinity_uses.update(self.view.affinity_uses(info))
            self.uses_version += 1
            if not info.term_keys <= self.term_keys:
                self.term_keys |= info.term_keys
        self.counts.add_class(info)
        if info.spec.volumes:
            self.claim_users.add(info)

    def _add_last(self, info: PodInfo) -> None:
        """Makes a class that is not among the placed ones the last that came to be placed."""
        self.infos[info.key] = info
        self._recent.pop(info.key, None)
        self._asked_of = None
        self._placings += 1
        info.serial = self._placings

    def put_pods(self, rows: Sequence[int], pods: Sequence[Pod], uids: Sequence[str], infos: Sequence[PodInfo]) -> None:
        """As ``put_pod`` of each, one after the other. infos: the class of each."""
        by_class: dict[PodInfo, dict[int, int]] = {}
        for row, pod, uid, info in zip(rows, pods, uids, infos, strict=True):
            self.pods[row][uid] = pod
            counts = by_class.get(info)
            if counts is None:
                counts = by_class[info] = {}
                if not info.rows:
                    self._first_placed(info)
            counts[row] = counts.get(row, 0) + 1
        for info, counts in by_class.items():
            for row, count in counts.items():
                info.rows[row] = info.rows.get(row, 0) + count
            self._count_many(counts, info, 1)
        self._note_many(rows, infos)

    def take_pods(self, rows: Sequence[int], uids: Sequence[str], infos: Sequence[PodInfo]) -> None:
        """As ``take_pod`` of each, one after the other. infos: the class of each."""
        by_class: dict[PodInfo, dict[int, int]] = {}
        for row, uid, info in zip(rows, uids, infos, strict=True):
            del self.pods[row][uid]
            counts = by_class.setdefault(info, {})
            counts[row] = counts.get(row, 0) + 1
        for info, counts in by_class.items():
            self._count_many(counts, info, -1)
            for row, count in counts.items():
                info.rows[row] -= count
                if not info.rows[row]:
                    del info.rows[row]
            if not info.rows:
                self._none_placed(info)
        self._note_many(rows, infos)
        for row in dict.fromkeys(rows):
            if self.nodes[row] is None:
                self._release(row)

    def _count_many(self, counts: Mapping[int, int], info: PodInfo, sign: int) -> None:
        """Adds pods of a class to their nodes or takes them away, as ``_count`` does. counts: row → pods."""
        self.amounts.add_many(counts, info, sign)
        if self.counts.concern(info):
            for row, count in counts.items():
                self.counts.add(info, row, sign * count)

    def _note_many(self, rows: Sequence[int], infos: Sequence[PodInfo]) -> None:
        """Logs that a pod of a class came to a row or left it, for each."""
        self.log.pods_in_order(rows)
        for row in dict.fromkeys(rows):
            self.images.touched(row)
        for row, info in zip(rows, infos, strict=True):
            if info.may_have_affinity or self.nodes[row] is None:
                self.log.whole(Reads.AFFINITY_PODS)

    def take_pod(self, row: int, uid: str, info: PodInfo | None = None) -> Pod:
        """Removes the pod of a uid from a row and from every count; the pod. info: its class, where that is known."""
        pod = self.pods[row].pop(uid)
        if info is None:
            info = self.infos[self.view.pod_key(pod)]
        self._count(row, info, -1)
        if info.rows[row] > 1:
            info.rows[row] -= 1
        else:
            del info.rows[row]
            if not info.rows:
                self._none_placed(info)
        if self.nodes[row] is None:
            self._release(row)
        return pod

    def replace_pod(self, row: int, pod: Pod, uid: str, info: PodInfo) -> bool:
        """As ``take_pod`` and ``put_pod`` of a pod of the same class, in one step. info: the class that it had. False:
        nothing was done, as its class is another one, or would come anew with terms or volumes because this is its only
        pod, or the row has no node object.
        """
        if self.nodes[row] is None or self.view.pod_key(pod) != info.key:
            return False
        if info.rows[row] == 1:
            if len(info.rows) == 1:
                if info.may_have_affinity or info.spec.volumes:
                    return False
                del self.infos[info.key]
                self._add_last(info)
            info.rows[row] = info.rows.pop(row)
        pods = self.pods[row]
        del pods[uid]
        pods[uid] = pod
        self._note(row, info)
        return True

    def _none_placed(self, info: PodInfo) -> None:
        """Forgets a class of which the last pod has left."""
        del self.infos[info.key]
        self._remember(info)
        self.counts.drop_class(info)
        self.claim_users.drop(info)
        if info.may_have_affinity:
            self.affinity_uses -= Counter(self.view.affinity_uses(info))
        self.uses_version += info.may_have_affinity

    def _count(self, row: int, info: PodInfo, sign: int) -> None:
        """Adds a pod to its node or takes it away, and logs it."""
        self.amounts.add(row, info, sign)
        self.counts.add(info, row, sign)
        self._note(row, info)

    def _note(self, row: int, info: PodInfo) -> None:
        """Logs that a pod of a class came to a row, changed there or left it."""
        self.log.pods(row)
        self.images.touched(row)
        if info.may_have_affinity or self.nodes[row] is None:
            self.log.whole(Reads.AFFINITY_PODS)

    def lead_elsewhere(self, claims: Iterable[ClaimName]) -> None:
        """Notes that claims, or the volumes that they name, changed: counts of what pods use follow."""
        for info in {info: None for name in claims for info in self.claim_users.of(name)}:
            self.counts.renew(info)
            for row in info.rows:
                self.log.volumes(row)

    def copied(self) -> None:
        """Notes that the cluster is looked at for a pod: what is remembered as of then is brought up to date."""
        for row in self.images.copied():
            self.log.node(row)


Amounts = tuple[bytes, bytes, int, int, bytes, bytes]
"""What is counted on a row, for comparing."""

Taken = tuple[PodUsage, tuple[tuple[int, int], ...]]
"""(the amounts of pods of a spec, what they take by the resource's index)."""
MOST_SPECS = 1024


class RowAmounts:
    """Amounts by row, R of resources; cpu in millicores, everything else in whole units. Sums past 64 bits go round, as
    Go's do."""

    __slots__ = (
        "_known",
        "allocatable",
        "allocatable_set",
        "allowed_pods",
        "nonzero",
        "pod_count",
        "requested",
    )

    def __init__(self, resources: int) -> None:
        self.allocatable = Growable((resources, 0))
        """(R, N) what a node can give."""
        self.allocatable_set = Growable((resources, 0), np.bool_)
        """(R, N) bool: the node's status names the resource."""
        self.requested = Growable((resources, 0))
        """(R, N) what the pods there take."""
        self.nonzero = Growable((2, 0))
        """(2, N) millicores and bytes that they take, defaults filled in."""
        self.allowed_pods = Growable((0,))
        """(N,) how many pods may be there."""
        self.pod_count = Growable((0,))
        """(N,) how many are there."""
        self._known: list[Amounts | None] = []

    def resize(self, resources: int, rows: int) -> None:
        """Makes room for so many resources and rows."""
        if resources != self.requested.shape[0]:
            self._known = []
        self._known += [None] * (rows - len(self._known))
        for table in (self.allocatable, self.allocatable_set, self.requested):
            table.resize(resources, rows)
        self.nonzero.resize(2, rows)
        self.allowed_pods.resize(rows)
        self.pod_count.resize(rows)

    def put_node(self, row: int, allocatable: Iterable[tuple[int, int]], allowed_pods: int) -> None:
        """Sets what a node can give. allocatable: (index of a resource, amount), of those that its status names."""
        self._known[row] = None
        self._give(row, allocatable, allowed_pods)

    def put_nodes(self, rows: list[int], allocatable: Iterable[tuple[int, int]], allowed_pods: int) -> None:
        """The same for several nodes that can give the same."""
        for row in rows:
            self._known[row] = None
        self._give(rows, allocatable, allowed_pods)

    def _give(self, at: int | list[int], allocatable: Iterable[tuple[int, int]], allowed_pods: int) -> None:
        self.allocatable.data[:, at] = 0
        self.allocatable_set.data[:, at] = False
        for index, value in allocatable:
            self.allocatable.data[index, at] = value
            self.allocatable_set.data[index, at] = True
        self.allowed_pods.data[at] = allowed_pods

    def add(self, row: int, info: PodInfo, count: int) -> None:
        """Adds so many pods of a class to a row, or takes them away."""
        self._known[row] = None
        requested, nonzero, pods = self.requested.data, self.nonzero.data, self.pod_count.data
        for index, value in info.used:
            now = requested.item(index, row) + count * value
            requested[index, row] = now if -MOST <= now < MOST else wrap(now)
        for index, value in enumerate(info.usage.nonzero):
            now = nonzero.item(index, row) + count * value
            nonzero[index, row] = now if -MOST <= now < MOST else wrap(now)
        pods[row] = pods.item(row) + count

    def add_many(self, counts: Mapping[int, int], info: PodInfo, sign: int) -> None:
        """The same for several rows at once. counts: row → pods; sign: 1 adds them, -1 takes them away."""
        if len(counts) <= FEW_ROWS:
            for row, count in counts.items():
                self.add(row, info, sign * count)
            return
        for row in counts:
            self._known[row] = None
        at = np.fromiter(counts.keys(), np.int64, len(counts))
        many = sign * np.fromiter(counts.values(), np.int64, len(counts))
        cpu, memory = info.usage.nonzero
        with np.errstate(over="ignore"):
            for index, value in info.used:
                self.requested.data[index, at] += many * value
            self.nonzero.data[0, at] += many * cpu
            self.nonzero.data[1, at] += many * memory
        self.pod_count.data[at] += many

    def of(self, row: int) -> Amounts:
        """What is counted on a row: equal for two rows if the amounts that can be allocated and are requested, with
        defaults filled in and without, and the pods there and allowed are; the same object while nothing changes."""
        known = self._known[row]
        if known is None:
            known = self._known[row] = (
                self.requested.view[:, row].tobytes(),
                self.nonzero.view[:, row].tobytes(),
                self.pod_count.data.item(row),
                self.allowed_pods.data.item(row),
                self.allocatable.view[:, row].tobytes(),
                self.allocatable_set.view[:, row].tobytes(),
            )
        return known


class SpecAmounts:
    """The amounts of pods by their spec, which many classes have in common; those first asked for are forgotten."""

    __slots__ = ("_accounting", "_known")

    def __init__(self, accounting: Accounting) -> None:
        self._accounting = accounting
        self._known: OrderedDict[PodSpec, Taken] = OrderedDict()

    def of(self, spec: PodSpec, index: Callable[[str], int]) -> Taken:
        """What pods of a spec take. index: of a resource by its name, always the same."""
        found = self._known.get(spec)
        if found is None:
            usage = self._accounting(spec)
            found = self._known[spec] = usage, tuple((index(name), value) for name, value in usage.used.items())
            if len(self._known) > MOST_SPECS:
                self._known.popitem(last=False)
        return found
