"""A process of its own for a command that runs a user's own code: code that never gives Python a turn ends with it."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from algorithmprovider.code_watch import CodeWatch

_PASSED_ON = {getattr(signal, name, signal.SIGINT) for name in ("SIGINT", "SIGTERM", "SIGHUP")}
_PARENT_DIES = 1
"""PR_SET_PDEATHSIG of Linux."""


def in_a_process_of_its_own() -> None:
    """What follows runs in a child, and this process ends as that does; status 2 where the child was ended."""
    from kubescheduler import cli

    if not cli.console or not hasattr(signal, "sigtimedwait"):
        return
    from algorithmprovider.code_watch import CodeWatch
    from algorithmprovider.custom_code import LIMIT

    watch = CodeWatch()
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON | {signal.SIGCHLD})
    child = os.fork()
    if child == 0:
        _end_with_parent()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        LIMIT.begin(watch)
        return
    status = _awaited(child, watch)
    if status < 0 and -status not in _PASSED_ON:
        ended = f"the process was ended by {signal.Signals(-status).name}, and nothing of it is an answer"
        sys.stderr.write(f"error: {watch.problem(ended)}\n")
        sys.stderr.flush()
        status = 2
    os._exit(status if status >= 0 else 128 - status)


def _awaited(child: int, watch: CodeWatch) -> int:
    """The exit status of the child, to which signals are passed on, and which is ended where a call overruns."""
    from algorithmprovider.code_watch import TICK

    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        watch.look(child)
        told = signal.sigtimedwait(_PASSED_ON | {signal.SIGCHLD}, TICK)
        # Those of a terminal (si_code above 0) have come to the child as well.
        if told is not None and told.si_signo != signal.SIGCHLD and told.si_code <= 0:
            os.kill(child, told.si_signo)


def _end_with_parent() -> None:
    """A parent that is killed takes the child with it, where the system can do that."""
    import contextlib
    import ctypes

    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(_PARENT_DIES, signal.SIGKILL)
