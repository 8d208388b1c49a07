"""The counts over placed pods that are kept as pods come and go: tallies by topology domain, distinct ids of volumes,
and who uses a claim."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

import numpy as np

from clusterstate.changes import Log
from clusterstate.growable import ABSENT, Growable, IntArray, NodeColumn, constant_row
from clusterstate.objects import ClaimVolume, EphemeralClaim
from clusterstate.podinfo import Mark, PodInfo, Reach

Weight = Callable[[PodInfo], int]
"""What one running pod of a class adds to its domain; 0 for a class that does not take part."""


FEW_ROWS = 4
"""Rows that are added up one by one sooner than as an array."""
LONGEST = 1 << 10


class DomainLog(Log[int]):
    """The codes of the domains of which something has changed, in order."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(LONGEST)

    def forget(self) -> None:
        """All domains may have changed."""
        self.start = self.position + 1
        self.entries.clear()


class Tally:
    """Σ weight of the running pods in each domain of a topology.

    column: the topology, a label column; None when every row is its own domain.
    sums: (D,) int64, by domain code. Code 0 (the key is absent) gathers pods that count nowhere.
    follows_claims: whether the weight follows from what claims lead to, besides the class.
    kept: whether pods that come and go are still counted; if not, it has to be asked for anew.
    moved: the domains whose sum changed. turned: those of them where its sign did.
    """

    __slots__ = (
        "_built",
        "column",
        "follows_claims",
        "kept",
        "moved",
        "reach",
        "sums",
        "turned",
        "weight",
    )

    def __init__(self, column: NodeColumn | None, weight: Weight, reach: Reach = None) -> None:
        """reach: of which classes the weight may be other than 0."""
        self.column = column
        self.weight = weight
        self.reach = reach
        self.follows_claims = False
        self.kept = True
        self.sums: IntArray = np.zeros(0, np.int64)
        self.moved, self.turned = DomainLog(), DomainLog()
        self._built = -1

    def build(self, infos: Iterable[PodInfo], size: int) -> list[tuple[PodInfo, int]]:
        """Counts from scratch over the placed pod classes; those that count, with their weights."""
        found: list[tuple[PodInfo, int]] = []
        self.sums = np.zeros(self._room(size), np.int64)
        self.moved.forget()
        self.turned.forget()
        self._built = self.column.version if self.column else 0
        codes = self.column.codes if self.column else None
        for info in infos:
            weight = self.weight(info)
            if weight:
                found.append((info, weight))
                self._add_all(info.rows, codes, weight)
        return found

    def _add_all(self, placed: Mapping[int, int], codes: IntArray | None, weight: int) -> None:
        """placed: row → pods there."""
        if len(placed) <= FEW_ROWS:
            for row, count in placed.items():
                self.sums[row if codes is None else codes[row]] += count * weight
            return
        rows = np.fromiter(placed.keys(), np.int64, len(placed))
        counts = np.fromiter(placed.values(), np.int64, len(placed))
        np.add.at(self.sums, rows if codes is None else codes[rows], counts * weight)

    def _room(self, size: int) -> int:
        return size if self.column is None else len(self.column.values)

    def is_current(self, size: int) -> bool:
        """Whether the topology is still the one it was built over; appended domains are made room for."""
        if self.column is not None and self._built != self.column.version:
            return False
        room = self._room(size)
        if len(self.sums) < room:
            self.sums = np.concatenate([self.sums, np.zeros(room - len(self.sums), np.int64)])
        return True

    def add(self, row: int, amount: int) -> None:
        """Counts ``amount`` more pods on a row, or fewer where it is negative."""
        if self.column is None:
            if row >= len(self.sums):
                self.sums = np.concatenate([self.sums, np.zeros(row + 1 - len(self.sums), np.int64)])
            code = row
        elif self._built == self.column.version:
            code = self.column.codes.item(row)
        else:
            return
        before = self.sums.item(code)
        now = self.sums[code] = before + amount
        self.moved.note(code)
        if (before > 0) is not (now > 0) or (before < 0) is not (now < 0):
            self.turned.note(code)

    def domain_of(self, row: int) -> int:
        """The index in ``sums`` that a row counts to: its domain's code, or the row itself without a column."""
        return row if self.column is None else int(self.column.codes[row])

    def counts(self, sums: IntArray, rows: IntArray | None) -> IntArray:
        """``sums`` laid over the rows: (n,) int64, 0 where the topology key is absent."""
        if self.column is None:
            return sums if rows is None else sums[rows]
        if rows is None and (code := self.column.everywhere) is not None:
            return constant_row(sums.item(code) if code != ABSENT else 0, len(self.column.codes))
        codes = self.column.codes if rows is None else self.column.codes[rows]
        out: IntArray = sums[codes]
        if sums[ABSENT]:
            out[codes == ABSENT] = 0
        return out


