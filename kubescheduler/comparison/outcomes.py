"""What a comparison found: per pod and column the outcome, per new column what changed and why; all plain records."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import attrs


class Cause(StrEnum):
    """Why a pod goes elsewhere. The values are stable: reports and ``--tolerate`` use them."""

    SAME = "same"
    FILTERED_NOW = "filtered-now"
    NO_LONGER_FILTERED = "no-longer-filtered"
    SCORE_RESOLUTION = "score-resolution"
    CHANGED_WEIGHT = "changed-weight"
    CHANGED_FORMULA = "changed-formula"
    ADDED_PRIORITY = "added-priority"
    REMOVED_PRIORITY = "removed-priority"
    NORMALISATION = "normalisation"
    EXTENDER_SCALING = "extender-scaling"
    TIE_BREAK = "tie-break"
    EARLIER_CHOICES = "earlier-choices"
    NOT_TRIED = "not-tried"
    ERROR = "error"


MEANINGS: dict[Cause, str] = {
    Cause.SAME: "the pod goes where it went",
    Cause.FILTERED_NOW: "the old host no longer passes the checks",
    Cause.NO_LONGER_FILTERED: "the new host did not pass the checks before",
    Cause.SCORE_RESOLUTION: "scores of 0-100 tell apart what 0-10 made equal",
    Cause.CHANGED_WEIGHT: "a priority counts more or less than before",
    Cause.CHANGED_FORMULA: "a priority is computed otherwise",
    Cause.ADDED_PRIORITY: "a priority that was not there before",
    Cause.REMOVED_PRIORITY: "a priority that is there no more",
    Cause.NORMALISATION: "scores are stretched to the full range otherwise",
    Cause.EXTENDER_SCALING: "extenders weigh more or less against the rest",
    Cause.TIE_BREAK: "both hosts have the same total; the name decides",
    Cause.EARLIER_CHOICES: "earlier pods had already gone elsewhere, so the clusters differ",
    Cause.NOT_TRIED: "one of the two leaves the pod to another scheduler, or holds it back",
    Cause.ERROR: "an error ended one of the two attempts",
}
"""One line each, for people."""

INDEPENDENT, SEQUENCE = "independent", "sequence"
MODES = (INDEPENDENT, SEQUENCE)
"""Each pod on the same cluster; or every engine running on from its own earlier choices."""


@attrs.frozen
class Outcome:
    """One pod in one column.

    host: None if there is none; ``message`` then has the release's words. tied: the nodes with the highest total,
    sorted by name, the host among them. total: the host's; None where nothing was scored. fits, nodes: how many nodes
    fit, of those there are. evicts: the keys of the pods that preemption would take from ``evicts_from``.
    """

    host: str | None
    tied: tuple[str, ...] = ()
    total: int | None = None
    fits: int = 0
    nodes: int = 0
    message: str = ""
    error: bool = False
    evicts: tuple[str, ...] = ()
    evicts_from: str | None = None


@attrs.frozen
class Contribution:
    """One term of the totals' difference between the two hosts: new host minus old host, score times weight.

    old_name, new_name: the priority under each engine, several parted by `` + ``; None where it has none. old, new:
    what it adds to the difference under each engine; the terms of one engine sum to the difference of its totals.
    old_weight, new_weight, old_scores, new_scores: the weight, and the scores of (old host, new host) before it; None
    where there is not just one priority.
    """

    old_name: str | None
    new_name: str | None
    old: int
    new: int
    old_weight: int | None = None
    new_weight: int | None = None
    old_scores: tuple[int, int] | None = None
    new_scores: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """``LeastRequestedPriority -> NodeResourcesFit``."""
        names = dict.fromkeys(name for name in (self.old_name, self.new_name) if name is not None)
        return " -> ".join(names)


@attrs.frozen
class Step:
    """The old scoring turned into the new one by one more step.

    cause: what the step changes. names: the priorities that it concerns, those that help the new host most first.
    by: how much the new host gains; lead: how far it is ahead of the old host afterwards, below 0 it is behind. Both
    are exact, on the finer of the two releases' scales (0-100 if one of them has it).
    """

    cause: Cause
    names: tuple[str, ...]
    by: int
    lead: int


@attrs.frozen
class Change:
    """A new column beside the old one, for one pod.

    cause: the one primary cause. contributions, steps: of pods that both engines scored on both hosts; else empty.
    old_difference, new_difference: new host's total minus old host's, under each engine; None without contributions.
    reasons: check → what it says of the host that does not pass. text: one sentence for people.
    """

    cause: Cause
    text: str = ""
    contributions: tuple[Contribution, ...] = ()
    old_difference: int | None = None
    new_difference: int | None = None
    steps: tuple[Step, ...] = ()
    reasons: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)

    @property
    def moved(self) -> bool:
        return self.cause is not Cause.SAME


@attrs.frozen
class PodComparison:
    """One pod. outcomes: per column, the old one first. changes: per new column."""

    pod: str
    outcomes: tuple[Outcome, ...]
    changes: tuple[Change, ...]

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Per new column."""
        return tuple(change.cause for change in self.changes)

    @property
    def cause(self) -> Cause:
        """The first new column's that is not the same; else same."""
        return next((cause for cause in self.causes if cause is not Cause.SAME), Cause.SAME)

    @property
    def moved(self) -> bool:
        """Whether it goes elsewhere in some new column."""
        return self.cause is not Cause.SAME
