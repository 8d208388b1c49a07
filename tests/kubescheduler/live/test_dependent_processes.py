"""Servers and schedulers that tests start do not outlive them, however the tests end."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs
import pytest

from tests.support.processes import SECONDS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends processes with their parents")

ROOT = Path(__file__).parents[3]
ENDS = pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda end: end.name)

PROGRAM = '#!/bin/sh\nexec 3> "$HEIRS"\necho up >&3\nexec sleep 600 2>&1\n'
"""Holds the pipe that HEIRS names open."""
PARENT = """
import subprocess, sys
from tests.support.processes.dependent_processes import dependent

subprocess.Popen(dependent(sys.argv[1:])).wait()
"""
TESTS = "def test_with_a_server(real_apiserver): pass\n"


@attrs.frozen(eq=False)
class Heirs:
    """Processes that hold a named pipe open: what they say, and when the last of them is gone."""

    pipe: Path
    _reads: int

    @property
    def environment(self) -> Mapping[str, str]:
        """By which programs find the pipe."""
        return {**os.environ, "HEIRS": str(self.pipe)}

    def say(self) -> bytes:
        """What comes next; nothing once all are gone."""
        ready, _, _ = select.select([self._reads], [], [], SECONDS)
        assert ready, "somebody is still there"
        return os.read(self._reads, 100)


@pytest.fixture
def heirs(tmp_path: Path) -> Iterator[Heirs]:
    """A pipe that nobody has opened to write."""
    pipe = tmp_path / "heirs"
    os.mkfifo(pipe)
    reads = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    yield Heirs(pipe, reads)
    os.close(reads)


def program(path: Path) -> Path:
    """One that holds the pipe open."""
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return path


@ENDS
def test_a_program_ends_with_who_has_started_it(heirs: Heirs, tmp_path: Path, end: signal.Signals) -> None:
    """Whatever ended that one."""
    command = [sys.executable, "-c", PARENT, str(program(tmp_path / "waits"))]
    with subprocess.Popen(command, cwd=ROOT, env=heirs.environment, stderr=subprocess.DEVNULL) as parent:
        assert heirs.say() == b"up\n"
        parent.send_signal(end)
    assert heirs.say() == b""


@ENDS
def test_servers_end_with_their_tests(heirs: Heirs, tmp_path: Path, end: signal.Signals) -> None:
    """A pytest that is ended while it starts a server leaves neither etcd nor the API server."""
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("etcd", "kube-apiserver"):
        program(assets / name)
    tests = tmp_path / "test_with_servers.py"
    tests.write_text(TESTS)
    options = ("-p", "tests.conftest", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", f"--basetemp={tmp_path}/temp")
    command = [sys.executable, "-m", "pytest", *options, str(tests)]
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # others take long to begin with
    environment = {**heirs.environment, **alone, "KUBEBUILDER_ASSETS": str(assets), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL) as run:
        said = heirs.say()
        while said.count(b"up") < 2:
            said += heirs.say()
        run.send_signal(end)
    assert heirs.say() == b""
