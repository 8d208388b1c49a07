"""The difference of two hosts' totals, taken apart into what each priority and each extender adds to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs
import numpy as np

from clusterstate.growable import IntArray
from kubescheduler.config.engine import Scheduler
from kubescheduler.core.decision import Decision
from kubescheduler.framework.decision import FrameworkDecision
from kubescheduler.framework.extending import SCALE
from kubescheduler.migration.fine import STEPS, fine_scores
from kubescheduler.migration.outcomes import Contribution
from kubescheduler.migration.pairing import EXTENDER, Pair, paired, rule_of
from priorities.types import PriorityConfig

OVERFLOW = "wrapping at 64 bits"
"""The term of totals that do not fit in 64 bits."""


@attrs.frozen(eq=False)
class Judgement:
    """A decision and who made it, while the cluster is still what it was then."""

    scheduler: Scheduler
    decision: Decision

    @property
    def fine(self) -> bool:
        """Whether scores go from 0 to 100."""
        return isinstance(self.decision, FrameworkDecision)

    def place(self, host: str) -> int | None:
        """Where a node is among the feasible ones; None if it is not."""
        row = self.scheduler.cache.columns.row_of.get(host)
        found = np.flatnonzero(self.decision.feasible == row) if row is not None else ()
        return int(found[0]) if len(found) else None

    def difference(self, hosts: tuple[str, str]) -> int:
        """The second host's total minus the first one's."""
        first, second = self._places(hosts)
        return int(self.decision.totals[second]) - int(self.decision.totals[first])

    def _places(self, hosts: tuple[str, str]) -> tuple[int, int]:
        first, second = map(self.place, hosts)
        assert first is not None
        assert second is not None
        return first, second


@attrs.frozen
class Term:
    """One priority on two hosts: the first and the second one's score, before the weight.

    fine: the same on a scale of 0-100. raw: before normalisation, None where that is not known.
    """

    name: str
    rule: str
    weight: int
    scores: tuple[int, int]
    fine: tuple[int, int]
    raw: tuple[int, int] | None = None

    @property
    def value(self) -> int:
        return self.weight * (self.scores[1] - self.scores[0])

    @property
    def fine_value(self) -> int:
        return self.weight * (self.fine[1] - self.fine[0])


def terms(judgement: Judgement, hosts: tuple[str, str]) -> dict[str, Term]:
    """Name → what adds to the totals of two feasible hosts; the values sum to the difference of the totals."""
    found = _framework_terms(judgement, hosts) if judgement.fine else _legacy_terms(judgement, hosts)
    found += _extender_terms(judgement, hosts)
    missing = judgement.difference(hosts) - sum(term.value for term in found)
    if missing:
        found.append(Term(OVERFLOW, OVERFLOW, 1, (0, missing), (0, missing)))
    return {term.name: term for term in found}


def _legacy_terms(judgement: Judgement, hosts: tuple[str, str]) -> list[Term]:
    decision, cache = judgement.decision, judgement.scheduler.cache
    both = judgement._places(hosts)
    info, snapshot = cache.info(decision.pod), cache.snapshot()
    view = snapshot.take(decision.feasible)
    here = snapshot.take(decision.feasible[list(both)])
    found: list[Term] = []
    for priority in judgement.scheduler.algorithm.priorities:
        config, weight = priority.config, priority.weight
        scores = decision.scores[config.name]
        coarse = np.full(len(view), scores, np.int64) if isinstance(scores, int) else scores
        fine = fine_scores(config, decision.release, info, view, coarse)
        raw = None if config.reduce is None else config.map(info, here)
        term = Term(config.name, rule_of(config.name, config), weight, _at(coarse, both), _at(fine, both))
        found.append(term if raw is None else attrs.evolve(term, raw=_at(raw, (0, 1))))
    return found


def _framework_terms(judgement: Judgement, hosts: tuple[str, str]) -> list[Term]:
    decision = judgement.decision
    assert isinstance(decision, FrameworkDecision)
    both = judgement._places(hosts)
    found: list[Term] = []
    for name, scores in decision.scores.items():
        values, raw = _pick(scores, both), _pick(decision.raws[name], both)
        found.append(Term(name, rule_of(name), decision.weights[name], values, values, raw))
    return found


def _extender_terms(judgement: Judgement, hosts: tuple[str, str]) -> list[Term]:
    scale, found = SCALE if judgement.fine else 1, []
    for trace in judgement.decision.extenders:
        if trace.scores is None:
            continue
        first, second = (sum(score for host, score in trace.scores if host == name) for name in hosts)
        name, scores = EXTENDER + trace.name, (first * scale, second * scale)
        fine = scores if judgement.fine else (first * STEPS, second * STEPS)
        found.append(Term(name, name, trace.weight, scores, fine))
    return found


def _pick(scores: IntArray | int, places: tuple[int, int]) -> tuple[int, int]:
    return (scores, scores) if isinstance(scores, int) else _at(scores, places)


def _at(scores: IntArray, places: tuple[int, int]) -> tuple[int, int]:
    return int(scores[places[0]]), int(scores[places[1]])


# --- both engines --------------------------------------------------------------------------


def contributions(old: Mapping[str, Term], new: Mapping[str, Term]) -> list[tuple[Pair, Contribution]]:
    """Old terms beside their new counterparts."""
    pairs = paired({n: t.rule for n, t in old.items()}, {n: t.rule for n, t in new.items()})
    return [(pair, _contribution([old[n] for n in pair.old], [new[n] for n in pair.new])) for pair in pairs]


def _contribution(old: Sequence[Term], new: Sequence[Term]) -> Contribution:
    return Contribution(
        old_name=_name(old),
        new_name=_name(new),
        old=sum(term.value for term in old),
        new=sum(term.value for term in new),
        old_weight=old[0].weight if len(old) == 1 else None,
        new_weight=new[0].weight if len(new) == 1 else None,
        old_scores=old[0].scores if len(old) == 1 else None,
        new_scores=new[0].scores if len(new) == 1 else None,
    )


def _name(terms: Iterable[Term]) -> str | None:
    return " + ".join(term.name for term in terms) or None
