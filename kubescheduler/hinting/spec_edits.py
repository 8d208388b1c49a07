"""Changes of a pod's spec, and of the tuples in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from clusterstate.objects import Affinity, NodeSelectorTerm, Pod, PodSpec, TopologySpreadConstraint
from kubescheduler.hinting.proposals import POD, Proposal

T = TypeVar("T")
R = TypeVar("R", PodSpec, Affinity, NodeSelectorTerm, TopologySpreadConstraint)


def of_pod(pod: Pod, kind: str, text: str, size: float, edit: Callable[[PodSpec], PodSpec], *smaller: str) -> Proposal:
    """A change of the pod's spec."""
    return Proposal(
        kind,
        POD,
        pod.key,
        text,
        size,
        pod=lambda old: msgspec.structs.replace(old, spec=edit(old.spec)),
        smaller=smaller,
    )


def without(entries: Sequence[T], gone: T) -> tuple[T, ...]:
    """All entries but the first that equals one; all where none does."""
    at = entries.index(gone) if gone in entries else len(entries)
    return (*entries[:at], *entries[at + 1 :])


def evolved(record: R, **fields: Any) -> R:
    """The record with fields that are named at run time."""
    return msgspec.structs.replace(record, **fields)


def replaced(entries: Sequence[T], at: int, entry: T) -> tuple[T, ...]:
    """The entries with another in one place."""
    return (*entries[:at], entry, *entries[at + 1 :])
