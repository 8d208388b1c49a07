"""Decisions of which just the node is known until somebody asks for more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from kubescheduler.core.decision import Decision

ASK = "_ask"


class DeferredDecision(Decision):
    """A Decision on a pod that was placed with others like it: what is not known of it is decided when it is first
    read."""

    __slots__ = (ASK,)

    @classmethod
    def of(cls, ask: Callable[[], Decision], **known: Any) -> DeferredDecision:
        """ask: the decision itself, with the same host. known: fields of it."""
        out = object.__new__(cls)
        object.__setattr__(out, ASK, ask)
        for name, value in known.items():
            object.__setattr__(out, name, value)
        return out

    def __getattr__(self, name: str) -> Any:
        """A field that is not known yet. Raises what deciding raises."""
        if name not in FIELDS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = object.__getattribute__(self, ASK)()
        for field in FIELDS:
            try:
                object.__getattribute__(self, field)
            except AttributeError:
                object.__setattr__(self, field, getattr(found, field))
        return object.__getattribute__(self, name)


FIELDS = frozenset(field.name for field in attrs.fields(Decision))
"""What a Decision has."""
