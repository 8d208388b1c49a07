"""In what two decisions differ: what they say of nodes that were refused, and the difference of two hosts' totals,
taken apart into what each priority and each extender adds to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import attrs
import msgspec
import numpy as np

from clusterstate.errors import StaleDecisionError
from clusterstate.growable import IntArray, Mask
from kubescheduler.comparison.outcomes import Contribution
from kubescheduler.core.decision import FRAMEWORK_SCALE, Decision
from kubescheduler.engine.spec import PodScheduler
from kubescheduler.framework.deciding.find_nodes import SCALE
from predicates.types import NodeError
from priorities.score_evidence import RULES, SUBJECTS
from priorities.types import STEPS, PriorityConfig

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
    outside = decision.absent or decision.pre_filter_rejection
    if outside is not None:
        add(refused_for(outside.plugin or OTHERS, ""), ~looked_at)
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


RULES_OF_OWN_NAMES: Mapping[str, str] = {
    "priorities.capacity_ratio": "ratio",
    "priorities.node_labels": "labels",
    "priorities.service_anti_affinity": "service labels",
}
"""Where the map function of a priority is at home that a policy gave a name of its own → its rule."""

SAME_NUMBERS = frozenset({"pod affinity", "node affinity", "taints"})
"""Rules that count alike in every release and differ in how the counts are stretched, if at all."""

CURVED = ({"ratio"}, {"ratio", "fit"}, {"service labels"})
"""Pairs of rules whose formula is the same if the new score, cut to 0-10, is the old one."""

Names = tuple[tuple[str, str], ...]
"""(name, rule) of each priority, every name once."""

EXTENDER = "extender "
"""Before an extender's name."""


class Pair(msgspec.Struct, frozen=True):
    """Priorities that are counterparts; one side may be empty."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    extender: bool = False
    stretched: bool = False
    """Whether both count alike before normalisation."""
    curved: bool = False
    """Whether both score by the same kind of curve or share, whose parameters a policy gives."""

    @property
    def single(self) -> bool:
        """One on each side."""
        return len(self.old) == len(self.new) == 1


def rule_of(name: str, config: PriorityConfig | None = None) -> str:
    """What a priority is about; its own name when nobody else does the same."""
    if name in RULES:
        return RULES[name]
    home = "" if config is None else getattr(config.map, "__module__", "")
    return RULES_OF_OWN_NAMES.get(home, name)


@lru_cache(maxsize=256)
def paired(old: Names, new: Names) -> tuple[Pair, ...]:
    """Counterparts, in order of the old names and then of the new ones that have none; worked out once for all pods.

    First the same name, then the same rule, then the same subject; every name is in just one
    pair, and several of one rule share a pair.
    """
    left_old, left_new = dict(old), dict(new)
    pairs: list[Pair] = []
    for name in [name for name in left_old if name in left_new]:
        pairs.append(_pair((name,), (name,), (left_old.pop(name), left_new.pop(name))))
    for subjects in ({}, SUBJECTS):
        groups = _groups(left_old, subjects), _groups(left_new, subjects)
        for subject in [subject for subject in groups[0] if subject in groups[1]]:
            names = groups[0][subject], groups[1][subject]
            rules = [left_old.pop(name) for name in names[0]] + [left_new.pop(name) for name in names[1]]
            pairs.append(_pair(*names, rules))
    pairs += (Pair((name,), (), name.startswith(EXTENDER)) for name in left_old)
    pairs += (Pair((), (name,), name.startswith(EXTENDER)) for name in left_new)
    place = {name: at for at, (name, _) in enumerate(old)}
    return tuple(sorted(pairs, key=lambda pair: min((place[name] for name in pair.old), default=len(place))))


def _groups(rules: Mapping[str, str], subjects: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, rule in rules.items():
        subject = subjects.get(rule, rule)
        found[subject] = (*found.get(subject, ()), name)
    return found


def _pair(old: Sequence[str], new: Sequence[str], rules: Iterable[str]) -> Pair:
    kinds = set(rules)
    single = len(old) == len(new) == 1
    return Pair(
        tuple(old),
        tuple(new),
        extender=old[0].startswith(EXTENDER),
        stretched=single and len(kinds) == 1 and kinds <= SAME_NUMBERS,
        curved=single and kinds in CURVED,
    )


NOT_A_NUMBER = -(2**63)
"""Release 1.4's score where it divides 0 by 0."""
OVERFLOW = "wrapping at 64 bits"
"""The term of totals that do not fit in 64 bits."""


