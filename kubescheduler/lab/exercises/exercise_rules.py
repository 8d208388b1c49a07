"""The rules of checks: where pods run, then why, then what the student's files may say."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from clusterstate.manifests.fields import Fields, describe
from clusterstate.objects import Pod, PodDisruptionBudget, Taint, TopologySpreadConstraint
from kubescheduler.lab.exercises.exercise_record import (
    EditableFile,
    EveryPodRule,
    ExerciseCheck,
    FilesRule,
    OnePodRule,
    PodPlacement,
    RunRule,
    ScenarioRun,
    StudentFiles,
    needed_text,
    needed_texts,
    no_such_pod,
    only_keys,
    selected,
    where,
)

if TYPE_CHECKING:
    import kubescheduler as ks


SHOWN = 3
"""Pods that a sentence names."""


def _those(wrong: list[PodPlacement]) -> str:
    """Where each of some pods runs, the first few."""
    more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    return "; ".join(where(each) for each in wrong[:SHOWN]) + more


class Bounded(EveryPodRule, frozen=True):
    """Of how many there may be."""

    least: int | None = None
    """So many or more."""
    most: int | None = None
    """So many or fewer."""

    @classmethod
    def note_faults(cls, fields: Fields) -> None:
        if not (fields.has("least") or fields.has("most")):
            fields.fault("", "say least, most or both")


class EveryPlaced(EveryPodRule, frozen=True):
    """``placed``: every pod of a name has a node, there are as many as asked for, and none had to wait too long."""

    count: int | None = None
    """How many there have to be; None: any number but none."""
    by: int | None = None
    """The second of a simulation in which the last of them has to be bound; None: any."""

    def _fault_among(self, found: list[PodPlacement]) -> str:
        if self.count is not None and len(found) != self.count:
            return f"there are {len(found)} pods {self.pods}, and there have to be {self.count}"
        late = [each for each in found if each.placed is not None and self.by is not None and each.placed > self.by]
        return _those([each for each in found if each.node is None]) or "; ".join(
            f"{each.name} was bound after {each.placed:g} s, and has to be within {self.by} s" for each in late[:SHOWN]
        )


class OnNodes(EveryPodRule, frozen=True):
    """``runsOn`` and ``runsNotOn``: every pod of a name runs on one of some nodes, or runs, and on none of them."""

    nodes: tuple[str, ...]
    there: bool
    """Whether on them, or elsewhere."""

    def _fault_among(self, found: list[PodPlacement]) -> str:
        wrong = [each for each in found if each.node is None or (each.node in self.nodes) is not self.there]
        return _those(wrong)


class NodesUsed(Bounded, frozen=True):
    """``nodesUsed``: on how many nodes the pods of a name run, each of them running."""

    def _fault_among(self, found: list[PodPlacement]) -> str:
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

    def _fault_among(self, found: list[PodPlacement]) -> str:
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


class Apart(EveryPodRule, frozen=True):
    """``apart``: in a simulation no two pods of a name were bound within so many seconds."""

    seconds: int = 1
    """The least between two of them."""

    def _fault_among(self, found: list[PodPlacement]) -> str:
        bound = sorted((each.placed, each.name) for each in found if each.placed is not None)
        close = [(one, two) for one, two in itertools.pairwise(bound) if two[0] - one[0] < self.seconds]
        if not close:
            return ""
        (first, one), (second, two) = close[0]
        return f"{one} was bound after {first:g} s and {two} after {second:g} s, less than {self.seconds} s apart"


class AllOrNone(RunRule, frozen=True):
    """``together``: of the pods that share a label's value either all run, bound at one time, or none has been."""

    label: str

    def fault_of(self, run: ScenarioRun) -> str:
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


EXTENDER = "extender"
"""The rule of ``scores`` that stands for extenders."""


