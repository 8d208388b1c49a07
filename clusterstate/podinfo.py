"""Pod classes: pods that are equal in everything a scheduler reads share one compiled form; and how a release sees pods
and nodes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

import msgspec

from clusterstate.images import ImageStates
from clusterstate.objects import Labels, Node, ObjectMeta, Pod, PodAffinityTerm, PodSpec, WeightedPodAffinityTerm
from clusterstate.usage import Accounting, PodUsage

Controller = tuple[str, str] | tuple[str, str, str, str] | None
"""(kind, uid) of the owner reference with ``controller: true``; since 1.36 (kind, uid, apiVersion, name)."""

PodKey = tuple[str, Labels, PodSpec, Controller, bool]
"""What makes two pods equal to a scheduler: namespace, labels, spec, controller, being deleted."""


def controller_of(metadata: ObjectMeta) -> Controller:
    """The owner that is the controller."""
    owner = metadata.controller
    return None if owner is None else (owner.kind, owner.uid)


def controller_in_full(metadata: ObjectMeta) -> Controller:
    """The same with its apiVersion and name."""
    owner = metadata.controller
    return None if owner is None else (owner.kind, owner.uid, owner.api_version, owner.name)


def pod_key(pod: Pod) -> PodKey:
    """What pods of one class have in common: namespace, labels, spec, controller, being deleted."""
    metadata = pod.metadata
    controller = controller_of(metadata) if metadata.owner_references else None
    return (metadata.namespace, metadata.labels, pod.spec, controller, metadata.deletion_timestamp is not None)


Mark = tuple[str, ...]
"""(key, value): a class with this label. (TERM, key, value): one with a pod affinity term that picks no pod without
this label. (TERM,): one with a term that may pick pods whatever their labels are."""

TERM = "term of pod affinity"
"""No label has a key with blanks."""

NO_KEYS: frozenset[str] = frozenset()

Reach = frozenset[Mark] | None
"""Marks of which every class that a count concerns has one; None: it may concern any class."""


def any_of(*reaches: Reach) -> Reach:
    """What may concern any of several counts."""
    known = [reach for reach in reaches if reach is not None]
    return frozenset().union(*known) if len(known) == len(reaches) else None


def term_labels(term: PodAffinityTerm) -> Iterable[str]:
    """The keys of the labels that a term's selector reads."""
    selector = term.label_selector
    if selector is not None:
        yield from selector.match_labels
        for requirement in selector.match_expressions:
            yield requirement.key


def term_marks(term: PodAffinityTerm) -> tuple[Mark, ...]:
    """The marks of a class that has this term. A label that the selector asks for makes them narrow."""
    selector = term.label_selector
    if selector is not None:
        for label in selector.match_labels.items():
            return ((TERM, *label),)
        for requirement in selector.match_expressions:
            if requirement.operator == "In" and requirement.values:
                return tuple((TERM, requirement.key, value) for value in requirement.values)
    return ((TERM,),)


class AsPicked(NamedTuple):
    """A pod class as terms of other pods see it: by the labels that they read."""

    labels: Hashable
    """The keys that they read, and those of the labels that the class has; equal ones are picked by the same terms."""
    by: frozenset[Mark]
    """Of the classes that have a term which picks this one, each has one of these marks."""


