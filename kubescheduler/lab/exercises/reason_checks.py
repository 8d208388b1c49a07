"""Checks of why: reasons, messages, scores, victims, and agreement with another scheduler."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from clusterstate.manifests.fields import Fields
from kubescheduler.lab.exercises.check_contract import PodPlacement, ScenarioRun, no_such_pod, where
from kubescheduler.lab.exercises.checked_fields import needed_text, needed_texts, only_keys

if TYPE_CHECKING:
    import kubescheduler as ks

EXTENDER = "extender"
"""The rule of ``scores`` that stands for extenders."""


class RefusedFor(msgspec.Struct, frozen=True):
    """``refused``: a node refuses a pod for a reason."""

    pod: str
    """Pattern of its name."""
    node: str
    """The node."""
    reason: str
    """A part of the reason, as the release words it."""

    @classmethod
    def read(cls, fields: Fields) -> RefusedFor:
        """From its keys; faults are noted."""
        only_keys(fields, ("pod", "node", "reason"))
        return cls(*(needed_text(fields, key) for key in ("pod", "node", "reason")))

    def fault_of(self, run: ScenarioRun) -> str:
        """What is wrong; empty when nothing is."""
        found = run.pods_called(self.pod)
        faults = (self._fault_of_one(each) for each in found)
        return next(filter(None, faults), "") if found else no_such_pod(self.pod, run)

    def _fault_of_one(self, placement: PodPlacement) -> str:
        reasons = [] if placement.decision is None else placement.decision.reasons().get(self.node, [])
        if any(self.reason in reason for reason in reasons):
            return ""
        why = f"refuses {placement.name} with {'; '.join(reasons)}" if reasons else f"does not refuse {placement.name}"
        return f"{self.node} {why}"


class StaysPending(msgspec.Struct, frozen=True):
    """``pending``: a pod has no node, and the message says why."""

    pod: str
    """Pattern of its name."""
    message: str
    """A part of the release's message."""

    @classmethod
    def read(cls, fields: Fields) -> StaysPending:
        """From its keys; faults are noted."""
        only_keys(fields, ("pod", "message"))
        return cls(needed_text(fields, "pod"), fields.text("message"))

    def fault_of(self, run: ScenarioRun) -> str:
        """What is wrong; empty when nothing is."""
        found = run.pods_called(self.pod)
        wrong = [each for each in found if each.node is not None or self.message not in each.message]
        return "; ".join(map(where, wrong)) if found else no_such_pod(self.pod, run)


class ScoresAre(msgspec.Struct, frozen=True):
    """``scores``: nodes in the order of a pod's totals, or of one rule's scores, each higher than the next; or exactly
    such scores."""

    pod: str
    """Pattern of its name."""
    order: tuple[str, ...]
    """The nodes, the best first."""
    values: Mapping[str, int]
    """Node → its score."""
    rule: str
    """The priority or plugin, or ``extender`` for what extenders gave, before it is weighted; empty: the totals."""

    @classmethod
    def read(cls, fields: Fields) -> ScoresAre:
        """From its keys; faults are noted."""
        only_keys(fields, ("pod", "order", "values", "rule"))
        inside = fields.inside("values")
        values = {str(node): inside.integer(node) for node in inside.data}
        order = fields.texts("order") if values else needed_texts(fields, "order")
        return cls(needed_text(fields, "pod"), order, values, fields.text("rule"))

    def fault_of(self, run: ScenarioRun) -> str:
        """What is wrong; empty when nothing is."""
        found = run.pods_called(self.pod)
        faults = (self._fault_of_one(each) for each in found)
        return next(filter(None, faults), "") if found else no_such_pod(self.pod, run)

    def _fault_of_one(self, placement: PodPlacement) -> str:
        decision = placement.decision
        if decision is None:
            return f"nothing is known of the scores of {placement.name}"
        if self.rule and self.rule not in (EXTENDER, *decision.weights):
            known = ", ".join(decision.weights) or "nothing"
            return f"{self.rule} does not score {placement.name}; what does is {known}"
        if self.rule in decision.weights and self.rule not in decision.scores:
            return f"{self.rule} has nothing to score {placement.name} by"
        if self.rule == EXTENDER:
            scores: Mapping[str, int] = _of_extenders(decision)
        else:
            scores = decision.score(self.rule) if self.rule else decision.total()
        if missing := [node for node in (*self.order, *self.values) if node not in scores]:
            return f"{missing[0]} has no score for {placement.name}"
        others = [(node, value) for node, value in self.values.items() if scores[node] != value]
        wrong = [f"{node} has {scores[node]}, not {value}" for node, value in others]
        given = [scores[node] for node in self.order]
        if any(one <= other for one, other in itertools.pairwise(given)):
            wrong.append(f"{placement.name}: " + ", ".join(f"{node} {scores[node]}" for node in self.order))
        return "; ".join(wrong)