class RefusedFor(OnePodRule, frozen=True):
    """``refused``: a node refuses a pod for a reason, or with just these words and no others."""

    node: str
    reason: str = ""
    """A part of the reason, as the release words it; empty: ``exactly`` says it."""
    exactly: str = ""
    """The one reason that it gives."""

    @classmethod
    def note_faults(cls, fields: Fields) -> None:
        if not fields.has("exactly") and fields.data.get("reason") in (None, ""):
            needed_text(fields, "reason")

    def _fault_of_one(self, placement: PodPlacement) -> str:
        reasons = [] if placement.decision is None else placement.decision.reasons().get(self.node, [])
        if any(self.reason in reason for reason in reasons) and self.exactly in ("", *reasons[: len(reasons) == 1]):
            return ""
        why = f"refuses {placement.name} with {'; '.join(reasons)}" if reasons else f"does not refuse {placement.name}"
        return f"{self.node} {why}"


class FittingNodes(OnePodRule, frozen=True):
    """``accepted``: nodes that a pod fits, wherever it goes."""

    nodes: tuple[str, ...]

    def _fault_among(self, found: list[PodPlacement]) -> str:
        faults = [fault for each in found for fault in self._faults_of_one(each)]
        return "; ".join(faults)

    def _faults_of_one(self, placement: PodPlacement) -> Iterator[str]:
        decision = placement.decision
        fits = [] if decision is None else decision.fits()
        reasons = {} if decision is None else decision.reasons()
        for node in self.nodes:
            if node not in fits:
                yield f"{node} refuses {placement.name}: {'; '.join(reasons.get(node, ())) or 'without a reason'}"


class Tolerates(EveryPodRule, frozen=True):
    """``tolerates``: of the taints of a key the pods tolerate those with these values, and with no other."""

    key: str
    values: tuple[str, ...]

    def _fault_among(self, found: list[PodPlacement]) -> str:
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


class StaysPending(OnePodRule, frozen=True):
    """``pending``: a pod has no node, and the message says why."""

    message: str = ""
    """A part of the release's message."""

    def _fault_among(self, found: list[PodPlacement]) -> str:
        wrong = [each for each in found if each.node is not None or self.message not in each.message]
        return "; ".join(map(where, wrong))


class ScoresAre(OnePodRule, frozen=True):
    """``scores``: nodes in the order of a pod's totals, or of one rule's scores, each higher than the next, or each of
    one group higher than each of the next; or exactly such scores."""

    order: tuple[tuple[str, ...], ...]
    """The nodes in groups, the best first; nothing is asked within a group."""
    values: Mapping[str, int]
    """Node → its score."""
    rule: str
    """The priority or plugin, or ``extender`` for what extenders gave, before it is weighted; empty: the totals."""

    @classmethod
    def read(cls, fields: Fields, **_: Any) -> ScoresAre:
        only_keys(fields, ("pod", "order", "values", "rule"))
        inside = fields.inside("values")
        values = {str(node): inside.integer(node) for node in inside.data}
        order = _groups(fields)
        if not (order or values):
            needed_texts(fields, "order")
        return cls(needed_text(fields, "pod"), order, values, fields.text("rule"))

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
        if not (fields.has("victims") or fields.has("spares")):
            fields.fault("", "say victims, spares or both")

    def fault_of(self, run: ScenarioRun) -> str:
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
        only_keys(fields, ("release", "provider", "policy", "config", "tolerate"))
        other = {key: fields.text(key) for key in ("release", "provider", "policy", "config") if fields.has(key)}
        if "release" not in other:
            needed_text(fields, "release")
        return cls(other, fields.texts("tolerate"))

    def fault_of(self, run: ScenarioRun) -> str:
        wrong = []
        for pod in run.compared(self.other).pods:
            name = pod.pod.removeprefix("default/")
            before, now = (outcome.host or "no node" for outcome in pod.outcomes[:2])
            if before != now and not any(fnmatchcase(name, pattern) for pattern in self.tolerate):
                wrong.append(f"{name} goes to {now}, and went to {before}")
        return "; ".join(wrong)


Path = tuple[str, ...]


