"""Pod affinity terms as both the predicate and the priority need them.

A term belongs to an owner pod and picks other pods by namespace and labels; a topology key then says how far it
reaches. The keys that running pods use are counted as their classes come and go, so a decision looks at those only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import Final

import msgspec
import numpy as np

from clusterstate.changes import Reads, remember
from clusterstate.growable import ABSENT, Mask
from clusterstate.objects import NO_LABELS, Labels, PodAffinityTerm
from clusterstate.pod_counts import Tally, Weight
from clusterstate.podinfo import PodInfo, Reach, Use, any_of
from clusterstate.selectors.matching import (
    NOTHING,
    Matcher,
    SelectorError,
    aggregate,
    compile_label_selector,
    compile_selector,
    compile_selector_1_36,
    term_namespaces,
)
from clusterstate.snapshot import Snapshot

MOST_REMEMBERED = 4096
"""Pod classes of which something is remembered."""

Tallies = dict[str, Tally]
"""By topology key."""


class HeldTallies:
    """The counts of one rule that depend on the pod and on what terms of running pods ask for, and on nothing else."""

    __slots__ = ("_found", "_version")

    def __init__(self) -> None:
        self._found: Tallies = {}
        self._version = -1

    def of(self, snapshot: Snapshot, ask: Callable[[Snapshot], Tallies]) -> Tallies:
        """What ``ask`` gives, asked again only when that may be something else."""
        if snapshot.changes:
            return ask(snapshot)
        version = snapshot.uses_version
        if version != self._version or not snapshot.are_current(self._found.values()):
            self._found = ask(snapshot)
            self._version = version
        return self._found


def held_for(snapshot: Snapshot, rule: Hashable, pod: PodInfo) -> HeldTallies:
    """Those of a rule for a pod class."""
    memo: dict[PodInfo, HeldTallies] = snapshot.derived(("held tallies", rule), Reads(0), dict)
    held = memo.get(pod)
    return remember(memo, pod, HeldTallies(), MOST_REMEMBERED) if held is None else held


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
def parse_1_21(term: PodAffinityTerm, owner_namespace: str) -> Term:
    """A namespaceSelector keeps the pod's own namespace out, but selects none. Raises SelectorError.

    Upstream: 1.21 newAffinityTerm, feature gate PodAffinityNamespaceSelector off.
    """
    own = () if term.namespace_selector is not None else (owner_namespace,)
    return Term(term.topology_key, frozenset(term.namespaces or own), compile_selector(term.label_selector))


@lru_cache(maxsize=16384)
def parse_1_22(term: PodAffinityTerm, owner_namespace: str) -> Term:
    """With a namespaceSelector. Raises SelectorError. Upstream: 1.22 newAffinityTerm."""
    own = () if term.namespace_selector is not None else (owner_namespace,)
    labels, among = map(compile_selector, (term.label_selector, term.namespace_selector))
    return Term(term.topology_key, frozenset(term.namespaces or own), labels, among)


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
    asks_again: bool = True
    """Whether a selector of namespaces in an incoming pod's own term, once looked up, is still asked about pods."""
    reports: bool = True
    """Whether any is; otherwise such a group has no terms, and nothing is said."""

    def own(self, pod: PodInfo, snapshot: Snapshot) -> OwnTerms:
        """The terms of an incoming pod; what namespaces they look into is settled here."""
        if not pod.has_pod_affinity:
            return NO_TERMS
        memo: dict[PodInfo, OwnTerms] = snapshot.derived(("own affinity terms", self.name), self.reads, dict)
        terms = memo.get(pod)
        return remember(memo, pod, self._own(pod, snapshot), MOST_REMEMBERED) if terms is None else terms

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

        An empty selector picks every namespace anyway; since 1.34 any other is still asked about pods, with no labels:
        one that asks for nothing but absent labels picks pods of all namespaces. Upstream: 1.36
        mergeAffinityTermNamespaces.
        """
        if term.among.never or term.among.everything:
            return term
        found = [name for name, ns in snapshot.objects.namespaces.items() if term.among(ns.metadata.labels)]
        among = term.among if self.asks_again and term.among(NO_LABELS) else NOTHING
        return msgspec.structs.replace(term, namespaces=term.namespaces.union(found), among=among)

    def error(self, pod: PodInfo, snapshot: Snapshot) -> str | None:
        """What is wrong with an incoming pod's terms."""
        if not self.reports:
            return None
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


