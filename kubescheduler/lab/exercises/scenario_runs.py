"""Running a scenario of an exercise with a student's files, by the engine of its release."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import kubescheduler as ks
from clusterstate.errors import ConfigError
from clusterstate.objects import Pod
from kubescheduler.config.config_text import parse_first_document, read_text
from kubescheduler.lab.exercises.check_contract import PodPlacement, ScenarioRun
from kubescheduler.lab.exercises.exercise_record import Exercise, ExerciseScenario
from kubescheduler.lab.exercises.extender_processes import running_extender
from kubescheduler.lab.exercises.student_code import student_code


class StudentScheduler(msgspec.Struct, frozen=True):
    """What decides, with a student's files in it, while they are loaded and running."""

    exercise: Exercise
    """The exercise."""
    work: Path
    """Where the student works."""
    options: Mapping[str, Any]
    """The arguments of ``ks.Scheduler``."""
    last_words: Callable[[], str]
    """What the student's extender wrote last to standard error; empty without one."""

    def file(self, name: str) -> Path:
        """Where a file is: with the student if it is one to edit, else in the exercise's folder."""
        theirs = any(one.file == name for one in self.exercise.edit)
        return (self.work if theirs else self.exercise.folder) / name

    def run(self, scenario: ExerciseScenario) -> ScenarioRun:
        """What comes of a scenario. Raises InputError for files that are wrong, and for attempts that failed."""
        release = self.exercise.scheduler.release
        cluster = ks.Cluster.read(*(self.file(name) for name in scenario.cluster), release=release)
        asked = [self.file(name) for name in scenario.pods]
        compared = self._comparing(cluster, asked)
        if self.exercise.simulate:
            return self._simulated(cluster, asked, compared)
        found = cluster.to_place(asked) if asked else None
        pods = cluster.pending() if found is None else found.pods
        there = cluster if found is None else cluster.with_accompanying(found.accompanying)
        scheduler = ks.Scheduler(there, **self.options)
        notes = dict.fromkeys((*cluster.notes, *(found.notes if found is not None else ()), *scheduler.notes))
        placements = tuple(self._decided(scheduler, pods))
        notes |= dict.fromkeys(note for each in placements for note in self._answer_notes(each))
        return ScenarioRun(cluster, placements, (), compared, tuple(notes))

    def _decided(self, scheduler: ks.Scheduler, pods: Sequence[Pod]) -> Iterator[PodPlacement]:
        """Each pod decided and bound in turn."""
        for pod in pods:
            if pod.node_name:
                yield PodPlacement(pod, pod.node_name, "")
                continue
            decision = scheduler.decide(pod, preempt=self.exercise.preempt, thorough=True)
            self._refuse_errors(pod, decision)
            if decision.host is not None:
                scheduler.bind(decision)
            yield PodPlacement(pod, decision.host, decision.message, decision)

    def _answer_notes(self, placement: PodPlacement) -> Iterator[str]:
        """What the extender said nothing of, of the nodes that it was asked about."""
        decision, choice = placement.decision, self.exercise.extender
        if decision is None or choice is None:
            return
        for one in decision.extenders:
            asked = [node.metadata.name for node in one.filter_nodes or ()]
            known = {*decision.fits(), *(one.failed or ()), *(one.unresolvable or ())}
            lost = [name for name in asked if name not in known]
            if lost:
                like = "; an answer of null, as of a function without return, reads like this" if lost == asked else ""
                yield f"{choice.file}: filter neither keeps nor refuses {', '.join(lost)}{like}"
            scored = {name for name, _ in one.scores or ()}
            lost = [node.metadata.name for node in one.prioritize_nodes or () if node.metadata.name not in scored]
            if lost:
                yield f"{choice.file}: prioritize has no entry for {', '.join(lost)}, which counts as 0 points"

    def _refuse_errors(self, pod: Pod, decision: ks.Decision) -> None:
        """Raises ConfigError for an attempt that an error ended, or that did without its extender."""
        failed = [trace.filter_error or trace.prioritize_error for trace in decision.extenders]
        text = next(filter(None, failed), decision.error if decision.tried else None)
        if text is not None:
            said = self.last_words()
            raise ConfigError(f"no decision on pod {pod.key}: {text}{f'; its last words: {said}' if said else ''}")

    def _simulated(
        self, cluster: ks.Cluster, asked: Sequence[Path], compared: Callable[[Mapping[str, Any]], ks.Comparison]
    ) -> ScenarioRun:
        """All pods through the scheduler's own loop, on a virtual clock."""
        report = ks.simulate(cluster, asked, preempt=self.exercise.preempt, pending=not asked, **self.options)
        if report.failed:
            first = report.failed[0]
            raise ConfigError(f"no decision on pod {first.pod.key}: {first.message}")
        placements = tuple(
            PodPlacement(one.pod, one.node or None, one.message, placed=one.placed) for one in report.pods
        )
        evicted = tuple(victim.removeprefix("default/") for one in report.preemptions for victim in one.victims)
        return ScenarioRun(cluster, placements, evicted, compared, cluster.notes)

    def _comparing(self, cluster: ks.Cluster, asked: Sequence[Path]) -> Callable[[Mapping[str, Any]], ks.Comparison]:
        def compared(other: Mapping[str, Any]) -> ks.Comparison:
            old = {key: self._given(key, value) for key, value in other.items()}
            new = {"release": self.exercise.scheduler.release, **self.options}
            return ks.compare(cluster, list(asked) or None, old=old, new=new, mode="sequence")

        return compared

    def _given(self, key: str, value: str) -> str:
        return str(self.file(value)) if key in ("policy", "config") else value


@contextlib.contextmanager
def student_scheduler(exercise: Exercise, work: Path) -> Iterator[StudentScheduler]:
    """Loads the student's code and starts the student's extender. Raises ConfigError for what cannot be used."""
    choice = exercise.scheduler
    with contextlib.ExitStack() as stack:
        plugins = stack.enter_context(student_code(work, choice))
        options = choice.arguments() | ({"plugins": plugins} if plugins else {})
        made = StudentScheduler(exercise, work, options, lambda: "")
        files = {key: made.file(name) for key in ("policy", "config") if (name := getattr(choice, key)) is not None}
        if exercise.extender is None:
            yield msgspec.structs.replace(made, options=options | {key: str(file) for key, file in files.items()})
            return
        address, last_words = stack.enter_context(running_extender(work / exercise.extender.file))
        moved = {key: _moved(file, exercise.extender.address, address) for key, file in files.items()}
        yield msgspec.structs.replace(made, options=options | moved, last_words=last_words)


def _moved(file: Path, given: str, address: str) -> Mapping[str, Any]:
    """A configuration in which the extender's address is the one that it has now."""
    text = read_text(file)
    if given not in text:
        raise ConfigError(f"{file}: it does not name the extender {given}")
    return parse_first_document(text.replace(given, address), str(file))
