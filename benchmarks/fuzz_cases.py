"""One hostile case and its verdict: stand-ins for the network and other processes, and code of a user's own."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import socket
import sys
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import attrs

from algorithmprovider import FIT_PREDICATES, PRIORITY_CONFIGS, PROVIDERS
from benchmarks.fuzz_documents import FIXED_FILES, MINE, MY_POLICY, dumped
from clusterstate.errors import ConfigError, InputError
from kubescheduler.cli import run
from kubescheduler.extender import recorded_answers
from kubescheduler.releases import v1_20
from kubescheduler.releases.lookup import RELEASES
from kubescheduler.sources.untrusted import shown
from kubescheduler.sweep.cases import Case as SweepCase
from kubescheduler.sweep.run_case import CaseOutcome, run_case

MOST_ANSWER = 60_000
"""Bytes of an answer, which has to fit into the buffer of a pair of sockets."""


@contextmanager
def hermetic(exchanges: Sequence[bytes]) -> Iterator[None]:
    """Within it extenders are a list of answers, sweeps run in this process, and custom rules are forgotten again."""
    registered = [(table, dict(table)) for table in _registries()]
    modules, path = set(sys.modules), list(sys.path)
    peers: list[socket.socket] = []
    left = list(exchanges)

    def connect(*_: Any) -> socket.socket:
        if not left:
            raise ConnectionRefusedError(111, "Connection refused")
        ours, theirs = socket.socketpair()
        peers.append(theirs)
        theirs.sendall(left.pop(0)[:MOST_ANSWER])
        theirs.shutdown(socket.SHUT_WR)
        return ours

    try:
        with (
            mock.patch("kubescheduler.extender.transport._connect", connect),
            mock.patch("kubescheduler.sweep.sweeping.run_locally", _run_here),
        ):
            yield
    finally:
        recorded_answers._RECORDS.clear()
        for table, before in registered:
            table.clear()
            table.update(before)
        for name in [name for name in sys.modules if name.startswith("fuzz_plugin") and name not in modules]:
            del sys.modules[name]
        sys.path[:] = path
        for peer in peers:
            peer.close()


def _registries() -> Sequence[dict[str, Any]]:
    return FIT_PREDICATES, PRIORITY_CONFIGS, PROVIDERS


def _run_here(cases: Sequence[SweepCase], workers: int) -> Generator[CaseOutcome]:  # noqa: ARG001
    yield from map(run_case, cases)


def check_kubeconfig(arguments: list[str]) -> int:
    """Reads a kubeconfig and the files that it names, and connects to nothing."""
    from kubescheduler.live.transport.kubeconfig import Kubeconfig

    def read() -> None:
        found = Kubeconfig.read(arguments[0])
        try:
            found.client_pair(), found.cluster_info()
        except (OSError, ValueError) as error:  # its caller's to tell
            raise ConfigError(str(error)) from None

    return _status(read)


def check_exercise(arguments: list[str]) -> int:
    """Reads the description of an exercise."""
    from kubescheduler.lab.exercises.exercise_reading import read_exercise

    return _status(lambda: read_exercise(Path(arguments[0])))


def _status(read: Callable[[], object]) -> int:
    """The exit status of a command that would read this."""
    try:
        read()
    except InputError as error:
        sys.stderr.write("".join(f"error: {shown(problem)}\n" for problem in error.problems))
        return 2
    return 0


def check_placements(arguments: list[str]) -> int:
    """Reads a file of recorded placements as the pytest fixture does, and holds it against a decision."""
    import pytest

    from kubescheduler.engine.spec import EngineSpec
    from kubescheduler.testing.named_inputs import SharedCluster
    from kubescheduler.testing.placements import Placer, differences, read
    from kubescheduler.testing.running_session import UsageErrors

    placements = Placer(EngineSpec.parse("release=1.16"), SharedCluster((str(Path("given.yaml").absolute()),))).place(
        "pod.yaml"
    )
    try:
        with UsageErrors():
            lines = differences(read(Path(arguments[0])), placements, exact=True)
    except pytest.UsageError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write("\n".join(lines))
    return int(bool(lines))


_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal or an editor takes for a command."""


@attrs.frozen
class Case:
    """What one run is given."""

    command: Sequence[str]
    """The command line, without the program's name."""
    files: Mapping[str, bytes] = attrs.field(factory=dict)
    """By name, in the current folder, beside FIXED_FILES."""
    stdin: bytes = b""
    exchanges: Sequence[bytes] = ()
    """What an extender sends back to one request after the other, HTTP and all; none: it refuses the connection."""
    entry: Callable[[list[str]], int] = run
    """Runs the command line and returns the exit status."""


@attrs.frozen
class Reader:
    """One thing that is read."""

    name: str
    case: Callable[[Random], Case]
    """Makes a case; the same for the same state of the generator."""