class Reached:
    """Which placed pod classes and running counts may concern one another, found by marks and not one by one."""

    __slots__ = ("_classes", "_everywhere", "_new", "_tallies")

    def __init__(self) -> None:
        self._classes: dict[Mark, dict[PodInfo, None]] = {}
        self._new: dict[PodInfo, None] = {}
        self._tallies: dict[Mark, dict[Tally, None]] = {}
        self._everywhere: dict[Tally, None] = {}

    def add_class(self, info: PodInfo) -> None:
        """A class of which the first pod was placed; it is filed when classes are next looked for."""
        self._new[info] = None

    def drop_class(self, info: PodInfo) -> None:
        """A class of which the last pod has left."""
        if info in self._new:
            del self._new[info]
            return
        for mark in info.marks:
            found = self._classes[mark]
            del found[info]
            if not found:
                del self._classes[mark]

    def classes(self, reach: frozenset[Mark]) -> Iterable[PodInfo]:
        """The placed classes that have one of the marks, each once."""
        for info in self._new:
            for mark in info.marks:
                self._classes.setdefault(mark, {})[info] = None
        self._new.clear()
        if len(reach) == 1:
            return self._classes.get(next(iter(reach)), ())
        return {info: None for mark in reach for info in self._classes.get(mark, ())}

    @property
    def wide_tallies(self) -> int:
        """How many kept counts may concern any class."""
        return len(self._everywhere)

    def add_tally(self, tally: Tally) -> None:
        """A count that is kept from now on."""
        if tally.reach is None:
            self._everywhere[tally] = None
            return
        for mark in tally.reach:
            self._tallies.setdefault(mark, {})[tally] = None

    def drop_tally(self, tally: Tally) -> None:
        """A count that is kept no longer."""
        if tally.reach is None:
            del self._everywhere[tally]
            return
        for mark in tally.reach:
            found = self._tallies[mark]
            del found[tally]
            if not found:
                del self._tallies[mark]

    def tallies(self, info: PodInfo) -> Iterable[Tally]:
        """The kept counts whose weight for a class may be other than 0, each once."""
        if not self._tallies:
            return tuple(self._everywhere)
        near = {tally: None for mark in info.marks for tally in self._tallies.get(mark, ())}
        return (*self._everywhere, *near)


Ids = Callable[["PodInfo"], frozenset[str]]
"""The things that a pod of this class uses."""


