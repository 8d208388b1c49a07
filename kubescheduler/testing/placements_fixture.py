"""The ``placements`` fixture: what a scheduler does, held against its record."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import attrs

from clusterstate.errors import InputError
from kubescheduler.sources.whole_file import whole_file
from kubescheduler.testing.placements import Placements, Placer
from kubescheduler.testing.record_files import record_path, shortest
from kubescheduler.testing.records import differences, placed, read, written
from kubescheduler.testing.usage_errors import UsageErrors

P = ParamSpec("P")
T = TypeVar("T")

OPTION = "--placements-update"

_NAME = re.compile(r"[\w.-]+")


@attrs.define(eq=False, repr=False)
class PlacementRecords:
    """The records of one test."""

    file: Path
    """The test's file."""
    test: str
    """The test's name."""
    typed: str
    """How the test is selected on the command line."""
    update: bool
    """Whether records are written."""
    notes: list[str]
    """Collects the files that were written."""
    _used: set[Path] = attrs.field(factory=set, init=False)

    def __repr__(self) -> str:
        return f"<PlacementRecords of {self.test}>"

    def check(
        self, scheduler: Placer, pods: Any, *, name: str = "", exact: bool = False, validate: str | None = None
    ) -> Placements:
        """Has the scheduler place the pods, and fails if they go elsewhere than recorded; the message says why.

        With ``--placements-update`` the record is written instead. name: distinguishes several records of one test.
        exact: totals, ties and messages have to be as recorded too. validate: as for ``scheduler.place``. Raises
        pytest.UsageError with every fault.
        """
        __tracebackhide__ = True
        with UsageErrors():
            path = self._path(name)
            placements = _placer(scheduler).place(pods, validate=validate)
            if self.update:
                self._write(path, placements)
                return placements
            lines = differences(_usable(read, path), placements, exact=exact) if _is_there(path) else None
        command = f"pytest {OPTION} {shlex.quote(self.typed)}"
        if lines is None:
            raise AssertionError(f"no placements are recorded in {shortest(path)}\nto record them: {command}")
        if lines:
            told = "\n".join(lines)
            raise AssertionError(f"not as recorded in {shortest(path)}\n\n{told}\n\nto accept this: {command}")
        return placements

    def _path(self, name: str) -> Path:
        """Raises InputError for a name that cannot be one, or is there twice."""
        if name and not _NAME.fullmatch(name):
            raise InputError(f"name: {name!r}: letters, digits, '_', '.' and '-' are possible")
        path = record_path(self.file, self.test, name)
        if path in self._used:
            raise InputError(f"{shortest(path)}: checked a second time; give each check of a test its own name=")
        self._used.add(path)
        return path

    def _write(self, path: Path, placements: Placements) -> None:
        text = written(placed(placements), f"Where the pods of {self.test} go. To write it anew: pytest {OPTION}")
        if not _is_there(path) or _usable(Path.read_bytes, path) != text.encode():
            _usable(_make_folder, path)
            _usable(_write_whole, path, text)
            self.notes.append(str(path))


def _is_there(path: Path) -> bool:
    """Whether there is a record. Raises InputError for what is no regular file, which nothing is read from."""
    if not path.exists():
        return False
    if not path.is_file():
        raise InputError(f"{shortest(path)}: cannot be used: it is no regular file")
    return True


def _usable(action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What an action on a file gives. Raises InputError where the system refuses it."""
    try:
        return action(*args, **kwargs)
    except OSError as error:
        name = shortest(Path(error.filename)) if error.filename else "the record"
        raise InputError(f"{name}: cannot be used: {error.strerror}") from None


def _make_folder(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)


def _write_whole(path: Path, text: str) -> None:
    with whole_file(path) as file:
        file.write(text.encode())


def _placer(scheduler: Any) -> Placer:
    if not isinstance(scheduler, Placer):
        raise InputError(f"scheduler: expected what the fixture scheduler gives, found {type(scheduler).__name__}")
    return scheduler
