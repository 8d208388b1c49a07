"""One measurement in a process of its own: nothing that another left behind is in its memory or its caches."""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
"""The checkout that this file is in."""

KIBIBYTE, MEBIBYTE = 1 << 10, 1 << 20
LACKING = "lacking: "
"""What a child's last line begins with when the measured checkout does not have what is measured."""

ENTRY = """
import sys
sys.path.insert(0, {benchmarks!r})
from benchmarks.child_process import answer
sys.path[0] = {checkout!r}
answer({module!r}, {function!r}, {checkout!r})
"""
"""The benchmarks of this checkout, over the packages of another."""

PACKAGES = ("algorithmprovider", "clusterstate", "kubescheduler", "predicates", "priorities")


class FailedError(Exception):
    """The child ended with an error or was ended; the text is what it wrote, or why."""


class LackingError(Exception):
    """The measured checkout does not have what is measured: a module, a command or an option."""


def measured_in_child(
    function: Callable[..., dict[str, Any]],
    arguments: dict[str, Any],
    checkout: Path = HERE,
    timeout: float | None = None,
) -> Any:
    """What ``function(**arguments)`` of a module of these benchmarks returns, in a child process.

    Arguments and answer are JSON. checkout: whose packages it measures, by the Python of its ``.venv``, which only this
    one need not have. timeout: seconds after which it is ended, with all that it started. Raises FailedError,
    LackingError.
    """
    own = checkout / ".venv" / "bin" / "python"
    if checkout != HERE and not own.exists():
        raise FailedError(f"{own} does not exist: make it, and install the checkout with it")
    code = ENTRY.format(
        benchmarks=str(HERE), checkout=str(checkout), module=function.__module__, function=function.__name__
    )
    command = [str(own) if own.exists() else sys.executable, "-c", code, json.dumps(arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as child:
        try:
            printed, complaint = child.communicate(timeout=timeout)
        except BaseException as error:
            os.killpg(child.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise FailedError(f"not done after {timeout:.0f} s") from None
            raise
    complaint = complaint.strip()
    if child.returncode:
        last = complaint.rpartition("\n")[2]
        if last.startswith(LACKING):
            raise LackingError(last.removeprefix(LACKING))
        raise FailedError(complaint or f"exit status {child.returncode}")
    return json.loads(printed.splitlines()[-1])


def answer(module: str, function: str, checkout: str) -> None:
    """In the child: calls the function with the JSON of the command line, and prints what it returns as JSON.

    Ends with an error where a package that was measured is not the checkout's.
    """
    try:
        found = getattr(importlib.import_module(module), function)(**json.loads(sys.argv[1]))
    except (ImportError, LackingError) as error:
        sys.exit(LACKING + str(error))
    for name in PACKAGES:
        path = getattr(sys.modules.get(name), "__file__", None)
        if path is not None and not Path(path).is_relative_to(checkout):
            sys.exit(f"{name} was imported from {path}, not from {checkout}")
    sys.stdout.write(json.dumps(found) + "\n")


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
