"""Checks of where pods run."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import msgspec

from clusterstate.manifests.fields import Fields
from clusterstate.objects import Pod, TopologySpreadConstraint
from kubescheduler.lab.exercises.check_contract import (
    PodPlacement,
    ScenarioRun,
    count_of,
    needed_text,
    needed_texts,
    no_such_pod,
    only_keys,
    selected,
    where,
)

SHOWN = 3
"""Pods that a sentence names."""


def _those(wrong: list[PodPlacement]) -> str:
    """Where each of some pods runs, the first few."""
    more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    return "; ".join(where(each) for each in wrong[:SHOWN]) + more


def _bounded(fields: Fields) -> tuple[str, int | None, int | None]:
    """Pods, and the least and the most of something."""
    only_keys(fields, ("pods", "least", "most"))
    if not (fields.has("least") or fields.has("most")):
        fields.fault("", "say least, most or both")
    return needed_text(fields, "pods"), count_of(fields, "least"), count_of(fields, "most")


class EveryPlaced(msgspec.Struct, frozen=True):
    """``placed``: every pod of a name has a node, there are as many as asked for, and none had to wait too long."""

    pods: str
    """Pattern of their names."""
    count: int | None
    """How many there have to be; None: any number but none."""
    by: int | None
    """The second of a simulation in which the last of them has to be bound; None: any."""

    @classmethod
    def read(cls, fields: Fields) -> EveryPlaced:
        """From its keys; faults are noted."""
        only_keys(fields, ("pods", "count", "by"))
        return cls(needed_text(fields, "pods"), count_of(fields, "count"), count_of(fields, "by"))

    def fault_of(self, run: ScenarioRun) -> str:
        """What is wrong; empty when nothing is."""
        found = run.pods_called(self.pods)
        if not found:
            return no_such_pod(self.pods, run)
        if self.count is not None and len(found) != self.count:
            return f"there are {len(found)} pods {self.pods}, and there have to be {self.count}"
        late = [each for each in found if each.placed is not None and self.by is not None and each.placed > self.by]
        return _those([each for each in found if each.node is None]) or "; ".join(
            f"{each.name} was bound after {each.placed:g} s, and has to be within {self.by} s" for each in late[:SHOWN]
        )


class OnNodes(msgspec.Struct, frozen=True):
    """``runsOn`` and ``runsNotOn``: every pod of a name runs on one of some nodes, or runs, and on none of them."""

    pods: str
    """Pattern of their names."""
    nodes: tuple[str, ...]
    """The nodes."""
    there: bool
    """Whether on them, or elsewhere."""

    @classmethod
    def read(cls, fields: Fields, *, there: bool) -> OnNodes:
        """From its keys; faults are noted."""
        only_keys(fields, ("pods", "nodes"))
        return cls(needed_text(fields, "pods"), needed_texts(fields, "nodes"), there)

    def fault_of(self, run: ScenarioRun) -> str:
        """What is wrong; empty when nothing is."""
        found = run.pods_called(self.pods)
        wrong = [each for each in found if each.node is None or (each.node in self.nodes) is not self.there]
        return _those(wrong) if found else no_such_pod(self.pods, run)


class NodesUsed(msgspec.Struct, frozen=True):
    """``nodesUsed``: on how many nodes the pods of a name run, each of them running."""

    pods: str
    """Pattern of their names."""
    least: int | None
    """On so many nodes or more."""
    most: int | None
    """On so many nodes or fewer."""

    @classmethod
    def read(cls, fields: Fields) -> NodesUsed:
        """From its keys; faults are noted."""
        return cls(*_bounded(fields))

    def fault_of(self, run: ScenarioRun) -> str:
        """What is wrong; empty when nothing is."""
        found = run.pods_called(self.pods)
        if not found:
            return no_such_pod(self.pods, run)
        if waiting := [each for each in found if each.node is None]:
            return _those(waiting)
        used = sorted({each.node for each in found if each.node})
        if self.most is not None and len(used) > self.most:
            return f"they run on {len(used)} nodes ({', '.join(used)}), and may on {self.most}"
        if self.least is not None and len(used) < self.least:
            return f"they run on {len(used)} nodes ({', '.join(used)}), and should on {self.least} or more"
        return ""


class HowManyRun(msgspec.Struct, frozen=True):
    """``running``: how many pods of a name have a node."""

    pods: str
    """Pattern of their names."""
    least: int | None
    """So many or more."""
    most: int | None
    """So many or fewer."""

    @classmethod
    def read(cls, fields: Fields) -> HowManyRun:
        """From its keys; faults are noted."""
        return cls(*_bounded(fields))

    def fault_of(self, run: ScenarioRun) -> str:
        """What is wrong; empty when nothing is."""
        found = run.pods_called(self.pods)
        if not found:
            return no_such_pod(self.pods, run)
        running = [each for each in found if each.node is not None]
        if self.most is not None and len(running) > self.most:
            return f"{len(running)} run, and {self.most} may: {_those(running)}"
        if self.least is not None and len(running) < self.least:
            return f"{len(running)} run, and {self.least} should: {_those([one for one in found if one.node is None])}"
        return ""


class SpreadOver(msgspec.Struct, frozen=True):
    """``spread``: over the domains of a node label the numbers of running pods of a name differ by so much at most."""

    pods: str
    """Pattern of their names."""
    label: str
    """The nodes' label, such as ``topology.kubernetes.io/zone``."""
    skew: int
    """The most by which the fullest domain may exceed the emptiest."""

    @classmethod
    def read(cls, fields: Fields) -> SpreadOver:
        """From its keys; faults are noted."""
        only_keys(fields, ("pods", "label", "skew"))
        return cls(needed_text(fields, "pods"), needed_text(fields, "label"), count_of(fields, "skew") or 1)

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


class Apart(msgspec.Struct, frozen=True):
    """``apart``: in a simulation no two pods of a name were bound within so many seconds."""

    pods: str
    """Pattern of their names."""
    seconds: int
    """The least between two of them."""

    @classmethod
    def read(cls, fields: Fields) -> Apart:
        """From its keys; faults are noted."""
        only_keys(fields, ("pods", "seconds"))
        return cls(needed_text(fields, "pods"), count_of(fields, "seconds") or 1)

    def fault_of(self, run: ScenarioRun) -> str:
        """What is wrong; empty when nothing is."""
        found = run.pods_called(self.pods)
        bound = sorted((each.placed, each.name) for each in found if each.placed is not None)
        close = [(one, two) for one, two in itertools.pairwise(bound) if two[0] - one[0] < self.seconds]
        if not found or not close:
            return "" if found else no_such_pod(self.pods, run)
        (first, one), (second, two) = close[0]
        return f"{one} was bound after {first:g} s and {two} after {second:g} s, less than {self.seconds} s apart"


class AllOrNone(msgspec.Struct, frozen=True):
    """``together``: of the pods that share a label's value either all run, bound at one time, or none has been."""

    label: str
    """The pods' label."""

    @classmethod
    def read(cls, fields: Fields) -> AllOrNone:
        """From its keys; faults are noted."""
        only_keys(fields, ("label",))
        return cls(needed_text(fields, "label"))

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
                times = ", ".join(f"{each.name} {_time(each)}" for each in members)
                return f"{self.label}={value} was not started at once: {times}"
        return ""


def _time(placement: PodPlacement) -> str:
    return "never" if placement.placed is None else f"after {placement.placed:g} s"
