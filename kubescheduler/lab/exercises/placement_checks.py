"""Checks of where pods run."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from clusterstate.manifests.fields import Fields
from clusterstate.objects import Pod, TopologySpreadConstraint
from kubescheduler.lab.exercises.check_contract import (
    PodPlacement,
    PodsRule,
    RunRule,
    ScenarioRun,
    no_such_pod,
    selected,
    where,
)

SHOWN = 3
"""Pods that a sentence names."""


def _those(wrong: list[PodPlacement]) -> str:
    """Where each of some pods runs, the first few."""
    more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    return "; ".join(where(each) for each in wrong[:SHOWN]) + more


class Bounded(PodsRule, frozen=True):
    """Of how many there may be."""

    pods: str
    """Pattern of their names."""
    least: int | None = None
    """So many or more."""
    most: int | None = None
    """So many or fewer."""

    @classmethod
    def note_faults(cls, fields: Fields) -> None:
        """One of the bounds has to be there."""
        if not (fields.has("least") or fields.has("most")):
            fields.fault("", "say least, most or both")


class EveryPlaced(PodsRule, frozen=True):
    """``placed``: every pod of a name has a node, there are as many as asked for, and none had to wait too long."""

    pods: str
    """Pattern of their names."""
    count: int | None = None
    """How many there have to be; None: any number but none."""
    by: int | None = None
    """The second of a simulation in which the last of them has to be bound; None: any."""

    def fault_among(self, found: list[PodPlacement]) -> str:
        """What is wrong; empty when nothing is."""
        if self.count is not None and len(found) != self.count:
            return f"there are {len(found)} pods {self.pods}, and there have to be {self.count}"
        late = [each for each in found if each.placed is not None and self.by is not None and each.placed > self.by]
        return _those([each for each in found if each.node is None]) or "; ".join(
            f"{each.name} was bound after {each.placed:g} s, and has to be within {self.by} s" for each in late[:SHOWN]
        )


class OnNodes(PodsRule, frozen=True):
    """``runsOn`` and ``runsNotOn``: every pod of a name runs on one of some nodes, or runs, and on none of them."""

    pods: str
    """Pattern of their names."""
    nodes: tuple[str, ...]
    """The nodes."""
    there: bool
    """Whether on them, or elsewhere."""

    def fault_among(self, found: list[PodPlacement]) -> str:
        """What is wrong; empty when nothing is."""
        wrong = [each for each in found if each.node is None or (each.node in self.nodes) is not self.there]
        return _those(wrong)


class NodesUsed(Bounded, frozen=True):
    """``nodesUsed``: on how many nodes the pods of a name run, each of them running."""

    def fault_among(self, found: list[PodPlacement]) -> str:
        """What is wrong; empty when nothing is."""
        if waiting := [each for each in found if each.node is None]:
            return _those(waiting)
        used = sorted({each.node for each in found if each.node})
        if self.most is not None and len(used) > self.most:
            return f"they run on {len(used)} nodes ({', '.join(used)}), and may on {self.most}"
        if self.least is not None and len(used) < self.least:
            return f"they run on {len(used)} nodes ({', '.join(used)}), and should on {self.least} or more"
        return ""


class HowManyRun(Bounded, frozen=True):
    """``running``: how many pods of a name have a node."""

    def fault_among(self, found: list[PodPlacement]) -> str:
        """What is wrong; empty when nothing is."""
        running = [each for each in found if each.node is not None]
        if self.most is not None and len(running) > self.most:
            return f"{len(running)} run, and {self.most} may: {_those(running)}"
        if self.least is not None and len(running) < self.least:
            return f"{len(running)} run, and {self.least} should: {_those([one for one in found if one.node is None])}"
        return ""


class SpreadOver(RunRule, frozen=True):
    """``spread``: over the domains of a node label the numbers of running pods of a name differ by so much at most."""

    pods: str
    """Pattern of their names."""
    label: str
    """The nodes' label, such as ``topology.kubernetes.io/zone``."""
    skew: int = 1
    """The most by which the fullest domain may exceed the emptiest."""

    def fault_of(self, run: ScenarioRun) -> str:
        """What is wrong; empty when nothing is."""
        found = run.pods_called(self.pods)
        if not found:
            return no_such_pod(self.pods, run)
        domains = {node.metadata.labels.get(self.label) for node in run.cluster.nodes} - {None}
        counts = Counter({str(domain): 0 for domain in sorted(filter(None, domains))})
        counts.update(run.labels_of(each.node).get(self.label, "<none>") for each in found if each.node)
        if not counts or max(counts.values()) - min(counts.values()) <= self.skew:
            return ""
        text = ", ".join(f"{count} in {domain}" for domain, count in counts.items())
        return "; ".join(filter(None, (text, self._constraints(found, run))))

    def _constraints(self, found: list[PodPlacement], run: ScenarioRun) -> str:
        """What the pods' own constraints say otherwise than what is asked; empty where one asks just that."""
        pod = found[0].pod
        theirs = [each.pod for each in found]
        others = [each for each in run.cluster.pods if each.metadata.namespace == pod.metadata.namespace]
        said = [list(self._differences(one, theirs, others)) for one in pod.spec.topology_spread_constraints]
        if not said:
            return "they have no topologySpreadConstraints"
        return "" if [] in said else "; ".join(f"their constraint has {', '.join(each)}" for each in said)

    def _differences(self, one: TopologySpreadConstraint, theirs: list[Pod], others: list[Pod]) -> Iterator[str]:
        if one.topology_key != self.label:
            yield f"topologyKey {one.topology_key}"
        if one.max_skew != self.skew:
            yield f"maxSkew {one.max_skew}"
        if one.when_unsatisfiable != "DoNotSchedule":
            yield f"whenUnsatisfiable {one.when_unsatisfiable}"
        counted, besides = selected(one.label_selector, theirs), selected(one.label_selector, others)
        if one.label_selector is None:
            yield "no labelSelector, which counts nobody"
        elif len(counted) < len(theirs) or besides:
            more = f" and {len(besides)} other pods ({', '.join(besides[:SHOWN])})" if besides else ""
            yield f"a labelSelector that counts {len(counted)} of these {len(theirs)} pods{more}"


