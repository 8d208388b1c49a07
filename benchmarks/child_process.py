"""One measurement in a process of its own: nothing that another left behind is in its memory or its caches."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
"""The checkout that this file is in."""

KIBIBYTE = 1024

ENTRY = """
import importlib, json, sys
sys.path.insert(0, {benchmarks!r})
import benchmarks
sys.path[0] = {checkout!r}
module = importlib.import_module({module!r})
sys.stdout.write(json.dumps(module.{function}(**json.loads(sys.argv[1]))) + "\\n")
"""
"""The benchmarks of this checkout, over the packages of another."""


class FailedError(Exception):
    """The child ended with an error; the text is what it wrote."""


def measured_in_child(function: Callable[..., dict[str, Any]], arguments: dict[str, Any], checkout: Path = HERE) -> Any:
    """What ``function(**arguments)`` of a module of these benchmarks returns, in a child process.

    Arguments and answer are JSON. checkout: whose packages it measures, by the Python of its ``.venv`` if it has one.
    Raises FailedError.
    """
    own = checkout / ".venv" / "bin" / "python"
    code = ENTRY.format(
        benchmarks=str(HERE), checkout=str(checkout), module=function.__module__, function=function.__name__
    )
    command = [str(own) if own.exists() else sys.executable, "-c", code, json.dumps(arguments)]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    if child.returncode:
        raise FailedError(child.stderr.strip() or f"exit status {child.returncode}")
    return json.loads(child.stdout.splitlines()[-1])


def peak_memory() -> int:
    """Bytes of this process's resident memory at its highest."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIBIBYTE


class Stopwatch:
    """Wall and CPU time of what happens between ``start`` and ``stop``, added up."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    def start(self) -> None:
        """Starts, or goes on."""
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        """Adds what has passed since ``start``."""
        self.cpu += time.process_time() - self._cpu
        self.wall += time.perf_counter() - self._wall
