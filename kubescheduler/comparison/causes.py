"""Why a pod goes elsewhere: the first thing that, put into the old scheduler, makes the new host win.

An attempt that ended in an error, or went on without an extender that did not answer, is not compared: error.
A pod that one engine does not even try, as it is another scheduler's or a gate holds it back, has the cause not-tried.
One that both refuse on every node is the same only if they refuse each node for the same rules, else different-reasons;
one that both place alike by evicting different pods has different-victims.
A host that 1.36 took from the ranking kept from the pod before was compared with no other node, so nothing can be said
of scores: kept-ranking.
Where a host does not pass the checks of one engine, that is the cause. Otherwise the old scoring is turned into the
new one step by step, in this order, and the step at which the new host overtakes the old one is the cause:

    earlier-choices    the old scoring on the cluster that the new engine's own choices have made (mode ``sequence``)
    score-resolution   the old formulas rounded to 0-100 rather than 0-10 (the other way round it is the last step)
    changed-weight     the weights of priorities with a counterpart
    changed-formula    what the counterparts compute
    own-constraints    what default spreading gave, for a pod whose own constraints switch it off
    added-priority     priorities without an old counterpart
    removed-priority   priorities without a new counterpart
    normalisation      counterparts that count alike but are normalised differently
    extender-scaling   what extenders add

Of hosts with the same total in the end the name decides: tie-break. A new host that was among the old engine's equal
best is no move, whatever the steps: could-have-been.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs
import msgspec

from clusterstate.errors import StaleDecisionError
from kubescheduler.comparison.differences import (
    EXTENDER,
    Judgement,
    Pair,
    ScoreTerm,
    contributions,
    refusal_difference,
    refusal_sentences,
    refusals,
    rule_of,
    terms,
)
from kubescheduler.comparison.outcomes import Cause, Contribution, HostChange, Step
from kubescheduler.core.decision import failures
from priorities.types import STEPS

DEFAULT_SPREADING = "selector spread"
SPREADING = (DEFAULT_SPREADING, "topology spread")


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


def explained(
    old: Judgement,
    new: Judgement,
    shadow: Judgement | None = None,
    room: tuple[VictimChoice, VictimChoice] = (NO_VICTIMS, NO_VICTIMS),
) -> HostChange:
    """What changed for one pod, and why.

    shadow: the old engine on the cluster of the new one, where that is another than the old one's; None: it is the
    same. room: what each engine evicts for the pod.
    """
    if (failed := _not_compared(old, new)) is not None:
        return failed
    if old.decision.host == new.decision.host:
        return _unmoved(shadow or old, new, room)
    for side, judgement in _sides(old, new):
        if not judgement.decision.tried:
            return HostChange(Cause.NOT_TRIED, _untried(side, judgement))
    return _kept_ranking(old, new) or _refused_host(old, new, shadow) or _scored(old, new, shadow)


def _kept_ranking(old: Judgement, new: Judgement) -> HostChange | None:
    """The change, if both have a host and one of them looked at no other node."""
    if old.decision.host is None or new.decision.host is None:
        return None
    said = [
        f"the {side} scheduler takes {one.decision.host} from the ranking kept from the pod before, and scores no node"
        for side, one in _sides(old, new)
        if one.decision.from_kept_ranking
    ]
    return HostChange(Cause.KEPT_RANKING, "; ".join(said)) if said else None


def _sides(old: Judgement, new: Judgement) -> tuple[tuple[str, Judgement], tuple[str, Judgement]]:
    return ("old", old), ("new", new)


def _untried(side: str, judgement: Judgement) -> str:
    return f"the {side} scheduler does not try the pod: {judgement.decision.message}"


def _not_compared(old: Judgement, new: Judgement) -> HostChange | None:
    """The change, if an attempt ended in an error, or went on without an extender that did not answer."""
    said = [f"the {side} scheduler {text}" for side, one in _sides(old, new) for text in failures(one.decision)]
    return HostChange(Cause.ERROR, "; ".join(said)) if said else None


# --- the same host -------------------------------------------------------------------------


def _unmoved(old: Judgement, new: Judgement, room: tuple[VictimChoice, VictimChoice]) -> HostChange:
    """The change of a pod that has the same host, or none, under both engines. old: on the new one's cluster."""
    if room[0] != room[1]:
        return HostChange(Cause.DIFFERENT_VICTIMS, victims_sentence(*room))
    tried = old.decision.tried, new.decision.tried
    if tried[0] != tried[1]:
        side, one = _sides(old, new)[tried.index(False)]
        return HostChange(Cause.DIFFERENT_REASONS, f"no node before and now; {_untried(side, one)}")
    if new.decision.host is not None or not new.decision.tried:
        return HostChange(Cause.SAME)
    found = refusal_difference(old.decision, new.decision)
    if found is None:
        return HostChange(Cause.SAME)
    return HostChange(Cause.DIFFERENT_REASONS, found.sentence(), reasons=found.reasons())


