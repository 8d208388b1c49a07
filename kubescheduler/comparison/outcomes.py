"""What a comparison found: per pod and column the outcome, per new column what changed and why; all plain records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

import attrs
import msgspec

from clusterstate.errors import nearest
from kubescheduler.core.decision import Decision, failures

STAYS = True
"""Pods of the cause do not go elsewhere: their node is the same, or none, or chance, or nothing was compared."""


class Cause(StrEnum):
    """Why a pod goes elsewhere: its name, which is stable as reports and ``--tolerate`` use it, and its meaning."""

    meaning: str
    """One line for people."""
    stays: bool
    """See ``STAYS``."""

    def __new__(cls, value: str, meaning: str = "", stays: bool = False) -> Self:
        cause = str.__new__(cls, value)
        cause._value_, cause.meaning, cause.stays = value, meaning, stays
        return cause

    SAME = "same", "the pod goes where it went", STAYS
    FILTERED_NOW = "filtered-now", "the old host no longer passes the checks"
    NO_LONGER_FILTERED = "no-longer-filtered", "the new host did not pass the checks before"
    SCORE_RESOLUTION = "score-resolution", "scores of 0-100 distinguish what 0-10 made equal"
    CHANGED_WEIGHT = "changed-weight", "a priority counts more or less than before"
    CHANGED_FORMULA = "changed-formula", "a priority is computed differently"
    ADDED_PRIORITY = "added-priority", "a priority that was added"
    REMOVED_PRIORITY = "removed-priority", "a priority that was removed"
    NORMALISATION = "normalisation", "scores are normalised differently"
    EXTENDER_SCALING = "extender-scaling", "extenders weigh more or less against the rest"
    TIE_BREAK = "tie-break", "both hosts have the same total; the name decides"
    EARLIER_CHOICES = "earlier-choices", "earlier pods had already gone elsewhere, so the clusters differ"
    OWN_CONSTRAINTS = "own-constraints", "the pod's own topologySpreadConstraints switch default spreading off"
    COULD_HAVE_BEEN = (
        "could-have-been",
        "the new host was among the old scheduler's equal best, of which it takes any",
        STAYS,
    )
    DIFFERENT_REASONS = "different-reasons", "no node before and now, but refused for different reasons", STAYS
    DIFFERENT_VICTIMS = "different-victims", "room is made by evicting different pods", STAYS
    DIFFERENT_TIES = (
        "different-ties",
        "the same host by name, but among other equal best, of which a scheduler takes any",
        STAYS,
    )
    NO_START_TIMES = (
        "no-start-times",
        "of equally important pods that do not say when they started, any may be evicted (dry runs)",
        STAYS,
    )
    NOT_TRIED = "not-tried", "one of the two leaves the pod to another scheduler, or holds it back"
    KEPT_RANKING = (
        "kept-ranking",
        "one of the hosts is the next of the ranking kept from the pod before, and was not scored",
    )
    ERROR = "error", "an error ended an attempt, or an extender that has to answer did not: nothing was compared", STAYS


TOLERABLE = tuple(cause for cause in Cause if cause not in (Cause.SAME, Cause.ERROR))
"""What ``--tolerate`` takes. An error is no difference that could be accepted: nothing was compared."""

INDEPENDENT, SEQUENCE = "independent", "sequence"
LOOSE, STRICT = "loose", "strict"
TIES = (LOOSE, STRICT)
"""A pod with the same node by name is the same; or only if the nodes with the highest total are the same too. A tie of
the same nodes on both sides is no difference under either."""

MODES = (INDEPENDENT, SEQUENCE)
"""Each pod on the same cluster; or every engine running on from its own earlier choices."""


class Outcome(msgspec.Struct, frozen=True):
    """Where a pod goes in one column."""

    host: str | None
    """The chosen node; None if there is none, and ``message`` then has the release's words."""
    tied: Sequence[str] = ()
    """The nodes with the highest total, sorted by name, the host among them."""
    total: int | None = None
    """The host's total; None where nothing was scored."""
    fits: int = 0
    """How many nodes fit."""
    nodes: int = 0
    """How many nodes there are; 0 where nobody looked."""
    message: str = ""
    notes: tuple[str, ...] = ()
    """What a reader of the reasons does not see in them, see ``Decision.notes``, and ignorable extenders that did not
    answer."""
    error: bool = False
    unanswered: str = ""
    """What the scheduler did instead of answering, see ``failures``; empty for an answer."""
    tried: bool = True
    """False: the scheduler leaves the pod to another one, or holds it back."""
    evicts: tuple[str, ...] = ()
    """The keys of the pods that preemption would take from ``evicts_from``."""
    evicts_from: str | None = None
    """The node that preemption would make room on."""

    @classmethod
    def of(cls, decision: Decision, **more: Any) -> Self:
        """What a decision says; more: what has to be worked out."""
        return cls(
            host=decision.host,
            fits=len(decision.feasible),
            nodes=decision.nodes_total if decision.tried else 0,
            message=decision.message,
            error=decision.error is not None and decision.tried,
            unanswered="; ".join(failures(decision)),
            tried=decision.tried,
            **more,
        )


Sentences = tuple[tuple[str, str], ...]
"""For each of a term's rules what its scores of (old host, new host) were made of."""


