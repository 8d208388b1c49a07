"""Checking a student's files: scenarios are run with them by the engine of their release, then every check is asked.

``check_work`` at the end does it; before it come the student's extender, code and scheduler while they run.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import msgspec

import kubescheduler as ks
from algorithmprovider.code_watch import LINES
from algorithmprovider.custom_code import LIMIT, PATIENCE, RAISED, called, exception_text
from algorithmprovider.registry import registered_until_the_end
from clusterstate.errors import ConfigError, InputError, KubeSchedulerError, attempt, nearest
from clusterstate.objects import Pod
from kubescheduler.config.config_text import parse_first_document, read_text
from kubescheduler.lab.exercises.exercise_record import (
    START,
    CodeFile,
    Exercise,
    ExerciseCheck,
    ExerciseScenario,
    FilesRule,
    PodPlacement,
    RunRule,
    ScenarioRun,
    SchedulerChoice,
    StudentFiles,
)
from kubescheduler.lab.exercises.exercise_rules import only_edits
from kubescheduler.report.ci_results import CiCase, Standing, Suite
from kubescheduler.sources.yaml_stream import parse_yaml

START_SECONDS = 15.0
"""How long an extender has until it takes calls."""
STOP_SECONDS = 3.0
"""How long it has to end after SIGTERM."""
PAUSE = 0.02
"""Seconds between two attempts to connect."""


_RUN = """\
import faulthandler, os, runpy, signal, sys
faulthandler.register(signal.SIGUSR1, all_threads=True)
sys.argv = sys.argv[1:]
sys.path[0] = ""
if not os.path.isfile(sys.argv[0]):
    print(f"there is no {sys.argv[0]}", file=sys.stderr)
    sys.exit(2)
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a program that says where it stands when it is asked by a signal."""


@contextlib.contextmanager
def running_extender(program: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """Starts ``python PROGRAM --port N`` with a free port of the loopback interface, and ends it afterwards.

    Gives its address, and a function for the last lines that it wrote to standard error. Raises ConfigError when it
    ends, or takes no calls.
    """
    port = _free_port()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-B", "-u", "-c", _RUN, program.name, "--port", str(port)],
            cwd=program.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
        try:
            _await(process, port, program, errors)
            yield f"http://127.0.0.1:{port}", lambda: _told(process, program, errors)
        finally:
            _end(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await(process: subprocess.Popen[bytes], port: int, program: Path, errors: IO[bytes]) -> None:
    """Until it takes a connection."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            said = _last_words(errors)
            raise ConfigError(
                f"{program}: it ended at once, with status {process.returncode}{': ' + said if said else ''}"
            )
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(PAUSE)
        else:
            return
    raise ConfigError(
        f"{program}: it takes no calls on 127.0.0.1:{port} after {START_SECONDS:g} s; it was given --port"
    )


def _told(process: subprocess.Popen[bytes], program: Path, errors: IO[bytes]) -> str:
    """What it wrote last, or where it stands."""
    said = _last_words(errors)
    return _standing(process, program, errors) or said


def _standing(process: subprocess.Popen[bytes], program: Path, errors: IO[bytes]) -> str:
    """``extender.py, line 20: it has run for 5 s``, the line of a call that has not come back; empty without one."""
    before = errors.seek(0, os.SEEK_END)
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGUSR1)
    until = time.monotonic() + LINES
    while process.poll() is None and time.monotonic() < until:
        time.sleep(PAUSE)
        errors.seek(before)
        text = errors.read().decode(errors="replace")
        found = [
            re.findall(rf'File "(?:.*/)?{re.escape(program.name)}", line (\d+) in (?!<module>)', part)
            for part in text.split("\n\n")
        ]
        if lines := next(filter(None, found), None):
            return f"{program}, line {lines[0]}: it does not return"
        if "runpy" in text:
            return ""
    return ""


def _last_words(errors: IO[bytes]) -> str:
    """The last line of standard error, of a traceback with the place."""
    errors.seek(0)
    lines = [line for line in errors.read().decode(errors="replace").splitlines() if line.strip(" -")]
    places = [line.strip() for line in lines if line.lstrip().startswith("File ") and "line" in line]
    own = [place for place in places if "/lib/python" not in place and 'File "<' not in place]
    return " ".join(filter(None, (lines[-1].strip() if lines else "", f"({own[-1]})" if own else "")))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process, and what it started, politely first."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


