"""What an exercise is, as its ``exercise.yaml`` says it, and what its checks are asked about.

A check asks its rule about the student's files, or about what came of a scenario; the rules are in ``exercise_rules``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec.structs import FieldInfo

from clusterstate.errors import nearest
from clusterstate.manifests.fields import Fields, step
from clusterstate.objects import LabelSelector, Pod
from clusterstate.selectors.matching import compile_label_selector

if TYPE_CHECKING:
    import kubescheduler as ks


class StudentFiles(msgspec.Struct, frozen=True):
    """The files of one student, beside those of the exercise."""

    folder: Path
    """Where the student works."""
    documents: Mapping[str, Sequence[Any]]
    """File in YAML or JSON that the student edits → its documents."""
    start: Mapping[str, Sequence[Any]]
    """The same files as the exercise gives them."""


class PodPlacement(msgspec.Struct, frozen=True, eq=False):
    """What became of one pod."""

    pod: Pod
    node: str | None
    """Where it runs; None: nowhere."""
    message: str
    """Why it runs nowhere."""
    decision: ks.Decision | None = None
    """The decision; None where a simulation placed it."""
    placed: float | None = None
    """When it was bound, in seconds after the start of a simulation."""

    @property
    def name(self) -> str:
        """``name`` in the namespace default, else ``namespace/name``."""
        return self.pod.key.removeprefix("default/")


class ScenarioRun(msgspec.Struct, frozen=True, eq=False):
    """What came of a scenario."""

    cluster: ks.Cluster
    """The cluster before any pod of the scenario was placed."""
    placements: tuple[PodPlacement, ...]
    """Of each pod, in the order in which they came."""
    evicted: tuple[str, ...]
    """Pods that a simulation evicted, by name."""
    compared: Callable[[Mapping[str, Any]], ks.Comparison]
    """Compares another scheduler, given as ``ks.compare`` takes it, with the one that decided."""
    notes: tuple[str, ...] = ()
    """What a command would remark of the files, such as keys that are set twice."""

    def pods_called(self, pattern: str) -> list[PodPlacement]:
        """The placements of pods whose names match a pattern such as ``web-*``."""
        return [each for each in self.placements if fnmatchcase(each.name, pattern)]

    def labels_of(self, node: str) -> Mapping[str, str]:
        """The labels of a node; none of one that is not there."""
        return next((each.metadata.labels for each in self.cluster.nodes if each.metadata.name == node), {})


class Rule(msgspec.Struct, frozen=True):
    """What has to be so. The fields are the keys in ``exercise.yaml``; those without a default have to be there."""

    @classmethod
    def read(cls, fields: Fields, **given: Any) -> Self:
        """From its keys; faults are noted. given: what its kind says."""
        keys = [each for each in msgspec.structs.fields(cls) if each.name not in given]
        only_keys(fields, [each.name for each in keys])
        cls.note_faults(fields)
        return cls(**given, **{each.name: _value(fields, each) for each in keys})

    @classmethod
    def note_faults(cls, fields: Fields) -> None:
        """What its keys have to be together."""


def _value(fields: Fields, field: FieldInfo) -> Any:
    """What is under a key, by the type of its field."""
    if field.type is str:
        return needed_text(fields, field.name) if field.required else fields.text(field.name)
    if field.type is int:
        return count_of(fields, field.name) or field.default
    if field.type == int | None:
        return count_of(fields, field.name)
    if field.required:
        return needed_texts(fields, field.name)
    return fields.texts(field.name) if fields.has(field.name) else field.default


class FilesRule(Rule, frozen=True):
    """What has to be so of the student's files."""

    def fault_in(self, files: StudentFiles) -> str:
        """What is wrong, in a sentence; empty when nothing is."""
        raise NotImplementedError


class RunRule(Rule, frozen=True):
    """What has to come of a scenario."""

    def fault_of(self, run: ScenarioRun) -> str:
        """What is wrong, in a sentence; empty when nothing is."""
        raise NotImplementedError


class PodsRule(RunRule, frozen=True):
    """What has to come of pods: the first field, ``pods`` or ``pod``, is the pattern of their names, which has to match
    some."""

    def fault_of(self, run: ScenarioRun) -> str:
        pattern = getattr(self, self.__struct_fields__[0])
        found = run.pods_called(pattern)
        return self._fault_among(found) if found else no_such_pod(pattern, run)

    def _fault_among(self, found: list[PodPlacement]) -> str:
        """What is wrong with these pods; of the first that something is wrong with, where each is looked at alone."""
        return next(filter(None, map(self._fault_of_one, found)), "")

    def _fault_of_one(self, placement: PodPlacement) -> str:
        """What is wrong with one pod."""
        raise NotImplementedError


class EveryPodRule(PodsRule, frozen=True):
    """What has to come of pods that are looked at together."""

    pods: str
    """Pattern of their names."""


class OnePodRule(PodsRule, frozen=True):
    """What has to come of one pod, or of each that has the name."""

    pod: str
    """Pattern of its name."""


class ExerciseCheck(msgspec.Struct, frozen=True):
    """One check as the student sees it."""

    name: str
    """What has to be so."""
    kind: str
    """The key of ``exercise.yaml`` that says which rule it is."""
    rule: FilesRule | RunRule
    """Finds what is wrong."""
    remark: str = ""
    """What the student is told beside what is wrong."""


def selected(selector: LabelSelector | None, pods: Iterable[Pod]) -> list[str]:
    """The names of the pods whose labels a selector matches; None matches nothing."""
    matcher = compile_label_selector(selector)
    return [pod.metadata.name for pod in pods if matcher(pod.metadata.labels)]


