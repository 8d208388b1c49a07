"""A change in the cluster, as an informer reports it."""

from __future__ import annotations

from typing import Any

import msgspec


class ObjectChange(msgspec.Struct, frozen=True, eq=False):
    """An object came, changed or went."""

    kind: str
    """Of the object: Pod, Node, PersistentVolumeClaim …"""
    old: Any
    """As it was known before; None when it is new."""
    new: Any
    """As it is now; None when it is gone."""
    stale: bool = False
    """Whether the end was found out later, so that ``old`` may not be its last state. Upstream: a tombstone."""
