"""Commands of examples without a start of their own: each is a fork of one process that has imported everything.

Python begins, and imports the program, in a third of a second: three hundred examples do little else.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

WARM = """
import contextlib, importlib, json, os, pkgutil, runpy, sys, tempfile, traceback

import kubescheduler
from kubescheduler.__main__ import main

import pytest

LATER = (".__main__", ".shipped", "kubescheduler.testing", "kubescheduler.mcp")
for found in pkgutil.walk_packages(kubescheduler.__path__, "kubescheduler."):
    if not any(part in found.name for part in LATER):
        with contextlib.suppress(ImportError):
            importlib.import_module(found.name)


def become(asked, printed):
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    for stream in (1, 2):
        os.dup2(printed, stream)
    sys.stdin = open(os.devnull)
    sys.argv = asked["arguments"]
    if sys.argv[0] == "kubescheduler":
        main()
    else:
        del sys.argv[:2]
        sys.path.insert(0, asked["folder"])
        runpy.run_module("pytest", run_name="__main__", alter_sys=True)


def status_of(asked, printed):
    try:
        become(asked, printed)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


answers = os.fdopen(int(sys.argv.pop()), "w")
for line in sys.stdin:
    asked = json.loads(line)
    with tempfile.TemporaryFile() as printed:
        child = os.fork()
        if not child:
            status = status_of(asked, printed.fileno())
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        printed.seek(0)
        answers.write(json.dumps([status, printed.read().decode()]) + "\\n")
        answers.flush()
"""
"""Runs what is asked for, a line each: ``arguments``, ``folder``, ``environment``; answers with status and output."""

PLAIN = re.compile(r"(?:kubescheduler|python -m pytest)(?: [^|<>&;$`*?~#\n]+)?")
"""A command that no shell is needed for."""
STARTING = ("sweep", "lab", "run")
"""Commands that start processes of their own, or serve."""


def arguments_of(command: str) -> list[str] | None:
    """The words of a command that ``ran`` can run; None: a shell has to."""
    joined = command.replace("\\\n", " ")
    if not PLAIN.fullmatch(joined):
        return None
    words = shlex.split(joined)
    return None if set(words[1:2]) & set(STARTING) else words


@functools.cache
def _warm() -> tuple[subprocess.Popen[str], int]:
    answers, told = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", WARM, str(told)],
        stdin=subprocess.PIPE,
        text=True,
        pass_fds=[told],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "LC_ALL": "C.UTF-8"},
    )
    os.close(told)
    return process, answers


def ran(arguments: list[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """(exit status, what it printed) of a command in a folder. The process that runs it ends with this one."""
    process, answers = _warm()
    assert process.stdin is not None
    asked = {"arguments": arguments, "folder": str(folder), "environment": dict(environment)}
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(answers, 1 << 16)
        assert part, f"it ended: {process.wait()}"
        line += part
    status, printed = json.loads(line)
    return status, printed
