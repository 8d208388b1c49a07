"""Commands of examples without a start of their own: each is a fork of one process that has imported everything.

Python begins, and imports the program, in a third of a second; three hundred examples do little else. ``put_into``
writes programs ``kubescheduler`` and ``python`` that hand their words, streams and environment to that process.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WARM = """
import contextlib, importlib, json, os, pkgutil, runpy, select, signal, socket, sys, traceback

import kubescheduler
from kubescheduler.__main__ import main

import pytest

LATER = (".__main__", ".shipped", "kubescheduler.testing", "kubescheduler.mcp_tools")
for found in pkgutil.walk_packages(kubescheduler.__path__, "kubescheduler."):
    if not any(part in found.name for part in LATER):
        with contextlib.suppress(ImportError):
            importlib.import_module(found.name)
for release in ("1.16", "1.36"):
    cluster = kubescheduler.Cluster(release=release).node("a", cpu=1).pod("p", cpu=1)
    kubescheduler.Scheduler(cluster).decide(cluster.pending()[0]).to_dict()


def become(asked, streams):
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.argv = asked["arguments"]
    if sys.argv[0] == "kubescheduler":
        main()
    else:
        sys.path.insert(0, asked["folder"])
        runpy.run_module("pytest", run_name="__main__", alter_sys=True)


def status_of(asked, streams):
    try:
        become(asked, streams)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def serve(connection):
    text, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    while not text.endswith(b"\\n"):
        text += connection.recv(1 << 16)
    status = status_of(json.loads(text), streams)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    connection.sendall(b"%d" % status)
    os._exit(0)


listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print(flush=True)
while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
    connection, _ = listener.accept()
    if not os.fork():
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        listener.close()
        serve(connection)
    connection.close()
"""
"""Is asked for commands on a socket, and answers each with its exit status; ends with its standard input."""

CLIENT = """#!{python} -IS
import json, os, socket, sys

name, *words = os.path.basename(sys.argv[0]), *sys.argv[1:]
ours = words[:2] == ["-m", "pytest"] if name == "python" else words[:1] not in (["lab"], ["run"], ["sweep"])
if not ours:  # what begins processes of its own, or serves, begins as ever
    os.execv({python!r}, [{python!r}, *(["-m", name] if name != "python" else []), *words])
arguments = words[1:] if name == "python" else [name, *words]
asked = {{"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}}
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({address!r})
    text = json.dumps(asked).encode() + b"\\n"
    sent = socket.send_fds(connection, [text], [0, 1, 2])
    connection.sendall(text[sent:])
    sys.exit(int(connection.recv(9)))
"""


@functools.cache
def _warm() -> str:
    """The address of the process, which ends with this one."""
    folder = tempfile.mkdtemp(prefix="warm-")
    address = str(Path(folder) / "socket")
    process = subprocess.Popen(
        [sys.executable, "-c", WARM, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "LC_ALL": "C.UTF-8"},
    )

    def end() -> None:
        process.communicate()
        shutil.rmtree(folder)

    atexit.register(end)
    assert process.stdout is not None
    assert process.stdout.readline(), "it did not begin"
    return address


def put_into(folder: Path) -> None:
    """Writes the programs into a folder that is to be the first in ``PATH``."""
    for name in ("kubescheduler", "python"):
        program = folder / name
        program.write_text(CLIENT.format(python=sys.executable, address=_warm()), encoding="utf-8")
        program.chmod(0o755)