def steps_of(pattern: str) -> Path:
    """A pattern's steps. A key that has dots itself stands in brackets: ``metadata.labels[example.com/tier]``."""
    out: list[str] = []
    for at, part in enumerate(pattern.replace("]", "[").split("[")):
        out += [part] if at % 2 else [step for step in part.split(".") if step]
    return tuple(out)


def leaves(document: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """(path, value) of every value that holds no others; empty mappings and lists count as absent, and so does null."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from leaves(value, (*path, str(key)))
    elif isinstance(document, list | tuple):
        for at, value in enumerate(document):
            yield from leaves(value, (*path, str(at)))
    elif document is not None:
        yield path, document


def within(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a path is a place of the pattern, or below one."""
    if not pattern:
        return True
    if pattern[0] == "**":
        return any(within(path[at:], pattern[1:]) for at in range(len(path) + 1))
    return bool(path) and pattern[0] in ("*", path[0]) and within(path[1:], pattern[1:])


def shown_path(path: Sequence[str]) -> str:
    """A path as messages show it: ``spec.containers[0].image``."""
    out = ""
    for step in path:
        if step.isdecimal() or not step.replace("-", "").replace("_", "").isalnum():
            out += f"[{step}]"
        else:
            out += f".{step}" if out else step
    return out


class ForbiddenFields(FilesRule, frozen=True):
    """``forbidden``: fields that no document of the student's may set, such as ``**.nodeName``."""

    fields: tuple[str, ...]
    """Patterns of their paths."""
    values: tuple[str, ...] = ()
    """Patterns of values that are forbidden there; none: every value is."""

    def fault_in(self, files: StudentFiles) -> str:
        patterns = [steps_of(pattern) for pattern in self.fields]
        found = [
            f"{file}: {_titled(document)}: {shown_path(path)} is {describe(value)}"
            for file, documents in files.documents.items()
            for document in documents
            for path, value in leaves(document)
            if any(within(path, pattern) for pattern in patterns)
            and (not self.values or any(fnmatchcase(str(value), pattern) for pattern in self.values))
        ]
        return "; ".join(found)


class OnlyEdits(FilesRule, frozen=True):
    """In every exercise: only what may be edited differs from what the exercise gives."""

    edit: tuple[EditableFile, ...]
    """What may be edited."""

    def fault_in(self, files: StudentFiles) -> str:
        return "; ".join(fault for one in self.edit if one.fields is not None for fault in _changes(one, files))


def only_edits(edit: tuple[EditableFile, ...]) -> list[ExerciseCheck]:
    """The check of what may be edited; none where whole files may."""
    if all(one.fields is None for one in edit):
        return []
    names = ", ".join(f"{field} of {one.file}" for one in edit for field in one.fields or ())
    return [ExerciseCheck("only what may be edited differs", "edit", OnlyEdits(edit), f"You may edit {names}.")]


def _changes(one: EditableFile, files: StudentFiles) -> Iterator[str]:
    given, made = files.start.get(one.file, ()), files.documents.get(one.file, ())
    if len(given) != len(made):
        yield f"{one.file}: there are {len(made)} documents, and have to be {len(given)}"
        return
    allowed = [steps_of(field) for field in one.fields or ()]
    for before, now in zip(given, made, strict=True):
        old, new = _kept(before, allowed), _kept(now, allowed)
        for path in dict.fromkeys((*old, *new)):
            if old.get(path) != new.get(path):
                said = f"{describe(old[path])} given" if path in old else "not given"
                found = describe(new[path]) if path in new else "missing"
                yield f"{one.file}: {_titled(before)}: {shown_path(path)} is {found}, {said}"


def _kept(document: Any, allowed: list[Path]) -> dict[Path, Any]:
    """The leaves that may not be edited."""
    return {path: value for path, value in leaves(document) if not any(within(path, one) for one in allowed)}


def _titled(document: Any) -> str:
    """``Pod web``."""
    if not isinstance(document, Mapping):
        return "a document"
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return " ".join(str(word) for word in (document.get("kind", "document"), name) if word)
