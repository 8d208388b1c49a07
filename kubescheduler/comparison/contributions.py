"""The difference of two hosts' totals, taken apart into what each priority and each extender adds to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import attrs
import msgspec
import numpy as np

from clusterstate.growable import IntArray
from kubescheduler.comparison.outcomes import Contribution
from kubescheduler.core.decision import FRAMEWORK_SCALE, Decision
from kubescheduler.engine.spec import PodScheduler
from kubescheduler.framework.deciding.find_nodes import SCALE
from priorities.score_evidence import RULES, SUBJECTS
from priorities.types import STEPS, PriorityConfig

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
