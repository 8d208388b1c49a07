"""NoVolumeZoneConflict and VolumeZone: the volumes behind a pod's claims are in the node's zone and region."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec
import numpy as np

from clusterstate.changes import Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import ABSENT, Mask
from clusterstate.objects import NO_LABELS, PersistentVolume
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.volumes.claims import (
    CLAIM_WITHOUT_NAME,
    GA_LABEL,
    ZONE_LABELS,
    VolumeError,
    claim_class,
    claim_names,
    has_claims,
    label_zones,
    volume_behind,
    volume_zones,
    waits_for_consumer,
)
from clusterstate.volumes.volume_decision import bound_storage
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


class Zones(msgspec.Struct, frozen=True):
    """The values of a label that a volume allows; None among them: that the node lacks it."""

    label: str
    values: frozenset[str | None]
    text: str
    """What is asked of the node."""


def _zones_in(label: str, zones: frozenset[str]) -> Zones:
    return Zones(label, frozenset[str | None](zones), f"{label} in ({', '.join(sorted(zones))})")


class ZoneRule(msgspec.Struct, frozen=True):
    """What is looked at on each node anew: volumes count in order. A node fails at the first conflict, and only nodes
    without one see a later error. A node without any of the labels passes."""

    zones: Callable[[str, str, ClusterObjects], list[Zones]]
    """Of the volume behind a claim (namespace, name). Raises VolumeError."""
    labels: tuple[str, ...] = ZONE_KEYS
    """Those of which a node has one at least, if it is looked at."""
    conflict: str = ZONE_CONFLICT
    told: Callable[[str], str] = NodeError
    """The reason for a claim without a volume."""

    def check(self, pod: PodInfo, snapshot: Snapshot) -> Verdict:
        """The nodes in conflict, and those that see an error."""
        undecided = _labelled(snapshot, self.labels)
        conflict = np.zeros(len(snapshot), np.bool_)
        for name in claim_names(pod.spec):
            try:
                wanted = self.zones(pod.namespace, name, snapshot.objects)
            except VolumeError as error:
                return {self.conflict: conflict, self.told(str(error)): undecided}
            for zones in wanted:
                differs = undecided & ~snapshot.spread_label(zones.label, zones.values.__contains__)
                conflict |= differs
                undecided &= ~differs
        return {self.conflict: conflict}

    def explain(self, pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
        """By volume and label the zones it is in, and the node's; or the claim without a volume."""
        applies = bool(_labelled(snapshot, self.labels)[0])
        if reason != self.conflict:
            return Unmet((Need("a volume behind every claim", reason, False),), applies)
        needs: list[Need] = []
        for name in claim_names(pod.spec):
            try:
                wanted = self.zones(pod.namespace, name, snapshot.objects)
            except VolumeError:
                break
            needs += [_need(zones, label_of(snapshot, zones.label)) for zones in wanted]
        return Unmet(tuple(needs), applies)


def _need(zones: Zones, value: str | None) -> Need:
    return Need(zones.text, label_text(value), value in zones.values)


def _labelled(snapshot: Snapshot, keys: Iterable[str]) -> Mask:
    """(n,) bool: the rows with at least one of the labels."""
    out = np.zeros(len(snapshot), np.bool_)
    for key in keys:
        out |= snapshot.label_codes(key)[0] != ABSENT
    return out


def _zones_1_16(namespace: str, claim_name: str, objects: ClusterObjects, not_bound: str = NOT_BOUND) -> list[Zones]:
    volume = bound_volume(namespace, claim_name, objects, not_bound)
    labels = volume.metadata.labels if volume else NO_LABELS
    return [_zones_in(key, zones) for key in ZONE_KEYS if (zones := label_zones(labels.get(key, "")))]


RULE_1_16 = ZoneRule(_zones_1_16)
RULE_1_13 = ZoneRule(partial(_zones_1_16, not_bound=NOT_BOUND_1_13))


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


def _zones_1_4(namespace: str, claim_name: str, objects: ClusterObjects) -> list[Zones]:
    """Labels are compared as they are, one that the node lacks as an empty one."""
    labels = bound_volume_1_4(namespace, claim_name, objects).metadata.labels
    return [
        Zones(key, frozenset({labels[key]} if labels[key] else {"", None}), f"{key}={labels[key]}")
        for key in ZONE_KEYS
        if key in labels
    ]


RULE_1_4 = ZoneRule(_zones_1_4, conflict=ZONE_CONFLICT_1_4)


# --- framework releases --------------------------------------------------------------------


def _zones_1_20(namespace: str, claim_name: str, objects: ClusterObjects) -> list[Zones]:
    volume = volume_behind(namespace, claim_name, objects)
    return [_zones_in(key, zones) for key, zones in (volume_zones(volume) if volume else ())]


RULE_1_20 = ZoneRule(_zones_1_20, ZONE_LABELS, told=str)
"""Upstream: 1.20 VolumeZone."""
RULE_1_18 = ZoneRule(_zones_1_20, ZONE_LABELS, told=StatusError)
"""The same; a claim without a volume is an error. Upstream: 1.18 and 1.19 VolumeZone."""


def _zones(pod: PodInfo, objects: ClusterObjects) -> list[tuple[str, frozenset[str]]]:
    """(label, its zones) of all volumes behind the pod's claims. Raises VolumeError."""
    volumes = (volume_behind(pod.namespace, name, objects) for name in claim_names(pod.spec))
    return [entry for volume in volumes if volume is not None for entry in volume_zones(volume)]


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
        needs.append(_need(_zones_in(key, zones), later))
    return Unmet(tuple(needs), bool(_labelled(snapshot, ZONE_LABELS)[0]))


# --- maps ----------------------------------------------------------------------------------


def make_no_volume_zone_conflict(_: PredicateArgs) -> FitPredicate:
    """The zone and region labels (`failure-domain.beta.kubernetes.io/…`) of the volumes behind the pod's claims must
    agree with those of the node. A node without these labels passes.

    Upstream: 1.16 VolumeZoneChecker.
    """
    return _conflicts(RULE_1_16)


def make_no_volume_zone_conflict_1_13(_: PredicateArgs) -> FitPredicate:
    """A claim that should have been bound is told in other words.

    Upstream: 1.13 VolumeZoneChecker.
    """
    return _conflicts(RULE_1_13)


def make_no_volume_zone_conflict_1_4(_: PredicateArgs) -> FitPredicate:
    """Zone and region labels are compared as they are, a label that the node lacks as an empty one.

    Upstream: 1.4 VolumeZoneChecker.
    """
    return _conflicts(RULE_1_4)


def _conflicts(rule: ZoneRule) -> FitPredicate:
    return FitPredicate(
        "NoVolumeZoneConflict",
        rule.check,
        Footprint(Reads.NODE | Reads.STORAGE, pod_key=spec_alone, storage=bound_storage),
        has_claims,
        evidence=predicate_evidence("NoVolumeZoneConflict", rule.explain),
    )


VOLUME_ZONE: dict[str, FitPredicateFactory] = {"NoVolumeZoneConflict": make_no_volume_zone_conflict}
VOLUME_ZONE_1_13: dict[str, FitPredicateFactory] = {"NoVolumeZoneConflict": make_no_volume_zone_conflict_1_13}
VOLUME_ZONE_1_4: dict[str, FitPredicateFactory] = {"NoVolumeZoneConflict": make_no_volume_zone_conflict_1_4}
