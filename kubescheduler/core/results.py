"""What results have in common: one thread at a time puts them together, they are not pickled, and they print as tables
and show themselves in a notebook; how is imported when somebody asks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

import msgspec

Turn = AbstractContextManager[object]
"""What is held while one thread works; the same thread may hold it again."""

AT_ONCE: Turn = nullcontext()
"""For what only one thread has."""


class OneAtATime:
    """A lock that copies and pickles as a new one: what is copied has its own turns."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> object:
        return self._lock.__enter__()

    def __exit__(self, *ended: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[OneAtATime], tuple[()]]:
        return OneAtATime, ()


def counted(count: int, noun: str) -> str:
    """``1 pod``, ``2,000 pods``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


Owner = TypeVar("Owner")
Given = ParamSpec("Given")
Result = TypeVar("Result")


def in_turn(method: Callable[Concatenate[Owner, Given], Result]) -> Callable[Concatenate[Owner, Given], Result]:
    """The method, while no other thread is in one of the same turn: that of the owner's ``_turn``."""

    @wraps(method)
    def waiting(self: Any, /, *args: Given.args, **named: Given.kwargs) -> Result:
        with self._turn:
            return method(self, *args, **named)

    return waiting


class NotPickled:
    """Says what to keep instead where somebody pickles or copies what holds rules, caches and locks."""

    __slots__ = ()
    _KEEP_INSTEAD: ClassVar[str]
    """Ends the message."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} cannot be pickled or copied: {self._KEEP_INSTEAD}")


class CopiedAsItself(NotPickled):
    """The same of what never changes: a copy in this process is the object itself."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


class ShownTable(msgspec.Struct, frozen=True):
    """A title, a table of texts and numbers, and a line below."""

    title: str
    header: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    below: str = ""
    marked: int | None = None
    """The row that stands out."""

    def text(self) -> str:
        """Aligned columns, numbers to the right; the last column is broken where a line would be too long."""
        from kubescheduler.notebook import table_text

        return table_text(self)

    def html(self) -> str:
        """The same as a small static page."""
        from kubescheduler.notebook import table_html

        return table_html(self)


class Shown:
    """What prints as a table and shows itself in a notebook."""

    __slots__ = ()

    def table(self) -> ShownTable:
        """What is shown."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()
