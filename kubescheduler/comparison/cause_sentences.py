"""One sentence on why a pod goes elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from clusterstate.errors import StaleDecisionError
from kubescheduler.comparison.contributions import EXTENDER, Judgement
from kubescheduler.comparison.outcomes import Cause, Contribution, HostChange, Sentences, Step


def with_score_sentences(change: HostChange, old: Judgement, new: Judgement) -> HostChange:
    """The change with the evidence of every term that is not 0 on both sides.

    The decisions' clusters have to be what they were; what cannot be worked out any more is left out.
    """
    hosts = old.decision.host, new.decision.host
    if not change.contributions or hosts[0] is None or hosts[1] is None:
        return change
    if change.as_if_passed:
        old, new = (one.on((hosts[0], hosts[1])) for one in (old, new))
    unequal = [part for part in change.contributions if part.old or part.new]
    before = _sentences(old, (hosts[0], hosts[1]), _single_names(part.old_name for part in unequal))
    after = _sentences(new, (hosts[0], hosts[1]), _single_names(part.new_name for part in unequal))

    def said(part: Contribution) -> Contribution:
        if not part.old and not part.new:
            return part
        return msgspec.structs.replace(
            part, old_evidence=_of(part.old_name, before), new_evidence=_of(part.new_name, after)
        )

    return msgspec.structs.replace(change, contributions=tuple(map(said, change.contributions)))


def _single_names(of: Iterable[str | None]) -> frozenset[str]:
    """The single rules of the names that terms have."""
    return frozenset(name for names in of if names is not None for name in names.split(" + "))


def _of(names: str | None, found: dict[str, tuple[str, str]]) -> Sentences:
    """Of each rule that a term's name has."""
    each = () if names is None else names.split(" + ")
    return tuple(found[name] for name in each if name in found)


def _sentences(judgement: Judgement, hosts: tuple[str, str], rules: frozenset[str]) -> dict[str, tuple[str, str]]:
    """Rule that is asked about, or extender as terms name it → its sentences on both hosts, where both were scored."""
    try:
        first, second = (judgement.decision.score_evidence(host, rules) for host in hosts)
    except StaleDecisionError:
        return {}
    extenders = {trace.name for trace in judgement.decision.extenders}
    return {
        f"{EXTENDER * (one.rule in extenders)}{one.rule}": (one.sentence, other.sentence)
        for one, other in zip(first, second, strict=False)
    }


VERBS: Mapping[Cause, str] = {
    Cause.EARLIER_CHOICES: "earlier pods run elsewhere",
    Cause.SCORE_RESOLUTION: "scores are rounded differently",
    Cause.CHANGED_WEIGHT: "weights differ",
    Cause.CHANGED_FORMULA: "scores are computed differently",
    Cause.ADDED_PRIORITY: "priorities were added",
    Cause.REMOVED_PRIORITY: "priorities were removed",
    Cause.NORMALISATION: "scores are normalised differently",
    Cause.EXTENDER_SCALING: "extenders weigh more or less",
    Cause.OWN_CONSTRAINTS: "the pod's own topologySpreadConstraints switch default spreading off",
}
"""What is the case at the step that decides."""

STEPS_NAMED: Mapping[Cause, str] = {
    Cause.EARLIER_CHOICES: "earlier choices",
    Cause.SCORE_RESOLUTION: "finer or coarser scores",
    Cause.CHANGED_WEIGHT: "changed weights",
    Cause.CHANGED_FORMULA: "changed formulas",
    Cause.ADDED_PRIORITY: "added priorities",
    Cause.REMOVED_PRIORITY: "removed priorities",
    Cause.NORMALISATION: "normalisation",
    Cause.EXTENDER_SCALING: "extenders",
    Cause.OWN_CONSTRAINTS: "the pod's own topologySpreadConstraints, which switch default spreading off",
}
"""A step as a noun."""

REFUSED: Mapping[Cause, str] = {
    Cause.FILTERED_NOW: "{host} is refused now",
    Cause.NO_LONGER_FILTERED: "{host} was refused before",
    Cause.EARLIER_CHOICES: "{host} is refused on one of the clusters, where earlier pods run elsewhere",
}


