"""CheckVolumeBinding and VolumeBinding: the node can use the pod's bound volumes and get its other claims bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import Mask
from clusterstate.objects import PersistentVolume, PersistentVolumeClaim
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.node_selection import volume_affinity_mask
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claim_matching import RULES_1_16, BindingRules, Delayed, decide, rules_1_16
from clusterstate.volumes.claims import (
    PodClaims,
    VolumeError,
    claim_problem_1_20,
    claim_problem_1_36,
    has_claims,
    leads_to_claims,
    missing_claim_error,
    pod_claims,
)
from clusterstate.volumes.csi_migration import (
    ALL_PLUGINS,
    TranslationError,
    migrated_mask,
    plugin_of,
    translated_affinity,
)
from clusterstate.volumes.volume_decision import RULES_1_20, RULES_1_36, all_claims, storage_to_bind
from kubecel.api_names import go_quote
from predicates.refusal_evidence import Need, Refusal, Unmet, bound_text, delayed_need, predicate_evidence
from predicates.types import (
    GO_ON,
    PASS,
    FitPredicate,
    FitPredicateFactory,
    NodeError,
    PredicateArgs,
    PreFiltered,
    Verdict,
)

HOSTNAME = "kubernetes.io/hostname"

NODE_CONFLICT = "node(s) had volume node affinity conflict"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"


# --- bound claims --------------------------------------------------------------------------


def bound_mismatch(claims: tuple[PersistentVolumeClaim, ...], snapshot: Snapshot) -> tuple[Mask, Verdict]:
    """((n,) bool: a bound volume cannot be used there, errors of the rows that met no such volume before).

    Upstream: 1.16 checkBoundClaims.
    """
    mismatch = np.zeros(len(snapshot), np.bool_)
    for claim in claims:
        volume = snapshot.objects.persistent_volumes.get(claim.volume_name)
        if volume is None:
            error = NodeError(f"could not find v1.PersistentVolume {go_quote(claim.volume_name)}")
            return mismatch, {error: ~mismatch}
        mismatch |= ~volume_affinity_mask(snapshot, volume.node_affinity)
    return mismatch, {}


# --- the predicate -------------------------------------------------------------------------


def check_volume_binding(pod: PodInfo, snapshot: Snapshot, rules: BindingRules = RULES_1_16) -> Verdict:
    """Fails where a bound volume or the claims to bind do not go with the node, both reported.

    Claims and volumes that are not there, and unbound claims that do not wait, are errors.
    Upstream: 1.16 VolumeBindingChecker.
    """
    if not has_claims(pod):
        return PASS
    everywhere = np.ones(len(snapshot), np.bool_)
    try:
        claims: PodClaims = pod_claims(pod, snapshot.objects)
    except VolumeError as error:
        return {NodeError(str(error)): everywhere}
    if claims.immediate:
        return {NodeError(UNBOUND_IMMEDIATE): everywhere}
    node_conflict, errors = bound_mismatch(claims.bound, snapshot)
    rows = everywhere
    for mask in errors.values():
        rows = rows & ~mask
    decision = decide(claims.delayed, snapshot, rows, rules)
    for text, mask in decision.errors.items():
        node_conflict &= ~mask
        errors[NodeError(text)] = mask
    return {NODE_CONFLICT: node_conflict, BIND_CONFLICT: decision.conflict, **errors}


# --- evidence ------------------------------------------------------------------------------


def explain_binding(rules: BindingRules, pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
    """By bound claim whether its volume goes with the node, or by unbound claim whether it can be bound there."""
    claims = pod_claims(pod, snapshot.objects)
    needs = []
    if reason == NODE_CONFLICT:
        for claim in claims.bound:
            usable = not bool(bound_mismatch((claim,), snapshot)[0][0])
            needs.append(Need(bound_text(claim, snapshot), "one of them" if usable else "another node", usable))
        return Unmet(tuple(needs))
    rows = np.ones(1, np.bool_)
    for entry in claims.delayed:
        good = not bool(decide((entry,), snapshot, rows, rules).conflict[0])
        needs.append(delayed_need(entry, snapshot, rules, met=good))
    together = not bool(decide(claims.delayed, snapshot, rows, rules).conflict[0])
    needs.append(Need("volumes for all claims together", "them" if together else "too few", together))
    return Unmet(tuple(needs))


def make_check_volume_binding(args: PredicateArgs) -> FitPredicate:
    """For pods with claims. Bound volumes must have a node affinity that picks the node. Claims that wait for their
    first consumer must find a volume there, or a class that can provision one. A claim that is unbound and does not
    wait is an error that ends the attempt: `pod has unbound immediate PersistentVolumeClaims`.

    Upstream: 1.16 VolumeBindingChecker.
    """
    rules = rules_1_16(args.feature_gates)

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return check_volume_binding(pod, snapshot, rules)

    return FitPredicate(
        "CheckVolumeBinding",
        check,
        Footprint(Reads.NODE | Reads.STORAGE, pod_key=spec_alone, storage=partial(storage_to_bind, rules.class_of)),
        has_claims,
        evidence=predicate_evidence("CheckVolumeBinding", partial(explain_binding, rules)),
    )


# --- VolumeBinding -----------------------------------------------------------------------------


def named_by_volumes(claims: Iterable[PersistentVolumeClaim], objects: ClusterObjects) -> PreFiltered:
    """The nodes that bound volumes name by hostname in their node affinity, those of all of them that do.

    Upstream: 1.27 GetEligibleNodes, to which a name of a node is its hostname; it gives up where a volume is lost.
    """
    nodes: frozenset[str] | None = None
    for claim in claims:
        volume = objects.persistent_volumes.get(claim.volume_name)
        if volume is None:
            return GO_ON
        if there := _hostnames(volume):
            nodes = there if nodes is None else nodes & there
    return PreFiltered(nodes=nodes)


def _hostnames(volume: PersistentVolume) -> frozenset[str]:
    """Upstream: 1.27 GetLocalPersistentVolumeNodeNames, which looks at volumes of any sort."""
    common: frozenset[str] = frozenset()
    for term in volume.node_affinity or ():
        wanted = [
            frozenset(expression.values)
            for expression in term.match_expressions
            if expression.key == HOSTNAME and expression.operator == "In"
        ]
        common |= frozenset.intersection(*wanted) if wanted else frozenset()
    return common


NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"


class BindingTexts(msgspec.Struct, frozen=True):
    """node_conflict, volume_lost: the reasons about bound claims."""

    node_conflict: str
    volume_lost: str


class VolumeBindingRule(msgspec.Struct, frozen=True):
    """One release's rule.

    problem: why a pod's claims cannot be used yet, None when they can. plugins: the in-tree plugins that nodes may have
    handed over to CSI drivers. narrows: PreFilter names the nodes of bound volumes.
    """

    problem: Callable[[PodInfo, ClusterObjects], str | None]
    texts: BindingTexts
    rules: BindingRules
    plugins: frozenset[str] = frozenset()
    told: Callable[[str], str] = str
    """The reason of a problem; an error up to 1.19."""
    narrows: bool = False

    def pre_filter(self, pod: PodInfo, snapshot: Snapshot) -> PreFiltered:
        """Refuses a pod whose claims are missing, going or unbound though they should not wait for it."""
        problem = self.problem(pod, snapshot.objects)
        if problem is not None:
            return PreFiltered(reasons=(self.told(problem),))
        try:
            claims = all_claims(pod, snapshot.objects)
        except VolumeError as error:
            return PreFiltered(reasons=(NodeError(str(error)),))
        if claims.immediate:
            return PreFiltered(reasons=(UNBOUND_IMMEDIATE,))
        return named_by_volumes(claims.bound, snapshot.objects) if self.narrows else GO_ON

    def check(self, pod: PodInfo, snapshot: Snapshot) -> Verdict:
        """Fails where a bound volume cannot be used or is gone, and where the other claims can be neither bound nor
        provisioned; both may be reported. A pod that ``pre_filter`` refuses passes.
        """
        if not leads_to_claims(pod):
            return PASS
        try:
            claims = all_claims(pod, snapshot.objects)
        except VolumeError:
            return PASS
        if claims.immediate:
            return PASS
        node_conflict, lost, errors = self._bound(claims.bound, snapshot)
        rows = np.ones(len(snapshot), np.bool_)
        for mask in errors.values():
            rows = rows & ~mask
        decision = decide(claims.delayed, snapshot, rows, self.rules)
        for text, mask in decision.errors.items():
            errors[NodeError(text)] = mask
            rows = rows & ~mask
        return {
            self.texts.node_conflict: node_conflict & rows,
            BIND_CONFLICT: decision.conflict,
            NOT_ENOUGH_SPACE: decision.short,
            self.texts.volume_lost: lost & rows,
            **errors,
        }

    def explain(self, pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
        """By bound claim whether its volume is there and goes with the node, or by unbound claim whether it can be
        bound or provisioned there.
        """
        claims = all_claims(pod, snapshot.objects)
        if reason == self.texts.node_conflict:
            return Unmet(tuple(self._bound_need(claim, snapshot) for claim in claims.bound))
        if reason == self.texts.volume_lost:
            volumes = snapshot.objects.persistent_volumes
            there = [(claim, claim.volume_name in volumes) for claim in claims.bound]
            return Unmet(
                tuple(
                    Need(f"volume {claim.volume_name} of claim {claim.metadata.name}", "it" if known else "none", known)
                    for claim, known in there
                )
            )
        rows = np.ones(1, np.bool_)

        def fails(*entries: Delayed) -> bool:
            decided = decide(entries, snapshot, rows, self.rules)
            return bool((decided.conflict if reason == BIND_CONFLICT else decided.short)[0])

        needs = [delayed_need(entry, snapshot, self.rules, met=not fails(entry)) for entry in claims.delayed]
        together = not fails(*claims.delayed)
        needs.append(Need("volumes for all claims together", "them" if together else "too few", together))
        return Unmet(tuple(needs))

    def _bound_need(self, claim: PersistentVolumeClaim, snapshot: Snapshot) -> Need:
        conflict, _, _ = self._bound((claim,), snapshot)
        usable = not bool(conflict[0])
        return Need(bound_text(claim, snapshot), "one of them" if usable else "another node", usable)

    def _bound(self, claims: tuple[PersistentVolumeClaim, ...], snapshot: Snapshot) -> tuple[Mask, Mask, Verdict]:
        """((n,) bool: a bound volume cannot be used there, (n,) bool: it does not exist, errors).

        The first claim that is wrong decides. Upstream: 1.20 and 1.36 checkBoundClaims.
        """
        nothing: Mask = np.zeros(len(snapshot), np.bool_)
        conflict, undecided = nothing, ~nothing
        errors: Verdict = {}
        for claim in claims:
            volume = snapshot.objects.persistent_volumes.get(claim.volume_name)
            if volume is None:
                return conflict, undecided, errors
            try:
                usable = self._usable(volume, snapshot)
            except TranslationError as error:
                plugin = plugin_of(volume.source)
                erring = undecided & migrated_mask(snapshot, plugin.name if plugin else "")
                text = NodeError(f"could not translate pv: {error}")
                errors[text] = errors.get(text, nothing) | erring
                undecided = undecided & ~erring
                usable = volume_affinity_mask(snapshot, volume.node_affinity)
            conflict = conflict | (undecided & ~usable)
            undecided = undecided & usable
        return conflict, nothing, errors

    def _usable(self, volume: PersistentVolume, snapshot: Snapshot) -> Mask:
        """(n,) bool: the volume's node affinity matches, on nodes that have handed its plugin over the CSI form of it.

        Raises TranslationError when there is no such form and a node needs it.
        """
        usable = volume_affinity_mask(snapshot, volume.node_affinity)
        plugin = plugin_of(volume.source)
        if plugin is None or plugin.name not in self.plugins:
            return usable
        migrated = migrated_mask(snapshot, plugin.name)
        if not migrated.any():
            return usable
        translated = volume_affinity_mask(snapshot, translated_affinity(volume, plugin))
        out: Mask = np.where(migrated, translated, usable)
        return out


class NodeByNodeBindingRule(VolumeBindingRule, frozen=True):
    """Claims are looked at on each node, where what is wrong with them is an error. Upstream: 1.18 VolumeBinding."""

    def check(self, pod: PodInfo, snapshot: Snapshot) -> Verdict:
        if problem := self.problem(pod, snapshot.objects):
            return {NodeError(problem): np.ones(len(snapshot), np.bool_)}
        return check_volume_binding(pod, snapshot, self.rules)

    def explain(self, pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
        return explain_binding(self.rules, pod, snapshot, reason)


VOLUME_BINDING_1_18 = NodeByNodeBindingRule(
    missing_claim_error,
    BindingTexts("node(s) had volume node affinity conflict", "pvc(s) bound to non-existent pv(s)"),
    RULES_1_16,
)
VOLUME_BINDING_1_20 = VolumeBindingRule(
    claim_problem_1_20,
    BindingTexts("node(s) had volume node affinity conflict", "pvc(s) bound to non-existent pv(s)"),
    RULES_1_20,
)
VOLUME_BINDING_1_36 = VolumeBindingRule(
    claim_problem_1_36,
    BindingTexts(
        "node(s) didn't match PersistentVolume's node affinity",
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    ),
    RULES_1_36,
    ALL_PLUGINS,
)
VOLUME_BINDING_1_23 = msgspec.structs.replace(VOLUME_BINDING_1_20, problem=claim_problem_1_36)
VOLUME_BINDING_1_24 = msgspec.structs.replace(
    VOLUME_BINDING_1_36, texts=BindingTexts(NODE_CONFLICT, VOLUME_BINDING_1_36.texts.volume_lost)
)
VOLUME_BINDING_1_27 = msgspec.structs.replace(VOLUME_BINDING_1_24, narrows=True)
"""Of releases 1.27 to 1.31."""


VOLUME_BINDING: dict[str, FitPredicateFactory] = {"CheckVolumeBinding": make_check_volume_binding}