@attrs.frozen
class Outcome:
    """What a case did."""

    status: int
    out: str
    err: str

    @property
    def fault(self) -> str | None:
        """How it breaks the law; None if it does not.

        The law: exit 0, 1 or 2, a message with 2, no traceback, and nothing that a terminal takes for a command.
        """
        if self.status not in (0, 1, 2):
            return f"exit status {self.status}"
        both = self.out + self.err
        if "Traceback (most recent" in both or "a fault in kubescheduler" in both:
            return "traceback"
        if self.status == 2 and "error: " not in self.err and "Error: " not in self.err:
            return "status 2 without a message"
        if found := _UNPRINTABLE.search(both):
            return f"{found[0]!r} in the output"
        return None


def prepare(folder: Path) -> None:
    """Empties a folder but for what the commands need besides the hostile files."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name not in FIXED_FILES:
            entry.unlink()
    for name, text in FIXED_FILES.items():
        (folder / name).write_text(text)
    (folder / "folder").mkdir()
    (folder / "loop.yaml").symlink_to("loop.yaml")


def execute(folder: Path, case: Case) -> Outcome:
    """Runs a case in this process, with ``folder`` as the current one; what it was before the case does not matter."""
    prepare(folder)
    for name, data in case.files.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(data)
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="surrogateescape"), io.StringIO()
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(case.stdin))
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            contextlib.chdir(folder),
            hermetic(case.exchanges),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("error")
            status = case.entry(list(case.command))
    finally:
        sys.stdin = before
    out.flush()
    return Outcome(status, out.buffer.getvalue().decode("utf-8", "replace"), err.getvalue())


ANSWERS = (
    *("None", "True", "False", "0", "1", "-1", "50", "2**70", "0.5", "float('nan')", "float('inf')", "'no'", "b'no'"),
    *("[]", "{}", "()", "set()", "[None]", "{'n1': 1}", "(True, [])", "(False, ['no'])", "(False, 'no')", "(1, 2, 3)"),
    *("(False, [None])", "(None, 5)", "('n1', None)", "('n9', None)", "(None, 0.5)", "(None, -1)", "(None, 10**30)"),
    *("object()", "object", "lambda *_: 0", "(i for i in range(3))", "NotImplemented", "...", "Odd()", "arguments[-1]"),
    *("np.zeros(2)", "np.zeros(2, np.int64)", "np.ones(2, bool)", "np.zeros((2, 2), int)", "np.array(['a', 'b'])"),
    *("np.array([2**62, 2**62])", "np.int64(5)", "np.bool_(True)", "{'no': np.ones(2, bool)}", "{5: np.ones(2, bool)}"),
    *(
        "{'no': np.ones(9, bool)}",
        "{'no': [True, False]}",
        "{'no': 5}",
        "{Status.unschedulable('x'): np.ones(2, bool)}",
    ),
    *("Status.unschedulable('no')", "Status.unresolvable('no')", "Status.failure('no')", "Status(Code.Wait)"),
    *("Status(Code.Skip)", "Status.unschedulable(5)", "Status.unschedulable('\\x1b[31m\\u202e\\0a\\nb')", "Status(99)"),
    *(
        "PreFilterResult(frozenset())",
        "PreFilterResult(frozenset({'n9'}))",
        "PreFilterResult(5)",
        "PreFilterResult(['n1'])",
    ),
    *("raised(ValueError('odd'))", "raised(KeyError())", "raised(SystemExit(0))", "raised(SystemExit('bye'))"),
    *("raised(StopIteration())", "raised(GeneratorExit())", "raised(RecursionError())", "raised(MemoryError())"),
    *("raised(OSError(28, 'No space left'))", "raised(BrokenPipeError())", "raised(SchedulingError('no'))"),
    *("raised(Silent())", "raised(UnicodeDecodeError('utf-8', b'x', 0, 1, 'odd'))", "raised(AssertionError)"),
    *(
        "1 / 0",
        "deeper()",
        "open('/nowhere')",
        "[][0]",
        "'x' * 100_000",
        "'\\x1b]0;title\\x07'",
        "__import__('nowhere')",
    ),
)
CODE = """\
import numpy as np
from algorithmprovider import register_fit_predicate, register_priority_function
from clusterstate.errors import SchedulingError
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.plugin import PreFilterResult

class Silent(Exception):
    def __str__(self): raise ValueError

class Odd:
    def __repr__(self): raise ValueError
    def __bool__(self): raise ValueError
    def __eq__(self, other): raise ValueError
    __hash__ = None

def raised(error): raise error

def deeper(): return deeper()

