"""A process of its own for a command that runs a user's own code: code that never gives Python a turn ends with it."""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
from typing import IO

_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+) in ', re.MULTILINE)
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PACKAGES = ("kubescheduler", "algorithmprovider", "predicates", "priorities", "clusterstate")
_NOT_THEIRS = ("<", os.path.dirname(os.__file__), *(os.path.join(_ROOT, name) + os.sep for name in _PACKAGES))
_PASSED_ON = {getattr(signal, name, signal.SIGINT) for name in ("SIGINT", "SIGTERM", "SIGHUP")}
_PARENT_DIES = 1
"""PR_SET_PDEATHSIG of Linux."""


def in_a_process_of_its_own() -> None:
    """What follows runs in a child, and this process ends as that does; status 2 where the child was ended."""
    from kubescheduler import cli

    if not cli.console or not hasattr(signal, "sigwaitinfo"):
        return
    from algorithmprovider.time_limit import LIMIT

    dump = tempfile.TemporaryFile()  # noqa: SIM115 - for as long as the process lives
    LIMIT.dump = dump
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON | {signal.SIGCHLD})
    child = os.fork()
    if child == 0:
        _end_with_parent()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    status = _awaited(child)
    text = _what_stood(dump)
    if text:
        _complain(f"{text}it has run for too long (--patience) and cannot be ended")
        status = 2
    elif status < 0 and -status not in _PASSED_ON:
        _complain(f"the process was ended by {signal.Signals(-status).name}, and nothing of it is an answer")
        status = 2
    os._exit(status if status >= 0 else 128 - status)


def _complain(text: str) -> None:
    sys.stderr.write(f"error: {text}\n")
    sys.stderr.flush()


def _awaited(child: int) -> int:
    """The exit status of the child, to which signals are passed on."""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        told = signal.sigwaitinfo(_PASSED_ON | {signal.SIGCHLD})
        # Those of a terminal (si_code above 0) have come to the child as well.
        if told.si_signo != signal.SIGCHLD and told.si_code <= 0:
            os.kill(child, told.si_signo)


def _what_stood(dump: IO[bytes]) -> str:
    """The user's innermost line of a traceback that was written as the process ended; empty without one."""
    dump.seek(0)
    text = dump.read().decode(errors="replace")
    for frame in _FRAME.finditer(text):
        if not frame["file"].startswith(_NOT_THEIRS) and "site-packages" not in frame["file"]:
            return f"{frame['file']}, line {frame['line']}: "
    return "code of your own: " if text else ""


def _end_with_parent() -> None:
    """A parent that is killed takes the child with it, where the system can do that."""
    import contextlib
    import ctypes

    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(_PARENT_DIES, signal.SIGKILL)
