"""How far the pods of a node matter to a rule: to the nodes that share its value of some topology keys."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping

import msgspec

from clusterstate.counting.tally import Tally
from clusterstate.growable import IntArray
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot

FEW_DOMAINS = 64
"""Domains of a topology key that are compared as a whole rather than one by one."""


class TopologyScope(msgspec.Struct, frozen=True):
    """What a rule's answers about rows follow from, besides the rows' node objects.

    While two scopes are equal, the answers about a row differ only if pods came or went in one of its domains.
    """

    keys: tuple[str, ...]
    """The topology keys of these domains."""
    besides: Hashable = None
    """What the answers about all rows follow from."""


Scope = Callable[[PodInfo, Snapshot], TopologyScope | None]
"""The scope of a rule for a pod; None: pods on any row may matter to any other."""


def is_occupied(sums: IntArray) -> Hashable:
    """Of (D,) sums by domain, where they are above 0."""
    return (sums[1:] > 0).tobytes()


def every_sum(sums: IntArray) -> Hashable:
    """Of (D,) sums by domain, all of them."""
    return sums[1:].tobytes()


def scope_of(
    snapshot: Snapshot,
    sides: Iterable[Mapping[str, Tally]],
    read: Callable[[IntArray], Hashable],
    besides: Hashable = None,
) -> TopologyScope:
    """The scope of a rule that reads some running counts of the domains that a row is in.

    sides: by topology key the counts. read: what it reads of sums by domain. besides: what else it follows from.
    """
    keys: dict[str, None] = {}
    known: list[Hashable] = []
    for tallies in sides:
        for key, tally in tallies.items():
            sums = snapshot.domain_sums(tally)
            few = len(sums) <= FEW_DOMAINS
            known.append((key, read(sums) if few else None))
            if not few:
                keys[key] = None
        known.append(None)
    return TopologyScope(tuple(keys), (besides, *known))


def rows_sharing(snapshot: Snapshot, keys: Iterable[str], rows: Collection[int], most: int) -> tuple[int, ...] | None:
    """The rows of the whole cluster that share a domain of one of the keys with some rows; None: more than ``most``."""
    found: dict[int, None] = {}
    for key in keys:
        for domain in snapshot.domains_of(key, rows):
            if len(found) + len(domain) > most:
                return None
            found.update(dict.fromkeys(domain.tolist()))
    return tuple(found)
