"""Pod affinity terms as both the predicate and the priority need them.

A term belongs to an owner pod and picks other pods by namespace and labels; a topology key then says how far it
reaches. The keys that running pods use are counted as their classes come and go, so a decision looks at those only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.nodecolumn import ABSENT
from clusterstate.objects import PodAffinityTerm
from clusterstate.release_view import Use
from clusterstate.selectors.matching import NOTHING, Matcher, SelectorError, compile_label_selector, term_namespaces

if TYPE_CHECKING:
    from clusterstate.counting.tally import Tally, Weight
    from clusterstate.growable import Mask
    from clusterstate.podinfo import PodInfo, Reach
    from clusterstate.snapshot import Snapshot

FEW_ROWS = 8
"""Rows are asked for their domain's count one by one where there are so many times as many domains."""

REPEL: Final = "required anti-affinity"
HARD: Final = "required affinity"
SOFT: Final = "preferred affinity or anti-affinity"


class TermMatcher(msgspec.Struct, frozen=True):
    """The test whether a pod class is one that a term picks."""

    namespaces: frozenset[str]
    labels: Matcher
    error: str | None = None
    """What is wrong with the selector, which then matches nothing."""

    def __call__(self, pod: PodInfo) -> bool:
        return pod.namespace in self.namespaces and self.labels(pod.labels)


@lru_cache(maxsize=16384)
def compile_term(term: PodAffinityTerm, owner_namespace: str) -> TermMatcher:
    """The test of one term of a pod in ``owner_namespace``. Upstream: 1.16 PodMatchesTermsNamespaceAndSelector."""
    namespaces = term_namespaces(term, owner_namespace)
    try:
        return TermMatcher(namespaces, compile_label_selector(term.label_selector))
    except SelectorError as error:
        return TermMatcher(namespaces, NOTHING, str(error))


def first_error(terms: Iterable[PodAffinityTerm], owner_namespace: str) -> str | None:
    """The text of the first invalid selector among some terms."""
    return next((error for term in terms if (error := compile_term(term, owner_namespace).error)), None)


def affinity_reads(pod: PodInfo) -> Reads:
    """What the rules of pod affinity depend on for one pod; without terms of its own only pods that have some count."""
    return Reads.ALL_NODES | (Reads.ALL_PODS if pod.has_pod_affinity else Reads.AFFINITY_PODS)


# --- what running pods use -----------------------------------------------------------------


def terms_of(info: PodInfo, sort: str) -> tuple[PodAffinityTerm, ...]:
    """A class's terms of one sort (REPEL, HARD or SOFT), weights left out."""
    if sort == REPEL:
        return info.required_anti_affinity
    if sort == HARD:
        return info.required_affinity
    return tuple(weighted.term for weighted in (*info.preferred_affinity, *info.preferred_anti_affinity))


def affinity_uses(info: PodInfo) -> tuple[Use, ...]:
    """The distinct uses a class makes of topologies; a term without a topology key makes none.

    (REPEL, HARD or SOFT; topology key). The key None says that a term of that sort has an invalid selector.
    """
    if not info.has_pod_affinity:
        return ()
    uses: dict[Use, None] = {}
    for sort in (REPEL, HARD, SOFT):
        terms = terms_of(info, sort)
        uses.update(((sort, term.topology_key), None) for term in terms if term.topology_key)
        if first_error(terms, info.namespace):
            uses[sort, None] = None
    return tuple(uses)


def topology_keys(snapshot: Snapshot, *sorts: str) -> list[str]:
    """The distinct topology keys that terms of these sorts use, of running and of hypothetically added pods."""
    uses = [use for use in snapshot.affinity_uses if use[0] in sorts]
    for change in snapshot.changes:
        uses += [use for use in affinity_uses(change.info) if use[0] in sorts]
    return list(dict.fromkeys(key for _, key in uses if key))


def is_broken(snapshot: Snapshot, *sorts: str) -> bool:
    """Whether a running pod, on a known node or not, has an invalid selector in a term of these sorts."""
    uses = snapshot.affinity_uses
    return any([(sort, None) in uses for sort in sorts])  # noqa: C419


def running_error(snapshot: Snapshot, *sorts: str) -> str | None:
    """The text of an invalid selector in a term of these sorts of a pod that runs on a known node."""
    broken = [sort for sort in sorts if (sort, None) in snapshot.affinity_uses]
    if not broken:
        return None
    for info in snapshot.running():
        for sort in broken:
            error = first_error(terms_of(info, sort), info.namespace)
            if error and any(snapshot.node(row) for row in info.rows):
                return error
    return None


# --- where pods are ------------------------------------------------------------------------


def domain_tally(snapshot: Snapshot, rule: Hashable, topology_key: str, weight: Weight, reach: Reach = None) -> Tally:
    """The running count of a rule over the domains of a topology key; ``rule`` is all that ``weight`` depends on.

    reach: see ``Snapshot.tally``.
    """
    return snapshot.tally((rule, topology_key), topology_key, weight, reach)


def occupied_domains(snapshot: Snapshot, tally: Tally, *, nominated: bool = True) -> Mask | None:
    """(D,) bool by domain code: the tally is above 0 there; None when it is nowhere. Code 0 (no key) is False."""
    sums = snapshot.domain_sums(tally, nominated=nominated)
    if not np.count_nonzero(sums):
        return None
    occupied: Mask = sums > 0
    occupied[ABSENT] = False
    return occupied


def occupied_rows(snapshot: Snapshot, tally: Tally, *, nominated: bool = True) -> Mask | None:
    """(n,) bool: the rows in a domain where the tally is above 0; None where it is so nowhere."""
    if len(snapshot) * FEW_ROWS > len(tally.sums):
        domains = occupied_domains(snapshot, tally, nominated=nominated)
        if domains is None:
            return None
        column = tally.column
        assert column is not None
        return domains[column.codes if snapshot.rows is None else column.codes[snapshot.rows]]
    found: Mask = tally.counts(snapshot.domain_sums(tally, nominated=nominated), snapshot.rows) > 0
    return found if np.count_nonzero(found) else None


def is_somewhere(snapshot: Snapshot, tally: Tally, *, nominated: bool = True) -> bool:
    """Whether some domain has a pod that counts."""
    return bool(np.count_nonzero(snapshot.domain_sums(tally, nominated=nominated)[1:] > 0))