class DistinctIds:
    """The ids in use on each row; only pods with ids cost anything.

    holders: id → row → number of pods there that use it. sizes: row → number of distinct ids there.
    version: what the ids were worked out from besides claims and volumes, whose changes ``renew`` follows.
    """

    __slots__ = ("_holders", "_ids", "_memo", "_sizes", "version")

    def __init__(self, ids: Ids, infos: Iterable[PodInfo], version: int) -> None:
        self._ids = ids
        self._memo: dict[PodInfo, frozenset[str]] = {}
        self._holders: dict[str, dict[int, int]] = {}
        self._sizes = Growable((0,))
        self.version = version
        for info in infos:
            if self._of(info):
                for row, count in info.rows.items():
                    self.add(info, row, count)

    def _of(self, info: PodInfo) -> frozenset[str]:
        ids = self._memo.get(info)
        if ids is None:
            ids = self._memo[info] = self._ids(info)
        return ids

    def add(self, info: PodInfo, row: int, amount: int) -> None:
        """Counts ``amount`` more pods of a class on a row, or fewer where it is negative."""
        for name in self._of(info):
            holders = self._holders.setdefault(name, {})
            before = holders.get(row, 0)
            after = before + amount
            if after:
                holders[row] = after
            else:
                del holders[row]
                if not holders:
                    del self._holders[name]
            self._reach(row)
            self._sizes.data[row] += (after > 0) - (before > 0)

    def _reach(self, row: int) -> None:
        if row >= self._sizes.shape[0]:
            self._sizes.resize(row + 1)

    def renew(self, info: PodInfo) -> None:
        """Works out anew what the placed pods of a class use."""
        before, now = self._memo.get(info), self._ids(info)
        if before is None or before == now:
            return
        for row, count in info.rows.items():
            self.add(info, row, -count)
        self._memo[info] = now
        for row, count in info.rows.items():
            self.add(info, row, count)

    def drop(self, info: PodInfo) -> None:
        """Forgets a class that has no pods left."""
        self._memo.pop(info, None)

    def union_sizes(self, new: frozenset[str], rows: IntArray, deltas: Iterable[tuple[int, PodInfo, int]]) -> IntArray:
        """(n,) int64: how many ids row n would use with ``new`` on top; ``deltas`` are (row, class, ±1)."""
        if len(rows):
            self._reach(int(rows.max()))
        sizes = self._sizes.view
        both = np.zeros(len(sizes), np.int64)
        for name in new:
            for row in self._holders.get(name, ()):
                both[row] += 1
        out: IntArray = (sizes - both)[rows] + len(new)
        for row, gained in self._gained(new, deltas).items():
            out[rows == row] += gained
        return out

    def _gained(self, new: frozenset[str], deltas: Iterable[tuple[int, PodInfo, int]]) -> dict[int, int]:
        """Row → by how many ids outside ``new`` the deltas raise it."""
        pods: Counter[tuple[int, str]] = Counter()
        for row, info, sign in deltas:
            ids = self._memo.get(info)
            for name in self._ids(info) if ids is None else ids:
                pods[row, name] += sign
        out: dict[int, int] = {}
        for (row, name), amount in pods.items():
            if name not in new:
                before = self._holders.get(name, {}).get(row, 0)
                out[row] = out.get(row, 0) + (before + amount > 0) - (before > 0)
        return out


ClaimName = tuple[str, str]
"""(namespace, name)."""


class ClaimUsers:
    """Claim → the placed pod classes with a volume that leads to it."""

    __slots__ = ("_users",)

    def __init__(self) -> None:
        self._users: dict[ClaimName, dict[PodInfo, None]] = {}

    def add(self, info: PodInfo) -> None:
        """A class of which the first pod was placed."""
        for name in _claims(info):
            self._users.setdefault(name, {})[info] = None

    def drop(self, info: PodInfo) -> None:
        """A class of which the last pod has left."""
        for name in _claims(info):
            users = self._users[name]
            del users[info]
            if not users:
                del self._users[name]

    def of(self, name: ClaimName) -> Collection[PodInfo]:
        """The placed classes that use a claim, each once."""
        return self._users.get(name, ())


def _claims(info: PodInfo) -> Collection[ClaimName]:
    volumes = info.spec.volumes
    if not volumes:
        return ()
    named = (volume for volume in volumes if isinstance(volume, ClaimVolume | EphemeralClaim))
    return dict.fromkeys((info.namespace, volume.claim_name) for volume in named)


MOST_TALLIES = 256
"""Counts that are kept however many rows there are, and those that may concern any class, of which no more are."""
TALLY_ROWS = 1 << 23
"""Rows and domains of all counts; beyond that there are no more than MOST_TALLIES."""
TALLY_OVERHEAD = 1 << 10
"""What a count takes besides, in rows."""


