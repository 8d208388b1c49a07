"""Which rows to look at again for what is remembered of pods of one class, row by row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from clusterstate.cache import ClusterCache
from clusterstate.changes import BY_ROW, Reads, flags_of
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import PodChange
from clusterstate.volumes.claims import has_claims
from predicates.types import FitPredicate


class RowWatch:
    """Notices what has changed since the last time: rows, nominations to them, and what is bound to no row.

    For predicates whose verdict on a row depends, within what is bound to rows, on that row alone.
    """

    __slots__ = ("_cache", "_far", "_latest", "_nominations", "_position", "_predicates", "_stamp", "by_row")

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache
        self._predicates: tuple[FitPredicate, ...] | None = None
        self._far: tuple[int, ...] = ()
        self._stamp: Any = None
        self._position = self._nominations = -1
        self._latest: tuple[Any, int, int] = None, -1, -1
        self.by_row = False
        """Whether that was so for all predicates of the last call; see ``Footprint.is_row_local``."""

    def changed(self, info: PodInfo, predicates: Sequence[FitPredicate], also: Any = None) -> Collection[int] | None:
        """The rows that changed since the last call that was followed by ``noted``; None: look at every row again.

        also: anything else that what is remembered was worked out from; it is compared with that of that call.
        """
        cache, log = self._cache, self._cache.columns.log
        given = tuple(predicates)
        if given != self._predicates:
            self._predicates = given
            self._far = flags_of(_far(info, given))
        snapshot = cache.snapshot()
        moments = [p.footprint.moment(info, snapshot) for p in given if p.footprint.moment is not None]
        stamp = (given, log.version_of(self._far), moments, also)
        position, nominations = self._position, self._nominations
        self._latest = stamp, log.position, cache.nominations.position
        if stamp != self._stamp or position < 0:
            self.by_row = all([p.footprint.is_row_local(info, snapshot) for p in given])  # noqa: C419
            return None
        recent, names = log.since(position), cache.nominations.since(nominations)
        if recent is None or names is None:
            return None
        rows = {row for row, _ in recent}
        if names:
            row_of = cache.columns.row_of
            rows.update(row for name in names if (row := row_of.get(name)) is not None)
        return rows

    def noted(self) -> None:
        """What ``changed`` gave was noted: it is not given again."""
        self._stamp, self._position, self._nominations = self._latest


def _far(info: PodInfo, predicates: Sequence[FitPredicate]) -> Reads:
    reads = Reads(0)
    for predicate in predicates:
        reads |= predicate.footprint.reads_for(info)
    return reads & ~BY_ROW


def stay_on_their_rows(added: Iterable[PodChange]) -> bool:
    """Whether rules that look at one row alone (``Footprint.is_row_local``) still do when these pods are added."""
    return all([_stays(change.info) for change in added])  # noqa: C419


def _stays(info: PodInfo) -> bool:
    """Whether no rule of another row would look at such a pod: it has no terms of affinity and claims nothing."""
    return not info.may_have_affinity and not info.spec.resource_claims and not has_claims(info)
