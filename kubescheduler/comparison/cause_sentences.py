"""One sentence on why a pod goes elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kubescheduler.comparison.outcomes import Cause, Contribution, Step

VERBS: Mapping[Cause, str] = {
    Cause.EARLIER_CHOICES: "earlier pods run elsewhere",
    Cause.SCORE_RESOLUTION: "scores are rounded differently",
    Cause.CHANGED_WEIGHT: "weights differ",
    Cause.CHANGED_FORMULA: "scores are computed differently",
    Cause.ADDED_PRIORITY: "priorities were added",
    Cause.REMOVED_PRIORITY: "priorities were removed",
    Cause.NORMALISATION: "scores are normalised differently",
    Cause.EXTENDER_SCALING: "extenders weigh more or less",
}
"""What is the case at the step that decides."""

REFUSED: Mapping[Cause, str] = {
    Cause.FILTERED_NOW: "{host} is refused now",
    Cause.NO_LONGER_FILTERED: "{host} was refused before",
    Cause.EARLIER_CHOICES: "{host} is refused on one of the clusters, where earlier pods run elsewhere",
}


@attrs.frozen
class CauseFacts:
    """What the sentence is about."""

    cause: Cause
    host: str
    """The refused node; if both hosts were scored, the new one."""
    other: str | None = None
    """The old host, if both were scored."""
    differences: tuple[int, int] = (0, 0)
    step: Step | None = None
    reasons: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)


def cause_sentence(what: CauseFacts) -> str:
    """A sentence without a full stop."""
    if what.other is None:
        reasons = "; ".join(f"{check}: {', '.join(texts)}" for check, texts in what.reasons.items())
        return f"{REFUSED[what.cause].format(host=what.host)}: {reasons}"
    was, now = map(_lead, what.differences)
    why = "its name comes first"
    if what.cause is not Cause.TIE_BREAK:
        names = () if what.step is None else what.step.names[:MOST_NAMES]
        why = f"{VERBS[what.cause]} ({', '.join(names)})"
    return f"{what.host} was {was} and is {now} against {what.other}: {why}"


MOST_NAMES = 2
"""Priorities that a sentence names."""


def _lead(points: int) -> str:
    return "level" if not points else f"{points} ahead" if points > 0 else f"{-points} behind"


def by_priority(contribution: Contribution) -> str:
    """``LeastRequestedPriority -> NodeResourcesFit: -1, +12``."""
    return f"{contribution.name}: {contribution.old:+d}, {contribution.new:+d}"
