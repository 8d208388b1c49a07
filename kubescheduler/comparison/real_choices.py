"""What a cluster's own scheduler did, beside what an engine does there, and why they differ.

Of the real scheduler nothing but its choice is known. A model of it, its configuration as somebody gives it, decides on
the same cluster; where it makes the same choice, it explains the real one. Where it does not, the real scheduler saw
another cluster (pods that it had just placed), looked at some of the nodes only, or is configured otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import msgspec
import numpy as np

from clusterstate.objects import Pod
from kubescheduler.comparison.cause_sentences import NO_VICTIMS, VictimChoice
from kubescheduler.comparison.causes import explained
from kubescheduler.comparison.contributions import Judgement
from kubescheduler.comparison.outcomes import Cause, HostChange, Outcome, PodComparison
from kubescheduler.core.decision import Decision
from kubescheduler.engine.engine_contract import PodScheduler

UNEXPLAINED = (
    "the configuration given for the real scheduler {does} here: it saw another cluster, looked at fewer nodes, or is "
    "configured otherwise"
)


Rooms = Mapping[str, Sequence[Pod]]
"""Node → whom a scheduler may evict there for a pod."""


class RealComparison(msgspec.Struct, frozen=True, eq=False):
    """A pod of the real scheduler, compared."""

    pod: PodComparison
    rooms: Rooms
    """Of this configuration: node → whom it may evict there for the pod; it takes any of these nodes."""


class RealChoices(msgspec.Struct, frozen=True, eq=False):
    """Compares over two caches that are the cluster right before the real scheduler's choice is seen."""

    model: PodScheduler
    """Decides as the real scheduler is said to."""
    ours: PodScheduler
    """The configuration that is tried."""
    preempts: bool = True
    """Whether it makes room for pods that fit nowhere."""

    def compared(self, pod: Pod, node: str | None, first: str | None, message: str = "") -> RealComparison:
        """A pod that the real scheduler bound to ``node``, or nowhere.

        first: where this configuration put it when it appeared; the same node then is the same, whatever has happened
        since. message: what the real scheduler said.
        """
        decision = self.ours.decide(pod, preempt=self.preempts)
        tied = _tied(decision)
        change = self._change(pod, node, decision, tied)
        if node is not None and first == node:
            decision, change = attrs.evolve(decision, host=node), HostChange(Cause.SAME)
        real = Outcome(host=node, nodes=decision.nodes_total, message=message)
        rooms = rooms_of(decision)
        room = choice_of(rooms)
        ours = Outcome(
            host=decision.host,
            tied=tied,
            total=int(decision.totals.max()) if tied and len(decision.totals) else None,
            fits=len(decision.feasible),
            nodes=decision.nodes_total,
            message=decision.message,
            notes=() if decision.host is not None else decision.notes,
            error=decision.error is not None and decision.tried,
            evicts=tuple(sorted(room.victims)),
            evicts_from=room.node,
        )
        return RealComparison(PodComparison(pod.key, (real, ours), (change,)), rooms)

    def _change(self, pod: Pod, node: str | None, decision: Decision, tied: tuple[str, ...]) -> HostChange:
        if decision.host == node:
            return HostChange(Cause.SAME)
        if node in tied:
            text = f"{node} is one of the {len(tied)} nodes with the highest total, of which a scheduler takes any"
            return HostChange(Cause.COULD_HAVE_BEEN, text)
        ours, model = Judgement(self.ours, decision), self.model.decide(pod)
        if model.error is None and (model.host == node or node in _tied(model)):
            return explained(Judgement(self.model, attrs.evolve(model, host=node)), ours)
        return self._unexplained(node, ours, model)

    def _unexplained(self, node: str | None, ours: Judgement, model: Decision) -> HostChange:
        """What this configuration says of the real scheduler's node, as nobody knows what that one says of it."""
        does = UNEXPLAINED.format(does="finds no node" if model.host is None else f"takes {model.host}")
        if node is None:
            return HostChange(Cause.EARLIER_CHOICES, f"the real scheduler found no node, and {does}")
        change = explained(Judgement(ours.scheduler, attrs.evolve(ours.decision, host=node)), ours)
        if change.cause in (Cause.ERROR, Cause.FILTERED_NOW, Cause.NOT_TRIED):
            return change
        ahead = f"{ours.decision.host} is ahead of {node} by {change.new_difference}, and {does}"
        return msgspec.structs.replace(change, cause=Cause.EARLIER_CHOICES, text=ahead, steps=())


def rooms_of(decision: Decision) -> Rooms:
    """The nodes that preemption may make room on, by name, each with whom it would evict; none for a pod that fits."""
    found = decision.preemption
    if decision.host is not None or found is None:
        return {}
    return {node: found.candidates[node].pods for node in found.chosen}


def choice_of(rooms: Rooms, node: str = "") -> VictimChoice:
    """What may be evicted on a node, if it is one of those that may be taken; else on the first of them."""
    taken = node if node in rooms else next(iter(rooms), None)
    return NO_VICTIMS if taken is None else VictimChoice(taken, frozenset(pod.key for pod in rooms[taken]))


def _tied(decision: Decision) -> tuple[str, ...]:
    """The nodes with the highest total, sorted by name; the chosen one where nothing was scored."""
    if decision.host is None or not len(decision.totals):
        return () if decision.host is None else (decision.host,)
    best = decision.feasible[np.flatnonzero(decision.totals == decision.totals.max())]
    return tuple(sorted((decision.names[row] for row in best.tolist()), key=str.encode))