# --- a host that is refused ----------------------------------------------------------------


AS_IF_PASSED = "neither scheduler scored both nodes, the scores are those as if both had passed its checks"
"""What terms are that neither engine worked out for its own choice."""


def _refused_host(old: Judgement, new: Judgement, shadow: Judgement | None) -> HostChange | None:
    """The change, if one of the hosts does not pass one engine's checks.

    An engine that passes both hosts has scored them: what its priorities say of them is then there too. Where neither
    did, both are asked what they would say if both hosts had passed.
    """
    found = _refusal(old, new, shadow)
    if found is None:
        return None
    cause, host, by = found
    row = by.scheduler.cache.columns.row_of.get(host)
    reasons = refusals(by.decision, row, host)
    change = HostChange(
        cause=cause,
        text=cause_sentence(CauseFacts(cause, host, reasons=reasons)),
        reasons=reasons,
        evidence=refusal_sentences(by.decision, row, host),
    )
    if old.decision.host is None or new.decision.host is None:
        return change
    hosts = old.decision.host, new.decision.host
    if not old.scored(hosts) and not new.scored(hosts):
        old, new = (_as_if_passed(one, hosts) for one in (old, new))
        if old.scored(hosts) or new.scored(hosts):
            change = msgspec.structs.replace(change, text=f"{change.text}; {AS_IF_PASSED}", as_if_passed=True)
    before, after = (one.difference(hosts) if one.scored(hosts) else None for one in (old, new))
    parts = tuple(_scored_parts(old, new, hosts))
    return msgspec.structs.replace(change, contributions=parts, old_difference=before, new_difference=after)


def _refusal(old: Judgement, new: Judgement, shadow: Judgement | None) -> tuple[Cause, str, Judgement] | None:
    """The cause, the node and who refuses it; None if both hosts pass the checks of all."""
    before, after = old.decision.host, new.decision.host
    if before is not None and new.place(before) is None:
        by_engine = shadow is None or shadow.place(before) is not None
        return Cause.FILTERED_NOW if by_engine else Cause.EARLIER_CHOICES, before, new
    if after is not None and old.place(after) is None:
        by_engine = shadow is None or shadow.place(after) is None
        return Cause.NO_LONGER_FILTERED if by_engine else Cause.EARLIER_CHOICES, after, old
    if shadow is None:
        return None
    if before is not None and shadow.place(before) is None:
        return Cause.EARLIER_CHOICES, before, shadow
    if after is not None and shadow.place(after) is None:
        return Cause.NO_LONGER_FILTERED, after, shadow
    return None


def _as_if_passed(judgement: Judgement, hosts: tuple[str, str]) -> Judgement:
    """Its scores as if both hosts had passed; the judgement itself where it has none even then."""
    if not all(host in judgement.scheduler.cache.columns.row_of for host in hosts):
        return judgement
    there = judgement.on(hosts)
    return judgement if any(failures(there.decision)) else there


