"""One hostile case: the files, the command line, what an extender answers; and the law that its outcome obeys."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

import attrs

from benchmarks.fuzzing.fuzz_documents import FIXED_FILES
from benchmarks.fuzzing.fuzz_stand_ins import hermetic
from kubescheduler.cli import run

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal or an editor takes for a command."""


@attrs.frozen
class Case:
    """What one run is given."""

    command: Sequence[str]
    """The command line, without the program's name."""
    files: Mapping[str, bytes] = attrs.field(factory=dict)
    """By name, in the current folder, beside FIXED_FILES."""
    stdin: bytes = b""
    exchanges: Sequence[bytes] = ()
    """What an extender sends back to one request after the other, HTTP and all; none: it refuses the connection."""
    entry: Callable[[list[str]], int] = run
    """Runs the command line and returns the exit status."""


@attrs.frozen
class Reader:
    """One thing that is read."""

    name: str
    case: Callable[[Random], Case]
    """Makes a case; the same for the same state of the generator."""


@attrs.frozen
class Outcome:
    """What a case did."""

    status: int
    out: str
    err: str

    @property
    def fault(self) -> str | None:
        """How it breaks the law; None if it does not.

        The law: exit 0, 1 or 2, a message with 2, no traceback, and nothing that a terminal takes for a command.
        """
        if self.status not in (0, 1, 2):
            return f"exit status {self.status}"
        both = self.out + self.err
        if "Traceback (most recent" in both or "a fault in kubescheduler" in both:
            return "traceback"
        if self.status == 2 and "error: " not in self.err and "Error: " not in self.err:
            return "status 2 without a message"
        if found := _UNPRINTABLE.search(both):
            return f"{found[0]!r} in the output"
        return None


def prepare(folder: Path) -> None:
    """Empties a folder but for what the commands need besides the hostile files."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name not in FIXED_FILES:
            entry.unlink()
    for name, text in FIXED_FILES.items():
        (folder / name).write_text(text)
    (folder / "folder").mkdir()
    (folder / "loop.yaml").symlink_to("loop.yaml")


def execute(folder: Path, case: Case) -> Outcome:
    """Runs a case in this process, with ``folder`` as the current one; what it was before the case does not matter."""
    prepare(folder)
    for name, data in case.files.items():
        (folder / name).write_bytes(data)
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="surrogateescape"), io.StringIO()
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(case.stdin))
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            contextlib.chdir(folder),
            hermetic(case.exchanges),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("error")
            status = case.entry(list(case.command))
    finally:
        sys.stdin = before
    out.flush()
    return Outcome(status, out.buffer.getvalue().decode("utf-8", "replace"), err.getvalue())
