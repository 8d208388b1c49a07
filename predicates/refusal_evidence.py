"""What a refusal was made of: the numbers, labels, taints and pods from which a check decided about one node.

Nothing here is worked out while pods are scheduled: a check makes its evidence when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from clusterstate.growable import ABSENT
from clusterstate.objects import (
    DeviceAsk,
    LabelSelector,
    Node,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    PodAffinityTerm,
    Requirement,
    ResourceClaim,
)
from clusterstate.podinfo import PodInfo, Reach
from clusterstate.quantity import format_quantity
from clusterstate.selectors.node_selection import node_affinity_mask, requirement_mask
from clusterstate.snapshot import Snapshot
from clusterstate.usage import CPU, EPHEMERAL_STORAGE, MEMORY
from clusterstate.volumes.claim_matching import NOT_PROVISIONED, BindingRules, Delayed, volumes_of

ONLY = 0
"""The position of the row in a snapshot of one row."""


class Refusal(msgspec.Struct, frozen=True):
    """The facts that one reason rests on, for one node."""

    @property
    def refuses(self) -> bool:
        """Whether these facts refuse the node, decided from nothing else."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """The facts in one line."""
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """The facts as plain data, for JSON."""
        return dict(msgspec.to_builtins(self))


class Shortage(Refusal, frozen=True):
    """An amount that is asked for, against what is left of it."""

    resource: str
    """The resource's name; cpu is counted in millicores, memory and storage in bytes."""
    asked: int
    """What the pod asks for."""
    used: int
    """What the pods there ask for."""
    allocatable: int
    """What the node has for pods."""
    provided_by_class: bool = False
    """Whether a DeviceClass provides it to nodes that have none (1.36)."""

    @property
    def refuses(self) -> bool:
        return self.used + self.asked > self.allocatable and not (self.provided_by_class and not self.allocatable)

    @property
    def text(self) -> str:
        """``asks 5, 3 of 4 free``."""
        asked, free, there = (
            amount(self.resource, n) for n in (self.asked, self.allocatable - self.used, self.allocatable)
        )
        return f"asks {asked}, {free} of {there} free"


class LimitReached(Refusal, frozen=True):
    """Things of a kind on a node, against the most that it takes."""

    kind: str
    """What is counted."""
    there: int
    """How many there are."""
    together: int
    """How many there would be."""
    limit: int | None
    """The most that the node takes; None without a limit."""
    applies: bool = True
    """False where something else takes care of them, such as a CSI driver."""

    @property
    def refuses(self) -> bool:
        return self.applies and self.limit is not None and self.together > self.limit

    @property
    def text(self) -> str:
        """``kubernetes.io/aws-ebs: 40 with this pod, at most 39``."""
        return f"{self.kind}: {self.together} with this pod, at most {'any' if self.limit is None else self.limit}"


class LimitsReached(Refusal, frozen=True):
    """Several kinds of things with a limit each."""

    limits: tuple[LimitReached, ...]
    """By kind."""

    @property
    def refuses(self) -> bool:
        return any(one.refuses and one.together > one.there for one in self.limits)

    @property
    def text(self) -> str:
        return "; ".join(one.text for one in self.limits if one.refuses and one.together > one.there)


class Need(msgspec.Struct, frozen=True):
    """One thing that a pod needs of a node, and what the node has."""

    wanted: str
    """What is needed."""
    found: str
    """What there is."""
    met: bool
    """Whether that will do."""


class Unmet(Refusal, frozen=True):
    """What a pod needs of a node, all of it."""

    needs: tuple[Need, ...]
    """Each with what the node has."""
    applies: bool = True
    """False where the node need not meet them."""

    @property
    def refuses(self) -> bool:
        return self.applies and not all(need.met for need in self.needs)

    @property
    def text(self) -> str:
        """``wants disk=ssd, found hdd``, of the needs that are not met."""
        return "; ".join(f"wants {need.wanted}, found {need.found}" for need in self.needs if not need.met)


