"""Programs that tests start, and that end when the tests do, whatever ends these: also a signal that runs no fixture.

As a script, ``dependent_processes.py PARENT PROGRAM ARGUMENTS…`` becomes the program: it keeps its process id, and what
is inherited. Only the standard library is imported, so that it takes as little time as Python can.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1
"""Linux's prctl: the signal that a process gets when the thread that has started it is gone. It survives ``exec``."""


def dependent(command: Sequence[str]) -> list[str]:
    """A command that runs another one until the thread that starts it ends.

    Linux kills it then; on other systems it is left to whoever has started it.
    """
    if sys.platform != "linux":
        return list(command)
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def become(parent: int, command: Sequence[str]) -> None:
    """Replaces this process by a program, which dies with its parent. parent: the process that it was started by."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    if os.getppid() != parent:  # it ended before it was to be noticed
        os.kill(os.getpid(), signal.SIGKILL)
    os.execvp(command[0], list(command))


if __name__ == "__main__":
    become(int(sys.argv[1]), sys.argv[2:])
