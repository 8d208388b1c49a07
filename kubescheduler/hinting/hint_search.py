"""The search for what would make a pod fit, or go to a node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import attrs

from clusterstate.cache import ClusterCache
from clusterstate.errors import InputError
from clusterstate.objects import Pod
from kubescheduler.core.failed_attempts import gave_up
from kubescheduler.engine.engine_contract import Engine, PodScheduler
from kubescheduler.hinting.pod_proposals import pod_candidates, priority_scale
from kubescheduler.hinting.proposals import Candidate, Goal, Hint, PodHints, Proposal, Scale
from kubescheduler.hinting.trials import Trials


class HintSearch:
    """Finds hints for pods of one cluster. The cluster is as before after every search."""

    def __init__(self, engine: Engine, cache: ClusterCache) -> None:
        self.engine = engine
        self.cache = cache
        self._scheduler: PodScheduler = engine.scheduler(cache)

    def hints(self, pod: Pod, *, node: str = "", top: int | None = None, pairs: bool = True) -> PodHints:
        """What would make a pod fit, the smallest change first.

        node: the node that it is to go to. top: at most so many hints. pairs: also two changes at a time, of which
        neither does it alone. Raises InputError for a node that is not there.
        """
        row = self.cache.columns.row_of.get(node, -1)
        if node and (row < 0 or self.cache.columns.nodes[row] is None):
            raise InputError(f"there is no node {node} in the cluster")
        goal = Goal(node)
        trials = Trials(self.engine, self.cache, pod, goal, self._scheduler)
        base = trials.base
        out = PodHints(pod, goal, base.host, base.message)
        if gave_up(base):
            return attrs.evolve(out, errors=tuple(trials.errors))
        if goal.host(base, preempts=False) is not None:
            return attrs.evolve(out, reached=True)
        found = sorted(_found(trials, pairs=pairs), key=lambda hint: hint.rank)
        return attrs.evolve(out, hints=tuple(found[:top]), errors=tuple(trials.errors), decisions=trials.count)


def _found(trials: Trials, *, pairs: bool) -> list[Hint]:
    found, failed = single_changes(trials, pod_candidates(trials))
    priority = priority_scale(trials) if trials.base.tried else None
    by_priority = None if priority is None else trials.smallest(priority)
    found += [] if by_priority is None else [by_priority]
    return found + (two_changes(trials, failed) if pairs else [])


def single_changes(trials: Trials, candidates: Iterable[Candidate]) -> tuple[list[Hint], list[Candidate]]:
    """The hints of single changes, and the changes that do not reach the goal alone."""
    found: list[Hint] = []
    failed: list[Candidate] = []
    for candidate in candidates:
        if isinstance(candidate, Scale):
            hint = trials.smallest(candidate)
        elif _says_nothing_new(candidate.smaller, found):
            continue
        else:
            hint = trials.tried(candidate)
        if hint is None:
            failed.append(candidate)
        else:
            found.append(hint)
    return found, failed


def _says_nothing_new(smaller: Sequence[str], found: Sequence[Hint]) -> bool:
    return any(hint.text in smaller for hint in found)


def two_changes(trials: Trials, failed: Sequence[Candidate]) -> list[Hint]:
    """The hints of two changes, of which neither reaches the goal alone."""
    found = (_together(trials, *two) for two in combinations(failed, 2))
    return [hint for hint in found if hint is not None]


def _together(trials: Trials, first: Candidate, second: Candidate) -> Hint | None:
    """The hint of two changes: the amount of the first as small as it can be, then that of the second."""
    one, two = _largest(first), _largest(second)
    hint = trials.tried(one, two)
    if hint is None:
        return None
    if isinstance(first, Scale):
        hint = trials.smallest(first, two) or hint
        one = hint.changes[-1]
    if isinstance(second, Scale):
        hint = trials.smallest(second, one) or hint
    return hint


def _largest(candidate: Candidate) -> Proposal:
    return candidate.at(candidate.largest) if isinstance(candidate, Scale) else candidate
