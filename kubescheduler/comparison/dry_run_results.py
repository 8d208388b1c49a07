"""What a dry run found: a line for each attempt of the real scheduler, counts, and a comparison in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import msgspec
import numpy as np

from clusterstate.objects import ClusterObject, Pod
from clusterstate.podinfo import ReleaseView
from clusterstate.selectors.pod_owners import workloads_of
from kubescheduler.comparison.causes import NO_VICTIMS, VictimChoice, explained
from kubescheduler.comparison.comparison import Comparison, change_document
from kubescheduler.comparison.differences import Judgement
from kubescheduler.comparison.effects import effects
from kubescheduler.comparison.outcomes import Cause, HostChange, Outcome, PodComparison
from kubescheduler.core.decision import Decision
from kubescheduler.engine.spec import PodScheduler
from kubescheduler.live.shadow_scheduler import Agreement, RealEnd, Sighting

BESIDE = "Every pod was decided as the real scheduler's choice was seen, on the cluster as it was right before."
"""How the pods of the comparison were decided."""
REFUSED = "Unschedulable"
AGREEING = frozenset({Cause.SAME, Cause.COULD_HAVE_BEEN, Cause.DIFFERENT_REASONS, Cause.NO_START_TIMES})
"""The same node in both, or none, or one of several equally good ones; the same of pods that are evicted."""


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
        ours = Outcome.of(
            decision,
            tied=tied,
            total=int(decision.totals.max()) if tied and len(decision.totals) else None,
            notes=() if decision.host is not None else decision.notes,
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


class DryRunResults:
    """Judges what the real scheduler does."""

    def __init__(self, choices: RealChoices, write: Callable[[dict[str, Any]], None], *, keep: bool) -> None:
        """write: gets each attempt as plain data, in the order in which they ended. keep: for ``comparison``."""
        self._choices = choices
        self._write = write
        self._keep = keep
        self._kept: dict[str, tuple[Pod, PodComparison]] = {}
        self._rooms: dict[str, Rooms] = {}
        """Uid of a pod that waits → node → whom this configuration might have evicted when the real one refused it."""
        self.causes: Counter[Cause] = Counter()
        """Why attempts differ; ``same`` is among them."""
        self.deleted = 0
        """Pods that went before the real scheduler had said anything of them."""

    @property
    def compared(self) -> int:
        """Attempts of the real scheduler that were compared."""
        return self.causes.total()

    @property
    def agreeing(self) -> int:
        """Those with the same node, or none, in both; or one of several equally good ones."""
        return sum(self.causes[cause] for cause in AGREEING)

    def ended(self, sighting: Sighting) -> Agreement:
        """Compares an attempt, writes it, and says whether both did the same."""
        rooms = self._rooms.pop(sighting.pod.metadata.uid, {})
        before = choice_of(rooms, sighting.nominated)
        if sighting.end is RealEnd.DELETED:
            self.deleted += 1
            self._write({**_line(sighting), **_room(before)})
            return Agreement(agrees=False, cause=str(sighting.end))
        found = self._compared(sighting, rooms)
        (change,) = found.changes
        self.causes[change.cause] += 1
        agreement = Agreement(change.cause in AGREEING, str(change.cause))
        ours = found.outcomes[1]
        said = {"node": ours.host, "message": ours.message, "tied": len(ours.tied), "fits": ours.fits}
        then = {**said, **_room(_choice(ours))}
        self._write({**_line(sighting), **_room(before), "then": then, "agrees": agreement.agrees, **_why(change)})
        if self._keep:
            self._kept[sighting.pod.metadata.uid] = (sighting.pod, found)
        return agreement

    def _compared(self, sighting: Sighting, rooms: Rooms) -> PodComparison:
        """rooms: whom this configuration might have evicted before, by node."""
        first = None if sighting.first is None else sighting.first.node
        refused = sighting.end is RealEnd.UNSCHEDULABLE
        compared = self._choices.compared(sighting.pod, sighting.node, first, REFUSED if refused else "")
        found = compared.pod
        real, ours = found.outcomes
        (change,) = found.changes
        if refused and ours.host is None:
            rooms = self._rooms[sighting.pod.metadata.uid] = compared.rooms
            room = choice_of(rooms, sighting.nominated)
            ours = msgspec.structs.replace(ours, evicts=tuple(sorted(room.victims)), evicts_from=room.node)
        if sighting.nominated:
            keys = tuple(pod.key for pod in sighting.victims)
            real = msgspec.structs.replace(real, evicts=keys, evicts_from=sighting.nominated)
            change = _with_victims(change, sighting, rooms)
        return attrs.evolve(found, outcomes=(real, ours), changes=(change,))

    def summary(self) -> list[str]:
        """Lines for people: how many were compared, and why others differ."""
        share = f" ({self.agreeing / self.compared:.1%})" if self.compared else ""
        lines = [f"{self.compared} attempts compared, {self.agreeing} agree{share}"]
        lines += [f"  {cause}: {count}" for cause, count in self.causes.most_common() if cause is not Cause.SAME]
        if self.deleted:
            lines.append(f"{self.deleted} pods were deleted before anything became of them")
        return lines

    def comparison(
        self, objects: Sequence[ClusterObject], names: tuple[str, str], releases: tuple[str, str], view: ReleaseView
    ) -> Comparison:
        """The last attempt of each pod. objects: the cluster in the end. names, releases: the real one's first."""
        pods = [pod for pod, _ in self._kept.values()]
        compared = {pod.metadata.uid for pod in pods}
        there = [obj for obj in objects if not isinstance(obj, Pod) or obj.metadata.uid not in compared]
        owned = zip((found for _, found in self._kept.values()), workloads_of(pods, there), strict=True)
        results = tuple(attrs.evolve(found, workload=workload) for found, workload in owned)
        hosts = [[found.outcomes[column].host for found in results] for column in (0, 1)]
        return Comparison(
            names=names,
            releases=releases,
            mode=BESIDE,
            pods=results,
            effects=tuple(effects(there, pods, column, (), view, leave=False) for column in hosts),
            before=effects(there, (), (), (), view, leave=False),
        )


