"""Pod affinity over the topologies of release 1.4.

Two nodes share a topology when both carry its label with the same value, which must not be empty; an empty topology
key stands for any of the failure domains.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from clusterstate.nodecolumn import ABSENT
from clusterstate.release_view import Use
from clusterstate.topology.pod_affinity import HARD, REPEL, SOFT, domain_tally, terms_of

if TYPE_CHECKING:
    from clusterstate.counting.tally import Weight
    from clusterstate.growable import IntArray, Mask
    from clusterstate.podinfo import PodInfo, Reach
    from clusterstate.snapshot import Snapshot

FAILURE_DOMAINS = (
    "kubernetes.io/hostname",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)
"""What an empty topology key means unless a flag says otherwise."""


def affinity_uses_1_4(info: PodInfo) -> tuple[Use, ...]:
    """The distinct uses a class makes of topologies; (…, None) says that it has such terms at all.

    Of its required anti-affinity only the last term's key is ever used. Upstream: 1.4
    getMatchingAntiAffinityTermsOfExistingPod, which makes every record point at the one loop variable.
    """
    if not info.has_pod_affinity:
        return ()
    uses: dict[Use, None] = {}
    for sort in (REPEL, HARD, SOFT):
        terms = terms_of(info, sort)
        for term in terms[-1:] if sort == REPEL else terms:
            uses[sort, term.topology_key] = None
        if terms:
            uses[sort, None] = None
    return tuple(uses)


def used_keys(snapshot: Snapshot, *sorts: str) -> list[str]:
    """The distinct topology keys, the empty one too, that running pods' terms of these sorts use."""
    uses = snapshot.affinity_uses
    return list(dict.fromkeys(key for sort, key in uses if sort in sorts and key is not None))


def any_use(snapshot: Snapshot, *sorts: str) -> bool:
    """Whether any running pod has terms of these sorts."""
    return any(use[0] in sorts for use in snapshot.affinity_uses)


def topology_codes(snapshot: Snapshot, key: str) -> IntArray:
    """(n,) int64: each row's domain code of a topology key; 0 where the label is absent or empty."""
    codes, index = snapshot.label_codes(key)
    empty = index.get("")
    return codes if empty is None else np.where(codes == empty, ABSENT, codes)


def near(
    snapshot: Snapshot, rule: Hashable, weight: Weight, reach: Reach, key: str, failure_domains: Iterable[str]
) -> Mask | None:
    """(n,) bool: the rows that share the topology of ``key`` with a pod that ``weight`` counts.

    None: it counts no pod anywhere. ``rule`` is all that ``weight`` depends on. reach: see ``Snapshot.tally``.
    """
    out: Mask | None = None
    for domain in (key,) if key else failure_domains:
        sums = snapshot.domain_sums(domain_tally(snapshot, rule, domain, weight, reach))
        if not sums.any():
            return None
        occupied = sums > 0
        occupied[ABSENT] = False
        hit = occupied[topology_codes(snapshot, domain)]
        out = hit if out is None else out | hit
    return out


def sums_near(
    snapshot: Snapshot, rule: Hashable, weight: Weight, reach: Reach, key: str, failure_domains: Iterable[str]
) -> IntArray | None:
    """(n,) int64: Σ ``weight`` of the pods that share the topology of ``key`` with each row; None: 0 everywhere.

    Under an empty key a pod counts once for a row, however many failure domains they share. reach: see
    ``Snapshot.tally``.
    """
    if not key:
        amounts = snapshot.whole().counts(snapshot.tally((rule, None), None, weight, reach))
        return _sums_near_any(snapshot, amounts, tuple(failure_domains)) if amounts.any() else None
    sums = snapshot.domain_sums(domain_tally(snapshot, rule, key, weight, reach))
    if not sums.any():
        return None
    if sums[ABSENT]:
        sums = sums.copy()
        sums[ABSENT] = 0
    out: IntArray = sums[topology_codes(snapshot, key)]
    return out


def _sums_near_any(snapshot: Snapshot, amounts: IntArray, domains: tuple[str, ...]) -> IntArray:
    """(n,) int64: Σ of ``amounts`` (N,) over the rows that share some of the domains: inclusion and exclusion."""
    whole = snapshot.whole()
    out: IntArray = np.zeros(len(snapshot), np.int64)
    for size in range(1, len(domains) + 1):
        sign = 1 if size % 2 else -1
        for chosen in combinations(domains, size):
            codes = _together(whole, chosen)
            sums = np.zeros(int(codes.max(initial=0)) + 1, np.int64)
            np.add.at(sums, codes, amounts)
            sums[ABSENT] = 0
            here = sums[codes]
            out += sign * (here if snapshot.rows is None else here[snapshot.rows])
    return out


def _together(whole: Snapshot, keys: tuple[str, ...]) -> IntArray:
    """(N,) int64: a code for each combination of values of some topology keys; 0 where one of them is missing."""
    out = topology_codes(whole, keys[0])
    for key in keys[1:]:
        codes = topology_codes(whole, key)
        missing = (out == ABSENT) | (codes == ABSENT)
        both = np.where(missing, ABSENT, out * len(whole.label_values(key)) + codes)
        _, out = np.unique(np.append(both, ABSENT), return_inverse=True)
        out = out[:-1]
    return out