class NotSelected(Refusal, frozen=True):
    """A pod's nodeSelector and required node affinity against one node's labels."""

    selector: tuple[Need, ...]
    """By pair of the nodeSelector; all must be met."""
    terms: tuple[tuple[Need, ...], ...] | None
    """By node selector term, its requirements; one term must be met whole, an empty one is not. None: no affinity."""
    unreadable: bool = False
    """Whether the pod's affinity cannot be read, which no node meets (1.4)."""

    @property
    def refuses(self) -> bool:
        by_term = self.terms is None or any(term and all(n.met for n in term) for term in self.terms)
        return self.unreadable or not by_term or not all(need.met for need in self.selector)

    @property
    def text(self) -> str:
        """What is not met, of each term of which one would do."""
        if self.unreadable:
            return "the pod's affinity cannot be read"
        parts = [_unmet(self.selector)] if not all(need.met for need in self.selector) else []
        if self.terms is not None and not any(term and all(n.met for n in term) for term in self.terms):
            parts.append(" or ".join(_unmet(term) for term in self.terms if term) or "no term picks a node")
        return "; ".join(parts)


def _unmet(needs: Iterable[Need]) -> str:
    return ", ".join(f"wants {need.wanted}, found {need.found}" for need in needs if not need.met)


class InUse(msgspec.Struct, frozen=True):
    """Something that is wanted and held by a pod already."""

    wanted: str
    """What the pod wants, or the rule that keeps it out."""
    held: str
    """What is in the way."""
    pods: tuple[str, ...]
    """Whose it is: namespace/name."""


class Conflict(Refusal, frozen=True):
    """What pods in the way hold."""

    conflicts: tuple[InUse, ...]
    """All that are in the way; none: nothing is."""

    @property
    def refuses(self) -> bool:
        return any(conflict.pods for conflict in self.conflicts)

    @property
    def text(self) -> str:
        """``wants TCP 80, held by default/web``."""
        return "; ".join(f"wants {one.wanted}, {one.held} by {few(one.pods)}" for one in self.conflicts if one.pods)


class Uneven(Refusal, frozen=True):
    """One topology spread constraint and a node's domain."""

    key: str
    """The topology key."""
    domain: str | None
    """The node's value of it; None: it lacks the key."""
    there: int
    """The matching pods in the domain."""
    own: int
    """1 if the pod counts itself."""
    least: int
    """The matching pods of the emptiest domain."""
    max_skew: int
    """How far ahead of it a domain may be."""
    tells_missing: bool = True
    """Whether a missing key fails for the same reason."""

    @property
    def refuses(self) -> bool:
        if self.domain is None:
            return self.tells_missing
        return self.there + self.own - self.least > self.max_skew

    @property
    def text(self) -> str:
        """``zone=a has 3 pods, with this one 4; the emptiest has 1, at most 2 ahead``."""
        if self.domain is None:
            return f"the node has no {self.key}"
        return (
            f"{self.key}={self.domain} has {self.there}, with this pod {self.there + self.own}; "
            f"the emptiest has {self.least}, and maxSkew is {self.max_skew}"
        )


class AnyOf(Refusal, frozen=True):
    """Several findings of which any refuses the node."""

    parts: tuple[Refusal, ...]
    """In order."""

    @property
    def refuses(self) -> bool:
        return any(part.refuses for part in self.parts)

    @property
    def text(self) -> str:
        return "; ".join(part.text for part in self.parts if part.refuses)


Explain = Callable[[PodInfo, Snapshot, str], Refusal]
"""Of the pod, a snapshot of one row, and one of the check's reasons for it: the facts behind it."""


class CheckEvidence(msgspec.Struct, frozen=True):
    """What a check can say about its reasons."""

    upstream: str
    """The check's name in kube-scheduler, without the release."""
    page: str
    """The check's page and heading in docs/."""
    explain: Explain
    """The facts behind a reason."""


def predicate_evidence(upstream: str, explain: Explain) -> CheckEvidence:
    """The evidence of a predicate of 1.4 and 1.16."""
    return CheckEvidence(upstream, f"docs/reference/predicates.md#{upstream.lower()}", explain)


def filter_evidence(plugin: str, explain: Explain) -> CheckEvidence:
    """The evidence of a plugin's Filter."""
    return CheckEvidence(plugin, f"docs/reference/plugins.md#{plugin.lower()}", explain)


# --- helpers of the checks -----------------------------------------------------------------


def amount(resource: str, number: int) -> str:
    """``1500m`` of cpu (in millicores), ``200Mi`` of what is counted in bytes, a plain number of all else."""
    if resource == CPU:
        return format_quantity(number)
    if resource in (MEMORY, EPHEMERAL_STORAGE):
        return format_quantity(number * 1000, binary=True)
    return str(number)