TERMS_1_18 = TermRules("1.18", parse_1_20, by_namespace_labels=False, all_errors=False, reports=False)
TERMS_1_20 = TermRules("1.20", parse_1_20, by_namespace_labels=False, all_errors=False)
TERMS_1_21 = TermRules("1.21", parse_1_21, by_namespace_labels=False, all_errors=False)
TERMS_1_22 = TermRules("1.22", parse_1_22, by_namespace_labels=True, all_errors=False, asks_again=False)
TERMS_1_36 = TermRules("1.36", parse_1_36, by_namespace_labels=True, all_errors=True)
TERMS_1_24 = msgspec.structs.replace(TERMS_1_36, name="1.24", asks_again=False)


class RequiredAffinity(msgspec.Struct, frozen=True, eq=False):
    """The terms of both sides that matter to one pod, worked out once while namespaces stay as they are."""

    rules: TermRules
    pod: PodInfo
    own: OwnTerms
    namespace_labels: Labels
    """Of the pod's namespace."""
    _wanted: HeldTallies = msgspec.field(default_factory=HeldTallies)
    _avoided: HeldTallies = msgspec.field(default_factory=HeldTallies)
    _repelling: HeldTallies = msgspec.field(default_factory=HeldTallies)

    @classmethod
    def of(cls, rules: TermRules, pod: PodInfo, snapshot: Snapshot) -> RequiredAffinity:
        """The same object for a pod until a namespace changes."""
        memo: dict[PodInfo, RequiredAffinity] = snapshot.derived(("required affinity", rules.name), rules.reads, dict)
        asked = memo.get(pod)
        if asked is None:
            own, labels = rules.own(pod, snapshot), rules.namespace_labels(pod, snapshot)
            asked = remember(memo, pod, cls(rules, pod, own, labels), MOST_REMEMBERED)
        return asked

    def wanted(self, snapshot: Snapshot) -> Tallies:
        """Topology key → the running count of pods that all terms of affinity pick."""
        return self._wanted.of(snapshot, self._ask_wanted) if self.own.affinity else {}

    def avoided(self, snapshot: Snapshot) -> Tallies:
        """Topology key → the running count of pods that terms of anti-affinity for the key pick."""
        return self._avoided.of(snapshot, self._ask_avoided) if self.own.anti_affinity else {}

    def repelling(self, snapshot: Snapshot) -> Tallies:
        """Topology key → the running count of anti-affinity terms for the key that pick this pod."""
        return self._repelling.of(snapshot, self._ask_repelling)

    def picks(self, info: PodInfo) -> bool:
        """Whether all terms of affinity pick a pod."""
        return all(term.picks(info) for term in self.own.affinity)

    def alone(self, snapshot: Snapshot) -> bool:
        """Whether the pod has affinity, no running pod is one that it asks for, and the pod is one itself."""
        if not self.own.affinity or not self.picks(self.pod):
            return False
        return not any(is_somewhere(snapshot, tally) for tally in self.wanted(snapshot).values())

    def _ask_wanted(self, snapshot: Snapshot) -> Tallies:
        terms = self.own.affinity
        rule = ("affinity", self.rules.name, terms)
        keys = dict.fromkeys(term.topology_key for term in terms)
        reach = terms[0].labels.marks
        return {key: domain_tally(snapshot, rule, key, lambda info: int(self.picks(info)), reach) for key in keys}

    def _ask_avoided(self, snapshot: Snapshot) -> Tallies:
        terms = self.own.anti_affinity
        out: Tallies = {}
        reach = any_of(*(term.labels.marks for term in terms))
        for key in dict.fromkeys(term.topology_key for term in terms):

            def weight(info: PodInfo, key: str = key) -> int:
                return sum([term.topology_key == key and term.picks(info) for term in terms])

            out[key] = domain_tally(snapshot, ("anti-affinity", self.rules.name, terms), key, weight, reach)
        return out

    def _ask_repelling(self, snapshot: Snapshot) -> Tallies:
        out: Tallies = {}
        rules, pod, labels = self.rules, self.pod, self.namespace_labels
        picked = pod.as_picked(snapshot.term_keys)
        for key in topology_keys(snapshot, REPEL):

            def weight(info: PodInfo, key: str = key) -> int:
                wanted = rules.running(info.required_anti_affinity, info)
                return sum([term.topology_key == key and term.picks(pod, labels) for term in wanted])

            rule = ("keeps out", rules.name, pod.namespace, picked.labels, labels)
            out[key] = domain_tally(snapshot, rule, key, weight, picked.by)
        return out