def _scored_parts(old: Judgement, new: Judgement, hosts: tuple[str, str]) -> Iterator[Contribution]:
    """What each term adds under the engine that scored both hosts; None under the other. Nothing if neither did."""
    scored = old.scored(hosts), new.scored(hosts)
    if not any(scored):
        return
    before, after = (
        terms(one, hosts) if there else _unscored(one) for one, there in zip((old, new), scored, strict=True)
    )
    for _, part in contributions(before, after):
        part = part if scored[0] else msgspec.structs.replace(part, old=None, old_scores=None)  # noqa: PLW2901
        yield part if scored[1] else msgspec.structs.replace(part, new=None, new_scores=None)


def _unscored(judgement: Judgement) -> dict[str, ScoreTerm]:
    """The names, rules and weights of an engine's priorities, and no scores."""
    configs = {} if judgement.fine else {p.config.name: p.config for p in judgement.scheduler.algorithm.priorities}
    found = [(name, rule_of(name, configs.get(name)), weight) for name, weight in judgement.decision.weights.items()]
    found += [
        (EXTENDER + t.name, EXTENDER + t.name, t.weight) for t in judgement.decision.extenders if t.scores is not None
    ]
    return {name: ScoreTerm(name, rule, weight, (0, 0), (0, 0)) for name, rule, weight in found}


# --- scores --------------------------------------------------------------------------------


@attrs.define
class _Walk:
    """From the old scoring to the new one."""

    first: str
    second: str
    lead: int
    steps: list[Step] = attrs.field(factory=list)
    overtaken: Step | None = None

    def take(self, cause: Cause, gains: Mapping[str, int]) -> None:
        """gains: name → how much the second host gains."""
        names = sorted((name for name, gain in gains.items() if gain), key=lambda name: -gains[name])
        if not names:
            return
        by = sum(gains.values())
        self.lead += by
        step = Step(cause, tuple(names), by, self.lead)
        self.steps.append(step)
        if self.overtaken is None and self._wins():
            self.overtaken = step

    @property
    def largest(self) -> Step | None:
        """The step by which the second host gains most."""
        return max(self.steps, key=lambda step: step.by, default=None)

    def _wins(self) -> bool:
        return self.lead > 0 or (self.lead == 0 and self.second.encode() < self.first.encode())


def _scored(old: Judgement, new: Judgement, shadow: Judgement | None) -> HostChange:
    """The change, if both hosts pass the checks of both."""
    assert old.decision.host is not None
    assert new.decision.host is not None
    hosts = old.decision.host, new.decision.host
    starting, ending = terms(old, hosts), terms(new, hosts)
    there = starting if shadow is None else terms(shadow, hosts)
    differences = old.difference(hosts), new.difference(hosts)
    finest = old.fine or new.fine
    up = STEPS if finest and not old.fine else 1
    walk = _Walk(*hosts, differences[0] * up)
    if shadow is not None:
        walk.take(Cause.EARLIER_CHOICES, _apart(starting, there, up))
    gains: dict[Cause, dict[str, int]] = {}
    own = _own_constraints(old, new, ending)
    for pair, contribution in contributions(there, ending):
        before, after = [there[name] for name in pair.old], [ending[name] for name in pair.new]
        for cause, gain in _gains(pair, before, after, finest=finest, own=own):
            gains.setdefault(cause, {}).setdefault(contribution.name, 0)
            gains[cause][contribution.name] += gain
    for cause in ORDER if new.fine or not old.fine else (*ORDER[1:], ORDER[0]):
        walk.take(cause, gains.get(cause, {}))
    parts = [part for _, part in contributions(starting, ending)]
    ties = _ties(old, hosts)
    cause = Cause.COULD_HAVE_BEEN if ties else _primary(walk, differences[1])
    unequal = frozenset(name for part in parts if part.old or part.new for name in (part.name, *part.old_names))
    said = CauseFacts(cause, hosts[1], hosts[0], differences, walk.overtaken, walk.largest, unequal, ties)
    return HostChange(
        cause=cause,
        text=cause_sentence(said),
        contributions=tuple(parts),
        old_difference=differences[0],
        new_difference=differences[1],
        steps=tuple(walk.steps),
    )