def no_such_pod(pattern: str, run: ScenarioRun) -> str:
    """The sentence about a pattern that matches no pod."""
    names = ", ".join(each.name for each in run.placements) or "none"
    return f"there is no pod {pattern}; the pods are {names}"


def where(placement: PodPlacement) -> str:
    """Where a pod runs, or why it runs nowhere."""
    if placement.node is not None:
        return f"{placement.name} runs on {placement.node}"
    return f"{placement.name} has no node: {placement.message.rstrip()}"


def only_keys(fields: Fields, known: Sequence[str]) -> None:
    """Notes every key that is not known, with the nearest that is."""
    for key in fields.data:
        if key not in known:
            fields.fault(
                step(key), f"there is no such key{nearest(str(key), known) or '; known are ' + ', '.join(known)}"
            )


def needed_text(fields: Fields, key: str) -> str:
    """The text under a key that has to be there."""
    found = fields.text(key)
    if not found and not (fields.has(key) and not isinstance(fields.data[key], str)):
        fields.fault(step(key), "is missing")
    return found


def needed_texts(fields: Fields, key: str) -> tuple[str, ...]:
    """The texts under a key that has to be there and name at least one."""
    found = fields.texts(key)
    if not found and not (fields.has(key) and not isinstance(fields.data[key], list)):
        fields.fault(step(key), "has to name at least one")
    return found


def count_of(fields: Fields, key: str) -> int | None:
    """The number under a key, 0 or more; None when there is none."""
    found = fields.integer_or_none(key)
    if found is not None and found < 0:
        fields.fault(step(key), f"must be 0 or more, not {found}")
    return found


class EditableFile(msgspec.Struct, frozen=True):
    """A file that the student writes or changes; it stands in ``start/`` and ``solution/``."""

    file: str
    fields: tuple[str, ...] | None = None
    """Patterns of the places in its documents that may differ from ``start/``; None: everything may."""


EXERCISE_FILE, TASK_FILE = "exercise.yaml", "task.md"
START, SOLUTION = "start", "solution"


class CodeFile(msgspec.Struct, frozen=True):
    """A Python file of the student's, and what of it is asked for."""

    file: str
    attribute: str
    """A function that registers predicates and priorities, or a plugin's factory."""


class SchedulerChoice(msgspec.Struct, frozen=True):
    """What decides: the arguments of a Scheduler, with files by name."""

    release: str
    """Whose rules."""
    provider: str | None = None
    """The name of an algorithm provider."""
    policy: str | None = None
    config: str | None = None
    """The file of a KubeSchedulerConfiguration."""
    gates: Mapping[str, bool] = msgspec.field(default_factory=dict)
    """Feature gates that are not at their default."""
    rules: CodeFile | None = None
    """What registers custom predicates and priorities (up to 1.16)."""
    plugins: tuple[CodeFile, ...] = ()
    """Custom plugins (1.20, 1.36)."""

    def arguments(self) -> dict[str, Any]:
        """Those of the Scheduler's arguments that need no file."""
        said: dict[str, Any] = {"provider": self.provider} if self.provider else {}
        return said | ({"gates": dict(self.gates)} if self.gates else {})


class ExtenderChoice(msgspec.Struct, frozen=True):
    """An HTTP extender that the student writes: a program that takes ``--port``."""

    file: str
    address: str
    """Where policies and configurations of the exercise expect it; a check puts its own address in its place."""


class ExerciseScenario(msgspec.Struct, frozen=True):
    """A cluster, the pods that are placed in it, and what has to come of it."""

    name: str
    """What results call it; empty for the one that the student sees."""
    cluster: tuple[str, ...]
    """Files with the cluster; a file that the student edits is the student's."""
    pods: tuple[str, ...]
    """Files with the pods, in their order; none: the pods of the cluster that wait."""
    checks: tuple[ExerciseCheck, ...]
    """What has to be so."""


class Exercise(msgspec.Struct, frozen=True):
    """An exercise: what is given, what may be edited, and what has to come of it."""

    folder: Path
    title: str
    """A few words."""
    summary: str
    """What is learnt, in a sentence."""
    minutes: int
    """How long a student works on it."""
    teacher_minutes: int
    """How long the teacher speaks before it and asks after it."""
    edit: tuple[EditableFile, ...]
    """What the student writes."""
    scheduler: SchedulerChoice
    """What decides."""
    extender: ExtenderChoice | None
    """What runs beside it while it decides."""
    preempt: bool
    """Whether pods may take the place of lower ones."""
    simulate: bool
    """Whether the pods run through the scheduler's own loop on a virtual clock; otherwise each is decided and bound in
    turn."""
    hints: tuple[str, ...]
    """Help in tiers, the least first."""
    scenarios: tuple[ExerciseScenario, ...]
    """The one that the student sees, then the hidden ones."""

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def runs_code(self) -> bool:
        """Whether the student's files are run in this process."""
        return self.scheduler.rules is not None or bool(self.scheduler.plugins)

    @property
    def given(self) -> tuple[str, ...]:
        """The files that a student gets beside the task and the files to edit."""
        seen, choice = self.scenarios[0], self.scheduler
        others = (getattr(check.rule, "other", {}) for check in seen.checks)
        compared = [other[key] for other in others for key in ("policy", "config") if key in other]
        every = dict.fromkeys((*seen.cluster, *seen.pods, *filter(None, (choice.policy, choice.config)), *compared))
        return tuple(file for file in every if all(one.file != file for one in self.edit))

    @property
    def task(self) -> str:
        """The task as Markdown."""
        return (self.folder / TASK_FILE).read_text(encoding="utf-8")
