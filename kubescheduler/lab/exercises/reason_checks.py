"""Checks of why: reasons, messages, scores, victims, and agreement with another scheduler."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from clusterstate.manifests.fields import Fields
from clusterstate.objects import Pod, PodDisruptionBudget, Taint
from kubescheduler.lab.exercises.check_contract import (
    PodPlacement,
    PodsRule,
    RunRule,
    ScenarioRun,
    needed_text,
    needed_texts,
    no_such_pod,
    only_keys,
    selected,
    where,
)

if TYPE_CHECKING:
    import kubescheduler as ks

EXTENDER = "extender"
"""The rule of ``scores`` that stands for extenders."""


class RefusedFor(PodsRule, frozen=True):
    """``refused``: a node refuses a pod for a reason, or with just these words and no others."""

    pod: str
    """Pattern of its name."""
    node: str
    """The node."""
    reason: str = ""
    """A part of the reason, as the release words it; empty: ``exactly`` says it."""
    exactly: str = ""
    """The one reason that it gives."""

    @classmethod
    def note_faults(cls, fields: Fields) -> None:
        """One of the two has to be there."""
        if not fields.has("exactly") and fields.data.get("reason") in (None, ""):
            needed_text(fields, "reason")

    def fault_of_one(self, placement: PodPlacement) -> str:
        """What is wrong; empty when nothing is."""
        reasons = [] if placement.decision is None else placement.decision.reasons().get(self.node, [])
        if any(self.reason in reason for reason in reasons) and self.exactly in ("", *reasons[: len(reasons) == 1]):
            return ""
        why = f"refuses {placement.name} with {'; '.join(reasons)}" if reasons else f"does not refuse {placement.name}"
        return f"{self.node} {why}"


class FittingNodes(PodsRule, frozen=True):
    """``accepted``: nodes that a pod fits, wherever it goes."""

    pod: str
    """Pattern of its name."""
    nodes: tuple[str, ...]
    """The nodes."""

    def fault_among(self, found: list[PodPlacement]) -> str:
        """What is wrong; empty when nothing is."""
        faults = [fault for each in found for fault in self._faults_of_one(each)]
        return "; ".join(faults)

    def _faults_of_one(self, placement: PodPlacement) -> Iterator[str]:
        decision = placement.decision
        fits = [] if decision is None else decision.fits()
        reasons = {} if decision is None else decision.reasons()
        for node in self.nodes:
            if node not in fits:
                yield f"{node} refuses {placement.name}: {'; '.join(reasons.get(node, ())) or 'without a reason'}"


class Tolerates(PodsRule, frozen=True):
    """``tolerates``: of the taints of a key the pods tolerate those with these values, and with no other."""

    pods: str
    """Pattern of their names."""
    key: str
    """The taints' key."""
    values: tuple[str, ...]
    """The taints' values."""

    def fault_among(self, found: list[PodPlacement]) -> str:
        """What is wrong; empty when nothing is."""
        faults = dict.fromkeys(f"{each.name} {fault}" for each in found for fault in self._faults_of_one(each.pod))
        return "; ".join(faults)

    def _faults_of_one(self, pod: Pod) -> Iterator[str]:
        concerned = [one for one in pod.spec.tolerations if one.key in ("", self.key)]
        for value in self.values:
            if not any(one.covers_value(Taint(self.key, value, "")) for one in concerned):
                yield f"does not tolerate {self.key}={value}"
        for one in concerned:
            if one.operator not in ("", "Equal"):
                yield f"tolerates {self.key} with other values too, by operator {one.operator}"
            elif one.value not in self.values:
                yield f"tolerates {self.key}={one.value} too"


class StaysPending(PodsRule, frozen=True):
    """``pending``: a pod has no node, and the message says why."""

    pod: str
    """Pattern of its name."""
    message: str = ""
    """A part of the release's message."""

    def fault_among(self, found: list[PodPlacement]) -> str:
        """What is wrong; empty when nothing is."""
        wrong = [each for each in found if each.node is not None or self.message not in each.message]
        return "; ".join(map(where, wrong))