def few(names: tuple[str, ...], most: int = 3) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def node_of(snapshot: Snapshot) -> Node | None:
    """The node of a snapshot of one row."""
    return snapshot.node(int(snapshot.row_numbers[ONLY]))


def label_of(snapshot: Snapshot, key: str) -> str | None:
    """The node's value of a label; None without."""
    code = int(snapshot.label_codes(key)[0][ONLY])
    return None if code == ABSENT else snapshot.label_values(key)[code]


def label_text(value: str | None) -> str:
    """A label's value, or that there is none."""
    return "no such label" if value is None else value or repr(value)


def label_need(snapshot: Snapshot, requirement: Requirement) -> Need:
    """One valid requirement on the node's labels."""
    met = bool(requirement_mask(snapshot, requirement)[ONLY])
    return Need(requirement_text(requirement), label_text(label_of(snapshot, requirement.key)), met)


def requirement_text(requirement: Requirement) -> str:
    """``disk=ssd``, ``zone in (a, b)``, ``gpu exists``."""
    key, values = requirement.key, ", ".join(requirement.values)
    match requirement.operator:
        case "In":
            return f"{key}={values}" if len(requirement.values) == 1 else f"{key} in ({values})"
        case "NotIn":
            return f"{key} not in ({values})"
        case "Exists":
            return f"{key} to exist"
        case "DoesNotExist":
            return f"{key} not to exist"
    return f"{key} {requirement.operator} {values}"


def pods_there(snapshot: Snapshot, holds: Callable[[PodInfo], bool]) -> tuple[str, ...]:
    """The pods on a snapshot's one row that ``holds`` is true of, those hypothetically added too."""
    row = int(snapshot.row_numbers[ONLY])
    there = [pod.key for pod in snapshot.pods_on(row) if holds(snapshot.info(pod))]
    return (*there, *_added(snapshot, lambda at, info: at == row and holds(info)))


def pods_in_domain(
    snapshot: Snapshot, key: str, picks: Callable[[PodInfo], bool], *, nominated: bool = True, reach: Reach = None
) -> tuple[str, ...]:
    """The pods on nodes with the same value of ``key`` as a snapshot's one row, that ``picks`` is true of.

    nominated: whether pods count that are only nominated to their node. reach: marks of which every class of running
    pods that ``picks`` is true of has one; None: there are no such marks.
    """
    codes = snapshot.whole().label_codes(key)[0]
    code = int(snapshot.label_codes(key)[0][ONLY])
    if code == ABSENT:
        return ()
    return pods_on_rows(snapshot, lambda row: int(codes[row]) == code, picks, nominated=nominated, reach=reach)


def pods_on_rows(
    snapshot: Snapshot,
    here: Callable[[int], bool],
    picks: Callable[[PodInfo], bool],
    *,
    nominated: bool = True,
    reach: Reach = None,
) -> tuple[str, ...]:
    """The pods on some rows of the whole cluster that ``picks`` is true of, those hypothetically added too.

    nominated, reach: see ``pods_in_domain``.
    """
    pods: list[str] = []
    for info in snapshot.running(reach):
        if picks(info):
            for row in filter(here, info.rows):
                pods += [pod.key for pod in snapshot.pods_on(row) if snapshot.info(pod) is info]
    return (*pods, *_added(snapshot, lambda row, info: here(row) and picks(info), nominated=nominated))


def _added(snapshot: Snapshot, wanted: Callable[[int, PodInfo], bool], *, nominated: bool = True) -> list[str]:
    return [
        "a pod" if change.pod is None else change.pod.key
        for change in snapshot.changes
        if change.sign > 0 and (nominated or not change.nominated) and wanted(change.row, change.info)
    ]


MOST_DEVICES = 8
"""Devices of a node that are named."""


# --- selectors and terms -------------------------------------------------------------------


def terms_text(terms: Iterable[NodeSelectorTerm]) -> str:
    """Node selector terms, of which one has to hold: ``zone=a or zone=b, disk=ssd``."""
    texts = (", ".join(map(requirement_text, (*t.match_expressions, *t.match_fields))) or "nothing" for t in terms)
    return " or ".join(texts) or "nothing"


