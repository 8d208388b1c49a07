"""The command line, in this process and in one of its own, in a folder with a small cluster."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from algorithmprovider import FIT_PREDICATES, PRIORITY_CONFIGS, PROVIDERS
from kubescheduler.cli import run

ROOT = Path(__file__).parents[3]

CLUSTER = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1, disk: ssd}}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {kubernetes.io/hostname: n2, disk: hdd}}
status: {capacity: {cpu: "2", memory: 4Gi, pods: "110"}}
"""

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, resources: {requests: {cpu: 500m}}}]}
"""


def pod(name: str, cpu: str = "500m", *, metadata: str = "", spec: str = "") -> str:
    """The manifest of a pod, one document of a YAML stream."""
    container = f"{{name: c, resources: {{requests: {{cpu: {cpu}}}}}}}"
    return (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}{metadata}}}\n"
        f"spec: {{containers: [{container}]{spec}}}\n"
    )


@attrs.frozen
class Outcome:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[list[str]]:
        """The words of each line of the output."""
        return [line.split() for line in self.out.splitlines()]

    def refused(self, *texts: str) -> None:
        """Holds that it is an error and no answer: status 2, nothing on standard output, these texts beside it."""
        assert (self.status, self.out) == (2, ""), self.err
        assert "Traceback" not in self.err
        assert [text for text in texts if text not in self.err] == [], self.err


Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: cluster.yaml with two nodes, pod.yaml with one pod, shapes.yaml with a shape of nodes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "shapes.yaml").write_text("- {cpu: 4, memory: 16Gi}\n")
    return tmp_path


@pytest.fixture
def kubescheduler(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command line in this process: ``kubescheduler("schedule", …, stdin=b"")``."""

    def call(*args: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status = run(list(args))
        out, err = capsys.readouterr()
        return Outcome(status, out, err)

    return call


@pytest.fixture
def schedule(kubescheduler: Run) -> Run:
    """``kubescheduler schedule cluster.yaml`` with more arguments."""

    def call(*args: str, stdin: bytes = b"") -> Outcome:
        return kubescheduler("schedule", "cluster.yaml", *args, stdin=stdin)

    return call


COMMAND = (sys.executable, "-m", "kubescheduler")
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "PATH": "", "PYTHONWARNINGS": "error"}


def in_a_process(
    *args: str, stdin: bytes = b"", cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Outcome:
    """Runs ``python -m kubescheduler`` in a process of its own."""
    done = subprocess.run(
        [*COMMAND, *args],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env={**ENVIRONMENT, **(env or {})},
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def own_algorithms(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undoes what a test registers, and what it makes importable."""
    modules, path = set(sys.modules), list(sys.path)
    tables: tuple[dict[str, Any], ...] = (FIT_PREDICATES, PRIORITY_CONFIGS, PROVIDERS)
    registered = [(table, dict(table)) for table in tables]
    yield
    for table, before in registered:
        table.clear()
        table.update(before)
    for name in set(sys.modules) - modules:
        if name.startswith("plugin"):
            del sys.modules[name]
    sys.path[:] = path
