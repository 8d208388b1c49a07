"""Decisions of which just the node is known until somebody asks for more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
        """ask: the decision itself, with the same host. known: fields of it, beside those of any placed pod."""
        out = object.__new__(cls)
        set_in = partial(object.__setattr__, out)
        set_in(ASK, ask)
        for name, value in PLACED:
            set_in(name, value)
        for name, value in known.items():
            set_in(name, value)
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


PLACED: tuple[tuple[str, Any], ...] = (
    ("extenders", ()),
    ("error", None),
    ("error_at", ""),
    ("tried", True),
    ("preemption", None),
    ("nominated", None),
)
"""What Decisions on the pods of a run have in common."""
FIELDS = frozenset(field.name for field in attrs.fields(Decision))
"""What a Decision has."""
