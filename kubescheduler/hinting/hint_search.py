"""The search for what would make a pod fit, or go to a node; and its answers in short, for a metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import combinations, islice, product

import attrs
import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import InputError, nearest
from clusterstate.growable import IntArray
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.core.decision import gave_up
from kubescheduler.engine.framework_engine import FrameworkEngine
from kubescheduler.engine.legacy_engine import LegacyEngine
from kubescheduler.engine.spec import Engine, PodScheduler, cache_for, place, take_back
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Enabled, Point
from kubescheduler.hinting.node_proposals import (
    NodeGroup,
    another,
    copies,
    created,
    everything,
    evictions,
    node_candidates,
    node_groups,
    topology_keys,
    with_moves,
)
from kubescheduler.hinting.pod_proposals import pod_candidates, priority_scale
from kubescheduler.hinting.proposals import (
    CLUSTER,
    CONFIGURATION,
    NODE,
    POD,
    RUNNING,
    TARGETS,
    Candidate,
    Goal,
    Hint,
    PodHints,
    Proposal,
    Scale,
)
from kubescheduler.hinting.trials import Trials, as_read, at_once, changed_nodes
from kubescheduler.live.observers import ShortHint


def single_changes(trials: Trials, candidates: Iterable[Candidate]) -> tuple[list[Hint], list[Candidate]]:
    """The hints of single changes, and the changes that do not reach the goal alone."""
    found: list[Hint] = []
    failed: list[Candidate] = []
    for candidate in candidates:
        if isinstance(candidate, Scale):
            hint = trials.smallest(candidate)
        elif any(hint.text in candidate.smaller for hint in found):
            continue
        else:
            hint = trials.tried(candidate)
        if hint is None:
            failed.append(candidate)
        else:
            found.append(hint)
    return found, failed


MOST = 1000
"""Decisions for pairs; then the search for them ends."""


class NodeChanges(msgspec.Struct, frozen=True):
    """The changes of one group of nodes that are alike."""

    nodes: NodeGroup
    """The group."""
    found: list[Hint]
    """The single changes that reach the goal."""
    failed: list[Candidate]
    """Those that do not alone."""
    hopeless: bool = False
    """Whether not even all changes of the node together reach the goal."""

    @classmethod
    def of(cls, trials: Trials, group: NodeGroup) -> NodeChanges:
        """What the changes of a group's first node do."""
        candidates = list(node_candidates(trials, group))
        if _hopeless(trials, group):
            return cls(group, [], candidates, True)
        return cls(group, *single_changes(trials, candidates))


def _hopeless(trials: Trials, group: NodeGroup, *beside: Proposal) -> bool:
    """Whether the changes of a node, all at once, do not reach the goal, so that no single one does.

    Not known where one change can prevent what another does: where the pod is to be chosen, a label may have one of
    several values, or nodes are divided by a label.
    """
    several = any(len(values) > 1 for values in group.wanted.values())
    if trials.goal.node or several or topology_keys(trials):
        return False
    return trials.tried(*everything(trials, group), *beside) is None


class Pairs:
    """The hints of two changes."""

    def __init__(self, trials: Trials) -> None:
        self.found: list[Hint] = []
        self.left_out = ""
        self._trials = trials
        self._end = trials.count + MOST

    def of_pod(self, failed: Sequence[Candidate]) -> None:
        """Two changes of the pod."""
        self._try(combinations(failed, 2))

    def with_nodes(self, of_pod: Sequence[Candidate], groups: Iterable[NodeChanges]) -> None:
        """A change of a node with one of the pod, or two of a node."""
        for group in groups:
            helped = [one for one in of_pod if not group.hopeless or self._helps(group, one)]
            self._try(product(group.failed, helped))
            if not group.hopeless:
                self._try(combinations(group.failed, 2))

    def _helps(self, group: NodeChanges, candidate: Candidate) -> bool:
        """Whether a change of the pod reaches the goal with all changes of a group's node."""
        return not self._ended() and not _hopeless(self._trials, group.nodes, largest(candidate))

    def _try(self, pairs: Iterable[tuple[Candidate, Candidate]]) -> None:
        for two in pairs:
            if self._ended():
                return
            hint = None if self._contains_another(*two) else together(self._trials, *two)
            if hint is not None:
                self.found.append(hint)

    def _contains_another(self, first: Candidate, second: Candidate) -> bool:
        """Whether a pair that was found is part of this one; pairs with an amount are not looked at."""
        if isinstance(first, Scale) or isinstance(second, Scale):
            return False
        parts = {(small, second.text) for small in first.smaller} | {(first.text, small) for small in second.smaller}
        found = {tuple(change.text for change in hint.changes) for hint in self.found} if parts else set()
        return not parts.isdisjoint(found)

    def _ended(self) -> bool:
        if self._trials.count >= self._end:
            self.left_out = f"the search for two changes ended after {MOST} decisions; there may be more"
        return bool(self.left_out)


