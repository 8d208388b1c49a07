"""Two changes at a time, of which neither reaches the goal alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, product

import msgspec

from kubescheduler.hinting.node_proposals import NodeGroup, everything, node_candidates, topology_keys
from kubescheduler.hinting.proposals import Candidate, Hint, Proposal, Scale
from kubescheduler.hinting.single_changes import single_changes
from kubescheduler.hinting.trials import Trials

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