def _ties(old: Judgement, hosts: tuple[str, str]) -> int:
    """How many nodes have the old engine's highest total, if both hosts are among them; else 0."""
    totals = old.decision.totals
    best = totals == totals.max()
    return int(best.sum()) if all(best[place] for place in old.places(hosts)) else 0


def _own_constraints(old: Judgement, new: Judgement, ending: Mapping[str, ScoreTerm]) -> bool:
    """Whether default spreading, which a priority of its own did before, is off for this pod, as it has constraints.

    Upstream: 1.20 SelectorSpread.skipSelectorSpread, 1.36 PodTopologySpread.initPreScoreState.
    """
    spreads = any(term.rule in SPREADING for term in ending.values())
    return spreads and new.fine and not old.fine and bool(new.decision.pod.spec.topology_spread_constraints)


def _apart(old: Mapping[str, ScoreTerm], there: Mapping[str, ScoreTerm], up: int) -> dict[str, int]:
    """What the old engine's terms gain on another cluster."""
    values = {
        name: sum(t[name].value * sign for t, sign in ((there, 1), (old, -1)) if name in t) for name in [*there, *old]
    }
    return {name: value * up for name, value in values.items()}


def _primary(walk: _Walk, difference: int) -> Cause:
    overtaken = walk.overtaken
    if overtaken is not None and overtaken.cause is Cause.EARLIER_CHOICES:
        return Cause.EARLIER_CHOICES
    if difference == 0 or overtaken is None:
        return Cause.TIE_BREAK
    return overtaken.cause


def _gains(
    pair: Pair, before: Sequence[ScoreTerm], after: Sequence[ScoreTerm], *, finest: bool, own: bool
) -> list[tuple[Cause, int]]:
    """How much the second host gains by each cause, from the old terms to the new ones."""
    was, now = (sum(term.scaled_on(finest=finest) for term in some) for some in (before, after))
    rounded = sum(term.rounding(finest=finest) for term in after) - sum(t.rounding(finest=finest) for t in before)
    gains = [(Cause.SCORE_RESOLUTION, rounded)]
    if pair.extender:
        return [*gains, (Cause.EXTENDER_SCALING, now - was)]
    if not before:
        return [*gains, (Cause.ADDED_PRIORITY, now)]
    if own and any(term.rule == DEFAULT_SPREADING for term in before):
        return [*gains, (Cause.OWN_CONSTRAINTS, now - was)]
    if not after:
        return [*gains, (Cause.REMOVED_PRIORITY, -was)]
    if not pair.single:
        return [*gains, (Cause.CHANGED_FORMULA, now - was)]
    weighed = msgspec.structs.replace(before[0], weight=after[0].weight).scaled_on(finest=finest)
    gains.append((Cause.CHANGED_WEIGHT, weighed - was))
    return [*gains, (_rest(pair, before[0], after[0]), now - weighed)]


def _rest(pair: Pair, before: ScoreTerm, after: ScoreTerm) -> Cause:
    """What makes counterparts differ that weigh the same."""
    if pair.stretched and before.raw is not None and before.raw == after.raw:
        return Cause.NORMALISATION
    apart = (abs(old * before.step - new * after.step) for old, new in zip(before.scores, after.scores, strict=True))
    if pair.curved and before.step != after.step and all(distance < STEPS for distance in apart):
        return Cause.SCORE_RESOLUTION
    return Cause.CHANGED_FORMULA


# --- in words ------------------------------------------------------------------------------


MOST_NODES = 3
"""Nodes that a sentence names."""
MOST_NAMES = 2
"""Priorities that a sentence names."""