def together(trials: Trials, first: Candidate, second: Candidate) -> Hint | None:
    """The hint of two changes: the amount of the first as small as it can be, then that of the second."""
    one, two = largest(first), largest(second)
    hint = trials.tried(one, two)
    if hint is None:
        return None
    if isinstance(first, Scale):
        hint = trials.smallest(first, two) or hint
        one = next(change for change in hint.changes if change is not two)
    if isinstance(second, Scale):
        hint = trials.smallest(second, one) or hint
    return hint


def largest(candidate: Candidate) -> Proposal:
    """The largest change of a scale; a change itself."""
    return candidate.at(candidate.largest) if isinstance(candidate, Scale) else candidate


GROUPS = 200
"""Groups of nodes that are alike whose nodes' changes are tried, the largest first."""
LARGE = 1000
"""Nodes; in a cluster of more, whom a pod could evict takes many times what a decision does."""
LEFT_OUT = "evictions, priorities and two changes at a time were not tried, as the cluster is large; `hint` tries them"


class HintSearch:
    """Finds hints for pods of one cluster. The cluster is as before after every search."""

    def __init__(self, engine: Engine, cache: ClusterCache, pause: Callable[[], None] = at_once) -> None:
        """pause: is called before each decision; what it raises ends a search."""
        self.engine = engine
        self.cache = cache
        self._pause = pause
        self.scheduler: PodScheduler = engine.scheduler(cache)

    def hints(
        self,
        pod: Pod,
        *,
        node: str = "",
        top: int | None = None,
        pairs: bool = True,
        others: Sequence[Pod] = (),
        quick: bool = False,
        message: str = "",
    ) -> PodHints:
        """What would make a pod fit, the smallest change first.

        node: the node that it is to go to. top: at most so many hints. pairs: also two changes at a time, of which
        neither does it alone. others: pods that are alike and fit nowhere either; of one more node it is then said how
        many of them hold all. quick: in a large cluster, leave out what takes long and what is smaller was found
        instead of: ``left_out`` says so then. message: the release's words for why the pod goes nowhere, where
        somebody has asked already. Raises InputError for a node that is not there.
        """
        row = self.cache.columns.row_of.get(node, -1)
        if node and (row < 0 or self.cache.columns.nodes[row] is None):
            known = (each.name for each in self.cache.columns.nodes if each is not None)
            raise InputError(f"there is no node {node} in the cluster{nearest(node, known)}")
        goal = Goal(node)
        pod = as_read(pod, self.cache)
        trials = Trials(self.engine, self.cache, pod, goal, self.scheduler, reports=not message, pause=self._pause)
        base = trials.base
        out = PodHints(pod, goal, base.host, base.message if base.host is not None else message or base.message)
        if base.foreign:
            return attrs.evolve(out, foreign=True)
        if gave_up(base):
            made = created(trials)
            return attrs.evolve(out, hints=tuple(made[:top]), errors=() if made else tuple(trials.errors))
        if goal.host(base, preempts=False) is not None:
            return attrs.evolve(out, reached=True)
        found, left_out = _found(trials, pairs=pairs, top=top, quick=quick)
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
                host = self.scheduler.decide(pod, reports=False).host
                if host is None:
                    more = another(self.cache, added)
                    stack.enter_context(changed_nodes(self.cache, [attrs.evolve(hint.changes[0], added=more)]))
                    host, count = self.scheduler.decide(pod, reports=False).host, count + 1
                if host is None:
                    return hint
                stack.callback(take_back, self.cache, pod, place(self.scheduler, pod, host))
        return attrs.evolve(hint, nodes_for_all=count)


