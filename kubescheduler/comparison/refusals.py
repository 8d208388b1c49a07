"""What decisions say of nodes that were refused, and in what the refusals of two releases differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
import numpy as np

from clusterstate.errors import StaleDecisionError
from clusterstate.growable import Mask
from kubescheduler.core.decision import Decision
from predicates.types import NodeError

NOMINATED = "nominated pods"
EXTENDERS = "extenders"
OTHERS = "scheduler"
NOT_LOOKED_AT = "the node was not looked at"


def refusals(decision: Decision, row: int | None, host: str) -> dict[str, tuple[str, ...]]:
    """Check → its reasons for refusing a node. row: the node's, None if the cluster has none of this name.

    Every check that looked at the node has its say, though releases stop at the first that refuses.
    """
    found: dict[str, tuple[str, ...]] = {}
    if row is not None:
        for name, verdict in decision.verdicts:
            reasons = [r for r, mask in verdict.items() if mask[row]]
            if reasons:
                key = decision.pod.key
                found[name] = tuple(r.about(key) if isinstance(r, NodeError) else str(r) for r in reasons)
        for name, reasons_beside in decision.with_nominated.get(row, ()):
            found.setdefault(f"{name} ({NOMINATED})", reasons_beside)
    for trace in decision.extenders:
        if host in (trace.failed or {}):
            found[f"extender {trace.name}"] = ((trace.failed or {})[host],)
    return found or _without_a_check(decision, row, host)


def refusal_sentences(decision: Decision, row: int | None, host: str) -> dict[str, tuple[str, ...]]:
    """Check → its reasons for refusing a node, each with what it was made of.

    Nothing where no check decided, and where the cluster has changed since in what a check reads.
    """
    if decision.explainer is None or row is None or not decision.listed[row]:
        return {}
    try:
        found = decision.why(host).refusals
    except StaleDecisionError:
        return {}
    out: dict[str, tuple[str, ...]] = {}
    for refusal in found:
        out[refusal.rule] = (*out.get(refusal.rule, ()), refusal.sentence)
    return out


def _without_a_check(decision: Decision, row: int | None, host: str) -> dict[str, tuple[str, ...]]:
    """What no Filter says: a PreFilter, an extender, or nobody as the node was passed over."""
    if not decision.tried:
        return {OTHERS: (decision.message,)}
    status = decision.refused.get(host)
    if status is None and row is not None and decision.listed[row] and not decision.looked_at[row]:
        status = decision.absent
    if status is not None and status.all_reasons:
        return {status.plugin or EXTENDERS: tuple(status.all_reasons)}
    return {OTHERS: (NOT_LOOKED_AT,)}


CHECKS_OF_RULES = {
    "taints": ("PodToleratesNodeTaints", "TaintToleration"),
    "host ports": ("PodFitsHostPorts", "PodFitsPorts", "NodePorts"),
    "node name": ("HostName", "NodeName"),
    "node selector": ("MatchNodeSelector", "NodeAffinity"),
    "volume conflicts": ("NoDiskConflict", "VolumeRestrictions"),
    "pod affinity": ("MatchInterPodAffinity", "InterPodAffinity"),
    "topology spread": ("EvenPodsSpread", "PodTopologySpread"),
    "volume binding": ("CheckVolumeBinding", "VolumeBinding"),
    "volume zones": ("NoVolumeZoneConflict", "VolumeZone"),
    "volume limits": (
        *("MaxEBSVolumeCount", "MaxGCEPDVolumeCount", "MaxAzureDiskVolumeCount", "MaxCinderVolumeCount"),
        *("MaxCSIVolumeCountPred", "EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits", "NodeVolumeLimits"),
    ),
    "unschedulable nodes": ("CheckNodeUnschedulable", "NodeUnschedulable"),
    "node labels": ("CheckNodeLabelPresence", "NodeLabel"),
    "service affinity": ("CheckServiceAffinity", "ServiceAffinity"),
}
"""Rule → the predicates and Filter plugins that stand for it, in every release."""
RULE_OF_CHECK = {check: rule for rule, checks in CHECKS_OF_RULES.items() for check in checks}


RESOURCES = frozenset({"PodFitsResources", "NodeResourcesFit"})
"""Checks whose reasons name the resource, alike in every release."""

RULE_OF_REASON: Mapping[str, str] = {
    "Too many pods": "Insufficient pods",
    "PodFitsHostPorts": "host ports",
    "HostName": "node name",
    "MatchNodeSelector": "node selector",
    "node(s) didn't have free ports for the requested pod ports": "host ports",
    "node(s) didn't match the requested hostname": "node name",
    "node(s) didn't match node selector": "node selector",
}
"""Reasons of GeneralPredicates, which stands for four rules, and those that a later release words differently."""

GENERAL = "GeneralPredicates"


class RefusalDifference(msgspec.Struct, frozen=True):
    """What refuses nodes on one side only."""

    before: Mapping[str, int]
    """Rule → how many nodes only the old scheduler refuses for it."""
    now: Mapping[str, int]
    """The same of the new scheduler."""

    def reasons(self) -> dict[str, tuple[str, ...]]:
        """``rule (before)`` and ``rule (now)`` → on how many nodes."""
        sides = (("before", self.before), ("now", self.now))
        return {f"{rule} ({side})": (_nodes(count),) for side, rules in sides for rule, count in rules.items()}

    def sentence(self) -> str:
        """Without a full stop."""
        sides = (("only before", self.before), ("only now", self.now))
        said = [
            f"{when} {', '.join(f'{rule} on {_nodes(n)}' for rule, n in rules.items())}"
            for when, rules in sides
            if rules
        ]
        return f"no node before and now, but for different reasons: {'; '.join(said)}"


def refusal_difference(old: Decision, new: Decision) -> RefusalDifference | None:
    """What the refusals of two decisions on the same nodes differ by; None if every node is refused for the same rules.

    A node that one side did not run its checks on, as the whole pod was rejected before, is alike if the rules that are
    known have one in common.
    """
    names = sorted({*_listed(old), *_listed(new)}, key=str.encode)
    place = {name: at for at, name in enumerate(names)}
    before, whole_before = _masks(old, place)
    now, whole_now = _masks(new, place)
    known = whole_before & whole_now
    common = np.zeros(len(names), np.bool_)
    for rule in before.keys() & now.keys():
        common |= before[rule] & now[rule]
    aside = ~known & common
    nothing = np.zeros(len(names), np.bool_)
    rules = list(dict.fromkeys([*before, *now]))
    only = [
        {
            rule: count
            for rule in rules
            if (count := int((one.get(rule, nothing) & ~other.get(rule, nothing) & ~aside).sum()))
        }
        for one, other in ((before, now), (now, before))
    ]
    return RefusalDifference(*only) if any(only) else None


def refused_for(check: str, reason: str) -> str:
    """What a check refuses a node for, in words that do not depend on the release."""
    if check in RULE_OF_CHECK:
        return RULE_OF_CHECK[check]
    if check in RESOURCES or check == GENERAL:
        return RULE_OF_REASON.get(reason, reason)
    return check


def _nodes(count: int) -> str:
    return f"{count} node" if count == 1 else f"{count} nodes"


def _listed(decision: Decision) -> Iterable[str]:
    return (decision.names[row] for row in np.flatnonzero(decision.listed).tolist())


def _masks(decision: Decision, place: Mapping[str, int]) -> tuple[dict[str, Mask], Mask]:
    """(rule → (n,) bool: the nodes it refuses; (n,) bool: the nodes that every check was run on).

    place: node → where it is in these masks.
    """
    size = len(place)
    rows = np.flatnonzero(decision.listed)
    to = np.array([place[decision.names[row]] for row in rows.tolist()], np.int64)
    masks: dict[str, Mask] = {}

    def add(rule: str, there: Mask) -> None:
        masks.setdefault(rule, np.zeros(size, np.bool_))[to[there]] = True

    for check, verdict in decision.verdicts:
        for reason, mask in verdict.items():
            if mask[rows].any():
                add(refused_for(check, str(reason)), mask[rows])
    looked_at = decision.looked_at[rows]
    if decision.absent is not None:
        add(refused_for(decision.absent.plugin or OTHERS, ""), ~looked_at)
    for rule, node in _by_name(decision):
        if node in place:
            masks.setdefault(rule, np.zeros(size, np.bool_))[place[node]] = True
    whole = np.zeros(size, np.bool_)
    whole[to[looked_at]] = True
    return masks, whole


def _by_name(decision: Decision) -> Iterator[tuple[str, str]]:
    """(rule, node) of what is not said by checks over all nodes: nominated pods and extenders."""
    for row, found in decision.with_nominated.items():
        for check, reasons in found:
            yield from ((refused_for(check, reason), decision.names[row]) for reason in reasons)
    for trace in decision.extenders:
        yield from ((EXTENDERS, node) for node in trace.failed or ())