STEPS_SAID: Mapping[Cause, tuple[str, str]] = {
    Cause.EARLIER_CHOICES: ("earlier pods run elsewhere", "earlier choices"),
    Cause.SCORE_RESOLUTION: ("scores are rounded differently", "finer or coarser scores"),
    Cause.CHANGED_WEIGHT: ("weights differ", "changed weights"),
    Cause.CHANGED_FORMULA: ("scores are computed differently", "changed formulas"),
    Cause.OWN_CONSTRAINTS: (
        "the pod's own topologySpreadConstraints switch default spreading off",
        "the pod's own topologySpreadConstraints, which switch default spreading off",
    ),
    Cause.ADDED_PRIORITY: ("priorities were added", "added priorities"),
    Cause.REMOVED_PRIORITY: ("priorities were removed", "removed priorities"),
    Cause.NORMALISATION: ("scores are normalised differently", "normalisation"),
    Cause.EXTENDER_SCALING: ("extenders weigh more or less", "extenders"),
}
"""What is the case at a step, and the step as a noun, in the order in which steps are taken."""
ORDER = tuple(STEPS_SAID)[1:]
"""From a coarse scale to a fine one; from a fine one to a coarse one the resolution comes last."""


REFUSED: Mapping[Cause, str] = {
    Cause.FILTERED_NOW: "{host} is refused now",
    Cause.NO_LONGER_FILTERED: "{host} was refused before",
    Cause.EARLIER_CHOICES: "{host} is refused on one of the clusters, where earlier pods run elsewhere",
}


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
    was, now = ("level" if not by else f"{by} ahead" if by > 0 else f"{-by} behind" for by in what.differences)
    chance = f" (the old scheduler takes any of {what.ties} equal nodes, this one too)" if what.ties else ""
    return f"{what.host} was {was} and is {now} against {what.other}{chance}: {_why(what)}"


def _why(what: CauseFacts) -> str:
    """The decisive step, which is the cause; then the largest, where that is another."""
    decisive, largest = what.decisive, what.largest
    level = not what.differences[1] and what.cause is not Cause.EARLIER_CHOICES
    if decisive is None or level or what.cause is Cause.TIE_BREAK:
        return "its name comes first"
    names = ", ".join([name for name in decisive.names if name in what.unequal][:MOST_NAMES])
    said = STEPS_SAID[decisive.cause][0] + (f" ({names})" if names else "")
    if largest is None or largest.cause is decisive.cause:
        return said
    return f"{said}, which puts it ahead; more points come of {STEPS_SAID[largest.cause][1]} ({largest.by:+d})"


def by_priority(contribution: Contribution) -> str:
    """``LeastRequestedPriority -> NodeResourcesFit: -1, +12``; ``not scored`` where a host was refused."""
    return f"{contribution.name}: {signed(contribution.old)}, {signed(contribution.new)}"


def signed(points: int | None) -> str:
    """``+12``, ``-1``, ``+0``; ``not scored`` for None."""
    return "not scored" if points is None else f"{points:+d}"


# --- what the scores were made of ----------------------------------------------------------


def with_score_sentences(change: HostChange, old: Judgement, new: Judgement) -> HostChange:
    """The change with the evidence of every term that is not 0 on both sides.

    The decisions' clusters have to be what they were; what cannot be worked out any more is left out.
    """
    first, second = old.decision.host, new.decision.host
    if not change.contributions or first is None or second is None:
        return change
    hosts = first, second
    if change.as_if_passed:
        old, new = old.on(hosts), new.on(hosts)
    unequal = [part for part in change.contributions if part.old or part.new]
    before = _sentences(old, hosts, frozenset(name for part in unequal for name in part.old_names))
    after = _sentences(new, hosts, frozenset(name for part in unequal for name in part.new_names))
    parts = (
        msgspec.structs.replace(
            part,
            old_evidence=tuple(before[name] for name in part.old_names if name in before),
            new_evidence=tuple(after[name] for name in part.new_names if name in after),
        )
        if part.old or part.new
        else part
        for part in change.contributions
    )
    return msgspec.structs.replace(change, contributions=tuple(parts))


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
