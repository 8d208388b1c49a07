"""The search for what would make a pod fit, or go to a node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import islice

import attrs

from clusterstate.cache import ClusterCache
from clusterstate.errors import InputError, nearest
from clusterstate.objects import Pod
from kubescheduler.core.decision import gave_up
from kubescheduler.engine.engine_contract import Engine, PodScheduler
from kubescheduler.hinting.engine_proposals import checks_off, weights
from kubescheduler.hinting.eviction_proposals import evictions, with_moves
from kubescheduler.hinting.missing_objects import created
from kubescheduler.hinting.node_proposals import another, copies, node_groups
from kubescheduler.hinting.pod_proposals import pod_candidates, priority_scale
from kubescheduler.hinting.proposals import Goal, Hint, PodHints, Proposal
from kubescheduler.hinting.single_changes import single_changes
from kubescheduler.hinting.trials import Trials, as_read, changed_nodes
from kubescheduler.hinting.two_changes import NodeChanges, Pairs

GROUPS = 200
"""Groups of nodes that are alike whose nodes' changes are tried, the largest first."""


class HintSearch:
    """Finds hints for pods of one cluster. The cluster is as before after every search."""

    def __init__(self, engine: Engine, cache: ClusterCache) -> None:
        self.engine = engine
        self.cache = cache
        self._scheduler: PodScheduler = engine.scheduler(cache)

    def hints(
        self, pod: Pod, *, node: str = "", top: int | None = None, pairs: bool = True, others: Sequence[Pod] = ()
    ) -> PodHints:
        """What would make a pod fit, the smallest change first.

        node: the node that it is to go to. top: at most so many hints. pairs: also two changes at a time, of which
        neither does it alone. others: pods that are alike and fit nowhere either; of one more node it is then said how
        many of them hold all. Raises InputError for a node that is not there.
        """
        row = self.cache.columns.row_of.get(node, -1)
        if node and (row < 0 or self.cache.columns.nodes[row] is None):
            known = (each.name for each in self.cache.columns.nodes if each is not None)
            raise InputError(f"there is no node {node} in the cluster{nearest(node, known)}")
        goal = Goal(node)
        pod = as_read(pod, self.cache)
        trials = Trials(self.engine, self.cache, pod, goal, self._scheduler)
        base = trials.base
        out = PodHints(pod, goal, base.host, base.message)
        if gave_up(base):
            made = created(trials)
            return attrs.evolve(out, hints=tuple(made[:top]), errors=() if made else tuple(trials.errors))
        if goal.host(base, preempts=False) is not None:
            return attrs.evolve(out, reached=True)
        found, left_out = _found(trials, pairs=pairs)
        found.sort(key=lambda hint: hint.rank)
        shown = [self._for_all(hint, (pod, *others)) if others else hint for hint in found[:top]]
        return attrs.evolve(
            out,
            others=tuple(each.key for each in others),
            hints=tuple(shown),
            errors=tuple(trials.errors),
            left_out=left_out,
            decisions=trials.count,
        )

    def _for_all(self, hint: Hint, pods: Sequence[Pod]) -> Hint:
        """The hint of one more node with how many of them hold all pods; the hint itself if they would not."""
        added = hint.changes[0].added
        if len(hint.changes) > 1 or added is None:
            return hint
        count = 0
        with ExitStack() as stack:
            for pod in pods:
                host = self._scheduler.decide(pod).host
                if host is None:
                    more = another(self.cache, added)
                    stack.enter_context(changed_nodes(self.cache, [attrs.evolve(hint.changes[0], added=more)]))
                    host, count = self._scheduler.decide(pod).host, count + 1
                if host is None:
                    return hint
                self.cache.assume_pod(pod, host)
                stack.callback(self.cache.forget_pod, pod)
        return attrs.evolve(hint, nodes_for_all=count)


def _found(trials: Trials, *, pairs: bool) -> tuple[list[Hint], str]:
    """The hints, and what was left out."""
    found, of_pod = single_changes(trials, pod_candidates(trials))
    found += created(trials)
    if not trials.base.tried:
        of_two = Pairs(trials)
        of_two.of_pod(of_pod if pairs else ())
        return found + of_two.found, of_two.left_out
    priority = priority_scale(trials)
    by_priority = None if priority is None else trials.smallest(priority)
    found += [] if by_priority is None else [by_priority]
    alike = node_groups(trials)
    groups = [NodeChanges.of(trials, group) for group in alike[:GROUPS]]
    found += [hint for group in groups for hint in group.found]
    found += _first(trials, islice(copies(trials, [group.nodes for group in groups]), GROUPS))
    found += single_changes(trials, (*checks_off(trials), *weights(trials)))[0]
    found += [with_moves(trials, hint) for hint in single_changes(trials, evictions(trials))[0]]
    of_two = Pairs(trials)
    if pairs:
        of_two.of_pod(of_pod)
        of_two.with_nodes(of_pod, groups)
    rest = f"changes of nodes in {len(alike) - GROUPS} more groups of nodes that differ were not tried"
    left_out = [of_two.left_out, rest if len(alike) > GROUPS else ""]
    return found + of_two.found, "; ".join(filter(None, left_out))


def _first(trials: Trials, proposals: Iterable[Proposal]) -> list[Hint]:
    """The first of some proposals that reaches the goal, if one does."""
    return list(islice(filter(None, (trials.tried(one) for one in proposals)), 1))