def _line(sighting: Sighting) -> dict[str, Any]:
    first = None if sighting.first is None else msgspec.structs.asdict(sighting.first)
    return {
        "pod": sighting.pod.key,
        "uid": sighting.pod.metadata.uid,
        "appeared": _time(sighting.appeared),
        "ended": _time(sighting.ended),
        "real": {
            "end": str(sighting.end),
            "node": sighting.node,
            **_room(_evicted(sighting)),
        },
        "first": first,
    }


def _choice(outcome: Outcome) -> VictimChoice:
    return VictimChoice(outcome.evicts_from, frozenset(outcome.evicts))


def _evicted(sighting: Sighting) -> VictimChoice:
    """What the real scheduler evicts, as far as is known."""
    return VictimChoice(sighting.nominated or None, frozenset(pod.key for pod in sighting.victims))


def _with_victims(change: HostChange, sighting: Sighting, rooms: Rooms) -> HostChange:
    """Different victims are a difference where there is no other; when the pod is refused, the real ones may not be
    known yet, or not all."""
    real, ours = _evicted(sighting), choice_of(rooms, sighting.nominated)
    refused = sighting.end is RealEnd.UNSCHEDULABLE
    alike = real.victims <= ours.victims if refused else real.victims in (frozenset(), ours.victims)
    other = real.node != ours.node or not alike
    if change.cause is not Cause.SAME or ours.node is None or not other:
        return change
    does = str(real) if real.victims else f"makes room on {real.node}"
    text = f"the real scheduler {does}, this configuration {ours}"
    if real.node == ours.node and _unordered(sighting.victims, rooms[ours.node]):
        text += "; they are equally important, and do not say when they started"
        return HostChange(Cause.NO_START_TIMES, text)
    return HostChange(Cause.DIFFERENT_VICTIMS, text)


def _unordered(real: Sequence[Pod], ours: Sequence[Pod]) -> bool:
    """Whether the pods that only one of both evicts differ in nothing by which a scheduler chooses: it takes the least
    important ones, then those that started last, and any of those that do not say when (no kubelet runs them)."""
    common = {pod.key for pod in real} & {pod.key for pod in ours}
    sides = [[pod for pod in side if pod.key not in common] for side in (real, ours)]
    priorities = [sorted(pod.priority for pod in side) for side in sides]
    return priorities[0] == priorities[1] and not any(pod.start_time for side in sides for pod in side)


def _room(room: VictimChoice) -> dict[str, Any]:
    """What a line says of evictions; nothing where there are none."""
    if room.node is None:
        return {}
    return {"evicts": {"node": room.node, "victims": sorted(room.victims)}}


def _why(change: HostChange) -> dict[str, Any]:
    """The cause with the terms that speak for one of the nodes."""
    telling = tuple(part for part in change.contributions if part.old or part.new)
    document = change_document(msgspec.structs.replace(change, contributions=telling))
    return {key: value for key, value in document.items() if value not in ([], {}, None)}


def _time(moment: Any) -> str:
    return str(moment.isoformat(timespec="milliseconds")).replace("+00:00", "Z")