"""
METHODS = {
    "pre_enqueue": "pod",
    "less": "first, second",
    "pre_filter": "state, pod, snapshot",
    "filter": "state, pod, node_info",
    "filter_nodes": "state, pod, snapshot",
    "post_filter": "state, pod, statuses",
    "pre_score": "state, pod, snapshot",
    "score": "state, pod, node_info",
    "score_nodes": "state, pod, snapshot",
    "normalize_scores": "state, pod, scores",
    "reserve": "state, pod, node_name",
    "permit": "state, pod, node_name",
    "pre_bind_pre_flight": "state, pod, node_name",
    "pre_bind": "state, pod, node_name",
    "bind": "state, pod, node_name",
    "post_bind": "state, pod, node_name",
}
COMMANDS = (
    ("schedule", "busy.yaml", "--pod", "pod.yaml", "--explain"),
    ("schedule", "busy.yaml", "--pending", "--preempt", "-o", "json"),
    ("simulate", "busy.yaml", "--workload", "workload.yaml", "--pending", "--preempt"),
    ("capacity", "given.yaml", "--pod", "pod.yaml", "--limit", "3"),
)


def plugin_case(rng: Random) -> Case:
    """A framework plugin with one to three methods that answer something odd."""
    lines = [rng.choice(["name = 'Mine'"] * 12 + ["name = 5", "name = ''", "nme = 1", "name = '\\x1b[31m'", ""])]
    for method in rng.sample(list(METHODS), rng.randint(1, 3)):
        arguments = METHODS[method] if rng.random() < 0.9 else rng.choice(["pod", "*rest", "a, b, c, d", "*, key"])
        lines += _method(rng, method if rng.random() < 0.97 else method[:-1], f"self, {arguments}")
    if rng.random() < 0.1:
        lines += [f"def __init__(self, *arguments): {rng.choice(ANSWERS)}"]
    if rng.random() < 0.1:
        lines += [f"points = {rng.choice(['[]', '5', 'None', '[5]', '{0}'])}"]
    code = CODE + "class Mine:\n" + "".join(f"    {line}\n" for line in lines)
    factory = rng.choice(["Mine"] * 9 + ["Gone", "raised", "CODE", "np", "5"])
    release = rng.choice(["1.20", "1.36", "1.36", "1.36"])
    config = _points(rng) if RELEASES[release].reads_policies else MINE
    return _case(rng, code, dumped(config), ("--release", release, "--config", "mine.json"), f"Mine={{}}:{factory}")


def rule_case(rng: Random) -> Case:
    """A predicate and a priority of 1.4 or 1.16 that answer something odd."""
    arguments = ["pod, meta, node_info", "pod, meta, node_info", "pod, snapshot", "*arguments", "pod", ""]
    lines = [*_method(rng, "fits", rng.choice(arguments)), *_method(rng, "scores", rng.choice(arguments))]
    register = [
        f"register_fit_predicate({rng.choice(['`Mine`'] * 9 + ['5', '``', '`a b`'])}, fits)",
        f"register_priority_function({rng.choice(['`Mine`'] * 9 + ['5', 'None'])}, scores)",
        rng.choice(["pass"] * 9 + list(ANSWERS)),
    ]
    lines += ["def register():", *(f"    {line.replace('`', chr(39))}" for line in register)]
    code = CODE + "".join(f"{line}\n" for line in lines)
    policy = dumped(MY_POLICY)
    return _case(
        rng,
        code,
        policy,
        ("--policy-config-file", "mine.json", "--release", rng.choice(["1.4", "1.16"])),
        "{}:register",
    )


def _method(rng: Random, name: str, arguments: str) -> list[str]:
    answer = rng.choice(ANSWERS)
    if "arguments" not in arguments:
        answer = answer.replace("arguments[-1]", arguments.rsplit(", ", maxsplit=1)[-1].lstrip("*") or "None")
    kind = rng.random()
    if kind < 0.03:
        return [f"{name} = {answer if 'raised' not in answer and '/' not in answer else 5}"]
    return [f"{'async ' if kind < 0.06 else ''}def {name}({arguments}): return {answer}"]


def _points(rng: Random) -> object:
    """A configuration of 1.20, which names a plugin at every point."""
    points = [point.value for point in v1_20.POINTS]
    chosen = rng.sample(points, rng.randint(1, len(points)))
    plugins = {point: {"enabled": [{"name": "Mine", "weight": 1}]} for point in chosen}
    if "queueSort" in plugins:
        plugins["queueSort"]["disabled"] = [{"name": "*"}]
    return {**MINE, "apiVersion": "kubescheduler.config.k8s.io/v1beta1", "profiles": [{"plugins": plugins}]}


def _case(rng: Random, code: str, config: bytes, options: tuple[str, ...], plugin: str) -> Case:
    module = f"fuzz_plugin_{rng.getrandbits(60)}"
    if rng.random() < 0.05:
        code = code[: rng.randrange(len(code))]
    files = {f"{module}.py": code.encode(), "mine.json": config}
    return Case((*rng.choice(COMMANDS), *options, "--plugin", plugin.format(module)), files)
