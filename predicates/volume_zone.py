"""NoVolumeZoneConflict and VolumeZone: the volumes behind a pod's claims are in the node's zone and region."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np

from clusterstate.changes import Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.footprint import Footprint
from clusterstate.growable import Mask
from clusterstate.nodecolumn import ABSENT
from clusterstate.objects import NO_LABELS, PersistentVolume
from clusterstate.podinfo import PodInfo
from clusterstate.selectors.pod_keys import spec_alone
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import (
    CLAIM_WITHOUT_NAME,
    VolumeError,
    claim_class,
    claim_names,
    has_claims,
    label_zones,
    waits_for_consumer,
)
from clusterstate.volumes.claims_framework import GA_LABEL, ZONE_LABELS, volume_behind, volume_zones
from clusterstate.volumes.storage_keys import bound_storage
from kubecel.api_names import go_quote
from predicates.refusal_evidence import Need, Refusal, Unmet, label_of, label_text, predicate_evidence
from predicates.types import (
    GO_ON,
    SKIP,
    FitPredicate,
    FitPredicateFactory,
    NodeError,
    PredicateArgs,
    PreFiltered,
    StatusError,
    Verdict,
)

ZONE_CONFLICT = "node(s) had no available volume zone"
ZONE_CONFLICT_1_4 = "NoVolumeZoneConflict"

ZONE_KEYS = ("failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region")


NOT_BOUND = "PersistentVolumeClaim was not found: {}"
NOT_BOUND_1_13 = "PersistentVolumeClaim is not bound: {}"
"""The text for a claim that should have been bound."""


def bound_volume(
    namespace: str, claim_name: str, objects: ClusterObjects, not_bound: str = NOT_BOUND
) -> PersistentVolume | None:
    """The volume that a claim is bound to; None for a claim that waits for its first consumer.

    Raises VolumeError when claim or volume are not there, or the claim should have been bound.
    """
    if not claim_name:
        raise VolumeError(CLAIM_WITHOUT_NAME)
    claim = objects.persistent_volume_claims.get((namespace, claim_name))
    if claim is None:
        raise VolumeError(f"persistentvolumeclaim {go_quote(claim_name)} not found")
    if not claim.volume_name:
        if waits_for_consumer(claim_class(claim), objects):
            return None
        raise VolumeError(not_bound.format(go_quote(claim_name)))
    volume = objects.persistent_volumes.get(claim.volume_name)
    if volume is None:
        raise VolumeError(f"persistentvolume {go_quote(claim.volume_name)} not found")
    return volume


def no_volume_zone_conflict(pod: PodInfo, snapshot: Snapshot, not_bound: str = NOT_BOUND) -> Verdict:
    """Volumes count in order: a node fails at the first conflict, and only nodes without one see a later error.

    A node without zone and region labels passes. not_bound: the text for a claim that should have been bound.
    Upstream: 1.13 to 1.16 VolumeZoneChecker.
    """
    undecided = _labelled(snapshot, ZONE_KEYS)
    conflict = np.zeros(len(snapshot), np.bool_)
    for name in claim_names(pod.spec):
        try:
            volume = bound_volume(pod.namespace, name, snapshot.objects, not_bound)
        except VolumeError as error:
            return {ZONE_CONFLICT: conflict, NodeError(str(error)): undecided}
        labels = volume.metadata.labels if volume else NO_LABELS
        for key in ZONE_KEYS:
            zones = label_zones(labels.get(key, ""))
            if zones:
                differs = undecided & ~snapshot.spread_label(key, zones.__contains__)
                conflict |= differs
                undecided &= ~differs
    return {ZONE_CONFLICT: conflict}


def _labelled(snapshot: Snapshot, keys: Iterable[str]) -> Mask:
    """(n,) bool: the rows with at least one of the labels."""
    out = np.zeros(len(snapshot), np.bool_)
    for key in keys:
        out |= snapshot.label_codes(key)[0] != ABSENT
    return out


# --- 1.4 -----------------------------------------------------------------------------------


def bound_volume_1_4(namespace: str, claim_name: str, objects: ClusterObjects) -> PersistentVolume:
    """The volume that a claim is bound to. Raises VolumeError when there is none."""
    if not claim_name:
        raise VolumeError(CLAIM_WITHOUT_NAME)
    claim = objects.persistent_volume_claims.get((namespace, claim_name))
    if claim is None:
        raise VolumeError(f"PersistentVolumeClaim '{namespace}/{claim_name}' not found")
    if not claim.volume_name:
        raise VolumeError(f"PersistentVolumeClaim is not bound: {go_quote(claim_name)}")
    volume = objects.persistent_volumes.get(claim.volume_name)
    if volume is None:
        raise VolumeError(f"PersistentVolume '{claim.volume_name}' not found")
    return volume


def no_volume_zone_conflict_1_4(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """A volume's zone and region labels are compared as they are, a label that the node lacks as an empty one.

    Otherwise as in 1.16. Upstream: 1.4 VolumeZoneChecker.
    """
    undecided = _labelled(snapshot, ZONE_KEYS)
    conflict = np.zeros(len(snapshot), np.bool_)
    for name in claim_names(pod.spec):
        try:
            labels = bound_volume_1_4(pod.namespace, name, snapshot.objects).metadata.labels
        except VolumeError as error:
            return {ZONE_CONFLICT_1_4: conflict, NodeError(str(error)): undecided}
        for key in ZONE_KEYS:
            zone = labels.get(key)
            if zone is not None:
                same = snapshot.spread_label(key, partial(_same_zone, zone))
                conflict |= undecided & ~same
                undecided &= same
    return {ZONE_CONFLICT_1_4: conflict}


def _same_zone(zone: str, value: str | None) -> bool:
    return (value or "") == zone


# --- framework releases --------------------------------------------------------------------


def volume_zone_1_18(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same; a claim without a volume is an error. Upstream: 1.18 and 1.19 VolumeZone."""
    return volume_zone_1_20(pod, snapshot, StatusError)


