"""What is said when a command ends by an exception that nobody foresaw."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

VARIABLE = "KUBESCHEDULER_TRACEBACK"
"""Names a file for the details of an unexpected fault."""

_REPORT = f"to report it, run the same with {VARIABLE}=FILE, which writes the details there"


def unexpected_problem(error: Exception) -> str:
    """One message without Python's words; the details go to the file that the variable names, if it is set."""
    _write_details(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory for this input"
    if isinstance(error, RecursionError):
        return f"the input is nested too deeply to be read; {_REPORT}"
    if isinstance(error, OSError) and error.strerror:
        what = f"{error.filename}: cannot be used" if error.filename else "the output cannot be written"
        return f"{what}: {error.strerror}"
    return f"a fault in kubescheduler: nothing was decided, and this input is not to blame alone; {_REPORT}"


def _write_details(error: Exception) -> None:
    path = os.environ.get(VARIABLE)
    if not path:
        return
    try:
        Path(path).write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    except OSError:
        return