class PodInfo:
    """One pod class: what it asks for, and where its running pods are.

    rows: node row → number of this class's pods there. Kept by the columns, as are ``tallies``,
    the counts that this class's pods take part in, and ``serial``, the order in which classes came to be placed.
    """

    __slots__ = (
        "_among",
        "_marks",
        "_term_keys",
        "controller",
        "key",
        "labels",
        "may_have_affinity",
        "namespace",
        "node_name",
        "rows",
        "serial",
        "spec",
        "tallies",
        "terminating",
        "usage",
        "used",
    )

    def __init__(self, key: PodKey, usage: PodUsage, used: tuple[tuple[int, int], ...]) -> None:
        self.key = key
        self.namespace, self.labels, self.spec, self.controller, self.terminating = key
        self.usage = usage
        self.used = used
        self.node_name = ""
        affinity = self.spec.affinity
        self.may_have_affinity = affinity is not None and (self.has_pod_affinity or affinity.node_affinity is None)
        self._marks: tuple[Mark, ...] | None = None
        self._term_keys: frozenset[str] | None = None
        self._among: tuple[frozenset[str], AsPicked] | None = None
        self.rows: dict[int, int] = {}
        self.serial = 0
        self.tallies: list[tuple[Any, int]] = []
        """(tally, what a pod of the class adds to it)."""

    def naming(self, node_name: str) -> PodInfo:
        """The class of a pod whose manifest names a node; this one when the name is empty."""
        if not node_name:
            return self
        named = PodInfo(self.key, self.usage, self.used)
        named.node_name = node_name
        return named

    @property
    def marks(self) -> tuple[Mark, ...]:
        """What running counts know the class by, each once."""
        if self._marks is None:
            self._marks = tuple(self.labels.items()) if self.spec.affinity is None else tuple(self._found_marks())
        return self._marks

    def _found_marks(self) -> Iterable[Mark]:
        return dict.fromkeys((*self.labels.items(), *(mark for term in self._terms() for mark in term_marks(term))))

    def _terms(self) -> list[PodAffinityTerm]:
        weighted = (*self.preferred_affinity, *self.preferred_anti_affinity)
        return [*self.required_affinity, *self.required_anti_affinity, *(one.term for one in weighted)]

    @property
    def term_keys(self) -> frozenset[str]:
        """The keys of the labels that its terms of pod affinity read in other pods."""
        if self.spec.affinity is None:
            return NO_KEYS
        if self._term_keys is None:
            self._term_keys = frozenset(key for term in self._terms() for key in term_labels(term))
        return self._term_keys

    def as_picked(self, keys: frozenset[str]) -> AsPicked:
        """What terms that read labels of these keys, and no others, see of the class."""
        if self._among is None or self._among[0] != keys:
            labels = tuple((key, value) for key, value in self.labels.items() if key in keys)
            self._among = keys, AsPicked((keys, labels), frozenset(((TERM,), *((TERM, *label) for label in labels))))
        return self._among[1]

    @property
    def priority(self) -> int:
        """``spec.priority``, 0 without one."""
        return self.spec.priority or 0

    @property
    def has_pod_affinity(self) -> bool:
        """A podAffinity or podAntiAffinity object is present."""
        affinity = self.spec.affinity
        return affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)

    @property
    def required_affinity(self) -> tuple[PodAffinityTerm, ...]:
        """The terms of which all must hold."""
        affinity = self.spec.affinity
        return affinity.pod_affinity.required if affinity and affinity.pod_affinity else ()

    @property
    def required_anti_affinity(self) -> tuple[PodAffinityTerm, ...]:
        """The terms of which none may hold."""
        affinity = self.spec.affinity
        return affinity.pod_anti_affinity.required if affinity and affinity.pod_anti_affinity else ()

    @property
    def preferred_affinity(self) -> tuple[WeightedPodAffinityTerm, ...]:
        """The weighted terms that add to a node's score."""
        affinity = self.spec.affinity
        return affinity.pod_affinity.preferred if affinity and affinity.pod_affinity else ()

    @property
    def preferred_anti_affinity(self) -> tuple[WeightedPodAffinityTerm, ...]:
        """The weighted terms that take from a node's score."""
        affinity = self.spec.affinity
        return affinity.pod_anti_affinity.preferred if affinity and affinity.pod_anti_affinity else ()


Use = tuple[str, str | None]
"""What a pod class makes of topologies by its affinity: (the sort of term, topology key); see ``topology``."""


class ReleaseView(msgspec.Struct, frozen=True):
    """One release's view of objects. Those of the releases are in their own files."""

    accounting: Accounting
    """A spec's amounts."""
    tracked: Callable[[str], bool]
    """Whether account is kept of a resource."""
    pod_key: Callable[[Pod], PodKey]
    """What makes two pods equal, with the spec as rules see it."""
    node: Callable[[Node], Node]
    """A node as rules see it."""
    affinity_uses: Callable[[PodInfo], tuple[Use, ...]]
    """The uses a pod class makes of topologies."""
    identity: Callable[[Pod], str]
    """What identifies a pod; empty for one that cannot be kept."""
    zone_key: Callable[[Node], str | None]
    """The zone by which nodes take turns."""
    unlisted: Callable[[Node], bool | None] | None = None
    """True for a node that is not even looked at, otherwise None; by default every node is."""
    images: Callable[[], ImageStates] = ImageStates
    """What is remembered of the images that nodes have."""