class PodCounts:
    """Counts over the pods of the placed classes; each is built when it is first asked for, and kept current then."""

    def __init__(self, infos: Collection[PodInfo]) -> None:
        """infos: the placed classes, a view that follows them."""
        self._infos = infos
        self._tallies: OrderedDict[Hashable, Tally] = OrderedDict()
        self._tally_rows = 0
        self._reached = Reached()
        self._distinct: dict[Hashable, DistinctIds] = {}

    # --- pods that come and go -------------------------------------------------------------

    def add_class(self, info: PodInfo) -> None:
        """A class of which no pod was placed until now; finds the tallies that its pods count in."""
        self._reached.add_class(info)
        found = self._reached.tallies(info) if self._tallies else ()
        info.tallies = [(tally, weight) for tally in found if (weight := tally.weight(info))] if found else []

    def drop_class(self, info: PodInfo) -> None:
        """A class of which the last pod has left."""
        self._reached.drop_class(info)
        for distinct in self._distinct.values():
            distinct.drop(info)

    def concern(self, info: PodInfo) -> bool:
        """Whether ``add`` may change a count for pods of a class."""
        return bool(info.tallies or self._distinct)

    def add(self, info: PodInfo, row: int, count: int) -> None:
        """Counts so many more pods of a class on a row, or fewer where it is negative."""
        for tally, weight in info.tallies:
            tally.add(row, count * weight)
        for distinct in self._distinct.values():
            distinct.add(info, row, count)

    def renew(self, info: PodInfo) -> None:
        """Works out anew what the placed pods of a class count for, as claims that they use lead elsewhere."""
        for distinct in self._distinct.values():
            distinct.renew(info)
        for tally in self._tallies.values():
            if tally.follows_claims:
                _weigh(tally, info)

    # --- what is asked for -----------------------------------------------------------------

    def tally(
        self,
        key: Hashable,
        column: NodeColumn | None,
        size: int,
        weight: Weight,
        reach: Reach = None,
        *,
        follows_claims: bool = False,
    ) -> Tally:
        """See ``Snapshot.tally``; counted from scratch only when it is new or its topology changed.

        column: the topology; None: every row is a domain. size: rows of the cluster.
        """
        tally = self._tallies.get(key)
        if tally is None:
            tally = Tally(column, weight, reach)
            tally.follows_claims = follows_claims
            for info, value in tally.build(self._concerned(tally), size):
                info.tallies.append((tally, value))
            self._tallies[key] = tally
            self._tally_rows += len(tally.sums) + TALLY_OVERHEAD
            self._reached.add_tally(tally)
            self._forget_oldest()
        else:
            self._tallies.move_to_end(key)
            if not tally.is_current(size):
                tally.build(self._concerned(tally), size)
        return tally

    def by_key(self) -> dict[Hashable, Tally]:
        """The tallies that are kept, the one not asked for the longest time first."""
        return dict(self._tallies)

    def _concerned(self, tally: Tally) -> Iterable[PodInfo]:
        return self._infos if tally.reach is None else self._reached.classes(tally.reach)

    def placed(self, reach: Reach) -> list[PodInfo]:
        """The placed classes that have one of the marks (None: all), in the order in which they came."""
        if reach is None:
            return list(self._infos)
        return sorted(self._reached.classes(reach), key=lambda info: info.serial)

    def _forget_oldest(self) -> None:
        """Gives up half of the counts, those not asked for the longest time, once there are too many."""
        oldest: list[Hashable] = []
        if len(self._tallies) > MOST_TALLIES and self._tally_rows > TALLY_ROWS:
            oldest = list(self._tallies)[: len(self._tallies) // 2]
        elif self._reached.wide_tallies > MOST_TALLIES:
            oldest = [key for key, tally in self._tallies.items() if tally.reach is None][: MOST_TALLIES // 2]
        if not oldest:
            return
        gone = {self._tallies.pop(key): None for key in oldest}
        concerned = {info: None for tally in gone for info in self._concerned(tally)}
        self._tally_rows = sum(len(tally.sums) + TALLY_OVERHEAD for tally in self._tallies.values())
        for tally in gone:
            tally.kept = False
            self._reached.drop_tally(tally)
        for info in concerned:
            info.tallies = [entry for entry in info.tallies if entry[0] not in gone]

    def distinct(self, key: Hashable, ids: Ids, version: int) -> DistinctIds:
        """The distinct ids that ``ids`` finds in pods, by row; worked out anew when ``version`` changes."""
        distinct = self._distinct.get(key)
        if distinct is None or distinct.version != version:
            distinct = self._distinct[key] = DistinctIds(ids, self._infos, version)
        return distinct


def _weigh(tally: Tally, info: PodInfo) -> None:
    """Works out anew what the placed pods of a class add to a count."""
    before, now = sum(weight for other, weight in info.tallies if other is tally), tally.weight(info)
    if now != before:
        for row, count in info.rows.items():
            tally.add(row, count * (now - before))
        kept = [entry for entry in info.tallies if entry[0] is not tally]
        info.tallies = [*kept, (tally, now)] if now else kept