def selector_text(selector: LabelSelector | None) -> str:
    """A label selector: ``app=web, tier in (a, b)``."""
    if selector is None:
        return "no pod"
    pairs = [f"{key}={value}" for key, value in selector.match_labels.items()]
    return ", ".join([*pairs, *map(requirement_text, selector.match_expressions)]) or "any pod"


def affinity_term_text(term: PodAffinityTerm, namespace: str) -> str:
    """Which pods a term of a pod in ``namespace`` picks: ``app=web in default``."""
    return f"{selector_text(term.label_selector)} in {', '.join(term.namespaces or ()) or namespace}"


# --- claims and volumes --------------------------------------------------------------------


def bound_text(claim: PersistentVolumeClaim, snapshot: Snapshot) -> str:
    """What a bound claim asks of a node: that its volume can be used there."""
    volume = snapshot.objects.persistent_volumes.get(claim.volume_name)
    terms = None if volume is None else volume.node_affinity
    where = "" if terms is None else f" ({terms_text(terms)})"
    return f"the node of volume {claim.volume_name} of claim {claim.metadata.name}{where}"


def delayed_need(entry: Delayed, snapshot: Snapshot, rules: BindingRules, *, met: bool) -> Need:
    """What an unbound claim asks for, and the volumes of its class with what speaks for or against them."""
    claim, storage_class = entry
    name = storage_class.metadata.name
    asked = ", ".join((f"{amount(MEMORY, claim.storage // 1000)} of class {name}", *claim.access_modes))
    wanted = f"a volume for claim {claim.metadata.name} ({asked})"
    if met:
        return Need(wanted, "one", True)
    volumes = tuple(_volume_text(volume) for volume in volumes_of(rules, snapshot, name))
    made = "none can be made" if storage_class.provisioner in NOT_PROVISIONED else _made_text(entry)
    return Need(wanted, f"{'none of ' + few(volumes) if volumes else 'none'}; {made}", False)


def _volume_text(volume: PersistentVolume) -> str:
    given = volume.claim_ref
    held = "" if given is None else f" for {given.namespace}/{given.name}"
    where = "" if volume.node_affinity is None else f" at {terms_text(volume.node_affinity)}"
    return f"{volume.metadata.name} ({amount(MEMORY, volume.storage // 1000)}{held}{where})"


def _made_text(entry: Delayed) -> str:
    storage_class = entry[1]
    if not storage_class.allowed_topologies:
        return f"{storage_class.provisioner} cannot make one here"
    where = " or ".join(", ".join(map(requirement_text, term)) for term in storage_class.allowed_topologies)
    return f"{storage_class.provisioner} makes them at {where}"


# --- devices -------------------------------------------------------------------------------


def requests_text(claim: ResourceClaim) -> str:
    """What a claim asks for: ``r: 2 of gpu, s: 1 of nic or 1 of slow-nic``."""
    return ", ".join(
        f"{request.name}: {' or '.join(_ask_text(ask) for _, ask in request.alternatives())}"
        for request in claim.spec.requests
    )


def _ask_text(ask: DeviceAsk) -> str:
    return f"{'all' if ask.allocation_mode == 'All' else ask.count} of {ask.device_class_name}"


def devices_text(snapshot: Snapshot) -> str:
    """The devices that slices say are on a snapshot's one row, each with the claim that holds it."""
    objects = snapshot.objects
    claims = [(claim.metadata, claim.allocation) for claim in objects.resource_claims.values()]
    claims += [(pending.metadata, pending.allocation) for pending in objects.pending_allocations.values()]
    held = {
        (device.driver, device.pool, device.device): f"{meta.namespace}/{meta.name}"
        for meta, allocation in claims
        if allocation is not None
        for device in allocation.devices
    }
    name, devices = snapshot.names[ONLY], []
    for piece in objects.resource_slices.values():
        place = piece.placement
        here = place.all_nodes or piece.per_device or place.node_name == name
        if not here and place.node_selector is not None:
            here = bool(node_affinity_mask(snapshot, place.node_selector)[ONLY])
        for device in piece.devices if here else ():
            key = piece.driver, piece.pool, device.name
            devices.append("/".join(key) + (f" (held by {held[key]})" if key in held else ""))
    return few(tuple(devices), MOST_DEVICES) or "no devices"