def _found(trials: Trials, *, pairs: bool, top: int | None, quick: bool) -> tuple[list[Hint], str]:
    """The hints, and what was left out. What can only be larger than the ``top`` smallest is not searched for."""
    found: list[Hint] = []

    def enough(target: str) -> bool:
        """Whether there are ``top`` single changes of this target, or of one that is listed before it."""
        largest = (1, TARGETS.index(target))
        return top is not None and sum(hint.rank[:2] <= largest for hint in found) >= top

    alone, of_pod = single_changes(trials, pod_candidates(trials))
    found += alone
    if enough(POD):
        return found, ""
    found += created(trials)
    of_two = Pairs(trials)
    if not trials.base.tried or enough(CLUSTER):
        of_two.of_pod(of_pod if pairs and not enough(CLUSTER) else ())
        return found + of_two.found, of_two.left_out
    alike = node_groups(trials)
    groups = [NodeChanges.of(trials, group) for group in alike[:GROUPS]]
    more = len(alike) - GROUPS
    rest = f"changes of nodes in {more} more groups of nodes that differ were not tried" if more > 0 else ""
    found += [hint for group in groups for hint in group.found]
    more_nodes = islice(copies(trials, [group.nodes for group in groups]), GROUPS)
    found += islice(filter(None, map(trials.tried, more_nodes)), 1)
    if enough(NODE):
        return found, rest
    if quick and found and trials.cache.columns.node_count > LARGE:
        found += single_changes(trials, (*checks_off(trials), *weights(trials)))[0]
        return found, "; ".join(filter(None, (rest, LEFT_OUT)))
    priority = priority_scale(trials)
    by_priority = None if priority is None else trials.smallest(priority)
    found += [] if by_priority is None else [by_priority]
    found += [with_moves(trials, hint) for hint in single_changes(trials, evictions(trials))[0]]
    if enough(RUNNING):
        return found, rest
    found += single_changes(trials, (*checks_off(trials), *weights(trials)))[0]
    if pairs and not enough(CONFIGURATION):
        of_two = Pairs(trials)
        of_two.of_pod(of_pod)
        of_two.with_nodes(of_pod, groups)
    return found + of_two.found, "; ".join(filter(None, (of_two.left_out, rest)))


LARGEST_WEIGHT = 1_000_000
"""No weight above is proposed."""

PluginsEdit = Callable[[Sequence[Enabled]], Iterable[Enabled]]


def checks_off(trials: Trials) -> Iterator[Proposal]:
    """Without each check that refuses some node, unless the release insists on it."""
    insists = mandatory(trials.engine)
    for name, verdict in trials.thorough.verdicts:
        if name not in insists and any(mask.any() for mask in verdict.values()):
            legacy = isinstance(trials.engine, LegacyEngine)
            text = f"leave out the predicate {name}" if legacy else f"switch off the Filter plugin {name}"
            edit = partial(_without_check, name=name, scheduler=scheduler_of(trials))
            yield Proposal("check", CONFIGURATION, name, text, 1.0, engine=edit)


def mandatory(engine: Engine) -> frozenset[str]:
    """The predicates that a Policy cannot leave out."""
    return engine.algorithm.mandatory if isinstance(engine, LegacyEngine) else frozenset()


def scheduler_of(trials: Trials) -> str:
    """The name of the profile that decides on the pod."""
    return trials.pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME


def _without_check(engine: Engine, name: str, scheduler: str) -> Engine:
    if isinstance(engine, LegacyEngine):
        kept = tuple(predicate for predicate in engine.algorithm.predicates if predicate.name != name)
        return msgspec.structs.replace(engine, algorithm=msgspec.structs.replace(engine.algorithm, predicates=kept))
    assert isinstance(engine, FrameworkEngine)
    points = (Point.FILTER, Point.PRE_FILTER)
    return _with_plugins(engine, scheduler, points, lambda entries: [each for each in entries if each.name != name])


def _with_plugins(engine: FrameworkEngine, scheduler: str, points: Iterable[Point], edit: PluginsEdit) -> Engine:
    """The engine with other plugins at some points of one profile."""
    profiles = {one.scheduler_name: one for one in engine.config.profiles}
    plugins = profiles[scheduler].plugins
    changed = {**plugins, **{at: tuple(edit(plugins.get(at, ()))) for at in points}}
    profiles[scheduler] = msgspec.structs.replace(profiles[scheduler], plugins=changed)
    config = msgspec.structs.replace(engine.config, profiles=tuple(profiles.values()))
    return msgspec.structs.replace(engine, config=config)