def volume_zone_1_20(pod: PodInfo, snapshot: Snapshot, told: Callable[[str], str] = str) -> Verdict:
    """Volumes count in order: a node fails at the first conflict, and only nodes without one see why a later claim has
    no volume. A node without any of the labels passes. told: the reason of that. Upstream: 1.20 VolumeZone.
    """
    undecided = _labelled(snapshot, ZONE_LABELS)
    conflict = np.zeros(len(snapshot), np.bool_)
    for name in claim_names(pod.spec):
        try:
            volume = volume_behind(pod.namespace, name, snapshot.objects)
        except VolumeError as error:
            return {ZONE_CONFLICT: conflict, told(str(error)): undecided}
        for key, zones in volume_zones(volume) if volume else ():
            differs = undecided & ~snapshot.spread_label(key, zones.__contains__)
            conflict |= differs
            undecided &= ~differs
    return {ZONE_CONFLICT: conflict}


def _zones(pod: PodInfo, objects: ClusterObjects) -> list[tuple[str, frozenset[str]]]:
    """(label, its zones) of all volumes behind the pod's claims. Raises VolumeError."""
    found = (volume_behind(pod.namespace, name, objects) for name in claim_names(pod.spec))
    return [entry for volume in found if volume is not None for entry in volume_zones(volume)]


def volume_zone_pre_filter(pod: PodInfo, snapshot: Snapshot) -> PreFiltered:
    """Refuses a pod with a claim that has no volume and should have one; skips one whose volumes can be anywhere.

    Upstream: 1.36 VolumeZone.PreFilter.
    """
    try:
        return GO_ON if _zones(pod, snapshot.objects) else SKIP
    except VolumeError as error:
        return PreFiltered(reasons=(str(error),))