class ScoresAre(PodsRule, frozen=True):
    """``scores``: nodes in the order of a pod's totals, or of one rule's scores, each higher than the next, or each of
    one group higher than each of the next; or exactly such scores."""

    pod: str
    """Pattern of its name."""
    order: tuple[tuple[str, ...], ...]
    """The nodes in groups, the best first; nothing is asked within a group."""
    values: Mapping[str, int]
    """Node → its score."""
    rule: str
    """The priority or plugin, or ``extender`` for what extenders gave, before it is weighted; empty: the totals."""

    @classmethod
    def read(cls, fields: Fields, **_: Any) -> ScoresAre:
        """From its keys; faults are noted."""
        only_keys(fields, ("pod", "order", "values", "rule"))
        inside = fields.inside("values")
        values = {str(node): inside.integer(node) for node in inside.data}
        order = _groups(fields)
        if not (order or values):
            needed_texts(fields, "order")
        return cls(needed_text(fields, "pod"), order, values, fields.text("rule"))

    def fault_of_one(self, placement: PodPlacement) -> str:
        """What is wrong; empty when nothing is."""
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
        ordered = [node for group in self.order for node in group]
        if missing := [node for node in (*ordered, *self.values) if node not in scores]:
            return f"{missing[0]} has no score for {placement.name}{self._why_none(decision, missing[0])}"
        others = [(node, value) for node, value in self.values.items() if scores[node] != value]
        wrong = [f"{node} has {scores[node]}, not {value}" for node, value in others]
        pairs = ((one, two) for high, low in itertools.pairwise(self.order) for one in high for two in low)
        if pair := next(((one, two) for one, two in pairs if scores[one] <= scores[two]), None):
            shown = ", ".join(f"{node} {scores[node]}" for node in ordered)
            wrong.append(f"{placement.name}: {shown}; {pair[0]} has to have more than {pair[1]}")
        return "; ".join(wrong)

    def _why_none(self, decision: ks.Decision, node: str) -> str:
        if reasons := decision.reasons().get(node):
            return f", which it refuses with {'; '.join(reasons)}"
        sent = [each.metadata.name for one in decision.extenders for each in one.prioritize_nodes or ()]
        return "; the extender was asked and did not name it" if self.rule == EXTENDER and node in sent else ""


def _groups(fields: Fields) -> tuple[tuple[str, ...], ...]:
    """The list under ``order``, of nodes or of lists of nodes."""
    groups: list[tuple[str, ...]] = []
    for at, one in enumerate(fields.sequence("order")):
        group = tuple(one) if isinstance(one, list) else (one,)
        if not group or not all(isinstance(node, str) for node in group):
            fields.fault(f".order[{at}]", "must be the name of a node, or a list of such names")
        else:
            groups.append(group)
    return tuple(groups)


def _of_extenders(decision: ks.Decision) -> Mapping[str, int]:
    """What extenders gave each node, before it is weighted."""
    out: Counter[str] = Counter()
    for trace in decision.extenders:
        for node, score in trace.scores or ():
            out[node] += score
    return out


class Evicts(RunRule, frozen=True):
    """``evicts``: whom a pod that fits nowhere makes leave."""

    pod: str
    """Pattern of its name."""
    victims: tuple[str, ...] | None = None
    """Exactly these leave, in any order; None: whoever."""
    spares: tuple[str, ...] = ()
    """Patterns of pods that stay."""

    @classmethod
    def note_faults(cls, fields: Fields) -> None:
        """One of the two has to be there."""
        if not (fields.has("victims") or fields.has("spares")):
            fields.fault("", "say victims, spares or both")

    def fault_of(self, run: ScenarioRun) -> str:
        """What is wrong; empty when nothing is."""
        found = run.pods_called(self.pod)
        if not found:
            return no_such_pod(self.pod, run)
        leaving = list(run.evicted)
        for each in found:
            leaving += _victims(each)
        text = f"it makes {', '.join(sorted(leaving))} leave" if leaving else f"nobody leaves; {where(found[0])}"
        budgets = [each for each in run.cluster.objects if isinstance(each, PodDisruptionBudget)]
        text = "; ".join((text, *(_budget(each, run.cluster.pods) for each in budgets)))
        if self.victims is not None and sorted(leaving) != sorted(self.victims):
            return text
        return text if any(fnmatchcase(name, one) for name in leaving for one in self.spares) else ""


def _budget(budget: PodDisruptionBudget, pods: list[Pod]) -> str:
    """Whom a budget is for, and what it allows."""
    namespace = budget.metadata.namespace
    near = [pod for pod in pods if pod.metadata.namespace == namespace]
    picked = ", ".join(selected(budget.selector, near)) or "no pod"
    inside = "" if namespace == "default" else f" in namespace {namespace}"
    return f"budget {budget.metadata.name}{inside} selects {picked} and lets {budget.disruptions_allowed} be disturbed"


def _victims(placement: PodPlacement) -> list[str]:
    """The names of the pods that would leave the node that preemption picks."""
    preemption = None if placement.decision is None else placement.decision.preemption
    if preemption is None or not preemption.chosen:
        return []
    return [pod.key.removeprefix("default/") for pod in preemption.candidates[preemption.chosen[0]].pods]


class AgreesWith(RunRule, frozen=True, eq=False):
    """``agrees``: every pod goes where another scheduler would have it go."""

    other: dict[str, Any]
    """The other one, as ``ks.compare`` takes it; files by name in the exercise's folder."""
    tolerate: tuple[str, ...] = ()
    """Patterns of pods that may go elsewhere."""

    @classmethod
    def read(cls, fields: Fields, **_: Any) -> AgreesWith:
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
