"""What an exercise is, as its ``exercise.yaml`` says it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from kubescheduler.lab.exercises.check_contract import ExerciseCheck


class EditableFile(msgspec.Struct, frozen=True):
    """A file that the student writes or changes; it stands in ``start/`` and ``solution/``."""

    file: str
    """Its name."""
    fields: tuple[str, ...] | None = None
    """Patterns of the places in its documents that may differ from ``start/``; None: everything may."""


EXERCISE_FILE, TASK_FILE = "exercise.yaml", "task.md"
START, SOLUTION = "start", "solution"


class CodeFile(msgspec.Struct, frozen=True):
    """A Python file of the student's, and what of it is asked for."""

    file: str
    """Its name."""
    attribute: str
    """A function that registers predicates and priorities, or a plugin's factory."""


class SchedulerChoice(msgspec.Struct, frozen=True):
    """What decides: the arguments of a Scheduler, with files by name."""

    release: str
    """Whose rules."""
    provider: str | None = None
    """The name of an algorithm provider."""
    policy: str | None = None
    """The file of a Policy."""
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
    """The program."""
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
    """Where it is."""
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
