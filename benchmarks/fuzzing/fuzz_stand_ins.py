"""What takes the place of the network, of other processes and of what a process keeps while a hostile case runs."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from algorithmprovider import FIT_PREDICATES, PRIORITY_CONFIGS, PROVIDERS
from clusterstate.errors import ConfigError, InputError
from kubescheduler.extender import recorded_answers
from kubescheduler.sources.foreign_text import shown
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
            mock.patch("kubescheduler.sweep.local_workers.run_locally", _run_here),
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
    from kubescheduler.testing.cluster_argument import SharedCluster
    from kubescheduler.testing.placements import Placer
    from kubescheduler.testing.records import differences, read
    from kubescheduler.testing.usage_errors import UsageErrors

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
