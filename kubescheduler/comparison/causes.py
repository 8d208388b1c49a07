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

from collections.abc import Mapping, Sequence

import attrs
import msgspec

from algorithmprovider.scaled_scores import STEPS
from kubescheduler.comparison.cause_sentences import (
    NO_VICTIMS,
    CauseFacts,
    VictimChoice,
    cause_sentence,
    victims_sentence,
)
from kubescheduler.comparison.contributions import Judgement, Pair, ScoreTerm, contributions, terms
from kubescheduler.comparison.outcomes import Cause, HostChange, Step
from kubescheduler.comparison.refusals import refusal_difference, refused_host
from kubescheduler.core.decision import failures

ORDER = (
    Cause.SCORE_RESOLUTION,
    Cause.CHANGED_WEIGHT,
    Cause.CHANGED_FORMULA,
    Cause.OWN_CONSTRAINTS,
    Cause.ADDED_PRIORITY,
    Cause.REMOVED_PRIORITY,
    Cause.NORMALISATION,
    Cause.EXTENDER_SCALING,
)
"""From a coarse scale to a fine one; from a fine one to a coarse one the resolution comes last."""

DEFAULT_SPREADING = "selector spread"
SPREADING = (DEFAULT_SPREADING, "topology spread")


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
    return _kept_ranking(old, new) or refused_host(old, new, shadow) or _scored(old, new, shadow)


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