class Apart(PodsRule, frozen=True):
    """``apart``: in a simulation no two pods of a name were bound within so many seconds."""

    pods: str
    """Pattern of their names."""
    seconds: int = 1
    """The least between two of them."""

    def fault_among(self, found: list[PodPlacement]) -> str:
        """What is wrong; empty when nothing is."""
        bound = sorted((each.placed, each.name) for each in found if each.placed is not None)
        close = [(one, two) for one, two in itertools.pairwise(bound) if two[0] - one[0] < self.seconds]
        if not close:
            return ""
        (first, one), (second, two) = close[0]
        return f"{one} was bound after {first:g} s and {two} after {second:g} s, less than {self.seconds} s apart"


class AllOrNone(RunRule, frozen=True):
    """``together``: of the pods that share a label's value either all run, bound at one time, or none has been."""

    label: str
    """The pods' label."""

    def fault_of(self, run: ScenarioRun) -> str:
        """What is wrong; empty when nothing is."""
        groups: dict[str, list[PodPlacement]] = {}
        for each in run.placements:
            if self.label in each.pod.metadata.labels:
                groups.setdefault(each.pod.metadata.labels[self.label], []).append(each)
        if not groups:
            return f"no pod has the label {self.label}"
        for value, members in groups.items():
            if len({each.placed for each in members}) > 1:
                moments = ("never" if each.placed is None else f"after {each.placed:g} s" for each in members)
                times = ", ".join(f"{each.name} {when}" for each, when in zip(members, moments, strict=True))
                return f"{self.label}={value} was not started at once: {times}"
        return ""