class Contribution(msgspec.Struct, frozen=True):
    """One term of the totals' difference between the two hosts: new host minus old host, score times weight."""

    old_name: str | None
    """The priority under the old engine, several separated by `` + ``; None where it has none."""
    new_name: str | None
    """The priority under the new engine, likewise."""
    old: int | None
    """What it adds to the difference under the old engine; all terms sum to the difference of the totals. None where
    the old engine refuses one of the hosts."""
    new: int | None
    """What it adds to the difference under the new engine, likewise."""
    old_weight: int | None = None
    """The weight under the old engine; None where there is not exactly one priority."""
    new_weight: int | None = None
    """The weight under the new engine, likewise."""
    old_scores: tuple[int, int] | None = None
    """The scores of (old host, new host) under the old engine before the weight; None as ``old_weight``."""
    new_scores: tuple[int, int] | None = None
    """The same under the new engine."""
    old_evidence: Sentences = ()
    """What the scores under the old engine were made of; empty unless that was asked for, and for terms of 0."""
    new_evidence: Sentences = ()
    """The same under the new engine."""

    @property
    def old_names(self) -> tuple[str, ...]:
        """The single priorities of ``old_name``."""
        return () if self.old_name is None else tuple(self.old_name.split(" + "))

    @property
    def new_names(self) -> tuple[str, ...]:
        """Those of ``new_name``."""
        return () if self.new_name is None else tuple(self.new_name.split(" + "))

    @property
    def name(self) -> str:
        """``LeastRequestedPriority -> NodeResourcesFit``."""
        old, new = self.old_name, self.new_name
        if old is None or new is None or old == new:
            return old or new or ""
        return f"{old} -> {new}"


class Step(msgspec.Struct, frozen=True):
    """The old scoring turned into the new one by one more step."""

    cause: Cause
    """What the step changes."""
    names: tuple[str, ...]
    """The priorities that it concerns, those that help the new host most first."""
    by: int
    """How much the new host gains."""
    lead: int
    """How far it is ahead of the old host afterwards; below 0 it is behind. As ``by`` exact, on the finer of the two
    releases' scales (0-100 if one of them has it).
    """


class MoveShare(msgspec.Struct, frozen=True):
    """In how many of several runs a pod goes elsewhere, each drawing among equal totals as the releases do."""

    moved: int
    """Runs in which the new host is another than the old one."""
    runs: int
    """All runs, one a seed."""

    @property
    def share(self) -> float:
        """0 to 1."""
        return self.moved / self.runs

    def __str__(self) -> str:
        return f"{self.moved} of {self.runs}"


class DrawnRun(msgspec.Struct, frozen=True):
    """One run that draws among equal totals as the releases do."""

    seed: int
    moved: tuple[int, ...]
    """Per new column, how many pods go elsewhere."""


class HostChange(msgspec.Struct, frozen=True):
    """What changes for one pod between the old column and a new one."""

    cause: Cause
    """The one primary cause."""
    text: str = ""
    """One sentence for people."""
    contributions: tuple[Contribution, ...] = ()
    """The terms of the difference; empty where an engine has no host, or cannot score both."""
    old_difference: int | None = None
    """The new host's total minus the old host's, under the old engine; None if it did not score both."""
    new_difference: int | None = None
    """The same under the new engine."""
    steps: tuple[Step, ...] = ()
    """From the old scoring to the new one; empty unless both engines scored both hosts."""
    reasons: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Check → its reasons for the host that does not pass."""
    evidence: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Check → the same with what each refusal was made of: ``Insufficient cpu: asks 5, 3 of 4 free``."""
    moves: MoveShare | None = None
    """The share of runs in which it goes elsewhere; None without runs that draw."""
    as_if_passed: bool = False
    """Neither engine scored both hosts, as each refuses one: the differences and the terms are what they would score
    if both hosts had passed, beside the nodes that did."""

    @property
    def moved(self) -> bool:
        """Whether the pod goes elsewhere."""
        return not self.cause.stays


@attrs.frozen
class PodComparison:
    """A pod in all columns."""

    pod: str
    outcomes: tuple[Outcome, ...]
    """Per column, the old one first."""
    changes: tuple[HostChange, ...]
    """Per new column."""
    workload: str = attrs.field()
    """``Kind/name`` of what controls it: ``Deployment/web``; by default ``Pod/`` and its name."""
    runs_on: str | None = None
    """The node of a pod that runs, from which it was taken for the comparison."""

    @workload.default
    def _itself(self) -> str:
        return f"Pod/{self.pod.rpartition('/')[2]}"

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
        return any(change.moved for change in self.changes)

    @property
    def moves_sometimes(self) -> bool:
        """Whether it goes elsewhere in some run that draws among equal totals."""
        return any(change.moves is not None and change.moves.moved > 0 for change in self.changes)

    @property
    def differs(self) -> bool:
        """Whether some new column is not the same, or could not be compared."""
        return self.cause is not Cause.SAME

    @property
    def error(self) -> bool:
        """Whether some new column could not be compared."""
        return Cause.ERROR in self.causes


def faults_of_tolerated(names: Iterable[str]) -> Iterator[str]:
    """What is wrong with each name that is no cause, or one that cannot be accepted."""
    known = [str(cause) for cause in TOLERABLE]
    for name in names:
        if name == Cause.ERROR:
            yield "an error cannot be tolerated: nothing was compared"
        elif name not in known:
            yield f"{name} is no cause{nearest(str(name), known) or '; causes are ' + ', '.join(known)}"
