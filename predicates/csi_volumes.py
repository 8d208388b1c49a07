"""MaxCSIVolumeCountPred and NodeVolumeLimits: a node attaches no more volumes of a CSI driver than it can.

Since 1.36 CSINode alone says how many, and a driver's volumes on a node are those of the pods there and those that
VolumeAttachments hold beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator

import msgspec
import numpy as np

from clusterstate.changes import BY_ROW, Reads
from clusterstate.cluster_objects import ClusterObjects
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import CSI
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import is_attachable_volume_resource
from clusterstate.volumes.claims import (
    CLAIM_WITHOUT_NAME,
    NO_PLUGINS,
    CSIUse,
    CSIVolume,
    Plugins,
    csi_handles,
    csi_limit_key,
    csi_use,
    csi_use_of,
    csi_volume_1_13,
    csi_volume_1_15,
    csi_volumes,
    first_error,
    has_claims,
    may_use_csi,
    unnamed_claims,
)
from clusterstate.volumes.csi_migration import ALL_PLUGINS, migrated_groups, migrating_plugins
from clusterstate.volumes.volume_decision import bound_storage
from predicates.refusal_evidence import Explain, LimitReached, LimitsReached, Need, Refusal, Unmet, predicate_evidence
from predicates.types import PASS, FitPredicate, FitPredicateFactory, NodeError, PredicateArgs, Verdict

TOO_MANY_VOLUMES = "node(s) exceed max volume count"

NO_LIMIT = np.iinfo(np.int64).max


class CSINodeLimits(msgspec.Struct):
    """What the CSINode objects say, by limit key and row; read again only when they or the nodes change.

    counts: limit key → row → volumes.
    """

    counts: dict[str, dict[int, int]] = msgspec.field(default_factory=dict)
    _objects: ClusterObjects | None = None
    _version: int = -1

    def update(self, snapshot: Snapshot) -> None:
        """Reads the limits anew if a CSINode or node has changed."""
        objects, version = snapshot.objects, snapshot.version(Reads.CSI_NODES | Reads.ALL_NODES)
        if objects is self._objects and version == self._version:
            return
        self._objects, self._version, self.counts = objects, version, {}
        for name, csi_node in objects.csi_nodes.items():
            row = snapshot.row_of(name)
            for driver in csi_node.drivers if row is not None else ():
                if row is not None and driver.count is not None:
                    self.counts.setdefault(csi_limit_key(driver.name), {})[row] = driver.count


def attach_limits(snapshot: Snapshot, csi_nodes: CSINodeLimits, key: str) -> IntArray:
    """(n,) volumes: the CSINode's limit where it has one, else the node's allocatable, else NO_LIMIT."""
    rows = snapshot.row_numbers
    limits: IntArray = np.full(int(rows.max(initial=-1)) + 1, NO_LIMIT, np.int64)
    index = snapshot.resource(key)
    if index is not None:
        limits[rows] = np.where(snapshot.allocatable_set[index], snapshot.allocatable[index], NO_LIMIT)
    _write(limits, csi_nodes.counts.get(key, {}))
    return limits[rows]


def _write(table: IntArray, counts: dict[int, int]) -> None:
    """Puts the counts of the rows that the table has into it."""
    rows = np.fromiter(counts.keys(), np.int64, len(counts))
    values = np.fromiter(counts.values(), np.int64, len(counts))
    inside = rows < len(table)
    table[rows[inside]] = values[inside]


def has_limits(snapshot: Snapshot, csi_nodes: CSINodeLimits) -> Mask:
    """(n,) bool: the node or its CSINode limits any kind of volume."""
    indices = [index for name, index in snapshot.resources.items() if is_attachable_volume_resource(name)]
    out: Mask = np.logical_or.reduce(snapshot.allocatable_set[indices], axis=0)
    for counts in csi_nodes.counts.values():
        out |= np.isin(snapshot.row_numbers, list(counts))
    return out


def max_csi_volume_count(
    pod: PodInfo, snapshot: Snapshot, csi_nodes: CSINodeLimits, plugins: Plugins = NO_PLUGINS
) -> Verdict:
    """Fails where volumes that are not there yet raise a driver above its limit; an error where a claim has no name.

    In-tree volumes count on nodes that have handed their plugin over. plugins: those that may be. ``csi_nodes`` is
    brought up to date first. Upstream: 1.16 CSIMaxVolumeLimitChecker, 1.20 CSILimits.
    """
    verdict: Verdict = {}
    for migrated, rows in migrated_groups(snapshot, plugins):
        for reason, mask in _count(pod, snapshot, csi_nodes, migrated).items():
            here = mask & rows
            verdict[reason] = verdict[reason] | here if reason in verdict else here
    return verdict


def _count(pod: PodInfo, snapshot: Snapshot, csi_nodes: CSINodeLimits, migrated: Plugins) -> Verdict:
    if unnamed_claims(pod):
        return {NodeError(CLAIM_WITHOUT_NAME): np.ones(len(snapshot), np.bool_)}
    new = csi_volumes(pod, snapshot.objects, migrated)
    if not new:
        return PASS
    csi_nodes.update(snapshot)
    exceeded = np.zeros(len(snapshot), np.bool_)
    for key, names in new.items():
        limits = attach_limits(snapshot, csi_nodes, key)
        if (limits != NO_LIMIT).any():
            there, together = (_used(snapshot, key, ids, migrated) for ids in (frozenset[str](), names))
            exceeded |= (together > there) & (together > limits)
    unnamed = snapshot.counts(snapshot.tally("unnamed claims", None, unnamed_claims)) > 0
    if unnamed.any():
        unnamed &= has_limits(snapshot, csi_nodes)
    return {TOO_MANY_VOLUMES: exceeded & ~unnamed, NodeError(CLAIM_WITHOUT_NAME): unnamed}


def _used(snapshot: Snapshot, key: str, new: frozenset[str], migrated: Plugins) -> IntArray:
    """(n,) the distinct volumes under a limit key with ``new`` on top."""
    objects = snapshot.objects

    def ids(info: PodInfo) -> frozenset[str]:
        return csi_volumes(info, objects, migrated).get(key, frozenset())

    return snapshot.union_sizes(("MaxCSIVolumeCount", key, migrated), ids, new, snapshot.version(Reads.STORAGE_CLASSES))


def explain_limits(csi_nodes: CSINodeLimits, plugins: Plugins = NO_PLUGINS) -> Explain:
    """By driver how many volumes there would be, and the node's limit. plugins: as in ``max_csi_volume_count``."""

    def explain(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
        csi_nodes.update(snapshot)
        migrated = next((m for m, rows in migrated_groups(snapshot, plugins) if rows[0]), NO_PLUGINS)
        limits = []
        for key, names in csi_volumes(pod, snapshot.objects, migrated).items():
            limit = int(attach_limits(snapshot, csi_nodes, key)[0])
            there, together = (int(_used(snapshot, key, ids, migrated)[0]) for ids in (frozenset[str](), names))
            limits.append(LimitReached(key, there, together, None if limit == NO_LIMIT else limit))
        return LimitsReached(tuple(limits))

    return explain


def asking_for_claims(check: FitPredicate, applies: Callable[[PodInfo], bool]) -> FitPredicate:
    """The same, but a claim of the pod that is missing refuses it, and one not its own is an error. applies: to which
    pods.


    Upstream: 1.23 CSILimits and nonCSILimits.
    """

    def ask(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        problems = csi_use(pod, snapshot.objects, NO_PLUGINS).problems
        if problems:
            first = problems[0]
            text = first.text if first.missing else NodeError(first.text)
            return {text: np.ones(len(snapshot), np.bool_)}
        return check.check(pod, snapshot)

    return msgspec.structs.replace(check, check=ask, applies=applies, unresolvable=is_unresolvable)


ATTACH_GATE = "AttachVolumeLimit"


def limits_nothing(_: PodInfo, __: Snapshot) -> Verdict:
    """Every node takes any number of volumes. Upstream: 1.13 to 1.16 with the feature gate AttachVolumeLimit off."""
    return PASS


def make_max_csi_volume_count(args: PredicateArgs) -> FitPredicate:
    """Counts the volumes of each CSI driver on the node together with the pod's own. Limits are those of the node's
    CSINode, otherwise allocatable `attachable-volumes-csi-<driver>`; a driver without a limit is not counted.

    Upstream: 1.16 CSIMaxVolumeLimitChecker.
    """
    csi_nodes, plugins = CSINodeLimits(), migrating_plugins(args.feature_gates)

    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return max_csi_volume_count(pod, snapshot, csi_nodes, plugins)

    return FitPredicate(
        "MaxCSIVolumeCountPred",
        check if args.feature_gates.get(ATTACH_GATE, True) else limits_nothing,
        Footprint(BY_ROW | Reads.STORAGE, pod_key=spec_alone, storage=bound_storage),
        has_claims,
        evidence=predicate_evidence("MaxCSIVolumeCountPred", explain_limits(csi_nodes, plugins)),
    )


# --- releases 1.13 to 1.15 ---------------------------------------------------------------------


class HandleCounting(msgspec.Struct, frozen=True):
    """Which volumes a release counts before 1.16; those with one handle are one, whatever their drivers are."""

    name: str
    """Equal names mean equal ``volume_of``."""
    volume_of: CSIVolume

    def of(self, pod: PodInfo, snapshot: Snapshot) -> dict[str, str]:
        """Handle → limit key."""
        return csi_handles(pod, snapshot.objects, self.volume_of)

    def there(self, snapshot: Snapshot, key: str | None, new: frozenset[str] = frozenset()) -> IntArray:
        """(n,) the distinct volumes under a limit key, None: under any, with ``new`` on top."""

        def ids(info: PodInfo) -> frozenset[str]:
            return frozenset(handle for handle, limit in self.of(info, snapshot).items() if key in (None, limit))

        rule = ("MaxCSIVolumeCount", self.name, key)
        return snapshot.union_sizes(rule, ids, new, snapshot.version(Reads.STORAGE_CLASSES))

    def numbers(self, pod: PodInfo, snapshot: Snapshot) -> Iterator[tuple[str, IntArray, IntArray]]:
        """(limit key, (n,) the volumes there, (n,) the pod's that come to them) of each key of the pod."""
        new = self.of(pod, snapshot)
        for key in dict.fromkeys(new.values()):
            names = frozenset(handle for handle, limit in new.items() if limit == key)
            yield key, self.there(snapshot, key), self.there(snapshot, None, names) - self.there(snapshot, None)


HANDLES_1_13 = HandleCounting("1.13", csi_volume_1_13)
HANDLES_1_15 = HandleCounting("1.15", csi_volume_1_15)


def max_csi_volume_count_1_15(pod: PodInfo, snapshot: Snapshot, counting: HandleCounting) -> Verdict:
    """Fails where volumes that are not there yet raise a driver above the node's allocatable; where that limits no
    kind of volume, nothing is looked at. An error where a claim has no name. Upstream: 1.15 CSIMaxVolumeLimitChecker.
    """
    limited = has_limits(snapshot, CSINodeLimits())
    if unnamed_claims(pod):
        return {NodeError(CLAIM_WITHOUT_NAME): limited}
    exceeded = np.zeros(len(snapshot), np.bool_)
    for key, there, new in counting.numbers(pod, snapshot):
        index = snapshot.resource(key)
        if index is not None:
            exceeded |= snapshot.allocatable_set[index] & (new > 0) & (there + new > snapshot.allocatable[index])
    unnamed = limited & (snapshot.counts(snapshot.tally("unnamed claims", None, unnamed_claims)) > 0)
    return {TOO_MANY_VOLUMES: exceeded & ~unnamed, NodeError(CLAIM_WITHOUT_NAME): unnamed}


def explain_limits_1_15(counting: HandleCounting) -> Explain:
    """By driver how many volumes there would be, and the node's limit."""

    def explain(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
        limits = []
        for key, there, new in counting.numbers(pod, snapshot):
            limit = int(attach_limits(snapshot, CSINodeLimits(), key)[0])
            together = int(there[0]) + int(new[0])
            limits.append(LimitReached(key, int(there[0]), together, None if limit == NO_LIMIT else limit))
        return LimitsReached(tuple(limits))

    return explain


def _counting_handles(counting: HandleCounting, args: PredicateArgs) -> FitPredicate:
    def check(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return max_csi_volume_count_1_15(pod, snapshot, counting)

    name = "MaxCSIVolumeCountPred"
    return FitPredicate(
        name,
        check if args.feature_gates.get(ATTACH_GATE, True) else limits_nothing,
        Footprint(BY_ROW | Reads.STORAGE, pod_key=spec_alone, storage=bound_storage),
        has_claims,
        evidence=predicate_evidence(name, explain_limits_1_15(counting)),
    )


def make_max_csi_volume_count_1_15(args: PredicateArgs) -> FitPredicate:
    """Limits are allocatable `attachable-volumes-csi-<driver>` alone. Volumes of different drivers with one handle
    count as one.

    Upstream: 1.15 CSIMaxVolumeLimitChecker.
    """
    return _counting_handles(HANDLES_1_15, args)


def make_max_csi_volume_count_1_13(args: PredicateArgs) -> FitPredicate:
    """Limits are allocatable `attachable-volumes-csi-<driver>` alone. Volumes of different drivers with one handle
    count as one, a claim without a known volume does not count.

    Upstream: 1.13 CSIMaxVolumeLimitChecker.
    """
    return _counting_handles(HANDLES_1_13, args)


# --- NodeVolumeLimits of 1.36: what nodes allow and hold ---------------------------------------

NOBODY: frozenset[str] = frozenset()
PORTWORX = "kubernetes.io/portworx-volume"

Used = Counter[tuple[int, str]]
"""(row, volume) → the pods that use it."""


class ByRow(msgspec.Struct, frozen=True):
    """Numbers of some rows of the whole cluster; both arrays are as long as there are such rows."""

    rows: IntArray
    numbers: IntArray

    @classmethod
    def of(cls, numbers: dict[int, int]) -> ByRow:
        """Of row → number."""
        return cls(_array(numbers.keys()), _array(numbers.values()))

    def spread(self, snapshot: Snapshot, default: int) -> IntArray:
        """(n,) the numbers, ``default`` elsewhere."""
        at = snapshot.row_numbers
        table: IntArray = np.full(max(at.max(initial=-1), self.rows.max(initial=-1)) + 1, default, np.int64)
        table[self.rows] = self.numbers
        return table[at]


class Drivers(msgspec.Struct, frozen=True):
    """What the CSINode objects say. rows: those with a CSINode, limited: with any limit. By driver: installed: the rows
    that have it, limits: the most volumes of it."""

    rows: IntArray
    limited: IntArray
    installed: dict[str, IntArray]
    limits: dict[str, ByRow]


def _drivers(snapshot: Snapshot) -> Drivers:
    return snapshot.derived("csi drivers", Reads.CSI_NODES | Reads.ALL_NODES, lambda: _read_drivers(snapshot))


def _read_drivers(snapshot: Snapshot) -> Drivers:
    rows, limited = [], []
    installed: dict[str, list[int]] = {}
    limits: dict[str, dict[int, int]] = {}
    for name, csi_node in snapshot.objects.csi_nodes.items():
        row = snapshot.row_of(name)
        if row is None:
            continue
        rows.append(row)
        for driver in csi_node.drivers:
            installed.setdefault(driver.name, []).append(row)
            if driver.count is not None:
                limits.setdefault(driver.name, {})[row] = driver.count
                limited.append(row)
    return Drivers(
        _array(rows),
        _array(limited),
        {name: _array(at) for name, at in installed.items()},
        {name: ByRow.of(counts) for name, counts in limits.items()},
    )


def _array(numbers: Collection[int]) -> IntArray:
    return np.fromiter(numbers, np.int64, len(numbers))


def _among(snapshot: Snapshot, rows: IntArray) -> Mask:
    out: Mask = np.isin(snapshot.row_numbers, rows)
    return out


def _attachments(snapshot: Snapshot) -> dict[str, dict[int, frozenset[str]]]:
    """Driver → row → the volumes (``driver/handle``) that VolumeAttachments hold there."""
    reads = Reads.ATTACHMENTS | Reads.ALL_NODES
    return snapshot.derived("volume attachments", reads, lambda: _read_attachments(snapshot))


def _read_attachments(snapshot: Snapshot) -> dict[str, dict[int, frozenset[str]]]:
    by_driver: dict[str, dict[int, set[str]]] = {}
    objects = snapshot.objects
    for attachment in objects.volume_attachments.values():
        row = snapshot.row_of(attachment.node_name)
        volume = objects.persistent_volumes.get(attachment.volume_name)
        if row is not None and attachment.attacher and volume is not None and isinstance(volume.source, CSI):
            held = by_driver.setdefault(attachment.attacher, {}).setdefault(row, set())
            held.add(f"{attachment.attacher}/{volume.source.volume_handle}")
    return {driver: {row: frozenset(held) for row, held in rows.items()} for driver, rows in by_driver.items()}


def _left_behind(snapshot: Snapshot, driver: str) -> IntArray:
    """(n,) the volumes of a driver that VolumeAttachments hold and no pod on the node uses."""
    held = _attachments(snapshot).get(driver)
    if not held:
        return np.zeros(len(snapshot), np.int64)
    reads = Reads.STORAGE | Reads.ALL_NODES | Reads.ALL_PODS
    used, left = snapshot.derived(("left behind", driver), reads, lambda: _count_left(snapshot, driver, held))
    out = left.spread(snapshot, 0)
    if snapshot.changes:
        ids = csi_use_of(driver, snapshot.objects)
        used = used.copy()
        for change in snapshot.changes:
            for name in ids(change.info):
                used[change.row, name] += change.sign
        for row in {change.row for change in snapshot.changes}:
            out[snapshot.row_numbers == row] = sum(used[row, name] <= 0 for name in held.get(row, ()))
    return out


def _count_left(snapshot: Snapshot, driver: str, held: dict[int, frozenset[str]]) -> tuple[Used, ByRow]:
    used = _used_1_36(snapshot, driver)
    left = {row: sum((row, name) not in used for name in names) for row, names in held.items()}
    return used, ByRow.of(left)


def _used_1_36(snapshot: Snapshot, driver: str) -> Used:
    ids = csi_use_of(driver, snapshot.objects)
    out: Used = Counter()
    for info in snapshot.running():
        if may_use_csi(info):
            for name in ids(info):
                for row, count in info.rows.items():
                    out[row, name] += count
    return out


# --- NodeVolumeLimits of 1.36: the rule --------------------------------------------------------


def csi_limits_1_36(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where volumes that no pod uses there yet raise a driver above its limit.

    A claim that is not there is a reason of its own; a claim without a name or of another pod, and an inline volume
    that its driver cannot know, are errors. Upstream: 1.36 CSILimits.
    """
    return _limits(LIMITS_1_36, pod, snapshot)


def csi_limits_with_scaling(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same with gate VolumeLimitScaling: a driver may have to be installed."""
    return _limits(msgspec.structs.replace(LIMITS_1_36, scaling=True), pod, snapshot)


class LimitRules(msgspec.Struct, frozen=True):
    """What counts and limits in one release."""

    plugins: Plugins = ALL_PLUGINS
    """The in-tree plugins that drivers always stand in for."""
    handed_over: Plugins = NO_PLUGINS
    """Those for which they do where the CSINode says so."""
    of_nodes: bool = False
    """The node's allocatable limits drivers for which the CSINode says nothing."""
    attached: bool = True
    """Volumes count that are attached though no pod uses them."""
    missing_is_error: bool = False
    """A claim of the pod that is not there is an error."""
    scaling: bool = False
    """A driver may have to be installed."""


LIMITS_1_36 = LimitRules()
LIMITS_1_32 = LimitRules(ALL_PLUGINS - {PORTWORX}, frozenset({PORTWORX}))
LIMITS_1_30 = msgspec.structs.replace(LIMITS_1_32, of_nodes=True, attached=False)
LIMITS_1_28 = msgspec.structs.replace(LIMITS_1_30, missing_is_error=True)


def _less(rules: LimitRules, *plugins: str) -> LimitRules:
    """The rules when drivers stood in for some plugins only where the CSINode says so."""
    return msgspec.structs.replace(
        rules, plugins=rules.plugins - {*plugins}, handed_over=rules.handed_over | {*plugins}
    )


LIMITS_1_27 = _less(LIMITS_1_28, "kubernetes.io/gce-pd")
LIMITS_1_26 = _less(LIMITS_1_27, "kubernetes.io/aws-ebs", "kubernetes.io/azure-disk")
LIMITS_1_25 = _less(LIMITS_1_26, "kubernetes.io/cinder")


def csi_limits_before_1_36(rules: LimitRules, pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """As ``csi_limits_1_36``, by the rules of releases 1.25 to 1.35, on each node as it has handed plugins over."""
    verdict: Verdict = {}
    for migrated, rows in migrated_groups(snapshot, rules.handed_over):
        here = msgspec.structs.replace(rules, plugins=rules.plugins | migrated)
        for reason, mask in _limits(here, pod, snapshot).items():
            _add(verdict, reason, mask & rows)
    return verdict


def _limits(rules: LimitRules, pod: PodInfo, snapshot: Snapshot) -> Verdict:
    if not may_use_csi(pod):
        return PASS
    use = csi_use(pod, snapshot.objects, rules.plugins)
    drivers = _drivers(snapshot)
    verdict: Verdict = {}
    undecided = np.ones(len(snapshot), np.bool_)
    for reason, mask in _refusals(rules, use, snapshot, drivers):
        _add(verdict, reason, undecided & mask)
        undecided = undecided & ~mask
    if not use.volumes or not undecided.any():
        return verdict
    for error, mask in _errors_of_others(rules, snapshot, undecided & _limited(rules, snapshot, drivers)):
        _add(verdict, error, mask)
        undecided = undecided & ~mask
    exceeded = np.zeros(len(snapshot), np.bool_)
    for driver, names in use.volumes.items():
        limits = _limits_of(rules, snapshot, driver, drivers)
        if limits is not None:
            exceeded |= _exceeded(rules, snapshot, driver, names, limits)
    return {**verdict, TOO_MANY_VOLUMES: exceeded & undecided}


def _add(verdict: Verdict, reason: str, rows: Mask) -> None:
    verdict[reason] = verdict[reason] | rows if reason in verdict else rows


def _limited(rules: LimitRules, snapshot: Snapshot, drivers: Drivers) -> Mask:
    """(n,) bool: the node limits any driver."""
    limited = _among(snapshot, drivers.limited)
    return limited | has_limits(snapshot, CSINodeLimits()) if rules.of_nodes else limited


def _limits_of(rules: LimitRules, snapshot: Snapshot, driver: str, drivers: Drivers) -> IntArray | None:
    """(n,) the most volumes of a driver, NO_LIMIT where nobody says; None: nowhere."""
    own = drivers.limits[driver].spread(snapshot, NO_LIMIT) if driver in drivers.limits else None
    if not rules.of_nodes:
        return own
    allocatable = attach_limits(snapshot, CSINodeLimits(), csi_limit_key(driver))
    return allocatable if own is None else np.where(own == NO_LIMIT, allocatable, own)


def _refusals(rules: LimitRules, use: CSIUse, snapshot: Snapshot, drivers: Drivers) -> Iterator[tuple[str, Mask]]:
    """(reason, (n,) bool) in the order in which they are met, before anything is counted."""
    everywhere = np.ones(len(snapshot), np.bool_)
    for problem in use.problems:
        missing = problem.missing and not rules.missing_is_error
        text = problem.text if missing else NodeError(problem.text)
        yield text, _among(snapshot, drivers.rows) if problem.with_driver else everywhere
    for driver in sorted(use.volumes) if rules.scaling else ():
        known = snapshot.objects.csi_drivers.get(driver)
        if known is not None and known.prevent_pod_scheduling_if_missing:
            installed = _among(snapshot, drivers.installed.get(driver, _array(())))
            yield f"{driver} CSI driver is not installed on the node", ~installed


def _exceeded(rules: LimitRules, snapshot: Snapshot, driver: str, names: frozenset[str], limits: IntArray) -> Mask:
    there, together = (_in_use(rules, snapshot, driver, ids) for ids in (NOBODY, names))
    left = _left_behind(snapshot, driver) if rules.attached else 0
    out: Mask = (together > there) & (together + left > limits)
    return out


def _in_use(rules: LimitRules, snapshot: Snapshot, driver: str, new: frozenset[str]) -> IntArray:
    """(n,) the distinct volumes of a driver that pods use, with ``new`` on top."""
    ids = csi_use_of(driver, snapshot.objects, rules.plugins)
    name = ("NodeVolumeLimits", driver, rules.plugins)
    return snapshot.union_sizes(name, ids, new, snapshot.version(Reads.STORAGE_CLASSES))


def _errors_of_others(rules: LimitRules, snapshot: Snapshot, rows: Mask) -> Iterator[tuple[NodeError, Mask]]:
    """(error, (n,) bool): where a pod that is there already has volumes that cannot be counted."""
    objects = snapshot.objects

    def ids(pod: PodInfo) -> frozenset[str]:
        error = first_error(pod, objects, rules.plugins) if may_use_csi(pod) else None
        return NOBODY if error is None else frozenset({error})

    counts = snapshot.union_sizes(
        ("NodeVolumeLimits errors", rules.plugins), ids, NOBODY, snapshot.version(Reads.STORAGE_CLASSES)
    )
    left = rows & (counts > 0)
    if not left.any():
        return
    places = [(info, list(info.rows)) for info in snapshot.running()]
    places += [(change.info, [change.row]) for change in snapshot.changes if change.sign > 0]
    for info, at in places:
        for error in ids(info):
            hit = left & _among(snapshot, _array(at))
            left = left & ~hit
            if hit.any():
                yield NodeError(error), hit


def is_unresolvable(reason: str) -> bool:
    """Taking pods away makes room, but brings no claim."""
    return reason.startswith("looking up PVC ")


def explain_limits_1_36(pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
    """By driver how many volumes there would be, and the CSINode's limit; or what is missing before they count."""
    return explain_limits_by(msgspec.structs.replace(LIMITS_1_36, scaling=True), pod, snapshot, reason)


def explain_limits_by(rules: LimitRules, pod: PodInfo, snapshot: Snapshot, reason: str) -> Refusal:
    """The same by the rules of a release; limits of the node count where it reads them."""
    migrated = next((plugins for plugins, rows in migrated_groups(snapshot, rules.handed_over) if rows[0]), NO_PLUGINS)
    rules = msgspec.structs.replace(rules, plugins=rules.plugins | migrated)
    use, drivers = csi_use(pod, snapshot.objects, rules.plugins), _drivers(snapshot)
    if reason != TOO_MANY_VOLUMES:
        masks = [mask for text, mask in _refusals(rules, use, snapshot, drivers) if text == reason]
        return Unmet((Need("volumes that can be counted", reason, not any(mask[0] for mask in masks)),))
    limits = []
    for driver, names in use.volumes.items():
        told = _limits_of(rules, snapshot, driver, drivers)
        limit = NO_LIMIT if told is None else int(told[0])
        left = int(_left_behind(snapshot, driver)[0]) if rules.attached else 0
        there, together = (int(_in_use(rules, snapshot, driver, ids)[0]) + left for ids in (NOBODY, names))
        limits.append(LimitReached(driver, there, together, None if limit == NO_LIMIT else limit))
    return LimitsReached(tuple(limits))


CSI_VOLUMES: dict[str, FitPredicateFactory] = {"MaxCSIVolumeCountPred": make_max_csi_volume_count}
CSI_VOLUMES_1_13: dict[str, FitPredicateFactory] = {"MaxCSIVolumeCountPred": make_max_csi_volume_count_1_13}
CSI_VOLUMES_1_15: dict[str, FitPredicateFactory] = {"MaxCSIVolumeCountPred": make_max_csi_volume_count_1_15}
