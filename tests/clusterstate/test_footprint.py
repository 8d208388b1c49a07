"""Which rows a pod that comes or goes matters to."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clusterstate.changes import Reads, flags_of
from clusterstate.footprint import ReadOf, ScopeReading, TopologyScope, every_sign, every_sum
from clusterstate.objects import Affinity, LabelSelector, PodAffinity, PodAffinityTerm
from clusterstate.pod_counts import Tally
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from tests.support.build import Cluster, labels, make_node, make_pod

HOST, ZONE = "host", "zone"
NODES = [make_node(f"n{at}", {HOST: f"n{at}", ZONE: zone}) for at, zone in enumerate("aabb")]
LAST = make_node("n4", {HOST: "n4"})
"""Row 4, which is in no zone."""
TERMS = Affinity(None, None, PodAffinity((PodAffinityTerm(ZONE, LabelSelector(labels({"app": "z"}))),)))


def weight(info: PodInfo) -> int:
    """1 for pods of app a."""
    return int(info.labels.get("app") == "a")


class Reading:
    """A reading of how many pods of app a there are by zone and host, and how often its scope was found."""

    def __init__(self, read: ReadOf, *, alone: bool = False) -> None:
        """alone: whether there is any such pod is read besides."""
        self.cluster = Cluster([*NODES, LAST])
        self.read, self.found = read, 0
        self._alone = alone
        self.reading = ScopeReading(self.scope, flags_of(Reads.NAMESPACES))

    def tallies(self, snapshot: Snapshot) -> list[Tally]:
        return [snapshot.tally((key, "a"), key, weight) for key in (ZONE, HOST)]

    def scope(self, _: PodInfo, snapshot: Snapshot) -> TopologyScope:
        self.found += 1
        if not self._alone:
            return TopologyScope(snapshot, self.tallies(snapshot), self.read)
        return TopologyScope(snapshot, self.tallies(snapshot), self.read, self.is_somewhere)

    def is_somewhere(self, snapshot: Snapshot) -> bool:
        return bool(self.tallies(snapshot)[1].sums[1:].any())

    def rows(self, most: int = 9) -> list[int] | None:
        """The rows that have changed, ascending."""
        found = self.reading.changed_rows(
            self.cluster.info(make_pod()), self.cluster.snapshot, self.cluster.columns.log, most
        )
        return None if found is None else sorted(found)

    def known(self) -> Reading:
        """The same with its scope found."""
        assert [self.rows(), self.rows()] == [None, None]
        return self

    def comes(self, name: str, row: int, app: str = "a", affinity: Affinity | None = None) -> None:
        self.cluster.columns.put_pod(row, make_pod(name, {"app": app}, affinity=affinity), name)

    def goes(self, name: str, row: int) -> None:
        self.cluster.columns.take_pod(row, name)


def test_something_else_that_the_rule_reads() -> None:
    """Other pods may be counted then: the scope is found anew."""
    reading = Reading(every_sum).known()
    reading.cluster.columns.log.whole(Reads.NAMESPACES)
    assert [(reading.rows(), reading.found) for _ in range(2)] == [(None, 2), ([], 2)]


STEPS: dict[str, tuple[ReadOf, Callable[[Reading], None], list[int] | None]] = {
    "a pod that counts": (every_sum, lambda r: r.comes("2", 2), [2, 3]),
    "a pod that does not": (every_sum, lambda r: r.comes("2", 2, "b"), []),
    "one more in a domain": (every_sum, lambda r: r.comes("2", 0), [0, 1]),
    "one more, as signs are read": (every_sign, lambda r: r.comes("2", 0), []),
    "one more on another host of the zone": (every_sign, lambda r: r.comes("2", 1), [1]),
    "the last of a domain": (every_sign, lambda r: r.goes("1", 0), [0, 1]),
    "on a node without a zone": (every_sum, lambda r: r.comes("2", 4), [4]),
    "with terms of its own": (every_sum, lambda r: r.comes("2", 2, "a", TERMS), [2, 3]),
    "with terms, that does not count": (every_sum, lambda r: r.comes("2", 2, "b", TERMS), []),
}


@pytest.mark.parametrize(("read", "step", "rows"), STEPS.values(), ids=STEPS)
def test_rows_that_share_a_domain(read: ReadOf, step: Callable[[Reading], None], rows: list[int]) -> None:
    """Of these something else is read; n0 has a pod that counts."""
    reading = Reading(read)
    reading.comes("1", 0)
    step(reading.known())
    assert reading.rows() == rows
    assert reading.rows() == []


def test_more_rows_than_are_wanted() -> None:
    """All are to be looked at then, and this time's changes are over."""
    reading = Reading(every_sum).known()
    reading.comes("1", 0)
    assert [reading.rows(most=1), reading.rows(most=1)] == [None, []]


@pytest.mark.parametrize("affinity", [None, TERMS], ids=["no terms", "terms"])
def test_what_is_read_besides_domains(affinity: Affinity | None) -> None:
    """Once it is something else, every row counts: also where the pod brings terms, so that the scope is found anew."""
    reading = Reading(every_sign, alone=True).known()
    reading.comes("1", 0, "a", affinity)
    assert [reading.rows(), reading.rows()] == [None, []]
    reading.comes("2", 2, "a", affinity)
    assert reading.rows() == [2, 3]


def test_counts_that_are_kept_no_longer() -> None:
    """Pods are not counted in them any more: all rows are looked at, and the scope is found anew."""
    reading = Reading(every_sum).known()
    counts = reading.cluster.columns.counts
    for tally in reading.tallies(reading.cluster.snapshot):
        tally.kept = False
    counts._tallies.clear()
    reading.comes("1", 0)
    assert [(reading.rows(), reading.found) for _ in range(2)] == [(None, 2), ([], 2)]


@pytest.mark.parametrize("read", [every_sum, every_sign], ids=["sums", "signs"])
def test_nodes_that_change_domains(read: ReadOf) -> None:
    """Pods are counted anew then, once, and all rows are looked at."""
    reading = Reading(read).known()
    reading.cluster.columns.put_node(1, make_node("n1", {HOST: "n1", ZONE: "b"}))
    (by_zone, _) = reading.tallies(reading.cluster.snapshot)
    assert by_zone.is_current(5)
    assert [reading.rows(), reading.rows()] == [None, []]
    reading.comes("1", 1)
    assert reading.rows() == [1, 2, 3]
