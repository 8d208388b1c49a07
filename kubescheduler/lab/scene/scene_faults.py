"""What a scene refuses to do."""

from __future__ import annotations

from clusterstate.errors import InputError


class SceneFault(InputError):
    """A question that cannot be answered, or an edit that cannot be made: it changed nothing. ``problems`` has every
    fault, one text each."""