def _of_extenders(decision: ks.Decision) -> Mapping[str, int]:
    """What extenders gave each node, before it is weighted."""
    out: Counter[str] = Counter()
    for trace in decision.extenders:
        for node, score in trace.scores or ():
            out[node] += score
    return out


class Evicts(msgspec.Struct, frozen=True):
    """``evicts``: whom a pod that fits nowhere makes leave."""

    pod: str
    """Pattern of its name."""
    victims: tuple[str, ...] | None
    """Exactly these leave, in any order; None: whoever."""
    spares: tuple[str, ...]
    """Patterns of pods that stay."""

    @classmethod
    def read(cls, fields: Fields) -> Evicts:
        """From its keys; faults are noted."""
        only_keys(fields, ("pod", "victims", "spares"))
        if not (fields.has("victims") or fields.has("spares")):
            fields.fault("", "say victims, spares or both")
        victims = fields.texts("victims") if fields.has("victims") else None
        return cls(needed_text(fields, "pod"), victims, fields.texts("spares"))

    def fault_of(self, run: ScenarioRun) -> str:
        """What is wrong; empty when nothing is."""
        found = run.pods_called(self.pod)
        if not found:
            return no_such_pod(self.pod, run)
        leaving = list(run.evicted)
        for each in found:
            leaving += _victims(each)
        text = f"it makes {', '.join(sorted(leaving))} leave" if leaving else f"nobody leaves; {where(found[0])}"
        if self.victims is not None and sorted(leaving) != sorted(self.victims):
            return text
        return text if any(fnmatchcase(name, one) for name in leaving for one in self.spares) else ""


def _victims(placement: PodPlacement) -> list[str]:
    """The names of the pods that would leave the node that preemption picks."""
    preemption = None if placement.decision is None else placement.decision.preemption
    if preemption is None or not preemption.chosen:
        return []
    return [pod.key.removeprefix("default/") for pod in preemption.candidates[preemption.chosen[0]].pods]


@attrs.frozen
class AgreesWith:
    """``agrees``: every pod goes where another scheduler would have it go."""

    other: dict[str, Any] = attrs.field(eq=False)
    """The other one, as ``ks.compare`` takes it; files by name in the exercise's folder."""
    tolerate: tuple[str, ...] = ()
    """Patterns of pods that may go elsewhere."""

    @classmethod
    def read(cls, fields: Fields) -> AgreesWith:
        """From its keys; faults are noted."""
        only_keys(fields, ("release", "provider", "policy", "config", "tolerate"))
        other = {key: fields.text(key) for key in ("release", "provider", "policy", "config") if fields.has(key)}
        if "release" not in other:
            needed_text(fields, "release")
        return cls(other, fields.texts("tolerate"))

    def fault_of(self, run: ScenarioRun) -> str:
        """What is wrong; empty when nothing is."""
        wrong = []
        for pod in run.compared(self.other).pods:
            name = pod.pod.removeprefix("default/")
            before, now = (outcome.host or "no node" for outcome in pod.outcomes[:2])
            if before != now and not any(fnmatchcase(name, pattern) for pattern in self.tolerate):
                wrong.append(f"{name} goes to {now}, and went to {before}")
        return "; ".join(wrong)
