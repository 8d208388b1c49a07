"""Decisions of which just the node is known until somebody asks for more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from clusterstate.growable import Mask
from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.core.turns import AT_ONCE

ASK, SHARED = "_ask", "_shared"


class DeferredDecision(Decision):
    """A Decision on a pod that was placed with others like it: what is not known of it is decided when it is first
    read."""

    __slots__ = (ASK, SHARED)

    @classmethod
    def of(cls, ask: Callable[[], Decision], pod: Pod, host: str, shared: Mapping[str, Any]) -> DeferredDecision:
        """ask: the decision itself, with the same host. shared: see ``placed_by``."""
        out = object.__new__(cls)
        set_in = object.__setattr__
        set_in(out, ASK, ask)
        set_in(out, SHARED, shared)
        set_in(out, "pod", pod)
        set_in(out, "host", host)
        return out

    def __getattr__(self, name: str) -> Any:
        """A field that is not this decision's own, or not known yet. Raises what deciding raises."""
        if name not in FIELDS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        shared = object.__getattribute__(self, SHARED)
        if name in shared:
            return shared[name]
        with shared.get("turn", AT_ONCE):
            found = object.__getattribute__(self, ASK)()
            for field in FIELDS.difference(shared, OWN):
                object.__setattr__(self, field, getattr(found, field))
        return object.__getattribute__(self, name)


def placed_by(
    release: str,
    names: tuple[str, ...],
    listed: Mask,
    nodes_total: int,
    *,
    from_kept_ranking: bool = False,
    **more: Any,
) -> Mapping[str, Any]:
    """Fields that Decisions on the pods of a run have in common; see Decision. more: further ones."""
    return {
        "release": release,
        "names": names,
        "listed": listed,
        "nodes_total": nodes_total,
        "from_kept_ranking": from_kept_ranking,
        "extenders": (),
        "error": None,
        "error_at": "",
        "tried": True,
        "preemption": None,
        "nominated": None,
        **more,
    }


OWN = ("pod", "host")
"""The fields that each has of its own."""
FIELDS = frozenset(field.name for field in attrs.fields(Decision))
"""What a Decision has."""