# --- weights -------------------------------------------------------------------------------


def weights(trials: Trials) -> Iterator[Proposal]:
    """The nearest weight of each score with which the node that is wanted has the highest total.

    Totals are linear in each weight, so it follows from the scores.
    """
    decision, node = trials.thorough, trials.goal.node
    names = [decision.names[row] for row in decision.feasible.tolist()]
    if node not in names or not len(decision.totals):
        return
    at = names.index(node)
    last = np.array([name.encode() < node.encode() for name in names], np.int64)
    for name, weight in decision.weights.items():
        if name not in decision.scores:
            continue
        scores = np.zeros(len(names), np.int64) + decision.scores[name]
        nearest = winning_weight(scores, decision.totals - weight * scores, last, at, weight)
        if nearest is not None:
            size = abs(nearest - weight) / max(nearest, weight)
            text = f"weigh {name} {nearest} instead of {weight}"
            edit = partial(_weighed, name=name, weight=nearest, scheduler=scheduler_of(trials))
            yield Proposal("weight", CONFIGURATION, name, text, size, engine=edit)


def winning_weight(scores: IntArray, rest: IntArray, ahead: IntArray, at: int, weight: int) -> int | None:
    """The weight nearest to ``weight``, from 1 on, with which one node's total is the highest; None if none does.

    scores: (n,) by node. rest: (n,) the other parts of the totals. ahead: (n,) by how much the node ``at`` has to be
    ahead of each other one, which goes first where totals are equal.
    """
    others = np.arange(len(scores)) != at
    slope, start = (scores[at] - scores)[others], (rest[at] - rest - ahead)[others]  # slope * w + start >= 0
    if (start[slope == 0] < 0).any():
        return None
    up, down = slope > 0, slope < 0
    low = max([1, *(-(start[up] // slope[up])).tolist()])
    high = min([LARGEST_WEIGHT, *(start[down] // -slope[down]).tolist()])
    return None if low > high else min(max(weight, low), high)


def _weighed(engine: Engine, name: str, weight: int, scheduler: str) -> Engine:
    if isinstance(engine, LegacyEngine):
        changed = tuple(
            msgspec.structs.replace(one, weight=weight) if one.config.name == name else one
            for one in engine.algorithm.priorities
        )
        return msgspec.structs.replace(engine, algorithm=msgspec.structs.replace(engine.algorithm, priorities=changed))
    assert isinstance(engine, FrameworkEngine)
    weighed = Enabled(name, weight)
    edit = lambda entries: [weighed if each.name == name else each for each in entries]  # noqa: E731
    return _with_plugins(engine, scheduler, (Point.SCORE,), edit)


LONGEST = 100
"""Characters of a text."""
OTHERS = {
    "taint": "remove a taint from a node",
    "cordon": "uncordon a node",
    "label": "label a node otherwise",
    "size": "make a node larger",
    "node": "add one more node",
    "claim": "create the PersistentVolumeClaim",
    "deviceClaim": "create the ResourceClaim",
    "class": "create the class of a claim",
    "pod": "run a pod that it has to be near to",
    "eviction": "evict running pods",
}
"""Kind of a change that is not of the pod → its words; the hint's own name the node."""


def short_hints(
    engine: Engine, objects: Sequence[ClusterObject], pods: Sequence[Pod], pause: Callable[[], None]
) -> list[ShortHint | None]:
    """For each pod what the smallest single change is that makes it fit in a cluster of these objects; None: it fits,
    or none does it. pause: is called before each decision.

    Nobody's extenders and plugins are asked what if: where there are any, there are no hints.
    """
    if engine.extenders or engine.scheduler(ClusterCache(engine.view)).has_custom_plugins:
        return [None] * len(pods)
    search = HintSearch(engine, cache_for(engine, objects), pause)
    found = (search.hints(pod, top=1, pairs=False, quick=True, message="fits nowhere") for pod in pods)
    return [shortened(hints[0]) if hints else None for hints in found]


def shortened(hint: Hint) -> ShortHint:
    """The words of a hint of one change."""
    (change,) = hint.changes
    text = change.text if change.target == POD else OTHERS.get(change.kind, "change the configuration")
    return ShortHint(change.kind, text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")