@attrs.frozen(eq=False)
class Judgement:
    """A decision and who made it, while the cluster is still what it was then."""

    scheduler: PodScheduler
    decision: Decision
    _places: dict[str, int | None] = attrs.field(factory=dict, init=False)

    @property
    def fine(self) -> bool:
        """Whether scores go from 0 to 100."""
        return self.decision.scale == FRAMEWORK_SCALE

    @property
    def step(self) -> int:
        """How many steps of a scale of 0-100 one of a score's is."""
        return 1 if self.fine else STEPS

    def place(self, host: str) -> int | None:
        """Where a node is among the feasible ones; None if it is not."""
        if host not in self._places:
            self._places[host] = self._place(host)
        return self._places[host]

    def _place(self, host: str) -> int | None:
        if host not in self.decision.names:
            return None
        found = np.flatnonzero(self.decision.feasible == self.decision.names.index(host))
        return int(found[0]) if len(found) else None

    def scored(self, hosts: tuple[str, str]) -> bool:
        """Whether both nodes have a total. A release does not score a node that alone is feasible."""
        return len(self.decision.totals) > 0 and all(self.place(host) is not None for host in hosts)

    def on(self, hosts: tuple[str, str]) -> Judgement:
        """What it would be if these two nodes had passed every check, beside those that did."""
        decision, columns = self.decision, self.scheduler.cache.columns
        there = decision.feasible[decision.feasible < len(columns.names)]
        missing = [columns.row_of[host] for host in hosts if columns.row_of[host] not in there]
        rows = np.concatenate((there, np.array(missing, np.int64)))
        return Judgement(self.scheduler, self.scheduler.scores_on(decision.pod, rows))

    def difference(self, hosts: tuple[str, str]) -> int:
        """The second host's total minus the first one's."""
        first, second = self.places(hosts)
        return int(self.decision.totals[second]) - int(self.decision.totals[first])

    def places(self, hosts: tuple[str, str]) -> tuple[int, int]:
        """Where two feasible nodes are among those that are."""
        first, second = self.place(hosts[0]), self.place(hosts[1])
        assert first is not None
        assert second is not None
        return first, second


class ScoreTerm(msgspec.Struct, frozen=True):
    """What one priority scores on two hosts, before the weight."""

    name: str
    rule: str
    weight: int
    scores: tuple[int, int]
    fine: tuple[int, int]
    """The same on a scale of 0-100."""
    step: int = 1
    """How many fine steps one of ``scores`` is."""
    raw: tuple[int, int] | None = None
    """The scores before normalisation; None where they are not known."""

    @property
    def value(self) -> int:
        """What it adds to the difference of the totals."""
        return self.weight * (self.scores[1] - self.scores[0])

    def scaled_on(self, *, finest: bool) -> int:
        """The same without coarse rounding. finest: on a scale of 0-100, else on that of ``scores``."""
        return self.weight * (self.fine[1] - self.fine[0]) if finest else self.value

    def rounding(self, *, finest: bool) -> int:
        """What coarse rounding adds to the difference."""
        return self.value * self.step - self.scaled_on(finest=True) if finest else 0


def terms(judgement: Judgement, hosts: tuple[str, str]) -> dict[str, ScoreTerm]:
    """Name → what adds to the totals of two feasible hosts; the values sum to the difference of the totals."""
    found = _framework_terms(judgement, hosts) if judgement.fine else _legacy_terms(judgement, hosts)
    found += _extender_terms(judgement, hosts)
    missing = judgement.difference(hosts) - sum(term.value for term in found)
    if missing:
        found.append(ScoreTerm(OVERFLOW, OVERFLOW, 1, (0, missing), (0, missing * judgement.step), judgement.step))
    named: dict[str, ScoreTerm] = {}
    counts: dict[str, int] = {}
    for term in found:
        count = counts[term.name] = counts.get(term.name, 0) + 1
        named[f"{term.name} #{count}" if count > 1 else term.name] = term
    return named