class VictimChoice(msgspec.Struct, frozen=True):
    """What one scheduler evicts for a pod."""

    node: str | None = None
    """Where; None: it evicts nothing."""
    victims: frozenset[str] = frozenset()
    """The keys of the pods that leave."""

    def __str__(self) -> str:
        if self.node is None:
            return "evicts nothing"
        return f"evicts {', '.join(sorted(self.victims)) or 'nothing'} from {self.node}"


NO_VICTIMS = VictimChoice()


def victims_sentence(old: VictimChoice, new: VictimChoice) -> str:
    """Without a full stop."""
    return f"the old scheduler {old}, the new one {new}"


def ties_sentence(old: Sequence[str], new: Sequence[str]) -> str:
    """``any of 3 equal best nodes before, any of 2 now: no longer b; newly c``; old, new: not the same."""
    gone, come = ([name for name in one if name not in other] for one, other in ((old, set(new)), (new, set(old))))
    parts = (("no longer", gone), ("newly", come))
    said = "; ".join(f"{word} {_some(names)}" for word, names in parts if names)
    return f"any of {len(old)} equal best nodes before, any of {len(new)} now: {said}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NODES
    return ", ".join(names[:MOST_NODES]) + (f" and {more} more" if more > 0 else "")


class CauseFacts(msgspec.Struct, frozen=True):
    """What the sentence is about."""

    cause: Cause
    host: str
    """The refused node; if both hosts were scored, the new one."""
    other: str | None = None
    """The old host, if both were scored."""
    differences: tuple[int, int] = (0, 0)
    decisive: Step | None = None
    """The step at which the new host overtakes the old one."""
    largest: Step | None = None
    """The step by which it gains most."""
    unequal: frozenset[str] = frozenset()
    """The priorities that tell the two nodes apart under one of the schedulers at least; no other is named."""
    ties: int = 0
    """How many nodes the old scheduler had to choose from by chance, if the new host was one of them; else 0."""
    reasons: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


def cause_sentence(what: CauseFacts) -> str:
    """A sentence without a full stop."""
    if what.other is None:
        reasons = "; ".join(f"{check}: {', '.join(texts)}" for check, texts in what.reasons.items())
        return f"{REFUSED[what.cause].format(host=what.host)}: {reasons}"
    was, now = map(_lead, what.differences)
    chance = f" (the old scheduler takes any of {what.ties} equal nodes, this one too)" if what.ties else ""
    return f"{what.host} was {was} and is {now} against {what.other}{chance}: {_why(what)}"


def _why(what: CauseFacts) -> str:
    """The decisive step, which is the cause; then the largest, where that is another."""
    decisive, largest = what.decisive, what.largest
    level = not what.differences[1] and what.cause is not Cause.EARLIER_CHOICES
    if decisive is None or level or what.cause is Cause.TIE_BREAK:
        return "its name comes first"
    said = VERBS[decisive.cause] + "".join(f" ({names})" for names in _names(decisive, what))
    if largest is None or largest.cause is decisive.cause:
        return said
    return f"{said}, which puts it ahead; more points come of {STEPS_NAMED[largest.cause]} ({largest.by:+d})"


def _names(step: Step, what: CauseFacts) -> Iterator[str]:
    """The first priorities that tell the nodes apart, in one text; nothing if none does."""
    if names := [name for name in step.names if name in what.unequal][:MOST_NAMES]:
        yield ", ".join(names)


MOST_NODES = 3
"""Nodes that a sentence names."""
MOST_NAMES = 2
"""Priorities that a sentence names."""


def _lead(points: int) -> str:
    return "level" if not points else f"{points} ahead" if points > 0 else f"{-points} behind"


def by_priority(contribution: Contribution) -> str:
    """``LeastRequestedPriority -> NodeResourcesFit: -1, +12``; ``not scored`` where a host was refused."""
    return f"{contribution.name}: {signed(contribution.old)}, {signed(contribution.new)}"


def signed(points: int | None) -> str:
    """``+12``, ``-1``, ``+0``; ``not scored`` for None."""
    return "not scored" if points is None else f"{points:+d}"