_NUMBERS = itertools.count()


@contextlib.contextmanager
def student_code(folder: Path, choice: SchedulerChoice) -> Iterator[list[Callable[..., Any]]]:
    """Runs the files that a scheduler needs; gives the factories of its plugins.

    What the files print goes to standard error. Raises ConfigError for what cannot be run, with file and line.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(registered_until_the_end())
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        if choice.rules is not None:
            register = stack.enter_context(_loaded(folder, choice.rules))
            _called(register, folder / choice.rules.file)
        yield [stack.enter_context(_loaded(folder, plugin)) for plugin in choice.plugins]


@contextlib.contextmanager
def _loaded(folder: Path, code: CodeFile) -> Iterator[Callable[..., Any]]:
    """What is asked for of a file, in a module that nobody else can import."""
    path = folder / code.file
    text = read_text(path)
    module = ModuleType(f"student_{path.stem}_{next(_NUMBERS)}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        _called(lambda: exec(compile(text, str(path), "exec"), module.__dict__), path)
        found = getattr(module, code.attribute, None)
        if not callable(found):
            own = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
            raise ConfigError(f"{path}: there is no {code.attribute} to call{nearest(code.attribute, own)}")
        yield found
    finally:
        del sys.modules[module.__name__]


def _called(function: Callable[[], object], path: Path) -> None:
    try:
        called(function)
    except KubeSchedulerError:
        raise
    except RAISED as error:
        raise ConfigError(f"{path}{_line(error, path)}: {exception_text(error)}") from error


def _line(error: BaseException, path: Path) -> str:
    """The line of the student's file that raised it; a syntax error says its own."""
    if isinstance(error, SyntaxError):
        return ""
    own = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f", line {own[-1]}" if own else ""


class StudentScheduler(msgspec.Struct, frozen=True):
    """What decides, with a student's files in it, while they are loaded and running."""

    exercise: Exercise
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
            files = {key: str(self.file(other[key])) for key in ("policy", "config") if key in other}
            new = {"release": self.exercise.scheduler.release, **self.options}
            return ks.compare(cluster, list(asked) or None, old={**other, **files}, new=new, mode="sequence")

        return compared


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


MANIFESTS = (".yaml", ".yml", ".json")


class CheckOutcome(msgspec.Struct, frozen=True):
    """What came of one check."""

    name: str
    """What has to be so."""
    kind: str
    """The key of ``exercise.yaml`` that says which rule it is."""
    scenario: str
    """The hidden scenario it is of; empty: of what the student sees."""
    standing: Standing
    """How it came out."""
    found: str = ""
    """What is wrong, in a sentence; empty when nothing is."""
    remark: str = ""
    """What the student is told beside that."""


class CheckedExercise(msgspec.Struct, frozen=True):
    """What came of an exercise's checks."""

    exercise: Exercise
    work: Path
    """Where the student works."""
    outcomes: tuple[CheckOutcome, ...]
    """Of every check, in order."""
    notes: tuple[str, ...] = ()
    """What ``schedule`` would remark of the student's files, such as keys that are set twice."""

    @property
    def passed(self) -> bool:
        """Whether every check passes."""
        return all(one.standing is Standing.PASSED for one in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "kind": "CheckedExercise",
            "exercise": self.exercise.name,
            "title": self.exercise.title,
            "release": self.exercise.scheduler.release,
            "passed": self.passed,
            "notes": list(self.notes),
            "checks": [msgspec.structs.asdict(one) | {"standing": one.standing.value} for one in self.outcomes],
        }