def _legacy_terms(judgement: Judgement, hosts: tuple[str, str]) -> list[ScoreTerm]:
    decision, cache = judgement.decision, judgement.scheduler.cache
    both = judgement.places(hosts)
    info, snapshot = cache.info(decision.pod), cache.snapshot()
    view = snapshot.only(decision.feasible)
    here = snapshot.take(decision.feasible[list(both)])
    found: list[ScoreTerm] = []
    for priority in judgement.scheduler.algorithm.priorities:
        config, weight = priority.config, priority.weight
        scores = decision.scores[config.name]
        coarse = np.full(len(view), scores, np.int64) if isinstance(scores, int) else scores
        fine = config.finer(info, view)
        fine = coarse * STEPS if fine is None else fine
        raw = None if config.reduce is None else _at(config.map(info, here), (0, 1))
        both_scores = _at(coarse, both)
        finer = _finer(both_scores, _at(fine, both))
        found.append(ScoreTerm(config.name, rule_of(config.name, config), weight, both_scores, finer, STEPS, raw))
    return found


def _finer(coarse: tuple[int, int], fine: tuple[int, int]) -> tuple[int, int]:
    """The finer scores; ten times a score that is not a number, for which int64 has no room."""
    first, second = (f if score != NOT_A_NUMBER else score * STEPS for score, f in zip(coarse, fine, strict=True))
    return first, second


def _framework_terms(judgement: Judgement, hosts: tuple[str, str]) -> list[ScoreTerm]:
    """A plugin that has nothing to score adds nothing."""
    decision = judgement.decision
    both = judgement.places(hosts)
    found: list[ScoreTerm] = []
    for name, weight in decision.weights.items():
        values, raw = (0, 0), None
        if name in decision.scores:
            values, raw = _pick(decision.scores[name], both), _pick(decision.raws[name], both)
        found.append(ScoreTerm(name, rule_of(name), weight, values, values, raw=raw))
    return found


def _extender_terms(judgement: Judgement, hosts: tuple[str, str]) -> list[ScoreTerm]:
    scale, found = SCALE if judgement.fine else 1, []
    for trace in judgement.decision.extenders:
        if trace.scores is None:
            continue
        first, second = (sum(score for host, score in trace.scores if host == name) for name in hosts)
        name, scores = EXTENDER + trace.name, (first * scale, second * scale)
        fine = (first * SCALE, second * SCALE)
        found.append(ScoreTerm(name, name, trace.weight, scores, fine, judgement.step))
    return found


def _pick(scores: IntArray | int, places: tuple[int, int]) -> tuple[int, int]:
    return (scores, scores) if isinstance(scores, int) else _at(scores, places)


def _at(scores: IntArray, places: tuple[int, int]) -> tuple[int, int]:
    return int(scores[places[0]]), int(scores[places[1]])


# --- both engines --------------------------------------------------------------------------


def contributions(old: Mapping[str, ScoreTerm], new: Mapping[str, ScoreTerm]) -> list[tuple[Pair, Contribution]]:
    """Old terms beside their new counterparts."""
    pairs = paired(tuple((n, t.rule) for n, t in old.items()), tuple((n, t.rule) for n, t in new.items()))
    return [(pair, _contribution(pair, [old[n] for n in pair.old], [new[n] for n in pair.new])) for pair in pairs]


def _contribution(pair: Pair, old: Sequence[ScoreTerm], new: Sequence[ScoreTerm]) -> Contribution:
    return Contribution(
        old_name=" + ".join(pair.old) or None,
        new_name=" + ".join(pair.new) or None,
        old=sum(term.value for term in old),
        new=sum(term.value for term in new),
        old_weight=old[0].weight if len(old) == 1 else None,
        new_weight=new[0].weight if len(new) == 1 else None,
        old_scores=old[0].scores if len(old) == 1 else None,
        new_scores=new[0].scores if len(new) == 1 else None,
    )
