"""Why a pod goes elsewhere: the first thing that, put into the old scheduler, makes the new host win.

A pod that one engine does not even try, as it is another scheduler's or a gate holds it back, has the cause not-tried.
Where a host does not pass the checks of one engine, that is the cause. Otherwise the old scoring is turned into the
new one step by step, in this order, and the step at which the new host overtakes the old one is the cause:

    earlier-choices    the old scoring on the cluster that the new engine's own choices have made (mode ``sequence``)
    score-resolution   the old formulas rounded to 0-100 rather than 0-10 (the other way round it is the last step)
    changed-weight     the weights of priorities with a counterpart
    changed-formula    what the counterparts compute
    added-priority     priorities without an old counterpart
    removed-priority   priorities without a new counterpart
    normalisation      counterparts that count alike but are normalised differently
    extender-scaling   what extenders add

Of hosts with the same total in the end the name decides: tie-break.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from kubescheduler.comparison.cause_sentences import CauseFacts, cause_sentence
from kubescheduler.comparison.contributions import Judgement, ScoreTerm, contributions, terms
from kubescheduler.comparison.outcomes import Cause, HostChange, Step
from kubescheduler.comparison.pairing import Pair
from kubescheduler.comparison.refusals import refusals
from kubescheduler.engine.fine_scores import STEPS

ORDER = (
    Cause.SCORE_RESOLUTION,
    Cause.CHANGED_WEIGHT,
    Cause.CHANGED_FORMULA,
    Cause.ADDED_PRIORITY,
    Cause.REMOVED_PRIORITY,
    Cause.NORMALISATION,
    Cause.EXTENDER_SCALING,
)
"""From a coarse scale to a fine one; from a fine one to a coarse one the resolution comes last."""


def explained(old: Judgement, new: Judgement, shadow: Judgement | None = None) -> HostChange:
    """What changed for one pod, and why.

    shadow: the old engine on the cluster of the new one, where that is another than the old one's; None: it is the
    same.
    """
    hosts = old.decision.host, new.decision.host
    if hosts[0] == hosts[1]:
        return HostChange(Cause.SAME)
    for side, judgement in (("old", old), ("new", new)):
        decision = judgement.decision
        if not decision.tried:
            return HostChange(Cause.NOT_TRIED, f"the {side} scheduler does not try the pod: {decision.message}")
        if decision.error is not None:
            return HostChange(Cause.ERROR, f"the {side} scheduler gave up: {decision.error}")
    return _filtered(old, new, shadow) or _scored(old, new, shadow)


# --- checks --------------------------------------------------------------------------------


def _filtered(old: Judgement, new: Judgement, shadow: Judgement | None) -> HostChange | None:
    """The change, if one of the hosts does not pass one engine's checks."""
    before, after = old.decision.host, new.decision.host
    if before is not None and new.place(before) is None:
        by_engine = shadow is None or shadow.place(before) is not None
        return _refused(Cause.FILTERED_NOW if by_engine else Cause.EARLIER_CHOICES, before, new)
    if after is not None and old.place(after) is None:
        by_engine = shadow is None or shadow.place(after) is None
        return _refused(Cause.NO_LONGER_FILTERED if by_engine else Cause.EARLIER_CHOICES, after, old)
    if shadow is None:
        return None
    if before is not None and shadow.place(before) is None:
        return _refused(Cause.EARLIER_CHOICES, before, shadow)
    if after is not None and shadow.place(after) is None:
        return _refused(Cause.NO_LONGER_FILTERED, after, shadow)
    return None


def _refused(cause: Cause, host: str, by: Judgement) -> HostChange:
    reasons = refusals(by.decision, by.scheduler.cache.columns.row_of.get(host), host)
    return HostChange(cause, cause_sentence(CauseFacts(cause, host, reasons=reasons)), reasons=reasons)


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
    for pair, contribution in contributions(there, ending):
        before, after = [there[name] for name in pair.old], [ending[name] for name in pair.new]
        for cause, gain in _gains(pair, before, after, finest=finest):
            gains.setdefault(cause, {}).setdefault(contribution.name, 0)
            gains[cause][contribution.name] += gain
    for cause in ORDER if new.fine or not old.fine else (*ORDER[1:], ORDER[0]):
        walk.take(cause, gains.get(cause, {}))
    cause = _primary(walk, differences[1])
    parts = contributions(starting, ending)
    return HostChange(
        cause=cause,
        text=cause_sentence(CauseFacts(cause, hosts[1], hosts[0], differences, walk.overtaken)),
        contributions=tuple(part for _, part in parts),
        old_difference=differences[0],
        new_difference=differences[1],
        steps=tuple(walk.steps),
    )


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
    pair: Pair, before: Sequence[ScoreTerm], after: Sequence[ScoreTerm], *, finest: bool
) -> list[tuple[Cause, int]]:
    """How much the second host gains by each cause, from the old terms to the new ones."""
    was, now = (sum(term.fine_on(finest=finest) for term in some) for some in (before, after))
    rounded = sum(term.rounding(finest=finest) for term in after) - sum(t.rounding(finest=finest) for t in before)
    gains = [(Cause.SCORE_RESOLUTION, rounded)]
    if pair.extender:
        return [*gains, (Cause.EXTENDER_SCALING, now - was)]
    if not before:
        return [*gains, (Cause.ADDED_PRIORITY, now)]
    if not after:
        return [*gains, (Cause.REMOVED_PRIORITY, -was)]
    if not pair.single:
        return [*gains, (Cause.CHANGED_FORMULA, now - was)]
    weighed = attrs.evolve(before[0], weight=after[0].weight).fine_on(finest=finest)
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