def volume_zone_1_36(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where a volume's zones or regions do not hold the node's; a node without any of the labels passes.

    A beta label that the node lacks is looked up under its later name. What ``volume_zone_pre_filter`` refuses fails on
    every node. Upstream: 1.36 VolumeZone.Filter.
    """
    return _conflict(GA_LABEL, pod, snapshot)


def volume_zone_1_27(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same; a label is met by that of the same name alone. Upstream: 1.27 VolumeZone.Filter."""
    return _conflict({}, pod, snapshot)


def _conflict(later: Mapping[str, str], pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """later: by label the one that is looked up where the node lacks it."""
    try:
        wanted = _zones(pod, snapshot.objects)
    except VolumeError as error:
        return {str(error): np.ones(len(snapshot), np.bool_)}
    conflict = np.zeros(len(snapshot), np.bool_)
    for key, zones in wanted:
        there = snapshot.spread_label(key, zones.__contains__)
        if key in later:
            lacking = snapshot.label_codes(key)[0] == ABSENT
            there = there | (lacking & snapshot.spread_label(later[key], zones.__contains__))
        conflict |= ~there
    return {ZONE_CONFLICT: conflict & _labelled(snapshot, ZONE_LABELS)}


# --- evidence ------------------------------------------------------------------------------


def explain_zones(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
    """By volume and label the zones it is in, and the node's."""
    needs: list[Need] = []
    for name in claim_names(pod.spec):
        try:
            volume = bound_volume(pod.namespace, name, snapshot.objects)
        except VolumeError:
            break
        for key in ZONE_KEYS if volume else ():
            assert volume is not None
            if zones := label_zones(volume.metadata.labels.get(key, "")):
                needs.append(_zone_need(snapshot, key, zones))
    return Unmet(tuple(needs), bool(_labelled(snapshot, ZONE_KEYS)[0]))


def _zone_need(snapshot: Snapshot, key: str, zones: frozenset[str], value: str | None = None) -> Need:
    value = label_of(snapshot, key) if value is None else value
    return Need(f"{key} in ({', '.join(sorted(zones))})", label_text(value), value in zones)


def explain_zones_1_4(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
    """By volume and label its zone, and the node's."""
    needs: list[Need] = []
    for name in claim_names(pod.spec):
        try:
            labels = bound_volume_1_4(pod.namespace, name, snapshot.objects).metadata.labels
        except VolumeError:
            break
        for key in (key for key in ZONE_KEYS if key in labels):
            value = label_of(snapshot, key)
            needs.append(Need(f"{key}={labels[key]}", label_text(value), _same_zone(labels[key], value)))
    return Unmet(tuple(needs), bool(_labelled(snapshot, ZONE_KEYS)[0]))


def explain_zones_1_20(pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
    """By volume and label the zones it is in, and the node's; or the claim without a volume."""
    applies = bool(_labelled(snapshot, ZONE_LABELS)[0])
    if reason != ZONE_CONFLICT:
        return Unmet((Need("a volume behind every claim", reason, False),), applies)
    needs: list[Need] = []
    for name in claim_names(pod.spec):
        try:
            volume = volume_behind(pod.namespace, name, snapshot.objects)
        except VolumeError:
            break
        needs += [_zone_need(snapshot, key, zones) for key, zones in (volume_zones(volume) if volume else ())]
    return Unmet(tuple(needs), applies)


def explain_zones_1_36(pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
    """The same; a beta label that the node lacks is looked up under its later name."""
    return _explain(GA_LABEL, pod, snapshot, reason)


def explain_zones_1_27(pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
    """The same; a label is met by that of the same name alone."""
    return _explain({}, pod, snapshot, reason)


def _explain(names: Mapping[str, str], pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
    if reason != ZONE_CONFLICT:
        return Unmet((Need("a volume behind every claim", reason, False),))
    needs = []
    for key, zones in _zones(pod, snapshot.objects):
        value = label_of(snapshot, key)
        later = label_of(snapshot, names[key]) if value is None and key in names else value
        needs.append(_zone_need(snapshot, key, zones, later))
    return Unmet(tuple(needs), bool(_labelled(snapshot, ZONE_LABELS)[0]))


# --- maps ----------------------------------------------------------------------------------


def make_no_volume_zone_conflict(_: PredicateArgs) -> FitPredicate:
    """The zone and region labels (`failure-domain.beta.kubernetes.io/…`) of the volumes behind the pod's claims must
    agree with those of the node. A node without these labels passes.

    Upstream: 1.16 VolumeZoneChecker.
    """
    return FitPredicate(
        "NoVolumeZoneConflict",
        no_volume_zone_conflict,
        Footprint(Reads.NODE | Reads.STORAGE, pod_key=spec_alone, storage=bound_storage),
        has_claims,
        evidence=predicate_evidence("NoVolumeZoneConflict", explain_zones),
    )


def make_no_volume_zone_conflict_1_13(_: PredicateArgs) -> FitPredicate:
    """A claim that should have been bound is told in other words.

    Upstream: 1.13 VolumeZoneChecker.
    """
    return FitPredicate(
        "NoVolumeZoneConflict",
        partial(no_volume_zone_conflict, not_bound=NOT_BOUND_1_13),
        Footprint(Reads.NODE | Reads.STORAGE, pod_key=spec_alone, storage=bound_storage),
        has_claims,
        evidence=predicate_evidence("NoVolumeZoneConflict", explain_zones),
    )


def make_no_volume_zone_conflict_1_4(_: PredicateArgs) -> FitPredicate:
    """Zone and region labels are compared as they are, a label that the node lacks as an empty one.

    Upstream: 1.4 VolumeZoneChecker.
    """
    return FitPredicate(
        "NoVolumeZoneConflict",
        no_volume_zone_conflict_1_4,
        Footprint(Reads.NODE | Reads.STORAGE, pod_key=spec_alone, storage=bound_storage),
        has_claims,
        evidence=predicate_evidence("NoVolumeZoneConflict", explain_zones_1_4),
    )


VOLUME_ZONE: dict[str, FitPredicateFactory] = {"NoVolumeZoneConflict": make_no_volume_zone_conflict}
VOLUME_ZONE_1_13: dict[str, FitPredicateFactory] = {"NoVolumeZoneConflict": make_no_volume_zone_conflict_1_13}
VOLUME_ZONE_1_4: dict[str, FitPredicateFactory] = {"NoVolumeZoneConflict": make_no_volume_zone_conflict_1_4}