def check_work(exercise: Exercise, work: Path) -> CheckedExercise:
    """Runs every check of an exercise on a student's files.

    What the files must not do is looked at first; when they do it, nothing is run. Raises InputError for files that are
    missing or wrong, code that raises, and an extender that fails: then nothing can be said.
    """
    files = _files(exercise, work)
    every = [(scenario, check) for scenario in exercise.scenarios for check in scenario.checks]
    of_files = [*only_edits(exercise.edit), *(check for _, check in every)]
    outcomes = [_outcome(one, "", one.rule.fault_in(files)) for one in of_files if isinstance(one.rule, FilesRule)]
    runs = [(scenario, check) for scenario, check in every if isinstance(check.rule, RunRule)]
    notes = dict.fromkeys(_changed(exercise, work))
    if any(one.standing is Standing.FAILED for one in outcomes):
        outcomes += [CheckOutcome(check.name, check.kind, one.name, Standing.SKIPPED) for one, check in runs]
    else:
        with student_scheduler(exercise, work) as scheduler:
            for scenario in exercise.scenarios:
                run = scheduler.run(scenario)
                notes |= dict.fromkeys(run.notes)
                outcomes += _outcomes(scenario, run)
    return CheckedExercise(exercise, work, tuple(outcomes), tuple(notes))


def _outcomes(scenario: ExerciseScenario, run: ScenarioRun) -> Iterator[CheckOutcome]:
    for check in scenario.checks:
        if isinstance(check.rule, RunRule):
            yield _outcome(check, scenario.name, check.rule.fault_of(run))


def _outcome(check: ExerciseCheck, scenario: str, fault: str) -> CheckOutcome:
    if not fault:
        return CheckOutcome(check.name, check.kind, scenario, Standing.PASSED)
    return CheckOutcome(check.name, check.kind, scenario, Standing.FAILED, fault, check.remark)


def check_apart(exercise: Exercise, work: Path) -> CheckedExercise:
    """``check_work``; code of the student's runs in a process of its own, which can be ended. Raises InputError."""
    if not exercise.runs_code and exercise.extender is None:
        return check_work(exercise, work)
    patience = f"{LIMIT.seconds if LIMIT.seconds is not None else PATIENCE:g}"
    words = ("lab", "check", str(exercise.folder), "--work", str(work), "-o", "json", "--patience", patience)
    done = subprocess.run(
        [sys.executable, "-m", "kubescheduler", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode not in (0, 1):
        lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        raise InputError([line.removeprefix("error: ") for line in lines] or [f"the check ended: {done.returncode}"])
    found = msgspec.json.decode(done.stdout)
    outcomes = tuple(msgspec.convert(one, CheckOutcome) for one in found["checks"])
    return CheckedExercise(exercise, work, outcomes, tuple(found["notes"]))


def _changed(exercise: Exercise, work: Path) -> Iterator[str]:
    """A note on each file that is given, lies with the student and is no longer what was given."""
    for file in exercise.given:
        with contextlib.suppress(OSError):
            if (work / file).read_bytes() != (exercise.folder / file).read_bytes():
                yield f"{work / file}: it is not as the exercise gives it; the check has used the file as given"


# --- the student's files -------------------------------------------------------------------------


def _files(exercise: Exercise, work: Path) -> StudentFiles:
    """Raises ConfigError with every file that is missing or cannot be read."""
    problems: list[str] = []
    theirs: dict[str, Sequence[Any]] = {}
    given: dict[str, Sequence[Any]] = {}
    for one in exercise.edit:
        path = work / one.file
        if not path.is_file():
            problems.append(f"{path}: there is no such file, and the exercise asks for it")
        elif path.suffix in MANIFESTS:
            theirs[one.file] = attempt(problems, _documents, path) or ()
            given[one.file] = _documents(exercise.folder / START / one.file)
    if problems:
        raise ConfigError(problems)
    return StudentFiles(work, theirs, given)


def _documents(path: Path) -> list[Any]:
    """The documents of a file, the items of lists among them."""
    out: list[Any] = []
    for document in parse_yaml(str(path), read_text(path).encode()):
        items = document.get("items") if isinstance(document, Mapping) else None
        out += items if isinstance(items, list) else [document] if document is not None else []
    return out


def checked_suite(checked: CheckedExercise) -> Suite:
    """For CI: what fails is a failure; what was not tried, as the files do what they must not, is skipped."""
    return Suite(checked.exercise.name, [_case(checked, outcome) for outcome in checked.outcomes])


def _case(checked: CheckedExercise, outcome: CheckOutcome) -> CiCase:
    group = ".".join(filter(None, (checked.exercise.name, outcome.scenario)))
    text = "\n".join(filter(None, (outcome.found, outcome.remark)))
    return CiCase(group, outcome.name, outcome.standing, outcome.kind, outcome.found, text)
