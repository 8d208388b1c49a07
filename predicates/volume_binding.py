"""CheckVolumeBinding: the node can use the pod's bound volumes, and its other claims can be bound or provisioned."""

from __future__ import annotations

from functools import partial

import numpy as np

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint
from clusterstate.growable import Mask
from clusterstate.objects import PersistentVolumeClaim
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.node_selection import volume_affinity_mask
from clusterstate.selectors.pod_keys import spec_alone
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claim_matching import RULES_1_16, decide
from clusterstate.volumes.claims import PodClaims, VolumeError, has_claims, pod_claims
from clusterstate.volumes.storage_keys import storage_to_bind
from kubecel.api_names import go_quote
from predicates.evidence_texts import bound_text, delayed_need
from predicates.refusal_evidence import Need, Refusal, Unmet, predicate_evidence
from predicates.types import PASS, FitPredicate, FitPredicateFactory, NodeError, PredicateArgs, Verdict

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


def check_volume_binding(pod: PodInfo, snapshot: Snapshot) -> Verdict:
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
    decision = decide(claims.delayed, snapshot, rows, RULES_1_16)
    for text, mask in decision.errors.items():
        node_conflict &= ~mask
        errors[NodeError(text)] = mask
    return {NODE_CONFLICT: node_conflict, BIND_CONFLICT: decision.conflict, **errors}


# --- evidence ------------------------------------------------------------------------------


def explain_binding(pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
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
        good = not bool(decide((entry,), snapshot, rows, RULES_1_16).conflict[0])
        needs.append(delayed_need(entry, snapshot, RULES_1_16, met=good))
    together = not bool(decide(claims.delayed, snapshot, rows, RULES_1_16).conflict[0])
    needs.append(Need("volumes for all claims together", "them" if together else "too few", together))
    return Unmet(tuple(needs))


def make_check_volume_binding(_: PredicateArgs) -> FitPredicate:
    """For pods with claims. Bound volumes must have a node affinity that picks the node. Claims that wait for their
    first consumer must find a volume there, or a class that can provision one. A claim that is unbound and does not
    wait is an error that ends the attempt: `pod has unbound immediate PersistentVolumeClaims`.

    Upstream: 1.16 VolumeBindingChecker.
    """
    return FitPredicate(
        "CheckVolumeBinding",
        check_volume_binding,
        Footprint(
            Reads.NODE | Reads.STORAGE, pod_key=spec_alone, storage=partial(storage_to_bind, RULES_1_16.class_of)
        ),
        has_claims,
        evidence=predicate_evidence("CheckVolumeBinding", explain_binding),
    )


VOLUME_BINDING: dict[str, FitPredicateFactory] = {"CheckVolumeBinding": make_check_volume_binding}
