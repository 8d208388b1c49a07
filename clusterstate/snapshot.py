"""The read-only cluster of one decision: columns over all rows, or over some of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.columns import Amounts, Columns
from clusterstate.growable import Growable, IntArray, Mask
from clusterstate.objects import Node, Pod
from clusterstate.pod_counts import ClaimName, Ids, Tally, Weight
from clusterstate.podinfo import PodInfo, Reach, Use

T = TypeVar("T")


class PodChange(msgspec.Struct, frozen=True):
    """A pod that is hypothetically added to a row, or removed from it."""

    row: int
    info: PodInfo
    sign: int
    """1: added, -1: removed."""
    nominated: bool = False
    """Whether it is there only as a nomination, without spec.nodeName."""
    pod: Pod | None = None
    """The pod itself, for algorithms that look at single pods."""


class Snapshot:
    """What rules read. Every array has n = len(snapshot) as its last axis, int64 unless said otherwise.

    rows: (n,) the rows it is over, ascending or as they were given; None: all N rows.
    changes: pods hypothetically added to rows or removed from them; every array and count of this snapshot
    includes them, and nothing else does.

    Arrays are read-only views: they are current until the cache next changes.
    """

    __slots__ = ("_columns", "_picked", "_size", "changes", "objects", "rows")

    def __init__(
        self,
        columns: Columns,
        objects: ClusterObjects,
        rows: IntArray | None = None,
        changes: Sequence[PodChange] = (),
    ) -> None:
        self._columns = columns
        self.objects = objects
        self.rows = rows
        self.changes = changes
        self._size = len(columns.names) if rows is None else len(rows)
        self._picked: dict[Growable, Any] = {}

    def __len__(self) -> int:
        return self._size

    def take(self, rows: IntArray) -> Snapshot:
        """The same cluster over some rows (numbers of the whole cluster's rows)."""
        return Snapshot(self._columns, self.objects, rows, self.changes)

    def only(self, rows: IntArray) -> Snapshot:
        """As ``take``; itself, which copies nothing, where the rows are all of the cluster's in their order."""
        if self.rows is None and len(rows) == self._size and bool((rows == np.arange(self._size)).all()):
            return self
        return self.take(rows)

    def whole(self) -> Snapshot:
        """The same cluster, changes included, over all rows."""
        return self if self.rows is None else Snapshot(self._columns, self.objects, None, self.changes)

    def what_if(self, changes: Sequence[PodChange]) -> Snapshot:
        """The same rows with further pods hypothetically added or removed."""
        return Snapshot(self._columns, self.objects, self.rows, (*self.changes, *changes))

    def until(self, count: int) -> Snapshot:
        """The same rows with only the first ``count`` of the changes."""
        return Snapshot(self._columns, self.objects, self.rows, self.changes[:count])

    # --- nodes -----------------------------------------------------------------------------

    @property
    def row_numbers(self) -> IntArray:
        """(n,) the rows as numbers, also when the snapshot is over all of them."""
        return np.arange(self._size) if self.rows is None else self.rows

    @property
    def names(self) -> list[str]:
        """The names of the rows' nodes."""
        names = self._columns.names
        return names if self.rows is None else [names[row] for row in self.rows]

    def node(self, row: int) -> Node | None:
        """The node object of a row of the whole cluster."""
        return self._columns.nodes[row]

    def row_of(self, name: str) -> int | None:
        """The row of a node by name, None when the cache knows none."""
        return self._columns.row_of.get(name)

    @property
    def known_names(self) -> Container[str]:
        """The node names of the whole cluster."""
        return self._columns.row_of

    @property
    def node_count(self) -> int:
        """Nodes with an object, in the whole cluster."""
        return self._columns.node_count

    @property
    def has_node(self) -> Mask:
        """(n,) bool: the row has a node object (it may have only pods)."""
        out: Mask = self._pick(self._columns.has_node)
        return out

    def _pick(self, table: Growable) -> Any:
        if self.rows is None:
            return table.view
        if self._size == 1:
            row = self.rows[0]
            return table.view[..., row : row + 1]
        picked = self._picked.get(table)
        if picked is None:
            picked = self._picked[table] = table.view[..., self.rows]
            picked.flags.writeable = False
        return picked

    def label_codes(self, key: str) -> tuple[IntArray, dict[str, int]]:
        """((n,) codes of a label's values, value → code); code 0: the node lacks the key."""
        column = self._columns.label(key)
        return (column.codes if self.rows is None else column.codes[self.rows]), column.index

    def label_values(self, key: str) -> list[str]:
        """code → value of a label key; [0] stands for absent and is None."""
        return self._columns.label(key).values

    def spread_label(self, key: str, function: Callable[[str | None], Any], dtype: Any = np.bool_) -> Any:
        """(n,) function(value of the label, None when absent), called once per distinct value."""
        column = self._columns.label(key)
        return column.spread(function, column.codes if self.rows is None else column.codes[self.rows], dtype)

    def spread(
        self, extract: Callable[[Node], Hashable | None], function: Callable[[Any], Any], dtype: Any = np.bool_
    ) -> Any:
        """(n,) function(extract(node)), called once per distinct extracted value; None: no value or no node.

        ``extract`` is a module-level function: it names the column.
        """
        column = self._columns.node_property(extract)
        return column.spread(function, column.codes if self.rows is None else column.codes[self.rows], dtype)

    def property_codes(self, extract: Callable[[Node], Hashable | None]) -> tuple[IntArray, list[Any]]:
        """((n,) codes, code → value) of what ``extract`` reads off nodes; code 0 is None."""
        column = self._columns.node_property(extract)
        return (column.codes if self.rows is None else column.codes[self.rows]), column.values

    def image(self, name: str) -> tuple[IntArray, IntArray]:
        """((n,) size in bytes, (n,) number of nodes that have it, as remembered with the node) of an image name."""
        sizes, counts = self._columns.images.column(name, len(self._columns.names))
        return (sizes, counts) if self.rows is None else (sizes[self.rows], counts[self.rows])

    # --- resources -------------------------------------------------------------------------

    def resource(self, name: str) -> int | None:
        """A resource's index on the resource axis R, None when nothing has it."""
        return self._columns.resources.get(name)

    @property
    def resources(self) -> Mapping[str, int]:
        """Resource name → index on the resource axis."""
        return self._columns.resources

    @property
    def allocatable(self) -> IntArray:
        """(R, n) millicores, bytes, bytes, then scalar resources."""
        out: IntArray = self._pick(self._columns.allocatable)
        return out

    @property
    def allocatable_set(self) -> Mask:
        """(R, n) bool: the node's status names the resource."""
        out: Mask = self._pick(self._columns.allocatable_set)
        return out

    @property
    def allowed_pods(self) -> IntArray:
        """(n,) allocatable pods."""
        out: IntArray = self._pick(self._columns.allowed_pods)
        return out

    @property
    def requested(self) -> IntArray:
        """(R, n) what the pods there take."""
        out: IntArray = self._pick(self._columns.requested)
        for at, change in self._changes_here():
            out = out.copy() if not out.flags.writeable else out
            for index, value in change.info.used:
                out[index, at] += change.sign * value
        return out

    @property
    def nonzero(self) -> IntArray:
        """(2, n) millicores and bytes requested, defaults filled in."""
        out: IntArray = self._pick(self._columns.nonzero)
        for at, change in self._changes_here():
            out = out.copy() if not out.flags.writeable else out
            out[0, at] += change.sign * change.info.usage.nonzero[0]
            out[1, at] += change.sign * change.info.usage.nonzero[1]
        return out

    @property
    def pod_count(self) -> IntArray:
        """(n,) pods there."""
        out: IntArray = self._pick(self._columns.pod_count)
        for at, change in self._changes_here():
            out = out.copy() if not out.flags.writeable else out
            out[at] += change.sign
        return out

    def amounts(self, row: int) -> Amounts:
        """What is counted on a row of the whole cluster, without the changes: equal for two rows if the amounts that
        can be allocated and are requested, with defaults filled in and without, and the pods there and allowed are."""
        return self._columns.amounts.of(row)

    def _changes_here(self) -> list[tuple[int, PodChange]]:
        """The changes on this snapshot's rows, with their position."""
        if not self.changes:
            return []
        if self.rows is None:
            return [(change.row, change) for change in self.changes]
        at = {int(row): i for i, row in enumerate(self.rows)}
        return [(at[change.row], change) for change in self.changes if change.row in at]

    # --- pods ------------------------------------------------------------------------------

    def tally(
        self,
        key: Hashable,
        topology_key: str | None,
        weight: Weight,
        reach: Reach = None,
        *,
        follows_claims: bool = False,
    ) -> Tally:
        """The running count of Σ weight(class) over running pods, by domain of ``topology_key`` (None: by node).

        ``key`` names it: equal keys must mean equal weights. It is kept current from then on. reach: marks of which
        every class has one whose weight is other than 0, so that no others are looked at; None: all are.
        follows_claims: whether the weight follows from what claims lead to, besides the class.
        """
        columns = self._columns
        column = None if topology_key is None else columns.label(topology_key)
        return columns.counts.tally(key, column, len(columns.names), weight, reach, follows_claims=follows_claims)

    def are_current(self, tallies: Iterable[Tally]) -> bool:
        """Whether counts that were asked for earlier are still what ``tally`` would give."""
        size = len(self._columns.names)
        return all(tally.kept and tally.is_current(size) for tally in tallies)

    def domain_sums(self, tally: Tally, *, nominated: bool = True) -> IntArray:
        """(D,) a tally's sum per domain code (code 0: key absent), changes included."""
        sums = tally.sums
        for change in self.changes:
            if nominated or not change.nominated:
                weight = tally.weight(change.info)
                if weight:
                    sums = sums.copy() if sums is tally.sums else sums
                    sums[tally.domain_of(change.row)] += change.sign * weight
        return sums

    def counts(self, tally: Tally, *, nominated: bool = True) -> IntArray:
        """(n,) the tally's sum in each row's domain; 0 where the node lacks the topology key.

        nominated: whether pods that were added as nominations only are counted.
        """
        sums = self.domain_sums(tally, nominated=nominated)
        if tally.column is None and self.rows is None:
            return sums[: self._size]
        return tally.counts(sums, self.rows)

    def union_sizes(self, key: Hashable, ids: Ids, new: frozenset[str], version: int) -> IntArray:
        """(n,) how many distinct ids (``ids(class)`` of each pod there) a node would have with ``new`` on top.

        ``key`` names the count, ``version`` what the ids were worked out from besides claims and volumes.
        """
        distinct = self._columns.counts.distinct(key, ids, version)
        return distinct.union_sizes(new, self.row_numbers, [(c.row, c.info, c.sign) for c in self.changes])

    def derived(self, key: Hashable, reads: Reads, build: Callable[[], T]) -> T:
        """What ``build`` made, kept under ``key`` until something in ``reads`` changes."""
        version = self.version(reads)
        kept = self._columns.derived.get(key)
        if kept is None or kept[0] != version:
            kept = self._columns.derived[key] = version, build()
        value: T = kept[1]
        return value

    @property
    def affinity_uses(self) -> Collection[Use]:
        """(sort of term, topology key) that the terms of running pods use; without the changes."""
        return self._columns.affinity_uses.keys()

    @property
    def uses_version(self) -> int:
        """A number that grows whenever terms of running pods may use other topology keys or read other labels."""
        return self._columns.uses_version

    @property
    def term_keys(self) -> frozenset[str]:
        """The keys of the labels that terms of pod affinity read, of all running and hypothetically added pods."""
        keys = self._columns.term_keys
        for change in self.changes:
            if not change.info.term_keys <= keys:
                keys |= change.info.term_keys
        return keys

    def running(self, reach: Reach = None) -> list[PodInfo]:
        """The classes of all running pods, each with ``rows`` (row → number of pods); without the changes.

        reach: only those that have one of these marks, in the same order.
        """
        return self._columns.counts.placed(reach)

    def users_of(self, claim: ClaimName) -> Collection[PodInfo]:
        """The classes of running pods that use a claim, each with ``rows``; without the changes."""
        return self._columns.claim_users.of(claim)

    def info(self, pod: Pod) -> PodInfo:
        """A pod's class."""
        return self._columns.info(pod)

    def pods_on(self, row: int) -> list[Pod]:
        """The pods of a row, in order of arrival; without the changes."""
        return list(self._columns.pods[row].values())

    def version(self, reads: Reads) -> int:
        """A number that grows whenever something in ``reads`` changes."""
        return self._columns.log.version(reads)
