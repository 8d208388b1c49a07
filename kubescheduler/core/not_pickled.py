"""Objects that belong to this process: a copy of an immutable one is itself, and pickling says what to do instead."""

from __future__ import annotations

from typing import Any, ClassVar, Self


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
