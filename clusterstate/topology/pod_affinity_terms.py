"""Pod affinity terms as releases 1.20 and 1.36 read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

import msgspec

from clusterstate.changes import Reads
from clusterstate.objects import NO_LABELS, Labels, PodAffinityTerm
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.label_selectors_framework import compile_selector, compile_selector_1_36
from clusterstate.selectors.matching import NOTHING, Matcher, SelectorError
from clusterstate.selectors.term_errors import aggregate
from clusterstate.snapshot import Snapshot

MOST_REMEMBERED = 4096


class Term(msgspec.Struct, frozen=True, cache_hash=True):
    """Picks pods by namespace and labels; equal terms pick the same."""

    topology_key: str
    namespaces: frozenset[str]
    labels: Matcher
    among: Matcher = NOTHING
    """Namespaces whose labels it matches count as well (1.36)."""

    def picks(self, pod: PodInfo, namespace_labels: Labels = NO_LABELS) -> bool:
        """namespace_labels: those of the pod's namespace."""
        if pod.namespace in self.namespaces or self.among(namespace_labels):
            return self.labels(pod.labels)
        return False


Terms = tuple[Term, ...]
Weighted = tuple[tuple[Term, int], ...]
"""(term, its weight, negative for anti-affinity)."""


@lru_cache(maxsize=16384)
def parse_1_20(term: PodAffinityTerm, owner_namespace: str) -> Term:
    """Raises SelectorError. Upstream: 1.20 newAffinityTerm."""
    namespaces = frozenset(term.namespaces or (owner_namespace,))
    return Term(term.topology_key, namespaces, compile_selector(term.label_selector))


@lru_cache(maxsize=16384)
def parse_1_36(term: PodAffinityTerm, owner_namespace: str) -> Term:
    """Raises SelectorError. Upstream: 1.36 newAffinityTerm."""
    own = () if term.namespace_selector is not None else (owner_namespace,)
    labels, among = map(compile_selector_1_36, (term.label_selector, term.namespace_selector))
    return Term(term.topology_key, frozenset(term.namespaces or own), labels, among)


Parse = Callable[[PodAffinityTerm, str], Term]


class OwnTerms(msgspec.Struct, frozen=True):
    """The terms of a pod that is being scheduled."""

    affinity: Terms = ()
    """The required terms of affinity."""
    anti_affinity: Terms = ()
    """The required terms of anti-affinity."""
    preferred: Weighted = ()
    """The preferred terms, those of anti-affinity with negative weights."""
    errors: tuple[str, ...] = ()
    """The groups with an invalid selector, which have no terms, as ``GROUP: text``."""


NO_TERMS = OwnTerms()


class TermRules(msgspec.Struct, frozen=True):
    """One release's reading of terms."""

    name: str
    parse: Parse
    """Compiles a term of a pod in a namespace."""
    by_namespace_labels: bool
    """Whether terms can select namespaces by their labels."""
    all_errors: bool
    """Whether every group with an invalid selector is reported, or only the last."""

    def own(self, pod: PodInfo, snapshot: Snapshot) -> OwnTerms:
        """The terms of an incoming pod; what namespaces they look into is settled here."""
        if not pod.has_pod_affinity:
            return NO_TERMS
        memo = snapshot.derived(("own affinity terms", self.name), self.reads, _memo)
        terms = memo.get(pod)
        if terms is None:
            if len(memo) >= MOST_REMEMBERED:
                memo.clear()
            terms = memo[pod] = self._own(pod, snapshot)
        return terms

    def _own(self, pod: PodInfo, snapshot: Snapshot) -> OwnTerms:
        groups = {
            "requiredAffinityTerms": pod.required_affinity,
            "requiredAntiAffinityTerms": pod.required_anti_affinity,
            "preferredAffinityTerms": tuple(w.term for w in pod.preferred_affinity),
            "preferredAntiAffinityTerms": tuple(w.term for w in pod.preferred_anti_affinity),
        }
        parsed: list[Terms] = []
        errors: list[str] = []
        for group, terms in groups.items():
            try:
                parsed.append(tuple(self._widened(self.parse(term, pod.namespace), snapshot) for term in terms))
            except SelectorError as error:
                errors.append(f"{group}: {error}")
                parsed.append(())
        liked = [(term, w.weight) for term, w in zip(parsed[2], pod.preferred_affinity, strict=False)]
        liked += [(term, -w.weight) for term, w in zip(parsed[3], pod.preferred_anti_affinity, strict=False)]
        return OwnTerms(parsed[0], parsed[1], tuple(liked), tuple(errors))

    def _widened(self, term: Term, snapshot: Snapshot) -> Term:
        """With the names of the namespaces that its selector picks.

        An empty selector picks every namespace anyway; any other is still asked about pods, with no labels: one that
        asks for nothing but absent labels picks pods of all namespaces. Upstream: 1.36 mergeAffinityTermNamespaces.
        """
        if term.among.never or term.among.everything:
            return term
        found = [name for name, ns in snapshot.objects.namespaces.items() if term.among(ns.metadata.labels)]
        among = term.among if term.among(NO_LABELS) else NOTHING
        return msgspec.structs.replace(term, namespaces=term.namespaces.union(found), among=among)

    def error(self, pod: PodInfo, snapshot: Snapshot) -> str | None:
        """What is wrong with an incoming pod's terms."""
        errors = self.own(pod, snapshot).errors
        return aggregate(errors if self.all_errors else errors[-1:])

    def running(self, terms: Iterable[PodAffinityTerm], owner: PodInfo) -> Terms:
        """The terms of one group of a running pod; none of them where one is invalid."""
        try:
            return tuple([self.parse(term, owner.namespace) for term in terms])
        except SelectorError:
            return ()

    def namespace_labels(self, pod: PodInfo, snapshot: Snapshot) -> Labels:
        """The labels of an incoming pod's namespace, as terms of running pods see them."""
        if not self.by_namespace_labels:
            return NO_LABELS
        namespace = snapshot.objects.namespaces.get(pod.namespace)
        return NO_LABELS if namespace is None else namespace.metadata.labels

    @property
    def reads(self) -> Reads:
        """What terms depend on besides the pods."""
        return Reads.NAMESPACES if self.by_namespace_labels else Reads(0)


def _memo() -> dict[PodInfo, OwnTerms]:
    return {}


TERMS_1_20 = TermRules("1.20", parse_1_20, by_namespace_labels=False, all_errors=False)
TERMS_1_36 = TermRules("1.36", parse_1_36, by_namespace_labels=True, all_errors=True)
