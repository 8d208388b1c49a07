"""Where a fault in a file of a user's own is, for whom it was, and what it says."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from algorithmprovider.custom_code import exception_text

_ABOUT = re.compile(r"^(?P<file>.+?), line (?P<line>\d+): (?P<rest>.*)$", re.DOTALL)
_FOR = re.compile(
    r"^(?P<what>[^:]*?)(?:, pod (?P<pod>[^\s,:]+))?(?:, node (?P<node>[^\s,:]+))?: "
    r"(?P<said>.*?)(?: \(pod (?P<whose>[^\s)]+)\))?$",
    re.DOTALL,
)


class CodeFault(msgspec.Struct, frozen=True):
    """One fault."""

    text: str
    """Without the pod and the node, which stand beside it."""
    line: int | None = None
    """From 1; None where no line of the file is to blame."""
    column: int | None = None
    """From 1."""
    pod: str = ""
    """namespace/name of the pod that was decided."""
    node: str = ""
    """The node that was looked at."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        out = {"text": self.text, "line": self.line, "column": self.column}
        return out | {key: value for key, value in (("pod", self.pod), ("node", self.node)) if value}


def fault_of(error: BaseException, path: Path) -> CodeFault:
    """A fault that a file has, or raised while it was run."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return CodeFault(f"{type(error).__name__}: {error.msg}", error.lineno, error.offset)
    line, column = _place(error, path)
    return CodeFault(exception_text(error), line, column)


def faults_in(error: BaseException, problems: tuple[str, ...], path: Path) -> Iterator[CodeFault]:
    """The faults of a decision that this file is to blame for. problems: as the error words them.

    A problem begins with the file and the line, and names pod and node.
    """
    line, column = _place(error, path)
    for problem in problems:
        found = _ABOUT.match(problem)
        if found is None or found["file"] != str(path):
            continue
        at = int(found["line"])
        about, text = _FOR.match(found["rest"]), found["rest"]
        pod = node = ""
        if about is not None:
            text, pod = f"{about['what']}: {about['said']}", about["pod"] or about["whose"] or ""
            node = about["node"] or ""
        yield CodeFault(text, at, column if at == line else None, pod, node)


def _place(error: BaseException, path: Path) -> tuple[int | None, int | None]:
    """The line and the column of a file, as deep as the error and what caused it go."""
    found: tuple[int | None, int | None] = (None, None)
    cause: BaseException | None = error
    while cause is not None:
        own = [frame for frame in traceback.extract_tb(cause.__traceback__) if frame.filename == str(path)]
        if own:
            column = own[-1].colno
            found = own[-1].lineno, None if column is None else column + 1
        cause = cause.__cause__
    return found
